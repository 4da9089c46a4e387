//! Special functions, and the steps of sequences that compute them.
//!
//! The sequences are those of Mesa's bifrost_compile.c; each step computes the value that makes the sequence
//! correct, as exactly as a float can represent it. The last bits of silicon's steps are not known.

use tepui_mali_isa::Op as Isa;
use tepui_mali_isa::modifier::RoundMode;

use super::float::finish;
use super::rounding::to_half;
use super::{Done, unary, zip};
use crate::shader::op::{Handler, Lanes, Op};
use crate::warp::host::for_hosts;
use crate::warp::row::{LANES, float16, halves, join};

/// Modifiers in [`Op::flags`]: the range of the mantissa.
pub const SQRT: u32 = 1;
/// See [`SQRT`].
pub const LOG: u32 = 2;

/// The handler of an instruction.
pub fn handler(isa: Isa) -> Option<Handler> {
    functions(isa).or_else(|| steps(isa)).or_else(|| cubes(isa))
}

for_hosts! {
    fn functions(isa: Isa) -> Option<Handler> {
        Some(match isa {
            Isa::FRCP_F32 => |l, op| float(l, op, |a| 1.0 / a),
            Isa::FRSQ_F32 => |l, op| float(l, op, inverse_root),
            Isa::FRCP_F16 => |l, op| half(l, op, |a| 1.0 / a),
            Isa::FRSQ_F16 => |l, op| half(l, op, inverse_root),
            // Approximations of the mantissa's function, which their sequences refine.
            Isa::FRCP_APPROX_F32 => |l, op| float(l, op, |a| 1.0 / split(a, 0).0),
            Isa::FRSQ_APPROX_F32 => |l, op| float(l, op, |a| inverse_root(split(a, SQRT).0)),
            Isa::FEXP_F32 => |l, op| {
                let (fixed, value) = (l.get(&op.src[0]), l.get(&op.src[1]));
                let f = |fixed, value| exponential(fixed as i32, f32::from_bits(value)).to_bits();
                finish(l, op, &zip(&fixed, &value, f))
            },
            Isa::FLOGD_F32 => |l, op| float(l, op, logarithm_slope),
            Isa::FADD_LSCALE_F32 => |l, op| {
                let (a, b) = (l.get(&op.src[0]), l.get(&op.src[1]));
                let f = |a, b| add_mantissa(f32::from_bits(a), f32::from_bits(b)).to_bits();
                finish(l, op, &zip(&a, &b, f))
            },
            Isa::FSIN_TABLE_U6 => |l, op| unary(l, op, |a| angle(a).sin().to_bits()),
            Isa::FCOS_TABLE_U6 => |l, op| unary(l, op, |a| angle(a).cos().to_bits()),
            _ => return None,
        })
    }
}

for_hosts! {
    fn steps(isa: Isa) -> Option<Handler> {
        Some(match isa {
            Isa::FREXPM_F32 => |l, op| {
                let range = op.flags;
                float(l, op, |a| split(a, range).0)
            },
            Isa::FREXPE_F32 => |l, op| {
                let range = op.flags;
                unary(l, op, |a| split(f32::from_bits(a), range).1 as u32)
            },
            Isa::FREXPM_V2F16 => |l, op| {
                let range = op.flags;
                let one = move |a| to_half(split(float16(a), range).0, RoundMode::Rte);
                unary(l, op, |a| join(halves(a).map(one)))
            },
            Isa::FREXPE_V2F16 => |l, op| {
                let range = op.flags;
                unary(l, op, |a| join(halves(a).map(|a| split(float16(a), range).1 as u16)))
            },
            Isa::LDEXP_F32 => |l, op| {
                let (a, b) = (l.get(&op.src[0]), l.get(&op.src[1]));
                let f = |a, b| scale(f32::from_bits(a), b as i32).to_bits();
                finish(l, op, &zip(&a, &b, f))
            },
            Isa::LDEXP_V2F16 => |l, op| {
                let (a, b) = (l.get(&op.src[0]), l.get(&op.src[1]));
                let mode = op.round;
                let f = super::by_halves(|a, b| to_half(scale(float16(a), i32::from(b as i16)), mode));
                l.put(op, &zip(&a, &b, f));
                Ok(())
            },
            Isa::FMA_RSCALE_F32 => |l, op| scaled(l, op, f32::mul_add, |d| d as i32),
            Isa::FMA_RSCALE_SCALE16_F32 => {
                |l, op| scaled(l, op, f32::mul_add, |d| i32::from(d as u16 as i16))
            }
            Isa::FMA_RSCALE_N_F32 => |l, op| {
                let f = |a: f32, b: f32, c: f32| match a == 0.0 || b == 0.0 {
                    true => 0.0 + c,
                    false => a.mul_add(b, c),
                };
                scaled(l, op, f, |d| d as i32)
            },
            Isa::FMA_RSCALE_LEFT_F32 => |l, op| {
                let f = |a: f32, b: f32, c: f32| match a == 0.0 || b == 0.0 {
                    true => a + c,
                    false => a.mul_add(b, c),
                };
                scaled(l, op, f, |d| d as i32)
            },
            _ => return None,
        })
    }
}

