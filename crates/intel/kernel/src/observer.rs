//! The observer interface for tracers and captures.

use tepui_drm::device::CallObserver;
use tepui_intel_model::{Batch, JobFault, JobStats};
use tepui_softgpu::AddressSpace;

/// A submission at the moment the GPU executes it.
#[derive(Clone, Copy)]
pub struct Execution<'a> {
    /// The open file, as in [`tepui_drm::device::Call::file`].
    pub file: u64,
    /// The context's id in the file.
    pub context: u32,
    /// Index of the engine in the context.
    pub engine: u32,
    /// Submissions of the device, counted from 1 in the order of their requests.
    pub submission: u64,
    /// The batch.
    pub batch: Batch,
    /// The GPU's address space.
    pub vm: &'a AddressSpace,
}

/// Observes ioctls (see [`CallObserver`]) and the execution of batches. The callbacks below run on
/// the queue's thread, so the queue makes no progress meanwhile.
pub trait Observer: CallObserver {
    /// Called when a batch is about to be executed.
    fn starting(&self, _execution: &Execution<'_>) {}

    /// Called when a batch has been executed.
    fn finished(&self, _execution: &Execution<'_>, _result: &Result<JobStats, JobFault>) {}
}
