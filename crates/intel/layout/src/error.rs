//! Errors of layouts.

use tepui_format::Format;
use tepui_layout::{Dimension, ShapeError};

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
    #[error("tiling {tiling}; {rule}", tiling = .tiling.name())]
    Tiling { tiling: Tiling, rule: TilingRule },
    #[error(
        "{samples} samples in an image of {levels} levels, {dimension:?}; 2D images of one level have them"
    )]
    Multisampled { samples: u32, dimension: Dimension, levels: u32 },
    #[error("a stride of {stride_B} bytes; {rule}")]
    Stride { stride_B: u32, rule: StrideRule },
    #[error("{size_B} bytes; surfaces have at most 2^38")]
    Size { size_B: u64 },
}

/// Images that a tiling is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The message of each variant is its documentation.
pub enum TilingRule {
    #[error("stencil is in tiles W")]
    StencilInW,
    #[error("stencil is in tiles Y on Gen12")]
    StencilInY,
    #[error("tiles W are for stencil")]
    WForStencil,
    #[error("depth is in tiles Y")]
    DepthInY,
    #[error("tiles Yf and Ys are for 2D and 3D images")]
    YfFor2DAnd3D,
    #[error("multisampled images are in tiles Y")]
    SamplesInY,
}

/// Strides that an image may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The message of each variant is its documentation.
pub enum StrideRule {
    #[error("only linear 2D and 3D images have a stride of the caller's")]
    OnlyLinear,
    #[error("a stride is a multiple of the element's bytes")]
    WholeElements,
    #[error("a stride has at most 18 bits")]
    TooLarge,
    #[error("the rows of the image are longer")]
    TooShort,
}
