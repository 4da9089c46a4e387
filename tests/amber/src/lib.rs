//! Runs Amber scripts: Vulkan programs as text, with expectations about their buffers and images.
//!
//! [`parse()`] parses the subset of AmberScript that Khronos' conformance tests use, without ray
//! tracing and tessellation. A [`Runner`] holds the buffers, runs pipelines on an [`Engine`], and
//! checks the expectations. There are two engines, which need no driver: Tepui's compiler with the
//! AGX model ([`Model`]), and the IR interpreter ([`Interpreter`]). Third-party scripts are run by
//! hand: `tepui-amber FOLDER`. Start reading in `script.rs` (the parsed script) and `run.rs`.
//!
//! source: AmberScript's description in the repository google/amber, docs/amber_script.md

pub mod assemble;
mod check;
pub mod content;
mod data;
mod interpreter;
mod model;
mod parse;
mod pipeline;
mod report;
mod run;
pub mod script;

pub use content::Content;
pub use interpreter::Interpreter;
pub use model::Model;
pub use parse::{parse, parse_in};
pub use report::{Report, scripts};
pub use run::{Engine, Job, Runner};

/// The error of a script that failed or did not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The script is invalid.
    #[error("line {line}: {what}")]
    Invalid {
        /// The line, from 1.
        line: usize,
        /// The problem.
        what: String,
    },
    /// The script needs a feature that the parser or the engine does not support.
    #[error("line {line}: not supported: {what}")]
    Refused {
        /// The line, from 1.
        line: usize,
        /// The unsupported feature.
        what: String,
    },
    /// An expectation does not hold, or the engine fails.
    #[error("line {line}: {what}")]
    Failed {
        /// The line, from 1.
        line: usize,
        /// The difference.
        what: String,
    },
}

/// The result of reading or running.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason for which an engine did not run a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The job needs a feature that the engine does not support.
    Refused(String),
    /// The job should have run.
    Failed(String),
}

impl Refusal {
    /// Adds the line of the command.
    #[must_use]
    pub fn at(self, line: usize) -> Error {
        match self {
            Refusal::Refused(what) => Error::Refused { line, what },
            Refusal::Failed(what) => Error::Failed { line, what },
        }
    }
}

/// Refuses a job for lack of a feature.
pub(crate) fn refused<T>(what: impl Into<String>) -> std::result::Result<T, Refusal> {
    Err(Refusal::Refused(what.into()))
}

/// A failure, with the reason.
pub(crate) fn failed(what: impl std::fmt::Display) -> Refusal {
    Refusal::Failed(what.to_string())
}
