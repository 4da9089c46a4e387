//! Draws: primitives, draw descriptors, depth and stencil, blending.
//!
// source: Mesa, src/panfrost/lib/genxml/v10.xml.

use tepui_packets::types::{Address, Bool, Float, Hex, Int, Minus, Nested, Shr, Uint};
use tepui_packets::{Packet, PacketInfo, bits_enum, packet};

use crate::shader::DescriptorType;
use crate::shader::ShaderEnvironment;
use crate::texture::CompareFunction;

bits_enum! {
    /// Depth Source.
    pub enum DepthSource = "Depth Source" {
        /// Minimum.
        #[default]
        Minimum = 0 => "Minimum",
        /// Maximum.
        Maximum = 1 => "Maximum",
        /// Fixed function.
        FixedFunction = 2 => "Fixed function",
        /// Shader.
        Shader = 3 => "Shader",
    }
}

bits_enum! {
    /// Depth Clamp Mode.
    pub enum DepthClampMode = "Depth Clamp Mode" {
        /// [0, 1].
        #[default]
        ZeroToOne = 1 => "[0, 1]",
        /// Bounds.
        Bounds = 2 => "Bounds",
    }
}

bits_enum! {
    /// Draw Mode.
    pub enum DrawMode = "Draw Mode" {
        /// None.
        #[default]
        None = 0 => "None",
        /// Points.
        Points = 1 => "Points",
        /// Lines.
        Lines = 2 => "Lines",
        /// Line strip.
        LineStrip = 4 => "Line strip",
        /// Line loop.
        LineLoop = 6 => "Line loop",
        /// Triangles.
        Triangles = 8 => "Triangles",
        /// Triangle strip.
        TriangleStrip = 10 => "Triangle strip",
        /// Triangle fan.
        TriangleFan = 12 => "Triangle fan",
        /// Polygon.
        Polygon = 13 => "Polygon",
        /// Quads.
        Quads = 14 => "Quads",
    }
}

bits_enum! {
    /// Pixel Kill.
    pub enum PixelKill = "Pixel Kill" {
        /// Force Early.
        #[default]
        ForceEarly = 0 => "Force Early",
        /// Weak Early.
        WeakEarly = 2 => "Weak Early",
        /// Force Late.
        ForceLate = 3 => "Force Late",
    }
}

bits_enum! {
    /// Index Type.
    pub enum IndexType = "Index Type" {
        /// None.
        #[default]
        None = 0 => "None",
        /// UINT8.
        Uint8 = 1 => "UINT8",
        /// UINT16.
        Uint16 = 2 => "UINT16",
        /// UINT32.
        Uint32 = 3 => "UINT32",
    }
}

bits_enum! {
    /// Occlusion Mode.
    pub enum OcclusionMode = "Occlusion Mode" {
        /// Disabled.
        #[default]
        Disabled = 0 => "Disabled",
        /// Predicate.
        Predicate = 1 => "Predicate",
        /// Counter.
        Counter = 3 => "Counter",
    }
}

bits_enum! {
    /// Stencil Op.
    pub enum StencilOp = "Stencil Op" {
        /// Keep.
        #[default]
        Keep = 0 => "Keep",
        /// Replace.
        Replace = 1 => "Replace",
        /// Zero.
        Zero = 2 => "Zero",
        /// Invert.
        Invert = 3 => "Invert",
        /// Incr Wrap.
        IncrWrap = 4 => "Incr Wrap",
        /// Decr Wrap.
        DecrWrap = 5 => "Decr Wrap",
        /// Incr Sat.
        IncrSat = 6 => "Incr Sat",
        /// Decr Sat.
        DecrSat = 7 => "Decr Sat",
    }
}

bits_enum! {
    /// Blend Operand A.
    pub enum BlendOperandA = "Blend Operand A" {
        /// Zero.
        #[default]
        Zero = 1 => "Zero",
        /// Src.
        Src = 2 => "Src",
        /// Dest.
        Dest = 3 => "Dest",
    }
}

