//! Values of the GPU's identification registers, except for the shader cores and limits that a model chooses.
//!
//! No hardware was asked: these are values with which Mesa's drivers work, in the layout that the kernel's headers and
//! Mesa (`src/panfrost/lib/kmod`, `src/panfrost/lib/pan_props.c`) give the registers.

use crate::Chip;

impl Chip {
    /// GPU_ID: the product in the upper half, revision 0 in the lower.
    pub const fn gpu_id(&self) -> u32 {
        self.product_id << 16
    }

    /// CSF_ID of a chip with a command-stream front end: its version and that of its firmware's interface.
    pub const fn csf_id(&self) -> u32 {
        0x040a_0412
    }

    /// L2_FEATURES: logarithms of line size (6), associativity (3), size (18) and bus width (7).
    pub const fn l2_features(&self) -> u32 {
        0x0712_0306
    }

    /// TILER_FEATURES: logarithm of the bin size (9), levels of the hierarchy (8).
    pub const fn tiler_features(&self) -> u32 {
        0x809
    }

    /// MEM_FEATURES: L2 slices minus 1 in bits 8 to 11, bit 0 for coherent groups of cores.
    pub const fn mem_features(&self) -> u32 {
        0x301
    }

    /// MMU_FEATURES: bits of virtual (48) and of physical addresses (40).
    pub const fn mmu_features(&self) -> u32 {
        0x2830
    }

    /// THREAD_FEATURES of Valhall: registers of a core in the lower 22 bits, depth of the task queue in the upper 8.
    pub const fn thread_features(&self) -> u32 {
        0x0401_0000
    }

    /// AS_PRESENT: address spaces that may be in use at one time.
    pub const fn as_present(&self) -> u32 {
        0xff
    }
}
