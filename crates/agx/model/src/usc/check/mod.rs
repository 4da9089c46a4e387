//! The checker reports mistakes of programs that silicon does not: reads of a register before the wait
//! for its load, reads of registers and local memory that were never written, accesses of unbound
//! memory; and, in an audit, races, barriers and derivatives in divergent flow, and results that are
//! never read.
//!
//! The run loop calls [`Checker::before`] before each instruction. It compares the registers that the
//! instruction reads according to the table with those written so far, lane by lane; of two operands of which lanes choose one, the other counts
//! as not read. Memory
//! instructions call [`memory`] with their addresses. The static analysis of [`proof`] verifies the
//! register use of most programs beforehand; these run as translated code, with the interpreter's
//! memory instructions.

pub mod footprint;
mod local;
pub mod memory;
pub mod proof;
pub mod race;

use std::collections::HashMap;
use std::sync::Arc;

pub use footprint::{Footprints, News};
use footprint::{HALVES, SLOTS};
pub use local::{LocalShadow, Scratch};
use race::{Conflict, How, Mark, Page, Races};

use super::code::Code;
use super::row::LANES;
use crate::job::{ProgramPoint, Report, ReportKind};

/// Maximum number of reports of one SIMD-group, since loops can repeat a mistake without end.
const MAX_REPORTS: usize = 64;

/// The state of one SIMD-group's registers, as lane masks of half-registers.
struct Registers {
    written: [u32; HALVES],
    pending: [[u32; HALVES]; SLOTS],
    /// Slots that a load may still signal.
    busy: [bool; SLOTS],
    /// The texture instruction whose result a half-register holds, from 1.
    results: Option<Box<[u16; HALVES]>>,
}

/// The checker's state of one SIMD-group.
pub struct Checker {
    /// None if the static analysis verified the program's register use ([`proof`]).
    registers: Option<Box<Registers>>,
    scratch: Scratch,
    /// Whether the current instruction accesses scratch memory.
    pub in_scratch: bool,
    /// Differences are taken within quads of lanes.
    quads: bool,
    audit: Option<Audit>,
    workgroup: [u32; 3],
    /// Findings about loads that count once one of their lanes has an effect; `None` if they count at once.
    loads: Option<Vec<LoadFinding>>,
    /// Reads of memory by lanes that have had no effect since; empty if `loads` count at once.
    reads: Vec<PendingRead>,
    seen: HashMap<(u16, ReportKind), usize>,
    /// Reports.
    pub reports: Vec<Report>,
}

/// A mistake of a load, such as memory that is not bound. Compilers move loads ahead of the branch that needs them, so that lanes
/// which leave at the branch execute them as well; nothing sees what those have loaded. An effect is a store, or an instruction that
/// [crosses](footprint::Footprint::crosses) lanes.
struct LoadFinding {
    index: usize,
    kind: ReportKind,
    what: String,
    lanes: u32,
}

/// A load of device memory that takes part in races once one of its lanes has an effect.
pub struct PendingRead {
    /// The lanes' addresses.
    pub addresses: [u64; LANES],
    /// Offset of the element from them.
    pub at: u64,
    /// Bytes of the element.
    pub element: u32,
    /// Lanes without an effect since.
    pub lanes: u32,
    /// The access.
    pub mark: Mark,
}

/// Maximum number of pending reads; further ones count at once.
const MAX_PENDING: usize = 1024;

/// State of an audit for the launch.
pub struct Audit {
    footprints: Arc<Footprints>,
    races: Option<Arc<Races>>,
    /// The SIMD-group's number in `races`.
    group: u32,
    index: u32,
    /// Barriers of the workgroup so far, from 1.
    pub epoch: u16,
    /// Number of the page that was accessed last, its marks, and those by unordered launches.
    page: Option<(u64, Arc<Page>)>,
}

