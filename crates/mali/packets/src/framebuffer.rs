//! Framebuffers: parameters, attachments, and what runs over their tiles.
//!
// source: Mesa, src/panfrost/lib/genxml/v10.xml.

use tepui_packets::types::{Address, Bool, Float, Hex, Hex64, Log2, Minus, Nested, Shr, Uint};
use tepui_packets::{Packet, PacketInfo, bits_enum, packet};

use crate::cs::TileRenderOrder;
use crate::texture::{AfbcCompressionMode, AfrcBlockSize};

bits_enum! {
    /// YUV Swizzle.
    pub enum YuvSwizzle = "YUV Swizzle" {
        /// YUVA.
        #[default]
        Yuva = 0 => "YUVA",
        /// YVUA.
        Yvua = 1 => "YVUA",
        /// UYVA.
        Uyva = 2 => "UYVA",
        /// UVYA.
        Uvya = 3 => "UVYA",
        /// VUYA.
        Vuya = 4 => "VUYA",
        /// VYUA.
        Vyua = 5 => "VYUA",
        /// Y00A.
        Y00a = 6 => "Y00A",
        /// YXXA.
        Yxxa = 7 => "YXXA",
    }
}

bits_enum! {
    /// YUV Conversion Mode.
    pub enum YuvConversionMode = "YUV Conversion Mode" {
        /// No Conversion.
        #[default]
        NoConversion = 0 => "No Conversion",
        /// BT 601.
        Bt601 = 3 => "BT 601",
        /// BT 709.
        Bt709 = 4 => "BT 709",
        /// BT 2020.
        Bt2020 = 6 => "BT 2020",
    }
}

bits_enum! {
    /// YUV Cr Siting.
    pub enum YuvCrSiting = "YUV Cr Siting" {
        /// Co-Sited.
        #[default]
        CoSited = 0 => "Co-Sited",
        /// Center Y.
        CenterY = 1 => "Center Y",
        /// Center X.
        CenterX = 2 => "Center X",
        /// Center.
        Center = 3 => "Center",
        /// One Quarter.
        OneQuarter = 4 => "One Quarter",
        /// Three Quarters.
        ThreeQuarters = 5 => "Three Quarters",
        /// Replicated.
        Replicated = 7 => "Replicated",
    }
}

bits_enum! {
    /// Block Format.
    pub enum BlockFormat = "Block Format" {
        /// No Write.
        #[default]
        NoWrite = 0 => "No Write",
        /// Tiled U-Interleaved.
        TiledUInterleaved = 1 => "Tiled U-Interleaved",
        /// Linear.
        Linear = 2 => "Linear",
        /// Tiles of 64 KiB. Mesa names it since 26.0.
        Interleaved64k = 8 => "Interleaved 64K",
        /// AFBC.
        Afbc = 12 => "AFBC",
        /// AFBC Tiled.
        AfbcTiled = 13 => "AFBC Tiled",
    }
}

bits_enum! {
    /// Writeback Mode.
    pub enum WritebackMode = "Writeback Mode" {
        /// Compat.
        #[default]
        Compat = 0 => "Compat",
        /// AFRC RGB.
        AfrcRgb = 6 => "AFRC RGB",
        /// AFRC YUV.
        AfrcYuv = 7 => "AFRC YUV",
    }
}

bits_enum! {
    /// MSAA.
    pub enum Msaa = "MSAA" {
        /// Single.
        #[default]
        Single = 0 => "Single",
        /// Average.
        Average = 1 => "Average",
        /// Multiple.
        Multiple = 2 => "Multiple",
        /// Layered.
        Layered = 3 => "Layered",
    }
}

