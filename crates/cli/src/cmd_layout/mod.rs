//! `tepui layout`: prints the memory layout of an image.

mod canvas;
mod picture;
mod table;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::batch;
use crate::image::{ImageArgs, JsonRequest};

/// Prints the memory layout of an image: its levels, layers and tiles.
///
/// The table has for each mip level the offset within the layer, the bytes reserved, the row stride
/// in bytes, the tile size, and the number of tiles that cover the level.
#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  \
    tepui layout --gpu m1 --format R8G8B8A8_UNORM --size 1000x500 --levels all\n  \
    tepui layout --gpu m1 --format D32_SFLOAT --size 64x64 --tiling compressed --json\n  \
    tepui layout --gpu mali-g52 --format ETC2_R8G8B8_UNORM_BLOCK --size 128x128 --levels all\n  \
    tepui layout --gpu skl --format D32_SFLOAT --size 640x480 --samples 4\n  \
    tepui layout --gpu m1 --format R8G8B8A8_UNORM --size 200x100 --levels all --png layout.png\n\n\
    --batch reads one JSON request per line and writes one answer per line:\n  \
    echo '{\"gpu\":\"m1\",\"format\":\"R8_UNORM\",\"tiling\":\"twiddled\",\"width_px\":64,\"height_px\":64}' \\\n    \
    | tepui layout --batch"
)]
pub struct Args {
    #[command(flatten)]
    image: Option<ImageArgs>,
    /// Print a JSON object.
    #[arg(long, conflicts_with = "png")]
    json: bool,
    /// Draw the miptree in memory and the order within a tile to a PNG.
    #[arg(long, value_name = "FILE")]
    png: Option<PathBuf>,
    /// Read requests from standard input, one JSON object per line, and answer each on a line.
    #[arg(long, conflicts_with_all = ["json", "png", "gpu", "format", "size"])]
    batch: bool,
}

/// Prints the layout.
pub fn run(args: &Args) -> ExitCode {
    let done = match (&args.image, args.batch) {
        (_, true) => batch::run("tepui layout", |line| {
            let request: JsonRequest = serde_json::from_str(line)?;
            let answer = request.lay_out().map_err(|e| e.to_string())?.answer();
            Ok(serde_json::to_string(&answer)?)
        }),
        (Some(image), false) => one(args, image),
        (None, false) => {
            Err("describe the image with --gpu, --format and --size, or use --batch".into())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("tepui layout: {message}");
            ExitCode::FAILURE
        }
    }
}

fn one(args: &Args, image: &ImageArgs) -> Result<(), String> {
    let image = image.lay_out().map_err(|e| e.to_string())?;
    if let Some(path) = &args.png {
        picture::write(&image, path).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    let answer = image.answer();
    if args.json {
        let text = serde_json::to_string(&answer).map_err(|e| e.to_string())?;
        return write(&(text + "\n"));
    }
    write(&table::text(&image, &answer))
}

fn write(text: &str) -> Result<(), String> {
    std::io::stdout().write_all(text.as_bytes()).map_err(|e| format!("standard output: {e}"))
}
