//! The GPU.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tepui_mali_chips::Chip;
use tepui_order::{CodeChange, Omission};
use tepui_softgpu::{AddressSpace, ProgramCache, Reports, UnitMemory, WorkerPool};

use crate::job::{Report, ReportKind};
use crate::limits::{ADDRESS_BITS, PAGE_SHIFT, SHADER_PRESENT};
use crate::omit;
use crate::order::{OrderChecker, OrderState};
use crate::shader::check::accesses::ProgramCheck;
use crate::shader::program::Program;
use crate::shader::translate::LazyTranslation;
use crate::watch::{Watch, Watched};

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

/// Limit on the decoded programs that are kept. Their sizes say little: a program that no zero word follows goes on to the end of
/// the driver's buffer, which holds the programs after it, too.
const MAX_PROGRAMS: usize = 4096;

/// Whether memory has these bytes at an address.
fn holds(memory: &mut UnitMemory<'_>, address: u64, bytes: &[u8]) -> bool {
    let mut there = [0; 4096];
    let mut at = address;
    bytes.chunks(there.len()).all(|part| {
        let there = &mut there[..part.len()];
        let same = memory.read(at, there).is_ok() && there == part;
        at = at.wrapping_add(part.len() as u64);
        same
    })
}

/// A GPU. One value serves all groups and all submitting threads.
pub struct Gpu {
    chip: &'static Chip,
    pub(crate) options: Options,
    pub(crate) pool: WorkerPool,
    /// Decoded programs by address.
    programs: ProgramCache<Program>,
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
        let programs = ProgramCache::new(MAX_PROGRAMS, |_: &Program| 1);
        let omission = Omission::default();
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
        self.programs.clear();
    }

    /// The waits of the programs that have run since [`Gpu::forget`], each with the program's bytes without it.
    pub fn code_changes(&self) -> Vec<CodeChange> {
        let is_bifrost = match self.chip.arch.0 {
            // Midgard has no waits.
            ..6 => return Vec::new(),
            6..9 => true,
            _ => false,
        };
        let programs = self.programs.all();
        let changes =
            |(at, program): &(u64, Arc<Program>)| omit::code(&program.code, *at, is_bifrost);
        let mut all: Vec<CodeChange> = programs.iter().flat_map(changes).collect();
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
        let arch = self.chip.arch.0;
        let known = self.programs.get(address).filter(|known| {
            // The program ends at the next word, which must still be zero or unreadable.
            let end = address.wrapping_add(known.code.len() as u64);
            let ends =
                arch < 6 || !matches!(memory.read_array::<8>(end), Ok(word) if word != [0; 8]);
            ends && holds(memory, address, &known.code)
        });
        if let Some(known) = known {
            return known;
        }
        let mut program = Program::load(self.chip, address, |at| memory.read_array(at).ok());
        program.translation = LazyTranslation::after(self.options.runs_before_translation);
        if let Some(reports) = self.reports.as_ref().filter(|_| arch >= 6) {
            let check = ProgramCheck::new(&program.code, program.clauses(), reports.clone());
            program.check = Some(Box::new(check));
        }
        let program = Arc::new(program);
        self.programs.insert(address, program.clone());
        program
    }

    /// The GPU's clock in nanoseconds.
    pub fn timestamp(&self) -> u64 {
        (self.options.clock)()
    }
}
