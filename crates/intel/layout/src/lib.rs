//! Image layouts of Intel's GPUs, generation Gen9: the address of every pixel.
//!
//! An image is one surface: rows of elements, or rows of tiles ([`Tiling`]). It contains all levels and
//! layers: level 0, level 1 below it, level 2 to the right of level 1, and all others below level 2; layers
//! follow one another [`Layout::qpitch_el`] rows apart, and so do the slices of 3D images and the samples of
//! multisampled colour images. The samples of depth and stencil are interleaved in a larger surface instead.
//!
//! Describe an image with [`ImageDesc`], make a [`Layout`] of it, and ask that for pitches, sizes and
//! addresses. [`Layout::tile`] and [`Layout::detile`] copy rectangles between raster images and the
//! layout. The sizes of auxiliary surfaces are in [`mod@aux`]. Facts come from Mesa's `src/intel/isl`.
//!
//! ```
//! use tepui_format::Format;
//! use tepui_intel_layout::{ImageDesc, Layout, Texel, Tiling};
//!
//! let desc = ImageDesc::new_2d(Format::R8G8B8A8_UNORM, Tiling::Y, 640, 480);
//! let layout = Layout::new(&desc)?;
//! let at = |x_px, y_px| layout.texel_offset_B(Texel { x_px, y_px, ..Texel::default() });
//! // Columns of 16 bytes, 32 rows each.
//! assert_eq!((at(1, 0), at(4, 0), at(0, 1)), (Some(4), Some(512), Some(16)));
//! # Ok::<(), tepui_intel_layout::LayoutError>(())
//! ```
//!
//! Start reading in `desc.rs`, then `layout.rs`.
#![allow(non_snake_case)] // `_B` is the suffix of byte counts throughout.

pub mod aux;
mod copy;
mod desc;
mod error;
mod layout;
mod miptree;
pub mod surface_format;
pub mod tail;

pub use copy::MoveError;
pub use desc::{ImageDesc, ImageKind, Tiling, Y_TILED_CCS, Y_TILED_GEN12_RC_CCS};
pub use error::{LayoutError, StrideRule, TilingRule};
pub use layout::{Layout, Level, Msaa, interleave, yf3_tile_el, ys_tile_el};
pub use tepui_layout::{
    Dimension, ImageLayout, Region, RegionError, Shape, ShapeError, Texel, Threads,
};

/// The maximum width, height and side of a cube. source: Mesa, isl.h (`isl_surf_init`'s limits of Gen9 are
/// those of RENDER_SURFACE_STATE: 14 bits that hold the size minus one).
pub const MAX_EXTENT: u32 = 1 << 14;

/// The maximum depth and number of layers: 11 bits. source: genxml, RENDER_SURFACE_STATE.
pub const MAX_LAYERS: u32 = 1 << 11;

/// The maximum number of samples of a pixel. source: genxml, RENDER_SURFACE_STATE.
pub const MAX_SAMPLES: u32 = 16;

/// The largest image. source: SKL PRM volume 5, "Maximum Surface Size in Bytes".
pub const MAX_SIZE_B: u64 = 1 << 38;
