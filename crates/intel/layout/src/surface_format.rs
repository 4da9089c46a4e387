//! Surface formats: their numbers, the formats of the API that they are, and the units that read and write them.
//!
//! source: Mesa, isl.h (`isl_format`: numbers) and isl_format.c (`format_info`: units of each generation). isl names channels from
//! the lowest bits up, Vulkan names packed ones from the highest down.

use tepui_format::Format as F;

/// A surface format.
#[derive(Clone, Copy, Debug)]
pub struct SurfaceFormat {
    /// Its number in surface states and vertex elements.
    pub number: u32,
    /// Its texels.
    pub format: F,
    /// Its uses on Gen9, a letter each.
    gen9: &'static str,
    /// Its further uses on Gen12.
    gen12: &'static str,
}

/// A use of a surface format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// The sampler reads it.
    Sample,
    /// The sampler filters it.
    Filter,
    /// The sampler compares it with a reference.
    Compare,
    /// Render targets.
    Render,
    /// Render targets that are blended.
    Blend,
    /// Vertex elements.
    Vertex,
    /// Typed writes of the data port.
    Write,
    /// Typed reads of the data port.
    Read,
    /// Typed atomic operations of the data port.
    Atomic,
    /// Render targets whose cache lines are compressed (CCS_E).
    Compress,
}

impl Use {
    fn letter(self) -> char {
        match self {
            Use::Sample => 's',
            Use::Filter => 'f',
            Use::Compare => 'c',
            Use::Render => 'r',
            Use::Blend => 'b',
            Use::Vertex => 'v',
            Use::Write => 'w',
            Use::Read => 't',
            Use::Atomic => 'a',
            Use::Compress => 'e',
        }
    }
}

impl SurfaceFormat {
    /// Whether the format has a use, on Gen12 or on Gen9.
    pub fn has(&self, gen12: bool, what: Use) -> bool {
        let letter = what.letter();
        self.gen9.contains(letter) || gen12 && self.gen12.contains(letter)
    }
}

const fn row(number: u32, format: F, gen9: &'static str, gen12: &'static str) -> SurfaceFormat {
    SurfaceFormat { number, format, gen9, gen12 }
}

