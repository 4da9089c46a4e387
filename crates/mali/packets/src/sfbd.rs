//! Framebuffers of Midgard v4, whose descriptor names one colour, depth and stencil attachment itself.
//!
// source: Mesa, src/panfrost/lib/genxml/v4.xml.

use tepui_packets::types::{Address, Bool, Float, Hex, Log2, Nested, Uint};
use tepui_packets::{Packet, PacketInfo, bits_enum, packet};

use crate::framebuffer::{
    BlockFormatV6, ColorBufferInternalFormat, Msaa, RtBuffer, TieBreakRule, ZsFormat,
};

/// Bytes from the beginning of a framebuffer to its parts.
pub mod part {
    /// The parameters; local storage precedes them.
    pub const PARAMETERS: u64 = 32;
    /// The tiler's context.
    pub const TILER: u64 = 192;
}

bits_enum! {
    /// The components of a colour attachment in memory.
    pub enum ColorFormatV4 = "Color Format (v4)" {
        /// 4_32B_CHANNELS.
        #[default]
        N4x32 = 0 => "4_32B_CHANNELS",
        /// 3_32B_CHANNELS.
        N3x32 = 1 => "3_32B_CHANNELS",
        /// 2_32B_CHANNELS.
        N2x32 = 2 => "2_32B_CHANNELS",
        /// 1_32B_CHANNEL.
        N1x32 = 3 => "1_32B_CHANNEL",
        /// 4_16B_CHANNELS.
        N4x16 = 4 => "4_16B_CHANNELS",
        /// 3_16B_CHANNELS.
        N3x16 = 5 => "3_16B_CHANNELS",
        /// 2_16B_CHANNELS.
        N2x16 = 6 => "2_16B_CHANNELS",
        /// 1_16B_CHANNEL.
        N1x16 = 7 => "1_16B_CHANNEL",
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
    }
}

bits_enum! {
    /// The positions of a pixel's samples.
    pub enum SampleLayout = "Sample Layout" {
        /// Ordered 4x Grid.
        #[default]
        Ordered4xGrid = 0 => "Ordered 4x Grid",
        /// Rotated 4x Grid.
        Rotated4xGrid = 1 => "Rotated 4x Grid",
        /// D3D 8x Grid.
        D3d8xGrid = 2 => "D3D 8x Grid",
        /// D3D 16x Grid.
        D3d16xGrid = 3 => "D3D 16x Grid",
    }
}

