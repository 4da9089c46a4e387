//! The checker of messages: registers that are accessed before the message that writes or reads them is waited for.
//!
//! The interpreter executes a message at once. Under the checker its results are kept aside until the program has waited for
//! its slot, and the registers hold [`POISON`] until then, as they do after the mark of a value's last use and after
//! a blend shader. So a program that forgets a wait computes something else, and each such access is reported. The rules are
//! those of [`tepui_mali_analysis::scoreboard`].
//!
//! Lanes that have taken different ways have a [`State`] each. An instruction (on Bifrost a clause) takes effect on it when the
//! lanes begin the next one.

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrayvec::ArrayVec;
use tepui_mali_analysis::scoreboard::{BLEND_SHADER_REGISTERS, State};
use tepui_mali_analysis::{Access, Hazard, RegisterSet, code, dependencies};
use tepui_mali_isa::bifrost::Tuple;
use tepui_mali_isa::bifrost::disasm::{Content, parts};
use tepui_mali_isa::bifrost::header::Message;
use tepui_mali_isa::inst::BYTES;
use tepui_mali_isa::table::field::Unit;
use tepui_mali_isa::{Inst, Op as Isa};
use tepui_softgpu::{ProgramPoint, Report, Reports};

use super::message::Port;
use super::op::Lanes;
use super::program::Program;
use super::row::{LANES, Row};
use super::run::{RaisedTrap, Stop, execute, next};
use super::uniforms::Uniforms;
use super::warp::Warp;
use crate::job::ReportKind;
use crate::order::unit;

/// Value of registers that hold nothing.
pub const POISON: u32 = 0xdead_c0de;

/// The name of a program in reports: a hash of its machine code.
#[must_use]
pub fn fingerprint(code: &[u8]) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    code.hash(&mut hasher);
    hasher.finish()
}

/// Position of an operation among the accesses of its program.
#[derive(Clone, Copy)]
struct Place {
    /// Index of the instruction or clause.
    access: u32,
    /// The operation begins it.
    begins: bool,
}

/// Accesses of a program's instructions or clauses.
pub struct ProgramCheck {
    accesses: Vec<Access>,
    /// By operation.
    places: Vec<Place>,
    /// By instruction or clause: whether its message goes to the texture unit, which has a cache of its own.
    samples: Vec<bool>,
    /// Whether the waits of the first clause are elsewhere: in the renderer state of Bifrost.
    first_is_synchronised: bool,
    /// Waits of clauses before the first operation. v6 has them in a clause that does nothing else.
    first_waits: u8,
    fingerprint: u64,
    reports: Arc<Reports<ReportKind>>,
}

impl ProgramCheck {
    /// The accesses of a program of Valhall or Bifrost.
    pub fn new(
        program: &Program,
        is_bifrost: bool,
        reports: Arc<Reports<ReportKind>>,
    ) -> ProgramCheck {
        let mut check = ProgramCheck {
            accesses: Vec::new(),
            places: Vec::with_capacity(program.ops.len()),
            samples: Vec::new(),
            first_is_synchronised: is_bifrost,
            first_waits: 0,
            fingerprint: fingerprint(&program.code),
            reports,
        };
        match is_bifrost {
            true => check.clauses(program),
            false => check.instructions(program),
        }
        check
    }

    fn instructions(&mut self, program: &Program) {
        let samples = |unit| matches!(unit, Unit::Texture | Unit::VaryingTexture);
        for index in 0..program.ops.len() {
            self.places.push(Place { access: index as u32, begins: true });
            let inst = Inst::decode_at(&program.code, index * BYTES);
            // Bytes that are no instruction trap when they are reached.
            let (access, samples) = inst.map_or_else(
                |_| (Access::default(), false),
                |inst| (code::access(&inst), samples(inst.op.row().form.unit)),
            );
            self.accesses.push(access);
            self.samples.push(samples);
        }
    }

    fn clauses(&mut self, program: &Program) {
        let mut offsets = Vec::new();
        for part in parts(&program.code, 0) {
            let Content::Clause(clause) = &part.content else { continue };
            offsets.push(part.offset as u32);
            self.accesses.push(dependencies::access(clause));
            let samples = |tuple: &Tuple| tuple.add.op.row().message == Message::Texture;
            self.samples.push(clause.tuples.iter().any(samples));
        }
        // A clause without operations has waits all the same: they come after those of the clause before.
        let with_operations: HashSet<u32> =
            (0..program.ops.len()).map(|op| program.offset(op as u32)).collect();
        for (k, offset) in offsets.iter().enumerate().rev() {
            if !with_operations.contains(offset) {
                let waits = self.accesses[k].waits;
                match k.checked_sub(1) {
                    Some(before) => self.accesses[before].waits |= waits,
                    None => self.first_waits = waits,
                }
            }
        }
        // Clauses that are none are operations, too.
        self.accesses.push(Access::default());
        self.samples.push(false);
        let none = self.accesses.len() - 1;
        let mut last = None;
        for index in 0..program.ops.len() {
            let offset = program.offset(index as u32);
            let access = offsets.binary_search(&offset).unwrap_or(none) as u32;
            self.places.push(Place { access, begins: last != Some(offset) });
            last = Some(offset);
        }
    }

