//! Findings of the checker.

/// The kind of storage that is read unwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnwrittenStorage {
    /// A general register.
    Register,
    /// A byte of the workgroup's local memory.
    Local,
    /// Memory in a page that was never written.
    Memory,
}

/// The kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FindingKind {
    /// A use of an unwritten value.
    Unwritten(UnwrittenStorage),
    /// An access of a register that the software scoreboard does not order after an earlier one.
    Unordered,
}

/// A mistake of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The kind.
    pub kind: FindingKind,
    /// Byte offset of the instruction from the program's start.
    pub ip: u32,
    /// The instruction in assembly.
    pub instruction: String,
    /// The problem, in one sentence without a full stop.
    pub what: String,
}
