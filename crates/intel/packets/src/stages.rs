//! The stages before rasterisation: vertex, tessellation, geometry shaders and stream output.
//!
// source: genxml, gen90.xml and those that it imports.

use tepui_packets::types::{Address, Bool, Float, Hex, Shr, Uint};
use tepui_packets::{Packet, PacketInfo, packet};

packet! {
    /// Vertex shader.
    pub struct State3dVs = "3DSTATE_VS", 36 bytes
    fixed {
        "DWord Length" Uint [0..8] = 7;
        "3D Command Sub Opcode" Uint [16..24] = 16;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Kernel start pointer.
        kernel_start_pointer: Shr<Address, 6> [38..96] "Kernel Start Pointer";
        /// Software exception enable.
        software_exception_enable: Bool [103..104] "Software Exception Enable";
        /// Accesses UAV.
        accesses_uav: Bool [108..109] "Accesses UAV";
        /// Illegal opcode exception enable.
        illegal_opcode_exception_enable: Bool [109..110] "Illegal Opcode Exception Enable";
        /// Floating point mode.
        floating_point_mode: Bool [112..113] "Floating Point Mode";
        /// Thread dispatch priority.
        thread_dispatch_priority: Bool [113..114] "Thread Dispatch Priority";
        /// Binding table entry count.
        binding_table_entry_count: Uint [114..122] "Binding Table Entry Count";
        /// Sampler count.
        sampler_count: Uint [123..126] "Sampler Count";
        /// Vector mask enable.
        vector_mask_enable: Bool [126..127] "Vector Mask Enable";
        /// Single vertex dispatch.
        single_vertex_dispatch: Bool [127..128] "Single Vertex Dispatch" before 120;
        /// Per-thread scratch space.
        per_thread_scratch_space: Uint [128..132] "Per-Thread Scratch Space";
        /// Scratch space base pointer.
        scratch_space_base_pointer: Shr<Address, 10> [138..192] "Scratch Space Base Pointer";
        /// Vertex URB entry read offset.
        vertex_urb_entry_read_offset: Uint [196..202] "Vertex URB Entry Read Offset";
        /// Vertex URB entry read length.
        vertex_urb_entry_read_length: Uint [203..209] "Vertex URB Entry Read Length";
        /// Dispatch GRF start register for URB data.
        dispatch_grf_start_register_for_urb_data: Uint [212..217] "Dispatch GRF Start Register For URB Data";
        /// Enable.
        enable: Bool [224..225] "Enable";
        /// Vertex cache disable.
        vertex_cache_disable: Bool [225..226] "Vertex Cache Disable";
        /// SIMD8 dispatch enable.
        simd8_dispatch_enable: Bool [226..227] "SIMD8 Dispatch Enable";
        /// SIMD8 single instance dispatch enable.
        simd8_single_instance_dispatch_enable: Bool [233..234] "SIMD8 Single Instance Dispatch Enable" since 120;
        /// Statistics enable.
        statistics_enable: Bool [234..235] "Statistics Enable";
        /// Maximum number of threads.
        maximum_number_of_threads_gen12: Uint [246..256] "Maximum Number of Threads" since 120;
        /// Maximum number of threads.
        maximum_number_of_threads: Uint [247..256] "Maximum Number of Threads" before 120;
        /// User clip distance cull test enable bitmask.
        user_clip_distance_cull_test_enable_bitmask: Uint [256..264] "User Clip Distance Cull Test Enable Bitmask";
        /// User clip distance clip test enable bitmask.
        user_clip_distance_clip_test_enable_bitmask: Uint [264..272] "User Clip Distance Clip Test Enable Bitmask";
        /// Vertex URB entry output length.
        vertex_urb_entry_output_length: Uint [272..277] "Vertex URB Entry Output Length";
        /// Vertex URB entry output read offset.
        vertex_urb_entry_output_read_offset: Uint [277..283] "Vertex URB Entry Output Read Offset";
    }
}

