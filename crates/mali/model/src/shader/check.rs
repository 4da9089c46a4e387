//! The checker of messages: registers that are accessed before the message that writes or reads them is waited for.
//!
//! The interpreter executes a message at once. Under the checker its results are kept aside until the program has waited for
//! its slot, and the registers hold [`POISON`] until then, as they do after the mark of a value's last use and after
//! a blend shader. So a program that forgets a wait computes something else, and each such access is reported. The rules are
//! those of [`tepui_mali_analysis::scoreboard`].
//!
//! Lanes that have taken different ways have a [`State`] each. An instruction (on Bifrost a clause) takes effect on it when the
//! lanes begin the next one.

pub mod accesses;

#[cfg(test)]
mod tests;

use accesses::ProgramCheck;
use arrayvec::ArrayVec;
use tepui_mali_analysis::Hazard;
use tepui_mali_analysis::scoreboard::BLEND_SHADER_REGISTERS;
use tepui_mali_isa::Op as Isa;
use tepui_softgpu::{ProgramPoint, Report};

use super::op::Lanes;
use super::program::Program;
use super::step::{Stop, execute, next};
use crate::job::ReportKind;
use crate::order::unit;
use crate::units::Port;
use crate::warp::Warp;
use crate::warp::row::LANES;
use crate::warp::tracker::{Group, Saved, Tracker, members, poison};
use crate::warp::trap::RaisedTrap;
use crate::warp::uniforms::Uniforms;

/// Reports an access that nothing orders.
fn report(
    check: &ProgramCheck,
    program: &Program,
    index: u32,
    hazard: Hazard,
    [register, slot]: [u8; 2],
) {
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
            format!("r{register} is read after the mark of its last use, or after a blend shader"),
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
        program: check.fingerprint,
        offset: program.offset(index),
        text: program.text(index as usize),
    };
    check.reports.add(Report { kind, what, at });
}

/// Begins an instruction or a clause with the active lanes.
fn begin(
    tracker: &mut Tracker,
    check: &ProgramCheck,
    program: &Program,
    warp: &mut Warp,
    index: u32,
) {
    let place = check.places[index as usize];
    if !place.begins {
        return;
    }
    let active = warp.mask;
    let mut groups = std::mem::take(&mut tracker.groups);
    let mut here: ArrayVec<Group, LANES> = ArrayVec::new();
    for group in &mut groups {
        let lanes = group.lanes & active;
        if lanes == 0 {
            continue;
        }
        group.lanes &= !active;
        let mut own = Group { lanes, ..*group };
        if let Some(open) = own.open {
            close(tracker, check, program, warp, open, index, &mut own);
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
                let named = [register, slot].map(|number| number.unwrap_or(0));
                report(check, program, index, hazard, named);
            }
        });
    }
    // Groups are disjoint and not empty, so that there is always capacity.
    groups.extend(here);
    tracker.groups = groups;
}

/// Lets an instruction or clause take effect, of which the lanes continue at an operation.
fn close(
    tracker: &mut Tracker,
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
        for register in members(access.results) {
            let value = warp.registers[usize::from(register)];
            tracker.save(Saved { slot, register, lanes: group.lanes, value });
        }
        poison(&mut warp.registers, access.results, group.lanes);
    }
    poison(&mut warp.registers, access.discards, group.lanes);
    if access.waits != 0 {
        tracker.deliver(&mut warp.registers, access.waits, group.lanes);
    }
    group.state.step(&access);
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
        tracker.enter(program.address, &mut warp.registers);
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
    begin(tracker, check, program, lanes.warp, index);
    let samples = check.samples[check.places[index as usize].access as usize];
    lanes.port.memory.set_unit(if samples { unit::TEXTURE } else { unit::SHADER });
    execute(lanes, &program.ops[index as usize], index)
}
