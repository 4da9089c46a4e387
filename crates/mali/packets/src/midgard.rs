//! State of Midgard (v5) that later architectures do not have: framebuffers with the tiler's state, renderer state, textures
//! and samplers.
//!
//! Jobs, draws, attributes, uniform buffers, viewports and local storage are those of Bifrost.
//!
// source: Mesa, src/panfrost/lib/genxml/v5.xml.

use tepui_packets::types::{Address, Bool, Float, Hex, Int, Log2, Minus, Shr, Uint, UnsignedFixed};
use tepui_packets::{Packet, PacketInfo, bits_enum, packet};

use crate::draw::{BlendOperandA, BlendOperandB, BlendOperandC, DepthSource, StencilOp};
use crate::framebuffer::{
    BlockFormatV6, Msaa, SFormat, SamplePattern, TieBreakRule, ZInternalFormat, ZsFormat,
};
use crate::job::WriteValueType;
use crate::texture::{CompareFunction, MipmapMode, TextureDimension, TextureLayout};

bits_enum! {
    /// How coordinates beyond an image are brought into it.
    pub enum WrapModeV5 = "Wrap Mode (v5)" {
        /// Repeat.
        #[default]
        Repeat = 8 => "Repeat",
        /// Clamp to Edge.
        ClampToEdge = 9 => "Clamp to Edge",
        /// Clamp.
        Clamp = 10 => "Clamp",
        /// Clamp to Border.
        ClampToBorder = 11 => "Clamp to Border",
        /// Mirrored Repeat.
        MirroredRepeat = 12 => "Mirrored Repeat",
        /// Mirrored Clamp to Edge.
        MirroredClampToEdge = 13 => "Mirrored Clamp to Edge",
        /// Mirrored Clamp.
        MirroredClamp = 14 => "Mirrored Clamp",
        /// Mirrored Clamp to Border.
        MirroredClampToBorder = 15 => "Mirrored Clamp to Border",
    }
}

bits_enum! {
    /// What stands for a surface behind a texture descriptor.
    pub enum SurfaceType = "Surface Type" {
        /// An address of 32 bits.
        #[default]
        N32 = 0 => "32",
        /// An address.
        N64 = 1 => "64",
        /// An address of 32 bits, and the bytes of a row.
        N32WithRowStride = 2 => "32 With Row Stride",
        /// An address, and the bytes of a row and of a surface.
        N64WithStrides = 3 => "64 With Strides",
    }
}

bits_enum! {
    /// How floats behave.
    pub enum FpMode = "FP Mode" {
        /// GL Inf/NaN Allowed.
        #[default]
        GlInfNanAllowed = 0 => "GL Inf/NaN Allowed",
        /// GL Inf/NaN Suppressed.
        GlInfNanSuppressed = 1 => "GL Inf/NaN Suppressed",
        /// CL.
        Cl = 2 => "CL",
        /// D3D11.
        D3d11 = 3 => "D3D11",
    }
}

packet! {
    /// The size of a framebuffer and what becomes of it. It stands behind the local storage.
    pub struct FramebufferParametersV5 = "Framebuffer Parameters (v5)", 24 bytes
    fields {
        /// Width.
        width: Minus<Uint, 1> [0..16] "Width" = 1;
        /// Height.
        height: Minus<Uint, 1> [16..32] "Height" = 1;
        /// Bound Min X.
        bound_min_x: Uint [32..48] "Bound Min X";
        /// Bound Min Y.
        bound_min_y: Uint [48..64] "Bound Min Y";
        /// Bound Max X.
        bound_max_x: Uint [64..80] "Bound Max X";
        /// Bound Max Y.
        bound_max_y: Uint [80..96] "Bound Max Y";
        /// Sample Count.
        sample_count: Log2 [96..99] "Sample Count" = 1;
        /// Sample Pattern.
        sample_pattern: SamplePattern [99..102] "Sample Pattern";
        /// Tie-Break Rule.
        tie_break_rule: TieBreakRule [102..105] "Tie-Break Rule";
        /// Effective Tile Size.
        effective_tile_size: Log2 [105..109] "Effective Tile Size" = 1;
        /// X Downsampling Scale.
        x_downsampling_scale: Uint [109..112] "X Downsampling Scale";
        /// Y Downsampling Scale.
        y_downsampling_scale: Uint [112..115] "Y Downsampling Scale";
        /// Render Target Count.
        render_target_count: Minus<Uint, 1> [115..119] "Render Target Count" = 1;
        /// Color Buffer Allocation.
        color_buffer_allocation: Shr<Uint, 10> [120..128] "Color Buffer Allocation";
        /// S Clear.
        s_clear: Uint [128..136] "S Clear";
        /// S Write Enable.
        s_write_enable: Bool [136..137] "S Write Enable";
        /// S Preload Enable.
        s_preload_enable: Bool [137..138] "S Preload Enable";
        /// S Unload Enable.
        s_unload_enable: Bool [138..139] "S Unload Enable";
        /// Z Internal Format.
        z_internal_format: ZInternalFormat [144..146] "Z Internal Format";
        /// Z Write Enable.
        z_write_enable: Bool [146..147] "Z Write Enable";
        /// Z Preload Enable.
        z_preload_enable: Bool [147..148] "Z Preload Enable";
        /// Z Unload Enable.
        z_unload_enable: Bool [148..149] "Z Unload Enable";
        /// Has ZS CRC Extension.
        has_zs_crc_extension: Bool [149..150] "Has ZS CRC Extension";
        /// CRC Read Enable.
        crc_read_enable: Bool [158..159] "CRC Read Enable";
        /// CRC Write Enable.
        crc_write_enable: Bool [159..160] "CRC Write Enable";
        /// Z Clear.
        z_clear: Float [160..192] "Z Clear";
    }
}

