//! The state of a thread, and its execution.

use std::any::Any;
use std::panic::resume_unwind;

use tepui_intel_isa::{Desc, Opcode};

use crate::check::{Checker, Finding};
use crate::fault::{Fault, FaultKind};
use crate::lane::FloatMode;
use crate::memory::{self, Bytes, read32, write32};
use crate::message::{Message, MessageUnit, Outcome, REGISTER_BYTES, Step, ThreadView};
use crate::op::{Flow, Message as OpMessage, Op};
use crate::operand::{CHANNELS, lanes};
use crate::program::Program;
use crate::translate::{Continuation, Units};

/// General registers of a thread.
pub const REGISTERS: usize = 128;

/// MXCSR: exceptions masked; and with FTZ and DAZ. source: Intel's Software Developer's Manual, volume 1, 10.2.3
const FLOAT_CONTROL: [u32; 2] = [0x1f80, 0x9fc0];

/// Initial state of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dispatch {
    /// Dispatch mask, sr0.2: bit n enables channel n.
    pub mask: u32,
    /// sr0.3, the vector mask of pixel shaders: all channels of subspans with a pixel inside.
    pub vector_mask: u32,
    /// sr0.0: where the thread runs, for programs that read it.
    pub state: u32,
    /// cr0.0 at the start: float mode (IEEE or alternative), rounding, denormals.
    pub control: u32,
}

/// The reason why [`Thread::run`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The thread sent its last message.
    EndOfThread,
    /// It waits for a notification (`wait n0`): run it again after [`Thread::notify`].
    Waiting,
    /// A message requested it ([`crate::Outcome::Yield`]): run it again.
    Yielded,
}

/// A thread: registers, flags, accumulators, flow control. About 5 KiB; a dispatcher keeps one for each
/// hardware thread and starts it again with [`Thread::start`].
///
/// Flow control keeps a mask of the channels that are at the instruction pointer, and for each other channel
/// the operation at which it resumes.
pub struct Thread {
    pub(crate) memory: Box<Bytes>,
    /// Bits above the 32 in the registers that elements of an integer accumulator have.
    acc_high: [i32; CHANNELS],
    /// Channels that the dispatch enabled.
    dispatched: u32,
    /// Channels that are at the instruction pointer.
    pub(crate) active: u32,
    /// Index of the operation at which each other channel resumes.
    pub(crate) resume: [u32; CHANNELS],
    /// Index of the next operation.
    next: u32,
    /// Instructions since the start.
    executed: u64,
    /// State for translated code.
    pub(crate) host: HostState,
    /// The checker, in checked threads.
    pub(crate) checker: Option<Box<Checker>>,
    /// Executed instructions, in counted threads.
    counts: Option<Counts>,
    /// Whether its message unit is told of each instruction.
    observed: bool,
}

/// Instructions that a thread has executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Instructions.
    pub instructions: u64,
    /// The general registers that their channels fill, one at least for each: work that does not depend on the width in which
    /// it is done.
    pub registers: u64,
    /// Messages.
    pub messages: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.instructions += other.instructions;
        self.registers += other.registers;
        self.messages += other.messages;
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Counts { instructions, registers, messages } = self;
        write!(f, "{instructions} instructions of {registers} registers, {messages} messages")
    }
}

/// State of a thread for translated code, in addition to the registers.
#[derive(Debug, Default)]
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(dead_code, reason = "only translated code reads all of it")
)]
pub(crate) struct HostState {
    /// Operations that may still be executed.
    pub left: i64,
    /// The channels of `exec_row`.
    pub exec: u32,
    /// All ones for each channel of `exec`.
    pub exec_row: [u32; CHANNELS],
    /// The host's float control as Rust expects it, and with denormals flushed to zero.
    pub float_control: [u32; 2],
    /// The fault of an operation in translated code.
    pub fault: Option<FaultKind>,
    /// The payload of a unit's panic during a message from translated code.
    pub panic: Option<Box<dyn Any + Send>>,
    /// The reason why a message from translated code stops the thread.
    pub stop: Option<Stop>,
}

impl Thread {
    /// A thread that was never started, all registers 0.
    pub fn new() -> Thread {
        Thread {
            memory: Bytes::zeroed(),
            acc_high: [0; CHANNELS],
            dispatched: 0,
            active: 0,
            resume: [0; CHANNELS],
            next: 0,
            executed: 0,
            host: HostState { float_control: FLOAT_CONTROL, ..HostState::default() },
            checker: None,
            counts: None,
            observed: false,
        }
    }

    /// Enables the checker, which reports uses of registers that were never written ([`MessageUnit::found`]).
    /// Programs are not translated for such threads.
    #[must_use]
    pub fn checked(self) -> Thread {
        Thread { checker: Some(Box::new(Checker::new())), ..self }
    }

