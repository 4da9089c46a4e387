//! Pixel formats: blocks, channels, pack and unpack, block-compressed texels.
//!
//! A [`Format`] carries Vulkan's name. [`Format::info`] gives the table's entry: the block that
//! memory is addressed in, and how a block's bits become values. The table itself (`table.rs`) is
//! a list of names; `parse.rs` reads every property out of the name at compile time.
//!
//! From there:
//!
//! - [`texel`] turns the bits of one pixel into four floats or integers and back, with the API's
//!   rounding ([`texel::TexelCodec`]);
//! - [`block`] decodes blocks of several pixels: BC, ETC2, EAC, ASTC, PVRTC1, 4:2:2;
//! - [`units`] holds extents whose unit (pixels, samples, elements, tiles) is a type; the layout
//!   crates compute with them.
//!
//! ```
//! use tepui_format::Format;
//!
//! let format: Format = "R5G6B5_UNORM_PACK16".parse()?;
//! assert_eq!(format.info().block.bytes, 2);
//! # Ok::<(), tepui_format::UnknownFormat>(())
//! ```
//!
//! Start reading in `info.rs`.

pub mod block;
pub mod info;
mod parse;
mod table;
pub mod texel;
pub mod units;

pub use info::{Block, Channel, Channels, Component, Compression, Encoding, FormatInfo, Numeric};
pub use table::{Format, UnknownFormat};
