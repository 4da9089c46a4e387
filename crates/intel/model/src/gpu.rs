//! The GPU: what all of its contexts share.

use std::sync::Arc;

use tepui_intel_chips::Chip;
use tepui_intel_eu::Program;
use tepui_order::CodeChange;
use tepui_softgpu::{ProgramCache, Reports, WorkerPool};

use crate::context::HardwareContext;
use crate::job::{JobStats, ReportKind};
use crate::order::OrderChecker;
use crate::relaxed::RelaxedMemory;
use crate::watch::Watch;

/// Options of the model.
#[derive(Clone, Copy)]
pub struct Options {
    /// Worker threads; 0 takes one for each core of the host.
    pub threads: usize,
    /// The clock from which timestamps come: monotonic, in nanoseconds.
    pub clock: fn() -> u64,
    /// Commands of a batch after which it is treated as endless.
    pub max_commands: u64,
    /// Draws of a batch that are executed; later ones are skipped.
    pub max_draws: u64,
    /// Instructions of a walker after which it is treated as endless.
    pub max_instructions: u64,
    /// Maximum time in nanoseconds that MI_SEMAPHORE_WAIT waits.
    pub max_wait_ns: u64,
    /// Whether to run the checker, which reports reads of registers and memory that were never written, and accesses
    /// of memory that no flush, invalidation or stall orders. It runs on one thread.
    pub check: bool,
    /// With `check`, whether to judge each batch without each of its flushes, invalidations and stalls:
    /// [`JobStats::removals`].
    pub removals: Option<usize>,
    /// A seed of relaxed execution: draws, dispatches and writes are performed late and in another order, and caches
    /// hold data back, as far as the events of a batch allow. It runs on one thread; with it, `check` reports nothing
    /// about the order of commands.
    pub relaxed: Option<u64>,
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
            max_draws: u64::MAX,
            max_instructions: 200_000_000_000,
            max_wait_ns: 10_000_000_000,
            check: false,
            removals: None,
            relaxed: None,
        }
    }
}

/// The command streamer's timestamp at a time of `clock`: ticks of [`Chip::timestamp_hz`], the lower 36 bits.
pub fn timestamp(chip: &Chip, clock: fn() -> u64) -> u64 {
    let ticks = u128::from(clock()) * u128::from(chip.timestamp_hz) / 1_000_000_000;
    ticks as u64 & ((1 << 36) - 1)
}

/// Limit on the instructions of decoded kernels that are kept.
const MAX_KEPT_INSTRUCTIONS: usize = 1 << 20;

/// A decoded kernel, with the code that it was decoded from.
pub(crate) struct CachedProgram {
    /// The code, piece by piece with its offset.
    pub(crate) pieces: Vec<(u32, Vec<u8>)>,
    pub(crate) program: Program,
}

impl CachedProgram {
    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }
}

/// A GPU. One value serves all contexts and all submitting threads.
pub struct Gpu {
    pub(crate) chip: &'static Chip,
    pub(crate) options: Options,
    pub(crate) pool: WorkerPool,
    /// Decoded kernels by address.
    pub(crate) programs: ProgramCache<CachedProgram>,
    /// Reports of checked threads.
    pub(crate) reports: Option<Arc<Reports<ReportKind>>>,
    /// The checker of caches, flushes and stalls.
    pub(crate) order: Option<Arc<OrderChecker>>,
    /// Memory as relaxed execution accesses it.
    pub(crate) relaxed: Option<Arc<RelaxedMemory>>,
    /// The observer of threads.
    pub(crate) watch: Option<Watch>,
}

impl Gpu {
    /// A GPU of a chip.
    pub fn new(chip: &'static Chip, options: Options) -> Gpu {
        let most = chip.eus() as usize;
        // The order of a command's accesses must not change from run to run.
        let in_turn = options.check || options.relaxed.is_some();
        let threads = if in_turn { 1 } else { options.threads };
        let pool = WorkerPool::new(threads, most, "tepui-eu");
        let reports = options.check.then(Arc::default);
        let relaxed =
            options.relaxed.map(|seed| Arc::new(RelaxedMemory::new(chip.generation, seed)));
        let order = (options.check && relaxed.is_none())
            .then(|| Arc::new(OrderChecker::new(chip.generation, options.removals)));
        let programs = ProgramCache::new(MAX_KEPT_INSTRUCTIONS, |cached: &CachedProgram| {
            cached.program.count()
        });
        let watch = None;
        Gpu { chip, options, pool, programs, reports, order, relaxed, watch }
    }

    /// Tells an observer of each instruction of all threads. They run on one thread of the host.
    #[must_use]
    pub fn watched(self, watch: Watch) -> Gpu {
        let pool = WorkerPool::new(1, self.chip.eus() as usize, "tepui-eu");
        Gpu { watch: Some(watch), pool, ..self }
    }

    /// The state of a context that has executed nothing.
    pub fn context(&self) -> HardwareContext {
        HardwareContext::new(self.chip.generation)
    }

    /// Adds what the checker of threads has found.
    pub(crate) fn with_reports(&self, mut stats: JobStats) -> JobStats {
        stats.reports = self.reports.as_ref().map_or_else(Vec::new, |reports| reports.take());
        stats
    }

    /// Forgets reports, so that the checker may report the same again, and the programs that have run.
    pub fn forget(&self) {
        self.reports.iter().for_each(|reports| reports.forget());
        self.programs.clear();
    }

    /// The waits of the programs that have run since [`Gpu::forget`], each with the bytes of the instruction without it.
    pub fn code_changes(&self) -> Vec<CodeChange> {
        let mut all = Vec::new();
        for (kernel, cached) in self.programs.all() {
            for (kind, offset, bytes, is_found) in cached.program().without_annotations() {
                let address = kernel + u64::from(offset);
                all.push(CodeChange { kind, address, bytes, is_found });
            }
        }
        all.sort_by_key(|change| change.address);
        all
    }

    /// The command streamer's timestamp.
    pub fn timestamp(&self) -> u64 {
        timestamp(self.chip, self.options.clock)
    }
}
