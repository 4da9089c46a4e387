//! Flow control within translated code.
//!
//! Code maintains the interpreter's state: the channels that execute (`active`), and for each other channel the
//! operation at which it resumes (`resume`), so that either continues where the other stopped. The version for threads
//! whose channels all execute has no waiting channels to look for; if channels leave, it continues in the other
//! version, which returns when all have rejoined.

use tepui_hostvec::asm::{ALL, Condition, Gpr, Kop, Mask, Rm, V, Vop, integer};
use tepui_intel_isa::Opcode;

use super::block::{REGISTERS, THREAD, Translator, field};
use crate::memory::{self, REGISTER_BYTES};
use crate::op::{Flow, Op};
use crate::state::{HostState, Thread};

/// The template of a flow control operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowKind {
    /// Channels wait for an operation; if none is left, the thread continues at another.
    Park {
        /// Whether those of the predicate wait, or the others.
        chosen: bool,
        at: u32,
        jip: u32,
    },
    /// As [`FlowKind::Park`], but no channel leaves.
    Endif(u32),
    /// Channels of the predicate go back, if there are any; the others wait for the next operation.
    While(u32),
    Jump(u32),
    /// A message.
    Send,
}

/// The channels of a part that continue.
const STAY: Mask = Mask::In(11);
/// The channels that leave.
const LEAVE: Mask = Mask::In(12);
/// The channels of the predicate.
const PREDICATE: Mask = Mask::In(13);
/// The channels that execute.
const EXECUTE: Mask = Mask::In(10);
const VALUE: V = V(9);
const SCRATCH: V = V(8);

/// Offset of the mask of executing channels.
const ACTIVE: i32 = std::mem::offset_of!(Thread, active) as i32;
/// Offset of the operations at which other channels resume.
const RESUME: i32 = std::mem::offset_of!(Thread, resume) as i32;

/// Bytes of a part of a row.
const PART_BYTES: i32 = 32;

/// The template of a flow control operation, if there is one. `channels` are those of the program.
pub fn kind(op: &Op, channels: u32) -> Option<FlowKind> {
    let plain = op.first == 0
        && matches!(op.n, 8 | 16 | 32)
        && !op.no_mask
        && op.all() & channels == channels
        && op.predicate <= 1
        && op.flag.is_multiple_of(8);
    match op.flow {
        Flow::Send if !op.reads_state => Some(FlowKind::Send),
        Flow::Jump(to) if op.predicate == 0 => Some(FlowKind::Jump(to)),
        Flow::Branch(opcode, jip, uip) if plain => Some(match opcode {
            Opcode::If => FlowKind::Park { chosen: false, at: jip, jip },
            Opcode::Else => FlowKind::Park { chosen: true, at: uip, jip },
            Opcode::Break => FlowKind::Park { chosen: true, at: uip + 1, jip },
            Opcode::Cont | Opcode::Halt => FlowKind::Park { chosen: true, at: uip, jip },
            Opcode::Endif => FlowKind::Endif(jip),
            Opcode::While => FlowKind::While(jip),
            _ => return None,
        }),
        _ => None,
    }
}

impl Translator {
    /// Reactivates the channels that wait for an operation. Continues in the other version if all execute
    /// then.
    pub fn join(&mut self, index: usize) {
        for part in 0..self.asm.parts() as u8 {
            self.waiting(part, index);
            self.asm.mask_op(Kop::Or, STAY, STAY, Mask::Exec(part));
            self.asm.set_exec(part, STAY, ALL, SCRATCH);
        }
        self.noted();
        self.asm.load_half(Gpr::RAX, THREAD, ACTIVE);
        self.asm.and_half_constant(Gpr::RAX, self.channels);
        self.asm.compare_half_constant(Gpr::RAX, self.channels);
        let whole = self.label(index, false);
        self.asm.jump_if(Condition::Zero, whole);
    }

    /// Puts the channels of a part that wait for an operation into [`STAY`]; others may have the same value
    /// there.
    fn waiting(&mut self, part: u8, index: usize) {
        self.asm.load(VALUE, Rm::Mem(THREAD, RESUME + PART_BYTES * i32::from(part)));
        let constant = Rm::Constant(index as u32);
        self.asm.compare(Vop::PCMPD, STAY, ALL, VALUE, constant, integer::EQUAL);
    }

    /// Records that the mask row from `set_exec` is that of these channels.
    fn noted(&mut self) {
        self.asm.load_half(Gpr::RAX, THREAD, ACTIVE);
        self.asm.store_low(THREAD, field!(exec), Gpr::RAX);
    }

