//! Errors of packing, unpacking and validation.

/// A violation of a packet's declaration and its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{packet}{}: bit {bit}: {kind}", if field.is_empty() { String::new() } else { format!(", {field}") })]
pub struct Problem {
    /// The packet's name in the hardware's words.
    pub packet: &'static str,
    /// The field's name in the hardware's words; empty for bits that belong to no field.
    pub field: &'static str,
    /// First bit concerned, counted from the first bit of the packet.
    pub bit: u32,
    /// The problem.
    pub kind: ProblemKind,
}

/// The problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProblemKind {
    /// There are fewer bytes than the packet has.
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
    /// The value of a field that is not a plain integer cannot be encoded.
    #[error("{value} cannot be encoded: {why}")]
    NotEncodable {
        /// The value.
        value: String,
        /// The rule it breaks.
        why: &'static str,
    },
    /// The value is not aligned as the encoding requires.
    #[error("{value:#x} is not a multiple of {multiple}")]
    NotMultiple {
        /// The value.
        value: u64,
        /// The required factor.
        multiple: u64,
    },
    /// The value is outside of the range that the hardware accepts.
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
    /// A bit that belongs to no field is set.
    #[error("must be zero")]
    MustBeZero,
    /// The field does not exist in this form of the packet but is not zero.
    #[error("the field does not exist unless {condition}")]
    Inactive {
        /// The condition as the declaration states it.
        condition: &'static str,
    },
}
