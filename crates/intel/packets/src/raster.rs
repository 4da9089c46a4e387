//! From primitives to pixels: clipper, setup, rasteriser, windower, pixel shader.
//!
// source: genxml, gen90.xml and those that it imports.

use tepui_packets::types::{Address, Bool, Float, Int, Nested, Shr, Uint, UnsignedFixed};
use tepui_packets::{Packet, PacketInfo, packet};

packet! {
    /// The clipper.
    pub struct ThreedstateClip = "3DSTATE_CLIP", 16 bytes
    fixed {
        "DWord Length" Uint [0..8] = 2;
        "3D Command Sub Opcode" Uint [16..24] = 18;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// User clip distance cull test enable bitmask.
        user_clip_distance_cull_test_enable_bitmask: Uint [32..40] "User Clip Distance Cull Test Enable Bitmask";
        /// Statistics enable.
        statistics_enable: Bool [42..43] "Statistics Enable";
        /// Force clip mode.
        force_clip_mode: Bool [48..49] "Force Clip Mode";
        /// Force user clip distance clip test enable bitmask.
        force_user_clip_distance_clip_test_enable_bitmask: Bool [49..50] "Force User Clip Distance Clip Test Enable Bitmask";
        /// Early cull enable.
        early_cull_enable: Bool [50..51] "Early Cull Enable";
        /// Vertex sub pixel precision select.
        vertex_sub_pixel_precision_select: Uint [51..52] "Vertex Sub Pixel Precision Select";
        /// Force user clip distance cull test enable bitmask.
        force_user_clip_distance_cull_test_enable_bitmask: Bool [52..53] "Force User Clip Distance Cull Test Enable Bitmask";
        /// Triangle fan provoking vertex select.
        triangle_fan_provoking_vertex_select: Uint [64..66] "Triangle Fan Provoking Vertex Select";
        /// Line strip/list provoking vertex select.
        line_strip_list_provoking_vertex_select: Uint [66..68] "Line Strip/List Provoking Vertex Select";
        /// Triangle strip/list provoking vertex select.
        triangle_strip_list_provoking_vertex_select: Uint [68..70] "Triangle Strip/List Provoking Vertex Select";
        /// Non-perspective barycentric enable.
        non_perspective_barycentric_enable: Bool [72..73] "Non-Perspective Barycentric Enable";
        /// Perspective divide disable.
        perspective_divide_disable: Bool [73..74] "Perspective Divide Disable";
        /// Clip mode.
        clip_mode: Uint [77..80] "Clip Mode";
        /// User clip distance clip test enable bitmask.
        user_clip_distance_clip_test_enable_bitmask: Uint [80..88] "User Clip Distance Clip Test Enable Bitmask";
        /// Guardband clip test enable.
        guardband_clip_test_enable: Bool [90..91] "Guardband Clip Test Enable";
        /// Viewport XY clip test enable.
        viewport_xy_clip_test_enable: Bool [92..93] "Viewport XY Clip Test Enable";
        /// API mode.
        api_mode: Uint [94..95] "API Mode";
        /// Clip enable.
        clip_enable: Bool [95..96] "Clip Enable";
        /// Maximum VP index.
        maximum_vp_index: Uint [96..100] "Maximum VP Index";
        /// Force zero RTA index enable.
        force_zero_rta_index_enable: Bool [101..102] "Force Zero RTA Index Enable";
        /// Maximum point width.
        maximum_point_width: UnsignedFixed<3> [102..113] "Maximum Point Width";
        /// Minimum point width.
        minimum_point_width: UnsignedFixed<3> [113..124] "Minimum Point Width";
    }
}

packet! {
    /// Strips and fans.
    pub struct ThreedstateSf = "3DSTATE_SF", 16 bytes
    fixed {
        "DWord Length" Uint [0..8] = 2;
        "3D Command Sub Opcode" Uint [16..24] = 19;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Viewport transform enable.
        viewport_transform_enable: Bool [33..34] "Viewport Transform Enable";
        /// Statistics enable.
        statistics_enable: Bool [42..43] "Statistics Enable";
        /// Legacy global depth bias enable.
        legacy_global_depth_bias_enable: Bool [43..44] "Legacy Global Depth Bias Enable";
        /// Line width.
        line_width: UnsignedFixed<7> [44..62] "Line Width";
        /// Line end cap antialiasing region width.
        line_end_cap_antialiasing_region_width: Uint [80..82] "Line End Cap Antialiasing Region Width";
        /// Point width.
        point_width: UnsignedFixed<3> [96..107] "Point Width";
        /// Point width source.
        point_width_source: Uint [107..108] "Point Width Source";
        /// Vertex sub pixel precision select.
        vertex_sub_pixel_precision_select: Uint [108..109] "Vertex Sub Pixel Precision Select";
        /// Smooth point enable.
        smooth_point_enable: Bool [109..110] "Smooth Point Enable";
        /// AA line distance mode.
        aa_line_distance_mode: Uint [110..111] "AA Line Distance Mode";
        /// Triangle fan provoking vertex select.
        triangle_fan_provoking_vertex_select: Uint [121..123] "Triangle Fan Provoking Vertex Select";
        /// Line strip/list provoking vertex select.
        line_strip_list_provoking_vertex_select: Uint [123..125] "Line Strip/List Provoking Vertex Select";
        /// Triangle strip/list provoking vertex select.
        triangle_strip_list_provoking_vertex_select: Uint [125..127] "Triangle Strip/List Provoking Vertex Select";
        /// Last pixel enable.
        last_pixel_enable: Bool [127..128] "Last Pixel Enable";
    }
}

