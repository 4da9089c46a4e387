//! The virtual device: one chip and the model that executes its commands, shared by all open files.

use std::sync::Arc;

use tepui_agx_chips::Chip;
use tepui_agx_model::{
    Barriers, CommandKind, ComputeJob, Gpu, JobFault, JobStats, OrderChecker, RenderJob,
};
use tepui_drm::interface;
use tepui_softgpu::AddressSpace;

use crate::chips::TIMESTAMP_HZ;
use crate::{DRIVER, Observer};

/// Executes hardware commands: the model, or a stand-in of tests and tools.
pub trait Execute: Send + Sync {
    /// Runs a compute command to its end.
    fn compute(&self, vm: &AddressSpace, job: &ComputeJob) -> Result<JobStats, JobFault>;

    /// Runs a render command to its end.
    fn render(&self, vm: &AddressSpace, job: &RenderJob) -> Result<JobStats, JobFault>;

    /// The checker of the order of a submission's commands.
    fn order(&self) -> Option<&OrderChecker> {
        None
    }

    /// The order in which the commands of a submission run.
    fn command_order(&self, _submission: u64, commands: &[(CommandKind, Barriers)]) -> Vec<usize> {
        (0..commands.len()).collect()
    }
}

impl Execute for Gpu {
    fn compute(&self, vm: &AddressSpace, job: &ComputeJob) -> Result<JobStats, JobFault> {
        Gpu::compute(self, vm, job)
    }

    fn render(&self, vm: &AddressSpace, job: &RenderJob) -> Result<JobStats, JobFault> {
        Gpu::render(self, vm, job)
    }

    fn order(&self) -> Option<&OrderChecker> {
        Gpu::order(self)
    }

    fn command_order(&self, submission: u64, commands: &[(CommandKind, Barriers)]) -> Vec<usize> {
        Gpu::command_order(self, submission, commands)
    }
}

/// Options of a device.
pub type Options = interface::Options<tepui_agx_model::Options, dyn Observer>;

/// A command that ended in a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultRecord {
    /// The open file, numbered from 1.
    pub file: u64,
    /// The queue's id within the file.
    pub queue: u32,
    /// The submission, numbered from 1 within the device.
    pub submission: u64,
    /// The hardware command, numbered from 0 within the submission.
    pub command: usize,
    /// Whether it was a compute or a render command.
    pub kind: &'static str,
    /// The fault.
    pub fault: JobFault,
}

type Interface = interface::Interface<tepui_agx_model::Options, dyn Observer, FaultRecord>;

/// A virtual AGX GPU.
pub struct Device {
    pub(crate) chip: &'static Chip,
    pub(crate) gpu: Box<dyn Execute>,
    pub(crate) interface: Interface,
}

impl Device {
    /// Creates a device of a chip, in its state after reset.
    pub fn new(chip: &'static Chip, options: Options) -> Arc<Device> {
        let gpu = Box::new(Gpu::new(options.model.clone()));
        Device::with_executor(chip, options, gpu)
    }

    /// Creates a device whose commands `gpu` executes; [`Options::model`] is ignored.
    pub fn with_executor(
        chip: &'static Chip,
        options: Options,
        gpu: Box<dyn Execute>,
    ) -> Arc<Device> {
        Arc::new(Device { chip, gpu, interface: Interface::new(DRIVER, options) })
    }

    /// The chip.
    pub fn chip(&self) -> &'static Chip {
        self.chip
    }

    /// The first faults, oldest first: at most [`Interface::FAULTS_KEPT`](tepui_drm::interface::Interface::FAULTS_KEPT).
    pub fn faults(&self) -> Vec<FaultRecord> {
        self.interface.faults()
    }

    pub(crate) fn record(&self, record: FaultRecord) {
        self.interface.record(record, |record| self.report(record));
    }

    /// Formats a fault as lines for standard error.
    fn report(&self, record: &FaultRecord) -> String {
        let FaultRecord { file, queue, submission, command, kind, fault } = record;
        format!(
            "tepui: GPU fault on {} ({}); the queue is lost\n  \
             where   {kind} command {command} of submission {submission}, queue {queue} of open file {file}\n{}",
            self.chip.name,
            self.chip.gpu_name(),
            fault.lines("shader", "packet"),
        )
    }
}

/// The GPU's clock in ticks of [`TIMESTAMP_HZ`].
pub(crate) fn timestamp() -> u64 {
    (u128::from(tepui_drm::monotonic_ns()) * u128::from(TIMESTAMP_HZ) / 1_000_000_000) as u64
}
