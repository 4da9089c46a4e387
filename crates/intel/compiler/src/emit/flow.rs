//! Structured control flow to branches.
//!
//! Each channel has an instruction pointer. `if` parks the channels whose flag is off, `break` and `cont` those whose flag
//! is on; JIP is where the thread goes on when no channel is left: to the end of the innermost construct. source: Mesa,
//! `brw_eu_emit.c` (`brw_set_uip_jip`)

use super::expand::CONDITION;
use super::{Emit, MAX_WIDTH, Part};
use crate::mir;
use tepui_intel_isa::{Condition, Flag, Inst, Opcode, Predicate};
use tepui_regalloc::{CodeBlock, Ctl, Step};

/// Maximum number of instructions of a block that are predicated instead: a branch takes as long as two of them.
const MAX_PREDICATED: usize = 4;
/// Maximum number of instructions of a loop's condition that are repeated at its end.
const MAX_REPEATED: usize = 3;

/// The control of predicates that combines the flags of four channels by "or": the index of `any4h`.
const ANY_OF_FOUR: u8 = 6;

/// A construct that encloses the current position.
enum Frame {
    /// An `if`, by the index of its instruction, and of its `else`. One that has only the else block is inverted.
    If { at: usize, other: Option<usize>, pending: Vec<usize>, inverted: bool },
    /// An `if` that needs no instructions of its own: those of its two blocks are predicated.
    Predicated,
    /// A loop, by the index of its first instruction; `ends` are the jumps to its end.
    Loop { first: usize, rotation: Option<Rotation>, ends: Vec<usize>, pending: Vec<usize> },
}

/// A loop that begins with its condition, which is made again at its end: there it decides about the next round, without a
/// jump out of the loop.
#[derive(Clone, Copy)]
struct Rotation {
    /// The block with the condition.
    header: usize,
    /// The predicate of another round.
    stays: Predicate,
}

/// The control flow around the current position.
#[derive(Default)]
pub(super) struct Flow {
    frames: Vec<Frame>,
    /// The predicate of the instructions of the current block.
    predicate: Option<Predicate>,
    /// Instructions that suspend channels.
    halts: Vec<usize>,
}

/// The steps of a block.
fn steps(blocks: &[CodeBlock<mir::Inst>], b: usize) -> &[(Step<mir::Inst>, tepui_ir::Loc)] {
    blocks.get(b).map_or(&[], |block| &block.steps)
}

/// Whether an instruction is one of the hardware that executes under the mask and can have a predicate. Stores are, except
/// those that have the predicate of live channels.
fn is_simple(e: &Emit, inst: &mir::Inst) -> bool {
    match &inst.op {
        mir::Op::Alu { opcode, condition, .. } => {
            let predicable = !matches!(opcode, Opcode::Math | Opcode::Sel | Opcode::Mad);
            predicable && *condition == Condition::None && !inst.is_scalar()
        }
        mir::Op::Send(m) if !e.live => m.effect == mir::MessageEffect::Write && m.planes[2] == 0,
        _ => false,
    }
}

/// Whether steps are a few simple instructions and copies under the mask, and at most a jump out of the innermost loop or
/// to its end after them.
fn is_short(e: &Emit, steps: &[(Step<mir::Inst>, tepui_ir::Loc)]) -> bool {
    let body = match steps {
        [body @ .., (Step::Ctl(Ctl::Break | Ctl::Continue), _)] => body,
        body => body,
    };
    let is_simple = |step: &Step<mir::Inst>| match step {
        Step::Move { units, .. } => *units >= u16::from(mir::plane_units(e.width)),
        Step::Inst(inst) => is_simple(e, inst),
        _ => false,
    };
    body.len() <= MAX_PREDICATED && body.iter().all(|(step, _)| is_simple(step))
}

/// Whether the then block that begins at a block and its else block are short.
fn is_predicable(e: &Emit, blocks: &[CodeBlock<mir::Inst>], b: usize) -> bool {
    let [(Step::Ctl(Ctl::Else), _), rest @ ..] = steps(blocks, b + 1) else { return false };
    is_short(e, steps(blocks, b)) && is_short(e, rest)
}

/// Whether the else block that begins at a block is empty.
fn is_empty_else(blocks: &[CodeBlock<mir::Inst>], b: usize) -> bool {
    matches!(steps(blocks, b), [(Step::Ctl(Ctl::Else), _)])
        && matches!(steps(blocks, b + 1).first(), Some((Step::Ctl(Ctl::EndIf), _)))
}

