//! Formats as descriptors name them: a number, and the elements in memory.
//!
//! source: Mesa, pan_format.c (`panfrost_pipe_format`), pan_format.h (`MALI_PACK_FMT`)

use tepui_format::Format::{self, *};
use tepui_format::Plane;
use tepui_format::info::{Compression, Encoding, Numeric};
use tepui_mali_packets::texture::{ClumpFormat as Clump, ComponentOrder as Order, Format as Code};

/// The flag of sRGB in a format's number.
const SRGB: u32 = 1 << 20;

/// The bits of the order of components in a format's number.
const ORDER: u32 = 0xfff;

/// A format as descriptors say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HwFormat {
    /// Its number: the order of the components, the code from bit 12 on, and a flag of sRGB.
    pub number: u32,
    /// The elements in memory, as planes say them.
    pub clump: Clump,
}

impl HwFormat {
    /// Whether the format has no alpha, which reads as 1.
    #[must_use]
    pub fn is_opaque(self) -> bool {
        let order = (self.number & ORDER) as u64;
        [Order::Rgb1, Order::Bgr1].iter().any(|o| o.raw() == order)
    }
}

fn number(code: Code, order: Order, f: Format) -> u32 {
    let srgb = if f.info().numeric() == Numeric::Srgb { SRGB } else { 0 };
    (code.raw() as u32) << 12 | order.raw() as u32 | srgb
}

/// The elements of a size in bytes.
fn raw(bytes: u32) -> Option<Clump> {
    Some(match bytes {
        1 => Clump::Raw8,
        2 => Clump::Raw16,
        3 => Clump::Raw24,
        4 => Clump::Raw32,
        6 => Clump::Raw48,
        8 => Clump::Raw64,
        12 => Clump::Raw96,
        16 => Clump::Raw128,
        _ => return None,
    })
}

/// The format's number and elements; `None` if the hardware has none.
#[must_use]
pub fn hw(f: Format) -> Option<HwFormat> {
    if let Some(found) = compressed(f) {
        return Some(found);
    }
    let (code, order) = depth(f).or_else(|| packed(f)).or_else(|| plain(f))?;
    let clump = match f {
        S8_UINT => Clump::S8,
        A8_UNORM => Clump::A8,
        _ => raw(f.info().block.bytes)?,
    };
    Some(HwFormat { number: number(code, order, f), clump })
}

/// Depth and stencil, which are in the first component.
fn depth(f: Format) -> Option<(Code, Order)> {
    Some(match f {
        D16_UNORM => (Code::Z16Unorm, Order::Rgba),
        D32_SFLOAT => (Code::R32f, Order::Rgba),
        X8_D24_UNORM_PACK32 => (Code::Z24x8Unorm, Order::Rgba),
        // Stencil is the second component of what the unit reads.
        S8_UINT => (Code::S8, Order::Grba),
        _ => return None,
    })
}

/// Formats whose components are bits of a word. The API names those from the highest bit on.
fn packed(f: Format) -> Option<(Code, Order)> {
    Some(match f {
        B5G6R5_UNORM_PACK16 => (Code::Rgb565, Order::Rgb1),
        R5G6B5_UNORM_PACK16 => (Code::Rgb565, Order::Bgr1),
        A1B5G5R5_UNORM_PACK16 => (Code::Rgb5A1Unorm, Order::Rgba),
        A1R5G5B5_UNORM_PACK16 => (Code::Rgb5A1Unorm, Order::Bgra),
        A4B4G4R4_UNORM_PACK16 => (Code::Rgba4Unorm, Order::Rgba),
        A4R4G4B4_UNORM_PACK16 => (Code::Rgba4Unorm, Order::Bgra),
        R4G4B4A4_UNORM_PACK16 => (Code::Rgba4Unorm, Order::Abgr),
        B4G4R4A4_UNORM_PACK16 => (Code::Rgba4Unorm, Order::Argb),
        A2B10G10R10_UNORM_PACK32 => (Code::Rgb10A2Unorm, Order::Rgba),
        A2R10G10B10_UNORM_PACK32 => (Code::Rgb10A2Unorm, Order::Bgra),
        A2B10G10R10_SNORM_PACK32 => (Code::Rgb10A2Snorm, Order::Rgba),
        A2R10G10B10_SNORM_PACK32 => (Code::Rgb10A2Snorm, Order::Bgra),
        A2B10G10R10_UINT_PACK32 | A2B10G10R10_USCALED_PACK32 => (Code::Rgb10A2ui, Order::Rgba),
        A2R10G10B10_UINT_PACK32 | A2R10G10B10_USCALED_PACK32 => (Code::Rgb10A2ui, Order::Bgra),
        A2B10G10R10_SINT_PACK32 | A2B10G10R10_SSCALED_PACK32 => (Code::Rgb10A2i, Order::Rgba),
        A2R10G10B10_SINT_PACK32 | A2R10G10B10_SSCALED_PACK32 => (Code::Rgb10A2i, Order::Bgra),
        B10G11R11_UFLOAT_PACK32 => (Code::R11fG11fB10f, Order::Rgb1),
        E5B9G9R9_UFLOAT_PACK32 => (Code::R9fG9fB9fE5f, Order::Rgb1),
        A8B8G8R8_UNORM_PACK32 | A8B8G8R8_SRGB_PACK32 => (Code::Rgba8Unorm, Order::Rgba),
        A8B8G8R8_SNORM_PACK32 => (Code::Rgba8Snorm, Order::Rgba),
        A8B8G8R8_UINT_PACK32 | A8B8G8R8_USCALED_PACK32 => (Code::Rgba8ui, Order::Rgba),
        A8B8G8R8_SINT_PACK32 | A8B8G8R8_SSCALED_PACK32 => (Code::Rgba8i, Order::Rgba),
        _ => return None,
    })
}

