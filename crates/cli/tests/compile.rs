//! Runs `tepui compile`, `tepui exec`, `tepui compare` and `tepui bench compile` as commands.

use std::path::Path;
use std::process::{Command, Output};

const SHADER: &str = "
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@compute @workgroup_size(32) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  data[id.x] = data[id.x] * 3u + id.x;
}";

fn tepui(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tepui")).args(args).current_dir(dir).output().expect("starts")
}

fn text(o: &Output) -> String {
    assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stderr));
    String::from_utf8_lossy(&o.stdout).into_owned()
}

fn dir() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("triple.wgsl"), SHADER).expect("written");
    dir
}

#[test]
fn a_shader_is_compiled_and_run() {
    let d = dir();
    let asm = text(&tepui(d.path(), &["compile", "triple.wgsl", "--gpu", "m1"]));
    assert!(asm.contains("imadd") && asm.contains("COMPUTE shader:"), "{asm}");
    let line = "# triple.wgsl:4: data[id.x] = data[id.x] * 3u + id.x;";
    assert!(asm.lines().any(|l| l == line), "source lines are between the instructions:\n{asm}");
    let words: Vec<u8> = (0..64u32).flat_map(|i| (i + 7).to_le_bytes()).collect();
    std::fs::write(d.path().join("in.bin"), words).expect("written");
    let args = [
        "exec",
        "triple.wgsl",
        "--groups",
        "2",
        "--buffer",
        "0=in.bin",
        "--out",
        "0=out.bin",
        "--check",
    ];
    let run = tepui(d.path(), &args);
    text(&run);
    assert!(!String::from_utf8_lossy(&run.stderr).contains("never written"), "{run:?}");
    let out = std::fs::read(d.path().join("out.bin")).expect("saved");
    for (i, w) in out.chunks_exact(4).enumerate() {
        let i = i as u32;
        assert_eq!(w, (3 * (i + 7) + i).to_le_bytes(), "word {i}");
    }
}

#[test]
fn json_reports_can_be_compared() {
    let d = dir();
    let args = ["compile", "triple.wgsl", "--json", "-o", "a.json"];
    text(&tepui(d.path(), &args));
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(d.path().join("a.json")).expect("saved"))
            .expect("JSON");
    for key in [
        "instructions",
        "alu",
        "fscib",
        "ic",
        "bytes",
        "registers",
        "uniforms",
        "scratch",
        "threads",
        "loops",
        "spills",
        "fills",
        "preamble_instructions",
    ] {
        assert!(report["stats"][key].is_u64(), "{key}: {report}");
    }
    assert_eq!(report["stage"], "compute");
    assert!(report["asm"][0]["text"].is_string());
    let same = text(&tepui(d.path(), &["compare", "a.json", "a.json"]));
    assert!(same.contains("instructions") && same.contains("1.0000"), "{same}");
    let bench = text(&tepui(d.path(), &["bench", "compile", "triple.wgsl", "-n", "2", "--json"]));
    let rows: serde_json::Value = serde_json::from_str(&bench).expect("JSON");
    assert!(rows[0]["ms_median"].as_f64() > Some(0.0), "{bench}");
}

#[test]
fn errors_say_what_to_do() {
    let d = dir();
    std::fs::write(d.path().join("bad.wgsl"), "fn main( {").expect("written");
    for (args, word) in [
        (vec!["compile", "nothing.spv"], "nothing.spv"),
        (vec!["compile", "bad.wgsl"], "bad.wgsl"),
        (vec!["compile", "triple.wgsl", "--gpu", "g52"], "m1"),
        (vec!["compile", "triple.wgsl", "--entry", "other"], "other"),
        (vec!["exec", "triple.wgsl", "--buffer", "zero"], "BINDING=FILE"),
    ] {
        let o = tepui(d.path(), &args);
        let e = String::from_utf8_lossy(&o.stderr);
        assert!(!o.status.success() && e.contains(word), "{args:?}: {e}");
    }
}

#[test]
fn the_control_flow_graph_is_one_for_graphviz() {
    let d = dir();
    let loops = SHADER.replace(
        "data[id.x] = ",
        "for (var k = 0u; k < id.x; k++) { data[k] += k; }\n  data[id.x] = ",
    );
    std::fs::write(d.path().join("loop.wgsl"), loops).expect("written");
    let graph = text(&tepui(d.path(), &["compile", "loop.wgsl", "--emit", "cfg"]));
    assert!(graph.starts_with("digraph \"loop.wgsl\" {") && graph.ends_with("}\n"), "{graph}");
    let boxes: Vec<&str> = graph
        .lines()
        .filter_map(|l| l.strip_prefix("  block")?.split_once(" [label=\"block"))
        .map(|b| b.0)
        .collect();
    assert!(boxes.len() >= 4, "{graph}");
    // Every edge connects existing blocks, and one is the loop's back edge.
    let edges: Vec<(&str, &str)> = graph
        .lines()
        .filter_map(|l| l.trim().strip_prefix("block")?.split_once(" -> block"))
        .map(|(a, b)| (a, b.split(' ').next().unwrap_or(b)))
        .collect();
    assert!(edges.iter().all(|(a, b)| boxes.contains(a) && boxes.contains(b)), "{graph}");
    assert!(graph.contains("label=\"next\"") && graph.contains("label=\"then\""), "{graph}");
    assert!(graph.contains("device_store"), "{graph}");
}

const OVERRIDES: &str = "\
override scale: u32;
@id(7) override flip: bool = false;
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
var<workgroup> sums: array<u32, 2048>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
    sums[i] += i * scale;
    workgroupBarrier();
    data[i] = sums[select(i, 63u - i, flip)] + sums[2047u - i];
}
";

