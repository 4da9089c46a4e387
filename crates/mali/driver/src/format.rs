//! Features of formats: what images and buffers of one can do.

use tepui_format::Format::{self, *};
use tepui_format::Plane;
use tepui_format::info::{Component, Encoding, Numeric};
use tepui_layout::FormatSupport;
use tepui_mali_chips::texture::TextureFeatures;
use tepui_mali_chips::{Arch, Chip};
use tepui_mali_layout::Modifier;
use tepui_mali_layout::afbc::{self, Afbc};
use tepui_vulkan::backend::FormatFeatures;
use tepui_vulkan::vk::{self, FormatFeatureFlags2 as F};
use tepui_vulkan_meta::Packing;

use crate::graphics::framebuffer::tile_format;

pub use tepui_mali_textures::format::{HwFormat, hw, planes};

/// Support of a format by the texture unit and the tile buffer.
pub fn support(chip: &Chip, texture_features: u32, f: Format) -> FormatSupport {
    let features = TextureFeatures(texture_features);
    tepui_mali_layout::format_support(chip.arch.max(Arch(9)), features, f)
}

/// Features of copies, which programs do on memory.
const TRANSFER: F = F::from_bits_truncate(F::TRANSFER_SRC.bits() | F::TRANSFER_DST.bits());

/// Samples of images that are rendered to. source: Mesa, panvk_physical_device.c (`get_sample_counts`)
pub const SAMPLES: vk::SampleCountFlags = vk::SampleCountFlags::_1.union(vk::SampleCountFlags::_4);

/// Whether images of a format are rendered to.
pub fn is_rendered(chip: &Chip, texture_features: u32, f: Format) -> bool {
    let s = support(chip, texture_features, f);
    let is_depth = f.info().is_depth_or_stencil();
    is_depth || s.renderable && tile_format(f).is_some()
}

/// Features of a format.
///
/// source: Mesa, panvk_physical_device.c (`get_format_properties`)
pub fn features(chip: &Chip, texture_features: u32, f: Format) -> FormatFeatures {
    let mut out = FormatFeatures { samples: vk::SampleCountFlags::_1, ..Default::default() };
    let all = planes(f);
    let supports: Vec<FormatSupport> =
        all.iter().map(|p| support(chip, texture_features, p.format)).collect();
    let is_known = |(p, s): (&Plane, &FormatSupport)| {
        hw(p.format).is_some() && (s.texturable || s.depth_stencil)
    };
    if !all.iter().zip(&supports).all(is_known) {
        let info = f.info();
        let is_colour = !(info.is_planar() || info.is_compressed() || info.is_depth_or_stencil());
        if is_colour && hw(f).is_some() {
            // Of vertices alone.
            out.buffer = F::VERTEX_BUFFER;
        }
        return out;
    }
    if f.info().is_planar() {
        // Planes are sampled one by one; programs put them together.
        out.optimal = TRANSFER
            | F::HOST_IMAGE_TRANSFER
            | F::SAMPLED_IMAGE
            | F::SAMPLED_IMAGE_FILTER_LINEAR
            | F::SAMPLED_IMAGE_YCBCR_CONVERSION_LINEAR_FILTER
            | F::MIDPOINT_CHROMA_SAMPLES
            | F::COSITED_CHROMA_SAMPLES
            | F::DISJOINT;
        out.linear = out.optimal;
        return out;
    }
    out.optimal = TRANSFER | F::HOST_IMAGE_TRANSFER | F::SAMPLED_IMAGE;
    let info = f.info();
    let is_integer = matches!(info.numeric(), Numeric::Uint | Numeric::Sint);
    let is_depth = info.is_depth_or_stencil();
    if f != S8_UINT && !is_integer {
        out.optimal |= F::SAMPLED_IMAGE_FILTER_LINEAR;
    }
    if f != S8_UINT {
        out.optimal |= F::SAMPLED_IMAGE_FILTER_MINMAX;
    }
    if is_depth && f != S8_UINT {
        out.optimal |= F::SAMPLED_IMAGE_DEPTH_COMPARISON;
    }
    out.optimal |= F::BLIT_SRC;
    if is_depth {
        out.optimal |= F::DEPTH_STENCIL_ATTACHMENT | F::BLIT_DST;
        out.samples = SAMPLES;
    } else if supports[0].renderable && tile_format(f).is_some() {
        out.optimal |= F::COLOR_ATTACHMENT | F::BLIT_DST;
        // Programs blend what the fixed function does not.
        if !is_integer {
            out.optimal |= F::COLOR_ATTACHMENT_BLEND;
        }
        out.samples = SAMPLES;
    }
    // Stores convert as attachments do.
    if supports[0].renderable
        && !is_depth
        && info.numeric() != Numeric::Srgb
        && info.block.bytes.is_power_of_two()
        && f != A8_UNORM
        && f != E5B9G9R9_UFLOAT_PACK32
    {
        out.optimal |= F::STORAGE_IMAGE | WITHOUT_FORMAT;
        out.buffer |= F::STORAGE_TEXEL_BUFFER | WITHOUT_FORMAT;
        if matches!(f, R32_UINT | R32_SINT | R32_SFLOAT) {
            out.optimal |= F::STORAGE_IMAGE_ATOMIC;
            out.buffer |= F::STORAGE_TEXEL_BUFFER_ATOMIC;
        }
    }
    if !info.is_compressed() && !is_depth {
        out.linear = out.optimal;
        out.buffer |= F::UNIFORM_TEXEL_BUFFER;
        if info.numeric() != Numeric::Srgb && f != A8_UNORM {
            out.buffer |= F::VERTEX_BUFFER;
        }
    }
    out
}

