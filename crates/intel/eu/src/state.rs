//! The state of a thread: registers, flags, accumulators, channels and their instruction pointers.

use std::any::Any;

use crate::fault::FaultKind;
use crate::lane::FloatMode;
use crate::memory::{self, Bytes, REGISTER_BYTES, read32, write32};
use crate::op::Op;
use crate::operand::{CHANNELS, lanes};
use crate::shadow::Checker;

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
    pub(crate) acc_high: [i32; CHANNELS],
    /// Channels that the dispatch enabled.
    pub(crate) dispatched: u32,
    /// Channels that are at the instruction pointer.
    pub(crate) active: u32,
    /// Index of the operation at which each other channel resumes.
    pub(crate) resume: [u32; CHANNELS],
    /// Index of the next operation.
    pub(crate) next: u32,
    /// Instructions since the start.
    pub(crate) executed: u64,
    /// State for translated code.
    pub(crate) host: HostState,
    /// The checker, in checked threads.
    pub(crate) checker: Option<Box<Checker>>,
    /// Executed instructions, in counted threads.
    pub(crate) counts: Option<Counts>,
    /// Whether its message unit is told of each instruction.
    pub(crate) observed: bool,
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

    /// Enables the checker, which reports uses of registers that were never written ([`crate::MessageUnit::found`]).
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

    /// Tells the message unit of each instruction before it executes ([`crate::MessageUnit::observe`]). Programs are not translated for
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
