//! The arrangement that all surfaces share, including auxiliary ones: levels next to each other, layers one
//! below the other, in units of samples or elements.
//!
//! source: Mesa, isl.c (`isl_calc_phys_slice0_extent_sa_gfx4_2d`,
//! `isl_calc_array_pitch_el_rows_gfx4_2d`, `isl_calc_size`).

/// Size of a level.
pub(crate) const fn minify(size: u32, level: u32) -> u32 {
    let size = if level < 32 { size >> level } else { 0 };
    if size == 0 { 1 } else { size }
}

/// Parameters of a miptree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MiptreeDesc {
    /// Level 0 in samples.
    pub width_sa: u32,
    pub height_sa: u32,
    /// Number of levels.
    pub levels: u32,
    /// Number of layers, of slices of level 0, or of layers times samples.
    pub layers: u32,
    /// Size of a block.
    pub block: (u32, u32),
    /// Alignment of levels in elements.
    pub align_el: (u32, u32),
    /// The level from which on all levels share a tile.
    pub tail: Option<u32>,
    /// Alignment of the distance of layers, in rows of elements.
    pub qpitch_align_el: u32,
    /// The tile in elements, and in units of pitches: bytes and rows.
    pub tile_el: (u32, u32),
    pub tile_B: (u64, u64),
}

/// A miptree.
#[derive(Clone, Debug)]
pub(crate) struct MiptreeLayout {
    /// Origin of each level in a layer, in elements: column and row.
    pub origins_el: Vec<(u32, u32)>,
    /// Rows of elements from layer to layer.
    pub qpitch_el: u32,
    /// Size of the whole surface in elements: width and rows.
    pub width_el: u64,
    pub height_el: u64,
}

impl MiptreeDesc {
    /// Arranges levels and layers.
    pub fn lay_out(&self) -> MiptreeLayout {
        let (block_w, block_h) = self.block;
        let align_sa = (self.align_el.0 * block_w, self.align_el.1 * block_h);
        let mut origins_el = Vec::with_capacity(self.levels as usize);
        let (mut x, mut y) = (0u32, 0u32);
        let (mut width_sa, mut height_sa) = (0u32, 0u32);
        for level in 0..self.levels {
            origins_el.push((x / block_w, y / block_h));
            if self.tail.is_some_and(|tail| level > tail) {
                continue;
            }
            let w = minify(self.width_sa, level).next_multiple_of(align_sa.0);
            let h = minify(self.height_sa, level).next_multiple_of(align_sa.1);
            (width_sa, height_sa) = (width_sa.max(x + w), height_sa.max(y + h));
            // All levels of a tail have the origin of the first one.
            match level {
                _ if self.tail == Some(level) => {}
                1 => x += w,
                _ => y += h,
            }
        }
        if self.levels == 1 && self.tail != Some(0) {
            // Nothing follows a single level that would have to be aligned.
            (width_sa, height_sa) = (self.width_sa, self.height_sa);
        }
        let qpitch_el = height_sa.next_multiple_of(align_sa.1) / block_h;
        let qpitch_el = qpitch_el.next_multiple_of(self.qpitch_align_el);
        let below = u64::from(qpitch_el) * u64::from(self.layers - 1);
        MiptreeLayout {
            origins_el,
            qpitch_el,
            width_el: width_sa.div_ceil(block_w).into(),
            height_el: below + u64::from(height_sa.div_ceil(block_h)),
        }
    }

    /// Pitch in bytes: a row of tiles has this many bytes for each of the tile's rows.
    pub fn pitch_B(&self, laid: &MiptreeLayout) -> u64 {
        laid.width_el.div_ceil(self.tile_el.0.into()) * self.tile_B.0
    }

    pub fn size_B(&self, laid: &MiptreeLayout, pitch_B: u64) -> u64 {
        laid.height_el.div_ceil(self.tile_el.1.into()) * self.tile_B.1 * pitch_B
    }
}
