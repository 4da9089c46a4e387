//! Queues of devices: submissions reach the kernel in their order, each once what it waits for is submitted.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use tepui_drm::client::Wait;
use tepui_drm::{Errno, monotonic_ns};
use vulkanalia_sys as vk;

use crate::backend::{Backend, QueueId, SyncPoint};
use crate::debug::{self, Flags};
use crate::entry;
use crate::error::{Error, Result};
use crate::object::dispatch;
use crate::table::Table;

/// A queue of a device.
#[repr(C)]
pub struct Queue<B: Backend> {
    /// Commands of the family; first, as [`crate::dispatch`] expects.
    commands: &'static Table,
    pub(crate) id: QueueId,
    device: Arc<B::Device>,
    lost: Arc<AtomicBool>,
    /// A timeline whose points are submissions, in their order.
    timeline: u32,
    state: Arc<(Mutex<Pending>, Condvar)>,
    worker: Option<JoinHandle<()>>,
}

/// Submissions that wait for others to be submitted.
struct Pending {
    /// The last point of the timeline that is given to a submission.
    last: u64,
    jobs: VecDeque<Job>,
    /// The worker is submitting a job.
    busy: bool,
    ends: bool,
}

/// Semaphores that a submission waits for and signals.
pub(crate) struct Semaphores {
    pub waits: Vec<SyncPoint>,
    pub signals: Vec<SyncPoint>,
}

/// Hands a submission to the kernel: what it waits for and what it signals.
pub(crate) type Run = Box<dyn FnOnce(&[SyncPoint], &[SyncPoint]) -> Result<()> + Send>;

/// A submission on its way to the kernel.
struct Job {
    waits: Vec<SyncPoint>,
    signals: Vec<SyncPoint>,
    run: Run,
    /// Whether it takes long, so that the worker thread runs it.
    is_long: bool,
}

fn lock(m: &Mutex<Pending>) -> std::sync::MutexGuard<'_, Pending> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The sync objects that have no fence yet make a submission wait in user space.
fn is_available<B: Backend>(
    device: &B::Device,
    waits: &[SyncPoint],
    deadline_ns: i64,
) -> Result<bool> {
    if waits.is_empty() {
        return Ok(true);
    }
    let (handles, points): (Vec<u32>, Vec<u64>) = waits.iter().copied().unzip();
    let wait = Wait { deadline_ns, all: true, for_submit: true, available: true };
    match B::node(device).wait_syncs(&handles, &points, wait) {
        Ok(_) => Ok(true),
        Err(Errno::TIME) => Ok(false),
        Err(e) => Err(Error::kernel("waiting for a submission", e)),
    }
}

impl<B: Backend> Queue<B> {
    pub(crate) fn new(
        commands: &'static Table,
        id: QueueId,
        device: Arc<B::Device>,
        lost: Arc<AtomicBool>,
    ) -> Result<Queue<B>> {
        let timeline = B::node(&device)
            .create_sync(false)
            .map_err(|e| Error::kernel("creating a sync object", e))?;
        let pending = Pending { last: 0, jobs: VecDeque::new(), busy: false, ends: false };
        let state = Arc::new((Mutex::new(pending), Condvar::new()));
        Ok(Queue { commands, id, device, lost, timeline, state, worker: None })
    }

    /// Submits immediately, or after the pending submissions.
    fn push(&mut self, mut job: Job) -> Result<()> {
        if self.lost.load(Ordering::Acquire) {
            return Err(lost());
        }
        let mut pending = lock(&self.state.0);
        pending.last += 1;
        job.signals.push((self.timeline, pending.last));
        let is_first = pending.jobs.is_empty() && !pending.busy;
        if is_first && !job.is_long && is_available::<B>(&self.device, &job.waits, 0)? {
            drop(pending);
            return run(&self.lost, job);
        }
        pending.jobs.push_back(job);
        drop(pending);
        self.state.1.notify_all();
        if self.worker.is_none() {
            let (device, lost, state) =
                (self.device.clone(), self.lost.clone(), self.state.clone());
            let worker = std::thread::Builder::new()
                .name("tepui-submit".to_owned())
                .spawn(move || work::<B>(&device, &lost, &state))
                .map_err(|_| Error::host_memory())?;
            self.worker = Some(worker);
        }
        Ok(())
    }

    /// Waits until everything that was submitted is done.
    pub fn wait_idle(&self) -> Result<()> {
        let last = lock(&self.state.0).last;
        if last == 0 {
            return Ok(());
        }
        wait_for::<B>(&self.device, &self.lost, &[(self.timeline, last)])?;
        if self.lost.load(Ordering::Acquire) { Err(lost()) } else { Ok(()) }
    }

    /// Signals semaphores once others are signalled, and all earlier submissions are done.
    pub(crate) fn submit_nothing(&mut self, semaphores: Semaphores) -> Result<()> {
        let (device, queue) = (self.device.clone(), self.id);
        let run = move |waits: &[SyncPoint], signals: &[SyncPoint]| {
            B::submit(&device, queue, waits, &[], signals)
        };
        self.submit_run(semaphores, Box::new(run), false)
    }

