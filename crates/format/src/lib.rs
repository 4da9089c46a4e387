//! Pixel formats: a table of their properties, conversion of texels, and decoders of
//! block-compressed formats.
//!
//! A [`Format`] has Vulkan's name. [`Format::info`] returns its table entry: the size of a block,
//! which is the unit that memory is addressed in, and how the bits of a block are interpreted. The
//! table itself (`table.rs`) is a list of names; `parse.rs` derives every property from the name at
//! compile time.
//!
//! The other modules use the table:
//!
//! - [`texel`] converts the bits of one pixel to four floats or integers and back, with the API's
//!   rounding ([`texel::TexelCodec`]);
//! - [`block`] decodes blocks of several pixels: BC, ETC2, EAC, ASTC, PVRTC1, 4:2:2;
//! - [`units`] defines extents whose unit (pixels, samples, elements, tiles) is a type, for the
//!   layout crates.
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

pub use info::{
    Block, Channel, Channels, Component, Compression, Encoding, FormatInfo, Numeric, Plane,
};
pub use table::{Format, UnknownFormat};