packet! {
    /// The rasteriser.
    pub struct ThreedstateRaster = "3DSTATE_RASTER", 20 bytes
    fixed {
        "DWord Length" Uint [0..8] = 3;
        "3D Command Sub Opcode" Uint [16..24] = 80;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Viewport Z near clip test enable.
        viewport_z_near_clip_test_enable: Bool [32..33] "Viewport Z Near Clip Test Enable";
        /// Scissor rectangle enable.
        scissor_rectangle_enable: Bool [33..34] "Scissor Rectangle Enable";
        /// Antialiasing enable.
        antialiasing_enable: Bool [34..35] "Antialiasing Enable";
        /// Back face fill mode.
        back_face_fill_mode: Uint [35..37] "Back Face Fill Mode";
        /// Front face fill mode.
        front_face_fill_mode: Uint [37..39] "Front Face Fill Mode";
        /// Global depth offset enable point.
        global_depth_offset_enable_point: Bool [39..40] "Global Depth Offset Enable Point";
        /// Global depth offset enable wireframe.
        global_depth_offset_enable_wireframe: Bool [40..41] "Global Depth Offset Enable Wireframe";
        /// Global depth offset enable solid.
        global_depth_offset_enable_solid: Bool [41..42] "Global Depth Offset Enable Solid";
        /// DX multisample rasterization mode.
        dx_multisample_rasterization_mode: Uint [42..44] "DX Multisample Rasterization Mode";
        /// DX multisample rasterization enable.
        dx_multisample_rasterization_enable: Bool [44..45] "DX Multisample Rasterization Enable";
        /// Smooth point enable.
        smooth_point_enable: Bool [45..46] "Smooth Point Enable";
        /// Force multisampling.
        force_multisampling: Bool [46..47] "Force Multisampling";
        /// Cull mode.
        cull_mode: Uint [48..50] "Cull Mode";
        /// Forced sample count.
        forced_sample_count: Uint [50..53] "Forced Sample Count";
        /// Front winding.
        front_winding: Uint [53..54] "Front Winding";
        /// API mode.
        api_mode: Uint [54..56] "API Mode";
        /// Conservative rasterization enable.
        conservative_rasterization_enable: Bool [56..57] "Conservative Rasterization Enable";
        /// Viewport Z far clip test enable.
        viewport_z_far_clip_test_enable: Bool [58..59] "Viewport Z Far Clip Test Enable";
        /// Global depth offset constant.
        global_depth_offset_constant: Float [64..96] "Global Depth Offset Constant";
        /// Global depth offset scale.
        global_depth_offset_scale: Float [96..128] "Global Depth Offset Scale";
        /// Global depth offset clamp.
        global_depth_offset_clamp: Float [128..160] "Global Depth Offset Clamp";
    }
}

packet! {
    /// Setup: which attributes reach the pixel shader.
    pub struct ThreedstateSbe = "3DSTATE_SBE", 24 bytes
    fixed {
        "DWord Length" Uint [0..8] = 4;
        "3D Command Sub Opcode" Uint [16..24] = 31;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Primitive ID override attribute select.
        primitive_id_override_attribute_select: Uint [32..37] "Primitive ID Override Attribute Select";
        /// Vertex URB entry read offset.
        vertex_urb_entry_read_offset: Uint [37..43] "Vertex URB Entry Read Offset";
        /// Vertex URB entry read length.
        vertex_urb_entry_read_length: Uint [43..48] "Vertex URB Entry Read Length";
        /// Primitive ID override component X.
        primitive_id_override_component_x: Bool [48..49] "Primitive ID Override Component X";
        /// Primitive ID override component Y.
        primitive_id_override_component_y: Bool [49..50] "Primitive ID Override Component Y";
        /// Primitive ID override component Z.
        primitive_id_override_component_z: Bool [50..51] "Primitive ID Override Component Z";
        /// Primitive ID override component W.
        primitive_id_override_component_w: Bool [51..52] "Primitive ID Override Component W";
        /// Point sprite texture coordinate origin.
        point_sprite_texture_coordinate_origin: Uint [52..53] "Point Sprite Texture Coordinate Origin";
        /// Attribute swizzle enable.
        attribute_swizzle_enable: Bool [53..54] "Attribute Swizzle Enable";
        /// Number of SF output attributes.
        number_of_sf_output_attributes: Uint [54..60] "Number of SF Output Attributes";
        /// Force vertex URB entry read offset.
        force_vertex_urb_entry_read_offset: Bool [60..61] "Force Vertex URB Entry Read Offset";
        /// Force vertex URB entry read length.
        force_vertex_urb_entry_read_length: Bool [61..62] "Force Vertex URB Entry Read Length";
        /// Point sprite texture coordinate enable.
        point_sprite_texture_coordinate_enable: Uint [64..96] "Point Sprite Texture Coordinate Enable";
        /// Constant interpolation enable.
        constant_interpolation_enable: Uint [96..128] "Constant Interpolation Enable";
        /// Attribute active component format 0.
        attribute_active_component_format_0: Uint [128..130] "Attribute Active Component Format 0";
        /// Attribute active component format 1.
        attribute_active_component_format_1: Uint [130..132] "Attribute Active Component Format 1";
        /// Attribute active component format 2.
        attribute_active_component_format_2: Uint [132..134] "Attribute Active Component Format 2";
        /// Attribute active component format 3.
        attribute_active_component_format_3: Uint [134..136] "Attribute Active Component Format 3";
        /// Attribute active component format 4.
        attribute_active_component_format_4: Uint [136..138] "Attribute Active Component Format 4";
        /// Attribute active component format 5.
        attribute_active_component_format_5: Uint [138..140] "Attribute Active Component Format 5";
        /// Attribute active component format 6.
        attribute_active_component_format_6: Uint [140..142] "Attribute Active Component Format 6";
        /// Attribute active component format 7.
        attribute_active_component_format_7: Uint [142..144] "Attribute Active Component Format 7";
        /// Attribute active component format 8.
        attribute_active_component_format_8: Uint [144..146] "Attribute Active Component Format 8";
        /// Attribute active component format 9.
        attribute_active_component_format_9: Uint [146..148] "Attribute Active Component Format 9";
        /// Attribute active component format 10.
        attribute_active_component_format_10: Uint [148..150] "Attribute Active Component Format 10";
        /// Attribute active component format 11.
        attribute_active_component_format_11: Uint [150..152] "Attribute Active Component Format 11";
        /// Attribute active component format 12.
        attribute_active_component_format_12: Uint [152..154] "Attribute Active Component Format 12";
        /// Attribute active component format 13.
        attribute_active_component_format_13: Uint [154..156] "Attribute Active Component Format 13";
        /// Attribute active component format 14.
        attribute_active_component_format_14: Uint [156..158] "Attribute Active Component Format 14";
        /// Attribute active component format 15.
        attribute_active_component_format_15: Uint [158..160] "Attribute Active Component Format 15";
        /// Attribute active component format 16.
        attribute_active_component_format_16: Uint [160..162] "Attribute Active Component Format 16";
        /// Attribute active component format 17.
        attribute_active_component_format_17: Uint [162..164] "Attribute Active Component Format 17";
        /// Attribute active component format 18.
        attribute_active_component_format_18: Uint [164..166] "Attribute Active Component Format 18";
        /// Attribute active component format 19.
        attribute_active_component_format_19: Uint [166..168] "Attribute Active Component Format 19";
        /// Attribute active component format 20.
        attribute_active_component_format_20: Uint [168..170] "Attribute Active Component Format 20";
        /// Attribute active component format 21.
        attribute_active_component_format_21: Uint [170..172] "Attribute Active Component Format 21";
        /// Attribute active component format 22.
        attribute_active_component_format_22: Uint [172..174] "Attribute Active Component Format 22";
        /// Attribute active component format 23.
        attribute_active_component_format_23: Uint [174..176] "Attribute Active Component Format 23";
        /// Attribute active component format 24.
        attribute_active_component_format_24: Uint [176..178] "Attribute Active Component Format 24";
        /// Attribute active component format 25.
        attribute_active_component_format_25: Uint [178..180] "Attribute Active Component Format 25";
        /// Attribute active component format 26.
        attribute_active_component_format_26: Uint [180..182] "Attribute Active Component Format 26";
        /// Attribute active component format 27.
        attribute_active_component_format_27: Uint [182..184] "Attribute Active Component Format 27";
        /// Attribute active component format 28.
        attribute_active_component_format_28: Uint [184..186] "Attribute Active Component Format 28";
        /// Attribute active component format 29.
        attribute_active_component_format_29: Uint [186..188] "Attribute Active Component Format 29";
        /// Attribute active component format 30.
        attribute_active_component_format_30: Uint [188..190] "Attribute Active Component Format 30";
        /// Attribute active component format 31.
        attribute_active_component_format_31: Uint [190..192] "Attribute Active Component Format 31";
    }
}