/// Whether the then block that is block `b` is empty, with an else block after it that is not.
fn is_empty_then(blocks: &[CodeBlock<mir::Inst>], b: usize) -> bool {
    steps(blocks, b).is_empty()
        && matches!(steps(blocks, b + 1).first(), Some((Step::Ctl(Ctl::Else), _)))
        && !is_empty_else(blocks, b + 1)
}

/// Emits a step of control flow in block `b`.
pub(super) fn control(
    e: &mut Emit,
    ctl: Ctl<mir::Inst>,
    blocks: &[CodeBlock<mir::Inst>],
    b: usize,
) {
    match ctl {
        Ctl::If(test) => {
            e.expand(&test);
            if is_predicable(e, blocks, b + 1) {
                e.flow.frames.push(Frame::Predicated);
                e.flow.predicate = Some(Predicate { control: 1, inverse: false });
                return;
            }
            let inverted = is_empty_then(blocks, b + 1);
            let at = e.branch(Opcode::If, Some(Predicate { control: 1, inverse: inverted }));
            e.flow.frames.push(Frame::If { at, other: None, pending: Vec::new(), inverted });
        }
        Ctl::Else => {
            if matches!(e.flow.frames.last(), Some(Frame::Predicated)) {
                e.flow.predicate = Some(Predicate { control: 1, inverse: true });
                return;
            }
            let is_inverted =
                matches!(e.flow.frames.last(), Some(Frame::If { inverted: true, .. }));
            if is_inverted || is_empty_else(blocks, b) {
                return;
            }
            let at = e.branch(Opcode::Else, None);
            if let Some(Frame::If { other, pending, .. }) = e.flow.frames.last_mut() {
                *other = Some(at);
                let pending = std::mem::take(pending);
                e.jump_to(&pending, at);
            }
        }
        Ctl::EndIf => end_if(e),
        Ctl::Loop => {
            let first = e.out.insts.len();
            e.out.loops += 1;
            // Later rounds come with other flags.
            e.known.clear();
            e.block_start = first;
            let rotation = rotation(blocks, b + 1);
            let (ends, pending) = (Vec::new(), Vec::new());
            e.flow.frames.push(Frame::Loop { first, rotation, ends, pending });
        }
        Ctl::EndLoop => end_loop(e, blocks),
        Ctl::Break | Ctl::Continue => {
            let opcode = if ctl == Ctl::Break { Opcode::Break } else { Opcode::Cont };
            let at = e.branch(opcode, e.flow.predicate);
            e.flow.pend(at);
            if let Some(ends) = e.flow.innermost_loop() {
                ends.push(at);
            }
        }
    }
}

fn end_if(e: &mut Emit) {
    e.flow.predicate = None;
    let Some(Frame::If { at, other, pending, .. }) = e.flow.frames.pop() else { return };
    let end = e.branch(Opcode::Endif, None);
    e.jump_to(&pending, end);
    // Without an `else`, channels that fail go to the `endif`.
    e.out.targets[at].jip = Some(other.map_or(end, |other| other + 1));
    e.out.targets[at].uip = Some(end);
    if let Some(other) = other {
        e.out.targets[other].jip = Some(end);
        e.out.targets[other].uip = Some(end);
    }
    e.out.targets[end].jip = Some(end + 1);
    e.flow.pend(end);
}

/// The rotation of a loop whose first block ends with its condition.
fn rotation(blocks: &[CodeBlock<mir::Inst>], header: usize) -> Option<Rotation> {
    let [body @ .., (Step::Ctl(Ctl::If(_)), _)] = steps(blocks, header) else { return None };
    let is_repeatable = |step: &Step<mir::Inst>| match step {
        Step::Move { .. } => true,
        Step::Inst(inst) => matches!(inst.op, mir::Op::Alu { .. }),
        _ => false,
    };
    if body.len() > MAX_REPEATED || !body.iter().all(|(step, _)| is_repeatable(step)) {
        return None;
    }
    match (steps(blocks, header + 1), steps(blocks, header + 2)) {
        ([], [(Step::Ctl(Ctl::Else), _), (Step::Ctl(Ctl::Break), _)]) => {
            Some(Rotation { header, stays: Predicate { control: 1, inverse: false } })
        }
        ([(Step::Ctl(Ctl::Break), _)], [(Step::Ctl(Ctl::Else), _)]) => {
            Some(Rotation { header, stays: Predicate { control: 1, inverse: true } })
        }
        _ => None,
    }
}

