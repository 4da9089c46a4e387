//! The channels of texels, and their weighted sums.

use tepui_agx_packets::sampler::CompareFunc;

use crate::axis::{Axis, whole};
use crate::lod::Plan;
use crate::unpack::Unpacker;
use crate::{Floats, LANES, Row, bits, floats};

/// The texels of a tap: their bits, and what surrounds them.
pub struct Tap<'a> {
    /// How bits become channels.
    pub unpacker: &'a Unpacker,
    /// The bits.
    pub words: &'a [Row; 4],
    /// Columns of the texels.
    pub x: &'a Row,
    /// Lanes whose texel is the border.
    pub outside: &'a Row,
    /// The border colour as the unpacker's channels.
    pub border: [u32; 4],
    /// Channels that are wanted, a bit each.
    pub wanted: u32,
}

/// The four neighbours of each lane.
pub struct Quad<'a> {
    /// How bits become channels.
    pub unpacker: &'a Unpacker,
    /// The bits: left to right, then the next line.
    pub words: &'a [[Row; 4]; 4],
    /// Weights of the right ones and of the lower ones.
    pub weight: [&'a Floats; 2],
    /// Channels that are wanted, a bit each.
    pub wanted: u32,
}

#[inline(always)]
pub fn mix(next: &[Row; 4], plan: &Plan, out: &mut [Row; 4]) {
    for (out, next) in out.iter_mut().zip(next) {
        for i in 0..LANES {
            let w = plan.next[i];
            let mixed = f32::from_bits(out[i]) * (1.0 - w) + f32::from_bits(next[i]) * w;
            // Elsewhere the next level was not read.
            out[i] = if plan.between[i] != 0 { mixed.to_bits() } else { out[i] };
        }
    }
}

#[inline(always)]
pub fn weigh(axes: &[Axis; 3], step: [usize; 3], steps: [usize; 3], out: &mut Floats) {
    *out = [1.0; LANES];
    for a in [1, 2, 0] {
        if steps[a] == 1 {
            continue;
        }
        for i in 0..LANES {
            let second = axes[a].weight[i];
            out[i] *= if step[a] == 0 { 1.0 - second } else { second };
        }
    }
}

#[inline(always)]
pub fn quad<const WIDTH: usize>(quad: &Quad<'_>, out: &mut [Row; 4]) {
    let Quad { unpacker, words, weight: [right, lower], wanted } = quad;
    if unpacker.is_bytes() {
        // Weights are multiples of 1/256: the sums are exact in integers, as they are in floats.
        let mut bytes = [[0; LANES]; 4];
        for i in 0..LANES {
            let (x, y) = (whole(right[i] * 256.0) as u32, whole(lower[i] * 256.0) as u32);
            for plane in 0..2 {
                // Two bytes, 16 bits apart.
                let texel = |k: usize| words[k][0][i] >> (8 * plane) & 0x00ff_00ff;
                let top = texel(0) * (256 - x) + texel(1) * x;
                let bottom = texel(2) * (256 - x) + texel(3) * x;
                let low = (top & 0xffff) * (256 - y) + (bottom & 0xffff) * y;
                let high = (top >> 16) * (256 - y) + (bottom >> 16) * y;
                bytes[plane][i] = (low as i32 as f32 * (1.0 / 65536.0)).to_bits();
                bytes[plane + 2][i] = (high as i32 as f32 * (1.0 / 65536.0)).to_bits();
            }
        }
        for c in 0..4 {
            if wanted >> c & 1 != 0 {
                out[c] = bytes[unpacker.byte(c)];
            }
        }
        return;
    }
    let mut weight = [[0.0; LANES]; 4];
    for i in 0..LANES {
        let (x, y) = (right[i], lower[i]);
        weight[0][i] = (1.0 - y) * (1.0 - x);
        weight[1][i] = (1.0 - y) * x;
        weight[2][i] = y * (1.0 - x);
        weight[3][i] = y * x;
    }
    for c in 0..4 {
        if wanted >> c & 1 != 0 {
            for (words, weight) in words.iter().zip(&weight) {
                add_weighted(&unpacker.float::<WIDTH>(words, &[0; LANES], c), weight, &mut out[c]);
            }
        }
    }
}

#[inline(always)]
pub fn channel<const WIDTH: usize>(tap: &Tap<'_>, c: usize) -> Floats {
    let mut value = tap.unpacker.float::<WIDTH>(tap.words, tap.x, c);
    let border = tap.border[c];
    for i in 0..LANES {
        let bits = (value[i].to_bits() & !tap.outside[i]) | (border & tap.outside[i]);
        value[i] = f32::from_bits(bits);
    }
    value
}

#[inline(always)]
pub fn tap_floats<const WIDTH: usize>(tap: &Tap<'_>, out: &mut [Row; 4]) {
    for c in 0..4 {
        if tap.wanted >> c & 1 != 0 {
            out[c] = bits(&channel::<WIDTH>(tap, c));
        }
    }
}

#[inline(always)]
pub fn tap_blend<const WIDTH: usize>(tap: &Tap<'_>, weight: &Floats, sum: &mut [Row; 4]) {
    for c in 0..4 {
        if tap.wanted >> c & 1 != 0 {
            add_weighted(&channel::<WIDTH>(tap, c), weight, &mut sum[c]);
        }
    }
}

/// Adds a row of floats, weighted, to bits of floats. A texel without weight does not count, not even
/// an infinite one.
#[inline(always)]
fn add_weighted(value: &Floats, weight: &Floats, sum: &mut Row) {
    for i in 0..LANES {
        let part = if weight[i] == 0.0 { 0.0 } else { weight[i] * value[i] };
        sum[i] = (f32::from_bits(sum[i]) + part).to_bits();
    }
}

#[inline(always)]
pub fn tap_integers(tap: &Tap<'_>, out: &mut [Row; 4]) {
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
pub fn tap_compare<const WIDTH: usize>(
    tap: &Tap<'_>,
    func: CompareFunc,
    reference: &Floats,
    out: &mut Row,
) {
    let texel = channel::<WIDTH>(tap, 0);
    let divisor = tap.unpacker.divisor[0];
    const ONE: u32 = 1f32.to_bits();
    macro_rules! test {
        ($operator:tt) => {
            for i in 0..LANES {
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
        CompareFunc::Always => *out = [ONE; LANES],
        CompareFunc::Never => *out = [0; LANES],
    }
}

#[inline(always)]
pub fn accumulate(from: &[Row; 4], weight: &Floats, wanted: u32, sum: &mut [Row; 4]) {
    for c in 0..4 {
        if wanted >> c & 1 != 0 {
            // What lanes without weight left in the row does not count.
            add_weighted(&floats(&from[c]), weight, &mut sum[c]);
        }
    }
}
