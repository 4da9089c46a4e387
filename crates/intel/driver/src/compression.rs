//! States of compressed images: which of an image and its auxiliary surface holds the pixels in each layout of the API, and the
//! operations between such states.
//!
//! source: Mesa, anv_image.c (`anv_layout_to_aux_state`), genX_cmd_buffer.c (`transition_depth_buffer`)

use tepui_vulkan::backend::ImageInfo;
use tepui_vulkan::vk;
use tepui_vulkan::vk::{ImageCreateFlags as Flags, ImageLayout as Api, ImageUsageFlags as Usage};

/// Whether an image may have an auxiliary surface: its pixels are only reached by commands, in layouts that barriers announce.
pub fn is_allowed(info: &ImageInfo) -> bool {
    let sparse = Flags::SPARSE_BINDING | Flags::SPARSE_RESIDENCY | Flags::SPARSE_ALIASED;
    !info.linear
        && info.modifier.is_none()
        && !info.usage.contains(Usage::HOST_TRANSFER)
        && !info.flags.intersects(sparse | Flags::ALIAS | Flags::DISJOINT)
}

/// Whether an image of depth has a hierarchical buffer. Those with levels have none: Gen9 wants levels of whole blocks.
/// source: Mesa, anv_image.c, "multi-LOD HiZ surface on Gen9"
pub fn has_hierarchy(info: &ImageInfo) -> bool {
    is_allowed(info)
        && info.usage.contains(Usage::DEPTH_STENCIL_ATTACHMENT)
        && info.image_type == vk::ImageType::_2D
        && info.levels == 1
}

/// Whether an image has a multisample control surface: it may have one that the render cache writes and the sampler reads.
pub fn has_sample_control(info: &ImageInfo) -> bool {
    is_allowed(info)
        && info.samples > 1
        && info.usage.contains(Usage::COLOR_ATTACHMENT)
        && !info.usage.contains(Usage::STORAGE)
}

/// Bits of a pixel in the control surface of an image of several samples each of which is in its own slice.
/// source: Mesa, blorp_clear.c (`get_mcs_ambiguate_pixel`); BDW PRM volume 5, "Compressed Multisample Surfaces"
pub fn own_slices(samples: u32) -> u64 {
    let bits = samples.trailing_zeros();
    (0..u64::from(samples)).fold(0, |all, sample| all | sample << (sample * u64::from(bits)))
}

/// Whether a transition from a layout begins the life of an image's pixels: auxiliary surfaces hold anything before.
pub fn begins(old: Api) -> bool {
    matches!(old, Api::UNDEFINED | Api::PREINITIALIZED)
}

/// Agreement of a depth image and its hierarchical buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// The image holds the depths; the hierarchical buffer holds anything.
    Plain,
    /// The image holds the depths, and the hierarchical buffer agrees with it.
    Resolved,
    /// Depths are those of both; blocks that the hierarchical buffer calls clear are anything in the image.
    Compressed,
}

impl Depth {
    /// The state of an image in a layout.
    pub fn of(layout: Api, usage: Usage) -> Depth {
        match layout {
            Api::DEPTH_STENCIL_ATTACHMENT_OPTIMAL
            | Api::DEPTH_ATTACHMENT_STENCIL_READ_ONLY_OPTIMAL
            | Api::DEPTH_ATTACHMENT_OPTIMAL
            | Api::ATTACHMENT_OPTIMAL => Depth::Compressed,
            Api::DEPTH_STENCIL_READ_ONLY_OPTIMAL
            | Api::DEPTH_READ_ONLY_STENCIL_ATTACHMENT_OPTIMAL
            | Api::DEPTH_READ_ONLY_OPTIMAL
            | Api::SHADER_READ_ONLY_OPTIMAL
            | Api::READ_ONLY_OPTIMAL
            | Api::TRANSFER_SRC_OPTIMAL => Depth::Resolved,
            // Nothing else than the depth unit may reach the image.
            Api::GENERAL
                if Usage::DEPTH_STENCIL_ATTACHMENT
                    .union(Usage::TRANSIENT_ATTACHMENT)
                    .contains(usage) =>
            {
                Depth::Compressed
            }
            _ => Depth::Plain,
        }
    }

    /// Whether attachments in the state use the hierarchical buffer.
    pub fn uses_hierarchy(self) -> bool {
        self != Depth::Plain
    }
}

/// An operation on a depth image and its hierarchical buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DepthOperation {
    /// Marks all blocks as clear.
    Clear,
    /// Writes the depths of clear blocks to the image.
    Resolve,
    /// Makes the hierarchical buffer say nothing, so that it agrees with any image.
    Ambiguate,
}

impl DepthOperation {
    /// The operation of a transition between states.
    pub fn of(old: Depth, new: Depth) -> Option<DepthOperation> {
        match (old, new) {
            (Depth::Compressed, Depth::Plain | Depth::Resolved) => Some(DepthOperation::Resolve),
            (Depth::Plain, Depth::Resolved | Depth::Compressed) => Some(DepthOperation::Ambiguate),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_compressed_where_only_the_depth_unit_reaches_it() {
        let attachment = Usage::DEPTH_STENCIL_ATTACHMENT;
        let sampled = attachment | Usage::SAMPLED;
        for (layout, usage, right) in [
            (Api::UNDEFINED, attachment, Depth::Plain),
            (Api::PREINITIALIZED, attachment, Depth::Plain),
            (Api::DEPTH_STENCIL_ATTACHMENT_OPTIMAL, sampled, Depth::Compressed),
            (Api::DEPTH_ATTACHMENT_STENCIL_READ_ONLY_OPTIMAL, sampled, Depth::Compressed),
            (Api::DEPTH_READ_ONLY_STENCIL_ATTACHMENT_OPTIMAL, sampled, Depth::Resolved),
            (Api::SHADER_READ_ONLY_OPTIMAL, sampled, Depth::Resolved),
            (Api::TRANSFER_SRC_OPTIMAL, sampled, Depth::Resolved),
            (Api::TRANSFER_DST_OPTIMAL, sampled, Depth::Plain),
            (Api::GENERAL, attachment, Depth::Compressed),
            (Api::GENERAL, sampled, Depth::Plain),
            (Api::ATTACHMENT_FEEDBACK_LOOP_OPTIMAL_EXT, sampled, Depth::Plain),
            (Api::RENDERING_LOCAL_READ, sampled, Depth::Plain),
        ] {
            assert_eq!(Depth::of(layout, usage), right, "{layout:?} {usage:?}");
        }
    }

    #[test]
    fn samples_are_in_their_own_slices() {
        for (samples, right) in [(2, 0b10), (4, 0xe4), (8, 0xfac688), (16, 0xfedc_ba98_7654_3210)] {
            assert_eq!(own_slices(samples), right, "{samples}");
        }
    }

    #[test]
    fn transitions_keep_depths() {
        use Depth::{Compressed, Plain, Resolved};
        use DepthOperation::{Ambiguate, Resolve};
        for (old, new, right) in [
            (Plain, Compressed, Some(Ambiguate)),
            (Plain, Resolved, Some(Ambiguate)),
            (Compressed, Resolved, Some(Resolve)),
            (Compressed, Plain, Some(Resolve)),
            (Resolved, Compressed, None),
            (Resolved, Plain, None),
            (Compressed, Compressed, None),
        ] {
            assert_eq!(DepthOperation::of(old, new), right, "{old:?} {new:?}");
        }
    }
}
