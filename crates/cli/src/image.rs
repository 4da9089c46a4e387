//! Images as the commands take them: arguments and JSON requests in, a layout out.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tepui_agx_kernel::Chip as AgxChip;
use tepui_agx_layout as agx;
use tepui_format::units::Extent;
use tepui_format::{Format, UnknownFormat};
use tepui_mali_chips::{CHIPS as MALI_CHIPS, Chip as MaliChip};
use tepui_mali_layout as mali;
use tepui_mali_layout::afbc::Afbc;

/// A GPU that has layouts.
#[derive(Clone, Copy)]
pub enum Gpu {
    /// An Apple GPU. All share their layouts.
    Agx(&'static AgxChip),
    /// An Arm GPU.
    Mali(&'static MaliChip),
}

impl Gpu {
    /// The name that commands take.
    pub fn id(self) -> &'static str {
        match self {
            Gpu::Agx(chip) => chip.id,
            Gpu::Mali(chip) => chip.id,
        }
    }

    /// The tilings of this GPU, the default first.
    pub fn tilings(self) -> &'static [&'static str] {
        match self {
            Gpu::Agx(_) => &["twiddled", "compressed", "linear"],
            Gpu::Mali(_) => &["u-interleaved", "afbc", "linear"],
        }
    }
}

impl FromStr for Gpu {
    type Err = RequestError;