impl Audit {
    /// The audit state of a SIMD-group of a program, by its workgroup's number and its own in it.
    pub fn new(
        footprints: &Arc<Footprints>,
        races: Option<&Arc<Races>>,
        workgroup: u64,
        index: u32,
    ) -> Audit {
        let group = races.map_or(0, |races| races.number(workgroup, index));
        Audit {
            footprints: footprints.clone(),
            races: races.cloned(),
            group,
            index,
            epoch: 1,
            page: None,
        }
    }
}

impl Registers {
    /// At the start of a program, with the 32-bit registers that hold values.
    fn new(preloaded: &[usize], results: bool) -> Registers {
        let results = results.then(|| Box::new([0; HALVES]));
        let (written, pending) = ([0; HALVES], [[0; HALVES]; SLOTS]);
        let mut registers = Registers { written, pending, busy: [false; SLOTS], results };
        // r0l counts control flow and starts at zero.
        registers.written[0] = u32::MAX;
        for &register in preloaded {
            registers.written[2 * register..][..2].fill(u32::MAX);
        }
        registers
    }
}

impl Registers {
    /// The mistake in the read of a half-register, with its lanes, if the lanes of `needed` use what they read.
    #[cold]
    fn read(&self, half: usize, exec: u32, needed: u32) -> Option<(ReportKind, String, u32)> {
        let pending = (self.pending[0][half] | self.pending[1][half]) & exec;
        let unwritten = !self.written[half] & needed;
        if pending != 0 {
            let slot = usize::from(self.pending[0][half] & exec == 0);
            let what =
                format!("{} is read before its load was waited for (slot {slot})", name(half));
            Some((ReportKind::UnwaitedRead, what, pending))
        } else if unwritten != 0 {
            let what =
                format!("{} is read, but was never written in {}", name(half), lanes(unwritten));
            Some((ReportKind::UnwrittenRegister, what, unwritten))
        } else {
            None
        }
    }

    /// Notes a write; returns the lanes in which a load into the half-register is under way.
    #[inline(always)]
    fn write(&mut self, half: usize, exec: u32, slot: Option<usize>) -> Option<u32> {
        let mut found = None;
        self.written[half] |= exec;
        if self.busy != [false; SLOTS] {
            let under_way = (self.pending[0][half] | self.pending[1][half]) & exec;
            found = (under_way != 0 && slot.is_none()).then_some(under_way);
            for pending in &mut self.pending {
                pending[half] &= !exec;
            }
        }
        if let Some(slot) = slot {
            self.pending[slot][half] |= exec;
            self.busy[slot] = true;
        }
        found
    }
}

impl Checker {
    /// A checker for a group of a program that starts with the 32-bit registers `preloaded`, with an audit or without; `quads` if
    /// lanes are pixels, `stores` if its only results are stores. If `is_proven`, its registers need no checks.
    pub fn new(
        footprints: &Footprints,
        is_proven: bool,
        preloaded: &[usize],
        [quads, stores]: [bool; 2],
        workgroup: [u32; 3],
        audit: Option<Audit>,
    ) -> Checker {
        // Instructions by which lanes see each other's loads are looked at before they execute.
        let is_proven = is_proven && !(stores && footprints.crosses_lanes);
        let results = audit.is_some() && footprints.has_texels;
        let loads = stores.then(Vec::new);
        Checker {
            loads,
            reads: Vec::new(),
            registers: (!is_proven).then(|| Box::new(Registers::new(preloaded, results))),
            scratch: Scratch::default(),
            in_scratch: false,
            quads,
            audit,
            workgroup,
            seen: HashMap::new(),
            reports: Vec::new(),
        }
    }

    /// Whether nothing has to be looked at before each instruction.
    pub fn trusts_registers(&self) -> bool {
        self.registers.is_none()
    }

    /// The audit.
    pub fn audit(&mut self) -> Option<&mut Audit> {
        self.audit.as_mut()
    }

