//! Chromium without a window, driven by its DevTools protocol over a pair of pipes.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

/// Seconds after which a browser is ended.
const LONGEST_S: &str = "900";

/// A key of a keyboard: its name and Windows' number for it.
pub type Key = (&'static str, u32);
pub const ENTER: Key = ("Enter", 13);
pub const TAB: Key = ("Tab", 9);
pub const ESCAPE: Key = ("Escape", 27);
pub const LEFT: Key = ("ArrowLeft", 37);
pub const RIGHT: Key = ("ArrowRight", 39);
pub const DOWN: Key = ("ArrowDown", 40);
pub const POINT: Key = (".", 190);
pub const F5: Key = ("F5", 116);
pub const F9: Key = ("F9", 120);
pub const F11: Key = ("F11", 122);

/// Modifiers of a key, which may be added.
pub const NONE: u32 = 0;
pub const CTRL: u32 = 2;
pub const SHIFT: u32 = 8;

/// A page in a browser of its own.
pub struct Page {
    child: Child,
    to: File,
    from: BufReader<File>,
    session: String,
    next: u64,
    /// Errors of the page's console, and uncaught exceptions.
    pub complaints: Vec<String>,
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Page {
    /// Starts Chromium with a directory for all that it leaves, and opens an address.
    pub fn open(address: &str, directory: &Path) -> Page {
        let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/mesa");
        let log = File::create(directory.join("chromium.log")).expect("a log");
        let (read_here, write_there) = rustix::pipe::pipe().expect("a pipe");
        let (read_there, write_here) = rustix::pipe::pipe().expect("a pipe");
        for own in [&read_here, &write_here] {
            rustix::io::fcntl_setfd(own, rustix::io::FdFlags::CLOEXEC).expect("a flag");
        }
        let mut command = Command::new("timeout");
        command.arg(LONGEST_S).arg(tools).args(["run", "--icd", "none", "--", "chromium"]);
        command.args(["--headless=new", "--no-sandbox", "--no-zygote", "--disable-dev-shm-usage"]);
        command.args(["--disable-breakpad", "--disable-gpu", "--window-size=1280,800"]);
        command.args([
            "--hide-scrollbars",
            "--force-color-profile=srgb",
            "--remote-debugging-pipe",
        ]);
        command.arg(format!("--user-data-dir={}", directory.join("profile").display()));
        command.arg("about:blank");
        command.env("XDG_CONFIG_HOME", directory);
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a log")).stderr(log);
        hand_over(&mut command, read_there, write_there);
        let child = command.spawn().expect("Chromium starts");
        // The child's ends belonged to the command.
        drop(command);
        let (to, from) = (File::from(write_here), BufReader::new(File::from(read_here)));
        let session = String::new();
        let mut page = Page { child, to, from, session, next: 0, complaints: Vec::new() };
        let target = page.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = page.call("Target.attachToTarget", attach);
        page.session = attached["sessionId"].as_str().expect("a session").to_owned();
        for domain in ["Page", "Runtime", "Log", "DOM"] {
            page.call(&format!("{domain}.enable"), json!({}));
        }
        page.call("Emulation.setFocusEmulationEnabled", json!({ "enabled": true }));
        page.go(address);
        page
    }

    /// Loads an address and waits until the page is ready.
    pub fn go(&mut self, address: &str) {
        // A change of the fragment alone would load nothing.
        self.call("Page.navigate", json!({ "url": "about:blank" }));
        self.call("Page.navigate", json!({ "url": address }));
        self.wait("document.documentElement?.dataset.ready === 'yes'");
    }

    /// Sends a command; returns its result.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.next += 1;
        let mut message = json!({ "id": self.next, "method": method, "params": parameters });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).expect("Chromium listens");
        loop {
            let mut bytes = Vec::new();
            let read = self.from.read_until(0, &mut bytes).expect("Chromium speaks");
            assert!(read > 0, "Chromium ended: see chromium.log");
            bytes.pop();
            let answer: Value = serde_json::from_slice(&bytes).expect("JSON");
            self.note(&answer);
            if answer["id"] == json!(self.next) {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    fn note(&mut self, event: &Value) {
        let parameters = &event["params"];
        let bad = match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => parameters["type"] == "error",
            Some("Log.entryAdded") => parameters["entry"]["level"] == "error",
            _ => false,
        };
        if bad {
            self.complaints.push(parameters.to_string());
        }
    }

    /// The value of an expression in the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let parameters =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let result = self.call("Runtime.evaluate", parameters);
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// The value of an expression as text.
    pub fn text(&mut self, expression: &str) -> String {
        match self.value(expression) {
            Value::String(text) => text,
            other => other.to_string(),
        }
    }

    /// Waits until an expression is true.
    pub fn wait(&mut self, expression: &str) {
        for _ in 0..1200 {
            if self.value(expression) == json!(true) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        let error = self.text_of("error");
        panic!("{expression} does not become true; {error}; {:?}", self.complaints);
    }

    /// Types text where the focus is.
    pub fn insert(&mut self, text: &str) {
        self.call("Input.insertText", json!({ "text": text }));
    }

    /// Presses a key with modifiers.
    pub fn press(&mut self, (name, number): Key, modifiers: u32) {
        for kind in ["rawKeyDown", "keyUp"] {
            let key = json!({
                "type": kind,
                "key": name,
                "code": name,
                "windowsVirtualKeyCode": number,
                "modifiers": modifiers,
            });
            self.call("Input.dispatchKeyEvent", key);
        }
    }

    /// Clicks the element of an id.
    pub fn click(&mut self, id: &str) {
        self.value(&format!("document.getElementById({id:?}).click()"));
    }

    /// Gives a field a value, as a user does who changes it.
    pub fn set(&mut self, id: &str, value: &str) {
        self.value(&format!(
            "(() => {{ const e = document.getElementById({id:?}); e.value = {value:?}; \
             e.dispatchEvent(new Event('input')); e.dispatchEvent(new Event('change')); }})()"
        ));
    }

    /// Text of the element of an id.
    pub fn text_of(&mut self, id: &str) -> String {
        self.text(&format!("document.getElementById({id:?}).textContent"))
    }

    /// Chooses a file in the field that a selector finds.
    pub fn choose_file(&mut self, selector: &str, path: &Path) {
        let document = self.call("DOM.getDocument", json!({}));
        let root = &document["root"]["nodeId"];
        let found = self.call("DOM.querySelector", json!({ "nodeId": root, "selector": selector }));
        let files = json!({ "nodeId": found["nodeId"], "files": [path] });
        self.call("DOM.setFileInputFiles", files);
    }

    /// Sets light or dark, and the width and height of the window.
    pub fn look(&mut self, scheme: &str, width: u32, height: u32) {
        let scheme = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": scheme }));
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// Leaves a picture of the page.
    pub fn screenshot(&mut self, path: &Path) {
        let picture = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        let text = picture["data"].as_str().expect("a picture");
        let bytes = data_encoding::BASE64.decode(text.as_bytes()).expect("base64");
        std::fs::write(path, bytes).expect("it can be written");
    }
}

/// Gives the child pipes at the descriptors where Chromium looks for them.
fn hand_over(command: &mut Command, commands: OwnedFd, answers: OwnedFd) {
    // SAFETY: between fork and exec only system calls are made; the closure owns the descriptors until the command is dropped.
    unsafe {
        command.pre_exec(move || {
            let (from, to) = (commands.as_raw_fd(), answers.as_raw_fd());
            // Out of the way first: either may stand where the other has to go.
            let from = libc::fcntl(from, libc::F_DUPFD, 10);
            let to = libc::fcntl(to, libc::F_DUPFD, 10);
            if libc::dup2(from, 3) < 0 || libc::dup2(to, 4) < 0 {
                return Err(std::io::Error::last_os_error());
            }
            libc::close(from);
            libc::close(to);
            Ok(())
        });
    }
}
