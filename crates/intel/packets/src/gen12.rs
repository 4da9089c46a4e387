//! Commands and states of Gen12 that Gen9 lacks, or whose layout on Gen12 is different.
//!
//! If only single fields differ, they are declared with the other fields in the module of their unit, with
//! the revisions that have them.
//!
// source: genxml, gen120.xml and those that it imports.

use tepui_packets::types::{Address, Array, Bool, Float, Hex, Hex64, Int, Shr, Uint};
use tepui_packets::{Packet, PacketInfo, packet};

packet! {
    /// Base addresses of what later commands and messages point to.
    pub struct StateBaseAddress = "STATE_BASE_ADDRESS", 88 bytes since 120
    fixed {
        "DWord Length" Uint [0..8] = 20;
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
        /// Bindless sampler state base address modify enable.
        bindless_sampler_state_base_address_modify_enable: Bool [608..609] "Bindless Sampler State Base Address Modify Enable";
        /// Bindless sampler state MOCS.
        bindless_sampler_state_mocs: Hex [612..619] "Bindless Sampler State MOCS";
        /// Bindless sampler state base address.
        bindless_sampler_state_base_address: Shr<Address, 12> [620..672] "Bindless Sampler State Base Address";
        /// Bindless sampler state buffer size.
        bindless_sampler_state_buffer_size: Uint [684..704] "Bindless Sampler State Buffer Size";
    }
}

packet! {
    /// How compute threads access memory.
    ///
    // source: Intel's compute runtime, hw_cmds_generated_gen12lp.inl; genxml has it since gen125.xml.
    pub struct StateComputeMode = "STATE_COMPUTE_MODE", 8 bytes since 120
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 5;
        "3D Command Opcode" Uint [24..27] = 1;
        "Command SubType" Uint [27..29] = 0;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Whether accesses bypass coherency with the CPU (1) or with other GPUs' agents (2).
        force_non_coherent: Uint [35..37] "Force Non-Coherent";
        /// Binding table alignment.
        binding_table_alignment: Uint [42..43] "Binding Table Alignment";
        /// Coherent access L1 cache disable.
        coherent_access_l1_cache_disable: Bool [44..45] "Coherent Access L1 Cache Disable";
        /// Disable L1 invalidate for non-L1-cacheable writes.
        disable_l1_invalidate_for_non_l1_cacheable_writes: Bool [45..46] "Disable L1 Invalidate for non-L1-cacheable Writes";
        /// The bits of the lower half that the command sets.
        mask: Hex [48..64] "Mask";
    }
}

packet! {
    /// Draws, with three numbers that shaders may read.
    pub struct Primitive3dExtended = "3DPRIMITIVE_EXTENDED", 40 bytes since 120
    fixed {
        "DWord Length" Uint [0..8] = 8;
        "Extended Parameters Present" Uint [11..12] = 1;
        "3D Command Sub Opcode" Uint [16..24] = 0;
        "3D Command Opcode" Uint [24..27] = 3;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Predicate enable.
        predicate_enable: Bool [8..9] "Predicate Enable";
        /// UAV coherency required.
        uav_coherency_required: Bool [9..10] "UAV Coherency Required";
        /// Indirect parameter enable.
        indirect_parameter_enable: Bool [10..11] "Indirect Parameter Enable";
        /// Primitive topology type.
        primitive_topology_type: Uint [32..38] "Primitive Topology Type";
        /// Vertex access type.
        vertex_access_type: Bool [40..41] "Vertex Access Type";
        /// End offset enable.
        end_offset_enable: Bool [41..42] "End Offset Enable";
        /// Vertex count per instance.
        vertex_count_per_instance: Uint [64..96] "Vertex Count Per Instance";
        /// Start vertex location.
        start_vertex_location: Uint [96..128] "Start Vertex Location";
        /// Instance count.
        instance_count: Uint [128..160] "Instance Count";
        /// Start instance location.
        start_instance_location: Uint [160..192] "Start Instance Location";
        /// Base vertex location.
        base_vertex_location: Int [192..224] "Base Vertex Location";
        /// Extended parameter 0.
        extended_parameter_0: Uint [224..256] "Extended Parameter 0";
        /// Extended parameter 1.
        extended_parameter_1: Uint [256..288] "Extended Parameter 1";
        /// Extended parameter 2.
        extended_parameter_2: Uint [288..320] "Extended Parameter 2";
    }
}

