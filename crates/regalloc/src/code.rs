//! The output of register allocation: blocks of machine instructions with registers, moves and
//! structured control flow.

use crate::function::{Block, Ctl, Val};
use tepui_ir::Loc;

/// An instruction with registers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Step<I> {
    /// A machine instruction.
    Inst(I),
    /// Copies units, as many as [`crate::Target::move_units`] says.
    Move {
        /// First unit written.
        to: u16,
        /// First unit read.
        from: u16,
        /// Units.
        units: u16,
    },
    /// Exchanges units, where the target does ([`crate::Target::SWAPS`]).
    Swap {
        /// First unit of one.
        a: u16,
        /// First unit of the other.
        b: u16,
        /// Units.
        units: u16,
    },
    /// Structured control flow.
    Ctl(Ctl<I>),
}

/// A block.
#[derive(Clone, Debug)]
pub struct CodeBlock<I> {
    /// Steps, each with its source location.
    pub steps: Vec<(Step<I>, Loc)>,
}

/// A value that registers hold from a step of a block on, for debuggers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Def {
    /// The block.
    pub block: Block,
    /// The number of the block's steps before that point.
    pub steps: u32,
    /// First unit.
    pub unit: u16,
    /// The value.
    pub val: Val,
}

/// A program with registers.
#[derive(Clone, Debug)]
pub struct Code<I> {
    /// Blocks in layout order.
    pub blocks: Vec<CodeBlock<I>>,
    /// Units up to the last one in use.
    pub units: u16,
    /// Value definitions in program order, if [`Extras::defs`](crate::alloc::Extras::defs) asks for
    /// them. A value that has other registers at the start of a block has a further entry there.
    pub defs: Vec<Def>,
}

impl<I> Default for CodeBlock<I> {
    fn default() -> CodeBlock<I> {
        CodeBlock { steps: Vec::new() }
    }
}
