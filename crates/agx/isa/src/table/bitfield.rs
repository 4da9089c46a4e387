//! Shifts and bitfields.

use super::prelude::*;

/// Rows that differ in bits 15, 26 and 27.
macro_rules! bitfield {
    ($( $(#[doc = $doc:literal])* $Name:ident $mnemonic:literal $b15:literal $b26:literal )*) => {
        rows! { $(
            $(#[doc = $doc])*
            // source: applegpu.py, BaseBitfieldInstructionDesc
            $Name $mnemonic (8) [0:7 = 0b0101110, 15:1 = $b15, 26:2 = $b26]
            zero [u52: 2, u62: 1] {
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
            }
        )* }
    };
}

bitfield! {
    /// Bitfield insert; shift left.
    ///
    /// `D = (A & ~(m << s)) | ((B & m) << s)` with s = C & 127 and m the mask: 2^mask − 1, or 32
    /// ones if `mask` is 0. With A = 0 and no mask it is a left shift; shifting by 32 or more gives
    /// 0. Compared with hardware by applegpu.
    Bfi "bfi" 0 0b00
    /// Bitfield extract and insert low; shift right.
    ///
    /// `D = (A & ~m) | ((B >> s) & m)` with s = C & 127 and m the mask: 2^mask − 1, or 32 ones if
    /// `mask` is 0. With A = 0 it extracts a bitfield; without a mask it is a logical right shift
    /// (B is zero-extended; shifting by 32 or more gives 0). Compared with hardware by applegpu.
    Bfeil "bfeil" 1 0b00
    /// Extract from a register pair; rotate.
    ///
    /// `D = (((B << 32) | A) >> s) & m` with s = C & 127 and m the mask: 2^mask − 1, or 32 ones if
    /// `mask` is 0. With A = B it rotates right by s modulo 32 (s up to 32). Compared with hardware
    /// by applegpu.
    Extr "extr" 0 0b01
    /// Shift left high and insert.
    ///
    /// `D = (((B << s) >> 32) & k) | (A & ~k)` with s = C & 127, k = m << max(s − 32, 0), and m the
    /// mask: 2^mask − 1, or 32 ones if `mask` is 0. The high word of a 64-bit left shift of B.
    /// Compared with hardware by applegpu.
    Shlhi "shlhi" 0 0b10
    /// Shift right high and insert.
    ///
    /// `D = (((B << 32) >> s) & k) | (A & ~k)` with s = C & 127, k = (m << 32) >> min(s, 32), and m
    /// the mask: 2^mask − 1, or 32 ones if `mask` is 0. The low word of a 64-bit right shift of B
    /// as the high word; k is not limited to 32 bits but the result is. Compared with hardware by
    /// applegpu.
    Shrhi "shrhi" 1 0b10
}

/// Rows that differ in bits 26 and 27.
macro_rules! arithmetic_shift {
    ($( $(#[doc = $doc:literal])* $Name:ident $mnemonic:literal $b26:literal )*) => {
        rows! { $(
            $(#[doc = $doc])*
            // source: applegpu.py, ArithmeticShiftRightInstructionDesc
            $Name $mnemonic (8) [0:7 = 0b0101110, 15:1 = 1, 26:2 = $b26] zero [u38: 18, u62: 2] {
                /// Result.
                d: Dst = operand dst(60);
                /// Value.
                a: Src = operand src(16, 58);
                /// Shift amount; only the low seven bits count.
                b: Src = operand src(28, 56);
            }
        )* }
    };
}

arithmetic_shift! {
    /// Arithmetic shift right.
    ///
    /// `D = A >> s` with s = B & 127 and A sign-extended from its own width; large shifts give 0 or
    /// −1. Compared with hardware by applegpu.
    Asr "asr" 0b01
    /// Arithmetic shift right of a high word.
    ///
    /// `D = (A << 32) >> s` with s = B & 127 and A sign-extended from its own width: the low word
    /// of a 64-bit arithmetic right shift of A as the high word.
    Asrh "asrh" 0b11
}
