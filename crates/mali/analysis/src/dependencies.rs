//! Dependency masks of Bifrost: whether a program waits for the results of its messages.
//!
//! A clause ends with at most one message to a unit outside of the execution engine, which completes later and has one of
//! eight slots. A clause's header says for which slots the next clause waits, and whether it waits until messages have read their
//! staging registers. The hardware does not check. The checker follows all paths of a program until nothing changes and
//! reports each access of a register that a message may still write, each write of one that it may still
//! read, and units that need waits of their own.
//!
//! Counts of registers that a descriptor or mask determines are taken for one, so that nothing is reported that is right.
//!
//! source: Mesa, bi_scoreboard.c (the rules at its head), bi_schedule.c (slots 6 and 7).

use std::collections::BTreeMap;

use tepui_mali_isa::bifrost::clause::{Clause, Tuple, WORD_BYTES};
use tepui_mali_isa::bifrost::disasm::{Content, Fau, parts};
use tepui_mali_isa::bifrost::header::Message;
use tepui_mali_isa::bifrost::registers::Access as PortAccess;
use tepui_mali_isa::bifrost::{Flow, Inst, Port};

use crate::dataflow;
use crate::scoreboard::{
    Access, BLEND_SHADER_REGISTERS, COLOUR, DEPTH, Hazard, SLOTS, State, range,
};
use crate::slots::Finding;

/// Slots of messages.
const MESSAGE_SLOTS: u8 = 0x3f;

/// Limit on the visits of clauses.
const MAX_STEPS: usize = 1_000_000;

/// A program that is not analysed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DependencyError {
    /// Bytes that are no clause.
    #[error("{offset:#x}: the bytes encode no clause")]
    Decode {
        /// Offset in bytes.
        offset: usize,
    },
    /// A branch to an address that is computed, or to no clause.
    #[error("{offset:#x}: the target of the branch is not in the program")]
    Target {
        /// Offset of the clause in bytes.
        offset: usize,
    },
    /// The paths do not settle within the limit on visits.
    #[error("the program has too many paths: {MAX_STEPS} steps were not enough")]
    TooManyPaths,
}

/// A clause as the checker sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Step {
    /// Offset in bytes.
    offset: usize,
    access: Access,
    next: Vec<usize>,
}

/// The staging registers of a message: those of a format, a number, or at least one.
fn staging_count(inst: &Inst, count: &str) -> u8 {
    match count {
        "format" => {
            let channels = match inst.modifier("vecsize") {
                Some("v2") => 2u8,
                Some("v3") => 3,
                Some("v4") => 4,
                _ => 1,
            };
            let format = inst.modifier("register_format").unwrap_or_default();
            if format.ends_with("16") { channels.div_ceil(2) } else { channels }
        }
        number => number.parse().unwrap_or(1),
    }
}

/// Registers that a clause accesses, and its slots. Its waits are for the next clause.
#[must_use]
pub fn access(clause: &Clause) -> Access {
    let header = &clause.header;
    let mut access =
        Access { waits: header.wait, staging_barrier: header.staging_barrier, ..Access::default() };
    for (index, tuple) in clause.tuples.iter().enumerate() {
        if let Some(ports) = clause.ports(index) {
            let two = (ports.port2.0 == PortAccess::Read).then_some(ports.port2.1);
            let registers = [ports.read[0], ports.read[1], two];
            for port in tuple.fma.sources.iter().chain(&tuple.add.sources) {
                let register = match port {
                    Port::Zero => registers[0],
                    Port::One => registers[1],
                    Port::Two => registers[2],
                    _ => None,
                };
                access.reads |= register.map_or(0, |register| range(register, 1));
            }
        }
        let (fma, add) = clause.writes(index).unwrap_or_default();
        for (register, _) in fma.into_iter().chain(add) {
            access.writes |= range(register, 1);
        }
        message(&mut access, &tuple.add, header.staging, header.slot);
        if tuple.add.op.row().name == "BLEND" && may_call(tuple) {
            access.discards |= BLEND_SHADER_REGISTERS & !access.results;
        }
    }
    if header.flow == Flow::End {
        access.discards = 0;
    }
    access
}

/// Whether the BLEND of a tuple may call a blend shader: if its descriptor is the draw's. Blend shaders have it in constants.
fn may_call(tuple: &Tuple) -> bool {
    let descriptor = matches!(Fau::of(tuple.registers.fau()), Fau::Special(8..16));
    let is_fau = |port: &Port| matches!(port, Port::FauLow | Port::FauHigh);
    descriptor && tuple.add.sources.iter().any(is_fau)
}

