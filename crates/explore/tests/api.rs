//! The page's interface, natively: what it answers, and that machine code and IR interpreter agree on what shaders compute.

use proptest::prelude::*;
use serde_json::{Value, json};
use tepui_explore::api::Api;

const FRAGMENT: &str = "struct Inputs { size: vec2f, time: f32, pad: f32, pointer: vec2f }
@group(0) @binding(0) var<uniform> inputs: Inputs;
@fragment fn main(@builtin(position) at: vec4f) -> @location(0) vec4f {
    let half = inputs.size * 0.5;
    if at.x < half.x {
        return vec4f(1.0, inputs.time, 0.0, 1.0);
    }
    return vec4f(0.0, 0.0, at.y / inputs.size.y, 1.0);
}
";

const COMPUTE: &str = "@group(0) @binding(0) var<storage, read_write> data: array<f32>;
@compute @workgroup_size(40)
fn main(@builtin(global_invocation_id) id: vec3u) {
    var x = data[id.x];
    for (var i = 0u; i < id.x % 5u; i++) {
        x = x * 2.0 + 1.0;
    }
    data[id.x] = x;
}
";

fn ask(api: &mut Api, request: Value) -> Value {
    serde_json::from_str(&api.call(&request.to_string())).expect("answers are JSON")
}

fn ok(api: &mut Api, request: Value) -> Value {
    let answer = ask(api, request);
    assert!(answer.get("error").is_none(), "{answer}");
    answer["ok"].clone()
}

#[test]
fn listings_name_source_lines() {
    let mut api = Api::default();
    let report = ok(&mut api, json!({ "op": "compile", "text": FRAGMENT, "passes": true }));
    assert_eq!(report["stage"], "fragment");
    let lines: Vec<u64> = report["asm"]
        .as_array()
        .expect("instructions")
        .iter()
        .filter_map(|i| i["line"].as_u64())
        .collect();
    assert!(lines.contains(&8) && lines.iter().all(|l| (3..=8).contains(l)), "{lines:?}");
    assert!(report["passes"].as_array().is_some_and(|p| p.len() > 5));
    assert!(report["summary"].as_str().is_some_and(|s| s.contains(" inst, ")));
    let answer = ask(&mut api, json!({ "op": "compile", "text": "fn f() { let a = b; }" }));
    assert_eq!(answer["error"]["place"], json!({ "line": 1, "column": 18, "length": 1 }));
    let manual = ok(&mut api, json!({ "op": "manual", "name": "fmadd32" }));
    assert!(manual["text"].as_str().is_some_and(|t| t.contains("fmadd32")));
}

#[test]
fn fragment_shaders_draw() {
    let mut api = Api::default();
    let inputs = json!({ "size": [10, 6], "time": 0.5 });
    let outcome =
        ok(&mut api, json!({ "op": "run", "text": FRAGMENT, "inputs": inputs, "check": true }));
    assert_eq!((&outcome["size"], &outcome["findings"]), (&json!([10, 6]), &json!([])));
    let pixel = |api: &Api, x: usize, y: usize| api.pixels()[4 * (10 * y + x)..][..4].to_vec();
    assert_eq!(api.pixels().len(), 4 * 60);
    assert_eq!(pixel(&api, 0, 0), [255, 128, 0, 255]);
    assert_eq!(pixel(&api, 4, 5), [255, 128, 0, 255]);
    // (5.5 / 6) · 255 = 233.75
    assert_eq!(pixel(&api, 5, 5), [0, 0, 234, 255]);
}

#[test]
fn compute_shaders_fill_buffers() {
    let mut api = Api::default();
    let inputs =
        json!({ "groups": [2, 1, 1], "buffers": [{ "binding": 0, "words": 80, "fill": "index" }] });
    let outcome = ok(&mut api, json!({ "op": "run", "text": COMPUTE, "inputs": inputs }));
    let words: Vec<f32> = outcome["buffers"][0]["words"]
        .as_array()
        .expect("words")
        .iter()
        .map(|w| f32::from_bits(w.as_u64().unwrap_or(0) as u32))
        .collect();
    let expected: Vec<f32> =
        (0..80u32).map(|k| (0..k % 5).fold(k as f32, |x, _| x * 2.0 + 1.0)).collect();
    assert_eq!((words, &outcome["threads"]), (expected, &json!(80)));
}

