//! The debugger by scripts, on shaders of many kinds: what each command has to say is known from the source.
#![cfg(feature = "naga")]

use tepui_debug::command::{self, Answer};
use tepui_debug::{Recording, Session};
use tepui_explore::compile::Text;
use tepui_explore::record::{Group, record};
use tepui_explore::run::{Contents, Inputs};

/// A shader, and commands with a text that their answers must have; nothing for commands that only prepare.
struct Case {
    what: &'static str,
    text: &'static str,
    group: Group,
    script: &'static [(&'static str, &'static str)],
}

const fn thread(
    what: &'static str,
    text: &'static str,
    script: &'static [(&'static str, &'static str)],
) -> Case {
    Case { what, text, group: Group::Thread([0; 3], 0), script }
}

const CASES: &[Case] = &[
    thread(
        "a loop that each lane leaves at another time",
        "@group(0) @binding(0) var<storage, read_write> result: array<u32>;
@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
    var sum = 0u;
    for (var i = 0u; i <= id.x; i++) { sum += i * i; }
    result[id.x] = sum;
}",
        &[
            ("lane 5", "lane 5"),
            ("break sum if 5.sum > 50", "breakpoint 1"),
            ("continue", "exec ffffffe0"),
            ("print sum", "lane 5   r"),
            ("exec", "11111###########################"),
            ("vars", "sum (%"),
            ("delete 1", "deleted"),
            ("goto end", ""),
            ("memory result[5] 2", "result[5]          00000037           55"),
        ],
    ),
    thread(
        "a branch whose arms do different things",
        "@group(0) @binding(0) var<storage, read_write> count: array<atomic<u32>, 4>;
@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x < 4u {
        atomicAdd(&count[0], id.x);
    } else {
        atomicAdd(&count[1], 1u);
    }
}",
        &[
            ("mask", "exec 0000000f"),
            ("exec", "####1111111111111111111111111111"),
            ("mask", "exec fffffff0"),
            ("mask", "exec ffffffff"),
            ("goto end", "stop"),
            ("memory count[0] 2", "count[0]           00000006            6"),
            ("writer count[1]", "0x0 became 0x1c by this SIMD-group"),
            ("access", "writes 4 bytes of a lane"),
        ],
    ),
    thread(
        "workgroup memory that another SIMD-group fills",
        "@group(0) @binding(0) var<storage, read_write> result: array<u32>;
var<workgroup> t: array<u32, 64>;
@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    t[i] = i * 7u + 1u;
    workgroupBarrier();
    result[i] = t[63u - i];
}",
        &[
            ("break 7", "breakpoint 1"),
            ("continue", ""),
            ("goto end", ""),
            ("memory local+252", "000001ba          442"),
            ("memory result[0]", "000001ba          442"),
            ("writer local+252", "0x0 became 0x1ba by another, SIMD-group 1 of workgroup 0,0,0"),
            ("writer local+0", "0x0 became 0x1 by this SIMD-group"),
        ],
    ),
    thread(
        "a switch in a loop, in GLSL",
        "#version 450
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer Result { uint result[]; };
void main() {
    uint state = gl_GlobalInvocationID.x;
    uint steps = 0u;
    while (state != 7u && steps < 40u) {
        switch (state % 3u) {
        case 0u: state += 4u; break;
        case 1u: state = state * 2u; break;
        default: state -= 1u; break;
        }
        steps++;
    }
    result[gl_GlobalInvocationID.x] = steps;
}",
        &[
            ("lane 3", "lane 3"),
            ("break steps if 3.steps == 1", "breakpoint 1"),
            ("continue", "breakpoint 1"),
            ("print state", "lane 3   r"),
            ("goto end", "stop"),
            // 3 becomes 7 at once; 7 is done; 0, 4, 8, 7 takes three steps.
            ("memory Result[3]", "00000001            1"),
            ("memory Result[7]", "00000000            0"),
            ("memory Result[0]", "00000003            3"),
        ],
    ),
    Case {
        what: "a pixel",
        text: "@fragment
fn main(@location(0) uv: vec2f) -> @location(0) vec4f {
    let shade = uv.x * 0.5 + 0.25;
    return vec4f(shade, uv.y, shade * shade, 1.0);
}",
        group: Group::Pixel(64, 128),
        script: &[
            ("goto end", "stop"),
            // The pixel's centre is at 64.5 of 256.
            ("print shade", "0.37597656"),
            ("writer shade", "let shade = uv.x * 0.5 + 0.25"),
            ("back", ""),
            ("goto start", "step 0"),
        ],
    },
    thread(
        "vectors in a loop over a buffer",
        "@group(0) @binding(0) var<storage, read_write> result: array<vec4f>;
@group(0) @binding(1) var<storage, read> rows: array<vec4f>;
@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
    var acc = vec4f(0.0);
    for (var k = 0u; k < arrayLength(&rows); k++) {
        acc += rows[k] * f32(id.x);
    }
    result[id.x] = acc;
}",
        &[
            ("lane 2", "lane 2"),
            // Rows are 0 to 3, 4 to 7 and so on: x is 0, then twice 4, then twice 8 more.
            ("break acc.x if 2.acc.x > 20.0", "breakpoint 1"),
            ("continue", "breakpoint 1"),
            ("print acc.x", "             24 "),
            ("writer acc.x", "acc += rows[k] * f32(id.x)"),
            ("uniforms", "  u"),
        ],
    ),
    thread(
        "lanes that return early",
        "@group(0) @binding(0) var<storage, read_write> result: array<u32>;
@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x > 15u { return; }
    var n = id.x + 1u;
    while n % 5u != 0u { n += 3u; }
    result[id.x] = n;
}",
        &[
            ("break n", "breakpoint 1"),
            ("continue", "exec 0000ffff"),
            ("print n", "lane 3   r"),
            ("goto end", ""),
            ("memory result[3]", "0000000a           10"),
            ("memory result[16]", "00000000            0"),
        ],
    ),
    thread(
        "bits",
        "@group(0) @binding(0) var<storage, read_write> result: array<u32>;
@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let mirrored = reverseBits(id.x);
    let ones = countOneBits(id.x * 5u);
    result[id.x] = mirrored ^ ones;
}",
        &[
            ("lane 6", "lane 6"),
            ("break mirrored", "breakpoint 1"),
            ("continue", "breakpoint 1"),
            ("print mirrored", "lane 6   r"),
            ("print mirrored", "60000000"),
            ("writer mirrored", "let mirrored = reverseBits(id.x)"),
            ("goto end", ""),
            ("memory result[6]", "60000004"),
        ],
    ),
    thread(
        "assembly",
        "; buffer: 0 64 index
get_sr r1, sr80
device_load 0, i32, x, r2, u0_u1, r1, unsigned
wait 0
fadd32 r3, r2, 1.0
device_store 0, i32, x, r3, u0_u1, r1, unsigned, 0
stop
",
        &[
            ("step", "device_load"),
            ("access", "lane 9   buffer0[9]         41100000   1091567616"),
            ("watch buffer0[9]", "breakpoint 1"),
            ("continue", "breakpoint 1"),
            ("memory buffer0[9]", "* buffer0[9]         41200000   1092616192              10"),
            ("print r3", "lane 31  42000000   1107296256              32"),
            ("reverse", "at the start"),
            ("next", "device_load"),
        ],
    ),
    thread(
        "nested loops with a way back",
        "@group(0) @binding(0) var<storage, read_write> result: array<u32>;
@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
    var found = 0u;
    for (var a = 1u; a < 12u; a++) {
        for (var b = a; b < 12u; b++) {
            if a * b % 7u == id.x % 7u { found += a; break; }
        }
    }
    result[id.x] = found;
}",
        &[
            ("break found if found > 10", "breakpoint 1"),
            ("continue", "breakpoint 1"),
            ("prev", ""),
            ("where", "step "),
            ("reverse", "at the start"),
            ("goto end", "stop"),
            ("list", "stop"),
            ("source", "result[id.x] = found"),
        ],
    ),
];

