//! Mip tails: positions of the small levels of an image in Yf or Ys tiles within their common tile.
//!
//! source: SKL PRM volume 5, "Tiling and Mip Tail"; the numbers are those of Mesa, isl.c
//! (`skl_std_y_2d_miptail_offset_el`, `skl_std_y_3d_miptail_offset_el`). Tails in Ys tiles begin with the first row,
//! in Yf tiles with the fifth.

/// Column and row of each level from the tail's first on, for elements of 1, 2, 4, 8 and 16 bytes.
const TWO: [[[u8; 2]; 5]; 15] = [
    [[128, 0], [128, 0], [64, 0], [64, 0], [32, 0]],
    [[0, 128], [0, 64], [0, 64], [0, 32], [0, 32]],
    [[64, 0], [64, 0], [32, 0], [32, 0], [16, 0]],
    [[0, 64], [0, 32], [0, 32], [0, 16], [0, 16]],
    [[32, 0], [32, 0], [16, 0], [16, 0], [8, 0]],
    [[16, 32], [16, 16], [8, 16], [8, 8], [4, 8]],
    [[0, 48], [0, 24], [0, 24], [0, 12], [0, 12]],
    [[0, 32], [0, 16], [0, 16], [0, 8], [0, 8]],
    [[16, 16], [16, 8], [8, 8], [8, 4], [4, 4]],
    [[16, 0], [16, 0], [8, 0], [8, 0], [4, 0]],
    [[0, 16], [0, 8], [0, 8], [0, 4], [0, 4]],
    [[0, 12], [8, 4], [4, 4], [6, 0], [3, 0]],
    [[0, 8], [8, 0], [4, 0], [4, 0], [2, 0]],
    [[0, 4], [0, 4], [0, 4], [2, 0], [1, 0]],
    [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]],
];

/// Column, row and slice of each level of a 3D image, in the same order.
const THREE: [[[u8; 3]; 5]; 16] = [
    [[32, 0, 0], [16, 0, 0], [16, 0, 0], [16, 0, 0], [8, 0, 0]],
    [[0, 16, 0], [0, 16, 0], [0, 16, 0], [0, 8, 0], [0, 8, 0]],
    [[0, 0, 16], [0, 0, 16], [0, 0, 8], [0, 0, 8], [0, 0, 8]],
    [[16, 0, 0], [8, 0, 0], [8, 0, 0], [8, 0, 0], [4, 0, 0]],
    [[0, 8, 0], [0, 8, 0], [0, 8, 0], [0, 4, 0], [0, 4, 0]],
    [[0, 0, 8], [0, 0, 8], [0, 0, 4], [0, 0, 4], [0, 0, 4]],
    [[0, 4, 4], [0, 4, 4], [4, 4, 0], [6, 0, 0], [3, 0, 0]],
    [[0, 4, 0], [0, 4, 0], [0, 4, 0], [4, 0, 0], [2, 0, 0]],
    [[0, 0, 7], [0, 0, 7], [4, 0, 3], [2, 0, 3], [1, 0, 3]],
    [[0, 0, 6], [0, 0, 6], [4, 0, 2], [2, 0, 2], [1, 0, 2]],
    [[0, 0, 5], [0, 0, 5], [4, 0, 1], [2, 0, 1], [1, 0, 1]],
    [[0, 0, 4], [0, 0, 4], [4, 0, 0], [2, 0, 0], [1, 0, 0]],
    [[0, 0, 3], [0, 0, 3], [0, 0, 3], [0, 0, 3], [0, 0, 3]],
    [[0, 0, 2], [0, 0, 2], [0, 0, 2], [0, 0, 2], [0, 0, 2]],
    [[0, 0, 1], [0, 0, 1], [0, 0, 1], [0, 0, 1], [0, 0, 1]],
    [[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]],
];

/// The first row for Yf tiles.
const YF: usize = 4;

/// Column, row and slice of level `level` of the tail, for elements of `element` bytes, in tiles of 64 KiB if they are large; levels
/// past the last slot have its position.
pub fn offset(three: bool, large: bool, level: u32, element: u32) -> [u32; 3] {
    let column = element.trailing_zeros().min(4) as usize;
    let level = level as usize + if large { 0 } else { YF };
    if three {
        THREE[level.min(THREE.len() - 1)][column].map(u32::from)
    } else {
        let [x, y] = TWO[level.min(TWO.len() - 1)][column].map(u32::from);
        [x, y, 0]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Levels of a tail must not overlap, and must stay inside the tile.
    #[test]
    fn levels_have_places_of_their_own() {
        for (three, large, tiles) in [
            (false, false, [[64, 64, 1], [64, 32, 1], [32, 32, 1], [32, 16, 1], [16, 16, 1]]),
            (true, false, [[16, 16, 16], [8, 16, 16], [8, 16, 8], [8, 8, 8], [4, 8, 8]]),
            (false, true, [[256, 256, 1], [256, 128, 1], [128, 128, 1], [128, 64, 1], [64, 64, 1]]),
            (true, true, [[64, 32, 32], [32, 32, 32], [32, 32, 16], [32, 16, 16], [16, 16, 16]]),
        ] {
            for (bits, tile) in tiles.into_iter().enumerate() {
                let rows = if three { THREE.len() } else { TWO.len() } - if large { 0 } else { YF };
                let rows = rows as u32;
                let mut seen = HashSet::new();
                for level in 0..rows {
                    // The largest level of a tail occupies half of the tile on its last axis.
                    let first = offset(three, large, 0, 1 << bits);
                    let size: [u32; 3] = std::array::from_fn(|axis| {
                        let whole: u32 = tile[axis];
                        let half = if first[axis] > 0 { first[axis] } else { whole };
                        (half >> level).max(1)
                    });
                    let at = offset(three, large, level, 1 << bits);
                    for z in 0..size[2] {
                        for y in 0..size[1] {
                            for x in 0..size[0] {
                                let place = [at[0] + x, at[1] + y, at[2] + z];
                                assert!(
                                    (0..3).all(|a| place[a] < tile[a]),
                                    "{three} {bits} {level}"
                                );
                                assert!(seen.insert(place), "{three} {bits} {level} {place:?}");
                            }
                        }
                    }
                }
            }
        }
    }
}
