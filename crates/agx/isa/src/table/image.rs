//! Image stores.

use super::prelude::*;

rows! {
    /// Store a texel to an image.
    ///
    /// Stores four channel values to the texel at integer coordinates, converted to the image's
    /// format. The image is a PBE descriptor in a texture state register or bindless, as in
    /// `texture_sample`; the level is 16 bits. Coordinates outside the image store nothing.
    /// Completion is not tracked by a scoreboard slot; see `memory_barrier`.
    // source: applegpu.py, ImageWrite; agx_pack.c, AGX_OPCODE_IMAGE_WRITE
    ImageWrite "image_write" (6, 8; 15) [0:8 = 0xf1] {
        /// Four channel values.
        r: RegVec = operand data4(9, 56, 8), RegVec::new(0, Size::B16, 4);
        /// Coordinates.
        coords: Coords = operand coords(58, 55),
            Coords { reg: 0, size: Size::B32, axes: 2, extras: 0, discard: false };
        /// Level.
        lod: RegOrImm = operand imm_if(24, 60, 31);
        /// Base of bindless references.
        base: TexBase = operand tex_base(48);
        /// Image (PBE descriptor).
        image: Texture = operand texture(62);
        /// Dimension.
        dim: Dim = operand choice2((40, 3), (55, 1)), Dim::D2;
        /// Rounding.
        round: StoreRound = operand choice(53, 1);
        /// Unknown; 1.
        u1: u8 = operand num(23, 1), 1;
        /// Unknown; 0.
        u2: u8 = operand num(30, 1);
        /// Caching; 9, or 15 for coherent access.
        u3: u8 = operand num(43, 4), 9;
        /// Unknown; 0.
        u5: u8 = operand num(54, 1);
    }

    /// Store a tile from tile memory to an image.
    ///
    /// Two places differ between the sources. applegpu puts the texture reference's high bits at
    /// bits 62 and 63 and wants bits 48 to 52 to be zero; Mesa puts the former at bits 78 and 79
    /// and the base of bindless references into the latter. This table follows Mesa.
    // source: applegpu.py, ImageWriteBlockInstructionDesc
    // source: agx_pack.c, AGX_OPCODE_BLOCK_IMAGE_STORE
    ImageWriteBlock "image_write_block" (6, 10; 15) [0:8 = 0xb1, 68:10 = 0]
    zero [u30: 1, u54: 1, u62: 2] {
        /// Offset of the tile in tile memory: low half of a 32-bit register.
        offset: RegVec = operand reg16(9, 56), RegVec::new(0, Size::B16, 1);
        /// Coordinates, if explicit; otherwise only sample and layer.
        coords: Coords = operand coords(58, 55),
            Coords { reg: 0, size: Size::B32, axes: 2, extras: 0, discard: false };
        /// Level.
        lod: RegOrImm = operand imm_if(24, 60, 31);
        /// Image (PBE descriptor).
        image: Texture = operand texture(78);
        /// Dimension.
        dim: Dim = operand choice2((40, 3), (55, 1)), Dim::D2;
        /// Rounding.
        round: StoreRound = operand choice(53, 1);
        /// Format in tile memory.
        format: Format = operand choice2((8, 1), (64, 3));
        /// The coordinates are explicit, not those of the thread's tile.
        explicit: u8 = operand num(23, 1);
        /// Unknown; 9.
        q1: u8 = operand num(43, 4), 9;
        /// Unknown; 1.
        q2: u8 = operand num(67, 1), 1;
        /// Base of bindless references.
        base: TexBase = hidden tex_base(48);
    }
}
