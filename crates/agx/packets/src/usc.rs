//! USC words: the list of state that the shader cores load before a shader runs (Mesa calls it a
//! pipeline). It loads uniform, texture and sampler state registers, configures local memory and
//! registers, gives the address of the code, and ends with the preshader or the word that there is
//! none.
//!
//! The first byte of each word is its tag. Words are 2, 4, 6 or 8 bytes long and follow one another
//! without padding; the list starts at a multiple of 64 bytes.
//!
// source: cmdbuf.xml, "USC state"

use tepui_packets::types::{Address, Bool, Groups, Hex, Log2, Shr, Uint};
use tepui_packets::{Packet, PacketInfo, bits_enum, packet};

bits_enum! {
    /// The tag of a USC word: its first byte.
    pub enum Control = "USC Control" {
        /// No word has this tag.
        #[default]
        None = 0 => "None",
        /// The code that runs once before the shader; ends the list.
        Preshader = 0x38 => "Preshader",
        /// Properties of a fragment shader.
        FragmentProperties = 0x58 => "Fragment properties",
        /// There is no preshader; ends the list.
        NoPreshader = 0x88 => "No preshader",
        /// The shader's code.
        Shader = 0x0d => "Shader",
        /// Loads uniform registers 0 to 255.
        Uniform = 0x1d => "Uniform",
        /// Loads uniform registers 256 to 511.
        UniformHigh = 0x3d => "Uniform high",
        /// Local memory or tilebuffer.
        Shared = 0x4d => "Shared",
        /// Number of registers.
        Registers = 0x8d => "Registers",
        /// Loads sampler state registers.
        Sampler = 0x9d => "Sampler",
        /// Loads texture state registers.
        Texture = 0xdd => "Texture",
    }
}

bits_enum! {
    /// Number of sampler state registers and their form. Compact ones are samplers of 8 bytes,
    /// extended ones are each followed by a custom border colour of 16 bytes.
    pub enum SamplerStates = "Sampler states" {
        /// No samplers.
        #[default]
        None = 0 => "0",
        /// Up to 4.
        Compact4 = 1 => "4 compact",
        /// Up to 8.
        Compact8 = 2 => "8 compact",
        /// Up to 12.
        Compact12 = 3 => "12 compact",
        /// Up to 16, and one for texel fetches.
        Compact16 = 4 => "16 compact",
        /// Up to 8 with border colours.
        Extended8 = 6 => "8 extended",
        /// Up to 16 with border colours.
        Extended16 = 7 => "16 extended",
    }
}

impl SamplerStates {
    /// Whether a border colour follows each sampler in memory.
    pub fn is_extended(self) -> bool {
        matches!(self, SamplerStates::Extended8 | SamplerStates::Extended16)
    }
}

bits_enum! {
    /// Layout of local memory.
    pub enum SharedLayout = "Shared layout" {
        /// Unused value.
        #[default]
        None = 0 => "None",
        /// Local memory of workgroups.
        VertexCompute = 0x24 => "Vertex/compute",
        /// A tilebuffer of 32×32 pixels.
        Tile32x32 = 0x2f => "32x32",
        /// A tilebuffer of 32×16 pixels.
        Tile32x16 = 0x3f => "32x16",
        /// A tilebuffer of 16×16 pixels.
        Tile16x16 = 0x36 => "16x16",
    }
}

packet! {
    /// Loads 16-bit uniform registers 0 to 255 from memory.
    pub struct Uniform = "USC Uniform", 8 bytes
    fixed {
        "Tag" Control [0..8] = Control::Uniform;
    }
    fields {
        /// First register.
        start_halfs: Uint [8..16] "Start (halfs)";
        /// Number of registers, 1 to 64.
        size_halfs: Groups<1> [20..26] "Size (halfs)";
        /// GPU address of the values.
        buffer: Shr<Address, 2> [26..64] "Buffer";
    }
}

packet! {
    /// Loads 16-bit uniform registers 256 to 511 from memory.
    pub struct UniformHigh = "USC Uniform High", 8 bytes
    fixed {
        "Tag" Control [0..8] = Control::UniformHigh;
    }
    fields {
        /// First register minus 256.
        start_halfs: Uint [8..16] "Start (halfs)";
        /// Number of registers, 1 to 64.
        size_halfs: Groups<1> [20..26] "Size (halfs)";
        /// GPU address of the values.
        buffer: Shr<Address, 2> [26..64] "Buffer";
    }
}

packet! {
    /// Loads texture state registers, with textures or PBE descriptors of 24 bytes each.
    pub struct Texture = "USC Texture", 8 bytes
    fixed {
        "Tag" Control [0..8] = Control::Texture;
    }
    fields {
        /// First register.
        start: Uint [8..16] "Start";
        /// Number of registers. The field has at least 5 bits and fewer than 8.
        count: Uint [20..27] "Count";
        /// GPU address of the descriptors.
        buffer: Shr<Address, 3> [27..63] "Buffer";
    }
}

