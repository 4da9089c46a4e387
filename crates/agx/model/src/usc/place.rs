//! The position of a SIMD-group in the grid.

use crate::usc::row::{NUMBERS, Row};

/// The position of a SIMD-group in the grid, as special registers return it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// Workgroup in the grid.
    pub group: [u32; 3],
    /// Threads of a workgroup in each direction.
    pub local_size: [u32; 3],
    /// Threads of the grid in each direction.
    pub grid: [u32; 3],
    /// Index in the workgroup of lane 0.
    pub first_thread: u32,
    /// SIMD-group in the workgroup.
    pub index: u32,
}

impl Place {
    /// Threads of this workgroup in a direction: fewer than `local_size` at the end of a grid that
    /// is no multiple of it.
    pub fn threads_here(&self, axis: usize) -> u32 {
        let start = self.group[axis].wrapping_mul(self.local_size[axis]);
        self.local_size[axis].min(self.grid[axis].saturating_sub(start))
    }

    /// Position in the workgroup of a lane.
    #[inline(always)]
    pub fn thread_in_group(&self, lane: usize) -> [u32; 3] {
        let [x, y, _] = self.local_size.map(|n| n.max(1));
        let index = self.first_thread + lane as u32;
        [index % x, index / x % y, index / x / y]
    }
}

/// A row of zeros, for positions that a stage does not have.
static ZERO: Row = Row::ZERO;

/// The values of special registers for a [`Place`], as rows and words that translated code can
/// read.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    /// Position of each lane's thread in the workgroup, one row for each axis.
    pub in_group: [*const Row; 3],
    /// The position in the grid, less `origin`.
    pub in_grid: [*const Row; 3],
    /// Position in the grid of the workgroup's first thread.
    pub origin: [u32; 3],
    /// Workgroup in the grid; in programs of pixels and tiles, the last is the layer.
    pub workgroup: [u32; 3],
    /// Threads of this workgroup in each direction.
    pub threads_here: [u32; 3],
}

impl Position {
    /// For a group with the positions `threads` in its workgroup.
    pub fn new(place: &Place, threads: &[Row; 3]) -> Position {
        let in_group = std::array::from_fn(|a| &raw const threads[a]);
        Position {
            in_group,
            in_grid: in_group,
            origin: std::array::from_fn(|a| place.group[a].wrapping_mul(place.local_size[a])),
            workgroup: place.group,
            threads_here: std::array::from_fn(|a| place.threads_here(a)),
        }
    }

    /// For a group without a workgroup, which may have any third coordinate.
    pub fn alone(place: &Place) -> Position {
        let rows: [*const Row; 3] = [&raw const ZERO, &raw const ZERO, &raw const NUMBERS];
        Position {
            in_group: rows,
            in_grid: rows,
            origin: [0; 3],
            workgroup: place.group,
            threads_here: std::array::from_fn(|a| place.threads_here(a)),
        }
    }
}
