//! Floating-point arithmetic.
//!
//! 32-bit results are those of IEEE 754 with round to nearest even; subnormals are flushed on input
//! and output by the host mode that `usc::fpmode` sets. Half results are rounded once, from an
//! exact or correctly sticky intermediate. source: applegpu.py, FMAdd32 and FMAdd16 (checked on
//! hardware by its authors).

use tepui_agx_texture::half;

use super::{Lanes, Next, Op};
use crate::usc::op::Form;
use crate::usc::operand::saturate;
use crate::usc::row::{LANES, Row, each_busy};

/// Reads the sources as floats, applies `f` to each lane, stores. `FAST` promises whole rows on
/// both sides and no saturation, which leaves one straight loop.
#[inline(always)]
fn map<const FAST: bool, const N: usize>(
    l: &mut Lanes<'_, '_>,
    op: &Op,
    f: impl Fn([f32; N]) -> f32,
) -> Next {
    if FAST {
        let rows: [&Row; N] = std::array::from_fn(|k| l.row(op.s[k]));
        let and: [u32; N] =
            std::array::from_fn(|k| if op.s[k].abs { 0x7fff_ffff } else { u32::MAX });
        let xor: [u32; N] = std::array::from_fn(|k| if op.s[k].neg { 0x8000_0000 } else { 0 });
        let mut out = Row::ZERO;
        each_busy(l.exec, |i| {
            let x = std::array::from_fn(|k| f32::from_bits((rows[k].0[i] & and[k]) ^ xor[k]));
            out.0[i] = f(x).to_bits();
        });
        l.store_row(op.d.row, &out);
    } else {
        let sources: [[f32; LANES]; N] = std::array::from_fn(|k| l.load_f32(op.s[k]));
        let mut out = [0.0; LANES];
        for i in 0..LANES {
            out[i] = f(std::array::from_fn(|k| sources[k][i]));
        }
        l.store_f32(op.d, &out);
    }
    Next::Continue
}

/// `d = a + b`
#[inline(always)]
pub fn fadd<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    map::<FAST, 2>(l, op, |[a, b]| a + b)
}

/// `d = a * b`, with IEEE's sign of zero. applegpu writes it as a fused multiply-add with +0
/// (applegpu.py, FMul32InstructionDesc), by which -0 * 1 would be +0; but Mesa's Vulkan driver,
/// conformant on silicon, promises shaderSignedZeroInfNanPreserve and maps multiplications to this
/// instruction.
#[inline(always)]
pub fn fmul<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    map::<FAST, 2>(l, op, |[a, b]| a * b)
}

/// `d = a * b + c`, rounded once
#[inline(always)]
pub fn ffma<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    map::<FAST, 3>(l, op, |[a, b, c]| a.mul_add(b, c))
}

/// Half add: the sum of two halves in 32 bits rounds to a half as the exact sum does, since 24 bits
/// are at least twice 11 plus 2.
#[inline(always)]
pub fn hadd<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    map::<false, 2>(l, op, |[a, b]| a + b)
}

/// Half multiply: the product of two halves is exact in 32 bits.
#[inline(always)]
pub fn hmul<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    map::<false, 2>(l, op, |[a, b]| a * b)
}

/// Half fused multiply-add, rounded once to the destination.
#[inline(always)]
pub fn hfma<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let [a, b, c] = [l.load_f32(op.s[0]), l.load_f32(op.s[1]), l.load_f32(op.s[2])];
    let mut out = Row::ZERO;
    for i in 0..LANES {
        let exact = add_to_odd(f64::from(a[i]) * f64::from(b[i]), f64::from(c[i]));
        let clamped = if op.d.saturate { saturate64(exact) } else { exact };
        out.0[i] =
            if op.d.form == Form::Word { (clamped as f32).to_bits() } else { f64_to_half(clamped) };
    }
    l.store_u32(op.d, &out);
    Next::Continue
}

