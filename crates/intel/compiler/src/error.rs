//! Errors of the compiler.

use tepui_intel_isa::validate::Rule;
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
    #[error("{0} is not compiled yet")]
    Feature(&'static str),
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
    /// No registers were found.
    #[error(transparent)]
    Registers(#[from] tepui_regalloc::Error),
    /// The encoder refused an instruction: a bug of the compiler.
    #[error("internal: {0}")]
    Encode(#[from] tepui_intel_isa::FieldError),
    /// An instruction violates rules of the hardware: a bug of the compiler.
    #[error("internal: `{text}` violates {rules:?}")]
    Rules {
        /// The instruction.
        text: String,
        /// The rules.
        rules: Vec<Rule>,
    },
    /// A check of the compiler's own work failed: a bug of the compiler.
    #[error("internal: {0}")]
    Internal(String),
}

impl Error {
    /// True for a bug of the compiler, as opposed to a property of the shader.
    #[must_use]
    pub fn is_bug(&self) -> bool {
        matches!(
            self,
            Error::Encode(_)
                | Error::Rules { .. }
                | Error::Internal(_)
                | Error::Registers(
                    tepui_regalloc::Error::Full { .. }
                        | tepui_regalloc::Error::Spare
                        | tepui_regalloc::Error::Check(_)
                )
        )
    }
}

/// The result of a stage of the compiler.
pub type Result<T, E = Error> = std::result::Result<T, E>;
