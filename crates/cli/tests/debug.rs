//! `tepui debug` by scripts, and `tepui dap` by messages: the worked example of `docs/debugging.md`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The example's shader in a folder of its own.
fn example() -> (tempfile::TempDir, PathBuf) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/debugging.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let (_, rest) = page.split_once("```wgsl\n").expect("it has a shader");
    let (text, _) = rest.split_once("```").expect("the block ends");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("collatz.wgsl");
    std::fs::write(&path, text).expect("it can be written");
    (folder, path)
}

fn debug(arguments: &[&str]) -> (bool, String) {
    let (_folder, path) = example();
    let got = Command::new(env!("CARGO_BIN_EXE_tepui"))
        .arg("debug")
        .arg(path)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("tepui starts");
    let text = [got.stdout, got.stderr].concat();
    (got.status.success(), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn the_worked_example() {
    let buffer = "--buffer=0=32";
    let script = ["-e", "break 7 if 0.r2 > 150", "-e", "continue", "-e", "exec", "-e", "regs"];
    let (good, text) = debug(&[&[buffer][..], &script].concat());
    assert!(good, "{text}");
    assert!(text.contains("\n#1111111111111111111111111111111 ("), "{text}");
    assert!(text.contains("r2      00000097          151"), "{text}");
    assert!(text.contains("r3      00000000            0"), "{text}");
    // By the names of the source, and what the loop left in memory.
    let script = ["-e", "break count if 0.count > 150", "-e", "continue", "-e", "vars"];
    let (good, text) = debug(&[&[buffer][..], &script].concat());
    let has = |name: &str, value: &str| {
        text.lines().any(|l| l.trim_start().starts_with(name) && l.contains(value))
    };
    assert!(good && has("count (%", " 151 ") && has("n (%", " 0 "), "{text}");
    let script = ["-e", "memory steps[0] 2", "-e", "watch steps[0]", "-e", "continue"];
    let more = ["-e", "memory steps[0]", "-e", "writer steps[0]", "-e", "access"];
    let (good, text) = debug(&[&[buffer][..], &script, &more].concat());
    assert!(good && text.contains("  steps[0]           00000000"), "{text}");
    assert!(text.contains("* steps[0]           000000c8          200"), "{text}");
    assert!(text.contains("steps[0]: 0x0 became 0xc8 by this SIMD-group"), "{text}");
    assert!(text.contains("device_store") && text.contains("writes 4 bytes of a lane"), "{text}");
    // Back to what wrote the counter, and on from there.
    let (good, text) = debug(&[buffer, "-e", "goto end", "-e", "writer r2", "-e", "step"]);
    assert!(good && text.contains("count++;") && text.contains("exec 00000001"), "{text}");
}

/// The example of the page on Intel's GPUs, whose registers all lanes of a thread share.
#[test]
fn the_worked_example_on_intel() {
    for gpu in ["--gpu=skl", "--gpu=tgl"] {
        let script = ["-e", "break count if 0.count > 150", "-e", "continue", "-e", "exec"];
        let more = ["-e", "vars", "-e", "regs", "-e", "goto end", "-e", "memory steps[0] 2"];
        let last = ["-e", "writer steps[0]", "-e", "access"];
        let arguments = [&[gpu, "--buffer=0=32"][..], &script, &more, &last].concat();
        let (good, text) = debug(&arguments);
        let has = |name: &str, value: &str| {
            text.lines().any(|l| l.trim_start().starts_with(name) && l.contains(value))
        };
        assert!(good && has("count (%", " 151 ") && has("n (%", " 0 "), "{gpu}: {text}");
        assert!(text.contains("\n#...............                 ("), "{gpu}: {text}");
        assert!(has("* g", " 00000097 "), "the counter changed: {gpu}: {text}");
        assert!(has("steps[0]", "000000c8          200"), "{gpu}: {text}");
        assert!(text.contains("steps[0]: 0x0 became 0xc8 by this SIMD-group"), "{gpu}: {text}");
        assert!(text.contains("writes 4 bytes of a lane"), "{gpu}: {text}");
        let (good, text) = debug(&[gpu, "--buffer=0=32", "-e", "print r2"]);
        assert!(!good && text.contains("neither a register (g3,"), "{gpu}: {text}");
    }
}

/// The example of the page on Mali's GPUs, whose warps have 16 lanes.
#[test]
fn the_worked_example_on_mali() {
    for gpu in ["--gpu=mali-g610", "--gpu=mali-g57"] {
        let script = ["-e", "break count if 0.count > 150", "-e", "continue", "-e", "exec"];
        let more = ["-e", "vars", "-e", "regs", "-e", "uniforms", "-e", "goto end"];
        let last = ["-e", "memory steps[0] 2", "-e", "writer steps[0]", "-e", "access"];
        let arguments = [&[gpu, "--buffer=0=32"][..], &script, &more, &last].concat();
        let (good, text) = debug(&arguments);
        let has = |name: &str, value: &str| {
            text.lines().any(|l| l.trim_start().starts_with(name) && l.contains(value))
        };
        assert!(good && has("count (%", " 151 ") && has("n (%", " 0 "), "{gpu}: {text}");
        assert!(text.contains("\n#...............                 ("), "{gpu}: {text}");
        assert!(has("* r", " 00000097 ") && has("u0 ", ""), "the counter: {gpu}: {text}");
        assert!(has("* steps[0]", "000000c8          200"), "{gpu}: {text}");
        assert!(text.contains("steps[0]: 0x0 became 0xc8 by this SIMD-group"), "{gpu}: {text}");
        assert!(text.contains("writes 4 bytes of a lane"), "{gpu}: {text}");
        assert!(text.contains("STORE.i32") && text.contains(": (end)"), "{gpu}: {text}");
    }
}

/// Reads shared memory that only some invocations write.
const HALF_WRITTEN: &str = "#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer Out { uint words[]; };
shared uint halves[64];
void main() {
    uint i = gl_LocalInvocationIndex;
    if (words[i] == 1) halves[i] = i;
    words[i] = halves[i];
}
";

#[test]
fn findings_are_shown_at_their_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("half.comp");
    std::fs::write(&path, HALF_WRITTEN).expect("it can be written");
    for gpu in ["m1", "skl", "tgl"] {
        let script = ["-e", "findings", "-e", "finding 0", "-e", "list"];
        let got = Command::new(env!("CARGO_BIN_EXE_tepui"))
            .args(["debug", "--gpu", gpu, "--buffer=0=64"])
            .args(script)
            .arg(&path)
            .output()
            .expect("tepui starts");
        let text = String::from_utf8_lossy(&got.stdout);
        assert!(got.status.success(), "{gpu}: {text}");
        assert!(text.contains("found by the checker"), "{gpu}: {text}");
        let (_, there) = text.split_once("> finding 0\n").expect("the script goes on");
        let (there, _) = there.split_once("> list").expect("the script goes on");
        assert!(there.contains("half.comp:8: words[i] = halves[i];"), "{gpu}: {there}");
        assert!(there.contains("[unwritten-local]"), "{gpu}: {there}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    for (arguments, wanted) in [
        (&["-e", "brake 3"][..], "`brake` is no command"),
        (&["-e", "break 99"], "no instruction is there"),
        (&["-e", "break counter"], "`counter` is neither a register"),
        (&["-e", "print counter"], "`counter` is neither a register"),
        (&["-e", "watch count[7]"], "buffers: steps"),
        (&["-e", "texture 0"], "there is no texture 0"),
        (&["--workgroup", "7", "-e", "where"], "nothing ran there"),
        (&["--buffer", "0=x"], "write BINDING=WORDS"),
        (&["--buffer", "0=4,ones"], "zeros, index or random"),
    ] {
        let (good, text) = debug(arguments);
        assert!(!good && text.contains(wanted), "{arguments:?}: {text}");
    }
}

#[test]
fn an_editor_speaks_to_it() {
    let (_folder, path) = example();
    let mut child = Command::new(env!("CARGO_BIN_EXE_tepui"))
        .arg("dap")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("tepui starts");
    let program = path.display().to_string();
    let requests = [
        serde_json::json!({ "command": "initialize" }),
        serde_json::json!({ "command": "launch", "arguments": { "program": program, "buffers": ["0=32"] } }),
        serde_json::json!({ "command": "setBreakpoints", "arguments": { "breakpoints": [{ "line": 7, "condition": "0.r2 > 150" }] } }),
        serde_json::json!({ "command": "configurationDone" }),
        serde_json::json!({ "command": "continue" }),
        serde_json::json!({ "command": "stackTrace" }),
        serde_json::json!({ "command": "variables", "arguments": { "variablesReference": 2 } }),
        serde_json::json!({ "command": "disconnect" }),
    ];
    let mut input = child.stdin.take().expect("it is piped");
    for request in requests {
        let text = request.to_string();
        write!(input, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("it listens");
    }
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && !text.contains("\"success\":false"), "{text}");
    assert!(text.contains("\"reason\":\"breakpoint\""), "{text}");
    assert!(text.contains("\"line\":7") && text.contains("\"value\":\"151\""), "{text}");
}
