//! The driver of Arm's Mali GPUs with a command-stream front end.
//!
//! source: panthor_drm.h, of linux-libc-dev 7.3.4.

use super::{ioctls, kernel_structs};

kernel_structs! {
    /// An array of objects, `stride` bytes apart.
    drm_panthor_obj_array as ObjArray[16] {
        0 stride: u32,
        4 count: u32,
        8 array: u64,
    }
    /// A sync object to wait for or to signal.
    drm_panthor_sync_op as SyncOp[16] {
        0 flags: u32,
        4 handle: u32,
        8 timeline_value: u64,
    }
    /// Properties of the GPU.
    drm_panthor_gpu_info as GpuInfo[112] {
        0 gpu_id: u32,
        4 gpu_rev: u32,
        8 csf_id: u32,
        12 l2_features: u32,
        16 tiler_features: u32,
        20 mem_features: u32,
        24 mmu_features: u32,
        28 thread_features: u32,
        32 max_threads: u32,
        36 thread_max_workgroup_size: u32,
        40 thread_max_barrier_size: u32,
        44 coherency_features: u32,
        48 texture_features: [u32; 4],
        64 as_present: u32,
        68 selected_coherency: u32,
        72 shader_present: u64,
        80 l2_present: u64,
        88 tiler_present: u64,
        96 core_features: u32,
        100 pad: u32,
        104 gpu_features: u64,
    }
    /// Properties of the command-stream interface.
    drm_panthor_csif_info as CsifInfo[24] {
        0 csg_slot_count: u32,
        4 cs_slot_count: u32,
        8 cs_reg_count: u32,
        12 scoreboard_slot_count: u32,
        16 unpreserved_cs_reg_count: u32,
        20 pad: u32,
    }
    /// The GPU's clock.
    drm_panthor_timestamp_info as TimestampInfo[56] {
        0 timestamp_frequency: u64,
        8 current_timestamp: u64,
        16 timestamp_offset: u64,
        24 flags: u32,
        28 duration_nsec: u32,
        32 cycle_count: u64,
        40 cpu_timestamp_sec: u64,
        48 cpu_timestamp_nsec: u64,
    }
    /// Page sizes.
    drm_panthor_mmu_info as MmuInfo[8] {
        0 page_size_bitmap: u64,
    }
    /// Priorities that the client may give to groups.
    drm_panthor_group_priorities_info as GroupPrioritiesInfo[4] {
        0 allowed_mask: u8,
        1 pad: [u8; 3],
    }
    /// The query, and the destination of the answer.
    drm_panthor_dev_query as DevQuery[16] {
        0 r#type: u32,
        4 size: u32,
        8 pointer: u64,
    }
    /// A new address space.
    drm_panthor_vm_create as VmCreate[16] {
        0 flags: u32,
        4 id: u32,
        8 user_va_range: u64,
    }
    /// Destroys an address space.
    drm_panthor_vm_destroy as VmDestroy[8] {
        0 id: u32,
        4 pad: u32,
    }
    /// One operation on an address space.
    drm_panthor_vm_bind_op as VmBindOp[48] {
        0 flags: u32,
        4 bo_handle: u32,
        8 bo_offset: u64,
        16 va: u64,
        24 size: u64,
        32 syncs: ObjArray,
    }
    /// Operations on an address space.
    drm_panthor_vm_bind as VmBind[24] {
        0 vm_id: u32,
        4 flags: u32,
        8 ops: ObjArray,
    }
    /// The state of an address space.
    drm_panthor_vm_get_state as VmGetState[8] {
        0 vm_id: u32,
        4 state: u32,
    }
    /// A new buffer.
    drm_panthor_bo_create as BoCreate[24] {
        0 size: u64,
        8 flags: u32,
        12 exclusive_vm_id: u32,
        16 handle: u32,
        20 pad: u32,
    }
    /// The offset at which the client maps a buffer.
    drm_panthor_bo_mmap_offset as BoMmapOffset[16] {
        0 handle: u32,
        4 pad: u32,
        8 offset: u64,
    }
    /// A queue of a new group.
    drm_panthor_queue_create as QueueCreate[8] {
        0 priority: u8,
        1 pad: [u8; 3],
        4 ringbuf_size: u32,
    }
    /// A new group of queues.
    drm_panthor_group_create as GroupCreate[56] {
        0 queues: ObjArray,
        16 max_compute_cores: u8,
        17 max_fragment_cores: u8,
        18 max_tiler_cores: u8,
        19 priority: u8,
        20 pad: u32,
        24 compute_core_mask: u64,
        32 fragment_core_mask: u64,
        40 tiler_core_mask: u64,
        48 vm_id: u32,
        52 group_handle: u32,
    }
    /// Destroys a group.
    drm_panthor_group_destroy as GroupDestroy[8] {
        0 group_handle: u32,
        4 pad: u32,
    }
    /// A command stream for a queue.
    drm_panthor_queue_submit as QueueSubmit[40] {
        0 queue_index: u32,
        4 stream_size: u32,
        8 stream_addr: u64,
        16 latest_flush: u32,
        20 pad: u32,
        24 syncs: ObjArray,
    }
    /// Command streams for the queues of a group.
    drm_panthor_group_submit as GroupSubmit[24] {
        0 group_handle: u32,
        4 pad: u32,
        8 queue_submits: ObjArray,
    }
    /// The state of a group.
    drm_panthor_group_get_state as GroupGetState[16] {
        0 group_handle: u32,
        4 state: u32,
        8 fatal_queues: u32,
        12 pad: u32,
    }
    /// A new tiler heap.
    drm_panthor_tiler_heap_create as TilerHeapCreate[40] {
        0 vm_id: u32,
        4 initial_chunk_count: u32,
        8 chunk_size: u32,
        12 max_chunks: u32,
        16 target_in_flight: u32,
        20 handle: u32,
        24 tiler_heap_ctx_gpu_va: u64,
        32 first_heap_chunk_gpu_va: u64,
    }
    /// Destroys a tiler heap.
    drm_panthor_tiler_heap_destroy as TilerHeapDestroy[8] {
        0 handle: u32,
        4 pad: u32,
    }
    /// Labels a buffer.
    drm_panthor_bo_set_label as BoSetLabel[16] {
        0 handle: u32,
        4 pad: u32,
        8 label: u64,
    }
    /// The offset at which the client maps registers.
    drm_panthor_set_user_mmio_offset as SetUserMmioOffset[8] {
        0 offset: u64,
    }
    /// Cache maintenance of a range of a buffer.
    drm_panthor_bo_sync_op as BoSyncOp[24] {
        0 handle: u32,
        4 r#type: u32,
        8 offset: u64,
        16 size: u64,
    }
    /// Cache maintenance of buffers.
    drm_panthor_bo_sync as BoSync[16] {
        0 ops: ObjArray,
    }
    /// Properties of a buffer.
    drm_panthor_bo_query_info as BoQueryInfo[16] {
        0 handle: u32,
        4 extra_flags: u32,
        8 create_flags: u32,
        12 pad: u32,
    }
}