/// Formats of one to four components of 8, 16 or 32 bits.
fn plain(f: Format) -> Option<(Code, Order)> {
    if f == A8_UNORM {
        return Some((Code::Rgba8Unorm, Order::N000a));
    }
    let Encoding::Plain(channels) = &f.info().encoding else { return None };
    let channels = channels.as_slice();
    let bits = channels.first()?.bits;
    if channels.iter().any(|c| c.bits != bits) || f.name().contains("PACK") {
        return None;
    }
    use Numeric as N;
    let all = match (f.info().numeric(), bits) {
        (N::Unorm | N::Srgb, 8) => {
            [Code::R8Unorm, Code::Rg8Unorm, Code::Rgb8Unorm, Code::Rgba8Unorm]
        }
        (N::Snorm, 8) => [Code::R8Snorm, Code::Rg8Snorm, Code::Rgb8Snorm, Code::Rgba8Snorm],
        (N::Uint | N::Uscaled, 8) => [Code::R8ui, Code::Rg8ui, Code::Rgb8ui, Code::Rgba8ui],
        (N::Sint | N::Sscaled, 8) => [Code::R8i, Code::Rg8i, Code::Rgb8i, Code::Rgba8i],
        (N::Unorm, 16) => [Code::R16Unorm, Code::Rg16Unorm, Code::Rgb16Unorm, Code::Rgba16Unorm],
        (N::Snorm, 16) => [Code::R16Snorm, Code::Rg16Snorm, Code::Rgb16Snorm, Code::Rgba16Snorm],
        (N::Uint | N::Uscaled, 16) => [Code::R16ui, Code::Rg16ui, Code::Rgb16ui, Code::Rgba16ui],
        (N::Sint | N::Sscaled, 16) => [Code::R16i, Code::Rg16i, Code::Rgb16i, Code::Rgba16i],
        (N::Sfloat, 16) => [Code::R16f, Code::Rg16f, Code::Rgb16f, Code::Rgba16f],
        (N::Uint, 32) => [Code::R32ui, Code::Rg32ui, Code::Rgb32ui, Code::Rgba32ui],
        (N::Sint, 32) => [Code::R32i, Code::Rg32i, Code::Rgb32i, Code::Rgba32i],
        (N::Sfloat, 32) => [Code::R32f, Code::Rg32f, Code::Rgb32f, Code::Rgba32f],
        _ => return None,
    };
    let order = match (channels.len(), f.name().starts_with('B')) {
        (4, true) => Order::Bgra,
        (4, false) => Order::Rgba,
        (3, true) => Order::Bgr1,
        // What is missing reads as 0, and alpha as 1.
        _ => Order::Rgb1,
    };
    Some((*all.get(channels.len() - 1)?, order))
}

