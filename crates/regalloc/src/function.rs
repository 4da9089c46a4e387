//! Machine IR: SSA over a target's instructions.
//!
//! An instruction is the target's own with [`UNASSIGNED`](crate::UNASSIGNED) for each register that
//! allocation chooses. Its SSA values are stored separately: results in `dsts`, sources in `srcs`, each
//! in the order of its operands. Phis, vectors of consecutive registers and structured control flow are
//! [`Op`]s of their own.
//!
//! Blocks are in layout order: an `if` is followed by its then blocks, its else blocks and the
//! block where both join; a loop's blocks are contiguous. There are no critical edges: a block with
//! several successors ends in [`Ctl::If`], and then and else have blocks of their own.

use crate::class::RegClass;
use crate::target::{Effect, Target};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityList, ListPool, PrimaryMap, SecondaryMap, entity_impl};
use tepui_ir::Loc;

/// An SSA value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Val(u32);
entity_impl!(Val, "v");

/// A block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Block(u32);
entity_impl!(Block, "block");

/// An instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ins(u32);
entity_impl!(Ins, "ins");

/// Structured control flow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Ctl<I> {
    /// Ends a block: a comparison; lanes that fail go to the else block.
    If(I),
    /// Begins the else block.
    Else,
    /// Begins the block where then and else join.
    EndIf,
    /// Ends the block before a loop.
    Loop,
    /// Ends the last block of a loop: lanes that did not leave go to the loop's first block.
    EndLoop,
    /// Ends a block: leaves the innermost loop.
    Break,
    /// Ends a block: goes to the innermost loop's next iteration.
    Continue,
}

/// The operation of an instruction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Op<I> {
    /// A machine instruction.
    Isa(I),
    /// At the head of a block: one source for each predecessor.
    Phi,
    /// Consecutive registers from values.
    Collect,
    /// Values from consecutive registers.
    Split,
    /// Copies a value to another register.
    Copy,
    /// An undefined value.
    Undef,
    /// In the first block: a value that is in registers when the program starts, by first unit.
    Preload(u16),
    /// At the end: leaves values in the registers of [`Function::exports`], for the program that runs
    /// next (epilogs of shaders, for example).
    Exports,
    /// Structured control flow.
    Ctl(Ctl<I>),
}

/// An instruction with its values.
#[derive(Clone, Copy, Debug)]
pub struct Instr<I> {
    /// The operation.
    pub op: Op<I>,
    /// Values written.
    pub dsts: EntityList<Val>,
    /// Values read.
    pub srcs: EntityList<Val>,
    /// Source location.
    pub loc: Loc,
}

/// A block.
#[derive(Clone, Debug, Default)]
pub struct BlockData {
    /// Instructions: phis, then [`Ctl::Else`] or [`Ctl::EndIf`], then others; another `Ctl` only at
    /// the end.
    pub insts: Vec<Ins>,
    /// Blocks that go here, in the order of the phis' sources.
    pub preds: Vec<Block>,
    /// Blocks that this one goes to.
    pub succs: Vec<Block>,
    /// Number of loops around the block.
    pub depth: u16,
}

/// A program.
#[derive(Clone, Debug)]
pub struct Function<I> {
    /// Blocks, numbered in layout order.
    pub blocks: PrimaryMap<Block, BlockData>,
    /// Instructions.
    pub insts: PrimaryMap<Ins, Instr<I>>,
    /// Values.
    pub vals: PrimaryMap<Val, RegClass>,
    /// Storage of value lists.
    pub pool: ListPool<Val>,
    /// First units of the registers where the sources of [`Op::Exports`] go.
    pub exports: Vec<u16>,
    /// The original of each value that [`Function::renamed`] made.
    pub origins: SecondaryMap<Val, PackedOption<Val>>,
}

impl<I> Function<I> {
    /// A new value.
    pub fn val(&mut self, class: RegClass) -> Val {
        self.vals.push(class)
    }

    /// A new name for the bits of another value, as reloads of spilled values need it.
    pub fn renamed(&mut self, v: Val) -> Val {
        let new = self.vals.push(self.vals[v]);
        self.origins[new] = self.origin(v).into();
        new
    }

    /// The original of a renamed value, else the value itself.
    #[must_use]
    pub fn origin(&self, v: Val) -> Val {
        self.origins[v].expand().unwrap_or(v)
    }

    /// Makes an instruction that is in no block yet.
    pub fn make(&mut self, op: Op<I>, dsts: &[Val], srcs: &[Val], loc: Loc) -> Ins {
        let dsts = EntityList::from_slice(dsts, &mut self.pool);
        let srcs = EntityList::from_slice(srcs, &mut self.pool);
        self.insts.push(Instr { op, dsts, srcs, loc })
    }

    /// Values written.
    #[must_use]
    pub fn dsts(&self, i: Ins) -> &[Val] {
        self.insts[i].dsts.as_slice(&self.pool)
    }

    /// Values read.
    #[must_use]
    pub fn srcs(&self, i: Ins) -> &[Val] {
        self.insts[i].srcs.as_slice(&self.pool)
    }

    /// Values read, for replacement.
    pub fn srcs_mut(&mut self, i: Ins) -> &mut [Val] {
        self.insts[i].srcs.as_mut_slice(&mut self.pool)
    }

    /// The number of instructions of a block before those that leave it: copies for the successor are
    /// inserted there.
    #[must_use]
    pub fn body_end(&self, b: Block) -> usize {
        let insts = &self.blocks[b].insts;
        let leaves = |i: &Ins| {
            matches!(
                self.insts[*i].op,
                Op::Ctl(Ctl::If(_) | Ctl::Loop | Ctl::EndLoop | Ctl::Break | Ctl::Continue)
            )
        };
        insts.len() - insts.iter().rev().take_while(|i| leaves(i)).count()
    }

    /// Adds an edge from `a` to `b`.
    pub fn edge(&mut self, a: Block, b: Block) {
        self.blocks[a].succs.push(b);
        self.blocks[b].preds.push(a);
    }
}

impl<I> Default for Function<I> {
    fn default() -> Function<I> {
        Function {
            blocks: PrimaryMap::new(),
            insts: PrimaryMap::new(),
            vals: PrimaryMap::new(),
            pool: ListPool::new(),
            exports: Vec::new(),
            origins: SecondaryMap::new(),
        }
    }
}

impl<I> Op<I> {
    /// The target's instruction, if the operation is one.
    pub fn inst(&self) -> Option<&I> {
        match self {
            Op::Isa(i) | Op::Ctl(Ctl::If(i)) => Some(i),
            _ => None,
        }
    }

    /// Its effect.
    pub fn effect<T: Target<Inst = I>>(&self) -> Effect {
        match self {
            Op::Phi | Op::Ctl(_) | Op::Exports => Effect::Fixed,
            Op::Collect | Op::Split | Op::Copy | Op::Undef | Op::Preload(_) => Effect::Pure,
            Op::Isa(i) => T::effect(i),
        }
    }
}
