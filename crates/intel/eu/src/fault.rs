//! Faults of threads.

use tepui_intel_isa::Sfid;

/// A unit's reason to refuse a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub String);

/// A fault of a thread, with its position and instruction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ip {ip:#x}: {kind}: {instruction}")]
pub struct Fault {
    /// Byte offset of the instruction from the program's start.
    pub ip: u32,
    /// The instruction in assembly, or its bytes if they encode none.
    pub instruction: String,
    /// The kind of fault.
    pub kind: FaultKind,
}

/// A kind of fault of an instruction or a thread.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// The bytes encode no instruction.
    #[error("no instruction ({0})")]
    Decode(String),
    /// Memory that should hold the program cannot be read.
    #[error("the program cannot be read")]
    Unreadable,
    /// The program has more instructions than the limit.
    #[error("the program has more than {0} instructions")]
    TooLong(usize),
    /// An instruction, a type or a form that the interpreter does not execute.
    #[error("not executed: {0}")]
    Unsupported(&'static str),
    /// A jump to an address without an instruction of the program.
    #[error("jump to {0:#x}, where no decoded instruction is")]
    BadJump(i64),
    /// An indirect access outside of the registers.
    #[error("indirect access to byte {0:#x} of the registers")]
    BadAddress(i32),
    /// The thread executed more instructions than the limit.
    #[error("stopped by the watchdog after {0} instructions")]
    Watchdog(u64),
    /// A shared function refused the message.
    #[error("{sfid}: {refusal}")]
    Message {
        /// The shared function.
        sfid: Sfid,
        /// Its reason.
        refusal: Refusal,
    },
}
