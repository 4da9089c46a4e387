//! Formats: which surface format one of the API is, in which order its channels stand, and what images of it can do.

use std::collections::HashMap;
use std::sync::LazyLock;

use tepui_format::{Encoding, Format, Plane};
use tepui_intel_chips::Generation;
use tepui_intel_layout::Tiling;
use tepui_intel_layout::surface_format::{self, SurfaceFormat, Use};
use tepui_intel_packets::surface::ShaderChannelSelect as Channel;
use tepui_vulkan::backend::FormatFeatures;
use tepui_vulkan::vk::{self, FormatFeatureFlags2 as F};

use crate::compression;

/// Format of surfaces whose elements are bytes. source: Mesa, isl.h (`ISL_FORMAT_RAW`)
pub const RAW: u32 = 0x1ff;

/// A format as surface states say it.
#[derive(Clone, Copy, Debug)]
pub struct HwFormat {
    /// Its number.
    pub number: u32,
    /// Uses that the units have for it.
    pub row: &'static SurfaceFormat,
    /// Sources of red, green, blue and alpha of what is read.
    pub swizzle: [Channel; 4],
}

/// Order of channels as they are.
pub const IDENTITY: [Channel; 4] = [Channel::Red, Channel::Green, Channel::Blue, Channel::Alpha];
const BGRA: [Channel; 4] = [Channel::Blue, Channel::Green, Channel::Red, Channel::Alpha];
const RGB1: [Channel; 4] = [Channel::Red, Channel::Green, Channel::Blue, Channel::One];

static ALL: LazyLock<HashMap<Format, HwFormat>> =
    LazyLock::new(|| Format::all().filter_map(|f| find(f).map(|h| (f, h))).collect());

/// The surface format of a format of one plane; `None` if the hardware has none.
pub fn hw(f: Format) -> Option<HwFormat> {
    ALL.get(&f).copied()
}

/// source: Mesa, anv_formats.c (`main_formats`)
fn find(f: Format) -> Option<HwFormat> {
    let (own, swizzle) = match f {
        Format::D16_UNORM => (Format::R16_UNORM, IDENTITY),
        Format::D32_SFLOAT => (Format::R32_SFLOAT, IDENTITY),
        Format::S8_UINT => (Format::R8_UINT, IDENTITY),
        Format::B4G4R4A4_UNORM_PACK16 => (Format::R4G4B4A4_UNORM_PACK16, BGRA),
        Format::B5G6R5_UNORM_PACK16 => (Format::R5G6B5_UNORM_PACK16, BGRA),
        Format::B5G5R5A1_UNORM_PACK16 => (Format::R5G5B5A1_UNORM_PACK16, BGRA),
        Format::R8_SRGB => {
            (Format::R8_SRGB, [Channel::Red, Channel::Zero, Channel::Zero, Channel::One])
        }
        Format::A4B4G4R4_UNORM_PACK16 => (Format::A4R4G4B4_UNORM_PACK16, BGRA),
        Format::A1B5G5R5_UNORM_PACK16 => (Format::A1R5G5B5_UNORM_PACK16, BGRA),
        Format::A8B8G8R8_UNORM_PACK32 => (Format::R8G8B8A8_UNORM, IDENTITY),
        Format::A8B8G8R8_SNORM_PACK32 => (Format::R8G8B8A8_SNORM, IDENTITY),
        Format::A8B8G8R8_USCALED_PACK32 => (Format::R8G8B8A8_USCALED, IDENTITY),
        Format::A8B8G8R8_SSCALED_PACK32 => (Format::R8G8B8A8_SSCALED, IDENTITY),
        Format::A8B8G8R8_UINT_PACK32 => (Format::R8G8B8A8_UINT, IDENTITY),
        Format::A8B8G8R8_SINT_PACK32 => (Format::R8G8B8A8_SINT, IDENTITY),
        Format::A8B8G8R8_SRGB_PACK32 => (Format::R8G8B8A8_SRGB, IDENTITY),
        f if is_padded(f) => match f.info().block.bytes {
            2 => (Format::R16_UNORM, IDENTITY),
            4 => (Format::R16G16_UNORM, IDENTITY),
            _ => (Format::R16G16B16A16_UNORM, IDENTITY),
        },
        Format::BC1_RGB_UNORM_BLOCK => (Format::BC1_RGBA_UNORM_BLOCK, RGB1),
        Format::BC1_RGB_SRGB_BLOCK => (Format::BC1_RGBA_SRGB_BLOCK, RGB1),
        f => (f, IDENTITY),
    };
    let row = surface_format::of(own)?;
    Some(HwFormat { number: row.number, row, swizzle })
}

