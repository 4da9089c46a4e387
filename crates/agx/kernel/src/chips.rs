//! Parameters of a chip in the kernel interface: its place in the device tree and the answer to
//! `ASAHI_GET_PARAMS`.

use tepui_agx_chips::Chip;
use tepui_drm::device::{Bus, Node};
use tepui_drm::uapi::asahi::{FEATURE_SOFT_FAULTS, MAX_CLUSTERS, ParamsGlobal};

pub use tepui_agx_chips::{PAGE_BYTES, PAGE_SHIFT, VA_BITS};

/// Frequency of timestamps. The counter of Apple's chips runs at 24 MHz.
pub const TIMESTAMP_HZ: u64 = 24_000_000;

/// Maximum number of hardware commands of one submission. A choice; Mesa submits up to 64 (hk_queue.c).
pub const MAX_COMMANDS: u32 = 64;

/// Maximum number of attachments of one command. A choice.
pub const MAX_ATTACHMENTS: u32 = 16;

/// Minimum size of the range that the kernel reserves in an address space. A choice; Mesa gives 32 GiB
/// (agx_device.c).
pub const KERNEL_MIN_BYTES: u64 = 512 << 20;

/// The device node of a chip: its driver and its place in the device tree.
pub fn node(chip: &Chip) -> Node {
    Node {
        driver: crate::DRIVER.name.into(),
        bus: Bus::Platform {
            full_name: chip.device_tree_node.into(),
            compatible: chip.compatible.iter().map(|&name| name.into()).collect(),
        },
    }
}

/// The answer to `ASAHI_GET_PARAMS` for a chip.
pub fn params(chip: &Chip) -> ParamsGlobal {
    let mut core_masks = [0; MAX_CLUSTERS];
    core_masks[..chip.clusters as usize].fill((1 << chip.cores_per_cluster) - 1);
    ParamsGlobal {
        features: FEATURE_SOFT_FAULTS,
        gpu_generation: chip.generation,
        gpu_variant: chip.variant.into(),
        gpu_revision: chip.revision,
        chip_id: chip.soc,
        num_dies: 1,
        num_clusters_total: chip.clusters,
        num_cores_per_cluster: chip.cores_per_cluster,
        max_frequency_khz: chip.max_frequency_khz,
        core_masks,
        // The lowest page stays unbound, so that a null pointer is one.
        vm_start: PAGE_BYTES,
        vm_end: 1 << VA_BITS,
        vm_kernel_min_size: KERNEL_MIN_BYTES,
        max_commands_per_submission: MAX_COMMANDS,
        max_attachments: MAX_ATTACHMENTS,
        command_timestamp_frequency_hz: TIMESTAMP_HZ,
    }
}
