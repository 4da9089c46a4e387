//! Sums, products and fused products that are rounded toward zero.
//!
//! The host rounds to nearest. The rounding error is computed too, and if the result is farther from zero than the
//! exact value, the next number toward zero is taken.

/// A float that can be rounded toward zero.
pub trait TowardZero: Copy {
    /// The sum.
    fn sum(a: Self, b: Self) -> Self;
    /// The product.
    fn product(a: Self, b: Self) -> Self;
    /// `a + b c`, rounded once.
    fn fused(a: Self, b: Self, c: Self) -> Self;
}

/// The exact rounding error of a sum.
///
/// source: Knuth, "The Art of Computer Programming", volume 2, 4.2.2 (TwoSum).
fn error_of_sum(a: f64, b: f64, sum: f64) -> f64 {
    let part = sum - a;
    (a - (sum - part)) + (b - part)
}

/// The nearest value, moved one step toward zero if `error` says that the exact one is smaller in magnitude.
fn step(nearest: f64, error: f64) -> f64 {
    if nearest.is_infinite() {
        return f64::MAX.copysign(nearest);
    }
    let outside = nearest != 0.0 && error != 0.0 && (error < 0.0) == (nearest > 0.0);
    f64::from_bits(nearest.to_bits() - u64::from(outside))
}

fn step_f32(nearest: f32, error: f64) -> f32 {
    if nearest.is_infinite() {
        return f32::MAX.copysign(nearest);
    }
    let outside = nearest != 0.0 && error != 0.0 && (error < 0.0) == (nearest > 0.0);
    f32::from_bits(nearest.to_bits() - u32::from(outside))
}

impl TowardZero for f32 {
    fn sum(a: f32, b: f32) -> f32 {
        f32::fused(a, b, 1.0)
    }

    fn product(a: f32, b: f32) -> f32 {
        let nearest = a * b;
        if !a.is_finite() || !b.is_finite() {
            return nearest;
        }
        step_f32(nearest, f64::from(a) * f64::from(b) - f64::from(nearest))
    }

    fn fused(a: f32, b: f32, c: f32) -> f32 {
        let nearest = b.mul_add(c, a);
        if ![a, b, c].iter().all(|v| v.is_finite()) {
            return nearest;
        }
        // The product is exact, and so is the sum with its error.
        let (product, a) = (f64::from(b) * f64::from(c), f64::from(a));
        let sum = product + a;
        step_f32(nearest, (sum - f64::from(nearest)) + error_of_sum(product, a, sum))
    }
}

impl TowardZero for f64 {
    fn sum(a: f64, b: f64) -> f64 {
        let nearest = a + b;
        if !a.is_finite() || !b.is_finite() {
            return nearest;
        }
        step(nearest, error_of_sum(a, b, nearest))
    }

    fn product(a: f64, b: f64) -> f64 {
        let nearest = a * b;
        if !a.is_finite() || !b.is_finite() {
            return nearest;
        }
        step(nearest, a.mul_add(b, -nearest))
    }

    /// source: Boldo and Muller, "Exact and Approximated Error of the FMA": its sign is that of the sum of three
    /// numbers.
    fn fused(a: f64, b: f64, c: f64) -> f64 {
        let nearest = b.mul_add(c, a);
        if ![a, b, c].iter().all(|v| v.is_finite()) {
            return nearest;
        }
        let product = b * c;
        let product_error = b.mul_add(c, -product);
        let low = a + product_error;
        let low_error = error_of_sum(a, product_error, low);
        let high = product + low;
        let high_error = error_of_sum(product, low, high);
        step(nearest, ((high - nearest) + high_error) + low_error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_never_farther_from_zero() {
        let small = f64::EPSILON / 8.0;
        assert_eq!(f64::sum(1.0, small), 1.0);
        assert_eq!(f64::sum(1.0, -small), 1.0 - f64::EPSILON / 2.0);
        assert_eq!(f64::sum(-1.0, small), -1.0 + f64::EPSILON / 2.0);
        assert_eq!(f64::fused(1.0, -small, 1.0), 1.0 - f64::EPSILON / 2.0);
        assert_eq!(f64::product(f64::MAX, 2.0), f64::MAX);
        assert_eq!(f32::sum(1.0, -1e-20), 1.0 - f32::EPSILON / 2.0);
        assert_eq!(f32::sum(f32::MAX, f32::MAX), f32::MAX);
        assert_eq!(f32::sum(f32::INFINITY, 1.0), f32::INFINITY);
        // Compared with products that are exact as doubles.
        let mut state = 1u32;
        for _ in 0..10_000 {
            let mut next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                f32::from_bits(state >> 4 & 0x00ff_ffff | 0x3f00_0000)
            };
            let (a, b) = (next(), -next());
            let (exact, product) = (f64::from(a) * f64::from(b), f32::product(a, b));
            let away = f32::from_bits(product.to_bits() + 1);
            assert!(f64::from(product) >= exact && f64::from(away) < exact, "{a} {b}");
        }
    }
}