#[test]
fn a_thread_is_stepped_through() {
    let mut api = Api::default();
    let inputs =
        json!({ "groups": [2, 1, 1], "buffers": [{ "binding": 0, "words": 80, "fill": "index" }] });
    // Thread 35 of workgroup 1 is thread 75 of the grid: lane 3 of the second SIMD-group, in which eight lanes exist.
    let group = json!({ "thread": [[1, 0, 0], 35] });
    let first =
        ok(&mut api, json!({ "op": "debug", "text": COMPUTE, "inputs": inputs, "group": group }));
    let state = &first["state"];
    assert_eq!(
        (&state["lane"], &state["alive"], &state["step"]),
        (&json!(3), &json!(0xff), &json!(0))
    );
    let mut command = |line: &str| ok(&mut api, json!({ "op": "command", "line": line }));
    // The loop's body: lane 0 (thread 72) runs it twice, lane 3 never.
    let body = command("break 6");
    assert!(body["text"].as_str().is_some_and(|t| t.starts_with("breakpoint")), "{body}");
    let inside = command("continue");
    assert_eq!(inside["state"]["line"], 6, "{inside}");
    assert_eq!(inside["state"]["exec"].as_u64().map(|e| e & 0b1001), Some(1), "{inside}");
    let end = command("goto end");
    assert!(end["text"].as_str().is_some_and(|t| t.contains("stop")), "{end}");
    // Some register holds the result of each lane: 72 · 4 + 3 in lane 0.
    let registers = end["state"]["registers"].as_array().expect("registers").clone();
    let wanted = u64::from(291.0f32.to_bits());
    let found = registers.iter().find(|r| r["words"][0].as_u64() == Some(wanted));
    let number = &found.expect("the result is in a register")["number"];
    let writer = command("lane 0");
    assert_eq!(writer["state"]["lane"], 0);
    let writer = command(&format!("writer r{number}"));
    assert!(writer["state"]["step"].as_u64() < end["state"]["step"].as_u64());
}

#[test]
fn a_pixel_is_stepped_through() {
    let mut api = Api::default();
    let inputs = json!({ "size": [64, 64] });
    let request = |x: u32| json!({ "op": "debug", "text": FRAGMENT, "inputs": inputs, "group": { "pixel": [x, 7] } });
    let state = ok(&mut api, request(3))["state"].clone();
    assert_eq!(state["title"], "pixel 3,7");
    let answer = ask(&mut api, request(64));
    assert!(
        answer["error"]["message"].as_str().is_some_and(|m| m.contains("nothing ran")),
        "{answer}"
    );
}

#[test]
fn an_endless_loop_ends() {
    let mut api = Api::default();
    let text = "@group(0) @binding(0) var<storage, read_write> d: array<u32>;
@compute @workgroup_size(1) fn main() { loop { d[0] += 1u; if d[1] == 7u { break; } } }";
    let answer = ask(&mut api, json!({ "op": "debug", "text": text }));
    assert_eq!(answer["ok"]["state"]["truncated"], true, "{answer}");
}

const FILTER: &str = "@group(0) @binding(0) var picture: texture_2d<f32>;
@group(0) @binding(1) var s: sampler;
@group(0) @binding(2) var out: texture_storage_2d<rgba8unorm, write>;
@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) at: vec3u) {
    let size = vec2f(textureDimensions(out));
    textureStore(out, at.xy, textureSampleLevel(picture, s, (vec2f(at.xy) + 0.5) / size, 0.0));
}
";

/// Inputs of [`FILTER`] with an image and words for the sampler.
fn filter_inputs(image: Value, sampler: &str) -> Value {
    json!({
        "groups": [2, 2],
        "images": [image, { "binding": 2, "what": "16x16" }],
        "samplers": [{ "binding": 1, "what": sampler }],
    })
}