packet! {
    /// Hull shader.
    pub struct State3dHs = "3DSTATE_HS", 36 bytes
    fixed {
        "DWord Length" Uint [0..8] = 7;
        "3D Command Sub Opcode" Uint [16..24] = 27;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Software exception enable.
        software_exception_enable: Bool [44..45] "Software Exception Enable";
        /// Illegal opcode exception enable.
        illegal_opcode_exception_enable: Bool [45..46] "Illegal Opcode Exception Enable";
        /// Floating point mode.
        floating_point_mode: Bool [48..49] "Floating Point Mode";
        /// Thread dispatch priority.
        thread_dispatch_priority: Bool [49..50] "Thread Dispatch Priority";
        /// Binding table entry count.
        binding_table_entry_count: Uint [50..58] "Binding Table Entry Count";
        /// Sampler count.
        sampler_count: Uint [59..62] "Sampler Count";
        /// Instance count.
        instance_count: Uint [64..69] "Instance Count";
        /// Maximum number of threads.
        maximum_number_of_threads: Uint [72..81] "Maximum Number of Threads";
        /// Statistics enable.
        statistics_enable: Bool [93..94] "Statistics Enable";
        /// Enable.
        enable: Bool [95..96] "Enable";
        /// Kernel start pointer.
        kernel_start_pointer: Shr<Address, 6> [102..160] "Kernel Start Pointer";
        /// Per-thread scratch space.
        per_thread_scratch_space: Uint [160..164] "Per-Thread Scratch Space";
        /// Scratch space base pointer.
        scratch_space_base_pointer: Shr<Address, 10> [170..224] "Scratch Space Base Pointer";
        /// Include primitive ID.
        include_primitive_id: Bool [224..225] "Include Primitive ID";
        /// Patch count threshold.
        patch_count_threshold: Uint [225..228] "Patch Count Threshold" since 120;
        /// Vertex URB entry read offset.
        vertex_urb_entry_read_offset: Uint [228..234] "Vertex URB Entry Read Offset";
        /// Vertex URB entry read length.
        vertex_urb_entry_read_length: Uint [235..241] "Vertex URB Entry Read Length";
        /// Dispatch mode.
        dispatch_mode: Uint [241..243] "Dispatch Mode";
        /// Dispatch GRF start register for URB data.
        dispatch_grf_start_register_for_urb_data: Uint [243..248] "Dispatch GRF Start Register For URB Data";
        /// Include vertex handles.
        include_vertex_handles: Bool [248..249] "Include Vertex Handles";
        /// Accesses UAV.
        accesses_uav: Bool [249..250] "Accesses UAV";
        /// Vector mask enable.
        vector_mask_enable: Bool [250..251] "Vector Mask Enable";
        /// Single program flow.
        single_program_flow: Bool [251..252] "Single Program Flow";
        /// Dispatch GRF start register for URB data [5].
        dispatch_grf_start_register_for_urb_data_5: Bool [252..253] "Dispatch GRF Start Register For URB Data [5]";
    }
}

packet! {
    /// The tessellation engine.
    pub struct State3dTe = "3DSTATE_TE", 16 bytes before 120
    fixed {
        "DWord Length" Uint [0..8] = 2;
        "3D Command Sub Opcode" Uint [16..24] = 28;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// TE enable.
        te_enable: Bool [32..33] "TE Enable";
        /// TE mode.
        te_mode: Uint [33..35] "TE Mode";
        /// TE domain.
        te_domain: Uint [36..38] "TE Domain";
        /// Output topology.
        output_topology: Uint [40..42] "Output Topology";
        /// Partitioning.
        partitioning: Uint [44..46] "Partitioning";
        /// Maximum tessellation factor odd.
        maximum_tessellation_factor_odd: Float [64..96] "Maximum Tessellation Factor Odd";
        /// Maximum tessellation factor not odd.
        maximum_tessellation_factor_not_odd: Float [96..128] "Maximum Tessellation Factor Not Odd";
    }
}

