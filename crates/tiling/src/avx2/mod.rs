//! AVX2 copies of bricks: blocks 32 bytes wide, which pass through 256-bit registers.
//!
//! A brick is two **columns** of 16 bytes side by side, one in each 128-bit lane. Shuffles within
//! the lanes turn the rows of a column into 16-byte **chunks** in the order of the curve;
//! exchanging lanes between two chunks gives 32 contiguous bytes of either column. The number of
//! rows that makes the chunks contiguous depends on the element size:
//!
//! | bytes | elements a column | rows | chunk |
//! | --- | --- | --- | --- |
//! | 1 | 16 | 8 | 4×4 |
//! | 2 | 8 | 4 | 4×2 |
//! | 4 | 4 | 4 | 2×2 |
//! | 8 | 2 | 4 | 2×1 (pairs of rows are contiguous) |
//! | 16 | 1 | 2 | 1×1 (both columns together are contiguous) |
//!
//! The u-interleaved curve uses x ^ y where Morton order uses x. Within a column that permutes a
//! row's elements; between columns it exchanges whole columns. `TWIST` selects it.
//!
//! Both directions traverse a rectangle in one of two ways. If it fits the caches, bricks are
//! copied row by row from left to right, which keeps the linear side in a few long streams that the
//! hardware prefetcher follows. If not (`prefetch`), it is copied in **groups** of whole tiles,
//! each group row by row, while the next group is prefetched into the second-level cache, each side
//! in the order of its memory. The destination is prefetched too: a store to a cached line
//! completes at once, while non-temporal stores wait for one of the few write-combining buffers and
//! measured slower.

mod kernels;

use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};

use crate::job::Job;
use crate::plane::{Order, Plane, Rect, spread};
use kernels::{B1, B2, B4, B8, B16, Kernel};

/// Whether these kernels support the plane on this processor.
pub(crate) fn available(plane: &Plane) -> bool {
    let Some((columns, rows)) = brick(plane.element_B) else { return false };
    // The two columns of a brick may lie in different tiles.
    (1 << plane.log2_tile_w) >= columns / 2
        && (1 << plane.log2_tile_h) >= rows
        && is_x86_feature_detected!("avx2")
}

/// Width and height of a brick in elements (the table above).
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

/// Copies `rect`: whole bricks by kernel, the edges by element.
///
/// # Safety
///
/// As for [`crate::scalar::copy`], with [`available`] true of the plane.
pub(crate) unsafe fn copy<const TILE: bool>(job: &Job, rect: Rect, prefetch: bool) {
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
        match job.plane.order {
            Order::Raster | Order::Bits(_) => {}
            Order::Morton => dispatch::<TILE, false>(&job, inner, prefetch),
            Order::UInterleaved => dispatch::<TILE, true>(&job, inner, prefetch),
        }
    }
}

unsafe fn dispatch<const TILE: bool, const TWIST: bool>(job: &Job, rect: Rect, prefetch: bool) {
    // SAFETY: the caller's promise is that of each branch.
    unsafe {
        match job.plane.element_B {
            // Eight rows give whole cache lines of the tiled side.
            1 => bricks::<B1, 8, TILE, TWIST>(job, rect, prefetch),
            2 => bricks::<B2, 4, TILE, TWIST>(job, rect, prefetch),
            4 => bricks::<B4, 4, TILE, TWIST>(job, rect, prefetch),
            8 => bricks::<B8, 4, TILE, TWIST>(job, rect, prefetch),
            16 => bricks::<B16, 2, TILE, TWIST>(job, rect, prefetch),
            _ => {}
        }
    }
}

/// Columns of 16 bytes in the widest tile: 256 elements of 16 bytes.
const MAX_COLUMNS: usize = 256;

/// Copies a rectangle of whole bricks; `prefetch` as in [`crate::job`].
///
/// # Safety
///
/// As for [`copy`]; the processor has AVX2.
#[target_feature(enable = "avx2")]
unsafe fn bricks<K: Kernel<R>, const R: usize, const TILE: bool, const TWIST: bool>(
    job: &Job,
    rect: Rect,
    prefetch: bool,
) {
    let plane = &job.plane;
    let (tile_w, tile_h) = (1u32 << plane.log2_tile_w, 1u32 << plane.log2_tile_h);
    let column_el = 16 / plane.element_B;
    let tile_B = plane.tile_B();

    // Offsets of the columns of a tile.
    let log2_columns = (tile_w / column_el).ilog2();
    let mut column_B = [0u32; MAX_COLUMNS];
    let column_B = &mut column_B[..1 << log2_columns];
    for (i, at) in (0..).zip(&mut *column_B) {
        *at = spread(i * column_el) * plane.element_B;
    }
    let column_mask = column_B.len() - 1;

    let (c0, c1) = ((rect.x / column_el) as usize, ((rect.x + rect.w) / column_el) as usize);
    let y_end = rect.y + rect.h;

    // Copies the bricks of columns `first..last` whose first row is `y`.
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
                    K::tile::<TWIST>(linear, job.stride_B, y_in_tile, left, right);
                } else {
                    K::detile::<TWIST>(linear, job.stride_B, y_in_tile, left, right);
                }
            }
        }
    };

    if !prefetch {
        for y in (rect.y..y_end).step_by(R) {
            strip(c0, c1, y);
        }
        return;
    }

    // Columns of a tile, at least those of a cache line.
    let span = column_B.len().max(4);
    let group_c = (GROUP_B / (16 * tile_h as usize)).clamp(64, 256).max(span);
    for tile_y in (rect.y / tile_h * tile_h..y_end).step_by(tile_h as usize) {
        let (top, bottom) = (tile_y.max(rect.y), (tile_y + tile_h).min(y_end));
        for group in (c0 / group_c * group_c..c1).step_by(group_c) {
            let end = (group + group_c).min(c1);
            let (next_c, next_y) = if end < c1 { (end, top) } else { (c0, bottom) };
            // Prefetch the next group, each side in the order of its memory. Prefetching past the
            // end of an image has no effect.
            let mut tiled = job
                .tiled
                .wrapping_add((next_y / tile_h) as usize * plane.tile_row_B)
                .wrapping_add((next_c >> log2_columns) * tile_B);
            let mut linear = job
                .linear
                .wrapping_add((next_y - rect.y) as usize * job.stride_B + (next_c - c0) * 16);
            let mut column = 0;
            for y in (top..bottom).step_by(R) {
                for first in (group..end).step_by(span) {
                    for _ in 0..span * R / 4 {
                        _mm_prefetch::<_MM_HINT_T1>(tiled.cast());
                        _mm_prefetch::<_MM_HINT_T1>(linear.cast());
                        (tiled, linear) = (tiled.wrapping_add(64), linear.wrapping_add(64));
                        column += 4;
                        if column == group_c {
                            column = 0;
                            linear = linear.wrapping_add(job.stride_B).wrapping_sub(group_c * 16);
                        }
                    }
                    strip(first.max(c0), (first + span).min(c1), y);
                }
            }
        }
    }
}

/// Bytes of a group on either side: copied while the next group is prefetched into the second-level
/// cache.
const GROUP_B: usize = 64 << 10;