/// The formats by number.
#[rustfmt::skip]
pub const TABLE: &[SurfaceFormat] = &[
    row(0x000, F::R32G32B32A32_SFLOAT, "sfrbvwte", ""),
    row(0x001, F::R32G32B32A32_SINT, "srvwte", ""),
    row(0x002, F::R32G32B32A32_UINT, "srvwte", ""),
    row(0x040, F::R32G32B32_SFLOAT, "sfv", ""),
    row(0x041, F::R32G32B32_SINT, "sv", ""),
    row(0x042, F::R32G32B32_UINT, "sv", ""),
    row(0x080, F::R16G16B16A16_UNORM, "sfrbvwe", "t"),
    row(0x081, F::R16G16B16A16_SNORM, "sfrbvwe", "t"),
    row(0x082, F::R16G16B16A16_SINT, "srvwte", ""),
    row(0x083, F::R16G16B16A16_UINT, "srvwte", ""),
    row(0x084, F::R16G16B16A16_SFLOAT, "sfrbvwte", ""),
    row(0x085, F::R32G32_SFLOAT, "sfrbvwte", ""),
    row(0x086, F::R32G32_SINT, "srvwte", ""),
    row(0x087, F::R32G32_UINT, "srvwte", ""),
    row(0x093, F::R16G16B16A16_SSCALED, "v", ""),
    row(0x094, F::R16G16B16A16_USCALED, "v", ""),
    row(0x0c0, F::B8G8R8A8_UNORM, "sfrbvwe", ""),
    row(0x0c1, F::B8G8R8A8_SRGB, "sfrb", "e"),
    row(0x0c2, F::A2B10G10R10_UNORM_PACK32, "sfrbvw", "e"),
    row(0x0c4, F::A2B10G10R10_UINT_PACK32, "srvw", "e"),
    row(0x0c7, F::R8G8B8A8_UNORM, "sfrbvwe", "t"),
    row(0x0c8, F::R8G8B8A8_SRGB, "sfrb", "e"),
    row(0x0c9, F::R8G8B8A8_SNORM, "sfrbvwe", "t"),
    row(0x0ca, F::R8G8B8A8_SINT, "srvwte", ""),
    row(0x0cb, F::R8G8B8A8_UINT, "srvwte", ""),
    row(0x0cc, F::R16G16_UNORM, "sfrbvwe", "t"),
    row(0x0cd, F::R16G16_SNORM, "sfrbvwe", "t"),
    row(0x0ce, F::R16G16_SINT, "srvwte", ""),
    row(0x0cf, F::R16G16_UINT, "srvwte", ""),
    row(0x0d0, F::R16G16_SFLOAT, "sfrbvwte", ""),
    row(0x0d1, F::A2R10G10B10_UNORM_PACK32, "sfrbvw", "e"),
    row(0x0d3, F::B10G11R11_UFLOAT_PACK32, "sfrbvw", "e"),
    row(0x0d6, F::R32_SINT, "srvwtae", ""),
    row(0x0d7, F::R32_UINT, "srvwtae", ""),
    row(0x0d8, F::R32_SFLOAT, "sfcrbvwte", "a"),
    row(0x0d9, F::X8_D24_UNORM_PACK32, "sfc", ""),
    row(0x0ed, F::E5B9G9R9_UFLOAT_PACK32, "sf", ""),
    row(0x0f4, F::R8G8B8A8_SSCALED, "v", ""),
    row(0x0f5, F::R8G8B8A8_USCALED, "v", ""),
    row(0x0f6, F::R16G16_SSCALED, "v", ""),
    row(0x0f7, F::R16G16_USCALED, "v", ""),
    row(0x100, F::R5G6B5_UNORM_PACK16, "sfrbw", "e"),
    row(0x102, F::A1R5G5B5_UNORM_PACK16, "sfrbw", "e"),
    row(0x104, F::A4R4G4B4_UNORM_PACK16, "sfrbw", "e"),
    row(0x106, F::R8G8_UNORM, "sfrbvw", "te"),
    row(0x107, F::R8G8_SNORM, "sfrbvw", "te"),
    row(0x108, F::R8G8_SINT, "srvwt", "e"),
    row(0x109, F::R8G8_UINT, "srvwt", "e"),
    row(0x10a, F::R16_UNORM, "sfcrbvw", "te"),
    row(0x10b, F::R16_SNORM, "sfrbvw", "te"),
    row(0x10c, F::R16_SINT, "srvwt", "ae"),
    row(0x10d, F::R16_UINT, "srvwt", "ae"),
    row(0x10e, F::R16_SFLOAT, "sfrbvwt", "ae"),
    row(0x11c, F::R8G8_SSCALED, "v", ""),
    row(0x11d, F::R8G8_USCALED, "v", ""),
    row(0x11e, F::R16_SSCALED, "v", ""),
    row(0x11f, F::R16_USCALED, "v", ""),
    row(0x124, F::R5G5B5A1_UNORM_PACK16, "", "sfrbe"),
    row(0x125, F::R4G4B4A4_UNORM_PACK16, "sfr", "be"),
    row(0x140, F::R8_UNORM, "sfrbvw", "te"),
    row(0x141, F::R8_SNORM, "sfrbvw", "te"),
    row(0x142, F::R8_SINT, "srvwt", "e"),
    row(0x143, F::R8_UINT, "srvwt", "e"),
    row(0x144, F::A8_UNORM, "sfrbw", "te"),
    row(0x149, F::R8_SSCALED, "v", ""),
    row(0x14a, F::R8_USCALED, "v", ""),
    // L8_UNORM_SRGB, whose other channels a swizzle removes: there is no R8_UNORM_SRGB.
    row(0x14c, F::R8_SRGB, "sf", ""),
    row(0x180, F::BC1_RGB_SRGB_BLOCK, "sf", ""),
    // YCRCB_NORMAL: Y, Cb, Y, Cr. source: Mesa, anv_formats.c
    row(0x182, F::G8B8G8R8_422_UNORM, "sfr", ""),
    row(0x186, F::BC1_RGBA_UNORM_BLOCK, "sf", ""),
    row(0x187, F::BC2_UNORM_BLOCK, "sf", ""),
    row(0x188, F::BC3_UNORM_BLOCK, "sf", ""),
    row(0x189, F::BC4_UNORM_BLOCK, "sf", ""),
    row(0x18a, F::BC5_UNORM_BLOCK, "sf", ""),
    row(0x18b, F::BC1_RGBA_SRGB_BLOCK, "sf", ""),
    row(0x18c, F::BC2_SRGB_BLOCK, "sf", ""),
    row(0x18d, F::BC3_SRGB_BLOCK, "sf", ""),
    // YCRCB_SWAPY: Cb, Y, Cr, Y.
    row(0x190, F::B8G8R8G8_422_UNORM, "sfr", ""),
    row(0x191, F::BC1_RGB_UNORM_BLOCK, "sf", ""),
    row(0x193, F::R8G8B8_UNORM, "sfv", ""),
    row(0x194, F::R8G8B8_SNORM, "sfv", ""),
    row(0x195, F::R8G8B8_SSCALED, "v", ""),
    row(0x196, F::R8G8B8_USCALED, "v", ""),
    row(0x199, F::BC4_SNORM_BLOCK, "sf", ""),
    row(0x19a, F::BC5_SNORM_BLOCK, "sf", ""),
    row(0x19b, F::R16G16B16_SFLOAT, "sfv", ""),
    row(0x19c, F::R16G16B16_UNORM, "sfv", ""),
    row(0x19d, F::R16G16B16_SNORM, "sfv", ""),
    row(0x19e, F::R16G16B16_SSCALED, "v", ""),
    row(0x19f, F::R16G16B16_USCALED, "v", ""),
    row(0x1a1, F::BC6H_SFLOAT_BLOCK, "sf", ""),
    row(0x1a2, F::BC7_UNORM_BLOCK, "sf", ""),
    row(0x1a3, F::BC7_SRGB_BLOCK, "sf", ""),
    row(0x1a4, F::BC6H_UFLOAT_BLOCK, "sf", ""),
    row(0x1a8, F::R8G8B8_SRGB, "sf", ""),
    // ETC1, each of whose blocks is a valid ETC2 block with the same texels.
    row(0x1a9, F::ETC2_R8G8B8_UNORM_BLOCK, "sf", ""),
    row(0x1aa, F::ETC2_R8G8B8_UNORM_BLOCK, "sf", ""),
    row(0x1ab, F::EAC_R11_UNORM_BLOCK, "sf", ""),
    row(0x1ac, F::EAC_R11G11_UNORM_BLOCK, "sf", ""),
    row(0x1ad, F::EAC_R11_SNORM_BLOCK, "sf", ""),
    row(0x1ae, F::EAC_R11G11_SNORM_BLOCK, "sf", ""),
    row(0x1af, F::ETC2_R8G8B8_SRGB_BLOCK, "sf", ""),
    row(0x1b0, F::R16G16B16_UINT, "sv", ""),
    row(0x1b1, F::R16G16B16_SINT, "sv", ""),
    row(0x1b3, F::A2B10G10R10_SNORM_PACK32, "v", ""),
    row(0x1b4, F::A2B10G10R10_USCALED_PACK32, "v", ""),
    row(0x1b5, F::A2B10G10R10_SSCALED_PACK32, "v", ""),
    row(0x1b6, F::A2B10G10R10_SINT_PACK32, "v", ""),
    row(0x1b7, F::A2R10G10B10_SNORM_PACK32, "v", ""),
    row(0x1b8, F::A2R10G10B10_USCALED_PACK32, "v", ""),
    row(0x1b9, F::A2R10G10B10_SSCALED_PACK32, "v", ""),
    row(0x1ba, F::A2R10G10B10_UINT_PACK32, "v", ""),
    row(0x1bb, F::A2R10G10B10_SINT_PACK32, "v", ""),
    row(0x1c0, F::ETC2_R8G8B8A1_UNORM_BLOCK, "sf", ""),
    row(0x1c1, F::ETC2_R8G8B8A1_SRGB_BLOCK, "sf", ""),
    row(0x1c2, F::ETC2_R8G8B8A8_UNORM_BLOCK, "sf", ""),
    row(0x1c3, F::ETC2_R8G8B8A8_SRGB_BLOCK, "sf", ""),
    row(0x1c8, F::R8G8B8_UINT, "sv", ""),
    row(0x1c9, F::R8G8B8_SINT, "sv", ""),
    row(0x200, F::ASTC_4x4_SRGB_BLOCK, "sf", ""),
    row(0x208, F::ASTC_5x4_SRGB_BLOCK, "sf", ""),
    row(0x209, F::ASTC_5x5_SRGB_BLOCK, "sf", ""),
    row(0x211, F::ASTC_6x5_SRGB_BLOCK, "sf", ""),
    row(0x212, F::ASTC_6x6_SRGB_BLOCK, "sf", ""),
    row(0x221, F::ASTC_8x5_SRGB_BLOCK, "sf", ""),
    row(0x222, F::ASTC_8x6_SRGB_BLOCK, "sf", ""),
    row(0x224, F::ASTC_8x8_SRGB_BLOCK, "sf", ""),
    row(0x231, F::ASTC_10x5_SRGB_BLOCK, "sf", ""),
    row(0x232, F::ASTC_10x6_SRGB_BLOCK, "sf", ""),
    row(0x234, F::ASTC_10x8_SRGB_BLOCK, "sf", ""),
    row(0x236, F::ASTC_10x10_SRGB_BLOCK, "sf", ""),
    row(0x23e, F::ASTC_12x10_SRGB_BLOCK, "sf", ""),
    row(0x23f, F::ASTC_12x12_SRGB_BLOCK, "sf", ""),
    row(0x240, F::ASTC_4x4_UNORM_BLOCK, "sf", ""),
    row(0x248, F::ASTC_5x4_UNORM_BLOCK, "sf", ""),
    row(0x249, F::ASTC_5x5_UNORM_BLOCK, "sf", ""),
    row(0x251, F::ASTC_6x5_UNORM_BLOCK, "sf", ""),
    row(0x252, F::ASTC_6x6_UNORM_BLOCK, "sf", ""),
    row(0x261, F::ASTC_8x5_UNORM_BLOCK, "sf", ""),
    row(0x262, F::ASTC_8x6_UNORM_BLOCK, "sf", ""),
    row(0x264, F::ASTC_8x8_UNORM_BLOCK, "sf", ""),
    row(0x271, F::ASTC_10x5_UNORM_BLOCK, "sf", ""),
    row(0x272, F::ASTC_10x6_UNORM_BLOCK, "sf", ""),
    row(0x274, F::ASTC_10x8_UNORM_BLOCK, "sf", ""),
    row(0x276, F::ASTC_10x10_UNORM_BLOCK, "sf", ""),
    row(0x27e, F::ASTC_12x10_UNORM_BLOCK, "sf", ""),
    row(0x27f, F::ASTC_12x12_UNORM_BLOCK, "sf", ""),
];