packet! {
    /// Write Value Job Payload.
    pub struct WriteValueJobPayloadV5 = "Write Value Job Payload (v5)", 12 bytes
    fields {
        /// Address.
        address: Address [0..64] "Address";
        /// Type.
        kind: WriteValueType [64..96] "Type";
    }
}

packet! {
    /// Where the tiler has its lists.
    pub struct TilerContextV5 = "Tiler Context (v5)", 40 bytes
    fields {
        /// Polygon List Size.
        polygon_list_size: Uint [0..32] "Polygon List Size";
        /// Hierarchy Mask; of 4096 there is nothing to draw.
        hierarchy_mask: Uint [32..48] "Hierarchy Mask";
        /// Polygon List.
        polygon_list: Address [64..128] "Polygon List";
        /// Polygon List Body.
        polygon_list_body: Address [128..192] "Polygon List Body";
        /// Heap Start.
        heap_start: Address [192..256] "Heap Start";
        /// Heap End.
        heap_end: Address [256..320] "Heap End";
    }
}

/// Bytes from the beginning of a framebuffer to its parts.
pub mod framebuffer {
    /// The parameters; local storage stands before them.
    pub const PARAMETERS: u64 = 32;
    /// The tiler's context.
    pub const TILER: u64 = 56;
    /// What stands behind the tiler's weights: attachments.
    pub const END: u64 = 128;
}

packet! {
    /// Depths and stencils of a framebuffer, and checksums.
    pub struct ZsCrcExtensionV5 = "ZS CRC Extension (v5)", 64 bytes
    fields {
        /// CRC Base.
        crc_base: Address [0..64] "CRC Base";
        /// CRC Row Stride.
        crc_row_stride: Uint [64..96] "CRC Row Stride";
        /// ZS Write Format.
        zs_write_format: ZsFormat [96..100] "ZS Write Format";
        /// ZS Block Format.
        zs_block_format: BlockFormatV6 [100..102] "ZS Block Format";
        /// ZS MSAA.
        zs_msaa: Msaa [102..104] "ZS MSAA" = Msaa::Single;
        /// ZS Big Endian.
        zs_big_endian: Bool [104..105] "ZS Big Endian";
        /// ZS Clean Pixel Write Enable.
        zs_clean_pixel_write_enable: Bool [106..107] "ZS Clean Pixel Write Enable";
        /// S Write Format.
        s_write_format: SFormat [112..116] "S Write Format";
        /// S Block Format.
        s_block_format: BlockFormatV6 [116..118] "S Block Format";
        /// S MSAA.
        s_msaa: Msaa [118..120] "S MSAA" = Msaa::Single;
        /// ZS Preload Format.
        zs_preload_format: Uint [124..128] "ZS Preload Format";
        /// ZS Writeback Base; the headers of compressed depths.
        zs_writeback_base: Address [128..192] "ZS Writeback Base";
        /// ZS Writeback Row Stride; superblocks in a row of compressed depths.
        zs_writeback_row_stride: Uint [192..224] "ZS Writeback Row Stride";
        /// ZS Writeback Surface Stride; flags of compressed depths.
        zs_writeback_surface_stride: Uint [224..256] "ZS Writeback Surface Stride";
        /// S Writeback Base; the body of compressed depths.
        s_writeback_base: Address [256..320] "S Writeback Base";
        /// S Writeback Row Stride.
        s_writeback_row_stride: Uint [320..352] "S Writeback Row Stride";
        /// S Writeback Surface Stride.
        s_writeback_surface_stride: Uint [352..384] "S Writeback Surface Stride";
        /// ZS Preload Base.
        zs_preload_base: Address [384..448] "ZS Preload Base";
        /// ZS Preload Row Stride.
        zs_preload_row_stride: Uint [448..480] "ZS Preload Row Stride";
        /// ZS Preload Surface Stride.
        zs_preload_surface_stride: Uint [480..512] "ZS Preload Surface Stride";
    }
}