bits_enum! {
    /// Color Buffer Internal Format.
    pub enum ColorBufferInternalFormat = "Color Buffer Internal Format" {
        /// Raw Value.
        #[default]
        RawValue = 0 => "Raw Value",
        /// R8G8B8A8.
        R8g8b8a8 = 1 => "R8G8B8A8",
        /// R10G10B10A2.
        R10g10b10a2 = 2 => "R10G10B10A2",
        /// R8G8B8A2.
        R8g8b8a2 = 3 => "R8G8B8A2",
        /// R4G4B4A4.
        R4g4b4a4 = 4 => "R4G4B4A4",
        /// R5G6B5A0.
        R5g6b5a0 = 5 => "R5G6B5A0",
        /// R5G5B5A1.
        R5g5b5a1 = 6 => "R5G5B5A1",
        /// R16F. This and the next three are not in Mesa 25.0's genxml; its driver 26.1 uses them for
        /// formats of these components.
        R16f = 16 => "R16F",
        /// R16G16F.
        R16g16f = 17 => "R16G16F",
        /// R16G16B16A16F.
        R16g16b16a16f = 18 => "R16G16B16A16F",
        /// R11G11B10F.
        R11g11b10f = 20 => "R11G11B10F",
        /// RAW8.
        Raw8 = 32 => "RAW8",
        /// RAW16.
        Raw16 = 33 => "RAW16",
        /// RAW32.
        Raw32 = 34 => "RAW32",
        /// RAW64.
        Raw64 = 35 => "RAW64",
        /// RAW128.
        Raw128 = 36 => "RAW128",
    }
}

bits_enum! {
    /// Color Format.
    pub enum ColorFormat = "Color Format" {
        /// RAW8.
        #[default]
        Raw8 = 0 => "RAW8",
        /// RAW16.
        Raw16 = 1 => "RAW16",
        /// RAW24.
        Raw24 = 2 => "RAW24",
        /// RAW32.
        Raw32 = 3 => "RAW32",
        /// RAW48.
        Raw48 = 4 => "RAW48",
        /// RAW64.
        Raw64 = 5 => "RAW64",
        /// RAW96.
        Raw96 = 6 => "RAW96",
        /// RAW128.
        Raw128 = 7 => "RAW128",
        /// RAW192.
        Raw192 = 8 => "RAW192",
        /// RAW256.
        Raw256 = 9 => "RAW256",
        /// RAW384.
        Raw384 = 10 => "RAW384",
        /// RAW512.
        Raw512 = 11 => "RAW512",
        /// RAW768.
        Raw768 = 12 => "RAW768",
        /// RAW1024.
        Raw1024 = 13 => "RAW1024",
        /// RAW1536.
        Raw1536 = 14 => "RAW1536",
        /// RAW2048.
        Raw2048 = 15 => "RAW2048",
        /// R8.
        R8 = 16 => "R8",
        /// R8G8.
        R8g8 = 17 => "R8G8",
        /// R8G8B8.
        R8g8b8 = 18 => "R8G8B8",
        /// R8G8B8A8.
        R8g8b8a8 = 19 => "R8G8B8A8",
        /// R4G4B4A4.
        R4g4b4a4 = 20 => "R4G4B4A4",
        /// R5G6B5.
        R5g6b5 = 21 => "R5G6B5",
        /// R8G8B8_FROM_R8G8B8A2.
        R8g8b8FromR8g8b8a2 = 22 => "R8G8B8_FROM_R8G8B8A2",
        /// R10G10B10A2.
        R10g10b10a2 = 24 => "R10G10B10A2",
        /// A2B10G10R10.
        A2b10g10r10 = 25 => "A2B10G10R10",
        /// R5G5B5A1.
        R5g5b5a1 = 28 => "R5G5B5A1",
        /// A1B5G5R5.
        A1b5g5r5 = 29 => "A1B5G5R5",
        /// NATIVE.
        Native = 31 => "NATIVE",
    }
}

bits_enum! {
    /// ZS Format.
    pub enum ZsFormat = "ZS Format" {
        /// D16.
        #[default]
        D16 = 1 => "D16",
        /// D24.
        D24 = 2 => "D24",
        /// D24X8.
        D24x8 = 4 => "D24X8",
        /// D24S8.
        D24s8 = 5 => "D24S8",
        /// D32.
        D32 = 14 => "D32",
    }
}

bits_enum! {
    /// S Format.
    pub enum SFormat = "S Format" {
        /// S8.
        #[default]
        S8 = 1 => "S8",
        /// X24S8.
        X24s8 = 4 => "X24S8",
    }
}

