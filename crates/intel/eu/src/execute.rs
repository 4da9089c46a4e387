//! Execution of a thread.

use std::panic::resume_unwind;

use tepui_intel_isa::Opcode;

use crate::fault::{Fault, FaultKind};
use crate::finding::Finding;
use crate::memory::{self, REGISTER_BYTES, read32, write32};
use crate::op::{Flow, Op};
use crate::operand::CHANNELS;
use crate::program::Program;
use crate::send::SendOutcome;
use crate::state::{Stop, Thread};
use crate::translate::{Continuation, Units};
use crate::unit::{MessageUnit, Step};

impl Thread {
    /// Clears the general registers that a program may read before it has written them, so that nothing depends on
    /// earlier threads. Call it before the payload is written; `mask` are the channels that execute, and `payload` has
    /// a bit for each register that the payload writes entirely.
    pub fn clear_for(&mut self, program: &Program, mask: u32, payload: u128) {
        if let Some(checker) = &mut self.checker {
            checker.mark(&mut self.memory[..memory::GENERAL]);
            return;
        }
        let inputs = program.inputs();
        let whole = program.channels() & !mask == 0;
        let mut left = if whole { inputs.whole } else { inputs.any } & !payload;
        while left != 0 {
            let first = left.trailing_zeros();
            let count = (!(left >> first)).trailing_zeros();
            let bytes = first as usize * REGISTER_BYTES..(first + count) as usize * REGISTER_BYTES;
            self.memory[bytes].fill(0);
            left &= u128::MAX.checked_shl(first + count).unwrap_or(0);
        }
    }

    /// Runs until the thread ends or waits.
    ///
    /// `budget` is decremented by each instruction; at 0 the watchdog ends the thread.
    ///
    /// # Errors
    /// The first fault; the thread cannot continue after it.
    pub fn run(
        &mut self,
        program: &Program,
        units: &mut (impl MessageUnit + ?Sized),
        budget: &mut u64,
    ) -> Result<Stop, Fault> {
        if self.checker.is_some() || self.counts.is_some() || self.observed {
            return self.run_observed(program, units, budget);
        }
        let mut mode = self.float_mode();
        let mut translation = program.translation(mode.0);
        loop {
            let Some(op) = program.ops.get(self.next as usize) else {
                return Err(program.fault_at_end(self.next));
            };
            if let Some(translated) = translation
                && let Some(block) = translated.block(self.next)
                && *budget >= u64::from(block.length)
                && translated.suits(self.dispatched)
            {
                let before = i64::try_from(*budget).unwrap_or(i64::MAX);
                self.host.left = before;
                let mut reached = &mut *units;
                let reached = Units::new(&mut reached);
                let next = translated.run(self, &program.ops, block, &reached);
                let executed = (before - self.host.left) as u64;
                *budget -= executed;
                self.executed += executed;
                match next {
                    Ok(Continuation::Now(next)) => self.next = next,
                    Ok(Continuation::AfterStop(next)) => {
                        self.next = next;
                        return Ok(self.host.stop.take().unwrap_or(Stop::EndOfThread));
                    }
                    Err(index) => {
                        if let Some(panic) = self.host.panic.take() {
                            resume_unwind(panic);
                        }
                        let kind = self.fault();
                        let ip = program.ops.get(index).map_or(op.ip, |op| op.ip);
                        return Err(program.fault(ip, kind));
                    }
                }
                // At an operation that begins a block, the budget is exhausted.
                if translated.block(self.next).is_none() {
                    continue;
                }
            }
            let Some(op) = program.ops.get(self.next as usize) else {
                return Err(program.fault_at_end(self.next));
            };
            let step = self.step(op, units, budget);
            // Blocks do not write the control register.
            if op.flow == Flow::None && self.float_mode() != mode {
                mode = self.float_mode();
                translation = program.translation(mode.0);
            }
            match step {
                Ok(None) => {}
                Ok(Some(stop)) => return Ok(stop),
                Err(kind) => return Err(program.fault(op.ip, kind)),
            }
        }
    }

    /// As [`Thread::run`], instruction by instruction, with the checker and the counts.
    #[cold]
    fn run_observed(
        &mut self,
        program: &Program,
        units: &mut (impl MessageUnit + ?Sized),
        budget: &mut u64,
    ) -> Result<Stop, Fault> {
        if let Some(checker) = &mut self.checker {
            checker.begin(&mut self.memory[..memory::GENERAL], program.scoreboard());
        }
        let result = loop {
            let Some(op) = program.ops.get(self.next as usize) else {
                break Err(program.fault_at_end(self.next));
            };
            let next = self.next as usize;
            self.check(|checker, thread| checker.order(thread, program, next));
            if self.observed {
                if op.joins {
                    self.join();
                }
                if let Some(step) = self.preview(op) {
                    units.observe(&step);
                }
            }
            let before = self.executed;
            let step = self.step(op, units, budget);
            if let Some(counts) = &mut self.counts
                && self.executed != before
            {
                counts.instructions += 1;
                counts.registers += program.registers(next);
                counts.messages += u64::from(op.flow == Flow::Send);
            }
            match step {
                Ok(None) => {}
                Ok(Some(stop)) => break Ok(stop),
                Err(kind) => break Err(program.fault(op.ip, kind)),
            }
        };
        let found = self.checker.as_mut().map_or_else(Vec::new, |checker| checker.take());
        if !found.is_empty() {
            let with_text =
                |finding: Finding| Finding { instruction: program.text(finding.ip), ..finding };
            units.found(found.into_iter().map(with_text).collect());
        }
        result
    }