packet! {
    /// Domain shader.
    pub struct State3dDs = "3DSTATE_DS", 44 bytes
    fixed {
        "DWord Length" Uint [0..8] = 9;
        "3D Command Sub Opcode" Uint [16..24] = 29;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Kernel start pointer.
        kernel_start_pointer: Shr<Address, 6> [38..96] "Kernel Start Pointer";
        /// Software exception enable.
        software_exception_enable: Bool [103..104] "Software Exception Enable";
        /// Illegal opcode exception enable.
        illegal_opcode_exception_enable: Bool [109..110] "Illegal Opcode Exception Enable";
        /// Accesses UAV.
        accesses_uav: Bool [110..111] "Accesses UAV";
        /// Floating point mode.
        floating_point_mode: Bool [112..113] "Floating Point Mode";
        /// Thread dispatch priority.
        thread_dispatch_priority: Bool [113..114] "Thread Dispatch Priority";
        /// Binding table entry count.
        binding_table_entry_count: Uint [114..122] "Binding Table Entry Count";
        /// Sampler count.
        sampler_count: Uint [123..126] "Sampler Count";
        /// Vector mask enable.
        vector_mask_enable: Bool [126..127] "Vector Mask Enable";
        /// Per-thread scratch space.
        per_thread_scratch_space: Uint [128..132] "Per-Thread Scratch Space";
        /// Scratch space base pointer.
        scratch_space_base_pointer: Shr<Address, 10> [138..192] "Scratch Space Base Pointer";
        /// Patch URB entry read offset.
        patch_urb_entry_read_offset: Uint [196..202] "Patch URB Entry Read Offset";
        /// Patch URB entry read length.
        patch_urb_entry_read_length: Uint [203..210] "Patch URB Entry Read Length";
        /// Dispatch GRF start register for URB data.
        dispatch_grf_start_register_for_urb_data: Uint [212..217] "Dispatch GRF Start Register For URB Data";
        /// Enable.
        enable: Bool [224..225] "Enable";
        /// Cache disable.
        cache_disable: Bool [225..226] "Cache Disable";
        /// Compute W coordinate enable.
        compute_w_coordinate_enable: Bool [226..227] "Compute W Coordinate Enable";
        /// Dispatch mode.
        dispatch_mode: Uint [227..229] "Dispatch Mode";
        /// Primitive ID not required.
        primitive_id_not_required: Bool [233..234] "Primitive ID Not Required" since 120;
        /// Statistics enable.
        statistics_enable: Bool [234..235] "Statistics Enable";
        /// Maximum number of threads.
        maximum_number_of_threads: Uint [245..255] "Maximum Number of Threads";
        /// User clip distance cull test enable bitmask.
        user_clip_distance_cull_test_enable_bitmask: Uint [256..264] "User Clip Distance Cull Test Enable Bitmask";
        /// User clip distance clip test enable bitmask.
        user_clip_distance_clip_test_enable_bitmask: Uint [264..272] "User Clip Distance Clip Test Enable Bitmask";
        /// Vertex URB entry output length.
        vertex_urb_entry_output_length: Uint [272..277] "Vertex URB Entry Output Length";
        /// Vertex URB entry output read offset.
        vertex_urb_entry_output_read_offset: Uint [277..283] "Vertex URB Entry Output Read Offset";
        /// DUAL_PATCH kernel start pointer.
        dual_patch_kernel_start_pointer: Shr<Address, 6> [294..352] "DUAL_PATCH Kernel Start Pointer";
    }
}