packet! {
    /// Where one attribute of the pixel shader comes from.
    pub struct SfOutputAttributeDetail = "SF_OUTPUT_ATTRIBUTE_DETAIL", 4 bytes
    fields {
        /// Source attribute.
        source_attribute: Uint [0..5] "Source Attribute";
        /// Swizzle select.
        swizzle_select: Uint [6..8] "Swizzle Select";
        /// Constant source.
        constant_source: Uint [9..11] "Constant Source";
        /// Swizzle control mode.
        swizzle_control_mode: Bool [11..12] "Swizzle Control Mode";
        /// Component override X.
        component_override_x: Bool [12..13] "Component Override X";
        /// Component override Y.
        component_override_y: Bool [13..14] "Component Override Y";
        /// Component override Z.
        component_override_z: Bool [14..15] "Component Override Z";
        /// Component override W.
        component_override_w: Bool [15..16] "Component Override W";
    }
}

packet! {
    /// Where attributes of the pixel shader come from.
    pub struct ThreedstateSbeSwiz = "3DSTATE_SBE_SWIZ", 44 bytes
    fixed {
        "DWord Length" Uint [0..8] = 9;
        "3D Command Sub Opcode" Uint [16..24] = 81;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Attribute 0.
        attribute_0: Nested<SfOutputAttributeDetail> [32..48] "Attribute 0";
        /// Attribute 1.
        attribute_1: Nested<SfOutputAttributeDetail> [48..64] "Attribute 1";
        /// Attribute 2.
        attribute_2: Nested<SfOutputAttributeDetail> [64..80] "Attribute 2";
        /// Attribute 3.
        attribute_3: Nested<SfOutputAttributeDetail> [80..96] "Attribute 3";
        /// Attribute 4.
        attribute_4: Nested<SfOutputAttributeDetail> [96..112] "Attribute 4";
        /// Attribute 5.
        attribute_5: Nested<SfOutputAttributeDetail> [112..128] "Attribute 5";
        /// Attribute 6.
        attribute_6: Nested<SfOutputAttributeDetail> [128..144] "Attribute 6";
        /// Attribute 7.
        attribute_7: Nested<SfOutputAttributeDetail> [144..160] "Attribute 7";
        /// Attribute 8.
        attribute_8: Nested<SfOutputAttributeDetail> [160..176] "Attribute 8";
        /// Attribute 9.
        attribute_9: Nested<SfOutputAttributeDetail> [176..192] "Attribute 9";
        /// Attribute 10.
        attribute_10: Nested<SfOutputAttributeDetail> [192..208] "Attribute 10";
        /// Attribute 11.
        attribute_11: Nested<SfOutputAttributeDetail> [208..224] "Attribute 11";
        /// Attribute 12.
        attribute_12: Nested<SfOutputAttributeDetail> [224..240] "Attribute 12";
        /// Attribute 13.
        attribute_13: Nested<SfOutputAttributeDetail> [240..256] "Attribute 13";
        /// Attribute 14.
        attribute_14: Nested<SfOutputAttributeDetail> [256..272] "Attribute 14";
        /// Attribute 15.
        attribute_15: Nested<SfOutputAttributeDetail> [272..288] "Attribute 15";
        /// Attribute wrap shortest enables 0.
        attribute_wrap_shortest_enables_0: Uint [288..292] "Attribute Wrap Shortest Enables 0";
        /// Attribute wrap shortest enables 1.
        attribute_wrap_shortest_enables_1: Uint [292..296] "Attribute Wrap Shortest Enables 1";
        /// Attribute wrap shortest enables 2.
        attribute_wrap_shortest_enables_2: Uint [296..300] "Attribute Wrap Shortest Enables 2";
        /// Attribute wrap shortest enables 3.
        attribute_wrap_shortest_enables_3: Uint [300..304] "Attribute Wrap Shortest Enables 3";
        /// Attribute wrap shortest enables 4.
        attribute_wrap_shortest_enables_4: Uint [304..308] "Attribute Wrap Shortest Enables 4";
        /// Attribute wrap shortest enables 5.
        attribute_wrap_shortest_enables_5: Uint [308..312] "Attribute Wrap Shortest Enables 5";
        /// Attribute wrap shortest enables 6.
        attribute_wrap_shortest_enables_6: Uint [312..316] "Attribute Wrap Shortest Enables 6";
        /// Attribute wrap shortest enables 7.
        attribute_wrap_shortest_enables_7: Uint [316..320] "Attribute Wrap Shortest Enables 7";
        /// Attribute wrap shortest enables 8.
        attribute_wrap_shortest_enables_8: Uint [320..324] "Attribute Wrap Shortest Enables 8";
        /// Attribute wrap shortest enables 9.
        attribute_wrap_shortest_enables_9: Uint [324..328] "Attribute Wrap Shortest Enables 9";
        /// Attribute wrap shortest enables 10.
        attribute_wrap_shortest_enables_10: Uint [328..332] "Attribute Wrap Shortest Enables 10";
        /// Attribute wrap shortest enables 11.
        attribute_wrap_shortest_enables_11: Uint [332..336] "Attribute Wrap Shortest Enables 11";
        /// Attribute wrap shortest enables 12.
        attribute_wrap_shortest_enables_12: Uint [336..340] "Attribute Wrap Shortest Enables 12";
        /// Attribute wrap shortest enables 13.
        attribute_wrap_shortest_enables_13: Uint [340..344] "Attribute Wrap Shortest Enables 13";
        /// Attribute wrap shortest enables 14.
        attribute_wrap_shortest_enables_14: Uint [344..348] "Attribute Wrap Shortest Enables 14";
        /// Attribute wrap shortest enables 15.
        attribute_wrap_shortest_enables_15: Uint [348..352] "Attribute Wrap Shortest Enables 15";
    }
}

