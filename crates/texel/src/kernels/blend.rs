//! The channels of texels, and their weighted sums.

#[cfg(target_arch = "x86_64")]
use super::avx512;
use super::deliver::divided;
use crate::axis::{Axis, whole};
use crate::lod::Plan;
use crate::unpack::Unpacker;
use crate::{CompareFunc, Floats, Row, TextureUnit, bits, floats};

/// The texels of a tap: their bits, and what surrounds them.
pub struct Tap<'a, const N: usize> {
    /// Conversion of bits to channels.
    pub unpacker: &'a Unpacker,
    /// The bits.
    pub words: &'a [Row<N>; 4],
    /// Columns of the texels.
    pub x: &'a Row<N>,
    /// Lanes whose texel is the border.
    pub outside: &'a Row<N>,
    /// The border colour as the unpacker's channels.
    pub border: [u32; 4],
    /// Channels that are wanted, a bit each.
    pub wanted: u32,
}

/// The four neighbours of each lane.
pub struct Quad<'a, const N: usize> {
    /// Conversion of bits to channels.
    pub unpacker: &'a Unpacker,
    /// The bits: left to right, then the next line.
    pub words: &'a [[Row<N>; 4]; 4],
    /// Weights of the right ones and of the lower ones.
    pub weight: [&'a Floats<N>; 2],
    /// Channels that are wanted, a bit each.
    pub wanted: u32,
}

#[inline(always)]
pub fn mix<const N: usize>(next: &[Row<N>; 4], plan: &Plan<N>, out: &mut [Row<N>; 4]) {
    for (out, next) in out.iter_mut().zip(next) {
        for i in 0..N {
            let w = plan.next[i];
            let mixed = f32::from_bits(out[i]) * (1.0 - w) + f32::from_bits(next[i]) * w;
            // Elsewhere the next level was not read.
            out[i] = if plan.between[i] != 0 { mixed.to_bits() } else { out[i] };
        }
    }
}

#[inline(always)]
pub fn weigh<const N: usize>(
    axes: &[Axis<N>; 3],
    step: [usize; 3],
    steps: [usize; 3],
    out: &mut Floats<N>,
) {
    *out = [1.0; N];
    for a in [1, 2, 0] {
        if steps[a] == 1 {
            continue;
        }
        for i in 0..N {
            let second = axes[a].weight[i];
            out[i] *= if step[a] == 0 { 1.0 - second } else { second };
        }
    }
}

#[inline(always)]
pub fn quad<const N: usize, U: TextureUnit, const WIDTH: usize>(
    quad: &Quad<'_, N>,
    out: &mut [Row<N>; 4],
) {
    let Quad { unpacker, words, weight: [right, lower], wanted } = quad;
    let wanted = *wanted;
    if unpacker.is_bytes() {
        let mut bytes = [[0; N]; 4];
        byte_sums::<N, U, WIDTH>(quad, 1.0, &mut bytes);
        for c in 0..4 {
            if wanted >> c & 1 != 0 {
                out[c] = bytes[unpacker.byte(c)];
            }
        }
        return;
    }
    *out = [[0; N]; 4];
    let mut weight = [[0.0; N]; 4];
    for i in 0..N {
        let (x, y) = (right[i], lower[i]);
        weight[0][i] = (1.0 - y) * (1.0 - x);
        weight[1][i] = (1.0 - y) * x;
        weight[2][i] = y * (1.0 - x);
        weight[3][i] = y * x;
    }
    #[cfg(target_arch = "x86_64")]
    if WIDTH == 16 && N.is_multiple_of(16) && unpacker.kind == crate::unpack::Kind::Srgb {
        // Alpha has no curve.
        let table = tepui_format::texel::srgb::decode_table();
        let [a, b, c, d] = words;
        let words = [&a[0], &b[0], &c[0], &d[0]];
        let shift = [unpacker.shift(0), unpacker.shift(1), unpacker.shift(2), unpacker.shift(3)];
        // SAFETY: hosts of this width have AVX-512F.
        unsafe { avx512::add_texels(table, words, &weight, shift, wanted, out) };
        return;
    }
    for c in 0..4 {
        if let Some(value) = unpacker.constant(c) {
            out[c] = [value.to_bits(); N];
        } else if wanted >> c & 1 != 0 {
            for (words, weight) in words.iter().zip(&weight) {
                add_weighted(&unpacker.float::<N, WIDTH>(words, &[0; N], c), weight, &mut out[c]);
            }
        }
    }
}