packet! {
    /// Push constants of several stages at once; up to four ranges follow.
    pub struct State3dConstantAll = "3DSTATE_CONSTANT_ALL", 8 bytes since 120
    fixed {
        "3D Command Sub Opcode" Uint [16..24] = 109;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Double words of the command, without the first two.
        dword_length: Uint [0..8] "DWord Length";
        /// Vertex shader update enable.
        vertex_shader_update_enable: Bool [8..9] "Vertex Shader Update Enable";
        /// Hull shader update enable.
        hull_shader_update_enable: Bool [9..10] "Hull Shader Update Enable";
        /// Domain shader update enable.
        domain_shader_update_enable: Bool [10..11] "Domain Shader Update Enable";
        /// Geometry shader update enable.
        geometry_shader_update_enable: Bool [11..12] "Geometry Shader Update Enable";
        /// Pixel shader update enable.
        pixel_shader_update_enable: Bool [12..13] "Pixel Shader Update Enable";
        /// Cache control.
        mocs: Hex [32..39] "MOCS";
        /// Pointer buffer mask.
        pointer_buffer_mask: Uint [48..52] "Pointer Buffer Mask";
        /// Update mode.
        update_mode: Bool [63..64] "Update Mode";
    }
}

packet! {
    /// A range of push constants.
    pub struct State3dConstantAllData = "3DSTATE_CONSTANT_ALL_DATA", 8 bytes since 120
    fields {
        /// Constant buffer read length.
        constant_buffer_read_length: Uint [0..5] "Constant Buffer Read Length";
        /// Pointer to constant buffer.
        pointer_to_constant_buffer: Shr<Address, 5> [5..64] "Pointer To Constant Buffer";
    }
}

packet! {
    /// The test of depth bounds.
    pub struct State3dDepthBounds = "3DSTATE_DEPTH_BOUNDS", 16 bytes since 120
    fixed {
        "Length" Uint [0..8] = 2;
        "3DSTATE Command Sub Opcode" Uint [16..24] = 113;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Depth bounds test value modify disable.
        depth_bounds_test_value_modify_disable: Bool [14..15] "Depth Bounds Test Value Modify Disable";
        /// Depth bounds test enable modify disable.
        depth_bounds_test_enable_modify_disable: Bool [15..16] "Depth Bounds Test Enable Modify Disable";
        /// Depth bounds test enable.
        depth_bounds_test_enable: Uint [32..33] "Depth Bounds Test Enable";
        /// Depth bounds test min value.
        depth_bounds_test_min_value: Float [64..96] "Depth Bounds Test Min Value";
        /// Depth bounds test max value.
        depth_bounds_test_max_value: Float [96..128] "Depth Bounds Test Max Value";
    }
}

packet! {
    /// The number of times each primitive is drawn, and the viewports and layers.
    pub struct State3dPrimitiveReplication = "3DSTATE_PRIMITIVE_REPLICATION", 24 bytes since 120
    fixed {
        "DWord Length" Uint [0..8] = 4;
        "3D Command Sub Opcode" Uint [16..24] = 108;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Replication count.
        replication_count: Uint [32..36] "Replication Count";
        /// Replica mask.
        replica_mask: Uint [48..64] "Replica Mask";
        /// Viewport offsets.
        viewport_offsets: Array<Uint, 16, 4, 4> [64..128] "Viewport Offset";
        /// RTAI offsets.
        rtai_offsets: Array<Uint, 16, 4, 4> [128..192] "RTAI Offset";
    }
}

packet! {
    /// Vertex shader entries in the URB.
    pub struct State3dUrbAllocVs = "3DSTATE_URB_ALLOC_VS", 12 bytes since 120
    fixed {
        "DWord Length" Uint [0..8] = 1;
        "3D Command Sub Opcode" Uint [16..24] = 88;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// VS URB entry allocation size.
        vs_urb_entry_allocation_size: Uint [32..42] "VS URB Entry Allocation Size";
        /// VS URB starting address Slice0.
        vs_urb_starting_address_slice0: Uint [42..50] "VS URB Starting Address Slice0";
        /// VS URB starting address slice n.
        vs_urb_starting_address_slice_n: Uint [53..61] "VS URB Starting Address Slice N";
        /// VS number of URB entries Slice0.
        vs_number_of_urb_entries_slice0: Uint [64..80] "VS Number of URB Entries Slice0";
        /// VS number of URB entries slice n.
        vs_number_of_urb_entries_slice_n: Uint [80..96] "VS Number of URB Entries Slice N";
    }
}