#[test]
fn images_are_read_and_stored() {
    let mut api = Api::default();
    let mut run = |what: &str, sampler: &str| {
        let image = json!({ "binding": 0, "what": what });
        let mut inputs = filter_inputs(image, sampler);
        inputs["groups"] = json!([2, 2, 1]);
        let outcome = ok(&mut api, json!({ "op": "run", "text": FILTER, "inputs": inputs }));
        let picture = outcome["pictures"][0].clone();
        assert_eq!((&picture["size"], &picture["offset"]), (&json!([16, 16]), &json!(0)));
        assert_eq!(
            (&picture["name"], &picture["format"]),
            (&json!("out"), &json!("R8G8B8A8_UNORM"))
        );
        api.pixels().to_vec()
    };
    // Texel for texel: the shader copies.
    let copy = run("gradient,size=16x16", "nearest,clamp");
    assert_eq!(copy.len(), 16 * 16 * 4);
    assert_eq!((&copy[..4], &copy[4 * 255..]), (&[0, 0, 128, 255][..], &[255, 255, 128, 255][..]));
    // A smaller image shows the nearest texel, or a mixture.
    let (nearest, linear) = (
        run("checkerboard,size=8x8", "nearest,clamp"),
        run("checkerboard,size=8x8", "linear,clamp"),
    );
    assert_eq!(nearest[..4], nearest[4..8]);
    assert_ne!(nearest, linear);
    assert_ne!(linear, run("checkerboard,size=8x8", "linear,repeat"));
}

#[test]
fn images_come_from_files() {
    use tepui_explore::picture::png_of_texels;
    let pixels: Vec<u8> = (0..16 * 16 * 4u32).map(|k| (k * 11 % 256) as u8).collect();
    let png =
        png_of_texels(tepui_format::Format::R8G8B8A8_UNORM, (16, 16), &pixels).expect("a PNG");
    let mut api = Api::default();
    let mut run = |image: Value| {
        let mut inputs = filter_inputs(image, "nearest,clamp");
        inputs["groups"] = json!([2, 2, 1]);
        ask(&mut api, json!({ "op": "run", "text": FILTER, "inputs": inputs }))
    };
    let file = data_encoding::BASE64.encode(&png);
    let answer = run(json!({ "binding": 0, "what": "own.png", "file": file }));
    assert!(answer.get("error").is_none(), "{answer}");
    for (image, wanted) in [
        (json!({ "binding": 0, "what": "own.png" }), "neither a file"),
        (json!({ "binding": 0, "what": "own.png", "file": "AAAA" }), "need size="),
        (json!({ "binding": 0, "what": "own.png", "file": "?" }), "bytes in base64"),
        (json!({ "binding": 0, "what": "99999x99999" }), "at most"),
        (json!({ "binding": 0, "what": "8x8,layers=0" }), "layers=NUMBER"),
        (json!({ "binding": 7, "what": "8x8" }), "`picture` at set 0 binding 0 has no image"),
    ] {
        let answer = run(image);
        let message = answer["error"]["message"].as_str().unwrap_or("").to_owned();
        assert!(message.contains(wanted), "{wanted}: {answer}");
    }
    assert_eq!(
        ask(&mut api, json!({ "op": "rules" }))["ok"].as_array().map(Vec::is_empty),
        Some(false)
    );
}

