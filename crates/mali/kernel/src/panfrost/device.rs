//! The virtual device: one chip and the model that executes its jobs, shared by all open files.

use std::sync::Arc;

use tepui_drm::device::{Bus, Node, VirtualDevice, VirtualFile};
use tepui_drm::interface;
use tepui_drm::token::Registry;
use tepui_mali_chips::Chip;
use tepui_mali_model::{Gpu, JobFault};

use super::{DRIVER, File};
use crate::{Observer, Options};

/// A chain that ended in a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultRecord {
    /// The open file, numbered from 1.
    pub file: u64,
    /// The submission, numbered from 1 within the device.
    pub submission: u64,
    /// The fault.
    pub fault: JobFault,
}

type Interface = interface::Interface<tepui_mali_model::Options, dyn Observer, FaultRecord>;

/// A virtual Mali GPU with a job manager.
pub struct Device {
    pub(super) chip: &'static Chip,
    pub(super) gpu: Gpu,
    pub(super) interface: Interface,
}

impl Device {
    /// Creates a device of a chip, in its state after reset.
    pub fn new(chip: &'static Chip, options: Options) -> Arc<Device> {
        Arc::new(Device {
            chip,
            gpu: Gpu::new(chip, options.model),
            interface: Interface::new(DRIVER, options),
        })
    }

    /// Opens the device: a new set of handles and an address space.
    pub fn open(self: &Arc<Self>) -> File {
        File::new(self.clone())
    }

    /// The first faults, oldest first: at most [`Interface::FAULTS_KEPT`](tepui_drm::interface::Interface::FAULTS_KEPT).
    pub fn faults(&self) -> Vec<FaultRecord> {
        self.interface.faults()
    }

    pub(super) fn record(&self, record: FaultRecord) {
        self.interface.record(record, |record| self.report(record));
    }

    /// Formats a fault as lines for standard error.
    fn report(&self, record: &FaultRecord) -> String {
        let FaultRecord { file, submission, fault } = record;
        format!(
            "tepui: GPU fault on {} ({}); the chain ends\n  \
             where   submission {submission} of open file {file}\n{}",
            self.chip.name,
            self.chip.arch,
            fault.lines("shader", "job"),
        )
    }
}

impl VirtualDevice for Device {
    fn node(&self) -> Node {
        // As on the MT8192, the RK3568, the RK3399 and the H6, systems-on-chip with a G57, a G52, a T860 and a T720 that
        // mainline kernels support.
        let (full_name, compatible) = match self.chip.arch.0 {
            9.. => ("/gpu@13000000", ["mediatek,mt8192-mali", "arm,mali-valhall-jm"]),
            6.. => ("/gpu@fde60000", ["rockchip,rk3568-mali", "arm,mali-bifrost"]),
            5 => ("/gpu@ff9a0000", ["rockchip,rk3399-mali", "arm,mali-t860"]),
            _ => ("/gpu@1800000", ["allwinner,sun50i-h6-mali", "arm,mali-t720"]),
        };
        Node {
            driver: DRIVER.name.into(),
            bus: Bus::Platform {
                full_name: full_name.to_owned(),
                compatible: compatible.map(str::to_owned).to_vec(),
            },
        }
    }

    fn open(self: Arc<Self>) -> Arc<dyn VirtualFile> {
        Arc::new(Device::open(&self))
    }

    fn registry(&self) -> &Registry {
        &self.interface.core.registry
    }
}
