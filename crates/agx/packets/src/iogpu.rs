//! Command buffers of macOS, as the IOKit interface of AGX takes them. They are conventions of its
//! kernel driver, not of the hardware. A command buffer is in shared memory: a [`Header`] is
//! followed by [`Compute`] or [`Graphics`], and at `attachment_offset` by an [`AttachmentCount`]
//! and the [`Attachment`]s.
//!
// source: cmdbuf.xml, "IOGPU"

use tepui_packets::types::{Address, Array, Bool, Hex, Hex64, Minus, Nested, Shr, Uint};
use tepui_packets::{Packet, PacketInfo, bits_enum, packet};

use crate::render::ZlsControl;

bits_enum! {
    /// The type of an attachment.
    pub enum AttachmentType = "IOGPU Attachment Type" {
        /// No attachment has this type.
        #[default]
        None = 0 => "None",
        /// Colour.
        Colour = 0xe => "Colour",
        /// Depth.
        Depth = 0x10 => "Depth",
        /// Stencil.
        Stencil = 0x11 => "Stencil",
        /// Results of occlusion queries.
        Visibility = 0x12 => "Visibility",
    }
}

packet! {
    /// The start of a command buffer.
    pub struct Header = "IOGPU Header", 64 bytes
    fields {
        /// Unknown.
        unk_0: Hex [0..32] "Unk 0";
        /// Size of the command buffer in bytes.
        total_size: Uint [32..64] "Total size";
        /// Unknown.
        unk_2: Hex [64..96] "Unk 2";
        /// Bytes of the list of attachments.
        attachment_length: Uint [288..320] "Attachment length";
        /// Offset of the list of attachments in bytes.
        attachment_offset: Uint [320..352] "Attachment offset";
        /// An offset of unknown purpose.
        unknown_offset: Uint [352..384] "Unknown offset";
        /// Unknown.
        unk_4: Hex [384..416] "Unk 4";
        /// Type of the command: 3 is compute.
        unk_5: Hex [416..448] "Unk 5";
        /// GPU address of the control stream.
        encoder: Address [448..512] "Encoder";
    }
}

packet! {
    /// The start of the list of attachments.
    pub struct AttachmentCount = "IOGPU Attachment Count", 16 bytes
    fields {
        /// Number of attachments.
        count: Uint [96..128] "Count";
    }
}

packet! {
    /// An image that a render command writes.
    pub struct Attachment = "IOGPU Attachment", 24 bytes
    fields {
        /// Unknown.
        unk_0: Hex [0..16] "Unk 0";
        /// GPU address of the attachment.
        address: Address [16..64] "Address";
        /// Its kind.
        type_: AttachmentType [80..96] "Type";
        /// Size in bytes.
        size: Uint [105..137] "Size";
        /// Unknown.
        unk_3: Hex [144..148] "Unk 3";
        /// Share of all attachments, in percent.
        percent: Uint [176..192] "Percent";
    }
}

packet! {
    /// Histogram of the shaders by the scratch memory that they need.
    pub struct SpillBufferHistogram = "Spill Buffer Histogram", 60 bytes
    fields {
        /// Shaders of each size class. (cmdbuf.xml: "Bin 0" to "Bin 14".)
        bins: Array<Uint, 15, 32, 4> [0..480] "Bins";
    }
}

