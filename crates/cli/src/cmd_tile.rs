//! `tepui tile` and `tepui detile`: convert image files between linear and tiled layouts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;

use tepui_format::units::Extent;
use tepui_layout::Region;

use crate::image::{Image, ImageArgs};
use crate::raster;

/// Width and height of a region.
fn size_px(region: &Region) -> (u32, u32) {
    (region.extent_px.w, region.extent_px.h)
}

/// Converts a linear image to a GPU's layout.
///
/// IN is a PNG, or raw: rows of elements without padding (blocks of block-compressed formats; on
/// AGX, all samples of a pixel together). OUT is the whole image as in GPU memory, with all levels
/// and layers, and zeros outside the converted part.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tepui tile --gpu m1 --format R32_UINT --size 233x173 --tiling twiddled in.raw -o out.bin\n  \
    tepui tile --gpu mali-g52 --format R8G8B8A8_UNORM --size 640x480 --tiling u-interleaved \\\n    \
    photo.png -o out.bin\n  \
    tepui tile --gpu m1 --format R8_UNORM --size 256x256 --levels all --level 1 half.raw \\\n    \
    --into out.bin -o out.bin")]
pub struct TileArgs {
    #[command(flatten)]
    image: ImageArgs,
    #[command(flatten)]
    part: PartArgs,
    /// The linear image.
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// Output file for the tiled image.
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// A tiled image to write into; without it, an image of zeros.
    #[arg(long, value_name = "FILE")]
    into: Option<PathBuf>,
}

/// Converts an image in a GPU's layout to a linear one: the inverse of `tepui tile`.
///
/// IN is an image as in GPU memory. OUT is a raw linear image without padding, or a PNG if its name
/// ends in `.png`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tepui detile --gpu m1 --format R32_UINT --size 233x173 --tiling twiddled image.bin -o out.raw\n  \
    tepui detile --gpu m1 --format R8G8B8A8_UNORM --size 640x480 --levels all --level 2 image.bin \\\n    \
    -o level2.png\n  \
    tepui detile --gpu m1 --format R8G8B8A8_UNORM --size 640x480 --rect 64x64+128+0 image.bin -o out.raw")]
pub struct DetileArgs {
    #[command(flatten)]
    image: ImageArgs,
    #[command(flatten)]
    part: PartArgs,
    /// The tiled image.
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// Output file for the linear image.
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
}

/// The part of the image.
#[derive(clap::Args)]
struct PartArgs {
    /// Mip level.
    #[arg(long, value_name = "N", default_value_t = 0)]
    level: u32,
    /// Array layer, or slice of a 3D image.
    #[arg(long, value_name = "N", default_value_t = 0)]
    layer: u32,
    /// Mali, Intel: sample of a multisampled image.
    #[arg(long, value_name = "N", default_value_t = 0)]
    sample: u32,
    /// A rectangle in pixels; the whole level otherwise.
    #[arg(long, value_name = "WxH+X+Y")]
    rect: Option<PixelRect>,
}

/// A rectangle in pixels.
#[derive(Clone, Copy)]
struct PixelRect {
    origin_px: (u32, u32),
    extent_px: (u32, u32),
}

impl FromStr for PixelRect {
    type Err = String;

    /// Reads `WxH+X+Y`, or `X,Y,W,H`.
    fn from_str(text: &str) -> Result<PixelRect, String> {
        let numbers = |separators: &[char]| -> Option<Vec<u32>> {
            text.split(separators).map(|n| n.parse().ok()).collect()
        };
        let read = if text.contains(',') {
            numbers(&[',', 'x']).filter(|n| n.len() == 4).map(|n| [n[0], n[1], n[2], n[3]])
        } else {
            numbers(&['x', '+']).filter(|n| n.len() == 4).map(|n| [n[2], n[3], n[0], n[1]])
        };
        let [x, y, w, h] = read.ok_or("write WIDTHxHEIGHT+X+Y or X,Y,WIDTH,HEIGHT, in pixels")?;
        Ok(PixelRect { origin_px: (x, y), extent_px: (w, h) })
    }
}

impl PartArgs {
    fn of(&self, image: &Image) -> Result<Region, String> {
        let whole = image
            .level_px(self.level)
            .ok_or_else(|| format!("there is no level {}", self.level))?;
        let PixelRect { origin_px, extent_px } =
            self.rect.unwrap_or(PixelRect { origin_px: (0, 0), extent_px: whole });
        let PartArgs { level, layer, sample, .. } = *self;
        let extent_px = Extent::new(extent_px.0, extent_px.1);
        Ok(Region { level, layer, sample, origin_px, extent_px })
    }
}

/// Converts a linear image to a GPU's layout.
pub fn run_tile(args: &TileArgs) -> ExitCode {
    finish("tepui tile", tile(args))
}

/// Converts an image in a GPU's layout to a linear one.
pub fn run_detile(args: &DetileArgs) -> ExitCode {
    finish("tepui detile", detile(args))
}

fn finish(command: &str, done: Result<(), String>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{command}: {message}");
            ExitCode::FAILURE
        }
    }
}

fn tile(args: &TileArgs) -> Result<(), String> {
    let image = args.image.lay_out().map_err(|e| e.to_string())?;
    let part = args.part.of(&image)?;
    let row_B = raster::row_B(&image, part.extent_px.w);
    let input = read(&args.input)?;
    let at = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let rows = raster::from_file(&image, size_px(&part), input).map_err(|e| at(&args.input, &e))?;
    let mut bytes = match &args.into {
        Some(path) => {
            let bytes = read(path)?;
            if (bytes.len() as u64) < image.size_B() {
                let (have, need) = (bytes.len(), image.size_B());
                return Err(at(path, &format!("{have} bytes; the layout needs {need}")));
            }
            bytes
        }
        None => zeros(image.size_B())?,
    };
    image.tile(&mut bytes, part, &rows, row_B).map_err(|e| e.to_string())?;
    fs::write(&args.output, &bytes).map_err(|e| at(&args.output, &e))
}

fn detile(args: &DetileArgs) -> Result<(), String> {
    let image = args.image.lay_out().map_err(|e| e.to_string())?;
    let part = args.part.of(&image)?;
    let input = read(&args.input)?;
    let at = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let row_B = raster::row_B(&image, part.extent_px.w);
    let rows = raster::rows(&image, part.extent_px.h);
    let size_B = (row_B as u64).checked_mul(rows as u64).ok_or("the rectangle is too large")?;
    let mut out = zeros(size_B)?;
    image.detile(&input, part, &mut out, row_B).map_err(|e| match e {
        e if e.to_string().contains("image buffer") => at(&args.input, &e),
        e => e.to_string(),
    })?;
    let png = args.output.extension().is_some_and(|e| e.eq_ignore_ascii_case("png"));
    let out = if png {
        raster::to_png(&image, size_px(&part), &out).map_err(|e| at(&args.output, &e))?
    } else {
        out
    };
    fs::write(&args.output, &out).map_err(|e| at(&args.output, &e))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    crate::input::read(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn zeros(size_B: u64) -> Result<Vec<u8>, String> {
    let too_large = || format!("no memory for {size_B} bytes");
    let size = usize::try_from(size_B).map_err(|_| too_large())?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size).map_err(|_| too_large())?;
    bytes.resize(size, 0);
    Ok(bytes)
}
