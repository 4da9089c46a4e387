//! Two versions of a shader side by side.

use serde_json::json;

use crate::Session;

const BEFORE: &str = "@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
    x[id.x] = x[id.x] * 2.0;
}
";

#[test]
fn versions_are_compared() {
    let Some(mut s) = Session::open("compare") else { return };
    s.compile(BEFORE);
    s.page.click("tab-compare");
    s.page.wait("document.querySelectorAll('#aligned tr').length > 3");
    // A version is the same as itself.
    let of = |kind: &str| format!("document.querySelectorAll('#aligned tr.{kind}').length");
    let all = s.page.value(&of("same")).as_u64().unwrap_or(0);
    assert!(all > 3 && s.page.text_of("alignment").starts_with(&format!("{all} instructions are")));
    assert_eq!(s.page.value("document.querySelectorAll('#differences .worse').length"), json!(0));
    // One more addition is one more instruction, in red among the statistics.
    s.source(&BEFORE.replace("* 2.0", "* 2.0 + sin(x[id.x])"));
    s.page.wait(&format!("{} > 0", of("added")));
    assert_eq!(s.page.value(&format!("{} + {}", of("same"), of("operands"))), json!(all));
    let row = "[...document.querySelectorAll('#differences tr')].find((r) => r.cells[0].textContent === 'instructions')";
    let cells = s.page.value(&format!("[...{row}.cells].map((c) => c.textContent)"));
    let number = |k: usize| cells[k].as_str().and_then(|t| t.parse::<i64>().ok());
    let (kept, now) = (number(1).expect("a number"), number(2).expect("a number"));
    assert!(
        now > kept && cells[3].as_str().is_some_and(|t| t.starts_with(&format!("+{}", now - kept)))
    );
    assert_eq!(s.page.text(&format!("{row}.cells[3].className")), "worse");
    s.page.screenshot(&s.directory.join("compare.png"));
    // Swapped, it is the other way round.
    s.page.click("swap");
    s.page.wait(&format!("{} > 0 && {} === 0", of("removed"), of("added")));
    // The link holds both sides.
    s.page.wait("location.hash.length > 100");
    s.page.click("link");
    s.page.wait("document.getElementById('status').textContent.includes('ink')");
    let (address, before) = (s.page.text("location.href"), s.page.text_of("aligned"));
    s.page.go(&s.address.clone());
    s.page.go(&address);
    s.page.wait("document.querySelectorAll('#aligned tr').length > 3");
    assert_eq!(s.page.text_of("aligned"), before);
    s.end();
}

#[test]
fn options_of_the_compiler_are_compared() {
    let Some(mut s) = Session::open("options") else { return };
    s.compile(BEFORE);
    s.page.click("tab-compare");
    s.page.wait("document.querySelectorAll('#aligned tr').length > 3");
    s.page.value("document.getElementById('robust').click()");
    s.page.wait("document.querySelectorAll('#aligned tr.added').length > 0");
    s.end();
}
