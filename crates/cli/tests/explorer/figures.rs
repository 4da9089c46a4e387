//! Speed and size of the page. The figures are printed: `--nocapture` shows them.

use serde_json::json;

use crate::Session;

/// Milliseconds until the page can be used.
const MAX_LOAD_MS: f64 = 3000.0;
/// Bytes of all files, compressed.
const MAX_SIZE_B: f64 = 5e6;
/// Milliseconds from a keystroke to the new listing.
const MAX_KEYSTROKE_MS: f64 = 100.0;
/// Number of times that the page is loaded.
const LOADS: usize = 5;
/// Keystrokes that are timed in each example.
const KEYSTROKES: usize = 9;

#[test]
fn the_page_is_small_and_quick() {
    let Some(mut s) = Session::open("figures") else { return };
    let ready = "performance.getEntriesByName('ready')[0].startTime";
    let mut loads = Vec::new();
    for _ in 0..LOADS {
        s.page.go(&s.address.clone());
        loads.push(s.page.value(ready).as_f64().expect("the page marks when it is ready"));
    }
    loads.sort_by(f64::total_cmp);
    let load = loads[0];
    let size = s.page.value(
        "(async () => { let sum = 0; const names = [location.href.split('#')[0], \
         ...new Set(performance.getEntriesByType('resource').map((e) => e.name)), new URL('worker.js', location.href).href]; \
         for (const name of new Set(names)) { \
           const body = (await fetch(name)).body.pipeThrough(new CompressionStream('gzip')); \
           sum += (await new Response(body).arrayBuffer()).byteLength; } return sum; })()",
    );
    let size = size.as_f64().expect("a size");
    println!("the page is ready after {loads:.0?} ms; its files have {size:.0} bytes in gzip");
    let names = s.page.value("[...document.getElementById('example').options].map((o) => o.value)");
    let mut slow = Vec::new();
    for name in names.as_array().expect("examples").iter().filter_map(|n| n.as_str()) {
        s.example(name);
        let mut times: Vec<f64> = (0..KEYSTROKES).map(|_| keystroke(&mut s)).collect();
        times.sort_by(f64::total_cmp);
        let (best, median, worst) = (times[0], times[KEYSTROKES / 2], times[KEYSTROKES - 1]);
        println!(
            "{name}: a keystroke to its listing {best:.0} ms, {median:.0} ms, {worst:.0} ms (best, median, worst)"
        );
        // Other programs of this machine can slow some of them down, not all.
        if best >= MAX_KEYSTROKE_MS {
            slow.push(name.to_owned());
        }
    }
    assert!(load < MAX_LOAD_MS, "{load} ms");
    assert!(size < MAX_SIZE_B && size > 1e5, "{size} bytes");
    assert_eq!(json!(slow), json!([]));
    s.end();
}

/// Milliseconds from a key to the listing that follows.
fn keystroke(s: &mut Session) -> f64 {
    let time = s.page.value(
        "new Promise((done) => { \
           const area = document.querySelector('#editor textarea'); area.focus(); area.setSelectionRange(0, 0); \
           const before = performance.now(); \
           new MutationObserver((_, o) => { o.disconnect(); done(performance.now() - before); }) \
             .observe(document.getElementById('asm'), { childList: true }); \
           document.execCommand('insertText', false, ' '); })",
    );
    time.as_f64().expect("milliseconds")
}
