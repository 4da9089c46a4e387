//! States of compressed images: which of an image and its auxiliary surface holds the pixels in each layout of the API, and the
//! operations between such states.
//!
//! source: Mesa, anv_image.c (`anv_layout_to_aux_state`), genX_cmd_buffer.c (`transition_depth_buffer`)

use tepui_format::Format;
use tepui_intel_chips::Generation;
use tepui_intel_layout::{Y_TILED_CCS, Y_TILED_GEN12_RC_CCS, surface_format};
use tepui_vulkan::backend::{ImageInfo, ViewFormats};
use tepui_vulkan::debug::{self, Flags};
use tepui_vulkan::vk;
use tepui_vulkan::vk::{ImageCreateFlags as Create, ImageLayout as Api, ImageUsageFlags as Usage};

use crate::format;

/// Whether an image may have an auxiliary surface: its pixels are only reached by commands, in layouts that barriers announce.
/// `TEPUI_DEBUG=nocompress` takes them from all images but those whose modifier has one.
pub fn is_allowed(info: &ImageInfo) -> bool {
    let sparse = Create::SPARSE_BINDING | Create::SPARSE_RESIDENCY | Create::SPARSE_ALIASED;
    !debug::flags().contains(Flags::NO_COMPRESSION)
        && !info.linear
        && info.modifier.is_none()
        && !info.usage.contains(Usage::HOST_TRANSFER)
        && !info.flags.intersects(sparse | Create::ALIAS | Create::DISJOINT)
}

/// Whether an image of depth has a hierarchical buffer. On Gen9, those with levels have none: it wants levels of whole blocks.
/// source: Mesa, anv_image.c, "multi-LOD HiZ surface on Gen9"
pub fn has_hierarchy(generation: Generation, info: &ImageInfo) -> bool {
    is_allowed(info)
        && info.usage.contains(Usage::DEPTH_STENCIL_ATTACHMENT)
        && info.image_type == vk::ImageType::_2D
        && (info.levels == 1 || generation == Generation::Gen12)
}

/// Whether all units know the auxiliary surfaces of an image of depth, in all layouts: of one sample, on Gen9 unless it is read while it is
/// written; on Gen12 if programs read it, and it is written through its hierarchy then.
/// source: Mesa, anv_image.c (`want_hiz_wt_for_image`, `anv_layout_to_aux_state`), anv_private.h (`anv_can_sample_with_hiz`)
pub fn is_depth_read_compressed(generation: Generation, info: &ImageInfo) -> bool {
    let read_while_written = Usage::INPUT_ATTACHMENT | Usage::ATTACHMENT_FEEDBACK_LOOP_EXT;
    has_hierarchy(generation, info)
        && info.samples == 1
        && match generation {
            Generation::Gen9 => !info.usage.intersects(read_while_written),
            Generation::Gen12 => info.usage.intersects(Usage::SAMPLED | Usage::INPUT_ATTACHMENT),
        }
}

/// Whether cache lines of stencil are compressed (STC_CCS), which all units know in all layouts: of one sample on Gen12.
/// source: Mesa, isl.c (`isl_surf_supports_ccs`), anv_image.c (`anv_layout_to_aux_state`)
pub fn has_stencil_control(generation: Generation, info: &ImageInfo) -> bool {
    generation == Generation::Gen12
        && is_allowed(info)
        && info.usage.contains(Usage::DEPTH_STENCIL_ATTACHMENT)
        && info.image_type == vk::ImageType::_2D
        && info.samples == 1
}

/// Whether an image has a multisample control surface: it may have one that the render cache writes and the sampler reads.
pub fn has_sample_control(info: &ImageInfo) -> bool {
    is_allowed(info)
        && info.samples > 1
        && info.usage.contains(Usage::COLOR_ATTACHMENT)
        && !info.usage.contains(Usage::STORAGE)
}

