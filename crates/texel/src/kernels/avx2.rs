//! AVX2 gathers of words that are apart in memory, which compilers do not vectorise.
//!
//! In a loop, each word would be written to its lane of a row. Store forwarding makes a load of the
//! whole row wait until the last of these stores is done; here whole rows are written.

use std::arch::x86_64::*;

use tepui_layout::morton::spread;

use crate::{Floats, Row};

/// The eight lanes of a part of a row.
///
/// # Safety
/// The host must have AVX2; `part` must be less than `N / 8`.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load<const N: usize>(row: &Row<N>, part: usize) -> __m256i {
    // SAFETY: the caller's promise: the part is inside of the row.
    unsafe { _mm256_loadu_si256(row.as_ptr().add(8 * part).cast()) }
}

/// The values of bytes of words in a table.
///
/// # Safety
/// The host must have AVX2.
#[inline]
#[target_feature(enable = "avx2")]
pub unsafe fn look_up<const N: usize>(
    table: &[f32; 256],
    words: &Row<N>,
    shift: u32,
    out: &mut Floats<N>,
) {
    // Not by the host's gathers, which are slower than single loads on some.
    for (words, out) in words.as_chunks::<8>().0.iter().zip(out.as_chunks_mut::<8>().0) {
        let v = |i: usize| table[(words[i] >> shift & 0xff) as usize];
        let values = _mm256_setr_ps(v(0), v(1), v(2), v(3), v(4), v(5), v(6), v(7));
        // SAFETY: eight floats.
        unsafe { _mm256_storeu_ps(out.as_mut_ptr(), values) };
    }
}

/// The words at offsets in bytes, of those parts of eight lanes that have one in `exec`.
///
/// # Safety
/// The host must have AVX2, and `host` must be valid for reads of four bytes at each offset.
#[inline]
#[target_feature(enable = "avx2")]
pub unsafe fn gather<const N: usize>(
    host: *const u8,
    offsets: &Row<N>,
    exec: u32,
    out: &mut Row<N>,
) {
    let parts = offsets.as_chunks::<8>().0.iter().zip(out.as_chunks_mut::<8>().0);
    for (part, (offsets, out)) in parts.enumerate() {
        if exec >> (8 * part) & 0xff == 0 {
            continue;
        }
        // SAFETY: the caller's promise.
        let v = |i: usize| unsafe { host.add(offsets[i] as usize).cast::<i32>().read_unaligned() };
        let words = _mm256_setr_epi32(v(0), v(1), v(2), v(3), v(4), v(5), v(6), v(7));
        // SAFETY: eight words.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), words) };
    }
}

/// The words of a line of a tile in Morton order, of which pairs lie side by side.
///
/// # Safety
/// The host must have AVX2, and `from` must be valid for reads of the line's words.
#[inline]
#[target_feature(enable = "avx2")]
pub unsafe fn line<const N: usize>(from: *const u32, out: &mut Row<N>) {
    for part in 0..N / 8 {
        let first = spread(8 * part as u32) as usize;
        // SAFETY: the caller's promise; the numbers are those of columns 2, 4 and 6.
        unsafe {
            let pair = |k: usize| _mm_loadl_epi64(from.add(first + k).cast());
            let left = _mm_unpacklo_epi64(pair(0), pair(4));
            let right = _mm_unpacklo_epi64(pair(16), pair(20));
            let eight = _mm256_set_m128i(right, left);
            _mm256_storeu_si256(out.as_mut_ptr().add(8 * part).cast(), eight);
        }
    }
}

/// Adds a number to the lanes whose offset is a given one, and returns these lanes.
///
/// # Safety
/// The host must have AVX2.
#[inline]
#[target_feature(enable = "avx2")]
pub unsafe fn add_where<const N: usize>(
    offsets: &Row<N>,
    offset: u32,
    number: u32,
    to: &mut Row<N>,
) -> u32 {
    let offset = _mm256_set1_epi32(offset as i32);
    let number = _mm256_set1_epi32(number as i32);
    let mut lanes = 0;
    for part in 0..N / 8 {
        // SAFETY: parts are inside of rows.
        unsafe {
            let same = _mm256_cmpeq_epi32(load(offsets, part), offset);
            let sum = _mm256_add_epi32(load(to, part), _mm256_and_si256(same, number));
            _mm256_storeu_si256(to.as_mut_ptr().add(8 * part).cast(), sum);
            lanes |= (_mm256_movemask_ps(_mm256_castsi256_ps(same)) as u32) << (8 * part);
        }
    }
    lanes
}

/// Whether lanes stand side by side in one line.
///
/// # Safety
/// The host must have AVX2.
#[inline]
#[target_feature(enable = "avx2")]
pub unsafe fn follow<const N: usize>([x, y]: [&Row<N>; 2]) -> bool {
    let [x0, y0] = [x, y].map(|row| _mm256_set1_epi32(row[0] as i32));
    let mut expected = _mm256_add_epi32(x0, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    let mut apart = _mm256_setzero_si256();
    for part in 0..N / 8 {
        // SAFETY: parts are inside of rows.
        let (x, y) = unsafe { (load(x, part), load(y, part)) };
        apart = _mm256_or_si256(apart, _mm256_xor_si256(x, expected));
        apart = _mm256_or_si256(apart, _mm256_xor_si256(y, y0));
        expected = _mm256_add_epi32(expected, _mm256_set1_epi32(8));
    }
    _mm256_testz_si256(apart, apart) != 0
}
