//! Float arithmetic.

use super::prelude::*;

rows! {
    /// Float add.
    ///
    /// `D = A × 1.0 + B`: exact sum, rounded to 32 bits, then to the destination. `fadd32 d, a,
    /// -0.0` is the float move: it flushes 32-bit denormals, keeps the sign of zero and converts
    /// between widths. infinity − infinity is NaN. Compared with hardware by applegpu (no
    /// denormals, no zeros).
    // source: applegpu.py, FAdd32InstructionDesc
    Fadd32 "fadd32" (4, 6; 15) [0:6 = 0b101010] zero [u46: 2] {
        /// Saturates the result to 0 … 1.
        sat: bool = suffix flag(6, "", ".sat");
        /// Sum.
        d: Dst = operand dst(44);
        /// First summand.
        a: Src = operand float_src(16, 42);
        /// Second summand.
        b: Src = operand float_src(28, 40);
    }

    /// Half-precision float add.
    ///
    /// `D = A × 1.0 + B`, rounded once to 16 bits; denormals are kept.
    // source: applegpu.py, FAdd16InstructionDesc
    Fadd16 "fadd16" (4, 6; 15) [0:6 = 0b100110] zero [u27: 1, u39: 1, u46: 2] {
        /// Saturates the result to 0 … 1.
        sat: bool = suffix flag(6, "", ".sat");
        /// Sum.
        d: Dst = operand dst16(44);
        /// First summand.
        a: Src = operand half_src(16, 42);
        /// Second summand.
        b: Src = operand half_src(28, 40);
    }

    /// Float multiply.
    ///
    /// `D = A × B`, rounded to 32 bits, then to the destination. 0 × infinity is NaN. The sign of a
    /// zero product is that of the exact product: applegpu models the product as `A × B + 0.0`,
    /// which would turn −0 into +0, but did not test zeros; Mesa's driver promises signed zeros and
    /// multiplies with this instruction.
    // source: applegpu.py, FMul32InstructionDesc
    Fmul32 "fmul32" (4, 6; 15) [0:6 = 0b011010] zero [u46: 2] {
        /// Saturates the result to 0 … 1.
        sat: bool = suffix flag(6, "", ".sat");
        /// Product.
        d: Dst = operand dst(44);
        /// First factor.
        a: Src = operand float_src(16, 42);
        /// Second factor.
        b: Src = operand float_src(28, 40);
    }

    /// Half-precision float multiply.
    ///
    /// `D = A × B`, rounded once to 16 bits; denormals are kept. Signs of zero as in `fmul32`.
    // source: applegpu.py, FMul16InstructionDesc
    Fmul16 "fmul16" (4, 6; 15) [0:6 = 0b010110] zero [u27: 1, u39: 1, u46: 2] {
        /// Saturates the result to 0 … 1.
        sat: bool = suffix flag(6, "", ".sat");
        /// Product.
        d: Dst = operand dst16(44);
        /// First factor.
        a: Src = operand half_src(16, 42);
        /// Second factor.
        b: Src = operand half_src(28, 40);
    }

    /// Float fused multiply-add.
    ///
    /// `D = A × B + C`: exact, rounded to 32 bits, then to the destination. NaN if a source is NaN,
    /// for 0 × infinity, and for infinity − infinity. Compared with hardware by applegpu, double
    /// rounding to 16-bit destinations included.
    // source: applegpu.py, FMAdd32InstructionDesc
    Fmadd32 "fmadd32" (6, 8; 15) [0:6 = 0b111010] zero [u52: 2, u62: 2] {
        /// Saturates the result to 0 … 1.
        sat: bool = suffix flag(6, "", ".sat");
        /// Result.
        d: Dst = operand dst(60);
        /// First factor.
        a: Src = operand float_src(16, 58);
        /// Second factor.
        b: Src = operand float_src(28, 56);
        /// Summand.
        c: Src = operand float_src(40, 54);
    }

    /// Half-precision float fused multiply-add.
    ///
    /// `D = A × B + C`, rounded once to 16 bits; denormals are kept. Compared with hardware by
    /// applegpu.
    // source: applegpu.py, FMAdd16InstructionDesc
    Fmadd16 "fmadd16" (6, 8; 15) [0:6 = 0b110110] zero [u27: 1, u39: 1, u51: 3, u62: 2] {
        /// Saturates the result to 0 … 1.
        sat: bool = suffix flag(6, "", ".sat");
        /// Result.
        d: Dst = operand dst16(60);
        /// First factor.
        a: Src = operand half_src(16, 58);
        /// Second factor.
        b: Src = operand half_src(28, 56);
        /// Summand.
        c: Src = operand half_src(40, 54);
    }
}
