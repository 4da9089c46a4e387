//! Depth, stencil, blending, viewports, scissors.
//!
// source: genxml, gen90.xml and those that it imports.

use tepui_packets::types::{Address, Bool, Float, Hex, Shr, Uint};
use tepui_packets::{Packet, PacketInfo, bits_enum, packet};

bits_enum! {
    /// Comparisons.
    pub enum CompareFunction = "3D_Compare_Function" {
        /// ALWAYS.
        #[default]
        Always = 0 => "ALWAYS",
        /// NEVER.
        Never = 1 => "NEVER",
        /// LESS.
        Less = 2 => "LESS",
        /// EQUAL.
        Equal = 3 => "EQUAL",
        /// LEQUAL.
        Lequal = 4 => "LEQUAL",
        /// GREATER.
        Greater = 5 => "GREATER",
        /// NOTEQUAL.
        Notequal = 6 => "NOTEQUAL",
        /// GEQUAL.
        Gequal = 7 => "GEQUAL",
    }
}

bits_enum! {
    /// Operations on stencil values.
    pub enum StencilOperation = "3D_Stencil_Operation" {
        /// KEEP.
        #[default]
        Keep = 0 => "KEEP",
        /// ZERO.
        Zero = 1 => "ZERO",
        /// REPLACE.
        Replace = 2 => "REPLACE",
        /// INCRSAT.
        Incrsat = 3 => "INCRSAT",
        /// DECRSAT.
        Decrsat = 4 => "DECRSAT",
        /// INCR.
        Incr = 5 => "INCR",
        /// DECR.
        Decr = 6 => "DECR",
        /// INVERT.
        Invert = 7 => "INVERT",
    }
}

bits_enum! {
    /// Blend equations.
    pub enum ColorBufferBlendFunction = "3D_Color_Buffer_Blend_Function" {
        /// ADD.
        #[default]
        Add = 0 => "ADD",
        /// SUBTRACT.
        Subtract = 1 => "SUBTRACT",
        /// REVERSE SUBTRACT.
        ReverseSubtract = 2 => "REVERSE_SUBTRACT",
        /// MIN.
        Min = 3 => "MIN",
        /// MAX.
        Max = 4 => "MAX",
    }
}

bits_enum! {
    /// Logical operations on pixels.
    pub enum LogicOpFunction = "3D_Logic_Op_Function" {
        /// CLEAR.
        #[default]
        Clear = 0 => "CLEAR",
        /// NOR.
        Nor = 1 => "NOR",
        /// AND INVERTED.
        AndInverted = 2 => "AND_INVERTED",
        /// COPY INVERTED.
        CopyInverted = 3 => "COPY_INVERTED",
        /// AND REVERSE.
        AndReverse = 4 => "AND_REVERSE",
        /// INVERT.
        Invert = 5 => "INVERT",
        /// XOR.
        Xor = 6 => "XOR",
        /// NAND.
        Nand = 7 => "NAND",
        /// AND.
        And = 8 => "AND",
        /// EQUIV.
        Equiv = 9 => "EQUIV",
        /// NOOP.
        Noop = 10 => "NOOP",
        /// OR INVERTED.
        OrInverted = 11 => "OR_INVERTED",
        /// COPY.
        Copy = 12 => "COPY",
        /// OR REVERSE.
        OrReverse = 13 => "OR_REVERSE",
        /// OR.
        Or = 14 => "OR",
        /// SET.
        Set = 15 => "SET",
    }
}

packet! {
    /// The depth buffer.
    pub struct State3dDepthBuffer = "3DSTATE_DEPTH_BUFFER", 32 bytes before 120
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
        /// Surface format.
        surface_format: Uint [50..53] "Surface Format";
        /// Hierarchical depth buffer enable.
        hierarchical_depth_buffer_enable: Bool [54..55] "Hierarchical Depth Buffer Enable";
        /// Stencil write enable.
        stencil_write_enable: Bool [59..60] "Stencil Write Enable";
        /// Depth write enable.
        depth_write_enable: Bool [60..61] "Depth Write Enable";
        /// Surface type.
        surface_type: Uint [61..64] "Surface Type";
        /// Surface base address.
        surface_base_address: Address [64..128] "Surface Base Address";
        /// LOD.
        lod: Uint [128..132] "LOD";
        /// Width.
        width: Uint [132..146] "Width";
        /// Height.
        height: Uint [146..160] "Height";
        /// Cache control.
        mocs: Hex [160..167] "MOCS";
        /// Minimum array element.
        minimum_array_element: Uint [170..181] "Minimum Array Element";
        /// Depth.
        depth: Uint [181..192] "Depth";
        /// Mip tail start LOD.
        mip_tail_start_lod: Uint [218..222] "Mip Tail Start LOD";
        /// Tiled resource mode.
        tiled_resource_mode: Uint [222..224] "Tiled Resource Mode";
        /// Surface qpitch.
        surface_qpitch: Uint [224..239] "Surface QPitch";
        /// Render target view extent.
        render_target_view_extent: Uint [245..256] "Render Target View Extent";
    }
}