bits_enum! {
    /// Tie-Break Rule.
    pub enum TieBreakRule = "Tie-Break Rule" {
        /// 0_IN_180_OUT.
        #[default]
        N0In180Out = 0 => "0_IN_180_OUT",
        /// 0_OUT_180_IN.
        N0Out180In = 1 => "0_OUT_180_IN",
        /// MINUS_180_IN_0_OUT.
        Minus180In0Out = 2 => "MINUS_180_IN_0_OUT",
        /// MINUS_180_OUT_0_IN.
        Minus180Out0In = 3 => "MINUS_180_OUT_0_IN",
        /// 90_IN_270_OUT.
        N90In270Out = 4 => "90_IN_270_OUT",
        /// 90_OUT_270_IN.
        N90Out270In = 5 => "90_OUT_270_IN",
        /// MINUS_90_IN_90_OUT.
        Minus90In90Out = 6 => "MINUS_90_IN_90_OUT",
        /// MINUS_90_OUT_90_IN.
        Minus90Out90In = 7 => "MINUS_90_OUT_90_IN",
    }
}

bits_enum! {
    /// Sample Pattern.
    pub enum SamplePattern = "Sample Pattern" {
        /// Single-sampled.
        #[default]
        SingleSampled = 0 => "Single-sampled",
        /// Ordered 4x Grid.
        Ordered4xGrid = 1 => "Ordered 4x Grid",
        /// Rotated 4x Grid.
        Rotated4xGrid = 2 => "Rotated 4x Grid",
        /// D3D 8x Grid.
        D3d8xGrid = 3 => "D3D 8x Grid",
        /// D3D 16x Grid.
        D3d16xGrid = 4 => "D3D 16x Grid",
    }
}

bits_enum! {
    /// Z Internal Format.
    pub enum ZInternalFormat = "Z Internal Format" {
        /// D16.
        #[default]
        D16 = 0 => "D16",
        /// D24.
        D24 = 1 => "D24",
        /// D32.
        D32 = 2 => "D32",
    }
}

bits_enum! {
    /// Pre Post Frame Shader Mode.
    pub enum PrePostFrameShaderMode = "Pre Post Frame Shader Mode" {
        /// Never.
        #[default]
        Never = 0 => "Never",
        /// Always.
        Always = 1 => "Always",
        /// Intersect.
        Intersect = 2 => "Intersect",
        /// Early ZS always.
        EarlyZsAlways = 3 => "Early ZS always",
    }
}

bits_enum! {
    /// Downscale.
    pub enum Downscale = "Downscale" {
        /// None.
        #[default]
        None = 0 => "None",
        /// 2x.
        N2x = 1 => "2x",
        /// 4x.
        N4x = 2 => "4x",
    }
}

