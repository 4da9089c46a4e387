//! The stack (scratch memory).

use super::prelude::*;

rows! {
    /// Address of the stack.
    ///
    /// Not used by Mesa.
    // source: applegpu.py, StackGetPtrInstructionDesc
    StackGetPtr "stack_get_ptr" (6, 8; 47) [0:8 = 0x35, 16:4 = 1, 48:2 = 0b10]
    unknown [u20: 6, u27: 9, u39: 1, u42: 2, u56: 8] {
        /// Unknown.
        i0: u8 = operand num(8, 2);
        /// Unknown.
        i1: u8 = operand num(26, 1);
        /// Unknown.
        i2: u8 = operand num(36, 3);
        /// Unknown.
        i4: u8 = operand num(50, 6);
        /// Unknown.
        i3: u8 = operand num(44, 3);
        /// Destination.
        r: RegVec = operand reg32((10, 6), (40, 2)).out(), RegVec::new(0, Size::B32, 1);
    }

    /// Move the stack pointer by an immediate.
    ///
    /// Mesa puts it at the start of programs that use the stack, with their size plus ten words,
    /// rounded up to four; and with the negative size at the end of those that run several times a
    /// thread.
    // source: applegpu.py, StackAdjustInstructionDesc; agx_pack.c, AGX_OPCODE_STACK_ADJUST
    StackAdjust "stack_adjust" (6, 8; 47) [0:8 = 0xb5, 16:4 = 1, 24:2 = 0b01]
    zero [u10: 6, u27: 5, u39: 5, u48: 2] {
        /// Unknown; 0.
        i0: u8 = operand num(8, 2);
        /// Unknown; 1.
        i1: u8 = operand num(26, 1), 1;
        /// Unknown; 2.
        i2: u8 = operand num(36, 3), 2;
        /// Unknown; 0.
        i3: u8 = operand num(44, 3);
        /// Unknown; 0.
        i4: u8 = operand num(50, 6);
        /// 32-bit words.
        v: i16 = operand signed16(&[(20, 4), (32, 4), (56, 8)]);
    }

    /// Move the stack pointer by a register.
    // source: applegpu.py, StackAdjustTodoInstructionDesc
    StackAdjustReg "TODO.stack_adjust2" (6, 8; 47) [0:8 = 0xb5, 16:4 = 1, 24:2 = 0b00]
    unknown [u10: 6, u27: 5, u39: 5, u48: 2, u56: 8] {
        /// Unknown.
        i0: u8 = operand num(8, 2);
        /// Unknown.
        i1: u8 = operand num(26, 1), 1;
        /// Unknown.
        i2: u8 = operand num(36, 3), 2;
        /// Unknown.
        i3: u8 = operand num(44, 3);
        /// Unknown.
        i4: u8 = operand num(50, 6);
        /// Amount (in 32-bit words, presumably).
        r: RegVec = operand reg32((20, 4), (32, 4)), RegVec::new(0, Size::B32, 1);
    }

    /// Store to the stack.
    ///
    /// Stores to the thread's own stack at byte `index`, in elements of the format for further
    /// channels. Asynchronous (`slot` is applegpu's `i6`).
    // source: applegpu.py, StackStoreInstructionDesc; agx_pack.c, AGX_OPCODE_STACK_STORE
    StackStore "stack_store" (6, 8; 47) [0:8 = 0xb5]
    zero [u16: 4, u25: 1, u27: 3, u31: 1, u39: 1, u42: 2, u48: 1] {
        /// Format in memory.
        format: Format = operand choice2((8, 2), (50, 2));
        /// Unknown; 1.
        i1: u8 = operand num(26, 1), 1;
        /// Unknown; 0.
        i2: u8 = operand num(36, 3);
        /// Channels stored.
        mask: u8 = operand channel_mask(52), 1;
        /// Unknown; 4.
        i5: u8 = operand num(44, 3), 4;
        /// Values.
        r: RegVec = operand data(10, 40, 49, 52), RegVec::new(0, Size::B16, 1);
        /// Offset in bytes.
        index: Index = operand index();
        /// Scoreboard slot to wait on.
        slot: u8 = operand num(30, 1);
    }

    /// Load from the stack.
    ///
    /// Loads from the thread's own stack at byte `index`, in elements of the format for further
    /// channels. Asynchronous (`slot` is applegpu's `i6`).
    // source: applegpu.py, StackLoadInstructionDesc; agx_pack.c, AGX_OPCODE_STACK_LOAD
    StackLoad "stack_load" (6, 8; 47) [0:8 = 0x35]
    zero [u16: 4, u25: 1, u27: 3, u31: 1, u39: 1, u42: 2, u48: 1] {
        /// Destination.
        r: RegVec = operand data(10, 40, 49, 52).out(), RegVec::new(0, Size::B16, 1);
        /// Format in memory.
        format: Format = operand choice2((8, 2), (50, 2));
        /// Unknown; 1.
        i1: u8 = operand num(26, 1), 1;
        /// Unknown; 0.
        i2: u8 = operand num(36, 3);
        /// Channels loaded.
        mask: u8 = operand channel_mask(52), 1;
        /// Unknown; 4.
        i5: u8 = operand num(44, 3), 4;
        /// Offset in bytes.
        index: Index = operand index();
        /// Scoreboard slot to wait on.
        slot: u8 = operand num(30, 1);
    }
}

