//! Sub-group operations: shuffles, reductions, scans, matrix multiply.

use super::prelude::*;

rows! {
    /// Shuffle within the SIMD-group.
    // source: applegpu.py, BaseSimdShuffleInstructionDesc
    SimdShuffle "simd_shuffle" (6) [0:7 = 0b1101111, 15:1 = 0, 26:2 = 0b01] {
        /// Pattern.
        kind: Shuffle = suffix only(&[(38, 2), (47, 1)]);
        /// Result.
        d: Dst = operand dst(44);
        /// Value.
        a: Src = operand src(16, 42);
        /// Lane number, mask or distance.
        b: Src = operand src16(28, 40);
        /// Unknown; 0.
        u46: bool = hidden bit(46);
    }

    /// Shuffle within the quad.
    // source: applegpu.py, the shuffle loop
    QuadShuffle "quad_shuffle" (6) [0:7 = 0b1101111, 15:1 = 0, 26:2 = 0b00] {
        /// Pattern.
        kind: Shuffle = suffix only(&[(38, 2), (47, 1)]);
        /// Result.
        d: Dst = operand dst(44);
        /// Value.
        a: Src = operand src64(16, 42);
        /// Lane number, mask or distance.
        b: Src = operand src64(28, 40);
        /// Unknown; 0.
        u46: bool = hidden bit(46);
    }

    /// Matrix multiply-add with 32-bit accumulation.
    // source: applegpu.py, SimdMatrixFMadd32InstructionDesc
    SimdMatrixFmadd32 "simd_matrix_fmadd32" (8)
    [0:7 = 0b1101111, 15:1 = 0, 26:2 = 0b11, 63:1 = 1] {
        /// Result.
        d: Dst = operand dst_pair(60);
        /// First factor.
        a: Src = operand float_pair(16, 58, 52);
        /// Second factor.
        b: Src = operand float_pair(28, 56, 38);
        /// Summand.
        c: Src = operand float_pair(40, 54, 50);
        /// Unknown; 0.
        u62: bool = hidden bit(62);
    }

    /// Matrix multiply-add with 16-bit accumulation.
    // source: applegpu.py, SimdMatrixFMadd16InstructionDesc
    SimdMatrixFmadd16 "simd_matrix_fmadd16" (8)
    [0:7 = 0b1101111, 15:1 = 0, 26:2 = 0b10, 63:1 = 1] {
        /// Result.
        d: Dst = operand dst_pair(60);
        /// First factor.
        a: Src = operand float_pair(16, 58, 52);
        /// Second factor.
        b: Src = operand float_pair(28, 56, 38);
        /// Summand.
        c: Src = operand float_pair(40, 54, 50);
        /// Unknown; 0.
        u62: bool = hidden bit(62);
    }

    /// Unknown shuffle.
    // source: applegpu.py, the shuffle loop
    SimdShufOp "simd_shuf_op" (6) [0:7 = 0b1101111, 15:1 = 0] {
        /// Operation.
        op1: bool = operand binbit(47);
        /// Operation.
        op2: u8 = operand bin(38, 2);
        /// Operation.
        op3: u8 = operand bin(26, 2), 0b10;
        /// Result.
        d: Dst = operand dst(44);
        /// Value.
        a: Src = operand src64(16, 42);
        /// Lane number, mask or distance.
        b: Src = operand src64(28, 40);
        /// Unknown; 0.
        u46: bool = hidden bit(46);
    }

    /// Reduction or exclusive prefix scan over the quad or SIMD-group.
    // source: applegpu.py, the simd_op loop; agx_opcodes.py, subgroup_op
    SimdReduce "" (6)
    [0:7 = 0b1101111, 15:1 = 1, 26:2 = 0, 31:7 = 0, 41:1 = 0] {
        /// Lanes covered.
        scope: Scope = suffix choice(29, 1);
        /// Prefix scan rather than reduction.
        prefix: bool = suffix flag(30, "_", "_prefix_");
        /// Operation.
        op: SimdOp = suffix only(&[(28, 1), (38, 3), (47, 1)]);
        /// Result.
        d: Dst = operand dst(44);
        /// Value.
        a: Src = operand src64(16, 42);
        /// Unknown; 0.
        u46: bool = hidden bit(46);
    }

    /// Unknown reduction.
    // source: applegpu.py, the simd_op loop
    SimdOpUnknown "simd_op" (6) [0:7 = 0b1101111, 15:1 = 1] {
        /// Operation.
        op1: bool = operand binbit(47);
        /// Operation.
        op2: u16 = operand bin(26, 16), 1;
        /// Result.
        d: Dst = operand dst(44);
        /// Value.
        a: Src = operand src64(16, 42);
        /// Unknown; 0.
        u46: bool = hidden bit(46);
    }
}
