//! The checker: finds reads of general registers that a thread never wrote, in which silicon returns what the
//! previous thread left there.
//!
//! It tracks writes byte by byte: by the payload, by instructions for the channels that execute, by messages.
//! Copies, and instructions that ignore the mask, propagate whether a value was written, since compilers move
//! whole registers; any other use of an unwritten value is a finding, and so are unwritten offsets and data
//! of messages in executing channels.
//!
//! On Gen12 it also follows the software scoreboard ([`tepui_intel_analysis::scoreboard`]) along the thread's path: accesses of
//! registers that annotations do not order are findings, which execution in order would hide.

use std::collections::HashSet;

use tepui_intel_analysis::scoreboard::Tracker;
use tepui_intel_isa::{Opcode, Sfid};

use crate::memory::GENERAL;
use crate::message::{Message, REGISTER_BYTES};
use crate::op::Op;
use crate::operand::{CHANNELS, Layout, address};
use crate::program::Program;
use crate::thread::{REGISTERS, Thread};

/// Pattern that marks unwritten registers while the payload is written.
const MARK: [u8; 4] = [0xb5, 0xa9, 0x6e, 0x3d];

/// Limit on the findings of one thread, since loops can repeat a mistake without end.
const MAX_FINDINGS: usize = 64;

/// The kind of storage that is read unwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnwrittenStorage {
    /// A general register.
    Register,
    /// A byte of the workgroup's local memory.
    Local,
    /// Memory in a page that was never written.
    Memory,
}

/// The kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FindingKind {
    /// A use of an unwritten value.
    Unwritten(UnwrittenStorage),
    /// An access of a register that the software scoreboard does not order after an earlier one.
    Unordered,
}

/// A mistake of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The kind.
    pub kind: FindingKind,
    /// Byte offset of the instruction from the program's start.
    pub ip: u32,
    /// The instruction in assembly.
    pub instruction: String,
    /// The problem, in one sentence without a full stop.
    pub what: String,
}

/// The checker's state of one thread.
#[derive(Debug)]
pub(crate) struct Checker {
    /// Written bytes of each general register, one bit each.
    written: [u32; REGISTERS],
    /// Whether the payload has been examined.
    begun: bool,
    /// Instructions that already have a finding.
    seen: HashSet<(FindingKind, u32)>,
    /// Findings, without their instructions.
    found: Vec<Finding>,
    /// The scoreboard, of programs that have one.
    scoreboard: Option<Tracker>,
}

impl Checker {
    pub fn new() -> Checker {
        Checker {
            written: [0; REGISTERS],
            begun: false,
            seen: HashSet::new(),
            found: Vec::new(),
            scoreboard: None,
        }
    }

    /// Marks all registers, before a payload is written to them.
    pub fn mark(&mut self, grf: &mut [u8]) {
        grf.as_chunks_mut().0.fill(MARK);
        self.begun = false;
    }

