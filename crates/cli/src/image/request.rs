//! Descriptions of images: command-line arguments and JSON requests.

use std::str::FromStr;

use serde::Deserialize;
use tepui_agx_layout as agx;
use tepui_format::{Format, UnknownFormat};
use tepui_gpus::{Gpu, UnknownGpu, Unsupported};
use tepui_intel_layout as intel;
use tepui_mali_layout as mali;

use super::Image;

/// The tilings of a GPU, the default first.
pub fn tilings(gpu: Gpu) -> &'static [&'static str] {
    match gpu {
        Gpu::Agx(_) => &["twiddled", "compressed", "linear"],
        Gpu::Mali(_) => &["u-interleaved", "afbc", "linear"],
        Gpu::Intel(_) => &["y", "x", "w", "yf", "linear"],
    }
}

/// Reason why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The GPU is unknown.
    #[error(transparent)]
    Gpu(#[from] UnknownGpu),
    /// The format is unknown.
    #[error(transparent)]
    Format(#[from] UnknownFormat),
    /// The GPU does not have the tiling.
    #[error("{gpu} has no tiling '{tiling}'; it has {}", .has.join(", "))]
    Tiling {
        /// The GPU's name.
        gpu: &'static str,
        /// The requested tiling.
        tiling: String,
        /// The GPU's tilings.
        has: &'static [&'static str],
    },
    /// The usage is unknown.
    #[error("no usage '{0}'; there are renderable and writable")]
    Usage(String),
    /// The size cannot be parsed.
    #[error("a size of '{0}'; write WIDTH, WIDTHxHEIGHT or WIDTHxHEIGHTxDEPTH")]
    Size(String),
    /// The number of levels cannot be parsed.
    #[error("'{0}' levels; write a number or 'all'")]
    Levels(String),
    /// The AFBC variant cannot be parsed.
    #[error("{0}")]
    Afbc(String),
    /// The option is for another tiling or GPU.
    #[error("{option} is for {what}")]
    Misplaced {
        /// The option.
        option: &'static str,
        /// Its purpose.
        what: &'static str,
    },
    /// An AGX layout rule is violated.
    #[error(transparent)]
    Agx(#[from] agx::LayoutError),
    /// A Mali layout rule is violated.
    #[error(transparent)]
    Mali(#[from] mali::LayoutError),
    /// An Intel layout rule is violated.
    #[error(transparent)]
    Intel(#[from] intel::LayoutError),
    /// There are no layouts of the GPU.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
}

/// A number of levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Levels {
    /// This number.
    Count(u32),
    /// The full chain.
    All,
}

impl FromStr for Levels {
    type Err = RequestError;

    fn from_str(text: &str) -> Result<Levels, RequestError> {
        match text {
            "all" => Ok(Levels::All),
            _ => text.parse().map(Levels::Count).map_err(|_| RequestError::Levels(text.into())),
        }
    }
}

/// Width, height and depth in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Width.
    pub width_px: u32,
    /// Height.
    pub height_px: u32,
    /// Depth; more than 1 makes the image 3D.
    pub depth_px: u32,
}

impl FromStr for Size {
    type Err = RequestError;

    fn from_str(text: &str) -> Result<Size, RequestError> {
        let bad = || RequestError::Size(text.chars().take(80).collect());
        let sides: Vec<u32> =
            text.split('x').map(str::parse).collect::<Result<_, _>>().map_err(|_| bad())?;
        let (width_px, height_px, depth_px) = match sides[..] {
            [w] => (w, 1, 1),
            [w, h] => (w, h, 1),
            [w, h, d] => (w, h, d),
            _ => return Err(bad()),
        };
        Ok(Size { width_px, height_px, depth_px })
    }
}

/// The arguments that describe an image.
#[derive(clap::Args, Clone, Debug)]
pub struct ImageArgs {
    /// The GPU: m1, m1-pro, m1-max, m2, mali-g52 and its siblings, or skl (`tepui gpus`).
    #[arg(long, value_name = "GPU")]
    pub gpu: Gpu,
    /// Pixel format, by Vulkan's name (`tepui formats`).
    #[arg(long, value_name = "FORMAT")]
    pub format: Format,
    /// Size in pixels; a depth makes the image 3D.
    #[arg(long, value_name = "W[xH[xD]]")]
    pub size: Size,
    /// Mip levels. On AGX, more than one reserves the whole chain, as the hardware requires.
    #[arg(long, value_name = "N|all", default_value = "1")]
    pub levels: Levels,
    /// Array layers, six for each cube.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub layers: u32,
    /// Samples per pixel.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub samples: u32,
    /// AGX: linear, twiddled (default), compressed. Mali: linear, u-interleaved (default), afbc. Intel:
    /// linear, x, y (default), w (stencil), yf.
    #[arg(long, value_name = "TILING")]
    pub tiling: Option<String>,
    /// Uses of the image besides sampling: renderable, writable.
    #[arg(long, value_name = "USAGE", value_delimiter = ',')]
    pub usage: Vec<String>,
    /// The image is an array of cubes.
    #[arg(long)]
    pub cube: bool,
    /// Row stride of a linear image in bytes.
    #[arg(long, value_name = "BYTES")]
    pub linear_stride: Option<u32>,
    /// The variant of AFBC: superblock 16x16 (default), 32x8 or 64x4, then +tiled, +ytr, +split,
    /// +sc.
    #[arg(long, value_name = "VARIANT")]
    pub afbc: Option<String>,
}

impl ImageArgs {
    /// Computes the layout.
    pub fn lay_out(&self) -> Result<Image, RequestError> {
        let Size { width_px, height_px, depth_px } = self.size;
        Image::new(&ImageRequest {
            gpu: self.gpu,
            format: self.format,
            tiling: self.tiling.as_deref(),
            width_px,
            height_px,
            depth_px,
            layers: self.layers,
            samples: self.samples,
            levels: self.levels,
            usage: usage(self.usage.iter().map(String::as_str))?,
            cube: self.cube,
            linear_stride_B: self.linear_stride,
            afbc: self.afbc.as_deref(),
        })
    }
}

/// A request of `--batch`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JsonRequest {
    gpu: String,
    format: String,
    tiling: Option<String>,
    width_px: u32,
    height_px: u32,
    #[serde(default = "one")]
    depth_px: u32,
    #[serde(default = "one")]
    layers: u32,
    #[serde(default = "one")]
    samples: u32,
    #[serde(default)]
    levels: JsonLevels,
    #[serde(default)]
    usage: JsonUsage,
    #[serde(default)]
    cube: bool,
    #[serde(rename = "linear_stride_B")]
    linear_stride_B: Option<u32>,
    afbc: Option<String>,
}