    /// An operation as observers are told of it; none for a `wait` without a notification, which will execute again.
    fn preview(&self, op: &Op) -> Option<Step<'_>> {
        if let Flow::Wait(dword) = op.flow
            && read32(&self.memory, memory::NOTIFICATION + usize::from(dword & 7) * 4) == 0
        {
            return None;
        }
        // A selection writes all channels, whatever the predicate.
        let is_predicated = matches!(op.flow, Flow::None | Flow::Send) && op.opcode != Opcode::Sel;
        let exec = match (op.no_mask, is_predicated) {
            (true, _) => self.active,
            (false, true) => (self.enabled(op) & self.predicated(op)) << op.first,
            (false, false) => self.enabled(op) << op.first,
        };
        let message = op.message.as_ref().map(|constant| self.message(op, constant));
        Some(Step { ip: op.ip, exec, alive: self.dispatched, message, thread: self })
    }

    #[inline]
    fn step(
        &mut self,
        op: &Op,
        units: &mut (impl MessageUnit + ?Sized),
        budget: &mut u64,
    ) -> Result<Option<Stop>, FaultKind> {
        if *budget == 0 {
            return Err(FaultKind::Watchdog(self.executed));
        }
        *budget -= 1;
        self.executed += 1;
        if op.joins {
            self.join();
        }
        if op.reads_state {
            self.publish(op);
        }
        match op.flow {
            Flow::None => {
                self.check(|checker, thread| checker.compute(thread, op));
                // SAFETY: `handlers::handler` chose it for this host.
                unsafe { (op.handler)(self, op)? };
                self.next += 1;
            }
            Flow::Branch(opcode, jip, uip) => self.branch(op, opcode, jip, uip),
            Flow::Jump(to) => {
                let taken = self.predicated(op) & 1 != 0;
                self.next = if taken { to } else { self.next + 1 };
            }
            Flow::Wait(dword) => {
                let at = memory::NOTIFICATION + usize::from(dword & 7) * 4;
                match read32(&self.memory, at) {
                    0 => {
                        // Not executed: it will be executed again.
                        self.executed -= 1;
                        *budget += 1;
                        return Ok(Some(Stop::Waiting));
                    }
                    count => write32(&mut self.memory, at, count - 1),
                }
                self.next += 1;
            }
            Flow::Send => {
                self.next += 1;
                return match self.send(op, units) {
                    SendOutcome::GoesOn => Ok(None),
                    SendOutcome::Stops(stop) => Ok(Some(stop)),
                    SendOutcome::Failed => Err(self.fault()),
                };
            }
        }
        Ok(None)
    }

    /// The fault of the operation that failed.
    #[cold]
    fn fault(&mut self) -> FaultKind {
        self.host.fault.take().unwrap_or(FaultKind::Unreadable)
    }

    /// Activates the channels that wait for this operation.
    fn join(&mut self) {
        let mut waiting = self.dispatched & !self.active;
        while waiting != 0 {
            let channel = waiting.trailing_zeros();
            waiting &= waiting - 1;
            if self.resume[channel as usize] == self.next {
                self.active |= 1 << channel;
            }
        }
    }

    /// Deactivates channels until another operation.
    fn park(&mut self, channels: u32, at: u32) {
        let mut left = channels;
        while left != 0 {
            self.resume[left.trailing_zeros() as usize] = at;
            left &= left - 1;
        }
        self.active &= !channels;
    }

    /// Executes flow control. A branch jumps to JIP only if no channel continues with the next instruction.
    fn branch(&mut self, op: &Op, opcode: Opcode, jip: u32, uip: u32) {
        let here = op.all() << op.first;
        let channels = self.active & here;
        let chosen = channels & self.predicated(op) << op.first;
        let behind = self.next + 1;
        match opcode {
            Opcode::If => self.park(channels & !chosen, jip),
            Opcode::Else => self.park(channels, uip),
            // A break continues after the loop's `while`, to which UIP points.
            Opcode::Break => self.park(chosen, uip + 1),
            Opcode::Cont | Opcode::Halt => self.park(chosen, uip),
            Opcode::While => {
                if chosen != 0 {
                    self.park(channels & !chosen, behind);
                    self.next = jip;
                    return;
                }
                self.next = behind;
                return;
            }
            _ => {}
        }
        let goes_on = self.active != 0 || self.waits_for(behind);
        self.next = if goes_on { behind } else { jip };
    }

    /// Whether a channel waits for an operation.
    fn waits_for(&self, at: u32) -> bool {
        let waiting = self.dispatched & !self.active;
        (0..CHANNELS).any(|channel| waiting >> channel & 1 != 0 && self.resume[channel] == at)
    }

    /// Updates the registers that reflect the thread's state.
    #[cold]
    fn publish(&mut self, op: &Op) {
        write32(&mut self.memory, memory::CHANNELS, self.active);
        write32(&mut self.memory, memory::IP, op.ip);
        let time = self.executed.to_le_bytes();
        self.memory[memory::TIMESTAMP..memory::TIMESTAMP + 8].copy_from_slice(&time);
    }
}
