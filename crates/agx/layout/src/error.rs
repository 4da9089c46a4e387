//! Errors of layouts.

use tepui_format::Format;
use tepui_layout::ShapeError;

/// A rule of the hardware that an image breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The message of each variant is its documentation; fields are its figures.
pub enum LayoutError {
    #[error(transparent)]
    Shape(#[from] ShapeError),
    #[error(
        "{format} has blocks of {block_B} bytes; twiddled images need a power of two of at most 16"
    )]
    BlockSize { format: Format, block_B: u32 },
    #[error("linear images must be 1D or 2D, not {dimension}")]
    LinearDimension { dimension: &'static str },
    #[error("linear images have one level, not {levels}")]
    LinearMipmaps { levels: u32 },
    #[error("linear images have one sample a pixel, not {samples}")]
    LinearMultisampled { samples: u32 },
    #[error("{format} stores blocks of pixels; linear images are made of single pixels")]
    LinearBlocks { format: Format },
    #[error("a stride of {stride_B} bytes; strides of linear images are multiples of 16")]
    StrideAlignment { stride_B: u32 },
    #[error("a stride of {stride_B} bytes; a row has {row_B}")]
    StrideTooSmall { stride_B: u32, row_B: u32 },
    #[error("a stride was given; only linear images have one")]
    StrideOfTiled,
    #[error("{format} cannot be compressed: the pixel back end does not write it")]
    NotCompressible { format: Format },
    #[error("{width_sa}x{height_sa} samples; compressed images have at least 16 in each direction")]
    TooSmallToCompress { width_sa: u32, height_sa: u32 },
    #[error("images that shaders store to cannot be compressed")]
    WritableCompressed,
}
