//! `tepui doctor`: what this machine's GPUs need and have.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use tepui_doctor::{Machine, examine};

/// Arguments of `tepui doctor`.
#[derive(clap::Args)]
#[command(
    about = "Examines this machine's GPUs: nodes, permissions, firmware, Vulkan drivers",
    long_about = "Prints the DRM devices of this machine with their kernel drivers, nodes and permissions, the GuC \
        firmware that Intel's GPUs need from Alder Lake-P and Arc on (required, found, and whether it is at least the \
        recommended version), the manifests of Vulkan drivers, and Tepui's virtual GPUs; then what to do. The exit \
        status is 1 if a GPU of the machine does not work as it is.",
    after_help = "Examples:\n  \
        tepui doctor\n  \
        tepui doctor --json | jq '.devices[].guc'\n  \
        tepui doctor --root /mnt/other-system"
)]
pub struct Args {
    /// Print a JSON object.
    #[arg(long)]
    json: bool,
    /// Examine the system files below this directory instead of those of this machine.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args) -> ExitCode {
    let mut machine = Machine::this();
    if let Some(root) = &args.root {
        if !root.is_dir() {
            eprintln!("tepui doctor: {}: no directory", root.display());
            return ExitCode::FAILURE;
        }
        machine.root = root.clone();
    }
    let report = examine(&machine);
    let text = if args.json {
        match serde_json::to_string_pretty(&report) {
            Ok(text) => text + "\n",
            Err(error) => {
                eprintln!("tepui doctor: {error}");
                return ExitCode::FAILURE;
            }
        }
    } else {
        report.to_string()
    };
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            eprintln!("tepui doctor: {error}");
            ExitCode::FAILURE
        }
        _ if report.has_problems() => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    }
}
