//! Queues: submissions wait for their input fences and are executed one at a time in submission
//! order.
//!
//! The hardware has a queue for render and one for compute commands, and barriers in a submission
//! order the two. Here a submission's commands run one at a time: in order, which every set of barriers allows, and in relaxed
//! execution in another order that they allow.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use tepui_agx_model::{
    Barriers, CommandKind, FaultKind, JobFault, JobStats, OrderChecker, Report, Unit,
};
use tepui_drm::fence::{Fence, wait_until};
use tepui_drm::threads::Threads;
use tepui_drm::{Errno, gem::Gem};
use tepui_softgpu::catch_panic;

use crate::device::{Device, FaultRecord, timestamp};
use crate::observer::{Execution, Work};
use crate::vm::{Vm, buffer};

/// Destination of a timestamp: a buffer and a byte offset in it, a multiple of 8.
pub(crate) struct TimestampSlot {
    pub gem: Arc<Gem>,
    pub offset: u64,
}

impl TimestampSlot {
    fn write(&self, value: u64) {
        let Ok(buffer) = buffer(&self.gem) else { return };
        let memory = &buffer.memory;
        debug_assert!(self.offset.is_multiple_of(8) && self.offset + 8 <= memory.size() as u64);
        // SAFETY: the offset was checked against the buffer when the submission came in, and the
        // mapping lives as long as the buffer. Others may read the word meanwhile, so it is atomic.
        let word = unsafe { &*memory.base().add(self.offset as usize).cast::<AtomicU64>() };
        word.store(value, Ordering::Release);
    }
}

/// A hardware command of a submission, ready to run.
pub(crate) struct Prepared {
    pub work: Work,
    /// The commands of the submission that it waits for.
    pub barriers: Barriers,
    /// Written before the command.
    pub start: Vec<TimestampSlot>,
    /// Written after it.
    pub end: Vec<TimestampSlot>,
}

impl Prepared {
    /// Its kind, and what it waits for.
    fn order(&self) -> (CommandKind, Barriers) {
        let kind = match self.work {
            Work::Compute(_) => CommandKind::Compute,
            Work::Render(_) => CommandKind::Render,
        };
        (kind, self.barriers)
    }
}

/// A submission, ready to run.
pub(crate) struct Submission {
    pub id: u64,
    pub waits: Vec<Fence>,
    pub commands: Vec<Prepared>,
    pub done: Fence,
}

/// State that decides whether a queue continues.
struct State {
    /// A command faulted: the queue is lost and executes nothing more.
    lost: AtomicBool,
    /// The file was closed: submissions that have not started are cancelled.
    file_closed: Arc<AtomicBool>,
}

impl State {
    fn is_stopped(&self) -> bool {
        self.lost.load(Ordering::Acquire) || self.file_closed.load(Ordering::Acquire)
    }
}

/// A queue of an open file. Dropping it lets earlier submissions finish.
pub(crate) struct Queue {
    pub usc_exec_base: u64,
    state: Arc<State>,
    sender: Sender<Submission>,
}

/// State of a queue's thread.
struct Worker {
    device: Arc<Device>,
    file: u64,
    queue: u32,
    vm: Arc<Vm>,
    state: Arc<State>,
}

impl Queue {
    /// Creates a queue and its thread. Once the file is closed and waiters are woken
    /// ([`tepui_drm::fence::notify`]), submissions that have not started are cancelled.
    pub fn new(
        device: Arc<Device>,
        file: u64,
        queue: u32,
        vm: Arc<Vm>,
        usc_exec_base: u64,
        threads: &Threads,
    ) -> Result<Queue, Errno> {
        let (sender, receiver) = channel();
        let state = Arc::new(State { lost: AtomicBool::new(false), file_closed: threads.closed() });
        let worker = Worker { device, file, queue, vm, state: state.clone() };
        threads.start(&format!("tepui-queue-{queue}"), move || worker.run(&receiver))?;
        Ok(Queue { usc_exec_base, state, sender })
    }

