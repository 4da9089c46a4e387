//! [`tile`] and [`detile`]: check the arguments, divide the rectangle among threads, and split each
//! share into bricks and edges.

use crate::job::{Job, PREFETCH_B};
use crate::plane::{Order, Plane, Rect};

/// The threads that a copy may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Threads {
    /// The calling thread alone.
    #[default]
    One,
    /// All of rayon's threads, if the rectangle is large enough.
    All,
}

/// Error of a copy. Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CopyError {
    /// The rectangle exceeds the plane.
    #[error(
        "the rectangle {}x{} at ({}, {}) leaves the image of {}x{} elements",
        .rect.w, .rect.h, .rect.x, .rect.y, .width_el, .height_el
    )]
    RectOutside {
        /// The rectangle.
        rect: Rect,
        /// The plane's width.
        width_el: u32,
        /// The plane's height.
        height_el: u32,
    },
    /// Rows of the linear side overlap.
    #[error("a row stride of {stride_B} bytes; the rectangle's rows have {row_B}")]
    StrideTooSmall {
        /// The stride given.
        stride_B: usize,
        /// Bytes of a row.
        row_B: usize,
    },
    /// A buffer is too short.
    #[error("the {side} buffer has {have_B} bytes; the rectangle needs {need_B}")]
    BufferTooShort {
        /// `tiled` or `raster`.
        side: &'static str,
        /// Bytes given.
        have_B: usize,
        /// Bytes needed.
        need_B: usize,
    },
}

/// Copies `rect` from a linear image into the tiled plane. `linear` starts at the rectangle's top
/// left element; its rows are `stride_B` bytes apart. `tiled` starts at the plane's first tile.
pub fn tile(
    plane: &Plane,
    tiled: &mut [u8],
    linear: &[u8],
    stride_B: usize,
    rect: Rect,
    threads: Threads,
) -> Result<(), CopyError> {
    check(plane, tiled.len(), linear.len(), stride_B, rect)?;
    let job = Job {
        plane: *plane,
        tiled: tiled.as_mut_ptr(),
        linear: linear.as_ptr().cast_mut(),
        stride_B,
    };
    // SAFETY: `check` compared both slices with what the rectangle touches; they cannot overlap,
    // one being borrowed mutably; and `true` writes the tiled side only.
    unsafe { job.run::<true>(rect, threads) };
    Ok(())
}

/// Copies `rect` of the tiled plane into a linear image: the inverse of [`tile`].
pub fn detile(
    plane: &Plane,
    tiled: &[u8],
    linear: &mut [u8],
    stride_B: usize,
    rect: Rect,
    threads: Threads,
) -> Result<(), CopyError> {
    check(plane, tiled.len(), linear.len(), stride_B, rect)?;
    let job = Job {
        plane: *plane,
        tiled: tiled.as_ptr().cast_mut(),
        linear: linear.as_mut_ptr(),
        stride_B,
    };
    // SAFETY: as in `tile`; `false` writes the raster side only.
    unsafe { job.run::<false>(rect, threads) };
    Ok(())
}

fn check(
    plane: &Plane,
    tiled_B: usize,
    linear_B: usize,
    stride_B: usize,
    rect: Rect,
) -> Result<(), CopyError> {
    let inside = |start: u32, length: u32, end: u32| {
        start.checked_add(length).is_some_and(|last| last <= end)
    };
    if !inside(rect.x, rect.w, plane.width_el) || !inside(rect.y, rect.h, plane.height_el) {
        let Plane { width_el, height_el, .. } = *plane;
        return Err(CopyError::RectOutside { rect, width_el, height_el });
    }
    if rect.w == 0 || rect.h == 0 {
        return Ok(());
    }
    let row_B = rect.w as usize * plane.element_B as usize;
    if stride_B < row_B && rect.h > 1 {
        return Err(CopyError::StrideTooSmall { stride_B, row_B });
    }
    let raster_B = stride_B
        .checked_mul(rect.h as usize - 1)
        .and_then(|b| b.checked_add(row_B))
        .unwrap_or(usize::MAX);
    let needs = [
        ("raster", linear_B, raster_B),
        ("tiled", tiled_B, plane.bytes_up_to(rect.x + rect.w, rect.y + rect.h)),
    ];
    for (side, have_B, need_B) in needs {
        if have_B < need_B {
            return Err(CopyError::BufferTooShort { side, have_B, need_B });
        }
    }
    Ok(())
}

/// Smallest copy, in bytes, for which starting threads pays.
const PARALLEL_B: usize = 1 << 20;

impl Job {
    /// # Safety
    ///
    /// As for [`scalar::copy`].
    unsafe fn run<const TILE: bool>(&self, rect: Rect, threads: Threads) {
        if rect.w == 0 || rect.h == 0 {
            return;
        }
        let bytes = rect.w as usize * rect.h as usize * self.plane.element_B as usize;
        let prefetch = bytes >= PREFETCH_B;
        if threads == Threads::One || bytes < PARALLEL_B {
            // SAFETY: the caller's promise.
            unsafe { self.serial::<TILE>(rect, rect, prefetch) };
            return;
        }
        // A row of single-element tiles would be too little work for a task.
        let tile_h = (1u32 << self.plane.log2_tile_h).max(64);
        let first = rect.y / tile_h;
        let last = (rect.y + rect.h).div_ceil(tile_h);
        rayon::scope(|scope| {
            for tile_row in first..last {
                let y = rect.y.max(tile_row * tile_h);
                let end = (rect.y + rect.h).min((tile_row + 1) * tile_h);
                let part = Rect { y, h: end - y, ..rect };
                // SAFETY: the caller's promise holds for a part of the rectangle; other threads
                // touch other rows of tiles.
                scope.spawn(move |_| unsafe { self.serial::<TILE>(rect, part, prefetch) });
            }
        });
    }

    /// Copies `part` of `rect`.
    ///
    /// # Safety
    ///
    /// As for [`scalar::copy`].
    unsafe fn serial<const TILE: bool>(&self, rect: Rect, part: Rect, prefetch: bool) {
        let skip_B = (part.y - rect.y) as usize * self.stride_B
            + (part.x - rect.x) as usize * self.plane.element_B as usize;
        // SAFETY: `part` lies inside `rect`, so that `linear` moves to an element of it; the rest
        // is the caller's promise.
        unsafe {
            let job = Job { linear: self.linear.add(skip_B), ..*self };
            if job.plane.order == Order::Raster {
                job.rows::<TILE>(part);
                return;
            }
            if let Order::Bits(bits) = job.plane.order {
                crate::runs::copy::<TILE>(&job, bits, part);
                return;
            }
            #[cfg(target_arch = "x86_64")]
            if crate::avx2::available(&job.plane) {
                crate::avx2::copy::<TILE>(&job, part, prefetch);
                return;
            }
            let _ = prefetch;
            job.scalar::<TILE>(part, part);
        }
    }
}
