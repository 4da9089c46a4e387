//! Integer arithmetic, conversions and bit manipulation.

use super::prelude::*;

rows! {
    /// Integer add or subtract, with a shift.
    ///
    /// `D = A + (B << shift)`, or with `isub` `D = A - (B << shift)`. A shift above 4 makes the
    /// second summand 0.
    ///
    /// `.sat` takes effect only if shift is 0 and all three operands have at most 32 bits: the
    /// result is clamped to the range of the destination's width, signed if A or B is
    /// sign-extended, else unsigned. Compared with hardware by applegpu.
    // source: applegpu.py, IAddInstructionDesc
    Iadd "" (8) [0:6 = 0b001110, 15:1 = 0] zero [u46: 6, u54: 10] {
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
    }

    /// Integer multiply-add or multiply-subtract, with a shift.
    ///
    /// `D = A * B + (C << shift)`, or with `imsub` `D = A * B - (C << shift)`. A shift above 4
    /// makes the summand 0. With a 64-bit destination the product of 32-bit factors is complete
    /// (signed or unsigned by `.sx` of each factor).
    ///
    /// `.sat` takes effect only if shift is 0 and C and D have at most 32 bits: the result is
    /// clamped to the range of the destination's width, signed if any source is sign-extended, else
    /// unsigned. Compared with hardware by applegpu.
    // source: applegpu.py, IMAddInstructionDesc
    Imadd "" (8) [0:6 = 0b011110, 15:1 = 0] zero [u51: 1, u62: 2] {
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
    }

    /// Convert between integer and float.
    ///
    /// Integer to float: the low 8, 16 or 32 bits of the source, signed or unsigned, rounded by
    /// `round` to the destination's width. Float to integer: the source's width says which float it
    /// is; the value is rounded by `round` to an integer. What values outside the type's range and
    /// NaN give is unknown (assume the nearest value in range, and 0). Mesa uses the 16-bit types
    /// with 16-bit destinations and always rounds float to integer towards zero, integer to float
    /// to nearest. `round` 2 and 3 are unknown.
    // source: applegpu.py, ConvertInstructionDesc
    Convert "convert" (6) [0:7 = 0b0111110, 15:1 = 1, 22:4 = 0, 38:2 = 0, 42:2 = 0] zero [u46: 2] {
        /// Conversion.
        mode: ConvertMode = operand choice(16, 6);
        /// Result.
        d: Dst = operand dst(44);
        /// Value.
        src: Src = operand src(28, 40);
        /// Rounding.
        round: Round = operand choice(26, 2);
    }

    /// Bitwise operation by truth table.
    ///
    /// For each bit: `D = table[a + 2 * b]`, where a and b are the bits of A and B and `table`
    /// counts from the left of its text. Narrow sources are zero-extended first, so that a 32-bit
    /// `not` of a 16-bit register sets the high half.
    ///
    /// | table | text |
    /// | --- | --- |
    /// | 0001 | `and d, a, b` |
    /// | 0111 | `or d, a, b` |
    /// | 0110 | `xor d, a, b` |
    /// | 1110 | `nand d, a, b` |
    /// | 1000 | `nor d, a, b` |
    /// | 1001 | `xnor d, a, b` |
    /// | 0101 with b = 0 | `mov d, a` |
    /// | 1010 with b = 0 | `not d, a` |
    ///
    /// Tables 0011 and 1100 should be B and not B but the hardware gives A; the text is
    /// `bitop_mov_a`. Compared with hardware by applegpu.
    // source: applegpu.py, BitopInstructionDesc
    Bitop "bitop" (6) [0:7 = 0b1111110, 15:1 = 0] zero [u46: 2] {
        /// Truth table: bit `a + 2 * b` is the result for bits a and b of the sources.
        table: u8 = operand truth_table(&[(26, 1), (27, 1), (38, 1), (39, 1)]);
        /// Result.
        d: Dst = operand dst(44);
        /// First source.
        a: Src = operand src(16, 42);
        /// Second source.
        b: Src = operand src(28, 40);
    }

    /// Reverse the order of 32 bits.
    ///
    /// Bit i of A becomes bit 31 − i of the result; A is zero-extended to 32 bits first. A 16-bit
    /// destination takes the low half. Compared with hardware by applegpu.
    // source: applegpu.py, BitReverseInstructionDesc
    Bitrev "bitrev" (6) [0:7 = 0b0111110, 15:1 = 0, 26:2 = 0b01, 28:10 = 0, 38:2 = 0]
    zero [u40: 2, u46: 2] {
        /// Result.
        d: Dst = operand dst(44);
        /// Value.
        a: Src = operand src(16, 42);
    }

    /// Count the bits that are set.
    ///
    /// The number of bits set in A. Compared with hardware by applegpu.
    // source: applegpu.py, PopCountInstructionDesc
    Popcount "popcount" (6) [0:7 = 0b0111110, 15:1 = 0, 26:2 = 0b10, 28:10 = 0, 38:2 = 0]
    zero [u40: 2, u46: 2] {
        /// Result.
        d: Dst = operand dst(44);
        /// Value.
        a: Src = operand src(16, 42);
    }

    /// Interleave bits (Morton code).
    ///
    /// Bit i of A becomes bit 2i, bit i of B becomes bit 2i + 1, for i from 0 to 15; higher bits of
    /// the sources are ignored.
    // source: applegpu.py, InterleaveInstructionDesc
    Intl "intl" (6) [0:7 = 0b0111110, 15:1 = 0, 26:2 = 0, 38:2 = 0] zero [u46: 2] {
        /// Result.
        d: Dst = operand dst(44);
        /// Value for the even bits.
        a: Src = operand src(16, 42);
        /// Value for the odd bits.
        b: Src = operand src(28, 40);
    }

    /// Find the highest bit that is set.
    ///
    /// The number of the highest bit set in A; −1 (all ones) if A is 0. Compared with hardware by
    /// applegpu.
    // source: applegpu.py, FindFirstSetInstructionDesc
    Ffs "ffs" (6) [0:7 = 0b0111110, 15:1 = 0, 26:2 = 0b11, 28:10 = 0, 38:2 = 0]
    zero [u40: 2, u46: 2] {
        /// Result.
        d: Dst = operand dst(44);
        /// Value.
        a: Src = operand src(16, 42);
    }

    /// Unknown integer operation of one source.
    // source: applegpu.py, UnknownIUnaryInstructionDesc
    Iunop "iunop" (6) [0:7 = 0b0111110, 15:1 = 0, 28:10 = 0] zero [u40: 2, u46: 2] {
        /// Result.
        d: Dst = operand dst(44);
        /// Value.
        a: Src = operand src(16, 42);
        /// Operation, high part.
        op1: u8 = operand bin(38, 2), 1;
        /// Operation, low part.
        op2: u8 = operand bin(26, 2);
    }
}
