//! Moves: immediates and special registers. (Register moves are [`bitop`](super::integer).)

use super::prelude::*;

rows! {
    /// Move a 16-bit immediate.
    ///
    /// `D = imm` in each active thread.
    // source: applegpu.py, MovImm16InstructionDesc
    MovImm16 "mov_imm" (4, 6; 15) [0:7 = 0b1100010, 8:1 = 0] zero [u32: 12, u46: 2] {
        /// Destination.
        d: Dst = operand dst_only(44, Size::B16);
        /// Value.
        imm: u16 = operand num(16, 16);
    }

    /// Move a 32-bit immediate.
    ///
    /// `D = imm` in each active thread.
    // source: applegpu.py, MovImm32InstructionDesc
    MovImm32 "mov_imm" (6, 8; 15) [0:7 = 0b1100010, 8:1 = 1] zero [u48: 12, u63: 1] {
        /// Destination.
        d: Dst = operand dst_only(60, Size::B32), Dst::new(0, Size::B32);
        /// Value.
        imm: u32 = operand num(16, 32);
        /// Helper invocations end here (fragment shaders).
        kill: bool = operand binbit(62);
    }

    /// Move from a special register.
    ///
    /// `D = SR` in each active thread; a 16-bit destination takes the low half.
    // source: applegpu.py, MovFromSrInstructionDesc
    GetSr "get_sr" (4) [0:7 = 0b1110010, 15:1 = 0] zero [u22: 4, u30: 2] {
        /// Destination.
        d: Dst = operand dst(28), Dst::new(0, Size::B32);
        /// Special register.
        sr: SpecialReg = operand special();
    }
}
