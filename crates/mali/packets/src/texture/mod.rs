//! Textures, their planes, and samplers.
//!
// source: Mesa, src/panfrost/lib/genxml/v10.xml.

mod format;

use tepui_packets::types::{Address, Bool, Hex, Int, Log2, Minus, Uint, UnsignedFixed};
use tepui_packets::{Packet, PacketInfo, bits_enum, packet};

use crate::shader::DescriptorType;

pub use format::{ClumpFormat, ComponentOrder, Format};

bits_enum! {
    /// Channel.
    pub enum Channel = "Channel" {
        /// R.
        #[default]
        R = 0 => "R",
        /// G.
        G = 1 => "G",
        /// B.
        B = 2 => "B",
        /// A.
        A = 3 => "A",
        /// 0.
        Const0 = 4 => "0",
        /// 1.
        Const1 = 5 => "1",
    }
}

bits_enum! {
    /// Func.
    pub enum CompareFunction = "Func" {
        /// Never.
        #[default]
        Never = 0 => "Never",
        /// Less.
        Less = 1 => "Less",
        /// Equal.
        Equal = 2 => "Equal",
        /// Lequal.
        Lequal = 3 => "Lequal",
        /// Greater.
        Greater = 4 => "Greater",
        /// Not Equal.
        NotEqual = 5 => "Not Equal",
        /// Gequal.
        Gequal = 6 => "Gequal",
        /// Always.
        Always = 7 => "Always",
    }
}

bits_enum! {
    /// ASTC 2D Dimension.
    pub enum Astc2dDimension = "ASTC 2D Dimension" {
        /// 4.
        #[default]
        N4 = 0 => "4",
        /// 5.
        N5 = 1 => "5",
        /// 6.
        N6 = 2 => "6",
        /// 8.
        N8 = 4 => "8",
        /// 10.
        N10 = 6 => "10",
        /// 12.
        N12 = 7 => "12",
    }
}

bits_enum! {
    /// ASTC 3D Dimension.
    pub enum Astc3dDimension = "ASTC 3D Dimension" {
        /// 4.
        #[default]
        N4 = 0 => "4",
        /// 5.
        N5 = 1 => "5",
        /// 6.
        N6 = 2 => "6",
        /// 3.
        N3 = 3 => "3",
    }
}

bits_enum! {
    /// Mipmap Mode.
    pub enum MipmapMode = "Mipmap Mode" {
        /// Nearest.
        #[default]
        Nearest = 0 => "Nearest",
        /// None.
        None = 1 => "None",
        /// Trilinear.
        Trilinear = 3 => "Trilinear",
    }
}

bits_enum! {
    /// LOD Algorithm.
    pub enum LodAlgorithm = "LOD Algorithm" {
        /// Isotropic.
        #[default]
        Isotropic = 0 => "Isotropic",
        /// Anisotropic.
        Anisotropic = 3 => "Anisotropic",
    }
}

bits_enum! {
    /// Texture Dimension.
    pub enum TextureDimension = "Texture Dimension" {
        /// Cube.
        #[default]
        Cube = 0 => "Cube",
        /// 1D.
        N1d = 1 => "1D",
        /// 2D.
        N2d = 2 => "2D",
        /// 3D.
        N3d = 3 => "3D",
    }
}

bits_enum! {
    /// Wrap Mode.
    pub enum WrapMode = "Wrap Mode" {
        /// Repeat.
        #[default]
        Repeat = 8 => "Repeat",
        /// Clamp to Edge.
        ClampToEdge = 9 => "Clamp to Edge",
        /// Clamp to Border.
        ClampToBorder = 11 => "Clamp to Border",
        /// Mirrored Repeat.
        MirroredRepeat = 12 => "Mirrored Repeat",
        /// Mirrored Clamp to Edge.
        MirroredClampToEdge = 13 => "Mirrored Clamp to Edge",
        /// Mirrored Clamp to Border.
        MirroredClampToBorder = 15 => "Mirrored Clamp to Border",
    }
}

bits_enum! {
    /// Reduction Mode.
    pub enum ReductionMode = "Reduction Mode" {
        /// Average.
        #[default]
        Average = 0 => "Average",
        /// Minimum.
        Minimum = 2 => "Minimum",
        /// Maximum.
        Maximum = 3 => "Maximum",
    }
}

