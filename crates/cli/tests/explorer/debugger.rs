//! The debugger on the page.

use serde_json::json;

use crate::Session;
use crate::browser::{CTRL, ENTER, F5, F9, F11, NONE, SHIFT};

/// The step that is shown.
const STEP: &str =
    "Number(document.getElementById('where').textContent.match(/step (\\d+)/)?.[1] ?? -1)";

#[test]
fn lanes_are_stepped_through() {
    let Some(mut s) = Session::open("debugger") else { return };
    s.example("Divergent loop");
    s.page.click("debug");
    s.page.wait(&format!("{STEP} === 0"));
    for _ in 0..12 {
        let before = s.page.value(STEP);
        s.page.value("document.querySelector('[data-command=mask]').click()");
        s.page.wait(&format!("{STEP} !== {before}"));
    }
    let waiting = s.page.value("document.querySelectorAll('#lanes button:not(.on)').length");
    assert!(waiting.as_u64().is_some_and(|n| n > 0 && n < 32), "{waiting} lanes wait");
    let before = s.page.value(STEP).as_u64().unwrap_or(0);
    s.page.press(F11, NONE);
    s.page.wait(&format!("{STEP} === {}", before + 1));
    s.page.screenshot(&s.directory.join("debugger.png"));
    s.page.value("document.querySelector('[data-command=back]').click()");
    s.page.wait(&format!("{STEP} === {before}"));
    s.end();
}

#[test]
fn names_memory_and_images_are_shown() {
    let Some(mut s) = Session::open("names") else { return };
    s.example("Divergent loop");
    s.page.set("memory", "steps[0] 4");
    s.page.click("debug");
    s.page.wait(&format!("{STEP} === 0"));
    let words = "document.getElementById('memory-words').textContent";
    s.page.wait(&format!("{words}.includes('steps[3]')"));
    let before = s.page.text(words);
    // The buffer held floats; at the end it holds counts.
    s.page.click("watch");
    s.page.value("document.querySelector('[data-command=continue]').click()");
    s.page.wait(&format!("{words} !== {before:?} && {STEP} > 0"));
    let names =
        "[...document.querySelectorAll('#register-table th')].map((t) => t.textContent).join()";
    assert!(s.page.text(names).contains("count"), "{}", s.page.text(names));
    s.page.screenshot(&s.directory.join("names.png"));
    // Images of the program are offered and drawn.
    s.example("Image filter");
    s.page.click("debug");
    s.page.wait("document.getElementById('texture').options.length > 1");
    s.page.set("texture", "0");
    s.page.wait("!document.getElementById('texture-picture').hidden");
    let corner = "[...document.getElementById('texture-picture').getContext('2d').getImageData(0, 0, 1, 1).data]";
    assert_eq!(s.page.value(corner), json!([240, 240, 230, 255]));
    s.page.screenshot(&s.directory.join("texture.png"));
    s.end();
}

#[test]
fn breakpoints_by_keyboard() {
    let Some(mut s) = Session::open("breakpoints") else { return };
    s.example("Divergent loop");
    // F9 sets one in the line of the caret, Ctrl+Shift+Enter begins, F5 goes there.
    s.page.value("import('./page.js').then((m) => m.page.editor.goTo(12))");
    s.page.press(F9, NONE);
    s.page.press(ENTER, CTRL | SHIFT);
    s.page.wait(&format!("{STEP} === 0"));
    s.page.press(F5, NONE);
    s.page.wait("document.getElementById('where').textContent.includes('line 12')");
    assert_eq!(s.page.value("document.querySelectorAll('.gutter .break').length"), json!(1));
    s.end();
}
