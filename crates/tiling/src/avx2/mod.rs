//! Bricks: 32 bytes of raster wide, through 256-bit registers.
//!
//! A brick is two **columns** of 16 bytes side by side, one a lane. Shuffles within the lanes turn
//! the rows of a column into 16-byte **chunks** in the order of the curve; exchanging lanes between
//! two chunks gives 32 contiguous bytes of either column. How many rows a column needs for its
//! chunks to be contiguous depends on the element's size:
//!
//! | bytes | elements a column | rows | chunk |
//! | --- | --- | --- | --- |
//! | 1 | 16 | 8 | 4×4 |
//! | 2 | 8 | 4 | 4×2 |
//! | 4 | 4 | 4 | 2×2 |
//! | 8 | 2 | 4 | 2×1 (pairs of rows are contiguous) |
//! | 16 | 1 | 2 | 1×1 (both columns together are contiguous) |
//!
//! The u-interleaved curve differs in that row y has x ^ y where Morton's has x: within a column
//! that permutes a row's elements, between columns it exchanges whole columns.
//!
//! There are two ways through a rectangle. Either one row of bricks after the other, from its left
//! end to its right, which keeps the raster side in a few long streams: best while the caches hold
//! everything, and for tiling. Or along the curve, which reads the tiled side front to back and
//! writes the raster side by cache lines: best for detiling from memory.

mod kernels;

use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch, _mm_sfence};

use crate::copy::Job;
use crate::plane::{Order, Plane, Rect, spread, unspread};
use kernels::{B1, B2, B4, B8, B16, Kernel};

/// Whether the kernels here serve this plane on this processor.
pub(crate) fn available(plane: &Plane) -> bool {
    let Some((columns, rows)) = brick(plane.element_B) else { return false };
    // Each column of a brick may lie in a tile of its own.
    (1 << plane.log2_tile_w) >= columns / 2
        && (1 << plane.log2_tile_h) >= rows
        && is_x86_feature_detected!("avx2")
}

/// Elements of a brick: 32 bytes wide, and as high as the table above says.
fn brick(element_B: u32) -> Option<(u32, u32)> {
    Some(match element_B {
        1 => (32, 8),
        2 => (16, 4),
        4 => (8, 4),
        8 => (4, 4),
        16 => (2, 2),
        _ => return None,
    })
}

/// Moves `rect`, whole bricks by kernel and the edges by element.
///
/// # Safety
///
/// As for [`crate::scalar::copy`], with [`available`] true of the plane.
pub(crate) unsafe fn copy<const TILE: bool>(job: &Job, rect: Rect, streaming: bool) {
    let Some((columns, rows)) = brick(job.plane.element_B) else { return };
    let x0 = rect.x.next_multiple_of(columns).min(rect.x + rect.w);
    let x1 = ((rect.x + rect.w) / columns * columns).max(x0);
    let y0 = rect.y.next_multiple_of(rows).min(rect.y + rect.h);
    let y1 = ((rect.y + rect.h) / rows * rows).max(y0);
    let edges = [
        Rect { h: y0 - rect.y, ..rect },
        Rect { y: y1, h: rect.y + rect.h - y1, ..rect },
        Rect { y: y0, h: y1 - y0, w: x0 - rect.x, ..rect },
        Rect { x: x1, y: y0, w: rect.x + rect.w - x1, h: y1 - y0 },
    ];
    // SAFETY: all parts lie inside the rectangle.
    unsafe {
        for edge in edges {
            job.scalar::<TILE>(rect, edge);
        }
        if x0 == x1 || y0 == y1 {
            return;
        }
        let inner = Rect { x: x0, y: y0, w: x1 - x0, h: y1 - y0 };
        let skip_B = (y0 - rect.y) as usize * job.stride_B
            + (x0 - rect.x) as usize * job.plane.element_B as usize;
        let job = Job { linear: job.linear.add(skip_B), ..*job };
        // Stores that bypass the caches need aligned addresses.
        let written = if TILE { job.tiled } else { job.linear };
        let aligned =
            written.addr().is_multiple_of(32) && (TILE || job.stride_B.is_multiple_of(32));
        match (job.plane.order, streaming && aligned) {
            (Order::Raster, _) => {}
            (Order::Morton, false) => dispatch::<TILE, false, false>(&job, inner),
            (Order::Morton, true) => dispatch::<TILE, false, true>(&job, inner),
            (Order::UInterleaved, false) => dispatch::<TILE, true, false>(&job, inner),
            (Order::UInterleaved, true) => dispatch::<TILE, true, true>(&job, inner),
        }
    }
}

