//! State of the checker for one thread: which bytes of its registers were written, and what was found.

use std::collections::HashSet;

use tepui_intel_analysis::scoreboard::Tracker;

use crate::finding::{Finding, FindingKind, UnwrittenStorage};
use crate::memory::{GENERAL, REGISTER_BYTES, REGISTERS};

/// Pattern that marks unwritten registers while the payload is written.
const MARK: [u8; 4] = [0xb5, 0xa9, 0x6e, 0x3d];

/// Limit on the findings of one thread, since loops can repeat a mistake without end.
const MAX_FINDINGS: usize = 64;

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
    pub scoreboard: Option<Tracker>,
}

impl Checker {
    /// The state of a thread that has not begun.
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
    pub fn begin(&mut self, grf: &mut [u8], scoreboard: Option<&Tracker>) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        self.scoreboard = scoreboard.cloned();
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
    pub fn is_written(&self, at: usize, bytes: usize) -> bool {
        (at..at + bytes)
            .take_while(|&byte| byte < GENERAL)
            .all(|byte| self.written[byte / REGISTER_BYTES] >> (byte % REGISTER_BYTES) & 1 != 0)
    }

    /// Marks a run of bytes as written or as not.
    pub fn set(&mut self, at: usize, bytes: usize, written: bool) {
        for byte in (at..at + bytes).take_while(|&byte| byte < GENERAL) {
            let bit = 1 << (byte % REGISTER_BYTES);
            let register = &mut self.written[byte / REGISTER_BYTES];
            *register = if written { *register | bit } else { *register & !bit };
        }
    }

    /// Adds a finding about a byte of a register that was never written.
    pub fn find(&mut self, ip: u32, at: usize, channels: u32) {
        let (register, byte) = (at / REGISTER_BYTES, at % REGISTER_BYTES);
        self.note(ip, FindingKind::Unwritten(UnwrittenStorage::Register), || {
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
}
