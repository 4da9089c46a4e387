//! Images and samplers that the user gives a shader.

use serde_json::json;
use tepui_explore::api::Api;
use tepui_explore::picture::png_of_texels;
use tepui_format::Format;

use crate::{Session, native, results};

/// The hash of the storage image on the page.
const HASH: &str = "document.querySelector('#pictures figcaption').textContent.split(' ').pop()";

#[test]
fn images_and_samplers_are_given() {
    let Some(mut s) = Session::open("images") else { return };
    s.example("Image filter");
    s.run();
    let checkerboard = s.page.text(HASH);
    // Choices of the first image and of the sampler, by their place in the list.
    let choose = |field: &str, k: usize, value: &str| {
        format!(
            "(() => {{ const e = document.querySelectorAll('#resources fieldset')[{field}].querySelectorAll('select')[{k}]; \
             e.value = '{value}'; e.dispatchEvent(new Event('change')); }})()"
        )
    };
    let mut seen = vec![checkerboard];
    for (field, k, value) in [("0", 0, "noise"), ("1", 0, "nearest"), ("1", 1, "repeat")] {
        s.page.value(&choose(field, k, value));
        s.run();
        let hash = s.page.text(HASH);
        // The centres of texels are sampled: the filter changes nothing.
        assert_eq!(seen.last() == Some(&hash), value == "nearest", "{value}: {seen:?}, {hash}");
        seen.push(hash);
    }
    // A picture of the user's.
    let pixels: Vec<u8> = (0..16 * 16 * 4u32).map(|k| (k * 7 % 256) as u8).collect();
    let png = png_of_texels(Format::R8G8B8A8_UNORM, (16, 16), &pixels).expect("a PNG");
    let path = s.directory.join("own.png");
    std::fs::write(&path, png).expect("it can be written");
    s.page.value(&choose("0", 0, "picture"));
    s.page.choose_file("#resources input[type=file]", &path);
    s.page.wait("import('./resources.js').then((m) => m.inputs().images[0].file !== null)");
    s.run();
    assert!(!seen.contains(&s.page.text(HASH)));
    let (request, outcome) = s.last();
    let mut api = Api::default();
    assert_eq!(results(&outcome), results(&native(&mut api, &request)["ok"]), "{request}");
    s.page.screenshot(&s.directory.join("images.png"));
    // The link holds the picture.
    let own = s.page.text(HASH);
    s.page.click("link");
    s.page.wait("document.getElementById('status').textContent.includes('ink')");
    let address = s.page.text("location.href");
    s.page.go(&s.address.clone());
    s.page.go(&address);
    s.run();
    assert_eq!(s.page.text(HASH), own);
    s.end();
}

#[test]
fn what_is_missing_is_named() {
    let Some(mut s) = Session::open("missing") else { return };
    s.example("Image filter");
    s.run();
    let (mut request, _) = s.last();
    request["inputs"]["samplers"] = json!([]);
    let answer = s.ask(&request);
    let error = answer["error"].as_str().unwrap_or("").to_owned();
    assert!(error.contains("`edge_sampler` at set 0 binding 1 has no sampler"), "{answer}");
    request["inputs"]["images"] = json!([]);
    let answer = s.ask(&request);
    let error = answer["error"].as_str().unwrap_or("").to_owned();
    assert!(error.contains("`picture` at set 0 binding 0 has no image"), "{answer}");
    s.end();
}