packet! {
    /// Hull shader entries in the URB.
    pub struct State3dUrbAllocHs = "3DSTATE_URB_ALLOC_HS", 12 bytes since 120
    fixed {
        "DWord Length" Uint [0..8] = 1;
        "3D Command Sub Opcode" Uint [16..24] = 89;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// HS URB entry allocation size.
        hs_urb_entry_allocation_size: Uint [32..42] "HS URB Entry Allocation Size";
        /// HS URB starting address Slice0.
        hs_urb_starting_address_slice0: Uint [42..50] "HS URB Starting Address Slice0";
        /// HS URB starting address slice n.
        hs_urb_starting_address_slice_n: Uint [53..61] "HS URB Starting Address Slice N";
        /// HS number of URB entries Slice0.
        hs_number_of_urb_entries_slice0: Uint [64..80] "HS Number of URB Entries Slice0";
        /// HS number of URB entries slice n.
        hs_number_of_urb_entries_slice_n: Uint [80..96] "HS Number of URB Entries Slice N";
    }
}

packet! {
    /// Domain shader entries in the URB.
    pub struct State3dUrbAllocDs = "3DSTATE_URB_ALLOC_DS", 12 bytes since 120
    fixed {
        "DWord Length" Uint [0..8] = 1;
        "3D Command Sub Opcode" Uint [16..24] = 90;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// DS URB entry allocation size.
        ds_urb_entry_allocation_size: Uint [32..42] "DS URB Entry Allocation Size";
        /// DS URB starting address Slice0.
        ds_urb_starting_address_slice0: Uint [42..50] "DS URB Starting Address Slice0";
        /// DS URB starting address slice n.
        ds_urb_starting_address_slice_n: Uint [53..61] "DS URB Starting Address Slice N";
        /// DS number of URB entries Slice0.
        ds_number_of_urb_entries_slice0: Uint [64..80] "DS Number of URB Entries Slice0";
        /// DS number of URB entries slice n.
        ds_number_of_urb_entries_slice_n: Uint [80..96] "DS Number of URB Entries Slice N";
    }
}

packet! {
    /// Geometry shader entries in the URB.
    pub struct State3dUrbAllocGs = "3DSTATE_URB_ALLOC_GS", 12 bytes since 120
    fixed {
        "DWord Length" Uint [0..8] = 1;
        "3D Command Sub Opcode" Uint [16..24] = 91;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// GS URB entry allocation size.
        gs_urb_entry_allocation_size: Uint [32..42] "GS URB Entry Allocation Size";
        /// GS URB starting address Slice0.
        gs_urb_starting_address_slice0: Uint [42..50] "GS URB Starting Address Slice0";
        /// GS URB starting address slice n.
        gs_urb_starting_address_slice_n: Uint [53..61] "GS URB Starting Address Slice N";
        /// GS number of URB entries Slice0.
        gs_number_of_urb_entries_slice0: Uint [64..80] "GS Number of URB Entries Slice0";
        /// GS number of URB entries slice n.
        gs_number_of_urb_entries_slice_n: Uint [80..96] "GS Number of URB Entries Slice N";
    }
}

packet! {
    /// The vertex element components that draw parameters are stored to.
    pub struct State3dVfSgvs2 = "3DSTATE_VF_SGVS_2", 12 bytes since 120
    fixed {
        "DWord Length" Uint [0..8] = 1;
        "3D Command Sub Opcode" Uint [16..24] = 86;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// XP0 element offset.
        xp0_element_offset: Uint [32..38] "XP0 Element Offset";
        /// XP0 source select.
        xp0_source_select: Uint [44..45] "XP0 Source Select";
        /// XP0 component number.
        xp0_component_number: Uint [45..47] "XP0 Component Number";
        /// XP0 enable.
        xp0_enable: Bool [47..48] "XP0 Enable";
        /// XP1 element offset.
        xp1_element_offset: Uint [48..54] "XP1 Element Offset";
        /// XP1 source select.
        xp1_source_select: Uint [60..61] "XP1 Source Select";
        /// XP1 component number.
        xp1_component_number: Uint [61..63] "XP1 Component Number";
        /// XP1 enable.
        xp1_enable: Bool [63..64] "XP1 Enable";
        /// XP2 element offset.
        xp2_element_offset: Uint [64..70] "XP2 Element Offset";
        /// XP2 component number.
        xp2_component_number: Uint [77..79] "XP2 Component Number";
        /// XP2 enable.
        xp2_enable: Bool [79..80] "XP2 Enable";
    }
}

