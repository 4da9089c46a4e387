//! Operations on the lanes of a SIMD-group.

/// Bit mask of the top bits of up to 32 values; their number is a multiple of four.
#[inline(always)]
pub fn top_bits<const N: usize>(values: &[u32; N]) -> u32 {
    const { assert!(N <= 32 && N.is_multiple_of(4)) };
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_mm_loadu_ps, _mm_movemask_ps};
        let mut bits = 0;
        for (i, four) in values.chunks_exact(4).enumerate() {
            // SAFETY: SSE is part of x86-64; these are 16 bytes.
            let part = unsafe { _mm_movemask_ps(_mm_loadu_ps(four.as_ptr().cast())) };
            bits |= (part as u32) << (4 * i);
        }
        bits
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        values.iter().enumerate().fold(0, |bits, (i, v)| bits | (v >> 31) << i)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lane_has_its_bit() {
        let mut values = [0x7fff_ffff; 32];
        for lane in [0, 3, 4, 17, 31] {
            values[lane] |= 1 << 31;
        }
        assert_eq!(top_bits(&values), 1 | 1 << 3 | 1 << 4 | 1 << 17 | 1 << 31);
        assert_eq!(top_bits(&[1 << 31, 0, 0, u32::MAX]), 0b1001);
    }
}
