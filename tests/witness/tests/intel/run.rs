//! Programs on Mesa's drivers over a virtual Intel GPU.
#![allow(dead_code, reason = "each test uses a part")]

use std::path::{Path, PathBuf};
use std::process::Command;

use tepui_witness::compile::mesa_tool;
use tepui_witness::jobs::Driver;

/// The command that gives a program the GPU as `verb` says, the words behind `tepui`, up to the program.
pub fn on_gpu(verb: &[&str]) -> Command {
    let tepui = Path::new(env!("CARGO_BIN_EXE_witness")).with_file_name("tepui");
    assert!(tepui.exists(), "{}: missing; build it first: cargo build -p tepui", tepui.display());
    let mut command = Command::new(&tepui);
    command.args(verb).arg("--").arg(mesa_tool()).args(["run", "--icd", "anv", "--"]);
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

/// Command that runs shaders of piglit's on iris.
pub fn piglit(verb: &[&str], shaders: &[PathBuf]) -> Command {
    let folder = piglit_folder();
    let mut command = on_gpu(verb);
    command.arg(folder.join("bin/shader_runner")).args(shaders);
    command.args(["-auto", "-fbo", "-report-subtests"]);
    command.env("PIGLIT_PLATFORM", "surfaceless_egl").env("PIGLIT_SOURCE_DIR", &folder);
    command
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
