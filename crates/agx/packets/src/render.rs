//! Structures that a render command refers to or contains: scissors, depth bias, depth and stencil
//! load and store, control registers, and the tagged addresses of programs.
//!
// source: cmdbuf.xml, "Scissor", "Depth bias", "Counts", "ZLS Control", "CR …" (those of 26.1)

use tepui_packets::types::{Address, Array, Bool, Float, Groups, Hex, Minus, Shr, Uint};
use tepui_packets::{Packet, PacketInfo, bits_enum, packet};

use crate::usc::SamplerStates;

bits_enum! {
    /// Format of a depth buffer.
    pub enum ZlsFormat = "ZLS Format" {
        /// 32-bit floats.
        #[default]
        F32 = 0 => "32F",
        /// 16-bit unorm.
        U16 = 2 => "16",
    }
}

bits_enum! {
    /// Layout of a depth or stencil buffer. (Named in Mesa 26.1.)
    pub enum ZlsTiling = "ZLS Tiling" {
        /// Compressed, as [`crate::texture::Layout::Gpu`].
        #[default]
        Gpu = 0 => "GPU",
        /// Twiddled, as [`crate::texture::Layout::Twiddled`].
        Twiddled = 1 => "Twiddled",
    }
}

packet! {
    /// A rectangle in pixels and a range of depth. An element of the array at ISP_SCISSOR_BASE.
    pub struct Scissor = "Scissor", 16 bytes
    fields {
        /// Right edge, exclusive.
        max_x: Uint [0..16] "Max X";
        /// Left edge.
        min_x: Uint [16..32] "Min X";
        /// Bottom edge, exclusive.
        max_y: Uint [32..48] "Max Y";
        /// Top edge.
        min_y: Uint [48..64] "Min Y";
        /// Smallest depth.
        min_z: Float [64..96] "Min Z";
        /// Largest depth.
        max_z: Float [96..128] "Max Z";
    }
}

packet! {
    /// Depth bias. An element of the array at ISP_DBIAS_BASE, with 12 bytes from one to the next.
    pub struct DepthBias = "Depth bias", 12 bytes
    fields {
        /// Constant part.
        depth_bias: Float [0..32] "Depth bias";
        /// Factor of the depth slope.
        slope_scale: Float [32..64] "Slope scale";
        /// Clamp of the bias.
        clamp: Float [64..96] "Clamp";
    }
}

packet! {
    /// Amounts of register state that a background or end-of-tile program's USC words load.
    pub struct Counts = "Counts", 4 bytes
    fields {
        /// Unknown.
        unknown_0: Hex [0..1] "Unknown 0";
        /// 16-bit uniform registers in use.
        uniform_register_count: Groups<64> [1..4] "Uniform register count";
        /// Texture state registers in use.
        texture_state_register_count: Groups<8> [4..9] "Texture state register count";
        /// Sampler state registers in use and their form.
        sampler_state_register_count: SamplerStates [9..12] "Sampler state register count";
        /// 16-bit registers that the preshader needs.
        preshader_register_count: Groups<16> [12..16] "Preshader register count";
        /// Number of coefficient bindings.
        cf_binding_count: Uint [16..23] "CF binding count";
        /// Unknown; cmdbuf.xml makes it start at the same bit as the count of bindings.
        unknown: Hex [23..32] "Unknown";
    }
}

packet! {
    /// ZLS_CTRL: how depth and stencil are loaded at the start and stored at the end of a tile.
    /// Mesa 25.0 called the compression of loads "Compress 1" and that of stores "Compress 2".
    pub struct ZlsControl = "ZLS Control", 8 bytes
    fields {
        /// Unknown.
        unknown_0: Bool [0..1] "Unknown 0";
        /// Layout of the loaded depth.
        z_load_tiling: ZlsTiling [1..2] "Z Load Tiling";
        /// The loaded depth is compressed.
        z_load_compress: Bool [2..3] "Z Load Compress";
        /// Layout of the loaded stencil.
        s_load_tiling: ZlsTiling [3..4] "S Load Tiling";
        /// The loaded stencil is compressed.
        s_load_compress: Bool [4..5] "S Load Compress";
        /// Layout of the stored depth.
        z_store_tiling: ZlsTiling [5..6] "Z Store Tiling";
        /// The stored depth is compressed.
        z_store_compress: Bool [6..7] "Z Store Compress";
        /// Layout of the stored stencil.
        s_store_tiling: ZlsTiling [7..8] "S Store Tiling";
        /// The stored stencil is compressed.
        s_store_compress: Bool [8..9] "S Store Compress";
        /// Stencil is loaded; else it starts with the clear value.
        s_load: Bool [14..15] "S Load";
        /// Depth is loaded; else it starts with the clear value.
        z_load: Bool [15..16] "Z Load";
        /// Stencil is stored.
        s_store: Bool [18..19] "S Store";
        /// Depth is stored.
        z_store: Bool [19..20] "Z Store";
        /// Format of depth.
        z_format: ZlsFormat [25..27] "Z Format";
        /// Stores one sample of depth.
        z_resolve: Bool [56..57] "Z Resolve";
        /// Stores one sample of stencil.
        s_resolve: Bool [58..59] "S Resolve";
    }
}

