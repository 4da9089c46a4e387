//! Sub-group operations: shuffles, reductions, scans, matrix multiply.

use super::prelude::*;

rows! {
    /// Shuffle within the SIMD-group.
    ///
    /// The lane to read is not free for each thread: within a quad all threads read the same lane
    /// offset of their source quads. Let q be the bitwise or of `B & 3` over the quad's four
    /// threads, inactive ones included (they can spoil the result; compilers keep a register at
    /// zero in them). For quad k, the shuffled quad `S[k]` holds, for lane offset i:
    ///
    /// | | `S[k][i]` | D of thread t |
    /// | --- | --- | --- |
    /// | `simd_shuffle` | `A[4k + q]` | `S[B / 4]` (all lanes are the same) if B < 32 |
    /// | `simd_shuffle_xor` | `A[4k + (i ^ q)]` | `S[(t ^ B) / 4][t & 3]` if t ^ B < 32 |
    /// | `simd_shuffle_up` | `A[4k + ((i − q) & 3)]` | `S[(t − B) / 4][t & 3]` if t ≥ B |
    /// | `simd_shuffle_down` | `A[4k + ((i + q) & 3)]` | `S[(t + B) / 4][t & 3]` if t + B < 32 |
    /// | `simd_shuffle_rotate_up` | `A[4k + ((i − q) & 3)]` | `S[((t − B) & 31) / 4][t & 3]` |
    ///
    /// B is that of the reading thread, q that of the quad read from. Otherwise D is the thread's
    /// own A. A is read from inactive threads too; only active threads write D. With B the same in
    /// all threads this is the ordinary shuffle. Compared with hardware by applegpu
    /// (`simd_shuffle`, `_down`).
    // source: applegpu.py, BaseSimdShuffleInstructionDesc
    SimdShuffle "simd_shuffle" (6) [0:7 = 0b1101111, 15:1 = 0, 26:2 = 0b01] zero [u46: 1] {
        /// Pattern.
        kind: Shuffle = suffix only(&[(38, 2), (47, 1)]);
        /// Result.
        d: Dst = operand dst(44);
        /// Value.
        a: Src = operand src(16, 42);
        /// Lane number, mask or distance.
        b: Src = operand src(28, 40);
    }

    /// Shuffle within the quad.
    ///
    /// As `simd_shuffle` within the quad: with q the bitwise or of `B & 3` over the quad's threads,
    /// thread i of the quad reads A of thread q, i ^ q, (i − q) & 3 (`_up`, `_rotate_up`) or (i +
    /// q) & 3 (`_down`). Inferred from `simd_shuffle`; what `_up` and `_down` do past the quad's
    /// edge is unknown (their own value, by analogy).
    // source: applegpu.py, the shuffle loop
    QuadShuffle "quad_shuffle" (6) [0:7 = 0b1101111, 15:1 = 0, 26:2 = 0b00] zero [u46: 1] {
        /// Pattern.
        kind: Shuffle = suffix only(&[(38, 2), (47, 1)]);
        /// Result.
        d: Dst = operand dst(44);
        /// Value.
        a: Src = operand src64(16, 42);
        /// Lane number, mask or distance.
        b: Src = operand src64(28, 40);
    }

    /// Matrix multiply-add with 32-bit accumulation.
    ///
    /// D = A × B + C for 8 by 8 matrices, two elements in each of the 32 threads (Metal's
    /// `simdgroup_matrix`), with 32-bit elements in pairs of registers. Which elements a thread
    /// holds, the order of summation and rounding are unknown.
    // source: applegpu.py, SimdMatrixFMadd32InstructionDesc
    SimdMatrixFmadd32 "simd_matrix_fmadd32" (8)
    [0:7 = 0b1101111, 15:1 = 0, 26:2 = 0b11, 63:1 = 1]
    zero [u62: 1] {
        /// Result.
        d: Dst = operand dst_pair(60);
        /// First factor.
        a: Src = operand float_pair(16, 58, 52);
        /// Second factor.
        b: Src = operand float_pair(28, 56, 38);
        /// Summand.
        c: Src = operand float_pair(40, 54, 50);
    }

    /// Matrix multiply-add with 16-bit accumulation.
    ///
    /// As `simd_matrix_fmadd32`, computed with 16 bits.
    // source: applegpu.py, SimdMatrixFMadd16InstructionDesc
    SimdMatrixFmadd16 "simd_matrix_fmadd16" (8)
    [0:7 = 0b1101111, 15:1 = 0, 26:2 = 0b10, 63:1 = 1]
    zero [u62: 1] {
        /// Result.
        d: Dst = operand dst_pair(60);
        /// First factor.
        a: Src = operand float_pair(16, 58, 52);
        /// Second factor.
        b: Src = operand float_pair(28, 56, 38);
        /// Summand.
        c: Src = operand float_pair(40, 54, 50);
    }

    /// Unknown shuffle.
    ///
    /// applegpu takes an encoding with bit 27 set for this, unless bit 63 makes it a matrix
    /// operation; but bit 63 belongs to the next instruction then. Here such an encoding is no
    /// instruction.
    // source: applegpu.py, the shuffle loop
    SimdShufOp "simd_shuf_op" (6) [0:7 = 0b1101111, 15:1 = 0, 27:1 = 0] zero [u46: 1] {
        /// Operation.
        op1: bool = operand binbit(47), true;
        /// Operation.
        op2: u8 = operand bin(38, 2);
        /// The SIMD-group rather than the quad, presumably.
        op3: u8 = operand bin_padded(26, 1, 2);
        /// Result.
        d: Dst = operand dst(44);
        /// Value.
        a: Src = operand src64(16, 42);
        /// Lane number, mask or distance.
        b: Src = operand src64(28, 40);
    }

    /// Reduction or exclusive prefix scan over the quad or SIMD-group.
    ///
    /// A reduction combines A of all active threads of the quad or SIMD-group; all active threads
    /// get the result. A prefix scan (`_prefix_`) gives each active thread the combination over the
    /// active threads before it: the identity for the first (0; all ones for `and`; 1.0 for `fmul`;
    /// +infinity, −infinity or the type's extremes for minimum and maximum; inferred, as Mesa's
    /// exclusive scans use it as it is). Mesa combines it with the thread's own value for inclusive
    /// scans. Integer operations work in the width of the operands, floats as in arithmetic; the
    /// order of float operations is unknown. 64-bit sources are encodable but their effect is
    /// unknown.
    // source: applegpu.py, the simd_op loop; agx_opcodes.py, subgroup_op
    SimdReduce "" (6)
    [0:7 = 0b1101111, 15:1 = 1, 26:2 = 0, 31:7 = 0, 41:1 = 0]
    zero [u46: 1] {
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
    }

    /// Unknown reduction.
    // source: applegpu.py, the simd_op loop
    SimdOpUnknown "simd_op" (6) [0:7 = 0b1101111, 15:1 = 1] zero [u46: 1] {
        /// Operation.
        op1: bool = operand binbit(47);
        /// Operation.
        op2: u16 = operand bin(26, 16), 1;
        /// Result.
        d: Dst = operand dst(44);
        /// Value.
        a: Src = operand src64(16, 42);
    }
}
