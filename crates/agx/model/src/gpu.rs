//! The state of a virtual GPU: its options, worker threads, decoded programs and reusable buffers.

use std::sync::Arc;

use tepui_hostvec::Target;
use tepui_order::Omission;
use tepui_softgpu::{BufferPool, WorkerPool};

use crate::coverage::Coverage;
use crate::isp::memory::FrameMemory;
use crate::order::OrderChecker;

use crate::render::batch::GeometryMemory;
use crate::render::scene::Scene;
use crate::usc::cache::Cache;
use crate::usc::program::Translation;
use crate::watch::Watch;

/// Options of a [`Gpu`].
#[derive(Clone, Debug)]
pub struct Options {
    /// Worker threads; 0 takes one for each core of the host, at most [`MAX_WORKERS`].
    pub threads: usize,
    /// Run the checker: report reads of registers and memory that were never written, and uses of a
    /// load's result before the wait for it.
    pub check: bool,
    /// With `check`: report races, barriers and derivatives in divergent flow, and results that are
    /// never read.
    pub audit: bool,
    /// The word that registers, local memory and scratch memory hold until a program writes them. On
    /// silicon they hold remains of earlier programs; the default, 0, hides a missing initialisation.
    /// `r0l`, the execution mask's counter, starts at 0 in any case, and uniform registers that no USC
    /// word loads read as 0.
    pub uninitialised: u32,
    /// Instructions that one SIMD-group may execute before the job counts as an endless loop.
    pub instruction_budget: u64,
    /// Cost of a whole job at which it counts as endless: the instructions of all its SIMD-groups,
    /// and a cost for each launch and empty workgroup.
    pub job_budget: u64,
    /// The launch block of the control stream has the two further words of the multi-cluster G14
    /// parts.
    pub wide_launch: bool,
    /// A seed of relaxed execution: compute launches between two barriers of a stream run in an order chosen by it. On silicon
    /// they may run at the same time, so that a missing barrier shows; the default order hides it.
    pub relaxed: Option<u64>,
    /// Number of SIMD-groups that run a program before it is translated to host code, if the host
    /// supports that; `u32::MAX` interprets all programs. Results are the same.
    pub translate_after: u32,
    /// The target of translation; `None` for the fastest that the host has. With a target that the
    /// host lacks, all programs are interpreted.
    pub target: Option<Target>,
    /// With `check`: programs whose register use is verified statically are not checked instruction by
    /// instruction, and may be translated. Findings are the same.
    pub prove: bool,
    /// Number of draws of a render command that are executed; later ones are skipped.
    pub draws: u64,
    /// Receives the rows of the instruction table that programs use.
    pub coverage: Option<Coverage>,
    /// Observes what the GPU does. SIMD-groups whose instructions it wants are interpreted.
    pub watch: Option<Watch>,
}

/// A word for [`Options::uninitialised`] that tests notice: NaN as a 32-bit float, NaN as a 16-bit
/// float in the upper half, and out of bounds as an offset.
pub const POISON: u32 = 0x7fc5_a3b1;

/// Maximum number of worker threads. Each acts as one shader core, for which drivers prepare scratch memory;
/// the smallest chip has this many.
pub const MAX_WORKERS: usize = 7;

impl Default for Options {
    fn default() -> Self {
        Options {
            threads: 0,
            check: false,
            audit: false,
            uninitialised: 0,
            instruction_budget: 1 << 32,
            job_budget: 1 << 44,
            wide_launch: false,
            relaxed: None,
            translate_after: 16,
            target: None,
            prove: true,
            draws: u64::MAX,
            coverage: None,
            watch: None,
        }
    }
}

/// Level of checking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checks {
    /// No checks.
    Off,
    /// Checks of [`Options::check`].
    Mistakes,
    /// Checks of [`Options::audit`] too.
    Audit,
}

impl Options {
    /// The level of checking.
    pub(crate) fn checks(&self) -> Checks {
        match (self.check, self.audit) {
            (true, true) => Checks::Audit,
            (true, false) => Checks::Mistakes,
            (false, _) => Checks::Off,
        }
    }
}

/// One virtual GPU.
pub struct Gpu {
    pub(crate) options: Options,
    pub(crate) pool: WorkerPool,
    pub(crate) programs: Cache,
    /// Reusable memory of geometry halves, of scenes and of frames.
    pub(crate) geometry: BufferPool<GeometryMemory>,
    pub(crate) scenes: BufferPool<Scene>,
    pub(crate) frames: BufferPool<FrameMemory>,
    /// The checker of the order of launches and commands.
    pub(crate) order: Option<Arc<OrderChecker>>,
    pub(crate) omission: Omission,
}

impl Gpu {
    /// A GPU in its state after reset.
    pub fn new(options: Options) -> Gpu {
        let translation = Translation {
            after: options.translate_after,
            target: options.target.or_else(Target::best),
            prove: options.prove,
        };
        let programs = Cache::new(translation, options.coverage.clone());
        let pool = WorkerPool::new(options.threads, MAX_WORKERS, "agx-core");
        // Relaxed execution takes items in another order than that of the checker.
        let ordered = options.check && options.relaxed.is_none();
        let order = ordered.then(Arc::default);
        Gpu {
            order,
            options,
            pool,
            programs,
            geometry: Default::default(),
            scenes: Default::default(),
            frames: Default::default(),
            omission: Omission::default(),
        }
    }

    /// Worker threads.
    pub fn workers(&self) -> usize {
        self.pool.workers()
    }
}