packet! {
    /// Framebuffer Parameters.
    pub struct FramebufferParameters = "Framebuffer Parameters", 64 bytes
    fields {
        /// Pre Frame 0.
        pre_frame_0: PrePostFrameShaderMode [0..3] "Pre Frame 0";
        /// Pre Frame 1.
        pre_frame_1: PrePostFrameShaderMode [3..6] "Pre Frame 1";
        /// Post Frame.
        post_frame: PrePostFrameShaderMode [6..9] "Post Frame";
        /// Downscale geometry.
        downscale_geometry: Downscale [9..11] "Downscale geometry" before 2;
        /// Internal layer index.
        internal_layer_index: Uint [24..32] "Internal layer index" before 2;
        /// Frame argument.
        frame_argument: Hex64 [64..128] "Frame argument" before 2;
        /// Sample Locations.
        sample_locations: Address [128..192] "Sample Locations";
        /// Frame Shader DCDs.
        frame_shader_dcds: Address [192..256] "Frame Shader DCDs";
        /// Width.
        width: Minus<Uint, 1> [256..272] "Width";
        /// Height.
        height: Minus<Uint, 1> [272..288] "Height";
        /// Bound Min X.
        bound_min_x: Uint [288..304] "Bound Min X";
        /// Bound Min Y.
        bound_min_y: Uint [304..320] "Bound Min Y";
        /// Bound Max X.
        bound_max_x: Uint [320..336] "Bound Max X";
        /// Bound Max Y.
        bound_max_y: Uint [336..352] "Bound Max Y";
        /// Sample Count.
        sample_count: Log2 [352..355] "Sample Count" = 1;
        /// Sample Pattern.
        sample_pattern: SamplePattern [355..358] "Sample Pattern";
        /// Tie-Break Rule.
        tie_break_rule: TieBreakRule [358..361] "Tie-Break Rule";
        /// Effective Tile Size.
        effective_tile_size: Log2 [361..365] "Effective Tile Size";
        /// X Downsampling Scale.
        x_downsampling_scale: Uint [365..368] "X Downsampling Scale" since 2;
        /// Y Downsampling Scale.
        y_downsampling_scale: Uint [368..371] "Y Downsampling Scale" since 2;
        /// First provoking vertex.
        first_provoking_vertex: Bool [366..367] "First provoking vertex" before 2;
        /// Point sprite coord origin max Y.
        point_sprite_coord_origin_max_y: Bool [367..368] "Point sprite coord origin max Y" before 2 = true;
        /// Blend suppress Inf.
        blend_suppress_inf: Bool [368..369] "Blend suppress Inf" before 2;
        /// Blend suppress NaN.
        blend_suppress_nan: Bool [369..370] "Blend suppress NaN" before 2;
        /// Blend suppress denorm.
        blend_suppress_denorm: Bool [370..371] "Blend suppress denorm" before 2;
        /// Render Target Count.
        render_target_count: Minus<Uint, 1> [371..375] "Render Target Count";
        /// Color Buffer Allocation.
        color_buffer_allocation: Shr<Uint, 10> [376..384] "Color Buffer Allocation";
        /// S Clear.
        s_clear: Uint [384..392] "S Clear";
        /// S Write Enable.
        s_write_enable: Bool [392..393] "S Write Enable";
        /// S Preload Enable.
        s_preload_enable: Bool [393..394] "S Preload Enable";
        /// S Unload Enable.
        s_unload_enable: Bool [394..395] "S Unload Enable";
        /// Z Internal Format.
        z_internal_format: ZInternalFormat [400..402] "Z Internal Format";
        /// Z Write Enable.
        z_write_enable: Bool [402..403] "Z Write Enable";
        /// Z Preload Enable.
        z_preload_enable: Bool [403..404] "Z Preload Enable";
        /// Z Unload Enable.
        z_unload_enable: Bool [404..405] "Z Unload Enable";
        /// Has ZS CRC Extension.
        has_zs_crc_extension: Bool [405..406] "Has ZS CRC Extension";
        /// Empty Tile Read Enable.
        empty_tile_read_enable: Bool [412..413] "Empty Tile Read Enable";
        /// Empty Tile Write Enable.
        empty_tile_write_enable: Bool [413..414] "Empty Tile Write Enable";
        /// CRC Read Enable.
        crc_read_enable: Bool [414..415] "CRC Read Enable";
        /// CRC Write Enable.
        crc_write_enable: Bool [415..416] "CRC Write Enable";
        /// Z Clear.
        z_clear: Float [416..448] "Z Clear";
        /// Tiler.
        tiler: Address [448..512] "Tiler";
    }
}

