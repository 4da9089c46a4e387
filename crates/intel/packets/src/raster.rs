//! From primitives to pixels: clipper, setup, rasteriser.
//!
// source: genxml, gen90.xml and those that it imports.

use tepui_packets::types::{Bool, Float, Int, Nested, Uint, UnsignedFixed};
use tepui_packets::{Packet, PacketInfo, packet};

packet! {
    /// The clipper.
    pub struct State3dClip = "3DSTATE_CLIP", 16 bytes
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
        vertex_sub_pixel_precision_select: Bool [51..52] "Vertex Sub Pixel Precision Select";
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
        api_mode: Bool [94..95] "API Mode";
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
    pub struct State3dSf = "3DSTATE_SF", 16 bytes
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
        /// Deref block size.
        deref_block_size: Uint [93..95] "Deref Block Size" since 120;
        /// Point width.
        point_width: UnsignedFixed<3> [96..107] "Point Width";
        /// Point width source.
        point_width_source: Bool [107..108] "Point Width Source";
        /// Vertex sub pixel precision select.
        vertex_sub_pixel_precision_select: Bool [108..109] "Vertex Sub Pixel Precision Select";
        /// Smooth point enable.
        smooth_point_enable: Bool [109..110] "Smooth Point Enable";
        /// AA line distance mode.
        aa_line_distance_mode: Bool [110..111] "AA Line Distance Mode";
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
    pub struct State3dRaster = "3DSTATE_RASTER", 20 bytes
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
        front_winding: Bool [53..54] "Front Winding";
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
    pub struct State3dSbe = "3DSTATE_SBE", 24 bytes
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
        point_sprite_texture_coordinate_origin: Bool [52..53] "Point Sprite Texture Coordinate Origin";
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
    /// The source of one attribute of the pixel shader.
    pub struct SfOutputAttributeDetail = "SF_OUTPUT_ATTRIBUTE_DETAIL", 2 bytes
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
    /// The sources of the pixel shader's attributes.
    pub struct State3dSbeSwiz = "3DSTATE_SBE_SWIZ", 44 bytes
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
    /// The rectangle that draws are clipped to.
    pub struct State3dDrawingRectangle = "3DSTATE_DRAWING_RECTANGLE", 16 bytes
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
    State3dClip::INFO,
    State3dSf::INFO,
    State3dRaster::INFO,
    State3dSbe::INFO,
    SfOutputAttributeDetail::INFO,
    State3dSbeSwiz::INFO,
    State3dDrawingRectangle::INFO,
];