packet! {
    /// The stencil buffer.
    pub struct State3dStencilBuffer = "3DSTATE_STENCIL_BUFFER", 20 bytes before 120
    fixed {
        "DWord Length" Uint [0..8] = 3;
        "3D Command Sub Opcode" Uint [16..24] = 6;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Surface pitch.
        surface_pitch: Uint [32..49] "Surface Pitch";
        /// Cache control.
        mocs: Hex [54..61] "MOCS";
        /// Stencil buffer enable.
        stencil_buffer_enable: Bool [63..64] "Stencil Buffer Enable";
        /// Surface base address.
        surface_base_address: Address [64..128] "Surface Base Address";
        /// Surface qpitch.
        surface_qpitch: Uint [128..143] "Surface QPitch";
    }
}

packet! {
    /// The hierarchical depth buffer.
    pub struct State3dHierDepthBuffer = "3DSTATE_HIER_DEPTH_BUFFER", 20 bytes
    fixed {
        "DWord Length" Uint [0..8] = 3;
        "3D Command Sub Opcode" Uint [16..24] = 7;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Surface pitch.
        surface_pitch: Uint [32..49] "Surface Pitch";
        /// Hierarchical depth buffer write thru enable.
        hierarchical_depth_buffer_write_thru_enable: Bool [52..53] "Hierarchical Depth Buffer Write Thru Enable" since 120;
        /// Tiled mode.
        tiled_mode: Uint [54..56] "Tiled Mode" since 120;
        /// Cache control.
        mocs: Hex [57..64] "MOCS";
        /// Surface base address.
        surface_base_address: Address [64..128] "Surface Base Address";
        /// Surface qpitch.
        surface_qpitch: Uint [128..143] "Surface QPitch";
    }
}

packet! {
    /// The depth that clears give.
    pub struct State3dClearParams = "3DSTATE_CLEAR_PARAMS", 12 bytes
    fixed {
        "DWord Length" Uint [0..8] = 1;
        "3D Command Sub Opcode" Uint [16..24] = 4;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Depth clear value.
        depth_clear_value: Float [32..64] "Depth Clear Value";
        /// Depth clear value valid.
        depth_clear_value_valid: Bool [64..65] "Depth Clear Value Valid";
    }
}

