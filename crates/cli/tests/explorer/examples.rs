//! Examples compute the same in the browser as natively.

use serde_json::{Value, json};
use tepui_explore::api::Api;

use crate::{Session, native, results};

#[test]
fn examples_run_as_natively() {
    let Some(mut s) = Session::open("examples") else { return };
    let mut api = Api::default();
    let names = s.page.value("[...document.getElementById('example').options].map((o) => o.value)");
    let names: Vec<String> = serde_json::from_value(names).expect("names");
    for wanted in ["Mandelbrot", "Lit cube", "Matrix product", "Image filter", "Divergent loop"] {
        assert!(names.iter().any(|n| n == wanted), "{wanted} is not among {names:?}");
    }
    for name in names {
        s.example(&name);
        s.page.set("width", "64");
        s.page.set("height", "64");
        s.run();
        assert_eq!(s.page.text("document.getElementById('error').hidden"), "true", "{name}");
        let (request, outcome) = s.last();
        let own = native(&mut api, &request);
        assert_eq!(results(&outcome), results(&own["ok"]), "{name}; asked: {request}");
        assert_same_pixels(&mut s, &api, &outcome, &name);
        s.page.screenshot(&s.directory.join(format!("{name}.png")));
    }
    s.end();
}

/// The picture on the page has the pixels of the same core built natively.
fn assert_same_pixels(s: &mut Session, api: &Api, outcome: &Value, name: &str) {
    let selector = match outcome["size"][0] == json!(0) {
        true => "#pictures canvas",
        false => "#canvas",
    };
    let pixels = s.page.value(&format!(
        "(() => {{ const c = document.querySelector('{selector}'); \
         return c ? [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data] : []; }})()"
    ));
    let pixels: Vec<u64> =
        pixels.as_array().expect("pixels").iter().filter_map(Value::as_u64).collect();
    let differ = pixels.iter().zip(api.pixels()).filter(|(a, b)| **a != u64::from(**b)).count();
    assert_eq!((pixels.len(), differ), (api.pixels().len(), 0), "{name}: bytes that differ");
}