packet! {
    /// The windower.
    pub struct ThreedstateWm = "3DSTATE_WM", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 20;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Force kill pixel enable.
        force_kill_pixel_enable: Uint [32..34] "Force Kill Pixel Enable";
        /// Point rasterization rule.
        point_rasterization_rule: Uint [34..35] "Point Rasterization Rule";
        /// Line stipple enable.
        line_stipple_enable: Bool [35..36] "Line Stipple Enable";
        /// Polygon stipple enable.
        polygon_stipple_enable: Bool [36..37] "Polygon Stipple Enable";
        /// Line antialiasing region width.
        line_antialiasing_region_width: Uint [38..40] "Line Antialiasing Region Width";
        /// Line end cap antialiasing region width.
        line_end_cap_antialiasing_region_width: Uint [40..42] "Line End Cap Antialiasing Region Width";
        /// Barycentric interpolation mode.
        barycentric_interpolation_mode: Uint [43..49] "Barycentric Interpolation Mode";
        /// Position ZW interpolation mode.
        position_zw_interpolation_mode: Uint [49..51] "Position ZW Interpolation Mode";
        /// Force thread dispatch enable.
        force_thread_dispatch_enable: Uint [51..53] "Force Thread Dispatch Enable";
        /// Early depth/stencil control.
        early_depth_stencil_control: Uint [53..55] "Early Depth/Stencil Control";
        /// Legacy diamond line rasterization.
        legacy_diamond_line_rasterization: Bool [58..59] "Legacy Diamond Line Rasterization";
        /// Legacy hierarchical depth buffer resolve enable.
        legacy_hierarchical_depth_buffer_resolve_enable: Bool [59..60] "Legacy Hierarchical Depth Buffer Resolve Enable";
        /// Legacy depth buffer resolve enable.
        legacy_depth_buffer_resolve_enable: Bool [60..61] "Legacy Depth Buffer Resolve Enable";
        /// Legacy depth buffer clear enable.
        legacy_depth_buffer_clear_enable: Bool [62..63] "Legacy Depth Buffer Clear Enable";
        /// Statistics enable.
        statistics_enable: Bool [63..64] "Statistics Enable";
    }
}

packet! {
    /// Discard by colour key.
    pub struct ThreedstateWmChromakey = "3DSTATE_WM_CHROMAKEY", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 76;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Chromakey kill enable.
        chromakey_kill_enable: Bool [63..64] "ChromaKey Kill Enable";
    }
}

