//! Float arithmetic. `F` is 16, 32 or 64 bits. Round to nearest even; denormals kept by `fold`.

macro_rules! float_ops { ([$($acc:tt)*] $($rest:ident)*) => { chain! { [$($acc)*
    /// Sum.
    FAdd "fadd" (F, F) -> (F) [PURE, COMM, FLOAT] = float!(a, b => a + b);
    /// Difference.
    FSub "fsub" (F, F) -> (F) [PURE, FLOAT] = float!(a, b => a - b);
    /// Product.
    FMul "fmul" (F, F) -> (F) [PURE, COMM, FLOAT] = float!(a, b => a * b);
    /// a * b + c with one rounding.
    FFma "ffma" (F, F, F) -> (F) [PURE, COMM, FLOAT] = float!(a, b, c => a.mul_add(b, c));
    /// Quotient.
    FDiv "fdiv" (F, F) -> (F) [PURE, FLOAT] = float!(a, b => a / b);
    /// C's fmod: sign of the dividend.
    FRem "frem" (F, F) -> (F) [PURE, FLOAT] = float!(a, b => a % b);
    /// Floored modulo: a - b * floor(a / b).
    FMod "fmod" (F, F) -> (F) [PURE, FLOAT] = float!(a, b => a - b * (a / b).floor());
    /// Flips the sign bit.
    FNeg "fneg" (F) -> (F) [PURE] = uint!(n; a => a ^ (1 << (n - 1)));
    /// Clears the sign bit.
    FAbs "fabs" (F) -> (F) [PURE] = uint!(n; a => a & !(1 << (n - 1)));
    /// Clamp to 0–1; NaN and -0 give 0.
    FSat "fsat" (F) -> (F) [PURE] = float!(a => if a >= 1.0 { 1.0 } else if a > 0.0 { a } else { 0.0 });
    /// -1, 0 or 1; NaN gives 0; the sign of zero is kept.
    FSign "fsign" (F) -> (F) [PURE] = float!(a => if a > 0.0 { 1.0 } else if a < 0.0 { -1.0 } else if a == 0.0 { a } else { 0.0 });
    /// Minimum; a NaN operand gives the other; -0 is less than 0.
    FMin "fmin" (F, F) -> (F) [PURE, COMM] = float!(a, b => if a < b || b.is_nan() || (a == b && a.is_sign_negative()) { a } else { b });
    /// Maximum; a NaN operand gives the other; -0 is less than 0.
    FMax "fmax" (F, F) -> (F) [PURE, COMM] = float!(a, b => if a > b || b.is_nan() || (a == b && a.is_sign_positive()) { a } else { b });
    /// Round towards minus infinity.
    FFloor "ffloor" (F) -> (F) [PURE] = float!(a => a.floor());
    /// Round towards plus infinity.
    FCeil "fceil" (F) -> (F) [PURE] = float!(a => a.ceil());
    /// Round towards zero.
    FTrunc "ftrunc" (F) -> (F) [PURE] = float!(a => a.trunc());
    /// Round to nearest even.
    FRoundEven "fround_even" (F) -> (F) [PURE] = float!(a => a.round_ties_even());
    /// a - floor(a).
    FFract "ffract" (F) -> (F) [PURE, FLOAT] = float!(a => a - a.floor());
    /// Square root.
    FSqrt "fsqrt" (F) -> (F) [PURE, FLOAT] = float!(a => a.sqrt());
    /// Reciprocal square root.
    FRsq "frsq" (F) -> (F) [PURE, FLOAT] = float!(a => 1.0 / a.sqrt());
    /// Reciprocal.
    FRcp "frcp" (F) -> (F) [PURE, FLOAT] = float!(a => 1.0 / a);
    /// 2 to the power of a.
    FExp2 "fexp2" (F) -> (F) [PURE, FLOAT] = float!(a => a.exp2());
    /// Logarithm to base 2.
    FLog2 "flog2" (F) -> (F) [PURE, FLOAT] = float!(a => a.log2());
    /// Sine of radians.
    FSin "fsin" (F) -> (F) [PURE, FLOAT] = float!(a => a.sin());
    /// Cosine of radians.
    FCos "fcos" (F) -> (F) [PURE, FLOAT] = float!(a => a.cos());
    /// a to the power of b; undefined for a < 0.
    FPow "fpow" (F, F) -> (F) [PURE, FLOAT] = float!(a, b => a.powf(b));
    /// a * 2^b with integer b.
    FLdexp "fldexp" (F, W) -> (F) [PURE, FLOAT] = Fold::Lane($crate::op::lanes::ldexp);
    /// Significand in ±[0.5, 1), or a when a is zero, infinite or NaN.
    FFrexpSig "ffrexp_sig" (F) -> (F) [PURE] = Fold::Lane(|l| $crate::op::lanes::frexp(l).0);
    /// Exponent such that a = significand * 2^exponent; 0 when a is zero, infinite or NaN.
    FFrexpExp "ffrexp_exp" (F) -> (W) [PURE] = Fold::Lane(|l| $crate::op::lanes::frexp(l).1 as u64);
    /// a == b, false with NaN.
    FEq "feq" (F, F) -> (B) [PURE, COMM] = fcmp!(a, b => a == b);
    /// a != b, true with NaN.
    FNeu "fneu" (F, F) -> (B) [PURE, COMM] = fcmp!(a, b => a != b);
    /// a < b, false with NaN.
    FLt "flt" (F, F) -> (B) [PURE] = fcmp!(a, b => a < b);
    /// a >= b, false with NaN.
    FGe "fge" (F, F) -> (B) [PURE] = fcmp!(a, b => a >= b);
] $($rest)* } }; }
pub(super) use float_ops;