packet! {
    /// Geometry shader.
    pub struct State3dGs = "3DSTATE_GS", 40 bytes
    fixed {
        "DWord Length" Uint [0..8] = 8;
        "3D Command Sub Opcode" Uint [16..24] = 17;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Kernel start pointer.
        kernel_start_pointer: Shr<Address, 6> [38..96] "Kernel Start Pointer";
        /// Expected vertex count.
        expected_vertex_count: Uint [96..102] "Expected Vertex Count";
        /// Software exception enable.
        software_exception_enable: Bool [103..104] "Software Exception Enable";
        /// Mask stack exception enable.
        mask_stack_exception_enable: Bool [107..108] "Mask Stack Exception Enable";
        /// Accesses UAV.
        accesses_uav: Bool [108..109] "Accesses UAV";
        /// Illegal opcode exception enable.
        illegal_opcode_exception_enable: Bool [109..110] "Illegal Opcode Exception Enable";
        /// Floating point mode.
        floating_point_mode: Bool [112..113] "Floating Point Mode";
        /// Thread dispatch priority.
        thread_dispatch_priority: Bool [113..114] "Thread Dispatch Priority";
        /// Binding table entry count.
        binding_table_entry_count: Uint [114..122] "Binding Table Entry Count";
        /// Sampler count.
        sampler_count: Uint [123..126] "Sampler Count";
        /// Vector mask enable.
        vector_mask_enable: Bool [126..127] "Vector Mask Enable";
        /// Single program flow.
        single_program_flow: Bool [127..128] "Single Program Flow";
        /// Per-thread scratch space.
        per_thread_scratch_space: Uint [128..132] "Per-Thread Scratch Space";
        /// Scratch space base pointer.
        scratch_space_base_pointer: Shr<Address, 10> [138..192] "Scratch Space Base Pointer";
        /// Dispatch GRF start register for URB data.
        dispatch_grf_start_register_for_urb_data: Uint [192..196] "Dispatch GRF Start Register For URB Data";
        /// Vertex URB entry read offset.
        vertex_urb_entry_read_offset: Uint [196..202] "Vertex URB Entry Read Offset";
        /// Include vertex handles.
        include_vertex_handles: Bool [202..203] "Include Vertex Handles";
        /// Vertex URB entry read length.
        vertex_urb_entry_read_length: Uint [203..209] "Vertex URB Entry Read Length";
        /// Output topology.
        output_topology: Uint [209..215] "Output Topology";
        /// Output vertex size.
        output_vertex_size: Uint [215..221] "Output Vertex Size";
        /// Dispatch GRF start register for URB data [5:4].
        dispatch_grf_start_register_for_urb_data_5_4: Uint [221..223] "Dispatch GRF Start Register For URB Data [5:4]";
        /// Enable.
        enable: Bool [224..225] "Enable";
        /// Discard adjacency.
        discard_adjacency: Bool [225..226] "Discard Adjacency";
        /// Reorder mode.
        reorder_mode: Bool [226..227] "Reorder Mode";
        /// Hint.
        hint: Bool [227..228] "Hint";
        /// Include primitive ID.
        include_primitive_id: Bool [228..229] "Include Primitive ID";
        /// Invocations increment value.
        invocations_increment_value: Uint [229..234] "Invocations Increment Value";
        /// Statistics enable.
        statistics_enable: Bool [234..235] "Statistics Enable";
        /// Dispatch mode.
        dispatch_mode: Uint [235..237] "Dispatch Mode";
        /// Default stream id.
        default_stream_id: Uint [237..239] "Default Stream Id";
        /// Instance control.
        instance_control: Uint [239..244] "Instance Control";
        /// Control data header size.
        control_data_header_size: Uint [244..248] "Control Data Header Size";
        /// Maximum number of threads.
        maximum_number_of_threads: Uint [256..265] "Maximum Number of Threads";
        /// Static output vertex count.
        static_output_vertex_count: Uint [272..283] "Static Output Vertex Count";
        /// Static output.
        static_output: Bool [286..287] "Static Output";
        /// Control data format.
        control_data_format: Bool [287..288] "Control Data Format";
        /// User clip distance cull test enable bitmask.
        user_clip_distance_cull_test_enable_bitmask: Uint [288..296] "User Clip Distance Cull Test Enable Bitmask";
        /// User clip distance clip test enable bitmask.
        user_clip_distance_clip_test_enable_bitmask: Uint [296..304] "User Clip Distance Clip Test Enable Bitmask";
        /// Vertex URB entry output length.
        vertex_urb_entry_output_length: Uint [304..309] "Vertex URB Entry Output Length";
        /// Vertex URB entry output read offset.
        vertex_urb_entry_output_read_offset: Uint [309..315] "Vertex URB Entry Output Read Offset";
    }
}

packet! {
    /// Stream output (transform feedback).
    pub struct State3dStreamout = "3DSTATE_STREAMOUT", 20 bytes
    fixed {
        "DWord Length" Uint [0..8] = 3;
        "3D Command Sub Opcode" Uint [16..24] = 30;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Force rendering.
        force_rendering: Uint [55..57] "Force Rendering";
        /// SO statistics enable.
        so_statistics_enable: Bool [57..58] "SO Statistics Enable";
        /// Reorder mode.
        reorder_mode: Bool [58..59] "Reorder Mode";
        /// Render stream select.
        render_stream_select: Uint [59..61] "Render Stream Select";
        /// Rendering disable.
        rendering_disable: Bool [62..63] "Rendering Disable";
        /// SO function enable.
        so_function_enable: Bool [63..64] "SO Function Enable";
        /// Stream 0 vertex read length.
        stream_0_vertex_read_length: Uint [64..69] "Stream 0 Vertex Read Length";
        /// Stream 0 vertex read offset.
        stream_0_vertex_read_offset: Bool [69..70] "Stream 0 Vertex Read Offset";
        /// Stream 1 vertex read length.
        stream_1_vertex_read_length: Uint [72..77] "Stream 1 Vertex Read Length";
        /// Stream 1 vertex read offset.
        stream_1_vertex_read_offset: Bool [77..78] "Stream 1 Vertex Read Offset";
        /// Stream 2 vertex read length.
        stream_2_vertex_read_length: Uint [80..85] "Stream 2 Vertex Read Length";
        /// Stream 2 vertex read offset.
        stream_2_vertex_read_offset: Bool [85..86] "Stream 2 Vertex Read Offset";
        /// Stream 3 vertex read length.
        stream_3_vertex_read_length: Uint [88..93] "Stream 3 Vertex Read Length";
        /// Stream 3 vertex read offset.
        stream_3_vertex_read_offset: Bool [93..94] "Stream 3 Vertex Read Offset";
        /// Buffer 0 surface pitch.
        buffer_0_surface_pitch: Uint [96..108] "Buffer 0 Surface Pitch";
        /// Buffer 1 surface pitch.
        buffer_1_surface_pitch: Uint [112..124] "Buffer 1 Surface Pitch";
        /// Buffer 2 surface pitch.
        buffer_2_surface_pitch: Uint [128..140] "Buffer 2 Surface Pitch";
        /// Buffer 3 surface pitch.
        buffer_3_surface_pitch: Uint [144..156] "Buffer 3 Surface Pitch";
    }
}

