//! `tepui`, the command line. Each subcommand is a module `cmd_*` with its arguments and a function
//! `run`.
//!
//! Modules that several subcommands share: `gpu` (values of `--gpu`), `input` (files and standard
//! input), `frontend` (shader files to SPIR-V), `image` and `raster` (image layouts and image
//! files), `batch` (JSON requests), `library` (the libraries that programs get).
#![allow(non_snake_case)] // `_B` is the suffix of byte counts throughout.

mod batch;
mod cmd_asm;
mod cmd_bench;
mod cmd_check;
mod cmd_compare;
mod cmd_compile;
mod cmd_completions;
mod cmd_debug;
mod cmd_decode;
mod cmd_demo;
mod cmd_disasm;
mod cmd_doctor;
mod cmd_exec;
mod cmd_explore;
mod cmd_formats;
mod cmd_gpus;
mod cmd_instancing;
mod cmd_isa;
mod cmd_layout;
mod cmd_replay;
mod cmd_run;
mod cmd_shim;
mod cmd_tile;
mod cmd_trace;
mod frontend;
mod gpu;
mod image;
mod input;
mod intel;
mod intel_analysis;
mod launch;
mod library;
mod mali;
mod mutate;
mod raster;
mod shared;
mod size;

use clap::Parser;

/// mimalloc, because the compiler allocates and frees many small vectors.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// GPU drivers and virtual GPUs: Apple AGX, Arm Mali, Intel.
#[derive(Parser)]
#[command(name = "tepui", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The subcommands.
#[derive(clap::Subcommand)]
enum Command {
    /// Prints the version.
    Version,
    Demo(cmd_demo::Args),
    Compile(cmd_compile::Args),
    Compare(cmd_compare::Args),
    Exec(cmd_exec::Args),
    Check(cmd_check::Args),
    Explore(cmd_explore::Args),
    Debug(cmd_debug::Args),
    Dap(cmd_debug::DapArgs),
    Bench(cmd_bench::Args),
    Gpus(cmd_gpus::Args),
    Doctor(cmd_doctor::Args),
    Run(cmd_run::Args),
    Shim(cmd_shim::Args),
    Trace(cmd_trace::Args),
    Decode(cmd_decode::Args),
    Replay(cmd_replay::Args),
    Asm(cmd_asm::Args),
    Disasm(cmd_disasm::Args),
    Isa(cmd_isa::Args),
    Layout(cmd_layout::Args),
    Tile(cmd_tile::TileArgs),
    Detile(cmd_tile::DetileArgs),
    Instancing(cmd_instancing::Args),
    Formats(cmd_formats::Args),
    Completions(cmd_completions::Args),
    Man(cmd_completions::ManArgs),
}

/// Restores the default action of SIGPIPE, which Rust's runtime ignores: a command whose reader has ended (`tepui replay DIR | head`) is
/// ended by its next write, as other programs are, instead of panicking. Sockets do not raise the signal: all writes to them ask for
/// that.
fn end_with_reader() {
    // SAFETY: no other thread runs yet.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

fn main() -> std::process::ExitCode {
    end_with_reader();
    match Cli::parse().command {
        Command::Version => println!("tepui {}", env!("CARGO_PKG_VERSION")),
        Command::Compile(args) => return cmd_compile::run(&args),
        Command::Compare(args) => return cmd_compare::run(&args),
        Command::Exec(args) => return cmd_exec::run(&args),
        Command::Check(args) => return cmd_check::run(&args),
        Command::Explore(args) => return cmd_explore::run(&args),
        Command::Debug(args) => return cmd_debug::run(&args),
        Command::Dap(args) => return cmd_debug::run_dap(&args),
        Command::Bench(args) => return cmd_bench::run(&args),
        Command::Demo(args) => return cmd_demo::run(&args),
        Command::Gpus(args) => return cmd_gpus::run(&args),
        Command::Doctor(args) => return cmd_doctor::run(&args),
        Command::Run(args) => return cmd_run::run(&args),
        Command::Shim(args) => return cmd_shim::run(&args),
        Command::Trace(args) => return cmd_trace::run(&args),
        Command::Decode(args) => return cmd_decode::run(&args),
        Command::Replay(args) => return cmd_replay::run(&args),
        Command::Asm(args) => return cmd_asm::run(&args),
        Command::Disasm(args) => return cmd_disasm::run(&args),
        Command::Isa(args) => return cmd_isa::run(&args),
        Command::Layout(args) => return cmd_layout::run(&args),
        Command::Tile(args) => return cmd_tile::run_tile(&args),
        Command::Detile(args) => return cmd_tile::run_detile(&args),
        Command::Instancing(args) => return cmd_instancing::run(&args),
        Command::Formats(args) => return cmd_formats::run(&args),
        Command::Completions(args) => return cmd_completions::run(&args),
        Command::Man(args) => return cmd_completions::run_man(&args),
    }
    std::process::ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn arguments_of_all_subcommands_are_consistent() {
        super::Cli::command().debug_assert();
    }
}