/// Whether each channel is 10 or 12 bits at the top of a word of 16. The hardware reads the word as one number, which is
/// smaller by at most a step of 10 bits.
fn is_padded(f: Format) -> bool {
    let Encoding::Plain(c) = &f.info().encoding else { return false };
    let c = c.as_slice();
    c.iter().all(|c| matches!(c.bits, 10 | 12)) && f.info().block.bytes as usize == 2 * c.len()
}

/// Format of render targets that are not there. source: Mesa, isl_surface_state.c, `null_fill_state` (B8G8R8A8_UNORM)
pub const NULL_TARGET: u32 = 0xc0;

/// Components that a vertex attribute's format has.
pub fn components(f: Format) -> [bool; 4] {
    use tepui_format::Component as C;
    match &f.info().encoding {
        Encoding::Plain(channels) => [C::R, C::G, C::B, C::A].map(|c| channels.get(c).is_some()),
        _ => [true, true, true, false],
    }
}

/// The unsigned format with texels of a size, for typed reads whose texels programs convert; none for other sizes.
pub fn raw(element_b: u32) -> Option<u32> {
    let of = match element_b {
        1 => Format::R8_UINT,
        2 => Format::R16_UINT,
        4 => Format::R32_UINT,
        8 => Format::R32G32_UINT,
        _ => return None,
    };
    hw(of).map(|h| h.number)
}

/// The planes of a format: depth and stencil, those of a Y′CbCr format, or itself.
pub fn planes(f: Format) -> Vec<Plane> {
    let whole = |format| Plane { format, width_divisor: 1, height_divisor: 1 };
    match (f, f.info().planes()) {
        (Format::D32_SFLOAT_S8_UINT, _) => {
            vec![whole(Format::D32_SFLOAT), whole(Format::S8_UINT)]
        }
        (Format::D24_UNORM_S8_UINT, _) => {
            vec![whole(Format::X8_D24_UNORM_PACK32), whole(Format::S8_UINT)]
        }
        (f, []) => vec![whole(f)],
        (_, planes) => planes.to_vec(),
    }
}

fn is_depth(f: Format) -> bool {
    matches!(
        f,
        Format::D16_UNORM
            | Format::X8_D24_UNORM_PACK32
            | Format::D32_SFLOAT
            | Format::S8_UINT
            | Format::D24_UNORM_S8_UINT
            | Format::D32_SFLOAT_S8_UINT
    )
}

/// Whether images of a format can be rendered to.
pub fn is_rendered(generation: Generation, f: Format) -> bool {
    let targets = F::COLOR_ATTACHMENT | F::DEPTH_STENCIL_ATTACHMENT;
    features(generation, f).optimal.intersects(targets)
}

/// Counts of samples of images that can be rendered to.
pub const SAMPLES: vk::SampleCountFlags = vk::SampleCountFlags::from_bits_truncate(0x1f);

const TRANSFER: F =
    F::from_bits_truncate(F::TRANSFER_SRC.bits() | F::TRANSFER_DST.bits() | F::BLIT_SRC.bits());

