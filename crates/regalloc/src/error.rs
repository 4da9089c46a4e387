//! Errors of register allocation.

use crate::function::{Block, Ins, Val};

/// Errors of register allocation and of the passes before it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// One instruction needs more registers than the register file has.
    #[error("{needed} units of registers are needed at once, there are {limit}")]
    Registers {
        /// Units needed.
        needed: u32,
        /// Units available.
        limit: u32,
    },
    /// Too many values are live in too many blocks.
    #[error("liveness needs {needed} pairs of a value and a block, at most {limit} are kept")]
    Liveness {
        /// Number of pairs.
        needed: usize,
        /// Maximum number of pairs.
        limit: usize,
    },
    /// The live values do not fit into the registers although their total size does: a bug.
    #[error("values do not fit into {limit} units of registers")]
    Full {
        /// Units available.
        limit: u16,
    },
    /// Copies in a circle find no free unit, and the target does not swap.
    #[error(
        "copies in a circle find no free unit; lower the limit of registers or add a scratch register"
    )]
    Spare,
    /// The live values that are not masked do not fit into their registers.
    #[error("values that are not masked need more than {limit} units of registers")]
    Unmasked {
        /// Units that there are.
        limit: u32,
    },
    /// The checker found a register that does not hold what an instruction expects: a bug.
    #[error("register allocation: {0}")]
    Check(#[from] CheckError),
}

/// A rule for the registers of an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// The alignment of its class, and the boundary that it must not cross.
    Class,
    /// The registers that values may take.
    Set,
    /// [`crate::Constraint::Fixed`].
    Fixed,
    /// [`crate::Constraint::Tied`].
    Tied,
    /// [`crate::Overlap`] with a source.
    Overlap,
    /// A result is not among the registers that its instruction clobbers.
    Clobber,
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Rule::Class => "the alignment of its class",
            Rule::Set => "the set of registers",
            Rule::Fixed => "its fixed register",
            Rule::Tied => "the source that it is tied to",
            Rule::Overlap => "the sources that it must not overwrite",
            Rule::Clobber => "the registers that are clobbered",
        })
    }
}

/// Contents of a unit of the register file: a unit of a value, or nothing.
pub type Held = Option<(Val, u8)>;

/// A register that does not hold what is expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// The allocation has no registers for an instruction.
    #[error("{inst} was left out")]
    LeftOut {
        /// The instruction.
        inst: Ins,
    },
    /// An instruction reads another value than its operand.
    #[error("{block}: {inst} reads {val} at unit {unit}, which holds {held:?}")]
    Operand {
        /// The instruction's block.
        block: Block,
        /// The instruction.
        inst: Ins,
        /// The operand.
        val: Val,
        /// The first unit of the operand's registers.
        unit: u16,
        /// Contents of that unit.
        held: Held,
    },
    /// The registers of an operand are not what its class or its instruction demands.
    #[error("{block}: {inst} has {val} at unit {unit}, against {rule}")]
    Constraint {
        /// The instruction's block.
        block: Block,
        /// The instruction.
        inst: Ins,
        /// The operand.
        val: Val,
        /// Its first unit.
        unit: u16,
        /// The rule.
        rule: Rule,
    },
    /// Values that are not masked have common registers while both are alive.
    #[error("{block}: {a} and {b} share registers while both are alive")]
    Unmasked {
        /// The block.
        block: Block,
        /// One value.
        a: Val,
        /// The other.
        b: Val,
    },
    /// A joined, split or copied result has another value's unit.
    #[error("{block}: {inst} wants unit {part} of {val} at unit {unit}, which holds {held:?}")]
    Part {
        /// The instruction's block.
        block: Block,
        /// The instruction.
        inst: Ins,
        /// The value that is joined, split or copied.
        val: Val,
        /// The unit of the value.
        part: u8,
        /// The expected register unit.
        unit: u16,
        /// Contents of that unit.
        held: Held,
    },
    /// An exported value is not in its register at the end of the program.
    #[error("{val} is not left at unit {unit}")]
    Export {
        /// The value.
        val: Val,
        /// The register unit of the export.
        unit: u16,
    },
    /// An edge leaves another value than its successor expects.
    #[error("{from} to {to}: unit {unit} should hold {val}, holds {held:?}")]
    Edge {
        /// The predecessor.
        from: Block,
        /// The successor.
        to: Block,
        /// The expected value.
        val: Val,
        /// The register unit where the successor expects the value.
        unit: u16,
        /// Contents of that unit.
        held: Held,
    },
}

/// The result of a pass that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;
