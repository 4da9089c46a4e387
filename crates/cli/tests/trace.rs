//! Runs `tepui trace`, `decode` and `replay` as commands. The traced program is this test itself,
//! started again as a client of the render node.

use std::ffi::CString;
use std::path::Path;
use std::process::{Command, Output};

/// Set in the environment of the client.
const CLIENT: &str = "TEPUI_TEST_CLIENT";

/// The client: opens the node, queries the driver's version, and exits with status 3.
#[test]
fn client() {
    if std::env::var_os(CLIENT).is_none() {
        return;
    }
    let node = std::fs::read_dir("/dev/dri")
        .expect("/dev/dri")
        .map(|entry| entry.expect("an entry").path())
        .find(|path| path.to_string_lossy().contains("renderD"))
        .expect("a render node");
    let path = CString::new(node.to_str().expect("a plain name")).expect("no zeros");
    let mut name = [0u8; 16];
    // struct drm_version: three numbers, then length and address of name, date and description.
    let mut version = [0u64; 8];
    version[2] = name.len() as u64;
    version[3] = name.as_mut_ptr() as u64;
    const DRM_IOCTL_VERSION: u64 = 0xc040_6400;
    // SAFETY: plain calls with live arguments of the right size.
    unsafe {
        let fd = libc::open(path.as_ptr(), libc::O_RDWR);
        assert!(fd >= 0);
        assert_eq!(libc::ioctl(fd, DRM_IOCTL_VERSION, version.as_mut_ptr()), 0);
        assert_eq!(libc::ioctl(fd, 0x4008_6409, [99u32, 0].as_mut_ptr()), -1); // GEM_CLOSE
        assert_eq!(libc::close(fd), 0);
    }
    assert!(name.starts_with(b"asahi") || name.starts_with(b"i915"));
    std::process::exit(3);
}

fn tepui(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tepui"));
    command.args(arguments);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Traces the client.
fn trace(arguments: &[&str]) -> Output {
    trace_on("m1", arguments)
}

fn trace_on(gpu: &str, arguments: &[&str]) -> Output {
    tepui(&["trace", "--gpu", gpu])
        .args(arguments)
        .arg("--")
        .arg(std::env::current_exe().expect("this test"))
        .args(["--exact", "client", "--nocapture"])
        .env(CLIENT, "1")
        .output()
        .expect("tepui starts")
}

#[test]
fn calls_are_printed_and_the_status_is_the_programs() {
    let output = trace(&[]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let said = text(&output.stderr);
    let lines: Vec<&str> = said.lines().collect();
    let first = lines.iter().position(|line| line.starts_with("process ")).expect("a process");
    assert!(lines[first].ends_with("--exact client --nocapture"), "{said}");
    assert_eq!(lines[first + 1], "  driver asahi, Apple M1 (G13G B0)");
    assert_eq!(lines[first + 2], "file 1: opened");
    assert!(lines[first + 3].contains("DRM_IOCTL_VERSION(version_major=0, "), "{said}");
    assert!(lines[first + 3].ends_with("version_major=1, name_len=5, date_len=1, desc_len=31]"));
    assert_eq!(lines[first + 4], "    name: \"asahi\"");
    assert!(
        lines[first + 5].ends_with("DRM_IOCTL_GEM_CLOSE(handle=99, pad=0) = -1 EINVAL"),
        "{said}"
    );
    assert_eq!(lines[first + 6], "file 1: closed");
}

#[test]
fn captures_are_kept_printed_and_replayed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("captures");
    let path = path.to_str().expect("a plain name");
    let output = trace(&["--save", path, "--quiet"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(!text(&output.stderr).contains("DRM_IOCTL"), "{}", text(&output.stderr));
    assert!(Path::new(path).join("000.capture").exists());

    let decoded = tepui(&["decode", path]).output().expect("tepui starts");
    assert!(decoded.status.success(), "{}", text(&decoded.stderr));
    assert!(text(&decoded.stdout).contains("DRM_IOCTL_GEM_CLOSE(handle=99"));
    let json = tepui(&["decode", path, "--json"]).output().expect("tepui starts");
    let events: Vec<serde_json::Value> =
        text(&json.stdout).lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
    let types: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap_or("")).collect();
    assert_eq!(types, ["process", "opened", "call", "call", "closed"]);
    assert_eq!(events[2]["call"]["changed"]["version_major"], 1);
    assert_eq!(events[3]["call"]["result"], -22);

    let replayed = tepui(&["replay", path]).output().expect("tepui starts");
    assert!(replayed.status.success(), "{}", text(&replayed.stderr));
    assert_eq!(text(&replayed.stdout), "", "there is no command to replay");
}

/// Tracing of another family: i915's names of calls, and a capture that names its GPU.
#[test]
fn calls_of_i915() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("captures");
    let path = path.to_str().expect("a plain name");
    let output = trace_on("skl", &["--save", path]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let said = text(&output.stderr);
    assert!(said.contains("  driver i915, "), "{said}");
    assert!(said.contains("    name: \"i915\""), "{said}");
    assert!(said.contains("DRM_IOCTL_GEM_CLOSE(handle=99, pad=0) = -1 EINVAL"), "{said}");
    let decoded = tepui(&["decode", path, "--after"]).output().expect("tepui starts");
    assert!(decoded.status.success(), "{}", text(&decoded.stderr));
    assert!(text(&decoded.stdout).contains("DRM_IOCTL_GEM_CLOSE(handle=99"));
    let replayed = tepui(&["replay", path]).output().expect("tepui starts");
    assert!(replayed.status.success(), "{}", text(&replayed.stderr));
}

#[test]
fn errors_say_where_and_what() {
    let folder = tempfile::tempdir().expect("a folder");
    let empty = folder.path().to_str().expect("a plain name");
    let output = tepui(&["decode", empty]).output().expect("tepui starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("no file named *.capture in it"));

    let file = folder.path().join("broken.capture");
    let path = file.to_str().expect("a plain name");
    for (bytes, message) in [
        (&b"hello"[..], "does not begin with TEPUICAP"),
        (&b"TEPUICAP\x07\0\0\0"[..], "version 7"),
        (&b"TEPUICAP\x01\0\0\0\x04\0\0\0"[..], "inside of the record at byte 12"),
        (&b"TEPUICAP\x01\0\0\0\x01\0\0\0\0\0\0\0\x09"[..], "at byte 12 is damaged: its checksum"),
    ] {
        std::fs::write(&file, bytes).expect("written");
        for command in ["decode", "replay"] {
            let output = tepui(&[command, path]).output().expect("tepui starts");
            assert_eq!(output.status.code(), Some(1));
            let said = text(&output.stderr);
            assert!(said.contains(path) && said.contains(message), "{said}");
        }
    }

    let output = tepui(&["trace", "/nonexistent/program"]).output().expect("tepui starts");
    assert_eq!(output.status.code(), Some(127));
    let output = tepui(&["trace", "--real", "--gpu", "m1", "true"]).output().expect("tepui starts");
    assert_eq!(output.status.code(), Some(2));
}

/// Without hardware there is nothing to observe, and the program runs as usual.
#[test]
fn a_real_trace_leaves_the_program_alone() {
    let script = "echo out; test -e /dev/dri/renderD128 || exit 5";
    let traced = tepui(&["trace", "--real", "--", "sh", "-c", script]).output().expect("starts");
    let plain = Command::new("sh").args(["-c", script]).output().expect("sh starts");
    assert_eq!(traced.status.code(), plain.status.code());
    assert_eq!(traced.stdout, plain.stdout);
    assert_eq!(text(&traced.stderr), text(&plain.stderr));
}
