//! Units of image extents and coordinates as types, so that pixels, elements, samples and tiles
//! cannot be mixed.
//!
//! The terms are those of Mesa's image layout libraries:
//!
//! | unit | what it counts |
//! | --- | --- |
//! | [`Px`] | pixels, as in the API |
//! | [`Sa`] | samples: a pixel of a multisampled image holds several |
//! | [`El`] | elements: blocks of a block-compressed format, pixels of any other |
//! | [`Tl`] | tiles: groups of elements that a layout stores together |
//!
//! Byte counts and byte offsets are plain `u64` with the suffix `_B`.

use std::fmt;
use std::marker::PhantomData;

/// A unit of image extents.
pub trait Unit: Copy + Eq + fmt::Debug {
    /// The unit's suffix, as in `width_px`.
    const SUFFIX: &'static str;
}

macro_rules! units {
    ($($(#[$doc:meta])* $name:ident $suffix:literal)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        pub enum $name {}
        impl Unit for $name {
            const SUFFIX: &'static str = $suffix;
        }
    )*};
}

units! {
    /// Pixels.
    Px "px"
    /// Samples.
    Sa "sa"
    /// Elements: compression blocks, or pixels where the format has none.
    El "el"
    /// Tiles.
    Tl "tl"
}

/// Width and height in one unit; also a coordinate (x, y) in that unit.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Extent<U: Unit> {
    /// Width, or x.
    pub w: u32,
    /// Height, or y.
    pub h: u32,
    unit: PhantomData<U>,
}

impl<U: Unit> Extent<U> {
    /// `w` by `h`.
    pub const fn new(w: u32, h: u32) -> Extent<U> {
        Extent { w, h, unit: PhantomData }
    }

    /// The area in the unit.
    pub const fn area(self) -> u64 {
        self.w as u64 * self.h as u64
    }

    /// `[w, h]`.
    pub const fn to_array(self) -> [u32; 2] {
        [self.w, self.h]
    }

    /// The extent at mip level `level`: halved `level` times, rounded down, at least 1.
    pub const fn minify(self, level: u32) -> Extent<U> {
        Extent::new(minify(self.w, level), minify(self.h, level))
    }

    /// Both sides rounded up to a power of two.
    pub const fn next_power_of_two(self) -> Extent<U> {
        Extent::new(self.w.next_power_of_two(), self.h.next_power_of_two())
    }

    /// Both sides rounded up to a multiple of `to`.
    pub const fn align(self, to: Extent<U>) -> Extent<U> {
        Extent::new(self.w.next_multiple_of(to.w), self.h.next_multiple_of(to.h))
    }
}

impl<U: Unit> fmt::Debug for Extent<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}{}", self.w, self.h, U::SUFFIX)
    }
}

impl<U: Unit> fmt::Display for Extent<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.w, self.h)
    }
}

impl Extent<Px> {
    /// The elements that cover these pixels, for blocks of `block` pixels.
    pub const fn to_el(self, block: Extent<Px>) -> Extent<El> {
        Extent::new(self.w.div_ceil(block.w), self.h.div_ceil(block.h))
    }
}

impl Extent<El> {
    /// The tiles that cover these elements, for tiles of `tile` elements.
    pub const fn to_tl(self, tile: Extent<El>) -> Extent<Tl> {
        Extent::new(self.w.div_ceil(tile.w), self.h.div_ceil(tile.h))
    }

    /// The elements in these tiles of `tile` elements.
    pub const fn from_tl(tiles: Extent<Tl>, tile: Extent<El>) -> Extent<El> {
        Extent::new(tiles.w * tile.w, tiles.h * tile.h)
    }
}

/// The size of mip level `level` of an image of size `value`: halved `level` times, rounded down,
/// at least 1.
pub const fn minify(value: u32, level: u32) -> u32 {
    let small = if level >= u32::BITS { 0 } else { value >> level };
    if small == 0 { 1 } else { small }
}

/// The number of levels of a full mip chain whose largest side is `major` pixels.
pub const fn full_chain_levels(major: u32) -> u32 {
    if major == 0 { 1 } else { major.ilog2() + 1 }
}
