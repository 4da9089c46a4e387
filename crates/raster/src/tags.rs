//! Tag buffer: for each sample of a tile, the opaque primitive that is visible there.
//!
//! A tile-based deferred renderer tests all opaque primitives before it shades any, and then shades the
//! samples that remain of each.

use crate::TILE_SIDE;

/// The tags of a tile's samples, of which a pixel has at most `MAX`. 0 is none.
pub struct Tags<const MAX: usize> {
    /// Tags by sample, row and column.
    tags: Box<[[[u16; TILE_SIDE]; TILE_SIDE]; MAX]>,
    /// First row that may have tags, and one past the last.
    rows: [usize; 2],
}

impl<const MAX: usize> Default for Tags<MAX> {
    fn default() -> Self {
        Tags { tags: Box::new([[[0; TILE_SIDE]; TILE_SIDE]; MAX]), rows: [TILE_SIDE, 0] }
    }
}

/// The bit of each of half the columns of a row.
const BITS: [u16; TILE_SIDE / 2] = {
    let mut bits = [0; TILE_SIDE / 2];
    let mut x = 0;
    while x < bits.len() {
        bits[x] = 1 << x;
        x += 1;
    }
    bits
};

impl<const MAX: usize> Tags<MAX> {
    /// Removes all tags.
    pub fn clear(&mut self) {
        let [first, end] = self.rows;
        if first < end {
            self.tags.iter_mut().for_each(|rows| rows[first..end].fill([0; TILE_SIDE]));
        }
        self.rows = [TILE_SIDE, 0];
    }

    /// Sets the tag of samples: those with a bit in rows `first` to `end - 1` of the first `count`
    /// samples.
    pub fn set(
        &mut self,
        tag: u16,
        [first, end]: [usize; 2],
        count: usize,
        bits: &[[u32; TILE_SIDE]; MAX],
    ) {
        self.rows = [self.rows[0].min(first), self.rows[1].max(end)];
        for (tags, bits) in self.tags.iter_mut().zip(bits).take(count) {
            let (tags, bits) = (&mut tags[first..end], &bits[first..end]);
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the host has AVX2.
                unsafe { set_wide(tag, tags, bits) };
                continue;
            }
            set_any(tag, tags, bits);
        }
    }

    /// The samples that have `tag` in rows `first` to `end - 1`. False if none has.
    pub fn left(
        &self,
        tag: u16,
        [first, end]: [usize; 2],
        count: usize,
        bits: &mut [[u32; TILE_SIDE]; MAX],
    ) -> bool {
        let mut any = 0;
        for (tags, bits) in self.tags.iter().zip(bits).take(count) {
            let (tags, bits) = (&tags[first..end], &mut bits[first..end]);
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the host has AVX2.
                any |= unsafe { left_wide(tag, tags, bits) };
                continue;
            }
            any |= left_any(tag, tags, bits);
        }
        any != 0
    }
}

fn set_any(tag: u16, tags: &mut [[u16; TILE_SIDE]], bits: &[u32]) {
    for (row, &bits) in tags.iter_mut().zip(bits) {
        let (low, high) = row.split_at_mut(TILE_SIDE / 2);
        for (part, bits) in [(low, bits as u16), (high, (bits >> 16) as u16)] {
            for (old, &bit) in part.iter_mut().zip(&BITS) {
                *old = if bits & bit == bit { tag } else { *old };
            }
        }
    }
}

/// Version of [`set_any`] for AVX2.
///
/// # Safety
/// The host must have AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn set_wide(tag: u16, tags: &mut [[u16; TILE_SIDE]], bits: &[u32]) {
    use std::arch::x86_64::{
        __m256i, _mm256_and_si256, _mm256_blendv_epi8, _mm256_cmpeq_epi16, _mm256_loadu_si256,
        _mm256_set1_epi16, _mm256_storeu_si256,
    };
    let tag = _mm256_set1_epi16(tag as i16);
    // SAFETY: `BITS` has sixteen numbers of 16 bits.
    let each = unsafe { _mm256_loadu_si256(BITS.as_ptr().cast::<__m256i>()) };
    for (row, &bits) in tags.iter_mut().zip(bits) {
        let mut first = 0;
        while first < TILE_SIDE {
            let half = (bits >> first) as u16;
            if half != 0 {
                let own = _mm256_and_si256(_mm256_set1_epi16(half as i16), each);
                // SAFETY: sixteen numbers of 16 bits from `first` on are in the row.
                unsafe {
                    let at = row.as_mut_ptr().add(first).cast::<__m256i>();
                    let given = _mm256_cmpeq_epi16(own, each);
                    let new = _mm256_blendv_epi8(_mm256_loadu_si256(at), tag, given);
                    _mm256_storeu_si256(at, new);
                }
            }
            first += TILE_SIDE / 2;
        }
    }
}

