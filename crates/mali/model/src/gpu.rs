//! The GPU.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use tepui_mali_chips::Chip;
use tepui_order::{CodeChange, Omission};
use tepui_softgpu::{AddressSpace, Reports, UnitMemory, WorkerPool, catch_panic};

use crate::group::{Group, QueueState};
use crate::job::{Completion, FaultKind, JobFault, Report, ReportKind, Unit};
use crate::limits::{ADDRESS_BITS, PAGE_SHIFT, SHADER_PRESENT};
use crate::omit;
use crate::order::{OrderChecker, OrderState};
use crate::relaxed;
use crate::shader::check::ProgramCheck;
use crate::shader::program::Program;
use crate::shader::translate::LazyTranslation;
use crate::shader::watched::Watched;
use crate::stream;
use crate::watch::Watch;

/// Options of the model.
#[derive(Clone, Copy)]
pub struct Options {
    /// Worker threads; 0 takes one for each core of the host.
    pub threads: usize,
    /// The clock from which timestamps come: monotonic, in nanoseconds.
    pub clock: fn() -> u64,
    /// Instructions of a command stream, or jobs of a chain, after which it is treated as endless.
    pub max_commands: u64,
    /// Instructions of a dispatch, counted once per warp, after which it is treated as endless.
    pub max_instructions: u64,
    /// Draws of a stream after which further ones are skipped: for tools that search for a draw.
    pub max_draws: u64,
    /// Runs of a program in the interpreter, counted in warps, before it is translated to host code; `u32::MAX` means
    /// never.
    pub runs_before_translation: u32,
    /// Whether programs that only copy texels are detected, and rows of texels copied without executing warps.
    pub find_copies: bool,
    /// Whether to run the checker, which reports accesses of registers and memory that no wait orders. It runs on one thread
    /// and interprets all programs.
    pub check: bool,
    /// A seed of relaxed execution: work runs late and in another order, as far as waits and dependencies allow. It runs on one
    /// thread; with it, `check` reports nothing about the order of work.
    pub relaxed: Option<u64>,
    /// Whether the queues of a group go on until nothing does, in place of until one of their streams has ended; relaxed execution
    /// always does so.
    pub settles: bool,
}

fn no_clock() -> u64 {
    0
}

impl Default for Options {
    fn default() -> Self {
        Options {
            threads: 0,
            clock: no_clock,
            max_commands: 100_000_000,
            max_instructions: 200_000_000_000,
            max_draws: u64::MAX,
            runs_before_translation: 32,
            find_copies: true,
            check: false,
            relaxed: None,
            settles: false,
        }
    }
}

/// An empty address space of the GPU's size ([`crate::limits`]).
pub fn address_space() -> AddressSpace {
    AddressSpace::new(PAGE_SHIFT, ADDRESS_BITS)
}

/// A GPU. One value serves all groups and all submitting threads.
pub struct Gpu {
    chip: &'static Chip,
    pub(crate) options: Options,
    pub(crate) pool: WorkerPool,
    /// Decoded programs by address; their code is compared with memory before use.
    programs: Mutex<HashMap<u64, Arc<Program>>>,
    /// Reports of the checker.
    pub(crate) reports: Option<Arc<Reports<ReportKind>>>,
    /// The checker of the order of work.
    pub(crate) order: Option<Arc<OrderChecker>>,
    pub(crate) omission: Omission,
    /// The observer of warps.
    watch: Option<Watch>,
    /// Dispatches that have run, and frames, for the observer.
    pub(crate) dispatches: AtomicU64,
    pub(crate) frames: AtomicU64,
}

impl Gpu {
    /// A GPU of a chip.
    pub fn new(chip: &'static Chip, mut options: Options) -> Gpu {
        let most = SHADER_PRESENT.count_ones() as usize * 16;
        if options.check || options.relaxed.is_some() {
            // The order of accesses must not change from run to run.
            options.threads = 1;
        }
        if options.check {
            options.runs_before_translation = u32::MAX;
            options.find_copies = false;
        }
        let pool = WorkerPool::new(options.threads, most, "tepui-mali");
        let reports = options.check.then(Arc::default);
        let order = (options.check && options.relaxed.is_none()).then(Arc::default);
        let (programs, omission) = (Mutex::default(), Omission::default());
        let (watch, dispatches, frames) = (None, AtomicU64::new(0), AtomicU64::new(0));
        Gpu { chip, options, pool, programs, reports, order, omission, watch, dispatches, frames }
    }

    /// Tells an observer of each instruction of shaders, unless [`Options::check`] is set. It runs on one thread and interprets all
    /// programs.
    pub fn watched(self, watch: Watch) -> Gpu {
        let options = Options {
            threads: 1,
            runs_before_translation: u32::MAX,
            find_copies: false,
            ..self.options
        };
        Gpu { watch: Some(watch), ..Gpu::new(self.chip, options) }
    }

