//! Half-floats.

/// The value of a half-float.
pub(super) fn half(bits: u16) -> f32 {
    let sign = if bits >> 15 != 0 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f32::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f32.powi(exponent - 15),
    }
}

/// The half-float nearest to a number; `None` for numbers beyond the largest.
pub(super) fn nearest(value: f64) -> Option<u16> {
    const INFINITY: u16 = 0x7c00;
    const NAN: u16 = 0x7e00;
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let magnitude = value.abs();
    if !value.is_finite() {
        return Some(sign | if value.is_nan() { NAN } else { INFINITY });
    }
    // Positive half-floats have the same order as their bits.
    let of = |bits: u16| f64::from(half(bits));
    let (mut low, mut high) = (0, INFINITY - 1);
    if magnitude > of(high) {
        return None;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if of(middle) < magnitude { low = middle + 1 } else { high = middle }
    }
    let below = low.saturating_sub(1);
    let (up, down) = (of(low) - magnitude, magnitude - of(below));
    let rounds_down = down < up || down == up && low & 1 != 0;
    Some(sign | if rounds_down { below } else { low })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_float_is_the_nearest_to_itself() {
        for bits in (0..=u16::MAX).filter(|bits| !half(*bits).is_nan()) {
            assert_eq!(nearest(half(bits).into()), Some(bits));
        }
        assert_eq!(nearest(0.1), Some(0x2e66));
        assert_eq!(nearest(1.0 + 1.0 / 2048.0), Some(0x3c00));
        assert_eq!((nearest(65504.0), nearest(65505.0)), (Some(0x7bff), None));
    }
}