packet! {
    /// ZS CRC Extension.
    pub struct ZsCrcExtension = "ZS CRC Extension", 64 bytes
    fields {
        /// ZS Write Format.
        zs_write_format: ZsFormat [0..4] "ZS Write Format";
        /// ZS Block Format.
        zs_block_format: BlockFormat [4..8] "ZS Block Format";
        /// ZS MSAA.
        zs_msaa: Msaa [8..10] "ZS MSAA" = Msaa::Single;
        /// CRC Render Target.
        crc_render_target: Uint [13..17] "CRC Render Target";
        /// S Write Format.
        s_write_format: SFormat [16..20] "S Write Format";
        /// S Block Format.
        s_block_format: BlockFormat [20..24] "S Block Format";
        /// S MSAA.
        s_msaa: Msaa [24..26] "S MSAA" = Msaa::Single;
        /// AFBC Reverse Issue Order.
        afbc_reverse_issue_order: Bool [30..31] "AFBC Reverse Issue Order";
        /// ZS Clean Pixel Write Enable.
        zs_clean_pixel_write_enable: Bool [31..32] "ZS Clean Pixel Write Enable";
        /// CRC Row Stride.
        crc_row_stride: Uint [32..64] "CRC Row Stride";
        /// CRC Clear Color.
        crc_clear_color: Hex64 [64..128] "CRC Clear Color";
        /// CRC Base.
        crc_base: Address [128..192] "CRC Base";
        /// ZS Writeback Base.
        zs_writeback_base: Address [256..320] "ZS Writeback Base";
        /// ZS Writeback Row Stride.
        zs_writeback_row_stride: Uint [320..352] "ZS Writeback Row Stride";
        /// ZS Writeback Surface Stride.
        zs_writeback_surface_stride: Uint [352..384] "ZS Writeback Surface Stride" when (|p| p.zs_block_format != BlockFormat::Afbc && p.zs_block_format != BlockFormat::AfbcTiled);
        /// ZS AFBC Body Offset.
        zs_afbc_body_offset: Uint [352..384] "ZS AFBC Body Offset" when (|p| p.zs_block_format == BlockFormat::Afbc || p.zs_block_format == BlockFormat::AfbcTiled);
        /// S Writeback Base.
        s_writeback_base: Address [384..448] "S Writeback Base";
        /// S Writeback Row Stride.
        s_writeback_row_stride: Uint [448..480] "S Writeback Row Stride";
        /// S Writeback Surface Stride.
        s_writeback_surface_stride: Uint [480..512] "S Writeback Surface Stride" when (|p| p.s_block_format != BlockFormat::Afbc && p.s_block_format != BlockFormat::AfbcTiled);
        /// S AFBC Body Offset.
        s_afbc_body_offset: Uint [480..512] "S AFBC Body Offset" when (|p| p.s_block_format == BlockFormat::Afbc || p.s_block_format == BlockFormat::AfbcTiled);
    }
}

packet! {
    /// RT Buffer.
    pub struct RtBuffer = "RT Buffer", 16 bytes
    fields {
        /// Base.
        base: Address [0..64] "Base";
        /// Row Stride.
        row_stride: Uint [64..96] "Row Stride";
        /// Surface Stride.
        surface_stride: Uint [96..128] "Surface Stride";
    }
}

packet! {
    /// RT Clear.
    pub struct RtClear = "RT Clear", 16 bytes
    fields {
        /// Color 0.
        color_0: Uint [0..32] "Color 0";
        /// Color 1.
        color_1: Uint [32..64] "Color 1";
        /// Color 2.
        color_2: Uint [64..96] "Color 2";
        /// Color 3.
        color_3: Uint [96..128] "Color 3";
    }
}

bits_enum! {
    /// Layouts in memory (v6).
    pub enum BlockFormatV6 = "Block Format (v6)" {
        /// Tiled U-Interleaved.
        #[default]
        TiledUInterleaved = 0 => "Tiled U-Interleaved",
        /// Tiled Linear.
        TiledLinear = 1 => "Tiled Linear",
        /// Linear.
        Linear = 2 => "Linear",
        /// AFBC.
        Afbc = 3 => "AFBC",
    }
}

impl BlockFormatV6 {
    /// The corresponding layout of later architectures; `None` for a layout that they lack.
    pub fn later(self) -> Option<BlockFormat> {
        match self {
            BlockFormatV6::TiledUInterleaved => Some(BlockFormat::TiledUInterleaved),
            BlockFormatV6::TiledLinear => None,
            BlockFormatV6::Linear => Some(BlockFormat::Linear),
            BlockFormatV6::Afbc => Some(BlockFormat::Afbc),
        }
    }
}

