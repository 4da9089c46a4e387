//! The virtual device: one chip and the model that executes its batches, shared by all open files.

use std::sync::Arc;

use tepui_drm::device::{Node, VirtualDevice, VirtualFile};
use tepui_drm::interface;
use tepui_drm::token::Registry;
use tepui_intel_chips::Chip;
use tepui_intel_model::{Batch, Gpu, HardwareContext, JobFault, JobStats};
use tepui_softgpu::AddressSpace;

use crate::{DRIVER, File, Observer};

/// Executes batches: the model, or a stand-in of tests and tools.
pub trait Execute: Send + Sync {
    /// The state of a context that has executed nothing.
    fn context(&self) -> HardwareContext;

    /// Runs a batch to its end.
    fn execute(
        &self,
        vm: &AddressSpace,
        context: &mut HardwareContext,
        batch: &Batch,
    ) -> Result<JobStats, JobFault>;
}

impl Execute for Gpu {
    fn context(&self) -> HardwareContext {
        Gpu::context(self)
    }

    fn execute(
        &self,
        vm: &AddressSpace,
        context: &mut HardwareContext,
        batch: &Batch,
    ) -> Result<JobStats, JobFault> {
        Gpu::execute(self, vm, context, batch)
    }
}

/// Options of a device.
pub type Options = interface::Options<tepui_intel_model::Options, dyn Observer>;

/// A batch that ended in a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultRecord {
    /// The open file, numbered from 1.
    pub file: u64,
    /// The context's id within the file.
    pub context: u32,
    /// The submission, numbered from 1 within the device.
    pub submission: u64,
    /// The fault.
    pub fault: JobFault,
}

type Interface = interface::Interface<tepui_intel_model::Options, dyn Observer, FaultRecord>;

/// A virtual Intel GPU.
pub struct Device {
    pub(crate) chip: &'static Chip,
    pub(crate) gpu: Box<dyn Execute>,
    pub(crate) interface: Interface,
}

impl Device {
    /// Creates a device of a chip, in its state after reset.
    pub fn new(chip: &'static Chip, options: Options) -> Arc<Device> {
        let gpu = Box::new(Gpu::new(chip, options.model));
        Device::with_executor(chip, options, gpu)
    }

    /// Creates a device whose batches `gpu` executes; [`Options::model`] is ignored.
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

    /// Opens the device: a new set of handles, address spaces and contexts.
    pub fn open(self: &Arc<Self>) -> File {
        File::new(self.clone())
    }

    /// The first faults, oldest first: at most [`Interface::FAULTS_KEPT`](tepui_drm::interface::Interface::FAULTS_KEPT).
    pub fn faults(&self) -> Vec<FaultRecord> {
        self.interface.faults()
    }

    /// The command streamer's clock: ticks of [`Chip::timestamp_hz`], the lower 36 bits.
    pub(crate) fn timestamp(&self) -> u64 {
        tepui_intel_model::timestamp(self.chip, self.interface.options.model.clock)
    }

    pub(crate) fn record(&self, record: FaultRecord) {
        self.interface.record(record, |record| self.report(record));
    }

    /// Formats a fault as lines for standard error.
    fn report(&self, record: &FaultRecord) -> String {
        let FaultRecord { file, context, submission, fault } = record;
        format!(
            "tepui: GPU fault on {} ({})\n  \
             where   submission {submission}, context {context} of open file {file}\n{}",
            self.chip.name,
            self.chip.generation,
            fault.lines("kernel", "command"),
        )
    }
}

impl VirtualDevice for Device {
    fn node(&self) -> Node {
        crate::chips::node(self.chip)
    }

    fn open(self: Arc<Self>) -> Arc<dyn VirtualFile> {
        Arc::new(Device::open(&self))
    }

    fn registry(&self) -> &Registry {
        &self.interface.core.registry
    }
}
