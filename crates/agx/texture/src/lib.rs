//! The AGX texture unit, which reads images, and the pixel back end (PBE), which writes them.
//!
//! Both work on the 32 lanes of a SIMD-group together. The inputs are an instruction as a [`Request`]
//! (or [`Store`], [`BlockStore`]), which was built when the program was decoded, the descriptors' bytes
//! as the hardware reads them, and rows of operands; GPU memory is accessed through the trait
//! [`Memory`].
//!
//! ```text
//!  descriptor bytes ──▶ decoded once ([`texture`], [`sampler`], [`pbe`]), kept in a [`Unit`]
//!  coordinates ──cube──▶ faces ──axis──▶ texel numbers, weights, border
//!              └──lod──▶ levels, samples along the line of anisotropy
//!  texel numbers ──image, compression──▶ addresses ──fetch──▶ bits ──unpack──▶ channels
//!  channels ──filter──▶ weighted sums ──swizzle──▶ rows of results
//! ```
//!
//! The GPU-independent parts are in `tepui_texel`: axis, cube, lod, unpack, filter kernels, pack.
//!
//! Unknown behaviour of silicon is marked "Assumption" in the modules; the assumed constants are in
//! `lanes.rs`.
//!
//! The most frequent requests take a fast path with identical results: `plain.rs` for reads,
//! `Pbe::write_plain` and `Area::copy_rows` for writes.
//!
//! Start reading in `sample.rs`, then `filter.rs` and `fetch.rs`; for writes in `store.rs`.

#![allow(
    clippy::needless_range_loop,
    reason = "lanes are counted: several rows are walked at once"
)]

mod block;
pub mod compression;
mod error;
mod fetch;
mod filter;
mod formats;
pub mod image;
mod lanes;
mod memory;
mod metadata;
mod notes;
pub mod pbe;
mod plain;
mod pvrtc;
mod request;
mod sample;
pub mod sampler;
pub mod store;
pub mod surface;
mod target;
pub mod texture;
pub mod tile;
mod unit;

pub use error::{Fault, Unsupported};
pub use formats::{fields_of, format_of};
pub use lanes::{Agx, Floats, Ints, LANES, Row};
pub use memory::Memory;
pub use notes::{Note, Notes};

pub use request::{Kind, LodSource, Operands, Request};
pub use sampler::SamplerState;
pub use store::{BlockStore, Store};
pub use surface::{Surface, SurfaceShape};
pub use tepui_texel::{Vectors, half};
pub use tile::{Plain, TileFormat, Tilebuffer};
pub use unit::Unit;

pub use target::texture_of;