packet! {
    /// The part of a compute command that follows the header.
    pub struct Compute = "IOGPU Compute", 384 bytes
    fields {
        /// GPU address of memory without which rendering is unreliable; purpose unknown.
        deflake_1: Address [640..704] "Deflake 1";
        /// GPU address of the block that ends the control stream.
        terminate_of_encoder: Address [704..768] "Terminate of encoder";
        /// See `deflake_1`.
        deflake_2: Address [832..896] "Deflake 2";
        /// See `deflake_1`.
        deflake_3: Address [896..960] "Deflake 3";
        /// See `deflake_1`.
        deflake_4: Address [960..1024] "Deflake 4";
        /// See `deflake_1`.
        deflake_5: Address [1024..1088] "Deflake 5";
        /// Unknown.
        unk_34: Hex [1088..1120] "Unk 34";
        /// GPU address; purpose unknown.
        unk_address: Address [1152..1216] "Unk address";
        /// Unknown.
        unk_40: Hex [1280..1312] "Unk 40";
        /// Id of the encoder, as in the segment list.
        encoder_id: Hex [1312..1344] "Encoder ID";
        /// Unknown.
        unk_44: Hex [1408..1440] "Unk 44";
        /// USC address of the program that saves and restores local memory.
        context_switch_program: Address [1536..1568] "Context switch program";
        /// Class of the memory that the program needs; a convention of macOS.
        context_switch_block_size: Hex [1792..1796] "Context switch block size";
        /// Unknown; set by shaders that use scratch memory.
        spilling_unk_1: Bool [1827..1828] "Spilling unk 1";
        /// Number of context switch buffers; depends on the size of the grid, among other things.
        number_of_context_switch_buffers: Uint [1856..1888] "Number of context switch buffers";
        /// Histogram of the shaders by the scratch memory that they need.
        spill_buffer_histogram: Nested<SpillBufferHistogram> [1920..2400] "Spill Buffer Histogram";
        /// Presumably saves and restores local memory when the kernel switches.
        enable_context_switching: Bool [2416..2417] "Enable context switching";
        /// Unknown.
        unk_94: Hex [3008..3040] "Unk 94";
        /// Unknown.
        unk_95: Hex [3040..3072] "Unk 95";
    }
}

