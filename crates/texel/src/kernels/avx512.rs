//! Gathers, table lookups and comparisons in AVX-512 registers, which compilers do not vectorise.

use std::arch::x86_64::*;

use crate::{Floats, Row};

/// Entries of a table in a vector register.
const ENTRIES: usize = 16;

/// A table of a value for each byte, in registers.
struct Table([__m512; 16]);

impl Table {
    /// # Safety
    /// The host must have AVX-512F.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn new(table: &[f32; 256]) -> Table {
        // SAFETY: registers are inside of the table.
        let register = |k: usize| unsafe { _mm512_loadu_ps(table.as_ptr().add(ENTRIES * k)) };
        // One by one, not by `from_fn`: that is not compiled for these hosts, and calls the closure.
        Table([
            register(0),
            register(1),
            register(2),
            register(3),
            register(4),
            register(5),
            register(6),
            register(7),
            register(8),
            register(9),
            register(10),
            register(11),
            register(12),
            register(13),
            register(14),
            register(15),
        ])
    }

    /// The values of bytes: a permutation of two registers looks up five bits of a byte, the other three bits choose
    /// among the eight results.
    ///
    /// # Safety
    /// The host must have AVX-512F.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn values(&self, bytes: __m512i) -> __m512 {
        let bit = |n: i32| _mm512_test_epi32_mask(bytes, _mm512_set1_epi32(1 << n));
        let pair = |k: usize| _mm512_permutex2var_ps(self.0[2 * k], bytes, self.0[2 * k + 1]);
        let two = |k: usize| _mm512_mask_blend_ps(bit(5), pair(2 * k), pair(2 * k + 1));
        let four = |k: usize| _mm512_mask_blend_ps(bit(6), two(2 * k), two(2 * k + 1));
        _mm512_mask_blend_ps(bit(7), four(0), four(1))
    }
}

/// The values of bytes of words in a table.
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
    // SAFETY: the caller's promise.
    let table = unsafe { Table::new(table) };
    let places = words.as_chunks::<ENTRIES>().0.iter().zip(out.as_chunks_mut::<ENTRIES>().0);
    for (words, out) in places {
        // SAFETY: sixteen words, and sixteen floats.
        unsafe {
            let words = _mm512_loadu_si512(words.as_ptr().cast());
            let words = _mm512_srl_epi32(words, _mm_cvtsi32_si128(shift as i32));
            _mm512_storeu_ps(out.as_mut_ptr(), table.values(words));
        }
    }
}

/// Adds the weighted values of bytes of each of four words: those of the first three channels in a table, those of the fourth as
/// they are. `shift` are the places of channels, of which `wanted` has a bit for each that is added. A word without weight does
/// not count.
///
/// # Safety
/// The host must have AVX-512F.
#[inline]
#[target_feature(enable = "avx512f")]
pub unsafe fn add_texels<const N: usize>(
    table: &[f32; 256],
    words: [&Row<N>; 4],
    weight: &[Floats<N>; 4],
    shift: [u32; 4],
    wanted: u32,
    sum: &mut [Row<N>; 4],
) {
    // SAFETY: the caller's promise.
    let table = unsafe { Table::new(table) };
    for part in (0..N / ENTRIES).map(|part| ENTRIES * part) {
        // SAFETY: parts are inside of rows; the host is as the caller says.
        unsafe {
            let zero = _mm512_setzero_ps();
            let mut sums = [zero; 4];
            for (sums, sum) in sums.iter_mut().zip(&*sum) {
                *sums = _mm512_loadu_ps(sum.as_ptr().add(part).cast());
            }
            for (words, weight) in words.iter().zip(weight) {
                let words = _mm512_loadu_si512(words.as_ptr().add(part).cast());
                let weight = _mm512_loadu_ps(weight.as_ptr().add(part));
                let counts = _mm512_cmp_ps_mask::<_CMP_NEQ_UQ>(weight, zero);
                for c in 0..4 {
                    if wanted >> c & 1 == 0 {
                        continue;
                    }
                    let bytes = _mm512_srl_epi32(words, _mm_cvtsi32_si128(shift[c] as i32));
                    let value = if c < 3 {
                        table.values(bytes)
                    } else {
                        _mm512_cvtepi32_ps(_mm512_and_si512(bytes, _mm512_set1_epi32(0xff)))
                    };
                    sums[c] = _mm512_add_ps(sums[c], _mm512_maskz_mul_ps(counts, weight, value));
                }
            }
            for (sums, sum) in sums.into_iter().zip(&mut *sum) {
                _mm512_storeu_ps(sum.as_mut_ptr().add(part).cast(), sums);
            }
        }
    }
}

