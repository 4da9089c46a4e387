//! Copies of tiles that are permutations of address bits: whole runs of bytes that are contiguous on
//! both sides, 512 bytes in tiles X, 16 bytes in tiles Y.

use crate::job::Job;
use crate::plane::{AddressBits, Rect, deposit};

/// Tiles that are copied row by row together, so that what is written of a tile's cache lines stays in
/// the caches until they are whole.
const GROUP: usize = 4;

/// Maximum number of runs of a row of a tile.
const MAX_RUNS: usize = 64;

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
            16 if runs <= MAX_RUNS => sized::<16, TILE>(job, bits, part),
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
    let mut offsets = [0usize; MAX_RUNS];
    for (run, offset) in offsets.iter_mut().enumerate().take(runs) {
        *offset = deposit((run * RUN) as u32, bits.x) as usize;
    }
    let offsets = &offsets[..runs];
    // Four rows of a run are a cache line.
    let lines = RUN == 16 && bits.y & 0x30 == 0x30;
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
            // Tiles that are copied over their whole width.
            let whole = from_B.div_ceil(tile_w_B)..(to_B / tile_w_B).max(from_B.div_ceil(tile_w_B));
            let mut y = y;
            while y < stop {
                let rows = if lines && y.is_multiple_of(4) && y + 4 <= stop { 4 } else { 1 };
                let line_at = (y - part.y) as usize * job.stride_B;
                let in_tile = deposit(y % tile_h, bits.y) as usize;
                // SAFETY: the bytes lie in tiles that the rectangle touches and in one of the
                // rectangle's rows; the caller vouches for both.
                unsafe {
                    let linear = job.linear.add(line_at);
                    let tiled = job.tiled.add(row_at + in_tile);
                    let left = from_B..to_B.min(whole.start * tile_w_B);
                    let right = from_B.max(whole.end * tile_w_B).max(whole.start * tile_w_B)..to_B;
                    for row in 0..rows {
                        let (tiled, linear) =
                            (tiled.add(row * RUN), linear.add(row * job.stride_B));
                        pieces::<RUN, TILE>(tiled, linear, first_B, left.clone(), offsets, tile_B);
                        pieces::<RUN, TILE>(tiled, linear, first_B, right.clone(), offsets, tile_B);
                    }
                    for tile in whole.clone() {
                        let tiled = tiled.add(tile * tile_B);
                        let linear = linear.add(tile * tile_w_B - first_B);
                        if rows == 4 {
                            whole_runs::<RUN, 4, TILE>(tiled, linear, job.stride_B, offsets);
                        } else {
                            whole_runs::<RUN, 1, TILE>(tiled, linear, job.stride_B, offsets);
                        }
                    }
                }
                y += rows as u32;
            }
            group += GROUP;
        }
        y = stop;
    }
}

/// Copies the runs of a tile's width in `ROWS` rows that follow one another in each column.
///
/// # Safety
///
/// As for [`crate::scalar::copy`].
#[inline(always)]
unsafe fn whole_runs<const RUN: usize, const ROWS: usize, const TILE: bool>(
    tiled: *mut u8,
    mut linear: *mut u8,
    stride_B: usize,
    offsets: &[usize],
) {
    for &offset in offsets {
        for row in 0..ROWS {
            // SAFETY: the caller's promise.
            unsafe {
                let (tiled, linear) = (tiled.add(offset + row * RUN), linear.add(row * stride_B));
                let (to, from) = if TILE { (tiled, linear) } else { (linear, tiled) };
                std::ptr::copy_nonoverlapping(from, to, RUN);
            }
        }
        // SAFETY: the caller's promise.
        linear = unsafe { linear.add(RUN) };
    }
}

/// Copies bytes of a row that need not be whole runs. `linear` is the row's byte `first_B`, `tiled` the
/// row of the first tile.
///
/// # Safety
///
/// As for [`crate::scalar::copy`].
unsafe fn pieces<const RUN: usize, const TILE: bool>(
    tiled: *mut u8,
    linear: *mut u8,
    first_B: usize,
    bytes: std::ops::Range<usize>,
    offsets: &[usize],
    tile_B: usize,
) {
    let runs = offsets.len();
    let mut at = bytes.start;
    while at < bytes.end {
        let run = at / RUN;
        let length = bytes.end.min((run + 1) * RUN) - at;
        // SAFETY: the caller's promise.
        unsafe {
            let tiled = tiled.add(run / runs * tile_B + offsets[run % runs] + at % RUN);
            let linear = linear.add(at - first_B);
            let (to, from) = if TILE { (tiled, linear) } else { (linear, tiled) };
            std::ptr::copy_nonoverlapping(from, to, length);
        }
        at += length;
    }
}