bits_enum! {
    /// Blend Operand B.
    pub enum BlendOperandB = "Blend Operand B" {
        /// Src Minus Dest.
        #[default]
        SrcMinusDest = 0 => "Src Minus Dest",
        /// Src Plus Dest.
        SrcPlusDest = 1 => "Src Plus Dest",
        /// Src.
        Src = 2 => "Src",
        /// Dest.
        Dest = 3 => "Dest",
    }
}

bits_enum! {
    /// Blend Operand C.
    pub enum BlendOperandC = "Blend Operand C" {
        /// Zero.
        #[default]
        Zero = 1 => "Zero",
        /// Src.
        Src = 2 => "Src",
        /// Dest.
        Dest = 3 => "Dest",
        /// Src x 2.
        SrcX2 = 4 => "Src x 2",
        /// Src Alpha.
        SrcAlpha = 5 => "Src Alpha",
        /// Dest Alpha.
        DestAlpha = 6 => "Dest Alpha",
        /// Constant.
        Constant = 7 => "Constant",
    }
}

bits_enum! {
    /// Register File Format.
    pub enum RegisterFileFormat = "Register File Format" {
        /// F16.
        #[default]
        F16 = 0 => "F16",
        /// F32.
        F32 = 1 => "F32",
        /// I32.
        I32 = 2 => "I32",
        /// U32.
        U32 = 3 => "U32",
        /// I16.
        I16 = 4 => "I16",
        /// U16.
        U16 = 5 => "U16",
    }
}

bits_enum! {
    /// Blend Mode.
    pub enum BlendMode = "Blend Mode" {
        /// Shader.
        #[default]
        Shader = 0 => "Shader",
        /// Opaque.
        Opaque = 1 => "Opaque",
        /// Fixed-Function.
        FixedFunction = 2 => "Fixed-Function",
        /// Off.
        Off = 3 => "Off",
    }
}

bits_enum! {
    /// Point Size Array Format.
    pub enum PointSizeArrayFormat = "Point Size Array Format" {
        /// None.
        #[default]
        None = 0 => "None",
        /// FP16.
        Fp16 = 2 => "FP16",
        /// FP32.
        Fp32 = 3 => "FP32",
    }
}

bits_enum! {
    /// FIFO format.
    pub enum FifoFormat = "FIFO format" {
        /// Auto.
        #[default]
        Auto = 0 => "Auto",
        /// Basic.
        Basic = 1 => "Basic",
        /// Extended.
        Extended = 2 => "Extended",
    }
}

packet! {
    /// Primitive Flags.
    pub struct PrimitiveFlags = "Primitive Flags", 4 bytes
    fields {
        /// Draw mode.
        draw_mode: DrawMode [0..8] "Draw mode" = DrawMode::None;
        /// Index type.
        index_type: IndexType [8..11] "Index type" = IndexType::None;
        /// Point size array format.
        point_size_array_format: PointSizeArrayFormat [11..13] "Point size array format";
        /// Primitive Index Enable.
        primitive_index_enable: Bool [13..14] "Primitive Index Enable";
        /// Primitive Index Writeback.
        primitive_index_writeback: Bool [14..15] "Primitive Index Writeback";
        /// Allow rotating primitives.
        allow_rotating_primitives: Bool [15..16] "Allow rotating primitives";
        /// Low Depth Cull.
        low_depth_cull: Bool [16..17] "Low Depth Cull" = true;
        /// High Depth Cull.
        high_depth_cull: Bool [17..18] "High Depth Cull" = true;
        /// Secondary Shader.
        secondary_shader: Bool [18..19] "Secondary Shader";
        /// Primitive restart.
        primitive_restart: Bool [19..20] "Primitive restart";
        /// Layer index enable.
        layer_index_enable: Bool [20..21] "Layer index enable";
        /// Scissor array enable.
        scissor_array_enable: Bool [21..22] "Scissor array enable";
        /// Position FIFO format.
        position_fifo_format: FifoFormat [22..24] "Position FIFO format";
        /// View mask.
        view_mask: Hex [24..32] "View mask";
    }
}

