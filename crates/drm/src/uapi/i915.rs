//! The driver of Intel's GPUs up to Alder Lake.
//!
//! Where the interface grew a structure of a request, the larger one is declared here; a client of the
//! older one passes fewer bytes, and the rest is zero.
//!
//! source: i915_drm.h.

use super::{ioctls, kernel_structs};

kernel_structs! {
    /// Head of an extension: the next one and its name.
    i915_user_extension as UserExtension[32] {
        0 next_extension: u64,
        8 name: u32,
        12 flags: u32,
        16 rsvd: [u32; 4],
    }
    /// An engine: its class and which of them.
    i915_engine_class_instance as EngineClassInstance[4] {
        0 engine_class: u16,
        2 engine_instance: u16,
    }
    /// A region of memory.
    drm_i915_gem_memory_class_instance as MemoryClassInstance[4] {
        0 memory_class: u16,
        2 memory_instance: u16,
    }
    /// One parameter of the device.
    drm_i915_getparam as GetParam[16] {
        0 param: i32,
        4 pad: u32,
        8 value: u64,
    }
    /// A new buffer; `drm_i915_gem_create` is its first 16 bytes.
    drm_i915_gem_create_ext as GemCreateExt[24] {
        0 size: u64,
        8 handle: u32,
        12 flags: u32,
        16 extensions: u64,
    }
    /// Copies from a buffer.
    drm_i915_gem_pread as GemPread[32] {
        0 handle: u32,
        4 pad: u32,
        8 offset: u64,
        16 size: u64,
        24 data_ptr: u64,
    }
    /// Copies to a buffer.
    drm_i915_gem_pwrite as GemPwrite[32] {
        0 handle: u32,
        4 pad: u32,
        8 offset: u64,
        16 size: u64,
        24 data_ptr: u64,
    }
    /// Maps a buffer in the ioctl.
    drm_i915_gem_mmap as GemMmap[40] {
        0 handle: u32,
        4 pad: u32,
        8 offset: u64,
        16 size: u64,
        24 addr_ptr: u64,
        32 flags: u64,
    }
    /// The offset at which the client maps a buffer; `drm_i915_gem_mmap_gtt` is its first 16 bytes.
    drm_i915_gem_mmap_offset as GemMmapOffset[32] {
        0 handle: u32,
        4 pad: u32,
        8 offset: u64,
        16 flags: u64,
        24 extensions: u64,
    }
    /// Moves a buffer to a domain of the CPU.
    drm_i915_gem_set_domain as GemSetDomain[12] {
        0 handle: u32,
        4 read_domains: u32,
        8 write_domain: u32,
    }
    /// The CPU is done with a buffer.
    drm_i915_gem_sw_finish as GemSwFinish[4] {
        0 handle: u32,
    }
    /// A buffer of a submission.
    drm_i915_gem_exec_object2 as ExecObject2[56] {
        0 handle: u32,
        4 relocation_count: u32,
        8 relocs_ptr: u64,
        16 alignment: u64,
        24 offset: u64,
        32 flags: u64,
        40 rsvd1: u64,
        48 rsvd2: u64,
    }
    /// A place in a buffer that holds the address of another one.
    drm_i915_gem_relocation_entry as RelocationEntry[32] {
        0 target_handle: u32,
        4 delta: u32,
        8 offset: u64,
        16 presumed_offset: u64,
        24 read_domains: u32,
        28 write_domain: u32,
    }
    /// A sync object to wait for or to signal.
    drm_i915_gem_exec_fence as ExecFence[8] {
        0 handle: u32,
        4 flags: u32,
    }
    /// Sync objects with timeline points.
    drm_i915_gem_execbuffer_ext_timeline_fences as ExecTimelineFences[56] {
        0 base: UserExtension,
        32 fence_count: u64,
        40 handles_ptr: u64,
        48 values_ptr: u64,
    }
    /// A submission.
    drm_i915_gem_execbuffer2 as Execbuffer2[64] {
        0 buffers_ptr: u64,
        8 buffer_count: u32,
        12 batch_start_offset: u32,
        16 batch_len: u32,
        20 dr1: u32,
        24 dr4: u32,
        28 num_cliprects: u32,
        32 cliprects_ptr: u64,
        40 flags: u64,
        48 rsvd1: u64,
        56 rsvd2: u64,
    }
    /// Whether a buffer is in use.
    drm_i915_gem_busy as GemBusy[8] {
        0 handle: u32,
        4 busy: u32,
    }
    /// Caching mode of a buffer.
    drm_i915_gem_caching as GemCaching[8] {
        0 handle: u32,
        4 caching: u32,
    }
    /// Tiling mode of a buffer in a fence register.
    drm_i915_gem_set_tiling as GemSetTiling[16] {
        0 handle: u32,
        4 tiling_mode: u32,
        8 stride: u32,
        12 swizzle_mode: u32,
    }
    /// The tiling of a buffer.
    drm_i915_gem_get_tiling as GemGetTiling[16] {
        0 handle: u32,
        4 tiling_mode: u32,
        8 swizzle_mode: u32,
        12 phys_swizzle_mode: u32,
    }
    /// Sizes of the global address space.
    drm_i915_gem_get_aperture as GemGetAperture[16] {
        0 aper_size: u64,
        8 aper_available_size: u64,
    }
    /// Whether a buffer's content may be dropped.
    drm_i915_gem_madvise as GemMadvise[12] {
        0 handle: u32,
        4 madv: u32,
        8 retained: u32,
    }
    /// Waits for a buffer.
    drm_i915_gem_wait as GemWait[16] {
        0 bo_handle: u32,
        4 flags: u32,
        8 timeout_ns: i64,
    }
    /// A new context; `drm_i915_gem_context_create` is its first 8 bytes.
    drm_i915_gem_context_create_ext as ContextCreateExt[16] {
        0 ctx_id: u32,
        4 flags: u32,
        8 extensions: u64,
    }
    /// A parameter of a context.
    drm_i915_gem_context_param as ContextParam[24] {
        0 ctx_id: u32,
        4 size: u32,
        8 param: u64,
        16 value: u64,
    }
    /// A parameter of a new context.
    drm_i915_gem_context_create_ext_setparam as ContextCreateExtSetparam[56] {
        0 base: UserExtension,
        32 param: ContextParam,
    }
    /// Destroys a context.
    drm_i915_gem_context_destroy as ContextDestroy[8] {
        0 ctx_id: u32,
        4 pad: u32,
    }
    /// The slices that a context uses.
    drm_i915_gem_context_param_sseu as ContextParamSseu[32] {
        0 engine: EngineClassInstance,
        4 flags: u32,
        8 slice_mask: u64,
        16 subslice_mask: u64,
        24 min_eus_per_subslice: u16,
        26 max_eus_per_subslice: u16,
        28 rsvd: u32,
    }
    /// A new address space, or one to destroy.
    drm_i915_gem_vm_control as VmControl[16] {
        0 extensions: u64,
        8 flags: u32,
        12 vm_id: u32,
    }
    /// A register that clients may read.
    drm_i915_reg_read as RegRead[16] {
        0 offset: u64,
        8 val: u64,
    }
    /// Resets that a context saw.
    drm_i915_reset_stats as ResetStats[24] {
        0 ctx_id: u32,
        4 flags: u32,
        8 reset_count: u32,
        12 batch_active: u32,
        16 batch_pending: u32,
        20 pad: u32,
    }
    /// A buffer of the client's own pages.
    drm_i915_gem_userptr as GemUserptr[24] {
        0 user_ptr: u64,
        8 user_size: u64,
        16 flags: u32,
        20 handle: u32,
    }
    /// One query.
    drm_i915_query_item as QueryItem[24] {
        0 query_id: u64,
        8 length: i32,
        12 flags: u32,
        16 data_ptr: u64,
    }
    /// Queries.
    drm_i915_query as Query[16] {
        0 num_items: u32,
        4 flags: u32,
        8 items_ptr: u64,
    }
    /// Head of the masks of slices, subslices and execution units.
    drm_i915_query_topology_info as TopologyInfo[16] {
        0 flags: u16,
        2 max_slices: u16,
        4 max_subslices: u16,
        6 max_eus_per_subslice: u16,
        8 subslice_offset: u16,
        10 subslice_stride: u16,
        12 eu_offset: u16,
        14 eu_stride: u16,
    }
    /// One engine.
    drm_i915_engine_info as EngineInfo[56] {
        0 engine: EngineClassInstance,
        4 rsvd0: u32,
        8 flags: u64,
        16 capabilities: u64,
        24 logical_instance: u16,
        26 rsvd1: [u16; 3],
        32 rsvd2: [u64; 3],
    }
    /// Head of the list of engines.
    drm_i915_query_engine_info as QueryEngineInfo[16] {
        0 num_engines: u32,
        4 rsvd: [u32; 3],
    }
    /// One region of memory.
    drm_i915_memory_region_info as MemoryRegionInfo[88] {
        0 region: MemoryClassInstance,
        4 rsvd0: u32,
        8 probed_size: u64,
        16 unallocated_size: u64,
        24 rsvd1: [u64; 8],
    }
    /// Head of the list of memory regions.
    drm_i915_query_memory_regions as QueryMemoryRegions[16] {
        0 num_regions: u32,
        4 rsvd: [u32; 3],
    }
    /// Memory regions for a new buffer.
    drm_i915_gem_create_ext_memory_regions as GemCreateExtMemoryRegions[48] {
        0 base: UserExtension,
        32 pad: u32,
        36 num_regions: u32,
        40 regions: u64,
    }
}

