//! Blocks of sparse resources: their size, and their shapes in images.

use vulkanalia_sys as vk;

/// Bytes of a sparse block, and the alignment of what is bound to blocks.
/// source: Vulkan specification, "Standard Sparse Image Block Shapes"
pub const BLOCK_B: u64 = 1 << 16;

/// The granularity of sparse images: a block in pixels.
/// source: Vulkan specification, "Standard Sparse Image Block Shapes"
pub(crate) fn granularity(
    format: tepui_format::Format,
    image_type: vk::ImageType,
    samples: u32,
) -> vk::Extent3D {
    let block = format.info().block;
    let bits = (BLOCK_B as u32 / block.bytes.max(1)).ilog2();
    let of_samples = samples.max(1).ilog2();
    let [width, height, depth] = match image_type {
        vk::ImageType::_3D => {
            let (width, height) = (bits.div_ceil(3), (bits - 1).div_ceil(3));
            [width, height, bits - width - height]
        }
        // Square, or twice as wide as high; samples take from the width first.
        _ => [bits.div_ceil(2) - of_samples.div_ceil(2), bits / 2 - of_samples / 2, 0],
    };
    vk::Extent3D {
        width: block.width_px << width,
        height: block.height_px << height,
        depth: 1 << depth,
    }
}

/// Properties of blocks.
pub(crate) fn format_properties(
    format: tepui_format::Format,
    image_type: vk::ImageType,
    samples: u32,
) -> vk::SparseImageFormatProperties {
    vk::SparseImageFormatProperties {
        aspect_mask: vk::ImageAspectFlags::COLOR,
        image_granularity: granularity(format, image_type, samples),
        flags: vk::SparseImageFormatFlags::empty(),
    }
}

/// Sample counts of images with blocks that come and go; none if there are no such images.
pub(crate) fn sample_counts(
    format: tepui_format::Format,
    image_type: vk::ImageType,
    offered: &vk::PhysicalDeviceFeatures,
) -> vk::SampleCountFlags {
    use vk::SampleCountFlags as S;
    let info = format.info();
    let bytes = info.block.bytes;
    let has_blocks =
        !info.is_planar() && !info.is_depth_or_stencil() && bytes.is_power_of_two() && bytes <= 16;
    let (is_offered, of_samples) = match image_type {
        vk::ImageType::_2D => (offered.sparse_residency_image_2d, true),
        vk::ImageType::_3D => (offered.sparse_residency_image_3d, false),
        _ => (vk::FALSE, false),
    };
    if !has_blocks || is_offered != vk::TRUE {
        return S::empty();
    }
    let of_samples = [
        (offered.sparse_residency2_samples, S::_2),
        (offered.sparse_residency4_samples, S::_4),
        (offered.sparse_residency8_samples, S::_8),
        (offered.sparse_residency16_samples, S::_16),
    ]
    .into_iter()
    .filter(|&(is, _)| of_samples && is == vk::TRUE);
    of_samples.fold(S::_1, |all, (_, count)| all | count)
}

#[cfg(test)]
mod tests {
    use tepui_format::Format;

    use super::*;

    #[test]
    fn blocks_have_the_standard_shapes() {
        let of = |format, ty, samples| {
            let e = granularity(format, ty, samples);
            [e.width, e.height, e.depth]
        };
        use vk::ImageType as T;
        for (format, two, three, four, sixteen) in [
            (Format::R8_UNORM, [256, 256], [64, 32, 32], [128, 128], [64, 64]),
            (Format::R16_SFLOAT, [256, 128], [32, 32, 32], [128, 64], [64, 32]),
            (Format::R32_SFLOAT, [128, 128], [32, 32, 16], [64, 64], [32, 32]),
            (Format::R32G32_SFLOAT, [128, 64], [32, 16, 16], [64, 32], [32, 16]),
            (Format::R32G32B32A32_SFLOAT, [64, 64], [16, 16, 16], [32, 32], [16, 16]),
        ] {
            assert_eq!(of(format, T::_2D, 1)[..2], two, "{format}");
            assert_eq!(of(format, T::_3D, 1), three, "{format}");
            assert_eq!(of(format, T::_2D, 4)[..2], four, "{format}");
            assert_eq!(of(format, T::_2D, 16)[..2], sixteen, "{format}");
        }
        assert_eq!(of(Format::R8_UNORM, T::_2D, 2), [128, 256, 1]);
        assert_eq!(of(Format::R8_UNORM, T::_2D, 8), [64, 128, 1]);
        assert_eq!(of(Format::BC1_RGB_UNORM_BLOCK, T::_2D, 1), [512, 256, 1]);
    }
}
