//! Errors, with the word offset and the name of the instruction.

/// Reason why a module is not translated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Kind {
    /// A version of SPIR-V that this front end does not read.
    #[error("unsupported: SPIR-V version {major}.{minor}; 1.0 to 1.6 are")]
    Version {
        /// Major version.
        major: u8,
        /// Minor version.
        minor: u8,
    },
    /// An execution mode that no GPU here has.
    #[error("unsupported: execution mode {0}")]
    ExecutionMode(&'static str),
    /// Regions of control flow that nest deeper than passes and compilers take.
    #[error("too large: control flow nests deeper than {limit} regions")]
    Nesting {
        /// The deepest nesting.
        limit: usize,
    },
    /// A module whose length is not a whole number of words.
    #[error("invalid: {bytes} bytes, which is not a multiple of four")]
    Length {
        /// Bytes of the module.
        bytes: usize,
    },
    /// Another feature that this front end does not support; the message names it.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// The module breaks another rule of SPIR-V or of its Vulkan environment.
    #[error("invalid: {0}")]
    Invalid(String),
    /// Another limit of this front end that keeps memory bounded by the input.
    #[error("too large: {0}")]
    TooLarge(String),
}

/// A module that is not translated, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("word {word}: {inst}: {kind}")]
pub struct Error {
    /// Offset of the instruction in words from the start of the module.
    pub word: usize,
    /// Name of the instruction, or `header`.
    pub inst: String,
    /// The reason.
    pub kind: Kind,
}

/// Result of the front end.
pub type Result<T> = std::result::Result<T, Error>;
