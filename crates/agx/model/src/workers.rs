//! Distributes work over shader cores, within the budget of a job.

use std::convert::Infallible;

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

/// Version of [`worker_pool::WorkerPool::share`] with the hardware's floating-point mode on each worker.
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

/// The results of a function of each item, in the order of the items.
///
/// # Errors
/// If the host cannot start threads.
pub(crate) fn map<P, R: Send>(
    gpu: &Gpu,
    items: impl ExactSizeIterator<Item = P> + Send,
    run: impl Fn(P) -> R + Sync,
) -> Result<Vec<R>, JobFault> {
    let one = |done: &mut Vec<(usize, R)>, (number, item)| {
        done.push((number, run(item)));
        Ok::<_, Infallible>(())
    };
    let shared = gpu.pool.share(items.enumerate(), |_| Vec::new(), one, |done| done);
    let (parts, Ok(())) = shared.map_err(|e| JobFault::new(Unit::Usc, e.to_string()))?;
    let mut all: Vec<(usize, R)> = parts.into_iter().flatten().collect();
    all.sort_unstable_by_key(|&(number, _)| number);
    Ok(all.into_iter().map(|(_, result)| result).collect())
}