/// The format whose components are those of another, without its transfer function.
pub fn without_srgb(f: Format) -> Format {
    match f {
        R8_SRGB => R8_UNORM,
        R8G8_SRGB => R8G8_UNORM,
        R8G8B8A8_SRGB => R8G8B8A8_UNORM,
        B8G8R8A8_SRGB => B8G8R8A8_UNORM,
        A8B8G8R8_SRGB_PACK32 => A8B8G8R8_UNORM_PACK32,
        other => other,
    }
}

/// Whether images of a format may be compressed: colours that are rendered to, since copies render, and whose components keep their
/// bits.
pub fn is_compressible(arch: Arch, f: Format) -> bool {
    let info = f.info();
    afbc::mode(arch, f).is_some()
        && !info.is_depth_or_stencil()
        && tile_format(f).is_some_and(|t| t.bits.is_some())
        && Packing::of(without_srgb(f)).is_some()
}

/// Whether views of one format may be of a compressed image of another.
pub fn are_alike(arch: Arch, a: Format, b: Format) -> bool {
    is_compressible(arch, a)
        && is_compressible(arch, b)
        && afbc::mode(arch, a) == afbc::mode(arch, b)
}

/// The layouts in which images of a format may be shared, the best first. source: Mesa, pan_texture.c (`pan_best_modifiers`)
const SHARED: [Modifier; 6] = {
    let tiled = Afbc { tiled: true, solid_color: true, ..Afbc::PLAIN };
    [
        Modifier::Afbc(Afbc { ytr: true, ..tiled }),
        Modifier::Afbc(tiled),
        Modifier::Afbc(Afbc { ytr: true, ..Afbc::PLAIN }),
        Modifier::Afbc(Afbc::PLAIN),
        Modifier::UInterleaved,
        Modifier::Linear,
    ]
};

/// Whether the colour transform is for a format: red, green and blue together. source: Mesa, pan_afbc.c (`panfrost_afbc_can_ytr`)
pub fn has_transform(f: Format) -> bool {
    let channels = match &f.info().encoding {
        Encoding::Plain(channels) => channels,
        _ => return false,
    };
    channels.get(Component::B).is_some() && f.info().numeric() != Numeric::Srgb
}

/// The layouts in which images of a format may be shared, as DRM format modifiers, the best first, and the features of such images.
/// Only the end of a tile writes compressed ones.
pub fn modifiers(chip: &Chip, texture_features: u32, f: Format) -> Vec<(u64, F)> {
    let all = features(chip, texture_features, f);
    let stored =
        WITHOUT_FORMAT | F::STORAGE_IMAGE | F::STORAGE_IMAGE_ATOMIC | F::HOST_IMAGE_TRANSFER;
    let of = |m: &Modifier| match m {
        Modifier::Linear => all.linear,
        // Depth and stencil are two images in memory.
        Modifier::UInterleaved if f.info().is_depth_or_stencil() => F::empty(),
        Modifier::UInterleaved => all.optimal,
        Modifier::Afbc(a) if is_compressible(chip.arch, f) && (!a.ytr || has_transform(f)) => {
            all.optimal.difference(stored)
        }
        Modifier::Afbc(_) => F::empty(),
    };
    let list = SHARED.iter().map(|m| (m.drm_modifier(), of(m)));
    list.filter(|m| !m.1.is_empty()).collect()
}

/// Loads and stores of images whose format the program does not name: the unit takes it from the descriptor.
const WITHOUT_FORMAT: F = F::from_bits_truncate(
    F::STORAGE_READ_WITHOUT_FORMAT.bits() | F::STORAGE_WRITE_WITHOUT_FORMAT.bits(),
);
