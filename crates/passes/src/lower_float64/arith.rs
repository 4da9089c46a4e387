//! 64-bit float addition, multiplication, division, square roots, remainders and scaling by powers
//! of two.

use super::{
    BIAS, INF, NAN, Num, QUIET, SIGN, abs, bit64, extend, high, low, round, shift_jam, sign_of,
    unpack, unpack_normal, with_sign,
};
use crate::rewrite::Emit;
use tepui_ir::{Op, Type, Value};

/// Whether the sign bit is set.
fn is_negative(e: &mut Emit, a: Value) -> Value {
    ir!(e, (SLt (fn high a) 0u32))
}

pub(super) fn add(e: &mut Emit, a: Value, b: Value) -> Value {
    // The larger first: differences have its sign, and it is special when either is.
    let swap = ir!(e, (ULt (fn abs a) (fn abs b)));
    let (a, b) = (ir!(e, (if swap b a)), ir!(e, (if swap a b)));
    let (xa, xb) = (abs(e, a), abs(e, b));
    let differ = ir!(e, (fn is_negative (IXor a b)));
    let (na, nb) = (unpack(e, a), unpack(e, b));
    // From bit 61 down: sums have headroom, and the bits that the shift loses count only where at most
    // one bit cancels.
    let distance = ir!(e, (SMin (ISub {na.exp} {nb.exp}) 63u32));
    let sa = ir!(e, (IShl {na.sig} 9u32));
    let sb = ir!(e, (fn shift_jam (IShl {nb.sig} 9u32) distance));
    let sum = ir!(e, (if differ (ISub sa sb) (IAdd sa sb)));
    let n = ir!(e, (ISub 62u32 (UFindMsb sum)));
    let exp = ir!(e, (ISub (IAdd {na.exp} 1u32) n));
    // A cancelled sum is +0, but -0 - 0 is -0.
    let (sign, other) = (sign_of(e, a), sign_of(e, b));
    let sign = ir!(e, (if (IEq sum 0u64) (IAnd sign other) sign));
    let finite = ir!(e, (fn round sign exp (IShl sum n)));
    let opposite = ir!(e, (IAnd differ (IEq xb INF)));
    let special = ir!(e, (if (IOr opposite (ULt INF xa)) NAN a));
    ir!(e, (if (ULt xa INF) finite special))
}

/// The sign of a product or quotient.
fn sign_between(e: &mut Emit, a: Value, b: Value) -> Value {
    ir!(e, (fn sign_of (IXor a b)))
}

/// Doubles significands whose highest bit is bit 61 where it may be bit 62, and takes one from
/// their exponent.
fn up_to_62(e: &mut Emit, exp: Value, sig: Value) -> (Value, Value) {
    let low = ir!(e, (ULt sig {1u64 << 62}));
    (ir!(e, (if low (ISub exp 1u32) exp)), ir!(e, (if low (IAdd sig sig) sig)))
}

pub(super) fn mul(e: &mut Emit, a: Value, b: Value) -> Value {
    let (xa, xb) = (abs(e, a), abs(e, b));
    let sign = sign_between(e, a, b);
    let (na, nb) = (unpack_normal(e, a), unpack_normal(e, b));
    let sa = ir!(e, (UShr {na.sig} 1u32));
    let rest = ir!(e, (INe (IMul sa {nb.sig}) 0u64));
    let sig = ir!(e, (IOr (UMulHi sa {nb.sig}) (fn bit64 rest)));
    let exp = ir!(e, (ISub (IAdd {na.exp} {nb.exp}) {BIAS - 1}));
    let (exp, sig) = up_to_62(e, exp, sig);
    let finite = round(e, sign, exp, sig);
    let (sum, least) = (ir!(e, (UMax xa xb)), ir!(e, (UMin xa xb)));
    let infinite = with_sign_const(e, INF, sign);
    let nan = ir!(e, (IOr (ULt INF sum) (IEq least 0u64)));
    ir!(e, (if (ULt sum INF) finite (if nan NAN infinite)))
}

fn with_sign_const(e: &mut Emit, bits: u64, sign: Value) -> Value {
    let bits = e.konst(Type::B64, bits);
    with_sign(e, bits, sign)
}

/// 128 bits: low, high.
type Wide = [Value; 2];

/// [`shift_jam`] of 128 bits. 0 <= n <= 127.
fn shift_jam_wide(e: &mut Emit, [lo, hi]: Wide, n: Value) -> Wide {
    let far = ir!(e, (ULt 63u32 n));
    let lost = ir!(e, (IAnd far (INe lo 0u64)));
    let (lo, hi) = (ir!(e, (if far hi lo)), ir!(e, (if far 0u64 hi)));
    let n = ir!(e, (IAnd n 63u32));
    let kept = ir!(e, (UShr lo n));
    let lost = ir!(e, (IOr lost (INe (IShl kept n) lo)));
    // Shifted twice, as 64 is no count.
    let down = ir!(e, (IShl (IShl hi 1u32) (IXor n 63u32)));
    [ir!(e, (IOr (IOr kept down) (fn bit64 lost))), ir!(e, (UShr hi n))]
}

