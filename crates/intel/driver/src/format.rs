//! Formats: which surface format one of the API is, in which order its channels stand, and what images of it can do.

use std::collections::HashMap;
use std::sync::LazyLock;

use tepui_format::{Encoding, Format};
use tepui_intel_chips::Generation;
use tepui_intel_layout::surface_format::{self, SurfaceFormat, Use};
use tepui_intel_packets::surface::ShaderChannelSelect as Channel;
use tepui_vulkan::backend::FormatFeatures;
use tepui_vulkan::vk::{self, FormatFeatureFlags2 as F};

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
        f => (f, IDENTITY),
    };
    let row = surface_format::of(own)?;
    Some(HwFormat { number: row.number, row, swizzle })
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

/// The planes of depth and stencil of a format, or itself.
pub fn planes(f: Format) -> &'static [Format] {
    match f {
        Format::D32_SFLOAT_S8_UINT => &[Format::D32_SFLOAT, Format::S8_UINT],
        _ => &[],
    }
}

fn is_depth(f: Format) -> bool {
    matches!(
        f,
        Format::D16_UNORM | Format::D32_SFLOAT | Format::S8_UINT | Format::D32_SFLOAT_S8_UINT
    )
}

/// Whether images of a format can be rendered to.
pub fn is_rendered(generation: Generation, f: Format) -> bool {
    let targets = F::COLOR_ATTACHMENT | F::DEPTH_STENCIL_ATTACHMENT;
    features(generation, f).optimal.intersects(targets)
}

/// Features of a format: what the driver does with it so far. Images are copied, and rendered to.
pub fn features(generation: Generation, f: Format) -> FormatFeatures {
    let mut out = FormatFeatures { samples: vk::SampleCountFlags::_1, ..Default::default() };
    if generation != Generation::Gen9 {
        // Image layouts of Gen12 are not there yet.
        return out;
    }
    let transfer = F::TRANSFER_SRC | F::TRANSFER_DST | F::HOST_IMAGE_TRANSFER;
    if is_depth(f) {
        out.optimal = transfer | F::DEPTH_STENCIL_ATTACHMENT;
        return out;
    }
    let Some(hw) = hw(f) else { return out };
    let gen12 = generation == Generation::Gen12;
    let info = f.info();
    if matches!(info.encoding, Encoding::Subsampled(_) | Encoding::Planar(_)) {
        return out;
    }
    if info.block.bytes.is_power_of_two() && hw.row.has(gen12, Use::Sample) {
        out.optimal = transfer;
        if info.block.width_px == 1 {
            out.linear = transfer;
        }
        // Channels of targets are in the order of the format.
        if hw.swizzle == IDENTITY && hw.row.has(gen12, Use::Render) {
            out.optimal |= F::COLOR_ATTACHMENT;
            if hw.row.has(gen12, Use::Blend) {
                out.optimal |= F::COLOR_ATTACHMENT_BLEND;
            }
        }
    }
    if hw.row.has(gen12, Use::Vertex) {
        out.buffer |= F::VERTEX_BUFFER;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

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