/// Adds what a clause's message accesses.
fn message(access: &mut Access, inst: &Inst, register: u8, slot: u8) {
    let row = inst.op.row();
    if row.message == Message::None {
        return;
    }
    access.slot = Some(slot % SLOTS as u8);
    if let Some(staging) = row.staging {
        let set = range(register, staging_count(inst, staging.count));
        access.staging = if staging.read { set } else { 0 };
        access.results = if staging.write { set } else { 0 };
    }
    match row.name {
        "BARRIER" => access.idle = MESSAGE_SLOTS,
        "ATEST" => access.needs = DEPTH,
        "BLEND" => access.needs = DEPTH | COLOUR,
        "ST_TILE" => access.needs = COLOUR,
        _ => {}
    }
}

/// A program's clauses, for the checker of dependencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clauses(Vec<Step>);

impl Clauses {
    /// Decodes a program: clauses up to the end of the bytes, or up to zeros after the clause that ends it.
    ///
    /// # Errors
    /// Bytes are no clause, or a branch leads to none.
    pub fn decode(code: &[u8]) -> Result<Clauses, DependencyError> {
        let mut clauses = Vec::new();
        for part in parts(code, 0) {
            match part.content {
                Content::Clause(clause) => clauses.push((part.offset, clause)),
                Content::Padding => break,
                Content::Error(_) => return Err(DependencyError::Decode { offset: part.offset }),
            }
        }
        let place: BTreeMap<usize, usize> =
            clauses.iter().enumerate().map(|(n, (at, _))| (at / WORD_BYTES, n)).collect();
        let mut steps = Vec::new();
        for (n, (offset, clause)) in clauses.iter().enumerate() {
            let mut step = Step { offset: *offset, access: access(clause), next: Vec::new() };
            let mut goes_on = clause.header.flow != Flow::End;
            for (index, tuple) in clause.tuples.iter().enumerate() {
                let name = tuple.add.op.row().name;
                if name != "JUMP" && !name.starts_with("BRANCH") {
                    continue;
                }
                let source = tuple.add.sources.last().copied().unwrap_or_default();
                // Lanes end at a branch to the special value 0.
                let target = clause.branch_target(index, source, offset / WORD_BYTES);
                if let Some(target) = target {
                    let known = place.get(&target).copied();
                    step.next.push(known.ok_or(DependencyError::Target { offset: *offset })?);
                }
                goes_on &= name != "JUMP";
            }
            if goes_on && n + 1 < clauses.len() {
                step.next.push(n + 1);
            }
            steps.push(step);
        }
        Ok(Clauses(steps))
    }

    /// Number of clauses.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Offset of a clause in bytes.
    ///
    /// # Panics
    /// If there is no such clause.
    #[must_use]
    pub fn offset(&self, n: usize) -> usize {
        self.0[n].offset
    }

    /// Finds accesses that the waits of the program do not order, by clause.
    ///
    /// # Errors
    /// The program exceeds the limit on visits.
    pub fn check(&self) -> Result<Vec<Finding>, DependencyError> {
        let steps = &self.0;
        // The renderer state may wait for the hardware's own tests before the first clause.
        let start = State::start();
        let step = |n: usize, state: &mut State| state.step(&steps[n].access);
        let next = |n: usize| steps[n].next.iter().copied();
        let entries = dataflow::entries([steps.len(), MAX_STEPS], start, step, next, State::merge);
        let entries = entries.ok_or(DependencyError::TooManyPaths)?;
        let mut findings = Vec::new();
        for (n, (step, entry)) in steps.iter().zip(&entries).enumerate() {
            if let Some(state) = entry.filter(|_| n > 0 || step.access.needs == 0) {
                state.hazards(&step.access, |hazard, register, slot| {
                    findings.push(Finding { inst: n, hazard, register, slot });
                });
            }
        }
        findings.sort();
        Ok(findings)
    }

    /// One sentence about a finding.
    #[must_use]
    pub fn text(&self, finding: &Finding) -> String {
        let at = format!("the clause at {:#x}", self.offset(finding.inst));
        let register = finding.register.unwrap_or_default();
        let slot = finding.slot.unwrap_or_default();
        match finding.hazard {
            Hazard::ReadDiscarded => {
                format!("{at} reads r{register}, which a blend shader may have changed")
            }
            Hazard::ReadPending => format!(
                "{at} reads r{register}, which a message of slot {slot} writes: a wait for the slot is missing before it"
            ),
            Hazard::WritePending => format!(
                "{at} writes r{register}, which a message of slot {slot} writes later: a wait for the slot is missing before it"
            ),
            Hazard::WriteStaging => format!(
                "{at} writes r{register}, which a message of slot {slot} may not have read yet: a staging barrier is missing before it"
            ),
            Hazard::BarrierPending => format!(
                "{at} has a barrier while messages of slot {slot} are in flight: a wait for the slot is missing before it"
            ),
            Hazard::Unsynchronised => {
                format!("{at} needs a wait for slot {slot}, which the clause before has to name")
            }
        }
    }
}
