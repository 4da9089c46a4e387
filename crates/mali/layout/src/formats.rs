//! Format support: the formats that the texture unit reads and the tile buffer writes.

use tepui_format::Format::{self, *};
use tepui_format::info::{Compression, Encoding, Numeric};
use tepui_layout::FormatSupport;
use tepui_mali_chips::Arch;
use tepui_mali_chips::texture::TextureFeatures;

/// The support of `format` on a GPU.
/// source: Mesa, `src/panfrost/lib/pan_format.c`, `panfrost_pipe_format`.
pub fn format_support(arch: Arch, features: TextureFeatures, format: Format) -> FormatSupport {
    if let Some(bit) = texture_feature_bit(format) {
        let texturable = features.0 >> bit & 1 != 0;
        return FormatSupport { texturable, ..FormatSupport::default() };
    }
    let depth_stencil = DEPTH_STENCIL.contains(&format);
    let renderable = RENDERABLE.contains(&format)
        || (arch >= Arch(6) && SNORM.contains(&format))
        || (arch >= Arch(7) && format == E5B9G9R9_UFLOAT_PACK32);
    let texturable = renderable
        || depth_stencil
        || SNORM.contains(&format)
        || format == E5B9G9R9_UFLOAT_PACK32
        || (arch >= Arch(7) && SUBSAMPLED.contains(&format));
    FormatSupport { texturable, renderable, depth_stencil }
}

/// The bit of `TEXTURE_FEATURES_0` that says whether a chip has a block-compressed format; `None`
/// for formats that are not block-compressed, and for PVRTC, which no Mali has.
pub fn texture_feature_bit(format: Format) -> Option<u8> {
    let Encoding::Compressed(compression, numeric) = &format.info().encoding else { return None };
    let snorm = *numeric == Numeric::Snorm;
    Some(match compression {
        Compression::Etc2Rgb => 1,
        Compression::EacR => {
            if snorm {
                17
            } else {
                2
            }
        }
        Compression::Etc2Rgba8 => 3,
        Compression::EacRg => {
            if snorm {
                18
            } else {
                4
            }
        }
        Compression::Bc1 { .. } => 7,
        Compression::Bc2 => 8,
        Compression::Bc3 => 9,
        Compression::Bc4 => {
            if snorm {
                11
            } else {
                10
            }
        }
        Compression::Bc5 => {
            if snorm {
                13
            } else {
                12
            }
        }
        Compression::Bc6h => {
            if *numeric == Numeric::Sfloat {
                15
            } else {
                14
            }
        }
        Compression::Bc7 => 16,
        Compression::Etc2Rgba1 => 19,
        // sRGB images have a low dynamic range by definition; all others are decoded as high
        // dynamic range.
        Compression::Astc => {
            if *numeric == Numeric::Srgb {
                22
            } else {
                23
            }
        }
        Compression::Pvrtc1 | Compression::Pvrtc2 => return None,
    })
}

const RENDERABLE: &[Format] = &[
    R5G6B5_UNORM_PACK16,
    B5G6R5_UNORM_PACK16,
    A1R5G5B5_UNORM_PACK16,
    A1B5G5R5_UNORM_PACK16,
    R4G4B4A4_UNORM_PACK16,
    B4G4R4A4_UNORM_PACK16,
    A4R4G4B4_UNORM_PACK16,
    A4B4G4R4_UNORM_PACK16,
    A2R10G10B10_UNORM_PACK32,
    A2R10G10B10_UINT_PACK32,
    A2R10G10B10_SINT_PACK32,
    A2B10G10R10_UNORM_PACK32,
    A2B10G10R10_UINT_PACK32,
    A2B10G10R10_SINT_PACK32,
    B10G11R11_UFLOAT_PACK32,
    A8_UNORM,
    R8_UNORM,
    R8_UINT,
    R8_SINT,
    R8_SRGB,
    R8G8_UNORM,
    R8G8_UINT,
    R8G8_SINT,
    R8G8_SRGB,
    R8G8B8A8_UNORM,
    R8G8B8A8_UINT,
    R8G8B8A8_SINT,
    R8G8B8A8_SRGB,
    B8G8R8A8_UNORM,
    B8G8R8A8_UINT,
    B8G8R8A8_SINT,
    B8G8R8A8_SRGB,
    A8B8G8R8_UNORM_PACK32,
    A8B8G8R8_UINT_PACK32,
    A8B8G8R8_SINT_PACK32,
    A8B8G8R8_SRGB_PACK32,
    R16_UNORM,
    R16_UINT,
    R16_SINT,
    R16_SFLOAT,
    R16G16_UNORM,
    R16G16_UINT,
    R16G16_SINT,
    R16G16_SFLOAT,
    R16G16B16A16_UNORM,
    R16G16B16A16_UINT,
    R16G16B16A16_SINT,
    R16G16B16A16_SFLOAT,
    R32_UINT,
    R32_SINT,
    R32_SFLOAT,
    R32G32_UINT,
    R32G32_SINT,
    R32G32_SFLOAT,
    R32G32B32_UINT,
    R32G32B32_SINT,
    R32G32B32_SFLOAT,
    R32G32B32A32_UINT,
    R32G32B32A32_SINT,
    R32G32B32A32_SFLOAT,
];

/// Textures everywhere, attachments from v6 on.
const SNORM: &[Format] = &[
    R8_SNORM,
    R8G8_SNORM,
    R8G8B8A8_SNORM,
    B8G8R8A8_SNORM,
    A8B8G8R8_SNORM_PACK32,
    R16_SNORM,
    R16G16_SNORM,
    R16G16B16A16_SNORM,
];

const DEPTH_STENCIL: &[Format] =
    &[D16_UNORM, X8_D24_UNORM_PACK32, D24_UNORM_S8_UINT, D32_SFLOAT, D32_SFLOAT_S8_UINT, S8_UINT];

/// Textures from v7 on.
const SUBSAMPLED: &[Format] = &[
    G8B8G8R8_422_UNORM,
    B8G8R8G8_422_UNORM,
    G8_B8_R8_3PLANE_420_UNORM,
    G8_B8R8_2PLANE_420_UNORM,
    G8_B8R8_2PLANE_422_UNORM,
];