packet! {
    /// A shader, and what is done with its fragments. Blend descriptors stand behind it.
    pub struct RendererStateV5 = "Renderer State (v5)", 64 bytes
    fields {
        /// Shader: its address, and the tag of its first bundle in the lowest four bits.
        shader: Address [0..64] "Shader";
        /// Sampler count.
        sampler_count: Uint [64..80] "Sampler count";
        /// Texture count.
        texture_count: Uint [80..96] "Texture count";
        /// Attribute count.
        attribute_count: Uint [96..112] "Attribute count";
        /// Varying count.
        varying_count: Uint [112..128] "Varying count";
        /// Uniform buffer count.
        uniform_buffer_count: Uint [128..136] "Uniform buffer count";
        /// Depth source.
        depth_source: DepthSource [136..138] "Depth source";
        /// Force early-z.
        force_early_z: Bool [138..139] "Force early-z";
        /// Shader contains barrier.
        shader_contains_barrier: Bool [139..140] "Shader contains barrier";
        /// Shader contains discard.
        shader_contains_discard: Bool [140..141] "Shader contains discard";
        /// Shader has side-effects.
        shader_has_side_effects: Bool [141..142] "Shader has side-effects";
        /// Shader reads tilebuffer.
        shader_reads_tilebuffer: Bool [142..143] "Shader reads tilebuffer";
        /// Forward pixel kill.
        forward_pixel_kill: Bool [143..144] "Forward pixel kill";
        /// Work register count.
        work_register_count: Uint [144..149] "Work register count";
        /// Uniform count: registers of uniforms.
        uniform_count: Uint [149..154] "Uniform count";
        /// Stencil from shader.
        stencil_from_shader: Bool [156..157] "Stencil from shader";
        /// FP mode.
        fp_mode: FpMode [157..160] "FP mode";
        /// Depth units.
        depth_units: Float [160..192] "Depth units";
        /// Depth factor.
        depth_factor: Float [192..224] "Depth factor";
        /// Depth bias clamp.
        depth_bias_clamp: Float [224..256] "Depth bias clamp";
        /// Sample mask.
        sample_mask: Uint [256..272] "Sample mask";
        /// Multisample enable.
        multisample_enable: Bool [272..273] "Multisample enable";
        /// Multisample late coverage.
        multisample_late_coverage: Bool [273..274] "Multisample late coverage";
        /// Evaluate per-sample.
        evaluate_per_sample: Bool [274..275] "Evaluate per-sample";
        /// Fixed-function depth range fixed.
        fixed_function_depth_range_fixed: Bool [275..276] "Fixed-function depth range fixed";
        /// Shader depth range fixed.
        shader_depth_range_fixed: Bool [276..277] "Shader depth range fixed";
        /// Depth function.
        depth_function: CompareFunction [280..283] "Depth function";
        /// Depth write mask.
        depth_write_mask: Bool [283..284] "Depth write mask";
        /// Fixed-function near discard.
        fixed_function_near_discard: Bool [284..285] "Fixed-function near discard";
        /// Fixed-function far discard.
        fixed_function_far_discard: Bool [285..286] "Fixed-function far discard";
        /// Fragment near discard.
        fragment_near_discard: Bool [286..287] "Fragment near discard";
        /// Fragment far discard.
        fragment_far_discard: Bool [287..288] "Fragment far discard";
        /// Stencil mask front.
        stencil_mask_front: Hex [288..296] "Stencil mask front";
        /// Stencil mask back.
        stencil_mask_back: Hex [296..304] "Stencil mask back";
        /// Stencil enable.
        stencil_enable: Bool [304..305] "Stencil enable";
        /// Alpha-to-coverage.
        alpha_to_coverage: Bool [305..306] "Alpha-to-coverage";
        /// Alpha-to-coverage Invert.
        alpha_to_coverage_invert: Bool [306..307] "Alpha-to-coverage Invert";
        /// Alpha test compare function.
        alpha_test_compare_function: CompareFunction [309..312] "Alpha test compare function";
        /// Force seamless cubemaps.
        force_seamless_cubemaps: Bool [314..315] "Force seamless cubemaps";
        /// Front-facing depth bias.
        front_facing_depth_bias: Bool [316..317] "Front-facing depth bias";
        /// Back-facing depth bias.
        back_facing_depth_bias: Bool [317..318] "Back-facing depth bias";
        /// Single-sampled lines.
        single_sampled_lines: Bool [318..319] "Single-sampled lines";
        /// Point snap.
        point_snap: Bool [319..320] "Point snap";
        /// Stencil front Reference Value.
        front_reference_value: Hex [320..328] "Stencil front Reference Value";
        /// Stencil front Mask.
        front_mask: Hex [328..336] "Stencil front Mask";
        /// Stencil front Compare Function.
        front_compare_function: CompareFunction [336..339] "Stencil front Compare Function";
        /// Stencil front Stencil Fail.
        front_stencil_fail: StencilOp [339..342] "Stencil front Stencil Fail";
        /// Stencil front Depth Fail.
        front_depth_fail: StencilOp [342..345] "Stencil front Depth Fail";
        /// Stencil front Depth Pass.
        front_depth_pass: StencilOp [345..348] "Stencil front Depth Pass";
        /// Stencil back Reference Value.
        back_reference_value: Hex [352..360] "Stencil back Reference Value";
        /// Stencil back Mask.
        back_mask: Hex [360..368] "Stencil back Mask";
        /// Stencil back Compare Function.
        back_compare_function: CompareFunction [368..371] "Stencil back Compare Function";
        /// Stencil back Stencil Fail.
        back_stencil_fail: StencilOp [371..374] "Stencil back Stencil Fail";
        /// Stencil back Depth Fail.
        back_depth_fail: StencilOp [374..377] "Stencil back Depth Fail";
        /// Stencil back Depth Pass.
        back_depth_pass: StencilOp [377..380] "Stencil back Depth Pass";
        /// Alpha reference.
        alpha_reference: Float [384..416] "Alpha reference";
        /// Thread Balancing.
        thread_balancing: Uint [416..432] "Thread Balancing";
        /// Legacy Blend Shader.
        legacy_blend_shader: Address [448..512] "Legacy Blend Shader";
    }
}

