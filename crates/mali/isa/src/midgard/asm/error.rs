//! Errors of Midgard's assembler, with their position.

use super::super::table::Unit;

/// An error at a position in a source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {kind}")]
pub struct AsmError {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
    /// The problem.
    pub kind: AsmErrorKind,
}

/// A problem in a source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AsmErrorKind {
    /// No instruction has the mnemonic.
    #[error("no instruction is called `{0}`")]
    Mnemonic(String),
    /// Something else is expected.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// The expected text.
        expected: &'static str,
        /// The text that was found, in quotes, or a description of it.
        found: String,
    },
    /// Mesa's text of an integer type, which does not distinguish signed and unsigned instructions.
    #[error(
        "`{name}.i{bits}` does not say whether integers have a sign: write `{name}.s{bits}` or `{name}.u{bits}`"
    )]
    Sign {
        /// The instruction.
        name: String,
        /// Bits of an element.
        bits: u32,
    },
    /// A type that the instruction does not have.
    #[error("`{name}` has the type `.{expected}{bits}`, not `.{found}{bits}`")]
    Type {
        /// The instruction.
        name: String,
        /// The letter of its type.
        expected: char,
        /// The letter that is written.
        found: char,
        /// Bits of an element.
        bits: u32,
    },
    /// A number is too large or too small for its field.
    #[error("{what} is from {least} to {most}, not {value}")]
    Range {
        /// The description of the number.
        what: &'static str,
        /// The number.
        value: i64,
        /// The least.
        least: i64,
        /// The most.
        most: i64,
    },
    /// An offset that is not a multiple of its unit.
    #[error("{value} is not a whole number of {unit}")]
    Unaligned {
        /// The number.
        value: i64,
        /// The unit.
        unit: &'static str,
    },
    /// Numbers that the bundle's constants do not have.
    #[error("`{0}` is not in the bundle's constants: give them in a line `uconstants`")]
    Constant(String),
    /// Two instructions for one unit.
    #[error("{0} has an instruction already: name another unit, as in `vmul.`")]
    Taken(&'static str),
    /// An instruction for a unit that is executed earlier.
    #[error(
        "{} stands before {} in a bundle: name units, as in `vmul.`, or change the order",
        unit.name(),
        last.name()
    )]
    Order {
        /// The instruction's unit.
        unit: Unit,
        /// The unit of the instruction before it.
        last: Unit,
    },
    /// A second instance of something that a bundle has once.
    #[error("the bundle has {0} already")]
    Twice(&'static str),
    /// Instructions of two kinds of bundles.
    #[error("a bundle of {kind} cannot have {found}; an empty line ends a bundle")]
    Mixed {
        /// The kind of the bundle.
        kind: &'static str,
        /// The kind that does not fit.
        found: &'static str,
    },
    /// A bundle with directives but without an instruction.
    #[error("the bundle has no instruction, and no tag says what it is")]
    Empty,
    /// The tag does not match the bundle's contents.
    #[error("`{tag}` is no tag of a bundle of {kind} of {bytes} bytes")]
    Tag {
        /// The kind of the bundle.
        kind: &'static str,
        /// Its bytes.
        bytes: usize,
        /// The tag.
        tag: &'static str,
    },
    /// A field in braces that the instruction does not have.
    #[error("the instruction has no field `{0}`")]
    Field(String),
    /// A label is defined twice.
    #[error("label `{0}` is defined twice")]
    DuplicateLabel(String),
    /// A label is not defined.
    #[error("label `{0}` is not defined")]
    UnknownLabel(String),
    /// A directive is unknown or its operand is wrong.
    #[error(
        "`{0}` is not a directive; write `.zero N` (N up to 1048576), `.hex BYTES`, `.tag TAG` or `.next TAG`"
    )]
    Directive(String),
}
