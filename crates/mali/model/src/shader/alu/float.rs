//! Float arithmetic.

use tepui_mali_isa::Op as Isa;
use tepui_mali_isa::modifier::{Clamp, NanMode, RoundMode};

use super::rounding::to_half;
use super::{Done, unary};
use crate::shader::op::{Handler, Lanes, Op};
use crate::warp::host::for_hosts;
use crate::warp::row::{LANES, Row, float16, halves, join};

for_hosts! {
    /// The handler of an instruction.
    pub fn handler(isa: Isa) -> Option<Handler> {
        Some(match isa {
            Isa::FADD_F32 => |l, op| two(l, op, |a, b| a + b),
            Isa::FADD_V2F16 => |l, op| two_halves(l, op, |a, b| a + b),
            Isa::FADD_IMM_F32 => |l, op| {
                let b = f32::from_bits(op.immediate);
                unary(l, op, |a| (f32::from_bits(a) + b).to_bits())
            },
            Isa::FADD_IMM_V2F16 => |l, op| {
                let b = halves(op.immediate).map(float16);
                unary(l, op, |a| {
                    let a = halves(a).map(float16);
                    join([0, 1].map(|i| to_half(a[i] + b[i], RoundMode::Rte)))
                })
            },
            Isa::FMIN_F32 => |l, op| two(l, op, minimum),
            Isa::FMIN_V2F16 => |l, op| two_halves(l, op, minimum),
            Isa::FMAX_F32 => |l, op| two(l, op, maximum),
            Isa::FMAX_V2F16 => |l, op| two_halves(l, op, maximum),
            Isa::FMA_F32 => |l, op| three(l, op, f32::mul_add),
            Isa::FMA_V2F16 => |l, op| {
                let [a, b, c] = [0, 1, 2].map(|i| l.get(&op.src[i]));
                let mut out = a;
                for i in 0..LANES {
                    let [a, b, c] = [a, b, c].map(|row| halves(row.0[i]).map(float16));
                    out.0[i] = join([0, 1].map(|n| fused16(a[n], b[n], c[n])));
                }
                finish16(l, op, &out)
            },
            Isa::FLUSH_F32 => |l, op| {
                let mode = op.flags;
                unary(l, op, |a| flush32(a, mode))
            },
            Isa::FLUSH_V2F16 => |l, op| {
                let mode = op.flags;
                unary(l, op, |a| join(halves(a).map(|half| flush16(half, mode))))
            },
            _ => return None,
        })
    }
}

/// The minimum; for a number and NaN the number, for zeros the negative one.
#[inline(always)]
pub fn minimum(a: f32, b: f32) -> f32 {
    if a.is_nan() {
        b
    } else if a < b || b.is_nan() || a == b && a.is_sign_negative() {
        a
    } else {
        b
    }
}

/// The maximum; for a number and NaN the number, for zeros the positive one.
#[inline(always)]
pub fn maximum(a: f32, b: f32) -> f32 {
    if a.is_nan() {
        b
    } else if a > b || b.is_nan() || a == b && a.is_sign_positive() {
        a
    } else {
        b
    }
}

/// Clamps a float; NaN becomes the lower bound.
#[inline(always)]
pub fn clamp(value: f32, clamp: Clamp) -> f32 {
    match clamp {
        Clamp::None => value,
        Clamp::Clamp0Inf => maximum(value, 0.0),
        Clamp::ClampM11 => minimum(maximum(value, -1.0), 1.0),
        Clamp::Clamp01 => minimum(maximum(value, 0.0), 1.0),
    }
}

/// Fused multiply-add of half-floats, rounded once.
///
/// 64 bits hold the product exactly. The sum is rounded to odd in 32 bits; rounding that to 16 bits gives the
/// same result as rounding the exact sum, because 32-bit floats have more than two extra bits.
#[inline(always)]
fn fused16(a: f32, b: f32, c: f32) -> u16 {
    let product = f64::from(a) * f64::from(b);
    let c = f64::from(c);
    let sum = product + c;
    // The exact error of the sum.
    let other = sum - product;
    let error = (product - (sum - other)) + (c - other);
    let nearest = sum as f32;
    let rest = match sum - f64::from(nearest) {
        0.0 => error,
        rest => rest,
    };
    let mut bits = nearest.to_bits();
    if sum.is_finite() && rest != 0.0 {
        if nearest != 0.0 && (rest < 0.0) == (nearest > 0.0) {
            bits -= 1;
        }
        bits |= 1;
    }
    to_half(f32::from_bits(bits), RoundMode::Rte)
}

/// Clamps a result and writes it.
#[inline(always)]
pub fn finish(l: &mut Lanes<'_, '_>, op: &Op, value: &Row) -> Done {
    match op.clamp {
        Clamp::None => l.put(op, value),
        kind => l.put(op, &value.map(|v| clamp(f32::from_bits(v), kind).to_bits())),
    }
    Ok(())
}

/// Clamps a result of half-floats and writes it.
#[inline(always)]
pub fn finish16(l: &mut Lanes<'_, '_>, op: &Op, value: &Row) -> Done {
    match op.clamp {
        Clamp::None => l.put(op, value),
        kind => l.put(
            op,
            &value.map(|v| {
                let one = |half| to_half(clamp(float16(half), kind), RoundMode::Rte);
                join(halves(v).map(one))
            }),
        ),
    }
    Ok(())
}

