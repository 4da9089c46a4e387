//! Queues: the submissions of a context to one engine wait for their fences and are executed one at a time,
//! in order.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use tepui_drm::Errno;
use tepui_drm::fence::{Fence, wait_until};
use tepui_drm::threads::Threads;
use tepui_intel_model::{Batch, FaultKind, HardwareContext, JobFault, Unit, finding};
use tepui_softgpu::catch_panic;

use crate::context::Context;
use crate::device::{Device, FaultRecord};
use crate::gem::{PinnedBuffer, buffer};
use crate::observer::Execution;
use crate::vm::Vm;

/// A submission, ready to run.
pub(crate) struct Submission {
    pub id: u64,
    pub waits: Vec<Fence>,
    pub buffers: Vec<PinnedBuffer>,
    pub batch: Batch,
    pub done: Fence,
}

/// A queue. Dropping it lets earlier submissions finish.
pub(crate) struct Queue {
    sender: Sender<Submission>,
}

/// State of a queue's thread.
struct Worker {
    device: Arc<Device>,
    file: u64,
    context: u32,
    engine: u32,
    vm: Arc<Vm>,
    recoverable: Box<dyn Fn() -> bool + Send>,
    faults: Arc<AtomicU32>,
    cancelled: Arc<AtomicU32>,
    banned: Arc<AtomicBool>,
    file_closed: Arc<AtomicBool>,
}

impl Queue {
    /// Creates the queue of a context, named by its id, and one of its engines, and its thread. Once the file is
    /// closed and waiters are woken ([`tepui_drm::fence::notify`]), submissions that have not started are cancelled.
    pub fn new(
        device: Arc<Device>,
        file: u64,
        [id, engine]: [u32; 2],
        context: &Arc<Context>,
        threads: &Threads,
    ) -> Result<Queue, Errno> {
        let (sender, receiver) = channel();
        let weak = Arc::downgrade(context);
        let worker = Worker {
            device,
            file,
            context: id,
            engine,
            vm: context.vm(),
            // A destroyed context still executes its submissions, but its state cannot be observed
            // afterwards.
            recoverable: Box::new(move || weak.upgrade().is_some_and(|c| c.is_recoverable())),
            faults: context.faults.clone(),
            cancelled: context.cancelled.clone(),
            banned: context.banned.clone(),
            file_closed: threads.closed(),
        };
        threads.start(&format!("tepui-i915-{id}"), move || worker.run(&receiver))?;
        Ok(Queue { sender })
    }

    /// Passes a submission to the queue's thread.
    pub fn push(&self, submission: Submission) -> Result<(), Errno> {
        self.sender.send(submission).map_err(|lost| {
            lost.0.done.signal(Err(Errno::CANCELED));
            Errno::IO
        })
    }
}

impl Worker {
    fn is_stopped(&self) -> bool {
        self.banned.load(Ordering::Acquire) || self.file_closed.load(Ordering::Acquire)
    }

    fn run(&self, receiver: &Receiver<Submission>) {
        let mut state = self.device.gpu.context();
        for submission in receiver {
            let waits = &submission.waits;
            let ready = || self.is_stopped() || waits.iter().all(Fence::is_signaled);
            wait_until(None, || ready().then_some(()));
            let outcome = if self.is_stopped() {
                self.cancelled.fetch_add(1, Ordering::Relaxed);
                Err(Errno::CANCELED)
            } else {
                self.execute(&submission, &mut state)
            };
            for pinned in &submission.buffers {
                // The last submission that uses a closed buffer unbinds it.
                if buffer(&pinned.gem).is_ok_and(|b| b.end_use()) {
                    self.vm.forget(&pinned.gem);
                }
            }
            submission.done.signal(outcome);
        }
    }

    fn execute(&self, submission: &Submission, state: &mut HardwareContext) -> Result<(), Errno> {
        self.vm.forget_unmapped();
        let bound = submission.buffers.iter().try_for_each(|p| self.vm.pin(&p.gem, p.address));
        let result = match bound {
            Err(refusal) => Err(JobFault::new(Unit::CommandStreamer, refusal.why)),
            Ok(()) => self.vm.run(|vm| {
                let execution = Execution {
                    file: self.file,
                    context: self.context,
                    engine: self.engine,
                    submission: submission.id,
                    batch: submission.batch,
                    vm,
                };
                let observer = self.device.interface.options.observer.as_deref();
                if let Some(observer) = observer {
                    observer.starting(&execution);
                }
                let run = || self.device.gpu.execute(vm, state, &submission.batch);
                // A panic is a bug of the model, and would leave the client waiting for ever.
                let result = catch_panic(run).unwrap_or_else(|what| {
                    Err(JobFault::new(Unit::CommandStreamer, what).of(FaultKind::Panic))
                });
                if let Some(observer) = observer {
                    observer.finished(&execution, &result);
                }
                result
            }),
        };
        match result {
            Ok(stats) => {
                for report in &stats.reports {
                    let place = format!("submission {}", submission.id);
                    let text = || match report.kind.is_about_commands() {
                        true => format!("{} ({place})", report.what),
                        false => format!("{report} ({place})"),
                    };
                    let finding = || finding(report, place.clone());
                    self.device.interface.options.report(finding, text);
                }
                Ok(())
            }
            Err(fault) => {
                // This must precede the fence's signal: the next request reports the reset.
                self.faults.fetch_add(1, Ordering::Release);
                if (self.recoverable)() {
                    *state = self.device.gpu.context();
                } else {
                    self.banned.store(true, Ordering::Release);
                }
                let (file, context) = (self.file, self.context);
                self.device.record(FaultRecord { file, context, submission: submission.id, fault });
                Err(Errno::IO)
            }
        }
    }
}
