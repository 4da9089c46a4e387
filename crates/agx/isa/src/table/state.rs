//! Preambles: stores to uniform, texture state and sampler state registers.

use super::prelude::*;

rows! {
    /// Store to uniform registers.
    ///
    /// Stores each value to consecutive uniforms, from half-uniform `index << shift`. Only the
    /// `i16` format with 16-bit registers is known to work; a 32-bit value is stored as two
    /// channels. It is unknown which thread's value counts if they differ (preambles run with one
    /// thread). The programs after the preamble see the uniforms.
    // source: applegpu.py, StoreToUniformInstructionDesc
    UniformStore "uniform_store" (6, 8; 47)
    [0:7 = 0b1000101, 9:1 = 0, 16:4 = 0, 27:1 = 1, 28:2 = 0b11, 36:4 = 0, 50:2 = 0]
    zero [u30: 2, u48: 1] {
        /// Unknown; 2.
        u25: u8 = operand num(25, 2), 2;
        /// Format; `i16`.
        format: Format = operand choice(7, 2), Format::I16;
        /// Channels stored.
        mask: u8 = operand channel_mask(52), 1;
        /// Unknown; 0.
        b: u8 = operand num(44, 3);
        /// Values.
        r: RegVec = operand data(10, 40, 49, 52), RegVec::new(0, Size::B16, 1);
        /// First half-uniform written.
        index: Index = operand index();
        /// Left shift of the index.
        shift: u8 = operand lsl(&[(42, 2)]);
    }

    /// Load a texture state register from memory.
    ///
    /// The 24-byte texture or PBE descriptor at `base + offset` becomes texture state register
    /// `ts`.
    // source: applegpu.py, StoreToTextureStateInstructionDesc, which allows only registers as offsets;
    // bit 58, and that the base counts 64-bit uniforms, follow from the code that Mesa 26.1 prints
    // (AGX_MESA_DEBUG=shaders) and the bytes that it packs
    TexStateStore "tex_state_store" (8) [0:8 = 0b11101101, 20:1 = 1]
    unknown [u15: 1, u17: 3, u21: 5, u42: 16] {
        /// Texture state register.
        ts: TextureState = operand numbered(8, 7);
        /// Base address.
        base: Uniform64 = operand numbered(59, 5);
        /// Offset in bytes.
        offset: StateOffset = operand state_offset();
        /// Scoreboard slot to wait on.
        slot: u8 = operand num(16, 1);
    }

    /// Load a sampler state register from memory.
    ///
    /// The sampler descriptor (8 bytes, more with custom border colours) at `base + offset` becomes
    /// sampler state register `ss`.
    // source: applegpu.py, StoreToSamplerStateInstructionDesc; offset and base as `tex_state_store`
    SamplerStateStore "sampler_state_store" (8) [0:8 = 0b10101101, 20:1 = 1]
    unknown [u13: 3, u17: 3, u21: 5, u42: 16] {
        /// Sampler state register.
        ss: SamplerState = operand numbered(8, 5);
        /// Base address.
        base: Uniform64 = operand numbered(59, 5);
        /// Offset in bytes.
        offset: StateOffset = operand state_offset();
        /// Scoreboard slot to wait on.
        slot: u8 = operand num(16, 1);
    }
}
