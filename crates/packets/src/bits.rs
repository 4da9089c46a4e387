//! Reads and writes bit ranges of a little-endian string, of bytes or of 64-bit words. Bits are
//! numbered from the least significant bit of the first byte.
//!
//! Packets are packed and unpacked as words: with the position of each field known when the code is
//! compiled, a field costs a shift and an OR.

use crate::field::Piece;

/// A mask of the low `width` bits; all ones from 64 on.
pub const fn mask(width: u32) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

/// The `width` bits (at most 64) from bit `start`. Bits past the end of `bytes` read as zero.
#[inline]
pub fn get(bytes: &[u8], start: u32, width: u32) -> u64 {
    let first = (start / 8) as usize;
    let mut window = [0u8; 16];
    let available = bytes.len().saturating_sub(first).min(9);
    if available > 0 {
        window[..available].copy_from_slice(&bytes[first..first + available]);
    }
    (u128::from_le_bytes(window) >> (start % 8)) as u64 & mask(width)
}

/// Replaces the `width` bits (at most 64) from bit `start`. Bits past the end of `bytes` are
/// dropped.
#[inline]
pub fn set(bytes: &mut [u8], start: u32, width: u32, value: u64) {
    let first = (start / 8) as usize;
    let mut window = [0u8; 16];
    let available = bytes.len().saturating_sub(first).min(9);
    if available == 0 {
        return;
    }
    window[..available].copy_from_slice(&bytes[first..first + available]);
    let shift = start % 8;
    let keep = !(u128::from(mask(width)) << shift);
    let new = u128::from_le_bytes(window) & keep | u128::from(value & mask(width)) << shift;
    bytes[first..first + available].copy_from_slice(&new.to_le_bytes()[..available]);
}

/// Reads a field that may be split into several pieces, the least significant first.
#[inline]
pub fn get_pieces(bytes: &[u8], pieces: &[Piece]) -> u64 {
    let mut value = 0;
    let mut done = 0;
    for piece in pieces {
        if done < 64 {
            value |= get(bytes, piece.start, piece.width) << done;
        }
        done += piece.width;
    }
    value
}

/// The `width` bits (1 to 64) from bit `start` of a string of words.
#[inline(always)]
pub fn word_get(words: &[u64], start: u32, width: u32) -> u64 {
    let (at, shift) = ((start / 64) as usize, start % 64);
    let mut value = words[at] >> shift;
    if shift + width > 64 {
        value |= words[at + 1] << (64 - shift);
    }
    value & mask(width)
}

/// Sets bits of `width` zeros (1 to 64) from bit `start` of a string of words.
#[inline(always)]
pub fn word_or(words: &mut [u64], start: u32, width: u32, value: u64) {
    let (at, shift) = ((start / 64) as usize, start % 64);
    let value = value & mask(width);
    words[at] |= value << shift;
    if shift + width > 64 {
        words[at + 1] |= value >> (64 - shift);
    }
}

/// Clears the `width` bits (1 to 64) from bit `start` of a string of words.
#[inline(always)]
pub fn word_clear(words: &mut [u64], start: u32, width: u32) {
    let (at, shift) = ((start / 64) as usize, start % 64);
    words[at] &= !(mask(width) << shift);
    if shift + width > 64 {
        words[at + 1] &= !(mask(width) >> (64 - shift));
    }
}

/// Reads a field of words that may be split into several pieces, the least significant first.
#[inline(always)]
pub fn word_get_pieces(words: &[u64], pieces: &[Piece]) -> u64 {
    let mut value = 0;
    let mut done = 0;
    for piece in pieces {
        if done < 64 {
            value |= word_get(words, piece.start, piece.width) << done;
        }
        done += piece.width;
    }
    value
}

/// Writes a field of zeros that may be split into several pieces, the least significant first.
#[inline(always)]
pub fn word_or_pieces(words: &mut [u64], pieces: &[Piece], value: u64) {
    let mut rest = value;
    for piece in pieces {
        word_or(words, piece.start, piece.width, rest);
        rest = if piece.width >= 64 { 0 } else { rest >> piece.width };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn set_then_get(mut bytes in prop::collection::vec(any::<u8>(), 24), start in 0u32..128, width in 1u32..=64, value: u64) {
            let before = bytes.clone();
            set(&mut bytes, start, width, value);
            prop_assert_eq!(get(&bytes, start, width), value & mask(width));
            for bit in (0..192).filter(|b| !(start..start + width).contains(b)) {
                prop_assert_eq!(get(&bytes, bit, 1), get(&before, bit, 1), "bit {}", bit);
            }
        }
    }

    proptest! {
        /// Words and bytes hold the same bits.
        #[test]
        fn words_are_bytes(words: [u64; 3], start in 0u32..128, width in 1u32..=64, value: u64) {
            let bytes = |words: [u64; 3]| words.map(u64::to_le_bytes).concat();
            prop_assert_eq!(word_get(&words, start, width), get(&bytes(words), start, width));
            let mut cleared = words;
            word_clear(&mut cleared, start, width);
            let mut expected = bytes(words);
            set(&mut expected, start, width, 0);
            prop_assert_eq!(bytes(cleared), expected.clone());
            word_or(&mut cleared, start, width, value);
            set(&mut expected, start, width, value);
            prop_assert_eq!(bytes(cleared), expected);
        }
    }

    #[test]
    fn bits_past_the_end_are_zero() {
        assert_eq!(get(&[0xff], 4, 32), 0xf);
        assert_eq!(get(&[], 0, 64), 0);
        let mut one = [0u8];
        set(&mut one, 4, 32, u64::MAX);
        set(&mut one, 800, 32, u64::MAX);
        assert_eq!(one, [0xf0]);
    }
}
