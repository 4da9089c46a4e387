//! State of Midgard (v5) that later architectures do not have: framebuffers with the tiler's state, textures and samplers.
//!
//! Jobs, draws, renderer state, attributes, uniform buffers, viewports and local storage are those of Bifrost.
//!
// source: Mesa, src/panfrost/lib/genxml/v5.xml.

use tepui_packets::types::{
    Address, Bool, Float, Hex, Int, Log2, Minus, Nested, Shr, Uint, UnsignedFixed,
};
use tepui_packets::{Packet, PacketInfo, bits_enum, packet};

use crate::draw::BlendEquation;
use crate::framebuffer::{
    BlockFormatV6, Msaa, SFormat, SamplePattern, TieBreakRule, ZInternalFormat, ZsFormat,
};
use crate::job::WriteValueType;
use crate::texture::{CompareFunction, MipmapMode, TextureDimension, TextureLayout};

bits_enum! {
    /// The mapping of coordinates outside of an image.
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
    /// The entry of a surface after a texture descriptor.
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
    /// Floating-point behaviour.
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
    /// The size of a framebuffer and its treatment. It follows the local storage.
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
    /// The tiler's lists.
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
    /// The parameters; local storage precedes them.
    pub const PARAMETERS: u64 = 32;
    /// The tiler's context.
    pub const TILER: u64 = 56;
    /// The end of the tiler's weights, which attachments follow.
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
    /// The blending of a target's colours.
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
        /// The equation of fixed-function blending.
        equation: Nested<BlendEquation> [64..96] "Equation" when (|p| !p.blend_shader);
        /// Constant.
        constant: Float [96..128] "Constant" when (|p| !p.blend_shader);
    }
}

packet! {
    /// A texture, followed by its surfaces, one for each level, layer, face and sample.
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
    BlendV5::INFO,
    TextureV5::INFO,
    SamplerV5::INFO,
];