fn one() -> u32 {
    1
}

#[derive(Deserialize)]
#[serde(untagged)]
enum JsonLevels {
    Count(u32),
    Word(String),
}

impl Default for JsonLevels {
    fn default() -> JsonLevels {
        JsonLevels::Count(1)
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum JsonUsage {
    Word(String),
    Words(Vec<String>),
}

impl Default for JsonUsage {
    fn default() -> JsonUsage {
        JsonUsage::Words(Vec::new())
    }
}

impl JsonRequest {
    /// Computes the layout.
    pub fn lay_out(&self) -> Result<Image, RequestError> {
        Image::new(&ImageRequest {
            gpu: self.gpu.parse()?,
            format: self.format.parse::<Format>()?,
            tiling: self.tiling.as_deref(),
            width_px: self.width_px,
            height_px: self.height_px,
            depth_px: self.depth_px,
            layers: self.layers,
            samples: self.samples,
            levels: match &self.levels {
                JsonLevels::Count(count) => Levels::Count(*count),
                JsonLevels::Word(word) => word.parse()?,
            },
            usage: match &self.usage {
                JsonUsage::Word(words) => usage(words.split([',', '|', '+', ' ']))?,
                JsonUsage::Words(words) => usage(words.iter().map(String::as_str))?,
            },
            cube: self.cube,
            linear_stride_B: self.linear_stride_B,
            afbc: self.afbc.as_deref(),
        })
    }
}

fn usage<'a>(words: impl Iterator<Item = &'a str>) -> Result<agx::Usage, RequestError> {
    let mut usage = agx::Usage::default();
    for word in words {
        match word {
            "" | "sampled" => {}
            "renderable" | "render" => usage.renderable = true,
            "writable" | "writeable" | "storage" => usage.writable = true,
            other => return Err(RequestError::Usage(other.chars().take(80).collect())),
        }
    }
    Ok(usage)
}

/// A parsed description of an image.
pub struct ImageRequest<'a> {
    pub gpu: Gpu,
    pub format: Format,
    pub tiling: Option<&'a str>,
    pub width_px: u32,
    pub height_px: u32,
    pub depth_px: u32,
    pub layers: u32,
    pub samples: u32,
    pub levels: Levels,
    pub usage: agx::Usage,
    pub cube: bool,
    pub linear_stride_B: Option<u32>,
    pub afbc: Option<&'a str>,
}