packet! {
    /// A buffer of stream output.
    pub struct State3dSoBuffer = "3DSTATE_SO_BUFFER", 32 bytes
    fixed {
        "DWord Length" Uint [0..8] = 6;
        "3D Command Sub Opcode" Uint [16..24] = 24;
        "3D Command Opcode" Uint [24..27] = 1;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Stream output buffer offset address enable.
        stream_output_buffer_offset_address_enable: Bool [52..53] "Stream Output Buffer Offset Address Enable";
        /// Stream offset write enable.
        stream_offset_write_enable: Bool [53..54] "Stream Offset Write Enable";
        /// Cache control.
        mocs: Hex [54..61] "MOCS";
        /// SO buffer index.
        so_buffer_index: Uint [61..63] "SO Buffer Index";
        /// SO buffer enable.
        so_buffer_enable: Bool [63..64] "SO Buffer Enable";
        /// Surface base address.
        surface_base_address: Shr<Address, 2> [66..112] "Surface Base Address";
        /// Surface size.
        surface_size: Uint [128..158] "Surface Size";
        /// Stream output buffer offset address.
        stream_output_buffer_offset_address: Shr<Address, 2> [162..208] "Stream Output Buffer Offset Address";
        /// Stream offset.
        stream_offset: Uint [224..256] "Stream Offset";
    }
}

packet! {
    /// The vertex components that stream output writes; entries follow.
    pub struct State3dSoDeclList = "3DSTATE_SO_DECL_LIST", 12 bytes
    fixed {
        "3D Command Sub Opcode" Uint [16..24] = 23;
        "3D Command Opcode" Uint [24..27] = 1;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Dword length.
        dword_length: Uint [0..9] "DWord Length";
        /// Stream to buffer selects 0.
        stream_to_buffer_selects_0: Uint [32..36] "Stream to Buffer Selects [0]";
        /// Stream to buffer selects 1.
        stream_to_buffer_selects_1: Uint [36..40] "Stream to Buffer Selects [1]";
        /// Stream to buffer selects 2.
        stream_to_buffer_selects_2: Uint [40..44] "Stream to Buffer Selects [2]";
        /// Stream to buffer selects 3.
        stream_to_buffer_selects_3: Uint [44..48] "Stream to Buffer Selects [3]";
        /// Num entries 0.
        num_entries_0: Uint [64..72] "Num Entries [0]";
        /// Num entries 1.
        num_entries_1: Uint [72..80] "Num Entries [1]";
        /// Num entries 2.
        num_entries_2: Uint [80..88] "Num Entries [2]";
        /// Num entries 3.
        num_entries_3: Uint [88..96] "Num Entries [3]";
    }
}

packet! {
    /// A vector of a vertex, or a hole, in a buffer of stream output.
    pub struct SoDecl = "SO_DECL", 2 bytes
    fields {
        /// Component mask.
        component_mask: Uint [0..4] "Component Mask";
        /// Register index.
        register_index: Uint [4..10] "Register Index";
        /// Hole flag.
        hole_flag: Bool [11..12] "Hole Flag";
        /// Output buffer slot.
        output_buffer_slot: Uint [12..14] "Output Buffer Slot";
    }
}

/// The tables of this module.
pub static ALL: &[&PacketInfo] = &[
    State3dVs::INFO,
    State3dHs::INFO,
    State3dTe::INFO,
    State3dDs::INFO,
    State3dGs::INFO,
    State3dStreamout::INFO,
    State3dSoBuffer::INFO,
    State3dSoDeclList::INFO,
    SoDecl::INFO,
];