/// The sums of the four bytes of the first word, in their order in memory, divided by a number.
///
/// Weights are multiples of 1/256 or more: the sums are exact in integers, as they are in floats.
#[inline(always)]
pub fn byte_sums<const N: usize, U: TextureUnit, const WIDTH: usize>(
    quad: &Quad<'_, N>,
    divisor: f32,
    bytes: &mut [Row<N>; 4],
) {
    const { assert!(U::SUBTEXEL_BITS <= 8) };
    let Quad { words, weight: [right, lower], .. } = quad;
    let one = 1u32 << U::SUBTEXEL_BITS;
    #[cfg(target_arch = "x86_64")]
    if WIDTH == 16 && N.is_multiple_of(16) {
        let [a, b, c, d] = words;
        let words = [&a[0], &b[0], &c[0], &d[0]];
        // SAFETY: hosts of this width have AVX-512F and BW.
        unsafe { avx512::byte_sums(words, [right, lower], one, divisor, bytes) };
        return;
    }
    let (scale, reciprocal) = (1.0 / (one * one) as f32, 1.0 / divisor);
    let finish =
        |sum: u32| divided::<WIDTH>(sum as i32 as f32 * scale, divisor, reciprocal).to_bits();
    // Between two numbers, by a weight of `one`.
    let between = |a: u32, b: u32, weight: u32| {
        (a << U::SUBTEXEL_BITS).wrapping_add(b.wrapping_sub(a).wrapping_mul(weight))
    };
    for i in 0..N {
        let (x, y) = (whole(right[i] * one as f32) as u32, whole(lower[i] * one as f32) as u32);
        for plane in 0..2 {
            // Two bytes, 16 bits apart. What the lower one borrows from the upper one is given back with the sum.
            let texel = |k: usize| words[k][0][i] >> (8 * plane) & 0x00ff_00ff;
            let top = between(texel(0), texel(1), x);
            let bottom = between(texel(2), texel(3), x);
            let low = between(top & 0xffff, bottom & 0xffff, y);
            let high = between(top >> 16, bottom >> 16, y);
            bytes[plane][i] = finish(low);
            bytes[plane + 2][i] = finish(high);
        }
    }
}

#[inline(always)]
pub fn channel<const N: usize, const WIDTH: usize>(tap: &Tap<'_, N>, c: usize) -> Floats<N> {
    let mut value = tap.unpacker.float::<N, WIDTH>(tap.words, tap.x, c);
    let border = tap.border[c];
    for i in 0..N {
        let bits = (value[i].to_bits() & !tap.outside[i]) | (border & tap.outside[i]);
        value[i] = f32::from_bits(bits);
    }
    value
}

#[inline(always)]
pub fn tap_floats<const N: usize, const WIDTH: usize>(tap: &Tap<'_, N>, out: &mut [Row<N>; 4]) {
    for c in 0..4 {
        if tap.wanted >> c & 1 != 0 {
            out[c] = bits(&channel::<N, WIDTH>(tap, c));
        }
    }
}

#[inline(always)]
pub fn tap_blend<const N: usize, const WIDTH: usize>(
    tap: &Tap<'_, N>,
    weight: &Floats<N>,
    sum: &mut [Row<N>; 4],
) {
    for c in 0..4 {
        if tap.wanted >> c & 1 != 0 {
            add_weighted(&channel::<N, WIDTH>(tap, c), weight, &mut sum[c]);
        }
    }
}

/// Adds a row of floats, weighted, to bits of floats. A texel without weight does not count, not
/// even an infinite one.
#[inline(always)]
fn add_weighted<const N: usize>(value: &Floats<N>, weight: &Floats<N>, sum: &mut Row<N>) {
    for i in 0..N {
        let part = if weight[i] == 0.0 { 0.0 } else { weight[i] * value[i] };
        sum[i] = (f32::from_bits(sum[i]) + part).to_bits();
    }
}

