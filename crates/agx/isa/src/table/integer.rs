//! Integer arithmetic, conversions and bit manipulation.

use super::prelude::*;

rows! {
    /// Integer add or subtract, with a shift.
    // source: applegpu.py, IAddInstructionDesc
    Iadd "" (8) [0:6 = 0b001110, 15:1 = 0] {
        /// Subtracts: `isub`.
        negate: bool = name flag(27, "iadd", "isub");
        /// Saturates the result to the destination's range.
        sat: bool = suffix flag(6, "", ".sat");
        /// Result.
        d: Dst = operand dst64(44);
        /// First summand.
        a: Src = operand add_src(16, 42);
        /// Second summand, negated and shifted.
        b: Src = operand add_src(28, 40);
        /// Left shift of the second summand, 0 to 4.
        shift: u8 = operand lsl(&[(39, 1), (52, 2)]);
        /// Unknown; 0.
        u46: u8 = hidden num(46, 6);
        /// Unknown; 0.
        u54: u16 = hidden num(54, 10);
    }

    /// Integer multiply-add or multiply-subtract, with a shift.
    // source: applegpu.py, IMAddInstructionDesc
    Imadd "" (8) [0:6 = 0b011110, 15:1 = 0] {
        /// Subtracts: `imsub`.
        negate: bool = name flag(27, "imadd", "imsub");
        /// Saturates the result to the destination's range.
        sat: bool = suffix flag(6, "", ".sat");
        /// Result.
        d: Dst = operand dst64(60);
        /// First factor.
        a: Src = operand mul_src(16, 58);
        /// Second factor.
        b: Src = operand mul_src(28, 56);
        /// Summand, negated and shifted.
        c: Src = operand add_src(40, 54);
        /// Left shift of the summand, 0 to 4.
        shift: u8 = operand lsl(&[(39, 1), (52, 2)]);
        /// Unknown; 0.
        u51: bool = hidden bit(51);
        /// Unknown; 0.
        u62: u8 = hidden num(62, 2);
    }

    /// Convert between integer and float.
    // source: applegpu.py, ConvertInstructionDesc
    Convert "convert" (6) [0:7 = 0b0111110, 15:1 = 1, 22:4 = 0, 38:2 = 0, 42:2 = 0] {
        /// Conversion.
        mode: ConvertMode = operand choice(16, 6);
        /// Result.
        d: Dst = operand dst(44);
        /// Value.
        src: Src = operand src(28, 40);
        /// Rounding.
        round: Round = operand choice(26, 2);
        /// Unknown; 0.
        u46: u8 = hidden num(46, 2);
    }

    /// Bitwise operation by truth table.
    // source: applegpu.py, BitopInstructionDesc
    Bitop "bitop" (6) [0:7 = 0b1111110, 15:1 = 0] {
        /// Truth table: bit `a + 2 * b` is the result for bits a and b of the sources.
        table: u8 = operand truth_table(&[(26, 1), (27, 1), (38, 1), (39, 1)]);
        /// Result.
        d: Dst = operand dst(44);
        /// First source.
        a: Src = operand src(16, 42);
        /// Second source.
        b: Src = operand src(28, 40);
        /// Unknown; 0.
        u46: u8 = hidden num(46, 2);
    }

    /// Reverse the order of 32 bits.
    // source: applegpu.py, BitReverseInstructionDesc
    Bitrev "bitrev" (6) [0:7 = 0b0111110, 15:1 = 0, 26:2 = 0b01, 28:10 = 0, 38:2 = 0] {
        /// Result.
        d: Dst = operand dst(44);
        /// Value.
        a: Src = operand src(16, 42);
        /// Unknown; 0.
        u40: u8 = hidden num(40, 2);
        /// Unknown; 0.
        u46: u8 = hidden num(46, 2);
    }

    /// Count the bits that are set.
    // source: applegpu.py, PopCountInstructionDesc
    Popcount "popcount" (6) [0:7 = 0b0111110, 15:1 = 0, 26:2 = 0b10, 28:10 = 0, 38:2 = 0] {
        /// Result.
        d: Dst = operand dst(44);
        /// Value.
        a: Src = operand src(16, 42);
        /// Unknown; 0.
        u40: u8 = hidden num(40, 2);
        /// Unknown; 0.
        u46: u8 = hidden num(46, 2);
    }

    /// Interleave bits (Morton code).
    // source: applegpu.py, InterleaveInstructionDesc
    Intl "intl" (6) [0:7 = 0b0111110, 15:1 = 0, 26:2 = 0, 38:2 = 0] {
        /// Result.
        d: Dst = operand dst(44);
        /// Value for the even bits.
        a: Src = operand src(16, 42);
        /// Value for the odd bits.
        b: Src = operand src(28, 40);
        /// Unknown; 0.
        u46: u8 = hidden num(46, 2);
    }

    /// Find the highest bit that is set.
    // source: applegpu.py, FindFirstSetInstructionDesc
    Ffs "ffs" (6) [0:7 = 0b0111110, 15:1 = 0, 26:2 = 0b11, 28:10 = 0, 38:2 = 0] {
        /// Result.
        d: Dst = operand dst(44);
        /// Value.
        a: Src = operand src(16, 42);
        /// Unknown; 0.
        u40: u8 = hidden num(40, 2);
        /// Unknown; 0.
        u46: u8 = hidden num(46, 2);
    }

    /// Unknown integer operation of one source.
    // source: applegpu.py, UnknownIUnaryInstructionDesc
    Iunop "iunop" (6) [0:7 = 0b0111110, 15:1 = 0, 28:10 = 0] {
        /// Result.
        d: Dst = operand dst(44);
        /// Value.
        a: Src = operand src(16, 42);
        /// Operation, high part.
        op1: u8 = operand bin(38, 2), 1;
        /// Operation, low part.
        op2: u8 = operand bin(26, 2);
        /// Unknown; 0.
        u40: u8 = hidden num(40, 2);
        /// Unknown; 0.
        u46: u8 = hidden num(46, 2);
    }
}
