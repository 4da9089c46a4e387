//! A checked copy between a tiled plane and a linear image, and its loops without vector
//! instructions.

use crate::plane::{Plane, Rect};
use crate::scalar;

/// A checked copy. `linear` points to the top left element of the rectangle that `run` gets.
#[derive(Clone, Copy)]
pub(crate) struct Job {
    pub(crate) plane: Plane,
    pub(crate) tiled: *mut u8,
    pub(crate) linear: *mut u8,
    pub(crate) stride_B: usize,
}

// SAFETY: threads get disjoint rows of tiles, which are disjoint bytes on either side.
unsafe impl Send for Job {}
// SAFETY: as above.
unsafe impl Sync for Job {}

/// Smallest copy, in bytes, that prefetches: source and destination then come from memory rather
/// than from the caches.
pub(crate) const PREFETCH_B: usize = 8 << 20;

impl Job {
    /// Copies the rows of a plane without tiles.
    ///
    /// # Safety
    ///
    /// As for [`scalar::copy`].
    pub(crate) unsafe fn rows<const TILE: bool>(&self, rect: Rect) {
        let row_B = rect.w as usize * self.plane.element_B as usize;
        for y in 0..rect.h {
            // SAFETY: both are rows of the rectangle.
            unsafe {
                let tiled = self.tiled.add(self.plane.offset_B(rect.x, rect.y + y));
                let linear = self.linear.add(y as usize * self.stride_B);
                let (to, from) = if TILE { (tiled, linear) } else { (linear, tiled) };
                std::ptr::copy_nonoverlapping(from, to, row_B);
            }
        }
    }

    /// Copies `part` of `rect` one element at a time.
    ///
    /// # Safety
    ///
    /// As for [`scalar::copy`].
    pub(crate) unsafe fn scalar<const TILE: bool>(&self, rect: Rect, part: Rect) {
        if part.w == 0 || part.h == 0 {
            return;
        }
        let skip_B = (part.y - rect.y) as usize * self.stride_B
            + (part.x - rect.x) as usize * self.plane.element_B as usize;
        // SAFETY: as in `serial`.
        unsafe {
            let linear = self.linear.add(skip_B);
            scalar::copy::<TILE>(&self.plane, self.tiled, linear, self.stride_B, part);
        }
    }
}
