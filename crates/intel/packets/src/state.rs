//! State that all pipelines share: base addresses, the choice of the pipeline, and PIPE_CONTROL.
//!
// source: genxml, gen90.xml and those that it imports.

use tepui_packets::types::{Address, Bool, Hex, Hex64, Shr, Uint};
use tepui_packets::{Packet, PacketInfo, bits_enum, packet};

bits_enum! {
    /// The pipelines.
    pub enum Pipeline = "PIPELINE" {
        /// 3D.
        #[default]
        ThreeD = 0 => "3D",
        /// Media.
        Media = 1 => "Media",
        /// GPGPU.
        Gpgpu = 2 => "GPGPU",
    }
}

bits_enum! {
    /// The value that PIPE_CONTROL writes when it completes.
    pub enum PostSyncOperation = "POST_SYNC_OPERATION" {
        /// No write.
        #[default]
        NoWrite = 0 => "No Write",
        /// Write immediate data.
        WriteImmediateData = 1 => "Write Immediate Data",
        /// Write PS depth count.
        WritePsDepthCount = 2 => "Write PS Depth Count",
        /// Write timestamp.
        WriteTimestamp = 3 => "Write Timestamp",
    }
}

packet! {
    /// Base addresses of what later commands and messages point to.
    pub struct StateBaseAddress = "STATE_BASE_ADDRESS", 76 bytes before 120
    fixed {
        "DWord Length" Uint [0..8] = 17;
        "3D Command Sub Opcode" Uint [16..24] = 1;
        "3D Command Opcode" Uint [24..27] = 1;
        "Command SubType" Uint [27..29] = 0;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// General state base address modify enable.
        general_state_base_address_modify_enable: Bool [32..33] "General State Base Address Modify Enable";
        /// General state MOCS.
        general_state_mocs: Hex [36..43] "General State MOCS";
        /// General state base address.
        general_state_base_address: Shr<Address, 12> [44..96] "General State Base Address";
        /// Stateless data port access MOCS.
        stateless_data_port_access_mocs: Hex [112..119] "Stateless Data Port Access MOCS";
        /// Surface state base address modify enable.
        surface_state_base_address_modify_enable: Bool [128..129] "Surface State Base Address Modify Enable";
        /// Surface state MOCS.
        surface_state_mocs: Hex [132..139] "Surface State MOCS";
        /// Surface state base address.
        surface_state_base_address: Shr<Address, 12> [140..192] "Surface State Base Address";
        /// Dynamic state base address modify enable.
        dynamic_state_base_address_modify_enable: Bool [192..193] "Dynamic State Base Address Modify Enable";
        /// Dynamic state MOCS.
        dynamic_state_mocs: Hex [196..203] "Dynamic State MOCS";
        /// Dynamic state base address.
        dynamic_state_base_address: Shr<Address, 12> [204..256] "Dynamic State Base Address";
        /// Indirect object base address modify enable.
        indirect_object_base_address_modify_enable: Bool [256..257] "Indirect Object Base Address Modify Enable";
        /// Indirect object MOCS.
        indirect_object_mocs: Hex [260..267] "Indirect Object MOCS";
        /// Indirect object base address.
        indirect_object_base_address: Shr<Address, 12> [268..320] "Indirect Object Base Address";
        /// Instruction base address modify enable.
        instruction_base_address_modify_enable: Bool [320..321] "Instruction Base Address Modify Enable";
        /// Instruction MOCS.
        instruction_mocs: Hex [324..331] "Instruction MOCS";
        /// Instruction base address.
        instruction_base_address: Shr<Address, 12> [332..384] "Instruction Base Address";
        /// General state buffer size modify enable.
        general_state_buffer_size_modify_enable: Bool [384..385] "General State Buffer Size Modify Enable";
        /// General state buffer size.
        general_state_buffer_size: Uint [396..416] "General State Buffer Size";
        /// Dynamic state buffer size modify enable.
        dynamic_state_buffer_size_modify_enable: Bool [416..417] "Dynamic State Buffer Size Modify Enable";
        /// Dynamic state buffer size.
        dynamic_state_buffer_size: Uint [428..448] "Dynamic State Buffer Size";
        /// Indirect object buffer size modify enable.
        indirect_object_buffer_size_modify_enable: Bool [448..449] "Indirect Object Buffer Size Modify Enable";
        /// Indirect object buffer size.
        indirect_object_buffer_size: Uint [460..480] "Indirect Object Buffer Size";
        /// Instruction buffer size modify enable.
        instruction_buffer_size_modify_enable: Bool [480..481] "Instruction Buffer size Modify Enable";
        /// Instruction buffer size.
        instruction_buffer_size: Uint [492..512] "Instruction Buffer Size";
        /// Bindless surface state base address modify enable.
        bindless_surface_state_base_address_modify_enable: Bool [512..513] "Bindless Surface State Base Address Modify Enable";
        /// Bindless surface state MOCS.
        bindless_surface_state_mocs: Hex [516..523] "Bindless Surface State MOCS";
        /// Bindless surface state base address.
        bindless_surface_state_base_address: Shr<Address, 12> [524..576] "Bindless Surface State Base Address";
        /// Bindless surface state size.
        bindless_surface_state_size: Uint [588..608] "Bindless Surface State Size";
    }
}

