//! What can be wrong with a packed structure.

/// Something in a packet that its declaration does not allow, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{packet}{}: bit {bit}: {kind}", if field.is_empty() { String::new() } else { format!(", {field}") })]
pub struct Problem {
    /// The packet's name in the hardware's words.
    pub packet: &'static str,
    /// The field's name in the hardware's words; empty for bits that no field owns.
    pub field: &'static str,
    /// First bit concerned, counted from the first bit of the packet.
    pub bit: u32,
    /// What is wrong.
    pub kind: ProblemKind,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProblemKind {
    /// Fewer bytes than the packet has.
    #[error("{have} bytes given, {need} bytes needed")]
    TooShort {
        /// Size of the packet in bytes.
        need: usize,
        /// Bytes given.
        have: usize,
    },
    /// The value does not fit into the field's bits.
    #[error("{value:#x} does not fit into {width} bits")]
    DoesNotFit {
        /// The value, after the field's modifier where one applies.
        value: u64,
        /// Width of the field in bits.
        width: u32,
    },
    /// The value is not in the field's encodable range, for fields that are not plain integers.
    #[error("{value} cannot be encoded: {why}")]
    NotEncodable {
        /// The value.
        value: String,
        /// The rule it breaks.
        why: &'static str,
    },
    /// The value lacks the alignment that the encoding drops.
    #[error("{value:#x} is not a multiple of {multiple}")]
    NotMultiple {
        /// The value.
        value: u64,
        /// What it must be a multiple of.
        multiple: u64,
    },
    /// The value is outside what the hardware accepts.
    #[error("{value} is outside {low}..={high}")]
    OutOfRange {
        /// The value.
        value: u64,
        /// Smallest value allowed.
        low: u64,
        /// Largest value allowed.
        high: u64,
    },
    /// No enumerator has this value.
    #[error("{value} is no known {name}")]
    UnknownEnumerator {
        /// The raw value.
        value: u64,
        /// The enumeration's name in the hardware's words.
        name: &'static str,
    },
    /// A field with one legal value has another.
    #[error("{found:#x} found, must be {expected:#x}")]
    WrongFixed {
        /// The legal value.
        expected: u64,
        /// The value found.
        found: u64,
    },
    /// A bit that no field owns is set.
    #[error("must be zero")]
    MustBeZero,
    /// The field does not exist in this form of the packet but has a value.
    #[error("the field does not exist unless {condition}")]
    Inactive {
        /// The condition as the declaration states it.
        condition: &'static str,
    },
}
