//! Texture descriptors, and the enumerations that they share with [`crate::pbe`].
//!
// source: cmdbuf.xml, "Texture"

use tepui_packets::types::{Address, Bool, Hex, Minus, Shr, Uint, Uint64};
use tepui_packets::{Packet, PacketInfo, bits_enum, packet};

bits_enum! {
    /// The source of a component of the result (swizzle).
    pub enum Channel = "Channel" {
        /// The first channel in memory.
        #[default]
        R = 0 => "R",
        /// The second channel in memory.
        G = 1 => "G",
        /// The third channel in memory.
        B = 2 => "B",
        /// The fourth channel in memory.
        A = 3 => "A",
        /// One.
        One = 4 => "1",
        /// Zero.
        Zero = 5 => "0",
    }
}

bits_enum! {
    /// Layout of the texels. The names are those of Mesa 26.1; 25.0 called 1 "Null", 2 "Twiddled"
    /// and 3 "Compressed".
    pub enum Layout = "Layout" {
        /// Linear: rows in raster order.
        #[default]
        Linear = 0 => "Linear",
        /// Morton order over the whole level. Mesa binds null textures with it.
        Twiddled = 1 => "Twiddled",
        /// Morton order within tiles, tiles in raster order: the layout of all images in Mesa that
        /// are not linear.
        Gpu = 2 => "GPU",
        /// Unknown; Metal's interchange compression.
        Interchange = 3 => "Interchange",
    }
}

bits_enum! {
    /// Channels of a texel, or the block format. [`TextureType`] says how they are interpreted.
    pub enum Channels = "Channels" {
        /// One of 8 bits.
        #[default]
        R8 = 0x00 => "R8",
        /// One of 16 bits.
        R16 = 0x09 => "R16",
        /// Two of 8 bits.
        R8G8 = 0x0a => "R8G8",
        /// 5, 6 and 5 bits.
        R5G6B5 = 0x0b => "R5G6B5",
        /// Four of 4 bits.
        R4G4B4A4 = 0x0c => "R4G4B4A4",
        /// 1 and three times 5 bits.
        A1R5G5B5 = 0x0d => "A1R5G5B5",
        /// Three times 5 and 1 bit.
        R5G5B5A1 = 0x0e => "R5G5B5A1",
        /// One of 32 bits.
        R32 = 0x21 => "R32",
        /// Two of 16 bits.
        R16G16 = 0x23 => "R16G16",
        /// Unsigned floats of 11, 11 and 10 bits.
        R11G11B10 = 0x25 => "R11G11B10",
        /// 10, 10, 10 and 2 bits.
        R10G10B10A2 = 0x26 => "R10G10B10A2",
        /// Three 9-bit mantissas with one exponent.
        R9G9B9E5 = 0x27 => "R9G9B9E5",
        /// Four of 8 bits.
        R8G8B8A8 = 0x28 => "R8G8B8A8",
        /// Two of 32 bits.
        R32G32 = 0x31 => "R32G32",
        /// Four of 16 bits.
        R16G16B16A16 = 0x32 => "R16G16B16A16",
        /// Three of 32 bits. Not a hardware format: Mesa marks texel buffers with it that its
        /// shaders read with plain loads.
        R32G32B32Emulated = 0x36 => "R32G32B32 (Emulated)",
        /// Four of 32 bits.
        R32G32B32A32 = 0x38 => "R32G32B32A32",
        /// Subsampled, green first; reads as BRG1.
        Gbgr422 = 0x40 => "GBGR 422",
        /// Subsampled, blue first; reads as BRG1.
        Bgrg422 = 0x41 => "BGRG 422",
        /// PVRTC of 2 bits a texel.
        Pvrtc2bpp = 0x50 => "PVRTC 2bpp",
        /// PVRTC of 4 bits a texel.
        Pvrtc4bpp = 0x51 => "PVRTC 4bpp",
        /// ETC2.
        Etc2Rgb8 = 0x58 => "ETC2 RGB8",
        /// ETC2 with EAC alpha.
        Etc2Rgba8 = 0x59 => "ETC2 RGBA8",
        /// ETC2 with one bit of alpha.
        Etc2Rgb8A1 = 0x5a => "ETC2 RGB8A1",
        /// EAC of one channel.
        EacR11 = 0x5b => "EAC R11",
        /// EAC of two channels.
        EacRg11 = 0x5c => "EAC RG11",
        /// ASTC. LDR with unorm, sRGB with unorm and the sRGB bit, HDR with float.
        Astc4x4 = 0x60 => "ASTC 4x4",
        /// ASTC.
        Astc5x4 = 0x61 => "ASTC 5x4",
        /// ASTC.
        Astc5x5 = 0x62 => "ASTC 5x5",
        /// ASTC.
        Astc6x5 = 0x63 => "ASTC 6x5",
        /// ASTC.
        Astc6x6 = 0x64 => "ASTC 6x6",
        /// ASTC.
        Astc8x5 = 0x65 => "ASTC 8x5",
        /// ASTC.
        Astc8x6 = 0x66 => "ASTC 8x6",
        /// ASTC.
        Astc8x8 = 0x67 => "ASTC 8x8",
        /// ASTC.
        Astc10x5 = 0x68 => "ASTC 10x5",
        /// ASTC.
        Astc10x6 = 0x69 => "ASTC 10x6",
        /// ASTC.
        Astc10x8 = 0x6a => "ASTC 10x8",
        /// ASTC.
        Astc10x10 = 0x6b => "ASTC 10x10",
        /// ASTC.
        Astc12x10 = 0x6c => "ASTC 12x10",
        /// ASTC.
        Astc12x12 = 0x6d => "ASTC 12x12",
        /// BC1.
        Bc1 = 0x74 => "BC1",
        /// BC2.
        Bc2 = 0x75 => "BC2",
        /// BC3.
        Bc3 = 0x76 => "BC3",
        /// BC4.
        Bc4 = 0x77 => "BC4",
        /// BC5.
        Bc5 = 0x78 => "BC5",
        /// BC6H with signed floats.
        Bc6h = 0x79 => "BC6H",
        /// BC6H with unsigned floats.
        Bc6hUfloat = 0x7a => "BC6H Ufloat",
        /// BC7.
        Bc7 = 0x7b => "BC7",
    }
}