ioctls! {
    /// A parameter of the device.
    0x46 GetParam I915_GETPARAM: ReadWrite GetParam,
    /// Whether a buffer is in use.
    0x57 GemBusy I915_GEM_BUSY: ReadWrite GemBusy,
    /// Creates a buffer.
    0x5b GemCreate I915_GEM_CREATE: ReadWrite GemCreateExt,
    /// Copies from a buffer.
    0x5c GemPread I915_GEM_PREAD: Write GemPread,
    /// Copies to a buffer.
    0x5d GemPwrite I915_GEM_PWRITE: Write GemPwrite,
    /// Maps a buffer.
    0x5e GemMmap I915_GEM_MMAP: ReadWrite GemMmap,
    /// Moves a buffer to a domain of the CPU.
    0x5f GemSetDomain I915_GEM_SET_DOMAIN: Write GemSetDomain,
    /// The CPU is done with a buffer.
    0x60 GemSwFinish I915_GEM_SW_FINISH: Write GemSwFinish,
    /// Sets the tiling of a buffer.
    0x61 GemSetTiling I915_GEM_SET_TILING: ReadWrite GemSetTiling,
    /// The tiling of a buffer.
    0x62 GemGetTiling I915_GEM_GET_TILING: ReadWrite GemGetTiling,
    /// Sizes of the global address space.
    0x63 GemGetAperture I915_GEM_GET_APERTURE: Read GemGetAperture,
    /// The offset to map a buffer at.
    0x64 GemMmapOffset I915_GEM_MMAP_OFFSET: ReadWrite GemMmapOffset,
    /// Whether a buffer's content may be dropped.
    0x66 GemMadvise I915_GEM_MADVISE: ReadWrite GemMadvise,
    /// Submits commands.
    0x69 GemExecbuffer2 I915_GEM_EXECBUFFER2: ReadWrite Execbuffer2,
    /// Waits for a buffer.
    0x6c GemWait I915_GEM_WAIT: ReadWrite GemWait,
    /// Creates a context.
    0x6d GemContextCreate I915_GEM_CONTEXT_CREATE: ReadWrite ContextCreateExt,
    /// Destroys a context.
    0x6e GemContextDestroy I915_GEM_CONTEXT_DESTROY: Write ContextDestroy,
    /// Sets how a buffer is cached.
    0x6f GemSetCaching I915_GEM_SET_CACHING: Write GemCaching,
    /// Caching mode of a buffer.
    0x70 GemGetCaching I915_GEM_GET_CACHING: ReadWrite GemCaching,
    /// Reads a register.
    0x71 RegRead I915_REG_READ: ReadWrite RegRead,
    /// Resets that a context saw.
    0x72 GetResetStats I915_GET_RESET_STATS: ReadWrite ResetStats,
    /// Makes a buffer of the client's own pages.
    0x73 GemUserptr I915_GEM_USERPTR: ReadWrite GemUserptr,
    /// A parameter of a context.
    0x74 GemContextGetparam I915_GEM_CONTEXT_GETPARAM: ReadWrite ContextParam,
    /// Sets a parameter of a context.
    0x75 GemContextSetparam I915_GEM_CONTEXT_SETPARAM: ReadWrite ContextParam,
    /// Properties of the device that are lists.
    0x79 Query I915_QUERY: ReadWrite Query,
    /// Creates an address space.
    0x7a GemVmCreate I915_GEM_VM_CREATE: ReadWrite VmControl,
    /// Destroys an address space.
    0x7b GemVmDestroy I915_GEM_VM_DESTROY: Write VmControl,
    /// Creates a buffer, with extensions.
    0x7c GemCreateExt I915_GEM_CREATE_EXT: ReadWrite GemCreateExt,
}

