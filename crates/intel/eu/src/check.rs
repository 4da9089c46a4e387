//! The checker: finds reads of general registers that a thread never wrote, in which silicon returns what the
//! previous thread left there.
//!
//! It tracks writes byte by byte: by the payload, by instructions for the channels that execute, by messages.
//! Copies, and instructions that ignore the mask, propagate whether a value was written, since compilers move
//! whole registers; any other use of an unwritten value is a finding, and so are unwritten offsets and data
//! of messages in executing channels.
//!
//! On Gen12 it also follows the software scoreboard ([`tepui_intel_analysis::scoreboard`]) along the thread's path: accesses of
//! registers that annotations do not order are findings, which execution in order would hide (`order`).

use tepui_intel_isa::{Opcode, Sfid};

use crate::memory::REGISTER_BYTES;
use crate::message::Message;
use crate::op::Op;
use crate::operand::{CHANNELS, Layout, address};
use crate::shadow::Checker;
use crate::state::Thread;

impl Checker {
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
                self.find(op.ip, at, mask);
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
                    self.find(op.ip, at, 1 << channel);
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
pub fn channels(mask: u32) -> impl Iterator<Item = usize> {
    (0..CHANNELS).filter(move |channel| mask >> channel & 1 != 0)
}

/// The byte of a channel's element; `None` if it is not in a register.
pub fn place(thread: &Thread, layout: &Layout, channel: usize, bytes: usize) -> Option<usize> {
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
