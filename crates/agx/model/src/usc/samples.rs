//! Samples in operands: places of interpolation, and special registers that say which samples there are.

/// Positions of interpolation. source: agx_opcodes.py, INTERPOLATION
pub mod place {
    /// At the centre of the pixel.
    pub const CENTRE: u16 = 0;
    /// At a sample.
    pub const SAMPLE: u16 = 1;
    /// Somewhere in the covered part of the pixel.
    pub const CENTROID: u16 = 2;
    /// At a sample whose number is in a register.
    pub const SAMPLE_REGISTER: u16 = 3;
}

/// Special register that says which samples are left.
pub const LIVE_SAMPLES: u16 = 60;
/// Special register that says whether a sample is left.
pub const IS_LIVE: u16 = 63;
/// Special register that says which samples are covered.
pub const COVERED_SAMPLES: u16 = 124;

/// Whether a special register of fragment programs says which samples are covered, or which are left.
pub fn tells_samples(number: u16) -> bool {
    matches!(number, LIVE_SAMPLES | IS_LIVE | COVERED_SAMPLES)
}
