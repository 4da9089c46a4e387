//! Textures, their planes, and samplers.
//!
// source: Mesa, src/panfrost/lib/genxml/v10.xml.

use tepui_packets::types::{Address, Bool, Hex, Int, Log2, Minus, Uint, UnsignedFixed};
use tepui_packets::{Packet, PacketInfo, bits_enum, packet};

use crate::shader::DescriptorType;

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
    /// Format.
    pub enum Format = "Format" {
        /// ETC2 RGB8.
        #[default]
        Etc2Rgb8 = 1 => "ETC2 RGB8",
        /// ETC2 R11 UNORM.
        Etc2R11Unorm = 2 => "ETC2 R11 UNORM",
        /// ETC2 RGBA8.
        Etc2Rgba8 = 3 => "ETC2 RGBA8",
        /// ETC2 RG11 UNORM.
        Etc2Rg11Unorm = 4 => "ETC2 RG11 UNORM",
        /// BC1 UNORM.
        Bc1Unorm = 7 => "BC1 UNORM",
        /// BC2 UNORM.
        Bc2Unorm = 8 => "BC2 UNORM",
        /// BC3 UNORM.
        Bc3Unorm = 9 => "BC3 UNORM",
        /// BC4 UNORM.
        Bc4Unorm = 10 => "BC4 UNORM",
        /// BC4 SNORM.
        Bc4Snorm = 11 => "BC4 SNORM",
        /// BC5 UNORM.
        Bc5Unorm = 12 => "BC5 UNORM",
        /// BC5 SNORM.
        Bc5Snorm = 13 => "BC5 SNORM",
        /// BC6H UF16.
        Bc6hUf16 = 14 => "BC6H UF16",
        /// BC6H SF16.
        Bc6hSf16 = 15 => "BC6H SF16",
        /// BC7 UNORM.
        Bc7Unorm = 16 => "BC7 UNORM",
        /// ETC2 R11 SNORM.
        Etc2R11Snorm = 17 => "ETC2 R11 SNORM",
        /// ETC2 RG11 SNORM.
        Etc2Rg11Snorm = 18 => "ETC2 RG11 SNORM",
        /// ETC2 RGB8A1.
        Etc2Rgb8a1 = 19 => "ETC2 RGB8A1",
        /// ASTC 3D LDR.
        Astc3dLdr = 20 => "ASTC 3D LDR",
        /// ASTC 3D HDR.
        Astc3dHdr = 21 => "ASTC 3D HDR",
        /// ASTC 2D LDR.
        Astc2dLdr = 22 => "ASTC 2D LDR",
        /// ASTC 2D HDR.
        Astc2dHdr = 23 => "ASTC 2D HDR",
        /// AFBC.
        Afbc = 24 => "AFBC",
        /// AFRC.
        Afrc = 25 => "AFRC",
        /// ASTC 2D NARROW.
        Astc2dNarrow = 30 => "ASTC 2D NARROW",
        /// ASTC 3D NARROW.
        Astc3dNarrow = 31 => "ASTC 3D NARROW",
        /// YUV8.
        Yuv8 = 32 => "YUV8",
        /// YUVA8.
        Yuva8 = 33 => "YUVA8",
        /// YUYV8.
        Yuyv8 = 34 => "YUYV8",
        /// VYUY8.
        Vyuy8 = 35 => "VYUY8",
        /// Y8 UV8 422.
        Y8Uv8422 = 36 => "Y8 UV8 422",
        /// Y8 U8 V8 422.
        Y8U8V8422 = 37 => "Y8 U8 V8 422",
        /// Y8 UV8 420.
        Y8Uv8420 = 38 => "Y8 UV8 420",
        /// Y8 U8 V8 420.
        Y8U8V8420 = 39 => "Y8 U8 V8 420",
        /// YUV10 A2.
        Yuv10A2 = 40 => "YUV10 A2",
        /// A2 YUV10.
        A2Yuv10 = 41 => "A2 YUV10",
        /// YUYAAYVYAA.
        Yuyaayvyaa = 42 => "YUYAAYVYAA",
        /// YUYV10.
        Yuyv10 = 44 => "YUYV10",
        /// VYUY10.
        Vyuy10 = 45 => "VYUY10",
        /// Y10 UV10 422.
        Y10Uv10422 = 46 => "Y10 UV10 422",
        /// Y10 UV10 420.
        Y10Uv10420 = 47 => "Y10 UV10 420",
        /// YUV16.
        Yuv16 = 48 => "YUV16",
        /// YUVA16.
        Yuva16 = 49 => "YUVA16",
        /// YUYV16.
        Yuyv16 = 50 => "YUYV16",
        /// VYUY16.
        Vyuy16 = 51 => "VYUY16",
        /// Y10X6 U10X6V10X6 422.
        Y10x6U10x6v10x6422 = 52 => "Y10X6 U10X6V10X6 422",
        /// Y16 UV16 422.
        Y16Uv16422 = 53 => "Y16 UV16 422",
        /// Y16 UV16 420.
        Y16Uv16420 = 55 => "Y16 UV16 420",
        /// RGB565.
        Rgb565 = 64 => "RGB565",
        /// RGB5 A1 UNORM.
        Rgb5A1Unorm = 65 => "RGB5 A1 UNORM",
        /// A1 BGR5 UNORM.
        A1Bgr5Unorm = 66 => "A1 BGR5 UNORM",
        /// RGB10 A2 UNORM.
        Rgb10A2Unorm = 67 => "RGB10 A2 UNORM",
        /// A2 BGR10 UNORM.
        A2Bgr10Unorm = 68 => "A2 BGR10 UNORM",
        /// RGB10 A2 SNORM.
        Rgb10A2Snorm = 69 => "RGB10 A2 SNORM",
        /// A2 BGR10 SNORM.
        A2Bgr10Snorm = 70 => "A2 BGR10 SNORM",
        /// RGB10 A2UI.
        Rgb10A2ui = 71 => "RGB10 A2UI",
        /// A2 BGR10UI.
        A2Bgr10ui = 72 => "A2 BGR10UI",
        /// RGB10 A2I.
        Rgb10A2i = 73 => "RGB10 A2I",
        /// A2 BGR10I.
        A2Bgr10i = 74 => "A2 BGR10I",
        /// Z16 UNORM.
        Z16Unorm = 75 => "Z16 UNORM",
        /// Z32.
        Z32 = 76 => "Z32",
        /// Z24X8 UNORM.
        Z24x8Unorm = 77 => "Z24X8 UNORM",
        /// X8Z24.
        X8z24 = 78 => "X8Z24",
        /// R32 FIXED.
        R32Fixed = 81 => "R32 FIXED",
        /// RG32 FIXED.
        Rg32Fixed = 82 => "RG32 FIXED",
        /// RGB32 FIXED.
        Rgb32Fixed = 83 => "RGB32 FIXED",
        /// RGBA32 FIXED.
        Rgba32Fixed = 84 => "RGBA32 FIXED",
        /// R11F G11F B10F.
        R11fG11fB10f = 89 => "R11F G11F B10F",
        /// B10F G11F R11F.
        B10fG11fR11f = 90 => "B10F G11F R11F",
        /// R9F G9F B9F E5F.
        R9fG9fB9fE5f = 91 => "R9F G9F B9F E5F",
        /// E5F B9F G9F R9F.
        E5fB9fG9fR9f = 92 => "E5F B9F G9F R9F",
        /// S8.
        S8 = 93 => "S8",
        /// Snap 4.
        Snap4 = 94 => "Snap 4",
        /// Constant.
        Constant = 95 => "Constant",
        /// R8 SNORM.
        R8Snorm = 99 => "R8 SNORM",
        /// R16 SNORM.
        R16Snorm = 100 => "R16 SNORM",
        /// R32 SNORM.
        R32Snorm = 101 => "R32 SNORM",
        /// RG4 SNORM.
        Rg4Snorm = 106 => "RG4 SNORM",
        /// RG8 SNORM.
        Rg8Snorm = 107 => "RG8 SNORM",
        /// RG16 SNORM.
        Rg16Snorm = 108 => "RG16 SNORM",
        /// RG32 SNORM.
        Rg32Snorm = 109 => "RG32 SNORM",
        /// RGB8 SNORM.
        Rgb8Snorm = 115 => "RGB8 SNORM",
        /// RGB16 SNORM.
        Rgb16Snorm = 116 => "RGB16 SNORM",
        /// RGB32 SNORM.
        Rgb32Snorm = 117 => "RGB32 SNORM",
        /// RGBA2 SNORM.
        Rgba2Snorm = 121 => "RGBA2 SNORM",
        /// RGBA4 SNORM.
        Rgba4Snorm = 122 => "RGBA4 SNORM",
        /// RGBA8 SNORM.
        Rgba8Snorm = 123 => "RGBA8 SNORM",
        /// RGBA16 SNORM.
        Rgba16Snorm = 124 => "RGBA16 SNORM",
        /// RGBA32 SNORM.
        Rgba32Snorm = 125 => "RGBA32 SNORM",
        /// R8UI.
        R8ui = 131 => "R8UI",
        /// R16UI.
        R16ui = 132 => "R16UI",
        /// R32UI.
        R32ui = 133 => "R32UI",
        /// RG4UI.
        Rg4ui = 138 => "RG4UI",
        /// RG8UI.
        Rg8ui = 139 => "RG8UI",
        /// RG16UI.
        Rg16ui = 140 => "RG16UI",
        /// RG32UI.
        Rg32ui = 141 => "RG32UI",
        /// RGB8UI.
        Rgb8ui = 147 => "RGB8UI",
        /// RGB16UI.
        Rgb16ui = 148 => "RGB16UI",
        /// RGB32UI.
        Rgb32ui = 149 => "RGB32UI",
        /// RGBA2UI.
        Rgba2ui = 153 => "RGBA2UI",
        /// RGBA4UI.
        Rgba4ui = 154 => "RGBA4UI",
        /// RGBA8UI.
        Rgba8ui = 155 => "RGBA8UI",
        /// RGBA16UI.
        Rgba16ui = 156 => "RGBA16UI",
        /// RGBA32UI.
        Rgba32ui = 157 => "RGBA32UI",
        /// R8 UNORM.
        R8Unorm = 163 => "R8 UNORM",
        /// R16 UNORM.
        R16Unorm = 164 => "R16 UNORM",
        /// R32 UNORM.
        R32Unorm = 165 => "R32 UNORM",
        /// R32F.
        R32f = 167 => "R32F",
        /// RG4 UNORM.
        Rg4Unorm = 170 => "RG4 UNORM",
        /// RG8 UNORM.
        Rg8Unorm = 171 => "RG8 UNORM",
        /// RG16 UNORM.
        Rg16Unorm = 172 => "RG16 UNORM",
        /// RG32 UNORM.
        Rg32Unorm = 173 => "RG32 UNORM",
        /// RG32F.
        Rg32f = 175 => "RG32F",
        /// RGB8 UNORM.
        Rgb8Unorm = 179 => "RGB8 UNORM",
        /// RGB16 UNORM.
        Rgb16Unorm = 180 => "RGB16 UNORM",
        /// RGB32 UNORM.
        Rgb32Unorm = 181 => "RGB32 UNORM",
        /// RGB32F.
        Rgb32f = 183 => "RGB32F",
        /// RGBA2 UNORM.
        Rgba2Unorm = 185 => "RGBA2 UNORM",
        /// RGBA4 UNORM.
        Rgba4Unorm = 186 => "RGBA4 UNORM",
        /// RGBA8 UNORM.
        Rgba8Unorm = 187 => "RGBA8 UNORM",
        /// RGBA16 UNORM.
        Rgba16Unorm = 188 => "RGBA16 UNORM",
        /// RGBA32 UNORM.
        Rgba32Unorm = 189 => "RGBA32 UNORM",
        /// RGBA32F.
        Rgba32f = 191 => "RGBA32F",
        /// R8I.
        R8i = 195 => "R8I",
        /// R16I.
        R16i = 196 => "R16I",
        /// R32I.
        R32i = 197 => "R32I",
        /// R16F.
        R16f = 199 => "R16F",
        /// RG4I.
        Rg4i = 202 => "RG4I",
        /// RG8I.
        Rg8i = 203 => "RG8I",
        /// RG16I.
        Rg16i = 204 => "RG16I",
        /// RG32I.
        Rg32i = 205 => "RG32I",
        /// RG16F.
        Rg16f = 207 => "RG16F",
        /// RGB8I.
        Rgb8i = 211 => "RGB8I",
        /// RGB16I.
        Rgb16i = 212 => "RGB16I",
        /// RGB32I.
        Rgb32i = 213 => "RGB32I",
        /// RGB16F.
        Rgb16f = 215 => "RGB16F",
        /// RGBA2I.
        Rgba2i = 217 => "RGBA2I",
        /// RGBA4I.
        Rgba4i = 218 => "RGBA4I",
        /// RGBA8I.
        Rgba8i = 219 => "RGBA8I",
        /// RGBA16I.
        Rgba16i = 220 => "RGBA16I",
        /// RGBA32I.
        Rgba32i = 221 => "RGBA32I",
        /// RGBA16F.
        Rgba16f = 223 => "RGBA16F",
        /// RGB5 A1 AU.
        Rgb5A1Au = 224 => "RGB5 A1 AU",
        /// RGB5 A1 PU.
        Rgb5A1Pu = 225 => "RGB5 A1 PU",
        /// R5G6B5 AU.
        R5g6b5Au = 226 => "R5G6B5 AU",
        /// R5G6B5 PU.
        R5g6b5Pu = 227 => "R5G6B5 PU",
        /// Snap4 V.
        Snap4V = 230 => "Snap4 V",
        /// R32F RTZ.
        R32fRtz = 231 => "R32F RTZ",
        /// RGBA4 AU.
        Rgba4Au = 232 => "RGBA4 AU",
        /// RGBA4 PU.
        Rgba4Pu = 233 => "RGBA4 PU",
        /// RGBA8 TB.
        Rgba8Tb = 237 => "RGBA8 TB",
        /// RGB10 A2 TB.
        Rgb10A2Tb = 238 => "RGB10 A2 TB",
        /// RG32F RTZ.
        Rg32fRtz = 239 => "RG32F RTZ",
        /// Tess Vertex Pack.
        TessVertexPack = 240 => "Tess Vertex Pack",
        /// RGB8 A2 AU.
        Rgb8A2Au = 241 => "RGB8 A2 AU",
        /// RGB8 A2 PU.
        Rgb8A2Pu = 242 => "RGB8 A2 PU",
        /// RGB32F RTZ.
        Rgb32fRtz = 247 => "RGB32F RTZ",
        /// RGBA32F RTZ.
        Rgba32fRtz = 255 => "RGBA32F RTZ",
    }
}

