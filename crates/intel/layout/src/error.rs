//! Errors of layouts.

use tepui_format::Format;
use tepui_layout::ShapeError;

use crate::Tiling;

/// A rule of the hardware that an image breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The message of each variant is its documentation; fields are its figures.
pub enum LayoutError {
    #[error(transparent)]
    Shape(#[from] ShapeError),
    #[error("{format} is depth and stencil together: lay out each as an image of its own")]
    DepthStencil { format: Format },
    #[error("{format} has blocks of {block_B} bytes; tiles take powers of two up to 16")]
    BlockSize { format: Format, block_B: u32 },
    #[error("{what} of tiling {tiling}; {rule}", tiling = .tiling.name())]
    Tiling { what: &'static str, tiling: Tiling, rule: &'static str },
    #[error("{samples} samples in an image of {what}; the hardware has them in 2D, one level")]
    Multisampled { samples: u32, what: &'static str },
    #[error("a stride of {stride_B} bytes; {rule}")]
    Stride { stride_B: u32, rule: &'static str },
    #[error("{size_B} bytes; surfaces have at most 2^38")]
    Size { size_B: u64 },
}
