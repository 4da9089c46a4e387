//! Rows of registers.
//!
//! A row is one 32-bit register of all 32 lanes, contiguous, so that an instruction is a loop over
//! two or three rows that the compiler vectorises. A 16-bit register is the low or high half of
//! each lane of a row, a 64-bit register two rows.

pub use tepui_agx_chips::LANES;

/// One 32-bit value for each lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Row(pub [u32; LANES]);

impl Row {
    /// All lanes zero.
    pub const ZERO: Row = Row([0; LANES]);

    /// A row with one value in all lanes.
    pub const fn splat(value: u32) -> Row {
        Row([value; LANES])
    }

    /// The lanes whose top bit is set.
    #[inline(always)]
    pub fn bits(&self) -> u32 {
        top_bits(&self.0)
    }

    /// All bits in the lanes of `mask`, none elsewhere.
    #[inline(always)]
    pub fn mask(mask: u32) -> Row {
        if mask == u32::MAX {
            return Row::splat(u32::MAX);
        }
        let mut row = Row::ZERO;
        for (lane, value) in row.0.iter_mut().enumerate() {
            // By comparison: shifts of each lane by another amount are no vector code on older
            // hosts.
            *value = if mask & 1 << lane != 0 { u32::MAX } else { 0 };
        }
        row
    }
}

pub use tepui_softgpu::top_bits;

/// The number of each lane.
pub static NUMBERS: Row = {
    let mut row = Row::ZERO;
    let mut i = 0;
    while i < LANES {
        row.0[i] = i as u32;
        i += 1;
    }
    row
};

/// Calls `lane` for all lanes of each half of the row that has active lanes: in divergent code
/// often only one half does. Two loops of fixed length, so that the compiler vectorises each.
#[inline(always)]
pub fn each_busy(exec: u32, mut lane: impl FnMut(usize)) {
    if exec & 0xffff != 0 {
        for i in 0..LANES / 2 {
            lane(i);
        }
    }
    if exec >> 16 != 0 {
        for i in LANES / 2..LANES {
            lane(i);
        }
    }
}