    /// The observer of a worker's warps.
    pub(crate) fn observer<'vm>(&self, vm: &'vm AddressSpace) -> Option<Box<Watched<'vm>>> {
        let watch = self.watch.as_ref().filter(|watch| watch.is_on());
        watch.map(|watch| Box::new(Watched::new(watch.clone(), vm)))
    }

    /// The reports of the checker since the last call, each only once since [`Gpu::forget`].
    pub fn take_reports(&self) -> Vec<Report> {
        self.reports.as_ref().map_or_else(Vec::new, |reports| reports.take())
    }

    /// Forgets reports, so that the checker may report the same again, and the programs that have run.
    pub fn forget(&self) {
        self.reports.iter().for_each(|reports| reports.forget());
        self.programs.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The waits of the programs that have run since [`Gpu::forget`], each with the program's bytes without it.
    pub fn code_changes(&self) -> Vec<CodeChange> {
        let programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        let is_bifrost = match self.chip.arch.0 {
            // Midgard has no waits.
            ..6 => return Vec::new(),
            6..9 => true,
            _ => false,
        };
        let mut all: Vec<CodeChange> =
            programs.values().flat_map(|p| omit::code(&p.code, p.address, is_bifrost)).collect();
        all.sort_by_key(|change| change.address);
        all
    }

    /// The events of a run, one of which can be left out of its next one: waits, wait masks, invalidations, dependencies.
    /// The front ends are queues.
    pub fn omission(&self) -> &Omission {
        &self.omission
    }

    /// Runs work under the checker of order, with what may be running already.
    pub(crate) fn ordered<R>(
        &self,
        vm: &AddressSpace,
        state: &mut OrderState,
        body: impl FnOnce() -> R,
    ) -> R {
        let (Some(order), Some(reports)) = (&self.order, &self.reports) else { return body() };
        vm.observe(order.clone());
        let running = order.begin(std::mem::take(state));
        let result = body();
        *state = running.end(reports);
        result
    }

    /// The chip.
    pub fn chip(&self) -> &'static Chip {
        self.chip
    }

    /// The program at an address, decoded at its first use and again when memory has changed there.
    pub(crate) fn program(&self, memory: &mut UnitMemory<'_>, address: u64) -> Arc<Program> {
        /// Limit on the decoded programs that are kept.
        const MAX_PROGRAMS: usize = 4096;
        let cached = {
            let programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
            programs.get(&address).cloned()
        };
        if let Some(cached) = cached {
            // The program ends at the next word, which must still be zero or unreadable.
            let mut now = vec![0; cached.code.len()];
            let end = address.wrapping_add(now.len() as u64);
            let ends = self.chip.arch.0 < 6
                || !matches!(memory.read_array::<8>(end), Ok(word) if word != [0; 8]);
            if memory.read(address, &mut now).is_ok() && now == cached.code && ends {
                return cached;
            }
        }
        let mut program = Program::load(self.chip, address, |at| memory.read_array(at).ok());
        program.translation = LazyTranslation::after(self.options.runs_before_translation);
        if let Some(reports) = self.reports.as_ref().filter(|_| self.chip.arch.0 >= 6) {
            let is_bifrost = self.chip.arch.0 < 9;
            let check = ProgramCheck::new(&program, is_bifrost, reports.clone());
            program.check = Some(Box::new(check));
        }
        let program = Arc::new(program);
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if programs.len() >= MAX_PROGRAMS {
            programs.clear();
        }
        programs.insert(address, program.clone());
        program
    }

    /// A group of up to [`CS_SLOTS`](crate::limits::CS_SLOTS) queues, all registers zero.
    pub fn group(&self, queues: usize) -> Group {
        Group::new(queues, self.options.relaxed)
    }

    /// Lets the queues of a group execute their streams, in turn, until at least one stream has ended or all
    /// remaining ones wait for a sync object (in relaxed execution, until nothing goes on); returns the streams that ended. If none ended, each queue is
    /// idle, faulted or [waiting](QueueState::Waiting): call again when another stream has been started, or
    /// when another group or the CPU may have written to the sync objects.
    pub fn run(&self, vm: &AddressSpace, group: &mut Group) -> Vec<Completion> {
        let mut order = std::mem::take(&mut group.order);
        let done = self.ordered(vm, &mut order, || self.run_queues(vm, group));
        group.order = order;
        done
    }

    fn run_queues(&self, vm: &AddressSpace, group: &mut Group) -> Vec<Completion> {
        let mut done = Vec::new();
        group.frames.clear();
        let mut turns: Vec<usize> = (0..group.queues.len()).collect();
        loop {
            let mut progress = false;
            if let Some(choices) = &mut group.choices {
                relaxed::shuffle(choices, &mut turns);
            }
            for &index in &turns {
                if group.queues[index].is_out_of_heap {
                    match self.find_heap(vm, group, index) {
                        Ok(false) => continue,
                        Ok(true) => progress = true,
                        Err(fault) => {
                            let queue = index;
                            group.queues[queue].state = QueueState::Faulted;
                            group.queues[queue].is_out_of_heap = false;
                            done.push(Completion { queue, outcome: Err(fault) });
                            continue;
                        }
                    }
                }
                let heap = group.heaps.get(&group.queues[index].front.heap).copied();
                let queue = &mut group.queues[index];
                if !matches!(queue.state, QueueState::Ready | QueueState::Waiting { .. }) {
                    continue;
                }
                let before = queue.stats.commands;
                let (scenes, frames) = (&mut group.scenes, &mut group.frames);
                let choices = group.choices.as_mut();
                let run = || stream::run(self, vm, scenes, frames, queue, (index, heap), choices);
                let outcome = catch_panic(run).unwrap_or_else(|what| {
                    Err(JobFault::new(Unit::CommandStream, what).of(FaultKind::Panic))
                });
                progress |= queue.stats.commands > before;
                let outcome = match outcome {
                    Err(fault) => {
                        queue.state = QueueState::Faulted;
                        Err(fault)
                    }
                    Ok(()) if queue.state == QueueState::Idle => Ok(queue.stats),
                    Ok(()) => continue,
                };
                if let Some(order) = &self.order {
                    order.finish(index);
                }
                done.push(Completion { queue: index, outcome });
            }
            // Relaxed execution ends streams in another order: all go on as far as they can.
            let settles = group.choices.is_some() || self.options.settles;
            let is_done = !done.is_empty() && !settles;
            if is_done || !progress {
                break;
            }
        }
        done
    }

    /// Whether a queue that has used up its heap can go on: fragments have given chunks back, or a queue's exception handler renders
    /// what is in the heap, and gives it back.
    fn find_heap(
        &self,
        vm: &AddressSpace,
        group: &mut Group,
        index: usize,
    ) -> Result<bool, JobFault> {
        if group.is_heap_full(index) {
            let Some(handler) = group.handler() else {
                let others = group.queues.iter().enumerate().filter(|(k, _)| *k != index);
                if { others }.all(|(_, q)| q.state == QueueState::Idle) {
                    let what = "the tiler's heap is exhausted, and no queue handles it";
                    return Err(JobFault::new(Unit::Tiler, what.to_owned()));
                }
                return Ok(false);
            };
            let (scenes, frames) = (&mut group.scenes, &mut group.frames);
            let queue = &mut group.queues[handler];
            if let Some(order) = &self.order {
                order.hand_over(index, handler);
            }
            stream::handle(self, vm, scenes, frames, handler, queue)?;
            if let Some(order) = &self.order {
                order.hand_over(handler, index);
            }
            if group.is_heap_full(index) {
                let what = "the handler of an exhausted heap gives too little back";
                return Err(JobFault::new(Unit::Tiler, what.to_owned()));
            }
        }
        group.queues[index].is_out_of_heap = false;
        Ok(true)
    }

    /// Whether a queue of a group would execute something now: it has a stream and does not wait.
    pub fn can_run(&self, vm: &AddressSpace, group: &Group) -> bool {
        let continues = |k: usize| {
            group.queues[k].is_out_of_heap && (!group.is_heap_full(k) || group.handler().is_some())
        };
        group.queues.iter().any(|queue| stream::can_run(vm, queue))
            || (0..group.queues.len()).any(continues)
    }

    /// The GPU's clock in nanoseconds.
    pub fn timestamp(&self) -> u64 {
        (self.options.clock)()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::{StartError, Stream};

    #[test]
    fn queues_start_one_stream_at_a_time_and_empty_ones_end_at_once() {
        let chip = tepui_mali_chips::chip("mali-g610").expect("a chip");
        let gpu = Gpu::new(chip, Options::default());
        let vm = address_space();
        let mut group = gpu.group(2);
        let empty = Stream { address: 0, size: 0 };
        assert_eq!(group.start(2, empty), Err(StartError::NoSuchQueue { queue: 2, queues: 2 }));
        group.start(1, empty).expect("an idle queue");
        assert_eq!(group.start(1, empty), Err(StartError::Busy(1)));
        let done = gpu.run(&vm, &mut group);
        assert_eq!(done, [Completion { queue: 1, outcome: Ok(Default::default()) }]);
        assert_eq!(group.state(1), Some(QueueState::Idle));
        assert_eq!(gpu.run(&vm, &mut group), []);
    }
}
