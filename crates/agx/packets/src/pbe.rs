//! Pixel back end (PBE): descriptors of images that shaders or the tilebuffer write.
//!
// source: cmdbuf.xml, "PBE"

use tepui_packets::types::{Address, Bool, Hex, Log2, Minus, Shr, Uint, Uint64};
use tepui_packets::{Packet, PacketInfo, packet};

use crate::texture::{
    Channel, Channels, ImageMode, Layout, SampleCount, TextureDimension, TextureType,
};

packet! {
    /// An image that is written. The hardware reads the last 8 bytes only if `extended`; otherwise
    /// Mesa stores there what its shaders need for image atomics and multisampled writes (the
    /// fields marked "sw", at the positions of Mesa 26.1).
    pub struct Pbe = "PBE", 24 bytes
    fields {
        /// Dimensions.
        dimension: TextureDimension [0..4] "Dimension";
        /// Layout of the texels.
        layout: Layout [4..6] "Layout";
        /// Channels.
        channels: Channels [6..13] "Channels";
        /// Interpretation of the channels.
        type_: TextureType [13..16] "Type";
        /// Channel that red is written to.
        swizzle_r: Channel [16..18] "Swizzle R";
        /// Channel that green is written to.
        swizzle_g: Channel [18..20] "Swizzle G";
        /// Channel that blue is written to.
        swizzle_b: Channel [20..22] "Swizzle B";
        /// Channel that alpha is written to.
        swizzle_a: Channel [22..24] "Swizzle A";
        /// Width of level 0 in texels.
        width: Minus<Uint, 1> [24..38] "Width";
        /// Height of level 0 in texels.
        height: Minus<Uint, 1> [38..52] "Height";
        /// Unknown.
        unk_52: Bool [52..53] "Unk 52";
        /// Rotates the tile by 90 degrees.
        rotate_90: Bool [53..54] "Rotate 90";
        /// Flips the tile.
        flip_vertical: Bool [54..55] "Flip vertical";
        /// Samples, if multisampled.
        samples: SampleCount [56..57] "Samples";
        /// Unknown; Metal sets it for images with several levels.
        unk_mipmapped: Bool [58..59] "Unk mipmapped";
        /// The image is losslessly compressed. (25.0: "Compressed 1".)
        compressed: Bool [59..60] "Compressed";
        /// Whether the image is sparse. (Known since 26.1.)
        mode: ImageMode [60..62] "Mode";
        /// GPU address of level 0.
        buffer: Shr<Address, 4> [64..100] "Buffer";
        /// The level that is written.
        level: Uint [100..104] "Level";
        /// Levels of the image.
        levels: Minus<Uint, 1> [104..108] "Levels" when (|p| p.layout != Layout::Linear);
        /// Layers, if an array is rendered to; else 1.
        layers: Minus<Uint, 1> [108..122] "Layers" when (|p| p.layout != Layout::Linear);
        /// Layers start at multiples of a page.
        page_aligned_layers: Bool [124..125] "Page-aligned layers" when (|p| p.layout != Layout::Linear);
        /// Shader writes convert to sRGB. Writes from the tilebuffer do not: that conversion
        /// happens on the way into the tilebuffer.
        srgb: Bool [125..126] "sRGB";
        /// The hardware reads the last 8 bytes.
        extended: Bool [127..128] "Extended";
        /// Row stride in bytes. cmdbuf.xml leaves the subtraction of 4 to the driver.
        stride: Minus<Uint, 4> [104..125] "Stride" when (|p| p.layout == Layout::Linear);
        /// GPU address of the compression metadata. cmdbuf.xml gives 64 bits, 4 more than an
        /// address can fill.
        acceleration_buffer: Shr<Address, 4> [128..188] "Acceleration buffer" when (|p| p.extended && p.layout != Layout::Linear);
        /// Layers of a linear image.
        depth_linear: Minus<Uint, 1> [128..139] "Depth (linear)" when (|p| p.extended && p.layout == Layout::Linear);
        /// Layer stride of a linear image in bytes. cmdbuf.xml leaves the subtraction of 128 to the
        /// driver.
        layer_stride_linear: Minus<Shr<Uint64, 7>, 128> [139..166] "Layer stride (linear)" when (|p| p.extended && p.layout == Layout::Linear);
        /// Mesa's: offset of the level in bytes.
        level_offset_sw: Shr<Uint64, 7> [128..155] "Level offset (sw)" when (|p| !p.extended && p.layout != Layout::Linear && !p.dimension.is_multisampled());
        /// Mesa's: width of the level in whole tiles, in texels.
        aligned_width_msaa_sw: Uint [128..143] "Aligned width MSAA (sw)" when (|p| !p.extended && p.layout != Layout::Linear && p.dimension.is_multisampled());
        /// Mesa's: logarithm of the number of samples.
        sample_count_log2_sw: Uint [143..145] "Sample count log2 (sw)" when (|p| !p.extended && p.layout != Layout::Linear && p.dimension.is_multisampled());
        /// Mesa's: width of a tile in texels.
        tile_width_sw: Log2 [155..159] "Tile width (sw)" when (|p| !p.extended && p.layout != Layout::Linear);
        /// Mesa's: height of a tile in texels.
        tile_height_sw: Log2 [159..163] "Tile height (sw)" when (|p| !p.extended && p.layout != Layout::Linear);
        /// Mesa's: layer stride in bytes.
        layer_stride_sw: Shr<Uint64, 7> [163..190] "Layer stride (sw)" when (|p| !p.extended && p.layout != Layout::Linear);
        /// Mesa's: first texel of a texel buffer, as an offset from the aligned address. For a
        /// multisampled image, which Mesa's shaders write as a linear one, these bits hold the "sw"
        /// fields above instead.
        buffer_offset_sw: Uint [128..160] "Buffer offset (sw)" when (|p| !p.extended && p.layout == Layout::Linear);
        /// Mesa's: for a multisampled image, bits of the "sw" fields above.
        multisampled_sw: Hex [160..192] "Multisampled (sw)" when (|p| !p.extended && p.layout == Layout::Linear);
    }
}

/// The tables of this module.
pub static ALL: &[&PacketInfo] = &[Pbe::INFO];