/// a + b, or a - b, and whether that is negative: then its magnitude.
fn combine_wide(e: &mut Emit, a: Wide, b: Wide, minus: Value) -> (Wide, Value) {
    let ones = ir!(e, (if minus {u64::MAX} 0u64));
    let flip = |e: &mut Emit, [lo, hi]: Wide, ones: Value| {
        [ir!(e, (IXor lo ones)), ir!(e, (IXor hi ones))]
    };
    // -b is !b + 1.
    let b = flip(e, b, ones);
    let one = bit64(e, minus);
    let sum = add_wide(e, a, b, one);
    let negative = ir!(e, (SLt {sum[1]} 0u64));
    let ones = ir!(e, (if negative {u64::MAX} 0u64));
    let sum = flip(e, sum, ones);
    let (one, zero) = (bit64(e, negative), e.konst(Type::B64, 0));
    (add_wide(e, sum, [zero; 2], one), negative)
}

/// a + b + a bit.
fn add_wide(e: &mut Emit, a: Wide, b: Wide, bit: Value) -> Wide {
    let x = ir!(e, (IAdd {a[0]} {b[0]}));
    let lo = ir!(e, (IAdd x bit));
    let carry = ir!(e, (IOr (ULt x {a[0]}) (ULt lo x)));
    [lo, ir!(e, (IAdd (IAdd {a[1]} {b[1]}) (fn bit64 carry)))]
}

pub(super) fn fma(e: &mut Emit, a: Value, b: Value, c: Value) -> Value {
    let (xa, xb, xc) = (abs(e, a), abs(e, b), abs(e, c));
    let sign = sign_between(e, a, b);
    let sign_c = sign_of(e, c);
    let differ = ir!(e, (INe sign sign_c));
    let (na, nb, nc) = (unpack_normal(e, a), unpack_normal(e, b), unpack_normal(e, c));
    // Both with bit 125 as the highest, the product perhaps with bit 124: no bit of either is lost,
    // and sums have room.
    let (sa, sb) = (ir!(e, (UShr {na.sig} 1u32)), ir!(e, (UShr {nb.sig} 1u32)));
    let product = [ir!(e, (IMul sa sb)), ir!(e, (UMulHi sa sb))];
    let zero = e.konst(Type::B64, 0);
    let addend = [zero, ir!(e, (UShr {nc.sig} 2u32))];
    // Zeros are as small as can be.
    let nothing = ir!(e, (IEq (UMin xa xb) 0u64));
    let exp_p = ir!(e, (if nothing {-4000} (ISub (IAdd {na.exp} {nb.exp}) {BIAS - 1})));
    let exp_c = ir!(e, (if (IEq xc 0u64) {-4000} {nc.exp}));
    let first = ir!(e, (SGe exp_p exp_c));
    let pick = |e: &mut Emit, x: Wide, y: Wide| {
        [ir!(e, (if first {x[0]} {y[0]})), ir!(e, (if first {x[1]} {y[1]}))]
    };
    let (x, y) = (pick(e, product, addend), pick(e, addend, product));
    let exp = ir!(e, (SMax exp_p exp_c));
    let distance = ir!(e, (SMin (ISub exp (SMin exp_p exp_c)) 127u32));
    let y = shift_jam_wide(e, y, distance);
    let ([lo, hi], negative) = combine_wide(e, x, y, differ);
    let first_sign = ir!(e, (if first sign sign_c));
    let flipped = ir!(e, (IXor first_sign (if negative SIGN 0u32)));
    let none = ir!(e, (IEq (IOr lo hi) 0u64));
    let signed = ir!(e, (if none (IAnd sign sign_c) flipped));
    // 128 bits to 64 from bit 62 down.
    let far = ir!(e, (IEq hi 0u64));
    let exp = ir!(e, (if far (ISub exp 64u32) exp));
    let (lo, hi) = (ir!(e, (if far 0u64 lo)), ir!(e, (if far lo hi)));
    // The low half alone may have bit 63.
    let half = ir!(e, (UShr hi 1u32));
    let top = ir!(e, (SLt hi 0u64));
    let exp = ir!(e, (if top (IAdd exp 1u32) exp));
    let lost = ir!(e, (IAnd top (INe (IAnd hi 1u64) 0u64)));
    let hi = ir!(e, (if top half hi));
    let n = ir!(e, (SMin (ISub 62u32 (UFindMsb hi)) 63u32));
    let below = ir!(e, (UShr (UShr lo 1u32) (IXor n 63u32)));
    let lost = ir!(e, (IOr lost (INe (IShl lo n) 0u64)));
    let sig = ir!(e, (IOr (IOr (IShl hi n) below) (fn bit64 lost)));
    let exp = ir!(e, (ISub (IAdd exp 1u32) n));
    let finite = round(e, signed, exp, sig);
    // Infinities and not-a-numbers.
    let most = ir!(e, (UMax xa xb));
    let big = ir!(e, (UGe most INF));
    let clash = ir!(e, (IAnd differ (IEq xc INF)));
    let nan = ir!(e, (IAnd big (IOr nothing clash)));
    let nan = ir!(e, (IOr nan (ULt INF (UMax most xc))));
    let infinite = with_sign_const(e, INF, sign);
    let special = ir!(e, (if nan NAN (if big infinite c)));
    ir!(e, (if (ULt (UMax most xc) INF) finite special))
}