ioctls! {
    /// Device properties.
    0x40 DevQuery PANTHOR_DEV_QUERY: ReadWrite DevQuery,
    /// Creates an address space.
    0x41 VmCreate PANTHOR_VM_CREATE: ReadWrite VmCreate,
    /// Destroys an address space.
    0x42 VmDestroy PANTHOR_VM_DESTROY: ReadWrite VmDestroy,
    /// Binds and unbinds memory.
    0x43 VmBind PANTHOR_VM_BIND: ReadWrite VmBind,
    /// Whether an address space is usable.
    0x44 VmGetState PANTHOR_VM_GET_STATE: ReadWrite VmGetState,
    /// Creates a buffer.
    0x45 BoCreate PANTHOR_BO_CREATE: ReadWrite BoCreate,
    /// The offset to map a buffer at.
    0x46 BoMmapOffset PANTHOR_BO_MMAP_OFFSET: ReadWrite BoMmapOffset,
    /// Creates a group of queues.
    0x47 GroupCreate PANTHOR_GROUP_CREATE: ReadWrite GroupCreate,
    /// Destroys a group.
    0x48 GroupDestroy PANTHOR_GROUP_DESTROY: ReadWrite GroupDestroy,
    /// Submits command streams.
    0x49 GroupSubmit PANTHOR_GROUP_SUBMIT: ReadWrite GroupSubmit,
    /// Whether a group is usable.
    0x4a GroupGetState PANTHOR_GROUP_GET_STATE: ReadWrite GroupGetState,
    /// Creates a tiler heap.
    0x4b TilerHeapCreate PANTHOR_TILER_HEAP_CREATE: ReadWrite TilerHeapCreate,
    /// Destroys a tiler heap.
    0x4c TilerHeapDestroy PANTHOR_TILER_HEAP_DESTROY: ReadWrite TilerHeapDestroy,
    /// Labels a buffer.
    0x4d BoSetLabel PANTHOR_BO_SET_LABEL: ReadWrite BoSetLabel,
    /// Chooses the offset of registers.
    0x4e SetUserMmioOffset PANTHOR_SET_USER_MMIO_OFFSET: ReadWrite SetUserMmioOffset,
    /// Cache maintenance.
    0x4f BoSync PANTHOR_BO_SYNC: ReadWrite BoSync,
    /// Properties of a buffer.
    0x50 BoQueryInfo PANTHOR_BO_QUERY_INFO: ReadWrite BoQueryInfo,
}