fn session(case: &Case) -> Session {
    let text = Text {
        text: case.text.to_owned(),
        assembly: case.text.starts_with(';'),
        ..Text::default()
    };
    let contents = |binding, words, fill: &str| Contents {
        set: 0,
        binding,
        words,
        fill: fill.to_owned(),
        data: None,
    };
    let buffers = match text.assembly {
        true => Vec::new(),
        false => vec![contents(0, 256, "zeros"), contents(1, 16, "index")],
    };
    let inputs = Inputs { buffers, ..Inputs::default() };
    let (recording, _): (Recording, _) =
        record(&text, &inputs, Some(case.group)).unwrap_or_else(|e| panic!("{}: {e}", case.what));
    Session::new(recording)
}

#[test]
fn scripts_find_what_the_source_says() {
    assert!(CASES.len() >= 10);
    let mut wrong = Vec::new();
    for case in CASES {
        let mut session = session(case);
        let mut said = String::new();
        for (line, wanted) in case.script {
            let answer = match command::run(&mut session, line) {
                Ok(Answer::Text(text)) => text,
                other => format!("{other:?}\n"),
            };
            said += &format!("> {line}\n{answer}");
            if !answer.contains(wanted) {
                wrong.push(format!("{}: `{line}` does not say {wanted:?}\n{said}", case.what));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), CASES.len(), wrong.join("\n\n"));
}
