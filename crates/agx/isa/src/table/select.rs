//! Compare and select; ballots.

use super::prelude::*;

rows! {
    /// Integer compare and select.
    ///
    /// `D = X if A cc B else Y`. A and B are compared unsigned (zero-extended), or signed (each
    /// sign-extended from its own width) for conditions with `s`; immediates are 8 bits and never
    /// negative for unsigned, and 16 bits wide for sign extension. X and Y are copied bit by bit;
    /// an immediate is an integer. Compared with hardware by applegpu for equality, less and
    /// greater.
    // source: applegpu.py, ICmpselInstructionDesc
    Icmpsel "icmpsel" (8, 10; 15) [0:7 = 0b0010010] zero [u26: 2, u38: 2, u49: 3, u64: 4, u78: 2] {
        /// Condition.
        cc: ICond = operand choice(61, 3);
        /// Result.
        d: Dst = operand dst(76);
        /// First value compared.
        a: Src = operand src(16, 74);
        /// Second value compared.
        b: Src = operand src(28, 72);
        /// Result if the condition holds.
        x: Src = operand select_src(40, 70);
        /// Result if not.
        y: Src = operand select_src(52, 68);
    }

    /// Float compare and select.
    ///
    /// `D = X if A cc B else Y`. A and B are read as floats (32-bit denormals as zero; −0 equals
    /// +0) and compared; comparisons with NaN are false, except `ltn` and `gtn`, which hold if B is
    /// NaN, so that `fcmpsel ltn, d, a, b, a, b` is the minimum and `gtn` the maximum of the
    /// numbers among a and b (for a = NaN the comparison is false and b is chosen). X and Y are
    /// copied bit by bit: denormals stay, an immediate is an integer. Compared with hardware by
    /// applegpu for `eq`, `lt`, `gt`, `gte`, `lte`.
    // source: applegpu.py, FCmpselInstructionDesc
    Fcmpsel "fcmpsel" (8, 10; 15) [0:7 = 0b0000010] zero [u49: 3, u64: 4, u78: 2] {
        /// Condition.
        cc: FCond = operand choice(61, 3);
        /// Result.
        d: Dst = operand dst(76);
        /// First value compared.
        a: Src = operand float_src(16, 74);
        /// Second value compared.
        b: Src = operand float_src(28, 72);
        /// Result if the condition holds.
        x: Src = operand select_src(40, 70);
        /// Result if not.
        y: Src = operand select_src(52, 68);
    }
}

/// Integer and float ballots, over the SIMD-group (`1`) or the quad (`0`).
macro_rules! ballot {
    ($( $(#[doc = $doc:literal])* $Name:ident $mnemonic:literal $simd:literal ints )*) => {
        rows! { $(
            $(#[doc = $doc])*
            // source: applegpu.py, ICmpBallotInstructionDesc
            $Name $mnemonic (8) [0:7 = 0b0110010, 26:2 = 0, 38:2 = 0, 48:13 = $simd]
            zero [u15: 1, u46: 1] {
                /// Result.
                d: Dst = operand dst(44);
                /// Condition.
                cc: ICond = operand choice2((61, 3), (47, 1));
                /// First value compared.
                a: Src = operand src(16, 42);
                /// Second value compared.
                b: Src = operand src(28, 40);
            }
        )* }
    };
    ($( $(#[doc = $doc:literal])* $Name:ident $mnemonic:literal $simd:literal floats )*) => {
        rows! { $(
            $(#[doc = $doc])*
            // source: applegpu.py, FCmpBallotInstructionDesc
            $Name $mnemonic (8) [0:7 = 0b0100010, 48:13 = $simd] zero [u15: 1, u46: 1] {
                /// Result.
                d: Dst = operand dst(44);
                /// Condition.
                cc: FCond = operand choice2((61, 3), (47, 1));
                /// First value compared.
                a: Src = operand float_src(16, 42);
                /// Second value compared.
                b: Src = operand float_src(28, 40);
            }
        )* }
    };
}

ballot! {
    /// Ballot of an integer comparison over the SIMD-group.
    ///
    /// Bit i of the result is set if thread i is active and the comparison holds for it. All active
    /// threads get the same result. Compared with hardware by applegpu.
    IcmpBallot "icmp_ballot" 1 ints
    /// Ballot of an integer comparison over the quad.
    ///
    /// Bit i of the result is set if thread i of the quad is active and the comparison holds for
    /// it. What is in the bits above 3 is unknown: applegpu sees compilers mask them, Mesa compares
    /// with 0.
    IcmpQuadBallot "icmp_quad_ballot" 0 ints
}

ballot! {
    /// Ballot of a float comparison over the SIMD-group.
    ///
    /// As `icmp_ballot`, with a float comparison.
    FcmpBallot "fcmp_ballot" 1 floats
    /// Ballot of a float comparison over the quad.
    ///
    /// As `icmp_quad_ballot`, with a float comparison.
    FcmpQuadBallot "fcmp_quad_ballot" 0 floats
}