packet! {
    /// Address of the routine that handles exceptions of EU threads.
    pub struct StateSip = "STATE_SIP", 12 bytes
    fixed {
        "DWord Length" Uint [0..8] = 1;
        "3D Command Sub Opcode" Uint [16..24] = 2;
        "3D Command Opcode" Uint [24..27] = 1;
        "Command SubType" Uint [27..29] = 0;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// System instruction pointer.
        system_instruction_pointer: Shr<Address, 4> [36..96] "System Instruction Pointer";
    }
}

packet! {
    /// The save area of preempted compute threads.
    pub struct GpgpuCsrBaseAddress = "GPGPU_CSR_BASE_ADDRESS", 12 bytes before 120
    fixed {
        "DWord Length" Uint [0..8] = 1;
        "3D Command Sub Opcode" Uint [16..24] = 4;
        "3D Command Opcode" Uint [24..27] = 1;
        "Command SubType" Uint [27..29] = 0;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// GPGPU CSR base address.
        gpgpu_csr_base_address: Shr<Address, 12> [44..96] "GPGPU CSR Base Address";
    }
}

packet! {
    /// Selects the pipeline of later commands.
    pub struct PipelineSelect = "PIPELINE_SELECT", 4 bytes
    fixed {
        "3D Command Sub Opcode" Uint [16..24] = 4;
        "3D Command Opcode" Uint [24..27] = 1;
        "Command SubType" Uint [27..29] = 1;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// The pipelines.
        pipeline_selection: Pipeline [0..2] "Pipeline Selection";
        /// Media sampler DOP clock gate enable.
        media_sampler_dop_clock_gate_enable: Bool [4..5] "Media Sampler DOP Clock Gate Enable";
        /// Force media awake.
        force_media_awake: Bool [5..6] "Force Media Awake";
        /// Mask of the lower bits that take effect.
        mask_bits: Uint [8..16] "Mask Bits";
    }
}

