//! The windower and the pixel shader: which pixels, which samples, which program.
//!
// source: genxml, gen90.xml and those that it imports.

use tepui_packets::types::{Address, Bool, Shr, Uint, UnsignedFixed};
use tepui_packets::{Packet, PacketInfo, packet};

packet! {
    /// The windower.
    pub struct State3dWm = "3DSTATE_WM", 8 bytes
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
        point_rasterization_rule: Bool [34..35] "Point Rasterization Rule";
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
    pub struct State3dWmChromakey = "3DSTATE_WM_CHROMAKEY", 8 bytes
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
    pub struct State3dWmHzOp = "3DSTATE_WM_HZ_OP", 20 bytes
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
        /// Stencil buffer resolve enable.
        stencil_buffer_resolve_enable: Bool [56..57] "Stencil Buffer Resolve Enable" since 120;
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
    pub struct State3dPs = "3DSTATE_PS", 48 bytes
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
        floating_point_mode: Bool [112..113] "Floating Point Mode";
        /// Thread dispatch priority.
        thread_dispatch_priority: Bool [113..114] "Thread Dispatch Priority";
        /// Binding table entry count.
        binding_table_entry_count: Uint [114..122] "Binding Table Entry Count";
        /// Single precision denormal mode.
        single_precision_denormal_mode: Bool [122..123] "Single Precision Denormal Mode";
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
        /// Dual SIMD8 dispatch enable.
        dual_simd8_dispatch_enable: Bool [197..198] "Dual SIMD8 Dispatch Enable" since 120;
        /// Render target resolve type.
        render_target_resolve_type: Uint [198..200] "Render Target Resolve Type";
        /// Render target fast clear enable.
        render_target_fast_clear_enable: Bool [200..201] "Render Target Fast Clear Enable";
        /// Overlapping subspans enable.
        overlapping_subspans_enable: Bool [201..202] "Overlapping Subspans Enable" since 120;
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
    pub struct State3dPsExtra = "3DSTATE_PS_EXTRA", 8 bytes
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
        /// Pixel shader is per coarse pixel.
        pixel_shader_is_per_coarse_pixel: Bool [36..37] "Pixel Shader Is Per Coarse Pixel" since 120;
        /// Pixel shader computes stencil.
        pixel_shader_computes_stencil: Bool [37..38] "Pixel Shader Computes Stencil";
        /// Pixel shader is per sample.
        pixel_shader_is_per_sample: Bool [38..39] "Pixel Shader Is Per Sample";
        /// Pixel shader disables alpha to coverage.
        pixel_shader_disables_alpha_to_coverage: Bool [39..40] "Pixel Shader Disables Alpha To Coverage";
        /// Attribute enable.
        attribute_enable: Bool [40..41] "Attribute Enable";
        /// Simple PS hint.
        simple_ps_hint: Bool [41..42] "Simple PS Hint" since 120;
        /// Pixel shader requires subpixel sample offsets.
        pixel_shader_requires_subpixel_sample_offsets: Bool [50..51] "Pixel Shader Requires Subpixel Sample Offsets" since 120;
        /// Pixel shader requires non-perspective bary plane coefficients.
        pixel_shader_requires_non_perspective_bary_plane_coefficients: Bool [51..52] "Pixel Shader Requires Non-Perspective Bary Plane Coefficients" since 120;
        /// Pixel shader requires perspective bary plane coefficients.
        pixel_shader_requires_perspective_bary_plane_coefficients: Bool [52..53] "Pixel Shader Requires Perspective Bary Plane Coefficients" since 120;
        /// Pixel shader requires source depth and/or w plane coefficients.
        pixel_shader_requires_source_depth_and_or_w_plane_coefficients: Bool [53..54] "Pixel Shader Requires Source Depth and/or W Plane Coefficients" since 120;
        /// Pixel shader requires requested coarse pixel shading size.
        pixel_shader_requires_requested_coarse_pixel_shading_size: Bool [54..55] "Pixel Shader Requires Requested Coarse Pixel Shading Size" since 120;
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

/// Values of Input Coverage Mask State. source: genxml (`ICMS`)
pub struct CoverageMask;

impl CoverageMask {
    /// No mask.
    pub const NONE: u32 = 0;
    /// Samples that the primitive covers.
    pub const NORMAL: u32 = 1;
    /// Pixels that the primitive covers all of.
    pub const INNER_CONSERVATIVE: u32 = 2;
    /// Samples that early tests have left.
    pub const DEPTH: u32 = 3;
}

packet! {
    /// Number of samples.
    pub struct State3dMultisample = "3DSTATE_MULTISAMPLE", 8 bytes
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
        pixel_location: Bool [36..37] "Pixel Location";
        /// Pixel position offset enable.
        pixel_position_offset_enable: Bool [37..38] "Pixel Position Offset Enable";
    }
}

