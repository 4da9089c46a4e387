//! Distributes work over shader cores, within the budget of a job.

use tepui_softgpu::worker_pool;

use crate::Gpu;
use crate::job::{JobFault, Unit};
use crate::usc::fpmode::FlushSubnormals;

/// The remaining budget of a job, in instructions; a job that exceeds it counts as endless.
pub(crate) struct Budget {
    budget: worker_pool::Budget,
    unit: Unit,
}

impl Budget {
    /// A budget, part of which is spent already; `unit` is the source of the fault if it is
    /// exceeded.
    pub fn new(spent: u64, most: u64, unit: Unit) -> Budget {
        Budget { budget: worker_pool::Budget::new(spent, most), unit }
    }

    /// Spends some of it.
    ///
    /// # Errors
    /// If there is not so much left.
    pub fn spend(&self, cost: u64) -> Result<(), JobFault> {
        self.budget.spend(cost).map_err(|_| JobFault::endless(self.unit))
    }
}

/// As [`worker_pool::WorkerPool::share`], with the hardware's floating-point mode on each worker.
///
/// # Errors
/// If the host cannot start threads. The second value is the result of the work.
pub(crate) fn share<P, W, R: Send>(
    gpu: &Gpu,
    items: impl ExactSizeIterator<Item = P> + Send,
    begin: impl Fn(u32) -> W + Sync,
    run: impl Fn(&mut W, P) -> Result<(), JobFault> + Sync,
    finish: impl Fn(W) -> R + Sync,
) -> Result<(Vec<R>, Result<(), JobFault>), JobFault> {
    gpu.pool
        .share(
            items,
            |core| (FlushSubnormals::enter(), begin(core)),
            |(_, worker), item| run(worker, item),
            |(_mode, worker)| finish(worker),
        )
        .map_err(|e| JobFault::new(Unit::Usc, e.to_string()))
}