/// Features of a format.
///
/// source: Mesa, anv_formats.c (`anv_get_image_format_features2`, `get_buffer_format_features2`)
pub fn features(generation: Generation, f: Format) -> FormatFeatures {
    let mut out = FormatFeatures { samples: vk::SampleCountFlags::_1, ..Default::default() };
    if is_depth(f) {
        out.optimal = TRANSFER
            | F::BLIT_DST
            | F::HOST_IMAGE_TRANSFER
            | F::DEPTH_STENCIL_ATTACHMENT
            | F::SAMPLED_IMAGE;
        if f != Format::S8_UINT {
            out.optimal |= F::SAMPLED_IMAGE_FILTER_LINEAR
                | F::SAMPLED_IMAGE_FILTER_MINMAX
                | F::SAMPLED_IMAGE_DEPTH_COMPARISON;
        }
        out.samples = SAMPLES;
        return out;
    }
    if f.info().is_planar() {
        // Planes are sampled one by one; programs put them together.
        if f.info().planes().iter().all(|p| hw(p.format).is_some()) {
            out.optimal = F::TRANSFER_SRC
                | F::TRANSFER_DST
                | F::HOST_IMAGE_TRANSFER
                | F::SAMPLED_IMAGE
                | F::SAMPLED_IMAGE_FILTER_LINEAR
                | F::SAMPLED_IMAGE_YCBCR_CONVERSION_LINEAR_FILTER
                | F::MIDPOINT_CHROMA_SAMPLES
                | F::COSITED_CHROMA_SAMPLES
                | F::DISJOINT;
            out.linear = out.optimal;
        }
        return out;
    }
    let Some(hw) = hw(f) else { return out };
    if matches!(f.info().encoding, Encoding::Subsampled(_)) {
        return out;
    }
    let has = |what: Use| hw.row.has(generation == Generation::Gen12, what);
    out.optimal = images(f, &hw, &has);
    out.buffer = buffers(f, &has);
    if !f.info().is_compressed() {
        out.linear = out.optimal;
    }
    if out.optimal.contains(F::COLOR_ATTACHMENT) {
        out.samples = SAMPLES;
    }
    out
}

/// The layouts in which images of a format may be shared, as DRM format modifiers, and the features of such images: rows of all
/// that may be rows, tiles of colours that are one plane of texels, also compressed ones.
pub fn modifiers(generation: Generation, f: Format) -> Vec<(u64, F)> {
    let all = features(generation, f);
    let info = f.info();
    let in_tiles = !info.is_planar()
        && !info.is_compressed()
        && !info.is_depth_or_stencil()
        && info.block.bytes.is_power_of_two();
    let tiled = if in_tiles { all.optimal } else { F::empty() };
    let storage = F::STORAGE_IMAGE
        | F::STORAGE_IMAGE_ATOMIC
        | F::STORAGE_READ_WITHOUT_FORMAT
        | F::STORAGE_WRITE_WITHOUT_FORMAT;
    let compressed = match is_compressible(generation, f) {
        true => tiled.difference(storage | F::HOST_IMAGE_TRANSFER),
        false => F::empty(),
    };
    let list = [(Tiling::Linear, all.linear), (Tiling::X, tiled), (Tiling::Y, tiled)];
    let plain = list.into_iter().filter_map(|(t, f)| Some((t.drm_modifier()?, f)));
    let compressed = (compression::modifier(generation), compressed);
    plain.chain([compressed]).filter(|m| !m.1.is_empty()).collect()
}

/// Whether cache lines of colours of a format may be compressed.
pub fn is_compressible(generation: Generation, f: Format) -> bool {
    let is_gen12 = generation == Generation::Gen12;
    let is_colour = !f.info().is_depth_or_stencil() && !is_padded(f);
    is_colour && hw(f).is_some_and(|hw| hw.row.has(is_gen12, Use::Compress))
}

/// Whether views of a format may see the compressed cache lines of an image of another. Gen9 compresses by the bits of channels; Gen12
/// has the format of the image in the table of control surfaces.
///
/// source: Mesa, isl_format.c (`isl_formats_are_ccs_e_compatible`)
pub fn is_compressed_as(generation: Generation, f: Format, of: Format) -> bool {
    let all = [f, of].iter().all(|&f| is_compressible(generation, f));
    all && (generation == Generation::Gen12 || channel_bits(f) == channel_bits(of))
}

/// Bits of red, green, blue and alpha; none if a format is not plain.
fn channel_bits(f: Format) -> Option<[u8; 4]> {
    use tepui_format::Component as C;
    let Encoding::Plain(channels) = &f.info().encoding else { return None };
    Some([C::R, C::G, C::B, C::A].map(|c| channels.get(c).map_or(0, |c| c.bits)))
}

/// The format of unsigned numbers as which copies see the texels of an image with compressed cache lines on Gen9.
///
/// source: Mesa, blorp_blit.c (`get_ccs_compatible_uint_format`)
pub fn compressed_words(f: Format) -> Option<Format> {
    let all = [
        Format::R8G8B8A8_UINT,
        Format::R16G16_UINT,
        Format::R32_UINT,
        Format::R16G16B16A16_UINT,
        Format::R32G32_UINT,
        Format::R32G32B32A32_UINT,
    ];
    all.into_iter().find(|&words| is_compressed_as(Generation::Gen9, words, f))
}

