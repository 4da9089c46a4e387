//! The checker's findings on the page.

use serde_json::json;

use crate::Session;

/// A reversal without a barrier in line 6.
const RACE: &str = "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
var<workgroup> t: array<u32, 64>;
@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    t[i] = x[i] + 1u;
    x[i] = t[63u - i];
}
";

#[test]
fn findings_lead_to_their_lines() {
    let Some(mut s) = Session::open("checker") else { return };
    s.compile(RACE);
    s.run();
    let rows = "[...document.querySelectorAll('#findings tr')].slice(1)";
    assert_eq!(s.page.value(&format!("{rows}.length")), json!(0), "nothing is looked for unasked");
    s.page.click("check");
    s.run();
    let row = format!(
        "{rows}.find((r) => r.cells[0].textContent === 'local-race' && r.cells[2].textContent === 'line 6')"
    );
    assert_eq!(s.page.value(&format!("{row} !== undefined")), json!(true));
    let cells = s.page.value(&format!("[...{row}.cells].map((c) => c.textContent)"));
    let cell = |k: usize| cells[k].as_str().unwrap_or("").to_owned();
    assert_eq!(cell(1), "error", "{cells}");
    assert!(cell(3).contains("threadgroup_load"), "{cells}");
    assert!(cell(3).contains("without a barrier"), "{cells}");
    assert!(cell(5).parse::<u32>().is_ok_and(|n| n > 0), "{cells}");
    s.page.screenshot(&s.directory.join("findings.png"));
    s.page.value(&format!("{row}.cells[2].firstChild.click()"));
    assert_eq!(s.page.text("document.activeElement.getAttribute('aria-label')"), "Shader source");
    let before = "document.activeElement.value.slice(0, document.activeElement.selectionStart)";
    assert_eq!(s.page.value(&format!("{before}.split('\\n').length")), json!(6));
    s.page.value(&format!("{row}.cells[0].firstChild.click()"));
    assert!(s.page.text_of("rule").contains("To mend: "));
    // A shader without mistakes has no findings.
    s.example("Divergent loop");
    s.page.click("check");
    s.run();
    assert_eq!(s.page.value("document.getElementById('clean').hidden"), json!(false));
    s.end();
}
