//! Programs on Mesa's drivers over a virtual Intel GPU.
#![allow(dead_code, reason = "each test uses a part")]

use std::path::{Path, PathBuf};
use std::process::Command;

use tepui_intel_isa::Generation;
use tepui_witness::compile::mesa_tool;
use tepui_witness::jobs::Driver;

/// The command that gives a program the GPU as `verb` says, the words behind `tepui`, up to the program; with ANV.
pub fn on_gpu(verb: &[&str]) -> Command {
    on_gpu_with(verb, "anv")
}

/// Command that runs a program on one of Mesa's drivers, or with `none`, through a verb of `tepui`.
fn on_gpu_with(verb: &[&str], icd: &str) -> Command {
    let tepui = Path::new(env!("CARGO_BIN_EXE_witness")).with_file_name("tepui");
    assert!(tepui.exists(), "{}: missing; build it first: cargo build -p tepui", tepui.display());
    let mut command = Command::new(&tepui);
    command.args(verb).arg("--").arg(mesa_tool()).args(["run", "--icd", icd, "--"]);
    command.env("MESA_SHADER_CACHE_DISABLE", "true");
    command
}

/// Command that runs cases of the witness on ANV.
pub fn witness(verb: &[&str], cases: &[&str]) -> Command {
    let mut command = on_gpu(verb);
    command.arg(env!("CARGO_BIN_EXE_witness"));
    command.args(["run", "--device", Driver::Skylake.device()]).args(cases);
    command
}

/// Command that runs cases of the witness on Tepui's driver.
pub fn own_witness(verb: &[&str], cases: &[&str]) -> Command {
    let mut command = on_gpu_with(verb, "none");
    command.arg(env!("CARGO_BIN_EXE_witness"));
    command.args(["run", "--device", Driver::Skylake.device(), "--exact"]).args(cases);
    command
}

/// Command that runs shaders of piglit's on iris.
pub fn piglit(verb: &[&str], shaders: &[PathBuf]) -> Command {
    let folder = piglit_folder();
    let mut command = on_gpu(verb);
    command.arg(folder.join("bin/shader_runner")).args(shaders);
    command.args(["-auto", "-fbo", "-report-subtests"]);
    command.env("PIGLIT_PLATFORM", "surfaceless_egl").env("PIGLIT_SOURCE_DIR", &folder);
    command
}

/// Text of Intel's disassembler for a file of machine code, without labels; its error.
pub fn iga64(generation: Generation, file: &Path) -> Result<Vec<String>, String> {
    let fetch = Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients/fetch_opencl");
    let fetched = Command::new(&fetch).output().expect("fetch_opencl runs");
    assert!(fetched.status.success(), "{}", String::from_utf8_lossy(&fetched.stderr));
    let clients = PathBuf::from(String::from_utf8(fetched.stdout).expect("a path").trim());
    let platform = match generation {
        Generation::Gen9 => "-p=9",
        Generation::Gen12 => "-p=12p1",
    };
    let mut command = Command::new(mesa_tool());
    command.args(["run", "--icd", "none", "--"]).arg(clients.join("bin/iga64"));
    let output = command.args(["-d", platform]).arg(file).output().expect("iga64 starts");
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let is_label = |line: &str| line.starts_with('L') && line.ends_with(':');
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !is_label(line));
    Ok(lines.map(str::to_owned).collect())
}

/// Piglit's folder.
pub fn piglit_folder() -> PathBuf {
    let output = Command::new(mesa_tool()).arg("path").output().expect("tools/mesa starts");
    let root = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim_end());
    root.join(format!("usr/lib/{}-linux-gnu/piglit", std::env::consts::ARCH))
}

/// An empty folder of a test.
pub fn fresh_folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}
