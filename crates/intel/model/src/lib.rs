//! The model of Intel's GPUs.

pub mod job;

pub use job::{Batch, FaultKind, JobFault, JobStats, ProgramPoint, Unit};

use tepui_intel_chips::Chip;
use tepui_softgpu::AddressSpace;

/// Options of the model.
#[derive(Clone, Copy)]
pub struct Options {
    /// Worker threads; 0 takes one for each core of the host.
    pub threads: usize,
    /// Nanoseconds of a monotonic clock, from which the timestamps come.
    pub clock: fn() -> u64,
}

fn no_clock() -> u64 {
    0
}

impl Default for Options {
    fn default() -> Self {
        Options { threads: 0, clock: no_clock }
    }
}

/// The command streamer's clock at a time of `clock`: ticks of [`Chip::timestamp_hz`], the lower 36
/// bits.
pub fn timestamp(chip: &Chip, clock: fn() -> u64) -> u64 {
    let ticks = u128::from(clock()) * u128::from(chip.timestamp_hz) / 1_000_000_000;
    ticks as u64 & ((1 << 36) - 1)
}

/// State of a context.
pub struct HardwareContext;

/// A GPU.
pub struct Gpu;

impl Gpu {
    /// New.
    pub fn new(_chip: &'static Chip, _options: Options) -> Gpu {
        Gpu
    }
    /// New.
    pub fn context(&self) -> HardwareContext {
        HardwareContext
    }
    /// Run.
    pub fn execute(
        &self,
        _vm: &AddressSpace,
        _context: &mut HardwareContext,
        _batch: &Batch,
    ) -> Result<JobStats, JobFault> {
        Err(JobFault::unimplemented(Unit::CommandStreamer, "a batch"))
    }
}
