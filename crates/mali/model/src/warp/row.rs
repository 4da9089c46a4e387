//! Rows: one register of all lanes of a warp.

use half::f16;

/// Lanes of a warp.
pub const LANES: usize = 16;

/// All lanes, one bit each.
pub const ALL: u16 = u16::MAX;

/// A 32-bit value of each lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Row(pub [u32; LANES]);

impl Row {
    /// Replicates a value to all lanes.
    pub const fn splat(value: u32) -> Row {
        Row([value; LANES])
    }

    /// The other row in the lanes of a mask, this one in the others.
    #[inline(always)]
    pub fn choose(&self, mask: u16, other: &Row) -> Row {
        let mut out = *self;
        for (lane, (out, other)) in out.0.iter_mut().zip(&other.0).enumerate() {
            let chosen = (u32::from(mask) >> lane & 1).wrapping_neg();
            *out ^= (*out ^ other) & chosen;
        }
        out
    }

    /// The row with `f` applied to each lane.
    #[inline(always)]
    pub fn map(&self, f: impl Fn(u32) -> u32) -> Row {
        let mut out = *self;
        for lane in &mut out.0 {
            *lane = f(*lane);
        }
        out
    }
}

/// Combines two rows to 64-bit values.
#[inline(always)]
pub fn wide(low: &Row, high: &Row) -> [u64; LANES] {
    std::array::from_fn(|i| u64::from(low.0[i]) | u64::from(high.0[i]) << 32)
}

/// The two halves of a word.
#[inline(always)]
pub fn halves(word: u32) -> [u16; 2] {
    [word as u16, (word >> 16) as u16]
}

/// A word of two halves.
#[inline(always)]
pub fn join(halves: [u16; 2]) -> u32 {
    u32::from(halves[0]) | u32::from(halves[1]) << 16
}

/// The value of a half-float.
#[inline(always)]
pub fn float16(bits: u16) -> f32 {
    f16::from_bits(bits).to_f32()
}

/// The lanes of a mask, by number.
#[inline(always)]
pub fn numbers(mask: u16) -> impl Iterator<Item = usize> {
    let mut mask = mask;
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros() as usize;
        (mask != 0).then(|| {
            mask &= mask - 1;
            lane
        })
    })
}