packet! {
    /// Primitive.
    pub struct Primitive = "Primitive", 16 bytes
    fields {
        /// Draw mode.
        draw_mode: DrawMode [0..8] "Draw mode" = DrawMode::None;
        /// Index type.
        index_type: IndexType [8..11] "Index type" = IndexType::None;
        /// Point size array format.
        point_size_array_format: PointSizeArrayFormat [11..13] "Point size array format";
        /// Primitive Index Enable.
        primitive_index_enable: Bool [13..14] "Primitive Index Enable";
        /// Primitive Index Writeback.
        primitive_index_writeback: Bool [14..15] "Primitive Index Writeback";
        /// Allow rotating primitives.
        allow_rotating_primitives: Bool [15..16] "Allow rotating primitives";
        /// Low Depth Cull.
        low_depth_cull: Bool [16..17] "Low Depth Cull" = true;
        /// High Depth Cull.
        high_depth_cull: Bool [17..18] "High Depth Cull" = true;
        /// Secondary Shader.
        secondary_shader: Bool [18..19] "Secondary Shader";
        /// Primitive restart.
        primitive_restart: Bool [19..20] "Primitive restart";
        /// Layer index enable.
        layer_index_enable: Bool [20..21] "Layer index enable";
        /// Scissor array enable.
        scissor_array_enable: Bool [21..22] "Scissor array enable";
        /// Base vertex offset.
        base_vertex_offset: Int [32..64] "Base vertex offset";
        /// Instance offset.
        instance_offset: Uint [64..96] "Instance offset";
        /// Index count.
        index_count: Uint [96..128] "Index count";
    }
}

packet! {
    /// Scissor.
    pub struct Scissor = "Scissor", 8 bytes
    fields {
        /// Scissor Minimum X.
        scissor_minimum_x: Uint [0..16] "Scissor Minimum X";
        /// Scissor Minimum Y.
        scissor_minimum_y: Uint [16..32] "Scissor Minimum Y";
        /// Scissor Maximum X.
        scissor_maximum_x: Uint [32..48] "Scissor Maximum X";
        /// Scissor Maximum Y.
        scissor_maximum_y: Uint [48..64] "Scissor Maximum Y";
    }
}

packet! {
    /// DCD Flags 0.
    pub struct DcdFlags0 = "DCD Flags 0", 4 bytes
    fields {
        /// Allow forward pixel to kill.
        allow_forward_pixel_to_kill: Bool [0..1] "Allow forward pixel to kill";
        /// Allow forward pixel to be killed.
        allow_forward_pixel_to_be_killed: Bool [1..2] "Allow forward pixel to be killed";
        /// Pixel kill operation.
        pixel_kill_operation: PixelKill [2..4] "Pixel kill operation";
        /// ZS update operation.
        zs_update_operation: PixelKill [4..6] "ZS update operation";
        /// Allow primitive reorder.
        allow_primitive_reorder: Bool [6..7] "Allow primitive reorder";
        /// Overdraw alpha0.
        overdraw_alpha0: Bool [7..8] "Overdraw alpha0";
        /// Overdraw alpha1.
        overdraw_alpha1: Bool [8..9] "Overdraw alpha1";
        /// Clean Fragment Write.
        clean_fragment_write: Bool [9..10] "Clean Fragment Write";
        /// Primitive Barrier.
        primitive_barrier: Bool [10..11] "Primitive Barrier";
        /// Evaluate per-sample.
        evaluate_per_sample: Bool [11..12] "Evaluate per-sample";
        /// Single-sampled lines.
        single_sampled_lines: Bool [13..14] "Single-sampled lines";
        /// Occlusion query.
        occlusion_query: OcclusionMode [14..16] "Occlusion query" = OcclusionMode::Disabled;
        /// Front face CCW.
        front_face_ccw: Bool [16..17] "Front face CCW";
        /// Cull front face.
        cull_front_face: Bool [17..18] "Cull front face";
        /// Cull back face.
        cull_back_face: Bool [18..19] "Cull back face";
        /// Multisample enable.
        multisample_enable: Bool [19..20] "Multisample enable";
        /// Shader modifies coverage.
        shader_modifies_coverage: Bool [20..21] "Shader modifies coverage";
        /// Alpha-to-coverage Invert.
        alpha_to_coverage_invert: Bool [21..22] "Alpha-to-coverage Invert";
        /// Alpha-to-coverage.
        alpha_to_coverage: Bool [22..23] "Alpha-to-coverage";
        /// Scissor to bounding box.
        scissor_to_bounding_box: Bool [23..24] "Scissor to bounding box";
    }
}