packet! {
    /// Operations on depth without a draw: clears and resolves.
    pub struct ThreedstateWmHzOp = "3DSTATE_WM_HZ_OP", 20 bytes
    fixed {
        "DWord Length" Uint [0..8] = 3;
        "3D Command Sub Opcode" Uint [16..24] = 82;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Number of multisamples.
        number_of_multisamples: Uint [45..48] "Number of Multisamples";
        /// Stencil clear value.
        stencil_clear_value: Uint [48..56] "Stencil Clear Value";
        /// Full surface depth and stencil clear.
        full_surface_depth_and_stencil_clear: Bool [57..58] "Full Surface Depth and Stencil Clear";
        /// Pixel position offset enable.
        pixel_position_offset_enable: Bool [58..59] "Pixel Position Offset Enable";
        /// Hierarchical depth buffer resolve enable.
        hierarchical_depth_buffer_resolve_enable: Bool [59..60] "Hierarchical Depth Buffer Resolve Enable";
        /// Depth buffer resolve enable.
        depth_buffer_resolve_enable: Bool [60..61] "Depth Buffer Resolve Enable";
        /// Scissor rectangle enable.
        scissor_rectangle_enable: Bool [61..62] "Scissor Rectangle Enable";
        /// Depth buffer clear enable.
        depth_buffer_clear_enable: Bool [62..63] "Depth Buffer Clear Enable";
        /// Stencil buffer clear enable.
        stencil_buffer_clear_enable: Bool [63..64] "Stencil Buffer Clear Enable";
        /// Clear rectangle X min.
        clear_rectangle_x_min: Uint [64..80] "Clear Rectangle X Min";
        /// Clear rectangle Y min.
        clear_rectangle_y_min: Uint [80..96] "Clear Rectangle Y Min";
        /// Clear rectangle X max.
        clear_rectangle_x_max: Uint [96..112] "Clear Rectangle X Max";
        /// Clear rectangle Y max.
        clear_rectangle_y_max: Uint [112..128] "Clear Rectangle Y Max";
        /// Sample mask.
        sample_mask: Uint [128..144] "Sample Mask";
    }
}

packet! {
    /// Pixel shader.
    pub struct ThreedstatePs = "3DSTATE_PS", 48 bytes
    fixed {
        "DWord Length" Uint [0..8] = 10;
        "3D Command Sub Opcode" Uint [16..24] = 32;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Kernel start pointer 0.
        kernel_start_pointer_0: Shr<Address, 6> [38..96] "Kernel Start Pointer 0";
        /// Software exception enable.
        software_exception_enable: Bool [103..104] "Software Exception Enable";
        /// Mask stack exception enable.
        mask_stack_exception_enable: Bool [107..108] "Mask Stack Exception Enable";
        /// Illegal opcode exception enable.
        illegal_opcode_exception_enable: Bool [109..110] "Illegal Opcode Exception Enable";
        /// Rounding mode.
        rounding_mode: Uint [110..112] "Rounding Mode";
        /// Floating point mode.
        floating_point_mode: Uint [112..113] "Floating Point Mode";
        /// Thread dispatch priority.
        thread_dispatch_priority: Uint [113..114] "Thread Dispatch Priority";
        /// Binding table entry count.
        binding_table_entry_count: Uint [114..122] "Binding Table Entry Count";
        /// Single precision denormal mode.
        single_precision_denormal_mode: Uint [122..123] "Single Precision Denormal Mode";
        /// Sampler count.
        sampler_count: Uint [123..126] "Sampler Count";
        /// Vector mask enable.
        vector_mask_enable: Bool [126..127] "Vector Mask Enable";
        /// Single program flow.
        single_program_flow: Bool [127..128] "Single Program Flow";
        /// Per thread scratch space.
        per_thread_scratch_space: Uint [128..132] "Per Thread Scratch Space";
        /// Scratch space base pointer.
        scratch_space_base_pointer: Shr<Address, 10> [138..192] "Scratch Space Base Pointer";
        /// 8 pixel dispatch enable.
        n8_pixel_dispatch_enable: Bool [192..193] "8 Pixel Dispatch Enable";
        /// 16 pixel dispatch enable.
        n16_pixel_dispatch_enable: Bool [193..194] "16 Pixel Dispatch Enable";
        /// 32 pixel dispatch enable.
        n32_pixel_dispatch_enable: Bool [194..195] "32 Pixel Dispatch Enable";
        /// Position XY offset select.
        position_xy_offset_select: Uint [195..197] "Position XY Offset Select";
        /// Render target resolve type.
        render_target_resolve_type: Uint [198..200] "Render Target Resolve Type";
        /// Render target fast clear enable.
        render_target_fast_clear_enable: Bool [200..201] "Render Target Fast Clear Enable";
        /// Push constant enable.
        push_constant_enable: Bool [203..204] "Push Constant Enable";
        /// Maximum number of threads per PSD.
        maximum_number_of_threads_per_psd: Uint [215..224] "Maximum Number of Threads Per PSD";
        /// Dispatch GRF start register for constant/setup data 2.
        dispatch_grf_start_register_for_constant_setup_data_2: Uint [224..231] "Dispatch GRF Start Register For Constant/Setup Data 2";
        /// Dispatch GRF start register for constant/setup data 1.
        dispatch_grf_start_register_for_constant_setup_data_1: Uint [232..239] "Dispatch GRF Start Register For Constant/Setup Data 1";
        /// Dispatch GRF start register for constant/setup data 0.
        dispatch_grf_start_register_for_constant_setup_data_0: Uint [240..247] "Dispatch GRF Start Register For Constant/Setup Data 0";
        /// Kernel start pointer 1.
        kernel_start_pointer_1: Shr<Address, 6> [262..320] "Kernel Start Pointer 1";
        /// Kernel start pointer 2.
        kernel_start_pointer_2: Shr<Address, 6> [326..384] "Kernel Start Pointer 2";
    }
}

