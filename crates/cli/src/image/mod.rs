//! Image layouts of all GPU families, created from command-line arguments or JSON requests.

mod answer;
mod request;

use tepui_agx_layout as agx;
use tepui_format::Format;
use tepui_gpus::{Feature, Gpu};
use tepui_intel_layout as intel;
use tepui_layout::{Dimension, ImageLayout, Region, Shape, Threads};
use tepui_mali_layout as mali;
use tepui_mali_layout::afbc::Afbc;

pub use self::answer::Answer;
pub use self::request::{ImageArgs, JsonRequest};
use self::request::{ImageRequest, Levels, RequestError};

/// A layout of one family.
pub enum Image {
    /// On an Apple GPU.
    Agx(Gpu, Box<agx::Layout>),
    /// On an Arm GPU.
    Mali(Gpu, mali::Layout),
    /// On an Intel GPU.
    Intel(Gpu, Box<intel::Layout>),
}

impl Image {
    fn new(request: &ImageRequest) -> Result<Image, RequestError> {
        let gpu = request.gpu;
        let tiling = request.tiling.unwrap_or(request::tilings(gpu)[0]);
        let mut shape = Shape {
            format: request.format,
            dimension: match (request.cube, request.depth_px) {
                (true, _) => Dimension::Cube,
                (false, 0 | 1) => Dimension::D2,
                (false, _) => Dimension::D3,
            },
            width_px: request.width_px,
            height_px: request.height_px,
            depth_px: request.depth_px,
            layers: request.layers,
            samples: request.samples,
            levels: 1,
        };
        shape.levels = match request.levels {
            Levels::Count(count) => count,
            Levels::All => shape.full_chain(),
        };
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
                let desc = agx::ImageDesc {
                    shape,
                    tiling: tiling.parse().map_err(|_| unknown())?,
                    usage: request.usage,
                    linear_stride_B: request.linear_stride_B,
                };
                Ok(Image::Agx(gpu, Box::new(agx::Layout::new(&desc)?)))
            }
            Gpu::Intel(_) => {
                gpu.require(Feature::Layout)?;
                if request.afbc.is_some() {
                    let (option, what) = ("afbc", "the tiling 'afbc' of Mali");
                    return Err(RequestError::Misplaced { option, what });
                }
                let tiling = match (request.tiling, intel::ImageKind::of(shape.format)) {
                    (None, Some(intel::ImageKind::Stencil)) => intel::Tiling::W,
                    _ => tiling.parse().map_err(|()| unknown())?,
                };
                if request.height_px == 1 && request.depth_px <= 1 && !request.cube {
                    shape.dimension = Dimension::D1;
                }
                let desc = intel::ImageDesc {
                    shape,
                    tiling,
                    // Images that shaders store to are never compressed. source: Mesa, anv_image.c
                    may_have_aux: !request.usage.writable && tiling != intel::Tiling::Linear,
                    linear_stride_B: request.linear_stride_B,
                };
                Ok(Image::Intel(gpu, Box::new(intel::Layout::new(&desc)?)))
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
                let desc = mali::ImageDesc {
                    arch: chip.arch,
                    shape,
                    modifier,
                    checksums: false,
                    explicit: request
                        .linear_stride_B
                        .map(|row_stride_B| mali::ExplicitLayout { offset_B: 0, row_stride_B }),
                };
                Ok(Image::Mali(gpu, mali::Layout::new(&desc)?))
            }
        }
    }

    /// The layout, whatever the family.
    pub fn layout(&self) -> &dyn ImageLayout {
        match self {
            Image::Agx(_, layout) => layout.as_ref(),
            Image::Mali(_, layout) => layout,
            Image::Intel(_, layout) => layout.as_ref(),
        }
    }

    /// The format.
    pub fn format(&self) -> Format {
        self.layout().shape().format
    }

    /// Bytes of the image.
    pub fn size_B(&self) -> u64 {
        self.layout().size_B()
    }

    /// Bytes of an element of the linear side: a block, or, on AGX, all samples of a pixel.
    pub fn element_B(&self) -> u32 {
        self.layout().element_B()
    }

    /// Width and height of a level in pixels.
    pub fn level_px(&self, level: u32) -> Option<(u32, u32)> {
        self.layout().level_px(level).map(|extent| (extent.w, extent.h))
    }

    /// Converts a linear image and writes it to part of this one.
    pub fn tile(
        &self,
        image: &mut [u8],
        region: Region,
        raster: &[u8],
        stride_B: usize,
    ) -> Result<(), MoveError> {
        let threads = Threads::All;
        match self {
            Image::Agx(_, layout) => layout.tile(image, region, raster, stride_B, threads)?,
            Image::Mali(_, layout) => layout.tile(image, region, raster, stride_B, threads)?,
            Image::Intel(_, layout) => layout.tile(image, region, raster, stride_B, threads)?,
        }
        Ok(())
    }

    /// Converts part of this image to a linear one.
    pub fn detile(
        &self,
        image: &[u8],
        region: Region,
        raster: &mut [u8],
        stride_B: usize,
    ) -> Result<(), MoveError> {
        let threads = Threads::All;
        match self {
            Image::Agx(_, layout) => layout.detile(image, region, raster, stride_B, threads)?,
            Image::Mali(_, layout) => layout.detile(image, region, raster, stride_B, threads)?,
            Image::Intel(_, layout) => layout.detile(image, region, raster, stride_B, threads)?,
        }
        Ok(())
    }

    /// The output of `--json` and `--batch`.
    pub fn answer(&self) -> Answer {
        match self {
            Image::Agx(gpu, layout) => answer::agx(*gpu, layout),
            Image::Mali(gpu, layout) => answer::mali(*gpu, layout),
            Image::Intel(gpu, layout) => answer::intel(*gpu, layout),
        }
    }
}

/// Reason why pixels cannot be converted.
#[derive(Clone, Debug, thiserror::Error)]
pub enum MoveError {
    /// AGX's reason.
    #[error(transparent)]
    Agx(#[from] agx::MoveError),
    /// Mali's reason.
    #[error(transparent)]
    Mali(#[from] mali::MoveError),
    /// Intel's reason.
    #[error(transparent)]
    Intel(#[from] intel::MoveError),
}
