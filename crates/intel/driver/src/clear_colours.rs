//! Colours of clear blocks in memory.

use tepui_format::Format;

/// Bytes of the colour of clear blocks as units read it: four channels, and the texel. source: genxml, CLEAR_COLOR
pub const CLEAR_COLOUR_B: u64 = 64;
/// Colours of clear blocks that never change, in memory of a device: zero, as the format and as words have it, and the depth of clear blocks
/// other than zero.
#[derive(Clone, Copy)]
pub struct ConstantColours {
    /// Address of the colours.
    pub address: u64,
}

impl ConstantColours {
    /// Bytes of the colours.
    pub const SIZE_B: usize = 4 * CLEAR_COLOUR_B as usize;

    /// The colours' bytes.
    ///
    /// source: Mesa, isl.c (`isl_get_sampler_clear_field_offset`): where the sampler reads a depth
    pub fn bytes() -> [u8; ConstantColours::SIZE_B] {
        let mut bytes = [0; ConstantColours::SIZE_B];
        let texel = 2 * CLEAR_COLOUR_B as usize + CONVERTED;
        for (at, word) in [
            (2 * CLEAR_COLOUR_B as usize, 1f32.to_bits()),
            (texel, 0xffff),
            (3 * CLEAR_COLOUR_B as usize, 0xff_ffff),
        ] {
            bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Address of zero.
    pub fn zero(self) -> u64 {
        self.address
    }

    /// Address of the depth of clear blocks of a format: 0 or 1.
    pub fn of_depth(self, format: Format, depth: f32) -> u64 {
        match (depth == 0.0, format) {
            (true, _) => self.address,
            (_, Format::X8_D24_UNORM_PACK32) => self.address + 3 * CLEAR_COLOUR_B,
            _ => self.address + 2 * CLEAR_COLOUR_B,
        }
    }
}

/// Offset in the colour of clear blocks of the texel that the sampler reads. source: genxml, CLEAR_COLOR
const CONVERTED: usize = 16;
