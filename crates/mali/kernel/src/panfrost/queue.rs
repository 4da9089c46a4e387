//! The queue of an open file: a thread that executes chains in the order of their submission.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tepui_drm::Errno;
use tepui_drm::fence::{Fence, notify, wait_until};
use tepui_drm::gem::Gem;
use tepui_drm::threads::Threads;
use tepui_mali_model::{Completion, JobContext, Stream};

use super::device::{Device, FaultRecord};
use super::space::Space;
use crate::device::report;
use crate::observer::{Execution, StreamStart};
use tepui_drm::lock;

/// A submitted chain of jobs.
pub struct Job {
    /// The submission, numbered from 1 within the device.
    pub submission: u64,
    /// The address of the first job.
    pub chain: u64,
    /// Fences that it waits for.
    pub waits: Vec<Fence>,
    /// The fence that it signals.
    pub done: Fence,
    /// The buffers that it names, kept alive until it ends.
    pub buffers: Vec<Arc<Gem>>,
}

/// The queue. Closing its file cancels unfinished jobs.
pub struct Queue(Arc<QueueState>);

struct QueueState {
    jobs: Mutex<VecDeque<Job>>,
    file_closed: Arc<AtomicBool>,
}

impl Queue {
    /// A queue with its thread.
    pub fn new(
        device: Arc<Device>,
        file: u64,
        space: Arc<Space>,
        threads: &Threads,
    ) -> Result<Queue, Errno> {
        let (jobs, file_closed) = (Mutex::default(), threads.closed());
        let shared = Arc::new(QueueState { jobs, file_closed });
        let own = shared.clone();
        threads.start(&format!("tepui-jobs-{file}"), move || own.work(&device, file, &space))?;
        Ok(Queue(shared))
    }

    /// Adds a job.
    pub fn push(&self, job: Job) {
        lock(&self.0.jobs).push_back(job);
        notify();
    }
}

impl QueueState {
    fn work(&self, device: &Device, file: u64, space: &Space) {
        let mut context = JobContext::default();
        let mut runs = 0u32;
        loop {
            let closed = || self.file_closed.load(Ordering::Acquire);
            let ready = wait_until(None, || {
                if closed() {
                    return Some(None);
                }
                let ready = |job: &mut Job| job.waits.iter().all(Fence::is_signaled);
                lock(&self.jobs).pop_front_if(ready).map(Some)
            });
            let Some(Some(job)) = ready else {
                for job in lock(&self.jobs).drain(..) {
                    job.done.signal(Err(Errno::CANCELED));
                }
                return;
            };
            let submission = job.submission;
            let started = [StreamStart {
                queue: 0,
                submission,
                stream: Stream { address: job.chain, size: 0 },
            }];
            let ended = space.run(|vm| {
                let execution = Execution { file, group: 0, run: runs, started: &started, vm };
                if let Some(observer) = &device.interface.options.observer {
                    observer.starting(&execution);
                }
                let outcome = device.gpu.chain(vm, &mut context, job.chain);
                let ended = [Completion { queue: 0, outcome }];
                if let Some(observer) = &device.interface.options.observer {
                    observer.finished(&execution, &ended);
                }
                ended
            });
            runs = runs.wrapping_add(1);
            report(&device.interface.options, &device.gpu.take_reports(), submission);
            let [Completion { outcome, .. }] = ended;
            let outcome = match outcome {
                Ok(_stats) => Ok(()),
                Err(fault) => {
                    device.record(FaultRecord { file, submission, fault });
                    Err(Errno::IO)
                }
            };
            let Job { done, buffers, .. } = job;
            drop(buffers);
            done.signal(outcome);
            notify();
        }
    }
}