/// `x + y` in 64 bits rounded to odd, so that a further rounding to fewer bits is as if from the
/// exact sum.
fn add_to_odd(x: f64, y: f64) -> f64 {
    let sum = x + y;
    if !sum.is_finite() {
        return sum;
    }
    // Knuth's two-sum: what the rounding lost.
    let y_part = sum - x;
    let lost = (x - (sum - y_part)) + (y - y_part);
    if lost == 0.0 || sum.to_bits() & 1 == 1 {
        return sum;
    }
    let away = (lost > 0.0) == (sum > 0.0);
    f64::from_bits(if away { sum.to_bits() + 1 } else { sum.to_bits() - 1 })
}

fn saturate64(x: f64) -> f64 {
    if x > 0.0 { x.min(1.0) } else { 0.0 }
}

/// Rounds to the nearest half. The detour through 32 bits is made sticky first.
pub fn f64_to_half(x: f64) -> u32 {
    let near = x as f32;
    if !near.is_finite() || near == 0.0 {
        return half::narrow(near);
    }
    let back = f64::from(near);
    let bits = near.to_bits();
    // Round to odd in 32 bits: step toward zero if the conversion rounded away, then set the last
    // bit if anything was lost.
    let odd = if back == x {
        bits
    } else if back.abs() > x.abs() {
        (bits - 1) | 1
    } else {
        bits | 1
    };
    half::narrow(f32::from_bits(odd))
}

/// Round down to an integer.
#[inline(always)]
pub fn floor<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    map::<FAST, 1>(l, op, |[a]| a.floor())
}

/// Round up to an integer.
#[inline(always)]
pub fn ceil<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    map::<FAST, 1>(l, op, |[a]| a.ceil())
}

/// Round toward zero to an integer.
#[inline(always)]
pub fn trunc<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    map::<FAST, 1>(l, op, |[a]| a.trunc())
}

/// Round to the nearest integer, ties to even.
#[inline(always)]
pub fn rint<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    map::<FAST, 1>(l, op, |[a]| a.round_ties_even())
}

/// `1 / a`. The silicon's last bits are not known; this is correctly rounded.
#[inline(always)]
pub fn rcp<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    map::<FAST, 1>(l, op, |[a]| 1.0 / a)
}

/// `1 / sqrt(a)`. The silicon's last bits are not known; this is within 1 ulp.
#[inline(always)]
pub fn rsqrt<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    map::<FAST, 1>(l, op, |[a]| 1.0 / a.sqrt())
}

/// Version of `rsqrt`: of such a kind that `a * srsqrt(a)` is the square root for every `a`: 1 for zero
/// and infinity, whose product with `a` is `a`. source: applegpu docs, "rsqrt_special".
#[inline(always)]
pub fn srsqrt<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    map::<FAST, 1>(l, op, |[a]| {
        let quotient = a.sqrt() / a;
        // A subnormal counts as zero, whether or not the comparison is compiled to one of floats.
        if a.abs() < f32::MIN_POSITIVE || a == f32::INFINITY { 1.0 } else { quotient }
    })
}

/// Base-2 logarithm.
#[inline(always)]
pub fn log2<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    map::<FAST, 1>(l, op, |[a]| super::approx::log2(a))
}

/// Power of 2.
#[inline(always)]
pub fn exp2<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    map::<FAST, 1>(l, op, |[a]| super::approx::exp2(a))
}

/// First half of the sine: folds an angle in quarter turns, 0..4, to the signed distance from the
/// nearest zero of the sine, -1..1. source: Mesa's agx_compile.c at `nir_op_fsin_agx`; the split of
/// the work between the two halves is an assumption, only their product is observable.
#[inline(always)]
pub fn sin_pt_1<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    map::<FAST, 1>(l, op, |[a]| {
        if a < 1.0 {
            a
        } else if a < 3.0 {
            2.0 - a
        } else {
            a - 4.0
        }
    })
}

/// Second half of the sine: `sin(a * pi / 2) / a` for `a` in -1..1.
#[inline(always)]
pub fn sin_pt_2<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    map::<FAST, 1>(l, op, |[a]| super::approx::sinc_quarter(a))
}

/// Difference along x in each quad: right minus left, for both rows.
#[inline(always)]
pub fn dfdx<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    derivative(l, op, 1)
}

