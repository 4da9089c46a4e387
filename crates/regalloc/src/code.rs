//! The output of register allocation: blocks of machine instructions with registers, moves and
//! structured control flow.

use crate::function::Ctl;
use tepui_ir::Loc;

/// An instruction with registers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Step<I> {
    /// A machine instruction.
    Inst(I),
    /// Copies `units` (1 or 2) units.
    Move {
        /// First unit written.
        to: u16,
        /// First unit read.
        from: u16,
        /// 1 or 2.
        units: u16,
    },
    /// Exchanges `units` (1 or 2) units.
    Swap {
        /// First unit of one.
        a: u16,
        /// First unit of the other.
        b: u16,
        /// 1 or 2.
        units: u16,
    },
    /// Structured control flow.
    Ctl(Ctl<I>),
}

/// A block.
#[derive(Clone, Debug)]
pub struct CodeBlock<I> {
    /// Steps with the places they come from.
    pub steps: Vec<(Step<I>, Loc)>,
}

/// A program with registers.
#[derive(Clone, Debug)]
pub struct Code<I> {
    /// Blocks in layout order.
    pub blocks: Vec<CodeBlock<I>>,
    /// Units up to the last one in use.
    pub units: u16,
}

impl<I> Default for CodeBlock<I> {
    fn default() -> CodeBlock<I> {
        CodeBlock { steps: Vec::new() }
    }
}