packet! {
    /// How colours of a target are blended.
    pub struct BlendV5 = "Blend (v5)", 16 bytes
    fields {
        /// Load Destination.
        load_destination: Bool [0..1] "Load Destination";
        /// A shader blends.
        blend_shader: Bool [1..2] "Blend Shader";
        /// Blend Shader Contains Discard.
        blend_shader_contains_discard: Bool [2..3] "Blend Shader Contains Discard";
        /// Alpha To One.
        alpha_to_one: Bool [8..9] "Alpha To One";
        /// Enable.
        enable: Bool [9..10] "Enable" = true;
        /// sRGB.
        srgb: Bool [10..11] "sRGB";
        /// Round to FB precision.
        round_to_fb_precision: Bool [11..12] "Round to FB precision";
        /// Shader PC.
        shader_pc: Address [64..128] "Shader PC" when (|p| p.blend_shader);
        /// RGB A.
        rgb_a: BlendOperandA [64..66] "RGB A" when (|p| !p.blend_shader) = BlendOperandA::Zero;
        /// RGB Negate A.
        rgb_negate_a: Bool [67..68] "RGB Negate A" when (|p| !p.blend_shader);
        /// RGB B.
        rgb_b: BlendOperandB [68..70] "RGB B" when (|p| !p.blend_shader);
        /// RGB Negate B.
        rgb_negate_b: Bool [71..72] "RGB Negate B" when (|p| !p.blend_shader);
        /// RGB C.
        rgb_c: BlendOperandC [72..75] "RGB C" when (|p| !p.blend_shader) = BlendOperandC::Zero;
        /// RGB Invert C.
        rgb_invert_c: Bool [75..76] "RGB Invert C" when (|p| !p.blend_shader);
        /// Alpha A.
        alpha_a: BlendOperandA [76..78] "Alpha A" when (|p| !p.blend_shader) = BlendOperandA::Zero;
        /// Alpha Negate A.
        alpha_negate_a: Bool [79..80] "Alpha Negate A" when (|p| !p.blend_shader);
        /// Alpha B.
        alpha_b: BlendOperandB [80..82] "Alpha B" when (|p| !p.blend_shader);
        /// Alpha Negate B.
        alpha_negate_b: Bool [83..84] "Alpha Negate B" when (|p| !p.blend_shader);
        /// Alpha C.
        alpha_c: BlendOperandC [84..87] "Alpha C" when (|p| !p.blend_shader) = BlendOperandC::Zero;
        /// Alpha Invert C.
        alpha_invert_c: Bool [87..88] "Alpha Invert C" when (|p| !p.blend_shader);
        /// Color Mask.
        color_mask: Uint [92..96] "Color Mask" when (|p| !p.blend_shader);
        /// Constant.
        constant: Float [96..128] "Constant" when (|p| !p.blend_shader);
    }
}

