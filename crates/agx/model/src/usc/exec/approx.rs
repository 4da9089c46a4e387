//! Elementary functions as straight-line arithmetic, so that a loop over lanes becomes vector code.
//!
//! The silicon's approximations are not known bit for bit. These are at least as precise as Vulkan
//! demands of `exp2`, `log2` and `sin`; the tests state the bounds.

/// `2^x`, within 1 ulp of the nearest float. Subnormal results are flushed.
#[inline(always)]
pub fn exp2(x: f32) -> f32 {
    // Split into an integer and a fraction in -0.5..0.5; powers of 2 of the fraction by its Taylor
    // polynomial in x·ln 2, whose 7th-degree remainder is below 2^-27 there.
    let clamped = x.clamp(-200.0, 200.0);
    let whole = clamped.round_ties_even();
    let t = (clamped - whole) * std::f32::consts::LN_2;
    let p = polynomial(t, &EXP);
    let p = (p * t) * t + t;
    let p = p + 1.0;
    // Scale in two steps so that neither factor leaves the range of normal floats.
    let n = whole as i32;
    let half = n >> 1;
    let scale = |n: i32| f32::from_bits(((n + 127) as u32) << 23);
    let result = p * scale(half) * scale(n - half);
    if x.is_nan() {
        x
    } else if x < -126.0 {
        0.0
    } else {
        result
    }
}

/// `log2(x)`: within 2 ulp outside of 0.5..2, within 2^-22 absolute inside. Zero (and flushed
/// subnormals) give minus infinity, negative numbers NaN.
#[inline(always)]
pub fn log2(x: f32) -> f32 {
    // Mantissa m in sqrt(1/2)..sqrt(2), exponent e; log2 m = 2/ln 2 · atanh((m-1)/(m+1)).
    let bits = x.to_bits();
    let shifted = bits.wrapping_sub(LOG_SHIFT);
    let e = (shifted as i32) >> 23;
    let m = f32::from_bits(bits.wrapping_sub((e as u32) << 23));
    let s = (m - 1.0) / (m + 1.0);
    let s2 = s * s;
    let p = polynomial(s2, &ATANH) * s2 * s;
    // 2·s/ln 2 in two pieces: the leading one carries the precision near 1.
    let ln = 2.0 * s + p;
    let result = ln * std::f32::consts::LOG2_E + e as f32;
    if x < 0.0 || x.is_nan() {
        f32::NAN
    } else if x < f32::MIN_POSITIVE {
        f32::NEG_INFINITY
    } else if x == f32::INFINITY {
        x
    } else {
        result
    }
}

/// `sin(x·π/2) / x` for `x` in -1..1, by the odd Taylor series of the sine divided by `x`.
#[inline(always)]
pub fn sinc_quarter(x: f32) -> f32 {
    polynomial(x * x, &SINE)
}

/// A polynomial, the highest power's coefficient first. Each operation rounds.
#[inline(always)]
fn polynomial<const N: usize>(x: f32, coefficients: &[f32; N]) -> f32 {
    let mut p = coefficients[0];
    for &coefficient in &coefficients[1..] {
        p = p * x + coefficient;
    }
    p
}

/// Coefficients of `e^t`'s Taylor series, from the seventh power's to the second's.
pub const EXP: [f32; 6] = [1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5];

/// The bits of sqrt(1/2): what is to be taken from a float's bits so that its exponent's place has
/// that of the power of 2 that is nearest to it.
pub const LOG_SHIFT: u32 = 0x3f35_04f3;

/// Coefficients of the series of 2 · atanh(s), from the ninth power's to the third's.
pub const ATANH: [f32; 4] = [0.222_222_2, 0.285_714_3, 0.4, 0.666_666_7];

/// Coefficients of sin(x·π/2) / x in powers of x², the sixth's first: those of the Taylor series, the
/// third's and second's moved by a few units so that no product with `x` is greater than 1, in all
/// its roundings.
pub const SINE: [f32; 7] = [
    5.692_172_8e-8,
    -3.598_843_3e-6,
    1.604_411_8e-4,
    -4.681_747e-3,
    0.079_692_55,
    -0.645_964_1,
    1.570_796_4,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn ulps(got: f32, want: f64) -> f64 {
        let near = want as f32;
        let ulp = f64::from(f32::from_bits(near.to_bits() + 1)) - f64::from(near);
        ((f64::from(got) - want) / ulp).abs()
    }

    #[test]
    fn exp2_is_within_two_ulp() {
        let mut worst: f64 = 0.0;
        for i in -125_000..127_000 {
            let x = i as f32 * 0.001 + 0.000_37;
            worst = worst.max(ulps(exp2(x), f64::from(x).exp2()));
        }
        assert!(worst <= 2.0, "{worst}");
        assert_eq!(exp2(128.0), f32::INFINITY);
        assert_eq!(exp2(-127.0), 0.0);
        assert_eq!(exp2(3.0), 8.0);
        assert!(exp2(f32::NAN).is_nan());
    }

    #[test]
    fn log2_is_as_precise_as_vulkan_asks() {
        for i in 0..2_000_000u32 {
            let x = f32::from_bits(0x0080_0000 + i * 1063);
            if !x.is_finite() {
                break;
            }
            let want = f64::from(x).log2();
            let got = log2(x);
            if (0.5..=2.0).contains(&x) {
                assert!((f64::from(got) - want).abs() < 2f64.powi(-22), "{x} {got} {want}");
            } else {
                assert!(ulps(got, want) <= 3.0, "{x} {got} {want}");
            }
        }
        assert_eq!(log2(8.0), 3.0);
        assert_eq!(log2(0.0), f32::NEG_INFINITY);
        assert!(log2(-1.0).is_nan());
    }

    #[test]
    fn the_two_halves_of_the_sine_multiply_to_it() {
        for i in -1000..=1000 {
            let x = i as f32 / 1000.0;
            let want = (f64::from(x) * std::f64::consts::FRAC_PI_2).sin();
            assert!((f64::from(sinc_quarter(x) * x) - want).abs() < 2f64.powi(-22));
        }
        // Sines and cosines are in -1..1, and reach 1.
        for bits in 0.5f32.to_bits()..=1f32.to_bits() {
            let x = f32::from_bits(bits);
            assert!(sinc_quarter(x) * x <= 1.0, "{x}");
        }
        assert_eq!(sinc_quarter(1.0), 1.0);
    }
}
