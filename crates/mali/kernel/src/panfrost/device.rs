//! The virtual device: one chip and the model that executes its jobs, shared by all open files.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tepui_drm::core::CoreDevice;
use tepui_drm::device::{Bus, Node, VirtualDevice, VirtualFile};
use tepui_drm::fault_log::FaultLog;
use tepui_drm::token::Registry;
use tepui_mali_chips::Chip;
use tepui_mali_model::{Gpu, JobFault};

use super::{DRIVER, File};
use crate::Options;

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

/// A virtual Mali GPU with a job manager.
pub struct Device {
    pub(super) chip: &'static Chip,
    pub(super) core: Arc<CoreDevice>,
    pub(super) gpu: Gpu,
    pub(super) options: Options,
    files: AtomicU64,
    submissions: AtomicU64,
    faults: FaultLog<FaultRecord>,
}

impl Device {
    /// Creates a device of a chip, in its state after reset.
    pub fn new(chip: &'static Chip, options: Options) -> Arc<Device> {
        Arc::new(Device {
            chip,
            core: Arc::new(CoreDevice::new(DRIVER)),
            gpu: Gpu::new(chip, options.model),
            options,
            files: AtomicU64::new(0),
            submissions: AtomicU64::new(0),
            faults: FaultLog::default(),
        })
    }

    /// Opens the device: a new set of handles and an address space.
    pub fn open(self: &Arc<Self>) -> File {
        File::new(self.clone(), self.files.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The first [`FaultLog::KEPT`] faults, oldest first.
    pub fn faults(&self) -> Vec<FaultRecord> {
        self.faults.records()
    }

    pub(super) fn next_submission(&self) -> u64 {
        self.submissions.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(super) fn record(&self, record: FaultRecord) {
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
        let FaultRecord { file, submission, fault } = record;
        let mut text = format!(
            "tepui: GPU fault on {} ({}); the chain ends\n  \
             where   submission {submission} of open file {file}\n  \
             unit    {}\n  what    {}\n",
            self.chip.name, self.chip.arch, fault.unit, fault.what,
        );
        if let Some(point) = &fault.program {
            text += &format!(
                "  shader  {:#x}, at offset {:#x}: {}\n",
                point.program, point.offset, point.text
            );
        }
        if let Some(packet) = fault.packet {
            text += &format!("  job     {packet:#x}\n");
        }
        text
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
        &self.core.registry
    }
}
