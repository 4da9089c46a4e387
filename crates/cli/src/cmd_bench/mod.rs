//! `tepui bench`: benchmarks, one module each. Every figure is measured beside a peer's in the same
//! run.

mod compile;
mod frames;
mod model;
mod scale;
mod tiling;

use std::process::ExitCode;

/// Runs benchmarks on this machine; each figure is measured beside a peer's in the same run.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tepui bench tiling --help          # what each benchmark measures and takes
  tepui bench tiling                 # beside memcpy; needs nothing
  tepui bench compile shaders/       # from SPIR-V to machine code
  tools/mesa fetch && tepui bench model   # beside lavapipe")]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    Compile(compile::Args),
    Model(model::Args),
    Tiling(tiling::Args),
}

/// Runs the command.
pub fn run(args: &Args) -> ExitCode {
    match &args.what {
        What::Compile(args) => compile::run(args),
        What::Model(args) => model::run(args),
        What::Tiling(args) => tiling::run(args),
    }
}
