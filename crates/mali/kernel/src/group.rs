//! Groups of queues: each has a thread that starts the streams of its queues, in order, as their fences signal, and
//! lets the GPU execute.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tepui_drm::fence::{Fence, notify, wait_until};
use tepui_drm::threads::Threads;
use tepui_drm::{Errno, monotonic_ns};
use tepui_mali_model::{Completion, FaultKind, JobFault, Stream, Unit};
use tepui_softgpu::catch_panic;

use crate::device::{Device, FaultRecord, Queues, report};
use crate::observer::{Execution, StreamStart};
use crate::vm::Vm;
use tepui_drm::lock;

/// A stream for a queue.
pub struct Job {
    /// The submission, numbered from 1 within the device.
    pub submission: u64,
    /// The stream; without instructions it ends as soon as the preceding ones have.
    pub stream: Stream,
    /// Fences that it waits for.
    pub waits: Vec<Fence>,
    /// The fence that it signals.
    pub done: Fence,
}

/// A group. Dropping it cancels its unfinished jobs.
pub struct Group {
    shared: Arc<GroupState>,
    queues: usize,
}

/// State shared by the thread of a group and its file.
struct GroupState {
    queued: Mutex<Vec<VecDeque<Job>>>,
    /// A bit for each queue with a stream that faulted.
    fatal_queues: Mutex<u32>,
    destroyed: AtomicBool,
    file_closed: Arc<AtomicBool>,
}

impl GroupState {
    fn is_stopped(&self) -> bool {
        self.destroyed.load(Ordering::Acquire) || self.file_closed.load(Ordering::Acquire)
    }
}

impl Group {
    /// Creates a group and its thread. Once the file is closed and waiters are woken ([`notify`]), all unfinished
    /// jobs are cancelled.
    pub fn new(
        device: Arc<Device>,
        file: u64,
        handle: u32,
        vm: Arc<Vm>,
        queues: usize,
        threads: &Threads,
    ) -> Result<Group, Errno> {
        let shared = Arc::new(GroupState {
            queued: Mutex::new((0..queues).map(|_| VecDeque::new()).collect()),
            fatal_queues: Mutex::new(0),
            destroyed: AtomicBool::new(false),
            file_closed: threads.closed(),
        });
        let mut worker = Worker {
            gpu: device.gpu.group(queues),
            device,
            file,
            group: handle,
            vm,
            shared: shared.clone(),
            running: (0..queues).map(|_| None).collect(),
            started: Vec::new(),
            runs: 0,
        };
        threads.start(&format!("tepui-group-{handle}"), move || worker.work())?;
        Ok(Group { shared, queues })
    }

    /// Number of queues.
    pub fn queues(&self) -> usize {
        self.queues
    }

    /// The queues with a stream that faulted, one bit each.
    pub fn fatal_queues(&self) -> u32 {
        *lock(&self.shared.fatal_queues)
    }

    /// Adds jobs to queues: indices below [`Group::queues`].
    pub fn push(&self, jobs: Vec<(usize, Job)>) {
        let mut queued = lock(&self.shared.queued);
        for (queue, job) in jobs {
            match queued.get_mut(queue) {
                Some(queue) => queue.push_back(job),
                None => job.done.signal(Err(Errno::CANCELED)),
            }
        }
        drop(queued);
        notify();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.shared.destroyed.store(true, Ordering::Release);
        notify();
    }
}

/// State of a group's thread.
struct Worker {
    device: Arc<Device>,
    file: u64,
    group: u32,
    vm: Arc<Vm>,
    shared: Arc<GroupState>,
    gpu: Box<dyn Queues>,
    /// The job that each queue executes.
    running: Vec<Option<Job>>,
    /// The streams that have begun since the last run.
    started: Vec<StreamStart>,
    /// Number of runs so far, counted if there is an observer.
    runs: u32,
}

impl Worker {
    fn work(&mut self) {
        /// Minimum and maximum sleep of a queue that waits for memory: clients write to it without a call.
        const NAPS: [Duration; 2] = [Duration::from_micros(50), Duration::from_millis(2)];
        let mut nap = NAPS[0];
        loop {
            if self.shared.is_stopped() {
                return self.cancel();
            }
            let started = self.start();
            let seen = self.device.steps.load(Ordering::Acquire);
            let ended = self.run();
            if started || ended {
                nap = NAPS[0];
                continue;
            }
            let waits_for_memory = self.running.iter().any(Option::is_some);
            let deadline = waits_for_memory.then(|| monotonic_ns() + nap.as_nanos() as u64);
            nap = (nap * 2).min(NAPS[1]);
            wait_until(deadline, || {
                let others = self.device.steps.load(Ordering::Acquire) != seen;
                let may_go_on = waits_for_memory && others || self.shared.is_stopped();
                (may_go_on || self.can_start()).then_some(())
            });
        }
    }

