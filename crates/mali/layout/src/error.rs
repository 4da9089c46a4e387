//! Why an image cannot be laid out.

use tepui_format::Format;
use tepui_mali_chips::Arch;

use crate::afbc::Afbc;

/// A rule of the hardware that an image breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The message of each variant is its documentation; fields are its figures.
pub enum LayoutError {
    #[error("{what} is 0; it must be at least 1")]
    Zero { what: &'static str },
    #[error("{what} is {value}; the hardware's limit is {limit}")]
    TooLarge { what: &'static str, value: u64, limit: u64 },
    #[error("{samples} samples; the hardware has 1, 2, 4, 8 or 16")]
    SampleCount { samples: u32 },
    #[error("{levels} levels; the full chain of this image has {full}")]
    TooManyLevels { levels: u32, full: u32 },
    #[error("depth is {depth_px}; only 3D images have a depth")]
    DepthWithout3d { depth_px: u32 },
    #[error("height is {height_px}; 1D images have one row")]
    HeightOf1d { height_px: u32 },
    #[error("a cube of {width_px}x{height_px} with {layers} layers; its faces are square and six")]
    CubeShape { width_px: u32, height_px: u32, layers: u32 },
    #[error("3D images have no layers, and this one has {layers}")]
    LayersOf3d { layers: u32 },
    #[error("3D images have one sample, and this one has {samples}")]
    Multisampled3d { samples: u32 },
    #[error("{format} is planar: lay out each plane as an image of its own")]
    Planar { format: Format },
    #[error("{format} has blocks of {block_B} bytes; the hardware's limit is 16")]
    BlockSize { format: Format, block_B: u32 },
    #[error("{format} stores blocks of pixels, which excludes multisampling")]
    MultisampledBlocks { format: Format },
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
