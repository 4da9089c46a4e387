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
