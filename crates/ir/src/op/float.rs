//! Float arithmetic. `F` is 16, 32 or 64 bits. Round to nearest even; denormals kept by `fold`.

use super::Pat::{B, F, W};
use super::code::Op;
use super::info::{Fold, OpInfo, Props, op};
use super::lanes;

const COMM: Props = Props::COMM;
const FLOAT: Props = Props::FLOAT;
const PURE: Props = Props::PURE;

/// Whether a float is less than another, with -0 less than 0.
macro_rules! less {
    ($a:ident, $b:ident) => {
        $a < $b || $a == $b && $a.is_sign_negative()
    };
}

/// The rows of the family.
pub(super) const ROWS: &[OpInfo] = &[
    op(Op::FAdd, "fadd", "Sum.")
        .args(&[F, F])
        .results(&[F])
        .props(&[PURE, COMM, FLOAT])
        .fold(float!(a, b => a + b)),
    op(Op::FSub, "fsub", "Difference.")
        .args(&[F, F])
        .results(&[F])
        .props(&[PURE, FLOAT])
        .fold(float!(a, b => a - b)),
    op(Op::FMul, "fmul", "Product.")
        .args(&[F, F])
        .results(&[F])
        .props(&[PURE, COMM, FLOAT])
        .fold(float!(a, b => a * b)),
    op(Op::FFma, "ffma", "a * b + c with one rounding.")
        .args(&[F, F, F])
        .results(&[F])
        .props(&[PURE, COMM, FLOAT])
        .fold(float!(a, b, c => a.mul_add(b, c))),
    op(Op::FDiv, "fdiv", "Quotient.")
        .args(&[F, F])
        .results(&[F])
        .props(&[PURE, FLOAT])
        .fold(float!(a, b => a / b)),
    op(Op::FRem, "frem", "C's fmod: sign of the dividend.")
        .args(&[F, F])
        .results(&[F])
        .props(&[PURE, FLOAT])
        .fold(float!(a, b => a % b)),
    op(Op::FMod, "fmod", "Floored modulo: a - b * floor(a / b).")
        .args(&[F, F])
        .results(&[F])
        .props(&[PURE, FLOAT])
        .fold(float!(a, b => a - b * (a / b).floor())),
    op(Op::FNeg, "fneg", "Flips the sign bit.")
        .args(&[F])
        .results(&[F])
        .props(&[PURE])
        .fold(uint!(n; a => a ^ (1 << (n - 1)))),
    op(Op::FAbs, "fabs", "Clears the sign bit.")
        .args(&[F])
        .results(&[F])
        .props(&[PURE])
        .fold(uint!(n; a => a & !(1 << (n - 1)))),
    op(Op::FSat, "fsat", "Clamp to 0–1; NaN and -0 give 0.")
        .args(&[F])
        .results(&[F])
        .props(&[PURE])
        .fold(float!(a => if a >= 1.0 { 1.0 } else if a > 0.0 { a } else { 0.0 })),
    op(Op::FSign, "fsign", "-1, 0 or 1; NaN gives 0; the sign of zero is kept.")
        .args(&[F])
        .results(&[F])
        .props(&[PURE])
        .fold(float!(a => if a == 0.0 { a } else if a.is_nan() { 0.0 } else { a.signum() })),
    op(Op::FMin, "fmin", "Minimum; a NaN operand gives the other; -0 is less than 0.")
        .args(&[F, F])
        .results(&[F])
        .props(&[PURE, COMM])
        .fold(float!(a, b => if less!(a, b) || b.is_nan() { a } else { b })),
    op(Op::FMax, "fmax", "Maximum; a NaN operand gives the other; -0 is less than 0.")
        .args(&[F, F])
        .results(&[F])
        .props(&[PURE, COMM])
        .fold(float!(a, b => if less!(b, a) || b.is_nan() { a } else { b })),
    op(Op::FFloor, "ffloor", "Round towards minus infinity.")
        .args(&[F])
        .results(&[F])
        .props(&[PURE])
        .fold(float!(a => a.floor())),
    op(Op::FCeil, "fceil", "Round towards plus infinity.")
        .args(&[F])
        .results(&[F])
        .props(&[PURE])
        .fold(float!(a => a.ceil())),
    op(Op::FTrunc, "ftrunc", "Round towards zero.")
        .args(&[F])
        .results(&[F])
        .props(&[PURE])
        .fold(float!(a => a.trunc())),
    op(Op::FRoundEven, "fround_even", "Round to nearest even.")
        .args(&[F])
        .results(&[F])
        .props(&[PURE])
        .fold(float!(a => a.round_ties_even())),
    op(Op::FFract, "ffract", "a - floor(a).")
        .args(&[F])
        .results(&[F])
        .props(&[PURE, FLOAT])
        .fold(float!(a => a - a.floor())),
    op(Op::FSqrt, "fsqrt", "Square root.")
        .args(&[F])
        .results(&[F])
        .props(&[PURE, FLOAT])
        .fold(float!(a => a.sqrt())),
    op(Op::FRsq, "frsq", "Reciprocal square root.")
        .args(&[F])
        .results(&[F])
        .props(&[PURE, FLOAT])
        .fold(float!(a => 1.0 / a.sqrt())),
    op(Op::FRcp, "frcp", "Reciprocal.")
        .args(&[F])
        .results(&[F])
        .props(&[PURE, FLOAT])
        .fold(float!(a => 1.0 / a)),
    op(Op::FExp2, "fexp2", "2 to the power of a.")
        .args(&[F])
        .results(&[F])
        .props(&[PURE, FLOAT])
        .fold(float!(a => a.exp2())),
    op(Op::FLog2, "flog2", "Logarithm to base 2.")
        .args(&[F])
        .results(&[F])
        .props(&[PURE, FLOAT])
        .fold(float!(a => a.log2())),
    op(Op::FSin, "fsin", "Sine of radians.")
        .args(&[F])
        .results(&[F])
        .props(&[PURE, FLOAT])
        .fold(float!(a => a.sin())),
    op(Op::FCos, "fcos", "Cosine of radians.")
        .args(&[F])
        .results(&[F])
        .props(&[PURE, FLOAT])
        .fold(float!(a => a.cos())),
    op(Op::FPow, "fpow", "a to the power of b; undefined for a < 0.")
        .args(&[F, F])
        .results(&[F])
        .props(&[PURE, FLOAT])
        .fold(float!(a, b => a.powf(b))),
    op(Op::FLdexp, "fldexp", "a * 2^b with integer b.")
        .args(&[F, W])
        .results(&[F])
        .props(&[PURE, FLOAT])
        .fold(Fold::Lane(lanes::ldexp)),
    op(
        Op::FFrexpSig,
        "ffrexp_sig",
        "Significand in ±[0.5, 1), or a when a is zero, infinite or NaN.",
    )
    .args(&[F])
    .results(&[F])
    .props(&[PURE])
    .fold(Fold::Lane(|l| lanes::frexp(l).0)),
    op(
        Op::FFrexpExp,
        "ffrexp_exp",
        "Exponent such that a = significand * 2^exponent; 0 when a is zero, infinite or NaN.",
    )
    .args(&[F])
    .results(&[W])
    .props(&[PURE])
    .fold(Fold::Lane(|l| lanes::frexp(l).1 as u64)),
    op(Op::FEq, "feq", "a == b, false with NaN.")
        .args(&[F, F])
        .results(&[B])
        .props(&[PURE, COMM])
        .fold(fcmp!(a, b => a == b)),
    op(Op::FNeu, "fneu", "a != b, true with NaN.")
        .args(&[F, F])
        .results(&[B])
        .props(&[PURE, COMM])
        .fold(fcmp!(a, b => a != b)),
    op(Op::FLt, "flt", "a < b, false with NaN.")
        .args(&[F, F])
        .results(&[B])
        .props(&[PURE])
        .fold(fcmp!(a, b => a < b)),
    op(Op::FGe, "fge", "a >= b, false with NaN.")
        .args(&[F, F])
        .results(&[B])
        .props(&[PURE])
        .fold(fcmp!(a, b => a >= b)),
];
