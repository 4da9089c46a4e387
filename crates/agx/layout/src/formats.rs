//! Format support: the formats that the texture unit reads and the pixel back end writes.

use tepui_format::Format::{self, *};
use tepui_format::info::{Compression, Encoding};
use tepui_layout::FormatSupport;

/// The support of `format`, the same on every AGX GPU.
pub fn format_support(format: Format) -> FormatSupport {
    let block_compressed = match &format.info().encoding {
        Encoding::Compressed(Compression::Pvrtc2, _) => false,
        Encoding::Compressed(..) => true,
        _ => false,
    };
    let renderable = RENDERABLE.contains(&format);
    let depth_stencil = DEPTH_STENCIL.contains(&format);
    let sampled = renderable || depth_stencil || block_compressed;
    FormatSupport { texturable: sampled || SAMPLED.contains(&format), renderable, depth_stencil }
}

/// source: Mesa, `src/asahi/layout/formats.c`, the rows with a format to render as.
const RENDERABLE: &[Format] = &[
    R5G6B5_UNORM_PACK16,
    B5G6R5_UNORM_PACK16,
    A1R5G5B5_UNORM_PACK16,
    A1B5G5R5_UNORM_PACK16,
    R4G4B4A4_UNORM_PACK16,
    B4G4R4A4_UNORM_PACK16,
    A4R4G4B4_UNORM_PACK16,
    A4B4G4R4_UNORM_PACK16,
    R8_UNORM,
    R8_SNORM,
    R8_UINT,
    R8_SINT,
    R8_SRGB,
    R8G8_UNORM,
    R8G8_SNORM,
    R8G8_UINT,
    R8G8_SINT,
    R8G8_SRGB,
    R8G8B8A8_UNORM,
    R8G8B8A8_SNORM,
    R8G8B8A8_UINT,
    R8G8B8A8_SINT,
    R8G8B8A8_SRGB,
    B8G8R8A8_UNORM,
    B8G8R8A8_SNORM,
    B8G8R8A8_UINT,
    B8G8R8A8_SINT,
    B8G8R8A8_SRGB,
    A8B8G8R8_UNORM_PACK32,
    A8B8G8R8_SNORM_PACK32,
    A8B8G8R8_UINT_PACK32,
    A8B8G8R8_SINT_PACK32,
    A8B8G8R8_SRGB_PACK32,
    A2R10G10B10_UNORM_PACK32,
    A2R10G10B10_UINT_PACK32,
    A2B10G10R10_UNORM_PACK32,
    A2B10G10R10_UINT_PACK32,
    R16_UNORM,
    R16_SNORM,
    R16_UINT,
    R16_SINT,
    R16_SFLOAT,
    R16G16_UNORM,
    R16G16_SNORM,
    R16G16_UINT,
    R16G16_SINT,
    R16G16_SFLOAT,
    R16G16B16A16_UNORM,
    R16G16B16A16_SNORM,
    R16G16B16A16_UINT,
    R16G16B16A16_SINT,
    R16G16B16A16_SFLOAT,
    R32_UINT,
    R32_SINT,
    R32_SFLOAT,
    R32G32_UINT,
    R32G32_SINT,
    R32G32_SFLOAT,
    R32G32B32A32_UINT,
    R32G32B32A32_SINT,
    R32G32B32A32_SFLOAT,
    B10G11R11_UFLOAT_PACK32,
    E5B9G9R9_UFLOAT_PACK32,
];

/// source: Mesa, `formats.c`. The depth unit has no 24-bit depth; of combined formats it sees each
/// aspect as an image of its own.
const DEPTH_STENCIL: &[Format] = &[D16_UNORM, D32_SFLOAT, S8_UINT, D32_SFLOAT_S8_UINT];

/// source: Mesa, `formats.c`, rows without a format to render as; cmdbuf.xml, "Channels", for the
/// 4:2:2 formats.
const SAMPLED: &[Format] = &[
    A8_UNORM,
    A2R10G10B10_SINT_PACK32,
    A2B10G10R10_SINT_PACK32,
    G8B8G8R8_422_UNORM,
    B8G8R8G8_422_UNORM,
];
