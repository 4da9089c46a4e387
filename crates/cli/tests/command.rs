//! Tests of the command as a whole: completions, manual pages, standard input, refused GPUs.

use std::io::Write;
use std::process::{Command, Output, Stdio};

fn tepui(arguments: &[&str], stdin: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tepui"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    // A command that does not read its input may exit first.
    let _ = child.stdin.take().expect("a pipe").write_all(stdin);
    child.wait_with_output().expect("it ends")
}

fn ok(arguments: &[&str], stdin: &[u8]) -> String {
    let output = tepui(arguments, stdin);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A reader that ends early, as `head` does, ends the command without a message.
#[test]
fn output_without_a_reader_ends_the_command_quietly() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("shader.wgsl");
    std::fs::write(&source, "@compute @workgroup_size(1) fn main() {}").unwrap();
    let source = source.to_str().unwrap();
    for arguments in [
        &["isa", "agx"][..],
        &["gpus"],
        &["version"],
        &["formats"],
        &["completions", "bash"],
        &["compile", source],
        &["--help"],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tepui"));
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command.args(arguments).stdout(writer).stderr(Stdio::piped()).output();
        let output = output.expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(said, "", "{arguments:?}: {}", output.status);
        assert!(!output.status.success() || arguments == ["--help"], "{arguments:?} wrote nothing");
    }
}

#[test]
fn each_shell_has_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = ok(&["completions", shell], b"");
        assert!(script.contains("detile") && script.contains("until-stop"), "{shell}");
    }
}

#[test]
fn each_subcommand_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    ok(&["man", "-o", &folder.path().display().to_string()], b"");
    for (page, word) in [
        ("tepui.1", "tepui"),
        ("tepui-compile.1", "entry point"),
        ("tepui-bench-model.1", "lavapipe"),
    ] {
        let text = std::fs::read_to_string(folder.path().join(page)).expect(page);
        assert!(text.contains(".TH") && text.contains(word), "{page}");
    }
    assert!(ok(&["man"], b"").contains(".SH SUBCOMMANDS"));
}

#[test]
fn shaders_come_from_standard_input() {
    let wgsl = b"@group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(32) fn main(@builtin(global_invocation_id) i: vec3<u32>) { x[i.x] *= 3u; }";
    assert!(ok(&["compile", "-"], wgsl).contains("device_store"));
    let glsl = b"#version 450\nlayout(local_size_x = 1) in; layout(binding = 0) buffer B { uint x; }; void main() { x = 1; }";
    assert!(ok(&["compile", "-", "--stage", "compute"], glsl).contains("device_store"));
    let asm = ok(&["asm", "--gpu", "m1"], b"fadd32 r0, r1, 0.5\nstop\n");
    assert!(ok(&["disasm", "--gpu", "m1", "--hex", asm.trim()], b"").contains("fadd32"));
}

#[test]
fn shaders_of_all_stages_are_compiled_for_intel() {
    let wgsl = b"@group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(32) fn main(@builtin(global_invocation_id) i: vec3<u32>) { x[i.x] *= 3u; }";
    let fragment = b"#version 450\nlayout(location = 0) in vec4 a; layout(location = 0) out vec4 c; void main() { c = a; }";
    let hull =
        b"#version 450\nlayout(vertices = 3) out; void main() { gl_TessLevelOuter[0] = 1.0; }";
    for (gpu, interpolation) in [("skl", "pln(16)"), ("tgl", "mad(16)")] {
        let text = ok(&["compile", "-", "--gpu", gpu], wgsl);
        let has = text.contains("untyped surface write") && text.contains("SIMD16 shader: ");
        assert!(has, "{gpu}: {text}");
        let json = ok(&["compile", "-", "--gpu", gpu, "--json"], wgsl);
        assert!(json.contains("\"sends\": 3"), "{gpu}: {json}");
        let text = ok(&["compile", "-", "--stage", "tess_control", "--gpu", gpu], hull);
        assert!(text.contains("SIMD8 write") && text.contains("SIMD8 shader: "), "{gpu}: {text}");
        let text = ok(&["compile", "-", "--stage", "fragment", "--gpu", gpu], fragment);
        assert!(text.contains(interpolation) && text.contains("SIMD8 shader: "), "{gpu}: {text}");
    }
}

#[test]
fn gpus_without_a_feature_are_refused_by_name() {
    for gpu in ["m2", "m1-ultra", "mali-g52"] {
        let output = tepui(&["compile", "x.spv", "--gpu", gpu], b"");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{gpu}: {errors}");
        let known = "[possible values: m1, mali-g57, mali-g57-r0, mali-g310, mali-g610, skl, tgl]";
        assert!(errors.contains(known), "{gpu}: {errors}");
    }
}

#[test]
fn bundles_of_midgard_are_assembled_and_disassembled() {
    let source = b"MIN.u32 R0.xy, R0.yx, U0.zw\nlut.FMUL.f32 R1, R0, #0.5\n";
    let code = ok(&["asm", "--gpu", "mali-t860"], source);
    let text = ok(&["disasm", "--gpu", "mali-t860", "--hex", code.trim()], b"");
    assert!(text.contains("MIN.u32 ") && text.contains("lut.FMUL.f32 "), "{text}");
    assert_eq!(ok(&["asm", "--isa", "midgard"], text.as_bytes()), code);
    let mesa = ok(&["disasm", "--gpu", "mali-t860", "--mesa", "--hex", code.trim()], b"");
    assert_eq!(mesa, "MIN.i32 R0.xy, R0.yx, U0.zw\nFMUL.f32 R1, R0, #0.5\n\n");
    let output = tepui(&["asm", "--isa", "midgard"], mesa.as_bytes());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        errors.starts_with("-:1:1: `MIN.i32` does not say whether integers have a sign"),
        "{errors}"
    );
}