packet! {
    /// Depth and stencil tests.
    pub struct State3dWmDepthStencil = "3DSTATE_WM_DEPTH_STENCIL", 16 bytes
    fixed {
        "DWord Length" Uint [0..8] = 2;
        "3D Command Sub Opcode" Uint [16..24] = 78;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Stencil reference value modify disable.
        stencil_reference_value_modify_disable: Bool [8..9] "Stencil Reference Value Modify Disable" since 120;
        /// Stencil test mask modify disable.
        stencil_test_mask_modify_disable: Bool [9..10] "Stencil Test Mask Modify Disable" since 120;
        /// Stencil write mask modify disable.
        stencil_write_mask_modify_disable: Bool [10..11] "Stencil Write Mask Modify Disable" since 120;
        /// Stencil state modify disable.
        stencil_state_modify_disable: Bool [11..12] "Stencil State Modify Disable" since 120;
        /// Depth state modify disable.
        depth_state_modify_disable: Bool [12..13] "Depth State Modify Disable" since 120;
        /// Depth buffer write enable.
        depth_buffer_write_enable: Bool [32..33] "Depth Buffer Write Enable";
        /// Depth test enable.
        depth_test_enable: Bool [33..34] "Depth Test Enable";
        /// Stencil buffer write enable.
        stencil_buffer_write_enable: Bool [34..35] "Stencil Buffer Write Enable";
        /// Stencil test enable.
        stencil_test_enable: Bool [35..36] "Stencil Test Enable";
        /// Double sided stencil enable.
        double_sided_stencil_enable: Bool [36..37] "Double Sided Stencil Enable";
        /// Depth test function.
        depth_test_function: CompareFunction [37..40] "Depth Test Function";
        /// Stencil test function.
        stencil_test_function: CompareFunction [40..43] "Stencil Test Function";
        /// Backface stencil pass depth pass op.
        backface_stencil_pass_depth_pass_op: StencilOperation [43..46] "Backface Stencil Pass Depth Pass Op";
        /// Backface stencil pass depth fail op.
        backface_stencil_pass_depth_fail_op: StencilOperation [46..49] "Backface Stencil Pass Depth Fail Op";
        /// Backface stencil fail op.
        backface_stencil_fail_op: StencilOperation [49..52] "Backface Stencil Fail Op";
        /// Backface stencil test function.
        backface_stencil_test_function: CompareFunction [52..55] "Backface Stencil Test Function";
        /// Stencil pass depth pass op.
        stencil_pass_depth_pass_op: StencilOperation [55..58] "Stencil Pass Depth Pass Op";
        /// Stencil pass depth fail op.
        stencil_pass_depth_fail_op: StencilOperation [58..61] "Stencil Pass Depth Fail Op";
        /// Stencil fail op.
        stencil_fail_op: StencilOperation [61..64] "Stencil Fail Op";
        /// Backface stencil write mask.
        backface_stencil_write_mask: Uint [64..72] "Backface Stencil Write Mask";
        /// Backface stencil test mask.
        backface_stencil_test_mask: Uint [72..80] "Backface Stencil Test Mask";
        /// Stencil write mask.
        stencil_write_mask: Uint [80..88] "Stencil Write Mask";
        /// Stencil test mask.
        stencil_test_mask: Uint [88..96] "Stencil Test Mask";
        /// Backface stencil reference value.
        backface_stencil_reference_value: Uint [96..104] "Backface Stencil Reference Value";
        /// Stencil reference value.
        stencil_reference_value: Uint [104..112] "Stencil Reference Value";
    }
}

packet! {
    /// Blending, as far as the pixel shader has to know.
    pub struct State3dPsBlend = "3DSTATE_PS_BLEND", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 77;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Independent alpha blend enable.
        independent_alpha_blend_enable: Bool [39..40] "Independent Alpha Blend Enable";
        /// Alpha test enable.
        alpha_test_enable: Bool [40..41] "Alpha Test Enable";
        /// Destination blend factor.
        destination_blend_factor: Uint [41..46] "Destination Blend Factor";
        /// Source blend factor.
        source_blend_factor: Uint [46..51] "Source Blend Factor";
        /// Destination alpha blend factor.
        destination_alpha_blend_factor: Uint [51..56] "Destination Alpha Blend Factor";
        /// Source alpha blend factor.
        source_alpha_blend_factor: Uint [56..61] "Source Alpha Blend Factor";
        /// Color buffer blend enable.
        color_buffer_blend_enable: Bool [61..62] "Color Buffer Blend Enable";
        /// Has writeable RT.
        has_writeable_rt: Bool [62..63] "Has Writeable RT";
        /// Alpha to coverage enable.
        alpha_to_coverage_enable: Bool [63..64] "Alpha To Coverage Enable";
    }
}

packet! {
    /// Address of the BLEND_STATE.
    pub struct State3dBlendStatePointers = "3DSTATE_BLEND_STATE_POINTERS", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 36;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Blend state pointer valid.
        blend_state_pointer_valid: Bool [32..33] "Blend State Pointer Valid";
        /// Blend state pointer.
        blend_state_pointer: Shr<Address, 6> [38..64] "Blend State Pointer";
    }
}

