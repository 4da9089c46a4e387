//! Formats: which of the hardware's a format of the API is, and in which order its channels stand.

use std::collections::HashMap;
use std::sync::LazyLock;

use tepui_agx_layout::{FormatSupport, Tiling, format_support};
use tepui_agx_packets::texture::{Channel, Channels, TextureType};
use tepui_format::{Component, Encoding, Format, Numeric};
use tepui_vulkan::backend::FormatFeatures;
use tepui_vulkan::vk::{self, FormatFeatureFlags2 as F};
use tepui_vulkan_meta::{Numbers, Packing};

/// A format as descriptors say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HwFormat {
    /// Channels.
    pub channels: Channels,
    /// Interpretation.
    pub type_: TextureType,
    /// Conversion from and to sRGB.
    pub srgb: bool,
    /// Sources of red, green, blue and alpha.
    pub swizzle: [Channel; 4],
}

const ORDER: [Channel; 4] = [Channel::R, Channel::G, Channel::B, Channel::A];
const NAMES: [Component; 4] = [Component::R, Component::G, Component::B, Component::A];

/// Bits and numbers of a plain format's channels from the lowest bit on.
type Shape = (Vec<(u8, Numeric)>, u32);

fn shape(f: Format) -> Option<(Shape, Vec<Component>)> {
    let Encoding::Plain(c) = &f.info().encoding else { return None };
    let mut list: Vec<_> = c.as_slice().to_vec();
    list.sort_by_key(|c| c.shift);
    let bits: u32 = list.iter().map(|c| u32::from(c.bits)).sum();
    let padded = is_padded(f);
    // The hardware's formats have no other padding between channels.
    if bits != f.info().block.bytes * 8 && !padded {
        return None;
    }
    let shape = list.iter().map(|c| (if padded { 16 } else { c.bits }, c.numeric)).collect();
    Some(((shape, f.info().block.bytes), list.iter().map(|c| c.component).collect()))
}

/// Whether each channel is 10 or 12 bits at the top of a word of 16. The hardware reads the word as one number, which is
/// smaller by at most a step of 10 bits.
fn is_padded(f: Format) -> bool {
    let Encoding::Plain(c) = &f.info().encoding else { return false };
    let c = c.as_slice();
    c.iter().all(|c| matches!(c.bits, 10 | 12)) && f.info().block.bytes as usize == 2 * c.len()
}

/// The hardware's formats by shape.
static BY_SHAPE: LazyLock<HashMap<Shape, Format>> = LazyLock::new(|| {
    Format::all()
        .filter(|&f| tepui_agx_texture::fields_of(f).is_some())
        .filter_map(|f| shape(f).map(|(s, _)| (s, f)))
        .collect()
});

static ALL: LazyLock<HashMap<Format, HwFormat>> =
    LazyLock::new(|| Format::all().filter_map(|f| find(f).map(|h| (f, h))).collect());

/// Hardware format for descriptors; `None` if the hardware has none.
pub fn hw(f: Format) -> Option<HwFormat> {
    ALL.get(&f).copied()
}

fn find(f: Format) -> Option<HwFormat> {
    let make = |g: Format, swizzle: [Channel; 4]| {
        let (channels, type_, srgb) = tepui_agx_texture::fields_of(g)?;
        Some(HwFormat { channels, type_, srgb, swizzle })
    };
    match f {
        Format::BC1_RGB_UNORM_BLOCK => return make(Format::BC1_RGBA_UNORM_BLOCK, first(3)),
        Format::BC1_RGB_SRGB_BLOCK => return make(Format::BC1_RGBA_SRGB_BLOCK, first(3)),
        Format::D16_UNORM => return make(Format::R16_UNORM, first(1)),
        Format::D32_SFLOAT => return make(Format::R32_SFLOAT, first(1)),
        Format::S8_UINT => return make(Format::R8_UINT, first(1)),
        _ => {}
    }
    if let Some(((bits, bytes), names)) = shape(f) {
        let g = *BY_SHAPE.get(&(bits, bytes))?;
        let swizzle = std::array::from_fn(|k| match names.iter().position(|&n| n == NAMES[k]) {
            Some(at) => ORDER[at],
            None if k == 3 => Channel::One,
            None => Channel::Zero,
        });
        return make(g, swizzle);
    }
    // Packed and block-compressed formats have their components in order.
    make(f, first(components(f)))
}

/// A format's first channels as components. Those that it lacks have to be constants: the hardware replaces them in texels, but not in border
/// colours and where a fetch is outside.
fn first(channels: usize) -> [Channel; 4] {
    let lacks = [Channel::Zero, Channel::Zero, Channel::Zero, Channel::One];
    std::array::from_fn(|k| if k < channels { ORDER[k] } else { lacks[k] })
}

