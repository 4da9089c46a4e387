//! Control flow: the execution mask stack, jumps, calls, the end.
//!
//! `r0l` of each thread counts how many levels of structure must be left until the thread is
//! active again; a thread is active if it is 0.

use super::prelude::*;

/// The three integer and three float rows that change the execution mask.
macro_rules! compare_mask {
    ($( $(#[doc = $doc:literal])* $Name:ident $mnemonic:literal $op:literal ints )*) => {
        rows! { $(
            $(#[doc = $doc])*
            // source: applegpu.py, ICmpMaskInstructionDesc
            $Name $mnemonic (6)
            [0:7 = 0b1010010, 9:2 = $op, 26:2 = 0, 38:2 = 0, 44:2 = 0] {
                /// Cache hint of `r0l`.
                cache: bool = operand flag(7, "r0l", "r0l.cache");
                /// Condition.
                cc: ICond = operand choice2((13, 3), (8, 1));
                /// First value compared.
                a: Src = operand src(16, 42);
                /// Second value compared.
                b: Src = operand src(28, 40);
                /// Levels of nesting.
                n: u8 = operand num(11, 2);
                /// Unknown; 0.
                u46: u8 = hidden num(46, 2);
            }
        )* }
    };
    ($( $(#[doc = $doc:literal])* $Name:ident $mnemonic:literal $op:literal floats )*) => {
        rows! { $(
            $(#[doc = $doc])*
            // source: applegpu.py, FCmpMaskInstructionDesc
            $Name $mnemonic (6) [0:7 = 0b1000010, 9:2 = $op, 44:2 = 0] {
                /// Cache hint of `r0l`.
                cache: bool = operand flag(7, "r0l", "r0l.cache");
                /// Condition.
                cc: FCond = operand choice2((13, 3), (8, 1));
                /// First value compared.
                a: Src = operand float_src(16, 42);
                /// Second value compared.
                b: Src = operand float_src(28, 40);
                /// Levels of nesting.
                n: u8 = operand num(11, 2);
                /// Unknown; 0.
                u46: u8 = hidden num(46, 2);
            }
        )* }
    };
}

compare_mask! {
    /// Enter a level; threads that fail an integer comparison become inactive.
    IfIcmp "if_icmp" 0 ints
    /// Switch a level to its other branch, on an integer comparison.
    ElseIcmp "else_icmp" 1 ints
    /// Close a loop iteration; threads that fail an integer comparison leave the loop.
    WhileIcmp "while_icmp" 2 ints
}

compare_mask! {
    /// Enter a level; threads that fail a float comparison become inactive.
    IfFcmp "if_fcmp" 0 floats
    /// Switch a level to its other branch, on a float comparison.
    ElseFcmp "else_fcmp" 1 floats
    /// Close a loop iteration; threads that fail a float comparison leave the loop.
    WhileFcmp "while_fcmp" 2 floats
}

rows! {
    /// Leave levels.
    // source: applegpu.py, PopExecInstructionDesc
    PopExec "pop_exec" (6) [0:7 = 0b1010010, 9:2 = 3, 13:35 = 0] {
        /// Cache hint of `r0l`.
        cache: bool = operand flag(7, "r0l", "r0l.cache");
        /// Levels of nesting.
        n: u8 = operand num(11, 2);
        /// Unknown; 0.
        u8: bool = hidden bit(8);
    }

    /// Jump if any thread is active.
    // source: applegpu.py, JmpAnyInstructionDesc
    JmpExecAny "jmp_exec_any" (6) [0:16 = 0xc000] {
        /// Target.
        off: i32 = operand branch(16, 32);
    }

    /// Jump if no thread is active.
    // source: applegpu.py, JmpNoneInstructionDesc
    JmpExecNone "jmp_exec_none" (6) [0:16 = 0xc020] {
        /// Target.
        off: i32 = operand branch(16, 32);
    }

    /// Call a subroutine.
    // source: applegpu.py, CallInstructionDesc
    Call "call" (6) [0:16 = 0xc010] {
        /// Target.
        off: i32 = operand branch(16, 32);
    }

    /// Call a subroutine whose address is in a register.
    // source: applegpu.py, CallRegInstructionDesc
    CallReg "call" (2) [0:7 = 0b0000100] {
        /// Address.
        target: RegVec = operand whole_reg32((9, 7), (0, 0)), RegVec::new(0, Size::B32, 1);
        /// Unknown; 0.
        u7: u8 = hidden num(7, 2);
    }

    /// Return from a subroutine.
    // source: applegpu.py, RetInstructionDesc
    Ret "ret" (2) [0:7 = 0b0010100] {
        /// Return address.
        target: RegVec = operand whole_reg32((9, 7), (0, 0)), RegVec::new(0, Size::B32, 1);
        /// Unknown; 0.
        u7: u8 = hidden num(7, 2);
    }

    /// Jump back while threads remain that an indirect call has not served.
    // source: applegpu.py, JumpIncompleteInstructionDesc
    JmpIncomplete "jmp_incomplete" (4) [0:16 = 0, 24:8 = 0] {
        /// Target.
        off: i32 = operand branch(16, 8);
    }

    /// End the program.
    // source: applegpu.py, StopInstructionDesc
    Stop "stop" (2) [0:16 = 0x0088] {}

    /// Trap: seen behind the end of programs.
    // source: applegpu.py, TrapInstructionDesc
    Trap "trap" (2) [0:16 = 0x0008] {}

    /// Ring a doorbell (helper program).
    // source: applegpu.py, DoorbellInstructionDesc
    Doorbell "doorbell" (2) [0:8 = 0x28] {
        /// Which one.
        imm: u8 = operand num(8, 8);
    }

    /// Jump if the doorbell behind is to be skipped.
    // source: applegpu.py, JumpNoDoorbellInstructionDesc
    JmpIfSkippingDoorbell "jmp_if_skipping_doorbell" (4) [0:16 = 0x0020, 24:8 = 0] {
        /// Target.
        off: i32 = operand branch(16, 8);
    }
}