/// An integer from a 32-bit float that is one when rounded.
fn digit(e: &mut Emit, x: Value) -> Value {
    let x = ir!(e, (FRoundEven x));
    let x = e.convert(Op::F2S, x, Type::B32);
    extend(e, x)
}

/// Converts the signed number above bit `n` to a 32-bit float.
fn float_above(e: &mut Emit, x: Value, n: u32) -> Value {
    let x = ir!(e, (fn low (SShr x n)));
    e.convert(Op::S2F, x, Type::B32)
}

fn scaled(e: &mut Emit, x: Value, power: i32) -> Value {
    let p = e.f32(2f32.powi(power));
    ir!(e, (FMul x p))
}

pub(super) fn div(e: &mut Emit, a: Value, b: Value) -> Value {
    let (xa, xb) = (abs(e, a), abs(e, b));
    let sign = sign_between(e, a, b);
    let (na, nb) = (unpack_normal(e, a), unpack_normal(e, b));
    let divisor = ir!(e, (UShr {nb.sig} 11u32));
    // Three digits of 19 bits. A 32-bit reciprocal knows each well enough that the remainder stays
    // below the divisor in size, so all that is taken modulo 2^64 comes out right. A digit may be
    // too large by one: the next is negative then, and the last is mended.
    let top = ir!(e, (fn low (UShr divisor 21u32)));
    let top = e.convert(Op::U2F, top, Type::B32);
    let reciprocal = ir!(e, (FRcp top));
    let reciprocal = scaled(e, reciprocal, 23 + 19 - 21);
    let mut rest = ir!(e, (UShr {na.sig} 11u32));
    let mut quotient = e.konst(Type::B64, 0);
    for _ in 0..3 {
        let near = float_above(e, rest, 23);
        let d = ir!(e, (fn digit (FMul near reciprocal)));
        quotient = ir!(e, (IAdd (IShl quotient 19u32) d));
        rest = ir!(e, (ISub (IShl rest 19u32) (IMul d divisor)));
    }
    let quotient = ir!(e, (IAdd quotient (SShr rest 63u32)));
    let exp = ir!(e, (IAdd (ISub {na.exp} {nb.exp}) BIAS));
    let (exp, sig) = up_to_62_from(e, exp, quotient, 5);
    let sig = ir!(e, (IOr sig (fn bit64 (INe rest 0u64))));
    let finite = round(e, sign, exp, sig);
    let (infinite, zero) = (with_sign_const(e, INF, sign), with_sign_const(e, 0, sign));
    let to_inf = ir!(e, (IOr (IEq xa INF) (IEq xb 0u64)));
    let to_zero = ir!(e, (IOr (IEq xb INF) (IEq xa 0u64)));
    let nan = ir!(e, (IOr (ULt INF (UMax xa xb)) (IAnd to_inf to_zero)));
    let special = ir!(e, (if nan NAN (if to_inf infinite zero)));
    ir!(e, (if (IOr (IOr nan to_inf) to_zero) special finite))
}

/// [`up_to_62`] of a significand that is `n` bits too low.
fn up_to_62_from(e: &mut Emit, exp: Value, sig: Value, n: u32) -> (Value, Value) {
    let sig = ir!(e, (IShl sig n));
    up_to_62(e, exp, sig)
}