/// Rows of opcode 0x75 that differ in the operation at bits 16 to 19.
macro_rules! map {
    ($( $(#[doc = $doc:literal])* $Name:ident $mnemonic:literal $op:literal $reg:expr; )*) => {
        rows! { $(
            $(#[doc = $doc])*
            // source: applegpu.py, MapInstructionDesc; agx_pack.c, AGX_OPCODE_STACK_MAP
            $Name $mnemonic (8)
            [0:8 = 0x75, 10:1 = 0, 16:4 = $op, 24:2 = 1, 27:3 = 0, 31:1 = 0, 47:1 = 1] {
                /// Unknown; 0.
                target: bool = operand flag(36, "target0", "target1");
                /// Block.
                r: RegVec = operand $reg, RegVec::new(0, Size::B32, 1);
                /// Number of the stack mapping.
                v: i16 = operand signed16(&[(20, 4), (32, 4), (56, 8)]);
                /// Unknown; 0.
                q1: u8 = operand bin(8, 2);
                /// Unknown; 0.
                q2: bool = operand binbit(30);
                /// Unknown; 0.
                q3: u8 = operand bin(37, 3);
                /// Unknown; 16.
                q4: u8 = operand bin(42, 5), 16;
                /// Unknown; 16.
                q5: u8 = operand bin(48, 8), 16;
                /// Unknown; 1.
                u26: bool = hidden bit(26), true;
            }
        )* }
    };
}

map! {
    /// Unmap stack memory (helper program).
    ///
    /// Removes mapping `v` (0 to 3) of the stack at hand and returns its block.
    StackUnmap "unmap" 0 whole_reg32((11, 5), (40, 2)).out();
    /// Map stack memory (helper program).
    ///
    /// Maps the block in R as part `v` (0 to 3) of the stack that is being allocated. R holds the
    /// block's address divided by 256 with a code in its low bits, as the helper program's tables
    /// do: for part 0 the block size in ones (one more than the logarithm to base 4 of the size in
    /// units of 8 words a thread), for the others 1, or 0 in all for none. source: agx_scratch.c
    StackMap "map" 1 whole_reg32((11, 5), (40, 2));
}

rows! {
    /// Unknown stack mapping operation.
    // source: applegpu.py, MapInstructionDesc
    StackMapUnknown "TODO.map" (8)
    [0:8 = 0x75, 10:1 = 0, 24:2 = 1, 27:3 = 0, 31:1 = 0, 47:1 = 1] {
        /// Operation.
        op: u8 = operand num(16, 4), 2;
        /// Unknown.
        target: bool = operand flag(36, "target0", "target1");
        /// Unknown register.
        r: RegVec = operand whole_reg32((11, 5), (40, 2)), RegVec::new(0, Size::B32, 1);
        /// Unknown number.
        v: i16 = operand signed16(&[(20, 4), (32, 4), (56, 8)]);
        /// Unknown.
        q1: u8 = operand bin(8, 2);
        /// Unknown.
        q2: bool = operand binbit(30);
        /// Unknown.
        q3: u8 = operand bin(37, 3);
        /// Unknown.
        q4: u8 = operand bin(42, 5), 16;
        /// Unknown.
        q5: u8 = operand bin(48, 8), 16;
        /// Unknown; 1.
        u26: bool = hidden bit(26), true;
    }

    /// Unknown stack mapping operation of another kind.
    // source: applegpu.py, Unk75AltInstructionDesc
    Unk75Alt "TODO.unk75_alt" (8) [0:8 = 0x75, 10:1 = 0, 47:1 = 1]
    unknown [u26: 1, u30: 1, u36: 4, u42: 5, u48: 8] {
        /// Unknown.
        q16: u8 = operand num(16, 4);
        /// Unknown.
        q17: u8 = operand num(24, 2);
        /// Unknown.
        q18: u8 = operand num(27, 3);
        /// Unknown.
        q19: u8 = operand num(31, 1);
        /// Unknown register.
        r: RegVec = operand whole_reg32((11, 5), (40, 2)), RegVec::new(0, Size::B32, 1);
        /// Unknown number.
        v: i16 = operand signed16(&[(20, 4), (32, 4), (56, 8)]);
        /// Unknown.
        q1: u8 = operand bin(8, 2);
    }
}
