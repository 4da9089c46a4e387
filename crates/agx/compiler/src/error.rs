//! Errors of the compiler.

use crate::varyings::{Shading, Varying};
use tepui_ir::{Inst, Op, Stage};

/// Name of the resource in [`Error::Limit`] when the uniform registers are full.
pub(crate) const HALF_UNIFORMS: &str = "half-uniforms";

/// Error of the compiler.
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
        /// The unsupported property.
        why: String,
    },
    /// A geometry or tessellation shader that is not expanded.
    #[error(transparent)]
    Expand(#[from] tepui_expand::Unsupported),
    /// A format that vertices cannot be fetched from.
    #[error("attributes of {} are not fetched", .0.name())]
    Attribute(tepui_format::Format),
    /// A format that cannot be drawn to.
    #[error("{} cannot be drawn to", .0.name())]
    Target(tepui_format::Format),
    /// A feature without instructions.
    #[error("{0} is not compiled yet")]
    Feature(&'static str),
    /// Parts or stages that do not fit together.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// A shader of one stage was to be compiled for another's interface.
    #[error("a {0} shader has another interface")]
    Interface(Stage),
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
    /// The encoder refused an instruction: a bug of the compiler.
    #[error("internal: {0}")]
    Encode(#[from] tepui_agx_isa::EncodeError),
    /// No registers were found.
    #[error(transparent)]
    Registers(tepui_regalloc::Error),
    /// A check of the compiler's own work failed: a bug of the compiler.
    #[error("internal: {0}")]
    Internal(String),
}

impl From<tepui_backend::Error> for Error {
    fn from(error: tepui_backend::Error) -> Error {
        use tepui_backend::Error as Shared;
        match error {
            Shared::Registers(e) => Error::Registers(e),
            Shared::Scratch { needed, limit } => {
                let what = "bytes of scratch memory";
                Error::Limit { what, needed: needed.into(), limit: limit.into() }
            }
            e @ (Shared::Invalid(_) | Shared::Branch { .. }) => Error::Internal(e.to_string()),
        }
    }
}

/// Reason why programs do not fit together.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LinkError {
    /// A varying is read with two interpolations.
    #[error("{varying} is read {} and {}", .shadings[0], .shadings[1])]
    Shading {
        /// The varying.
        varying: Varying,
        /// The interpolations.
        shadings: [Shading; 2],
    },
    /// A vertex shader is needed.
    #[error("the program is not a vertex shader")]
    NotVertex,
    /// A fragment shader is needed.
    #[error("the program is not a fragment shader")]
    NotFragment,
    /// An epilog that runs for each sample uses scratch memory.
    #[error("an epilog that uses scratch memory runs for each sample")]
    ScratchPerSample,
}

/// The result of a stage of the compiler.
pub type Result<T, E = Error> = std::result::Result<T, E>;