    fn from_str(id: &str) -> Result<Gpu, RequestError> {
        let agx = AgxChip::by_id(id).map(Gpu::Agx);
        let mali = || tepui_mali_chips::chip(id).map(Gpu::Mali);
        agx.or_else(mali).ok_or_else(|| RequestError::Gpu { name: id.chars().take(80).collect() })
    }
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// There is no such GPU.
    #[error("no GPU '{name}'; there are {}", gpu_names())]
    Gpu {
        /// The name as given.
        name: String,
    },
    /// There is no such format.
    #[error(transparent)]
    Format(#[from] UnknownFormat),
    /// The GPU has no such tiling.
    #[error("{gpu} has no tiling '{tiling}'; it has {}", .has.join(", "))]
    Tiling {
        /// The GPU's name.
        gpu: &'static str,
        /// The tiling asked for.
        tiling: String,
        /// The GPU's tilings.
        has: &'static [&'static str],
    },
    /// A word that is no usage.
    #[error("no usage '{0}'; there are renderable and writable")]
    Usage(String),
    /// A size that cannot be read.
    #[error("a size of '{0}'; write WIDTH, WIDTHxHEIGHT or WIDTHxHEIGHTxDEPTH")]
    Size(String),
    /// A number of levels that cannot be read.
    #[error("'{0}' levels; write a number or 'all'")]
    Levels(String),
    /// A variant of AFBC that cannot be read.
    #[error("{0}")]
    Afbc(String),
    /// An option of another tiling or GPU.
    #[error("{option} is for {what}")]
    Misplaced {
        /// The option.
        option: &'static str,
        /// What it is for.
        what: &'static str,
    },
    /// A rule of AGX.
    #[error(transparent)]
    Agx(#[from] agx::LayoutError),
    /// A rule of Mali.
    #[error(transparent)]
    Mali(#[from] mali::LayoutError),
}

fn gpu_names() -> String {
    let agx = tepui_agx_kernel::CHIPS.iter().map(|c| c.id);
    agx.chain(MALI_CHIPS.iter().map(|c| c.id)).collect::<Vec<_>>().join(", ")
}

/// A number of levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Levels {
    /// So many.
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
    /// The GPU: m1, m1-pro, m1-max, m2, or mali-g52 and its siblings (`tepui gpus`).
    #[arg(long, value_name = "GPU")]
    pub gpu: Gpu,
    /// Pixel format, by Vulkan's name (`tepui formats`).
    #[arg(long, value_name = "FORMAT")]
    pub format: Format,
    /// Size in pixels; a depth makes the image 3D.
    #[arg(long, value_name = "W[xH[xD]]")]
    pub size: Size,
    /// Mip levels. On AGX, more than one reserves the whole chain, as the hardware wants it.
    #[arg(long, value_name = "N|all", default_value = "1")]
    pub levels: Levels,
    /// Array layers, six for each cube.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub layers: u32,
    /// Samples a pixel.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub samples: u32,
    /// AGX: linear, twiddled (default), compressed. Mali: linear, u-interleaved (default), afbc.
    #[arg(long, value_name = "TILING")]
    pub tiling: Option<String>,
    /// What the GPU does with the image besides sampling it: renderable, writable.
    #[arg(long, value_name = "USAGE", value_delimiter = ',')]
    pub usage: Vec<String>,
    /// The image is an array of cubes.
    #[arg(long)]
    pub cube: bool,
    /// Bytes from row to row of a linear image.
    #[arg(long, value_name = "BYTES")]
    pub linear_stride: Option<u32>,
    /// The variant of AFBC: superblock 16x16 (default), 32x8 or 64x4, then +tiled, +ytr, +split, +sc.
    #[arg(long, value_name = "VARIANT")]
    pub afbc: Option<String>,
}

impl ImageArgs {
    /// The layout.
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

/// A request as `--batch` reads it.
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
    /// The layout.
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

/// An image with everything read.
struct ImageRequest<'a> {
    gpu: Gpu,
    format: Format,
    tiling: Option<&'a str>,
    width_px: u32,
    height_px: u32,
    depth_px: u32,
    layers: u32,
    samples: u32,
    levels: Levels,
    usage: agx::Usage,
    cube: bool,
    linear_stride_B: Option<u32>,
    afbc: Option<&'a str>,
}

/// A layout of either family.
pub enum Image {
    /// On an Apple GPU.
    Agx(Gpu, Box<agx::Layout>),
    /// On an Arm GPU.
    Mali(Gpu, mali::Layout),
}

impl Image {
    fn new(request: &ImageRequest) -> Result<Image, RequestError> {
        let gpu = request.gpu;
        let tiling = request.tiling.unwrap_or(gpu.tilings()[0]);
        let (format, width_px, height_px) = (request.format, request.width_px, request.height_px);
        let unknown = || RequestError::Tiling {
            gpu: gpu.id(),
            tiling: tiling.chars().take(80).collect(),
            has: gpu.tilings(),
        };
        match gpu {
            Gpu::Agx(_) => {
                if request.afbc.is_some() {
                    let (option, what) = ("afbc", "the tiling 'afbc' of Mali");
                    return Err(RequestError::Misplaced { option, what });
                }
                let mut desc = agx::ImageDesc {
                    dimension: match (request.cube, request.depth_px) {
                        (true, _) => agx::Dimension::Cube,
                        (false, 0 | 1) => agx::Dimension::D2,
                        (false, _) => agx::Dimension::D3,
                    },
                    depth_px: request.depth_px,
                    layers: request.layers,
                    samples: request.samples,
                    usage: request.usage,
                    linear_stride_B: request.linear_stride_B,
                    ..agx::ImageDesc::new_2d(
                        format,
                        tiling.parse().map_err(|_| unknown())?,
                        width_px,
                        height_px,
                    )
                };
                desc.levels = match request.levels {
                    Levels::Count(count) => count,
                    Levels::All => desc.full_chain(),
                };
                Ok(Image::Agx(gpu, Box::new(agx::Layout::new(&desc)?)))
            }
            Gpu::Mali(chip) => {
                let variant = match request.afbc {
                    Some(text) => text.parse().map_err(RequestError::Afbc)?,
                    None => Afbc::PLAIN,
                };
                let modifier = match tiling {
                    "linear" => mali::Modifier::Linear,
                    "u-interleaved" => mali::Modifier::UInterleaved,
                    "afbc" => mali::Modifier::Afbc(variant),
                    _ => return Err(unknown()),
                };
                if request.afbc.is_some() && tiling != "afbc" {
                    let (option, what) = ("afbc", "the tiling 'afbc'");
                    return Err(RequestError::Misplaced { option, what });
                }
                let mut desc = mali::ImageDesc {
                    dimension: match (request.cube, request.depth_px) {
                        (true, _) => mali::Dimension::Cube,
                        (false, 0 | 1) => mali::Dimension::D2,
                        (false, _) => mali::Dimension::D3,
                    },
                    depth_px: request.depth_px,
                    layers: request.layers,
                    samples: request.samples,
                    explicit: request
                        .linear_stride_B
                        .map(|row_stride_B| mali::ExplicitLayout { offset_B: 0, row_stride_B }),
                    ..mali::ImageDesc::new_2d(chip.arch, format, modifier, width_px, height_px)
                };
                desc.levels = match request.levels {
                    Levels::Count(count) => count,
                    Levels::All => desc.full_chain(),
                };
                Ok(Image::Mali(gpu, mali::Layout::new(&desc)?))
            }
        }
    }

    /// The format.
    pub fn format(&self) -> Format {
        match self {
            Image::Agx(_, layout) => layout.desc().format,
            Image::Mali(_, layout) => layout.desc().format,
        }
    }

