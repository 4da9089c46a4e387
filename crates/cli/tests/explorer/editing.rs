//! The listing follows the source; errors stand at their place; everything can be done with the keyboard.

use serde_json::json;

use crate::Session;
use crate::browser::{CTRL, DOWN, ENTER, ESCAPE, LEFT, NONE, RIGHT, TAB};

const TEXT: &str = "@fragment fn f(@builtin(position) p: vec4f) -> @location(0) vec4f {\n  return vec4f(p.x);\n}\n";

#[test]
fn lines_and_instructions_are_linked() {
    let Some(mut s) = Session::open("linked") else { return };
    let marked = "document.querySelectorAll('#asm li.marked').length";
    assert!(s.page.value(marked).as_u64().is_some_and(|n| n > 10), "there is a listing");
    s.page.screenshot(&s.directory.join("listing.png"));
    let line = s.page.value("Number(document.querySelector('#asm li.marked').dataset.line)");
    s.page.value(
        "document.querySelector('#asm li.marked').dispatchEvent(new MouseEvent('mouseover', { bubbles: true }))",
    );
    let area = "document.querySelector('#editor textarea')";
    let source = s.page.text(&format!("{area}.value.split('\\n')[{line} - 1]"));
    assert_eq!(s.page.text("document.querySelector('.stack .hot').textContent"), source);
    s.page.wait("document.querySelector('#asm li.marked').title.length > 20");
    s.page.value("document.querySelector('#asm li[data-offset]').click()");
    s.page.wait("document.getElementById('manual').textContent.length > 20");
    s.end();
}

#[test]
fn errors_stand_at_their_place() {
    let Some(mut s) = Session::open("errors") else { return };
    s.compile(TEXT);
    s.page.wait(
        "[...document.querySelectorAll('#asm .place')].every((p) => Number(p.textContent) <= 3)",
    );
    s.source(&TEXT.replace("p.x", "q.x"));
    s.page.wait("document.querySelector('.squiggle')?.textContent === 'q'");
    assert!(s.page.text_of("error").starts_with("Line 2: "));
    s.page.screenshot(&s.directory.join("error.png"));
    s.source(TEXT);
    s.page.wait("document.getElementById('error').hidden");
    assert_eq!(s.page.value("document.querySelector('.squiggle')"), json!(null));
    s.end();
}

#[test]
fn the_keyboard_is_enough() {
    let Some(mut s) = Session::open("keyboard") else { return };
    // The Tab key reaches every control of the header, the text, the list of panes and the pane.
    let focused =
        "document.activeElement.id || document.activeElement.getAttribute('aria-label') || ''";
    s.page.value("document.activeElement.blur()");
    let mut reached = Vec::new();
    for _ in 0..16 {
        // In the text Tab indents, unless Escape came before.
        s.page.press(ESCAPE, NONE);
        s.page.press(TAB, NONE);
        reached.push(s.page.text(focused));
    }
    for control in ["example", "stage", "run", "play", "debug", "link", "Shader source", "tab-asm"]
    {
        assert!(reached.iter().any(|r| r == control), "{control} is not among {reached:?}");
    }
    // A listing is walked through with the arrow keys; Enter opens the manual.
    s.page.value("document.querySelector('#asm li[data-line]').focus()");
    s.page.press(DOWN, NONE);
    s.page.press(DOWN, NONE);
    let at = "[...document.querySelectorAll('#asm li[data-line]')].indexOf(document.activeElement)";
    assert_eq!(s.page.value(at), json!(2));
    s.page.press(ENTER, NONE);
    s.page.wait("document.getElementById('manual').textContent.length > 20");
    // Ctrl+Enter runs; arrow keys change panes.
    s.page.press(ENTER, CTRL);
    s.page.wait("document.getElementById('tab-run').getAttribute('aria-selected') === 'true'");
    s.page.wait("!document.getElementById('canvas').hidden");
    s.page.value("document.getElementById('tab-run').focus()");
    s.page.press(LEFT, NONE);
    s.page.press(LEFT, NONE);
    s.page.wait("!document.getElementById('pane-ir').hidden && document.getElementById('ir').textContent.length > 100");
    s.page.screenshot(&s.directory.join("ir.png"));
    s.page.press(RIGHT, NONE);
    s.page.wait("document.querySelectorAll('#aligned tr').length > 10");
    s.end();
}
