//! Instructions seen in code whose meaning is not known.

use super::prelude::*;

rows! {
    /// Unknown; seen after texture sampling.
    // source: applegpu.py, UnknownAfterSampling1InstructionDesc
    UnkAfterSampling1 "TODO.after_sampling1" (2) [0:16 = 0x101c] {}

    /// Unknown; seen after texture sampling.
    // source: applegpu.py, UnknownAfterSampling2InstructionDesc
    UnkAfterSampling2 "TODO.after_sampling2" (2) [0:16 = 0x62cc] {}

    /// Unknown.
    // source: applegpu.py, Unk30C0InstructionDesc
    Unk30C0 "TODO.unk30C0" (6) [0:16 = 0xc030] {
        /// Unknown.
        imm: u32 = operand num(16, 32);
    }

    /// Unknown.
    // source: applegpu.py, Unk40C0InstructionDesc
    Unk40C0 "TODO.unk40C0" (6) [0:48 = 0xc040] {}

    /// Unknown.
    // source: applegpu.py, UnkC0000000InstructionDesc
    UnkC0000000 "TODO.unkC0000000" (4) [0:32 = 0xc0] {}

    /// Unknown.
    // source: applegpu.py, UnkE8InstructionDesc
    UnkE800 "TODO.unkE800" (2) [0:16 = 0xe8] {}

    /// Unknown.
    // source: applegpu.py, Unk0CInstructionDesc
    Unk0C00 "TODO.unk0C00" (2) [0:16 = 0x0c] {}

    /// Unknown; a `get_sr` with bit 15 set.
    // source: applegpu.py, TodoSrThingInstructionDesc
    SrThing "TODO.sr_thing" (4) [0:7 = 0b1110010, 15:1 = 1] unknown [u22: 4, u30: 2] {
        /// Destination.
        d: Dst = operand dst(28);
        /// Special register.
        sr: SpecialReg = operand special();
    }

    /// Unknown; a `pop_exec` with bit 23 set.
    // source: applegpu.py, TodoPopExecInstructionDesc
    PopExec2 "TODO.pop_exec2" (6) [0:7 = 0b1010010, 9:2 = 3, 13:10 = 0, 23:1 = 1]
    unknown [u8: 1, u24: 24] {
        /// Cache hint of `r0l`.
        cache: bool = operand flag(7, "r0l", "r0l.cache");
        /// Levels of nesting.
        n: u8 = operand num(11, 2);
    }
}
