//! A small machine: instructions that mix their operands, an interpreter, and a builder of structured functions.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use tepui_ir::Loc;
use tepui_regalloc::alloc::Registers;
use tepui_regalloc::{
    Block, BlockData, Constraint, Ctl, Effect, Function, Op, Overlap, RegClass, RegSet,
    StackAccess, StackOffset, Target, Val,
};

pub const HALF: RegClass = RegClass::new(1);
pub const WORD: RegClass = RegClass::new(2).aligned(2);
pub const QUAD: RegClass = RegClass::new(8).aligned(2);
/// Within an aligned group of eight units.
pub const GROUP: RegClass = RegClass::new(3).aligned(4).within(8);
/// Written and read without the execution mask.
pub const SCALAR: RegClass = RegClass::new(1).unmasked();
/// Too wide for a stack access.
pub const WIDE: RegClass = RegClass::new(10).aligned(2);

#[derive(Clone, Copy, PartialEq, Debug, Hash)]
pub enum Inst {
    /// A constant, which can be rematerialised.
    Const(u32),
    /// An input, which cannot be rematerialised.
    Input(u32),
    /// A hash of all operands.
    Mix(u32),
    /// A call, with constraints on [`Picky`]: the first two sources in fixed registers, others clobbered.
    Call(u32),
    /// The result has the registers of the first source, which is of its class.
    Tied(u32),
    /// The result is written before the sources are read.
    Early(u32),
    /// The result has all registers of a source or none of them.
    Halves(u32),
    /// The operands are seen from outside.
    Show,
    /// A branch: on the lowest bit of the operand.
    Test,
    /// A stack access; without an offset, the last operand has it.
    Load(Option<u32>),
    Store(Option<u32>),
    Offset(u32),
}

#[derive(Clone, Copy, Debug)]
pub struct Machine;

impl Target for Machine {
    type Inst = Inst;

    const MAX_SPILLED_UNITS: u8 = 8;
    const UNIT_BYTES: u32 = 2;
    const SLOT_ALIGN: u32 = 4;
    const STACK_IMMEDIATES: u32 = 64;
    const STACK_OFFSET: RegClass = WORD;

    fn effect(inst: &Inst) -> Effect {
        match inst {
            Inst::Const(_)
            | Inst::Input(_)
            | Inst::Mix(_)
            | Inst::Call(_)
            | Inst::Tied(_)
            | Inst::Early(_)
            | Inst::Halves(_)
            | Inst::Offset(_) => Effect::Pure,
            Inst::Load(_) => Effect::Read,
            Inst::Show | Inst::Test | Inst::Store(_) => Effect::Fixed,
        }
    }

    fn is_load(_: &Inst) -> bool {
        false
    }

    fn rematerialises(inst: &Inst) -> bool {
        matches!(inst, Inst::Const(_))
    }

    fn stack_access(access: StackAccess, _: RegClass, offset: StackOffset) -> Inst {
        let at = match offset {
            StackOffset::Immediate(n) => Some(n),
            StackOffset::Register => None,
        };
        match access {
            StackAccess::Load => Inst::Load(at),
            StackAccess::Store => Inst::Store(at),
        }
    }

    fn stack_offset(offset: u32) -> Inst {
        Inst::Offset(offset)
    }

    fn move_units(to: u16, from: u16, units: u16) -> u16 {
        if units >= 2 && to.is_multiple_of(2) && from.is_multiple_of(2) { 2 } else { 1 }
    }

    fn assign(_: &mut Inst, _: impl FnMut(bool) -> u16) {}
}

/// A machine with constraints, without an instruction that swaps registers.
#[derive(Clone, Copy, Debug)]
pub struct Picky;

/// The fixed registers of a call's first sources.
pub const ARGUMENTS: [u16; 2] = [4, 10];
/// That of its result, which values do not take.
pub const RESULT: u16 = 150;
/// Registers that a call overwrites.
pub const CLOBBERED: std::ops::Range<u16> = 2..9;
/// The registers of [`Picky`] for a limit of values: with a hole.
pub fn picky_registers(limit: u16) -> Registers {
    let values = RegSet::range(1..13).union(RegSet::range(19..limit + 7));
    let unmasked = RegSet::range(200..256);
    Registers {
        values,
        unmasked,
        scratch: RegSet::range(160..162),
        in_turns: limit.is_multiple_of(2),
    }
}

impl Target for Picky {
    type Inst = Inst;

    const MAX_SPILLED_UNITS: u8 = 8;
    const UNIT_BYTES: u32 = 2;
    const SLOT_ALIGN: u32 = 4;
    const STACK_IMMEDIATES: u32 = 64;
    const STACK_OFFSET: RegClass = WORD;
    const CONSTRAINED: bool = true;
    const SWAPS: bool = false;

    fn effect(inst: &Inst) -> Effect {
        Machine::effect(inst)
    }

    fn is_load(_: &Inst) -> bool {
        false
    }

    fn rematerialises(inst: &Inst) -> bool {
        Machine::rematerialises(inst)
    }

    fn stack_access(access: StackAccess, class: RegClass, offset: StackOffset) -> Inst {
        Machine::stack_access(access, class, offset)
    }

    fn stack_offset(offset: u32) -> Inst {
        Machine::stack_offset(offset)
    }

    fn move_units(to: u16, from: u16, units: u16) -> u16 {
        [4, 2].into_iter().find(|n| units >= *n && (to | from).is_multiple_of(*n)).unwrap_or(1)
    }

    fn source(inst: &Inst, source: usize) -> Constraint {
        match inst {
            Inst::Call(_) => {
                ARGUMENTS.get(source).map_or(Constraint::Any, |&r| Constraint::Fixed(r))
            }
            _ => Constraint::Any,
        }
    }