#[inline(always)]
fn two(l: &mut Lanes<'_, '_>, op: &Op, f: impl Fn(f32, f32) -> f32) -> Done {
    let (a, b) = (l.get(&op.src[0]), l.get(&op.src[1]));
    let f = |a, b| f(f32::from_bits(a), f32::from_bits(b)).to_bits();
    finish(l, op, &super::zip(&a, &b, f))
}

#[inline(always)]
fn two_halves(l: &mut Lanes<'_, '_>, op: &Op, f: impl Fn(f32, f32) -> f32) -> Done {
    let (a, b) = (l.get(&op.src[0]), l.get(&op.src[1]));
    // Sums of two half-floats are either exact in 32 bits or round twice to the same result: 24 bits are at
    // least 2 · 11 + 2.
    let f = super::by_halves(|a, b| to_half(f(float16(a), float16(b)), RoundMode::Rte));
    finish16(l, op, &super::zip(&a, &b, f))
}

#[inline(always)]
fn three(l: &mut Lanes<'_, '_>, op: &Op, f: impl Fn(f32, f32, f32) -> f32) -> Done {
    let [a, b, c] = [0, 1, 2].map(|i| l.get(&op.src[i]));
    let mut out = a;
    for i in 0..LANES {
        let [a, b, c] = [a.0[i], b.0[i], c.0[i]].map(f32::from_bits);
        out.0[i] = f(a, b, c).to_bits();
    }
    finish(l, op, &out)
}

/// Modifiers of FLUSH in [`Op::flags`]: the NaN mode in the lower bits, then these.
pub const FTZ: u32 = 1 << 8;
/// Infinities become finite.
pub const FLUSH_INF: u32 = 1 << 9;

fn flush32(bits: u32, mode: u32) -> u32 {
    let sign = bits & 0x8000_0000;
    let value = f32::from_bits(bits);
    if value.is_nan() {
        nan_mode(mode, bits, 0, 0x0040_0000)
    } else if value.is_subnormal() && mode & FTZ != 0 {
        sign
    } else if value.is_infinite() && mode & FLUSH_INF != 0 {
        sign | f32::MAX.to_bits()
    } else {
        bits
    }
}

fn flush16(bits: u16, mode: u32) -> u16 {
    let sign = bits & 0x8000;
    let magnitude = bits & 0x7fff;
    match magnitude {
        0x7c01.. => nan_mode(mode, bits.into(), 0, 0x0200) as u16,
        0x7c00 if mode & FLUSH_INF != 0 => sign | 0x7bff,
        1..0x0400 if mode & FTZ != 0 => sign,
        _ => bits,
    }
}

fn nan_mode(mode: u32, bits: u32, zero: u32, quiet: u32) -> u32 {
    match mode & 0xff {
        m if m == NanMode::FlushNan as u32 => zero,
        m if m == NanMode::QuietNan as u32 => bits | quiet,
        _ => bits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_prefer_numbers_and_order_zeros() {
        assert_eq!(minimum(f32::NAN, 2.0), 2.0);
        assert_eq!(maximum(2.0, f32::NAN), 2.0);
        assert!(minimum(0.0, -0.0).is_sign_negative());
        assert!(maximum(-0.0, 0.0).is_sign_positive());
        // The identities that ISA.xml lists.
        assert_eq!(clamp(-0.0, Clamp::Clamp01).to_bits(), 0);
        assert_eq!(clamp(f32::NAN, Clamp::Clamp01).to_bits(), 0);
        assert_eq!(clamp(-0.0, Clamp::ClampM11).to_bits(), 0x8000_0000);
        assert_eq!(clamp(f32::NAN, Clamp::ClampM11), -1.0);
        assert_eq!(clamp(-0.0, Clamp::Clamp0Inf).to_bits(), 0);
    }

    /// A sum above the midpoint of two half-floats by less than 64-bit floats can represent.
    #[test]
    fn half_floats_round_once() {
        let tiny = float16(1);
        // 1 + 2^-11 is the midpoint of 1 and its successor; 2^-48 decides.
        let c = 1.0 + 1.0 / 2048.0;
        assert_eq!(fused16(tiny, tiny, 1.0), 0x3c00);
        assert_eq!(fused16(1.0, 1.0, 1.0 / 2048.0), 0x3c00);
        // `c` is not a half-float, but shows that bits beyond 53 count.
        assert_eq!(fused16(float16(1), float16(1) * float16(1), c), 0x3c01);
        assert_eq!(fused16(float16(1), -float16(1) * float16(1), c), 0x3c00);
        assert_eq!(fused16(2.0, 3.0, 4.0), 0x4900);
    }

    #[test]
    fn special_floats_are_flushed() {
        assert_eq!(flush32(1, FTZ), 0);
        assert_eq!(flush32(0x8000_0001, FTZ), 0x8000_0000);
        assert_eq!(flush32(0xff80_0000, FLUSH_INF), 0xff7f_ffff);
        assert_eq!(flush32(0x7f80_0001, NanMode::QuietNan as u32), 0x7fc0_0001);
        assert_eq!(flush32(0x7f80_0001, NanMode::FlushNan as u32), 0);
        assert_eq!(flush16(0x83ff, FTZ), 0x8000);
        assert_eq!(flush16(0xfc00, FLUSH_INF), 0xfbff);
        assert_eq!(flush16(0x0400, FTZ), 0x0400);
    }
}
