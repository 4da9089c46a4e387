//! The virtual device: one chip and the model that executes its batches, shared by all open files.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tepui_drm::core::CoreDevice;
use tepui_drm::device::{Node, VirtualDevice, VirtualFile};
use tepui_drm::fault_log::FaultLog;
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
#[derive(Clone)]
pub struct Options {
    /// Options of the model.
    pub model: tepui_intel_model::Options,
    /// Observer of requests and batches.
    pub observer: Option<Arc<dyn Observer>>,
    /// Log of the checker's findings; standard error if none.
    pub findings: Option<Arc<tepui_check::Log>>,
    /// Writes a report of each fault to standard error.
    pub report_faults: bool,
    /// Ends the process after the report, for clients that do not notice a lost context.
    pub abort_on_fault: bool,
    /// Writes each refused request, with its reason, to standard error.
    pub report_refusals: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            model: Default::default(),
            observer: None,
            findings: None,
            report_faults: true,
            abort_on_fault: false,
            report_refusals: false,
        }
    }
}

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

/// A virtual Intel GPU.
pub struct Device {
    pub(crate) chip: &'static Chip,
    pub(crate) core: Arc<CoreDevice>,
    pub(crate) gpu: Box<dyn Execute>,
    pub(crate) options: Options,
    files: AtomicU64,
    submissions: AtomicU64,
    faults: FaultLog<FaultRecord>,
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
        Arc::new(Device {
            chip,
            core: Arc::new(CoreDevice::new(DRIVER)),
            gpu,
            options,
            files: AtomicU64::new(0),
            submissions: AtomicU64::new(0),
            faults: FaultLog::default(),
        })
    }

    /// The chip.
    pub fn chip(&self) -> &'static Chip {
        self.chip
    }

    /// Opens the device: a new set of handles, address spaces and contexts.
    pub fn open(self: &Arc<Self>) -> File {
        File::new(self.clone(), self.files.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The faults so far, oldest first; the first [`Device::FAULTS_KEPT`] are kept.
    pub fn faults(&self) -> Vec<FaultRecord> {
        self.faults.records()
    }

    /// Number of faults that are kept.
    pub const FAULTS_KEPT: usize = FaultLog::<FaultRecord>::KEPT;

    /// The command streamer's clock: ticks of [`Chip::timestamp_hz`], the lower 36 bits.
    pub(crate) fn timestamp(&self) -> u64 {
        tepui_intel_model::timestamp(self.chip, self.options.model.clock)
    }

    pub(crate) fn next_submission(&self) -> u64 {
        self.submissions.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn record(&self, record: FaultRecord) {
        if self.options.report_faults {
            eprint!("{}", self.report(&record));
        }
        if self.options.abort_on_fault {
            std::process::abort();
        }
        self.faults.push(record);
    }

    /// Formats a fault as lines for standard error.
    fn report(&self, record: &FaultRecord) -> String {
        let FaultRecord { file, context, submission, fault } = record;
        let mut text = format!(
            "tepui: GPU fault on {} ({})\n  \
             where   submission {submission}, context {context} of open file {file}\n  \
             unit    {}\n  what    {}\n",
            self.chip.name, self.chip.generation, fault.unit, fault.what,
        );
        if let Some(point) = &fault.program {
            text += &format!(
                "  kernel  {:#x}, at offset {:#x}: {}\n",
                point.program, point.offset, point.text
            );
        }
        if let Some(command) = fault.packet {
            text += &format!("  command {command:#x}\n");
        }
        text
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
        &self.core.registry
    }
}