bits_enum! {
    /// Plane Type.
    pub enum PlaneType = "Plane Type" {
        /// Null.
        #[default]
        Null = 0 => "Null",
        /// Generic.
        Generic = 1 => "Generic",
        /// ASTC 2D.
        Astc2d = 4 => "ASTC 2D",
        /// ASTC 3D.
        Astc3d = 5 => "ASTC 3D",
        /// AFBC.
        Afbc = 6 => "AFBC",
        /// Chroma 2p.
        Chroma2p = 8 => "Chroma 2p",
        /// AFRC.
        Afrc = 10 => "AFRC",
        /// AFRC Chroma 2p.
        AfrcChroma2p = 11 => "AFRC Chroma 2p",
    }
}

bits_enum! {
    /// Clump Ordering.
    pub enum ClumpOrdering = "Clump Ordering" {
        /// Tiled U-Interleaved.
        #[default]
        TiledUInterleaved = 1 => "Tiled U-Interleaved",
        /// Linear.
        Linear = 2 => "Linear",
        /// Tiles of 64 KiB. Mesa names it since 26.0.
        Interleaved64k = 8 => "Interleaved 64K",
    }
}

bits_enum! {
    /// AFBC Superblock Size.
    pub enum AfbcSuperblockSize = "AFBC Superblock Size" {
        /// 16x16.
        #[default]
        N16x16 = 0 => "16x16",
        /// 32x8.
        N32x8 = 1 => "32x8",
        /// 64x4.
        N64x4 = 2 => "64x4",
    }
}

bits_enum! {
    /// AFBC Compression Mode.
    pub enum AfbcCompressionMode = "AFBC Compression Mode" {
        /// R8.
        #[default]
        R8 = 0 => "R8",
        /// R16. This one, R16G16 and R16G16B16A16 are not in Mesa 25.0's genxml; its driver 26.1 uses them.
        R16 = 1 => "R16",
        /// R8G8.
        R8g8 = 3 => "R8G8",
        /// R5G6B5.
        R5g6b5 = 4 => "R5G6B5",
        /// R4G4B4A4.
        R4g4b4a4 = 5 => "R4G4B4A4",
        /// R5G5B5A1.
        R5g5b5a1 = 6 => "R5G5B5A1",
        /// R16G16.
        R16g16 = 8 => "R16G16",
        /// R8G8B8.
        R8g8b8 = 9 => "R8G8B8",
        /// R8G8B8A8.
        R8g8b8a8 = 10 => "R8G8B8A8",
        /// R10G10B10A2.
        R10g10b10a2 = 11 => "R10G10B10A2",
        /// R11G11B10.
        R11g11b10 = 12 => "R11G11B10",
        /// S8.
        S8 = 14 => "S8",
        /// X24S8.
        X24s8 = 15 => "X24S8",
        /// R16G16B16A16.
        R16g16b16a16 = 17 => "R16G16B16A16",
        /// YUV420 6c8.
        Yuv4206c8 = 32 => "YUV420 6c8",
        /// YUV420 2c8.
        Yuv4202c8 = 34 => "YUV420 2c8",
        /// YUV420 1c8.
        Yuv4201c8 = 35 => "YUV420 1c8",
        /// YUV422 4c8.
        Yuv4224c8 = 37 => "YUV422 4c8",
        /// YUV422 2c8.
        Yuv4222c8 = 38 => "YUV422 2c8",
        /// YUV422 1c8.
        Yuv4221c8 = 39 => "YUV422 1c8",
        /// YUV420 6c10.
        Yuv4206c10 = 40 => "YUV420 6c10",
        /// YUV420 2c10.
        Yuv4202c10 = 42 => "YUV420 2c10",
        /// YUV420 1c10.
        Yuv4201c10 = 43 => "YUV420 1c10",
        /// YUV422 4c10.
        Yuv4224c10 = 45 => "YUV422 4c10",
        /// YUV422 2c10.
        Yuv4222c10 = 46 => "YUV422 2c10",
        /// YUV422 1c10.
        Yuv4221c10 = 47 => "YUV422 1c10",
    }
}

bits_enum! {
    /// AFRC Block Size.
    pub enum AfrcBlockSize = "AFRC Block Size" {
        /// 16.
        #[default]
        N16 = 4 => "16",
        /// 24.
        N24 = 5 => "24",
        /// 32.
        N32 = 6 => "32",
    }
}

bits_enum! {
    /// The arrangement of texels in memory.
    pub enum TextureLayout = "Texture Layout" {
        /// None.
        #[default]
        None = 0 => "None",
        /// Tiled.
        Tiled = 1 => "Tiled",
        /// Linear.
        Linear = 2 => "Linear",
        /// AFBC.
        Afbc = 12 => "AFBC",
    }
}

