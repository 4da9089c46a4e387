//! The observer interface for tracers and captures.

use tepui_drm::device::CallObserver;
use tepui_mali_model::{Completion, Stream};
use tepui_softgpu::AddressSpace;

/// A stream that a queue begins. A chain of jobs is one too, of size 0: where it ends, its jobs say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Started {
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
    /// Which open file, as in [`tepui_drm::device::Call::file`].
    pub file: u64,
    /// The group's handle in the file.
    pub group: u32,
    /// Which run of the group, counted from 0.
    pub run: u32,
    /// The streams that queues begin with it; others go on with theirs.
    pub started: &'a [Started],
    /// The address space that the GPU sees.
    pub vm: &'a AddressSpace,
}

/// Observes ioctls (see [`CallObserver`]) and the execution of streams. The callbacks below run on
/// the group's thread, so the group makes no progress meanwhile.
pub trait Observer: CallObserver {
    /// A group is about to run.
    fn starting(&self, _execution: &Execution<'_>) {}

    /// A group has run; the streams that ended.
    fn finished(&self, _execution: &Execution<'_>, _ended: &[Completion]) {}
}