/// Block-compressed formats: texels are what the unit decodes blocks to, and planes name the blocks.
fn compressed(f: Format) -> Option<HwFormat> {
    let Encoding::Compressed(compression, numeric) = &f.info().encoding else { return None };
    let snorm = *numeric == Numeric::Snorm;
    let is_srgb = *numeric == Numeric::Srgb;
    let one = |yes: Code, no: Code| if snorm { yes } else { no };
    let (clump, code, order) = match compression {
        Compression::Etc2Rgb => (Clump::Etc2Rgb8, Code::Rgba8Unorm, Order::Rgb1),
        Compression::Etc2Rgba1 => (Clump::Etc2Rgb8a1, Code::Rgba8Unorm, Order::Rgba),
        Compression::Etc2Rgba8 => (Clump::Etc2Rgba8, Code::Rgba8Unorm, Order::Rgba),
        Compression::EacR => {
            let clump = if snorm { Clump::Etc2R11Snorm } else { Clump::Etc2R11Unorm };
            (clump, one(Code::R16Snorm, Code::R16Unorm), Order::Rgb1)
        }
        Compression::EacRg => {
            let clump = if snorm { Clump::Etc2Rg11Snorm } else { Clump::Etc2Rg11Unorm };
            (clump, one(Code::Rg16Snorm, Code::Rg16Unorm), Order::Rgb1)
        }
        Compression::Bc1 { .. } => {
            let order = if f.name().contains("RGBA") { Order::Rgba } else { Order::Rgb1 };
            (Clump::Bc1Unorm, Code::Rgba8Unorm, order)
        }
        Compression::Bc2 => (Clump::Bc2Unorm, Code::Rgba8Unorm, Order::Rgba),
        Compression::Bc3 => (Clump::Bc3Unorm, Code::Rgba8Unorm, Order::Rgba),
        Compression::Bc4 => {
            let clump = if snorm { Clump::Bc4Snorm } else { Clump::Bc4Unorm };
            (clump, one(Code::R16Snorm, Code::R16Unorm), Order::Rgb1)
        }
        Compression::Bc5 => {
            let clump = if snorm { Clump::Bc5Snorm } else { Clump::Bc5Unorm };
            (clump, one(Code::Rg16Snorm, Code::Rg16Unorm), Order::Rgb1)
        }
        Compression::Bc6h if *numeric == Numeric::Sfloat => {
            (Clump::Bc6hSf16, Code::Rgba16f, Order::Rgb1)
        }
        Compression::Bc6h => (Clump::Bc6hUf16, Code::Rgba16f, Order::Rgb1),
        Compression::Bc7 => (Clump::Bc7Unorm, Code::Rgba8Unorm, Order::Rgba),
        // Planes say ASTC's blocks by their type; the clump is not used.
        Compression::Astc if is_srgb => (Clump::Raw128, Code::Rgba8Unorm, Order::Rgba),
        Compression::Astc => (Clump::Raw128, Code::Rgba16f, Order::Rgba),
        Compression::Pvrtc1 | Compression::Pvrtc2 => return None,
    };
    Some(HwFormat { number: number(code, order, f), clump })
}

/// The planes of a format: depth and stencil, those of a Y′CbCr format, or itself.
#[must_use]
pub fn planes(f: Format) -> Vec<Plane> {
    let whole = |format| Plane { format, width_divisor: 1, height_divisor: 1 };
    match (f, f.info().planes()) {
        (D32_SFLOAT_S8_UINT, _) => vec![whole(D32_SFLOAT), whole(S8_UINT)],
        (D24_UNORM_S8_UINT, _) => vec![whole(X8_D24_UNORM_PACK32), whole(S8_UINT)],
        (f, []) => vec![whole(f)],
        (_, planes) => planes.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tepui_mali_chips::texture::TextureFeatures;

    fn number(f: Format) -> u32 {
        hw(f).map_or(0, |h| h.number)
    }

    /// source: Mesa, pan_format.c and v10.xml
    #[test]
    fn numbers_are_those_of_mesa() {
        assert_eq!(number(R8G8B8A8_UNORM), 187 << 12);
        assert_eq!(number(R8G8B8A8_SRGB), 187 << 12 | 1 << 20);
        assert_eq!(number(B8G8R8A8_UNORM), 187 << 12 | 4);
        assert_eq!(number(R32_UINT), 133 << 12 | 16);
        assert_eq!(number(R32G32B32A32_SFLOAT), 191 << 12);
        assert_eq!(number(R5G6B5_UNORM_PACK16), 64 << 12 | 20);
        assert_eq!(number(A2B10G10R10_UNORM_PACK32), 67 << 12);
        assert_eq!(number(BC1_RGB_SRGB_BLOCK), 187 << 12 | 16 | 1 << 20);
        assert_eq!(hw(EAC_R11_SNORM_BLOCK).map(|h| h.clump), Some(Clump::Etc2R11Snorm));
        assert_eq!(hw(R64_SFLOAT), None);
    }

    #[test]
    fn all_formats_of_the_texture_unit_have_numbers() {
        let chip = tepui_mali_chips::chip("mali-g610").unwrap();
        let mut known = 0;
        for f in Format::all().filter(|f| f.info().planes().is_empty()) {
            let s = tepui_mali_layout::format_support(chip.arch, TextureFeatures(u32::MAX), f);
            let is_subsampled = matches!(f.info().encoding, Encoding::Subsampled(_));
            if !s.texturable || planes(f).len() > 1 || is_subsampled {
                continue;
            }
            assert!(hw(f).is_some(), "{f}");
            known += 1;
        }
        assert!(known > 100, "{known}");
    }
}