    fn report(&self, program: &Program, index: u32, hazard: Hazard, register: u8, slot: u8) {
        let (kind, what) = match hazard {
            Hazard::ReadPending => (
                ReportKind::UnwaitedRead,
                format!(
                    "r{register} is read before the message of slot {slot} that writes it is waited for"
                ),
            ),
            Hazard::WritePending => (
                ReportKind::UnwaitedWrite,
                format!("r{register} is written while a message of slot {slot} may still write it"),
            ),
            Hazard::WriteStaging => (
                ReportKind::UnwaitedWrite,
                format!("r{register} is written while a message of slot {slot} may still read it"),
            ),
            Hazard::ReadDiscarded => (
                ReportKind::DiscardedRegister,
                format!(
                    "r{register} is read after the mark of its last use, or after a blend shader"
                ),
            ),
            Hazard::BarrierPending => (
                ReportKind::UnwaitedMessage,
                format!("a barrier comes while messages of slot {slot} are in flight"),
            ),
            Hazard::Unsynchronised => (
                ReportKind::UnwaitedMessage,
                format!("a message to the tile or to depth comes before a wait for slot {slot}"),
            ),
        };
        let at = ProgramPoint {
            program: self.fingerprint,
            offset: program.offset(index),
            text: program.text(index as usize),
        };
        self.reports.add(Report { kind, what, at });
    }
}

/// Lanes that have come the same way.
#[derive(Clone, Copy)]
struct Group {
    lanes: u16,
    state: State,
    /// The operation that began the instruction or clause that has not taken effect on the state.
    open: Option<u32>,
}

/// A result of a message that is not waited for.
struct Saved {
    slot: u8,
    register: u8,
    lanes: u16,
    value: Row,
}

/// State of the checker for a warp.
#[derive(Default)]
pub struct Tracker {
    /// Address of the program that runs.
    program: u64,
    /// The program that has called it as a blend shader.
    caller: Option<u64>,
    groups: ArrayVec<Group, LANES>,
    saved: Vec<Saved>,
}

fn registers(set: RegisterSet) -> impl Iterator<Item = u8> {
    (0..64).filter(move |register| set >> register & 1 != 0)
}

fn poison(warp: &mut Warp, set: RegisterSet, lanes: u16) {
    for register in registers(set) {
        let row = &mut warp.registers[usize::from(register)];
        *row = row.choose(lanes, &Row::splat(POISON));
    }
}

impl Tracker {
    /// A warp that begins a program.
    fn start(program: u64, waits: u8) -> Tracker {
        let mut groups = ArrayVec::new();
        let mut state = State::start();
        state.step(&Access { waits, ..Access::default() });
        groups.push(Group { lanes: u16::MAX, state, open: None });
        Tracker { program, caller: None, groups, saved: Vec::new() }
    }

    /// Enters another program, a blend shader or the one that has called it. All messages of the program before are complete.
    fn enter(&mut self, program: u64, warp: &mut Warp) {
        self.deliver(warp, u8::MAX, u16::MAX);
        let mut state = State::default();
        if self.caller == Some(program) {
            self.caller = None;
            poison(warp, BLEND_SHADER_REGISTERS, u16::MAX);
            state.discard(BLEND_SHADER_REGISTERS);
        } else {
            self.caller = self.caller.or(Some(self.program));
        }
        self.program = program;
        self.groups.clear();
        self.groups.push(Group { lanes: u16::MAX, state, open: None });
    }

    /// Writes the results of messages of slots to registers.
    fn deliver(&mut self, warp: &mut Warp, slots: u8, lanes: u16) {
        for saved in &mut self.saved {
            let arrived = saved.lanes & lanes;
            if slots >> (saved.slot & 7) & 1 == 0 || arrived == 0 {
                continue;
            }
            let row = &mut warp.registers[usize::from(saved.register)];
            *row = row.choose(arrived, &saved.value);
            saved.lanes &= !arrived;
        }
        self.saved.retain(|saved| saved.lanes != 0);
    }