packet! {
    /// Waits for earlier work, flushes and invalidates caches, and writes a value when that is done.
    pub struct PipeControl = "PIPE_CONTROL", 24 bytes
    fixed {
        "DWord Length" Uint [0..8] = 4;
        "3D Command Sub Opcode" Uint [16..24] = 0;
        "3D Command Opcode" Uint [24..27] = 2;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// HDC pipeline flush enable.
        hdc_pipeline_flush_enable: Bool [9..10] "HDC Pipeline Flush Enable" since 120;
        /// L3 read only cache invalidation enable.
        l3_read_only_cache_invalidation_enable: Bool [10..11] "L3 Read Only Cache Invalidation Enable" since 120;
        /// Depth cache flush enable.
        depth_cache_flush_enable: Bool [32..33] "Depth Cache Flush Enable";
        /// Stall at pixel scoreboard.
        stall_at_pixel_scoreboard: Bool [33..34] "Stall At Pixel Scoreboard";
        /// State cache invalidation enable.
        state_cache_invalidation_enable: Bool [34..35] "State Cache Invalidation Enable";
        /// Constant cache invalidation enable.
        constant_cache_invalidation_enable: Bool [35..36] "Constant Cache Invalidation Enable";
        /// VF cache invalidation enable.
        vf_cache_invalidation_enable: Bool [36..37] "VF Cache Invalidation Enable";
        /// DC flush enable.
        dc_flush_enable: Bool [37..38] "DC Flush Enable";
        /// Pipe control flush enable.
        pipe_control_flush_enable: Bool [39..40] "Pipe Control Flush Enable";
        /// Notify enable.
        notify_enable: Bool [40..41] "Notify Enable";
        /// Indirect state pointers disable.
        indirect_state_pointers_disable: Bool [41..42] "Indirect State Pointers Disable";
        /// Texture cache invalidation enable.
        texture_cache_invalidation_enable: Bool [42..43] "Texture Cache Invalidation Enable";
        /// Instruction cache invalidate enable.
        instruction_cache_invalidate_enable: Bool [43..44] "Instruction Cache Invalidate Enable";
        /// Render target cache flush enable.
        render_target_cache_flush_enable: Bool [44..45] "Render Target Cache Flush Enable";
        /// Depth stall enable.
        depth_stall_enable: Bool [45..46] "Depth Stall Enable";
        /// The value that PIPE_CONTROL writes when it completes.
        post_sync_operation: PostSyncOperation [46..48] "Post Sync Operation";
        /// Generic media state clear.
        generic_media_state_clear: Bool [48..49] "Generic Media State Clear";
        /// PSD sync enable.
        psd_sync_enable: Bool [49..50] "PSD Sync Enable" since 120;
        /// TLB invalidate.
        tlb_invalidate: Bool [50..51] "TLB Invalidate";
        /// Global snapshot count reset.
        global_snapshot_count_reset: Bool [51..52] "Global Snapshot Count Reset";
        /// Command streamer stall enable.
        command_streamer_stall_enable: Bool [52..53] "Command Streamer Stall Enable";
        /// Store data index.
        store_data_index: Bool [53..54] "Store Data Index";
        /// Protected memory enable.
        protected_memory_enable: Bool [54..55] "Protected Memory Enable" since 120;
        /// Sets a register instead of writing to memory.
        lri_post_sync_operation: Bool [55..56] "LRI Post Sync Operation";
        /// The address is one of the global address space.
        destination_address_type: Bool [56..57] "Destination Address Type";
        /// Flush LLC.
        flush_llc: Bool [58..59] "Flush LLC";
        /// Protected memory disable.
        protected_memory_disable: Bool [59..60] "Protected Memory Disable" since 120;
        /// Tile cache flush enable.
        tile_cache_flush_enable: Bool [60..61] "Tile Cache Flush Enable" since 120;
        /// Command cache invalidate enable.
        command_cache_invalidate_enable: Bool [61..62] "Command Cache Invalidate Enable" since 120;
        /// L3 fabric flush.
        l3_fabric_flush: Bool [62..63] "L3 Fabric Flush" since 120;
        /// GPU address of what is written.
        address: Shr<Address, 2> [66..112] "Address";
        /// The value that is written.
        immediate_data: Hex64 [128..192] "Immediate Data";
    }
}

/// The tables of this module.
pub static ALL: &[&PacketInfo] = &[
    StateBaseAddress::INFO,
    StateSip::INFO,
    GpgpuCsrBaseAddress::INFO,
    PipelineSelect::INFO,
    PipeControl::INFO,
];