packet! {
    /// A base address of binding tables of their own.
    pub struct State3dBindingTablePoolAlloc = "3DSTATE_BINDING_TABLE_POOL_ALLOC", 16 bytes
    fixed {
        "DWord Length" Uint [0..8] = 2;
        "3D Command Sub Opcode" Uint [16..24] = 25;
        "3D Command Opcode" Uint [24..27] = 1;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Cache control.
        mocs: Hex [32..39] "MOCS";
        /// Binding table pool enable.
        binding_table_pool_enable: Bool [43..44] "Binding Table Pool Enable";
        /// Binding table pool base address.
        binding_table_pool_base_address: Shr<Address, 12> [44..96] "Binding Table Pool Base Address";
        /// Binding table pool buffer size.
        binding_table_pool_buffer_size: Uint [108..128] "Binding Table Pool Buffer Size";
    }
}

packet! {
    /// Points to the state of coarse pixel shading.
    pub struct State3dCpsPointers = "3DSTATE_CPS_POINTERS", 8 bytes since 120
    fixed {
        "DWord Length" Uint [0..16] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 34;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Coarse pixel shading state array pointer.
        coarse_pixel_shading_state_array_pointer: Shr<Address, 5> [37..64] "Coarse Pixel Shading State Array Pointer";
    }
}

packet! {
    /// The size of coarse pixels of a viewport.
    pub struct CpsState = "CPS_STATE", 32 bytes since 120
    fields {
        /// Width in pixels, or its minimum, with seven bits of fraction.
        min_cp_size_x: Uint [0..11] "Min CP Size X";
        /// Statistics enable.
        statistics_enable: Bool [11..12] "Statistics Enable";
        /// Coarse pixel shading mode: 0 none, 1 a constant size, 2 a size that depends on the distance from the focus.
        coarse_pixel_shading_mode: Uint [12..14] "Coarse Pixel Shading Mode";
        /// The axis whose scale is 1.
        scale_axis: Uint [14..15] "Scale Axis";
        /// Height in pixels, or its minimum, with seven bits of fraction.
        min_cp_size_y: Uint [16..27] "Min CP Size Y";
        /// Maximum width.
        max_cp_size_x: Uint [32..43] "Max CP Size X";
        /// Maximum height.
        max_cp_size_y: Uint [48..59] "Max CP Size Y";
        /// Y of the focus.
        y_focal: Int [64..80] "Y Focal";
        /// X of the focus.
        x_focal: Int [96..112] "X Focal";
        /// Growth of the height.
        m_y: Float [128..160] "M y";
        /// Growth of the width.
        m_x: Float [160..192] "M x";
        /// Radius in which sizes are at their minimum.
        r_min: Float [192..224] "R min";
        /// Aspect.
        aspect: Float [224..256] "Aspect";
    }
}

impl CpsState {
    /// Coarse Pixel Shading Mode: none.
    pub const NONE: u32 = 0;
    /// Coarse Pixel Shading Mode: a constant size.
    pub const CONSTANT: u32 = 1;
    /// Bits of the fraction of a size.
    pub const FRACTION: u32 = 7;

    /// A size in pixels, as the state has it.
    #[must_use]
    pub const fn size(pixels: u32) -> u32 {
        pixels << CpsState::FRACTION
    }
}

packet! {
    /// The distribution of the screen over slices.
    pub struct State3d3dMode = "3DSTATE_3D_MODE", 8 bytes since 120
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 30;
        "3D Command Opcode" Uint [24..27] = 1;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Cross slice hashing mode.
        cross_slice_hashing_mode: Uint [32..34] "Cross Slice Hashing Mode";
        /// 3D scoreboard hashing mode.
        n3d_scoreboard_hashing_mode: Bool [36..37] "3D Scoreboard Hashing Mode";
        /// Subslice hashing table enable.
        subslice_hashing_table_enable: Bool [37..38] "Subslice Hashing Table Enable";
        /// Slice hashing table enable.
        slice_hashing_table_enable: Bool [38..39] "Slice Hashing Table Enable";
        /// Cross slice hashing mode mask.
        cross_slice_hashing_mode_mask: Uint [48..50] "Cross Slice Hashing Mode Mask";
        /// 3D scoreboard hashing mode mask.
        n3d_scoreboard_hashing_mode_mask: Bool [52..53] "3D Scoreboard Hashing Mode Mask";
        /// Subslice hashing table enable mask.
        subslice_hashing_table_enable_mask: Bool [53..54] "Subslice Hashing Table Enable Mask";
        /// Slice hashing table enable mask.
        slice_hashing_table_enable_mask: Bool [54..55] "Slice Hashing Table Enable Mask";
    }
}