    /// Checks instruction `index` before it executes in the lanes of `exec`. If it chooses between two operands
    /// ([`footprint::Footprint::choices`]), lanes of `first` take the former.
    #[inline(never)]
    pub fn before(
        &mut self,
        code: &Code,
        all: &Footprints,
        index: usize,
        [exec, alive, first]: [u32; 3],
    ) {
        let Some(footprint) = all.of.get(index) else { return };
        let Some(mut registers) = self.registers.take() else { return };
        let r = &mut *registers;
        if let Some(slot) = footprint.waits
            && std::mem::take(&mut r.busy[slot])
        {
            r.pending[slot].fill(0);
        }
        for (read, halves) in footprint.reads.iter().enumerate() {
            let halves = usize::from(halves.start)..usize::from(halves.end);
            let written = r.written[halves.clone()].iter().fold(u32::MAX, |all, &w| all & w);
            let mut pending = 0;
            for (slot, _) in r.busy.iter().enumerate().filter(|(_, busy)| **busy) {
                pending |= r.pending[slot][halves.clone()].iter().fold(0, |all, &p| all | p);
            }
            // One report is enough of a register that is wrong in both halves.
            if (!written | pending) & exec != 0
                && let needed = footprint.needs(read, exec, first)
                && let Some((kind, what, lanes)) =
                    halves.clone().find_map(|half| r.read(half, exec, needed))
            {
                self.report(code, index, kind, what, lanes);
            }
            if let Some(results) = &mut r.results {
                for half in halves {
                    if let Some(by) = std::mem::take(&mut results[half]).checked_sub(1) {
                        all.read(usize::from(by));
                    }
                }
            }
        }
        for halves in &footprint.writes {
            for half in usize::from(halves.start)..usize::from(halves.end) {
                if let Some(under_way) = r.write(half, exec, footprint.slot) {
                    let what =
                        format!("{} is written while a load into it is under way", name(half));
                    self.report(code, index, ReportKind::UnwaitedWrite, what, under_way);
                }
                if let Some(results) = &mut r.results {
                    let before = results[half];
                    if footprint.texel || exec == alive {
                        results[half] = if footprint.texel { index as u16 + 1 } else { 0 };
                    }
                    // The value before may live on in other lanes.
                    if footprint.texel && exec != alive && before != 0 {
                        all.read(usize::from(before - 1));
                    }
                }
            }
        }
        self.registers = Some(registers);
        if let Some(audit) = &self.audit {
            if footprint.texel && exec != 0 {
                all.executed(index);
            }
            if footprint.sync
                && exec != 0
                && let Some(races) = &audit.races
            {
                races.sync(audit.group);
            }
            if footprint.quad && self.quads {
                self.differences(code, index, exec, alive);
            }
        }
    }

    /// Checks an instruction that takes differences within quads.
    fn differences(&mut self, code: &Code, index: usize, exec: u32, alive: u32) {
        let any = (exec | exec >> 1 | exec >> 2 | exec >> 3) & 0x1111_1111;
        let missing = alive & !exec & (any * 15);
        if missing != 0 {
            let what = format!(
                "takes differences within quads, but {} of them do not execute it",
                lanes(missing)
            );
            self.report(code, index, ReportKind::DivergentDerivative, what, missing);
        }
    }

    /// Checks the barrier before `next`, at which a group waits.
    pub fn barrier(&mut self, code: &Code, next: usize, exec: u32, alive: u32) {
        // A group without active lanes passes barriers after a loop or a branch that it has left.
        if self.audit.is_some() && exec != 0 && exec != alive {
            let missing = alive & !exec;
            let what = format!("a barrier that {} do not execute", lanes(missing));
            let at = next.saturating_sub(1);
            self.report(code, at, ReportKind::DivergentBarrier, what, missing);
        }
    }

    /// Adds a report of another unit at an instruction.
    pub fn note(&mut self, code: &Code, index: usize, kind: ReportKind, what: String, lanes: u32) {
        self.report(code, index, kind, what, lanes);
    }

    /// Adds a report about a load, now or when one of its lanes has an effect.
    pub fn note_load(
        &mut self,
        code: &Code,
        index: usize,
        kind: ReportKind,
        what: String,
        lanes: u32,
    ) {
        let Some(loads) = &mut self.loads else {
            return self.report(code, index, kind, what, lanes);
        };
        let same = |load: &LoadFinding| (load.index, load.kind) == (index, kind);
        match loads.iter().position(same) {
            Some(known) => loads[known].lanes |= lanes,
            None if loads.len() < MAX_REPORTS => {
                loads.push(LoadFinding { index, kind, what, lanes });
            }
            None => {}
        }
    }

