//! Mali's GPUs in the explorer: listings, runs that leave what the M1 leaves, and the debugger by scripts.
#![cfg(feature = "naga")]

use serde_json::{Value, json};
use tepui_explore::api::Api;
use tepui_explore::compile::Text;
use tepui_explore::mali::{self, run};
use tepui_explore::run::{Contents, Inputs};
use tepui_mali_isa::inst::BYTES;
use tepui_mali_isa::{Flow, Inst};

const GPUS: [&str; 2] = ["mali-g610", "mali-g57"];

const COMPUTE: &str = "@group(0) @binding(0) var<storage, read_write> result: array<u32>;
@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
    var sum = 0u;
    for (var i = 0u; i <= id.x; i++) {
        sum += i * i;
    }
    result[id.x] = sum;
}
";

const SHARED: &str = "@group(0) @binding(0) var<storage, read_write> result: array<u32>;
var<workgroup> t: array<u32, 64>;
@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    t[i] = i * 7u + 1u;
    workgroupBarrier();
    result[i] = t[63u - i];
}
";

const COLLATZ: &str = "@group(0) @binding(0) var<storage, read_write> steps: array<u32>;
@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
    var n = id.x;
    var count = 0u;
    while n != 1u && count < 200u {
        n = select(3u * n + 1u, n / 2u, n % 2u == 0u);
        count++;
    }
    steps[id.x] = count;
}
";

const FRAGMENT: &str = "struct Inputs { size: vec2f, time: f32, pad: f32, pointer: vec2f }
@group(0) @binding(0) var<uniform> inputs: Inputs;
@group(0) @binding(1) var<storage, read_write> seen: array<u32>;
@fragment fn main(@builtin(position) at: vec4f, @location(0) uv: vec2f) -> @location(0) vec4f {
    let half = inputs.size * 0.5;
    seen[u32(at.x)] = u32(at.x) + 1u;
    if at.x < half.x {
        return vec4f(1.0, inputs.time, 0.0, 1.0);
    }
    return vec4f(floor(uv.x * 4.0) / 4.0, 0.0, at.y / inputs.size.y, 1.0);
}
";

/// Two triangles, the second of which is nearer and smaller.
const TWO: &str = "struct Corner { @builtin(position) at: vec4f, @location(0) colour: vec3f }
@vertex fn corners(@builtin(vertex_index) i: u32) -> Corner {
    let k = i % 3u;
    let near = f32(i / 3u);
    let at = (vec2f(f32((k << 1u) & 2u), f32(k & 2u)) * 2.0 - 1.0) * (1.0 - 0.5 * near);
    return Corner(vec4f(at, 0.75 - 0.5 * near, 1.0), vec3f(near, 1.0 - near, 0.5));
}
@fragment fn main(in: Corner) -> @location(0) vec4f {
    if in.at.y > 14.0 {
        discard;
    }
    return vec4f(in.colour, 1.0);
}
";

const IMAGE: &str = "@group(0) @binding(0) var picture: texture_2d<f32>;
@group(0) @binding(1) var linear: sampler;
@group(0) @binding(2) var result: texture_storage_2d<rgba8unorm, write>;
@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let at = (vec2f(id.xy) + 0.5) / 16.0;
    textureStore(result, id.xy, textureSampleLevel(picture, linear, at, 0.0));
}
";

fn ask(api: &mut Api, request: &Value) -> Value {
    serde_json::from_str(&api.call(&request.to_string())).expect("answers are JSON")
}

fn ok(api: &mut Api, request: Value) -> Value {
    let answer = ask(api, &request);
    assert!(answer.get("error").is_none(), "{request}: {answer}");
    answer["ok"].clone()
}

