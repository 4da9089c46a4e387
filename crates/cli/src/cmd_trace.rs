//! `tepui trace`: runs a program and prints its kernel calls and GPU commands.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tepui_capture::{CAPTURE_VARIABLE, Event, Events};
use tepui_gpus::device::DeviceOptions;

use crate::cmd_decode::{Failure, Printer, Style};
use crate::{cmd_shim, shared};

/// Arguments of `tepui trace`.
#[derive(clap::Args)]
#[group(skip)]
#[command(
    about = "Runs a program and prints each kernel call and each decoded submission",
    long_about = "Runs PROGRAM with a virtual GPU, as `tepui shim` does, and prints each kernel call with its \
        fields and each command that the GPU executes: control streams and batches, state, descriptors, uniforms \
        and shaders. Processes that PROGRAM starts are traced too. The exit status is PROGRAM's.\n\n\
        With --real, the machine's own GPU does the work. It is then not observable when the hardware executes \
        a command, so commands are shown with memory as it was at their submission.",
    after_help = "Examples:\n  \
        tepui trace --gpu m1 -- tools/mesa run -- ./my-vulkan-program\n  \
        tepui trace --gpu skl --commands -o trace.txt -- ./my-program\n  \
        tepui trace --gpu mali-g610 -- tools/mesa run --arch arm64 -- ./my-program\n  \
        tepui trace --gpu m1 --save /tmp/cap --quiet -- ./my-program && tepui decode /tmp/cap"
)]
pub struct Args {
    /// Observe the machine's own GPU (AGX, or Intel with i915) instead of providing a virtual one.
    #[arg(long, conflicts_with = "gpu")]
    real: bool,
    /// Save captures to this directory, one file per process, for `tepui decode` and `tepui
    /// replay`.
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
    /// Write the trace to this file instead of standard error.
    #[arg(short, long, value_name = "FILE", conflicts_with = "quiet")]
    output: Option<PathBuf>,
    /// Print nothing (for use with --save).
    #[arg(long)]
    quiet: bool,
    #[command(flatten)]
    style: Style,
    #[command(flatten)]
    shim: cmd_shim::Args,
}

/// The output of all processes, written in whole events.
type Output = Arc<Mutex<Box<dyn Write + Send>>>;

/// Runs the command.
pub fn run(args: &Args) -> ExitCode {
    match trace(args) {
        Ok(status) => status,
        Err(message) => {
            eprintln!("tepui trace: {message}");
            ExitCode::FAILURE
        }
    }
}

fn trace(args: &Args) -> Result<ExitCode, String> {
    let output: Option<Output> = if args.quiet {
        None
    } else {
        let out: Box<dyn Write + Send> = match &args.output {
            None => Box::new(io::stderr()),
            Some(path) => {
                let file = File::create(path).map_err(|e| format!("{}: {e}", path.display()))?;
                Box::new(BufWriter::new(file))
            }
        };
        Some(Arc::new(Mutex::new(out)))
    };
    if let Some(directory) = &args.save {
        std::fs::create_dir_all(directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    }
    let folder = tempfile::tempdir().map_err(|e| format!("a temporary directory: {e}"))?;
    let socket = folder.path().join("capture");
    let listener = UnixListener::bind(&socket).map_err(|e| format!("{}: {e}", socket.display()))?;

    if args.shim.is_shared() && !args.real {
        return trace_shared(args, output, listener, &socket);
    }
    let mut command = cmd_shim::command(&args.shim)?;
    command.env(CAPTURE_VARIABLE, &socket);
    if args.real {
        command.env("TEPUI_GPU", "real");
    }
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            eprintln!("tepui trace: {program}: {error}");
            // The exit statuses of `env` and of shells.
            let missing = error.kind() == io::ErrorKind::NotFound;
            return Ok(ExitCode::from(if missing { 127 } else { 126 }));
        }
    };

    let listening = Listening::start(listener, args.style, args.save.clone(), output.clone());
    let status = child.wait().map_err(|e| format!("{program}: {e}"))?;
    listening.finish(&socket, false);
    flush(output)?;
    Ok(exit_code(status))
}

/// Version of [`trace`] of a GPU that this process holds.
fn trace_shared(
    args: &Args,
    output: Option<Output>,
    listener: UnixListener,
    socket: &Path,
) -> Result<ExitCode, String> {
    let command = cmd_shim::command(&args.shim);
    let capture = Some(socket.to_path_buf());
    let options = DeviceOptions { capture, ..args.shim.device_options() };
    let listening = Listening::start(listener, args.style, args.save.clone(), output.clone());
    let served = shared::serve(args.shim.gpu(), &options, command);
    listening.finish(socket, true);
    flush(output)?;
    Ok(match served {
        Ok(status) => exit_code(status),
        Err((message, code)) => {
            eprintln!("tepui trace: {message}");
            ExitCode::from(code)
        }
    })
}

