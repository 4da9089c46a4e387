//! Texel formats of the cases: sizes, class, GLSL names, and test texels.

use ash::vk;
use half::f16;

use crate::number::Random;

/// The numeric interpretation of a format's bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are Vulkan's")]
pub enum Class {
    Unorm,
    Snorm,
    Uint,
    Sint,
    Half,
    Single,
    /// Floats without sign, packed.
    Ufloat,
    Srgb,
    Depth,
    /// Compressed blocks.
    Blocks,
}

/// A texel format.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Vulkan's name without `VK_FORMAT_`.
    pub name: &'static str,
    /// The format.
    pub vk: vk::Format,
    /// Bytes of a texel or block.
    pub bytes: usize,
    /// Texels of a block.
    pub block_px: [u32; 2],
    /// The numeric interpretation.
    pub class: Class,
    /// GLSL's layout qualifier for storage images, if it has one.
    pub glsl: Option<&'static str>,
}

macro_rules! formats {
    ($($name:ident $bytes:literal $class:ident $($glsl:literal)?;)*) => {
        &[$(Format {
            name: stringify!($name),
            vk: vk::Format::$name,
            bytes: $bytes,
            block_px: [1, 1],
            class: Class::$class,
            glsl: formats!(@ $($glsl)?),
        },)*]
    };
    (@) => { None };
    (@ $glsl:literal) => { Some($glsl) };
}

/// Formats that both drivers sample, uncompressed.
pub const COLOUR: &[Format] = formats! {
    R4G4B4A4_UNORM_PACK16 2 Unorm;
    B4G4R4A4_UNORM_PACK16 2 Unorm;
    A4R4G4B4_UNORM_PACK16 2 Unorm;
    A4B4G4R4_UNORM_PACK16 2 Unorm;
    R5G6B5_UNORM_PACK16 2 Unorm;
    B5G6R5_UNORM_PACK16 2 Unorm;
    A1R5G5B5_UNORM_PACK16 2 Unorm;
    R8_UNORM 1 Unorm "r8";
    R8_SNORM 1 Snorm "r8_snorm";
    R8_UINT 1 Uint "r8ui";
    R8_SINT 1 Sint "r8i";
    R8G8_UNORM 2 Unorm "rg8";
    R8G8_SNORM 2 Snorm "rg8_snorm";
    R8G8_UINT 2 Uint "rg8ui";
    R8G8_SINT 2 Sint "rg8i";
    R8G8B8A8_UNORM 4 Unorm "rgba8";
    R8G8B8A8_SNORM 4 Snorm "rgba8_snorm";
    R8G8B8A8_UINT 4 Uint "rgba8ui";
    R8G8B8A8_SINT 4 Sint "rgba8i";
    R8G8B8A8_SRGB 4 Srgb;
    B8G8R8A8_UNORM 4 Unorm;
    B8G8R8A8_SNORM 4 Snorm;
    B8G8R8A8_UINT 4 Uint;
    B8G8R8A8_SINT 4 Sint;
    B8G8R8A8_SRGB 4 Srgb;
    A8B8G8R8_UNORM_PACK32 4 Unorm;
    A8B8G8R8_SNORM_PACK32 4 Snorm;
    A8B8G8R8_UINT_PACK32 4 Uint;
    A8B8G8R8_SINT_PACK32 4 Sint;
    A8B8G8R8_SRGB_PACK32 4 Srgb;
    A2R10G10B10_UNORM_PACK32 4 Unorm;
    A2R10G10B10_UINT_PACK32 4 Uint;
    A2B10G10R10_UNORM_PACK32 4 Unorm "rgb10_a2";
    A2B10G10R10_UINT_PACK32 4 Uint "rgb10_a2ui";
    R16_UNORM 2 Unorm "r16";
    R16_SNORM 2 Snorm "r16_snorm";
    R16_UINT 2 Uint "r16ui";
    R16_SINT 2 Sint "r16i";
    R16_SFLOAT 2 Half "r16f";
    R16G16_UNORM 4 Unorm "rg16";
    R16G16_SNORM 4 Snorm "rg16_snorm";
    R16G16_UINT 4 Uint "rg16ui";
    R16G16_SINT 4 Sint "rg16i";
    R16G16_SFLOAT 4 Half "rg16f";
    R16G16B16A16_UNORM 8 Unorm "rgba16";
    R16G16B16A16_SNORM 8 Snorm "rgba16_snorm";
    R16G16B16A16_UINT 8 Uint "rgba16ui";
    R16G16B16A16_SINT 8 Sint "rgba16i";
    R16G16B16A16_SFLOAT 8 Half "rgba16f";
    R32_UINT 4 Uint "r32ui";
    R32_SINT 4 Sint "r32i";
    R32_SFLOAT 4 Single "r32f";
    R32G32_UINT 8 Uint "rg32ui";
    R32G32_SINT 8 Sint "rg32i";
    R32G32_SFLOAT 8 Single "rg32f";
    R32G32B32A32_UINT 16 Uint "rgba32ui";
    R32G32B32A32_SINT 16 Sint "rgba32i";
    R32G32B32A32_SFLOAT 16 Single "rgba32f";
    B10G11R11_UFLOAT_PACK32 4 Ufloat "r11f_g11f_b10f";
    E5B9G9R9_UFLOAT_PACK32 4 Ufloat;
    R10X6_UNORM_PACK16 2 Unorm;
    R12X4_UNORM_PACK16 2 Unorm;
};

