//! The virtual device: one chip and the model that executes its command streams, shared by all open files.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tepui_drm::device::{Node, VirtualDevice, VirtualFile};
use tepui_drm::interface;
use tepui_drm::token::Registry;
use tepui_mali_chips::Chip;
use tepui_mali_model::{
    Completion, Gpu, Group, JobFault, QueueState, Report, StartError, Stream, describe, finding,
};
use tepui_softgpu::AddressSpace;

use crate::{DRIVER, File, Observer};

/// Executes command streams: the model, or a stand-in of tests and tools.
pub trait Execute: Send + Sync {
    /// A group of queues that have executed nothing.
    fn group(&self, queues: usize) -> Box<dyn Queues>;

    /// The reports of the model's checker since the last call.
    fn reports(&self) -> Vec<Report> {
        Vec::new()
    }
}

/// The queues of a group, as an executor keeps them.
pub trait Queues: Send {
    /// The state of a queue; `None` if the group has no such queue.
    fn state(&self, queue: usize) -> Option<QueueState>;

    /// Gives an idle queue a stream.
    ///
    /// # Errors
    /// The queue does not exist, has a stream, or the group has faulted.
    fn start(&mut self, queue: usize, stream: Stream) -> Result<(), StartError>;

    /// Whether a queue would execute something now.
    fn can_run(&self, _vm: &AddressSpace) -> bool {
        true
    }

    /// Sets the maximum bytes of the address space's tiler heaps, by the addresses of their contexts.
    fn set_heaps(&mut self, _heaps: &[(u64, u64)]) {}

    /// Executes until a stream has ended or all remaining ones wait for a sync object; returns the streams that
    /// ended.
    fn run(&mut self, vm: &AddressSpace) -> Vec<Completion>;
}

/// A group of the model.
struct ModelGroup {
    gpu: Arc<Gpu>,
    group: Group,
}

impl Queues for ModelGroup {
    fn state(&self, queue: usize) -> Option<QueueState> {
        self.group.state(queue)
    }

    fn start(&mut self, queue: usize, stream: Stream) -> Result<(), StartError> {
        self.group.start(queue, stream)
    }

    fn can_run(&self, vm: &AddressSpace) -> bool {
        self.gpu.can_run(vm, &self.group)
    }

    fn set_heaps(&mut self, heaps: &[(u64, u64)]) {
        self.group.set_heaps(heaps);
    }

    fn run(&mut self, vm: &AddressSpace) -> Vec<Completion> {
        self.gpu.run(vm, &mut self.group)
    }
}

/// The model as an executor.
struct Model(Arc<Gpu>);

impl Execute for Model {
    fn group(&self, queues: usize) -> Box<dyn Queues> {
        Box::new(ModelGroup { gpu: self.0.clone(), group: self.0.group(queues) })
    }

    fn reports(&self) -> Vec<Report> {
        self.0.take_reports()
    }
}

/// Options of a device.
pub type Options = interface::Options<tepui_mali_model::Options, dyn Observer>;

/// Logs reports of the model's checker about a submission, or writes them to standard error.
pub(crate) fn report(options: &Options, reports: &[Report], submission: u64) {
    let place = format!("submission {submission}");
    for report in reports {
        let finding = || finding(report, place.clone());
        options.report(finding, || format!("{} ({place})", describe(report)));
    }
}

/// A command stream that ended in a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultRecord {
    /// The open file, numbered from 1.
    pub file: u64,
    /// The group's handle within the file.
    pub group: u32,
    /// The queue's index within the group.
    pub queue: usize,
    /// The submission, numbered from 1 within the device.
    pub submission: u64,
    /// The fault.
    pub fault: JobFault,
}

type Interface = interface::Interface<tepui_mali_model::Options, dyn Observer, FaultRecord>;

/// A virtual Mali GPU.
pub struct Device {
    pub(crate) chip: &'static Chip,
    pub(crate) gpu: Box<dyn Execute>,
    pub(crate) interface: Interface,
    /// Counts the groups' executions, so that a queue that waits for a sync object in memory knows when to check
    /// again.
    pub(crate) steps: AtomicU64,
}

impl Device {
    /// Creates a device of a chip, in its state after reset.
    pub fn new(chip: &'static Chip, options: Options) -> Arc<Device> {
        let gpu = Box::new(Model(Arc::new(Gpu::new(chip, options.model))));
        Device::with_executor(chip, options, gpu)
    }

    /// Creates a device whose streams `gpu` executes; [`Options::model`] is ignored.
    pub fn with_executor(
        chip: &'static Chip,
        options: Options,
        gpu: Box<dyn Execute>,
    ) -> Arc<Device> {
        Arc::new(Device {
            chip,
            gpu,
            interface: Interface::new(DRIVER, options),
            steps: AtomicU64::new(0),
        })
    }

    /// Opens the device: a new set of handles, address spaces and groups.
    pub fn open(self: &Arc<Self>) -> File {
        File::new(self.clone())
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
        let FaultRecord { file, group, queue, submission, fault } = record;
        format!(
            "tepui: GPU fault on {} ({}); the group is lost\n  \
             where   submission {submission}, queue {queue} of group {group} of open file {file}\n{}",
            self.chip.name,
            self.chip.arch,
            fault.lines("shader", "stream"),
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
