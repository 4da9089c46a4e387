//! The driver of Apple's AGX.
//!
//! source: asahi_drm.h, the upstream interface.

use super::{ioctls, kernel_structs};

/// Length of [`ParamsGlobal::core_masks`].
pub const MAX_CLUSTERS: usize = 64;

kernel_structs! {
    /// Properties of the device.
    drm_asahi_params_global as ParamsGlobal[592] {
        0 features: u64,
        8 gpu_generation: u32,
        12 gpu_variant: u32,
        16 gpu_revision: u32,
        20 chip_id: u32,
        24 num_dies: u32,
        28 num_clusters_total: u32,
        32 num_cores_per_cluster: u32,
        36 max_frequency_khz: u32,
        40 core_masks: [u64; MAX_CLUSTERS],
        552 vm_start: u64,
        560 vm_end: u64,
        568 vm_kernel_min_size: u64,
        576 max_commands_per_submission: u32,
        580 max_attachments: u32,
        584 command_timestamp_frequency_hz: u64,
    }
    /// Destination of the parameters.
    drm_asahi_get_params as GetParams[24] {
        0 param_group: u32,
        4 pad: u32,
        8 pointer: u64,
        16 size: u64,
    }
    /// A new address space.
    drm_asahi_vm_create as VmCreate[24] {
        0 kernel_start: u64,
        8 kernel_end: u64,
        16 vm_id: u32,
        20 pad: u32,
    }
    /// Destroys an address space.
    drm_asahi_vm_destroy as VmDestroy[8] {
        0 vm_id: u32,
        4 pad: u32,
    }
    /// A new buffer.
    drm_asahi_gem_create as GemCreate[24] {
        0 size: u64,
        8 flags: u32,
        12 vm_id: u32,
        16 handle: u32,
        20 pad: u32,
    }
    /// The offset at which the client maps a buffer.
    drm_asahi_gem_mmap_offset as GemMmapOffset[16] {
        0 handle: u32,
        4 flags: u32,
        8 offset: u64,
    }
    /// One bind or unbind.
    drm_asahi_gem_bind_op as GemBindOp[32] {
        0 flags: u32,
        4 handle: u32,
        8 offset: u64,
        16 range: u64,
        24 addr: u64,
    }
    /// Binds and unbinds, `stride` bytes apart.
    drm_asahi_vm_bind as VmBind[24] {
        0 vm_id: u32,
        4 num_binds: u32,
        8 stride: u32,
        12 pad: u32,
        16 userptr: u64,
    }
    /// Makes a buffer reachable by handle and offset, for timestamps.
    drm_asahi_gem_bind_object as GemBindObject[40] {
        0 op: u32,
        4 flags: u32,
        8 handle: u32,
        12 vm_id: u32,
        16 offset: u64,
        24 range: u64,
        32 object_handle: u32,
        36 pad: u32,
    }
    /// A new queue.
    drm_asahi_queue_create as QueueCreate[24] {
        0 flags: u32,
        4 vm_id: u32,
        8 priority: u32,
        12 queue_id: u32,
        16 usc_exec_base: u64,
    }
    /// Destroys a queue.
    drm_asahi_queue_destroy as QueueDestroy[8] {
        0 queue_id: u32,
        4 pad: u32,
    }
    /// A sync object to wait for or to signal.
    drm_asahi_sync as Sync[16] {
        0 sync_type: u32,
        4 handle: u32,
        8 timeline_value: u64,
    }
    /// The header of each command.
    drm_asahi_cmd_header as CmdHeader[8] {
        0 cmd_type: u16,
        2 size: u16,
        4 vdm_barrier: u16,
        6 cdm_barrier: u16,
    }
    /// A submission.
    drm_asahi_submit as Submit[40] {
        0 syncs: u64,
        8 cmdbuf: u64,
        16 flags: u32,
        20 queue_id: u32,
        24 in_sync_count: u32,
        28 out_sync_count: u32,
        32 cmdbuf_size: u32,
        36 pad: u32,
    }
    /// Memory that shaders write; a hint.
    drm_asahi_attachment as Attachment[24] {
        0 pointer: u64,
        8 size: u64,
        16 pad: u32,
        20 flags: u32,
    }
    /// A depth or stencil buffer.
    drm_asahi_zls_buffer as ZlsBuffer[24] {
        0 base: u64,
        8 comp_base: u64,
        16 stride: u32,
        20 comp_stride: u32,
    }
    /// Destination of a timestamp; handle 0 skips it.
    drm_asahi_timestamp as Timestamp[8] {
        0 handle: u32,
        4 offset: u32,
    }
    /// Start and end of a piece of work.
    drm_asahi_timestamps as Timestamps[16] {
        0 start: Timestamp,
        8 end: Timestamp,
    }
    /// The program that hands out scratch memory.
    drm_asahi_helper_program as HelperProgram[16] {
        0 binary: u32,
        4 cfg: u32,
        8 data: u64,
    }
    /// A background or end-of-tile program.
    drm_asahi_bg_eot as BgEot[8] {
        0 usc: u32,
        4 rsrc_spec: u32,
    }
    /// A render pass.
    drm_asahi_cmd_render as CmdRender[240] {
        0 flags: u32,
        4 isp_zls_pixels: u32,
        8 vdm_ctrl_stream_base: u64,
        16 vertex_helper: HelperProgram,
        32 fragment_helper: HelperProgram,
        48 isp_scissor_base: u64,
        56 isp_dbias_base: u64,
        64 isp_oclqry_base: u64,
        72 depth: ZlsBuffer,
        96 stencil: ZlsBuffer,
        120 zls_ctrl: u64,
        128 ppp_multisamplectl: u64,
        136 sampler_heap: u64,
        144 ppp_ctrl: u32,
        148 width_px: u16,
        150 height_px: u16,
        152 layers: u16,
        154 sampler_count: u16,
        156 utile_width_px: u8,
        157 utile_height_px: u8,
        158 samples: u8,
        159 sample_size_bytes: u8,
        160 isp_merge_upper_x: u32,
        164 isp_merge_upper_y: u32,
        168 bg: BgEot,
        176 eot: BgEot,
        184 partial_bg: BgEot,
        192 partial_eot: BgEot,
        200 isp_bgobjdepth: u32,
        204 isp_bgobjvals: u32,
        208 ts_vtx: Timestamps,
        224 ts_frag: Timestamps,
    }
    /// A stream of dispatches.
    drm_asahi_cmd_compute as CmdCompute[64] {
        0 flags: u32,
        4 sampler_count: u32,
        8 cdm_ctrl_stream_base: u64,
        16 cdm_ctrl_stream_end: u64,
        24 sampler_heap: u64,
        32 helper: HelperProgram,
        48 ts: Timestamps,
    }
    /// The GPU's clock.
    drm_asahi_get_time as GetTime[16] {
        0 flags: u64,
        8 gpu_timestamp: u64,
    }
}