#[test]
fn listings_have_lines_and_statistics() {
    let mut api = Api::default();
    for gpu in GPUS {
        let report =
            ok(&mut api, json!({ "op": "compile", "text": COMPUTE, "gpu": gpu, "passes": true }));
        let asm = report["asm"].as_array().expect("instructions");
        let text = |i: &Value| i["text"].as_str().unwrap_or_default().to_owned();
        assert!(asm.iter().any(|i| i["line"] == 6 && text(i).starts_with("IMUL")), "{report}");
        assert!(asm.iter().any(|i| i["line"] == 8 && text(i).starts_with("STORE")));
        assert!(report["stats"]["registers"].as_i64() > Some(2));
        assert!(report["summary"].as_str().is_some_and(|s| s.contains(" fma, ")));
        assert!(report["occupancy"].as_str().is_some_and(|s| s.contains("of 64 registers")));
        assert!(report["passes"].as_array().is_some_and(|p| p.len() > 5));
        let store = text(asm.iter().find(|i| text(i).starts_with("STORE")).expect("a store"));
        let manual = ok(&mut api, json!({ "op": "manual", "name": store, "gpu": gpu }));
        assert!(manual["text"].as_str().is_some_and(|t| t.contains("STORE.i32")), "{manual}");
        // Two GPUs side by side.
        let left = json!({ "text": COMPUTE });
        let right = json!({ "text": COMPUTE, "gpu": gpu });
        let both = ok(&mut api, json!({ "op": "compare", "left": left, "right": right }));
        assert_eq!(both["right"]["asm"], report["asm"]);
    }
    let answer = ask(&mut api, &json!({ "op": "compile", "text": COMPUTE, "gpu": "mali-g52" }));
    assert!(
        answer["error"]["message"].as_str().is_some_and(|m| m.contains("`mali-g52` is no GPU"))
    );
}

#[test]
fn runs_leave_what_the_m1_leaves() {
    let mut api = Api::default();
    let buffers = json!([{ "binding": 0, "words": 64, "fill": "index" }]);
    let images =
        json!([{ "binding": 0, "what": "noise,size=16x16" }, { "binding": 2, "what": "16x16" }]);
    let samplers = json!([{ "binding": 1, "what": "linear,repeat" }]);
    for text in [COMPUTE, SHARED, COLLATZ, IMAGE] {
        let inputs = json!({ "groups": [2, 2, 1], "buffers": buffers, "images": images, "samplers": samplers });
        let request =
            |gpu| json!({ "op": "run", "text": text, "gpu": gpu, "inputs": inputs, "check": true });
        let want = ok(&mut api, request("m1"));
        let pixels = api.pixels().to_vec();
        for gpu in GPUS {
            let got = ok(&mut api, request(gpu));
            assert_eq!(got["buffers"], want["buffers"], "{gpu}: {text}");
            assert_eq!(got["findings"], json!([]), "{gpu}: {text}");
            assert!(got["threads"].as_u64() > Some(0) && got["instructions"].as_u64() > Some(10));
            // Filters may round to another step of 8 bits.
            let differs = |(a, b): (&u8, &u8)| a.abs_diff(*b) > 1;
            assert_eq!(api.pixels().len(), pixels.len());
            assert!(!api.pixels().iter().zip(&pixels).any(differs), "{gpu}: {text}");
        }
    }
}

#[test]
fn draws_leave_what_the_m1_leaves() {
    let mut api = Api::default();
    let buffers = json!([{ "binding": 1, "words": 64, "fill": "index" }]);
    for text in [FRAGMENT, TWO] {
        let inputs = json!({ "size": [20, 16], "time": 0.5, "vertices": 6, "buffers": buffers });
        let request =
            |gpu| json!({ "op": "run", "text": text, "gpu": gpu, "inputs": inputs, "check": true });
        let want = ok(&mut api, request("m1"));
        let pixels = api.pixels().to_vec();
        for gpu in GPUS {
            let got = ok(&mut api, request(gpu));
            assert_eq!(got["buffers"], want["buffers"], "{gpu}: {text}");
            assert_eq!(got["findings"], json!([]), "{gpu}: {text}");
            assert_eq!(api.pixels().len(), pixels.len());
            let differs = |(a, b): (&u8, &u8)| a.abs_diff(*b) > 1;
            assert!(!api.pixels().iter().zip(&pixels).any(differs), "{gpu}: {text}");
        }
    }
}

