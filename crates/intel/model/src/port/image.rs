//! Where the texels of an image are.
//!
//! source: Mesa, isl.c (`isl_calc_phys_slice0_extent_sa_gfx4_2d`, `isl_surf_get_image_offset_*`),
//! isl_tiled_memcpy.c; SKL PRM volume 5, "surface layout", "tile formats".

use super::surface::{Dimension, Image, Tiling, yf_tile};

impl Image {
    /// Size of a level in texels.
    pub fn level_size(&self, level: u32) -> [u32; 3] {
        let shrink = |size: u32| (size >> level.min(31)).max(1);
        match self.dimension {
            Dimension::One => [shrink(self.size[0]), 1, 1],
            Dimension::Two => [shrink(self.size[0]), shrink(self.size[1]), 1],
            Dimension::Three => self.size.map(shrink),
        }
    }

    /// The first element (texel or block) of a level within a layer: column and row. Levels are
    /// aligned in elements.
    fn level_place(&self, level: u32) -> [u64; 2] {
        let [halign, valign] = self.align.map(u64::from);
        let [width, height] = self.format.block;
        let size = |level| {
            let [w, h, _] = self.level_size(level);
            [w.div_ceil(width), h.div_ceil(height)].map(u64::from)
        };
        if self.dimension == Dimension::One {
            // Levels stand side by side.
            let before: u64 = (0..level).map(|l| size(l)[0].next_multiple_of(halign)).sum();
            return [before, 0];
        }
        match level {
            0 => [0, 0],
            1 => [0, size(0)[1].next_multiple_of(valign)],
            // Level 2 stands to the right of level 1, all others below level 2.
            _ => {
                let x = size(1)[0].next_multiple_of(halign);
                let above: u64 = (2..level).map(|l| size(l)[1].next_multiple_of(valign)).sum();
                [x, size(0)[1].next_multiple_of(valign) + above]
            }
        }
    }

    /// The address of a texel of a layer (or slice) at a level; `None` outside of the image.
    pub fn texel(&self, level: u32, x: u32, y: u32, layer: u32) -> Option<u64> {
        let size = self.level_size(level);
        if x >= size[0] || y >= size[1] || layer >= self.layers_at(level) {
            return None;
        }
        let [left, top] = self.level_place(level);
        let layer = u64::from(self.first_layer + layer);
        let [width, height] = self.format.block;
        let column = left + u64::from(x / width) + u64::from(self.offset[0]);
        // QPitch counts rows of texels.
        let above = layer * self.qpitch / u64::from(height);
        let row = top + u64::from(y / height) + u64::from(self.offset[1]) + above;
        let bytes = self.format.bytes as u64;
        // One-dimensional images have no pitch: a layer is a row of QPitch texels.
        // source: Mesa, isl.h (`ISL_DIM_LAYOUT_GFX9_1D`).
        if self.dimension == Dimension::One {
            return Some(self.base + (column + layer * self.qpitch) * bytes);
        }
        Some(self.base + place(self.tiling, self.pitch, column * bytes, row))
    }

    /// Layers, or slices of a level.
    fn layers_at(&self, level: u32) -> u32 {
        match self.dimension {
            Dimension::Three => (self.size[2] >> level.min(31)).max(1).min(self.layers),
            _ => self.layers,
        }
    }
}

/// The offset of a byte of a row, with rows or rows of tiles `pitch` bytes apart.
fn place(tiling: Tiling, pitch: u64, x: u64, y: u64) -> u64 {
    const TILE_BYTES: u64 = 4096;
    match tiling {
        Tiling::Linear => y * pitch + x,
        // 512 bytes by 8 rows, row by row.
        Tiling::X => y / 8 * 8 * pitch + x / 512 * TILE_BYTES + y % 8 * 512 + x % 512,
        // 128 bytes by 32 rows, in columns of 16 bytes.
        Tiling::Y => {
            y / 32 * 32 * pitch + x / 128 * TILE_BYTES + x % 128 / 16 * 512 + y % 32 * 16 + x % 16
        }
        // source: drm_fourcc.h (`I915_FORMAT_MOD_Yf_TILED`): 16 bytes by 4 rows make 64 bytes, four of
        // these a unit of 256, four units a group and four groups the tile, columns first.
        Tiling::Yf { element } => {
            let [width, height] = yf_tile(element).map(u64::from);
            let (column, row) = ((x % width) >> 4, (y % height) >> 2);
            let bit = |v: u64, from: u32, to: u32| (v >> from & 1) << to;
            let blocks = match width {
                64 => {
                    bit(row, 0, 0)
                        | bit(row, 1, 1)
                        | bit(row, 2, 2)
                        | bit(column, 0, 3)
                        | bit(row, 3, 4)
                        | bit(column, 1, 5)
                }
                128 => {
                    bit(row, 0, 0)
                        | bit(column, 0, 1)
                        | bit(row, 1, 2)
                        | bit(column, 1, 3)
                        | bit(row, 2, 4)
                        | bit(column, 2, 5)
                }
                _ => {
                    bit(column, 0, 0)
                        | bit(column, 1, 1)
                        | bit(row, 0, 2)
                        | bit(column, 2, 3)
                        | bit(row, 1, 4)
                        | bit(column, 3, 5)
                }
            };
            let within = blocks << 6 | (y & 3) << 4 | x & 15;
            y / height * height * pitch + x / width * TILE_BYTES + within
        }
        // 64 bytes by 64 rows of stencil: bits of X and Y alternate.
        Tiling::W => {
            let bit = |v: u64, from: u32, to: u32| (v >> from & 1) << to;
            let within = bit(x, 0, 0)
                | bit(y, 0, 1)
                | bit(x, 1, 2)
                | bit(y, 1, 3)
                | bit(x, 2, 4)
                | bit(y, 2, 5)
                | (y >> 3 & 7) << 6
                | (x >> 3 & 7) << 9;
            y / 64 * 32 * pitch + x / 64 * TILE_BYTES + within
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn tiles_are_filled_without_a_gap() {
        for (tiling, width, height) in [
            (Tiling::X, 512, 8),
            (Tiling::Y, 128, 32),
            (Tiling::W, 64, 64),
            (Tiling::Yf { element: 1 }, 64, 64),
            (Tiling::Yf { element: 4 }, 128, 32),
            (Tiling::Yf { element: 16 }, 256, 16),
        ] {
            let pitch = if tiling == Tiling::W { 128 } else { width };
            let places: HashSet<u64> = (0..height)
                .flat_map(|y| (0..width).map(move |x| place(tiling, pitch, x, y)))
                .collect();
            assert_eq!(places.len(), 4096, "{tiling:?}");
            assert_eq!(places.iter().max(), Some(&4095), "{tiling:?}");
        }
        // source: isl_tiled_memcpy.c: in a Y tile the second column of 16 bytes is 512 bytes on.
        assert_eq!(place(Tiling::Y, 128, 16, 0), 512);
        assert_eq!(place(Tiling::Y, 128, 0, 1), 16);
        assert_eq!(place(Tiling::X, 512, 0, 1), 512);
    }
}
