//! Errors of the shared back end.

/// Error of the passes on the machine IR.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// No registers were found.
    #[error(transparent)]
    Registers(#[from] tepui_regalloc::Error),
    /// Spilled values do not fit into the scratch memory of a thread.
    #[error("the shader needs {needed} bytes of scratch memory, the machine has {limit}")]
    Scratch {
        /// The needed bytes.
        needed: u32,
        /// The available bytes.
        limit: u32,
    },
    /// The machine IR breaks a rule: a bug of the compiler.
    #[error("machine IR: {0}")]
    Invalid(String),
    /// A branch of a listing has no place to go to: a bug of the compiler.
    #[error("the branch in line {line} goes to {target}, which is not in the program")]
    Branch {
        /// The branch's line.
        line: usize,
        /// The label.
        target: u32,
    },
}

/// The result of a pass on the machine IR.
pub type Result<T, E = Error> = std::result::Result<T, E>;
