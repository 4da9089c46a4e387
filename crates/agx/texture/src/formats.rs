//! Pixel formats by the channels and type of a descriptor.

use tepui_agx_packets::texture::{Channels, TextureType};
use tepui_format::Format::{self, *};

use tepui_texel::Extended;

use crate::error::Unsupported;

/// The format of a descriptor, with red in the first channel in memory: the descriptor's swizzle
/// does the rest.
///
/// Assumption: the channels of A1R5G5B5 are named by their letters, although alpha comes first in
/// memory. Mesa does not use them.
///
// source: cmdbuf.xml, "Channels", "Texture Type"; Mesa's formats.c
pub fn format_of(
    channels: Channels,
    type_: TextureType,
    srgb: bool,
) -> Result<Format, Unsupported> {
    use TextureType::{Float, Sint, Snorm, Uint, Unorm};
    let known = match (channels, type_, srgb) {
        (Channels::R8, Unorm, false) => R8_UNORM,
        (Channels::R8, Unorm, true) => R8_SRGB,
        (Channels::R8, Snorm, false) => R8_SNORM,
        (Channels::R8, Uint, false) => R8_UINT,
        (Channels::R8, Sint, false) => R8_SINT,
        (Channels::R16, Unorm, false) => R16_UNORM,
        (Channels::R16, Snorm, false) => R16_SNORM,
        (Channels::R16, Uint, false) => R16_UINT,
        (Channels::R16, Sint, false) => R16_SINT,
        (Channels::R16, Float, false) => R16_SFLOAT,
        (Channels::R8G8, Unorm, false) => R8G8_UNORM,
        (Channels::R8G8, Unorm, true) => R8G8_SRGB,
        (Channels::R8G8, Snorm, false) => R8G8_SNORM,
        (Channels::R8G8, Uint, false) => R8G8_UINT,
        (Channels::R8G8, Sint, false) => R8G8_SINT,
        // Vulkan names packed formats from the highest bit, the hardware from the lowest.
        (Channels::R5G6B5, Unorm, false) => B5G6R5_UNORM_PACK16,
        (Channels::R4G4B4A4, Unorm, false) => A4B4G4R4_UNORM_PACK16,
        (Channels::A1R5G5B5, Unorm, false) => B5G5R5A1_UNORM_PACK16,
        (Channels::R5G5B5A1, Unorm, false) => A1B5G5R5_UNORM_PACK16,
        (Channels::R32, Uint, false) => R32_UINT,
        (Channels::R32, Sint, false) => R32_SINT,
        (Channels::R32, Float, false) => R32_SFLOAT,
        (Channels::R16G16, Unorm, false) => R16G16_UNORM,
        (Channels::R16G16, Snorm, false) => R16G16_SNORM,
        (Channels::R16G16, Uint, false) => R16G16_UINT,
        (Channels::R16G16, Sint, false) => R16G16_SINT,
        (Channels::R16G16, Float, false) => R16G16_SFLOAT,
        (Channels::R11G11B10, Float, false) => B10G11R11_UFLOAT_PACK32,
        (Channels::R10G10B10A2, Unorm, false) => A2B10G10R10_UNORM_PACK32,
        (Channels::R10G10B10A2, Uint, false) => A2B10G10R10_UINT_PACK32,
        (Channels::R10G10B10A2, Sint, false) => A2B10G10R10_SINT_PACK32,
        (Channels::R9G9B9E5, Float, false) => E5B9G9R9_UFLOAT_PACK32,
        (Channels::R8G8B8A8, Unorm, false) => R8G8B8A8_UNORM,
        (Channels::R8G8B8A8, Unorm, true) => R8G8B8A8_SRGB,
        (Channels::R8G8B8A8, Snorm, false) => R8G8B8A8_SNORM,
        (Channels::R8G8B8A8, Uint, false) => R8G8B8A8_UINT,
        (Channels::R8G8B8A8, Sint, false) => R8G8B8A8_SINT,
        (Channels::R32G32, Uint, false) => R32G32_UINT,
        (Channels::R32G32, Sint, false) => R32G32_SINT,
        (Channels::R32G32, Float, false) => R32G32_SFLOAT,
        (Channels::R16G16B16A16, Unorm, false) => R16G16B16A16_UNORM,
        (Channels::R16G16B16A16, Snorm, false) => R16G16B16A16_SNORM,
        (Channels::R16G16B16A16, Uint, false) => R16G16B16A16_UINT,
        (Channels::R16G16B16A16, Sint, false) => R16G16B16A16_SINT,
        (Channels::R16G16B16A16, Float, false) => R16G16B16A16_SFLOAT,
        (Channels::R32G32B32A32, Uint, false) => R32G32B32A32_UINT,
        (Channels::R32G32B32A32, Sint, false) => R32G32B32A32_SINT,
        (Channels::R32G32B32A32, Float, false) => R32G32B32A32_SFLOAT,
        (Channels::Gbgr422, Unorm, false) => G8B8G8R8_422_UNORM,
        (Channels::Bgrg422, Unorm, false) => B8G8R8G8_422_UNORM,
        (Channels::Pvrtc2bpp, Unorm, false) => PVRTC1_2BPP_UNORM_BLOCK_IMG,
        (Channels::Pvrtc2bpp, Unorm, true) => PVRTC1_2BPP_SRGB_BLOCK_IMG,
        (Channels::Pvrtc4bpp, Unorm, false) => PVRTC1_4BPP_UNORM_BLOCK_IMG,
        (Channels::Pvrtc4bpp, Unorm, true) => PVRTC1_4BPP_SRGB_BLOCK_IMG,
        (Channels::Etc2Rgb8, Unorm, false) => ETC2_R8G8B8_UNORM_BLOCK,
        (Channels::Etc2Rgb8, Unorm, true) => ETC2_R8G8B8_SRGB_BLOCK,
        (Channels::Etc2Rgba8, Unorm, false) => ETC2_R8G8B8A8_UNORM_BLOCK,
        (Channels::Etc2Rgba8, Unorm, true) => ETC2_R8G8B8A8_SRGB_BLOCK,
        (Channels::Etc2Rgb8A1, Unorm, false) => ETC2_R8G8B8A1_UNORM_BLOCK,
        (Channels::Etc2Rgb8A1, Unorm, true) => ETC2_R8G8B8A1_SRGB_BLOCK,
        (Channels::EacR11, Unorm, false) => EAC_R11_UNORM_BLOCK,
        (Channels::EacR11, Snorm, false) => EAC_R11_SNORM_BLOCK,
        (Channels::EacRg11, Unorm, false) => EAC_R11G11_UNORM_BLOCK,
        (Channels::EacRg11, Snorm, false) => EAC_R11G11_SNORM_BLOCK,
        // The fourth colour of BC1 is black with and without alpha; the swizzle says which.
        (Channels::Bc1, Unorm, false) => BC1_RGBA_UNORM_BLOCK,
        (Channels::Bc1, Unorm, true) => BC1_RGBA_SRGB_BLOCK,
        (Channels::Bc2, Unorm, false) => BC2_UNORM_BLOCK,
        (Channels::Bc2, Unorm, true) => BC2_SRGB_BLOCK,
        (Channels::Bc3, Unorm, false) => BC3_UNORM_BLOCK,
        (Channels::Bc3, Unorm, true) => BC3_SRGB_BLOCK,
        (Channels::Bc4, Unorm, false) => BC4_UNORM_BLOCK,
        (Channels::Bc4, Snorm, false) => BC4_SNORM_BLOCK,
        (Channels::Bc5, Unorm, false) => BC5_UNORM_BLOCK,
        (Channels::Bc5, Snorm, false) => BC5_SNORM_BLOCK,
        (Channels::Bc6h, Float, false) => BC6H_SFLOAT_BLOCK,
        (Channels::Bc6hUfloat, Float, false) => BC6H_UFLOAT_BLOCK,
        (Channels::Bc7, Unorm, false) => BC7_UNORM_BLOCK,
        (Channels::Bc7, Unorm, true) => BC7_SRGB_BLOCK,
        _ => match astc(channels, type_, srgb) {
            Some(format) => format,
            None => return Err(Unsupported::Format { channels, type_, srgb }),
        },
    };
    Ok(known)
}