/// [`SetUserMmioOffset::offset`] for programs of 32 bits.
pub const USER_MMIO_OFFSET_32BIT: u64 = 1 << 43;
/// [`SetUserMmioOffset::offset`] for programs of 64 bits.
pub const USER_MMIO_OFFSET_64BIT: u64 = 1 << 56;

/// [`SyncOp::flags`]: the kind of the handle.
pub const SYNC_OP_HANDLE_TYPE_MASK: u32 = 0xff;
/// [`SyncOp::flags`]: a binary sync object.
pub const SYNC_OP_SYNCOBJ: u32 = 0;
/// [`SyncOp::flags`]: a timeline.
pub const SYNC_OP_TIMELINE_SYNCOBJ: u32 = 1;
/// [`SyncOp::flags`]: signal, not wait.
pub const SYNC_OP_SIGNAL: u32 = 1 << 31;

/// [`DevQuery::type`]: a [`GpuInfo`].
pub const QUERY_GPU_INFO: u32 = 0;
/// [`DevQuery::type`]: a [`CsifInfo`].
pub const QUERY_CSIF_INFO: u32 = 1;
/// [`DevQuery::type`]: a [`TimestampInfo`].
pub const QUERY_TIMESTAMP_INFO: u32 = 2;
/// [`DevQuery::type`]: a [`GroupPrioritiesInfo`].
pub const QUERY_GROUP_PRIORITIES_INFO: u32 = 3;
/// [`DevQuery::type`]: a [`MmuInfo`].
pub const QUERY_MMU_INFO: u32 = 4;

/// [`GpuInfo::selected_coherency`]: none.
pub const GPU_COHERENCY_NONE: u32 = 31;