packet! {
    /// A colour attachment. Fields of images in several planes (YUV) and of compressed ones (AFBC, AFRC)
    /// share bits.
    pub struct RenderTarget = "Render Target", 64 bytes
    fields {
        /// Writeback mode.
        writeback_mode: WritebackMode [0..4] "Writeback Mode" before 1;
        /// The place in the tile buffer, in bytes.
        internal_buffer_offset: Shr<Uint, 4> [4..16] "Internal Buffer Offset";
        /// YUV enable.
        yuv_enable: Bool [24..25] "YUV Enable";
        /// Dithered clear.
        dithered_clear: Bool [25..26] "Dithered Clear";
        /// The format in the tile buffer.
        internal_format: ColorBufferInternalFormat [26..32] "Internal Format";
        /// Write enable.
        write_enable: Bool [32..33] "Write Enable";
        /// The format in memory.
        writeback_format: ColorFormat [35..40] "Writeback Format";
        /// The layout in memory.
        writeback_block_format: BlockFormat [40..44] "Writeback Block Format" before 3;
        /// Endianness in memory (v6).
        writeback_endianness: Uint [40..42] "Writeback Endianness" since 3;
        /// The layout in memory (v6).
        writeback_block_format_v6: BlockFormatV6 [42..44] "Writeback Block Format (v6)" since 3;
        /// Samples in memory.
        writeback_msaa: Msaa [44..46] "Writeback MSAA";
        /// sRGB.
        srgb: Bool [46..47] "sRGB";
        /// Dithering enable.
        dithering_enable: Bool [47..48] "Dithering Enable";
        /// The swizzle of channels between the tile buffer and memory.
        swizzle: Hex [48..60] "Swizzle";
        /// Tiles without a pixel drawn are written.
        clean_pixel_write_enable: Bool [63..64] "Clean Pixel Write Enable";
        /// YUV swizzle.
        yuv_swizzle: YuvSwizzle [80..83] "YUV Swizzle" when (|p| p.yuv_enable);
        /// Full range.
        full_range: Bool [84..85] "Full Range" when (|p| p.yuv_enable);
        /// Conversion mode.
        conversion_mode: YuvConversionMode [85..89] "Conversion Mode" when (|p| p.yuv_enable);
        /// Cr siting.
        cr_siting: YuvCrSiting [89..92] "Cr Siting" when (|p| p.yuv_enable);
        /// Unsigned Cr range.
        unsigned_cr_range: Bool [92..93] "Unsigned Cr Range" when (|p| p.yuv_enable);
        /// Plane 0.
        plane_0_base: Address [128..192] "Plane 0 Base" when (|p| p.yuv_enable);
        /// Plane 1.
        plane_1_base: Address [192..256] "Plane 1 Base" when (|p| p.yuv_enable);
        /// Plane 2.
        plane_2_base: Address [256..320] "Plane 2 Base" when (|p| p.yuv_enable);
        /// Bytes of a row of plane 0.
        plane_0_stride: Uint [320..352] "Plane 0 Stride" when (|p| p.yuv_enable);
        /// Bytes of a row of planes 1 and 2.
        plane_1_2_stride: Uint [352..384] "Plane 1 2 Stride" when (|p| p.yuv_enable);
        /// The reversible transform to YUV.
        yuv_transform: Bool [64..65] "YUV Transform" before 2 when (|p| p.is_afbc());
        /// Split block.
        split_block: Bool [65..66] "Split block" before 2 when (|p| p.is_afbc());
        /// Wide block.
        wide_block: Bool [66..67] "Wide block" before 2 when (|p| p.is_afbc());
        /// Reverse issue order.
        reverse_issue_order: Bool [67..68] "Reverse issue order" before 2 when (|p| p.is_afbc());
        /// Front buffer.
        front_buffer: Bool [68..69] "Front buffer" before 2 when (|p| p.is_afbc());
        /// Alpha hint.
        alpha_hint: Bool [69..70] "Alpha hint" before 2 when (|p| p.is_afbc());
        /// Compression mode.
        compression_mode: AfbcCompressionMode [74..80] "Compression mode" before 2 when (|p| p.is_afbc());
        /// Block size.
        block_size: AfrcBlockSize [68..72] "Block Size" when (|p| p.is_afrc());
        /// Format.
        format: Hex [72..80] "Format" when (|p| p.is_afrc());
        /// Headers of AFBC.
        header: Address [256..320] "Header" before 2 when (|p| p.is_afbc());
        /// The first pixel.
        base: Address [256..320] "Base" when (|p| !p.is_afbc() && !p.yuv_enable);
        /// Bytes from row to row, or of a row of headers.
        row_stride: Uint [320..352] "Row Stride" when (|p| !p.yuv_enable && !p.is_afbc());
        /// Bytes from row to row of headers.
        header_row_stride: Uint [320..352] "Header Row Stride" before 2 when (|p| p.is_afbc());
        /// Bytes from the headers of AFBC to the bodies.
        body_offset: Uint [352..384] "Body offset" before 2 when (|p| p.is_afbc());
        /// Headers of AFBC on Bifrost.
        afbc_header: Address [128..192] "AFBC Header" since 2 when (|p| p.is_afbc());
        /// Superblocks in a row.
        afbc_row_stride: Uint [192..205] "AFBC Row Stride" since 2 when (|p| p.is_afbc());
        /// Chunk size.
        afbc_chunk_size: Uint [224..236] "AFBC Chunk Size" since 2 when (|p| p.is_afbc());
        /// Bodies have a place for each superblock (v5).
        afbc_sparse: Bool [240..241] "AFBC Sparse" since 4 when (|p| p.is_afbc());
        /// YUV transform.
        afbc_yuv_transform: Bool [241..242] "AFBC YUV Transform" since 2 when (|p| p.is_afbc());
        /// Split block.
        afbc_split_block: Bool [242..243] "AFBC Split Block" since 2 when (|p| p.is_afbc());
        /// Wide block.
        afbc_wide_block: Bool [243..244] "AFBC Wide Block" since 2 when (|p| p.is_afbc());
        /// Reverse issue order.
        afbc_reverse_issue_order: Bool [244..245] "AFBC Reverse Issue Order" since 2 when (|p| p.is_afbc());
        /// Bodies of AFBC on Bifrost.
        afbc_body: Address [256..320] "AFBC Body" since 2 when (|p| p.is_afbc());
        /// Bytes of them.
        afbc_body_size: Uint [320..352] "AFBC Body Size" since 2 when (|p| p.is_afbc());
        /// Bytes from surface to surface.
        surface_stride: Uint [352..384] "Surface Stride" when (|p| !p.is_afbc() && !p.yuv_enable);
        /// The clear colour.
        clear: Nested<RtClear> [384..512] "Clear";
    }
}

