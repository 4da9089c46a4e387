//! `tepui`: the command. Each subcommand is a module with its own arguments and a `run`.

use clap::Parser;

/// GPU drivers and virtual GPUs: Apple AGX, Arm Mali, Intel.
#[derive(Parser)]
#[command(name = "tepui", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// One variant a subcommand.
#[derive(clap::Subcommand)]
enum Command {
    /// Says which version this is.
    Version,
}

fn main() -> std::process::ExitCode {
    match Cli::parse().command {
        Command::Version => println!("tepui {}", env!("CARGO_PKG_VERSION")),
    }
    std::process::ExitCode::SUCCESS
}