/// Difference along y in each quad: bottom minus top, for both columns.
#[inline(always)]
pub fn dfdy<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    derivative(l, op, 2)
}

#[inline(always)]
fn derivative(l: &mut Lanes<'_, '_>, op: &Op, step: usize) -> Next {
    let a = l.load_f32(op.s[0]);
    let mut out = [0.0; LANES];
    for i in 0..LANES {
        out[i] = a[i | step] - a[i & !step];
    }
    l.store_f32(op.d, &out);
    Next::Continue
}

/// `compare(a, b) ? x : y` on floats. `aux[0]` is the condition.
#[inline(always)]
pub fn fcmpsel<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    if FAST {
        let rows: [&Row; 4] = std::array::from_fn(|k| l.row(op.s[k]));
        let and: [u32; 2] =
            std::array::from_fn(|k| if op.s[k].abs { 0x7fff_ffff } else { u32::MAX });
        let xor: [u32; 2] = std::array::from_fn(|k| if op.s[k].neg { 0x8000_0000 } else { 0 });
        let mut out = Row::ZERO;
        macro_rules! select {
            ($a:ident, $b:ident, $test:expr) => {
                for i in 0..LANES {
                    let $a = f32::from_bits((rows[0].0[i] & and[0]) ^ xor[0]);
                    let $b = f32::from_bits((rows[1].0[i] & and[1]) ^ xor[1]);
                    out.0[i] = if $test { rows[2].0[i] } else { rows[3].0[i] };
                }
            };
        }
        match op.aux[0] {
            0 => select!(a, b, a == b),
            1 => select!(a, b, a < b),
            2 => select!(a, b, a > b),
            3 => select!(a, b, (a < b) | b.is_nan()),
            5 => select!(a, b, a >= b),
            6 => select!(a, b, a <= b),
            _ => select!(a, b, (a > b) | b.is_nan()),
        }
        l.store_row(op.d.row, &out);
        return Next::Continue;
    }
    let yes = fcompare(l, op, op.aux[0]);
    super::int::select(l, op, &yes)
}

/// All bits in the lanes (active or not) in which the condition holds for sources 0 and 1.
///
/// Conditions: 0 equal, 1 less, 2 greater, 3 less or `b` is NaN, 5 greater or equal, 6 less or
/// equal, 7 greater or `b` is NaN; with 3 and 7 a select of `a` or `b` is the minimum or maximum
/// that prefers a number to a NaN. source: Mesa's agx_compiler.h, `enum agx_fcond`, and its `fmin`.
#[inline(always)]
pub fn fcompare(l: &Lanes<'_, '_>, op: &Op, condition: u16) -> Row {
    let [a, b] = [l.load_f32(op.s[0]), l.load_f32(op.s[1])];
    let mut out = Row::ZERO;
    macro_rules! test {
        ($a:ident, $b:ident, $test:expr) => {
            for i in 0..LANES {
                let ($a, $b) = (a[i], b[i]);
                out.0[i] = if $test { u32::MAX } else { 0 };
            }
        };
    }
    match condition {
        0 => test!(a, b, a == b),
        1 => test!(a, b, a < b),
        2 => test!(a, b, a > b),
        3 => test!(a, b, (a < b) | b.is_nan()),
        5 => test!(a, b, a >= b),
        6 => test!(a, b, a <= b),
        _ => test!(a, b, (a > b) | b.is_nan()),
    }
    out
}

pub use convert::convert;

/// Conversions between floats and integers.
pub mod convert {
    use super::*;

    /// The modes of the conversion instruction. source: applegpu.py, ConvertInstructionDesc.
    pub const U8_TO_F: u16 = 0;
    /// Signed byte to float.
    pub const S8_TO_F: u16 = 1;
    /// Float to unsigned 16 bits.
    pub const F_TO_U16: u16 = 4;
    /// Float to signed 16 bits.
    pub const F_TO_S16: u16 = 5;
    /// Unsigned 16 bits to float.
    pub const U16_TO_F: u16 = 6;
    /// Signed 16 bits to float.
    pub const S16_TO_F: u16 = 7;
    /// Float to unsigned 32 bits.
    pub const F_TO_U32: u16 = 8;
    /// Float to signed 32 bits.
    pub const F_TO_S32: u16 = 9;
    /// Unsigned 32 bits to float.
    pub const U32_TO_F: u16 = 10;
    /// Signed 32 bits to float.
    pub const S32_TO_F: u16 = 11;