ioctls! {
    /// Device properties.
    0x40 GetParams ASAHI_GET_PARAMS: Write GetParams,
    /// Device time.
    0x41 GetTime ASAHI_GET_TIME: ReadWrite GetTime,
    /// Creates an address space.
    0x42 VmCreate ASAHI_VM_CREATE: ReadWrite VmCreate,
    /// Destroys an address space.
    0x43 VmDestroy ASAHI_VM_DESTROY: Write VmDestroy,
    /// Binds and unbinds memory.
    0x44 VmBind ASAHI_VM_BIND: Write VmBind,
    /// Creates a buffer.
    0x45 GemCreate ASAHI_GEM_CREATE: ReadWrite GemCreate,
    /// The offset to map a buffer at.
    0x46 GemMmapOffset ASAHI_GEM_MMAP_OFFSET: ReadWrite GemMmapOffset,
    /// Binds a buffer as a special object.
    0x47 GemBindObject ASAHI_GEM_BIND_OBJECT: ReadWrite GemBindObject,
    /// Creates a queue.
    0x48 QueueCreate ASAHI_QUEUE_CREATE: ReadWrite QueueCreate,
    /// Destroys a queue.
    0x49 QueueDestroy ASAHI_QUEUE_DESTROY: Write QueueDestroy,
    /// Submits commands.
    0x4a Submit ASAHI_SUBMIT: Write Submit,
}

