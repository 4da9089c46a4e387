//! Execution of batches.

use std::sync::PoisonError;

use tepui_softgpu::AddressSpace;

use crate::context::HardwareContext;
use crate::gpu::Gpu;
use crate::job::{Batch, JobFault, JobStats};
use crate::stream::Stream;

impl Gpu {
    /// Runs a batch to its end.
    ///
    /// # Errors
    /// The fault that ended it. The context's state is then undefined.
    pub fn execute(
        &self,
        vm: &AddressSpace,
        context: &mut HardwareContext,
        batch: &Batch,
    ) -> Result<JobStats, JobFault> {
        if let Some(memory) = &self.relaxed {
            let _running = memory.batch.lock().unwrap_or_else(PoisonError::into_inner);
            vm.observe(memory.clone());
            let schedule = memory.begin();
            let result = Stream::new(self, vm, context).with_schedule(schedule).run(batch);
            memory.end(vm);
            return result.map(|stats| self.with_reports(stats));
        }
        let Some(order) = &self.order else {
            return Stream::new(self, vm, context).run(batch);
        };
        // Batches of other contexts wait: they run on the same engine.
        let _running = order.batch.lock().unwrap_or_else(PoisonError::into_inner);
        vm.observe(order.clone());
        order.begin();
        let result = Stream::new(self, vm, context).run(batch);
        let (reports, removals) = order.end(vm);
        let mut stats = result?;
        stats.removals = removals;
        if let Some(all) = &self.reports {
            reports.into_iter().for_each(|report| all.add(report));
        }
        Ok(self.with_reports(stats))
    }
}
