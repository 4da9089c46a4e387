//! The hook for tracers and captures.

use tepui_agx_model::{ComputeJob, JobFault, JobStats, RenderJob};
use tepui_drm::device::CallObserver;
use tepui_softgpu::AddressSpace;

/// A hardware command, as the model gets it.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// A stream of dispatches.
    Compute(ComputeJob),
    /// A render pass.
    Render(Box<RenderJob>),
}

/// One command of a submission, at the moment the GPU executes it.
#[derive(Clone, Copy)]
pub struct Execution<'a> {
    /// Which open file, as in [`tepui_drm::device::Call::file`].
    pub file: u64,
    /// The queue's id in the file.
    pub queue: u32,
    /// Submissions of the device, counted from 1 in the order of their requests.
    pub submission: u64,
    /// Hardware commands of the submission, counted from 0.
    pub command: usize,
    /// What is executed.
    pub work: &'a Work,
    /// What the GPU sees of memory.
    pub vm: &'a AddressSpace,
}

/// Watches requests (see [`CallObserver`]) and what the GPU executes. The callbacks below run in the
/// queue's thread: while one of them runs, its queue stands still.
pub trait Observer: CallObserver {
    /// A command is about to be executed.
    fn starting(&self, _execution: &Execution<'_>) {}

    /// A command has been executed.
    fn finished(&self, _execution: &Execution<'_>, _result: &Result<JobStats, JobFault>) {}
}
