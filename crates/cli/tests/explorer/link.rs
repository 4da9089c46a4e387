//! A link holds the whole state.

use serde_json::json;

use crate::Session;

#[test]
fn a_link_holds_the_state() {
    let Some(mut s) = Session::open("link") else { return };
    s.example("Divergent loop");
    s.page.set("words", "64");
    s.page.set("groups", "2");
    s.page.set("target", "1,0,0,5");
    s.page.click("check");
    s.page.value("import('./debugger.js').then((m) => m.breakpoint(12))");
    s.page.click("debug");
    s.page.wait("document.getElementById('where').textContent.includes('step 0 ')");
    s.page.value("document.querySelector('[data-command=continue]').click()");
    s.page.wait("document.getElementById('where').textContent.includes('line 12')");
    s.page.set("as", "hex");
    let seen = "JSON.stringify([document.querySelector('#editor textarea').value, \
        ...['words', 'groups', 'target', 'as'].map((n) => document.getElementById(n).value), \
        document.getElementById('check').checked, document.getElementById('where').textContent, \
        document.getElementById('register-table').textContent, \
        document.querySelectorAll('.gutter .break').length])";
    let before = s.page.text(seen);
    s.page.click("link");
    s.page.wait("document.getElementById('status').textContent.includes('ink')");
    let address = s.page.text("location.href");
    s.page.go(&s.address.clone());
    assert_ne!(s.page.text(seen), before);
    s.page.go(&address);
    s.page.wait("document.getElementById('where').textContent.includes('line 12')");
    assert_eq!(s.page.text(seen), before);
    assert_eq!(s.page.text("document.getElementById('tab-debug').ariaSelected"), "true");
    // A damaged link is said to be one, and an example is shown.
    let broken = format!("{}#%%%", s.address);
    s.page.go(&broken);
    assert_eq!(s.page.value("document.querySelectorAll('#asm li').length > 10"), json!(true));
    s.end();
}
