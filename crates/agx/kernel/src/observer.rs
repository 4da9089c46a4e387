//! The observer interface for tracers and captures.

use tepui_agx_model::{ComputeJob, JobFault, JobStats, RenderJob};
use tepui_drm::device::CallObserver;
use tepui_softgpu::AddressSpace;

/// A hardware command as the model receives it.
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
    /// Number of the open file, as in [`tepui_drm::device::Call::file`].
    pub file: u64,
    /// The queue's id in the file.
    pub queue: u32,
    /// Submissions of the device, counted from 1 in the order of their requests.
    pub submission: u64,
    /// Hardware commands of the submission, counted from 0.
    pub command: usize,
    /// The command.
    pub work: &'a Work,
    /// The address space that the GPU sees.
    pub vm: &'a AddressSpace,
}

/// Observes ioctls (see [`CallObserver`]) and the execution of commands. The callbacks below run on
/// the queue's thread, so the queue makes no progress meanwhile.
pub trait Observer: CallObserver {
    /// A command is about to be executed.
    fn starting(&self, _execution: &Execution<'_>) {}

    /// A command has been executed.
    fn finished(&self, _execution: &Execution<'_>, _result: &Result<JobStats, JobFault>) {}
}
