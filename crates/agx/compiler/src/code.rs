//! What register allocation leaves: blocks of machine instructions with registers, moves and structured control flow.

use crate::mir::Ctl;
use tepui_agx_isa::Inst;
use tepui_ir::Loc;

/// An instruction with registers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Step {
    /// A machine instruction.
    Inst(Inst),
    /// Copies `halves` (1 or 2) half-registers.
    Move {
        /// First half-register written.
        to: u16,
        /// First half-register read.
        from: u16,
        /// 1 or 2.
        halves: u16,
    },
    /// Exchanges `halves` (1 or 2) half-registers.
    Swap {
        /// First half-register of one.
        a: u16,
        /// First half-register of the other.
        b: u16,
        /// 1 or 2.
        halves: u16,
    },
    /// Structured control flow.
    Ctl(Ctl),
}

/// A block.
#[derive(Clone, Debug, Default)]
pub struct CodeBlock {
    /// Steps with the places they come from.
    pub steps: Vec<(Step, Loc)>,
}

/// A program with registers.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// Blocks in layout order.
    pub blocks: Vec<CodeBlock>,
    /// Half-registers up to the last one in use.
    pub halves: u16,
}
