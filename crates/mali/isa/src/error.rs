//! Errors of Valhall's encoding, with their position.

/// Bytes that encode no instruction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset:#x}: {kind}")]
pub struct DecodeError {
    /// Offset of the instruction.
    pub offset: usize,
    /// The reason.
    pub kind: FieldError,
}

/// A field with an invalid value, or a value that a field cannot hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FieldError {
    /// The bytes end within the instruction.
    #[error("the instruction is cut off")]
    Truncated,
    /// No instruction has this opcode.
    #[error("no instruction has opcode {opcode:#x} with the secondary opcode of {word:#018x}")]
    Opcode {
        /// The opcode.
        opcode: u16,
        /// The whole word.
        word: u64,
    },
    /// A value of a field is reserved.
    #[error("{field} has the reserved value {value:#x}")]
    Reserved {
        /// The field.
        field: &'static str,
        /// The value.
        value: u64,
    },
    /// Staging registers beyond the last register.
    #[error("staging registers from r{register} on, {count} of them, go beyond r63")]
    Staging {
        /// The first.
        register: u8,
        /// The number of registers.
        count: u8,
    },
    /// A value that the field cannot hold.
    #[error("{field} cannot hold {value}")]
    Unencodable {
        /// The field.
        field: &'static str,
        /// The value.
        value: i64,
    },
    /// The instruction's parts do not match its row.
    #[error("{op} has {expected} {what}, not {found}")]
    Parts {
        /// The instruction.
        op: crate::Op,
        /// The kind of part.
        what: &'static str,
        /// The row's number of them.
        expected: usize,
        /// The number that the instruction has.
        found: usize,
    },
    /// Uniforms or special values of different pages.
    #[error("uniforms and special values of pages {0} and {1} do not go into one instruction")]
    Pages(u8, u8),
}
