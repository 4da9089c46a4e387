//! Texture sampling and loading.

use super::prelude::*;

/// Rows that differ in bit 6.
macro_rules! texture_rows {
    ($( $(#[doc = $doc:literal])* $Name:ident $mnemonic:literal $opcode:literal )*) => {
        rows! { $(
            $(#[doc = $doc])*
            // source: applegpu.py, TextureLoadSampleBaseInstructionDesc
            // source: agx_pack.c, AGX_OPCODE_TEXTURE_SAMPLE
            $Name $mnemonic (8, 12; 15) [0:8 = $opcode] {
                /// The length bit.
                form: Form = form form(15, 8);
                /// Compares with a reference value.
                compare: bool = operand bit(23);
                /// What is returned.
                mode: TexMode = operand choice(30, 2);
                /// Caching: 12; bit 0 is set to read images after writes, bit 1 to read
                /// writes of other dies.
                cache: u8 = operand bin(43, 4), 12;
                /// Scoreboard slot to wait on.
                slot: u8 = operand bin(63, 1);
                /// Gather.
                gather: Gather = operand choice(86, 5);
                /// Channels returned.
                mask: u8 = operand texture_mask(48), 1;
                /// Helper invocations end here: 1; 2 is unknown.
                kill: u8 = operand bin(69, 2);
                /// Destination.
                r: RegVec = operand data(9, 72, 8, 48).out(), RegVec::new(0, Size::B16, 1);
                /// Base of bindless references.
                base: TexBase = operand tex_base(64);
                /// Texture.
                texture: Texture = operand texture(78);
                /// Sampler.
                sampler: Sampler = operand sampler();
                /// Dimension.
                dim: Dim = operand choice2((40, 3), (71, 1)), Dim::D2;
                /// Coordinates.
                coords: Coords = operand coords(74, 71),
                    Coords { reg: 0, size: Size::B32, axes: 2, extras: 0, discard: false };
                /// How the level of detail is found.
                lod_mode: LodMode = operand choice(52, 4);
                /// Level of detail.
                lod: Lod = operand lod();
                /// Comparison value and texel offsets.
                compare_offset: CompareOffset = operand compare_offset(23);
            }
        )* }
    };
}

texture_rows! {
    /// Sample a texture.
    TextureSample "texture_sample" 0x31
    /// Load texels by integer coordinates.
    TextureLoad "texture_load" 0x71
}
