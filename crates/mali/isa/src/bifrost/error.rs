//! Errors of Bifrost's encoding.

use super::table::{Op, Unit};

/// Bits that encode no instruction, or an instruction that has no encoding.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InstError {
    /// No row of the unit has these bits.
    #[error("no instruction of the {unit} unit has the bits {bits:#x}")]
    Opcode {
        /// The unit.
        unit: Unit,
        /// The instruction's bits.
        bits: u32,
    },
    /// A source that the instruction cannot read.
    #[error("source {index} of {op} cannot be {port}")]
    Source {
        /// The instruction.
        op: Op,
        /// The number of the source.
        index: usize,
        /// The port.
        port: super::Port,
    },
    /// No encoding of the row has this combination of values.
    #[error("{op} has no encoding for this combination of modifiers")]
    Modifiers {
        /// The instruction.
        op: Op,
    },
    /// A value that the field cannot hold.
    #[error("{field} of {op} cannot hold {value}")]
    Unencodable {
        /// The instruction.
        op: Op,
        /// The field.
        field: &'static str,
        /// The value.
        value: u32,
    },
    /// The instruction's parts do not match its row.
    #[error("{op} has not the {what} of its row")]
    Parts {
        /// The instruction.
        op: Op,
        /// The part that does not match.
        what: &'static str,
    },
    /// The instruction belongs to the other unit.
    #[error("{op} is no instruction of the {unit} unit")]
    Unit {
        /// The instruction.
        op: Op,
        /// The unit in whose position it was found.
        unit: Unit,
    },
}

/// Words that encode no clause, or a clause that cannot be packed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClauseError {
    /// The words end within the clause.
    #[error("the clause is cut off")]
    Truncated,
    /// A word's tag is not allowed at its position.
    #[error("word {place} of a clause cannot have the tag {tag:#04x}")]
    Tag {
        /// The index of the word in the clause.
        place: usize,
        /// Its tag.
        tag: u8,
    },
    /// A value of a header's field is reserved.
    #[error("{field} of the header has the reserved value {value}")]
    Header {
        /// The field.
        field: &'static str,
        /// The value.
        value: u64,
    },
    /// The block of ports is reserved.
    #[error("tuple {tuple}: the block of ports {bits:#x} is reserved")]
    Ports {
        /// The tuple.
        tuple: usize,
        /// The block.
        bits: u64,
    },
    /// An instruction of the clause is invalid.
    #[error("tuple {tuple}: {error}")]
    Inst {
        /// The tuple.
        tuple: usize,
        /// The instruction's error.
        error: InstError,
    },
    /// Bits that no field explains.
    #[error("word {place} has bits that no field explains: {bits:#x}")]
    Unexplained {
        /// The index of the word in the clause.
        place: usize,
        /// The bits.
        bits: u128,
    },
    /// A clause has too few or too many parts.
    #[error("a clause cannot have {count} {what}")]
    Count {
        /// The kind of part.
        what: &'static str,
        /// The number of parts.
        count: usize,
    },
    /// An instruction that has to be the last one of its clause.
    #[error("tuple {tuple}: {op} stands at the end of a clause only")]
    Last {
        /// The tuple.
        tuple: usize,
        /// The instruction.
        op: Op,
    },
    /// The modifier of a constant is reserved.
    #[error("constant {0} has a reserved modifier")]
    Constant(usize),
}
