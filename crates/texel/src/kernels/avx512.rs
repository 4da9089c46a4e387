//! What loops over lanes do not become on hosts with AVX-512: tables in registers.

use std::arch::x86_64::*;

use crate::{Floats, Row};

/// Entries of a table in a vector register.
const ENTRIES: usize = 16;

/// The values of bytes of words in a table.
///
/// The table is sixteen registers. A permutation of two of them looks up five bits of a byte; the other three
/// bits choose among the eight results.
///
/// # Safety
/// The host must have AVX-512F.
#[inline]
#[target_feature(enable = "avx512f")]
pub unsafe fn look_up<const N: usize>(
    table: &[f32; 256],
    words: &Row<N>,
    shift: u32,
    out: &mut Floats<N>,
) {
    // SAFETY: registers are inside of the table.
    let register = |k: usize| unsafe { _mm512_loadu_ps(table.as_ptr().add(ENTRIES * k)) };
    let registers: [__m512; 16] = std::array::from_fn(register);
    let places = words.as_chunks::<ENTRIES>().0.iter().zip(out.as_chunks_mut::<ENTRIES>().0);
    for (words, out) in places {
        // SAFETY: sixteen words.
        let words = unsafe { _mm512_loadu_si512(words.as_ptr().cast()) };
        let bytes = _mm512_srl_epi32(words, _mm_cvtsi32_si128(shift as i32));
        let bit = |n: i32| _mm512_test_epi32_mask(bytes, _mm512_set1_epi32(1 << n));
        let pair = |k: usize| _mm512_permutex2var_ps(registers[2 * k], bytes, registers[2 * k + 1]);
        let two = |k: usize| _mm512_mask_blend_ps(bit(5), pair(2 * k), pair(2 * k + 1));
        let four = |k: usize| _mm512_mask_blend_ps(bit(6), two(2 * k), two(2 * k + 1));
        let values = _mm512_mask_blend_ps(bit(7), four(0), four(1));
        // SAFETY: sixteen floats.
        unsafe { _mm512_storeu_ps(out.as_mut_ptr(), values) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_finds_its_value() {
        if !is_x86_feature_detected!("avx512f") {
            return;
        }
        let table: [f32; 256] = std::array::from_fn(|n| n as f32 * 1.5 - 7.0);
        for start in (0..256u32).step_by(32) {
            for shift in [0, 8, 16, 24] {
                let byte = |i: usize| (start + i as u32).wrapping_mul(97) & 0xff;
                let words: Row<32> =
                    std::array::from_fn(|i| byte(i) << shift | !(0xff << shift) & 0x5a3c_965f);
                let mut out = [0.0; 32];
                // SAFETY: the host has AVX-512F.
                unsafe { look_up(&table, &words, shift, &mut out) };
                assert_eq!(out, std::array::from_fn(|i| table[byte(i) as usize]), "{shift}");
            }
        }
    }
}
