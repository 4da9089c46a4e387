//! Structured control flow to branches.
//!
//! Each channel has an instruction pointer. `if` parks the channels whose flag is off, `break` and `cont` those whose flag
//! is on; JIP is where the thread goes on when no channel is left: to the end of the innermost construct. source: Mesa,
//! `brw_eu_emit.c` (`brw_set_uip_jip`)

use super::expand::CONDITION;
use super::{Emit, MAX_WIDTH, Part};
use crate::mir;
use tepui_intel_isa::{Opcode, Predicate};
use tepui_regalloc::{CodeBlock, Ctl, Step};

/// A construct that encloses the current position.
enum Frame {
    /// An `if`, by the index of its instruction, and of its `else`.
    If { at: usize, other: Option<usize>, pending: Vec<usize> },
    /// An `if` that needs no instructions: its then blocks are one predicated jump.
    Jump,
    /// A loop, by the index of its first instruction; `ends` are the jumps to its end.
    Loop { first: usize, ends: Vec<usize>, pending: Vec<usize> },
}

/// The control flow around the current position.
#[derive(Default)]
pub(super) struct Flow {
    frames: Vec<Frame>,
    /// A jump that the next block is, and whether the flag decides it.
    predicated: bool,
}

/// The steps of a block.
fn steps(blocks: &[CodeBlock<mir::Inst>], b: usize) -> &[(Step<mir::Inst>, tepui_ir::Loc)] {
    blocks.get(b).map_or(&[], |block| &block.steps)
}

/// Whether a block is a jump out of the innermost loop or to its end, and nothing else.
fn is_jump(blocks: &[CodeBlock<mir::Inst>], b: usize) -> bool {
    matches!(steps(blocks, b), [(Step::Ctl(Ctl::Break | Ctl::Continue), _)])
}

/// Whether the else block that begins at a block is empty.
fn is_empty_else(blocks: &[CodeBlock<mir::Inst>], b: usize) -> bool {
    matches!(steps(blocks, b), [(Step::Ctl(Ctl::Else), _)])
        && matches!(steps(blocks, b + 1).first(), Some((Step::Ctl(Ctl::EndIf), _)))
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
            if is_jump(blocks, b + 1) {
                e.flow.frames.push(Frame::Jump);
                e.flow.predicated = true;
                return;
            }
            let at = e.branch(Opcode::If, true);
            e.flow.frames.push(Frame::If { at, other: None, pending: Vec::new() });
        }
        Ctl::Else => {
            if matches!(e.flow.frames.last(), Some(Frame::Jump)) || is_empty_else(blocks, b) {
                return;
            }
            let at = e.branch(Opcode::Else, false);
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
            e.known = None;
            e.flow.frames.push(Frame::Loop { first, ends: Vec::new(), pending: Vec::new() });
        }
        Ctl::EndLoop => end_loop(e),
        Ctl::Break | Ctl::Continue => {
            let opcode = if ctl == Ctl::Break { Opcode::Break } else { Opcode::Cont };
            let predicated = std::mem::take(&mut e.flow.predicated);
            let at = e.branch(opcode, predicated);
            e.flow.pend(at);
            if let Some(ends) = e.flow.innermost_loop() {
                ends.push(at);
            }
        }
    }
}

fn end_if(e: &mut Emit) {
    let Some(Frame::If { at, other, pending }) = e.flow.frames.pop() else { return };
    let end = e.branch(Opcode::Endif, false);
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

fn end_loop(e: &mut Emit) {
    let Some(Frame::Loop { first, ends, pending }) = e.flow.frames.pop() else { return };
    let at = e.branch(Opcode::While, false);
    e.out.targets[at].jip = Some(first);
    e.jump_to(&pending, at);
    for end in ends {
        e.out.targets[end].uip = Some(at);
    }
}

impl Flow {
    /// Notes an instruction whose JIP is the end of the innermost construct.
    fn pend(&mut self, at: usize) {
        let frame = self.frames.iter_mut().rev().find(|f| !matches!(f, Frame::Jump));
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
    fn branch(&mut self, opcode: Opcode, predicated: bool) -> usize {
        let width = self.width.max(8);
        debug_assert!(width <= 2 * MAX_WIDTH);
        let mut inst = self.inst(opcode, Part { first: 0, width });
        if predicated {
            inst.predicate = Predicate { control: 1, inverse: false };
            inst.flag = CONDITION;
        }
        self.push(inst)
    }

    fn jump_to(&mut self, from: &[usize], to: usize) {
        for &at in from {
            self.out.targets[at].jip = Some(to);
        }
    }
}
