//! Parts of images that programs of the driver's own use.

use tepui_format::{Format, Numeric};
use tepui_ir::NumKind;
use tepui_layout::Dimension;
use tepui_vulkan::backend::ImageRef;
use tepui_vulkan::vk;

use crate::descriptor::Part;
use crate::family::Agx;
use crate::image::Image;

pub(super) const IDENTITY: [vk::ComponentSwizzle; 4] = [vk::ComponentSwizzle::IDENTITY; 4];

pub(super) fn part_of(i: &ImageRef<Agx>, format: Format) -> Part {
    Part {
        plane: i.plane,
        format,
        dimension: Dimension::D2,
        array: true,
        levels: [i.level, 1],
        layers: [i.layer, i.layers],
        swizzle: IDENTITY,
        storage: true,
    }
}

/// A part of an image whose 3D slices are layers.
pub(super) fn flat(p: Part, image: &Image) -> Part {
    let is_3d = image.planes[0].layout.desc().shape.dimension == Dimension::D3;
    // The hardware reads slices of a 3D image as layers, since their layouts are equal.
    if is_3d { Part { dimension: Dimension::D2, ..p } } else { p }
}

pub(super) fn kind_of(f: Format) -> NumKind {
    if matches!(f, Format::S8_UINT) {
        return NumKind::Uint;
    }
    if matches!(f, Format::D16_UNORM | Format::D32_SFLOAT | Format::D32_SFLOAT_S8_UINT) {
        return NumKind::Float;
    }
    match f.info().numeric() {
        Numeric::Uint => NumKind::Uint,
        Numeric::Sint => NumKind::Sint,
        _ => NumKind::Float,
    }
}

/// The format through which stores write depth and stencil.
pub(super) fn colour_format(f: Format) -> Format {
    match f {
        Format::D16_UNORM => Format::R16_UNORM,
        Format::D32_SFLOAT => Format::R32_SFLOAT,
        Format::S8_UINT => Format::R8_UINT,
        f => f,
    }
}