    /// Keeps a result aside. It replaces those of earlier messages of the slot to the register, so that a loop that waits for none keeps a
    /// bounded number.
    fn save(&mut self, result: Saved) {
        for old in &mut self.saved {
            if (old.slot, old.register) == (result.slot, result.register) {
                old.lanes &= !result.lanes;
            }
        }
        self.saved.retain(|old| old.lanes != 0);
        self.saved.push(result);
    }

    /// Begins an instruction or a clause with the active lanes.
    fn begin(&mut self, check: &ProgramCheck, program: &Program, warp: &mut Warp, index: u32) {
        let place = check.places[index as usize];
        if !place.begins {
            return;
        }
        let active = warp.mask;
        let mut groups = std::mem::take(&mut self.groups);
        let mut here: ArrayVec<Group, LANES> = ArrayVec::new();
        for group in &mut groups {
            let lanes = group.lanes & active;
            if lanes == 0 {
                continue;
            }
            group.lanes &= !active;
            let mut own = Group { lanes, ..*group };
            if let Some(open) = own.open {
                self.close(check, program, warp, open, index, &mut own);
            }
            own.open = Some(index);
            match here.iter_mut().find(|other| other.state == own.state) {
                Some(same) => same.lanes |= lanes,
                None => here.push(own),
            }
        }
        groups.retain(|group| group.lanes != 0);
        let access = &check.accesses[place.access as usize];
        let skipped = check.first_is_synchronised && place.access == 0;
        for group in &here {
            group.state.hazards(access, |hazard, register, slot| {
                if !(skipped && hazard == Hazard::Unsynchronised) {
                    let (register, slot) = (register.unwrap_or(0), slot.unwrap_or(0));
                    check.report(program, index, hazard, register, slot);
                }
            });
        }
        // Groups are disjoint and not empty, so that there is always capacity.
        groups.extend(here);
        self.groups = groups;
    }

    /// Lets an instruction or clause take effect, of which the lanes continue at an operation.
    fn close(
        &mut self,
        check: &ProgramCheck,
        program: &Program,
        warp: &mut Warp,
        open: u32,
        next: u32,
        group: &mut Group,
    ) {
        let mut access = check.accesses[check.places[open as usize].access as usize];
        let op = &program.ops[open as usize];
        // The blend shader that is called next reads its arguments; what it changes is given up when it returns.
        if op.isa == Some(Isa::BLEND) && next != op.immediate {
            access.discards &= !BLEND_SHADER_REGISTERS;
        }
        if let Some(slot) = access.slot.filter(|_| access.results != 0) {
            for register in registers(access.results) {
                let value = warp.registers[usize::from(register)];
                self.save(Saved { slot, register, lanes: group.lanes, value });
            }
            poison(warp, access.results, group.lanes);
        }
        poison(warp, access.discards, group.lanes);
        if access.waits != 0 {
            self.deliver(warp, access.waits, group.lanes);
        }
        group.state.step(&access);
    }
}

/// Runs a warp as [`super::run::run`] does, and reports what the program does not wait for.
///
/// # Errors
/// The trap that stopped it.
pub fn run(
    program: &Program,
    check: &ProgramCheck,
    warp: &mut Warp,
    uniforms: &Uniforms,
    port: &mut Port<'_>,
    budget: &mut u64,
) -> Result<Stop, RaisedTrap> {
    let start = || Box::new(Tracker::start(program.address, check.first_waits));
    let mut tracker = warp.tracker.take().unwrap_or_else(start);
    if tracker.program != program.address {
        tracker.enter(program.address, warp);
    }
    let before = port.memory.set_unit(unit::SHADER);
    let mut lanes = Lanes { warp, uniforms, port };
    let result = loop {
        match step(program, check, &mut tracker, &mut lanes, budget) {
            Ok(None) => {}
            Ok(Some(stop)) => break Ok(stop),
            Err(trapped) => break Err(trapped),
        }
    };
    port.memory.set_unit(before);
    warp.tracker = Some(tracker);
    result
}

/// Executes an operation; returns why the warp stops.
fn step(
    program: &Program,
    check: &ProgramCheck,
    tracker: &mut Tracker,
    lanes: &mut Lanes<'_, '_>,
    budget: &mut u64,
) -> Result<Option<Stop>, RaisedTrap> {
    let Some(index) = next(program, lanes.warp, budget)? else { return Ok(Some(Stop::End)) };
    tracker.begin(check, program, lanes.warp, index);
    let samples = check.samples[check.places[index as usize].access as usize];
    lanes.port.memory.set_unit(if samples { unit::TEXTURE } else { unit::SHADER });
    execute(lanes, &program.ops[index as usize], index)
}
