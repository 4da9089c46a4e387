//! Compute data master: the control stream of dispatches.
//!
//! The stream is a sequence of blocks; the top three bits of a block's first word are its type. A
//! launch consists of [`LaunchWord0`], [`LaunchWord1`], on multi-cluster G14 chips [`UnkG14x`], and
//! then, depending on the mode, sizes or an indirect buffer.
//!
// source: cmdbuf.xml, "CDM commands"; order of the words of a launch: decode.c, agxdecode_cdm

use tepui_packets::types::{Address, Bool, Groups, Shr, Uint};
use tepui_packets::{Packet, PacketInfo, bits_enum, packet};

use crate::usc::SamplerStates;

bits_enum! {
    /// The type of a block of the compute control stream: the top three bits of its first word.
    pub enum BlockType = "CDM Block Type" {
        /// A dispatch.
        #[default]
        Launch = 0 => "Launch",
        /// A jump to another address.
        StreamLink = 1 => "Stream Link",
        /// The end of the command.
        StreamTerminate = 2 => "Stream Terminate",
        /// Waits for earlier launches and makes their writes visible.
        Barrier = 3 => "Barrier",
        /// Returns to the block after the last link with return.
        StreamReturn = 4 => "Stream Return",
    }
}

bits_enum! {
    /// Source of a launch's sizes.
    pub enum Mode = "CDM Mode" {
        /// Global and local size follow in the stream.
        #[default]
        Direct = 0 => "Direct",
        /// The global size, three 32-bit words, is in memory; the local size follows in the stream.
        /// For kernels with a fixed local size, for example because of their local memory.
        IndirectGlobal = 1 => "Indirect global",
        /// Global and local size, six 32-bit words, are in memory.
        IndirectLocal = 2 => "Indirect local",
    }
}

packet! {
    /// The first word of a dispatch: how much register state its USC words load.
    pub struct LaunchWord0 = "CDM Launch Word 0", 4 bytes
    fixed {
        "Block Type" BlockType [29..32] = BlockType::Launch;
    }
    fields {
        /// 16-bit uniform registers in use.
        uniform_register_count: Groups<64> [1..4] "Uniform register count";
        /// Texture state registers in use.
        texture_state_register_count: Groups<8> [4..9] "Texture state register count";
        /// Sampler state registers in use and their form.
        sampler_state_register_count: SamplerStates [9..12] "Sampler state register count";
        /// 16-bit registers that the preshader needs.
        preshader_register_count: Groups<16> [12..16] "Preshader register count";
        /// Source of the sizes.
        mode: Mode [27..29] "Mode";
    }
}

packet! {
    /// The second word of a dispatch.
    pub struct LaunchWord1 = "CDM Launch Word 1", 4 bytes
    fields {
        /// USC address of the USC words.
        pipeline: Shr<Address, 6> [6..32] "Pipeline";
    }
}

packet! {
    /// Two further words of a dispatch on G14S, G14C and G14D.
    pub struct UnkG14x = "CDM Unk G14X", 8 bytes
    fixed {
        "Unknown 30" Bool [62..63] = true;
    }
}

packet! {
    /// Address of the sizes of an indirect dispatch.
    pub struct Indirect = "CDM Indirect", 8 bytes
    fields {
        /// GPU address of the three or six 32-bit words.
        address: Shr<Address, 2> [34..64, 0..8] "Address";
    }
}

packet! {
    /// Size of a dispatch in threads, not in workgroups.
    pub struct GlobalSize = "CDM Global size", 12 bytes
    fields {
        /// Threads in x.
        x: Uint [0..32] "X";
        /// Threads in y.
        y: Uint [32..64] "Y";
        /// Threads in z.
        z: Uint [64..96] "Z";
    }
}

packet! {
    /// Size of a workgroup in threads.
    pub struct LocalSize = "CDM Local size", 12 bytes
    fields {
        /// Threads in x.
        x: Uint [0..32] "X";
        /// Threads in y.
        y: Uint [32..64] "Y";
        /// Threads in z.
        z: Uint [64..96] "Z";
    }
}

packet! {
    /// Waits for earlier launches and makes caches coherent. Which bit does what is mostly unknown;
    /// Mesa sets bits 0 to 19 after every launch.
    pub struct Barrier = "CDM Barrier", 4 bytes
    fixed {
        "Block Type" BlockType [29..32] = BlockType::Barrier;
    }
    fields {
        /// Unknown.
        unk_0: Bool [0..1] "Unk 0";
        /// Unknown.
        unk_1: Bool [1..2] "Unk 1";
        /// Unknown.
        unk_2: Bool [2..3] "Unk 2";
        /// Invalidates the USC's caches of code, uniforms and descriptors.
        usc_cache_inval: Bool [3..4] "USC cache inval";
        /// Unknown.
        unk_4: Bool [4..5] "Unk 4";
        /// Unknown.
        unk_5: Bool [5..6] "Unk 5";
        /// Unknown.
        unk_6: Bool [6..7] "Unk 6";
        /// Unknown.
        unk_7: Bool [7..8] "Unk 7";
        /// Unknown.
        unk_8: Bool [8..9] "Unk 8";
        /// Unknown.
        unk_9: Bool [9..10] "Unk 9";
        /// Unknown.
        unk_10: Bool [10..11] "Unk 10";
        /// Unknown.
        unk_11: Bool [11..12] "Unk 11";
        /// Unknown.
        unk_12: Bool [12..13] "Unk 12";
        /// Unknown.
        unk_13: Bool [13..14] "Unk 13";
        /// Unknown.
        unk_14: Bool [14..15] "Unk 14";
        /// Unknown.
        unk_15: Bool [15..16] "Unk 15";
        /// Unknown.
        unk_16: Bool [16..17] "Unk 16";
        /// Unknown.
        unk_17: Bool [17..18] "Unk 17";
        /// Unknown.
        unk_18: Bool [18..19] "Unk 18";
        /// Unknown.
        unk_19: Bool [19..20] "Unk 19";
        /// Unknown.
        unk_20: Bool [20..21] "Unk 20";
        /// Unknown; perhaps for chips with several clusters.
        unk_24: Bool [24..25] "Unk 24";
        /// Unknown.
        unk_26: Bool [26..27] "Unk 26";
        /// Returns to the block after the last link with return.
        returns: Bool [27..28] "Returns";
    }
}

packet! {
    /// A jump to another address.
    pub struct StreamLink = "CDM Stream Link", 8 bytes
    fixed {
        "Block Type" BlockType [29..32] = BlockType::StreamLink;
    }
    fields {
        /// A later return continues after this block.
        with_return: Bool [28..29] "With return";
        /// GPU address of the next block.
        target: Address [32..64, 0..8] "Target";
    }
}

packet! {
    /// The end of the command.
    pub struct StreamTerminate = "CDM Stream Terminate", 8 bytes
    fixed {
        "Block Type" BlockType [29..32] = BlockType::StreamTerminate;
    }
}

packet! {
    /// Returns to the block after the last link with return.
    pub struct StreamReturn = "CDM Stream Return", 8 bytes
    fixed {
        "Block Type" BlockType [29..32] = BlockType::StreamReturn;
    }
}

/// The tables of this module.
pub static ALL: &[&PacketInfo] = &[
    LaunchWord0::INFO,
    LaunchWord1::INFO,
    UnkG14x::INFO,
    Indirect::INFO,
    GlobalSize::INFO,
    LocalSize::INFO,
    Barrier::INFO,
    StreamLink::INFO,
    StreamTerminate::INFO,
    StreamReturn::INFO,
];
