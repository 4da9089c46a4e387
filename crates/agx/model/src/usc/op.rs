//! Decoded instructions: an opcode and the locations of operands.
//!
//! Uniform registers and immediates are rows like registers, with the same value in every lane, in
//! a second file that all SIMD-groups of a launch share. So handlers do not distinguish kinds of
//! sources.

use super::opcode::Opcode;

/// The register file of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum File {
    /// The SIMD-group's own registers.
    Registers = 0,
    /// Uniform registers, then the program's constants.
    Shared = 1,
}

/// The part of a row that a value is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Form {
    /// The whole row.
    Word,
    /// The low half of each lane.
    Low,
    /// The high half of each lane.
    High,
    /// Two rows, low words first.
    Pair,
}

/// A source, ready to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Src {
    /// Row in the file.
    pub row: u16,
    /// The register file.
    pub file: File,
    /// The part of the row.
    pub form: Form,
    /// Float modifier: drop the sign.
    pub abs: bool,
    /// Float modifier, after `abs`: flip the sign.
    pub neg: bool,
    /// Integers narrower than the operation are sign-extended.
    pub sign_extend: bool,
    /// The row holds a float of 32 bits although the form is not checked: an immediate.
    pub constant: bool,
}

impl Src {
    /// A source that reads zeros: row 0 of the constants is always zero.
    pub const fn shared(row: u16) -> Src {
        Src {
            row,
            file: File::Shared,
            form: Form::Word,
            abs: false,
            neg: false,
            sign_extend: false,
            constant: true,
        }
    }

    /// A whole register of the group's own.
    pub const fn register(row: u16) -> Src {
        Src { file: File::Registers, constant: false, ..Src::shared(row) }
    }

    /// Whether it is a whole row that needs no conversion, apart from float modifiers.
    pub fn is_word(self) -> bool {
        self.form == Form::Word
    }

    /// Whether there is no float modifier.
    pub fn is_plain(self) -> bool {
        !self.abs && !self.neg
    }
}

/// A destination: always a register of the group's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dst {
    /// Row of the register.
    pub row: u16,
    /// The part of it.
    pub form: Form,
    /// Clamp floats to 0..1, integers to the range of the destination.
    pub saturate: bool,
}

impl Dst {
    /// For instructions without a destination.
    pub const NONE: Dst = Dst { row: 0, form: Form::Word, saturate: false };
}

/// The next step of the run loop after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Next {
    /// Go on with the next instruction.
    Continue,
    /// The handler set `pc`; count it against the budget.
    Jump,
    /// The group waits for the others of its workgroup.
    Barrier,
    /// The group is done.
    Stop,
    /// The group cannot go on: `Lanes::fault` says why.
    Fault,
    /// The group waits for scratch memory, which the helper program maps.
    Scratch,
}

/// A decoded instruction.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    /// The operation.
    pub opcode: Opcode,
    /// All operands are whole 32-bit rows without saturation, so the handler's entry for those
    /// runs.
    pub whole_rows: bool,
    /// Destination.
    pub d: Dst,
    /// Sources, as many as the handler reads.
    pub s: [Src; 4],
    /// A further operand, whose meaning depends on the handler.
    pub imm: u64,
    /// A further small operand.
    pub aux: [u16; 4],
}