packet! {
    /// DCD Flags 1.
    pub struct DcdFlags1 = "DCD Flags 1", 4 bytes
    fields {
        /// Sample mask.
        sample_mask: Uint [0..16] "Sample mask";
        /// Render target mask.
        render_target_mask: Hex [16..24] "Render target mask";
    }
}

packet! {
    /// DCD Flags 2.
    pub struct DcdFlags2 = "DCD Flags 2", 4 bytes
    fields {
        /// Read mask.
        read_mask: Hex [0..12] "Read mask";
        /// Write mask.
        write_mask: Hex [12..24] "Write mask";
    }
}

packet! {
    /// Vertex Array.
    pub struct VertexArray = "Vertex Array", 12 bytes
    fields {
        /// Packet.
        packet: Bool [0..1] "Packet";
        /// Pointer.
        pointer: Shr<Address, 6> [6..64] "Pointer";
        /// Vertex packet stride.
        vertex_packet_stride: Uint [64..80] "Vertex packet stride";
        /// Vertex attribute stride.
        vertex_attribute_stride: Uint [80..96] "Vertex attribute stride";
    }
}

packet! {
    /// A draw descriptor.
    pub struct Draw = "Draw", 128 bytes
    fields {
        /// Allow forward pixel to kill.
        allow_forward_pixel_to_kill: Bool [0..1] "Allow forward pixel to kill";
        /// Allow forward pixel to be killed.
        allow_forward_pixel_to_be_killed: Bool [1..2] "Allow forward pixel to be killed";
        /// Pixel kill operation.
        pixel_kill_operation: PixelKill [2..4] "Pixel kill operation";
        /// ZS update operation.
        zs_update_operation: PixelKill [4..6] "ZS update operation";
        /// Allow primitive reorder.
        allow_primitive_reorder: Bool [6..7] "Allow primitive reorder";
        /// Overdraw alpha0.
        overdraw_alpha0: Bool [7..8] "Overdraw alpha0";
        /// Overdraw alpha1.
        overdraw_alpha1: Bool [8..9] "Overdraw alpha1";
        /// Clean Fragment Write.
        clean_fragment_write: Bool [9..10] "Clean Fragment Write";
        /// Primitive Barrier.
        primitive_barrier: Bool [10..11] "Primitive Barrier";
        /// Evaluate per-sample.
        evaluate_per_sample: Bool [11..12] "Evaluate per-sample";
        /// Single-sampled lines.
        single_sampled_lines: Bool [13..14] "Single-sampled lines";
        /// Occlusion query.
        occlusion_query: OcclusionMode [14..16] "Occlusion query" = OcclusionMode::Disabled;
        /// Front face CCW.
        front_face_ccw: Bool [16..17] "Front face CCW";
        /// Cull front face.
        cull_front_face: Bool [17..18] "Cull front face";
        /// Cull back face.
        cull_back_face: Bool [18..19] "Cull back face";
        /// Multisample enable.
        multisample_enable: Bool [19..20] "Multisample enable";
        /// Shader modifies coverage.
        shader_modifies_coverage: Bool [20..21] "Shader modifies coverage";
        /// Alpha-to-coverage Invert.
        alpha_to_coverage_invert: Bool [21..22] "Alpha-to-coverage Invert";
        /// Alpha-to-coverage.
        alpha_to_coverage: Bool [22..23] "Alpha-to-coverage";
        /// Scissor to bounding box.
        scissor_to_bounding_box: Bool [23..24] "Scissor to bounding box";
        /// Sample mask.
        sample_mask: Uint [32..48] "Sample mask";
        /// Render target mask.
        render_target_mask: Hex [48..56] "Render target mask";
        /// Vertex array.
        vertex_array: Nested<VertexArray> [64..160] "Vertex array";
        /// Flags 2.
        flags_2: Nested<DcdFlags2> [160..192] "Flags 2";
        /// Minimum Z.
        minimum_z: Float [192..224] "Minimum Z";
        /// Maximum Z.
        maximum_z: Float [224..256] "Maximum Z";
        /// Depth/stencil.
        depth_stencil: Address [320..384] "Depth/stencil";
        /// Blend count.
        blend_count: Uint [384..388] "Blend count";
        /// Blend.
        blend: Shr<Address, 4> [388..448] "Blend";
        /// Occlusion.
        occlusion: Address [448..512] "Occlusion";
        /// Shader.
        shader: Nested<ShaderEnvironment> [512..1024] "Shader";
    }
}

