//! Swizzle and conversion of channels to the components of a result.

use super::blend::{Quad, Tap, byte_sums, channel, quad};
use crate::{Floats, Row, TextureUnit, floats, half};

/// Source of a component of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// A channel.
    Channel(u8),
    /// The constant zero.
    Zero,
    /// The constant one.
    One,
}

/// Parameters of the conversion of channels to a result.
pub struct Result<'a> {
    /// Source of each component.
    pub picks: &'a [Pick; 4],
    /// Components that are returned, a bit each, one row after the other.
    pub mask: u8,
    /// Rounded to halves, or cut to 16 bits.
    pub narrow: bool,
    /// Channels are integers.
    pub integer: bool,
}

#[inline(always)]
pub fn deliver_tap<const N: usize, const WIDTH: usize>(
    tap: &Tap<'_, N>,
    result: &Result<'_>,
    out: &mut [Row<N>],
) {
    let mut rows = out.iter_mut();
    for c in (0..4).filter(|c| result.mask >> c & 1 != 0) {
        let Some(row) = rows.next() else { return };
        match result.picks[c] {
            Pick::Channel(k) if result.integer => {
                let k = usize::from(k);
                let bits = if result.narrow { 0xffff } else { u32::MAX };
                let border = tap.border[k];
                tap.unpacker.each_integer(tap.words, k, |i, value| {
                    row[i] = ((value & !tap.outside[i]) | (border & tap.outside[i])) & bits;
                });
            }
            Pick::Channel(k) => {
                let k = usize::from(k);
                let divisor = tap.unpacker.divisor[k];
                if tap.unpacker.is_bytes() && divisor != 1.0 && !result.narrow {
                    deliver_bytes::<N, WIDTH>(tap, k, divisor, row);
                } else {
                    finish::<N, WIDTH>(&channel::<N, WIDTH>(tap, k), divisor, result.narrow, row);
                }
            }
            constant => *row = [constant_bits(constant, result.integer, result.narrow); N],
        }
    }
}

/// A channel of eight bits without sign to a row of words, in one loop.
#[inline(always)]
fn deliver_bytes<const N: usize, const WIDTH: usize>(
    tap: &Tap<'_, N>,
    channel: usize,
    divisor: f32,
    row: &mut Row<N>,
) {
    let (shift, reciprocal) = (8 * tap.unpacker.byte(channel) as u32, 1.0 / divisor);
    let (border, word) = (tap.border[channel], &tap.words[0]);
    for i in 0..N {
        let value = (word[i] >> shift & 0xff) as i32 as f32;
        let bits = (value.to_bits() & !tap.outside[i]) | (border & tap.outside[i]);
        row[i] = divided::<WIDTH>(f32::from_bits(bits), divisor, reciprocal).to_bits();
    }
}

#[inline(always)]
pub fn deliver<const N: usize, const WIDTH: usize>(
    rows: &[Row<N>; 4],
    divisor: &[f32; 4],
    result: &Result<'_>,
    out: &mut [Row<N>],
) {
    let bits = if result.narrow { 0xffff } else { u32::MAX };
    let mut outs = out.iter_mut();
    for c in (0..4).filter(|c| result.mask >> c & 1 != 0) {
        let Some(out) = outs.next() else { return };
        match result.picks[c] {
            Pick::Channel(k) if result.integer => {
                for i in 0..N {
                    out[i] = rows[usize::from(k)][i] & bits;
                }
            }
            Pick::Channel(k) => {
                let k = usize::from(k);
                finish::<N, WIDTH>(&floats(&rows[k]), divisor[k], result.narrow, out);
            }
            constant => *out = [constant_bits(constant, result.integer, result.narrow); N],
        }
    }
}