#[inline(always)]
pub fn tap_integers<const N: usize>(tap: &Tap<'_, N>, out: &mut [Row<N>; 4]) {
    for c in 0..4 {
        if tap.wanted >> c & 1 != 0 {
            let (border, out) = (tap.border[c], &mut out[c]);
            tap.unpacker.each_integer(tap.words, c, |i, value| {
                out[i] = (value & !tap.outside[i]) | (border & tap.outside[i]);
            });
        }
    }
}

#[inline(always)]
pub fn tap_compare<const N: usize, const WIDTH: usize>(
    tap: &Tap<'_, N>,
    func: CompareFunc,
    reference: &Floats<N>,
    out: &mut Row<N>,
) {
    let texel = channel::<N, WIDTH>(tap, 0);
    let divisor = tap.unpacker.divisor[0];
    const ONE: u32 = 1f32.to_bits();
    macro_rules! test {
        ($operator:tt) => {
            for i in 0..N {
                let passes = reference[i] $operator texel[i] / divisor;
                out[i] = if passes { ONE } else { 0 };
            }
        };
    }
    match func {
        CompareFunc::Lequal => test!(<=),
        CompareFunc::Gequal => test!(>=),
        CompareFunc::Less => test!(<),
        CompareFunc::Greater => test!(>),
        CompareFunc::Equal => test!(==),
        CompareFunc::NotEqual => test!(!=),
        CompareFunc::Always => *out = [ONE; N],
        CompareFunc::Never => *out = [0; N],
    }
}

#[inline(always)]
pub fn accumulate<const N: usize>(
    from: &[Row<N>; 4],
    weight: &Floats<N>,
    wanted: u32,
    sum: &mut [Row<N>; 4],
) {
    for c in 0..4 {
        if wanted >> c & 1 != 0 {
            // Lanes without weight keep old values in the row, which are ignored.
            add_weighted(&floats(&from[c]), weight, &mut sum[c]);
        }
    }
}

#[cfg(test)]
mod tests {
    use tepui_format::Format;

    use super::*;
    use crate::kernels::testing::Unit;

    /// Sums of bytes are the quotients of exact sums with any vectors, also at weights of none and all but one part.
    #[test]
    fn sums_of_bytes_are_exact() {
        const LANES: usize = 16;
        let unpacker = Unpacker::new(Format::R8G8B8A8_UNORM).unwrap();
        let mut seed = 9u32;
        let mut random = move || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed ^ seed >> 16
        };
        for round in 0..500 {
            let extremes = [0, u32::MAX, 0xff00_ff00, 0x00ff_00ff];
            let mut words = [[[0; LANES]; 4]; 4];
            for row in words.iter_mut().map(|words| &mut words[0]) {
                *row = std::array::from_fn(|i| match round % 3 {
                    0 => extremes[((random() >> 7) as usize + i) % 4],
                    _ => random(),
                });
            }
            let mut weight = [[0.0; LANES]; 2];
            for row in &mut weight {
                *row = std::array::from_fn(|i| match i {
                    0 => 0.0,
                    1 => 255.0 / 256.0,
                    _ => (random() >> 9 & 255) as f32 / 256.0,
                });
            }
            let weights = [&weight[0], &weight[1]];
            let quad = Quad { unpacker: &unpacker, words: &words, weight: weights, wanted: 15 };
            let mut ways = vec![[[0; LANES]; 4]];
            byte_sums::<LANES, Unit, 4>(&quad, 255.0, &mut ways[0]);
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                ways.push([[0; LANES]; 4]);
                byte_sums::<LANES, Unit, 8>(&quad, 255.0, &mut ways[1]);
            }
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx512bw") {
                ways.push([[0; LANES]; 4]);
                byte_sums::<LANES, Unit, 16>(&quad, 255.0, &mut ways[2]);
            }
            for (c, i) in (0..4).flat_map(|c| (0..LANES).map(move |i| (c, i))) {
                let byte = |k: usize| f64::from(words[k][0][i] >> (8 * c) & 0xff);
                let [x, y] = weights.map(|row| f64::from(row[i]));
                let top = byte(0) * (1.0 - x) + byte(1) * x;
                let bottom = byte(2) * (1.0 - x) + byte(3) * x;
                // Exact: the sum has 24 bits.
                let sum = (top * (1.0 - y) + bottom * y) as f32;
                for sums in &ways {
                    assert_eq!(sums[c][i], (sum / 255.0).to_bits(), "{c} {i}");
                }
            }
        }
    }
}
