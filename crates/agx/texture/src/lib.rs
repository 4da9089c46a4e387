//! The AGX texture unit, which reads images, and the pixel back end (PBE), which writes them.
//!
//! Both work on the 32 lanes of a SIMD-group at once. An instruction comes as a [`Request`] (or
//! [`Store`], [`BlockStore`]) that was made when the program was decoded, the descriptors' bytes as the
//! hardware reads them, and rows of operands; what an access needs of GPU memory it takes through the
//! trait [`Memory`].
//!
//! ```text
//!  descriptor bytes ──▶ decoded once ([`texture`], [`sampler`], [`pbe`]), kept in a [`Unit`]
//!  coordinates ──cube──▶ faces ──axis──▶ texel numbers, weights, border
//!              └──lod──▶ levels, samples along the line of anisotropy
//!  texel numbers ──image, compression──▶ addresses ──fetch──▶ bits ──unpack──▶ channels
//!  channels ──filter──▶ weighted sums ──swizzle──▶ rows of results
//! ```
//!
//! What is not known of silicon stands in the modules as "Assumption"; the numbers of those are in
//! [`axis::SUBTEXEL_BITS`] and [`lod::LOD_BITS`].
//!
//! What programs mostly ask for goes a shorter way with the same results: `plain.rs` for reads,
//! `Pbe::write_plain` and `Area::copy_rows` for writes.
//!
//! Start reading in `sample.rs`, then `filter.rs` and `fetch.rs`; for writes in `pbe.rs`.

#![allow(
    clippy::needless_range_loop,
    reason = "lanes are counted: several rows are walked at once"
)]

pub mod axis;
mod block;
mod blocks;
mod cache;
pub mod compression;
pub mod cube;
mod error;
mod extended;
mod fetch;
mod filter;
mod formats;
pub mod half;
pub mod image;
pub mod lod;
mod memory;
mod notes;
pub mod pack;
pub mod pbe;
mod plain;
mod pvrtc;
mod request;
mod rows;
mod sample;
pub mod sampler;
mod simd;
pub mod surface;
mod target;
pub mod texture;
pub mod tile;
mod unit;
pub mod unpack;

pub use error::{Fault, Unsupported};
pub use extended::Extended;
pub use formats::{fields_of, format_of};
pub use memory::Memory;
pub use notes::{Note, Notes};
pub use pbe::{BlockStore, Store};
pub use request::{Kind, LodSource, Operands, Request};
pub use sampler::SamplerState;
pub use simd::Vectors;
pub use surface::{Surface, SurfaceShape};
pub use tile::{Plain, TileFormat, Tilebuffer};
pub use unit::Unit;

/// Lanes of a SIMD-group.
pub const LANES: usize = 32;

/// 32 bits for each lane.
pub type Row = [u32; LANES];

/// A float for each lane.
pub type Floats = [f32; LANES];

/// A signed integer for each lane.
pub type Ints = [i32; LANES];

/// A row of floats from the bits of a row. (A loop: `map` of arrays this long is a call.)
#[inline(always)]
pub(crate) fn floats(row: &Row) -> Floats {
    let mut out = [0.0; LANES];
    for i in 0..LANES {
        out[i] = f32::from_bits(row[i]);
    }
    out
}

/// The bits of a row of floats.
#[inline(always)]
pub(crate) fn bits(row: &Floats) -> Row {
    let mut out = [0; LANES];
    for i in 0..LANES {
        out[i] = row[i].to_bits();
    }
    out
}

pub use target::texture_of;
