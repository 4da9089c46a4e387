//! Conversion of 16-bit floats without branches, so that loops over lanes are vectorised and the
//! host's floating-point mode flushes no subnormals.

/// Widens a half. Exact.
#[inline(always)]
pub fn widen(half: u32) -> f32 {
    let sign = (half & 0x8000) << 16;
    let magnitude = half & 0x7fff;
    // Normal: move exponent and fraction, rebias. Infinity and NaN: exponent all ones.
    let normal = (magnitude << 13) + (112 << 23);
    let special = normal + (112 << 23);
    // Subnormal: an integer times 2^-24.
    let subnormal = (magnitude as f32 * (1.0 / 16_777_216.0)).to_bits();
    let bits = if magnitude >= 0x7c00 {
        special
    } else if magnitude < 0x400 {
        subnormal
    } else {
        normal
    };
    f32::from_bits(bits | sign)
}

/// Rounds to the nearest half, ties to even; overflow becomes infinity, NaN a quiet NaN.
#[inline(always)]
pub fn narrow(x: f32) -> u32 {
    let bits = x.to_bits();
    let sign = (bits >> 16) & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    // Normal result: rebias and round by adding half a unit of the last place, ties to even.
    let odd = (magnitude >> 13) & 1;
    let normal = magnitude.wrapping_sub(112 << 23).wrapping_add(0xfff + odd) >> 13;
    // Subnormal result: adding 0.5 puts the last place of the half at the last place of the float.
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
    let half = if magnitude > 0x7f80_0000 {
        0x7e00
    } else if magnitude >= 0x477f_f000 {
        0x7c00
    } else if magnitude < 0x3880_0000 {
        subnormal
    } else {
        normal
    };
    sign | half
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives() {
        for h in 0..=0xffff {
            let wide = widen(h);
            if wide.is_nan() {
                assert_eq!(narrow(wide) & 0x7fff, 0x7e00);
            } else {
                assert_eq!(narrow(wide), h, "{h:#x}");
            }
        }
    }

    #[test]
    fn rounds_to_nearest_even() {
        let cases = [
            (1.0 + 1.0 / 2048.0, 0x3c00),
            (1.0 + 3.0 / 2048.0, 0x3c02),
            (65519.0, 0x7bff),
            (65520.0, 0x7c00),
            (-65520.0, 0xfc00),
            (2f32.powi(-25), 0),
            (2f32.powi(-25) * 1.001, 1),
        ];
        for (x, h) in cases {
            assert_eq!(narrow(x), h, "{x}");
        }
    }
}