packet! {
    /// A framebuffer with its attachments.
    pub struct FramebufferParametersV4 = "Framebuffer Parameters (v4)", 160 bytes
    fields {
        /// Internal Format.
        internal_format: ColorBufferInternalFormat [0..3] "Internal Format";
        /// Sample Count.
        sample_count: Log2 [3..6] "Sample Count" = 1;
        /// Swizzle.
        swizzle: Hex [6..18] "Swizzle";
        /// Color Writeback Format.
        color_writeback_format: ColorFormatV4 [18..23] "Color Writeback Format";
        /// MSAA.
        msaa: Msaa [23..25] "MSAA";
        /// sRGB.
        srgb: Bool [25..26] "sRGB";
        /// Color Block Format.
        color_block_format: BlockFormatV6 [26..28] "Color Block Format";
        /// Dithering Enable.
        dithering_enable: Bool [28..29] "Dithering Enable";
        /// Clean Pixel Write Enable.
        clean_pixel_write_enable: Bool [29..30] "Clean Pixel Write Enable";
        /// Color Preload Enable.
        color_preload_enable: Bool [30..31] "Color Preload Enable";
        /// Color Write Enable.
        color_write_enable: Bool [31..32] "Color Write Enable";
        /// X Downsampling Scale.
        x_downsampling_scale: Uint [32..35] "X Downsampling Scale";
        /// Y Downsampling Scale.
        y_downsampling_scale: Uint [35..38] "Y Downsampling Scale";
        /// Downsampling Accumulation Mode.
        downsampling_accumulation_mode: Uint [38..40] "Downsampling Accumulation Mode";
        /// Sample Layout.
        sample_layout: SampleLayout [40..42] "Sample Layout";
        /// Big Endian.
        big_endian: Bool [42..43] "Big Endian";
        /// Tie-Break Rule.
        tie_break_rule: TieBreakRule [43..46] "Tie-Break Rule";
        /// CRC Read Enable.
        crc_read_enable: Bool [46..47] "CRC Read Enable";
        /// CRC Write Enable.
        crc_write_enable: Bool [47..48] "CRC Write Enable";
        /// ZS Block Format.
        zs_block_format: BlockFormatV6 [48..50] "ZS Block Format";
        /// ZS Format.
        zs_format: ZsFormat [50..54] "ZS Format" = ZsFormat::D24s8;
        /// ZS Preload Enable.
        zs_preload_enable: Bool [54..55] "ZS Preload Enable";
        /// ZS Write Enable.
        zs_write_enable: Bool [55..56] "ZS Write Enable";
        /// S Block Format.
        s_block_format: BlockFormatV6 [56..58] "S Block Format";
        /// S Format.
        s_format: Uint [58..62] "S Format";
        /// S Write Enable.
        s_write_enable: Bool [63..64] "S Write Enable";
        /// Bound Min X.
        bound_min_x: Uint [64..80] "Bound Min X";
        /// Bound Min Y.
        bound_min_y: Uint [80..96] "Bound Min Y";
        /// Bound Max X.
        bound_max_x: Uint [96..112] "Bound Max X";
        /// Bound Max Y.
        bound_max_y: Uint [112..128] "Bound Max Y";
        /// DCD Offset.
        dcd_offset: Uint [128..160] "DCD Offset";
        /// CRC Buffer.
        crc_buffer: Nested<RtBuffer> [256..384] "CRC Buffer";
        /// Color Writeback.
        color_writeback: Nested<RtBuffer> [384..512] "Color Writeback";
        /// ZS Writeback.
        zs_writeback: Nested<RtBuffer> [512..640] "ZS Writeback";
        /// S Writeback.
        s_writeback: Nested<RtBuffer> [640..768] "S Writeback";
        /// Color Load.
        color_load: Nested<RtBuffer> [768..896] "Color Load" when (|p| p.color_preload_enable);
        /// Clear Color 0.
        clear_color_0: Uint [768..800] "Clear Color 0" when (|p| !p.color_preload_enable);
        /// Clear Color 1.
        clear_color_1: Uint [800..832] "Clear Color 1" when (|p| !p.color_preload_enable);
        /// Clear Color 2.
        clear_color_2: Uint [832..864] "Clear Color 2" when (|p| !p.color_preload_enable);
        /// Clear Color 3.
        clear_color_3: Uint [864..896] "Clear Color 3" when (|p| !p.color_preload_enable);
        /// ZS Load.
        zs_load: Nested<RtBuffer> [896..1024] "ZS Load" when (|p| p.zs_preload_enable);
        /// Z Clear.
        z_clear: Float [896..928] "Z Clear" when (|p| !p.zs_preload_enable);
        /// S Clear.
        s_clear: Uint [1024..1032] "S Clear";
    }
}

packet! {
    /// The tiles of a fragment job, and its framebuffer.
    pub struct FragmentJobPayloadV4 = "Fragment Job Payload (v4)", 16 bytes
    fields {
        /// Bound Min X.
        bound_min_x: Uint [0..12] "Bound Min X";
        /// Bound Min Y.
        bound_min_y: Uint [16..28] "Bound Min Y";
        /// Bound Max X.
        bound_max_x: Uint [32..44] "Bound Max X";
        /// Bound Max Y.
        bound_max_y: Uint [48..60] "Bound Max Y";
        /// Framebuffer.
        framebuffer: Address [64..128] "Framebuffer";
    }
}

/// The reflection tables of this module.
pub static ALL: &[&PacketInfo] = &[FramebufferParametersV4::INFO, FragmentJobPayloadV4::INFO];