    /// Counts what the thread executes ([`Thread::counts`]). Programs are not translated for such threads.
    #[must_use]
    pub fn counted(self) -> Thread {
        Thread { counts: Some(Counts::default()), ..self }
    }

    /// Tells the message unit of each instruction before it executes ([`MessageUnit::observe`]). Programs are not translated for
    /// such threads.
    #[must_use]
    pub fn observed(self) -> Thread {
        Thread { observed: true, ..self }
    }

    /// Counts of a counted thread since it was made, over all its runs.
    pub fn counts(&self) -> Option<Counts> {
        self.counts
    }

    /// Restarts the thread at the program's entry. The general registers keep their values: write the payload
    /// before or after ([`Thread::grf_mut`]).
    pub fn start(&mut self, dispatch: &Dispatch) {
        self.memory[memory::GENERAL..].fill(0);
        self.acc_high = [0; CHANNELS];
        self.dispatched = dispatch.mask;
        self.active = dispatch.mask;
        self.resume = [u32::MAX; CHANNELS];
        self.next = 0;
        self.executed = 0;
        write32(&mut self.memory, memory::STATE, dispatch.state);
        write32(&mut self.memory, memory::STATE + 8, dispatch.mask);
        write32(&mut self.memory, memory::STATE + 12, dispatch.vector_mask);
        let control = dispatch.control | FloatMode::KEEPS_DOUBLES;
        write32(&mut self.memory, memory::CONTROL, control);
    }

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

    /// The general registers: register n is bytes 32 n to 32 n + 31.
    #[inline]
    pub fn grf(&self) -> &[u8] {
        &self.memory[..memory::GENERAL]
    }

    /// The general registers, for writing.
    #[inline]
    pub fn grf_mut(&mut self) -> &mut [u8] {
        &mut self.memory[..memory::GENERAL]
    }

    /// Writes double words to the registers from `register` on: the payload of a dispatch.
    pub fn write_payload(&mut self, register: usize, dwords: &[u32]) {
        let bytes = &mut self.grf_mut()[register * REGISTER_BYTES..];
        for (bytes, dword) in bytes.chunks_exact_mut(4).zip(dwords) {
            bytes.copy_from_slice(&dword.to_le_bytes());
        }
    }

    /// Delivers a notification: increments n0.0. The gateway calls it when a barrier is complete.
    pub fn notify(&mut self) {
        let count = read32(&self.memory, memory::NOTIFICATION);
        write32(&mut self.memory, memory::NOTIFICATION, count.wrapping_add(1));
    }

    /// A 32-bit flag register: f0 or f1.
    pub fn flag(&self, register: usize) -> u32 {
        read32(&self.memory, memory::FLAG + register % 2 * REGISTER_BYTES)
    }

    /// Channels that are dispatched and at the instruction pointer.
    pub fn active(&self) -> u32 {
        self.active
    }

    /// Number of instructions executed since the start.
    pub fn executed(&self) -> u64 {
        self.executed
    }

    #[inline]
    pub(crate) fn float_mode(&self) -> FloatMode {
        FloatMode(read32(&self.memory, memory::CONTROL))
    }

    /// Channels of an operation that are enabled by flow control and dispatch.
    #[inline(always)]
    pub(crate) fn enabled(&self, op: &Op) -> u32 {
        let channels = if op.no_mask { u32::MAX } else { self.active >> op.first };
        channels & op.all()
    }

    /// The 64 bits of f0 and f1.
    fn flags(&self) -> u64 {
        u64::from(self.flag(0)) | u64::from(self.flag(1)) << 32
    }

    /// Channels of an operation that are enabled by the predicate; all if it has none.
    #[inline(always)]
    pub(crate) fn predicated(&self, op: &Op) -> u32 {
        if op.predicate == 0 { op.all() } else { self.predicate(op) }
    }

    fn predicate(&self, op: &Op) -> u32 {
        let flags = self.flags();
        // The register's own 32 bits, from the first channel on.
        let read = |bit: u8| {
            let register = (flags >> (bit & 32)) as u32;
            register.rotate_right(u32::from(bit & 31))
        };
        let own = read(op.flag);
        let bits = match (op.align16, op.predicate) {
            (_, 1) => own,
            (true, component @ 2..=5) => group(own >> (component - 2) & 0x1111_1111, 4, false),
            (true, 6) => group(own, 4, false),
            (true, _) => group(own, 4, true),
            (false, 2) => own | read(op.flag ^ 32),
            (false, 3) => own & read(op.flag ^ 32),
            (false, control) => group(own, 1 << (control / 2 - 1), control % 2 != 0),
        };
        (if op.inverse { !bits } else { bits }) & op.all()
    }