/// Parameters of [`GetParam`].
#[expect(missing_docs, reason = "the kernel's names; its header documents them")]
pub mod param {
    pub const IRQ_ACTIVE: i32 = 1;
    pub const CHIPSET_ID: i32 = 4;
    pub const HAS_GEM: i32 = 5;
    pub const NUM_FENCES_AVAIL: i32 = 6;
    pub const HAS_OVERLAY: i32 = 7;
    pub const HAS_PAGEFLIPPING: i32 = 8;
    pub const HAS_EXECBUF2: i32 = 9;
    pub const HAS_BSD: i32 = 10;
    pub const HAS_BLT: i32 = 11;
    pub const HAS_RELAXED_FENCING: i32 = 12;
    pub const HAS_COHERENT_RINGS: i32 = 13;
    pub const HAS_EXEC_CONSTANTS: i32 = 14;
    pub const HAS_RELAXED_DELTA: i32 = 15;
    pub const HAS_GEN7_SOL_RESET: i32 = 16;
    pub const HAS_LLC: i32 = 17;
    pub const HAS_ALIASING_PPGTT: i32 = 18;
    pub const HAS_WAIT_TIMEOUT: i32 = 19;
    pub const HAS_SEMAPHORES: i32 = 20;
    pub const HAS_PRIME_VMAP_FLUSH: i32 = 21;
    pub const HAS_VEBOX: i32 = 22;
    pub const HAS_SECURE_BATCHES: i32 = 23;
    pub const HAS_PINNED_BATCHES: i32 = 24;
    pub const HAS_EXEC_NO_RELOC: i32 = 25;
    pub const HAS_EXEC_HANDLE_LUT: i32 = 26;
    pub const HAS_WT: i32 = 27;
    pub const CMD_PARSER_VERSION: i32 = 28;
    pub const HAS_COHERENT_PHYS_GTT: i32 = 29;
    pub const MMAP_VERSION: i32 = 30;
    pub const HAS_BSD2: i32 = 31;
    pub const REVISION: i32 = 32;
    pub const SUBSLICE_TOTAL: i32 = 33;
    pub const EU_TOTAL: i32 = 34;
    pub const HAS_GPU_RESET: i32 = 35;
    pub const HAS_RESOURCE_STREAMER: i32 = 36;
    pub const HAS_EXEC_SOFTPIN: i32 = 37;
    pub const HAS_POOLED_EU: i32 = 38;
    pub const MIN_EU_IN_POOL: i32 = 39;
    pub const MMAP_GTT_VERSION: i32 = 40;
    pub const HAS_SCHEDULER: i32 = 41;
    pub const HUC_STATUS: i32 = 42;
    pub const HAS_EXEC_ASYNC: i32 = 43;
    pub const HAS_EXEC_FENCE: i32 = 44;
    pub const HAS_EXEC_CAPTURE: i32 = 45;
    pub const SLICE_MASK: i32 = 46;
    pub const SUBSLICE_MASK: i32 = 47;
    pub const HAS_EXEC_BATCH_FIRST: i32 = 48;
    pub const HAS_EXEC_FENCE_ARRAY: i32 = 49;
    pub const HAS_CONTEXT_ISOLATION: i32 = 50;
    pub const CS_TIMESTAMP_FREQUENCY: i32 = 51;
    pub const MMAP_GTT_COHERENT: i32 = 52;
    pub const HAS_EXEC_SUBMIT_FENCE: i32 = 53;
    pub const PERF_REVISION: i32 = 54;
    pub const HAS_EXEC_TIMELINE_FENCES: i32 = 55;
    pub const HAS_USERPTR_PROBE: i32 = 56;
    pub const OA_TIMESTAMP_FREQUENCY: i32 = 57;
    pub const PXP_STATUS: i32 = 58;
    pub const HAS_CONTEXT_FREQ_HINT: i32 = 59;
}

