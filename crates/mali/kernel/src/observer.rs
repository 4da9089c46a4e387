//! The observer interface for tracers and captures.

use tepui_drm::device::CallObserver;
use tepui_mali_model::{Completion, Stream};
use tepui_softgpu::AddressSpace;

/// A stream that a queue begins. A chain of jobs is represented as a stream of size 0, because its jobs
/// determine where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamStart {
    /// The queue's index in the group.
    pub queue: usize,
    /// Submissions of the device, counted from 1 in the order of their requests.
    pub submission: u64,
    /// The stream.
    pub stream: Stream,
}

/// A run of a group: its queues execute in turn until a stream has ended or all wait. A chain of jobs is a run of
/// group 0.
#[derive(Clone, Copy)]
pub struct Execution<'a> {
    /// The open file, as in [`tepui_drm::device::Call::file`].
    pub file: u64,
    /// The group's handle in the file.
    pub group: u32,
    /// The number of the run within the group, counted from 0.
    pub run: u32,
    /// The streams that queues begin with this run; other queues continue theirs.
    pub started: &'a [StreamStart],
    /// The GPU's address space.
    pub vm: &'a AddressSpace,
}

/// Observes ioctls (see [`CallObserver`]) and the execution of streams. The callbacks below run on
/// the group's thread, so the group makes no progress meanwhile.
pub trait Observer: CallObserver {
    /// Called when a group is about to run.
    fn starting(&self, _execution: &Execution<'_>) {}

    /// Called when a group has run, with the streams that ended.
    fn finished(&self, _execution: &Execution<'_>, _ended: &[Completion]) {}
}