bits_enum! {
    /// Number format of the channels.
    pub enum TextureType = "Texture Type" {
        /// 0 to 1.
        #[default]
        Unorm = 0 => "Unorm",
        /// -1 to 1.
        Snorm = 1 => "Snorm",
        /// Unsigned integers.
        Uint = 2 => "Uint",
        /// Signed integers.
        Sint = 3 => "Sint",
        /// Floats.
        Float = 4 => "Float",
        /// Extended range: fixed-point beyond 0 to 1.
        Xr = 5 => "XR",
    }
}

bits_enum! {
    /// Dimensions of an image.
    pub enum TextureDimension = "Texture dimension" {
        /// One.
        #[default]
        D1 = 0 => "1D",
        /// One, layered.
        D1Array = 1 => "1D Array",
        /// Two.
        D2 = 2 => "2D",
        /// Two, layered.
        D2Array = 3 => "2D Array",
        /// Two, multisampled.
        D2Multisampled = 4 => "2D Multisampled",
        /// Three.
        D3 = 5 => "3D",
        /// Six faces.
        Cube = 6 => "Cube",
        /// Six faces, layered.
        CubeArray = 7 => "Cube Array",
        /// Two, layered, multisampled.
        D2ArrayMultisampled = 8 => "2D Array Multisampled",
    }
}

impl TextureDimension {
    /// Whether a texel has several samples.
    pub fn is_multisampled(self) -> bool {
        matches!(self, TextureDimension::D2Multisampled | TextureDimension::D2ArrayMultisampled)
    }
}

bits_enum! {
    /// Samples of a texel of a multisampled image.
    pub enum SampleCount = "Sample Count" {
        /// Two.
        #[default]
        Two = 0 => "2",
        /// Four.
        Four = 1 => "4",
    }
}

bits_enum! {
    /// Whether an image is sparse. (Known since Mesa 26.1, whose names these are; the meaning of
    /// the counters is unknown.)
    pub enum ImageMode = "Image Mode" {
        /// Not sparse: contiguous at the address.
        #[default]
        Normal = 0 => "Normal",
        /// Unknown.
        NormalWithCounters = 1 => "Not sparse but probably with counters",
        /// Through a table of [`SparseBlock`]s.
        SparseWithoutCounters = 2 => "Sparse but probably no counters",
        /// Through a table of [`SparseBlock`]s.
        Sparse = 3 => "Sparse",
    }
}

packet! {
    /// A page of a sparse image. (Known since Mesa 26.1.)
    pub struct SparseBlock = "Sparse block", 4 bytes
    fields {
        /// GPU address of the page.
        address: Shr<Address, 14> [0..26] "Address";
        /// Unknown; macOS sets it.
        unknown: Bool [30..31] "Unknown";
        /// The page is resident.
        enabled: Bool [31..32] "Enabled";
    }
}

/// Pages that a folio of the table of a sparse image has entries for.
/// source: Mesa 26.1, layout.h, `AIL_PAGES_PER_FOLIO`
const FOLIO_PAGES: u64 = 256;

/// Entries of a folio: what the second half holds is unknown.
/// source: Mesa 26.1, layout.h, `AIL_FOLIO_SIZE_EL`
const FOLIO_ENTRIES: u64 = 512;

