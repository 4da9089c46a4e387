//! `tepui gpus`: the GPUs that programs can be given.

use std::process::ExitCode;

use serde::Serialize;
use tepui_agx_kernel::{CHIPS, Chip};

/// Arguments of `tepui gpus`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tepui gpus\n  \
    tepui gpus --json | jq -r '.[].id'\n  \
    tepui shim --gpu m1-max -- vulkaninfo --summary")]
pub struct Args {
    /// One JSON array, for programs.
    #[arg(long)]
    json: bool,
}

/// A GPU as `--json` shows it.
#[derive(Serialize)]
struct Row {
    id: &'static str,
    name: &'static str,
    driver: &'static str,
    gpu: String,
    soc: String,
    clusters: u32,
    cores: u32,
    max_frequency_khz: u32,
}

impl From<&Chip> for Row {
    fn from(chip: &Chip) -> Row {
        Row {
            id: chip.id,
            name: chip.name,
            driver: tepui_agx_kernel::DRIVER.name,
            gpu: chip.gpu_name(),
            soc: format!("T{:04X}", chip.soc),
            clusters: chip.clusters,
            cores: chip.cores(),
            max_frequency_khz: chip.max_frequency_khz,
        }
    }
}

/// Prints the GPUs.
pub fn run(args: &Args) -> ExitCode {
    let rows: Vec<Row> = CHIPS.iter().map(Row::from).collect();
    if args.json {
        match serde_json::to_string_pretty(&rows) {
            Ok(text) => println!("{text}"),
            Err(error) => {
                eprintln!("tepui gpus: {error}");
                return ExitCode::FAILURE;
            }
        }
        return ExitCode::SUCCESS;
    }
    println!(
        "{:<8} {:<14} {:<7} {:<8} {:<6} {:>8} {:>6} {:>9}",
        "--gpu", "name", "driver", "GPU", "SoC", "clusters", "cores", "max. MHz"
    );
    for row in rows {
        println!(
            "{:<8} {:<14} {:<7} {:<8} {:<6} {:>8} {:>6} {:>9}",
            row.id,
            row.name,
            row.driver,
            row.gpu,
            row.soc,
            row.clusters,
            row.cores,
            row.max_frequency_khz / 1000
        );
    }
    ExitCode::SUCCESS
}
