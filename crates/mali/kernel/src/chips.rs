//! The device node and the properties of a chip.

use tepui_drm::device::{Bus, Node};
use tepui_drm::uapi::panthor::{self as uapi, CsifInfo, GpuInfo, GroupPrioritiesInfo, MmuInfo};
use tepui_mali_chips::Chip;
use tepui_mali_model::limits;

/// Bytes of a page.
pub const PAGE_BYTES: u64 = 1 << limits::PAGE_SHIFT;

/// Command-stream groups that the firmware keeps resident. A choice: nothing here depends on it.
const CSG_SLOTS: u32 = 8;

/// Mask of the tilers that exist.
pub const TILER_PRESENT: u64 = 1;

/// The device node of a chip: its driver and its place in the device tree.
pub fn node(_chip: &Chip) -> Node {
    Node {
        driver: crate::DRIVER.name.into(),
        // As on the RK3588, the system-on-chip with a G610 that mainline kernels support.
        bus: Bus::Platform {
            full_name: "/gpu@fb000000".to_owned(),
            compatible: vec!["rockchip,rk3588-mali".to_owned(), "arm,mali-valhall-csf".to_owned()],
        },
    }
}

/// Answers `DEV_QUERY` for the GPU.
pub fn gpu_info(chip: &Chip) -> GpuInfo {
    GpuInfo {
        gpu_id: chip.gpu_id(),
        csf_id: chip.csf_id(),
        l2_features: chip.l2_features(),
        tiler_features: chip.tiler_features(),
        mem_features: chip.mem_features(),
        mmu_features: chip.mmu_features(),
        thread_features: chip.thread_features(),
        max_threads: limits::MAX_THREADS,
        thread_max_workgroup_size: limits::MAX_WORKGROUP_SIZE,
        thread_max_barrier_size: limits::MAX_WORKGROUP_SIZE,
        texture_features: [chip.texture_features().0, 0, 0, 0],
        as_present: chip.as_present(),
        selected_coherency: uapi::GPU_COHERENCY_NONE,
        shader_present: limits::SHADER_PRESENT,
        l2_present: 1,
        tiler_present: TILER_PRESENT,
        ..GpuInfo::default()
    }
}

/// Answers `DEV_QUERY` for the command-stream interface.
pub fn csif_info() -> CsifInfo {
    CsifInfo {
        csg_slot_count: CSG_SLOTS,
        cs_slot_count: limits::CS_SLOTS,
        cs_reg_count: limits::CS_REGISTERS,
        scoreboard_slot_count: limits::SCOREBOARD_SLOTS,
        unpreserved_cs_reg_count: limits::UNPRESERVED_CS_REGISTERS,
        pad: 0,
    }
}

/// Answers `DEV_QUERY` for group priorities: those that a client without privileges may use.
pub fn group_priorities() -> GroupPrioritiesInfo {
    let allowed_mask = 1 << uapi::GROUP_PRIORITY_LOW | 1 << uapi::GROUP_PRIORITY_MEDIUM;
    GroupPrioritiesInfo { allowed_mask, pad: [0; 3] }
}

/// Answers `DEV_QUERY` for the MMU: pages of 4 KiB, and blocks of 2 MiB.
pub fn mmu_info() -> MmuInfo {
    MmuInfo { page_size_bitmap: PAGE_BYTES | 1 << 21 }
}
