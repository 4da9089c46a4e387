//! The AGX GPU as a software model: it executes the machine code and control streams of a driver.
//!
//! A kernel front hands a [`ComputeJob`] or [`RenderJob`] — the values that the firmware writes
//! into the hardware's control registers — and an address space to [`Gpu`]. Everything else is read
//! from GPU memory, as silicon does.
//!
//! Modules are named after the hardware's units: [`cdm`] walks compute control streams, [`render`]
//! executes vertex control streams, [`pipeline`] loads the state that USC words name, [`usc`]
//! executes machine code; `order` checks the barriers of submissions. [`dispatch`] distributes workgroups over threads (`workers` limits what a
//! job may cost). Textures and images are in `tepui_agx_texture`.

pub mod cdm;
mod coverage;
mod dispatch;
mod gpu;
pub mod isp;
mod job;
mod order;
pub mod pipeline;
pub mod ppp;
pub mod render;
mod stream;
#[expect(clippy::needless_range_loop, reason = "lanes are indices into several rows at once")]
pub mod usc;
mod uvs;
mod vdm;
mod watch;
mod workers;

pub use coverage::Coverage;
pub use render::attachments::{Aspect, Attachment};

pub use job::{
    BgEot, ComputeJob, ComputeRegisters, FaultKind, Helper, JobFault, JobStats, ProgramPoint,
    RenderJob, Report, ReportKind, Unit, ZlsBuffer,
};

pub use gpu::{Gpu, MAX_WORKERS, Options, POISON};
pub use order::{Barriers, CommandKind, OrderChecker, Running};
pub use tepui_hostvec::Target;
pub use tepui_order::{CodeChange, Omission, Omitted, OrderEvent};
pub use usc::code::Fingerprint;
pub use usc::grid::Grid;
pub use watch::{
    Covering, Dispatch, MemoryAccess, Observe, Picture, PixelEvent, Sample, Shading, Space, Step,
    TileAccess, Uniforms, Watch,
};

use tepui_order::relaxed::Choices;
use tepui_softgpu::AddressSpace;

impl Gpu {
    /// Runs a compute command to its end.
    pub fn compute(&self, vm: &AddressSpace, job: &ComputeJob) -> Result<JobStats, JobFault> {
        self.ordered(vm, CommandKind::Compute, || cdm::run(self, vm, job))
    }

    /// Runs a render command (both its vertex and its fragment part) to its end.
    pub fn render(&self, vm: &AddressSpace, job: &RenderJob) -> Result<JobStats, JobFault> {
        self.ordered(vm, CommandKind::Render, || render::run(self, vm, job))
    }

    /// The events of a command, one of which can be left out of its next run: barrier blocks of compute streams.
    #[must_use]
    pub fn omission(&self) -> &Omission {
        &self.omission
    }

    /// Forgets the programs that have run.
    pub fn forget(&self) {
        self.programs.clear();
    }

    /// The waits of the programs that have run since [`Gpu::forget`], each with the bytes of an instruction that does not wait.
    pub fn code_changes(&self) -> Vec<CodeChange> {
        self.programs.without_waits()
    }

    /// The order in which the commands of a submission run: in relaxed execution another one that their barriers allow. Commands
    /// are in order otherwise.
    #[must_use]
    pub fn command_order(
        &self,
        submission: u64,
        commands: &[(CommandKind, Barriers)],
    ) -> Vec<usize> {
        match self.options.relaxed {
            Some(seed) => {
                let mut choices = Choices::new(seed ^ submission.rotate_left(32));
                order::relaxed_order(commands, &mut choices)
            }
            None => (0..commands.len()).collect(),
        }
    }

    /// The checker of order, for those that execute several commands of a submission.
    pub fn order(&self) -> Option<&OrderChecker> {
        self.order.as_deref()
    }

    /// Runs a command as a submission of its own, unless one runs.
    fn ordered(
        &self,
        vm: &AddressSpace,
        kind: CommandKind,
        run: impl FnOnce() -> Result<JobStats, JobFault>,
    ) -> Result<JobStats, JobFault> {
        let Some(order) = &self.order else { return run() };
        vm.observe(order.clone());
        if order.runs() {
            return run();
        }
        let running = order.begin();
        running.command(kind, [None; 2]);
        let mut stats = run()?;
        stats.report(&running.end());
        Ok(stats)
    }
}