#[test]
fn wgsl_takes_overrides_and_clears_workgroup_memory_with_all_threads() {
    let d = dir();
    std::fs::write(d.path().join("o.wgsl"), OVERRIDES).expect("written");
    std::fs::write(d.path().join("zero.bin"), [0; 256]).expect("written");
    let missing = tepui(d.path(), &["compile", "o.wgsl"]);
    assert!(!missing.status.success());
    assert!(String::from_utf8_lossy(&missing.stderr).contains("--spec"), "{missing:?}");
    let stats = text(&tepui(d.path(), &["compile", "o.wgsl", "--spec", "scale=3", "--json"]));
    let stats: serde_json::Value = serde_json::from_str(&stats).expect("JSON");
    let stats = if stats.is_array() { &stats[0] } else { &stats };
    let instructions = stats["stats"]["instructions"].as_u64().expect("a number");
    assert!(instructions < 100, "{instructions} instructions");
    let run = ["exec", "o.wgsl", "--groups", "1", "--buffer", "0=zero.bin", "--out", "0=out.bin"];
    let run: Vec<&str> = run.into_iter().chain(["--spec", "scale=3", "--spec", "7=true"]).collect();
    text(&tepui(d.path(), &run));
    let out = std::fs::read(d.path().join("out.bin")).expect("written");
    let words: Vec<u32> =
        out.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect();
    assert_eq!(words, (0..64).map(|i| 3 * (63 - i)).collect::<Vec<u32>>());
}

const DOUBLE: &str = "\
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer In { uint from[]; };
layout(binding = 1) writeonly buffer Out { uint to[]; };
void main() { to[gl_GlobalInvocationID.x] = 2 * from[gl_GlobalInvocationID.x]; }
";

#[test]
fn a_buffer_that_is_only_saved_needs_no_size() {
    let d = dir();
    std::fs::write(d.path().join("double.comp"), DOUBLE).expect("written");
    let words: Vec<u8> = (0..128u32).flat_map(u32::to_le_bytes).collect();
    std::fs::write(d.path().join("in.bin"), words).expect("written");
    let run = ["exec", "double.comp", "--gpu", "m1", "--groups", "2,1,1", "--buffer", "0=in.bin"];
    let run: Vec<&str> = run.into_iter().chain(["--out", "1=out.bin"]).collect();
    text(&tepui(d.path(), &run));
    let out = std::fs::read(d.path().join("out.bin")).expect("written");
    let doubled: Vec<u8> = (0..128u32).flat_map(|n| (2 * n).to_le_bytes()).collect();
    assert_eq!(out, doubled);
    let absent = tepui(d.path(), &["exec", "double.comp", "--out", "7=out.bin"]);
    assert!(!absent.status.success());
    assert!(String::from_utf8_lossy(&absent.stderr).contains("no such buffer"), "{absent:?}");
}

const COPY: &str = "@group(0) @binding(0) var picture: texture_2d<f32>;
@group(0) @binding(1) var s: sampler;
@group(0) @binding(2) var out: texture_storage_2d<rgba8unorm, write>;
@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) at: vec3u) {
    let place = (vec2f(at.xy) + 0.5) / vec2f(textureDimensions(out));
    textureStore(out, at.xy, textureSampleLevel(picture, s, place, 0.0));
}
";

#[test]
fn images_are_patterns_files_and_sizes() {
    let d = dir();
    let said =
        |o: &Output| String::from_utf8_lossy(&[&o.stdout[..], &o.stderr].concat()).into_owned();
    std::fs::write(d.path().join("copy.wgsl"), COPY).expect("written");
    let run_on = |gpu: &str, image: &str, out: &str| {
        let image = format!("0={image}");
        let out = format!("2={out}");
        let common = ["exec", "copy.wgsl", "--groups", "2,2", "--sampler", "1=nearest,clamp"];
        let images = ["--image", &image, "--image", "2=16x16", "--out-image", &out];
        tepui(d.path(), &[&common[..], &["--gpu", gpu], &images].concat())
    };
    let run = |image: &str, out: &str| run_on("m1", image, out);
    let read = |name: &str| std::fs::read(d.path().join(name)).expect("it was written");
    let o = run("gradient,size=16x16", "first.png");
    assert!(o.status.success(), "{}", said(&o));
    for gpu in ["m1", "skl", "tgl"] {
        let o = run_on(gpu, "first.png", "second.png");
        assert!(o.status.success(), "{gpu}: {}", said(&o));
        assert_eq!(read("first.png"), read("second.png"), "{gpu}");
        // Raw texels are those of the picture.
        let o = run_on(gpu, "gradient,size=16x16", "texels.raw");
        assert!(o.status.success(), "{gpu}: {}", said(&o));
        let o = run_on(gpu, "texels.raw,size=16x16", "again.png");
        assert!(o.status.success(), "{gpu}: {}", said(&o));
        assert_eq!(read("first.png"), read("again.png"), "{gpu}");
    }
    let o = run("checkboard,size=16x16", "third.png");
    assert!(
        !o.status.success() && said(&o).contains("without a file: checkerboard"),
        "{}",
        said(&o)
    );
    // The debugger takes the same words; without them it names what is missing.
    let debug = |more: &[&str]| {
        tepui(d.path(), &[&["debug", "copy.wgsl", "-e", "goto end"][..], more].concat())
    };
    let image = ["--image", "0=first.png", "--image", "2=16x16"];
    let o = debug(&[&image[..], &["--sampler", "1=linear,repeat"]].concat());
    assert!(o.status.success() && said(&o).contains("stop"), "{}", said(&o));
    let o = debug(&image);
    assert!(
        !o.status.success() && said(&o).contains("`s` at set 0 binding 1 has no sampler"),
        "{}",
        said(&o)
    );
}