packet! {
    /// Points to the table that shares the screen out to slices.
    pub struct State3dSliceTableStatePointers = "3DSTATE_SLICE_TABLE_STATE_POINTERS", 8 bytes since 120
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 32;
        "3D Command Opcode" Uint [24..27] = 1;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Slice hash state pointer valid.
        slice_hash_state_pointer_valid: Bool [32..33] "Slice Hash State Pointer Valid";
        /// Slice hash table state pointer.
        slice_hash_table_state_pointer: Shr<Address, 6> [38..64] "Slice Hash Table State Pointer";
    }
}

packet! {
    /// The depth buffer.
    pub struct State3dDepthBuffer = "3DSTATE_DEPTH_BUFFER", 32 bytes since 120
    fixed {
        "DWord Length" Uint [0..8] = 6;
        "3D Command Sub Opcode" Uint [16..24] = 5;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Surface pitch.
        surface_pitch: Uint [32..50] "Surface Pitch";
        /// Control surface enable.
        control_surface_enable: Bool [51..52] "Control Surface Enable";
        /// Depth buffer compression enable.
        depth_buffer_compression_enable: Bool [53..54] "Depth Buffer Compression Enable";
        /// Hierarchical depth buffer enable.
        hierarchical_depth_buffer_enable: Bool [54..55] "Hierarchical Depth Buffer Enable";
        /// Corner texel mode.
        corner_texel_mode: Bool [55..56] "Corner Texel Mode";
        /// Surface format.
        surface_format: Uint [56..59] "Surface Format";
        /// Null page coherency enable.
        null_page_coherency_enable: Bool [59..60] "Null Page Coherency Enable";
        /// Depth write enable.
        depth_write_enable: Bool [60..61] "Depth Write Enable";
        /// Surface type.
        surface_type: Uint [61..64] "Surface Type";
        /// Surface base address.
        surface_base_address: Address [64..128] "Surface Base Address";
        /// Width.
        width: Uint [129..143] "Width";
        /// Height.
        height: Uint [145..159] "Height";
        /// Cache control.
        mocs: Hex [160..167] "MOCS";
        /// Minimum array element.
        minimum_array_element: Uint [168..179] "Minimum Array Element";
        /// Depth.
        depth: Uint [180..191] "Depth";
        /// Mip tail start LOD.
        mip_tail_start_lod: Uint [218..222] "Mip Tail Start LOD";
        /// Tiled resource mode.
        tiled_resource_mode: Uint [222..224] "Tiled Resource Mode";
        /// Surface QPitch.
        surface_qpitch: Uint [224..239] "Surface QPitch";
        /// LOD.
        lod: Uint [240..244] "LOD";
        /// Render target view extent.
        render_target_view_extent: Uint [245..256] "Render Target View Extent";
    }
}

packet! {
    /// The stencil buffer.
    pub struct State3dStencilBuffer = "3DSTATE_STENCIL_BUFFER", 32 bytes since 120
    fixed {
        "DWord Length" Uint [0..8] = 6;
        "3D Command Sub Opcode" Uint [16..24] = 6;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Surface pitch.
        surface_pitch: Uint [32..49] "Surface Pitch";
        /// Corner texel mode.
        corner_texel_mode: Bool [55..56] "Corner Texel Mode";
        /// Control surface enable.
        control_surface_enable: Bool [56..57] "Control Surface Enable";
        /// Stencil compression enable.
        stencil_compression_enable: Bool [57..58] "Stencil Compression Enable";
        /// Null page coherency enable.
        null_page_coherency_enable: Bool [59..60] "Null Page Coherency Enable";
        /// Stencil write enable.
        stencil_write_enable: Bool [60..61] "Stencil Write Enable";
        /// Surface type.
        surface_type: Uint [61..64] "Surface Type";
        /// Surface base address.
        surface_base_address: Address [64..128] "Surface Base Address";
        /// Width.
        width: Uint [129..143] "Width";
        /// Height.
        height: Uint [145..159] "Height";
        /// Cache control.
        mocs: Hex [160..167] "MOCS";
        /// Minimum array element.
        minimum_array_element: Uint [168..179] "Minimum Array Element";
        /// Depth.
        depth: Uint [180..191] "Depth";
        /// Mip tail start LOD.
        mip_tail_start_lod: Uint [218..222] "Mip Tail Start LOD";
        /// Tiled mode.
        tiled_mode: Uint [222..224] "Tiled Mode";
        /// Surface QPitch.
        surface_qpitch: Uint [224..239] "Surface QPitch";
        /// Surf LOD.
        surf_lod: Uint [240..244] "Surf LOD";
        /// Render target view extent.
        render_target_view_extent: Uint [245..256] "Render Target View Extent";
    }
}