unsafe fn dispatch<const TILE: bool, const TWIST: bool, const STREAM: bool>(job: &Job, rect: Rect) {
    // SAFETY: the caller's promise is each arm's.
    unsafe {
        match job.plane.element_B {
            // Eight rows give whole cache lines of the tiled side; four are enough for the raster
            // side, and more open lines than the processor combines stores for.
            1 if TILE => bricks::<B1, 8, TILE, TWIST, STREAM>(job, rect),
            1 => bricks::<B1, 4, TILE, TWIST, STREAM>(job, rect),
            2 => bricks::<B2, 4, TILE, TWIST, STREAM>(job, rect),
            4 => bricks::<B4, 4, TILE, TWIST, STREAM>(job, rect),
            8 => bricks::<B8, 4, TILE, TWIST, STREAM>(job, rect),
            16 => bricks::<B16, 2, TILE, TWIST, STREAM>(job, rect),
            _ => {}
        }
        if STREAM {
            // Makes the stores visible to other threads before the move returns.
            _mm_sfence();
        }
    }
}

/// Columns of 16 bytes in the widest tile: 256 elements of 16 bytes.
const MAX_COLUMNS: usize = 256;

/// Moves a rectangle of whole bricks.
///
/// # Safety
///
/// As for [`copy`]; AVX2 is there.
#[target_feature(enable = "avx2")]
unsafe fn bricks<
    K: Kernel<R>,
    const R: usize,
    const TILE: bool,
    const TWIST: bool,
    const STREAM: bool,
>(
    job: &Job,
    rect: Rect,
) {
    let plane = &job.plane;
    let (tile_w, tile_h) = (1u32 << plane.log2_tile_w, 1u32 << plane.log2_tile_h);
    let column_el = 16 / plane.element_B;
    let tile_B = plane.tile_B();

    // Where the columns of a tile start.
    let log2_columns = (tile_w / column_el).ilog2();
    let mut column_B = [0u32; MAX_COLUMNS];
    let column_B = &mut column_B[..1 << log2_columns];
    for (i, at) in (0..).zip(&mut *column_B) {
        *at = spread(i * column_el) * plane.element_B;
    }
    let column_mask = column_B.len() - 1;

    let (c0, c1) = ((rect.x / column_el) as usize, ((rect.x + rect.w) / column_el) as usize);
    let y_end = rect.y + rect.h;

    // Moves the bricks of columns `first..last` whose first row is `y`.
    let strip = |first: usize, last: usize, y: u32| {
        let y_in_tile = y % tile_h;
        let row_B = ((spread(y_in_tile) << 1) * plane.element_B) as usize;
        let twist = if TWIST { (y_in_tile / column_el) as usize } else { 0 };
        // SAFETY: `column_B` is indexed below its length. All bricks lie inside the rectangle, so
        // that the addresses are those of its elements, which the caller vouches for.
        unsafe {
            let tiled = job.tiled.add((y / tile_h) as usize * plane.tile_row_B + row_B);
            let linear = job.linear.add((y - rect.y) as usize * job.stride_B);
            let at = |column: usize| {
                let in_tile = *column_B.get_unchecked((column ^ twist) & column_mask) as usize;
                tiled.add((column >> log2_columns) * tile_B + in_tile)
            };
            for column in (first..last).step_by(2) {
                let (left, right) = (at(column), at(column + 1));
                let linear = linear.add((column - c0) * 16);
                if TILE {
                    K::tile::<TWIST, STREAM>(linear, job.stride_B, y_in_tile, left, right);
                } else {
                    K::detile::<TWIST, STREAM>(linear, job.stride_B, y_in_tile, left, right);
                }
            }
        }
    };

    if TILE || !STREAM {
        for y in (rect.y..y_end).step_by(R) {
            strip(c0, c1, y);
        }
        return;
    }

    // A unit is a square four columns wide, contiguous on the tiled side, unless tiles are smaller.
    // For bytes that would be 64 rows of a cache line each; whole tiles have shown to be faster.
    let span = column_B.len().max(4);
    let unit_c = if plane.element_B == 1 { span } else { 4 };
    let unit_h = (column_el * unit_c as u32).min(tile_h);
    let (units_w, units_h) = ((span / unit_c) as u32, tile_h / unit_h);
    let strip_B = unit_c * 16 * R;
    let ahead_B = (unit_c * 16 * unit_h as usize).max(4096);
    for tile_y in (rect.y / tile_h * tile_h..y_end).step_by(tile_h as usize) {
        let tile_row = job.tiled.wrapping_add((tile_y / tile_h) as usize * plane.tile_row_B);
        for tile_c in (c0 / span * span..c1).step_by(span) {
            let mut fetch = tile_row.wrapping_add((tile_c >> log2_columns) * tile_B + ahead_B);
            for unit in 0..units_w * units_h {
                let (x, y) = unspread(unit, units_h);
                let x = if TWIST { (x ^ y) % units_w } else { x };
                let (first, top) = (tile_c + x as usize * unit_c, tile_y + y * unit_h);
                let (first, last) = (first.max(c0), (first + unit_c).min(c1));
                for y in (top.max(rect.y)..(top + unit_h).min(y_end)).step_by(R) {
                    for line in (0..strip_B).step_by(64) {
                        // Prefetching past the end of the image does nothing.
                        _mm_prefetch::<_MM_HINT_T0>(fetch.wrapping_add(line).cast());
                    }
                    fetch = fetch.wrapping_add(strip_B);
                    strip(first, last, y);
                }
            }
        }
    }
}
