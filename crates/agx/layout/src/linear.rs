//! Linear images: rows of pixels, a stride apart.
//!
//! They are 1D or 2D (arrays included), with one level, one sample and no block compression, and
//! their stride is a multiple of 16 bytes. source: Mesa, asahi.rst, "Image layouts".

use tepui_format::units::Extent;

use crate::layout::{Layout, Level};
use crate::{CACHE_LINE_B, Dimension, ImageDesc, LayoutError, MAX_EXTENT};

/// The largest stride. source: cmdbuf.xml, "Texture", "Stride": 18 bits of 16-byte units.
pub const MAX_STRIDE_B: u32 = (1 << 18) * 16;

/// The largest distance between the layers of a linear array. source: cmdbuf.xml, "Texture", "Layer
/// stride (linear)": 27 bits of cache lines.
pub const MAX_LAYER_STRIDE_B: u64 = ((1 << 27) - 1) * CACHE_LINE_B;

/// The most layers of a linear array. source: cmdbuf.xml, "Texture", "Depth (linear)": 11 bits.
pub const MAX_LAYERS: u32 = 2048;

/// The most pixels of a linear image of one row. Drivers build texel buffers of them and cut those
/// into rows when they make the descriptor. source: Mesa, `AGX_TEXTURE_BUFFER_MAX_SIZE`.
pub const MAX_BUFFER_PX: u32 = 1 << 27;

/// Whether a linear image stands for a texel buffer, which may be longer than an image is wide.
pub(crate) fn is_buffer(desc: &ImageDesc) -> bool {
    desc.height_px == 1 && desc.layers == 1 && desc.linear_stride_B.is_none()
}

/// The rules that only linear images have.
pub(crate) fn check(desc: &ImageDesc) -> Result<(), LayoutError> {
    let block = desc.format.info().block;
    let dimension = match desc.dimension {
        Dimension::D1 | Dimension::D2 => None,
        Dimension::D3 => Some("3D"),
        Dimension::Cube => Some("cubes"),
    };
    if let Some(dimension) = dimension {
        return Err(LayoutError::LinearDimension { dimension });
    }
    if desc.levels > 1 {
        return Err(LayoutError::LinearMipmaps { levels: desc.levels });
    }
    if desc.samples > 1 {
        return Err(LayoutError::LinearMultisampled { samples: desc.samples });
    }
    if block.width_px * block.height_px > 1 {
        return Err(LayoutError::LinearBlocks { format: desc.format });
    }
    if desc.layers > MAX_LAYERS {
        let (value, limit) = (desc.layers.into(), MAX_LAYERS.into());
        return Err(LayoutError::TooLarge { what: "the number of linear layers", value, limit });
    }
    let layer_stride_B = layer_stride_B(desc);
    if desc.layers > 1 && layer_stride_B > MAX_LAYER_STRIDE_B {
        let (value, limit) = (layer_stride_B, MAX_LAYER_STRIDE_B);
        return Err(LayoutError::TooLarge { what: "the layer stride in bytes", value, limit });
    }
    if let Some(stride_B) = desc.linear_stride_B {
        let row_B = desc.width_px.min(MAX_EXTENT) * block.bytes;
        if stride_B % 16 != 0 {
            return Err(LayoutError::StrideAlignment { stride_B });
        }
        if stride_B < row_B {
            return Err(LayoutError::StrideTooSmall { stride_B, row_B });
        }
        if stride_B > MAX_STRIDE_B {
            let (value, limit) = (stride_B.into(), MAX_STRIDE_B.into());
            return Err(LayoutError::TooLarge { what: "the stride in bytes", value, limit });
        }
    }
    Ok(())
}

/// Bytes from row to row.
fn stride_B(desc: &ImageDesc) -> u64 {
    match desc.linear_stride_B {
        Some(stride_B) => u64::from(stride_B),
        // Without a stride from outside, rows start at cache lines.
        None => {
            let row_B = u64::from(desc.width_px) * u64::from(desc.format.info().block.bytes);
            row_B.next_multiple_of(CACHE_LINE_B)
        }
    }
}

/// Bytes from layer to layer: cache lines, because that is what the descriptor counts in.
fn layer_stride_B(desc: &ImageDesc) -> u64 {
    (stride_B(desc) * u64::from(desc.height_px)).next_multiple_of(CACHE_LINE_B)
}

/// Lays out a linear image that passed [`check`].
pub(crate) fn lay_out(layout: &mut Layout, desc: &ImageDesc) {
    let extent_el = Extent::new(desc.width_px, desc.height_px);
    layout.layer_stride_B = layer_stride_B(desc);
    layout.push_level(Level {
        extent_px: Extent::new(desc.width_px, desc.height_px),
        depth_px: 1,
        extent_el,
        offset_B: 0,
        size_B: layout.layer_stride_B,
        stride_el: desc.width_px,
        stride_B: stride_B(desc),
        tile_el: Extent::new(1, 1),
        tiles: Extent::new(desc.width_px, desc.height_px),
    });
}
