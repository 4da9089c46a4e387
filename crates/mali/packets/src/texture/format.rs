//! Formats of texels and of compressed blocks.
//!
// source: Mesa, src/panfrost/lib/genxml/v10.xml.

use tepui_packets::bits_enum;

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
