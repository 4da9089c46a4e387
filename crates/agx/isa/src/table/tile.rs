//! Tile memory, sample mask, depth and stencil of fragment shaders.

use super::prelude::*;

rows! {
    /// Load from tile memory.
    ///
    /// Loads channels of the pixel's sample or samples in the mask (255: all), at byte `offset` of
    /// the pixel's part of tile memory. What a mask of several samples loads is unknown; Mesa loads
    /// one, or all of a pixel without multisampling.
    // source: applegpu.py, LdstTileDesc; agx_pack.c, AGX_OPCODE_LD_TILE
    LdTile "ld_tile" (8, 10; 15) [0:7 = 0x49] zero [u7: 1, u23: 1, u48: 7, u62: 2, u64: 16] {
        /// Destination.
        r: RegVec = operand data(9, 60, 8, 36).out(), RegVec::new(0, Size::B16, 1);
        /// Format in tile memory.
        format: Format = operand choice(24, 4);
        /// Unknown; 1 for loads and explicit coordinates.
        u0: u8 = operand num(35, 1), 1;
        /// Channels.
        mask: u8 = operand channel_mask(36), 1;
        /// Offset in bytes within the pixel's part of tile memory.
        offset: u16 = operand split(&[(28, 7), (40, 2)]);
        /// Mask of samples.
        samples: RegOrImm = operand reg_if(42, 56, 22), RegOrImm::Imm(255);
        /// First half-register of explicit coordinates (x, y); see `explicit`.
        coords: u8 = operand split(&[(16, 6), (58, 2)]);
        /// The coordinates are explicit, not those of the fragment.
        explicit: bool = hidden bit(55);
    }

    /// Store to tile memory.
    ///
    /// Stores channels to all samples in the mask (255: all), at byte `offset` of the pixel's part
    /// of tile memory. Explicit coordinates are two 16-bit numbers within the tile, for programs
    /// other than fragment shaders.
    // source: applegpu.py, LdstTileDesc; agx_pack.c, AGX_OPCODE_ST_TILE
    StTile "st_tile" (8, 10; 15) [0:7 = 0x09] zero [u7: 1, u23: 1, u48: 7, u62: 2, u64: 16] {
        /// Values.
        r: RegVec = operand data(9, 60, 8, 36), RegVec::new(0, Size::B16, 1);
        /// Format in tile memory.
        format: Format = operand choice(24, 4);
        /// Unknown; 1 for loads and explicit coordinates.
        u0: u8 = operand num(35, 1);
        /// Channels.
        mask: u8 = operand channel_mask(36), 1;
        /// Offset in bytes within the pixel's part of tile memory.
        offset: u16 = operand split(&[(28, 7), (40, 2)]);
        /// Mask of samples.
        samples: RegOrImm = operand reg_if(42, 56, 22), RegOrImm::Imm(255);
        /// First half-register of explicit coordinates (x, y); see `explicit`.
        coords: u8 = operand split(&[(16, 6), (58, 2)]);
        /// The coordinates are explicit, not those of the fragment.
        explicit: bool = hidden bit(55);
    }

    /// Set the fate of samples.
    ///
    /// For each sample in `target` that has not been killed or tested: if it is in `live`, the
    /// depth, stencil and occlusion tests run for it, else it is killed. 255 stands for all
    /// samples. Each sample must be killed or tested exactly once if a program has a `sample_mask`,
    /// and before tile stores to it.
    // source: applegpu.py, SampleMaskInstructionDesc; agx_pack.c, AGX_OPCODE_SAMPLE_MASK
    SampleMask "sample_mask" (4) [0:8 = 0xc1, 15:1 = 0] {
        /// Samples affected.
        target: RegOrImm = operand imm_if(9, 24, 8), RegOrImm::Imm(255);
        /// Samples of these that stay alive.
        live: RegOrImm = operand imm_if(16, 26, 23);
        /// Unknown; 0.
        u22: bool = hidden bit(22);
        /// Unknown; Mesa puts the high bits of `live` into bits 28 and 29.
        u28: u8 = hidden num(28, 4);
    }

    /// Emit depth and stencil.
    ///
    /// Gives the depth and/or stencil of the samples in the mask and runs the tests with them.
    /// Depth is a 32-bit float in two halves, stencil the low 8 bits of a half.
    // source: applegpu.py, ZSEmitInstructionDesc; agx_pack.c, AGX_OPCODE_ZS_EMIT
    ZsEmit "zs_emit" (4) [0:8 = 0x41, 15:1 = 0] zero [u28: 1, u31: 1] {
        /// Mask of samples.
        samples: RegOrImm = operand imm_if(9, 24, 8), RegOrImm::Imm(255);
        /// Depth and stencil values.
        values: RegVec = operand depth_stencil(16, 26, 29), RegVec::new(0, Size::B16, 2);
        /// Unknown; 0.
        u0: u8 = operand num(22, 2);
    }
}

impl ZsEmit {
    /// A 32-bit depth is emitted, from the first two half-registers.
    pub const fn depth(&self) -> bool {
        self.values.count >= 2
    }

    /// An 8-bit stencil is emitted, from the last half-register.
    pub const fn stencil(&self) -> bool {
        self.values.count & 1 != 0
    }
}
