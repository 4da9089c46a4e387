//! Intel's GPUs in the explorer: listings, runs that leave what the M1 leaves, and the debugger by scripts.
#![cfg(feature = "naga")]

use serde_json::{Value, json};
use tepui_explore::api::Api;

const GPUS: [&str; 2] = ["skl", "tgl"];

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

fn ask(api: &mut Api, request: &Value) -> Value {
    serde_json::from_str(&api.call(&request.to_string())).expect("answers are JSON")
}

fn ok(api: &mut Api, request: Value) -> Value {
    let answer = ask(api, &request);
    assert!(answer.get("error").is_none(), "{request}: {answer}");
    answer["ok"].clone()
}

#[test]
fn listings_have_lines_statistics_and_cycles() {
    let mut api = Api::default();
    for gpu in GPUS {
        let report =
            ok(&mut api, json!({ "op": "compile", "text": COMPUTE, "gpu": gpu, "passes": true }));
        let asm = report["asm"].as_array().expect("instructions");
        assert!(asm.iter().any(|i| i["line"] == 6 && i["text"].as_str().is_some_and(|t| t.starts_with("mul"))));
        assert!(asm.iter().any(|i| i["text"].as_str().is_some_and(|t| t.contains("EOT"))));
        let cycles = report["stats"]["cycles"].as_i64().expect("cycles");
        assert!(
            cycles > 100 && report["summary"].as_str().is_some_and(|s| s.contains("SIMD16 shader"))
        );
        assert_eq!(report["stats"]["width"], 16);
        assert!(report["passes"].as_array().is_some_and(|p| p.len() > 5));
        let name = "(+f0.0) sel(16)  g2<1>UD  g4<8,8,1>UD  g6<8,8,1>UD";
        let manual = ok(&mut api, json!({ "op": "manual", "name": name, "gpu": gpu }));
        assert!(manual["text"].as_str().is_some_and(|t| t.contains("sel")));
        // Two GPUs side by side.
        let left = json!({ "text": COMPUTE });
        let both = ok(
            &mut api,
            json!({ "op": "compare", "left": left, "right": { "text": COMPUTE, "gpu": gpu } }),
        );
        assert_eq!(both["right"]["asm"], report["asm"]);
    }
    let answer = ask(&mut api, &json!({ "op": "compile", "text": COMPUTE, "gpu": "g610" }));
    assert!(answer["error"]["message"].as_str().is_some_and(|m| m.contains("`g610` is no GPU")));
}

#[test]
fn runs_leave_what_the_m1_leaves() {
    let mut api = Api::default();
    let buffer = |binding: u32| json!([{ "binding": binding, "words": 64, "fill": "index" }]);
    for (text, buffers) in [(COMPUTE, buffer(0)), (SHARED, buffer(0)), (FRAGMENT, buffer(1))] {
        let inputs = json!({ "size": [16, 8], "time": 0.5, "buffers": buffers });
        let request =
            |gpu| json!({ "op": "run", "text": text, "gpu": gpu, "inputs": inputs, "check": true });
        let want = ok(&mut api, request("m1"));
        let pixels = api.pixels().to_vec();
        for gpu in GPUS {
            let got = ok(&mut api, request(gpu));
            assert_eq!(got["buffers"], want["buffers"], "{gpu}: {text}");
            assert_eq!(got["findings"], json!([]), "{gpu}: {text}");
            assert!(got["threads"].as_u64() > Some(0) && got["instructions"].as_u64() > Some(10));
            assert_eq!(api.pixels().len(), pixels.len());
            let differs = |(a, b): (&u8, &u8)| a.abs_diff(*b) > 1;
            // A step of 8 bits: channels are rounded by the tile on the M1, by the explorer here.
            assert!(!api.pixels().iter().zip(&pixels).any(differs), "{gpu}: {text}");
        }
    }
}

