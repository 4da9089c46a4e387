//! Spreads a dispatch's workgroups over the worker threads.

use std::sync::atomic::{AtomicU64, Ordering};

use tepui_softgpu::{AddressSpace, RangeCache};

use crate::Gpu;
use crate::job::{JobFault, JobStats, Unit};
use crate::usc::fpmode::FlushSubnormals;
use crate::usc::launch::{Grid, Launch};
use crate::usc::memory::{Port, WINDOWS, Window};
use crate::usc::workgroup::Worker;

impl Gpu {
    /// Runs the preshader of a launch, if it has one; what it left is in the launch then.
    pub(crate) fn prepare<'v>(
        &self,
        vm: &AddressSpace,
        mut launch: Launch<'v>,
        stats: &mut JobStats,
    ) -> Result<Launch<'v>, JobFault> {
        if let Some(preshader) = launch.preshader.take() {
            let _mode = FlushSubnormals::enter();
            let rows = preshader.shared_rows(&launch.uniforms);
            let mut worker = Worker::new(self.port(vm, &launch, 0), self.options.check);
            let budget = self.options.instruction_budget;
            let left = worker.run_preshader(&preshader, &rows, &launch, budget)?;
            add(stats, worker);
            launch.uniforms = left.stored_uniforms;
            launch.textures = left.textures;
            launch.samplers = left.samplers;
        }
        Ok(launch)
    }

    /// Runs the preshader and then every workgroup of a launch.
    pub(crate) fn dispatch(
        &self,
        vm: &AddressSpace,
        launch: Launch<'_>,
        grid: Grid,
        stats: &mut JobStats,
    ) -> Result<(), JobFault> {
        let budget = self.options.instruction_budget;
        let launch = self.prepare(vm, launch, stats)?;
        let rows = launch.program.shared_rows(&launch.uniforms);
        let [nx, ny, nz] = grid.workgroups().map(u64::from);
        let count = nx.saturating_mul(ny).saturating_mul(nz);
        // Each workgroup costs something even if its program is empty.
        let left = self.options.job_budget.saturating_sub(stats.instructions);
        let endless = || JobFault::endless(Unit::Usc);
        let place =
            |index: u64| [(index % nx) as u32, (index / nx % ny) as u32, (index / nx / ny) as u32];
        if count == 1 || self.workers() == 1 {
            let _mode = FlushSubnormals::enter();
            let mut worker = Worker::new(self.port(vm, &launch, 0), self.options.check);
            let result = (0..count).try_for_each(|index| {
                worker.run(&launch, &rows, &grid, place(index), budget)?;
                if worker.executed.saturating_add(index) > left { Err(endless()) } else { Ok(()) }
            });
            add(stats, worker);
            return result;
        }
        // Chunks are handed out in order; a worker keeps its memory from chunk to chunk.
        let chunk = (count / (self.workers() as u64 * 16)).clamp(1, 64);
        let next = AtomicU64::new(0);
        // The fault of the lowest workgroup wins, whoever met it first.
        let first_fault = AtomicU64::new(u64::MAX);
        let spent = AtomicU64::new(0);
        let results: Vec<(JobStats, Option<(u64, JobFault)>)> = self.pool()?.broadcast(|context| {
            let _mode = FlushSubnormals::enter();
            let mut worker =
                Worker::new(self.port(vm, &launch, context.index() as u32), self.options.check);
            let mut fault = None;
            'work: loop {
                let start = next.fetch_add(chunk, Ordering::Relaxed);
                if start >= count {
                    break;
                }
                let before = worker.executed;
                for index in start..start.saturating_add(chunk).min(count) {
                    if index > first_fault.load(Ordering::Relaxed) {
                        break 'work;
                    }
                    if let Err(e) = worker.run(&launch, &rows, &grid, place(index), budget) {
                        first_fault.fetch_min(index, Ordering::Relaxed);
                        fault = Some((index, e));
                        break 'work;
                    }
                }
                let cost = worker.executed - before + chunk;
                if spent.fetch_add(cost, Ordering::Relaxed).saturating_add(cost) > left {
                    first_fault.fetch_min(start, Ordering::Relaxed);
                    fault = Some((start, endless()));
                    break;
                }
            }
            let mut stats = JobStats::default();
            add(&mut stats, worker);
            (stats, fault)
        });
        let mut faults = Vec::new();
        for (part, fault) in results {
            stats.merge(&part);
            faults.extend(fault);
        }
        JobFault::lowest(faults)
    }

    pub(crate) fn port<'v>(
        &self,
        vm: &'v AddressSpace,
        launch: &'v Launch<'v>,
        core: u32,
    ) -> Port<'v> {
        let mut ranges = RangeCache::default();
        ranges.refresh(vm);
        Port {
            vm,
            ranges,
            windows: [[Window::NONE; WINDOWS]; 2],
            launch,
            core,
            soft_faults: 0,
            first_soft_fault: None,
            written_pages: Default::default(),
            sampler: Default::default(),
            texture: None,
            reports: Vec::new(),
        }
    }
}

/// Adds what a worker did.
pub(crate) fn add(stats: &mut JobStats, worker: Worker<'_>) {
    let (soft_faults, first_soft_fault) = worker.soft_faults();
    stats.merge(&JobStats {
        launches: 0,
        threads: worker.threads,
        instructions: worker.executed,
        soft_faults,
        first_soft_fault,
        reports: worker.into_reports(),
    });
}
