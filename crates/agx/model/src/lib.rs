//! The AGX GPU as a software model: it executes the machine code and control streams of a driver.
//!
//! A kernel front hands a [`ComputeJob`] or [`RenderJob`] — the values that the firmware writes into
//! the hardware's control registers — and an address space to [`Gpu`]. Everything else is read from
//! GPU memory, as silicon does.

mod job;

pub use job::{
    BgEot, ComputeJob, ComputeRegisters, Helper, JobFault, JobStats, ProgramPoint, RenderJob, Unit,
    ZlsBuffer,
};

use tepui_softgpu::AddressSpace;

/// How a [`Gpu`] runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Worker threads; 0 takes one for each core of the host.
    pub threads: usize,
    /// Report what silicon would hide: reads of registers and memory that were never written, and
    /// uses of a load's result before it was waited for.
    pub check: bool,
    /// Instructions that one SIMD-group may execute before the job is taken for an endless loop.
    pub instruction_budget: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options { threads: 0, check: false, instruction_budget: 1 << 32 }
    }
}

/// One virtual GPU.
pub struct Gpu {
    #[expect(dead_code)]
    options: Options,
}

impl Gpu {
    /// A GPU in its state after reset.
    pub fn new(options: Options) -> Gpu {
        Gpu { options }
    }

    /// Runs a compute command to its end.
    pub fn compute(&self, _vm: &AddressSpace, _job: &ComputeJob) -> Result<JobStats, JobFault> {
        Err(JobFault::unimplemented(Unit::Cdm, "compute commands"))
    }

    /// Runs a render command (both its vertex and its fragment part) to its end.
    pub fn render(&self, _vm: &AddressSpace, _job: &RenderJob) -> Result<JobStats, JobFault> {
        Err(JobFault::unimplemented(Unit::Vdm, "render commands"))
    }
}