packet! {
    /// The part of a render command that follows the header.
    pub struct Graphics = "IOGPU Graphics", 1920 bytes
    fields {
        /// GPU address of memory without which rendering is unreliable; purpose unknown.
        deflake_1: Address [704..768] "Deflake 1";
        /// See `deflake_1`.
        deflake_2: Address [768..832] "Deflake 2";
        /// Unknown.
        unk_54: Hex [1216..1248] "Unk 54";
        /// Unknown.
        unk_55: Hex [1248..1280] "Unk 55";
        /// Unknown.
        unk_56: Hex [1280..1312] "Unk 56";
        /// See `deflake_1`.
        deflake_3: Address [3008..3072] "Deflake 3";
        /// Unknown.
        unk_112: Hex [3072..3104] "Unk 112";
        /// Unknown.
        unk_114: Hex [3136..3168] "Unk 114";
        /// Some attachment exists in the tilebuffer only.
        memoryless_render_targets_used: Bool [3200..3201] "Memoryless render targets used";
        /// Clip space as OpenGL has it: depth from -w to w.
        opengl_depth_clipping: Bool [3224..3225] "OpenGL depth clipping";
        /// Unknown.
        unk_118: Hex [3264..3296] "Unk 118";
        /// Unknown.
        unk_119: Hex [3296..3328] "Unk 119";
        /// Unknown.
        unk_120: Hex [3328..3360] "Unk 120";
        /// Resources of the background program; a packed [`crate::render::Counts`].
        clear_pipeline_bind: Hex [4672..4704] "Clear pipeline bind";
        /// Unknown; low bits of the address.
        clear_pipeline_unk: Hex [4736..4740] "Clear pipeline unk";
        /// USC address of the background program's USC words.
        clear_pipeline: Shr<Address, 4> [4740..4768] "Clear pipeline";
        /// Resources of the end-of-tile program; a packed [`crate::render::Counts`].
        store_pipeline_bind: Hex [4928..4960] "Store pipeline bind";
        /// Unknown; low bits of the address.
        store_pipeline_unk: Hex [4992..4996] "Store pipeline unk";
        /// USC address of the end-of-tile program's USC words.
        store_pipeline: Shr<Address, 4> [4996..5024] "Store pipeline";
        /// GPU address of an array of [`crate::render::Scissor`].
        scissor_array: Address [5056..5120] "Scissor array";
        /// GPU address of an array of [`crate::render::DepthBias`].
        depth_bias_array: Address [5120..5184] "Depth bias array";
        /// Loads and stores of depth and stencil.
        zls_control: Nested<ZlsControl> [5248..5312] "ZLS control";
        /// Width of the depth buffer in pixels.
        depth_width: Minus<Uint, 1> [5440..5455] "Depth width";
        /// Height of the depth buffer in pixels.
        depth_height: Minus<Uint, 1> [5455..5470] "Depth height";
        /// GPU address of the depth buffer, for loads.
        depth_buffer_1: Shr<Address, 7> [5511..5544] "Depth buffer 1";
        /// Unknown; not zero for layered framebuffers.
        depth_unknown_1: Hex [5632..5664] "Depth unknown 1";
        /// GPU address of the depth compression metadata, for loads.
        depth_acceleration_buffer_1: Shr<Address, 7> [5703..5736] "Depth acceleration buffer 1";
        /// GPU address of the depth buffer, for stores.
        depth_buffer_2: Shr<Address, 7> [5831..5864] "Depth buffer 2";
        /// GPU address of the depth compression metadata, for stores.
        depth_acceleration_buffer_2: Shr<Address, 7> [6023..6056] "Depth acceleration buffer 2";
        /// Unknown; not zero for layered framebuffers.
        depth_unknown_2: Hex [5952..5984] "Depth unknown 2";
        /// GPU address of the stencil buffer, for loads.
        stencil_buffer_1: Shr<Address, 7> [6151..6184] "Stencil buffer 1";
        /// Unknown; not zero for layered framebuffers.
        stencil_unknown_1: Hex [6272..6304] "Stencil unknown 1";
        /// GPU address of the stencil compression metadata, for loads.
        stencil_acceleration_buffer_1: Shr<Address, 7> [6343..6376] "Stencil acceleration buffer 1";
        /// GPU address of the stencil buffer, for stores.
        stencil_buffer_2: Shr<Address, 7> [6471..6504] "Stencil buffer 2";
        /// Unknown; not zero for layered framebuffers.
        stencil_unknown_2: Hex [6592..6624] "Stencil unknown 2";
        /// GPU address of the stencil compression metadata, for stores.
        stencil_acceleration_buffer_2: Shr<Address, 7> [6663..6696] "Stencil acceleration buffer 2";
        /// Unknown; proportional to the area of a tile times the samples.
        unk_212: Hex [6784..6816] "Unk 212";
        /// Unknown.
        unk_214: Hex [6848..6864] "Unk 214";
        /// The depth buffer is 16-bit unorm.
        z16_unorm_attachment_1: Bool [6866..6867] "Z16 Unorm attachment 1";
        /// Width of the framebuffer in pixels.
        width_1: Uint [6912..6944] "Width 1";
        /// Height of the framebuffer in pixels.
        height_1: Uint [6944..6976] "Height 1";
        /// GPU address; purpose unknown.
        pointer: Address [6976..7040] "Pointer";
        /// Unknown; set by shaders that use scratch memory.
        spilling_unk_1: Hex [7232..7264] "Spilling unk 1";
        /// Histogram of the shaders by the scratch memory that they need.
        spill_buffer_histogram: Nested<SpillBufferHistogram> [7616..8096] "Spill Buffer Histogram";
        /// Depth that a tile starts with, in the format of the depth buffer.
        depth_clear_value: Hex [8832..8864] "Depth clear value";
        /// Stencil that a tile starts with.
        stencil_clear_value: Uint [8864..8872] "Stencil clear value";
        /// Unknown.
        unk_277: Hex [8872..8880] "Unk 277";
        /// Set when depth or stencil is loaded.
        set_when_reloading_z_or_s_1: Bool [8936..8937] "Set when reloading Z or S 1";
        /// A fragment shader uses scratch memory.
        set_when_frag_shader_spills: Bool [8952..8953] "Set when frag shader spills";
        /// Set when depth or stencil is loaded.
        set_when_reloading_z_or_s_2: Bool [8984..8985] "Set when reloading Z or S 2";
        /// The depth buffer is 16-bit unorm.
        z16_unorm_attachment_2: Bool [9000..9001] "Z16 Unorm attachment 2";
        /// Unknown.
        unk_282: Hex [9024..9056] "Unk 282";
        /// Unknown.
        unk_283: Hex [9056..9088] "Unk 283";
        /// Unknown.
        unk_284: Hex [9088..9120] "Unk 284";
        /// GPU address of the results of occlusion queries.
        visibility_result_buffer: Address [9152..9216] "Visibility result buffer";
        /// Resources of the background program after a partial render.
        partial_reload_pipeline_bind: Hex [9472..9504] "Partial reload pipeline bind";
        /// Unknown; low bits of the address.
        partial_reload_pipeline_unk: Hex [9536..9540] "Partial reload pipeline unk";
        /// USC address of the USC words of the background program after a partial render.
        partial_reload_pipeline: Shr<Address, 4> [9540..9568] "Partial reload pipeline";
        /// Resources of the end-of-tile program of a partial render.
        partial_store_pipeline_bind: Hex [9728..9760] "Partial store pipeline bind";
        /// Unknown; low bits of the address.
        partial_store_pipeline_unk: Hex [9792..9796] "Partial store pipeline unk";
        /// USC address of the USC words of the end-of-tile program of a partial render.
        partial_store_pipeline: Shr<Address, 4> [9796..9824] "Partial store pipeline";
        /// GPU address of the depth buffer, for partial renders; new in macOS 12.
        depth_buffer_3: Address [10880..10944] "Depth buffer 3";
        /// GPU address of the depth compression metadata, for partial renders; new in macOS 12.
        depth_acceleration_buffer_3: Address [10944..11008] "Depth acceleration buffer 3";
        /// GPU address of the stencil buffer, for partial renders; new in macOS 12.
        stencil_buffer_3: Address [11008..11072] "Stencil buffer 3";
        /// GPU address of the stencil compression metadata, for partial renders; new in macOS 12.
        stencil_acceleration_buffer_3: Address [11072..11136] "Stencil acceleration buffer 3";
        /// Unknown.
        unk_352: Hex [11264..11296] "Unk 352";
        /// Unknown.
        unk_360: Hex [11520..11552] "Unk 360";
        /// Id of the encoder, as in the segment list.
        encoder_id: Hex [11584..11616] "Encoder ID";
        /// Unknown.
        unk_365: Hex64 [11680..11744] "Unk 365";
        /// GPU address; purpose unknown.
        unknown_buffer: Address [11840..11904] "Unknown buffer";
        /// Width of the framebuffer in pixels.
        width_2: Uint [12224..12256] "Width 2";
        /// Height of the framebuffer in pixels.
        height_2: Uint [12256..12288] "Height 2";
        /// Samples of a pixel.
        sample_count: Uint [12288..12320] "Sample count";
        /// Position of sample 0 in x, in sixteenths of a pixel.
        sample_0_x: Uint [12320..12325] "Sample 0 X";
        /// Position of sample 0 in y, in sixteenths of a pixel.
        sample_0_y: Uint [12352..12357] "Sample 0 Y";
        /// Position of sample 1 in x, in sixteenths of a pixel.
        sample_1_x: Uint [12384..12389] "Sample 1 X";
        /// Position of sample 1 in y, in sixteenths of a pixel.
        sample_1_y: Uint [12416..12421] "Sample 1 Y";
        /// Position of sample 2 in x, in sixteenths of a pixel.
        sample_2_x: Uint [12448..12453] "Sample 2 X";
        /// Position of sample 2 in y, in sixteenths of a pixel.
        sample_2_y: Uint [12480..12485] "Sample 2 Y";
        /// Position of sample 3 in x, in sixteenths of a pixel.
        sample_3_x: Uint [12512..12517] "Sample 3 X";
        /// Position of sample 3 in y, in sixteenths of a pixel.
        sample_3_y: Uint [12544..12549] "Sample 3 Y";
        /// Unknown.
        unk_49_0: Uint [12832..12864] "Unk 49:0";
        /// Width of a tile in pixels.
        tile_width: Uint [12864..12896] "Tile width";
        /// Height of a tile in pixels.
        tile_height: Uint [12896..12928] "Tile height";
        /// Layers of the framebuffer (1 if not layered): background and end-of-tile programs run
        /// this many times per tile.
        framebuffer_layers: Uint [12928..12960] "Framebuffer layers";
        /// Unknown.
        unk_56_0: Uint [13056..13088] "Unk 56:0";
        /// Unknown.
        unk_70_0: Uint [13120..13152] "Unk 70:0";
    }
}

/// The tables of this module.
pub static ALL: &[&PacketInfo] = &[
    Header::INFO,
    AttachmentCount::INFO,
    Attachment::INFO,
    SpillBufferHistogram::INFO,
    Compute::INFO,
    Graphics::INFO,
];