pub(super) fn sqrt(e: &mut Emit, a: Value) -> Value {
    let xa = abs(e, a);
    let Num { exp, sig } = unpack_normal(e, a);
    let exp = ir!(e, (ISub exp BIAS));
    // A number in [1, 4) with 52 fraction bits, so that the exponent is even and its root has half
    // of it.
    let odd = ir!(e, (IAnd exp 1u32));
    let m = ir!(e, (UShr sig (ISub 11u32 odd)));
    let top = ir!(e, (fn low (UShr m 22u32)));
    let top = e.convert(Op::U2F, top, Type::B32);
    let inverse = ir!(e, (FRsq top));
    // Newton's steps on roots with 20, 40 and 55 fraction bits; the remainder of m below each is small,
    // so modulo 2^64 is enough.
    let near = ir!(e, (FMul top inverse));
    let near = scaled(e, near, 20 - 15);
    let root = digit(e, near);
    let rest = ir!(e, (ISub m (IShl (IMul root root) 12u32)));
    let near = float_above(e, rest, 5);
    let near = ir!(e, (FMul near inverse));
    let step = scaled(e, near, 7);
    let root = ir!(e, (IAdd (IShl root 20u32) (fn digit step)));
    let rest = ir!(e, (ISub (IShl m 28u32) (IMul root root)));
    let near = float_above(e, rest, 13);
    let near = ir!(e, (FMul near inverse));
    let step = scaled(e, near, 2);
    let root = ir!(e, (IAdd (IShl root 15u32) (fn digit step)));
    // The last is the nearest; what is needed is the one below.
    let rest = ir!(e, (ISub (IShl m 58u32) (IMul root root)));
    let root = ir!(e, (IAdd root (SShr rest 63u32)));
    let sig = ir!(e, (IOr (IShl root 7u32) (fn bit64 (INe rest 0u64))));
    let exp = ir!(e, (IAdd (SShr exp 1u32) BIAS));
    let zero = e.u32(0);
    let finite = round(e, zero, exp, sig);
    // Zeros with their signs, and infinity, are their own roots; negative numbers have none.
    let own = ir!(e, (IOr (IEq xa 0u64) (IEq a INF)));
    let none = ir!(e, (ULt INF a));
    ir!(e, (if own a (if none NAN finite)))
}

pub(super) fn rem(e: &mut Emit, a: Value, b: Value) -> Value {
    let (xa, xb) = (abs(e, a), abs(e, b));
    let sign = sign_of(e, a);
    let (na, nb) = (unpack_normal(e, a), unpack_normal(e, b));
    let (sa, divisor) = (ir!(e, (UShr {na.sig} 11u32)), ir!(e, (UShr {nb.sig} 11u32)));
    // Exact division, one bit a turn, as long as the dividend's exponent is the larger.
    let turns = ir!(e, (ISub {na.exp} {nb.exp}));
    let reduce = |e: &mut Emit, x: Value| ir!(e, (if (ULt x divisor) x (ISub x divisor)));
    let none = ir!(e, (SLt turns 0u32));
    let start = reduce(e, sa);
    let start = ir!(e, (if none sa start));
    let out = e.while_(
        &[turns, start],
        |e, p| ir!(e, (SLt 0u32 {p[0]})),
        |e, p| {
            let twice = ir!(e, (IAdd {p[1]} {p[1]}));
            vec![ir!(e, (ISub {p[0]} 1u32)), reduce(e, twice)]
        },
    );
    let rest = out[1];
    let exp = { nb.exp };
    let n = ir!(e, (ISub 62u32 (UFindMsb rest)));
    let exp = ir!(e, (ISub (IAdd exp 10u32) n));
    let finite = ir!(e, (fn round sign exp (IShl rest n)));
    let nan = ir!(e, (IOr (UGe xa INF) (IOr (ULt INF xb) (IEq xb 0u64))));
    // Smaller than the divisor already.
    let finite = ir!(e, (if (ULt xa xb) a finite));
    ir!(e, (if nan NAN finite))
}

/// a * 2^n, rounded once.
pub(super) fn ldexp(e: &mut Emit, a: Value, n: Value) -> Value {
    let xa = abs(e, a);
    let Num { exp, sig } = unpack_normal(e, a);
    let n = ir!(e, (SMin (SMax n {-4000}) 4000u32));
    let exp = ir!(e, (IAdd exp n));
    let sign = sign_of(e, a);
    let finite = ir!(e, (fn round sign exp (UShr sig 1u32)));
    let special = ir!(e, (if (ULt INF xa) (IOr a QUIET) a));
    ir!(e, (if (ULt xa INF) finite special))
}

/// Significand in ±[0.5, 1) and exponent.
pub(super) fn frexp(e: &mut Emit, a: Value) -> (Value, Value) {
    let xa = abs(e, a);
    let Num { exp, sig } = unpack_normal(e, a);
    let own = ir!(e, (IOr (UGe xa INF) (IEq xa 0u64)));
    let fraction = ir!(e, (IAnd (UShr sig 11u32) {super::FRACTION}));
    let half = ir!(e, (IOr fraction {0x3feu64 << 52}));
    let half = ir!(e, (fn with_sign half (fn sign_of a)));
    let exp = ir!(e, (ISub exp {BIAS - 1}));
    (ir!(e, (if own a half)), ir!(e, (if own 0u32 exp)))
}
