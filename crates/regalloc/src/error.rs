//! Errors of register allocation.

/// Why a function gets no registers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// One instruction needs more registers than there are.
    #[error("{needed} units of registers are needed at once, there are {limit}")]
    Registers {
        /// Units needed.
        needed: u32,
        /// Units that there are.
        limit: u32,
    },
    /// Too many values are live in too many blocks.
    #[error("liveness needs {needed} pairs of a value and a block, at most {limit} are kept")]
    Liveness {
        /// Pairs needed.
        needed: usize,
        /// Pairs that are kept.
        limit: usize,
    },
    /// The live values do not fit into the registers although their size does: a bug.
    #[error("values do not fit into {limit} units of registers")]
    Full {
        /// Units that there are.
        limit: u16,
    },
    /// The checker found a register that does not hold what an instruction expects: a bug.
    #[error("register allocation: {0}")]
    Check(String),
}

/// The result of a pass that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;
