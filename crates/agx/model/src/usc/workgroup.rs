//! Runs one workgroup: its SIMD-groups in turn, from barrier to barrier.

use std::sync::Arc;

use super::check::race::Races;
use super::check::{Audit, Checker};
use super::code::Code;
use super::counts::Counts;
use super::grid::Grid;
use super::lanes::Lanes;
use super::launch::Launch;
use super::memory::Port;
use super::place::{Place, Position};
use super::program::Program;
use super::row::{LANES, Row};
use super::shared::Shared;
use super::stack::Stack;
use super::stage::Stage;
use super::threads::Threads;
use super::{helper, run::Outcome};
use crate::gpu::Checks;
use crate::job::{
    FaultKind, GroupFault, JobFault, ProgramPoint, Report, ReportKind, Unit, add_reports,
};

/// Registers that fixed function may fill before a program runs, even if the program does not use
/// them.
pub const PRELOADED_ROWS: usize = 8;

/// One worker's memory, reused from workgroup to workgroup.
pub struct Worker<'v> {
    port: Port<'v>,
    launch: &'v Launch<'v>,
    shared: Shared,
    registers: Vec<Row>,
    groups: Vec<Group>,
    threads_of: Threads,
    /// Counters of its groups.
    pub executed: Counts,
    /// Threads run.
    pub threads: u64,
    /// Level of checking.
    checks: Checks,
    /// Race detector of the launch.
    pub races: Option<Arc<Races>>,
    /// The number of the workgroup that runs.
    pub number: u64,
    /// Reports of the checker.
    pub reports: Vec<Report>,
}

/// A suspended SIMD-group.
struct Group {
    pc: usize,
    exec: u32,
    alive: u32,
    stack: Stack,
    executed: Counts,
    done: bool,
    checker: Option<Box<Checker>>,
}