#[test]
fn mistakes_have_their_line() {
    let text = "@group(0) @binding(0) var<storage, read_write> result: array<u32>;
var<workgroup> t: array<u32, 64>;
@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    if i > 3u { t[i] = i; }
    workgroupBarrier();
    result[i] = t[i];
}";
    // naga clears workgroup memory: neither GPU's checker has anything to find but what both find.
    let mut api = Api::default();
    let got = ok(&mut api, json!({ "op": "run", "text": text, "gpu": "tgl", "check": true }));
    let wanted = ok(&mut api, json!({ "op": "run", "text": text, "check": true }));
    assert_eq!(
        got["findings"].as_array().map(Vec::len),
        wanted["findings"].as_array().map(Vec::len)
    );
}

/// Records the thread of a group and gives each command with what its answer must have.
fn script(text: &str, group: &Value, commands: &[(&str, &str)]) {
    let buffers = json!([
        { "binding": 0, "words": 64, "fill": "index" },
        { "binding": 1, "words": 64, "fill": "index" },
    ]);
    for gpu in GPUS {
        let mut api = Api::default();
        let inputs = json!({ "size": [16, 8], "buffers": buffers });
        let request =
            json!({ "op": "debug", "text": text, "gpu": gpu, "inputs": inputs, "group": group });
        let recorded = ok(&mut api, request);
        assert_eq!(recorded["state"]["shared"], true);
        for (line, wanted) in commands {
            let got = ok(&mut api, json!({ "op": "command", "line": line }));
            let answer = got["text"].as_str().expect("text");
            assert!(answer.contains(wanted), "{gpu}: {line}: {wanted:?} is not in\n{answer}");
        }
    }
}

#[test]
fn a_loop_that_each_lane_leaves_at_another_time() {
    script(
        COMPUTE,
        &json!({ "thread": [[0, 0, 0], 0] }),
        &[
            ("lane 5", "lane 5"),
            ("break sum if 5.sum > 50", "breakpoint 1"),
            ("continue", "exec 0000ffe0"),
            ("print sum", "- lane 3   g"),
            ("exec", ".....###########"),
            ("vars", "sum (%"),
            ("delete 1", "deleted"),
            ("goto end", "EOT"),
            ("memory result[5] 2", "result[5]          00000037           55"),
            ("writer result[15]", "became 0x4d8 by this SIMD-group"),
            ("access", "writes 4 bytes of a lane"),
            ("access", "lane 15  result[15]"),
            ("source", "> "),
            ("back 3", "step"),
            ("break 6", "breakpoint 2"),
            ("goto start", "step 0"),
            ("continue", "shader:6: sum += i * i;"),
            ("reverse", "at the start"),
            ("step 2", "step 2"),
            ("regs", "* g"),
            ("print g0<0,1,0>UD", "lane 15"),
        ],
    );
}

#[test]
fn the_second_thread_of_a_workgroup_reads_what_the_first_wrote() {
    script(
        SHARED,
        &json!({ "thread": [[0, 0, 0], 21] }),
        &[
            ("where", "lane 5"),
            ("goto end", "EOT"),
            ("memory result[21] 1", "result[21]         00000127          295"),
            ("writer result[21]", "result[21]: 0x41a80000 became 0x127 by this SIMD-group"),
            ("memory result[0] 1", "result[0]          000001ba"),
        ],
    );
}

/// The example of `docs/debugging.md`.
#[test]
fn a_variable_stops_where_a_condition_holds() {
    script(
        COLLATZ,
        &json!({ "thread": [[0, 0, 0], 0] }),
        &[
            ("break count if 0.count > 150", "breakpoint 1"),
            ("continue", "breakpoint 1"),
            ("exec", "#...............                 ("),
            ("print count", "  lane 0   g"),
            ("vars", " 151 "),
            ("regs", " 00000097"),
            ("goto end", "EOT"),
            ("memory steps[0] 2", "000000c8          200"),
            ("writer steps[0]", "became 0xc8 by this SIMD-group"),
            ("access", "writes 4 bytes of a lane"),
        ],
    );
}

#[test]
fn a_pixel_of_a_fragment_shader() {
    script(
        FRAGMENT,
        &json!({ "pixel": [13, 5] }),
        &[
            ("goto end", "EOT"),
            ("memory seen[13] 1", "seen[13]           0000000e           14"),
            ("break 10", "breakpoint 1"),
            ("reverse", "shader:10:"),
            ("vars", "half.x (%"),
        ],
    );
}
