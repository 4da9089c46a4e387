//! Decodes block modes and the positions of the fields of a block.

use super::bits;
use super::integers::Range;

/// A void-extent block: one colour. Section "Void-Extent Blocks".
pub(super) struct VoidExtent {
    pub(super) hdr: bool,
    /// The colour's components, 16 bits each: fixed point, or half floats.
    pub(super) components: [u32; 4],
}

impl VoidExtent {
    /// `None` if the block is not a void extent, `Some(None)` if it is an illegal one.
    pub(super) fn read(block: u128) -> Option<Option<VoidExtent>> {
        if bits(block, 0, 9) != 0x1fc {
            return None;
        }
        let reserved = bits(block, 10, 2) == 3;
        let corner = |i: u32| bits(block, 12 + 13 * i, 13);
        let extents = [corner(0), corner(1), corner(2), corner(3)];
        let everywhere = extents == [0x1fff; 4];
        let ordered = extents[0] < extents[1] && extents[2] < extents[3];
        if !reserved || !(everywhere || ordered) {
            return Some(None);
        }
        Some(Some(VoidExtent {
            hdr: bits(block, 9, 1) != 0,
            components: std::array::from_fn(|c| bits(block, 64 + 16 * c as u32, 16)),
        }))
    }
}

/// The decoded block mode.
pub(super) struct BlockMode {
    pub(super) grid_w: u32,
    pub(super) grid_h: u32,
    /// The range of weights.
    pub(super) weights: Range,
    /// The component that uses a second plane of weights, if there is one.
    pub(super) second_plane: Option<u32>,
    pub(super) partitions: u32,
    weight_bits: u32,
    extra_mode_bits: u32,
}

/// The encoding and position of the endpoint colours.
pub(super) struct Colors {
    /// The endpoint mode of each partition.
    pub(super) modes: [u32; 4],
    /// Position of the first bit.
    pub(super) at: u32,
    /// Number of integers.
    pub(super) count: u32,
    pub(super) range: Range,
}

impl BlockMode {
    /// Reads the mode of a block that is not a void extent. `None` if it is illegal. Section "Block
    /// Mode".
    pub(super) fn read(block: u128, (width, height): (u32, u32)) -> Option<BlockMode> {
        let a = bits(block, 5, 2);
        let b = bits(block, 7, 2);
        let (mut high_precision, mut dual) = (bits(block, 9, 1), bits(block, 10, 1) != 0);
        let (range_high, grid_w, grid_h);
        if bits(block, 0, 2) != 0 {
            range_high = bits(block, 0, 2);
            (grid_w, grid_h) = match bits(block, 2, 2) {
                0 => (b + 4, a + 2),
                1 => (b + 8, a + 2),
                2 => (a + 2, b + 8),
                _ if b & 2 == 0 => (a + 2, (b & 1) + 6),
                _ => ((b & 1) + 2, a + 2),
            };
        } else {
            range_high = bits(block, 2, 2);
            (grid_w, grid_h) = match b {
                0 => (12, a + 2),
                1 => (a + 2, 12),
                2 => {
                    let high = bits(block, 9, 2);
                    (high_precision, dual) = (0, false);
                    (a + 6, high + 6)
                }
                _ if a == 0 => (6, 10),
                _ if a == 1 => (10, 6),
                _ => return None,
            };
        }
        let range = range_high << 1 | bits(block, 4, 1);
        if range < 2 || grid_w > width || grid_h > height {
            return None;
        }
        let weights = Range::of_weights(range - 2 + 6 * high_precision);
        let partitions = bits(block, 11, 2) + 1;
        let count = grid_w * grid_h * if dual { 2 } else { 1 };
        let weight_bits = weights.bits(count);
        if count > 64 || !(24..=96).contains(&weight_bits) || (dual && partitions == 4) {
            return None;
        }
        // If endpoint modes differ between partitions, part of their encoding is below the weights.
        let extra_mode_bits =
            if partitions > 1 && bits(block, 23, 2) != 0 { 3 * partitions - 4 } else { 0 };
        let second_plane = dual.then(|| bits(block, 128 - weight_bits - extra_mode_bits - 2, 2));
        Some(BlockMode {
            grid_w,
            grid_h,
            weights,
            second_plane,
            partitions,
            weight_bits,
            extra_mode_bits,
        })
    }

    pub(super) fn planes(&self) -> u32 {
        if self.second_plane.is_some() { 2 } else { 1 }
    }

    pub(super) fn weight_count(&self) -> u32 {
        self.grid_w * self.grid_h * self.planes()
    }

    /// Reads the endpoint modes and the position of the colours. `None` if they do not fit.
    /// Sections "Color Endpoint Mode", "Color Endpoint Decoding".
    pub(super) fn colors(&self, block: u128) -> Option<Colors> {
        let n = self.partitions;
        let mut modes = [0; 4];
        let at;
        if n == 1 {
            modes[0] = bits(block, 13, 4);
            at = 17;
        } else {
            at = 29;
            let low = bits(block, 23, 6);
            if low & 3 == 0 {
                modes = [low >> 2; 4];
            } else {
                let above = 128 - self.weight_bits - self.extra_mode_bits;
                let all = low | bits(block, above, self.extra_mode_bits) << 6;
                for (i, mode) in (0..n).zip(&mut modes) {
                    let class = (all & 3) - 1 + (all >> (2 + i) & 1);
                    *mode = class << 2 | all >> (2 + n + 2 * i) & 3;
                }
            }
        }
        let count: u32 = modes[..n as usize].iter().map(|mode| 2 * (mode / 4 + 1)).sum();
        let plane_bits = 2 * (self.planes() - 1);
        let end = 128 - self.weight_bits - self.extra_mode_bits - plane_bits;
        if count > 18 || end <= at {
            return None;
        }
        let range = Range::largest_for_colors(count, end - at)?;
        Some(Colors { modes, at, count, range })
    }
}
