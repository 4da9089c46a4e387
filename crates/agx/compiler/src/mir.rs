//! The machine IR: SSA over AGX instructions.
//!
//! An instruction is the ISA table's own [`Inst`] with [`UNASSIGNED`] for each register that allocation chooses. Its SSA values stand
//! beside it: results in `dsts`, sources in `srcs`, each in the order of the table's fields. Phis, vectors of consecutive registers
//! and structured control flow are [`Op`]s of their own.
//!
//! Blocks are in layout order: an `if` is followed by its then blocks, its else blocks and the block where both join; a loop's blocks
//! are contiguous. There are no critical edges: a block with several successors ends in [`Ctl::If`], and then and else have
//! blocks of their own.

use cranelift_entity::{EntityList, ListPool, PrimaryMap, entity_impl};
use tepui_agx_isa::Inst;
use tepui_agx_isa::operand::{Gather, LodMode, OperandMut};
use tepui_ir::Loc;

/// The register number of an operand whose register is not allocated yet.
pub const UNASSIGNED: u16 = u16::MAX;

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

/// Register class: the size and alignment of the registers that a value takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegClass {
    /// Half-registers.
    pub halves: u8,
    /// Must begin in a low half.
    pub even: bool,
}

impl RegClass {
    /// One half-register.
    pub const HALF: RegClass = RegClass { halves: 1, even: false };
    /// A 32-bit register.
    pub const WORD: RegClass = RegClass { halves: 2, even: true };
    /// A pair of registers.
    pub const LONG: RegClass = RegClass { halves: 4, even: true };

    /// The class of `count` elements of `bits` each.
    #[must_use]
    pub const fn of(bits: u8, count: u8) -> RegClass {
        let half = if bits <= 16 { 1 } else { bits / 16 };
        RegClass { halves: half * count, even: bits > 16 }
    }
}

/// Structured control flow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Ctl {
    /// Ends a block: an `if_icmp` or `if_fcmp`; lanes that fail go to the else block.
    If(Inst),
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

/// What an instruction does.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Op {
    /// A machine instruction.
    Isa(Inst),
    /// At the head of a block: one source for each predecessor.
    Phi,
    /// Consecutive registers from values.
    Collect,
    /// Values from consecutive registers.
    Split,
    /// The same bits in another register.
    Copy,
    /// Any bits.
    Undef,
    /// In the first block: what stands in a register, by first half, before the program runs.
    Preload(u16),
    /// At the end: leaves values in the registers of [`Function::exports`], for what runs behind the program.
    Exports,
    /// Structured control flow.
    Ctl(Ctl),
}

/// An instruction with its values.
#[derive(Clone, Copy, Debug)]
pub struct Instr {
    /// What it does.
    pub op: Op,
    /// Values written.
    pub dsts: EntityList<Val>,
    /// Values read.
    pub srcs: EntityList<Val>,
    /// Where it comes from.
    pub loc: Loc,
}

/// A block.
#[derive(Clone, Debug, Default)]
pub struct BlockData {
    /// Instructions: phis, then [`Ctl::Else`] or [`Ctl::EndIf`], then others; another `Ctl` only at the end.
    pub insts: Vec<Ins>,
    /// Blocks that go here, in the order of the phis' sources.
    pub preds: Vec<Block>,
    /// Blocks that this one goes to.
    pub succs: Vec<Block>,
    /// Loops around it.
    pub depth: u16,
}

/// A program.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// Blocks, numbered in layout order.
    pub blocks: PrimaryMap<Block, BlockData>,
    /// Instructions.
    pub insts: PrimaryMap<Ins, Instr>,
    /// Values.
    pub vals: PrimaryMap<Val, RegClass>,
    /// Storage of value lists.
    pub pool: ListPool<Val>,
    /// `r0h` is kept at zero for shuffles.
    pub uses_r0h: bool,
    /// Uniforms with addresses of memory that nothing writes while the program runs, by their first halves.
    pub constant: Vec<u16>,
    /// One part of several that run one after the other: `r0l` is the nesting counter of all of them.
    pub is_part: bool,
    /// First half-registers where the sources of [`Op::Exports`] go.
    pub exports: Vec<u16>,
}

impl Function {
    /// A new value.
    pub fn val(&mut self, class: RegClass) -> Val {
        self.vals.push(class)
    }

