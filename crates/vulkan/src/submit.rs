//! Submission of command buffers to queues, with the semaphores and fences of the API.

use std::ffi::c_void;

use vulkanalia_sys::{self as vk, Handle};

use crate::backend::{Backend, SyncPoint};
use crate::chain;
use crate::command::CommandBuffer;
use crate::draws::{DrawMode, Driver};
use crate::entry;
use crate::error::Result;
use crate::object::{dispatch, dispatch_mut, get, slice};
use crate::queue::{Queue, Semaphores};
use crate::sync::{Fence, Semaphore};

/// Semaphores of a batch, with the values of timelines from its chain.
///
/// # Safety
/// The chain is valid, and the semaphores are live.
pub(crate) unsafe fn semaphores_of<B: Backend>(
    next: *const c_void,
    waits: &[vk::Semaphore],
    signals: &[vk::Semaphore],
) -> Semaphores {
    // SAFETY: as the caller says.
    unsafe {
        let timeline: Option<&vk::TimelineSemaphoreSubmitInfo> =
            chain::find(next, vk::StructureType::TIMELINE_SEMAPHORE_SUBMIT_INFO);
        let (waited, signalled) = timeline.map_or((&[][..], &[][..]), |t| {
            (
                slice(t.wait_semaphore_values, t.wait_semaphore_value_count),
                slice(t.signal_semaphore_values, t.signal_semaphore_value_count),
            )
        });
        let value = |values: &[u64], k: usize| values.get(k).copied().unwrap_or(0);
        let (waits, signals) = (waits.iter().enumerate(), signals.iter().enumerate());
        Semaphores {
            waits: waits.filter_map(|(k, &h)| Semaphore::<B>::take(h, value(waited, k))).collect(),
            signals: signals.map(|(k, &h)| Semaphore::<B>::point(h, value(signalled, k))).collect(),
        }
    }
}

/// A command buffer that outlives the job, as the specification demands of applications.
struct CommandPointer<B: Driver>(*const CommandBuffer<B>);

// SAFETY: applications do not touch command buffers that are pending.
unsafe impl<B: Driver> Send for CommandPointer<B> {}

/// Submits command buffers.
fn submit<B: Driver>(
    queue: &mut Queue<B>,
    semaphores: Semaphores,
    commands: Vec<*const CommandBuffer<B>>,
) -> Result<()> {
    let (device, lost) = queue.device();
    let id = queue.id;
    // SAFETY: pending command buffers stay as they are.
    let is_late = commands.iter().any(|&c| B::Draws::has_rest(&unsafe { &*c }.draws));
    let commands: Vec<CommandPointer<B>> = commands.into_iter().map(CommandPointer).collect();
    let run = move |waits: &[SyncPoint], signals: &[SyncPoint]| {
        // SAFETY: as above.
        let commands: Vec<&CommandBuffer<B>> = commands.iter().map(|c| unsafe { &*c.0 }).collect();
        B::Draws::submit(&device, id, &lost, &commands, waits, signals)
    };
    queue.submit_run(semaphores, Box::new(run), is_late)
}

/// Signals a fence after all earlier submissions.
pub(crate) unsafe fn finish<B: Backend>(
    queue: &mut Queue<B>,
    fence: vk::Fence,
) -> Result<vk::Result> {
    if !fence.is_null() {
        // SAFETY: the fence is live.
        let fence: &Fence<B> = unsafe { get(fence) };
        let signals = vec![(fence.sync(), 0)];
        queue.submit_nothing(Semaphores { waits: Vec::new(), signals })?;
    }
    Ok(vk::Result::SUCCESS)
}

entry! {
    /// `vkQueueSubmit`.
    fn vkQueueSubmit<B: Driver>(queue: vk::Queue, count: u32, submits: *const vk::SubmitInfo, fence: vk::Fence) -> vk::Result {
        unsafe {
            let queue: &mut Queue<B> = dispatch_mut(queue);
            let submits = slice(submits, count);
            for s in submits {
                let waits = slice(s.wait_semaphores, s.wait_semaphore_count);
                let signals = slice(s.signal_semaphores, s.signal_semaphore_count);
                let semaphores = semaphores_of::<B>(s.next, waits, signals);
                let commands = slice(s.command_buffers, s.command_buffer_count).iter();
                let commands = commands.map(|&c| std::ptr::from_ref(dispatch::<CommandBuffer<B>>(c))).collect();
                submit(queue, semaphores, commands)?;
            }
            finish(queue, fence)
        }
    }

    /// `vkQueueSubmit2`.
    fn vkQueueSubmit2<B: Driver>(queue: vk::Queue, count: u32, submits: *const vk::SubmitInfo2, fence: vk::Fence) -> vk::Result {
        unsafe {
            let queue: &mut Queue<B> = dispatch_mut(queue);
            for s in slice(submits, count) {
                let waits = slice(s.wait_semaphore_infos, s.wait_semaphore_info_count).iter();
                let waits = waits.filter_map(|w| Semaphore::<B>::take(w.semaphore, w.value)).collect();
                let signals = slice(s.signal_semaphore_infos, s.signal_semaphore_info_count).iter();
                let signals = signals.map(|w| Semaphore::<B>::point(w.semaphore, w.value)).collect();
                let commands = slice(s.command_buffer_infos, s.command_buffer_info_count).iter();
                let commands = commands.map(|c| std::ptr::from_ref(dispatch::<CommandBuffer<B>>(c.command_buffer))).collect();
                submit(queue, Semaphores { waits, signals }, commands)?;
            }
            finish(queue, fence)
        }
    }
}