impl<'v> Worker<'v> {
    /// A worker for one launch.
    pub fn new(port: Port<'v>, launch: &'v Launch<'v>, checks: Checks) -> Worker<'v> {
        Worker {
            port,
            launch,
            shared: Shared::default(),
            registers: Vec::new(),
            groups: Vec::new(),
            threads_of: Threads::default(),
            executed: Counts::default(),
            threads: 0,
            checks,
            races: None,
            number: 0,
            reports: Vec::new(),
        }
    }

    /// Accesses of memory that is not bound, and the first of them.
    pub fn soft_faults(&self) -> (u64, Option<tepui_softgpu::Fault>) {
        (self.port.soft_faults, self.port.first_soft_fault)
    }

    /// Reports of the checker and the texture unit.
    pub fn into_reports(self) -> Vec<Report> {
        let mut reports = self.reports;
        add_reports(&mut reports, &self.port.reports);
        reports
    }

    /// Runs one program on one lane to its end, as a preshader; returns its uniform, texture state
    /// and sampler state registers.
    pub fn run_preshader(
        &mut self,
        program: &Arc<Program>,
        shared_rows: &[Row],
        launch: &Launch<'_>,
        budget: u64,
    ) -> Result<Shared, JobFault> {
        self.shared.stored_uniforms = launch.uniforms.clone();
        launch.enter(&mut self.shared);
        self.registers.clear();
        let rows = program.code.register_rows();
        self.registers.resize(rows, Row::ZERO);
        initialise(&mut self.registers, rows, self.port.uninitialised);
        self.run_alone(program, shared_rows, Stage::Compute, 1, budget, "a preshader")?;
        Ok(std::mem::take(&mut self.shared))
    }

    /// Prepares a launch for the groups that [`Worker::run_entered`] runs.
    pub fn enter(&mut self, launch: &'v Launch<'v>) {
        self.launch = launch;
        launch.enter(&mut self.shared);
    }

    /// Local memory: in fragment and end-of-tile programs, the tilebuffer.
    pub fn local(&mut self) -> &mut Vec<u8> {
        &mut self.shared.local
    }

    /// Makes local memory `bytes` large and unwritten.
    pub fn clear_local(&mut self, bytes: usize) {
        let local = &mut self.shared.local;
        local.clear();
        local.resize(bytes, 0);
        if self.port.uninitialised != 0 {
            let word = self.port.uninitialised.to_le_bytes();
            local.chunks_mut(4).for_each(|c| c.copy_from_slice(&word[..c.len()]));
        }
    }

    /// Diagnostics of the texture unit and the pixel back end.
    pub fn notes(&mut self) -> &mut tepui_agx_texture::Notes {
        &mut self.port.sampler.notes
    }

    /// The registers of the group that [`Worker::run_group`] runs next, uninitialised, for units
    /// that preload some.
    pub fn preload(&mut self, code: &Code) -> &mut [Row] {
        self.registers.clear();
        let rows = code.register_rows().max(PRELOADED_ROWS);
        self.registers.resize(rows, Row::ZERO);
        initialise(&mut self.registers, rows, self.port.uninitialised);
        &mut self.registers
    }

    /// Runs one SIMD-group of a vertex or fragment program to its end. Its registers are those that
    /// [`Worker::preload`] gave.
    pub fn run_group(
        &mut self,
        launch: &Launch<'_>,
        shared_rows: &[Row],
        stage: Stage<'_>,
        alive: u32,
        budget: u64,
    ) -> Result<(), JobFault> {
        launch.enter(&mut self.shared);
        self.run_drawing(&launch.program, shared_rows, stage, alive, budget)
    }

    /// Runs one SIMD-group of the launch that was entered. Its registers are those that
    /// [`Worker::preload`] gave.
    pub fn run_entered(
        &mut self,
        shared_rows: &[Row],
        stage: Stage<'_>,
        alive: u32,
        budget: u64,
    ) -> Result<(), JobFault> {
        let launch = self.launch;
        self.run_drawing(&launch.program, shared_rows, stage, alive, budget)
    }

    fn run_drawing(
        &mut self,
        program: &Arc<Program>,
        shared_rows: &[Row],
        stage: Stage<'_>,
        alive: u32,
        budget: u64,
    ) -> Result<(), JobFault> {
        self.threads += u64::from(alive.count_ones());
        let who = "a program of the graphics pipeline";
        self.run_alone(program, shared_rows, stage, alive, budget, who)
    }

    /// Runs one SIMD-group without a workgroup to its end; `who` names it in faults.
    fn run_alone(
        &mut self,
        program: &Arc<Program>,
        shared_rows: &[Row],
        stage: Stage<'_>,
        alive: u32,
        budget: u64,
        who: &str,
    ) -> Result<(), JobFault> {
        let launch = self.launch;
        let mut lanes = Lanes::new(
            &mut self.registers,
            shared_rows,
            &program.code,
            alive,
            Place { local_size: [1; 3], grid: [1; 3], ..Place::default() },
            &mut self.shared,
            &mut self.port,
        );
        lanes.budget = budget;
        let quads = matches!(stage, Stage::Fragment(_));
        lanes.checker = match self.checks {
            Checks::Off => None,
            checks => {
                let footprints = program.footprints();
                let audit = (checks == Checks::Audit).then(|| Audit::new(footprints, None, 0, 0));
                let preloaded = stage.preloaded();
                Some(Box::new(program.checker(preloaded, [quads, false], [0; 3], audit)))
            }
        };
        lanes.enter(stage);
        let outcome = helper::run_group(&mut lanes, program, launch);
        self.executed += lanes.executed;
        if let Some(checker) = lanes.checker.take() {
            add_reports(&mut self.reports, &checker.reports);
        }
        let stack = lanes.stack;
        let fault = match outcome {
            Outcome::Stop => None,
            Outcome::Barrier => {
                Some(point(&lanes, (FaultKind::Invalid, format!("{who} waits at a barrier"))))
            }
            Outcome::Scratch | Outcome::Fault => {
                let why = lanes.fault.take().unwrap_or_default();
                Some(point(&lanes, why))
            }
        };
        if stack.mapped {
            helper::free(&mut self.port, launch, stack.blocks)
                .map_err(|why| JobFault::new(Unit::Usc, why))?;
        }
        fault.map_or(Ok(()), Err)
    }

    /// Runs one workgroup to its end.
    pub fn run(
        &mut self,
        launch: &Launch<'_>,
        shared_rows: &[Row],
        grid: &Grid,
        workgroup: [u32; 3],
        budget: u64,
    ) -> Result<(), JobFault> {
        let program: &Arc<Program> = &launch.program;
        let rows = program.code.register_rows();
        let place = Place {
            group: workgroup,
            local_size: grid.local,
            grid: grid.global,
            ..Place::default()
        };
        let threads = grid.local.iter().product::<u32>() as usize;
        let count = threads.div_ceil(LANES);
        self.clear_local(launch.local_bytes as usize);
        launch.enter(&mut self.shared);
        if self.checks == Checks::Audit {
            self.shared.local_shadow.get_or_insert_default().begin(launch.local_bytes as usize);
        }
        if self.checks != Checks::Off {
            self.shared.local_written.clear();
            self.shared.local_written.resize(launch.local_bytes as usize, false);
        }
        if !program.code.has_barriers() {
            return self.in_turn(program, shared_rows, place, threads, budget);
        }
        self.registers.clear();
        self.registers.resize(rows * count, Row::ZERO);
        initialise(&mut self.registers, rows, self.port.uninitialised);
        self.groups.clear();
        for index in 0..count {
            let alive = alive_lanes(&place, index * LANES, threads);
            self.threads += u64::from(alive.count_ones());
            self.groups.push(Group {
                pc: 0,
                exec: alive,
                alive,
                stack: Stack::default(),
                executed: Counts::default(),
                done: alive == 0,
                checker: checker(
                    self.checks,
                    self.races.as_ref(),
                    program,
                    place,
                    self.number,
                    index,
                ),
            });
        }
        let result = self.rounds(launch, shared_rows, place, budget);
        for group in self.groups.iter_mut().rev() {
            self.executed += group.executed;
            if let Some(checker) = group.checker.take() {
                add_reports(&mut self.reports, &checker.reports);
            }
            if group.stack.mapped {
                helper::free(&mut self.port, launch, group.stack.blocks)
                    .map_err(|why| JobFault::new(Unit::Usc, why))?;
            }
        }
        result
    }

    /// Runs the groups of a workgroup without barriers, each to its end, on the same registers.
    fn in_turn(
        &mut self,
        program: &Arc<Program>,
        shared_rows: &[Row],
        place: Place,
        threads: usize,
        budget: u64,
    ) -> Result<(), JobFault> {
        self.registers.resize(program.code.register_rows().max(self.registers.len()), Row::ZERO);
        let table = self.threads_of.of(place.local_size);
        let launch = self.launch;
        let mut lanes = Lanes::new(
            &mut self.registers,
            shared_rows,
            &program.code,
            0,
            place,
            &mut self.shared,
            &mut self.port,
        );
        lanes.position = Position::new(&place, &table[0]);
        lanes.budget = budget;
        for (index, rows) in table.iter().enumerate() {
            let first = index * LANES;
            let alive = alive_lanes(&place, first, threads);
            if alive == 0 {
                continue;
            }
            self.threads += u64::from(alive.count_ones());
            lanes.restart(index, alive, rows);
            lanes.checker =
                checker(self.checks, self.races.as_ref(), program, place, self.number, index);
            lanes.clear_registers(program.cleared_rows());
            let outcome = helper::run_group(&mut lanes, program, launch);
            self.executed += lanes.executed;
            if let Some(checker) = lanes.checker.take() {
                add_reports(&mut self.reports, &checker.reports);
            }
            if lanes.stack.mapped {
                helper::free(lanes.port, launch, lanes.stack.blocks)
                    .map_err(|why| JobFault::new(Unit::Usc, why))?;
            }
            if outcome != Outcome::Stop {
                let why = lanes.fault.take().unwrap_or_default();
                return Err(point(&lanes, why));
            }
        }
        Ok(())
    }

    /// Runs every group to its next barrier until all are done.
    fn rounds(
        &mut self,
        launch: &Launch<'_>,
        shared_rows: &[Row],
        place: Place,
        budget: u64,
    ) -> Result<(), JobFault> {
        let program: &Program = &launch.program;
        let rows = program.code.register_rows();
        let table = self.threads_of.of(place.local_size);
        let (mut running, mut round) = (true, 0u16);
        while running {
            running = false;
            round = round.saturating_add(1);
            if let Some(shadow) = &mut self.shared.local_shadow {
                shadow.barrier();
            }
            for (index, group) in self.groups.iter_mut().enumerate() {
                if group.done {
                    continue;
                }
                let mut lanes = Lanes::new(
                    &mut self.registers[index * rows..(index + 1) * rows],
                    shared_rows,
                    &program.code,
                    group.alive,
                    Place { first_thread: (index * LANES) as u32, index: index as u32, ..place },
                    &mut self.shared,
                    &mut self.port,
                );
                lanes.position = Position::new(&place, &table[index]);
                lanes.pc = group.pc;
                lanes.set_exec(group.exec);
                lanes.stack = group.stack;
                lanes.executed = group.executed;
                lanes.checker = group.checker.take();
                if let Some(audit) = lanes.checker.as_mut().and_then(|c| c.audit()) {
                    audit.epoch = round;
                }
                lanes.budget = budget;
                let outcome = helper::run_group(&mut lanes, program, launch);
                group.pc = lanes.pc;
                group.exec = lanes.exec;
                group.alive = lanes.alive;
                group.stack = lanes.stack;
                group.executed = lanes.executed;
                group.checker = lanes.checker.take();
                if let (Some(checker), Outcome::Barrier) = (&mut group.checker, outcome) {
                    checker.barrier(&program.code, group.pc, group.exec, group.alive);
                }
                match outcome {
                    Outcome::Stop => group.done = true,
                    Outcome::Barrier => running = true,
                    Outcome::Scratch | Outcome::Fault => {
                        group.done = true;
                        let why = lanes.fault.take().unwrap_or_default();
                        return Err(point(&lanes, why));
                    }
                }
            }
            if running && self.checks == Checks::Audit {
                unmet(&mut self.groups, program);
            }
        }
        Ok(())
    }
}

/// Reports a barrier at which not all SIMD-groups of the workgroup wait.
fn unmet(groups: &mut [Group], program: &Program) {
    let waits = |g: &Group| (!g.done && g.exec != 0).then_some(g.pc);
    let Some(first) = groups.iter().find_map(waits) else { return };
    let other = groups
        .iter()
        .enumerate()
        .find(|(_, g)| g.executed.instructions > 0 && (g.done || g.exec == 0 || g.pc != first))
        .map(|(index, g)| (index, g.done, g.exec == 0, g.pc));
    if let Some((index, ended, left, pc)) = other
        && let Some(group) = groups.iter_mut().find(|g| !g.done && g.exec != 0)
        && let Some(checker) = &mut group.checker
    {
        let what = match ended {
            true => format!("a barrier before which SIMD-group {index} has ended"),
            false if left => format!("a barrier that no lane of SIMD-group {index} executes"),
            false => {
                let at = program.code.describe(pc.saturating_sub(1)).0;
                format!("a barrier while SIMD-group {index} waits at another, at offset {at:#x}")
            }
        };
        checker.note(&program.code, group.pc - 1, ReportKind::DivergentBarrier, what, 0);
    }
}

/// The checker of a SIMD-group of a workgroup.
fn checker(
    checks: Checks,
    races: Option<&Arc<Races>>,
    program: &Arc<Program>,
    place: Place,
    number: u64,
    index: usize,
) -> Option<Box<Checker>> {
    if checks == Checks::Off {
        return None;
    }
    let footprints = program.footprints();
    let audit =
        (checks == Checks::Audit).then(|| Audit::new(footprints, races, number, index as u32));
    Some(Box::new(program.checker(&[], [false, true], place.group, audit)))
}

/// Fills the cleared registers of SIMD-groups, `rows` each, with their uninitialised value.
fn initialise(registers: &mut [Row], rows: usize, word: u32) {
    if word == 0 || rows == 0 {
        return;
    }
    for group in registers.chunks_mut(rows) {
        group.fill(Row::splat(word));
        group[0] = Row::splat(word & !0xffff);
    }
}

/// The lanes of a SIMD-group that are threads of the grid.
fn alive_lanes(place: &Place, first: usize, threads: usize) -> u32 {
    let whole = (0..3).all(|a| place.threads_here(a) == place.local_size[a]);
    if whole {
        return match threads - first {
            n if n >= LANES => u32::MAX,
            n => (1 << n) - 1,
        };
    }
    let here = Place { first_thread: first as u32, ..*place };
    let mut alive = 0;
    for lane in 0..LANES.min(threads - first) {
        let at = here.thread_in_group(lane);
        let inside = (0..3).all(|a| at[a] < place.threads_here(a));
        alive |= u32::from(inside) << lane;
    }
    alive
}

/// A fault at the instruction that a group has just executed.
fn point(lanes: &Lanes<'_, '_>, (kind, what): GroupFault) -> JobFault {
    let (offset, text) = lanes.code.describe(lanes.pc.saturating_sub(1));
    JobFault {
        program: Some(ProgramPoint { program: lanes.code.address(), offset, text }),
        ..JobFault::new(Unit::Usc, what).of(kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partial_workgroup_has_partial_lanes() {
        let place =
            Place { group: [1, 0, 0], local_size: [8, 4, 1], grid: [11, 3, 1], ..Place::default() };
        // 3 of 8 columns and 3 of 4 rows are inside.
        assert_eq!(alive_lanes(&place, 0, 32), 0x0007_0707);
        let whole = Place { group: [0; 3], local_size: [40, 1, 1], grid: [40, 1, 1], ..place };
        assert_eq!(alive_lanes(&whole, 0, 40), u32::MAX);
        assert_eq!(alive_lanes(&whole, 32, 40), 0xff);
    }
}
