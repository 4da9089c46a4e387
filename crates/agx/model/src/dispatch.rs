//! Distributes the workgroups of a dispatch over worker threads.

use std::sync::Arc;

use tepui_softgpu::{AddressSpace, RangeCache};

use crate::Gpu;
use crate::gpu::Checks;
use crate::job::{JobFault, JobStats, Unit};
use crate::usc::check::race::Races;
use crate::usc::fpmode::FlushSubnormals;
use crate::usc::grid::Grid;
use crate::usc::launch::Launch;
use crate::usc::memory::{Port, WINDOWS, Window};
use crate::usc::row::LANES;
use crate::usc::workgroup::Worker;
use crate::watch::Dispatch;
use crate::workers::{Budget, share};

impl Gpu {
    /// Runs the preshader of a launch, if it has one, and copies the registers that it wrote to the
    /// launch.
    pub(crate) fn prepare<'v>(
        &self,
        vm: &AddressSpace,
        mut launch: Launch<'v>,
        stats: &mut JobStats,
    ) -> Result<Launch<'v>, JobFault> {
        if let Some(preshader) = launch.preshader.take() {
            let _mode = FlushSubnormals::enter();
            let rows = preshader.code.shared_rows(&launch.uniforms);
            let mut worker = Worker::new(self.port(vm, 0), &launch, self.options.checks());
            let budget = self.options.instruction_budget;
            let left = worker.run_preshader(&preshader, &rows, &launch, budget)?;
            stats.merge(&done(worker));
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
        let limit = self.options.instruction_budget;
        let launch = self.prepare(vm, launch, stats)?;
        if let Some(watch) = &self.options.watch {
            let (number, program) = (stats.launches - 1, launch.program.code.address());
            watch.observer().dispatch(&Dispatch { number, grid, program });
        }
        let rows = launch.program.code.shared_rows(&launch.uniforms);
        let [nx, ny, nz] = grid.workgroups().map(u64::from);
        let count = nx.saturating_mul(ny).saturating_mul(nz);
        let place =
            |index: u64| [(index % nx) as u32, (index / nx % ny) as u32, (index / nx / ny) as u32];
        let chunk = (count / (self.workers() as u64 * 16)).clamp(1, 64);
        let chunks = (0..count.div_ceil(chunk) as usize).map(|number| {
            let start = number as u64 * chunk;
            start..start.saturating_add(chunk).min(count)
        });
        // Compute groups of a workgroup, whose accesses may race.
        let groups =
            grid.local.iter().fold(1u32, |all, &n| all.saturating_mul(n)).div_ceil(LANES as u32);
        let races = (self.options.checks() == Checks::Audit).then(|| Arc::new(Races::new(groups)));
        let budget = Budget::new(stats.instructions, self.options.job_budget, Unit::Usc);
        let (parts, outcome) = share(
            self,
            chunks,
            |core| {
                let mut worker = Worker::new(self.port(vm, core), &launch, self.options.checks());
                worker.races.clone_from(&races);
                worker
            },
            |worker, chunk| {
                for index in chunk {
                    let before = worker.executed.instructions;
                    worker.number = index;
                    worker.run(&launch, &rows, &grid, place(index), limit)?;
                    // Each workgroup costs something even if its program is empty.
                    budget.spend(worker.executed.instructions - before + 1)?;
                }
                Ok(())
            },
            done,
        )?;
        parts.iter().for_each(|part| stats.merge(part));
        outcome
    }

    pub(crate) fn port<'v>(&self, vm: &'v AddressSpace, core: u32) -> Port<'v> {
        let mut ranges = RangeCache::default();
        ranges.refresh(vm);
        Port {
            vm,
            ranges,
            windows: [[Window::NONE; WINDOWS]; 2],
            core,
            soft_faults: 0,
            first_soft_fault: None,
            written_pages: Default::default(),
            sampler: Default::default(),
            texture: None,
            uninitialised: self.options.uninitialised,
            reports: Vec::new(),
            watch: self.options.watch.clone(),
        }
    }
}

/// The results of a worker.
pub(crate) fn done(worker: Worker<'_>) -> JobStats {
    let (soft_faults, first_soft_fault) = worker.soft_faults();
    JobStats {
        threads: worker.threads,
        instructions: worker.executed.instructions,
        fscib: worker.executed.fscib,
        ic: worker.executed.ic,
        soft_faults,
        first_soft_fault,
        reports: worker.into_reports(),
        ..JobStats::default()
    }
}
