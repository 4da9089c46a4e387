//! Why an image cannot be laid out.

use tepui_format::Format;

/// A rule of the hardware that an image breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The message of each variant is its documentation; fields are its figures.
pub enum LayoutError {
    #[error("{what} is 0; it must be at least 1")]
    Zero { what: &'static str },
    #[error("{what} is {value}; the hardware's limit is {limit}")]
    TooLarge { what: &'static str, value: u64, limit: u64 },
    #[error("{samples} samples; the hardware has 1, 2 or 4")]
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
    #[error("{format} is planar: lay out each plane as an image of its own")]
    Planar { format: Format },
    #[error(
        "{format} has blocks of {block_B} bytes; twiddled images need a power of two of at most 16"
    )]
    BlockSize { format: Format, block_B: u32 },
    #[error("{format} stores blocks of pixels, which excludes multisampling")]
    MultisampledBlocks { format: Format },
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
