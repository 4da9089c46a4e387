//! Features of formats: what images and buffers of one can do.

use tepui_format::Format::{self, *};
use tepui_format::Plane;
use tepui_format::info::Numeric;
use tepui_layout::FormatSupport;
use tepui_mali_chips::texture::TextureFeatures;
use tepui_mali_chips::{Arch, Chip};
use tepui_vulkan::backend::FormatFeatures;
use tepui_vulkan::vk::{self, FormatFeatureFlags2 as F};

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
        if matches!(f, R32_UINT | R32_SINT) {
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

/// Loads and stores of images whose format the program does not name: the unit takes it from the descriptor.
const WITHOUT_FORMAT: F = F::from_bits_truncate(
    F::STORAGE_READ_WITHOUT_FORMAT.bits() | F::STORAGE_WRITE_WITHOUT_FORMAT.bits(),
);
