//! `tepui explore`: serves the page of the explorer on this machine and opens a browser.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

/// Shows in a browser what an M1 makes of a shader: machine code, IR, pictures, a debugger.
///
/// Serves the folder that `tools/web` makes (a page with the compiler and the virtual M1 in WebAssembly) to this machine alone.
/// The page needs no server: the folder can stand anywhere.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tools/web && tepui explore
  tepui explore /srv/tepui --port 8000 --no-browser")]
pub struct Args {
    /// The folder; else `explorer` next to the folder of this program.
    folder: Option<PathBuf>,
    /// Port; 0 takes any that is free.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Prints the address only.
    #[arg(long)]
    no_browser: bool,
}

/// Bytes of a request's head.
const MAX_REQUEST_B: u64 = 16 << 10;
/// Maximum time that a browser may take to send a request.
const PATIENCE: Duration = Duration::from_secs(10);

/// The folder of the page: as given, or the output folder of `tools/web` for this build.
fn folder(given: Option<&Path>) -> Result<PathBuf, String> {
    let own = || {
        let program = std::env::current_exe().ok()?;
        Some(program.parent()?.parent()?.join("explorer"))
    };
    let folder = given.map(Path::to_owned).or_else(own).unwrap_or_default();
    match folder.join("tepui_web.wasm").is_file() {
        true => Ok(folder),
        false => Err(format!(
            "{} does not hold the page: make it with `tools/web`, or name its folder",
            folder.display()
        )),
    }
}

fn kind_of(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("wasm") => "application/wasm",
        Some("png") => "image/png",
        _ => "application/octet-stream",
    }
}

/// The file that a request asks for: a name in the folder, never a path.
fn name_of(line: &str) -> Option<&str> {
    let path = line.strip_prefix("GET /")?.split(' ').next()?;
    let name = path.split(['?', '#']).next()?;
    let good = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    match name {
        "" => Some("index.html"),
        name if name.chars().all(good) && !name.starts_with('.') => Some(name),
        _ => None,
    }
}

/// Answers one request.
fn answer(stream: &TcpStream, folder: &Path) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream.take(MAX_REQUEST_B));
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut line = String::new();
    while reader.read_line(&mut line)? > 0 && !line.trim().is_empty() {
        line.clear();
    }
    let found = name_of(&first).and_then(|n| Some((n, std::fs::read(folder.join(n)).ok()?)));
    let (status, kind, body) = match found {
        Some((name, body)) => ("200 OK", kind_of(name), body),
        None => ("404 Not Found", "text/plain", b"not found\n".to_vec()),
    };
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-cache\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    stream.write_all(&body)?;
    stream.flush()
}

/// Opens the address in the user's browser, if there is a way to.
fn open(address: &str) -> bool {
    ["xdg-open", "open"].iter().any(|program| {
        let null = Stdio::null;
        let started = Command::new(program).arg(address).stdout(null()).stderr(null()).spawn();
        started.is_ok()
    })
}

fn try_run(args: &Args) -> Result<(), String> {
    let folder = folder(args.folder.as_deref())?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port))
        .map_err(|e| format!("port {}: {e}", args.port))?;
    let address = listener.local_addr().map_err(|e| e.to_string())?;
    let address = format!("http://{address}/");
    println!("{address}");
    io::stdout().flush().map_err(|e| e.to_string())?;
    if !args.no_browser && !open(&address) {
        eprintln!("tepui explore: no browser could be started: open {address}");
    }
    for stream in listener.incoming() {
        let Ok(stream) = stream else { continue };
        let folder = folder.clone();
        // Browsers open spare connections that they do not use yet.
        std::thread::spawn(move || answer(&stream, &folder));
    }
    Ok(())
}

/// Runs the command.
pub fn run(args: &Args) -> ExitCode {
    match try_run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("tepui explore: {e}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_in_the_folder_are_served() {
        assert_eq!(name_of("GET / HTTP/1.1"), Some("index.html"));
        assert_eq!(name_of("GET /app.js?x HTTP/1.1"), Some("app.js"));
        for bad in
            ["GET /../x HTTP/1.1", "GET /.git HTTP/1.1", "GET /a/b HTTP/1.1", "POST / HTTP/1.1", ""]
        {
            assert_eq!(name_of(bad), None, "{bad}");
        }
    }
}
