//! Counters of executed work.

use std::ops::AddAssign;

/// Instructions, and the cycles of the arithmetic units that they take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Instructions, each once a SIMD-group.
    pub instructions: u64,
    /// Cycles of the float, select, compare, integer and bit unit.
    pub fscib: u64,
    /// Cycles of the unit for multiplication, shifts and special functions.
    pub ic: u64,
}

impl AddAssign for Counts {
    #[inline]
    fn add_assign(&mut self, other: Counts) {
        self.instructions += other.instructions;
        self.fscib += other.fscib;
        self.ic += other.ic;
    }
}