packet! {
    /// The depth and stencil tests.
    pub struct DepthStencil = "Depth/stencil", 32 bytes
    fixed {
        "Type" DescriptorType [0..4] = DescriptorType::DepthStencil;
    }
    fields {
        /// Front compare function.
        front_compare_function: CompareFunction [4..7] "Front compare function";
        /// Front stencil fail.
        front_stencil_fail: StencilOp [7..10] "Front stencil fail";
        /// Front depth fail.
        front_depth_fail: StencilOp [10..13] "Front depth fail";
        /// Front depth pass.
        front_depth_pass: StencilOp [13..16] "Front depth pass";
        /// Back compare function.
        back_compare_function: CompareFunction [16..19] "Back compare function";
        /// Back stencil fail.
        back_stencil_fail: StencilOp [19..22] "Back stencil fail";
        /// Back depth fail.
        back_depth_fail: StencilOp [22..25] "Back depth fail";
        /// Back depth pass.
        back_depth_pass: StencilOp [25..28] "Back depth pass";
        /// Stencil from shader.
        stencil_from_shader: Bool [30..31] "Stencil from shader";
        /// Stencil test enable.
        stencil_test_enable: Bool [31..32] "Stencil test enable";
        /// Front write mask.
        front_write_mask: Hex [32..40] "Front write mask";
        /// Back write mask.
        back_write_mask: Hex [40..48] "Back write mask";
        /// Front value mask.
        front_value_mask: Hex [48..56] "Front value mask";
        /// Back value mask.
        back_value_mask: Hex [56..64] "Back value mask";
        /// Front reference value.
        front_reference_value: Hex [64..72] "Front reference value";
        /// Back reference value.
        back_reference_value: Hex [72..80] "Back reference value";
        /// Shader read only Z/S.
        shader_read_only_z_s: Bool [149..150] "Shader read only Z/S";
        /// Depth cull enable.
        depth_cull_enable: Bool [150..151] "Depth cull enable" = true;
        /// Depth clamp mode.
        depth_clamp_mode: DepthClampMode [151..153] "Depth clamp mode" = DepthClampMode::ZeroToOne;
        /// Depth source.
        depth_source: DepthSource [153..155] "Depth source" = DepthSource::FixedFunction;
        /// Depth write enable.
        depth_write_enable: Bool [155..156] "Depth write enable";
        /// Depth bias enable.
        depth_bias_enable: Bool [156..157] "Depth bias enable";
        /// Depth function.
        depth_function: CompareFunction [157..160] "Depth function";
        /// Depth units.
        depth_units: Float [160..192] "Depth units";
        /// Depth factor.
        depth_factor: Float [192..224] "Depth factor";
        /// Depth bias clamp.
        depth_bias_clamp: Float [224..256] "Depth bias clamp";
    }
}

packet! {
    /// Internal Conversion.
    pub struct InternalConversion = "Internal Conversion", 4 bytes
    fields {
        /// Memory Format.
        memory_format: Hex [0..22] "Memory Format";
        /// Raw.
        raw: Bool [22..23] "Raw";
        /// Register Format.
        register_format: RegisterFileFormat [24..27] "Register Format";
    }
}