    /// Whether a command of this queue has faulted.
    pub fn is_lost(&self) -> bool {
        self.state.lost.load(Ordering::Acquire)
    }

    /// Hands a submission to the queue's thread.
    pub fn push(&self, submission: Submission) -> Result<(), Errno> {
        self.sender.send(submission).map_err(|lost| {
            lost.0.done.signal(Err(Errno::CANCELED));
            Errno::IO
        })
    }
}

impl Worker {
    fn run(&self, receiver: &Receiver<Submission>) {
        for submission in receiver {
            let Submission { id, waits, commands, done } = submission;
            let stopped = || self.state.is_stopped();
            wait_until(None, || (stopped() || waits.iter().all(Fence::is_signaled)).then_some(()));
            let outcome = if stopped() {
                Err(Errno::CANCELED)
            } else {
                // An observer that panics must not leave the client waiting for ever either.
                catch_unwind(AssertUnwindSafe(|| self.execute(id, &commands))).unwrap_or_else(
                    |_| {
                        self.state.lost.store(true, Ordering::Release);
                        Err(Errno::IO)
                    },
                )
            };
            done.signal(outcome);
        }
    }

    fn execute(&self, submission: u64, commands: &[Prepared]) -> Result<(), Errno> {
        let order = self.device.gpu.order().map(OrderChecker::begin);
        let kinds: Vec<(CommandKind, Barriers)> = commands.iter().map(Prepared::order).collect();
        for command in self.device.gpu.command_order(submission, &kinds) {
            let Prepared { work, start, end, .. } = &commands[command];
            if let Some(order) = &order {
                let (kind, barriers) = kinds[command];
                order.command(kind, barriers);
            }
            let result = self.vm.run(|vm| {
                let execution =
                    Execution { file: self.file, queue: self.queue, submission, command, work, vm };
                let observer = self.device.interface.options.observer.as_deref();
                // The kernel writes the timestamps: between `starting` and `finished` memory
                // changes only by what the GPU and other threads of the client do.
                let now = timestamp();
                start.iter().for_each(|slot| slot.write(now));
                if let Some(observer) = observer {
                    observer.starting(&execution);
                }
                let result = self.model(&execution);
                let now = timestamp();
                if let Some(observer) = observer {
                    observer.finished(&execution, &result);
                }
                end.iter().for_each(|slot| slot.write(now));
                result
            });
            let kind = match work {
                Work::Compute(_) => "compute",
                Work::Render(_) => "render",
            };
            let place = format!("{kind} command {command} of submission {submission}");
            result.iter().for_each(|stats| self.report(&stats.reports, &place));
            if let Err(fault) = result {
                // Lost before anyone can see the fence: the next submission is refused.
                self.state.lost.store(true, Ordering::Release);
                let Worker { file, queue, .. } = *self;
                self.device.record(FaultRecord { file, queue, submission, command, kind, fault });
                return Err(Errno::IO);
            }
        }
        if let Some(order) = order {
            self.report(&order.end(), &format!("submission {submission}"));
        }
        Ok(())
    }

    /// Hands the checker's findings to the log.
    fn report(&self, reports: &[Report], place: &str) {
        for report in reports {
            let finding = || report.finding(place.to_owned());
            self.device.interface.options.report(finding, || format!("{report} ({place})"));
        }
    }

    fn model(&self, execution: &Execution<'_>) -> Result<JobStats, JobFault> {
        let gpu = &self.device.gpu;
        let run = || match execution.work {
            Work::Compute(job) => gpu.compute(execution.vm, job),
            Work::Render(job) => gpu.render(execution.vm, job),
        };
        // A panic is a bug of the model, and would leave the client waiting for ever.
        catch_panic(run).unwrap_or_else(|what| {
            let unit = match execution.work {
                Work::Compute(_) => Unit::Cdm,
                Work::Render(_) => Unit::Vdm,
            };
            Err(JobFault::new(unit, what).of(FaultKind::Panic))
        })
    }
}