packet! {
    /// ISP_ZLS_PIXELS: size of the depth and stencil buffers.
    pub struct IspZlsPixels = "CR ISP ZLS Pixels", 4 bytes
    fields {
        /// Width in pixels.
        x: Minus<Uint, 1> [0..15] "X";
        /// Height in pixels.
        y: Minus<Uint, 1> [15..30] "Y";
    }
}

packet! {
    /// PPP_CTRL.
    pub struct PppControl = "CR PPP Control", 4 bytes
    fields {
        /// Clip space as OpenGL has it: depth from -w to w.
        opengl: Bool [0..1] "OpenGL";
        /// Applies [`crate::ppp::WClamp`].
        enable_w_clamp: Bool [1..2] "Enable W Clamp";
        /// Points have size 1.
        default_point_size: Bool [8..9] "Default point size";
        /// Format of pixel coordinates; Mesa sets 1.
        fixed_point_format: Uint [9..10] "Fixed point format";
    }
}

packet! {
    /// PPP_MULTISAMPLECTL: where the samples of a pixel are.
    ///
    // source: hk_cmd_draw.c, hk_pack_ppp_multisamplectrl
    pub struct PppMultisampleControl = "CR PPP Multisample Control", 8 bytes
    fields {
        /// Position of each sample in x, in sixteenths of a pixel.
        sample_x: Array<Uint, 4, 8, 4> [0..32] "Sample X";
        /// Position of each sample in y, in sixteenths of a pixel.
        sample_y: Array<Uint, 4, 8, 4> [4..36] "Sample Y";
    }
}

packet! {
    /// ISP_BGOBJVALS: the stencil clear value of a tile.
    ///
    // source: asahi_drm.h, isp_bgobjvals; the unknown bits: hk_cmd_draw.c sets 0x300
    pub struct IspBgobjvals = "CR ISP BGOBJVALS", 4 bytes
    fields {
        /// Stencil clear value.
        stencil: Hex [0..8] "Stencil";
        /// Unknown; Mesa sets 3.
        unknown: Hex [8..32] "Unknown";
    }
}

packet! {
    /// The address of a background or end-of-tile program in a render command.
    ///
    // source: cmdbuf.xml, "IOGPU Graphics", clear and store pipeline; hk_queue.c ors 4
    pub struct BgEotUsc = "Background or end-of-tile USC", 4 bytes
    fields {
        /// Unknown; Mesa sets 4.
        unknown: Hex [0..4] "Unknown";
        /// USC address of the USC words.
        pipeline: Shr<Address, 4> [4..32] "Pipeline";
    }
}

packet! {
    /// The address of the helper program in a command.
    ///
    // source: decode.c, agxdecode_helper
    pub struct HelperProgram = "Helper program", 4 bytes
    fields {
        /// Whether there is a helper program.
        enable: Bool [0..1] "Enable";
        /// USC address of the first instruction.
        code: Shr<Address, 1> [1..32] "Code";
    }
}

packet! {
    /// Configuration of the helper program.
    ///
    // source: hk_queue.c, helper_cfg
    pub struct HelperConfig = "Helper configuration", 4 bytes
    fields {
        /// Unknown.
        unknown_0: Hex [0..16] "Unknown 0";
        /// Preshaders use scratch memory.
        preshader_scratch: Bool [16..17] "Preshader scratch";
        /// Unknown.
        unknown_17: Hex [17..32] "Unknown 17";
    }
}

/// The tables of this module.
pub static ALL: &[&PacketInfo] = &[
    Scissor::INFO,
    DepthBias::INFO,
    Counts::INFO,
    ZlsControl::INFO,
    IspZlsPixels::INFO,
    PppControl::INFO,
    PppMultisampleControl::INFO,
    IspBgobjvals::INFO,
    BgEotUsc::INFO,
    HelperProgram::INFO,
    HelperConfig::INFO,
];