impl SparseBlock {
    /// Size in bytes of the table of a layer of `pages` pages.
    #[must_use]
    pub fn layer_table_bytes(pages: u64) -> u64 {
        pages.div_ceil(FOLIO_PAGES) * FOLIO_ENTRIES * Self::SIZE_BYTES as u64
    }

    /// Offset in bytes of a page's entry in its layer's table.
    #[must_use]
    pub fn entry_offset(page: u64) -> u64 {
        let entry = page / FOLIO_PAGES * FOLIO_ENTRIES + page % FOLIO_PAGES;
        entry * Self::SIZE_BYTES as u64
    }
}

packet! {
    /// An image that shaders sample or load from. The hardware reads the last 8 bytes only if
    /// `extended`; otherwise Mesa stores the size of a texel buffer there for its shaders.
    pub struct Texture = "Texture", 24 bytes
    fields {
        /// Dimensions.
        dimension: TextureDimension [0..4] "Dimension";
        /// Layout of the texels.
        layout: Layout [4..6] "Layout";
        /// Channels or block format.
        channels: Channels [6..13] "Channels";
        /// Interpretation of the channels.
        type_: TextureType [13..16] "Type";
        /// Source of red.
        swizzle_r: Channel [16..19] "Swizzle R";
        /// Source of green.
        swizzle_g: Channel [19..22] "Swizzle G";
        /// Source of blue.
        swizzle_b: Channel [22..25] "Swizzle B";
        /// Source of alpha.
        swizzle_a: Channel [25..28] "Swizzle A";
        /// Width of level 0 in texels.
        width: Minus<Uint, 1> [28..42] "Width";
        /// Height of level 0 in texels.
        height: Minus<Uint, 1> [42..56] "Height";
        /// The most detailed level that is sampled.
        first_level: Uint [56..60] "First level";
        /// The least detailed level that is sampled.
        last_level: Uint [60..64] "Last level";
        /// Samples, if multisampled.
        samples: SampleCount [64..65] "Samples";
        /// GPU address of level 0.
        address: Shr<Address, 4> [66..102] "Address";
        /// Unknown; Metal sets it for images with several levels.
        unk_mipmapped: Bool [102..103] "Unk mipmapped";
        /// The image is losslessly compressed. (25.0: "Compressed 1".)
        compressed: Bool [103..104] "Compressed";
        /// Whether the image is sparse. (25.0 knew the upper bit as "Null".)
        mode: ImageMode [104..106] "Mode";
        /// Unknown kind of compression; 0 without.
        compression: Hex [106..108] "Compression";
        /// Reads convert from sRGB.
        srgb: Bool [108..109] "sRGB";
        /// An sRGB format with two channels.
        srgb_2_channel: Bool [109..110] "sRGB 2-channel";
        /// Row stride in bytes. cmdbuf.xml gives 18 bits, of which the last is `extended`, and
        /// leaves the subtraction of 16 to the driver.
        stride: Minus<Shr<Uint, 4>, 16> [110..127] "Stride" when (|t| t.layout == Layout::Linear);
        /// Layers or depth in texels.
        depth: Minus<Uint, 1> [110..124] "Depth" when (|t| t.layout != Layout::Linear);
        /// Layers start at multiples of a page.
        page_aligned_layers: Bool [126..127] "Page-aligned layers" when (|t| t.layout != Layout::Linear);
        /// The hardware reads the last 8 bytes.
        extended: Bool [127..128] "Extended";
        /// GPU address of the compression metadata. cmdbuf.xml gives 64 bits, 4 more than an
        /// address can fill.
        acceleration_buffer: Shr<Address, 4> [128..188] "Acceleration buffer" when (|t| t.extended && t.layout != Layout::Linear);
        /// Layers of a linear image.
        depth_linear: Minus<Uint, 1> [128..139] "Depth (linear)" when (|t| t.extended && t.layout == Layout::Linear);
        /// Layer stride of a linear image in bytes. cmdbuf.xml leaves the subtraction of 128 to the
        /// driver.
        layer_stride_linear: Minus<Shr<Uint64, 7>, 128> [139..166] "Layer stride (linear)" when (|t| t.extended && t.layout == Layout::Linear);
        /// Mesa's: texels of a texel buffer.
        buffer_size_sw: Uint [128..160] "Buffer size (sw)" when (|t| !t.extended);
        /// Mesa's: first texel of a texel buffer, as an offset from the aligned address.
        buffer_offset_sw: Uint [160..192] "Buffer offset (sw)" when (|t| !t.extended);
    }
}

/// The tables of this module.
pub static ALL: &[&PacketInfo] = &[Texture::INFO, SparseBlock::INFO];