packet! {
    /// Properties of the pixel shader.
    pub struct ThreedstatePsExtra = "3DSTATE_PS_EXTRA", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 79;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Input coverage mask state.
        input_coverage_mask_state: Uint [32..34] "Input Coverage Mask State";
        /// Pixel shader has UAV.
        pixel_shader_has_uav: Bool [34..35] "Pixel Shader Has UAV";
        /// Pixel shader pulls bary.
        pixel_shader_pulls_bary: Bool [35..36] "Pixel Shader Pulls Bary";
        /// Pixel shader computes stencil.
        pixel_shader_computes_stencil: Bool [37..38] "Pixel Shader Computes Stencil";
        /// Pixel shader is per sample.
        pixel_shader_is_per_sample: Bool [38..39] "Pixel Shader Is Per Sample";
        /// Pixel shader disables alpha to coverage.
        pixel_shader_disables_alpha_to_coverage: Bool [39..40] "Pixel Shader Disables Alpha To Coverage";
        /// Attribute enable.
        attribute_enable: Bool [40..41] "Attribute Enable";
        /// Pixel shader uses source W.
        pixel_shader_uses_source_w: Bool [55..56] "Pixel Shader Uses Source W";
        /// Pixel shader uses source depth.
        pixel_shader_uses_source_depth: Bool [56..57] "Pixel Shader Uses Source Depth";
        /// Force computed depth.
        force_computed_depth: Bool [57..58] "Force Computed Depth";
        /// Pixel shader computed depth mode.
        pixel_shader_computed_depth_mode: Uint [58..60] "Pixel Shader Computed Depth Mode";
        /// Pixel shader kills pixel.
        pixel_shader_kills_pixel: Bool [60..61] "Pixel Shader Kills Pixel";
        /// Omask present to render target.
        omask_present_to_render_target: Bool [61..62] "oMask Present to Render Target";
        /// Pixel shader does not write to RT.
        pixel_shader_does_not_write_to_rt: Uint [62..63] "Pixel Shader Does not write to RT";
        /// Pixel shader valid.
        pixel_shader_valid: Bool [63..64] "Pixel Shader Valid";
    }
}

packet! {
    /// Number of samples.
    pub struct ThreedstateMultisample = "3DSTATE_MULTISAMPLE", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 13;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Number of multisamples.
        number_of_multisamples: Uint [33..36] "Number of Multisamples";
        /// Pixel location.
        pixel_location: Uint [36..37] "Pixel Location";
        /// Pixel position offset enable.
        pixel_position_offset_enable: Bool [37..38] "Pixel Position Offset Enable";
    }
}

packet! {
    /// Which samples are written.
    pub struct ThreedstateSampleMask = "3DSTATE_SAMPLE_MASK", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 24;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Sample mask.
        sample_mask: Uint [32..48] "Sample Mask";
    }
}

