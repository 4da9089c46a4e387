//! Float instructions of one source: rounding, special functions, derivatives.

use super::prelude::*;

/// Rows that differ in the operation at bits 28 to 33.
macro_rules! unary {
    ($( $(#[doc = $doc:literal])* $Name:ident $mnemonic:literal $op:literal )*) => {
        rows! { $(
            $(#[doc = $doc])*
            // source: applegpu.py, FUnaryInstructionDesc
            $Name $mnemonic (4, 6; 15) [0:6 = 0b001010, 28:6 = $op, 34:8 = 0] zero [u46: 2] {
                /// Saturates the result to 0 … 1.
                sat: bool = suffix flag(6, "", ".sat");
                /// Result.
                d: Dst = operand dst(44);
                /// Argument.
                a: Src = operand float_src(16, 42);
            }
        )* }
    };
}

unary! {
    /// Round down to an integer.
    ///
    /// Infinity, NaN and the sign of zero are kept. The result is rounded to the destination like
    /// any.
    Floor "floor" 0b000000
    /// Round up to an integer.
    ///
    /// Infinity, NaN and the sign of zero are kept; −0.5 gives −0 (inferred from IEEE 754).
    Ceil "ceil" 0b010000
    /// Round towards zero to an integer.
    ///
    /// Infinity, NaN and the sign of zero are kept.
    Trunc "trunc" 0b100000
    /// Round to the nearest integer, ties to even.
    ///
    /// Infinity, NaN and the sign of zero are kept.
    Rint "rint" 0b110000
    /// Reciprocal.
    ///
    /// 1 / A. Not always correctly rounded: Mesa finds it off by one unit in the last place at
    /// times and adds a Newton step, u + u × (1 − x × u), where it needs exactness; which values
    /// are off is unknown. ±0 (flushed denormals too) gives ±infinity and ±infinity gives ±0 (Mesa
    /// relies on the latter). NaN gives NaN.
    Rcp "rcp" 0b001000
    /// Reciprocal square root.
    ///
    /// 1 / √A. Precision unknown (Mesa uses it as it is for inverse square roots: 2 units in the
    /// last place by Vulkan). ±0 gives ±infinity, +infinity gives +0, negative values NaN
    /// (inferred).
    Rsqrt "rsqrt" 0b001001
    /// Reciprocal square root for computing square roots.
    ///
    /// As `rsqrt`, except that special cases are chosen so that `x × rsqrt_special(x)` is √x: for
    /// ±0 the result must be finite and positive, for +infinity positive. The exact values are
    /// unknown. Mesa computes square roots so, and applies no correction.
    RsqrtSpecial "rsqrt_special" 0b000001
    /// First half of a sine.
    ///
    /// Takes an angle in quadrants, 0 to 4, and gives a value in −1 to 1 that stands for the same
    /// sine in the first quadrant: x for 0 ≤ x ≤ 1, 2 − x for 1 ≤ x ≤ 3, x − 4 for 3 ≤ x ≤ 4
    /// (inferred from Mesa's description, "piecewise sign and offset"). Then sin = `sin_pt_1(x) ×
    /// sin_pt_2(sin_pt_1(x))`.
    SinPt1 "sin_pt_1" 0b001010
    /// Second half of a sine.
    ///
    /// sin(x × π/2) / x for x in −1 to 1; π/2 at 0. An even function. Precision unknown.
    SinPt2 "sin_pt_2" 0b001110
    /// Logarithm to base 2.
    ///
    /// Base-2 logarithm. ±0 (flushed denormals too) gives −infinity, +infinity gives +infinity,
    /// negative values NaN (inferred). Precision unknown (3 units in the last place, or 2^-21 near
    /// 1, by Vulkan).
    Log2 "log2" 0b001100
    /// Two to the power of x.
    ///
    /// 2^A. +infinity gives +infinity, −infinity gives 0; results below 2^-126 are flushed in 32
    /// bits. Precision unknown (Vulkan asks for 3 + 2 × |x| units in the last place).
    Exp2 "exp2" 0b001101
}

rows! {
    /// Horizontal derivative within a quad.
    ///
    /// The difference of A between the right and the left thread of the quad's row: value(lane | 1) −
    /// value(lane & ~1) (inferred; Mesa uses it for both fine and coarse derivatives). Threads of the
    /// quad count whether active or not (helper invocations exist for it).
    // source: applegpu.py, DfdxInstructionDesc
    Dfdx "dfdx" (4, 6; 15) [0:6 = 0b001010, 28:6 = 0b000100, 34:8 = 0] zero [u47: 1] {
        /// Saturates the result to 0 … 1.
        sat: bool = suffix flag(6, "", ".sat");
        /// Result.
        d: Dst = operand dst(44);
        /// Argument.
        a: Src = operand float_src(16, 42);
        /// Helper invocations end here.
        kill: bool = hidden bit(46);
    }

    /// Vertical derivative within a quad.
    ///
    /// The difference of A between the lower and the upper thread of the quad's column: value(lane
    /// | 2) − value(lane & ~2) (inferred).
    // source: applegpu.py, DfdyInstructionDesc
    Dfdy "dfdy" (4, 6; 15) [0:6 = 0b001010, 28:6 = 0b000110, 34:8 = 0] zero [u47: 1] {
        /// Saturates the result to 0 … 1.
        sat: bool = suffix flag(6, "", ".sat");
        /// Result.
        d: Dst = operand dst(44);
        /// Argument.
        a: Src = operand float_src(16, 42);
        /// Helper invocations end here.
        kill: bool = hidden bit(46);
    }

    /// Unknown float operation of one source.
    // source: applegpu.py, UnknownFUnaryInstructionDesc
    Funop "funop" (4, 6; 15) [0:6 = 0b001010, 34:8 = 0] zero [u46: 2] {
        /// Saturates the result to 0 … 1.
        sat: bool = suffix flag(6, "", ".sat");
        /// Result.
        d: Dst = operand dst(44);
        /// Argument.
        a: Src = operand float_src(16, 42);
        /// Operation.
        op: u8 = operand bin(28, 6), 0b111111;
    }
}