    /// `aux[0]` is the mode, `aux[1]` the rounding: 0 toward zero, 1 to nearest even. Out of range
    /// becomes the nearest representable integer, NaN zero.
    #[inline(always)]
    pub fn convert<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
        let toward_zero = op.aux[1] == 0;
        let mode = op.aux[0];
        match mode {
            F_TO_U16 | F_TO_S16 | F_TO_U32 | F_TO_S32 => {
                let mut x = l.load_f32(op.s[0]);
                if !toward_zero {
                    for v in &mut x {
                        *v = v.round_ties_even();
                    }
                }
                let mut out = Row::ZERO;
                // A cast truncates and saturates.
                macro_rules! cast {
                    ($($to:ty as)*) => {
                        for i in 0..LANES {
                            out.0[i] = x[i] $(as $to)* as u32;
                        }
                    };
                }
                match mode {
                    F_TO_U16 => cast!(u16 as),
                    F_TO_S16 => cast!(i16 as),
                    F_TO_U32 => cast!(u32 as),
                    _ => cast!(i32 as),
                }
                l.store_u32(op.d, &out);
            }
            // The most frequent modes, as straight loops.
            U32_TO_F | S32_TO_F if !toward_zero && op.d.form == Form::Word => {
                let x = l.load_u32(op.s[0]);
                let mut out = [0.0; LANES];
                if mode == U32_TO_F {
                    for i in 0..LANES {
                        out[i] = x.0[i] as f32;
                    }
                } else {
                    for i in 0..LANES {
                        out[i] = x.0[i] as i32 as f32;
                    }
                }
                l.store_f32(op.d, &out);
            }
            _ => {
                let x = l.load_u32(op.s[0]);
                let half = matches!(op.d.form, Form::Low | Form::High);
                let mut out = Row::ZERO;
                for i in 0..LANES {
                    let v = x.0[i];
                    let wide: f64 = match mode {
                        U8_TO_F => f64::from(v as u8),
                        S8_TO_F => f64::from(v as i8),
                        U16_TO_F => f64::from(v as u16),
                        S16_TO_F => f64::from(v as i16),
                        U32_TO_F => f64::from(v),
                        _ => f64::from(v as i32),
                    };
                    let near = wide as f32;
                    let f = if toward_zero && f64::from(near).abs() > wide.abs() {
                        f32::from_bits(near.to_bits() - 1)
                    } else {
                        near
                    };
                    out.0[i] = if half {
                        if toward_zero { half_toward_zero(f) } else { f64_to_half(wide) }
                    } else {
                        f.to_bits()
                    };
                }
                if op.d.saturate {
                    for i in 0..LANES {
                        out.0[i] = if half {
                            half::narrow(saturate(half::widen(out.0[i])))
                        } else {
                            saturate(f32::from_bits(out.0[i])).to_bits()
                        };
                    }
                }
                l.store_u32(op.d, &out);
            }
        }
        Next::Continue
    }

    fn half_toward_zero(f: f32) -> u32 {
        let near = half::narrow(f);
        if half::widen(near).abs() > f.abs() { near - 1 } else { near }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_fma_rounds_once() {
        // 1 + 2^-11 is a tie; a product of 2^-48 must break it upward.
        let tie = f64::from(1.0f32);
        let tiny = 2f64.powi(-48);
        assert_eq!(f64_to_half(add_to_odd(2f64.powi(-11), tie)), 0x3c00);
        assert_eq!(f64_to_half(add_to_odd(tiny, tie + 2f64.powi(-11))), 0x3c01);
        assert_eq!(f64_to_half(add_to_odd(-tiny, 1.0 + 3.0 * 2f64.powi(-11))), 0x3c01);
    }
}