    /// Translates a flow control operation.
    pub fn flow(&mut self, ops: &[Op], index: usize, kind: FlowKind) {
        let op = &ops[index];
        match kind {
            FlowKind::Send => self.send(index),
            FlowKind::Jump(to) => {
                let to = self.label(to as usize, self.masked);
                self.asm.jump(to);
            }
            FlowKind::Endif(jip) => {
                if self.masked {
                    self.nobody(ops, index, jip);
                }
            }
            FlowKind::Park { chosen, at, jip } => {
                // If all channels take the same way, nothing changes.
                if !self.masked && op.predicate != 0 {
                    let behind = self.label(index + 1, false);
                    self.uniform(op, !chosen, behind);
                }
                for part in 0..self.asm.parts() as u8 {
                    self.executing(part);
                    if part >= op.n / 8 {
                        // Excludes channels that the program does not have.
                        self.asm.set_exec(part, EXECUTE, ALL, SCRATCH);
                        continue;
                    }
                    if op.predicate != 0 {
                        self.predicate(op, usize::from(part));
                        let (leave, stay) = if chosen { (LEAVE, STAY) } else { (STAY, LEAVE) };
                        self.asm.mask_op(Kop::And, leave, PREDICATE, EXECUTE);
                        self.asm.mask_op(Kop::AndNot, stay, PREDICATE, EXECUTE);
                    } else if chosen {
                        self.asm.mask_move(LEAVE, EXECUTE);
                        self.none(STAY);
                    } else {
                        self.asm.mask_move(STAY, EXECUTE);
                        self.none(LEAVE);
                    }
                    self.park(part, at);
                    self.asm.set_exec(part, STAY, ALL, SCRATCH);
                }
                self.noted();
                self.nobody(ops, index, jip);
                if !self.masked {
                    let behind = self.label(index + 1, true);
                    self.asm.jump(behind);
                }
            }
            FlowKind::While(jip) => self.repeat(op, index, jip),
        }
    }

    fn none(&mut self, mask: Mask) {
        self.asm.mask_all(mask);
        self.asm.mask_not(mask, mask);
    }

    /// Loads the executing channels of a part into [`EXECUTE`].
    fn executing(&mut self, part: u8) {
        match self.masked {
            true => self.asm.mask_move(EXECUTE, Mask::Exec(part)),
            false => self.asm.byte_to_mask(EXECUTE, THREAD, ACTIVE + i32::from(part)),
        }
    }

    /// Lets the channels of [`LEAVE`] wait for an operation.
    fn park(&mut self, part: u8, at: u32) {
        self.asm.load(VALUE, Rm::Constant(at));
        let resume = Rm::Mem(THREAD, RESUME + PART_BYTES * i32::from(part));
        self.asm.store(resume, LEAVE, VALUE);
    }

    /// Jumps to a label if the predicate is true for all channels, or for none.
    fn uniform(&mut self, op: &Op, all: bool, to: tepui_hostvec::asm::Label) {
        let shift = op.flag & 31;
        if u64::from(self.channels) << shift >> 32 != 0 {
            return;
        }
        let register = (memory::FLAG + usize::from(op.flag / 32) * REGISTER_BYTES) as i32;
        // At most the bits that one comparison writes.
        let bits = if self.channels >> 16 == 0 && shift.is_multiple_of(16) {
            self.asm.load_short(Gpr::RAX, REGISTERS, register + shift as i32 / 8);
            self.channels
        } else {
            self.asm.load_half(Gpr::RAX, REGISTERS, register);
            self.channels << shift
        };
        self.asm.and_half_constant(Gpr::RAX, bits);
        self.asm.compare_half_constant(Gpr::RAX, if all != op.inverse { bits } else { 0 });
        self.asm.jump_if(Condition::Zero, to);
    }

    /// If no channel executes and none waits for the next operation, continues at another.
    fn nobody(&mut self, ops: &[Op], index: usize, jip: u32) {
        let behind = index + 1;
        self.asm.test_exec();
        let goes_on = self.asm.label();
        self.asm.jump_if(Condition::NotZero, goes_on);
        if ops.get(behind).is_none_or(|op| op.joins) {
            for part in 0..self.asm.parts() as u8 {
                self.waiting(part, behind);
                self.asm.test_mask(STAY);
                self.asm.jump_if(Condition::NotZero, goes_on);
            }
        }
        let jip = self.label(jip as usize, true);
        self.asm.jump(jip);
        self.asm.place(goes_on);
    }

    /// The end of a loop.
    fn repeat(&mut self, op: &Op, index: usize, jip: u32) {
        let (jip, behind) = (jip as usize, index + 1);
        if op.predicate == 0 {
            let again = self.label(jip, self.masked);
            match self.masked {
                false => self.asm.jump(again),
                // The loop ends when no channel is left.
                true => {
                    self.asm.test_exec();
                    self.asm.jump_if(Condition::NotZero, again);
                }
            }
            return;
        }
        if !self.masked {
            let (again, over) = (self.label(jip, false), self.label(behind, false));
            self.uniform(op, true, again);
            self.uniform(op, false, over);
        }
        // Whether any channel goes back.
        let go_back = self.asm.label();
        for part in 0..op.n / 8 {
            self.executing(part);
            self.predicate(op, usize::from(part));
            self.asm.mask_op(Kop::And, STAY, PREDICATE, EXECUTE);
            self.asm.test_mask(STAY);
            self.asm.jump_if(Condition::NotZero, go_back);
        }
        let over = self.label(behind, self.masked);
        self.asm.jump(over);
        self.asm.place(go_back);
        for part in 0..self.asm.parts() as u8 {
            self.executing(part);
            if part >= op.n / 8 {
                self.asm.set_exec(part, EXECUTE, ALL, SCRATCH);
                continue;
            }
            self.predicate(op, usize::from(part));
            self.asm.mask_op(Kop::And, STAY, PREDICATE, EXECUTE);
            self.asm.mask_op(Kop::AndNot, LEAVE, PREDICATE, EXECUTE);
            self.park(part, behind as u32);
            self.asm.set_exec(part, STAY, ALL, SCRATCH);
        }
        self.noted();
        let again = self.label(jip, true);
        self.asm.jump(again);
    }
}