    /// Determines which registers the payload has written, and clears the others; begins with the program's scoreboard.
    pub fn begin(&mut self, grf: &mut [u8], program: &Program) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        self.scoreboard = program.scoreboard().cloned();
        self.seen.clear();
        self.written = [0; REGISTERS];
        let registers = grf.as_chunks_mut::<REGISTER_BYTES>().0;
        for (register, written) in registers.iter_mut().zip(&mut self.written) {
            for (k, dword) in register.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                if *dword == MARK {
                    *dword = [0; 4];
                } else {
                    *written |= 0xf << (4 * k);
                }
            }
        }
    }

    /// The findings since the last call.
    pub fn take(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.found)
    }

    /// Whether all bytes of a run were written, or are not in general registers.
    fn is_written(&self, at: usize, bytes: usize) -> bool {
        (at..at + bytes)
            .take_while(|&byte| byte < GENERAL)
            .all(|byte| self.written[byte / REGISTER_BYTES] >> (byte % REGISTER_BYTES) & 1 != 0)
    }

    fn set(&mut self, at: usize, bytes: usize, written: bool) {
        for byte in (at..at + bytes).take_while(|&byte| byte < GENERAL) {
            let bit = 1 << (byte % REGISTER_BYTES);
            let register = &mut self.written[byte / REGISTER_BYTES];
            *register = if written { *register | bit } else { *register & !bit };
        }
    }

    fn find(&mut self, op: &Op, at: usize, channels: u32) {
        let (register, byte) = (at / REGISTER_BYTES, at % REGISTER_BYTES);
        self.note(op.ip, FindingKind::Unwritten(UnwrittenStorage::Register), || {
            format!(
                "byte {byte} of g{register} is read, but was never written (channels {channels:#x} of the instruction)"
            )
        });
    }

    /// Adds a finding, unless there was one of its kind for the instruction.
    pub fn note(&mut self, ip: u32, kind: FindingKind, what: impl FnOnce() -> String) {
        if self.found.len() < MAX_FINDINGS && self.seen.insert((kind, ip)) {
            let instruction = String::new();
            self.found.push(Finding { kind, ip, instruction, what: what() });
        }
    }

    /// Checks that the scoreboard orders the accesses of operation `n` of a program, before it executes.
    pub fn order(&mut self, thread: &Thread, program: &Program, n: usize) {
        let (Some(scoreboard), Some(op)) = (&mut self.scoreboard, program.ops.get(n)) else {
            return;
        };
        let executed = thread.enabled(op) & thread.predicated(op);
        let through_address = |layout: &Layout, bytes: usize| match layout {
            Layout::Indirect { .. } | Layout::PerRow { .. } => channels(executed)
                .filter_map(|channel| place(thread, layout, channel, bytes))
                .filter(|&at| at < GENERAL)
                .fold(0, |mask, at| mask | 1u128 << (at / REGISTER_BYTES)),
            _ => 0,
        };
        let sources = op.src.iter().map(|src| through_address(&src.layout, src.ty.bytes()));
        let reads = sources.fold(0, |all, mask| all | mask);
        let writes = op.dst.layout.as_ref();
        let writes = writes.map_or(0, |layout| through_address(layout, op.dst.ty.bytes()));
        let mut first = None;
        scoreboard.execute(n, [reads, writes], |finding| {
            first.get_or_insert(finding);
        });
        if let Some(finding) = first {
            self.note(op.ip, FindingKind::Unordered, || {
                let earlier = program.ops.get(finding.producer).map_or(0, |op| op.ip);
                let earlier = format!("`{}` at {earlier:#x}", program.text(earlier));
                format!("it {}", finding.description(&earlier))
            });
        }
    }

    /// Checks the sources of an arithmetic operation before it executes, and marks its destination as
    /// written.
    pub fn compute(&mut self, thread: &Thread, op: &Op) {
        let enabled = thread.enabled(op);
        let chosen = thread.predicated(op);
        let selects = op.opcode == Opcode::Sel && op.predicate != 0;
        let executed = if selects { enabled } else { enabled & chosen };
        // For each channel, the first unwritten byte that a source reads.
        let mut missing = [None; CHANNELS];
        for (k, src) in op.src.iter().enumerate() {
            let used = match (selects, k) {
                (true, 0) => executed & chosen,
                (true, 1) => executed & !chosen,
                _ => executed,
            };
            let bytes = src.ty.bytes();
            for channel in channels(used) {
                let pieces: [Option<usize>; 3] = match (op.opcode, k) {
                    // Coefficients 0, 1 and 3 of a plane, and pairs of registers of coordinates.
                    (Opcode::Pln | Opcode::Line, 0) => {
                        let base = place(thread, &src.layout, 0, bytes);
                        [base, base.map(|at| at + 4), base.map(|at| at + 12)]
                    }
                    (Opcode::Pln, 1) => {
                        let base = place(thread, &src.layout, 0, bytes);
                        let first = base.map(|at| at + channel / 8 * 64 + channel % 8 * 4);
                        [first, first.map(|at| at + 32), None]
                    }
                    _ => [place(thread, &src.layout, channel, bytes), None, None],
                };
                let unwritten = |at: &usize| !self.is_written(*at, bytes);
                missing[channel] =
                    missing[channel].or(pieces.into_iter().flatten().find(unwritten));
            }
        }
        let passes = op.no_mask || op.copies || selects;
        if !passes {
            let bad = (0..CHANNELS).filter(|&channel| missing[channel].is_some());
            let mask = bad.clone().fold(0, |mask, channel| mask | 1 << channel);
            if let Some(at) = bad.clone().find_map(|channel| missing[channel]) {
                self.find(op, at, mask);
            }
        }
        let Some(layout) = &op.dst.layout else { return };
        let bytes = op.dst.ty.bytes();
        for channel in channels(executed & op.dst.mask) {
            let Some(at) = place(thread, layout, channel, bytes) else { continue };
            let chosen = usize::from(selects && chosen >> channel & 1 == 0);
            let src = &op.src[chosen.min(op.src.len() - 1)];
            match place(thread, &src.layout, channel, bytes) {
                // What is copied byte by byte is as written as its source: a narrow number has a part of its slot.
                Some(from) if passes && missing[channel].is_some() && src.ty.bytes() == bytes => {
                    for byte in 0..bytes {
                        let written = self.is_written(from + byte, 1);
                        self.set(at + byte, 1, written);
                    }
                }
                _ => self.set(at, bytes, !passes || missing[channel].is_none()),
            }
        }
    }

    /// Checks the registers that a message reads.
    pub fn message(&mut self, op: &Op, message: &Message) {
        if op.no_mask {
            return;
        }
        let width = usize::from(message.exec_size).min(16);
        // The header of a URB message contains its channels' handles.
        let header = usize::from(message.header && message.sfid != Sfid::Urb);
        let all = usize::from(message.src0_registers) + usize::from(message.src1_registers);
        let (bytes, registers) = match offsets(message) {
            Offsets::None => return,
            // One value per channel.
            Offsets::First { bytes } => (bytes, header..header + width * bytes / REGISTER_BYTES),
            Offsets::All => (4, header..all),
        };
        // Registers of one value for all channels.
        let field = (width * bytes / REGISTER_BYTES).max(1);
        for (k, register) in registers.enumerate() {
            let Some(first) = payload_register(message, register) else { return };
            let in_register = REGISTER_BYTES / bytes;
            for slot in 0..in_register {
                let channel = k % field * in_register + slot;
                let at = usize::from(first) * REGISTER_BYTES + slot * bytes;
                let executes = channel < width && message.channels >> channel & 1 != 0;
                if executes && !self.is_written(at, read_bytes(message, k / field, bytes)) {
                    self.find(op, at, 1 << channel);
                    return;
                }
            }
        }
    }

    /// Marks the registers of a message's response as written.
    pub fn response(&mut self, message: &Message) {
        let Some(first) = message.dst else { return };
        let width = usize::from(message.exec_size).min(16);
        let field = (width / 8).max(1);
        let of_channels = answers_channels(message);
        for k in 0..usize::from(message.dst_registers) {
            for slot in 0..8 {
                let channel = k % field * 8 + slot;
                if !of_channels || message.channels >> channel & 1 != 0 {
                    let at = (usize::from(first) + k) * REGISTER_BYTES + 4 * slot;
                    self.set(at, 4, true);
                }
            }
        }
    }
}