/// The weighted sums of the four bytes of words, in their order in memory, and divided by a number unless that is 1, as
/// [`super::blend::byte_sums`] has them: products have 16 bits. Weights are multiples of `1 / one`, a power of two up to 256.
///
/// # Safety
/// The host must have AVX-512F and BW.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub unsafe fn byte_sums<const N: usize>(
    words: [&Row<N>; 4],
    weight: [&Floats<N>; 2],
    one: u32,
    divisor: f32,
    bytes: &mut [Row<N>; 4],
) {
    let shift = _mm_cvtsi32_si128(one.ilog2() as i32);
    let all = |value: f32| _mm512_set1_ps(value);
    let (scale, reciprocal) = (all(1.0 / (one * one) as f32), all(1.0 / divisor));
    // Sums of words without sign are taken of numbers with sign, which are lower by this.
    let sign = _mm512_set1_epi16(i16::MIN);
    let lower = all(32768.0 / one as f32);
    const UPPER: u32 = 0xaaaa_aaaa;
    for part in (0..N / ENTRIES).map(|part| ENTRIES * part) {
        // SAFETY: parts are inside of rows.
        let load = |row: &Row<N>| unsafe { _mm512_loadu_si512(row.as_ptr().add(part).cast()) };
        let words = [load(words[0]), load(words[1]), load(words[2]), load(words[3])];
        let whole = |weight: &Floats<N>| {
            // SAFETY: as before.
            let weight = unsafe { _mm512_loadu_ps(weight.as_ptr().add(part)) };
            _mm512_cvttps_epi32(_mm512_mul_ps(weight, all(one as f32)))
        };
        let (x, y) = (whole(weight[0]), whole(weight[1]));
        let x = _mm512_or_si512(x, _mm512_slli_epi32::<16>(x));
        let above = _mm512_sub_epi32(_mm512_set1_epi32(one as i32), y);
        let y = _mm512_or_si512(above, _mm512_slli_epi32::<16>(y));
        for plane in 0..2 {
            // Two bytes of each word, 16 bits apart.
            let two = |word: __m512i| match plane {
                0 => _mm512_and_si512(word, _mm512_set1_epi16(0xff)),
                _ => _mm512_srli_epi16::<8>(word),
            };
            let between = |a: __m512i, b: __m512i| {
                let (a, b) = (two(a), two(b));
                let moved = _mm512_mullo_epi16(_mm512_sub_epi16(b, a), x);
                _mm512_xor_si512(_mm512_add_epi16(_mm512_sll_epi16(a, shift), moved), sign)
            };
            let (top, bottom) = (between(words[0], words[1]), between(words[2], words[3]));
            let low = _mm512_mask_blend_epi16(UPPER, top, _mm512_slli_epi32::<16>(bottom));
            let high = _mm512_mask_blend_epi16(UPPER, _mm512_srli_epi32::<16>(top), bottom);
            for (row, pair) in [(plane, low), (plane + 2, high)] {
                let sum = _mm512_cvtepi32_ps(_mm512_madd_epi16(pair, y));
                let mut value = _mm512_fmadd_ps(sum, scale, lower);
                if divisor != 1.0 {
                    let near = _mm512_mul_ps(value, reciprocal);
                    let rest = _mm512_fnmadd_ps(near, all(divisor), value);
                    value = _mm512_fmadd_ps(rest, reciprocal, near);
                }
                // SAFETY: as before.
                unsafe { _mm512_storeu_ps(bytes[row].as_mut_ptr().add(part).cast(), value) };
            }
        }
    }
}

/// The words at offsets in bytes, of those parts of sixteen lanes that have one in `exec`, as [`super::avx2::gather`] does:
/// what reads them next has vectors of sixteen, which two stores of eight would make wait.
///
/// # Safety
/// The host must have AVX-512F, and `host` must be valid for reads of four bytes at each offset.
#[inline]
#[target_feature(enable = "avx512f")]
pub unsafe fn gather<const N: usize>(
    host: *const u8,
    offsets: &Row<N>,
    exec: u32,
    out: &mut Row<N>,
) {
    let parts = offsets.as_chunks::<ENTRIES>().0.iter().zip(out.as_chunks_mut::<ENTRIES>().0);
    for (part, (offsets, out)) in parts.enumerate() {
        if exec >> (ENTRIES * part) & 0xffff == 0 {
            continue;
        }
        // SAFETY: the caller's promise.
        let v = |i: usize| unsafe { host.add(offsets[i] as usize).cast::<i32>().read_unaligned() };
        let low = _mm256_setr_epi32(v(0), v(1), v(2), v(3), v(4), v(5), v(6), v(7));
        let high = _mm256_setr_epi32(v(8), v(9), v(10), v(11), v(12), v(13), v(14), v(15));
        let words = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high);
        // SAFETY: sixteen words.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), words) };
    }
}

