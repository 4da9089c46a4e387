//! An instruction, decoded: what to call, and where its operands lie.
//!
//! Uniform registers and immediates are rows as registers are (one value in every lane), in a second file that
//! all SIMD-groups of a launch share; so no instruction asks what kind of source it has.

use crate::usc::exec::Name;
use crate::usc::lanes::Lanes;

/// Which file of rows an operand is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum File {
    /// The SIMD-group's own registers.
    Registers = 0,
    /// Uniform registers, then the program's constants.
    Shared = 1,
}

/// How a value lies in its row.
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
    /// Which file.
    pub file: File,
    /// Which part of the row.
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

    /// Can be read as it lies, without conversion (float modifiers apart)?
    pub fn is_word(self) -> bool {
        self.form == Form::Word
    }

    /// Has no float modifier?
    pub fn is_plain(self) -> bool {
        !self.abs && !self.neg
    }
}

/// A destination: always a register of the group's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dst {
    /// Row of the register.
    pub row: u16,
    /// Which part of it.
    pub form: Form,
    /// Clamp floats to 0..1, integers to the range of the destination.
    pub saturate: bool,
}

impl Dst {
    /// For instructions without a destination.
    pub const NONE: Dst = Dst { row: 0, form: Form::Word, saturate: false };
}

/// What the run loop does after an instruction.
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
}

/// The work of one instruction.
pub type Handler = unsafe fn(&mut Lanes<'_, '_>, &Op) -> Next;

/// One instruction, decoded: what to call and where its operands lie.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    /// The handler.
    pub run: Handler,
    /// Which handler that is.
    pub name: Name,
    /// Destination.
    pub d: Dst,
    /// Sources, as many as the handler reads.
    pub s: [Src; 4],
    /// What else the handler needs; its meaning is the handler's.
    pub imm: u64,
    /// As `imm`, for small things.
    pub aux: [u16; 4],
}