#[inline(always)]
fn float(l: &mut Lanes<'_, '_>, op: &Op, f: impl Fn(f32) -> f32) -> Done {
    unary(l, op, |a| f(f32::from_bits(a)).to_bits())
}

/// 2 to the power of n/16, for n in the lowest four bits.
pub fn exponential_table(l: &mut Lanes<'_, '_>, op: &Op) -> Done {
    unary(l, op, |a| ((a & 0xf) as f32 / 16.0).exp2().to_bits())
}

/// The reciprocal of the mantissa: the factor that brings a logarithm's argument to a power of two.
pub fn logarithm_reduction(l: &mut Lanes<'_, '_>, op: &Op) -> Done {
    float(l, op, |a| 1.0 / split(a, LOG).0)
}

/// The base-2 logarithm of the mantissa, by whose reciprocal [`logarithm_reduction`] multiplies.
pub fn logarithm_table(l: &mut Lanes<'_, '_>, op: &Op) -> Done {
    float(l, op, |a| split(a, LOG).0.log2())
}

/// Applies a function to the lower half, and writes the result to both halves.
#[inline(always)]
fn half(l: &mut Lanes<'_, '_>, op: &Op, f: impl Fn(f32) -> f32) -> Done {
    unary(l, op, |a| {
        let half = to_half(f(float16(a as u16)), RoundMode::Rte);
        join([half, half])
    })
}

#[inline(always)]
fn inverse_root(a: f32) -> f32 {
    // Computed in 64 bits, so that the two roundings nearly always give the correctly rounded result.
    (1.0 / f64::from(a).sqrt()) as f32
}

/// A float times a power of two, rounded once.
#[inline(always)]
pub fn scale(value: f32, exponent: i32) -> f32 {
    // The product is exact in 64 bits as long as it is a normal number there.
    let exponent = exponent.clamp(-400, 400);
    let power = f64::from_bits(((1023 + i64::from(exponent)) as u64) << 52);
    (f64::from(value) * power) as f32
}

#[inline(always)]
fn scaled(
    l: &mut Lanes<'_, '_>,
    op: &Op,
    f: impl Fn(f32, f32, f32) -> f32,
    exponent: impl Fn(u32) -> i32,
) -> Done {
    let [a, b, c, d] = [0, 1, 2, 3].map(|i| l.get(&op.src[i]));
    let mut out = a;
    for i in 0..LANES {
        let [a, b, c] = [a.0[i], b.0[i], c.0[i]].map(f32::from_bits);
        out.0[i] = scale(f(a, b, c), exponent(d.0[i])).to_bits();
    }
    finish(l, op, &out)
}

/// Mantissa and exponent: a mantissa in [0.5, 1) by default, in [0.75, 1.5) for logarithms, in [0.25, 1)
/// with half the exponent for square roots. Zeros, infinities and NaN are their own mantissas.
pub fn split(value: f32, range: u32) -> (f32, i32) {
    if value == 0.0 || !value.is_finite() {
        return (value, 0);
    }
    // As 64-bit floats, subnormal numbers are normal.
    let bits = f64::from(value).to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32 - 1022;
    let mantissa = f64::from_bits(bits & !(0x7ff << 52) | 1022 << 52) as f32;
    match range {
        r if r & LOG != 0 => match mantissa.abs() < 0.75 {
            true => (mantissa * 2.0, exponent - 1),
            false => (mantissa, exponent),
        },
        r if r & SQRT != 0 => match exponent & 1 {
            0 => (mantissa, exponent >> 1),
            _ => (mantissa * 0.5, (exponent + 1) >> 1),
        },
        _ => (mantissa, exponent),
    }
}

/// Two to the power of a number of 24 fractional bits; `value` is the float that was converted to it.
fn exponential(fixed: i32, value: f32) -> f32 {
    let whole = i32::MIN as f32;
    let exponent = match value > whole && value < -whole {
        true => f64::from(fixed),
        // The conversion saturated, or converted NaN.
        false => f64::from(value),
    };
    (exponent / f64::from(1 << 24)).exp2() as f32
}

/// log2(m) / (m - 1) of the mantissa m in [0.75, 1.5).
fn logarithm_slope(value: f32) -> f32 {
    if value == 0.0 || value == f32::INFINITY {
        // The other factor is infinite, and is the result.
        return 1.0;
    }
    if value < 0.0 || value.is_nan() {
        return f32::NAN;
    }
    let mantissa = f64::from(split(value, LOG).0);
    let slope = match mantissa == 1.0 {
        true => std::f64::consts::LOG2_E,
        false => mantissa.log2() / (mantissa - 1.0),
    };
    slope as f32
}

/// A plus the mantissa of B in [0.75, 1.5), with the special cases of a logarithm.
fn add_mantissa(a: f32, b: f32) -> f32 {
    match b {
        0.0 => f32::NEG_INFINITY,
        _ => a + split(b, LOG).0,
    }
}

/// The angle of the lower six bits, in 1/64 of a turn.
fn angle(bits: u32) -> f32 {
    (f64::from(bits & 63) * std::f64::consts::PI / 32.0) as f32
}