packet! {
    /// A texture. Its surfaces stand behind it, one for each level, layer, face and sample.
    pub struct TextureV5 = "Texture (v5)", 32 bytes
    fields {
        /// Width.
        width: Minus<Uint, 1> [0..16] "Width" = 1;
        /// Height.
        height: Minus<Uint, 1> [16..32] "Height" = 1;
        /// Depth, or the number of samples.
        depth: Minus<Uint, 1> [32..48] "Depth" = 1;
        /// Array size.
        array_size: Minus<Uint, 1> [48..64] "Array size" = 1;
        /// Format.
        format: Hex [64..86] "Format";
        /// Dimension.
        dimension: TextureDimension [86..88] "Dimension";
        /// Texel ordering.
        texel_ordering: TextureLayout [88..92] "Texel ordering";
        /// Surface Type.
        surface_type: SurfaceType [92..94] "Surface Type" = SurfaceType::N64WithStrides;
        /// Levels.
        levels: Minus<Uint, 1> [120..128] "Levels" = 1;
        /// Swizzle.
        swizzle: Hex [128..140] "Swizzle";
    }
}

packet! {
    /// A sampler.
    pub struct SamplerV5 = "Sampler (v5)", 32 bytes
    fields {
        /// Magnify Nearest.
        magnify_nearest: Bool [0..1] "Magnify Nearest";
        /// Minify Nearest.
        minify_nearest: Bool [1..2] "Minify Nearest";
        /// Mipmap Mode.
        mipmap_mode: MipmapMode [3..5] "Mipmap Mode" = MipmapMode::Nearest;
        /// Normalized Coordinates.
        normalized_coordinates: Bool [5..6] "Normalized Coordinates" = true;
        /// Isotropic LOD.
        isotropic_lod: Bool [6..7] "Isotropic LOD";
        /// LOD Bias.
        lod_bias: Int [16..32] "LOD Bias";
        /// Minimum LOD.
        minimum_lod: UnsignedFixed<8> [32..48] "Minimum LOD";
        /// Maximum LOD.
        maximum_lod: UnsignedFixed<8> [48..64] "Maximum LOD";
        /// Wrap Mode S.
        wrap_mode_s: WrapModeV5 [64..68] "Wrap Mode S" = WrapModeV5::ClampToEdge;
        /// Wrap Mode T.
        wrap_mode_t: WrapModeV5 [68..72] "Wrap Mode T" = WrapModeV5::ClampToEdge;
        /// Wrap Mode R.
        wrap_mode_r: WrapModeV5 [72..76] "Wrap Mode R" = WrapModeV5::ClampToEdge;
        /// Compare Function.
        compare_function: CompareFunction [76..79] "Compare Function" = CompareFunction::Never;
        /// Seamless Cube Map.
        seamless_cube_map: Bool [79..80] "Seamless Cube Map" = true;
        /// Border Color R.
        border_color_r: Hex [128..160] "Border Color R";
        /// Border Color G.
        border_color_g: Hex [160..192] "Border Color G";
        /// Border Color B.
        border_color_b: Hex [192..224] "Border Color B";
        /// Border Color A.
        border_color_a: Hex [224..256] "Border Color A";
    }
}

/// The reflection tables of this module.
pub static ALL: &[&PacketInfo] = &[
    FramebufferParametersV5::INFO,
    WriteValueJobPayloadV5::INFO,
    TilerContextV5::INFO,
    ZsCrcExtensionV5::INFO,
    RendererStateV5::INFO,
    BlendV5::INFO,
    TextureV5::INFO,
    SamplerV5::INFO,
];
