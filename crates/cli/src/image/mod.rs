//! Image layouts of both GPU families, created from command-line arguments or JSON requests.

mod answer;
mod request;

use tepui_agx_layout as agx;
use tepui_format::Format;
use tepui_format::units::Extent;
use tepui_gpus::Gpu;
use tepui_mali_layout as mali;
use tepui_mali_layout::afbc::Afbc;

pub use self::answer::Answer;
pub use self::request::{ImageArgs, JsonRequest};
use self::request::{ImageRequest, Levels, RequestError};

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
        let tiling = request.tiling.unwrap_or(request::tilings(gpu)[0]);
        let (format, width_px, height_px) = (request.format, request.width_px, request.height_px);
        let unknown = || RequestError::Tiling {
            gpu: gpu.id(),
            tiling: tiling.chars().take(80).collect(),
            has: request::tilings(gpu),
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

    /// Bytes of an element of the linear side: a block, or, on AGX, all samples of a pixel.
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

    /// Converts a linear image and writes it to part of this one.
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

    /// Converts part of this image to a linear one.
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

    /// The output of `--json` and `--batch`.
    pub fn answer(&self) -> Answer {
        match self {
            Image::Agx(gpu, layout) => answer::agx(*gpu, layout),
            Image::Mali(gpu, layout) => answer::mali(*gpu, layout),
        }
    }
}

/// The part of an image to convert.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Mip level.
    pub level: u32,
    /// Array layer, or slice of a 3D image.
    pub layer: u32,
    /// Sample, if the samples of a pixel are stored separately (Mali).
    pub sample: u32,
    /// Left column and top row in pixels.
    pub origin_px: (u32, u32),
    /// Width and height in pixels.
    pub extent_px: (u32, u32),
}

/// Why pixels cannot be converted.
#[derive(Clone, Debug, thiserror::Error)]
pub enum MoveError {
    /// AGX keeps the samples of a pixel together.
    #[error(
        "AGX stores the samples of a pixel together, and so do linear rows: leave out the sample"
    )]
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