/// The components of a packed or block-compressed format.
fn components(f: Format) -> usize {
    match f.info().encoding {
        Encoding::SharedExponent | Encoding::Subsampled(_) => 3,
        Encoding::Compressed(compression, _) => compression.components(),
        Encoding::Plain(_) | Encoding::DepthStencil(_) | Encoding::Planar(_) => 4,
    }
}

/// Formats that image atomics work on.
fn has_atomics(f: Format) -> bool {
    matches!(f, Format::R32_UINT | Format::R32_SINT | Format::R32_SFLOAT)
}

/// Features of a format.
pub fn features(f: Format) -> FormatFeatures {
    let mut out = own_features(f);
    // Programs reduce texels of all formats; planes are put together of averages.
    if out.optimal.contains(F::SAMPLED_IMAGE) && !f.info().is_planar() {
        out.optimal |= F::SAMPLED_IMAGE_FILTER_MINMAX;
    }
    if out.linear.contains(F::SAMPLED_IMAGE) && !f.info().is_planar() {
        out.linear |= F::SAMPLED_IMAGE_FILTER_MINMAX;
    }
    if !out.optimal.is_empty() {
        out.optimal |= F::HOST_IMAGE_TRANSFER;
    }
    if !out.linear.is_empty() {
        out.linear |= F::HOST_IMAGE_TRANSFER;
    }
    out
}

/// Whether images of a format can be rendered to.
pub fn is_rendered(f: Format) -> bool {
    own_features(f).optimal.intersects(F::COLOR_ATTACHMENT | F::DEPTH_STENCIL_ATTACHMENT)
}

/// The layouts in which images of a format may be shared, as DRM format modifiers, and what such images can do. Nothing stores to
/// compressed images but the end of a tile and the depth unit.
pub fn modifiers(f: Format) -> Vec<(u64, F)> {
    let all = features(f);
    let stored = F::STORAGE_IMAGE
        | F::STORAGE_IMAGE_ATOMIC
        | F::STORAGE_READ_WITHOUT_FORMAT
        | F::STORAGE_WRITE_WITHOUT_FORMAT
        | F::HOST_IMAGE_TRANSFER;
    let compressed = if is_compressible(f) { all.optimal & !stored } else { F::empty() };
    let list = [
        (Tiling::Linear, all.linear),
        (Tiling::Twiddled, all.optimal),
        (Tiling::Compressed, compressed),
    ];
    list.into_iter().filter(|m| !m.1.is_empty()).map(|(t, f)| (t.drm_modifier(), f)).collect()
}

/// Whether images of a format, or their planes of depth and stencil, can be compressed. Texels of compressed images can only be
/// read by the texture unit; a copy through it must keep their bits.
pub fn is_compressible(f: Format) -> bool {
    match f {
        Format::D32_SFLOAT_S8_UINT => true,
        f => {
            let is_written = f.info().is_depth_or_stencil() || format_support(f).renderable;
            is_written && !f.info().is_planar() && packing(f).is_some()
        }
    }
}

/// Whether views of a format can show compressed images of another: the channels must be equal,
/// regardless of their number format. source: Mesa, layout.h, `ail_formats_compatible`
pub fn are_alike(a: Format, b: Format) -> bool {
    hw(a).zip(hw(b)).is_some_and(|(a, b)| a.channels == b.channels)
}

/// Reassembly of a texel's bits from the components that the texture unit reads; `None` if it would lose bits.
pub fn packing(f: Format) -> Option<Packing> {
    let packing = Packing::of(f)?;
    hw_bits(f, &packing).map(|_| packing)
}

/// Hardware format in which the texels of a [`packing`] are read.
pub fn hw_bits(f: Format, packing: &Packing) -> Option<HwFormat> {
    let own = hw(f)?;
    let type_ = match packing.numbers {
        Numbers::Uint => TextureType::Uint,
        Numbers::Unorm => TextureType::Unorm,
        Numbers::SmallFloat => own.type_,
    };
    // The hardware must have the channels as such numbers.
    tepui_agx_texture::format_of(own.channels, type_, false).ok()?;
    Some(HwFormat { type_, srgb: false, ..own })
}

/// Whether a texel is three words of 32 bits, which the hardware has no format for: programs read texel
/// buffers of them from memory.
pub fn is_three_words(f: Format) -> bool {
    matches!(f, Format::R32G32B32_UINT | Format::R32G32B32_SINT | Format::R32G32B32_SFLOAT)
}

