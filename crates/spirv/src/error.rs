//! Errors with the word offset and the instruction's name.

/// Why a module is not translated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Kind {
    /// A feature that is outside what this front end takes: named, never guessed.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// The module breaks a rule of SPIR-V or of its Vulkan environment.
    #[error("invalid: {0}")]
    Invalid(String),
    /// A limit of this front end that keeps memory bounded by the input.
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
    /// Why.
    pub kind: Kind,
}

/// Result of the front end.
pub type Result<T> = std::result::Result<T, Error>;