/// Sets the bits of the columns with `tag` in each row; returns the columns that some row has.
fn left_any(tag: u16, tags: &[[u16; TILE_SIDE]], bits: &mut [u32]) -> u32 {
    let mut any = 0;
    for (bits, row) in bits.iter_mut().zip(tags) {
        *bits = 0;
        for (x, &own) in row.iter().enumerate() {
            *bits |= u32::from(own == tag) << x;
        }
        any |= *bits;
    }
    any
}

/// Version of [`left_any`] for AVX2.
///
/// # Safety
/// The host must have AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn left_wide(tag: u16, tags: &[[u16; TILE_SIDE]], bits: &mut [u32]) -> u32 {
    use std::arch::x86_64::{
        __m256i, _mm256_cmpeq_epi16, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_packs_epi16,
        _mm256_permute4x64_epi64, _mm256_set1_epi16,
    };
    let wanted = _mm256_set1_epi16(tag as i16);
    let mut any = 0;
    for (bits, row) in bits.iter_mut().zip(tags) {
        let at = row.as_ptr();
        // SAFETY: a row has twice sixteen numbers of 16 bits.
        let low = unsafe { _mm256_loadu_si256(at.cast::<__m256i>()) };
        // SAFETY: as above.
        let high = unsafe { _mm256_loadu_si256(at.add(TILE_SIDE / 2).cast::<__m256i>()) };
        let equal =
            _mm256_packs_epi16(_mm256_cmpeq_epi16(low, wanted), _mm256_cmpeq_epi16(high, wanted));
        // The pack interleaves eight columns of the low and of the high half.
        let in_order = _mm256_permute4x64_epi64::<0b11_01_10_00>(equal);
        *bits = _mm256_movemask_epi8(in_order) as u32;
        any |= *bits;
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_have_the_last_tag_that_they_were_given() {
        let (mut tags, mut plain) = (Tags::<2>::default(), Tags::<2>::default());
        let mut expected = [[[0u16; TILE_SIDE]; TILE_SIDE]; 2];
        let mut seed = 1u32;
        let mut random = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed ^ seed >> 16
        };
        for round in 0..4 {
            for tag in 1..40u16 {
                let first = random() as usize % TILE_SIDE;
                let end = first + 1 + random() as usize % (TILE_SIDE - first);
                let mut bits = [[u32::MAX; TILE_SIDE]; 2];
                for s in 0..2 {
                    for y in first..end {
                        bits[s][y] = random() & random();
                        for x in (0..TILE_SIDE).filter(|x| bits[s][y] >> x & 1 != 0) {
                            expected[s][y][x] = tag;
                        }
                    }
                }
                tags.set(tag, [first, end], 2, &bits);
                for (tags, bits) in plain.tags.iter_mut().zip(&bits) {
                    set_any(tag, &mut tags[first..end], &bits[first..end]);
                }
                assert_eq!(plain.tags, tags.tags);
            }
            for tag in 0..41u16 {
                let mut bits = [[7; TILE_SIDE]; 2];
                let mut slow = bits;
                let any = tags.left(tag, [0, TILE_SIDE], 2, &mut bits);
                for (s, rows) in slow.iter_mut().enumerate() {
                    left_any(tag, &tags.tags[s], rows);
                    for (found, row) in rows.iter().zip(&expected[s]) {
                        let own = |x: usize| u32::from(row[x] == tag) << x;
                        let wanted = (0..TILE_SIDE).map(own).sum::<u32>();
                        assert_eq!(*found, wanted, "round {round}, tag {tag}");
                    }
                }
                assert_eq!(slow, bits);
                assert_eq!(any, bits.iter().flatten().any(|&row| row != 0));
            }
            tags.clear();
            plain = Tags::default();
            assert_eq!(plain.tags, tags.tags);
            expected = [[[0; TILE_SIDE]; TILE_SIDE]; 2];
        }
    }
}
