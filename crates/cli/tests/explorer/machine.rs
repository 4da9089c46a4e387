//! Shaders run in a worker, and a run can be stopped.

use serde_json::json;

use crate::Session;
use crate::browser::{CTRL, POINT};

/// Runs until the model takes it for endless.
const ENDLESS: &str = "@group(0) @binding(0) var<storage, read_write> d: array<u32>;
@compute @workgroup_size(32)
fn main(@builtin(local_invocation_index) i: u32) {
    loop {
        d[i] += 1u;
        if d[i] == 0xffffffffu { break; }
    }
}
";

#[test]
fn an_endless_run_is_stopped() {
    let Some(mut s) = Session::open("endless") else { return };
    s.compile(ENDLESS);
    s.page.click("run");
    s.page.wait("!document.getElementById('stop').disabled");
    assert_eq!(s.page.text_of("status"), "Running…");
    // The page answers meanwhile: a longer text has a longer listing.
    let count = "document.querySelectorAll('#asm li[data-offset]').length";
    let before = s.page.value(count);
    s.source(&ENDLESS.replace("+= 1u", "+= d[i + 1u] * 3u"));
    s.page.wait(&format!("{count} > {before}"));
    assert_eq!(s.page.value("document.getElementById('stop').disabled"), json!(false));
    s.page.press(POINT, CTRL);
    s.page.wait("document.getElementById('status').textContent === 'Stopped'");
    assert_eq!(s.page.value("document.getElementById('stop').disabled"), json!(true));
    // A new worker takes the next run.
    s.example("Matrix product");
    s.run();
    assert_eq!(s.page.value("document.querySelectorAll('#buffers table').length"), json!(3));
    s.end();
}