    /// Submits what `run` does; the worker thread runs it if it takes long.
    pub(crate) fn submit_run(
        &mut self,
        semaphores: Semaphores,
        run: Run,
        is_long: bool,
    ) -> Result<()> {
        let Semaphores { waits, signals } = semaphores;
        self.push(Job { waits, signals, run, is_long })?;
        if debug::flags().contains(Flags::SYNC) { self.wait_idle() } else { Ok(()) }
    }

    /// The family's device, and whether it is lost.
    pub(crate) fn device(&self) -> (Arc<B::Device>, Arc<AtomicBool>) {
        (self.device.clone(), self.lost.clone())
    }
}

impl<B: Backend> Drop for Queue<B> {
    fn drop(&mut self) {
        let _ = self.wait_idle();
        // Work that `Backend::check` has submitted may still be queued, and uses objects of the device: it is
        // done when this submission is.
        if lock(&self.state.0).last != 0 && !self.lost.load(Ordering::Acquire) {
            let nothing = Semaphores { waits: Vec::new(), signals: Vec::new() };
            let _ = self.submit_nothing(nothing).and_then(|()| self.wait_idle());
        }
        lock(&self.state.0).ends = true;
        self.state.1.notify_all();
        if let Some(worker) = self.worker.take() {
            let _ = worker.join();
        }
        B::node(&self.device).destroy_sync(self.timeline);
    }
}

pub(crate) fn lost() -> Error {
    Error::new(vk::Result::ERROR_DEVICE_LOST, "the device is lost")
}

/// Whether the device is lost: a submission was refused, or the family says so now. Nothing else tells of a fault, so every wait
/// asks now and then.
pub(crate) fn is_lost<B: Backend>(device: &B::Device, lost: &AtomicBool) -> bool {
    if !lost.load(Ordering::Acquire) {
        let refused = B::check(device).err();
        if refused.is_some_and(|e| e.code == vk::Result::ERROR_DEVICE_LOST) {
            lost.store(true, Ordering::Release);
        }
    }
    lost.load(Ordering::Acquire)
}

/// Waits until all points are signalled.
pub(crate) fn wait_for<B: Backend>(
    device: &B::Device,
    lost_flag: &AtomicBool,
    points: &[SyncPoint],
) -> Result<()> {
    if points.is_empty() {
        return Ok(());
    }
    let (handles, values): (Vec<u32>, Vec<u64>) = points.iter().copied().unzip();
    loop {
        // A lost device signals nothing any more.
        let deadline_ns = monotonic_ns() as i64 + 100_000_000;
        let step = Wait { deadline_ns, all: true, for_submit: true, available: false };
        match B::node(device).wait_syncs(&handles, &values, step) {
            Ok(_) => return Ok(()),
            Err(Errno::TIME) if !is_lost::<B>(device, lost_flag) => {}
            Err(Errno::TIME) => return Err(lost()),
            Err(e) => return Err(Error::kernel("waiting for the queue", e)),
        }
    }
}

fn run(is_lost: &AtomicBool, job: Job) -> Result<()> {
    (job.run)(&job.waits, &job.signals).inspect_err(|e| {
        if e.code == vk::Result::ERROR_DEVICE_LOST {
            is_lost.store(true, Ordering::Release);
        }
    })
}

/// Submits jobs one after the other, each once what it waits for is submitted.
fn work<B: Backend>(device: &B::Device, lost_flag: &AtomicBool, state: &(Mutex<Pending>, Condvar)) {
    let mut pending = lock(&state.0);
    loop {
        let Some(job) = pending.jobs.pop_front() else {
            if pending.ends {
                return;
            }
            pending = state.1.wait(pending).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        pending.busy = true;
        drop(pending);
        let ready = loop {
            let deadline = monotonic_ns() as i64 + 100_000_000;
            match is_available::<B>(device, &job.waits, deadline) {
                Ok(false) if !is_lost::<B>(device, lost_flag) && !lock(&state.0).ends => {}
                other => break other,
            }
        };
        let result = ready.and_then(|ready| if ready { run(lost_flag, job) } else { Err(lost()) });
        if let Err(e) = result {
            lost_flag.store(true, Ordering::Release);
            eprintln!("tepui: a submission failed: {e}");
        }
        pending = lock(&state.0);
        pending.busy = false;
    }
}

entry! {
    /// `vkQueueWaitIdle`.
    fn vkQueueWaitIdle<B: Backend>(queue: vk::Queue) -> vk::Result {
        unsafe { dispatch::<Queue<B>>(queue).wait_idle()? }
        Ok(vk::Result::SUCCESS)
    }

    /// `vkQueueBeginDebugUtilsLabelEXT`.
    fn vkQueueBeginDebugUtilsLabelEXT<B: Backend>(_queue: vk::Queue, _label: *const vk::DebugUtilsLabelEXT) {}

    /// `vkQueueEndDebugUtilsLabelEXT`.
    fn vkQueueEndDebugUtilsLabelEXT<B: Backend>(_queue: vk::Queue) {}

    /// `vkQueueInsertDebugUtilsLabelEXT`.
    fn vkQueueInsertDebugUtilsLabelEXT<B: Backend>(_queue: vk::Queue, _label: *const vk::DebugUtilsLabelEXT) {}
}