/// Formats with padding in place of alpha, which reads as 1.
#[rustfmt::skip]
pub const OPAQUE: &[SurfaceFormat] = &[
    row(0x006, F::R32G32B32A32_SFLOAT, "sf", "rb"),
    row(0x08e, F::R16G16B16A16_UNORM, "sf", ""),
    row(0x08f, F::R16G16B16A16_SFLOAT, "sfrb", ""),
    row(0x0e9, F::B8G8R8A8_UNORM, "sfrb", ""),
    row(0x0ea, F::B8G8R8A8_SRGB, "sfrb", ""),
    row(0x0eb, F::R8G8B8A8_UNORM, "sf", ""),
    row(0x0ec, F::R8G8B8A8_SRGB, "sf", ""),
    row(0x0ee, F::A2R10G10B10_UNORM_PACK32, "sf", ""),
    row(0x11a, F::A1R5G5B5_UNORM_PACK16, "rbw", ""),
];

/// The first format with these texels.
pub fn of(format: F) -> Option<&'static SurfaceFormat> {
    TABLE.iter().find(|row| row.format == format)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_order_and_uses_are_known() {
        for table in [TABLE, OPAQUE] {
            assert!(table.windows(2).all(|rows| rows[0].number < rows[1].number));
        }
        let known = "sfcrbvwtae";
        for row in TABLE.iter().chain(OPAQUE) {
            assert!(row.gen9.chars().chain(row.gen12.chars()).all(|c| known.contains(c)));
        }
        let r32 = of(F::R32_SFLOAT).unwrap();
        assert_eq!(r32.number, 0xd8);
        assert!(r32.has(false, Use::Compare) && !r32.has(false, Use::Atomic));
        assert!(r32.has(true, Use::Atomic));
    }
}