/// Depth formats that both drivers sample.
pub const DEPTH: &[Format] = formats! {
    D16_UNORM 2 Depth;
    D32_SFLOAT 4 Depth;
};

macro_rules! blocks {
    ($($name:ident $bytes:literal $width:literal x $height:literal;)*) => {
        &[$(Format {
            name: stringify!($name),
            vk: vk::Format::$name,
            bytes: $bytes,
            block_px: [$width, $height],
            class: Class::Blocks,
            glsl: None,
        },)*]
    };
}

/// Block-compressed formats that both drivers sample.
pub const BC: &[Format] = blocks! {
    BC1_RGB_UNORM_BLOCK 8 4 x 4;
    BC1_RGB_SRGB_BLOCK 8 4 x 4;
    BC1_RGBA_UNORM_BLOCK 8 4 x 4;
    BC1_RGBA_SRGB_BLOCK 8 4 x 4;
    BC2_UNORM_BLOCK 16 4 x 4;
    BC2_SRGB_BLOCK 16 4 x 4;
    BC3_UNORM_BLOCK 16 4 x 4;
    BC3_SRGB_BLOCK 16 4 x 4;
    BC4_UNORM_BLOCK 8 4 x 4;
    BC4_SNORM_BLOCK 8 4 x 4;
    BC5_UNORM_BLOCK 16 4 x 4;
    BC5_SNORM_BLOCK 16 4 x 4;
    BC6H_UFLOAT_BLOCK 16 4 x 4;
    BC6H_SFLOAT_BLOCK 16 4 x 4;
    BC7_UNORM_BLOCK 16 4 x 4;
    BC7_SRGB_BLOCK 16 4 x 4;
};

/// The format of a Vulkan name.
pub fn named(name: &str) -> Format {
    *[COLOUR, DEPTH, BC]
        .into_iter()
        .flatten()
        .find(|format| format.name == name)
        .unwrap_or_else(|| panic!("no format {name} in the table"))
}

impl Format {
    /// The prefix of GLSL's sampler, image and vector types.
    pub fn prefix(&self) -> &'static str {
        match self.class {
            Class::Uint => "u",
            Class::Sint => "i",
            _ => "",
        }
    }

    /// Whether texels are integers.
    pub fn is_integer(&self) -> bool {
        matches!(self.class, Class::Uint | Class::Sint)
    }

    /// Whether linear filters apply.
    pub fn is_filterable(&self) -> bool {
        !self.is_integer()
    }

    /// Random texels: every value of fixed-point formats; finite floats of moderate size.
    pub fn texels(&self, seed: u64, len_bytes: usize) -> Vec<u8> {
        let mut random = Random::new(seed);
        let mut bytes = Vec::with_capacity(len_bytes + 16);
        while bytes.len() < len_bytes {
            match self.class {
                Class::Half => {
                    let x = f16::from_f32(random.float(-4.0, 4.0));
                    bytes.extend(x.to_le_bytes());
                }
                Class::Single => bytes.extend(random.float(-4.0, 4.0).to_le_bytes()),
                Class::Depth if self.bytes == 4 => {
                    bytes.extend(random.float(0.0, 1.0).to_le_bytes());
                }
                Class::Ufloat if self.name.starts_with('B') => {
                    // Exponents below 16 keep the values at most 2.
                    let bits = random.next_u32();
                    bytes.extend((bits & !(1 << 31 | 1 << 21 | 1 << 10)).to_le_bytes());
                }
                Class::Ufloat => {
                    let bits = random.next_u32() & 0x07ff_ffff | 14 << 27;
                    bytes.extend(bits.to_le_bytes());
                }
                _ => bytes.extend(random.next_u32().to_le_bytes()),
            }
        }
        bytes.truncate(len_bytes);
        bytes
    }
}
