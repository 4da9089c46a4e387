//! `tepui gpus`: lists the GPUs of the registry and what works for each.

use std::fmt::Write as _;
use std::process::ExitCode;

use serde::Serialize;
use tepui_gpus::{Feature, Gpu, Support};

use crate::cmd_isa::print_out;

/// Lists the GPUs and what works for each.
///
/// `yes`: it works, and tests on this GPU compare it with independent references. `untested`: it works as on
/// another chip of the generation, and tests run on that chip alone. `-`: it is not implemented.
#[derive(clap::Args)]
#[command(after_help = "Columns:\n  \
    model     tepui shim, trace, replay: programs run on a virtual GPU\n  \
    compiler  tepui compile, exec, bench compile\n  \
    driver    tepui run: Tepui's own Vulkan driver\n  \
    isa       tepui asm, disasm, isa\n  \
    layout    tepui layout, tile, detile, formats\n\n\
    Examples:\n  \
    tepui gpus\n  \
    tepui gpus --json | jq -r '.[] | select(.model == \"yes\") | .id'\n  \
    tepui shim --gpu m1-max -- vulkaninfo --summary")]
pub struct Args {
    /// Print a JSON array.
    #[arg(long)]
    json: bool,
}

/// A GPU in the output of `--json`.
#[derive(Serialize)]
struct Row {
    id: &'static str,
    name: &'static str,
    family: String,
    architecture: String,
    chip_id: String,
    cores: Option<u32>,
    model: String,
    compiler: String,
    driver: String,
    isa: String,
    layout: String,
}

impl From<Gpu> for Row {
    fn from(gpu: Gpu) -> Row {
        let support = |feature| match gpu.support(feature) {
            Support::Missing => "no".to_owned(),
            support => support.to_string(),
        };
        Row {
            id: gpu.id(),
            name: gpu.name(),
            family: gpu.family().to_string(),
            architecture: gpu.architecture(),
            chip_id: format!("{:04x}", gpu.chip_id()),
            cores: gpu.cores(),
            model: support(Feature::Model),
            compiler: support(Feature::Compiler),
            driver: support(Feature::Driver),
            isa: support(Feature::Isa),
            layout: support(Feature::Layout),
        }
    }
}

/// Prints the GPUs.
pub fn run(args: &Args) -> ExitCode {
    if args.json {
        let rows: Vec<Row> = Gpu::all().map(Row::from).collect();
        return match serde_json::to_string_pretty(&rows) {
            Ok(text) => print_out("gpus", &(text + "\n")),
            Err(error) => {
                eprintln!("tepui gpus: {error}");
                ExitCode::FAILURE
            }
        };
    }
    let mut rows = vec![["--gpu", "name", "architecture", "id"].map(str::to_owned).to_vec()];
    rows[0].extend(Feature::ALL.map(|feature| feature.to_string()));
    for gpu in Gpu::all() {
        let mut row = vec![gpu.id().to_owned(), gpu.name().to_owned(), gpu.architecture()];
        row.push(format!("{:04x}", gpu.chip_id()));
        row.extend(Feature::ALL.map(|feature| gpu.support(feature).to_string()));
        rows.push(row);
    }
    let text = columns(&rows);
    print_out("gpus", &text)
}

/// Rows of cells as lines, each column as wide as its widest cell.
fn columns(rows: &[Vec<String>]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<_> = (0..rows[0].len()).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "{cell:<width$}  ");
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}
