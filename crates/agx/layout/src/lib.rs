//! Image layouts of AGX: the address of every pixel.
//!
//! AGX has three memory layouts ([`Tiling`]):
//!
//! - **linear**: rows of pixels with a stride, for sharing with other programs; it has many
//!   restrictions ([`linear`]);
//! - **twiddled**: tiles in raster order, the elements within a tile in Morton order; any image may
//!   be twiddled ([`twiddled`]);
//! - **compressed**: twiddled, with a metadata buffer that describes each tile of 16×16 samples
//!   ([`compression`]).
//!
//! Describe an image with [`ImageDesc`] and create its [`Layout`], which gives sizes and addresses:
//! [`Layout::texel_offset_B`] for one pixel with all checks, or [`Layout::level_addresser`] for many
//! pixels of one level. [`Layout::tile`] and [`Layout::detile`] copy rectangles between raster images
//! and the layout.
//!
//! ```
//! use tepui_agx_layout::{ImageDesc, Layout, Texel, Tiling};
//! use tepui_format::Format;
//!
//! let desc = ImageDesc::new_2d(Format::R8G8B8A8_UNORM, Tiling::Twiddled, 1000, 500);
//! let layout = Layout::new(&desc)?;
//! let at = |x_px, y_px| layout.texel_offset_B(Texel { x_px, y_px, ..Texel::default() });
//! assert_eq!((at(1, 0), at(0, 1), at(1, 1)), (Some(4), Some(8), Some(12)));
//! # Ok::<(), tepui_agx_layout::LayoutError>(())
//! ```
//!
//! All offsets count bytes from the start of the image. Facts come from Mesa's `src/asahi/layout`,
//! `docs/drivers/asahi.rst` and `src/asahi/genxml/cmdbuf.xml`; each names its source.
//!
//! Start reading in `desc.rs`, then `layout.rs`.
#![allow(non_snake_case)] // `_B` is the suffix of byte counts throughout.

pub mod address;
pub mod compression;
mod compute;
mod copy;
mod desc;
mod error;
mod formats;
mod layout;
mod level;
pub mod linear;
pub mod twiddled;

pub use address::LevelAddresser;
pub use copy::MoveError;
pub use desc::{ImageDesc, Tiling, Usage};
pub use error::LayoutError;
pub use formats::format_support;
pub use layout::Layout;
pub use level::Level;
pub use tepui_layout::{
    Dimension, FormatSupport, ImageLayout, Region, RegionError, Shape, ShapeError, Texel, Threads,
};

/// Bytes of a cache line: levels and the layers of linear images are padded to it.
/// source: Mesa, `AIL_CACHELINE`.
pub const CACHE_LINE_B: u64 = 128;

/// Bytes of the GPU's page: the largest tile fills one. source: Mesa, `AIL_PAGESIZE`.
pub const PAGE_B: u64 = tepui_agx_chips::PAGE_BYTES;

/// The largest width, height, depth and number of layers.
/// source: cmdbuf.xml, "Texture": 14-bit fields that hold the size minus one.
pub const MAX_EXTENT: u32 = 16384;

/// Maximum number of samples of a pixel. source: cmdbuf.xml, "Sample Count".
pub const MAX_SAMPLES: u32 = 4;

/// Maximum number of levels: 16384 halves 14 times.
pub const MAX_LEVELS: usize = 15;
