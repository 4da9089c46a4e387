//! The declaration language for bit-packed GPU structures.
//!
//! GPU control streams, descriptors and registers are words divided into bit fields.
//! [`packet!`](crate::packet!) declares the fields of a structure once; the declaration expands to
//!
//! - a Rust struct with one typed public field for each field of the hardware, and its `Default`;
//! - [`Packet::pack_into`] and `pack`, which refuse a value that its bits cannot hold;
//! - [`Packet::unpack`], which stops at the first invalid field, and [`Packet::unpack_lossy`],
//!   which lists all of them and continues;
//! - [`Decoded`], the fields as named values, printed as text or serialised as JSON;
//! - [`PacketInfo`], the table of names, bits, kinds and descriptions, for documentation and tools.
//!
//! ```
//! use tepui_packets::{bits_enum, packet, Packet, types::*};
//!
//! bits_enum! {
//!     /// How a surface is laid out.
//!     pub enum Tiling = "Tiling" {
//!         /// Row after row.
//!         #[default]
//!         Linear = 0 => "Linear",
//!         /// Morton order.
//!         Twiddled = 2 => "Twiddled",
//!     }
//! }
//!
//! packet! {
//!     /// A surface that a shader reads.
//!     pub struct Surface = "Surface", 8 bytes
//!     fixed {
//!         "Tag" Uint [0..4] = 0xd;
//!     }
//!     fields {
//!         /// How texels are laid out.
//!         tiling: Tiling [4..6] "Tiling";
//!         /// Width in pixels.
//!         width_px: Minus<Uint, 1> [6..20] "Width";
//!         /// Bytes from row to row.
//!         stride_bytes: Shr<Uint, 4> [20..30] "Stride" when (|s| s.tiling == Tiling::Linear);
//!         /// The first texel; bits 32 to 39 are elsewhere.
//!         address: Shr<Address, 4> [36..64, 30..34] "Address";
//!     }
//! }
//!
//! let surface = Surface { width_px: 640, stride_bytes: 2560, address: 0x12_3450, ..Surface::default() };
//! let bytes = surface.pack()?;
//! assert_eq!(Surface::unpack(&bytes)?, surface);
//! assert!(Surface::decode(&bytes)?.to_string().contains("Width: 640"));
//! # Ok::<(), tepui_packets::Problem>(())
//! ```
//!
//! A structure that differs a little between revisions of the hardware is one declaration whose
//! fields say since or before which [`Revision`] they exist. Functions ending in `_as` are told a
//! revision; the others stand for the first.
//!
//! Start reading at [`types`] (field types), then [`packet`](mod@packet) (what a declaration
//! expands to) and [`macros`](mod@macros) (the expansion).

pub mod bits;
mod decoded;
pub mod field;
#[macro_use]
pub mod macros;
pub mod packet;
mod problem;
pub mod types;

pub use decoded::{Decoded, Value};
pub use field::{
    Base, EnumInfo, EnumValue, Field, Fixed, Kind, Modifier, Piece, Revision, Revisions,
};
pub use packet::{Packet, PacketInfo};
pub use problem::{Problem, ProblemKind};