packet! {
    /// A texture.
    pub struct Texture = "Texture", 32 bytes
    fixed {
        "Type" DescriptorType [0..4] = DescriptorType::Texture;
    }
    fields {
        /// Dimension.
        dimension: TextureDimension [4..6] "Dimension";
        /// Sample corner position.
        sample_corner_position: Bool [8..9] "Sample corner position";
        /// Normalize coordinates.
        normalize_coordinates: Bool [9..10] "Normalize coordinates";
        /// Format.
        format: Hex [10..32] "Format";
        /// Width.
        width: Minus<Uint, 1> [32..48] "Width";
        /// Height.
        height: Minus<Uint, 1> [48..64] "Height";
        /// Swizzle.
        swizzle: Hex [64..76] "Swizzle";
        /// Texel interleave.
        texel_interleave: Bool [76..77] "Texel interleave" before 2;
        /// Texel ordering.
        texel_ordering: TextureLayout [76..80] "Texel ordering" since 2;
        /// Levels.
        levels: Minus<Uint, 1> [80..85] "Levels" = 1;
        /// Minimum level.
        minimum_level: Uint [88..93] "Minimum level";
        /// Minimum LOD.
        minimum_lod: UnsignedFixed<8> [96..109] "Minimum LOD";
        /// Sample count.
        sample_count: Log2 [109..112] "Sample count" = 1;
        /// Maximum LOD.
        maximum_lod: UnsignedFixed<8> [112..125] "Maximum LOD";
        /// Surfaces.
        surfaces: Address [128..192] "Surfaces";
        /// Array size.
        array_size: Minus<Uint, 1> [192..208] "Array size" = 1;
        /// Depth.
        depth: Minus<Uint, 1> [224..240] "Depth" = 1;
    }
}

packet! {
    /// A plane of a texture: where its texels are.
    pub struct Plane = "Plane", 32 bytes
    fixed {
        "Type" DescriptorType [0..4] = DescriptorType::Plane;
    }
    fields {
        /// Plane type.
        plane_type: PlaneType [4..8] "Plane type";
        /// The order of texels or blocks.
        clump_ordering: ClumpOrdering [8..12] "Clump ordering" when (|p| !p.plane_type.is_afbc() && !p.plane_type.is_afrc());
        /// The format of texels or blocks.
        clump_format: ClumpFormat [24..32] "Clump format" when (|p| matches!(p.plane_type, PlaneType::Generic | PlaneType::Chroma2p));
        /// HDR formats decode as such.
        decode_hdr: Bool [24..25] "Decode HDR" when (|p| p.plane_type.is_astc());
        /// Results have 16 bits.
        decode_wide: Bool [25..26] "Decode Wide" when (|p| p.plane_type.is_astc());
        /// Block width.
        block_width_2d: Astc2dDimension [26..29] "2D Block width" when (|p| p.plane_type == PlaneType::Astc2d);
        /// Block height.
        block_height_2d: Astc2dDimension [29..32] "2D Block height" when (|p| p.plane_type == PlaneType::Astc2d);
        /// Block width.
        block_width_3d: Astc3dDimension [26..28] "3D Block width" when (|p| p.plane_type == PlaneType::Astc3d);
        /// Block height.
        block_height_3d: Astc3dDimension [28..30] "3D Block height" when (|p| p.plane_type == PlaneType::Astc3d);
        /// Block depth.
        block_depth_3d: Astc3dDimension [30..32] "3D Block depth" when (|p| p.plane_type == PlaneType::Astc3d);
        /// Superblock size.
        superblock_size: AfbcSuperblockSize [8..11] "Superblock size" when (|p| p.plane_type.is_afbc());
        /// The reversible transform to YUV.
        ytr: Bool [16..17] "YTR" when (|p| p.plane_type.is_afbc());
        /// Split block.
        split_block: Bool [17..18] "Split block" when (|p| p.plane_type.is_afbc());
        /// Alpha hint.
        alpha_hint: Bool [18..19] "Alpha hint" when (|p| p.plane_type.is_afbc());
        /// Headers are tiled.
        tiled_header: Bool [19..20] "Tiled header" when (|p| p.plane_type.is_afbc());
        /// Prefetch.
        prefetch: Bool [20..21] "Prefetch" when (|p| p.plane_type.is_afbc());
        /// Compression mode.
        compression_mode: AfbcCompressionMode [26..32] "Compression mode" when (|p| p.plane_type.is_afbc());
        /// Codec arguments.
        codec_arguments: Uint [8..16] "Codec arguments" when (|p| p.plane_type.is_afrc());
        /// Block size.
        block_size: AfrcBlockSize [20..24] "Block size" when (|p| p.plane_type.is_afrc());
        /// Format.
        format: Hex [24..32] "Format" when (|p| p.plane_type.is_afrc());
        /// Size in bytes.
        size: Uint [32..64] "Size";
        /// The first texel.
        pointer: Address [64..128] "Pointer";
        /// Bytes from row to row of texels or blocks.
        row_stride: Uint [128..160] "Row stride";
        /// Bytes of a row of headers.
        header_stride: Uint [160..192] "Header stride" when (|p| p.plane_type.is_afbc());
        /// Chroma width.
        chroma_width: Minus<Uint, 1> [160..176] "Chroma Width" when (|p| p.plane_type.is_chroma_2p());
        /// Chroma height.
        chroma_height: Minus<Uint, 1> [176..192] "Chroma Height" when (|p| p.plane_type.is_chroma_2p());
        /// The second plane.
        secondary_pointer: Address [192..256] "Secondary Pointer" when (|p| p.plane_type.is_chroma_2p());
        /// Bytes from slice to slice.
        slice_stride: Int [192..224] "Slice stride" when (|p| !p.plane_type.is_chroma_2p());
        /// Width in texels.
        width: Minus<Uint, 1> [224..240] "Width" when (|p| !p.plane_type.is_chroma_2p());
        /// Height in texels.
        height: Minus<Uint, 1> [240..256] "Height" when (|p| !p.plane_type.is_chroma_2p());
    }
}

