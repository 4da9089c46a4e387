//! Blocks of sparse resources: their size, and their shapes in images.

use vulkanalia_sys as vk;

/// Bytes of a sparse block, and the alignment of what is bound to blocks.
/// source: Vulkan specification, "Standard Sparse Image Block Shapes"
pub const BLOCK_B: u64 = 1 << 16;

/// The granularity of a format's sparse images: a block in pixels.
pub(crate) fn granularity(format: tepui_format::Format) -> vk::Extent3D {
    let block = format.info().block;
    let elements = BLOCK_B as u32 / block.bytes.max(1);
    // Square, or twice as wide as high.
    let width = 1 << elements.ilog2().div_ceil(2);
    let height = 1 << (elements.ilog2() / 2);
    vk::Extent3D { width: width * block.width_px, height: height * block.height_px, depth: 1 }
}

/// Properties of a format's blocks.
pub(crate) fn format_properties(format: tepui_format::Format) -> vk::SparseImageFormatProperties {
    vk::SparseImageFormatProperties {
        aspect_mask: vk::ImageAspectFlags::COLOR,
        image_granularity: granularity(format),
        flags: vk::SparseImageFormatFlags::empty(),
    }
}

/// Whether images of a format can have blocks that come and go.
pub(crate) fn has_blocks(format: tepui_format::Format, image_type: vk::ImageType) -> bool {
    let info = format.info();
    let bytes = info.block.bytes;
    image_type == vk::ImageType::_2D
        && !info.is_planar()
        && !info.is_depth_or_stencil()
        && bytes.is_power_of_two()
        && bytes <= 16
}