/// Features of images of a colour format.
fn images(f: Format, hw: &HwFormat, has: &impl Fn(Use) -> bool) -> F {
    if !has(Use::Sample) {
        return F::empty();
    }
    let mut out = TRANSFER | F::HOST_IMAGE_TRANSFER | F::SAMPLED_IMAGE;
    out |= F::SAMPLED_IMAGE_FILTER_MINMAX;
    if has(Use::Filter) {
        out |= F::SAMPLED_IMAGE_FILTER_LINEAR;
    }
    if is_padded(f) {
        return out;
    }
    // Targets swap channels, but not alpha.
    if has(Use::Render) && hw.swizzle[3] == Channel::Alpha {
        out |= F::COLOR_ATTACHMENT | F::BLIT_DST;
        // Constants of blending are those of channels before they are swapped.
        if has(Use::Blend) && hw.swizzle == IDENTITY {
            out |= F::COLOR_ATTACHMENT_BLEND;
        }
    }
    if hw.swizzle == IDENTITY {
        out |= stores(f, has, F::STORAGE_IMAGE, F::STORAGE_IMAGE_ATOMIC);
    }
    out
}

/// Features of buffers of a colour format.
fn buffers(f: Format, has: &impl Fn(Use) -> bool) -> F {
    let mut out = F::empty();
    if is_padded(f) {
        return out;
    }
    if has(Use::Vertex) {
        out |= F::VERTEX_BUFFER;
    }
    if has(Use::Sample) && !f.info().is_compressed() {
        out |= F::UNIFORM_TEXEL_BUFFER;
        out |= stores(f, has, F::STORAGE_TEXEL_BUFFER, F::STORAGE_TEXEL_BUFFER_ATOMIC);
    }
    out
}

/// Features of what typed messages write and read.
fn stores(f: Format, has: &impl Fn(Use) -> bool, plain: F, atomic: F) -> F {
    if !has(Use::Write) {
        return F::empty();
    }
    let mut out = plain | F::STORAGE_WRITE_WITHOUT_FORMAT;
    // Reads with a format are converted by programs where the units do not.
    if has(Use::Read) {
        out |= F::STORAGE_READ_WITHOUT_FORMAT;
    }
    if matches!(f, Format::R32_UINT | Format::R32_SINT | Format::R32_SFLOAT) {
        out |= atomic;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_formats_have_words_of_the_same_channels() {
        let mut count = 0;
        for f in Format::all().filter(|&f| is_compressible(Generation::Gen9, f)) {
            let words = compressed_words(f).unwrap_or_else(|| panic!("{f}"));
            assert_eq!(words.info().block.bytes, f.info().block.bytes, "{f}");
            count += 1;
        }
        assert!(count > 20, "{count}");
        let is = |generation, a, b| is_compressed_as(generation, a, b);
        let (words, small) = (Format::R32_UINT, Format::R8G8B8A8_UNORM);
        assert!(!is(Generation::Gen9, words, small) && is(Generation::Gen12, words, small));
        assert!(is(Generation::Gen9, Format::B8G8R8A8_UNORM, small));
        // source: Mesa, isl_format.c: Gen9 does not compress sRGB
        assert!(!is(Generation::Gen9, Format::R8G8B8A8_SRGB, small));
    }

    #[test]
    fn packed_formats_are_their_mirrored_names() {
        let number = |f| hw(f).unwrap().number;
        // source: Mesa, anv_formats.c
        assert_eq!(number(Format::R8G8B8A8_UNORM), 0xc7);
        assert_eq!(number(Format::B5G6R5_UNORM_PACK16), number(Format::R5G6B5_UNORM_PACK16));
        assert_eq!(hw(Format::B5G6R5_UNORM_PACK16).unwrap().swizzle, BGRA);
        assert_eq!(number(Format::A2B10G10R10_UNORM_PACK32), 0xc2);
        assert_eq!(raw(4), Some(0xd7));
        assert_eq!(raw(16), None);
    }
}