/// The channels of a mask.
fn channels(mask: u32) -> impl Iterator<Item = usize> {
    (0..CHANNELS).filter(move |channel| mask >> channel & 1 != 0)
}

/// The byte of a channel's element; `None` if it is not in a register.
fn place(thread: &Thread, layout: &Layout, channel: usize, bytes: usize) -> Option<usize> {
    let memory = &thread.memory;
    match layout {
        Layout::Even { base, stride } => Some(usize::from(*base) + channel * usize::from(*stride)),
        Layout::Table(table) => Some(usize::from(table[channel])),
        Layout::Indirect { word, offset, table } => {
            address(memory, *word, *offset, i32::from(table[channel]), bytes).ok()
        }
        Layout::PerRow { word, offset, width, stride } => {
            let (line, column) = (channel / usize::from(*width), channel % usize::from(*width));
            let word = (usize::from(*word) + line) as u8 & 15;
            address(memory, word, *offset, i32::from(*stride) * column as i32, bytes).ok()
        }
        Layout::Scalar(_) | Layout::Integers(_) | Layout::Floats(_) => None,
    }
}

/// Register `n` of both payloads in sequence.
fn payload_register(message: &Message, n: usize) -> Option<u8> {
    match n.checked_sub(usize::from(message.src0_registers)) {
        None => Some(message.src0? + n as u8),
        Some(n) if n < usize::from(message.src1_registers) => Some(message.src1? + n as u8),
        Some(_) => None,
    }
}

/// The part of a payload with a value for each channel, which must be written.
enum Offsets {
    /// Unknown.
    None,
    /// The first field: offsets or coordinates, of `bytes` bytes.
    First { bytes: usize },
    /// All fields, of 32 bits.
    All,
}

/// Bytes that a message reads of a channel's element in a field: byte scattered writes take the low ones of their data.
fn read_bytes(message: &Message, field: usize, bytes: usize) -> usize {
    let scattered = message.sfid == Sfid::DataCache0 && message.desc >> 14 & 0x1f == 12;
    if scattered && field > 0 { 1 << (message.desc >> 10 & 3) } else { bytes }
}

/// source: Mesa, brw_eu.h (`brw_dp_*_desc`): bits 18:14 are the type of a message of a data port.
fn offsets(message: &Message) -> Offsets {
    let kind = message.desc >> 14 & 0x1f;
    match (message.sfid, kind) {
        (Sfid::DataCache1, 0x01 | 0x02 | 0x09 | 0x1b) => Offsets::All,
        (Sfid::DataCache1, 0x05 | 0x06 | 0x0d) => Offsets::First { bytes: 4 },
        (Sfid::DataCache1, 0x10..=0x12 | 0x19 | 0x1a | 0x1d) => Offsets::First { bytes: 8 },
        (Sfid::DataCache0, 3 | 4 | 11 | 12) => Offsets::All,
        (Sfid::Sampler | Sfid::Urb, _) => Offsets::First { bytes: 4 },
        _ => Offsets::None,
    }
}

/// Whether the response has 32 bits for each channel that executes, and nothing else.
fn answers_channels(message: &Message) -> bool {
    const HALVES: u32 = 1 << 30;
    let kind = message.desc >> 14 & 0x1f;
    match message.sfid {
        Sfid::DataCache1 => matches!(kind, 0x01 | 0x02 | 0x05 | 0x06 | 0x11 | 0x1b),
        Sfid::DataCache0 => matches!(kind, 3 | 4),
        Sfid::Sampler => message.desc & HALVES == 0,
        Sfid::Urb => true,
        _ => false,
    }
}