#[test]
fn versions_are_aligned() {
    let mut api = Api::default();
    let changed = COMPUTE.replace("x * 2.0 + 1.0", "x * 2.0 + sin(x)");
    let request =
        json!({ "op": "compare", "left": { "text": COMPUTE }, "right": { "text": changed } });
    let compared = ok(&mut api, request);
    let rows = compared["main"].as_array().expect("rows").clone();
    let count = |side: &str| rows.iter().filter(|r| !r[side].is_null()).count();
    for side in ["left", "right"] {
        let all = compared[side]["asm"].as_array().map(Vec::len);
        assert_eq!(Some(count(side)), all, "{side}");
    }
    assert!(rows.iter().any(|r| r["change"] == "added"));
    let wrong = json!({ "op": "compare", "left": { "text": "fn f() { a }" }, "right": { "text": COMPUTE } });
    let answer = ask(&mut api, wrong);
    assert!(
        answer["error"]["message"].as_str().is_some_and(|m| m.starts_with("the left side: line 1")),
        "{answer}"
    );
    assert!(answer["error"].get("place").is_none(), "{answer}");
    // Fewer registers, more spills; checks, more instructions.
    let text = |code: Value| json!({ "op": "compile", "text": COMPUTE, "code": code });
    let plain = ok(&mut api, text(json!({})));
    let robust = ok(&mut api, text(json!({ "robust": true })));
    assert!(robust["stats"]["instructions"].as_u64() > plain["stats"]["instructions"].as_u64());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Whatever a page sends, there is an answer.
    #[test]
    fn any_request_is_answered(text in "[ -~\n]{0,80}", cut in 0..600usize) {
        let mut api = Api::default();
        let answer = ask(&mut api, json!({ "op": "compile", "text": text }));
        prop_assert!(answer.is_object());
        let cut: String = FRAGMENT.chars().take(cut).collect();
        let answer = ask(&mut api, json!({ "op": "compile", "text": cut }));
        prop_assert!(answer.is_object());
        let refused = api.call(&text).contains("error");
        prop_assert!(refused);
    }
}

/// Parts of variables as pointer arguments, which naga's validator accepts and its writer does not, and a text at which it panics.
#[test]
fn what_naga_cannot_write_is_an_error_with_its_place() {
    let mut api = Api::default();
    let shader = |declarations: &str, body: &str, space: &str| {
        format!(
            "fn g(p: ptr<{space}, u32>) -> u32 {{ *p += 1u; return *p; }}
            struct A {{ x: u32, y: u32 }} {declarations}
            @group(0) @binding(0) var<storage, read_write> d: array<u32>;
            @compute @workgroup_size(32) fn main(@builtin(local_invocation_index) i: u32) {{
                {body}
            }}"
        )
    };
    for (text, part) in [
        (shader("", "var a: A; d[i] = g(&a.y);", "function"), "a member or an element"),
        (
            shader("", "var a: array<u32, 4>; d[i] = g(&a[1]);", "function"),
            "a member or an element",
        ),
        (
            shader("", "var a: array<u32, 4>; if i < 4 { d[i] = g(&a[i & 3]); }", "function"),
            "an element",
        ),
        (
            shader(
                "var<private> q: array<u32, 4>;",
                "loop { d[i] = g(&q[i & 3]); break; }",
                "private",
            ),
            "an element",
        ),
        (shader("", "var a: A; let p = &a.y; d[i] = g(p);", "function"), "a member or an element"),
    ] {
        let error = ask(&mut api, json!({ "op": "compile", "text": text }));
        let said = error["error"]["message"].as_str().unwrap_or_else(|| panic!("{error}\n{text}"));
        assert!(
            said.starts_with(&format!("a pointer to {part} of a variable as an argument of `g`")),
            "{said}"
        );
        assert_eq!(error["error"]["place"]["line"], 5, "{error}");
    }
    let external = "@group(0) @binding(0) var t: texture_external;
        @fragment fn main() -> @location(0) vec4f { return textureLoad(t, vec2i()); }";
    let error = ask(&mut api, json!({ "op": "compile", "text": external }));
    let said = error["error"]["message"].as_str().unwrap_or_default();
    assert!(said.contains("TEXTURE_EXTERNAL"), "{error}");
    // naga's reader panics at the size of this type.
    let huge = "@compute @workgroup_size(1) fn main() { var a = array<i32, 636109182>()[0]; var b = array<i32, 6>()[0]; }";
    let error = ask(&mut api, json!({ "op": "compile", "text": huge }));
    let said = error["error"]["message"].as_str().unwrap_or_default();
    assert!(said.contains("panicked") && said.contains("TooLarge"), "{error}");
    // Whole variables go.
    let whole = shader("", "var a = i; d[i] = g(&a);", "function");
    ok(&mut api, json!({ "op": "compile", "text": whole }));
}