packet! {
    /// A clear colour, in memory next to the surface: as components and as a texel.
    pub struct ClearColor = "CLEAR_COLOR", 32 bytes since 120
    fields {
        /// Raw clear color red.
        raw_clear_color_red: Hex [0..32] "Raw Clear Color Red";
        /// Raw clear color green.
        raw_clear_color_green: Hex [32..64] "Raw Clear Color Green";
        /// Raw clear color blue.
        raw_clear_color_blue: Hex [64..96] "Raw Clear Color Blue";
        /// Raw clear color alpha.
        raw_clear_color_alpha: Hex [96..128] "Raw Clear Color Alpha";
        /// Converted clear value hi/low.
        converted_clear_value_hi_low: Hex64 [128..192] "Converted Clear Value Hi/Low";
    }
}

/// Stream output buffers have a command each, which differ by their opcode alone.
macro_rules! stream_output_buffer {
    ($doc:literal $name:ident = $hw:literal, $opcode:literal) => {
        packet! {
            #[doc = $doc]
            pub struct $name = $hw, 32 bytes since 120
            fixed {
                "DWord Length" Uint [0..8] = 6;
                "3D Command Sub Opcode" Uint [16..24] = $opcode;
                "3D Command Opcode" Uint [24..27] = 0;
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
    };
}

stream_output_buffer!("Stream output buffer 0." State3dSoBufferIndex0 = "3DSTATE_SO_BUFFER_INDEX_0", 96);
stream_output_buffer!("Stream output buffer 1." State3dSoBufferIndex1 = "3DSTATE_SO_BUFFER_INDEX_1", 97);
stream_output_buffer!("Stream output buffer 2." State3dSoBufferIndex2 = "3DSTATE_SO_BUFFER_INDEX_2", 98);
stream_output_buffer!("Stream output buffer 3." State3dSoBufferIndex3 = "3DSTATE_SO_BUFFER_INDEX_3", 99);

packet! {
    /// Tessellator. Mesa 26.1 writes the last double word on Gen12, too; its place of the further fields is that
    /// of gen200.xml.
    pub struct State3dTe = "3DSTATE_TE", 20 bytes since 120
    fixed {
        "DWord Length" Uint [0..8] = 3;
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
        /// Tessellation scale factor enable.
        tessellation_scale_factor_enable: Bool [51..52] "Tessellation Scale Factor Enable";
        /// Tessellation factor format.
        tessellation_factor_format: Uint [52..53] "Tessellation Factor Format";
        /// Patch header layout.
        patch_header_layout: Uint [54..56] "Patch Header Layout";
        /// Maximum tessellation factor odd.
        maximum_tessellation_factor_odd: Float [64..96] "Maximum Tessellation Factor Odd";
        /// Maximum tessellation factor not odd.
        maximum_tessellation_factor_not_odd: Float [96..128] "Maximum Tessellation Factor Not Odd";
        /// Tessellation scale factor.
        tessellation_scale_factor: Float [128..160] "Tessellation Scale Factor";
    }
}

/// The tables of this module.
pub static ALL: &[&PacketInfo] = &[
    StateBaseAddress::INFO,
    StateComputeMode::INFO,
    Primitive3dExtended::INFO,
    State3dConstantAll::INFO,
    State3dConstantAllData::INFO,
    State3dDepthBounds::INFO,
    State3dPrimitiveReplication::INFO,
    State3dUrbAllocVs::INFO,
    State3dUrbAllocHs::INFO,
    State3dUrbAllocDs::INFO,
    State3dUrbAllocGs::INFO,
    State3dVfSgvs2::INFO,
    State3dBindingTablePoolAlloc::INFO,
    State3dCpsPointers::INFO,
    CpsState::INFO,
    State3d3dMode::INFO,
    State3dSliceTableStatePointers::INFO,
    State3dDepthBuffer::INFO,
    State3dStencilBuffer::INFO,
    ClearColor::INFO,
    State3dTe::INFO,
    State3dSoBufferIndex0::INFO,
    State3dSoBufferIndex1::INFO,
    State3dSoBufferIndex2::INFO,
    State3dSoBufferIndex3::INFO,
];