/// The modifier of images in Y tiles with compressed cache lines.
pub fn modifier(generation: Generation) -> u64 {
    match generation {
        Generation::Gen9 => Y_TILED_CCS,
        Generation::Gen12 => Y_TILED_GEN12_RC_CCS,
    }
}

/// Whether an image is shared with its control surface.
pub fn is_shared(generation: Generation, info: &ImageInfo) -> bool {
    info.modifier == Some(modifier(generation))
}

/// Whether typed messages may reach the compressed cache lines of an image: on Gen12, all but atomic operations, which its formats must
/// not have.
/// source: Mesa, anv_image.c (`anv_formats_ccs_e_compatible`, `image_may_use_r32_view`)
fn may_be_stored(generation: Generation, info: &ImageInfo) -> bool {
    let has_atomics =
        |f: Format| matches!(f, Format::R32_UINT | Format::R32_SINT | Format::R32_SFLOAT);
    let listed = match &info.views {
        ViewFormats::Listed(list) => list.iter().flatten().any(|&f| has_atomics(f)),
        _ => false,
    };
    generation == Generation::Gen12
        && info.modifier.is_none()
        && !has_atomics(info.format)
        && !listed
}

/// Whether cache lines of colours of an image are compressed (CCS_E): the units that reach it know its control surface in all
/// layouts, and views have formats that may be compressed in the same way.
/// source: Mesa, anv_image.c (`anv_formats_ccs_e_compatible`)
pub fn has_line_control(generation: Generation, info: &ImageInfo) -> bool {
    let fits = |f| format::is_compressed_as(generation, f, info.format);
    (is_shared(generation, info)
        || is_allowed(info) && info.usage.contains(Usage::COLOR_ATTACHMENT))
        && info.samples == 1
        && info.image_type != vk::ImageType::_1D
        && !info.usage.contains(Usage::HOST_TRANSFER)
        && (!info.usage.contains(Usage::STORAGE) || may_be_stored(generation, info))
        && fits(info.format)
        && match &info.views {
            ViewFormats::Own => true,
            ViewFormats::Any => false,
            ViewFormats::Listed(list) => list.iter().flatten().all(|&f| fits(f)),
        }
}

/// Whether blocks of colours of an image whose cache lines are not compressed may be clear (CCS_D) on Gen9, where attachments use its
/// control surface in the layouts of colour attachments alone. Images with levels or layers are plain.
/// source: Mesa, isl_format.c (`isl_format_supports_ccs_d`), anv_image.c (`anv_layout_to_aux_state`)
pub fn has_clear_control(info: &ImageInfo) -> bool {
    is_allowed(info)
        && info.samples == 1
        && info.image_type == vk::ImageType::_2D
        && (info.levels, info.layers) == (1, 1)
        && info.usage.contains(Usage::COLOR_ATTACHMENT)
        && matches!(info.format.info().block.bytes, 4 | 8 | 16)
        && format::hw(info.format).is_some_and(|hw| hw.row.has(false, surface_format::Use::Render))
}

