//! Conversions between 64-bit floats, smaller floats and integers.

use super::{
    BIAS, FRACTION, INF, INF_EXP, Num, QUIET, abs, bit, high, join, low, round, shift_jam, sign_of,
    unpack, with_sign,
};
use crate::rewrite::Emit;
use tepui_ir::{Op, Type, Value};

/// To 32 or 16 bits, to the nearest or towards zero.
pub(super) fn narrow(e: &mut Emit, a: Value, ty: Type, to_zero: bool) -> Value {
    if ty.bits() == 64 {
        return a;
    }
    let half = ty.bits() == 16;
    let (xa, sign) = (abs(e, a), sign_of(e, a));
    let exp = ir!(e, (UBitExtract (fn high a) 20u32 11u32));
    // 30 bits of the significand, then one that says whether anything is below.
    let sig = ir!(e, (IOr (IShl (IAnd a FRACTION) 10u32) {1u64 << 62}));
    let top = ir!(e, (fn high sig));
    let top = ir!(e, (IOr top (fn bit (INe (fn low sig) 0u32))));
    // Exponents of 32 bits; what falls below the smallest is shifted.
    let exp = ir!(e, (ISub exp {BIAS - 127}));
    let under = ir!(e, (SMin (SMax (ISub 1u32 exp) 0u32) 31u32));
    let kept = ir!(e, (UShr top under));
    let sig = ir!(e, (IOr kept (fn bit (INe (IShl kept under) top))));
    let exp = ir!(e, (SMax exp 1u32));
    let fraction = ir!(e, (UShr sig 7u32));
    let fraction = if half {
        // Rounded to 16 bits afterwards: the last bit keeps that there is something below.
        ir!(e, (IOr fraction (fn bit (INe (IAnd sig 127u32) 0u32))))
    } else if to_zero {
        fraction
    } else {
        let odd = ir!(e, (IAnd fraction 1u32));
        ir!(e, (UShr (IAdd (IAdd sig 63u32) odd) 7u32))
    };
    let bits = ir!(e, (IAdd fraction (IShl (ISub exp 1u32) 23u32)));
    let inf = 0x7f80_0000u32;
    // The largest number stands for what is larger where nothing may be rounded up; 16 bits see to
    // that themselves.
    let end = if to_zero || half { inf - 1 } else { inf };
    let bits = ir!(e, (if (SLt exp 255u32) bits end));
    // A not-a-number keeps the bits that there is room for.
    let payload = ir!(e, (IOr (IAnd (UShr top 7u32) 0x7f_ffffu32) 0x7fc0_0000u32));
    let special = ir!(e, (if (IEq xa INF) inf payload));
    let bits = ir!(e, (if (ULt xa INF) bits special));
    let bits = ir!(e, (IOr bits sign));
    if !half {
        return bits;
    }
    e.convert(if to_zero { Op::F2FRtz } else { Op::F2F }, bits, ty)
}

/// Converts from 32 or 16 bits, exactly.
pub(super) fn widen(e: &mut Emit, a: Value) -> Value {
    let a = e.convert(Op::F2F, a, Type::B32);
    let sign = ir!(e, (IAnd a {super::SIGN}));
    let xa = ir!(e, (IAnd a {u32::MAX >> 1}));
    let field = ir!(e, (UShr xa 23u32));
    // Denormals are shifted until their highest bit is the hidden one.
    let n = ir!(e, (SMax (ISub 23u32 (UFindMsb xa)) 0u32));
    let small = ir!(e, (IEq field 0u32));
    let n = ir!(e, (if small n 0u32));
    let exp = ir!(e, (if small (ISub 1u32 n) field));
    let exp = ir!(e, (if (IEq field 255u32) {INF_EXP} (IAdd exp {BIAS - 127})));
    let exp = ir!(e, (if (IEq xa 0u32) 0u32 exp));
    let fraction = ir!(e, (IAnd (IShl xa n) 0x7f_ffffu32));
    let hi = ir!(e, (IOr (IShl exp 20u32) (UShr fraction 3u32)));
    let bits = ir!(e, (fn join (IShl fraction 29u32) (IOr hi sign)));
    let nan = ir!(e, (ULt 0x7f80_0000u32 xa));
    ir!(e, (if nan (IOr bits QUIET) bits))
}

/// To an integer: towards zero, saturating; not-a-numbers give 0.
pub(super) fn to_int(e: &mut Emit, a: Value, signed: bool, ty: Type) -> Value {
    let xa = abs(e, a);
    let Num { exp, sig } = unpack(e, a);
    let down = ir!(e, (ISub {BIAS + 63} exp));
    // From bit 63 down, where numbers of 2^63 and more saturate.
    let count = ir!(e, (SMin (SMax down 0u32) 63u32));
    let size = ir!(e, (UShr (IShl sig 11u32) count));
    let size = ir!(e, (if (SLt 63u32 down) 0u64 size));
    let size = ir!(e, (if (SLt down 0u32) {u64::MAX} size));
    let size = ir!(e, (if (ULt INF xa) 0u64 size));
    let minus = ir!(e, (SLt a 0u64));
    let r = if signed {
        let most = ty.mask() >> 1;
        let limit = ir!(e, (if minus {most + 1} most));
        let size = ir!(e, (UMin size limit));
        ir!(e, (if minus (INeg size) size))
    } else {
        ir!(e, (if minus 0u64 (UMin size {ty.mask()})))
    };
    e.convert(Op::U2U, r, ty)
}

/// Converts from an integer.
pub(super) fn from_int(e: &mut Emit, a: Value, signed: bool) -> Value {
    let wide = e.convert(if signed { Op::S2S } else { Op::U2U }, a, Type::B64);
    let minus = if signed { ir!(e, (SLt wide 0u64)) } else { e.konst(Type::B1, 0) };
    let size = ir!(e, (if minus (INeg wide) wide));
    let sign = ir!(e, (if minus {super::SIGN} 0u32));
    let msb = ir!(e, (UFindMsb size));
    if e.ty(a).bits() < 64 {
        // Every bit has its place.
        let fraction = ir!(e, (IAnd (IShl size (ISub 52u32 msb)) FRACTION));
        let exp = ir!(e, (IShl (IAdd msb BIAS) 20u32));
        let bits = ir!(e, (IOr fraction (fn join 0u32 exp)));
        let bits = ir!(e, (fn with_sign bits sign));
        return ir!(e, (if (IEq size 0u64) 0u64 bits));
    }
    // Bit 62 on top; only the largest unsigned numbers have bit 63, and they lose one to the jam.
    let size = ir!(e, (fn shift_jam size (fn bit (SLt size 0u64))));
    let n = ir!(e, (SMax (ISub 62u32 msb) 0u32));
    ir!(e, (fn round sign (IAdd msb BIAS) (IShl size n)))
}