packet! {
    /// Blending; an entry for each render target follows.
    pub struct BlendState = "BLEND_STATE", 4 bytes
    fields {
        /// Y dither offset.
        y_dither_offset: Uint [19..21] "Y Dither Offset";
        /// X dither offset.
        x_dither_offset: Uint [21..23] "X Dither Offset";
        /// Color dither enable.
        color_dither_enable: Bool [23..24] "Color Dither Enable";
        /// Alpha test function.
        alpha_test_function: CompareFunction [24..27] "Alpha Test Function";
        /// Alpha test enable.
        alpha_test_enable: Bool [27..28] "Alpha Test Enable";
        /// Alpha to coverage dither enable.
        alpha_to_coverage_dither_enable: Bool [28..29] "Alpha To Coverage Dither Enable";
        /// Alpha to one enable.
        alpha_to_one_enable: Bool [29..30] "Alpha To One Enable";
        /// Independent alpha blend enable.
        independent_alpha_blend_enable: Bool [30..31] "Independent Alpha Blend Enable";
        /// Alpha to coverage enable.
        alpha_to_coverage_enable: Bool [31..32] "Alpha To Coverage Enable";
    }
}

packet! {
    /// Blending of a render target.
    pub struct BlendStateEntry = "BLEND_STATE_ENTRY", 8 bytes
    fields {
        /// Write disable blue.
        write_disable_blue: Bool [0..1] "Write Disable Blue";
        /// Write disable green.
        write_disable_green: Bool [1..2] "Write Disable Green";
        /// Write disable red.
        write_disable_red: Bool [2..3] "Write Disable Red";
        /// Write disable alpha.
        write_disable_alpha: Bool [3..4] "Write Disable Alpha";
        /// Alpha blend function.
        alpha_blend_function: ColorBufferBlendFunction [5..8] "Alpha Blend Function";
        /// Destination alpha blend factor.
        destination_alpha_blend_factor: Uint [8..13] "Destination Alpha Blend Factor";
        /// Source alpha blend factor.
        source_alpha_blend_factor: Uint [13..18] "Source Alpha Blend Factor";
        /// Color blend function.
        color_blend_function: ColorBufferBlendFunction [18..21] "Color Blend Function";
        /// Destination blend factor.
        destination_blend_factor: Uint [21..26] "Destination Blend Factor";
        /// Source blend factor.
        source_blend_factor: Uint [26..31] "Source Blend Factor";
        /// Color buffer blend enable.
        color_buffer_blend_enable: Bool [31..32] "Color Buffer Blend Enable";
        /// Post-blend color clamp enable.
        post_blend_color_clamp_enable: Bool [32..33] "Post-Blend Color Clamp Enable";
        /// Pre-blend color clamp enable.
        pre_blend_color_clamp_enable: Bool [33..34] "Pre-Blend Color Clamp Enable";
        /// Color clamp range.
        color_clamp_range: Uint [34..36] "Color Clamp Range";
        /// Pre-blend source only clamp enable.
        pre_blend_source_only_clamp_enable: Bool [36..37] "Pre-Blend Source Only Clamp Enable";
        /// Logic op function.
        logic_op_function: LogicOpFunction [59..63] "Logic Op Function";
        /// Logic op enable.
        logic_op_enable: Bool [63..64] "Logic Op Enable";
    }
}

packet! {
    /// Address of the COLOR_CALC_STATE.
    pub struct State3dCcStatePointers = "3DSTATE_CC_STATE_POINTERS", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 14;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Color calc state pointer valid.
        color_calc_state_pointer_valid: Bool [32..33] "Color Calc State Pointer Valid";
        /// Color calc state pointer.
        color_calc_state_pointer: Shr<Address, 6> [38..64] "Color Calc State Pointer";
    }
}

packet! {
    /// Constants of blending.
    pub struct ColorCalcState = "COLOR_CALC_STATE", 24 bytes
    fields {
        /// Alpha test format.
        alpha_test_format: Bool [0..1] "Alpha Test Format";
        /// Round disable function disable.
        round_disable_function_disable: Bool [15..16] "Round Disable Function Disable";
        /// Alpha reference value as UNORM8.
        alpha_reference_value_as_unorm8: Hex [32..64] "Alpha Reference Value As UNORM8";
        /// Blend constant color red.
        blend_constant_color_red: Float [64..96] "Blend Constant Color Red";
        /// Blend constant color green.
        blend_constant_color_green: Float [96..128] "Blend Constant Color Green";
        /// Blend constant color blue.
        blend_constant_color_blue: Float [128..160] "Blend Constant Color Blue";
        /// Blend constant color alpha.
        blend_constant_color_alpha: Float [160..192] "Blend Constant Color Alpha";
    }
}

packet! {
    /// Address of the scissors.
    pub struct State3dScissorStatePointers = "3DSTATE_SCISSOR_STATE_POINTERS", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 15;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Scissor rect pointer.
        scissor_rect_pointer: Shr<Address, 5> [37..64] "Scissor Rect Pointer";
    }
}