impl RenderTarget {
    /// The image is compressed with AFBC.
    pub fn is_afbc(&self) -> bool {
        let format = self.writeback_block_format;
        let afbc = matches!(format, BlockFormat::Afbc | BlockFormat::AfbcTiled)
            || self.writeback_block_format_v6 == BlockFormatV6::Afbc;
        afbc && !self.yuv_enable && !self.is_afrc()
    }

    /// The image is compressed with AFRC.
    pub fn is_afrc(&self) -> bool {
        matches!(self.writeback_mode, WritebackMode::AfrcRgb | WritebackMode::AfrcYuv)
    }
}

packet! {
    /// Framebuffer pointer.
    pub struct FramebufferPointer = "Framebuffer pointer", 8 bytes
    fields {
        /// Type.
        tag: Bool [0..1] "Type" = true;
        /// ZS CRC Extension present.
        zs_crc_extension_present: Bool [1..2] "ZS CRC Extension present";
        /// Render target count.
        render_target_count: Minus<Uint, 1> [2..6] "Render target count";
        /// Pointer.
        pointer: Shr<Address, 6> [6..64] "Pointer";
    }
}

packet! {
    /// Fragment Job Payload.
    pub struct FragmentJobPayload = "Fragment Job Payload", 32 bytes
    fields {
        /// Bound Min X.
        bound_min_x: Uint [0..12] "Bound Min X";
        /// Bound Min Y.
        bound_min_y: Uint [16..28] "Bound Min Y";
        /// Bound Max X.
        bound_max_x: Uint [32..44] "Bound Max X";
        /// Bound Max Y.
        bound_max_y: Uint [48..60] "Bound Max Y";
        /// Tile render order.
        tile_render_order: TileRenderOrder [60..63] "Tile render order" before 2 = TileRenderOrder::ZOrder;
        /// Has Tile Enable Map.
        has_tile_enable_map: Bool [63..64] "Has Tile Enable Map";
        /// Framebuffer.
        framebuffer: Address [64..128] "Framebuffer";
        /// Tile Enable Map.
        tile_enable_map: Address [128..192] "Tile Enable Map";
        /// Tile Enable Map Row Stride.
        tile_enable_map_row_stride: Uint [192..200] "Tile Enable Map Row Stride";
    }
}

/// The reflection tables of this module.
pub static ALL: &[&PacketInfo] = &[
    FramebufferParameters::INFO,
    ZsCrcExtension::INFO,
    RtBuffer::INFO,
    RtClear::INFO,
    RenderTarget::INFO,
    FramebufferPointer::INFO,
    FragmentJobPayload::INFO,
];