packet! {
    /// Loads sampler state registers.
    pub struct Sampler = "USC Sampler", 8 bytes
    fixed {
        "Tag" Control [0..8] = Control::Sampler;
    }
    fields {
        /// First register.
        start: Uint [8..16] "Start";
        /// Number of registers. Where the field ends and the address begins is a guess.
        count: Uint [20..27] "Count";
        /// GPU address of the descriptors.
        buffer: Shr<Address, 3> [27..63] "Buffer";
    }
}

packet! {
    /// Configures local memory: that of a workgroup, or the tilebuffer.
    pub struct Shared = "USC Shared", 4 bytes
    fixed {
        "Tag" Control [0..8] = Control::Shared;
    }
    fields {
        /// The shader uses local memory (or, in a fragment shader, the tilebuffer).
        uses_shared_memory: Bool [8..9] "Uses shared memory";
        /// Layout of the memory.
        layout: SharedLayout [10..16] "Layout" = SharedLayout::VertexCompute;
        /// Samples of a pixel in the tilebuffer.
        sample_count: Log2 [16..18] "Sample count";
        /// Bytes of a sample in the tilebuffer, in units of 8.
        sample_stride_in_8_bytes: Uint [20..24] "Sample stride in 8 bytes";
        /// Local memory of a workgroup, or the size of the tilebuffer.
        bytes_per_threadgroup: Groups<256> [24..32] "Bytes per threadgroup";
    }
}

packet! {
    /// The shader's code.
    pub struct Shader = "USC Shader", 6 bytes
    fixed {
        "Tag" Control [0..8] = Control::Shader;
    }
    fields {
        /// The shader is a fragment shader that interpolates varyings.
        loads_varyings: Bool [8..9] "Loads varyings";
        /// Unknown; seen set for fragment shaders that run once per pixel.
        unk_1: Bool [9..10] "Unk 1";
        /// Unknown; Mesa sets 2 for fragment shaders and 3 for others.
        unk_2: Uint [10..16] "Unk 2";
        /// USC address of the first instruction.
        code: Address [16..48] "Code";
    }
}

packet! {
    /// Registers and scratch memory of the shader.
    pub struct Registers = "USC Registers", 4 bytes
    fixed {
        "Tag" Control [0..8] = Control::Registers;
    }
    fields {
        /// 16-bit registers of a thread.
        register_count: Groups<8> [8..13] "Register count";
        /// Unknown; Mesa sets it for fragment shaders.
        unk_1: Bool [13..14] "Unk 1";
        /// Class of the scratch memory that a thread needs: 0 for none, else 1 + ⌈log2 of the size
        /// in Mesa's scratch units⌉ (agx_scratch.c).
        spill_size: Hex [18..22] "Spill size";
        /// Unknown; Mesa sets 1.
        unk_4: Hex [24..32] "Unk 4";
    }
}

packet! {
    /// There is no preshader. Ends the list.
    pub struct NoPreshader = "USC No Preshader", 2 bytes
    fixed {
        "Tag" Control [0..8] = Control::NoPreshader;
    }
}

packet! {
    /// Code that runs once before the shader and computes uniform registers. Ends the list.
    pub struct Preshader = "USC Preshader", 8 bytes
    fixed {
        "Tag" Control [0..8] = Control::Preshader;
        "Unk" Hex [8..32] = 0xc0_8000u64;
    }
    fields {
        /// USC address of the first instruction.
        code: Address [32..64] "Code";
    }
}

packet! {
    /// Properties of a fragment shader: tests and discard.
    pub struct FragmentProperties = "USC Fragment Properties", 4 bytes
    fixed {
        "Tag" Control [0..8] = Control::FragmentProperties;
    }
    fields {
        /// Depth and stencil are tested before the shader runs.
        early_z_testing: Bool [8..9] "Early-z testing";
        /// Unknown.
        unk_2: Bool [9..10] "Unk 2";
        /// The shader discards every sample.
        unconditional_discard_1: Bool [10..11] "Unconditional discard 1";
        /// Similar to the field before; the difference is unknown.
        unconditional_discard_2: Bool [11..12] "Unconditional discard 2";
        /// Unknown; Mesa sets 0xf.
        unk_3: Hex [12..16] "Unk 3";
        /// Unknown; Mesa sets 2.
        unk_4: Hex [16..24] "Unk 4";
        /// Unknown.
        unk_5: Hex [24..32] "Unk 5";
    }
}

/// The tables of this module.
pub static ALL: &[&PacketInfo] = &[
    Uniform::INFO,
    UniformHigh::INFO,
    Texture::INFO,
    Sampler::INFO,
    Shared::INFO,
    Shader::INFO,
    Registers::INFO,
    NoPreshader::INFO,
    Preshader::INFO,
    FragmentProperties::INFO,
];
