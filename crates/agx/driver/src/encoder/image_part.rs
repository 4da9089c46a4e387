//! Parts of images that programs of the driver's own use.

use tepui_format::Format;
use tepui_layout::Dimension;
use tepui_vulkan::backend::ImageRef;
use tepui_vulkan::vk;

use crate::descriptor::Part;
use crate::family::Agx;

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
