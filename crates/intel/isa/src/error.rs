//! Errors of the encoding, with their position.

use tepui_intel_chips::Generation;

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
    /// No operation has this code.
    #[error("no operation has code {code} on {generation}")]
    Opcode {
        /// The code.
        code: u8,
        /// The generation.
        generation: Generation,
    },
    /// The operation does not exist on the generation.
    #[error("'{mnemonic}' does not exist on {generation}")]
    NoSuchOpcode {
        /// Its mnemonic.
        mnemonic: &'static str,
        /// The generation.
        generation: Generation,
    },
    /// A value of a field is reserved.
    #[error("field {field} has the reserved value {value:#x}")]
    Reserved {
        /// The field.
        field: &'static str,
        /// The value.
        value: u64,
    },
    /// A value that the field cannot hold.
    #[error("field {field} cannot hold {what}")]
    Unencodable {
        /// The field.
        field: &'static str,
        /// A description of the expected value.
        what: String,
    },
    /// The generation has no such field, and it is not at its default.
    #[error("{generation} has no field {field}")]
    Absent {
        /// The field.
        field: &'static str,
        /// The generation.
        generation: Generation,
    },
    /// An unknown form of operand.
    #[error("not known: {0}")]
    Unknown(&'static str),
    /// Bits that the short form does not have are not zero.
    #[error("reserved bits of the compacted form are set: {0:#x}")]
    CompactReserved(u64),
    /// The instruction has no short form.
    #[error("the instruction has no compacted form: {0}")]
    NotCompactable(&'static str),
}