packet! {
    /// Blending by the hardware: A + B * C.
    pub struct BlendEquation = "Blend Equation", 4 bytes
    fields {
        /// A of the colour.
        rgb_a: BlendOperandA [0..2] "RGB A" = BlendOperandA::Zero;
        /// A of the colour is negated.
        rgb_negate_a: Bool [3..4] "RGB Negate A";
        /// B of the colour.
        rgb_b: BlendOperandB [4..6] "RGB B";
        /// B of the colour is negated.
        rgb_negate_b: Bool [7..8] "RGB Negate B";
        /// C of the colour.
        rgb_c: BlendOperandC [8..11] "RGB C" = BlendOperandC::Zero;
        /// C of the colour is one less C.
        rgb_invert_c: Bool [11..12] "RGB Invert C";
        /// A of alpha.
        alpha_a: BlendOperandA [12..14] "Alpha A" = BlendOperandA::Zero;
        /// A of alpha is negated.
        alpha_negate_a: Bool [15..16] "Alpha Negate A";
        /// B of alpha.
        alpha_b: BlendOperandB [16..18] "Alpha B";
        /// B of alpha is negated.
        alpha_negate_b: Bool [19..20] "Alpha Negate B";
        /// C of alpha.
        alpha_c: BlendOperandC [20..23] "Alpha C" = BlendOperandC::Zero;
        /// C of alpha is one less C.
        alpha_invert_c: Bool [23..24] "Alpha Invert C";
        /// Channels that are written.
        color_mask: Uint [28..32] "Color Mask";
    }
}

packet! {
    /// The blending of a render target, either by a blend shader or by the hardware: A + B * C.
    pub struct Blend = "Blend", 16 bytes
    fields {
        /// The render target's old value is needed.
        load_destination: Bool [0..1] "Load Destination";
        /// Alpha counts as one.
        alpha_to_one: Bool [8..9] "Alpha To One";
        /// Enable.
        enable: Bool [9..10] "Enable" = true;
        /// The render target is sRGB.
        srgb: Bool [10..11] "sRGB";
        /// Colours are rounded to the framebuffer's precision before blending.
        round_to_fb_precision: Bool [11..12] "Round to FB precision";
        /// The constant.
        constant: Uint [16..32] "Constant";
        /// The equation of fixed-function blending.
        equation: Nested<BlendEquation> [32..64] "Equation";
        /// The blending mode: fixed functions, or a shader.
        mode: BlendMode [64..66] "Mode";
        /// The blend shader's address, the lower 32 bits.
        shader_pc: Shr<Uint, 4> [100..128] "Shader PC" when (|p| p.mode == BlendMode::Shader);
        /// Components.
        num_comps: Minus<Uint, 1> [67..69] "Num Comps" when (|p| p.mode != BlendMode::Shader);
        /// Fragments whose alpha is 0 change nothing.
        alpha_zero_nop: Bool [69..70] "Alpha Zero NOP" since 2 when (|p| p.mode != BlendMode::Shader);
        /// Whether fragments whose alpha is 1 are stored without blending.
        alpha_one_store: Bool [70..71] "Alpha One Store" since 2 when (|p| p.mode != BlendMode::Shader);
        /// The render target.
        rt: Uint [80..84] "RT" when (|p| p.mode != BlendMode::Shader);
        /// The conversion from registers to the render target.
        conversion: Nested<InternalConversion> [96..128] "Conversion" when (|p| p.mode != BlendMode::Shader);
    }
}

/// The reflection tables of this module.
pub static ALL: &[&PacketInfo] = &[
    PrimitiveFlags::INFO,
    Primitive::INFO,
    Scissor::INFO,
    DcdFlags0::INFO,
    DcdFlags1::INFO,
    DcdFlags2::INFO,
    VertexArray::INFO,
    Draw::INFO,
    DepthStencil::INFO,
    InternalConversion::INFO,
    BlendEquation::INFO,
    Blend::INFO,
];
