//! The page of the explorer in Debian's Chromium: `tools/mesa fetch` brings the browser, `tools/web` builds the page. Since that
//! compiles all of the compiler and the model once more, it runs only if `TEPUI_WEB` is set; `tools/test` says so.

mod accessibility;
mod browser;
mod checker;
mod compare;
mod corpus;
mod debugger;
mod editing;
mod examples;
mod figures;
mod gpus;
mod images;
mod link;
mod machine;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use browser::Page;
use serde_json::{Value, json};
use tepui_explore::api::Api;

/// A server and a browser that shows its page; both end with the test.
struct Session {
    server: Child,
    address: String,
    directory: PathBuf,
    page: Page,
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// The folder of the page, which is built first if it does not exist.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| match std::env::var_os("TEPUI_WEB_FOLDER") {
        Some(folder) => PathBuf::from(folder),
        None => {
            let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/web");
            let built = Command::new(tool).output().expect("tools/web starts");
            assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
            PathBuf::from(String::from_utf8_lossy(&built.stdout).trim())
        }
    })
}

impl Session {
    /// Opens the page for a test, if tests of the page are asked for.
    fn open(test: &str) -> Option<Session> {
        std::env::var_os("TEPUI_WEB")?;
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("explorer").join(test);
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).expect("a directory");
        let mut server = Command::new(env!("CARGO_BIN_EXE_tepui"))
            .args(["explore", "--no-browser"])
            .arg(folder())
            .stdout(Stdio::piped())
            .spawn()
            .expect("tepui starts");
        let mut line = String::new();
        let out = server.stdout.take().expect("it is piped");
        BufReader::new(out).read_line(&mut line).expect("a line");
        let address = line.trim().to_owned();
        let page = Page::open(&address, &directory);
        Some(Session { server, address, directory, page })
    }

    /// Chooses an example and waits for its listing.
    fn example(&mut self, name: &str) {
        let page = &mut self.page;
        page.value("document.getElementById('asm').replaceChildren()");
        page.set("example", name);
        page.wait("document.querySelectorAll('#asm li[data-offset]').length > 0");
    }

    /// Replaces all of the source.
    fn source(&mut self, text: &str) {
        self.page.value(SELECT);
        self.page.insert(text);
    }

    /// Replaces all of the source and waits for its listing.
    fn compile(&mut self, text: &str) {
        self.page.value("document.getElementById('asm').replaceChildren()");
        self.source(text);
        self.page.wait("document.querySelectorAll('#asm li[data-offset]').length > 0");
    }

    /// Runs the shader and waits for the end.
    fn run(&mut self) {
        self.page.value("import('./run.js').then((m) => { m.last.outcome = null; })");
        self.page.click("run");
        self.page.wait("import('./run.js').then((m) => m.last.outcome !== null)");
        self.idle();
    }

    /// Waits until nothing is compiled and nothing runs.
    fn idle(&mut self) {
        self.page
            .wait("import('./page.js').then((m) => !m.page.compiler.busy && !m.page.machine.busy)");
    }

    /// The page's last request to its core, and the answer.
    fn last(&mut self) -> (Value, Value) {
        let text = self.page.text(
            "import('./run.js').then((m) => JSON.stringify([m.last.request, { ...m.last.outcome, pixels: null }]))",
        );
        let both: Value = serde_json::from_str(&text).expect("JSON");
        (both[0].clone(), both[1].clone())
    }

    /// Asks the core of the page.
    fn ask(&mut self, request: &Value) -> Value {
        let text = self.page.text(&format!(
            "import('./page.js').then((m) => m.page.machine.call({request})).then(
                (ok) => JSON.stringify({{ ok: {{ ...ok, pixels: null }} }}),
                (error) => JSON.stringify({{ error: error.message }}))"
        ));
        serde_json::from_str(&text).expect("JSON")
    }

    /// Ends a test: nothing was wrong on the console.
    fn end(self) {
        assert!(self.page.complaints.is_empty(), "{:#?}", self.page.complaints);
    }
}

/// The answer of the native core, where programs are translated to host code.
fn native(api: &mut Api, request: &Value) -> Value {
    serde_json::from_str(&api.call(&request.to_string())).expect("JSON")
}

/// The part of an outcome that must be the same in both builds of the core: everything that a shader
/// writes.
fn results(outcome: &Value) -> Value {
    json!([outcome["size"], outcome["buffers"], outcome["pictures"]])
}

/// Selects all of the source.
const SELECT: &str = "(() => { const area = document.querySelector('#editor textarea'); area.focus(); area.select(); })()";
