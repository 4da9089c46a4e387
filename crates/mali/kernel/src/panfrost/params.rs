//! GET_PARAM: properties of the device.

use tepui_drm::monotonic_ns;
use tepui_drm::uapi::panfrost::{self as uapi, param};
use tepui_mali_chips::Chip;
use tepui_mali_model::limits;

/// The GPU's clock counts nanoseconds.
const TIMESTAMP_HZ: u64 = 1_000_000_000;

/// The system's coherency with the CPU: none, in the header's numbering.
const COHERENCY_NONE: u64 = 31;

/// Mask of the job slots: one for fragment jobs, two for all others.
const JOB_SLOTS: u64 = 0b111;

/// The value of a parameter; `None` for an unknown one.
pub fn value(chip: &Chip, which: u32) -> Option<u64> {
    let threads = u64::from(limits::MAX_WORKGROUP_SIZE);
    Some(match which {
        param::GPU_PROD_ID => chip.product_id.into(),
        // A revision that needs none of Mesa's workarounds.
        param::GPU_REVISION => {
            if matches!(chip.arch.0, 6 | 7) {
                0
            } else {
                0x30
            }
        }
        param::SHADER_PRESENT => limits::SHADER_PRESENT,
        param::TILER_PRESENT | param::L2_PRESENT | param::NR_CORE_GROUPS => 1,
        param::STACK_PRESENT | param::CORE_FEATURES | param::COHERENCY_FEATURES => 0,
        param::AS_PRESENT => chip.as_present().into(),
        param::JS_PRESENT => JOB_SLOTS,
        param::L2_FEATURES => chip.l2_features().into(),
        param::TILER_FEATURES => chip.tiler_features().into(),
        param::MEM_FEATURES => chip.mem_features().into(),
        param::MMU_FEATURES => chip.mmu_features().into(),
        param::THREAD_FEATURES => chip.thread_features().into(),
        param::MAX_THREADS => limits::MAX_THREADS.into(),
        param::THREAD_MAX_WORKGROUP_SZ | param::THREAD_MAX_BARRIER_SZ => threads,
        param::TEXTURE_FEATURES0 => chip.texture_features().0.into(),
        param::TEXTURE_FEATURES1..=param::TEXTURE_FEATURES3 => 0,
        param::JS_FEATURES0..=param::JS_FEATURES15 => 0,
        // 0 means as many as MAX_THREADS.
        param::THREAD_TLS_ALLOC => 0,
        // No bit is set: a set bit would say that the GPU lacks AFBC.
        param::AFBC_FEATURES => 0,
        param::SYSTEM_TIMESTAMP => monotonic_ns(),
        param::SYSTEM_TIMESTAMP_FREQUENCY => TIMESTAMP_HZ,
        param::ALLOWED_JM_CTX_PRIORITIES => (1 << (uapi::JM_CTX_PRIORITY_MEDIUM + 1)) - 1,
        param::SELECTED_COHERENCY => COHERENCY_NONE,
        _ => return None,
    })
}
