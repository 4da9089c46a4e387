//! Register accesses of instructions.

use arrayvec::ArrayVec;

/// Kind of a register access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Read.
    Read,
    /// Written. If the instruction has a [scoreboard slot](crate::Inst::scoreboard), the value
    /// arrives later and may be read only after a `wait` on the slot.
    Write,
    /// Read, then written.
    ReadWrite,
    /// Left undefined (arrives later, like `Write`).
    Clobber,
}

/// A register file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum File {
    /// General-purpose registers, counted in halves.
    Reg,
    /// Uniform registers, counted in halves.
    Uniform,
    /// Texture state registers.
    TextureState,
    /// Sampler state registers.
    SamplerState,
    /// Coefficient registers.
    Coefficient,
}

/// A span of registers that an instruction touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// Read or written.
    pub role: Role,
    /// In which file.
    pub file: File,
    /// First register (half-register for [`File::Reg`] and [`File::Uniform`]).
    pub start: u16,
    /// Number of registers, in the same unit.
    pub count: u16,
    /// False if an index register decides which part of the span is touched.
    pub exact: bool,
}

impl Access {
    /// A span whose place the encoding gives.
    pub const fn new(role: Role, file: File, start: u16, count: u16) -> Self {
        Self { role, file, start, count, exact: true }
    }
}

/// All accesses of one instruction.
pub type Accesses = ArrayVec<Access, 16>;
