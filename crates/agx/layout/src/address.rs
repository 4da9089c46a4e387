//! Element addresses within one level.

use tepui_format::units::Extent;

use crate::Tiling;
use crate::level::Level;

/// Computes the byte offsets of elements within a level.
///
/// An address within a tile interleaves the bits of x and y, x lowest. Where a tile is wider than
/// high, the last bit of x stands alone on top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelAddresser {
    log2_tile_w: u32,
    log2_tile_h: u32,
    /// Elements from tile row to tile row; from row to row of a linear level.
    row_B: u64,
    tile_B: u64,
    element_B: u64,
}

impl LevelAddresser {
    pub(crate) fn new(level: &Level, tiling: Tiling, element_B: u32) -> LevelAddresser {
        let element_B = u64::from(element_B);
        let tile_B = level.tile_el.area() * element_B;
        LevelAddresser {
            log2_tile_w: level.tile_el.w.ilog2(),
            log2_tile_h: level.tile_el.h.ilog2(),
            row_B: match tiling {
                Tiling::Linear => level.stride_B,
                _ => u64::from(level.tiles.w) * tile_B,
            },
            tile_B,
            element_B,
        }
    }

    /// Offset of element (`x_el`, `y_el`), in bytes from the level's start. The element need not be
    /// inside the level; the result then lies outside it, or inside its padding.
    #[inline]
    pub fn offset_B(&self, x_el: u32, y_el: u32) -> u64 {
        let tile = u64::from(y_el >> self.log2_tile_h) * self.row_B
            + u64::from(x_el >> self.log2_tile_w) * self.tile_B;
        let x = x_el & ((1 << self.log2_tile_w) - 1);
        let y = y_el & ((1 << self.log2_tile_h) - 1);
        tile + u64::from(interleave(x, y)) * self.element_B
    }

    /// Walks along a row, one element to the right at a step.
    pub fn row(&self, x_el: u32, y_el: u32) -> RowAddresses {
        let mask = spread((1 << self.log2_tile_w) - 1);
        let x = x_el & ((1 << self.log2_tile_w) - 1);
        let start = self.offset_B(x_el - x, y_el);
        RowAddresses {
            tile_start_B: start,
            x_bits: spread(x),
            mask,
            tile_B: self.tile_B,
            element_B: self.element_B,
        }
    }
}

/// The addresses of a row's elements, left to right; never ends.
///
/// Stepping right adds one to x where it is spread over every other bit. Subtracting the mask of
/// those bits is adding one with all other bits set, through which the carry runs.
/// source: Fabian Giesen, "Texture tiling and swizzling".
#[derive(Clone, Debug)]
pub struct RowAddresses {
    tile_start_B: u64,
    x_bits: u32,
    mask: u32,
    tile_B: u64,
    element_B: u64,
}

impl Iterator for RowAddresses {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        let here = self.tile_start_B + u64::from(self.x_bits) * self.element_B;
        self.x_bits = self.x_bits.wrapping_sub(self.mask) & self.mask;
        if self.x_bits == 0 {
            self.tile_start_B += self.tile_B;
        }
        Some(here)
    }
}

pub use tepui_layout::morton::{interleave, spread};

/// The element at position `index` within a tile of `tile` elements: the inverse of the order
/// within a tile.
pub fn element_at(index: u32, tile: Extent<tepui_format::units::El>) -> (u32, u32) {
    let compact = |v: u32| {
        let v = v & 0x5555_5555;
        let v = (v | v >> 1) & 0x3333_3333;
        let v = (v | v >> 2) & 0x0f0f_0f0f;
        let v = (v | v >> 4) & 0x00ff_00ff;
        (v | v >> 8) & 0xffff
    };
    // Above the square, x has no partner: its bits go on alone in the even positions' place, which
    // is where plain Morton order puts them while y stays 0.
    let square = tile.h * tile.h;
    let (inside, above) = (index % square, index / square);
    (compact(inside) + above * tile.h, compact(inside >> 1))
}