packet! {
    /// A scissor rectangle.
    pub struct ScissorRect = "SCISSOR_RECT", 8 bytes
    fields {
        /// Scissor rectangle X min.
        scissor_rectangle_x_min: Uint [0..16] "Scissor Rectangle X Min";
        /// Scissor rectangle Y min.
        scissor_rectangle_y_min: Uint [16..32] "Scissor Rectangle Y Min";
        /// Scissor rectangle X max.
        scissor_rectangle_x_max: Uint [32..48] "Scissor Rectangle X Max";
        /// Scissor rectangle Y max.
        scissor_rectangle_y_max: Uint [48..64] "Scissor Rectangle Y Max";
    }
}

packet! {
    /// Address of the CC_VIEWPORTs.
    pub struct State3dViewportStatePointersCc = "3DSTATE_VIEWPORT_STATE_POINTERS_CC", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 35;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// CC viewport pointer.
        cc_viewport_pointer: Shr<Address, 5> [37..64] "CC Viewport Pointer";
    }
}

packet! {
    /// Range of depth.
    pub struct CcViewport = "CC_VIEWPORT", 8 bytes
    fields {
        /// Minimum depth.
        minimum_depth: Float [0..32] "Minimum Depth";
        /// Maximum depth.
        maximum_depth: Float [32..64] "Maximum Depth";
    }
}

packet! {
    /// Address of the SF_CLIP_VIEWPORTs.
    pub struct State3dViewportStatePointersSfClip = "3DSTATE_VIEWPORT_STATE_POINTERS_SF_CLIP", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 33;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// SF clip viewport pointer.
        sf_clip_viewport_pointer: Shr<Address, 6> [38..64] "SF Clip Viewport Pointer";
    }
}

packet! {
    /// A viewport.
    pub struct SfClipViewport = "SF_CLIP_VIEWPORT", 64 bytes
    fields {
        /// Viewport matrix element m00.
        viewport_matrix_element_m00: Float [0..32] "Viewport Matrix Element m00";
        /// Viewport matrix element m11.
        viewport_matrix_element_m11: Float [32..64] "Viewport Matrix Element m11";
        /// Viewport matrix element m22.
        viewport_matrix_element_m22: Float [64..96] "Viewport Matrix Element m22";
        /// Viewport matrix element m30.
        viewport_matrix_element_m30: Float [96..128] "Viewport Matrix Element m30";
        /// Viewport matrix element m31.
        viewport_matrix_element_m31: Float [128..160] "Viewport Matrix Element m31";
        /// Viewport matrix element m32.
        viewport_matrix_element_m32: Float [160..192] "Viewport Matrix Element m32";
        /// X min clip guardband.
        x_min_clip_guardband: Float [256..288] "X Min Clip Guardband";
        /// X max clip guardband.
        x_max_clip_guardband: Float [288..320] "X Max Clip Guardband";
        /// Y min clip guardband.
        y_min_clip_guardband: Float [320..352] "Y Min Clip Guardband";
        /// Y max clip guardband.
        y_max_clip_guardband: Float [352..384] "Y Max Clip Guardband";
        /// X min viewport.
        x_min_viewport: Float [384..416] "X Min ViewPort";
        /// X max viewport.
        x_max_viewport: Float [416..448] "X Max ViewPort";
        /// Y min viewport.
        y_min_viewport: Float [448..480] "Y Min ViewPort";
        /// Y max viewport.
        y_max_viewport: Float [480..512] "Y Max ViewPort";
    }
}

/// The tables of this module.
pub static ALL: &[&PacketInfo] = &[
    State3dDepthBuffer::INFO,
    State3dStencilBuffer::INFO,
    State3dHierDepthBuffer::INFO,
    State3dClearParams::INFO,
    State3dWmDepthStencil::INFO,
    State3dPsBlend::INFO,
    State3dBlendStatePointers::INFO,
    BlendState::INFO,
    BlendStateEntry::INFO,
    State3dCcStatePointers::INFO,
    ColorCalcState::INFO,
    State3dScissorStatePointers::INFO,
    ScissorRect::INFO,
    State3dViewportStatePointersCc::INFO,
    CcViewport::INFO,
    State3dViewportStatePointersSfClip::INFO,
    SfClipViewport::INFO,
];