    /// Makes an instruction that is in no block yet.
    pub fn make(&mut self, op: Op, dsts: &[Val], srcs: &[Val], loc: Loc) -> Ins {
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

    /// Values read, to be replaced.
    pub fn srcs_mut(&mut self, i: Ins) -> &mut [Val] {
        self.insts[i].srcs.as_mut_slice(&mut self.pool)
    }

    /// How many instructions of a block stand before those that leave it (where copies for the successor go).
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

    /// An edge from `a` to `b`.
    pub fn edge(&mut self, a: Block, b: Block) {
        self.blocks[a].succs.push(b);
        self.blocks[b].preds.push(a);
    }
}

/// The machine instruction inside of an op.
#[must_use]
pub fn isa(op: &Op) -> Option<&Inst> {
    match op {
        Op::Isa(i) | Op::Ctl(Ctl::If(i)) => Some(i),
        _ => None,
    }
}

/// The machine instruction inside of an op, to be changed.
pub fn isa_mut(op: &mut Op) -> Option<&mut Inst> {
    match op {
        Op::Isa(i) | Op::Ctl(Ctl::If(i)) => Some(i),
        _ => None,
    }
}

/// Calls `f` for each operand without a register: its size in half-registers, and whether it is written.
pub fn unassigned(inst: &Inst, mut f: impl FnMut(u16, bool)) {
    let mut inst = *inst;
    inst.visit_mut(|operand, written| {
        if let Some((UNASSIGNED, halves)) = operand.reg() {
            f(halves, written);
        }
    });
}

/// Assigns registers to operands without one, in order: `regs(written)` gives the next.
pub fn fill(inst: &mut Inst, mut regs: impl FnMut(bool) -> u16) {
    inst.visit_mut(|mut operand: OperandMut<'_>, written| {
        if let Some((UNASSIGNED, _)) = operand.reg() {
            let reg = regs(written);
            operand.set_reg(reg);
        }
    });
}

/// Effects that forbid removing, repeating or moving an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// None: the same sources give the same results.
    Pure,
    /// Reads memory that may change.
    Read,
    /// Depends on which lanes are active: may go when unused, but not move or merge.
    Group,
    /// Must stay where it is, once: writes memory or a fixed register, or takes part in something with other lanes.
    Fixed,
}

/// The effect of an op.
#[must_use]
pub fn effect(op: &Op) -> Effect {
    match op {
        Op::Phi | Op::Ctl(_) | Op::Exports => Effect::Fixed,
        Op::Collect | Op::Split | Op::Copy | Op::Undef | Op::Preload(_) => Effect::Pure,
        Op::Isa(i) => match i {
            Inst::MovImm16(m) if m.d.reg != UNASSIGNED => Effect::Fixed,
            Inst::Bitop(b) if b.d.reg != UNASSIGNED => Effect::Fixed,
            // What is active depends on the place.
            Inst::GetSr(g) if matches!(g.sr.0, 56..=63) => Effect::Group,
            Inst::IcmpBallot(_)
            | Inst::FcmpBallot(_)
            | Inst::SimdReduce(_)
            | Inst::QuadShuffle(_)
            | Inst::SimdShuffle(_)
            | Inst::Dfdx(_)
            | Inst::Dfdy(_) => Effect::Group,
            Inst::MovImm16(_)
            | Inst::MovImm32(_)
            | Inst::GetSr(_)
            | Inst::Iadd(_)
            | Inst::Imadd(_)
            | Inst::Convert(_)
            | Inst::Bfi(_)
            | Inst::Bfeil(_)
            | Inst::Extr(_)
            | Inst::Shlhi(_)
            | Inst::Shrhi(_)
            | Inst::Asr(_)
            | Inst::Asrh(_)
            | Inst::Bitop(_)
            | Inst::Bitrev(_)
            | Inst::Popcount(_)
            | Inst::Intl(_)
            | Inst::Ffs(_)
            | Inst::Fmadd32(_)
            | Inst::Fmadd16(_)
            | Inst::Fadd32(_)
            | Inst::Fadd16(_)
            | Inst::Fmul32(_)
            | Inst::Fmul16(_)
            | Inst::Floor(_)
            | Inst::Ceil(_)
            | Inst::Trunc(_)
            | Inst::Rint(_)
            | Inst::Rcp(_)
            | Inst::Rsqrt(_)
            | Inst::RsqrtSpecial(_)
            | Inst::SinPt1(_)
            | Inst::SinPt2(_)
            | Inst::Log2(_)
            | Inst::Exp2(_)
            | Inst::Icmpsel(_)
            | Inst::Fcmpsel(_)
            | Inst::Iter(_)
            | Inst::Iterproj(_)
            | Inst::Ldcf(_) => Effect::Pure,
            // Levels of detail come from the quad's other lanes.
            Inst::TextureSample(t)
                if matches!(
                    t.lod_mode,
                    LodMode::Auto
                        | LodMode::Bias
                        | LodMode::BiasMin
                        | LodMode::BiasUniform
                        | LodMode::BiasMinUniform
                ) && t.gather == Gather::None =>
            {
                Effect::Group
            }
            Inst::TextureSample(_) => Effect::Pure,
            // Storage images may be written.
            Inst::TextureLoad(t) if t.cache & 1 != 0 => Effect::Read,
            Inst::TextureLoad(_) => Effect::Pure,
            Inst::DeviceLoad(_) | Inst::ThreadgroupLoad(_) | Inst::StackLoad(_) => Effect::Read,
            _ => Effect::Fixed,
        },
    }
}