fn end_loop(e: &mut Emit, blocks: &[CodeBlock<mir::Inst>]) {
    let Some(Frame::Loop { first, rotation, mut ends, mut pending }) = e.flow.frames.pop() else {
        return;
    };
    // Channels that continue wait for the end, where the condition would be made without them.
    let continues = ends.iter().any(|&end| e.out.insts[end].opcode == Opcode::Cont);
    let exit = ends.first().copied().filter(|&exit| e.out.insts[exit].opcode == Opcode::Break);
    let (at, to) = match (rotation, exit) {
        (Some(rotation), Some(exit)) if !continues => {
            e.known.clear();
            for &(step, loc) in steps(blocks, rotation.header) {
                e.loc = loc;
                match step {
                    Step::Inst(inst) | Step::Ctl(Ctl::If(inst)) => e.expand(&inst),
                    Step::Move { to, from, units } => e.copy(to, from, units),
                    _ => {}
                }
            }
            (e.branch(Opcode::While, Some(rotation.stays)), exit + 1)
        }
        _ => {
            // A break of some channels right before the end: the others go on.
            let last =
                ends.last().copied().filter(|_| !continues).filter(|&at| e.ends_with_break(at));
            let stays = last.map(|at| {
                ends.pop();
                pending.retain(|&p| p != at);
                let Predicate { control, inverse } = e.out.insts[at].predicate;
                e.drop_branch();
                Predicate { control, inverse: !inverse }
            });
            (e.branch(Opcode::While, stays), first)
        }
    };
    e.out.targets[at].jip = Some(to);
    e.jump_to(&pending, at);
    for end in ends {
        e.out.targets[end].uip = Some(at);
    }
}

impl Flow {
    /// Notes an instruction whose JIP is the end of the innermost construct.
    fn pend(&mut self, at: usize) {
        let frame = self.frames.iter_mut().rev().find(|f| !matches!(f, Frame::Predicated));
        if let Some(Frame::If { pending, .. } | Frame::Loop { pending, .. }) = frame {
            pending.push(at);
        }
    }

    fn innermost_loop(&mut self) -> Option<&mut Vec<usize>> {
        self.frames.iter_mut().rev().find_map(|f| match f {
            Frame::Loop { ends, .. } => Some(ends),
            _ => None,
        })
    }
}

impl Emit {
    /// A branch of all channels of the thread.
    fn branch(&mut self, opcode: Opcode, predicate: Option<Predicate>) -> usize {
        let width = self.width.max(8);
        debug_assert!(width <= 2 * MAX_WIDTH);
        let mut inst = self.inst(opcode, Part { first: 0, width });
        if let Some(predicate) = predicate {
            (inst.predicate, inst.flag) = (predicate, CONDITION);
        }
        self.push(inst)
    }

    /// Whether the last instruction is a break of some channels, at this index.
    fn ends_with_break(&self, at: usize) -> bool {
        at + 1 == self.out.insts.len()
            && self.out.insts[at].opcode == Opcode::Break
            && self.out.insts[at].predicate.control == 1
    }

    /// Takes the last instruction back.
    fn drop_branch(&mut self) {
        self.out.targets.pop();
        self.out.origins.pop();
        self.out.insts.pop();
    }

    /// Suspends the channels of squares that have no bit in a flag.
    pub(super) fn suspend(&mut self, live: Flag) {
        let at = self.branch(Opcode::Halt, None);
        let halt = &mut self.out.insts[at];
        halt.predicate = Predicate { control: ANY_OF_FOUR, inverse: true };
        halt.flag = live;
        self.flow.pend(at);
        self.flow.halts.push(at);
    }

    /// The place where suspended channels go on. All other channels are suspended there, too: hardware hangs otherwise.
    /// source: Mesa, brw_generator.cpp (`patch_halt_jumps`)
    pub(super) fn resume(&mut self) {
        let halts = std::mem::take(&mut self.flow.halts);
        if halts.is_empty() {
            return;
        }
        self.known.clear();
        let last = self.branch(Opcode::Halt, None);
        for at in halts.into_iter().chain([last]) {
            let targets = &mut self.out.targets[at];
            targets.uip = Some(last + 1);
            targets.jip = targets.jip.or(Some(last + 1));
        }
    }

    /// Gives an instruction the predicate of its block.
    pub(super) fn guard(&self, inst: &mut Inst) {
        if let Some(predicate) = self.flow.predicate {
            (inst.predicate, inst.flag) = (predicate, CONDITION);
        }
    }

    fn jump_to(&mut self, from: &[usize], to: usize) {
        for &at in from {
            self.out.targets[at].jip = Some(to);
        }
    }
}