#[inline(always)]
pub fn deliver_quad<const N: usize, U: TextureUnit, const WIDTH: usize>(
    four: &Quad<'_, N>,
    result: &Result<'_>,
    out: &mut [Row<N>],
) {
    let unpacker = four.unpacker;
    if !unpacker.is_bytes() || result.narrow {
        let mut sums = [[0; N]; 4];
        quad::<N, U, WIDTH>(four, &mut sums);
        return deliver::<N, WIDTH>(&sums, &unpacker.divisor, result, out);
    }
    let is_byte = |c: usize| match result.picks[c] {
        Pick::Channel(k) => unpacker.byte(usize::from(k)) == c,
        _ => false,
    };
    if result.mask & 15 == 15
        && (0..4).all(is_byte)
        && let Some(bytes) = out.first_chunk_mut::<4>()
    {
        return byte_sums::<N, U, WIDTH>(four, 255.0, bytes);
    }
    let mut bytes = [[0; N]; 4];
    byte_sums::<N, U, WIDTH>(four, 255.0, &mut bytes);
    let mut rows = out.iter_mut();
    for c in (0..4).filter(|c| result.mask >> c & 1 != 0) {
        let Some(row) = rows.next() else { return };
        *row = match result.picks[c] {
            Pick::Channel(k) => bytes[unpacker.byte(usize::from(k))],
            constant => [constant_bits(constant, false, false); N],
        };
    }
}

/// The bits of zero or one in a register.
#[inline(always)]
fn constant_bits(pick: Pick, integer: bool, narrow: bool) -> u32 {
    match (pick, integer, narrow) {
        (Pick::One, true, _) => 1,
        (Pick::One, false, true) => half::narrow(1.0),
        (Pick::One, false, false) => 1f32.to_bits(),
        _ => 0,
    }
}

/// `value` divided by a number of at most 16 bits: what formats of fixed point have. With
/// vectors of eight, three multiplications give the quotient that a division gives.
/// source: Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor":
/// right unless the divisor's mantissa is all ones to the last of 24 bits.
#[inline(always)]
pub fn divided<const WIDTH: usize>(value: f32, divisor: f32, reciprocal: f32) -> f32 {
    if WIDTH < 8 {
        return value / divisor;
    }
    let near = value * reciprocal;
    let rest = (-near).mul_add(divisor, value);
    rest.mul_add(reciprocal, near)
}

#[inline(always)]
fn finish<const N: usize, const WIDTH: usize>(
    value: &Floats<N>,
    divisor: f32,
    narrow: bool,
    out: &mut Row<N>,
) {
    let reciprocal = 1.0 / divisor;
    let mut value = *value;
    if divisor != 1.0 {
        for v in &mut value {
            *v = divided::<WIDTH>(*v, divisor, reciprocal);
        }
    }
    if narrow {
        for i in 0..N {
            out[i] = half::narrow(value[i]);
        }
    } else {
        for i in 0..N {
            out[i] = value[i].to_bits();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every sum that weights of 1/65536 make of integers, and every integer.
    #[test]
    fn products_are_the_quotients() {
        // All ones, and the divisors of BC4 and EAC.
        let ones = [1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 15, 16].map(|bits| (1u32 << bits) - 1);
        for divisor in ones.into_iter().chain([255 * 35, 127 * 35]) {
            let bits = 32 - divisor.leading_zeros();
            let divisor = divisor as f32;
            let reciprocal = 1.0 / divisor;
            let most = 1u32 << (bits + 16).min(24);
            for k in (0..most).step_by(if bits == 8 { 1 } else { 7 }) {
                let value = k as f32 * (divisor / most as f32);
                for value in [value, (k >> 16) as f32, -value] {
                    let (want, got) = (value / divisor, divided::<8>(value, divisor, reciprocal));
                    assert!(want == got, "{value} / {divisor}: {got}, want {want}");
                    let narrow = divided::<4>(value, divisor, reciprocal);
                    assert!(want == narrow, "{value} / {divisor}: {narrow}, want {want}");
                }
            }
        }
    }
}
