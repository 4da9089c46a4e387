//! Errors, with what they are about.

use super::table::{Op, Unit};

/// Bits that are no instruction, or an instruction that has no bits.
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
    /// No encoding of the row has these values together.
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
    /// The instruction has other parts than its row.
    #[error("{op} has not the {what} of its row")]
    Parts {
        /// The instruction.
        op: Op,
        /// Which parts.
        what: &'static str,
    },
    /// The instruction is one of the other unit.
    #[error("{op} is no instruction of the {unit} unit")]
    Unit {
        /// The instruction.
        op: Op,
        /// Where it stands.
        unit: Unit,
    },
}

/// Words that are no clause, or a clause that cannot be packed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClauseError {
    /// The words end within the clause.
    #[error("the clause is cut off")]
    Truncated,
    /// A word's tag has no meaning in its place.
    #[error("word {place} of a clause cannot have the tag {tag:#04x}")]
    Tag {
        /// Which word of the clause.
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
    /// The block of ports has no meaning.
    #[error("tuple {tuple}: the block of ports {bits:#x} is reserved")]
    Ports {
        /// The tuple.
        tuple: usize,
        /// The block.
        bits: u64,
    },
    /// An instruction is wrong.
    #[error("tuple {tuple}: {error}")]
    Inst {
        /// The tuple.
        tuple: usize,
        /// What is wrong.
        error: InstError,
    },
    /// Bits that no field explains.
    #[error("word {place} has bits that no field explains: {bits:#x}")]
    Unexplained {
        /// Which word of the clause.
        place: usize,
        /// The bits.
        bits: u128,
    },
    /// A clause has too few or too many parts.
    #[error("a clause cannot have {count} {what}")]
    Count {
        /// Which parts.
        what: &'static str,
        /// How many.
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
