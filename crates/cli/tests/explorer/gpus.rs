//! Another GPU for the same source.

use serde_json::json;

use crate::Session;

const SOURCE: &str = "@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
    x[id.x] = x[id.x] * 2.0 + 1.0;
}
";

#[test]
fn a_source_is_compiled_run_and_debugged_for_other_gpus() {
    let Some(mut s) = Session::open("gpus") else { return };
    s.compile(SOURCE);
    s.page.set("gpu", "skl");
    s.page.wait("document.getElementById('asm').textContent.includes('align1')");
    assert!(s.page.text_of("summary").contains(" cycles."));
    s.run();
    let first = "document.querySelector('#buffers td').textContent";
    assert_eq!(s.page.value(first), json!("1"));
    s.page.click("debug");
    s.page.wait("document.getElementById('register-table').textContent.includes('word')");
    let names = "[...document.querySelectorAll('#register-table th')].map((h) => h.textContent[0])";
    let names = s.page.value(names);
    assert!(names.as_array().is_some_and(|n| n.contains(&json!("g"))), "{names}");
    // A warp of Mali's GPUs has 16 lanes, each with registers of its own.
    s.page.set("gpu", "mali-g610");
    s.page.wait("document.getElementById('asm').textContent.includes('STORE.i32')");
    s.page.click("debug");
    s.page.wait("document.getElementById('register-table').textContent.includes('lane')");
    assert_eq!(s.page.value("document.querySelectorAll('#lanes button').length"), json!(16));
    // The kept version stays the M1's.
    s.page.set("gpu", "m1");
    s.page.wait("!document.getElementById('asm').textContent.includes('align1')");
    s.page.click("tab-compare");
    s.page.wait("document.querySelectorAll('#aligned tr').length > 3");
    s.page.set("gpu", "tgl");
    s.page.wait("document.querySelectorAll('#aligned tr.added').length > 0");
    s.end();
}