packet! {
    /// Places of samples in a pixel.
    pub struct ThreedstateSamplePattern = "3DSTATE_SAMPLE_PATTERN", 36 bytes
    fixed {
        "DWord Length" Uint [0..8] = 7;
        "3D Command Sub Opcode" Uint [16..24] = 28;
        "3D Command Opcode" Uint [24..27] = 1;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// 16x Sample0 Y offset.
        n16x_sample0_y_offset: UnsignedFixed<4> [32..36] "16x Sample0 Y Offset";
        /// 16x Sample0 X offset.
        n16x_sample0_x_offset: UnsignedFixed<4> [36..40] "16x Sample0 X Offset";
        /// 16x Sample1 Y offset.
        n16x_sample1_y_offset: UnsignedFixed<4> [40..44] "16x Sample1 Y Offset";
        /// 16x Sample1 X offset.
        n16x_sample1_x_offset: UnsignedFixed<4> [44..48] "16x Sample1 X Offset";
        /// 16x Sample2 Y offset.
        n16x_sample2_y_offset: UnsignedFixed<4> [48..52] "16x Sample2 Y Offset";
        /// 16x Sample2 X offset.
        n16x_sample2_x_offset: UnsignedFixed<4> [52..56] "16x Sample2 X Offset";
        /// 16x Sample3 Y offset.
        n16x_sample3_y_offset: UnsignedFixed<4> [56..60] "16x Sample3 Y Offset";
        /// 16x Sample3 X offset.
        n16x_sample3_x_offset: UnsignedFixed<4> [60..64] "16x Sample3 X Offset";
        /// 16x Sample4 Y offset.
        n16x_sample4_y_offset: UnsignedFixed<4> [64..68] "16x Sample4 Y Offset";
        /// 16x Sample4 X offset.
        n16x_sample4_x_offset: UnsignedFixed<4> [68..72] "16x Sample4 X Offset";
        /// 16x Sample5 Y offset.
        n16x_sample5_y_offset: UnsignedFixed<4> [72..76] "16x Sample5 Y Offset";
        /// 16x Sample5 X offset.
        n16x_sample5_x_offset: UnsignedFixed<4> [76..80] "16x Sample5 X Offset";
        /// 16x Sample6 Y offset.
        n16x_sample6_y_offset: UnsignedFixed<4> [80..84] "16x Sample6 Y Offset";
        /// 16x Sample6 X offset.
        n16x_sample6_x_offset: UnsignedFixed<4> [84..88] "16x Sample6 X Offset";
        /// 16x Sample7 Y offset.
        n16x_sample7_y_offset: UnsignedFixed<4> [88..92] "16x Sample7 Y Offset";
        /// 16x Sample7 X offset.
        n16x_sample7_x_offset: UnsignedFixed<4> [92..96] "16x Sample7 X Offset";
        /// 16x Sample8 Y offset.
        n16x_sample8_y_offset: UnsignedFixed<4> [96..100] "16x Sample8 Y Offset";
        /// 16x Sample8 X offset.
        n16x_sample8_x_offset: UnsignedFixed<4> [100..104] "16x Sample8 X Offset";
        /// 16x Sample9 Y offset.
        n16x_sample9_y_offset: UnsignedFixed<4> [104..108] "16x Sample9 Y Offset";
        /// 16x Sample9 X offset.
        n16x_sample9_x_offset: UnsignedFixed<4> [108..112] "16x Sample9 X Offset";
        /// 16x Sample10 Y offset.
        n16x_sample10_y_offset: UnsignedFixed<4> [112..116] "16x Sample10 Y Offset";
        /// 16x Sample10 X offset.
        n16x_sample10_x_offset: UnsignedFixed<4> [116..120] "16x Sample10 X Offset";
        /// 16x Sample11 Y offset.
        n16x_sample11_y_offset: UnsignedFixed<4> [120..124] "16x Sample11 Y Offset";
        /// 16x Sample11 X offset.
        n16x_sample11_x_offset: UnsignedFixed<4> [124..128] "16x Sample11 X Offset";
        /// 16x Sample12 Y offset.
        n16x_sample12_y_offset: UnsignedFixed<4> [128..132] "16x Sample12 Y Offset";
        /// 16x Sample12 X offset.
        n16x_sample12_x_offset: UnsignedFixed<4> [132..136] "16x Sample12 X Offset";
        /// 16x Sample13 Y offset.
        n16x_sample13_y_offset: UnsignedFixed<4> [136..140] "16x Sample13 Y Offset";
        /// 16x Sample13 X offset.
        n16x_sample13_x_offset: UnsignedFixed<4> [140..144] "16x Sample13 X Offset";
        /// 16x Sample14 Y offset.
        n16x_sample14_y_offset: UnsignedFixed<4> [144..148] "16x Sample14 Y Offset";
        /// 16x Sample14 X offset.
        n16x_sample14_x_offset: UnsignedFixed<4> [148..152] "16x Sample14 X Offset";
        /// 16x Sample15 Y offset.
        n16x_sample15_y_offset: UnsignedFixed<4> [152..156] "16x Sample15 Y Offset";
        /// 16x Sample15 X offset.
        n16x_sample15_x_offset: UnsignedFixed<4> [156..160] "16x Sample15 X Offset";
        /// 8x Sample4 Y offset.
        n8x_sample4_y_offset: UnsignedFixed<4> [160..164] "8x Sample4 Y Offset";
        /// 8x Sample4 X offset.
        n8x_sample4_x_offset: UnsignedFixed<4> [164..168] "8x Sample4 X Offset";
        /// 8x Sample5 Y offset.
        n8x_sample5_y_offset: UnsignedFixed<4> [168..172] "8x Sample5 Y Offset";
        /// 8x Sample5 X offset.
        n8x_sample5_x_offset: UnsignedFixed<4> [172..176] "8x Sample5 X Offset";
        /// 8x Sample6 Y offset.
        n8x_sample6_y_offset: UnsignedFixed<4> [176..180] "8x Sample6 Y Offset";
        /// 8x Sample6 X offset.
        n8x_sample6_x_offset: UnsignedFixed<4> [180..184] "8x Sample6 X Offset";
        /// 8x Sample7 Y offset.
        n8x_sample7_y_offset: UnsignedFixed<4> [184..188] "8x Sample7 Y Offset";
        /// 8x Sample7 X offset.
        n8x_sample7_x_offset: UnsignedFixed<4> [188..192] "8x Sample7 X Offset";
        /// 8x Sample0 Y offset.
        n8x_sample0_y_offset: UnsignedFixed<4> [192..196] "8x Sample0 Y Offset";
        /// 8x Sample0 X offset.
        n8x_sample0_x_offset: UnsignedFixed<4> [196..200] "8x Sample0 X Offset";
        /// 8x Sample1 Y offset.
        n8x_sample1_y_offset: UnsignedFixed<4> [200..204] "8x Sample1 Y Offset";
        /// 8x Sample1 X offset.
        n8x_sample1_x_offset: UnsignedFixed<4> [204..208] "8x Sample1 X Offset";
        /// 8x Sample2 Y offset.
        n8x_sample2_y_offset: UnsignedFixed<4> [208..212] "8x Sample2 Y Offset";
        /// 8x Sample2 X offset.
        n8x_sample2_x_offset: UnsignedFixed<4> [212..216] "8x Sample2 X Offset";
        /// 8x Sample3 Y offset.
        n8x_sample3_y_offset: UnsignedFixed<4> [216..220] "8x Sample3 Y Offset";
        /// 8x Sample3 X offset.
        n8x_sample3_x_offset: UnsignedFixed<4> [220..224] "8x Sample3 X Offset";
        /// 4x Sample0 Y offset.
        n4x_sample0_y_offset: UnsignedFixed<4> [224..228] "4x Sample0 Y Offset";
        /// 4x Sample0 X offset.
        n4x_sample0_x_offset: UnsignedFixed<4> [228..232] "4x Sample0 X Offset";
        /// 4x Sample1 Y offset.
        n4x_sample1_y_offset: UnsignedFixed<4> [232..236] "4x Sample1 Y Offset";
        /// 4x Sample1 X offset.
        n4x_sample1_x_offset: UnsignedFixed<4> [236..240] "4x Sample1 X Offset";
        /// 4x Sample2 Y offset.
        n4x_sample2_y_offset: UnsignedFixed<4> [240..244] "4x Sample2 Y Offset";
        /// 4x Sample2 X offset.
        n4x_sample2_x_offset: UnsignedFixed<4> [244..248] "4x Sample2 X Offset";
        /// 4x Sample3 Y offset.
        n4x_sample3_y_offset: UnsignedFixed<4> [248..252] "4x Sample3 Y Offset";
        /// 4x Sample3 X offset.
        n4x_sample3_x_offset: UnsignedFixed<4> [252..256] "4x Sample3 X Offset";
        /// 2x Sample0 Y offset.
        n2x_sample0_y_offset: UnsignedFixed<4> [256..260] "2x Sample0 Y Offset";
        /// 2x Sample0 X offset.
        n2x_sample0_x_offset: UnsignedFixed<4> [260..264] "2x Sample0 X Offset";
        /// 2x Sample1 Y offset.
        n2x_sample1_y_offset: UnsignedFixed<4> [264..268] "2x Sample1 Y Offset";
        /// 2x Sample1 X offset.
        n2x_sample1_x_offset: UnsignedFixed<4> [268..272] "2x Sample1 X Offset";
        /// 1x Sample0 Y offset.
        n1x_sample0_y_offset: UnsignedFixed<4> [272..276] "1x Sample0 Y Offset";
        /// 1x Sample0 X offset.
        n1x_sample0_x_offset: UnsignedFixed<4> [276..280] "1x Sample0 X Offset";
    }
}

