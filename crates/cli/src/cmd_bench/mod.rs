//! `tepui bench`: benchmarks, one module each. Every figure is measured with a peer's in the same run.

mod beside;
mod compile;
mod frames;
mod model;
mod scale;
mod tiling;
mod vulkan;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use serde::de::DeserializeOwned;

/// Runs benchmarks on this machine; each figure is measured with a peer's in the same run.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tepui bench tiling --help          # what each benchmark measures and takes
  tepui bench tiling                 # relative to memcpy; needs nothing
  tepui bench compile shaders/       # from SPIR-V to machine code
  tools/mesa fetch && tepui bench model   # with lavapipe
  tools/mesa fetch && tepui bench vulkan  # with Mesa's driver and lavapipe")]
pub struct Args {
    #[command(subcommand)]
    what: Benchmark,
}

#[derive(clap::Subcommand)]
enum Benchmark {
    Compile(compile::Args),
    Model(model::Args),
    Tiling(tiling::Args),
    Vulkan(vulkan::Args),
}

/// Runs the command.
pub fn run(args: &Args) -> ExitCode {
    match &args.what {
        Benchmark::Compile(args) => compile::run(args),
        Benchmark::Model(args) => model::run(args),
        Benchmark::Tiling(args) => tiling::run(args),
        Benchmark::Vulkan(args) => vulkan::run(args),
    }
}

/// The arm64 build of a program, which `tools/cross` puts next to this machine's.
fn for_arm64(witness: &Path) -> Result<PathBuf, Box<dyn std::error::Error>> {
    if cfg!(target_arch = "aarch64") {
        return Ok(witness.to_owned());
    }
    let target = witness.parent().and_then(Path::parent).unwrap_or(Path::new("target"));
    let path = target.join("aarch64-unknown-linux-gnu/release/witness");
    if path.is_file() {
        return Ok(path);
    }
    let build = "build it with `tools/cross -p tepui-witness --no-default-features`";
    Err(format!("{}: no such program; {build}", path.display()).into())
}

/// The Vulkan client of this project: the one given, or the one next to this program. `without` is the
/// option that makes it unnecessary, for the error message.
fn witness(given: Option<&Path>, without: &str) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let path = match given {
        Some(path) => path.to_owned(),
        None => std::env::current_exe()?.with_file_name("witness"),
    };
    if path.is_file() {
        return Ok(path);
    }
    let build = "build it with `cargo build --release -p tepui-witness`";
    Err(format!("{}: no such program; {build}, or give {without}", path.display()).into())
}

/// Runs a program that prints JSON.
fn json<T: DeserializeOwned>(mut command: Command) -> Result<T, Box<dyn std::error::Error>> {
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("{command:?} ended with {}", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
