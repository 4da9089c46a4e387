//! Errors, with positions.

use thiserror::Error;

/// Reason why bytes are not an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// The bytes end within the instruction.
    #[error("the code ends within an instruction: {needed} bytes are needed, {have} are left")]
    Truncated {
        /// Bytes of the instruction.
        needed: u8,
        /// Bytes left.
        have: u8,
    },
    /// No row of the table matches.
    #[error("unknown opcode 0x{opcode:04x}")]
    UnknownOpcode {
        /// The first two bytes.
        opcode: u16,
    },
    /// A row matches but an operand is reserved or undefined.
    #[error("{inst}: operand `{field}`: {why}")]
    Operand {
        /// The row.
        inst: &'static str,
        /// The field.
        field: &'static str,
        /// The problem.
        why: &'static str,
        /// Bytes of the instruction.
        len: u8,
    },
}

impl DecodeError {
    /// Bytes to skip to go on: the instruction's length if it is known, else one unit of 2 bytes.
    pub fn skip(&self) -> usize {
        match self {
            DecodeError::Operand { len, .. } => usize::from(*len),
            DecodeError::Truncated { .. } | DecodeError::UnknownOpcode { .. } => 2,
        }
    }
}

/// Reason why an instruction cannot be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// A field does not fit.
    #[error("{inst}: field `{field}`: {why}")]
    Field {
        /// The row.
        inst: &'static str,
        /// The field.
        field: &'static str,
        /// Reason why it does not fit.
        why: &'static str,
    },
    /// Fields contradict each other: `field` would read back as something else.
    #[error("{inst}: field `{field}` contradicts another field (mask, count, mode or dimension)")]
    Contradiction {
        /// The row.
        inst: &'static str,
        /// The field.
        field: &'static str,
    },
    /// The encoding belongs to another row.
    #[error("{inst}: these operands encode {other}")]
    Shadowed {
        /// The row.
        inst: &'static str,
        /// The row that the encoding belongs to.
        other: &'static str,
    },
}

/// Kind of an error in a line of assembly.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseErrorKind {
    /// The line is empty.
    #[error("an instruction is expected")]
    Empty,
    /// The mnemonic is unknown.
    #[error("unknown mnemonic `{0}`; `tepui isa agx` lists all")]
    Mnemonic(String),
    /// An operand is wrong.
    #[error("operand {} (`{field}`): {why}", operand + 1)]
    Operand {
        /// The field.
        field: &'static str,
        /// Its number in the text, from 0.
        operand: usize,
        /// The problem.
        why: String,
    },
    /// There are more operands than the instruction has.
    #[error("too many operands: `{0}` and what follows")]
    Excess(String),
    /// A note names no field.
    #[error("note `{0}` names no field of this instruction")]
    Note(String),
    /// The notes are not closed or not `name=value`.
    #[error("notes are written `{{name=value, …}}` at the end of the line")]
    NoteSyntax,
    /// The operands cannot be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

/// An error in a line of assembly.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("column {column}: {kind}")]
pub struct ParseError {
    /// Column, from 1, in characters.
    pub column: usize,
    /// The problem.
    pub kind: ParseErrorKind,
}