    /// Whether an idle queue has a job whose fences have signalled.
    fn can_start(&self) -> bool {
        let queued = lock(&self.shared.queued);
        queued
            .iter()
            .zip(&self.running)
            .any(|(queue, running)| running.is_none() && queue.front().is_some_and(Job::is_ready))
    }

    /// Starts the jobs that can start. True if it started any.
    fn start(&mut self) -> bool {
        let mut any = false;
        for index in 0..self.running.len() {
            while self.running[index].is_none() {
                let job = lock(&self.shared.queued)[index].pop_front_if(|job| job.is_ready());
                let Some(job) = job else { break };
                any = true;
                if *lock(&self.shared.fatal_queues) != 0 {
                    job.done.signal(Err(Errno::CANCELED));
                } else if job.stream.size == 0 {
                    job.done.signal(Ok(()));
                } else {
                    match self.gpu.start(index, job.stream) {
                        Ok(()) => {
                            let Job { submission, stream, .. } = job;
                            self.started.push(StreamStart { queue: index, submission, stream });
                            self.running[index] = Some(job);
                        }
                        Err(error) => {
                            let fault = JobFault::new(Unit::CommandStream, error.to_string());
                            self.fail(index, job, fault);
                        }
                    }
                }
            }
        }
        any
    }

    /// Lets the GPU execute. True if a stream has ended.
    fn run(&mut self) -> bool {
        if self.running.iter().all(Option::is_none) {
            return false;
        }
        let started = std::mem::take(&mut self.started);
        self.gpu.set_heaps(&lock(&self.vm.heaps));
        let completions = self.vm.run(|vm| {
            let gpu = &mut self.gpu;
            let observer = self.device.interface.options.observer.as_deref();
            // A queue that only checks a sync object again does not count as a run.
            if observer.is_some() && started.is_empty() && !gpu.can_run(vm) {
                return Ok(Vec::new());
            }
            let (file, group, run) = (self.file, self.group, self.runs);
            let execution = Execution { file, group, run, started: &started, vm };
            if let Some(observer) = observer {
                self.runs = self.runs.wrapping_add(1);
                observer.starting(&execution);
            }
            let completions = catch_panic(|| gpu.run(vm));
            if let Some(observer) = observer {
                observer.finished(&execution, completions.as_deref().unwrap_or_default());
            }
            completions
        });
        // A panic is a bug of the model, and would leave the client waiting for ever.
        let completions = completions.unwrap_or_else(|what| {
            let fault = JobFault::new(Unit::CommandStream, what).of(FaultKind::Panic);
            let running = (0..self.running.len()).filter(|&queue| self.running[queue].is_some());
            running.map(|queue| Completion { queue, outcome: Err(fault.clone()) }).collect()
        });
        let submission = self.running.iter().flatten().map(|job| job.submission).max();
        let reports = self.device.gpu.reports();
        report(&self.device.interface.options, &reports, submission.unwrap_or(0));
        self.device.steps.fetch_add(1, Ordering::Release);
        let any = !completions.is_empty();
        for Completion { queue, outcome } in completions {
            let Some(job) = self.running.get_mut(queue).and_then(Option::take) else { continue };
            match outcome {
                Ok(_stats) => job.done.signal(Ok(())),
                Err(fault) => self.fail(queue, job, fault),
            }
        }
        if *lock(&self.shared.fatal_queues) != 0 {
            // The group no longer executes anything.
            for job in self.running.iter_mut().filter_map(Option::take) {
                job.done.signal(Err(Errno::CANCELED));
            }
        }
        // Other groups may wait for what this one has written.
        notify();
        any
    }

    /// Handles a job that ended in a fault: the group is lost before anyone can see the fence.
    fn fail(&self, queue: usize, job: Job, fault: JobFault) {
        *lock(&self.shared.fatal_queues) |= 1 << queue;
        let Worker { file, group, .. } = *self;
        self.device.record(FaultRecord { file, group, queue, submission: job.submission, fault });
        job.done.signal(Err(Errno::IO));
    }

    fn cancel(&mut self) {
        let queued: Vec<Job> =
            lock(&self.shared.queued).iter_mut().flat_map(|queue| queue.drain(..)).collect();
        let running = self.running.iter_mut().filter_map(Option::take);
        for job in running.chain(queued) {
            job.done.signal(Err(Errno::CANCELED));
        }
    }
}

impl Job {
    fn is_ready(&self) -> bool {
        self.waits.iter().all(Fence::is_signaled)
    }
}
