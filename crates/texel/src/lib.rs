//! Texture filtering for all lanes of a SIMD-group: addressing, levels of detail, unpacking, filter
//! kernels, packing.
//!
//! A GPU's texture unit processes a row of lanes at once, and so do these functions: a [`Row`] has
//! a word for each of `N` lanes (at most 32), and loops over lanes are vectorised.
//!
//! ```text
//!  coordinates ──cube──▶ faces ──axis──▶ texel numbers, weights, border
//!              └──lod──▶ levels, samples along the line of anisotropy
//!  texel numbers ──[`LevelLayout`]──▶ elements ──▶ bits ──unpack──▶ channels
//!  channels ──kernels──▶ weighted sums ──▶ rows of results;  channels ──pack──▶ bits
//! ```
//!
//! Differences between GPUs are parameters: the number of lanes, and the fixed-point precisions and
//! the arrangement of texels of a [`TextureUnit`]. Descriptors, instructions and memory accesses
//! belong to the model. [`Kernels`] holds the loops, compiled for any host and for hosts with wider
//! vectors.
//!
//! Start reading in `axis.rs`, then `lod.rs`, `unpack.rs` and `kernels/blend.rs`.

#![allow(
    clippy::needless_range_loop,
    reason = "lanes are counted: several rows are walked at once"
)]

pub mod axis;
pub mod blocks;
pub mod cache;
pub mod cube;
mod extended;
pub mod half;
mod kernels;
pub mod lod;
pub mod pack;
pub mod rows;
mod state;
pub mod taps;
pub mod unpack;

pub use extended::Extended;
pub use kernels::{Corners, Kernels, Line, Pick, Placed, Quad, Result, Scattered, Tap, Vectors};
pub use pack::Packer;
pub use state::{CompareFunc, Filter, MipFilter, Wrap};
pub use unpack::Unpacker;

use tepui_format::Format;

/// 32 bits for each lane.
pub type Row<const N: usize> = [u32; N];

/// A float for each lane.
pub type Floats<const N: usize> = [f32; N];

/// A signed integer for each lane.
pub type Ints<const N: usize> = [i32; N];

/// Parameters in which the texture units of GPUs differ.
pub trait TextureUnit: 'static {
    /// Fraction bits of a texel coordinate, at most 8.
    const SUBTEXEL_BITS: u32;
    /// Fraction bits of a level of detail.
    const LOD_BITS: u32;
    /// A level of an image.
    type Level: LevelLayout;
}

/// Order of a level's texels in memory. Elements (texels, or blocks of them) are numbered from the
/// level's start; the number is the sum of a part that depends on x and one that depends on y.
///
/// Coordinates must be inside the level.
pub trait LevelLayout {
    /// Width and height in texels.
    fn size(&self) -> [u32; 2];

    /// The part of an element's number that depends on x, in texels.
    fn column(&self, x: u32) -> u32;

    /// The part that depends on y, in texels.
    fn line(&self, y: u32) -> u32;

    /// [`LevelLayout::column`] where a texel is an element.
    fn plain_column(&self, x: u32) -> u32;

    /// [`LevelLayout::line`] where a texel is an element.
    fn plain_line(&self, y: u32) -> u32;

    /// Whether the texels of a row lie side by side.
    fn is_linear(&self) -> bool;

    /// Whether the sixteen texels of each aligned square of four by four lie side by side, in
    /// Morton order.
    fn is_morton(&self) -> bool;

    /// The element of a texel.
    #[inline(always)]
    fn element(&self, x: u32, y: u32) -> u32 {
        self.column(x) + self.line(y)
    }
}

/// A format whose texels cannot be read or written here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// Texels are not unpacked.
    #[error("texels of {0} are not decoded")]
    Undecoded(Format),
    /// Texels are not packed: blocks, and formats of several planes.
    #[error("{0} is not a format of single texels")]
    NotWritable(Format),
}

/// A row of floats from the bits of a row. (A loop: `map` of arrays this long is a call.)
#[inline(always)]
pub fn floats<const N: usize>(row: &Row<N>) -> Floats<N> {
    let mut out = [0.0; N];
    for i in 0..N {
        out[i] = f32::from_bits(row[i]);
    }
    out
}

/// The bits of a row of floats.
#[inline(always)]
pub fn bits<const N: usize>(row: &Floats<N>) -> Row<N> {
    let mut out = [0; N];
    for i in 0..N {
        out[i] = row[i].to_bits();
    }
    out
}

/// The lanes of a mask.
#[inline(always)]
pub fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let lane = left.trailing_zeros() as usize;
        left &= left.wrapping_sub(1);
        (lane < 32).then_some(lane)
    })
}
