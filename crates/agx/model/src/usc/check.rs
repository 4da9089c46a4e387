//! The checker reports mistakes of programs that silicon does not: reads of a register before the
//! wait for its load, reads of registers and local memory that were never written, accesses of
//! unbound memory.
//!
//! The run loop calls it before each instruction. It compares the registers that the instruction
//! table says are read with those written so far, lane by lane.

use std::collections::HashSet;

use tepui_agx_isa::{Access, File, Role};

use super::code::Code;
use crate::job::{ProgramPoint, Report, ReportKind};

/// Half-registers of a thread.
const HALVES: usize = tepui_agx_isa::operand::REGISTER_HALVES as usize;
/// Scoreboard slots.
const SLOTS: usize = 2;
/// The most reports of one workgroup, since loops can repeat a mistake without end.
const MAX_REPORTS: usize = 64;

/// The register accesses and waits of one instruction.
#[derive(Clone, Debug, Default)]
pub struct Footprint {
    accesses: Vec<Access>,
    /// The slot that a load or another asynchronous write signals.
    slot: Option<usize>,
    /// The slot that the instruction waits for.
    waits: Option<usize>,
}

impl Footprint {
    /// The footprints of a program's instructions.
    pub fn of(code: &Code) -> Vec<Footprint> {
        code.placed()
            .iter()
            .map(|p| match &p.inst {
                Some(inst) => Footprint {
                    accesses: inst.operands().into_iter().filter(|a| a.file == File::Reg).collect(),
                    slot: inst.scoreboard().map(|slot| usize::from(slot) % SLOTS),
                    waits: super::query::waits_for(inst).map(|slot| usize::from(slot) % SLOTS),
                },
                None => Footprint::default(),
            })
            .collect()
    }
}

/// The state of one SIMD-group's registers, as lane masks of half-registers.
#[derive(Clone)]
pub struct Checker {
    written: Vec<u32>,
    pending: [Vec<u32>; SLOTS],
    seen: HashSet<(usize, u16, ReportKind)>,
    /// Reports.
    pub reports: Vec<Report>,
}

impl Default for Checker {
    fn default() -> Self {
        let none = vec![0; HALVES];
        // r0l counts control flow and starts at zero.
        let mut written = none.clone();
        written[0] = u32::MAX;
        Checker {
            written,
            pending: [none.clone(), none],
            seen: HashSet::new(),
            reports: Vec::new(),
        }
    }
}

impl Checker {
    /// A checker for a group, with the 32-bit registers that hold values at the start of the code.
    pub fn new(preloaded: &[usize]) -> Checker {
        let mut checker = Checker::default();
        for &register in preloaded {
            checker.written[2 * register..][..2].fill(u32::MAX);
        }
        checker
    }

    /// Checks instruction `index` before it executes in the lanes of `exec`.
    pub fn before(&mut self, code: &Code, footprints: &[Footprint], index: usize, exec: u32) {
        let Some(footprint) = footprints.get(index) else { return };
        if let Some(slot) = footprint.waits {
            self.pending[slot].fill(0);
        }
        for access in &footprint.accesses {
            let halves = usize::from(access.start)..usize::from(access.start + access.count);
            if matches!(access.role, Role::Read | Role::ReadWrite) && access.exact {
                // One report is enough of a register that is wrong in both halves.
                let _ =
                    halves.filter(|&h| h < HALVES).find(|&half| self.read(code, index, half, exec));
            }
        }
        for access in &footprint.accesses {
            let halves = usize::from(access.start)..usize::from(access.start + access.count);
            if matches!(access.role, Role::Write | Role::ReadWrite) {
                for half in halves.filter(|&h| h < HALVES) {
                    self.write(code, index, half, exec, footprint.slot);
                }
            }
        }
    }

    /// Checks the read of a half-register; returns whether there is a report.
    fn read(&mut self, code: &Code, index: usize, half: usize, exec: u32) -> bool {
        let pending = (self.pending[0][half] | self.pending[1][half]) & exec;
        let unwritten = !self.written[half] & exec;
        if pending != 0 {
            let slot = usize::from(self.pending[0][half] & exec == 0);
            let what =
                format!("{} is read before its load was waited for (slot {slot})", name(half));
            self.report(code, index, half, ReportKind::UnwaitedRead, what);
        } else if unwritten != 0 {
            let what =
                format!("{} is read, but was never written in {}", name(half), lanes(unwritten));
            self.report(code, index, half, ReportKind::UnwrittenRegister, what);
        }
        pending | unwritten != 0
    }

    fn write(&mut self, code: &Code, index: usize, half: usize, exec: u32, slot: Option<usize>) {
        if (self.pending[0][half] | self.pending[1][half]) & exec != 0 && slot.is_none() {
            let what = format!("{} is written while a load into it is under way", name(half));
            self.report(code, index, half, ReportKind::UnwaitedWrite, what);
        }
        self.written[half] |= exec;
        for pending in &mut self.pending {
            pending[half] &= !exec;
        }
        if let Some(slot) = slot {
            self.pending[slot][half] |= exec;
        }
    }

    /// Adds a report of another unit at an instruction, once.
    pub fn note(&mut self, code: &Code, index: usize, kind: ReportKind, what: String) {
        self.report(code, index, HALVES, kind, what);
    }

    fn report(&mut self, code: &Code, index: usize, half: usize, kind: ReportKind, what: String) {
        if self.reports.len() < MAX_REPORTS && self.seen.insert((index, half as u16, kind)) {
            let (offset, text) = code.describe(index);
            let at = ProgramPoint { program: code.address(), offset, text };
            self.reports.push(Report { kind, what, at });
        }
    }
}

/// A half-register's name.
fn name(half: usize) -> String {
    format!("r{}{}", half / 2, if half & 1 == 0 { 'l' } else { 'h' })
}

fn lanes(mask: u32) -> String {
    if mask == u32::MAX { "all lanes".to_owned() } else { format!("lanes {mask:#x}") }
}