/// Parameters of [`ContextParam`].
#[expect(missing_docs, reason = "the kernel's names; its header documents them")]
pub mod context_param {
    pub const BAN_PERIOD: u64 = 1;
    pub const NO_ZEROMAP: u64 = 2;
    pub const GTT_SIZE: u64 = 3;
    pub const NO_ERROR_CAPTURE: u64 = 4;
    pub const BANNABLE: u64 = 5;
    pub const PRIORITY: u64 = 6;
    pub const SSEU: u64 = 7;
    pub const RECOVERABLE: u64 = 8;
    pub const VM: u64 = 9;
    pub const ENGINES: u64 = 10;
    pub const PERSISTENCE: u64 = 11;
    pub const RINGSIZE: u64 = 12;
    pub const PROTECTED_CONTENT: u64 = 13;
}

/// Largest priority that a client without privileges may set; its negative is the smallest.
pub const MAX_USER_PRIORITY: i64 = 1023;

/// [`ContextCreateExt::flags`]: there are extensions.
pub const CONTEXT_CREATE_USE_EXTENSIONS: u32 = 1;
/// [`ContextCreateExt::flags`]: all engines of the context execute in one order.
pub const CONTEXT_CREATE_SINGLE_TIMELINE: u32 = 2;
/// Extension of [`ContextCreateExt`]: [`ContextCreateExtSetparam`].
pub const CONTEXT_CREATE_EXT_SETPARAM: u32 = 0;