/// [`TimestampInfo::flags`]: the GPU's time.
pub const TIMESTAMP_GPU: u32 = 1 << 0;
/// [`TimestampInfo::flags`]: the CPU's clock that is read as well.
pub const TIMESTAMP_CPU_TYPE_MASK: u32 = 7 << 1;
/// [`TimestampInfo::flags`]: CLOCK_MONOTONIC.
pub const TIMESTAMP_CPU_MONOTONIC: u32 = 1 << 1;
/// [`TimestampInfo::flags`]: CLOCK_MONOTONIC_RAW.
pub const TIMESTAMP_CPU_MONOTONIC_RAW: u32 = 2 << 1;
/// [`TimestampInfo::flags`]: the GPU's offset.
pub const TIMESTAMP_GPU_OFFSET: u32 = 1 << 4;
/// [`TimestampInfo::flags`]: the GPU's cycles.
pub const TIMESTAMP_GPU_CYCLE_COUNT: u32 = 1 << 5;
/// [`TimestampInfo::flags`]: the frequency.
pub const TIMESTAMP_FREQ: u32 = 1 << 6;
/// [`TimestampInfo::flags`]: how long the query took.
pub const TIMESTAMP_DURATION: u32 = 1 << 7;

/// [`VmBindOp::flags`]: the GPU may only read.
pub const BIND_OP_MAP_READONLY: u32 = 1 << 0;
/// [`VmBindOp::flags`]: the GPU may not execute.
pub const BIND_OP_MAP_NOEXEC: u32 = 1 << 1;
/// [`VmBindOp::flags`]: the GPU does not cache.
pub const BIND_OP_MAP_UNCACHED: u32 = 1 << 2;
/// [`VmBindOp::flags`]: no memory backs the range; reads are undefined.
pub const BIND_OP_MAP_SPARSE: u32 = 1 << 3;
/// [`VmBindOp::flags`]: mask of the operation.
pub const BIND_OP_TYPE_MASK: u32 = 0xf << 28;
/// [`VmBindOp::flags`]: bind.
pub const BIND_OP_TYPE_MAP: u32 = 0 << 28;
/// [`VmBindOp::flags`]: unbind.
pub const BIND_OP_TYPE_UNMAP: u32 = 1 << 28;
/// [`VmBindOp::flags`]: only wait and signal.
pub const BIND_OP_TYPE_SYNC_ONLY: u32 = 2 << 28;

/// [`VmBind::flags`]: the operations wait for sync objects and are executed later.
pub const BIND_ASYNC: u32 = 1;

/// [`VmGetState::state`]: usable.
pub const VM_STATE_USABLE: u32 = 0;
/// [`VmGetState::state`]: an operation that was executed later has failed.
pub const VM_STATE_UNUSABLE: u32 = 1;

/// [`BoCreate::flags`]: the client never maps it.
pub const BO_NO_MMAP: u32 = 1 << 0;
/// [`BoCreate::flags`]: the client maps it cached.
pub const BO_WB_MMAP: u32 = 1 << 1;

/// [`BoQueryInfo::extra_flags`]: another driver's buffer.
pub const BO_IS_IMPORTED: u32 = 1 << 0;

/// [`BoSyncOp::type`]: flush the CPU's caches.
pub const BO_SYNC_CPU_CACHE_FLUSH: u32 = 0;
/// [`BoSyncOp::type`]: flush and invalidate them.
pub const BO_SYNC_CPU_CACHE_FLUSH_AND_INVALIDATE: u32 = 1;

/// Longest [`BoSetLabel::label`], with its NUL.
pub const BO_LABEL_MAX_LENGTH: usize = 4096;

/// [`GroupCreate::priority`]: low.
pub const GROUP_PRIORITY_LOW: u8 = 0;
/// [`GroupCreate::priority`]: medium.
pub const GROUP_PRIORITY_MEDIUM: u8 = 1;
/// [`GroupCreate::priority`]: realtime, the highest.
pub const GROUP_PRIORITY_REALTIME: u8 = 3;
/// [`QueueCreate::priority`]: the highest.
pub const QUEUE_PRIORITY_MAX: u8 = 15;

/// [`GroupGetState::state`]: jobs did not end.
pub const GROUP_STATE_TIMEDOUT: u32 = 1 << 0;
/// [`GroupGetState::state`]: a fault that nothing follows.
pub const GROUP_STATE_FATAL_FAULT: u32 = 1 << 1;