    /// Bytes of the image.
    pub fn size_B(&self) -> u64 {
        match self {
            Image::Agx(_, layout) => layout.size_B,
            Image::Mali(_, layout) => layout.size_B,
        }
    }

    /// Bytes of an element of the raster side: a block, or, on AGX, all samples of a pixel.
    pub fn element_B(&self) -> u32 {
        match self {
            Image::Agx(_, layout) => layout.element_B,
            Image::Mali(_, layout) => layout.desc().format.info().block.bytes,
        }
    }

    /// Width and height of a level in pixels.
    pub fn level_px(&self, level: u32) -> Option<(u32, u32)> {
        let extent = match self {
            Image::Agx(_, layout) => layout.levels().get(level as usize)?.extent_px,
            Image::Mali(_, layout) => layout.levels().get(level as usize)?.extent_px,
        };
        Some((extent.w, extent.h))
    }

    /// Moves a raster image into part of this one.
    pub fn tile(
        &self,
        image: &mut [u8],
        part: Part,
        raster: &[u8],
        stride_B: usize,
    ) -> Result<(), MoveError> {
        let threads = agx::Threads::All;
        match self {
            Image::Agx(_, layout) => {
                layout.tile(image, part.agx()?, raster, stride_B, threads)?;
            }
            Image::Mali(_, layout) => {
                layout.tile(image, part.mali(layout), raster, stride_B, threads)?;
            }
        }
        Ok(())
    }

    /// Moves part of this image into a raster image.
    pub fn detile(
        &self,
        image: &[u8],
        part: Part,
        raster: &mut [u8],
        stride_B: usize,
    ) -> Result<(), MoveError> {
        let threads = agx::Threads::All;
        match self {
            Image::Agx(_, layout) => {
                layout.detile(image, part.agx()?, raster, stride_B, threads)?;
            }
            Image::Mali(_, layout) => {
                layout.detile(image, part.mali(layout), raster, stride_B, threads)?;
            }
        }
        Ok(())
    }

    /// What `--json` and `--batch` say.
    pub fn answer(&self) -> Answer {
        match self {
            Image::Agx(gpu, layout) => agx_answer(*gpu, layout),
            Image::Mali(gpu, layout) => mali_answer(*gpu, layout),
        }
    }
}

/// Which part of an image to move.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Mip level.
    pub level: u32,
    /// Array layer, or slice of a 3D image.
    pub layer: u32,
    /// Sample, where the samples of a pixel lie apart (Mali).
    pub sample: u32,
    /// Left column and top row in pixels.
    pub origin_px: (u32, u32),
    /// Width and height in pixels.
    pub extent_px: (u32, u32),
}