/// [`EngineClassInstance::engine_class`]: 3D and compute.
pub const ENGINE_CLASS_RENDER: u16 = 0;
/// [`EngineClassInstance::engine_class`]: the blitter.
pub const ENGINE_CLASS_COPY: u16 = 1;
/// [`EngineClassInstance::engine_class`] and `engine_instance`: a gap in a list of engines.
pub const ENGINE_INVALID: u16 = u16::MAX;

/// Queries of [`QueryItem`].
#[expect(missing_docs, reason = "the kernel's names; its header documents them")]
pub mod query {
    pub const TOPOLOGY_INFO: u64 = 1;
    pub const ENGINE_INFO: u64 = 2;
    pub const PERF_CONFIG: u64 = 3;
    pub const MEMORY_REGIONS: u64 = 4;
    pub const HWCONFIG_BLOB: u64 = 5;
    pub const GEOMETRY_SUBSLICES: u64 = 6;
    pub const GUC_SUBMISSION_VERSION: u64 = 7;
}

/// Extension of [`GemCreateExt`]: [`GemCreateExtMemoryRegions`].
pub const GEM_CREATE_EXT_MEMORY_REGIONS: u32 = 0;
/// Extension of [`GemCreateExt`]: protected content.
pub const GEM_CREATE_EXT_PROTECTED_CONTENT: u32 = 1;
/// Extension of [`GemCreateExt`]: the index into the table of caching policies.
pub const GEM_CREATE_EXT_SET_PAT: u32 = 2;

/// [`GemMmapOffset::flags`]: through the global address space.
pub const MMAP_OFFSET_GTT: u64 = 0;
/// [`GemMmapOffset::flags`]: write-combined.
pub const MMAP_OFFSET_WC: u64 = 1;
/// [`GemMmapOffset::flags`]: write-back.
pub const MMAP_OFFSET_WB: u64 = 2;
/// GEM_MMAP: write-combined.
pub const MMAP_WC: u64 = 1;
/// [`GemMmapOffset::flags`]: uncached.
pub const MMAP_OFFSET_UC: u64 = 3;