    /// Writes the flag bits of the channels of a mask.
    pub(crate) fn set_flags(&mut self, op: &Op, bits: u32, mask: u32) {
        let register = memory::FLAG + usize::from(op.flag / 32) * REGISTER_BYTES;
        let shift = u32::from(op.flag & 31);
        let (bits, mask) = ((bits & mask).rotate_left(shift), mask.rotate_left(shift));
        let old = read32(&self.memory, register);
        write32(&mut self.memory, register, old & !mask | bits);
    }

    /// The accumulator's element for channel `i` of an operation.
    ///
    /// The accumulator holds eight integers or sixteen floats. source: Mesa, `brw_ir_performance.cpp`
    /// (`accum_reg_of_channel`).
    pub(crate) fn accumulator_lane(&self, op: &Op, i: usize, float: bool) -> usize {
        if op.dst.accumulator {
            return i;
        }
        (usize::from(op.first) + i) % if op.n > 16 || float { 16 } else { 8 }.max(usize::from(op.n))
    }

    pub(crate) fn accumulator(&self, lane: usize) -> i64 {
        let low = read32(&self.memory, memory::ACCUMULATOR + lane * 4);
        i64::from(self.acc_high[lane]) << 32 | i64::from(low)
    }

    pub(crate) fn set_accumulator(&mut self, lane: usize, value: i64) {
        write32(&mut self.memory, memory::ACCUMULATOR + lane * 4, value as u32);
        self.acc_high[lane] = (value >> 32) as i32;
    }

    pub(crate) fn accumulator_float(&self, lane: usize) -> f32 {
        f32::from_bits(read32(&self.memory, memory::ACCUMULATOR + lane * 4))
    }

    pub(crate) fn set_accumulator_float(&mut self, lane: usize, value: f32) {
        write32(&mut self.memory, memory::ACCUMULATOR + lane * 4, value.to_bits());
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
            checker.begin(&mut self.memory[..memory::GENERAL], program);
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

    /// The message of an operation, with its descriptors.
    #[inline(always)]
    fn message(&self, op: &Op, constant: &OpMessage) -> Message {
        let mut message = constant.message;
        message.channels = self.enabled(op) & self.predicated(op);
        if let Some([desc, ex_desc]) = constant.registers {
            let resolve = |desc: Desc| match desc {
                Desc::Immediate(bits) => bits,
                Desc::Address(dword) => {
                    read32(&self.memory, memory::ADDRESS + usize::from(dword & 7) * 4)
                }
            };
            message.describe(resolve(desc), resolve(ex_desc));
        }
        message
    }

    /// Lets the checker examine an operation, in checked threads.
    #[inline(always)]
    fn check(&mut self, look: impl FnOnce(&mut Checker, &Thread)) {
        if let Some(mut checker) = self.checker.take() {
            look(&mut checker, self);
            self.checker = Some(checker);
        }
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

    /// Sends the message of an operation.
    #[inline]
    pub(crate) fn send(&mut self, op: &Op, units: &mut (impl MessageUnit + ?Sized)) -> SendOutcome {
        match self.try_send(op, units) {
            Ok((true, _)) => SendOutcome::Stops(Stop::EndOfThread),
            Ok((false, Outcome::Yield)) => SendOutcome::Stops(Stop::Yielded),
            Ok((false, Outcome::Done)) => SendOutcome::GoesOn,
            Err(kind) => {
                self.host.fault = Some(kind);
                SendOutcome::Failed
            }
        }
    }

    /// Sends the message of an operation; returns whether the thread ends with it, and the unit's outcome.
    #[inline(always)]
    fn try_send(
        &mut self,
        op: &Op,
        units: &mut (impl MessageUnit + ?Sized),
    ) -> Result<(bool, Outcome), FaultKind> {
        let Some(constant) = &op.message else {
            return Err(FaultKind::Unsupported("a message without descriptor"));
        };
        let message = self.message(op, constant);
        self.check(|checker, _| checker.message(op, &message));
        let outcome = units.send(&mut ThreadView::new(self, &message), &message);
        self.check(|checker, _| checker.response(&message));
        let outcome =
            outcome.map_err(|refusal| FaultKind::Message { sfid: message.sfid, refusal })?;
        Ok((message.end_of_thread, outcome))
    }
}

/// The continuation of a thread after a message, in a form for translated code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SendOutcome {
    /// The thread continues.
    GoesOn,
    /// The thread ends, or stops after the message.
    Stops(Stop),
    /// The thread cannot continue: its host state contains the fault. A fault in this type would be returned through
    /// memory.
    Failed,
}

/// Combines flags of groups of `size` bits: each group becomes all ones if any bit is set, or if all are.
fn group(bits: u32, size: u32, all: bool) -> u32 {
    let ones = lanes(size as usize);
    (0..32 / size).fold(0, |result, n| {
        let part = bits >> (n * size) & ones;
        let holds = if all { part == ones } else { part != 0 };
        if holds { result | ones << (n * size) } else { result }
    })
}

impl Default for Thread {
    fn default() -> Thread {
        Thread::new()
    }
}
