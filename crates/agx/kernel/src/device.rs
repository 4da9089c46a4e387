//! The virtual device: one chip and the model that executes its commands, shared by all open files.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tepui_agx_chips::Chip;
use tepui_agx_model::{
    Barriers, CommandKind, ComputeJob, Gpu, JobFault, JobStats, OrderChecker, RenderJob,
};
use tepui_drm::core::CoreDevice;
use tepui_drm::fault_log::FaultLog;
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
#[derive(Clone)]
pub struct Options {
    /// Options of the model.
    pub model: tepui_agx_model::Options,
    /// Observer of requests and executions.
    pub observer: Option<Arc<dyn Observer>>,
    /// Log of the checker's findings; standard error if none.
    pub findings: Option<Arc<tepui_check::Log>>,
    /// Writes a report of each fault to standard error.
    pub report_faults: bool,
    /// Ends the process after the report, for clients that do not notice a lost device.
    pub abort_on_fault: bool,
    /// Writes each refused request, with its reason, to standard error.
    pub report_refusals: bool,
    /// The buffer object with this number, counted from 1, cannot be made: for tests of what drivers do then.
    pub failing_allocation: Option<u64>,
    /// Other processes map the buffers: each has a file.
    pub shareable: bool,
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
            failing_allocation: None,
            shareable: false,
        }
    }
}

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

/// A virtual AGX GPU.
pub struct Device {
    pub(crate) chip: &'static Chip,
    pub(crate) core: Arc<CoreDevice>,
    pub(crate) gpu: Box<dyn Execute>,
    pub(crate) options: Options,
    files: AtomicU64,
    submissions: AtomicU64,
    /// Buffer objects that were asked for; counted only where one is to fail.
    allocations: AtomicU64,
    faults: FaultLog<FaultRecord>,
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
        Arc::new(Device {
            chip,
            core: Arc::new(CoreDevice::new(DRIVER)),
            gpu,
            options,
            files: AtomicU64::new(0),
            submissions: AtomicU64::new(0),
            allocations: AtomicU64::new(0),
            faults: FaultLog::default(),
        })
    }

    /// The number of the next open file, from 1.
    pub(crate) fn next_file(&self) -> u64 {
        self.files.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The chip.
    pub fn chip(&self) -> &'static Chip {
        self.chip
    }

    /// The faults so far, oldest first; the first [`Device::FAULTS_KEPT`] are kept.
    pub fn faults(&self) -> Vec<FaultRecord> {
        self.faults.records()
    }

    /// Number of faults that are kept.
    pub const FAULTS_KEPT: usize = FaultLog::<FaultRecord>::KEPT;

    /// Whether the buffer object that is being made is the one that must fail.
    pub(crate) fn fails_allocation(&self) -> bool {
        let Some(n) = self.options.failing_allocation else { return false };
        let fails = self.allocations.fetch_add(1, Ordering::Relaxed) + 1 == n;
        if fails {
            eprintln!("tepui: allocation {n} fails, as it was asked to");
        }
        fails
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
        let FaultRecord { file, queue, submission, command, kind, fault } = record;
        let mut text = format!(
            "tepui: GPU fault on {} ({}); the queue is lost\n  \
             where   {kind} command {command} of submission {submission}, queue {queue} of open file {file}\n  \
             unit    {}\n  what    {}\n",
            self.chip.name,
            self.chip.gpu_name(),
            fault.unit,
            fault.what,
        );
        if let Some(point) = &fault.program {
            text += &format!(
                "  shader  {:#x}, at offset {:#x}: {}\n",
                point.program, point.offset, point.text
            );
        }
        if let Some(packet) = fault.packet {
            text += &format!("  packet  {packet:#x}\n");
        }
        text
    }
}

/// The GPU's clock in ticks of [`TIMESTAMP_HZ`].
pub(crate) fn timestamp() -> u64 {
    (u128::from(tepui_drm::monotonic_ns()) * u128::from(TIMESTAMP_HZ) / 1_000_000_000) as u64
}