/// Writes what is left.
fn flush(output: Option<Output>) -> Result<(), String> {
    let Some(output) = output else { return Ok(()) };
    let mut out = output.lock().unwrap_or_else(PoisonError::into_inner);
    out.flush().map_err(|e| format!("writing the trace: {e}"))
}

/// The program's exit status. A signal gives 128 plus its number, as in shells.
fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    ExitCode::from(code as u8)
}

/// The thread that accepts connections, one per traced process.
struct Listening {
    thread: JoinHandle<Vec<Reading>>,
    ended: Arc<AtomicBool>,
}

/// The thread that reads a connection.
struct Reading {
    thread: JoinHandle<()>,
    connection: Option<UnixStream>,
}

impl Listening {
    fn start(
        listener: UnixListener,
        style: Style,
        save: Option<PathBuf>,
        output: Option<Output>,
    ) -> Listening {
        let ended = Arc::new(AtomicBool::new(false));
        let end = ended.clone();
        let thread = std::thread::spawn(move || {
            let count = Arc::new(AtomicUsize::new(0));
            let mut readers = Vec::new();
            for connection in listener.incoming() {
                if end.load(Ordering::Acquire) {
                    break;
                }
                let Ok(connection) = connection else { continue };
                let stream = Stream {
                    style,
                    save: save.clone(),
                    output: output.clone(),
                    number: count.fetch_add(1, Ordering::Relaxed),
                    count: count.clone(),
                };
                let end = connection.try_clone().ok();
                let thread = std::thread::spawn(move || stream.follow(connection));
                readers.push(Reading { thread, connection: end });
            }
            readers
        });
        Listening { thread, ended }
    }

    /// Accepts no more connections and waits for the open ones: children of the program may outlive
    /// it. With `close` what has arrived is read and no more: this process itself is at the other end.
    fn finish(self, socket: &Path, close: bool) {
        self.ended.store(true, Ordering::Release);
        // Wake the thread.
        let _ = UnixStream::connect(socket);
        for Reading { thread, connection } in self.thread.join().unwrap_or_default() {
            if let (true, Some(connection)) = (close, connection) {
                let _ = connection.shutdown(Shutdown::Read);
            }
            let _ = thread.join();
        }
    }
}

/// The capture of one process, which arrives on a connection.
struct Stream {
    style: Style,
    save: Option<PathBuf>,
    output: Option<Output>,
    /// Index of the connection, from 0.
    number: usize,
    /// Number of connections so far.
    count: Arc<AtomicUsize>,
}

impl Stream {
    fn follow(&self, connection: UnixStream) {
        let result = match &self.save {
            None => self.print(BufReader::new(connection)),
            Some(directory) => {
                let path = directory.join(format!("{:03}.capture", self.number));
                match File::create(&path) {
                    Ok(file) => self
                        .print(Tee { from: BufReader::new(connection), to: BufWriter::new(file) }),
                    Err(error) => Err(Failure::Capture(format!("{}: {error}", path.display()))),
                }
            }
        };
        if let Err(failure) = result {
            eprintln!("tepui trace: {failure}");
        }
    }

    fn print(&self, mut input: impl Read) -> Result<(), Failure> {
        let Some(output) = &self.output else {
            io::copy(&mut input, &mut io::sink())?;
            return Ok(());
        };
        let mut events = Events::new(input)?;
        let mut printer = Printer::new(self.style);
        let mut process = 0;
        while let Some(event) = events.next() {
            let event = event?;
            if let Event::Process(p) = &event {
                process = p.id;
            }
            let text = printer.event(&events, &event);
            // With several processes, each event is prefixed with its process.
            let several = !self.style.json && self.count.load(Ordering::Relaxed) > 1;
            let prefix =
                if several && !text.is_empty() { format!("[{process}] ") } else { String::new() };
            let mut out = output.lock().unwrap_or_else(PoisonError::into_inner);
            out.write_all(prefix.as_bytes())?;
            out.write_all(text.as_bytes())?;
        }
        Ok(())
    }
}

/// A reader that copies everything it reads to a writer.
struct Tee<R: Read, W: Write> {
    from: R,
    to: W,
}

impl<R: Read, W: Write> Read for Tee<R, W> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(into)?;
        self.to.write_all(&into[..count])?;
        Ok(count)
    }
}