/// Whether blocks of an image on Gen9 may have any clear colour in a layout. In others, those of images with compressed cache lines may
/// be clear to zero alone, which the surface states of all units say, and those of other images may not be clear.
pub fn may_be_clear(layout: Api) -> bool {
    matches!(layout, Api::COLOR_ATTACHMENT_OPTIMAL | Api::ATTACHMENT_OPTIMAL)
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
    /// The state of an image in a layout, whose auxiliary surfaces all units know or the depth unit alone.
    pub fn of(layout: Api, usage: Usage, is_read_compressed: bool) -> Depth {
        match layout {
            _ if is_read_compressed && begins(layout) => Depth::Plain,
            _ if is_read_compressed => Depth::Compressed,
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

/// An operation on colours and their control surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColourOperation {
    /// Marks all blocks as clear.
    Clear,
    /// Writes the colour of clear blocks to them.
    Resolve,
    /// Makes the control surface say nothing, so that it agrees with any image (Gen12).
    Ambiguate,
}

impl ColourOperation {
    /// Render Target Resolve Type, and Render Target Fast Clear Enable. source: genxml, 3DSTATE_PS
    pub fn fields(self) -> (u32, bool) {
        const RESOLVE_PARTIAL: u32 = 1;
        const FAST_CLEAR_0: u32 = 2;
        match self {
            ColourOperation::Clear => (0, true),
            ColourOperation::Resolve => (RESOLVE_PARTIAL, false),
            ColourOperation::Ambiguate => (FAST_CLEAR_0, true),
        }
    }
}

/// Bits and pixels of an element of a control surface: two bits on Gen9, four on Gen12, for 32 bytes by four rows.
/// source: Mesa, isl_format_layout.csv (GFX9_CCS_32BPP and so on)
fn control_bits(generation: Generation) -> u32 {
    match generation {
        Generation::Gen9 => 2,
        Generation::Gen12 => 4,
    }
}

/// Size of the rectangle that an operation draws for an image of texels of so many bytes and samples: parts of the image are pixels.
/// source: Mesa, blorp_clear.c (`get_fast_clear_rect`)
pub fn operation_rectangle(
    generation: Generation,
    size: [u32; 2],
    element_b: u32,
    samples: u32,
) -> [u32; 2] {
    let align = match samples {
        1 => [32 / element_b * 16, 4 * 32 / control_bits(generation)],
        2 | 4 => [16, 4],
        8 => [4, 4],
        _ => [2, 4],
    };
    [0, 1].map(|k| size[k].next_multiple_of(align[k]) / (align[k] / 2))
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
            assert_eq!(Depth::of(layout, usage, false), right, "{layout:?} {usage:?}");
            let everywhere = if begins(layout) { Depth::Plain } else { Depth::Compressed };
            assert_eq!(Depth::of(layout, usage, true), everywhere, "{layout:?} {usage:?}");
        }
    }

    #[test]
    fn samples_are_in_their_own_slices() {
        for (samples, right) in [(2, 0b10), (4, 0xe4), (8, 0xfac688), (16, 0xfedc_ba98_7654_3210)] {
            assert_eq!(own_slices(samples), right, "{samples}");
        }
    }

    #[test]
    fn operations_draw_parts_of_images_as_pixels() {
        // source: IVB PRM volume 2, part 1, "MCS Buffer for Render Target(s)", as Mesa cites it: texels of 4 bytes are cleared in units
        // of 128 by 64, and scaled by 64 by 32; Gen12 has half the rows.
        let size = operation_rectangle(Generation::Gen9, [1920, 1080], 4, 1);
        assert_eq!(size, [1920 / 64, 1088 / 32]);
        let of = |size, element_b| operation_rectangle(Generation::Gen12, size, element_b, 1);
        assert_eq!(of([1920, 1080], 4), [30, 1088 / 16]);
        assert_eq!(of([1, 1], 16), [2, 2]);
        assert_eq!(of([513, 33], 1), [1024 / 256, 64 / 16]);
        // source: as above, "MSAA Compression": 1/8, 1/2 and all of the width, half of the height, of two by two blocks.
        let of = |samples| operation_rectangle(Generation::Gen9, [70, 50], 4, samples);
        assert_eq!([2, 4, 8, 16].map(of), [[10, 26], [10, 26], [36, 26], [70, 26]]);
    }

    #[test]
    fn blocks_are_clear_where_only_the_render_cache_reaches_them() {
        for (layout, right) in [
            (Api::COLOR_ATTACHMENT_OPTIMAL, true),
            (Api::ATTACHMENT_OPTIMAL, true),
            (Api::GENERAL, false),
            (Api::RENDERING_LOCAL_READ, false),
            (Api::ATTACHMENT_FEEDBACK_LOOP_OPTIMAL_EXT, false),
            (Api::SHADER_READ_ONLY_OPTIMAL, false),
            (Api::TRANSFER_DST_OPTIMAL, false),
            (Api::PRESENT_SRC_KHR, false),
        ] {
            assert_eq!(may_be_clear(layout), right, "{layout:?}");
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