    /// Keeps a read until one of its lanes has an effect. False if it counts at once.
    pub fn postpone(&mut self, read: impl FnOnce() -> PendingRead) -> bool {
        let waits = self.loads.is_some() && self.reads.len() < MAX_PENDING;
        if waits {
            self.reads.push(read());
        }
        waits
    }

    /// The reads that count since lanes have an effect, with these lanes alone.
    pub fn take_reads(&mut self, exec: u32) -> Vec<PendingRead> {
        let mut seen = Vec::new();
        self.reads.retain_mut(|read| {
            let lanes = read.lanes & exec;
            if lanes != 0 {
                seen.push(PendingRead { lanes, ..*read });
                read.lanes &= !exec;
            }
            read.lanes != 0
        });
        seen
    }

    /// Handles an effect of lanes: what they have loaded before counts.
    #[inline]
    pub fn effect(&mut self, code: &Code, exec: u32) {
        if self.loads.as_ref().is_some_and(|loads| loads.iter().any(|l| l.lanes & exec != 0)) {
            let all = self.loads.as_mut().map(std::mem::take).unwrap_or_default();
            let (seen, open) = all.into_iter().partition(|load| load.lanes & exec != 0);
            self.loads = Some(open);
            let seen: Vec<LoadFinding> = seen;
            for LoadFinding { index, kind, what, lanes } in seen {
                self.report(code, index, kind, what, lanes);
            }
        }
    }

    /// Whether an instruction has a report of a kind already, which then counts once more: loops repeat a mistake without end, and
    /// the text of each would cost more than all else.
    pub fn repeats(&mut self, index: usize, kind: ReportKind) -> bool {
        let known = self.seen.get(&(index as u16, kind));
        if let Some(&known) = known {
            self.reports[known].count += 1;
        }
        known.is_some()
    }

    #[cold]
    fn report(&mut self, code: &Code, index: usize, kind: ReportKind, what: String, lanes: u32) {
        if self.repeats(index, kind) {
            return;
        }
        if self.reports.len() < MAX_REPORTS {
            self.seen.insert((index as u16, kind), self.reports.len());
            let (offset, text) = code.describe(index);
            let at = ProgramPoint { program: code.address(), offset, text };
            let (shader, workgroup) = (code.fingerprint(), self.workgroup);
            self.reports.push(Report { kind, what, at, shader, lanes, workgroup, count: 1 });
        }
    }

    /// Reports an access of local memory that races.
    pub fn local_race(
        &mut self,
        code: &Code,
        index: usize,
        how: How,
        lane: usize,
        offset: usize,
        conflict: Conflict,
    ) {
        if self.repeats(index, ReportKind::LocalRace) {
            return;
        }
        let what = format!(
            "lane {lane} {} local memory at {offset:#x}, which {} {} at offset {:#x} without a barrier between",
            verb(how, false),
            conflict.group.map_or("others".to_owned(), |g| format!("SIMD-group {}", g - 1)),
            verb(conflict.how, true),
            code.describe(usize::from(conflict.at)).0,
        );
        self.report(code, index, ReportKind::LocalRace, what, 1 << lane);
    }
}

/// A half-register's name.
fn name(half: usize) -> String {
    format!("r{}{}", half / 2, if half & 1 == 0 { 'l' } else { 'h' })
}

/// Lanes of a mask in words.
fn lanes(mask: u32) -> String {
    match mask.count_ones() {
        32 => "all lanes".to_owned(),
        1 => format!("lane {}", mask.trailing_zeros()),
        _ => format!("lanes {mask:#x}"),
    }
}

fn verb(how: How, past: bool) -> &'static str {
    match (how, past) {
        (How::Read, false) => "reads",
        (How::Write, false) => "writes",
        (How::Read, true) => "read",
        (How::Write, true) => "wrote",
    }
}
