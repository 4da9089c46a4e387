//! The chips: what `ASAHI_GET_PARAMS` says of each.

use tepui_drm::device::{Bus, Node};
use tepui_drm::uapi::asahi::{FEATURE_SOFT_FAULTS, MAX_CLUSTERS, ParamsGlobal};

/// GPU pages are 16 KiB.
///
/// source: asahi_drm.h binds in pages; their size is that of Apple's DART and UAT tables, and Mesa
/// aligns its buffers to it (agx_bo.c).
pub const PAGE_SHIFT: u32 = 14;

/// Size of a GPU page in bytes.
pub const PAGE_BYTES: u64 = 1 << PAGE_SHIFT;

/// Width of a client's GPU addresses.
///
/// A choice, wide enough for Mesa's layout: it keeps the lowest 2^36 bytes for guards and fixed
/// buffers, and mirrors all others at +2^36 (agx_device.c, hk_queue.c).
pub const VA_BITS: u32 = 39;

/// Ticks of the clock behind timestamps. The counter of Apple's chips runs at 24 MHz.
pub const TIMESTAMP_HZ: u64 = 24_000_000;

/// Most hardware commands of one submission. A choice; Mesa submits up to 64 (hk_queue.c).
pub const MAX_COMMANDS: u32 = 64;

/// Most attachments of one command. A choice.
pub const MAX_ATTACHMENTS: u32 = 16;

/// Least size of the range that the kernel keeps for itself in an address space. A choice; Mesa
/// gives 32 GiB (agx_device.c).
pub const KERNEL_MIN_BYTES: u64 = 512 << 20;

/// One chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chip {
    /// What `--gpu` calls it.
    pub id: &'static str,
    /// The product's name.
    pub name: &'static str,
    /// GPU generation: 13 for G13.
    pub generation: u32,
    /// GPU variant: `G`, `S` or `C`.
    pub variant: char,
    /// Revision of the GPU in BCD: 0x10 for B0.
    pub revision: u32,
    /// The SoC in BCD.
    pub soc: u32,
    /// Clusters of cores.
    pub clusters: u32,
    /// Cores in a cluster.
    pub cores_per_cluster: u32,
    /// Highest clock.
    pub max_frequency_khz: u32,
    /// Node in the device tree.
    device_tree_node: &'static str,
    /// `compatible` strings of the node.
    compatible: &'static [&'static str],
}

/// Every chip that can be had.
///
/// Sources: product names, core counts and clocks are Apple's and public; generation, variant and
/// SoC numbers: Mesa (agx_device.c) and asahi_drm.h; device tree nodes: the kernel's
/// `apple,agx.yaml` binding and device trees. Choices of ours: the revisions other than the M1's,
/// and how many clusters the cores of Pro and Max form (clusters of eight make the public counts).
pub const CHIPS: &[Chip] = &[
    Chip {
        id: "m1",
        name: "Apple M1",
        generation: 13,
        variant: 'G',
        revision: 0x10,
        soc: 0x8103,
        clusters: 1,
        cores_per_cluster: 8,
        max_frequency_khz: 1_278_000,
        device_tree_node: "/soc/gpu@206400000",
        compatible: &["apple,agx-g13g"],
    },
    Chip {
        id: "m1-pro",
        name: "Apple M1 Pro",
        generation: 13,
        variant: 'S',
        revision: 0x10,
        soc: 0x6000,
        clusters: 2,
        cores_per_cluster: 8,
        max_frequency_khz: 1_296_000,
        device_tree_node: "/soc/gpu@406400000",
        compatible: &["apple,agx-g13s"],
    },
    Chip {
        id: "m1-max",
        name: "Apple M1 Max",
        generation: 13,
        variant: 'C',
        revision: 0x10,
        soc: 0x6001,
        clusters: 4,
        cores_per_cluster: 8,
        max_frequency_khz: 1_296_000,
        device_tree_node: "/soc/gpu@406400000",
        compatible: &["apple,agx-g13c", "apple,agx-g13s"],
    },
    Chip {
        id: "m2",
        name: "Apple M2",
        generation: 14,
        variant: 'G',
        revision: 0x00,
        soc: 0x8112,
        clusters: 1,
        cores_per_cluster: 10,
        max_frequency_khz: 1_398_000,
        device_tree_node: "/soc/gpu@206400000",
        compatible: &["apple,agx-g14g"],
    },
];

impl Chip {
    /// The chip that `--gpu` calls so.
    pub fn by_id(id: &str) -> Option<&'static Chip> {
        CHIPS.iter().find(|chip| chip.id == id)
    }

    /// All cores.
    pub fn cores(&self) -> u32 {
        self.clusters * self.cores_per_cluster
    }

    /// The revision as it is written: `B0`.
    pub fn revision_name(&self) -> String {
        format!("{:02X}", self.revision + 0xa0)
    }

    /// GPU and revision: `G13G B0`.
    pub fn gpu_name(&self) -> String {
        format!("G{}{} {}", self.generation, self.variant, self.revision_name())
    }

    /// What the node tells of the device.
    pub fn node(&self) -> Node {
        Node {
            driver: crate::DRIVER.name,
            bus: Bus::Platform {
                full_name: self.device_tree_node.into(),
                compatible: self.compatible.iter().map(|&name| name.into()).collect(),
            },
        }
    }

    /// What `ASAHI_GET_PARAMS` says.
    pub fn params(&self) -> ParamsGlobal {
        let mut core_masks = [0; MAX_CLUSTERS];
        core_masks[..self.clusters as usize].fill((1 << self.cores_per_cluster) - 1);
        ParamsGlobal {
            features: FEATURE_SOFT_FAULTS,
            gpu_generation: self.generation,
            gpu_variant: self.variant.into(),
            gpu_revision: self.revision,
            chip_id: self.soc,
            num_dies: 1,
            num_clusters_total: self.clusters,
            num_cores_per_cluster: self.cores_per_cluster,
            max_frequency_khz: self.max_frequency_khz,
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
}
