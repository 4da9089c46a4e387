//! Scripts of Amber: Vulkan programs as text, each with what it expects of its buffers and pictures.
//!
//! [`parse()`] reads the part of AmberScript that Khronos' conformance tests use, without ray tracing and tessellation. A [`Runner`] keeps
//! the buffers, has an [`Engine`] run pipelines, and compares. The engines here need no driver: Tepui's compiler with the AGX model, and
//! the interpreter of the IR. Scripts that nobody here wrote are run by hand: `tepui-amber FOLDER`.
//!
//! source: AmberScript's description in the repository google/amber, docs/amber_script.md

pub mod assemble;
mod check;
pub mod data;
mod interpreter;
mod model;
mod parse;
mod pipeline;
mod report;
mod run;
pub mod script;

pub use interpreter::Interpreter;
pub use model::Model;
pub use parse::{parse, parse_in};
pub use report::{Report, scripts};
pub use run::{Content, Engine, Job, Runner};

/// Why a script did not run to its end, or did not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is no script.
    #[error("line {line}: {what}")]
    Wrong {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// It needs what this runner or the engine lacks.
    #[error("line {line}: not supported: {what}")]
    Refused {
        /// The line, from 1.
        line: usize,
        /// What is missing.
        what: String,
    },
    /// An expectation does not hold, or the engine fails.
    #[error("line {line}: {what}")]
    Failed {
        /// The line, from 1.
        line: usize,
        /// What is otherwise.
        what: String,
    },
}

/// The result of reading or running.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an engine does not run a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It lacks something.
    Refused(String),
    /// It should have run.
    Failed(String),
}

impl Refusal {
    /// With the line of the command.
    #[must_use]
    pub fn at(self, line: usize) -> Error {
        match self {
            Refusal::Refused(what) => Error::Refused { line, what },
            Refusal::Failed(what) => Error::Failed { line, what },
        }
    }
}

/// A refusal by name.
pub(crate) fn refused<T>(what: impl Into<String>) -> std::result::Result<T, Refusal> {
    Err(Refusal::Refused(what.into()))
}

/// A failure with its reason.
pub(crate) fn failed(what: impl std::fmt::Display) -> Refusal {
    Refusal::Failed(what.to_string())
}
