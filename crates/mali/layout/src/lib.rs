//! Image layouts of Mali: the address of every pixel.
//!
//! Mali has three memory layouts ([`Modifier`]):
//!
//! - **linear**: rows of elements with a stride;
//! - **u-interleaved**: tiles of 16×16 pixels (4×4 blocks of block-compressed formats) in raster
//!   order, the elements within a tile in Morton order with x ^ y in place of x;
//! - **AFBC**: superblocks of 256 pixels, losslessly compressed, each with a header of 16 bytes
//!   that says where its payload is ([`afbc`]).
//!
//! A level is a sequence of **surfaces**: the slices of a 3D image, or the samples of a
//! multisampled one. Each layer of an array or face of a cube is a miptree.
//!
//! Describe an image with [`ImageDesc`], make a [`Layout`] of it, and ask that for sizes and
//! addresses. [`Layout::tile`] and [`Layout::detile`] copy rectangles between raster images and the
//! layout. Facts come from Mesa's `src/panfrost/lib/pan_layout.c` and `docs/drivers/panfrost/`.
//!
//! ```
//! use tepui_format::Format;
//! use tepui_mali_layout::{ImageDesc, Layout, Modifier, Texel};
//!
//! let arch = tepui_mali_chips::chip("mali-g52").unwrap().arch;
//! let format = Format::R8G8B8A8_UNORM;
//! let layout = Layout::new(&ImageDesc::new_2d(arch, format, Modifier::UInterleaved, 640, 480))?;
//! let at = |x_px, y_px| layout.texel_offset_B(Texel { x_px, y_px, ..Texel::default() });
//! assert_eq!((at(1, 0), at(1, 1), at(0, 1)), (Some(4), Some(8), Some(12)));
//! # Ok::<(), tepui_mali_layout::LayoutError>(())
//! ```
//!
//! Start reading in `desc.rs`, then `layout.rs`.
#![allow(non_snake_case)] // `_B` is the suffix of byte counts throughout.

pub mod afbc;
mod copy;
mod desc;
mod error;
mod formats;
mod layout;

pub use copy::MoveError;
pub use desc::{ExplicitLayout, ImageDesc, Modifier};
pub use error::LayoutError;
pub use formats::{format_support, texture_feature_bit};
pub use layout::{AfbcLevel, Checksums, Layout, Level, index_in_tile};
pub use tepui_layout::{
    Dimension, FormatSupport, ImageLayout, Region, RegionError, Shape, ShapeError, Texel, Threads,
};

/// The largest width, height, depth and number of layers: 16-bit fields that hold the size minus
/// one. source: Mesa, `src/panfrost/lib/genxml`, "Texture".
pub const MAX_EXTENT: u32 = 1 << 16;

/// The most samples of a pixel. source: Mesa, `src/panfrost/lib/genxml`, "Sample Pattern".
pub const MAX_SAMPLES: u32 = 16;

/// The most levels. source: Mesa, `MAX_MIP_LEVELS`.
pub const MAX_LEVELS: usize = 17;

/// Levels and layers start at multiples of a cache line. source: Mesa, `pan_slice_align`.
pub const CACHE_LINE_B: u64 = 64;

/// Images are whole pages. source: Mesa, `pan_image_layout_init`.
pub const PAGE_B: u64 = 4096;