/// The format of extended range that a descriptor's channels and type make; `None` for other types.
///
/// Assumption: of the channels that descriptors can name, these formats are R10G10B10A2, whose
/// upper two bits are padding, and R16G16B16A16, each with its upper 10 bits.
/// source: cmdbuf.xml, "Texture Type", which gives the type its number
pub(crate) fn extended(
    channels: Channels,
    type_: TextureType,
    srgb: bool,
) -> Result<Option<Extended>, Unsupported> {
    if type_ != TextureType::Xr {
        return Ok(None);
    }
    match channels {
        Channels::R10G10B10A2 => Ok(Some(Extended { wide: false, srgb })),
        Channels::R16G16B16A16 => Ok(Some(Extended { wide: true, srgb })),
        _ => Err(Unsupported::Format { channels, type_, srgb }),
    }
}

/// The channels, type and sRGB bit whose [`format_of`] is `format`; `None` when there are none, or
/// only with a swizzle.
pub fn fields_of(format: Format) -> Option<(Channels, TextureType, bool)> {
    // Every combination of the fields' 7 and 3 bits.
    let types = (0..8).filter_map(TextureType::from_raw);
    types
        .flat_map(|t| [false, true].map(|srgb| (t, srgb)))
        .flat_map(|(t, srgb)| (0..128).filter_map(Channels::from_raw).map(move |c| (c, t, srgb)))
        .find(|&(c, t, srgb)| format_of(c, t, srgb) == Ok(format))
}

