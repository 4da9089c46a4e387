//! Why a shader was not compiled.

use tepui_ir::{Inst, Op, Stage};

/// Why a shader was not compiled.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// A stage that there is no back end for.
    #[error("{0} shaders are not compiled yet")]
    Stage(Stage),
    /// An operation that is not compiled.
    #[error("{inst}: `{}` {why}", op.name())]
    Op {
        /// The instruction.
        inst: Inst,
        /// Its op.
        op: Op,
        /// What it asks for.
        why: String,
    },
    /// The machine has less of something than the shader needs.
    #[error("the shader needs {needed} {what}, the machine has {limit}")]
    Limit {
        /// Of what.
        what: &'static str,
        /// How much is needed.
        needed: u64,
        /// How much there is.
        limit: u64,
    },
    /// The encoder refused an instruction: a bug of the compiler.
    #[error("internal: {0}")]
    Encode(#[from] tepui_agx_isa::EncodeError),
    /// A check of the compiler's own work failed: a bug of the compiler.
    #[error("internal: {0}")]
    Internal(String),
}

/// The result of a stage of the compiler.
pub type Result<T, E = Error> = std::result::Result<T, E>;
