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
                /// Compares with a reference value.
                compare: bool = operand bit(23);
                /// The kind of result.
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
                /// Helper invocations end here: 1. A residency word follows the channels: 2.
                // source: Mesa 26.1, agx_pack.c, `sparse`
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
                /// Level-of-detail mode.
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
    ///
    /// Reads the texture at float coordinates through the sampler and returns the channels of the
    /// mask in consecutive registers. Coordinates of arrays and multisampled textures end with
    /// 16-bit integers: sample index, then layer. 32-bit or 16-bit destination registers get the
    /// format's value converted to that width.
    ///
    /// - `lod_mode` says where the level comes from; the `lod` operand holds 16-bit floats,
    ///   gradients 32-bit floats, in the order d/dx, d/dy of x, then of y, then of z.
    /// - Texel offsets are 4-bit signed numbers in one 16-bit register, x lowest.
    /// - A comparison value is a 32-bit float.
    /// - Gathers return four texels' channel; the mask does not work with them (Mesa).
    /// - Queries of the level (`query_lod`) take no layer and return two floats: clamped,
    ///   unclamped.
    /// - The residency word has bit 0 clear if all texels that were read are in memory; what its
    ///   other bits say is not known.
    /// - Four registers are clobbered even if the mask has fewer channels (Mesa).
    ///
    /// Bindless: `base` is a 64-bit uniform, the texture operand a 32-bit register with a byte
    /// offset. Asynchronous.
    TextureSample "texture_sample" 0x31
    /// Load texels by integer coordinates.
    ///
    /// Reads the texel at integer coordinates. As `texture_sample` without sampler (the operand is
    /// there and ignored as far as known); the level is an integer in 16 bits, level 0 for
    /// `auto_lod`. Coordinates outside the texture give zero. Mesa sets bit 0 of `cache` for
    /// storage images, and bit 1 for coherent ones.
    TextureLoad "texture_load" 0x71
}