/// [`ParamsGlobal::features`]: shader loads of unmapped memory give zero, stores vanish.
pub const FEATURE_SOFT_FAULTS: u64 = 1;

/// [`GemCreate::flags`]: the client maps it cached.
pub const GEM_WRITEBACK: u32 = 1;
/// [`GemCreate::flags`]: the buffer belongs to one address space and is never exported.
pub const GEM_VM_PRIVATE: u32 = 2;

/// [`GemBindOp::flags`]: unbind the range.
pub const BIND_UNBIND: u32 = 1;
/// [`GemBindOp::flags`]: the GPU may read.
pub const BIND_READ: u32 = 2;
/// [`GemBindOp::flags`]: the GPU may write.
pub const BIND_WRITE: u32 = 4;
/// [`GemBindOp::flags`]: one page of the buffer is bound at every page of the range.
pub const BIND_SINGLE_PAGE: u32 = 8;

/// [`GemBindObject::op`]: bind.
pub const BIND_OBJECT_OP_BIND: u32 = 0;
/// [`GemBindObject::op`]: unbind.
pub const BIND_OBJECT_OP_UNBIND: u32 = 1;
/// [`GemBindObject::flags`]: for timestamps.
pub const BIND_OBJECT_USAGE_TIMESTAMPS: u32 = 1;

/// [`CmdHeader::cmd_type`]: a [`CmdRender`].
pub const CMD_RENDER: u16 = 0;
/// [`CmdHeader::cmd_type`]: a [`CmdCompute`].
pub const CMD_COMPUTE: u16 = 1;
/// [`CmdHeader::cmd_type`]: [`Attachment`]s of the vertex shaders that follow.
pub const SET_VERTEX_ATTACHMENTS: u16 = 2;
/// [`CmdHeader::cmd_type`]: [`Attachment`]s of the fragment shaders that follow.
pub const SET_FRAGMENT_ATTACHMENTS: u16 = 3;
/// [`CmdHeader::cmd_type`]: [`Attachment`]s of the compute shaders that follow.
pub const SET_COMPUTE_ATTACHMENTS: u16 = 4;

/// [`CmdHeader::vdm_barrier`] and `cdm_barrier`: wait for nothing.
pub const BARRIER_NONE: u16 = 0xffff;

/// [`QueueCreate::priority`]; the two above are reserved.
pub const PRIORITY_LOW: u32 = 0;
/// [`QueueCreate::priority`].
pub const PRIORITY_MEDIUM: u32 = 1;

/// [`Sync::sync_type`]: a binary sync object.
pub const SYNC_SYNCOBJ: u32 = 0;
/// [`Sync::sync_type`]: a point of a timeline.
pub const SYNC_TIMELINE_SYNCOBJ: u32 = 1;

/// [`CmdRender::flags`]: a vertex shader uses scratch memory.
pub const RENDER_VERTEX_SCRATCH: u32 = 1 << 0;
/// [`CmdRender::flags`]: tiles without geometry run their programs too.
pub const RENDER_PROCESS_EMPTY_TILES: u32 = 1 << 1;
/// [`CmdRender::flags`]: the vertex stage stays on one cluster.
pub const RENDER_NO_VERTEX_CLUSTERING: u32 = 1 << 2;
/// [`CmdRender::flags`]: depth bias counts in units of the depth format.
pub const RENDER_DBIAS_IS_INT: u32 = 1 << 18;