impl PlaneType {
    /// AFBC.
    pub const fn is_afbc(self) -> bool {
        matches!(self, PlaneType::Afbc)
    }

    /// AFRC.
    pub const fn is_afrc(self) -> bool {
        matches!(self, PlaneType::Afrc | PlaneType::AfrcChroma2p)
    }

    /// ASTC.
    pub const fn is_astc(self) -> bool {
        matches!(self, PlaneType::Astc2d | PlaneType::Astc3d)
    }

    /// The chroma of an image of two or three planes.
    pub const fn is_chroma_2p(self) -> bool {
        matches!(self, PlaneType::Chroma2p | PlaneType::AfrcChroma2p)
    }
}

packet! {
    /// A sampler.
    pub struct Sampler = "Sampler", 32 bytes
    fixed {
        "Type" DescriptorType [0..4] = DescriptorType::Sampler;
    }
    fields {
        /// Reduction mode.
        reduction_mode: ReductionMode [4..6] "Reduction mode" before 1 = ReductionMode::Average;
        /// Wrap Mode R.
        wrap_mode_r: WrapMode [8..12] "Wrap Mode R" = WrapMode::ClampToEdge;
        /// Wrap Mode T.
        wrap_mode_t: WrapMode [12..16] "Wrap Mode T" = WrapMode::ClampToEdge;
        /// Wrap Mode S.
        wrap_mode_s: WrapMode [16..20] "Wrap Mode S" = WrapMode::ClampToEdge;
        /// Round to nearest even.
        round_to_nearest_even: Bool [21..22] "Round to nearest even" = true;
        /// SRGB override.
        srgb_override: Bool [22..23] "sRGB override";
        /// Seamless Cube Map.
        seamless_cube_map: Bool [23..24] "Seamless Cube Map" = true;
        /// Clamp integer coordinates.
        clamp_integer_coordinates: Bool [24..25] "Clamp integer coordinates";
        /// Normalized Coordinates.
        normalized_coordinates: Bool [25..26] "Normalized Coordinates" = true;
        /// Clamp integer array indices.
        clamp_integer_array_indices: Bool [26..27] "Clamp integer array indices" = true;
        /// Minify nearest.
        minify_nearest: Bool [27..28] "Minify nearest";
        /// Magnify nearest.
        magnify_nearest: Bool [28..29] "Magnify nearest";
        /// Magnify cutoff.
        magnify_cutoff: Bool [29..30] "Magnify cutoff";
        /// Mipmap Mode.
        mipmap_mode: MipmapMode [30..32] "Mipmap Mode" = MipmapMode::Nearest;
        /// Minimum LOD.
        minimum_lod: UnsignedFixed<8> [32..45] "Minimum LOD";
        /// Compare Function.
        compare_function: CompareFunction [45..48] "Compare Function" = CompareFunction::Never;
        /// Maximum LOD.
        maximum_lod: UnsignedFixed<8> [48..61] "Maximum LOD";
        /// LOD bias.
        lod_bias: Int [64..80] "LOD bias";
        /// Maximum anisotropy.
        maximum_anisotropy: Minus<Uint, 1> [80..85] "Maximum anisotropy" = 1;
        /// LOD algorithm.
        lod_algorithm: LodAlgorithm [88..90] "LOD algorithm" = LodAlgorithm::Isotropic;
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
pub static ALL: &[&PacketInfo] = &[Texture::INFO, Plane::INFO, Sampler::INFO];
