//! Float instructions of one source: rounding, special functions, derivatives.

use super::prelude::*;

/// Rows that differ in the operation at bits 28 to 33.
macro_rules! unary {
    ($( $(#[doc = $doc:literal])* $Name:ident $mnemonic:literal $op:literal )*) => {
        rows! { $(
            $(#[doc = $doc])*
            // source: applegpu.py, FUnaryInstructionDesc
            $Name $mnemonic (4, 6; 15) [0:6 = 0b001010, 28:6 = $op, 34:8 = 0] {
                /// The length bit.
                form: Form = form form(15, 4);
                /// Saturates the result to 0 … 1.
                sat: bool = suffix flag(6, "", ".sat");
                /// Result.
                d: Dst = operand dst(44);
                /// Argument.
                a: Src = operand float_src(16, 42);
                /// Unknown; 0.
                u46: u8 = hidden num(46, 2);
            }
        )* }
    };
}

unary! {
    /// Round down to an integer.
    Floor "floor" 0b000000
    /// Round up to an integer.
    Ceil "ceil" 0b010000
    /// Round towards zero to an integer.
    Trunc "trunc" 0b100000
    /// Round to the nearest integer, ties to even.
    Rint "rint" 0b110000
    /// Reciprocal.
    Rcp "rcp" 0b001000
    /// Reciprocal square root.
    Rsqrt "rsqrt" 0b001001
    /// Reciprocal square root for computing square roots.
    ///
    /// `x * rsqrt_special(x)` is the square root of x, special cases included.
    RsqrtSpecial "rsqrt_special" 0b000001
    /// First half of a sine.
    SinPt1 "sin_pt_1" 0b001010
    /// Second half of a sine.
    SinPt2 "sin_pt_2" 0b001110
    /// Logarithm to base 2.
    Log2 "log2" 0b001100
    /// Two to the power of x.
    Exp2 "exp2" 0b001101
}

rows! {
    /// Horizontal derivative within a quad.
    // source: applegpu.py, DfdxInstructionDesc
    Dfdx "dfdx" (4, 6; 15) [0:6 = 0b001010, 28:6 = 0b000100, 34:8 = 0] {
        /// The length bit.
        form: Form = form form(15, 4);
        /// Saturates the result to 0 … 1.
        sat: bool = suffix flag(6, "", ".sat");
        /// Result.
        d: Dst = operand dst(44);
        /// Argument.
        a: Src = operand float_src(16, 42);
        /// Helper invocations end here.
        kill: bool = hidden bit(46);
        /// Unknown; 0.
        u47: bool = hidden bit(47);
    }

    /// Vertical derivative within a quad.
    // source: applegpu.py, DfdyInstructionDesc
    Dfdy "dfdy" (4, 6; 15) [0:6 = 0b001010, 28:6 = 0b000110, 34:8 = 0] {
        /// The length bit.
        form: Form = form form(15, 4);
        /// Saturates the result to 0 … 1.
        sat: bool = suffix flag(6, "", ".sat");
        /// Result.
        d: Dst = operand dst(44);
        /// Argument.
        a: Src = operand float_src(16, 42);
        /// Helper invocations end here.
        kill: bool = hidden bit(46);
        /// Unknown; 0.
        u47: bool = hidden bit(47);
    }

    /// Unknown float operation of one source.
    // source: applegpu.py, UnknownFUnaryInstructionDesc
    Funop "funop" (4, 6; 15) [0:6 = 0b001010, 34:8 = 0] {
        /// The length bit.
        form: Form = form form(15, 4);
        /// Saturates the result to 0 … 1.
        sat: bool = suffix flag(6, "", ".sat");
        /// Result.
        d: Dst = operand dst(44);
        /// Argument.
        a: Src = operand float_src(16, 42);
        /// Operation.
        op: u8 = operand bin(28, 6), 0b111111;
        /// Unknown; 0.
        u46: u8 = hidden num(46, 2);
    }
}