#[test]
fn a_debugger_steps_over_fragments() {
    let mut api = Api::default();
    for gpu in GPUS {
        let request = json!({ "op": "debug", "text": FRAGMENT, "gpu": gpu,
            "inputs": { "size": [20, 16], "time": 0.5 }, "group": { "pixel": [13, 6] } });
        let begun = ok(&mut api, request);
        let title = begun["state"]["title"].as_str().unwrap_or_default();
        assert!(title.contains("pixel 13,6"), "{gpu}: {title}");
        let mut say = |line: &str| ok(&mut api, json!({ "op": "command", "line": line }));
        say("break 10");
        let there = say("continue");
        assert_eq!(there["state"]["line"], json!(10), "{gpu}: {there}");
        let blends = |i: &Value| i["text"].as_str().is_some_and(|t| t.starts_with("BLEND"));
        assert!(begun["program"].as_array().is_some_and(|p| p.iter().any(blends)), "{gpu}");
        let end = say("goto end");
        assert!(end["text"].as_str().is_some_and(|t| t.contains("(end)")), "{gpu}: {end}");
    }
}

/// Machine code without its waits computes something else, which the checker reports at the line of the instruction that reads
/// too early.
#[test]
fn missing_waits_have_their_line() {
    let text = Text {
        text: SHARED.replace("t[63u - i]", "result[i] + t[63u - i]"),
        name: "shared.wgsl".to_owned(),
        ..Text::default()
    };
    let inputs = Inputs {
        groups: [1; 3],
        buffers: vec![Contents {
            set: 0,
            binding: 0,
            words: 64,
            fill: "index".to_owned(),
            data: None,
        }],
        ..Inputs::default()
    };
    for gpu in GPUS {
        let chip = mali::chip(gpu).expect("a chip");
        let mut compiled = mali::compile(&text, chip, false).expect("it compiles");
        let check = |compiled: &mali::Compiled| {
            let how = run::RunOptions { check: true, ..Default::default() };
            let ran = run::run(&text, compiled, &inputs, how).expect("it has its inputs");
            ran.outcome.expect("it runs").findings
        };
        assert_eq!(check(&compiled), [], "{gpu}");
        let mut removed = 0;
        for word in compiled.program.code.chunks_exact_mut(BYTES) {
            let Ok(mut inst) = Inst::decode_at(word, 0) else { continue };
            if format!("{:?}", inst.flow).starts_with("Wait") {
                inst.flow = Flow::None;
                word.copy_from_slice(&inst.encode().expect("it is encoded").to_le_bytes());
                removed += 1;
            }
        }
        assert!(removed > 0, "{gpu}");
        let found = check(&compiled);
        let early = found.iter().find(|f| f.rule == "unwaited-read").expect("a finding");
        let source = early.source.as_ref().expect("a line");
        assert_eq!((source.file.as_str(), source.line), ("shared.wgsl", 7), "{gpu}: {early}");
    }
}

#[test]
fn a_debugger_steps_over_a_warp() {
    let mut api = Api::default();
    for gpu in GPUS {
        let inputs = json!({ "buffers": [{ "binding": 0, "words": 32, "fill": "zeros" }] });
        let request = json!({ "op": "debug", "text": COLLATZ, "gpu": gpu, "inputs": inputs,
            "group": { "thread": [[0, 0, 0], 3] } });
        let begun = ok(&mut api, request);
        assert_eq!((&begun["state"]["lane"], &begun["state"]["exec"]), (&json!(3), &json!(0xffff)));
        assert_eq!(begun["state"]["shared"], json!(false));
        let mut say = |line: &str| ok(&mut api, json!({ "op": "command", "line": line }));
        say("break count if 0.count > 150");
        let there = say("continue");
        assert_eq!(there["state"]["exec"], json!(1), "{gpu}: {there}");
        say("lane 0");
        let vars = say("vars")["text"].as_str().unwrap_or_default().to_owned();
        let has = |name: &str, value: &str| {
            vars.lines().any(|l| l.trim_start().starts_with(name) && l.contains(value))
        };
        assert!(has("count (%", " 151 ") && has("n (%", " 0 "), "{gpu}: {vars}");
        say("goto end");
        let wrote = say("writer steps[0]");
        let text = wrote["text"].as_str().unwrap_or_default();
        assert!(
            text.contains("STORE.i32") && text.contains("steps[id.x] = count"),
            "{gpu}: {text}"
        );
        let memory = say("memory steps[0] 2")["text"].as_str().unwrap_or_default().to_owned();
        assert!(memory.contains("steps[0]"), "{gpu}: {memory}");
        let back = say("back");
        assert!(back["state"]["step"].as_u64() < wrote["state"]["step"].as_u64());
    }
}
