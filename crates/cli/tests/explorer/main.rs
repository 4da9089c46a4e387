//! The page of the explorer in Debian's Chromium: `tools/mesa fetch` brings the browser, `tools/web` builds the page. Since that
//! compiles all of the compiler and the model once more, it runs only if `TEPUI_WEB` is set; `tools/test` says so.

mod browser;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use browser::Page;
use serde_json::{Value, json};
use tepui_explore::api::Api;

/// A server that ends with the test.
struct Server(Child, String);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `tepui explore` over the folder of `tools/web`.
fn serve() -> Server {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/web");
    let folder = match std::env::var_os("TEPUI_WEB_FOLDER") {
        Some(folder) => PathBuf::from(folder),
        None => {
            let built = Command::new(tool).output().expect("tools/web starts");
            assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
            PathBuf::from(String::from_utf8_lossy(&built.stdout).trim())
        }
    };
    let mut child = Command::new(env!("CARGO_BIN_EXE_tepui"))
        .args(["explore", "--no-browser"])
        .arg(folder)
        .stdout(Stdio::piped())
        .spawn()
        .expect("tepui starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("it is piped")).read_line(&mut line).expect("a line");
    Server(child, line.trim().to_owned())
}

/// What the same core says natively, where programs are translated to the host's code.
fn native(api: &mut Api, request: &Value) -> Value {
    serde_json::from_str(&api.call(&request.to_string())).expect("JSON")
}

/// Selects all of the source.
const SELECT: &str =
    "(() => { const area = document.querySelector('textarea'); area.focus(); area.select(); })()";

#[test]
fn the_page() {
    if std::env::var_os("TEPUI_WEB").is_none() {
        return;
    }
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("explorer");
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).expect("a directory");
    let server = serve();
    let mut page = Page::open(&server.1, &directory);

    // The first example is compiled, and its lines are linked both ways.
    let marked = "document.querySelectorAll('#asm li.marked').length";
    assert!(page.value(marked).as_u64().is_some_and(|n| n > 10), "there is a listing");
    page.screenshot(&directory.join("listing.png"));
    let line = page.value("Number(document.querySelector('#asm li.marked').dataset.line)");
    page.value(
        "document.querySelector('#asm li.marked').dispatchEvent(new MouseEvent('mouseover', { bubbles: true }))",
    );
    let source =
        page.text(&format!("document.querySelector('textarea').value.split('\\n')[{line} - 1]"));
    assert_eq!(page.text("document.querySelector('.stack .hot').textContent"), source);
    page.value("document.querySelector('#asm li[data-offset]').click()");
    assert!(page.text("document.getElementById('manual').textContent").len() > 20);

    // All examples compile and run as natively, bit for bit.
    let mut api = Api::default();
    let names = page.value("[...document.getElementById('example').options].map((o) => o.value)");
    for name in names.as_array().expect("examples") {
        page.value(&format!(
            "(() => {{ const e = document.getElementById('example'); e.value = {name}; \
             e.dispatchEvent(new Event('change')); for (const n of ['width', 'height']) \
             document.getElementById(n).value = 64; document.getElementById('run').click(); }})()"
        ));
        assert_eq!(page.text("document.getElementById('error').hidden"), "true", "{name}");
        assert_same(&mut page, &mut api, name.as_str().unwrap_or(""));
    }
    page.screenshot(&directory.join("run.png"));

    // Typing changes the listing; a mistake is marked at its place, and mending it unmarks it.
    page.value("document.getElementById('tab-asm').click()");
    let text = "@fragment fn f(@builtin(position) p: vec4f) -> @location(0) vec4f {\n  return vec4f(p.x);\n}\n";
    page.value(SELECT);
    page.insert(text);
    page.wait(
        "[...document.querySelectorAll('#asm .place')].every((p) => Number(p.textContent) <= 3)",
    );
    page.value(SELECT);
    page.insert(&text.replace("p.x", "q.x"));
    page.wait("document.querySelector('.squiggle')?.textContent === 'q'");
    assert!(page.text("document.getElementById('error').textContent").starts_with("Line 2: "));
    page.screenshot(&directory.join("error.png"));
    page.value(SELECT);
    page.insert(text);
    page.wait("document.getElementById('error').hidden");

    // Ctrl+Enter runs it; the arrow keys change panes.
    page.press("Enter", 13, true);
    page.wait("document.getElementById('tab-run').getAttribute('aria-selected') === 'true'");
    page.value("document.getElementById('tab-run').focus()");
    page.press("ArrowLeft", 37, false);
    page.wait("!document.getElementById('pane-ir').hidden && document.getElementById('ir').textContent.length > 100");
    page.screenshot(&directory.join("ir.png"));

    // The debugger steps over lines and shows lanes.
    page.value("(() => { const e = document.getElementById('example'); e.value = 'Divergent loop'; \
                e.dispatchEvent(new Event('change')); document.getElementById('debug').click(); })()");
    let step = "Number(document.getElementById('where').textContent.match(/step (\\d+)/)[1])";
    assert_eq!(page.value(step), json!(0));
    for _ in 0..12 {
        page.value("document.querySelector('[data-command=mask]').click()");
    }
    let waiting = page.value("document.querySelectorAll('#lanes button:not(.on)').length");
    assert!(waiting.as_u64().is_some_and(|n| n > 0 && n < 32), "{waiting} lanes wait");
    page.press("F11", 122, false);
    page.screenshot(&directory.join("debugger.png"));
    let there = page.value(step);
    page.value("document.querySelector('[data-command=back]').click()");
    assert_eq!(page.value(step), json!(there.as_u64().unwrap_or(0) - 1));

    // The link holds the whole state.
    page.wait("location.hash.length > 100");
    let saved = page.text("document.querySelector('textarea').value");
    let address = page.text("location.href");
    page.go(&server.1);
    assert_ne!(page.text("document.querySelector('textarea').value"), saved);
    page.go(&address);
    assert_eq!(page.text("document.querySelector('textarea').value"), saved);
    assert_eq!(page.text("document.getElementById('tab-debug').ariaSelected"), "true");

    // A narrow screen in the dark: nothing is wider than the screen.
    let phone = json!({ "width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": true });
    page.call("Emulation.setDeviceMetricsOverride", phone);
    let dark = json!({ "features": [{ "name": "prefers-color-scheme", "value": "dark" }] });
    page.call("Emulation.setEmulatedMedia", dark);
    page.value("document.getElementById('tab-asm').click()");
    assert_eq!(page.value("document.documentElement.scrollWidth <= 390"), json!(true));
    page.screenshot(&directory.join("narrow.png"));

    assert!(page.complaints.is_empty(), "{:#?}", page.complaints);
}

/// The picture or the buffers on the page are what the same core computes natively.
fn assert_same(page: &mut Page, api: &mut Api, name: &str) {
    // What the page asked its core, without the time that passes.
    let request = page.value("window.tepuiLastRun");
    let own = native(api, &request);
    let error = |what: &str| panic!("{name}: {what} differ; asked: {request}");
    let buffers = &own["ok"]["buffers"];
    assert!(own.get("error").is_none(), "{name}: {own}");
    if own["ok"]["size"][0] == json!(0) {
        if page.value("window.tepuiLastBuffers") != *buffers {
            error("buffers");
        }
        return;
    }
    let pixels = page.value(
        "[...document.getElementById('canvas').getContext('2d').getImageData(0, 0, 64, 64).data]",
    );
    let pixels: Vec<u64> =
        pixels.as_array().expect("pixels").iter().filter_map(Value::as_u64).collect();
    let differ = pixels.iter().zip(api.pixels()).filter(|(a, b)| **a != u64::from(**b)).count();
    assert_eq!(pixels.len(), api.pixels().len());
    if differ > 0 {
        error(&format!("{differ} bytes of the picture"));
    }
}
