//! Errors of the compiler.

use tepui_ir::{Op, SrcLoc};

/// Error of the compiler.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// An operation that is not compiled.
    #[error("line {}: `{}` {why}", loc.line, op.name())]
    Op {
        /// Its op.
        op: Op,
        /// Its position in the source; line 0 if unknown.
        loc: SrcLoc,
        /// The unsupported property.
        why: String,
    },
    /// A feature that is not compiled.
    #[error("{0} is not compiled for Mali yet")]
    Feature(&'static str),
    /// A resource that the layout of descriptors does not have.
    #[error("set {set}, binding {binding} has no place in a resource table")]
    Unplaced {
        /// Descriptor set.
        set: u32,
        /// Binding.
        binding: u32,
    },
    /// The machine has less of something than the shader needs.
    #[error("the shader needs {needed} {what}, the machine has {limit}")]
    Limit {
        /// The limited resource.
        what: &'static str,
        /// The needed amount.
        needed: u64,
        /// The available amount.
        limit: u64,
    },
    /// The shared passes on the machine IR failed.
    #[error(transparent)]
    BackEnd(#[from] tepui_backend::Error),
    /// The encoder refused an instruction: a bug of the compiler.
    #[error("internal: `{text}`: {error}")]
    Encode {
        /// The instruction.
        text: String,
        /// The reason.
        error: tepui_mali_isa::FieldError,
    },
    /// An instruction violates a rule of the hardware: a bug of the compiler.
    #[error("internal: `{text}`: {rule}")]
    Rule {
        /// The instruction.
        text: String,
        /// The rule.
        rule: tepui_mali_isa::validate::Rule,
    },
}

impl Error {
    /// True for a bug of the compiler, as opposed to a property of the shader.
    #[must_use]
    pub fn is_bug(&self) -> bool {
        use tepui_backend::Error as BackEnd;
        use tepui_regalloc::Error as Registers;
        match self {
            Error::Encode { .. } | Error::Rule { .. } => true,
            Error::BackEnd(BackEnd::Invalid(_) | BackEnd::Branch { .. }) => true,
            Error::BackEnd(BackEnd::Registers(e)) => {
                matches!(e, Registers::Full { .. } | Registers::Spare | Registers::Check(_))
            }
            _ => false,
        }
    }
}

/// The result of a stage of the compiler.
pub type Result<T, E = Error> = std::result::Result<T, E>;