/// Domains of [`GemSetDomain`]: CPU caches, the global address space, write-combined.
pub const DOMAINS_OF_CPU: u32 = 0x1 | 0x40 | 0x80;
/// Domains of the GPU: render, sampler, command, instruction, vertex.
pub const DOMAINS_OF_GPU: u32 = 0x3e;

/// [`GemSetTiling::tiling_mode`]: linear.
pub const TILING_NONE: u32 = 0;
/// [`GemSetTiling::tiling_mode`]: X.
pub const TILING_X: u32 = 1;
/// [`GemSetTiling::tiling_mode`]: Y.
pub const TILING_Y: u32 = 2;

/// [`GemCaching::caching`]: the largest value, a display's.
pub const CACHING_DISPLAY: u32 = 2;
/// [`GemCaching::caching`]: cached.
pub const CACHING_CACHED: u32 = 1;

/// [`GemMadvise::madv`]: the content is needed.
pub const MADV_WILLNEED: u32 = 0;
/// [`GemMadvise::madv`]: the content may be dropped.
pub const MADV_DONTNEED: u32 = 1;

/// [`GemUserptr::flags`]: the GPU only reads.
pub const USERPTR_READ_ONLY: u32 = 1;
/// [`GemUserptr::flags`]: the request fails if the range is not mapped.
pub const USERPTR_PROBE: u32 = 2;
/// [`GemUserptr::flags`]: without synchronisation; refused.
pub const USERPTR_UNSYNCHRONIZED: u32 = 0x8000_0000;

/// [`RegRead::offset`]: read 8 bytes in one access.
pub const REG_READ_8B_WA: u64 = 1;

/// Bits of [`ExecObject2::flags`].
#[expect(missing_docs, reason = "the kernel's names; its header documents them")]
pub mod exec_object {
    pub const NEEDS_FENCE: u64 = 1 << 0;
    pub const NEEDS_GTT: u64 = 1 << 1;
    pub const WRITE: u64 = 1 << 2;
    pub const SUPPORTS_48B_ADDRESS: u64 = 1 << 3;
    pub const PINNED: u64 = 1 << 4;
    pub const PAD_TO_SIZE: u64 = 1 << 5;
    pub const ASYNC: u64 = 1 << 6;
    pub const CAPTURE: u64 = 1 << 7;
    pub const KNOWN: u64 = (1 << 8) - 1;
}

/// Bits of [`Execbuffer2::flags`].
#[expect(missing_docs, reason = "the kernel's names; its header documents them")]
pub mod exec {
    pub const RING_MASK: u64 = 0x3f;
    pub const CONSTANTS_MASK: u64 = 3 << 6;
    pub const GEN7_SOL_RESET: u64 = 1 << 8;
    pub const SECURE: u64 = 1 << 9;
    pub const IS_PINNED: u64 = 1 << 10;
    pub const NO_RELOC: u64 = 1 << 11;
    pub const HANDLE_LUT: u64 = 1 << 12;
    pub const BSD_MASK: u64 = 3 << 13;
    pub const RESOURCE_STREAMER: u64 = 1 << 15;
    pub const FENCE_IN: u64 = 1 << 16;
    pub const FENCE_OUT: u64 = 1 << 17;
    pub const BATCH_FIRST: u64 = 1 << 18;
    pub const FENCE_ARRAY: u64 = 1 << 19;
    pub const FENCE_SUBMIT: u64 = 1 << 20;
    pub const USE_EXTENSIONS: u64 = 1 << 21;
    pub const KNOWN: u64 = (1 << 22) - 1;
}

/// [`ExecFence::flags`]: wait for it.
pub const EXEC_FENCE_WAIT: u32 = 1;
/// [`ExecFence::flags`]: signal it.
pub const EXEC_FENCE_SIGNAL: u32 = 2;
/// Extension of [`Execbuffer2`]: [`ExecTimelineFences`].
pub const EXEC_EXT_TIMELINE_FENCES: u32 = 0;