for_hosts! {
    fn cubes(isa: Isa) -> Option<Handler> {
        Some(match isa {
            Isa::CUBEFACE1 => |l, op| {
                super::ternary(l, op, |x, y, z| {
                    let [x, y, z] = [x, y, z].map(|v| f32::from_bits(v).abs());
                    x.max(y).max(z).to_bits()
                })
            },
            Isa::CUBEFACE2_V9 => |l, op| super::ternary(l, op, |x, y, z| face(x, y, z) << FACE_SHIFT),
            // Sources: Z, X and the face.
            Isa::CUBE_SSEL => |l, op| {
                super::ternary(l, op, |z, x, face| match face >> FACE_SHIFT {
                    0 => negated(z),
                    1 => z,
                    5 => negated(x),
                    _ => x,
                })
            },
            // Sources: Y, Z and the face.
            Isa::CUBE_TSEL => |l, op| {
                super::ternary(l, op, |y, z, face| match face >> FACE_SHIFT {
                    2 => z,
                    3 => negated(z),
                    _ => negated(y),
                })
            },
            _ => return None,
        })
    }
}

/// The position of the face, in the upper three bits: Mesa merges it into a coordinate.
const FACE_SHIFT: u32 = 29;

fn negated(bits: u32) -> u32 {
    bits ^ 0x8000_0000
}

/// The face of the cube that a direction hits: +X, -X, +Y, -Y, +Z, -Z.
fn face(x: u32, y: u32, z: u32) -> u32 {
    let [x, y, z] = [x, y, z].map(f32::from_bits);
    let (major, sign) = if z.abs() >= x.abs() && z.abs() >= y.abs() {
        (4, z)
    } else if y.abs() >= x.abs() {
        (2, y)
    } else {
        (0, x)
    };
    major + u32::from(sign.is_sign_negative())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mantissas_and_exponents_make_the_number() {
        for value in [1.0f32, 0.75, 3.0, -10.5, 1e-40, f32::MAX, 0.3] {
            let (m, e) = split(value, 0);
            assert!((0.5..1.0).contains(&m.abs()));
            assert_eq!(scale(m, e), value);
            let (m, e) = split(value, LOG);
            assert!((0.75..1.5).contains(&m.abs()), "{value}: {m}");
            assert_eq!(scale(m, e), value);
            let (m, e) = split(value, SQRT);
            assert!((0.25..1.0).contains(&m.abs()));
            assert_eq!(scale(m, 2 * e), value);
        }
        assert_eq!(split(f32::INFINITY, 0), (f32::INFINITY, 0));
    }

    /// The sequence of Mesa's `bi_flog2_32`.
    #[test]
    fn logarithms_come_out() {
        for value in [1.0f32, 2.0, 0.1, 1.4999, 0.75, 1e30, 1e-40, 1.0000001] {
            let sum = add_mantissa(-1.0, value);
            let log = logarithm_slope(value).mul_add(sum, split(value, LOG).1 as f32);
            let exact = f64::from(value).log2();
            let error = (f64::from(log) - exact).abs();
            assert!(error <= 3e-7 * exact.abs().max(0.2), "{value}: {log} {exact}");
        }
        let log =
            |v: f32| logarithm_slope(v).mul_add(add_mantissa(-1.0, v), split(v, LOG).1 as f32);
        assert_eq!(log(0.0), f32::NEG_INFINITY);
        assert_eq!(log(f32::INFINITY), f32::INFINITY);
        assert!(log(-1.0).is_nan() && log(f32::NAN).is_nan());
    }

    /// The sequence of Mesa's `bi_fexp_32`.
    #[test]
    fn powers_come_out() {
        for value in [0.0f32, 1.0, -1.0, 0.5, 10.25, -20.75, 127.9, -126.5, -140.0] {
            let scaled = scale(value, 24);
            let power = exponential(scaled.round_ties_even() as i32, scaled);
            let exact = f64::from(value).exp2();
            assert!((f64::from(power) - exact).abs() <= 2e-7 * exact + 1e-45, "{value}");
        }
        let of = |v: f32| exponential(scale(v, 24) as i32, scale(v, 24));
        assert_eq!((of(200.0), of(-200.0)), (f32::INFINITY, 0.0));
        assert_eq!((of(f32::INFINITY), of(f32::NEG_INFINITY)), (f32::INFINITY, 0.0));
        assert!(of(f32::NAN).is_nan());
    }

    #[test]
    fn faces_are_those_of_cube_maps() {
        let of = |v: [f32; 3]| face(v[0].to_bits(), v[1].to_bits(), v[2].to_bits());
        assert_eq!(of([2.0, 1.0, 0.0]), 0);
        assert_eq!(of([-2.0, 1.0, 0.0]), 1);
        assert_eq!(of([0.5, 1.0, 0.0]), 2);
        assert_eq!(of([0.5, -1.0, 0.0]), 3);
        assert_eq!(of([0.5, -1.0, 3.0]), 4);
        assert_eq!(of([0.5, -1.0, -3.0]), 5);
    }
}