fn own_features(f: Format) -> FormatFeatures {
    let mut out = FormatFeatures::default();
    let depth = matches!(
        f,
        Format::D16_UNORM | Format::D32_SFLOAT | Format::S8_UINT | Format::D32_SFLOAT_S8_UINT
    );
    let transfer = F::TRANSFER_SRC | F::TRANSFER_DST;
    if depth {
        out.optimal = F::SAMPLED_IMAGE | F::DEPTH_STENCIL_ATTACHMENT | F::BLIT_SRC | transfer;
        if f != Format::S8_UINT {
            out.optimal |= F::SAMPLED_IMAGE_DEPTH_COMPARISON | F::SAMPLED_IMAGE_FILTER_LINEAR;
        }
        out.samples =
            vk::SampleCountFlags::_1 | vk::SampleCountFlags::_2 | vk::SampleCountFlags::_4;
        return out;
    }
    if f.info().is_planar() {
        // Planes are sampled one by one; shaders put them together.
        if f.info().planes().iter().all(|p| hw(p.format).is_some()) {
            out.optimal = F::SAMPLED_IMAGE
                | F::SAMPLED_IMAGE_FILTER_LINEAR
                | F::SAMPLED_IMAGE_YCBCR_CONVERSION_LINEAR_FILTER
                | F::MIDPOINT_CHROMA_SAMPLES
                | F::COSITED_CHROMA_SAMPLES
                | F::DISJOINT
                | transfer;
            out.linear = out.optimal;
        }
        return out;
    }
    let vertex = tepui_agx_compiler::abi::attribute::Fetch::new(f).is_some();
    if vertex && f.info().block.width_px == 1 {
        out.buffer |= F::VERTEX_BUFFER;
    }
    if is_three_words(f) {
        out.buffer |= F::UNIFORM_TEXEL_BUFFER;
        return out;
    }
    let words = shape(f).filter(|_| is_padded(f)).and_then(|(s, _)| BY_SHAPE.get(&s).copied());
    let support: FormatSupport = format_support(words.unwrap_or(f));
    if hw(f).is_none() || !support.texturable {
        return out;
    }
    let info = f.info();
    let plain = matches!(info.encoding, Encoding::Plain(_) | Encoding::SharedExponent);
    let numeric = info.numeric();
    let scaled = matches!(numeric, Numeric::Uscaled | Numeric::Sscaled);
    if scaled || matches!(info.encoding, Encoding::Subsampled(_)) {
        return out;
    }
    let sampled = F::SAMPLED_IMAGE | F::BLIT_SRC | transfer;
    out.optimal |= sampled;
    if !numeric.is_integer() {
        out.optimal |= F::SAMPLED_IMAGE_FILTER_LINEAR;
    }
    if plain && support.renderable && !is_padded(f) {
        let tile = tepui_agx_compiler::abi::tile::Tile::single(f);
        if tepui_agx_compiler::abi::tile::Layout::new(&tile).is_ok() {
            out.optimal |= F::COLOR_ATTACHMENT | F::BLIT_DST;
            out.samples =
                vk::SampleCountFlags::_1 | vk::SampleCountFlags::_2 | vk::SampleCountFlags::_4;
            if !numeric.is_integer() {
                out.optimal |= F::COLOR_ATTACHMENT_BLEND;
            }
        }
        let stores = is_stored(f);
        if stores {
            out.optimal |=
                F::STORAGE_IMAGE | F::STORAGE_READ_WITHOUT_FORMAT | F::STORAGE_WRITE_WITHOUT_FORMAT;
        }
        if has_atomics(f) {
            out.optimal |= F::STORAGE_IMAGE_ATOMIC;
        }
        if numeric != Numeric::Srgb {
            out.buffer |= F::UNIFORM_TEXEL_BUFFER;
            if stores {
                out.buffer |= F::STORAGE_TEXEL_BUFFER
                    | F::STORAGE_READ_WITHOUT_FORMAT
                    | F::STORAGE_WRITE_WITHOUT_FORMAT;
            }
            if has_atomics(f) {
                out.buffer |= F::STORAGE_TEXEL_BUFFER_ATOMIC;
            }
        }
        out.linear = out.optimal;
    }
    out
}

/// Formats that shaders store to.
fn is_stored(f: Format) -> bool {
    let info = f.info();
    match &info.encoding {
        Encoding::Plain(c) => {
            // The pixel back end writes what the tile can hold, without sub-byte channels.
            c.as_slice().iter().all(|c| c.bits >= 8 || info.block.bytes == 4)
                && info.numeric() != Numeric::Srgb
                || info.numeric() == Numeric::Srgb && info.block.bytes == 4
        }
        _ => false,
    }
}