    fn result(inst: &Inst, _: usize) -> Constraint {
        match inst {
            Inst::Call(n) if n % 2 == 0 => Constraint::Fixed(RESULT),
            Inst::Tied(_) => Constraint::Tied(0),
            _ => Constraint::Any,
        }
    }

    fn overlap(inst: &Inst, _: usize, source: usize) -> Overlap {
        match inst {
            Inst::Early(_) => Overlap::None,
            Inst::Halves(_) => Overlap::Exact,
            Inst::Tied(_) if source > 0 => Overlap::None,
            _ => Overlap::Any,
        }
    }

    /// An input comes from memory.
    fn latency(inst: &Inst) -> u32 {
        if matches!(inst, Inst::Input(_)) { 20 } else { 2 }
    }

    fn pipe(inst: &Inst) -> (u8, u32) {
        if matches!(inst, Inst::Input(_)) { (1, 4) } else { (0, 1) }
    }

    fn clobbers(inst: &Inst) -> RegSet {
        match inst {
            Inst::Call(_) => RegSet::range(CLOBBERED),
            _ => RegSet::EMPTY,
        }
    }

    fn assign(_: &mut Inst, _: impl FnMut(bool) -> u16) {}
}

pub type Func = Function<Inst>;

/// Adds a block.
pub fn block(f: &mut Func, depth: u16) -> Block {
    f.blocks.push(BlockData { depth, ..BlockData::default() })
}

/// Appends an instruction with one result.
pub fn value(f: &mut Func, b: Block, inst: Inst, class: RegClass, srcs: &[Val]) -> Val {
    let v = f.val(class);
    push(f, b, Op::Isa(inst), &[v], srcs);
    v
}

pub fn show(f: &mut Func, b: Block, srcs: &[Val]) {
    push(f, b, Op::Isa(Inst::Show), &[], srcs);
}

pub fn push(f: &mut Func, b: Block, op: Op<Inst>, dsts: &[Val], srcs: &[Val]) {
    let i = f.make(op, dsts, srcs, Loc::default());
    f.blocks[b].insts.push(i);
}

pub fn ctl(f: &mut Func, b: Block, c: Ctl<Inst>, srcs: &[Val]) {
    push(f, b, Op::Ctl(c), &[], srcs);
}

/// The number of instructions of a block that satisfy a predicate.
pub fn count(f: &Func, b: Block, is: impl Fn(&Inst) -> bool) -> usize {
    f.blocks[b].insts.iter().filter(|&&i| f.insts[i].op.inst().is_some_and(&is)).count()
}

/// Executes at most `blocks` blocks of a function; returns the values that it showed.
///
/// # Panics
/// When it reads what was not written.
pub fn execute(f: &Func, blocks: usize) -> Vec<Vec<u64>> {
    let mut vals: HashMap<Val, Vec<u64>> = HashMap::new();
    let mut stack: HashMap<u32, u64> = HashMap::new();
    let mut shown = Vec::new();
    let (mut b, mut from) = (Block::from_u32(0), None);
    for _ in 0..blocks {
        let data = &f.blocks[b];
        let before = vals.clone();
        let mut taken = 0;
        for &i in &data.insts {
            let (dsts, srcs) = (f.dsts(i), f.srcs(i));
            let read = |v: &Val| {
                vals.get(v).unwrap_or_else(|| panic!("{b}: {i} reads {v}, which nothing wrote"))
            };
            let all: Vec<u64> = match f.insts[i].op {
                Op::Phi => {
                    let n =
                        data.preds.iter().position(|&p| Some(p) == from).expect("a predecessor");
                    before[&srcs[n]].clone()
                }
                _ => srcs.iter().flat_map(read).copied().collect(),
            };
            let mut mixed = |inst: Inst| {
                for &d in dsts {
                    let units = (0..f.vals[d].units).map(|k| {
                        let mut h = DefaultHasher::new();
                        (inst, &all, k).hash(&mut h);
                        h.finish()
                    });
                    vals.insert(d, units.collect());
                }
            };
            match f.insts[i].op {
                Op::Isa(Inst::Show) => shown.push(all),
                Op::Isa(Inst::Offset(at)) => {
                    vals.insert(dsts[0], vec![u64::from(at), 0]);
                }
                Op::Isa(Inst::Load(at)) => {
                    let at = at.unwrap_or_else(|| all[0] as u32);
                    let units = (0..u32::from(f.vals[dsts[0]].units)).map(|k| stack[&(at + 2 * k)]);
                    vals.insert(dsts[0], units.collect());
                }
                Op::Isa(Inst::Store(at)) => {
                    let units = usize::from(f.vals[srcs[0]].units);
                    let at = at.unwrap_or_else(|| all[units] as u32);
                    for (k, &x) in (0u32..).zip(&all[..units]) {
                        stack.insert(at + 2 * k, x);
                    }
                }
                Op::Isa(inst) => mixed(inst),
                Op::Undef => mixed(Inst::Const(u32::MAX)),
                Op::Phi | Op::Collect | Op::Copy => {
                    vals.insert(dsts[0], all);
                }
                Op::Split => {
                    let mut at = 0;
                    for &d in dsts {
                        let n = usize::from(f.vals[d].units);
                        vals.insert(d, all[at..at + n].to_vec());
                        at += n;
                    }
                }
                Op::Ctl(Ctl::If(_)) => taken = (all[0] & 1) as usize,
                Op::Preload(_) | Op::Exports | Op::Ctl(_) => {}
            }
        }
        let Some(&next) = data.succs.get(taken).or_else(|| data.succs.first()) else { break };
        (b, from) = (next, Some(b));
    }
    shown
}