/// Why pixels cannot be moved.
#[derive(Clone, Debug, thiserror::Error)]
pub enum MoveError {
    /// AGX keeps the samples of a pixel together.
    #[error("samples of a pixel are stored together on AGX: raster rows hold all of them")]
    SampleOnAgx,
    /// AGX's reason.
    #[error(transparent)]
    Agx(#[from] agx::MoveError),
    /// Mali's reason.
    #[error(transparent)]
    Mali(#[from] mali::MoveError),
}

impl Part {
    fn agx(self) -> Result<agx::Region, MoveError> {
        if self.sample > 0 {
            return Err(MoveError::SampleOnAgx);
        }
        let Part { level, layer, origin_px, extent_px: (w, h), .. } = self;
        Ok(agx::Region { level, layer, origin_px, extent_px: Extent::new(w, h) })
    }

    fn mali(self, layout: &mali::Layout) -> mali::Region {
        let Part { level, layer, sample, origin_px, extent_px: (w, h) } = self;
        let (layer, surface) = match layout.desc().dimension {
            mali::Dimension::D3 => (0, layer),
            _ => (layer, sample),
        };
        mali::Region { level, layer, surface, origin_px, extent_px: Extent::new(w, h) }
    }
}

/// A layout as `--json` and `--batch` write it. Bytes count from the start of the image; the offsets
/// of levels from the start of their layer.
#[derive(Serialize)]
pub struct Answer {
    /// The GPU's name.
    pub gpu: &'static str,
    /// The format's name.
    pub format: &'static str,
    /// The tiling's name.
    pub tiling: &'static str,
    /// Width of level 0.
    pub width_px: u32,
    /// Height of level 0.
    pub height_px: u32,
    /// Depth of level 0.
    pub depth_px: u32,
    /// Array layers.
    pub layers: u32,
    /// Samples a pixel.
    pub samples: u32,
    /// Every level that has space.
    pub levels: Vec<AnswerLevel>,
    /// Bytes from layer to layer.
    pub layer_stride_B: u64,
    /// Bytes of the image.
    pub size_B: u64,
    /// AGX: whether layers start at pages.
    pub page_aligned_layers: bool,
    /// AGX: the metadata of a compressed image. Mali: the headers of AFBC.
    pub metadata: Option<AnswerMetadata>,
}

/// A level of an [`Answer`].
#[derive(Serialize)]
pub struct AnswerLevel {
    /// Its number.
    pub level: u32,
    /// Where it starts within its layer.
    pub offset_B: u64,
    /// Bytes reserved.
    pub size_B: u64,
    /// Bytes from row to row: of elements, of tiles (u-interleaved), of headers (AFBC).
    pub stride_B: u64,
    /// The tile in elements.
    pub tile_el: [u32; 2],
    /// Tiles that cover the level.
    pub tiles: [u32; 2],
}

/// The metadata of an [`Answer`].
#[derive(Serialize)]
pub struct AnswerMetadata {
    /// Where it starts in the image.
    pub offset_B: u64,
    /// Bytes of all of it.
    pub size_B: u64,
    /// Its levels.
    pub levels: Vec<AnswerMetadataLevel>,
}

/// A level of an [`AnswerMetadata`].
#[derive(Serialize)]
pub struct AnswerMetadataLevel {
    /// Its number.
    pub level: u32,
    /// AGX: where it starts within its layer's metadata. Mali: where it starts within its layer.
    pub offset_B: u64,
    /// Bytes reserved.
    pub size_B: u64,
    /// Tiles that it describes.
    pub tiles: [u32; 2],
}

fn agx_answer(gpu: Gpu, layout: &agx::Layout) -> Answer {
    let desc = layout.desc();
    Answer {
        gpu: gpu.id(),
        format: desc.format.name(),
        tiling: desc.tiling.name(),
        width_px: desc.width_px,
        height_px: desc.height_px,
        depth_px: desc.depth_px,
        layers: desc.layers,
        samples: desc.samples,
        levels: (0..)
            .zip(layout.levels())
            .map(|(level, l)| AnswerLevel {
                level,
                offset_B: l.offset_B,
                size_B: l.size_B,
                stride_B: l.stride_B,
                tile_el: l.tile_el.to_array(),
                tiles: l.tiles.to_array(),
            })
            .collect(),
        layer_stride_B: layout.layer_stride_B,
        size_B: layout.size_B,
        page_aligned_layers: layout.page_aligned_layers,
        metadata: layout.metadata.as_ref().map(|m| AnswerMetadata {
            offset_B: m.offset_B,
            size_B: m.size_B,
            levels: (0..)
                .zip(m.levels())
                .map(|(level, l)| AnswerMetadataLevel {
                    level,
                    offset_B: l.offset_B,
                    size_B: l.size_B,
                    tiles: l.tiles.to_array(),
                })
                .collect(),
        }),
    }
}

fn mali_answer(gpu: Gpu, layout: &mali::Layout) -> Answer {
    let desc = layout.desc();
    let headers: Vec<_> = (0..)
        .zip(layout.levels())
        .filter_map(|(level, l)| {
            Some(AnswerMetadataLevel {
                level,
                offset_B: l.offset_B,
                size_B: l.afbc?.header_size_B,
                tiles: l.tiles.to_array(),
            })
        })
        .collect();
    Answer {
        gpu: gpu.id(),
        format: desc.format.name(),
        tiling: desc.modifier.name(),
        width_px: desc.width_px,
        height_px: desc.height_px,
        depth_px: desc.depth_px,
        layers: desc.layers,
        samples: desc.samples,
        levels: (0..)
            .zip(layout.levels())
            .map(|(level, l)| AnswerLevel {
                level,
                offset_B: l.offset_B,
                size_B: l.size_B,
                stride_B: l.row_stride_B,
                tile_el: l.tile_el.to_array(),
                tiles: l.tiles.to_array(),
            })
            .collect(),
        layer_stride_B: layout.layer_stride_B,
        size_B: layout.size_B,
        page_aligned_layers: false,
        metadata: (!headers.is_empty()).then(|| AnswerMetadata {
            offset_B: 0,
            size_B: headers.iter().map(|l| l.size_B).sum::<u64>() * u64::from(desc.layers),
            levels: headers,
        }),
    }
}