/// Adds entries of a table to lanes; `numbers` are theirs, modulo the length of the table.
///
/// # Safety
/// The host must have AVX-512F.
#[inline]
#[target_feature(enable = "avx512f")]
pub unsafe fn add_entries<const N: usize>(
    table: &[u32; ENTRIES],
    numbers: &Row<N>,
    to: &mut Row<N>,
) {
    // SAFETY: the table is a register.
    let table = unsafe { _mm512_loadu_si512(table.as_ptr().cast()) };
    let parts = numbers.as_chunks::<ENTRIES>().0.iter().zip(to.as_chunks_mut::<ENTRIES>().0);
    for (numbers, to) in parts {
        // SAFETY: sixteen words each.
        unsafe {
            let numbers = _mm512_loadu_si512(numbers.as_ptr().cast());
            let entries = _mm512_permutexvar_epi32(numbers, table);
            let sum = _mm512_add_epi32(_mm512_loadu_si512(to.as_ptr().cast()), entries);
            _mm512_storeu_si512(to.as_mut_ptr().cast(), sum);
        }
    }
}

/// Adds the number that `place` gives for an offset to the lanes of `exec` that have it, for each of four rows, which stay in registers.
/// Returns false when `place` has none.
///
/// # Safety
/// The host must have AVX-512F.
#[inline]
#[target_feature(enable = "avx512f")]
pub unsafe fn add_places<const N: usize>(
    offsets: &[Row<N>; 4],
    exec: u32,
    mut place: impl FnMut(u32) -> Option<u32>,
    places: &mut [Row<N>; 4],
) -> bool {
    const { assert!(N == 16 || N == 32) };
    let parts = N / ENTRIES;
    let zero = _mm512_setzero_si512();
    let (mut from, mut to) = ([[zero; 2]; 4], [[zero; 2]; 4]);
    for k in 0..4 {
        for part in 0..parts {
            // SAFETY: parts are inside of rows.
            unsafe {
                from[k][part] = _mm512_loadu_si512(offsets[k].as_ptr().add(ENTRIES * part).cast());
                to[k][part] = _mm512_loadu_si512(places[k].as_ptr().add(ENTRIES * part).cast());
            }
        }
    }
    // Lanes of the first two rows, and of the others.
    let mut left = [u64::from(exec) | u64::from(exec) << 32; 2];
    while left[0] | left[1] != 0 {
        let half = usize::from(left[0] == 0);
        let bit = left[half].trailing_zeros() as usize;
        let offset = offsets[2 * half + bit / 32][bit % 32 % N];
        let Some(number) = place(offset) else { return false };
        let (offset, number) = (_mm512_set1_epi32(offset as i32), _mm512_set1_epi32(number as i32));
        for k in 0..4 {
            for part in 0..parts {
                let same = _mm512_cmpeq_epi32_mask(from[k][part], offset);
                to[k][part] = _mm512_mask_add_epi32(to[k][part], same, to[k][part], number);
                left[k / 2] &= !(u64::from(same) << (32 * (k % 2) + ENTRIES * part));
            }
        }
    }
    for k in 0..4 {
        for part in 0..parts {
            // SAFETY: as before.
            unsafe {
                let at = places[k].as_mut_ptr().add(ENTRIES * part).cast();
                _mm512_storeu_si512(at, to[k][part]);
            }
        }
    }
    true
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

    #[test]
    fn sums_of_bytes_are_those_of_floats() {
        if !is_x86_feature_detected!("avx512f") {
            return;
        }
        let table: [f32; 256] = std::array::from_fn(|n| (n as f32 / 255.0).powf(2.2));
        let word = |k: usize, i: usize| (k as u32 * 977 + i as u32 * 131).wrapping_mul(0x9e37_79b9);
        let words: [Row<32>; 4] = std::array::from_fn(|k| std::array::from_fn(|i| word(k, i)));
        let weight: [Floats<32>; 4] =
            std::array::from_fn(|k| std::array::from_fn(|i| ((i + k) % 5) as f32 / 4.0));
        for wanted in [0b1111, 0b0101, 0b1000] {
            let first: [Row<32>; 4] =
                std::array::from_fn(|c| std::array::from_fn(|i| ((i + c) as f32 / 7.0).to_bits()));
            let (mut sum, mut want) = (first, first);
            let shift = [16, 8, 0, 24];
            for c in (0..4).filter(|c| wanted >> c & 1 != 0) {
                for k in 0..4 {
                    for (i, want) in want[c].iter_mut().enumerate() {
                        let byte = words[k][i] >> shift[c] & 0xff;
                        let value = if c < 3 { table[byte as usize] } else { byte as f32 };
                        *want = (f32::from_bits(*want) + weight[k][i] * value).to_bits();
                    }
                }
            }
            // SAFETY: the host has AVX-512F.
            unsafe { add_texels(&table, words.each_ref(), &weight, shift, wanted, &mut sum) };
            assert_eq!(sum, want);
        }
    }
}