bits_enum! {
    /// RGB Component Order.
    pub enum ComponentOrder = "RGB Component Order" {
        /// RGBA.
        #[default]
        Rgba = 0 => "RGBA",
        /// GRBA.
        Grba = 2 => "GRBA",
        /// BGRA.
        Bgra = 4 => "BGRA",
        /// ARGB.
        Argb = 8 => "ARGB",
        /// AGRB.
        Agrb = 10 => "AGRB",
        /// ABGR.
        Abgr = 12 => "ABGR",
        /// RGB1.
        Rgb1 = 16 => "RGB1",
        /// GRB1.
        Grb1 = 18 => "GRB1",
        /// BGR1.
        Bgr1 = 20 => "BGR1",
        /// 1RGB.
        N1rgb = 24 => "1RGB",
        /// 1GRB.
        N1grb = 26 => "1GRB",
        /// 1BGR.
        N1bgr = 28 => "1BGR",
        /// RRRR.
        Rrrr = 226 => "RRRR",
        /// RRR1.
        Rrr1 = 227 => "RRR1",
        /// RRRA.
        Rrra = 228 => "RRRA",
        /// 000A.
        N000a = 229 => "000A",
        /// 0001.
        N0001 = 230 => "0001",
        /// 0000.
        N0000 = 231 => "0000",
        /// Snap4 v9.
        Snap4V9 = 232 => "Snap4 v9",
        /// Snap4 v10.
        Snap4V10 = 233 => "Snap4 v10",
        /// Snap4 v11.
        Snap4V11 = 234 => "Snap4 v11",
        /// Snap4 v12.
        Snap4V12 = 235 => "Snap4 v12",
        /// Snap4 v13.
        Snap4V13 = 236 => "Snap4 v13",
        /// Snap4 v14.
        Snap4V14 = 237 => "Snap4 v14",
        /// Snap4 v15.
        Snap4V15 = 238 => "Snap4 v15",
        /// Snap4 v16.
        Snap4V16 = 239 => "Snap4 v16",
        /// R000.
        R000 = 240 => "R000",
        /// RBGA.
        Rbga = 242 => "RBGA",
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
    /// Clump Format.
    pub enum ClumpFormat = "Clump Format" {
        /// RAW8.
        #[default]
        Raw8 = 0 => "RAW8",
        /// RAW16.
        Raw16 = 1 => "RAW16",
        /// RAW32.
        Raw32 = 2 => "RAW32",
        /// RAW64.
        Raw64 = 3 => "RAW64",
        /// RAW128.
        Raw128 = 4 => "RAW128",
        /// RAW24.
        Raw24 = 8 => "RAW24",
        /// RAW48.
        Raw48 = 9 => "RAW48",
        /// RAW96.
        Raw96 = 10 => "RAW96",
        /// D32X32.
        D32x32 = 16 => "D32X32",
        /// X32D32.
        X32d32 = 17 => "X32D32",
        /// X32S8X24.
        X32s8x24 = 18 => "X32S8X24",
        /// X24S8X32.
        X24s8x32 = 19 => "X24S8X32",
        /// X24S8.
        X24s8 = 20 => "X24S8",
        /// S8X24.
        S8x24 = 21 => "S8X24",
        /// S8.
        S8 = 22 => "S8",
        /// L4A4.
        L4a4 = 24 => "L4A4",
        /// L8A8.
        L8a8 = 25 => "L8A8",
        /// A8.
        A8 = 26 => "A8",
        /// ETC2 RGB8.
        Etc2Rgb8 = 32 => "ETC2 RGB8",
        /// ETC2 R11 UNORM.
        Etc2R11Unorm = 33 => "ETC2 R11 UNORM",
        /// ETC2 R11 SNORM.
        Etc2R11Snorm = 34 => "ETC2 R11 SNORM",
        /// ETC2 RG11 UNORM.
        Etc2Rg11Unorm = 35 => "ETC2 RG11 UNORM",
        /// ETC2 RG11 SNORM.
        Etc2Rg11Snorm = 36 => "ETC2 RG11 SNORM",
        /// ETC2 RGBA8.
        Etc2Rgba8 = 37 => "ETC2 RGBA8",
        /// ETC2 RGB8A1.
        Etc2Rgb8a1 = 38 => "ETC2 RGB8A1",
        /// BC1 UNORM.
        Bc1Unorm = 48 => "BC1 UNORM",
        /// BC2 UNORM.
        Bc2Unorm = 49 => "BC2 UNORM",
        /// BC3 UNORM.
        Bc3Unorm = 50 => "BC3 UNORM",
        /// BC4 UNORM.
        Bc4Unorm = 51 => "BC4 UNORM",
        /// BC4 SNORM.
        Bc4Snorm = 52 => "BC4 SNORM",
        /// BC5 UNORM.
        Bc5Unorm = 53 => "BC5 UNORM",
        /// BC5 SNORM.
        Bc5Snorm = 54 => "BC5 SNORM",
        /// BC6H UF16.
        Bc6hUf16 = 55 => "BC6H UF16",
        /// BC6H SF16.
        Bc6hSf16 = 56 => "BC6H SF16",
        /// BC7 UNORM.
        Bc7Unorm = 57 => "BC7 UNORM",
        /// Y8 UV8 422.
        Y8Uv8422 = 64 => "Y8 UV8 422",
        /// Y10 UV10 422.
        Y10Uv10422 = 65 => "Y10 UV10 422",
        /// Y16 UV16 422.
        Y16Uv16422 = 67 => "Y16 UV16 422",
        /// Y8 UV8 420.
        Y8Uv8420 = 72 => "Y8 UV8 420",
        /// Y10 UV10 420.
        Y10Uv10420 = 73 => "Y10 UV10 420",
        /// Y16 UV16 420.
        Y16Uv16420 = 75 => "Y16 UV16 420",
        /// YUV420 10x6.
        Yuv42010x6 = 76 => "YUV420 10x6",
        /// RAW10.
        Raw10 = 120 => "RAW10",
        /// RAW12.
        Raw12 = 121 => "RAW12",
        /// R8G8B8G8.
        R8g8b8g8 = 124 => "R8G8B8G8",
        /// G8R8G8B8.
        G8r8g8b8 = 125 => "G8R8G8B8",
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
