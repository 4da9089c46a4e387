//! Copies of tiles that are permutations of address bits: whole runs of bytes that are contiguous on
//! both sides, 512 bytes in tiles X, 16 bytes in tiles Y.

use crate::job::Job;
use crate::plane::{AddressBits, Rect, deposit};

/// Tiles that are copied row by row together, so that what is written of a tile's cache lines stays in
/// the caches until they are whole.
const GROUP: usize = 4;

/// Most runs of a row of a tile.
const MOST_RUNS: usize = 64;

/// Copies `part`, to the tiled side if `TILE`, else from it.
///
/// # Safety
///
/// As for [`crate::scalar::copy`].
pub(crate) unsafe fn copy<const TILE: bool>(job: &Job, bits: AddressBits, part: Rect) {
    let run_B = 1usize << bits.x.trailing_ones();
    let runs = bits.tile().0 as usize / run_B;
    // SAFETY: the caller's promise.
    unsafe {
        match run_B {
            512 => sized::<512, TILE>(job, bits, part),
            16 if runs <= MOST_RUNS => sized::<16, TILE>(job, bits, part),
            _ => job.scalar::<TILE>(part, part),
        }
    }
}

/// [`copy`] for runs of `RUN` bytes.
unsafe fn sized<const RUN: usize, const TILE: bool>(job: &Job, bits: AddressBits, part: Rect) {
    let element_B = job.plane.element_B as usize;
    let (tile_w_B, tile_h) = bits.tile();
    let (tile_w_B, tile_B) = (tile_w_B as usize, job.plane.tile_B());
    let runs = tile_w_B / RUN;
    let mut offsets = [0usize; MOST_RUNS];
    for (run, offset) in offsets.iter_mut().enumerate().take(runs) {
        *offset = deposit((run * RUN) as u32, bits.x) as usize;
    }
    let (first_B, end_B) = (part.x as usize * element_B, (part.x + part.w) as usize * element_B);
    let end_y = part.y + part.h;
    let mut y = part.y;
    while y < end_y {
        // The rows of one row of tiles.
        let stop = ((y / tile_h + 1) * tile_h).min(end_y);
        let row_at = (y / tile_h) as usize * job.plane.tile_row_B;
        let mut group = first_B / tile_w_B;
        while group * tile_w_B < end_B {
            let from_B = first_B.max(group * tile_w_B);
            let to_B = end_B.min((group + GROUP) * tile_w_B);
            for y in y..stop {
                let line_at = (y - part.y) as usize * job.stride_B;
                let in_tile = deposit(y % tile_h, bits.y) as usize;
                for run in from_B / RUN..to_B.div_ceil(RUN) {
                    let start = from_B.max(run * RUN);
                    let length = to_B.min((run + 1) * RUN) - start;
                    let at = row_at + run / runs * tile_B + (in_tile | offsets[run % runs]);
                    // SAFETY: the bytes lie in a tile that the rectangle touches and in one of the
                    // rectangle's rows; the caller vouches for both.
                    unsafe {
                        let tiled = job.tiled.add(at + start % RUN);
                        let linear = job.linear.add(line_at + start - first_B);
                        let (to, from) = if TILE { (tiled, linear) } else { (linear, tiled) };
                        if length == RUN {
                            std::ptr::copy_nonoverlapping(from, to, RUN);
                        } else {
                            std::ptr::copy_nonoverlapping(from, to, length);
                        }
                    }
                }
            }
            group += GROUP;
        }
        y = stop;
    }
}