packet! {
    /// Mask of the samples that are written.
    pub struct State3dSampleMask = "3DSTATE_SAMPLE_MASK", 8 bytes
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
    pub struct State3dSamplePattern = "3DSTATE_SAMPLE_PATTERN", 36 bytes
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
    pub struct State3dAaLineParameters = "3DSTATE_AA_LINE_PARAMETERS", 12 bytes
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
    pub struct State3dLineStipple = "3DSTATE_LINE_STIPPLE", 12 bytes
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
    /// Pattern of polygons: 32 rows of 32 bits follow, the top row first, bit 31 the leftmost column.
    pub struct State3dPolyStipplePattern = "3DSTATE_POLY_STIPPLE_PATTERN", 4 bytes
    fixed {
        "3D Command Sub Opcode" Uint [16..24] = 7;
        "3D Command Opcode" Uint [24..27] = 1;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Dword length.
        dword_length: Uint [0..8] "DWord Length";
    }
}

packet! {
    /// Place of the pattern of polygons.
    pub struct State3dPolyStippleOffset = "3DSTATE_POLY_STIPPLE_OFFSET", 8 bytes
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

/// The tables of this module.
pub static ALL: &[&PacketInfo] = &[
    State3dWm::INFO,
    State3dWmChromakey::INFO,
    State3dWmHzOp::INFO,
    State3dPs::INFO,
    State3dPsExtra::INFO,
    State3dMultisample::INFO,
    State3dSampleMask::INFO,
    State3dSamplePattern::INFO,
    State3dAaLineParameters::INFO,
    State3dLineStipple::INFO,
    State3dPolyStippleOffset::INFO,
    State3dPolyStipplePattern::INFO,
];

impl State3dSamplePattern {
    /// The standard positions of samples, in sixteenths of a pixel. source: Vulkan specification, "Multisampling"
    #[must_use]
    pub fn standard() -> State3dSamplePattern {
        let at = |sixteenths: u32| sixteenths as f32 / 16.0;
        State3dSamplePattern {
            n1x_sample0_x_offset: at(8),
            n1x_sample0_y_offset: at(8),
            n2x_sample0_x_offset: at(12),
            n2x_sample0_y_offset: at(12),
            n2x_sample1_x_offset: at(4),
            n2x_sample1_y_offset: at(4),
            n4x_sample0_x_offset: at(6),
            n4x_sample0_y_offset: at(2),
            n4x_sample1_x_offset: at(14),
            n4x_sample1_y_offset: at(6),
            n4x_sample2_x_offset: at(2),
            n4x_sample2_y_offset: at(10),
            n4x_sample3_x_offset: at(10),
            n4x_sample3_y_offset: at(14),
            n8x_sample0_x_offset: at(9),
            n8x_sample0_y_offset: at(5),
            n8x_sample1_x_offset: at(7),
            n8x_sample1_y_offset: at(11),
            n8x_sample2_x_offset: at(13),
            n8x_sample2_y_offset: at(9),
            n8x_sample3_x_offset: at(5),
            n8x_sample3_y_offset: at(3),
            n8x_sample4_x_offset: at(3),
            n8x_sample4_y_offset: at(13),
            n8x_sample5_x_offset: at(1),
            n8x_sample5_y_offset: at(7),
            n8x_sample6_x_offset: at(11),
            n8x_sample6_y_offset: at(15),
            n8x_sample7_x_offset: at(15),
            n8x_sample7_y_offset: at(1),
            n16x_sample0_x_offset: at(9),
            n16x_sample0_y_offset: at(9),
            n16x_sample1_x_offset: at(7),
            n16x_sample1_y_offset: at(5),
            n16x_sample2_x_offset: at(5),
            n16x_sample2_y_offset: at(10),
            n16x_sample3_x_offset: at(12),
            n16x_sample3_y_offset: at(7),
            n16x_sample4_x_offset: at(3),
            n16x_sample4_y_offset: at(6),
            n16x_sample5_x_offset: at(10),
            n16x_sample5_y_offset: at(13),
            n16x_sample6_x_offset: at(13),
            n16x_sample6_y_offset: at(11),
            n16x_sample7_x_offset: at(11),
            n16x_sample7_y_offset: at(3),
            n16x_sample8_x_offset: at(6),
            n16x_sample8_y_offset: at(14),
            n16x_sample9_x_offset: at(8),
            n16x_sample9_y_offset: at(1),
            n16x_sample10_x_offset: at(4),
            n16x_sample10_y_offset: at(2),
            n16x_sample11_x_offset: at(2),
            n16x_sample11_y_offset: at(12),
            n16x_sample12_x_offset: at(0),
            n16x_sample12_y_offset: at(8),
            n16x_sample13_x_offset: at(15),
            n16x_sample13_y_offset: at(4),
            n16x_sample14_x_offset: at(14),
            n16x_sample14_y_offset: at(15),
            n16x_sample15_x_offset: at(1),
            n16x_sample15_y_offset: at(0),
        }
    }
}
