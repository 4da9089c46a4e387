//! Traps: errors that stop a warp.

use tepui_softgpu::Fault;

/// The reason why a warp stops with an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trap {
    /// The model does not execute the instruction.
    Unimplemented(String),
    /// The hardware does not have the operation.
    Invalid(String),
    /// An access to memory failed.
    Memory(tepui_softgpu::Fault),
    /// Bytes that encode no instruction.
    Undecodable(String),
    /// The budget is spent.
    Endless,
}

/// A trap, and the operation that raised it.
#[derive(Debug)]
pub struct RaisedTrap {
    /// The trap.
    pub trap: Box<Trap>,
    /// The index of the operation.
    pub index: u32,
}

/// A failed access as a trap.
#[cold]
pub fn failed(fault: Fault) -> Box<Trap> {
    Box::new(Trap::Memory(fault))
}
