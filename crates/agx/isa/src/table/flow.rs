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
            [0:7 = 0b1010010, 9:2 = $op, 26:2 = 0, 38:2 = 0, 44:2 = 0] zero [u46: 2] {
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
            }
        )* }
    };
    ($( $(#[doc = $doc:literal])* $Name:ident $mnemonic:literal $op:literal floats )*) => {
        rows! { $(
            $(#[doc = $doc])*
            // source: applegpu.py, FCmpMaskInstructionDesc
            $Name $mnemonic (6) [0:7 = 0b1000010, 9:2 = $op, 44:2 = 0] zero [u46: 2] {
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
            }
        )* }
    };
}

compare_mask! {
    /// Enter a level; threads that fail an integer comparison become inactive.
    ///
    /// For each thread, active or not, with v = r0l:
    ///
    /// - v ≠ 0: v += n;
    /// - v = 0 and the comparison fails: v = 1;
    /// - then r0l = v, and the thread is active if v = 0.
    ///
    /// Sources of inactive threads are read but do not matter. Compared with hardware by applegpu.
    IfIcmp "if_icmp" 0 ints
    /// Switch a level to its other branch, on an integer comparison.
    ///
    /// For each thread, active or not, with v = r0l:
    ///
    /// - v = 0: v = n;
    /// - v = 1 and the comparison holds: v = 0;
    /// - then r0l = v, and the thread is active if v = 0.
    ///
    /// Threads that were in the other branch wait n levels; threads waiting just for this branch
    /// enter it if they pass. Compared with hardware by applegpu.
    ElseIcmp "else_icmp" 1 ints
    /// Close a loop iteration; threads that fail an integer comparison leave the loop.
    ///
    /// For each thread, active or not, with v = r0l:
    ///
    /// - v < n: v = 0 if the comparison holds, else v = n;
    /// - then r0l = v, and the thread is active if v = 0.
    ///
    /// With n = 2, threads that left the iteration (r0l = 1, `continue`) come back for the next
    /// one. Compared with hardware by applegpu.
    WhileIcmp "while_icmp" 2 ints
}

compare_mask! {
    /// Enter a level; threads that fail a float comparison become inactive.
    ///
    /// As `if_icmp`, with a float comparison. The comparison `eq, 0.0, 0.0` is always true: its
    /// text is `push_exec r0l, n` (each inactive thread goes n levels deeper) or, with n = 0,
    /// `update_exec r0l`.
    IfFcmp "if_fcmp" 0 floats
    /// Switch a level to its other branch, on a float comparison.
    ///
    /// As `else_icmp`, with a float comparison; `eq, 0.0, 0.0` is the unconditional else.
    ElseFcmp "else_fcmp" 1 floats
    /// Close a loop iteration; threads that fail a float comparison leave the loop.
    ///
    /// As `while_icmp`, with a float comparison.
    WhileFcmp "while_fcmp" 2 floats
}

rows! {
    /// Leave levels.
    ///
    /// For each thread, active or not: r0l = max(r0l − n, 0), and the thread is active if it is 0.
    /// With n = 0 it only brings the execution mask up to date, after r0l was written (`break`).
    /// Compared with hardware by applegpu.
    // source: applegpu.py, PopExecInstructionDesc
    PopExec "pop_exec" (6) [0:7 = 0b1010010, 9:2 = 3, 13:35 = 0] zero [u8: 1] {
        /// Cache hint of `r0l`.
        cache: bool = operand flag(7, "r0l", "r0l.cache");
        /// Levels of nesting.
        n: u8 = operand num(11, 2);
    }

    /// Jump if any thread is active.
    ///
    /// If any thread is active, execution continues at the target, else after this instruction. Used at
    /// the end of loops.
    // source: applegpu.py, JmpAnyInstructionDesc
    JmpExecAny "jmp_exec_any" (6) [0:16 = 0xc000] {
        /// Target.
        off: i32 = operand branch(16, 32);
    }

    /// Jump if no thread is active.
    ///
    /// If no thread is active, execution continues at the target, else after this instruction. Used to
    /// skip branches that no thread takes.
    // source: applegpu.py, JmpNoneInstructionDesc
    JmpExecNone "jmp_exec_none" (6) [0:16 = 0xc020] {
        /// Target.
        off: i32 = operand branch(16, 32);
    }

    /// Call a subroutine.
    ///
    /// `r1` of each active thread becomes the address after this instruction (whether of inactive ones
    /// too is unknown), execution continues at the target. The base of the address is unknown.
    // source: applegpu.py, CallInstructionDesc
    Call "call" (6) [0:16 = 0xc010] {
        /// Target.
        off: i32 = operand branch(16, 32);
    }

    /// Call a subroutine whose address is in a register.
    ///
    /// Calls the address in the register. Threads can have different addresses: compilers wrap it
    /// as `push_exec r0l, 2`; `call r`; `jmp_incomplete` back to the call; `pop_exec r0l, 2`.
    /// applegpu's theory is that the call leaves only the threads with one common address active.
    /// Details unknown.
    // source: applegpu.py, CallRegInstructionDesc
    CallReg "call" (2) [0:7 = 0b0000100] zero [u7: 2] {
        /// Address.
        target: RegVec = operand whole_reg32((9, 7), (0, 0)), RegVec::new(0, Size::B32, 1);
    }

    /// Return from a subroutine.
    ///
    /// Goes on at the address in the register. How it restores the threads of other calls is
    /// unknown.
    // source: applegpu.py, RetInstructionDesc
    Ret "ret" (2) [0:7 = 0b0010100] zero [u7: 2] {
        /// Return address.
        target: RegVec = operand whole_reg32((9, 7), (0, 0)), RegVec::new(0, Size::B32, 1);
    }

    /// Jump back while threads remain that an indirect call has not served.
    ///
    /// See the indirect `call`. The exact condition is unknown.
    // source: applegpu.py, JumpIncompleteInstructionDesc
    JmpIncomplete "jmp_incomplete" (4) [0:16 = 0, 24:8 = 0] {
        /// Target.
        off: i32 = operand branch(16, 8);
    }

    /// End the program.
    ///
    /// The SIMD-group ends.
    // source: applegpu.py, StopInstructionDesc
    Stop "stop" (2) [0:16 = 0x0088] {}

    /// Trap: seen after the end of programs.
    ///
    /// Compilers put eight of them after a program; its effect is unknown.
    // source: applegpu.py, TrapInstructionDesc
    Trap "trap" (2) [0:16 = 0x0008] {}

    /// Ring a doorbell (helper program).
    ///
    /// Signals the firmware. In Mesa's helper program, 32 asks for the next operation (to be read
    /// from the `opfifo` special registers), 48 acknowledges, 49 refuses.
    // source: applegpu.py, DoorbellInstructionDesc
    Doorbell "doorbell" (2) [0:8 = 0x28] {
        /// Number of the doorbell.
        imm: u8 = operand num(8, 8);
    }

    /// Jump if the following doorbell is to be skipped.
    ///
    /// Precedes each `doorbell`, with its own length plus the doorbell's as the offset. The condition
    /// is unknown; Mesa emits the two as one instruction.
    // source: applegpu.py, JumpNoDoorbellInstructionDesc
    JmpIfSkippingDoorbell "jmp_if_skipping_doorbell" (4) [0:16 = 0x0020, 24:8 = 0] {
        /// Target.
        off: i32 = operand branch(16, 8);
    }
}
