//! The driver of Arm's Mali GPUs with a job manager.
//!
//! source: panfrost_drm.h, of linux-libc-dev 7.3.4.

use super::{ioctls, kernel_structs};

kernel_structs! {
    /// A chain of jobs to execute.
    drm_panfrost_submit as Submit[48] {
        0 jc: u64,
        8 in_syncs: u64,
        16 in_sync_count: u32,
        20 out_sync: u32,
        24 bo_handles: u64,
        32 bo_handle_count: u32,
        36 requirements: u32,
        40 jm_ctx_handle: u32,
        44 pad: u32,
    }
    /// Waits for the jobs that name a buffer.
    drm_panfrost_wait_bo as WaitBo[16] {
        0 handle: u32,
        4 pad: u32,
        8 timeout_ns: i64,
    }
    /// A new buffer, with its GPU address.
    drm_panfrost_create_bo as CreateBo[24] {
        0 size: u32,
        4 flags: u32,
        8 handle: u32,
        12 pad: u32,
        16 offset: u64,
    }
    /// The offset at which the client maps a buffer.
    drm_panfrost_mmap_bo as MmapBo[16] {
        0 handle: u32,
        4 flags: u32,
        8 offset: u64,
    }
    /// A property of the device.
    drm_panfrost_get_param as GetParam[16] {
        0 param: u32,
        4 pad: u32,
        8 value: u64,
    }
    /// The GPU address of a buffer.
    drm_panfrost_get_bo_offset as GetBoOffset[16] {
        0 handle: u32,
        4 pad: u32,
        8 offset: u64,
    }
    /// Switches performance counters on or off.
    drm_panfrost_perfcnt_enable as PerfcntEnable[8] {
        0 enable: u32,
        4 counterset: u32,
    }
    /// Reads performance counters.
    drm_panfrost_perfcnt_dump as PerfcntDump[8] {
        0 buf_ptr: u64,
    }
    /// Whether a buffer's pages are needed.
    drm_panfrost_madvise as Madvise[12] {
        0 handle: u32,
        4 madv: u32,
        8 retained: u32,
    }
    /// Labels a buffer.
    drm_panfrost_set_label_bo as SetLabelBo[16] {
        0 handle: u32,
        4 pad: u32,
        8 label: u64,
    }
    /// A new context, of a priority.
    drm_panfrost_jm_ctx_create as JmCtxCreate[8] {
        0 handle: u32,
        4 priority: u32,
    }
    /// Destroys a context.
    drm_panfrost_jm_ctx_destroy as JmCtxDestroy[8] {
        0 handle: u32,
        4 pad: u32,
    }
    /// Cache maintenance of a range of a buffer.
    drm_panfrost_bo_sync_op as BoSyncOp[16] {
        0 handle: u32,
        4 r#type: u32,
        8 offset: u32,
        12 size: u32,
    }
    /// Cache maintenance of buffers.
    drm_panfrost_sync_bo as SyncBo[16] {
        0 ops: u64,
        8 op_count: u32,
        12 pad: u32,
    }
    /// Properties of a buffer.
    drm_panfrost_query_bo_info as QueryBoInfo[16] {
        0 handle: u32,
        4 extra_flags: u32,
        8 create_flags: u32,
        12 pad: u32,
    }
}

ioctls! {
    /// Executes a chain of jobs.
    0x40 Submit PANFROST_SUBMIT: Write Submit,
    /// Waits for a buffer.
    0x41 WaitBo PANFROST_WAIT_BO: Write WaitBo,
    /// Creates a buffer.
    0x42 CreateBo PANFROST_CREATE_BO: ReadWrite CreateBo,
    /// The offset to map a buffer at.
    0x43 MmapBo PANFROST_MMAP_BO: ReadWrite MmapBo,
    /// A property.
    0x44 GetParam PANFROST_GET_PARAM: ReadWrite GetParam,
    /// A buffer's address.
    0x45 GetBoOffset PANFROST_GET_BO_OFFSET: ReadWrite GetBoOffset,
    /// Performance counters.
    0x46 PerfcntEnable PANFROST_PERFCNT_ENABLE: Write PerfcntEnable,
    /// Performance counters.
    0x47 PerfcntDump PANFROST_PERFCNT_DUMP: Write PerfcntDump,
    /// Whether pages are needed.
    0x48 Madvise PANFROST_MADVISE: ReadWrite Madvise,
    /// Labels a buffer.
    0x49 SetLabelBo PANFROST_SET_LABEL_BO: ReadWrite SetLabelBo,
    /// Creates a context.
    0x4a JmCtxCreate PANFROST_JM_CTX_CREATE: ReadWrite JmCtxCreate,
    /// Destroys a context.
    0x4b JmCtxDestroy PANFROST_JM_CTX_DESTROY: ReadWrite JmCtxDestroy,
    /// Cache maintenance.
    0x4c SyncBo PANFROST_SYNC_BO: ReadWrite SyncBo,
    /// Properties of a buffer.
    0x4d QueryBoInfo PANFROST_QUERY_BO_INFO: ReadWrite QueryBoInfo,
}

