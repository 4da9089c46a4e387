//! The AGX GPUs by name.
//!
//! [`CHIPS`] is the table of the GPUs that Tepui can be. Everything else about an AGX GPU that the
//! compiler, the layouts and the kernel interface need follows from its generation and variant, or
//! is the same for all of them: the width of a SIMD-group, the size of a page.

/// Lanes of a SIMD-group. source: applegpu, "SIMD-groups"
pub const LANES: usize = 32;

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

/// An AGX GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chip {
    /// The name that commands take, as `m1-max`.
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
    /// Highest clock in kHz.
    pub max_frequency_khz: u32,
    /// Path of the node in the device tree.
    pub device_tree_node: &'static str,
    /// `compatible` strings of the node, the most special first.
    pub compatible: &'static [&'static str],
}

/// Every AGX GPU that Tepui knows.
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
    /// All cores.
    pub fn cores(&self) -> u32 {
        self.clusters * self.cores_per_cluster
    }

    /// The revision in letters, as `B0`.
    pub fn revision_name(&self) -> String {
        format!("{:02X}", self.revision + 0xa0)
    }

    /// Generation, variant and revision, as `G13G B0`.
    pub fn gpu_name(&self) -> String {
        format!("G{}{} {}", self.generation, self.variant, self.revision_name())
    }
}

/// The chip of a name, in upper or lower case.
///
/// ```
/// let m1 = tepui_agx_chips::chip("m1").unwrap();
/// assert_eq!((m1.gpu_name().as_str(), m1.cores()), ("G13G B0", 8));
/// ```
pub fn chip(id: &str) -> Option<&'static Chip> {
    CHIPS.iter().find(|chip| chip.id.eq_ignore_ascii_case(id))
}
