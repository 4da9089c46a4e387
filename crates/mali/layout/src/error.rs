//! Errors of layouts.

use tepui_format::Format;
use tepui_layout::ShapeError;
use tepui_mali_chips::Arch;

use crate::afbc::variant::Afbc;

/// A rule of the hardware that an image breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The message of each variant is its documentation; fields are its figures.
pub enum LayoutError {
    #[error(transparent)]
    Shape(#[from] ShapeError),
    #[error("3D images have one sample, and this one has {samples}")]
    Multisampled3d { samples: u32 },
    #[error("{format} has blocks of {block_B} bytes; the hardware's limit is 16")]
    BlockSize { format: Format, block_B: u32 },
    #[error("{arch} has no AFBC; it starts with Midgard (v5)")]
    NoAfbc { arch: Arch },
    #[error("AFBC does not compress {format} on {arch}")]
    AfbcFormat { format: Format, arch: Arch },
    #[error("AFBC ({afbc}) on {arch}: {rule}")]
    AfbcVariant { afbc: Afbc, arch: Arch, rule: &'static str },
    #[error("AFBC images have one sample, not {samples}")]
    AfbcMultisampled { samples: u32 },
    #[error("3D AFBC images start with Bifrost (v7), and this is {arch}")]
    Afbc3d { arch: Arch },
    #[error(
        "an explicit layout is for 2D images of one level, layer and sample, without checksums"
    )]
    ExplicitShape,
    #[error("an explicit {what} of {value} bytes; it must be a multiple of {align}")]
    ExplicitAlignment { what: &'static str, value: u32, align: u32 },
    #[error("an explicit row stride of {stride_B} bytes; a row has {row_B}")]
    ExplicitStride { stride_B: u32, row_B: u64 },
}
