//! Shifts and bitfields.

use super::prelude::*;

/// Rows that differ in bits 15, 26 and 27.
macro_rules! bitfield {
    ($( $(#[doc = $doc:literal])* $Name:ident $mnemonic:literal $b15:literal $b26:literal )*) => {
        rows! { $(
            $(#[doc = $doc])*
            // source: applegpu.py, BaseBitfieldInstructionDesc
            $Name $mnemonic (8) [0:7 = 0b0101110, 15:1 = $b15, 26:2 = $b26] {
                /// Result.
                d: Dst = operand dst(60);
                /// First source.
                a: Src = operand src(16, 58);
                /// Second source.
                b: Src = operand src(28, 56);
                /// Shift amount; only the low seven bits count.
                c: Src = operand src(40, 54);
                /// Width of the mask in bits; 0 stands for 32.
                mask: u8 = operand low_mask(&[(38, 2), (50, 2), (63, 1)]);
                /// Unknown; 0.
                u52: u8 = hidden num(52, 2);
                /// Unknown; 0.
                u62: bool = hidden bit(62);
            }
        )* }
    };
}

bitfield! {
    /// Bitfield insert; shift left.
    Bfi "bfi" 0 0b00
    /// Bitfield extract and insert low; shift right.
    Bfeil "bfeil" 1 0b00
    /// Extract from a register pair; rotate.
    Extr "extr" 0 0b01
    /// Shift left high and insert.
    Shlhi "shlhi" 0 0b10
    /// Shift right high and insert.
    Shrhi "shrhi" 1 0b10
}

/// Rows that differ in bits 26 and 27.
macro_rules! arithmetic_shift {
    ($( $(#[doc = $doc:literal])* $Name:ident $mnemonic:literal $b26:literal )*) => {
        rows! { $(
            $(#[doc = $doc])*
            // source: applegpu.py, ArithmeticShiftRightInstructionDesc
            $Name $mnemonic (8) [0:7 = 0b0101110, 15:1 = 1, 26:2 = $b26] {
                /// Result.
                d: Dst = operand dst(60);
                /// Value.
                a: Src = operand src(16, 58);
                /// Shift amount; only the low seven bits count.
                b: Src = operand src(28, 56);
                /// Unknown; 0.
                u38: u32 = hidden num(38, 18);
                /// Unknown; 0.
                u62: u8 = hidden num(62, 2);
            }
        )* }
    };
}

arithmetic_shift! {
    /// Arithmetic shift right.
    Asr "asr" 0b01
    /// Arithmetic shift right of a high word.
    Asrh "asrh" 0b11
}