/// [`Submit::requirements`]: the chain has a fragment job.
pub const JD_REQ_FS: u32 = 1 << 0;
/// [`Submit::requirements`]: the jobs read the cycle counter.
pub const JD_REQ_CYCLE_COUNT: u32 = 1 << 1;

/// [`CreateBo::flags`]: no machine code.
pub const BO_NOEXEC: u32 = 1;
/// [`CreateBo::flags`]: grows as the GPU touches it; the client does not map it.
pub const BO_HEAP: u32 = 2;
/// [`CreateBo::flags`]: the client maps it cached.
pub const BO_WB_MMAP: u32 = 4;

/// [`Madvise::madv`]: the pages are not needed.
pub const MADV_DONTNEED: u32 = 1;

/// [`BoSyncOp::type`]: flush and invalidate the CPU's caches; the highest type.
pub const BO_SYNC_CPU_CACHE_FLUSH_AND_INVALIDATE: u32 = 1;

/// [`QueryBoInfo::extra_flags`]: another driver's buffer.
pub const BO_IS_IMPORTED: u32 = 1 << 0;

/// [`JmCtxCreate::priority`]: medium, the highest without privileges.
pub const JM_CTX_PRIORITY_MEDIUM: u32 = 1;
/// [`JmCtxCreate::priority`]: high.
pub const JM_CTX_PRIORITY_HIGH: u32 = 2;

/// [`GetParam::param`].
pub mod param {
    #![expect(missing_docs, reason = "the kernel's names")]
    pub const GPU_PROD_ID: u32 = 0;
    pub const GPU_REVISION: u32 = 1;
    pub const SHADER_PRESENT: u32 = 2;
    pub const TILER_PRESENT: u32 = 3;
    pub const L2_PRESENT: u32 = 4;
    pub const STACK_PRESENT: u32 = 5;
    pub const AS_PRESENT: u32 = 6;
    pub const JS_PRESENT: u32 = 7;
    pub const L2_FEATURES: u32 = 8;
    pub const CORE_FEATURES: u32 = 9;
    pub const TILER_FEATURES: u32 = 10;
    pub const MEM_FEATURES: u32 = 11;
    pub const MMU_FEATURES: u32 = 12;
    pub const THREAD_FEATURES: u32 = 13;
    pub const MAX_THREADS: u32 = 14;
    pub const THREAD_MAX_WORKGROUP_SZ: u32 = 15;
    pub const THREAD_MAX_BARRIER_SZ: u32 = 16;
    pub const COHERENCY_FEATURES: u32 = 17;
    pub const TEXTURE_FEATURES0: u32 = 18;
    pub const TEXTURE_FEATURES1: u32 = 19;
    pub const TEXTURE_FEATURES3: u32 = 21;
    pub const JS_FEATURES0: u32 = 22;
    pub const JS_FEATURES15: u32 = 37;
    pub const NR_CORE_GROUPS: u32 = 38;
    pub const THREAD_TLS_ALLOC: u32 = 39;
    pub const AFBC_FEATURES: u32 = 40;
    pub const SYSTEM_TIMESTAMP: u32 = 41;
    pub const SYSTEM_TIMESTAMP_FREQUENCY: u32 = 42;
    pub const ALLOWED_JM_CTX_PRIORITIES: u32 = 43;
    pub const SELECTED_COHERENCY: u32 = 44;
}
