//! Linear images: rows of pixels with a stride.
//!
//! They are 1D or 2D (arrays included), with one level, one sample and no block compression, and
//! their stride is a multiple of 16 bytes. source: Mesa, asahi.rst, "Image layouts".

use tepui_format::units::Extent;
use tepui_layout::ShapeError;

use crate::layout::Layout;
use crate::level::Level;
use crate::{CACHE_LINE_B, Dimension, ImageDesc, LayoutError, MAX_EXTENT};

/// The largest stride. source: cmdbuf.xml, "Texture", "Stride": 18 bits of 16-byte units.
pub const MAX_STRIDE_B: u32 = (1 << 18) * 16;

/// The largest distance between the layers of a linear array. source: cmdbuf.xml, "Texture", "Layer
/// stride (linear)": 27 bits of cache lines.
pub const MAX_LAYER_STRIDE_B: u64 = ((1 << 27) - 1) * CACHE_LINE_B;

/// Maximum number of layers of a linear array. source: cmdbuf.xml, "Texture", "Depth (linear)": 11 bits.
pub const MAX_LAYERS: u32 = 2048;

/// Maximum number of pixels of a linear image of one row. Drivers build texel buffers of them and cut those
/// into rows when they make the descriptor. source: Mesa, `AGX_TEXTURE_BUFFER_MAX_SIZE`.
pub const MAX_BUFFER_PX: u32 = 1 << 27;

/// Whether a linear image is that of a texel buffer, which may be longer than the widest image.
pub(crate) fn is_buffer(desc: &ImageDesc) -> bool {
    desc.shape.height_px == 1 && desc.shape.layers == 1 && desc.linear_stride_B.is_none()
}

/// Checks the rules of the hardware for linear images.
pub(crate) fn check(desc: &ImageDesc) -> Result<(), LayoutError> {
    let block = desc.shape.format.info().block;
    let dimension = match desc.shape.dimension {
        Dimension::D1 | Dimension::D2 => None,
        Dimension::D3 => Some("3D"),
        Dimension::Cube => Some("cubes"),
    };
    if let Some(dimension) = dimension {
        return Err(LayoutError::LinearDimension { dimension });
    }
    if desc.shape.levels > 1 {
        return Err(LayoutError::LinearMipmaps { levels: desc.shape.levels });
    }
    if desc.shape.samples > 1 {
        return Err(LayoutError::LinearMultisampled { samples: desc.shape.samples });
    }
    if block.width_px * block.height_px > 1 {
        return Err(LayoutError::LinearBlocks { format: desc.shape.format });
    }
    let layers = u64::from(desc.shape.layers);
    ShapeError::limit("the number of linear layers", layers, MAX_LAYERS.into())?;
    let layer_stride_B = layer_stride_B(desc);
    if layers > 1 {
        ShapeError::limit("the layer stride in bytes", layer_stride_B, MAX_LAYER_STRIDE_B)?;
    }
    if let Some(stride_B) = desc.linear_stride_B {
        let row_B = desc.shape.width_px.min(MAX_EXTENT) * block.bytes;
        if stride_B % 16 != 0 {
            return Err(LayoutError::StrideAlignment { stride_B });
        }
        if stride_B < row_B {
            return Err(LayoutError::StrideTooSmall { stride_B, row_B });
        }
        ShapeError::limit("the stride in bytes", stride_B.into(), MAX_STRIDE_B.into())?;
    }
    Ok(())
}

/// Bytes from row to row.
fn stride_B(desc: &ImageDesc) -> u64 {
    match desc.linear_stride_B {
        Some(stride_B) => u64::from(stride_B),
        // Rows are aligned to cache lines if no stride is given.
        None => {
            let row_B =
                u64::from(desc.shape.width_px) * u64::from(desc.shape.format.info().block.bytes);
            row_B.next_multiple_of(CACHE_LINE_B)
        }
    }
}

/// Bytes from layer to layer: a multiple of cache lines, the unit of the descriptor.
fn layer_stride_B(desc: &ImageDesc) -> u64 {
    (stride_B(desc) * u64::from(desc.shape.height_px)).next_multiple_of(CACHE_LINE_B)
}

/// Computes the layout of a linear image that passed [`check`].
pub(crate) fn lay_out(layout: &mut Layout, desc: &ImageDesc) {
    let extent_el = Extent::new(desc.shape.width_px, desc.shape.height_px);
    layout.layer_stride_B = layer_stride_B(desc);
    layout.push_level(Level {
        extent_px: Extent::new(desc.shape.width_px, desc.shape.height_px),
        depth_px: 1,
        extent_el,
        offset_B: 0,
        size_B: layout.layer_stride_B,
        stride_el: desc.shape.width_px,
        stride_B: stride_B(desc),
        tile_el: Extent::new(1, 1),
        tiles: Extent::new(desc.shape.width_px, desc.shape.height_px),
    });
}
