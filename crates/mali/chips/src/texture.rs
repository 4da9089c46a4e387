//! Compressed texture formats that a chip supports. All Mali architectures define all of them, but
//! each system-on-chip chooses which are implemented. The GPU reports the choice in the register
//! `TEXTURE_FEATURES_0`, which the kernel passes on.
//!
//! source: Mesa, texcomp.rst; `src/panfrost/lib/genxml/common.xml`, "Texture format" (the bits);
//! `src/panfrost/tools/panfrost_texfeatures.c` (names and order).

use crate::Chip;

/// A family of compressed formats, with its bit in the register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompressedFormat {
    /// The bit of `TEXTURE_FEATURES_0`.
    pub bit: u8,
    /// The name that `panfrost_texfeatures` prints. (It prints "ASTC 3D HDR" also for bit 23, which
    /// is ASTC 2D HDR.)
    pub name: &'static str,
    /// Group of formats; groups are printed with an empty line between them.
    pub group: u8,
}

macro_rules! compressed {
    ($($group:literal: $($bit:literal $name:literal)*;)*) => {
        /// The families, in the order of `panfrost_texfeatures`.
        pub const COMPRESSED: &[CompressedFormat] = &[
            $($(CompressedFormat { bit: $bit, name: $name, group: $group },)*)*
        ];
    };
}

compressed! {
    0: 1 "ETC2" 3 "ETC2 EAC" 19 "ETC2 PTA" 2 "EAC 1" 4 "EAC 2" 17 "EAC snorm 1" 18 "EAC snorm 2";
    1: 20 "ASTC 3D LDR" 21 "ASTC 3D HDR" 22 "ASTC 2D LDR" 23 "ASTC 2D HDR";
    2: 7 "BC1" 8 "BC2" 9 "BC3" 10 "BC4 unorm" 11 "BC4 snorm" 12 "BC5 unorm" 13 "BC5 snorm"
       14 "BC6H UF16" 15 "BC6H SF16" 16 "BC7";
}

/// The bits of ASTC's families.
const ASTC: u32 = 0xf << 20;

/// A value of `TEXTURE_FEATURES_0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextureFeatures(pub u32);

impl TextureFeatures {
    /// All formats: a system-on-chip that leaves nothing out.
    pub const ALL: TextureFeatures = TextureFeatures(u32::MAX);

    /// Whether the chip supports a family of formats.
    pub const fn has(self, format: &CompressedFormat) -> bool {
        self.0 >> format.bit & 1 != 0
    }
}

impl Chip {
    /// The register's value for this chip.
    ///
    /// For the G610 it is a dump of a device. For the others it has all formats of the
    /// architecture; a particular device may lack some, which its register says. source: Mesa,
    /// `src/panfrost/drm-shim/panfrost_noop.c`.
    pub fn texture_features(&self) -> TextureFeatures {
        match self.product_id {
            0xa867 => TextureFeatures(0xc1ff_ff9e),
            // v4 has no ASTC. source: Mesa, v4.xml ("Texture format").
            _ if self.arch.0 < 5 => TextureFeatures(!ASTC),
            _ => TextureFeatures::ALL,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_distinct() {
        let bits = COMPRESSED.iter().fold(0u32, |bits, format| {
            assert_eq!(bits >> format.bit & 1, 0, "{}", format.name);
            bits | 1 << format.bit
        });
        assert_eq!(bits.count_ones(), 21);
    }

    #[test]
    fn a_register_of_a_device() {
        // A G57 whose system-on-chip supports only BC1 to BC3 of the BC formats.
        let features = TextureFeatures(0xf7fe_03fe);
        let has = |name| features.has(COMPRESSED.iter().find(|f| f.name == name).unwrap());
        assert!(has("ETC2") && has("BC1") && has("BC3") && has("ASTC 2D LDR"));
        assert!(!has("BC4 unorm") && !has("BC7"));
    }
}