packet! {
    /// Coverage of antialiased lines.
    pub struct ThreedstateAaLineParameters = "3DSTATE_AA_LINE_PARAMETERS", 12 bytes
    fixed {
        "DWord Length" Uint [0..8] = 1;
        "3D Command Sub Opcode" Uint [16..24] = 10;
        "3D Command Opcode" Uint [24..27] = 1;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// AA coverage slope.
        aa_coverage_slope: UnsignedFixed<8> [32..40] "AA Coverage Slope";
        /// AA point coverage slope.
        aa_point_coverage_slope: UnsignedFixed<8> [40..48] "AA Point Coverage Slope";
        /// AA coverage bias.
        aa_coverage_bias: UnsignedFixed<8> [48..56] "AA Coverage Bias";
        /// AA point coverage bias.
        aa_point_coverage_bias: UnsignedFixed<8> [56..64] "AA Point Coverage Bias";
        /// AA coverage endcap slope.
        aa_coverage_endcap_slope: UnsignedFixed<8> [64..72] "AA Coverage EndCap Slope";
        /// AA point coverage endcap slope.
        aa_point_coverage_endcap_slope: UnsignedFixed<8> [72..80] "AA Point Coverage EndCap Slope";
        /// AA coverage endcap bias.
        aa_coverage_endcap_bias: UnsignedFixed<8> [80..88] "AA Coverage EndCap Bias";
        /// AA point coverage endcap bias.
        aa_point_coverage_endcap_bias: UnsignedFixed<8> [88..96] "AA Point Coverage EndCap Bias";
    }
}

packet! {
    /// Pattern of lines.
    pub struct ThreedstateLineStipple = "3DSTATE_LINE_STIPPLE", 12 bytes
    fixed {
        "DWord Length" Uint [0..8] = 1;
        "3D Command Sub Opcode" Uint [16..24] = 8;
        "3D Command Opcode" Uint [24..27] = 1;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Line stipple pattern.
        line_stipple_pattern: Uint [32..48] "Line Stipple Pattern";
        /// Current stipple index.
        current_stipple_index: Uint [48..52] "Current Stipple Index";
        /// Current repeat counter.
        current_repeat_counter: Uint [53..62] "Current Repeat Counter";
        /// Modify enable (current repeat counter, current stipple index).
        modify_enable_current_repeat_counter_current_stipple_index: Bool [63..64] "Modify Enable (Current Repeat Counter, Current Stipple Index)";
        /// Line stipple repeat count.
        line_stipple_repeat_count: Uint [64..73] "Line Stipple Repeat Count";
        /// Line stipple inverse repeat count.
        line_stipple_inverse_repeat_count: UnsignedFixed<16> [79..96] "Line Stipple Inverse Repeat Count";
    }
}

packet! {
    /// Place of the pattern of polygons.
    pub struct ThreedstatePolyStippleOffset = "3DSTATE_POLY_STIPPLE_OFFSET", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 6;
        "3D Command Opcode" Uint [24..27] = 1;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Polygon stipple Y offset.
        polygon_stipple_y_offset: Uint [32..37] "Polygon Stipple Y Offset";
        /// Polygon stipple X offset.
        polygon_stipple_x_offset: Uint [40..45] "Polygon Stipple X Offset";
    }
}

packet! {
    /// The rectangle that draws are clipped to.
    pub struct ThreedstateDrawingRectangle = "3DSTATE_DRAWING_RECTANGLE", 16 bytes
    fixed {
        "DWord Length" Uint [0..8] = 2;
        "3D Command Sub Opcode" Uint [16..24] = 0;
        "3D Command Opcode" Uint [24..27] = 1;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Core mode select.
        core_mode_select: Uint [14..16] "Core Mode Select";
        /// Clipped drawing rectangle X min.
        clipped_drawing_rectangle_x_min: Uint [32..48] "Clipped Drawing Rectangle X Min";
        /// Clipped drawing rectangle Y min.
        clipped_drawing_rectangle_y_min: Uint [48..64] "Clipped Drawing Rectangle Y Min";
        /// Clipped drawing rectangle X max.
        clipped_drawing_rectangle_x_max: Uint [64..80] "Clipped Drawing Rectangle X Max";
        /// Clipped drawing rectangle Y max.
        clipped_drawing_rectangle_y_max: Uint [80..96] "Clipped Drawing Rectangle Y Max";
        /// Drawing rectangle origin X.
        drawing_rectangle_origin_x: Int [96..112] "Drawing Rectangle Origin X";
        /// Drawing rectangle origin Y.
        drawing_rectangle_origin_y: Int [112..128] "Drawing Rectangle Origin Y";
    }
}

/// The tables of this module.
pub static ALL: &[&PacketInfo] = &[
    ThreedstateClip::INFO,
    ThreedstateSf::INFO,
    ThreedstateRaster::INFO,
    ThreedstateSbe::INFO,
    SfOutputAttributeDetail::INFO,
    ThreedstateSbeSwiz::INFO,
    ThreedstateWm::INFO,
    ThreedstateWmChromakey::INFO,
    ThreedstateWmHzOp::INFO,
    ThreedstatePs::INFO,
    ThreedstatePsExtra::INFO,
    ThreedstateMultisample::INFO,
    ThreedstateSampleMask::INFO,
    ThreedstateSamplePattern::INFO,
    ThreedstateAaLineParameters::INFO,
    ThreedstateLineStipple::INFO,
    ThreedstatePolyStippleOffset::INFO,
    ThreedstateDrawingRectangle::INFO,
];