fn astc(channels: Channels, type_: TextureType, srgb: bool) -> Option<Format> {
    let [unorm, srgb_format, float] = match channels {
        Channels::Astc4x4 => [ASTC_4x4_UNORM_BLOCK, ASTC_4x4_SRGB_BLOCK, ASTC_4x4_SFLOAT_BLOCK],
        Channels::Astc5x4 => [ASTC_5x4_UNORM_BLOCK, ASTC_5x4_SRGB_BLOCK, ASTC_5x4_SFLOAT_BLOCK],
        Channels::Astc5x5 => [ASTC_5x5_UNORM_BLOCK, ASTC_5x5_SRGB_BLOCK, ASTC_5x5_SFLOAT_BLOCK],
        Channels::Astc6x5 => [ASTC_6x5_UNORM_BLOCK, ASTC_6x5_SRGB_BLOCK, ASTC_6x5_SFLOAT_BLOCK],
        Channels::Astc6x6 => [ASTC_6x6_UNORM_BLOCK, ASTC_6x6_SRGB_BLOCK, ASTC_6x6_SFLOAT_BLOCK],
        Channels::Astc8x5 => [ASTC_8x5_UNORM_BLOCK, ASTC_8x5_SRGB_BLOCK, ASTC_8x5_SFLOAT_BLOCK],
        Channels::Astc8x6 => [ASTC_8x6_UNORM_BLOCK, ASTC_8x6_SRGB_BLOCK, ASTC_8x6_SFLOAT_BLOCK],
        Channels::Astc8x8 => [ASTC_8x8_UNORM_BLOCK, ASTC_8x8_SRGB_BLOCK, ASTC_8x8_SFLOAT_BLOCK],
        Channels::Astc10x5 => [ASTC_10x5_UNORM_BLOCK, ASTC_10x5_SRGB_BLOCK, ASTC_10x5_SFLOAT_BLOCK],
        Channels::Astc10x6 => [ASTC_10x6_UNORM_BLOCK, ASTC_10x6_SRGB_BLOCK, ASTC_10x6_SFLOAT_BLOCK],
        Channels::Astc10x8 => [ASTC_10x8_UNORM_BLOCK, ASTC_10x8_SRGB_BLOCK, ASTC_10x8_SFLOAT_BLOCK],
        Channels::Astc10x10 => {
            [ASTC_10x10_UNORM_BLOCK, ASTC_10x10_SRGB_BLOCK, ASTC_10x10_SFLOAT_BLOCK]
        }
        Channels::Astc12x10 => {
            [ASTC_12x10_UNORM_BLOCK, ASTC_12x10_SRGB_BLOCK, ASTC_12x10_SFLOAT_BLOCK]
        }
        Channels::Astc12x12 => {
            [ASTC_12x12_UNORM_BLOCK, ASTC_12x12_SRGB_BLOCK, ASTC_12x12_SFLOAT_BLOCK]
        }
        _ => return None,
    };
    match (type_, srgb) {
        (TextureType::Unorm, false) => Some(unorm),
        (TextureType::Unorm, true) => Some(srgb_format),
        (TextureType::Float, false) => Some(float),
        _ => None,
    }
}
