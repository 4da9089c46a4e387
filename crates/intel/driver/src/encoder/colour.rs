//! Operations on the auxiliary surfaces of colour images.

use std::sync::Arc;

use tepui_format::Format;
use tepui_format::texel::TexelCodec;
use tepui_intel_chips::Generation;
use tepui_intel_layout::aux::{Aux, AuxKind, CONTROL_WORD_B, ControlWords};
use tepui_intel_layout::{Dimension, ImageLayout as _, Layout};
use tepui_intel_packets::mi::MiCopyMemMem;
use tepui_vulkan::backend::{
    Attachment, Condition, ImageInfo, ImageRef, MAX_PLANES, Rendering, ViewFormats,
};
use tepui_vulkan::dependency::{Dependency, ImageDependency};
use tepui_vulkan::state::GraphicsState;
use tepui_vulkan::{Error, Result, vk};

use super::Encoder;
use super::meta::DrawnRectangle;
use super::rendering::clear_control;
use crate::clear_colours::CLEAR_COLOUR_B;
use crate::compression::{ColourOperation, begins, may_be_clear, operation_rectangle, own_slices};
use crate::family::Intel;
use crate::flush::{Flush, Mode, of_dependency};
use crate::format::{IDENTITY, hw};
use crate::image::{Auxiliary, CLEAR_FLAG, Image};
use crate::surface::{CLEAR_CHANNELS, slices};

/// A multisample control surface as an image of numbers, a pixel for each of the image's.
pub fn control_info(of: &ImageInfo) -> ImageInfo {
    ImageInfo {
        // source: Mesa, isl_format_layout.csv, MCS_2X to MCS_16X: 8, 8, 32 and 64 bits
        format: match of.samples {
            2 | 4 => Format::R8_UINT,
            8 => Format::R32_UINT,
            _ => Format::R32G32_UINT,
        },
        samples: 1,
        usage: vk::ImageUsageFlags::TRANSFER_DST,
        views: ViewFormats::Own,
        ..*of
    }
}

impl Encoder {
    /// Operations on auxiliary surfaces of colour images that transitions of a dependency lead to.
    pub(super) fn transitions_of_colour(&mut self, d: &Dependency<Intel>) -> Result<()> {
        for i in d.images.iter().filter(|i| i.range.aspect_mask.intersects(COLOURS)) {
            let [from, to] = i.transfer.map_or([false; 2], |t| [t.from, t.to].map(is_external));
            // Pixels of others do not begin here.
            let is_new = begins(i.old_layout) && !(from && i.info.modifier.is_some());
            if i.image.block_control().is_some() && is_new {
                self.begin_blocks(i)?;
            } else if let Some(control) = i.image.control().filter(|_| is_new) {
                if control.surface.what == AuxKind::CcsOfPages {
                    self.begin_pages(i)?;
                } else {
                    self.begin_samples(i, control.offset)?;
                }
            } else if may_be_clear(i.old_layout) && !may_be_clear(i.new_layout) {
                self.resolve_clears(&part(i, 0))?;
            } else if to && i.info.modifier.is_some() && i.image.page_control().is_some() {
                // Others know no colour of clear blocks, which the hardware makes of zeros. source: Mesa, isl_drm.c: the modifier has none
                self.operate_on_colour(vec![part(i, 0)], ColourOperation::Resolve, None, None)?;
            } else {
                continue;
            }
            // What uses the image after the dependency uses its auxiliary surface, too.
            self.hardware.pending |= of_dependency(self.device.generation(), d)
                | Flush::RENDER
                | Flush::TEXTURES
                | Flush::STALL;
        }
        Ok(())
    }

    /// Makes the control surface of levels and layers say that no cache line is compressed and no block clear, and the colour of clear
    /// blocks zero.
    ///
    /// source: Mesa, blorp_clear.c (`blorp_ccs_ambiguate`): Gen9 has no operation for it
    fn begin_blocks(&mut self, i: &ImageDependency<Intel>) -> Result<()> {
        let Some(control) = i.image.block_control() else { return Ok(()) };
        for words in words_of(&i.image.planes[0].layout, &control.surface, &i.range) {
            self.clear_words(i, control, words)?;
        }
        if control.clear_offset == 0 || (i.range.base_mip_level, i.range.base_array_layer) != (0, 0)
        {
            return Ok(());
        }
        self.select(Mode::Graphics)?;
        self.flush()?;
        self.store_clear_colour(&part(i, 0), [0; 4])?;
        self.store_word(i.addresses[0] + control.clear_offset + CLEAR_FLAG, 0)
    }

    /// Clears words of a control surface, which are drawn as the texels of an image.
    fn clear_words(
        &mut self,
        i: &ImageDependency<Intel>,
        control: &Auxiliary,
        words: ControlWords,
    ) -> Result<()> {
        // Rows of whole tiles, of as many as an image can have.
        const TILE_ROWS: u32 = 32;
        let ([x, y], [width, height]) = (words.origin, words.size);
        let pitch = control.surface.row_pitch_B;
        let first = y / TILE_ROWS * TILE_ROWS;
        for start in (first..y + height).step_by(MAX_SIDE_PX as usize) {
            let end = (y + height).min(start + MAX_SIDE_PX);
            let top = y.max(start) - start;
            let address = i.addresses[0] + control.offset + u64::from(start) * pitch;
            let rows = end - start;
            let rect = vk::Rect2D {
                offset: vk::Offset2D { x: x as i32, y: top as i32 },
                extent: vk::Extent2D { width, height: rows - top },
            };
            self.fill_control((address, words_info(&i.info, pitch, rows)), [0, 1], rect, 0)?;
        }
        Ok(())
    }

    /// Makes the multisample control surface of layers say that each sample is in its own slice.
    fn begin_samples(&mut self, i: &ImageDependency<Intel>, offset: u64) -> Result<()> {
        let info = control_info(&i.info);
        let [width, height, _] = info.extent;
        let rect = vk::Rect2D {
            offset: vk::Offset2D { x: 0, y: 0 },
            extent: vk::Extent2D { width, height },
        };
        let layers = [i.range.base_array_layer, i.range.layer_count];
        self.fill_control((i.addresses[0] + offset, info), layers, rect, own_slices(i.info.samples))
    }

    /// Writes the colour of clear blocks to an image whose blocks may be clear: a word in memory says whether any is, but for those that
    /// are clear to zero in an image whose cache lines are compressed.
    pub(super) fn resolve_clears(&mut self, to: &ImageRef<Intel>) -> Result<()> {
        let control = to.image.block_control().filter(|c| has_any_colour(&to.info, c));
        let Some(control) = control else { return Ok(()) };
        let address = to.addresses[0] + control.clear_offset + CLEAR_FLAG;
        let condition = Condition { address, inverted: false };
        let part = ImageRef { level: 0, layer: 0, layers: 1, format: to.info.format, ..clone(to) };
        self.operate_on_colour(vec![part], ColourOperation::Resolve, None, Some(condition))?;
        self.store_word(address, 0)
    }

    /// Copies the colour of clear blocks to the surface state of an attachment.
    ///
    /// source: Mesa, genX_cmd_buffer.c (`genX_copy_fast_clear_dwords`)
    pub(super) fn load_clear_colour(&mut self, a: &Attachment<Intel>, state: u64) -> Result<()> {
        let control = clear_control(a).filter(|c| has_any_colour(&a.image.info, c));
        let Some(control) = control else { return Ok(()) };
        let from = a.image.addresses[0] + control.clear_offset;
        for channel in 0..4 {
            self.emit(&MiCopyMemMem {
                destination_memory_address: state + CLEAR_CHANNELS + 4 * channel,
                source_memory_address: from + 4 * channel,
                ..MiCopyMemMem::default()
            })?;
        }
        self.hardware.pending |= Flush::STATE | Flush::TEXTURES;
        Ok(())
    }

    /// Makes the control surface of levels and layers say that nothing is compressed, and the colour of clear blocks zero.
    ///
    /// source: Mesa, genX_cmd_buffer.c (`transition_color_buffer`)
    fn begin_pages(&mut self, i: &ImageDependency<Intel>) -> Result<()> {
        let r = &i.range;
        let parts =
            (r.base_mip_level..r.base_mip_level + r.level_count).map(|level| part(i, level));
        self.operate_on_colour(parts.collect(), ColourOperation::Ambiguate, Some([0; 4]), None)
    }

    /// Clears the first layer of colour attachments of a rendering by marking their blocks, where that can be; returns those that it
    /// cleared, a bit each.
    pub(super) fn fast_clears_of_colours(&mut self, r: &Rendering<Intel>) -> Result<u8> {
        let generation = self.device.generation();
        let mut cleared = 0;
        for (k, a) in r.colours.iter().enumerate() {
            let Some(a) = a.as_ref().filter(|a| is_fast_clear(generation, r, a)) else { continue };
            let part = ImageRef { layers: 1, ..clone(&a.image) };
            // That of images in several parts is zero always: they share it.
            let colour = Some(a.clear).filter(|_| is_single(&a.image.info));
            let control = a.image.image.block_control();
            let control = control.filter(|c| has_any_colour(&a.image.info, c));
            let flag = control.map(|c| {
                let all_know = c.compresses && a.clear == [0; 4];
                (part.addresses[0] + c.clear_offset + CLEAR_FLAG, u32::from(!all_know))
            });
            self.operate_on_colour(vec![part], ColourOperation::Clear, colour, None)?;
            if let Some((address, flag)) = flag {
                self.store_word(address, flag)?;
            }
            cleared |= 1 << k;
        }
        Ok(cleared)
    }

    /// Executes an operation on parts of an image with a control surface, which get a colour of clear blocks before.
    ///
    /// source: Mesa, blorp_clear.c (`blorp_fast_clear`, `blorp_ccs_resolve`), genX_cmd_buffer.c (`cmd_buffer_update_color_aux_op`): flushes
    fn operate_on_colour(
        &mut self,
        parts: Vec<ImageRef<Intel>>,
        operation: ColourOperation,
        colour: Option<[u32; 4]>,
        condition: Option<Condition>,
    ) -> Result<()> {
        let generation = self.device.generation();
        let around = match generation {
            Generation::Gen9 => Flush::RENDER | Flush::STALL,
            Generation::Gen12 => Flush::RENDER | Flush::STALL | Flush::TILE | Flush::DEPTH_STALL,
        };
        self.hardware.pending |= around | Flush::TEXTURES;
        self.select(Mode::Graphics)?;
        self.flush()?;
        if let (Some(colour), Some(first)) = (colour, parts.first()) {
            self.store_clear_colour(first, colour)?;
        }
        let fragment = self.device.operation(operation)?;
        for part in parts {
            let element_b = part.image.planes[0].layout.element_B();
            let samples = part.info.samples;
            let [width, height] =
                operation_rectangle(generation, part.extent(), element_b, samples);
            let rect = vk::Rect2D {
                offset: vk::Offset2D { x: 0, y: 0 },
                extent: vk::Extent2D { width, height },
            };
            let layers = part.layers;
            let rendering = rendering(
                Attachment {
                    image: Arc::new(part),
                    layout: vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL,
                    load: vk::AttachmentLoadOp::LOAD,
                    store: vk::AttachmentStoreOp::STORE,
                    clear: [0; 4],
                    resolve: None,
                },
                rect,
            );
            self.begin(&rendering)?;
            let rectangle = DrawnRectangle {
                words: &[],
                bindings: &[],
                state: &GraphicsState { samples, ..GraphicsState::default() },
                rect,
                depth: 0.0,
                layers: (0, layers),
                view_mask: 0,
                condition,
            };
            self.draw_rectangle(&rectangle, fragment.clone())?;
        }
        self.targets = None;
        // The hardware converts the colour of a clear in memory, which surface states point to.
        self.hardware.pending |= around | Flush::STATE;
        Ok(())
    }

    /// Writes the colour of an image's clear blocks, as units read it in the image's format and in that of its words.
    ///
    /// source: genxml, CLEAR_COLOR; ICL PRM volume 9, "State Caching", as Mesa cites it: it is a part of surface states
    fn store_clear_colour(&mut self, part: &ImageRef<Intel>, colour: [u32; 4]) -> Result<()> {
        let image = part.image.clone();
        let control = image.page_control().or_else(|| image.block_control());
        let Some(control) = control.or_else(|| image.sample_control()) else { return Ok(()) };
        if control.clear_offset == 0 {
            return Ok(());
        }
        let at = part.addresses[0] + control.clear_offset;
        let texel = texel(part.info.format, colour)?;
        let words = [0, 32, 64, 96].map(|shift| (texel >> shift) as u32);
        for (at, channels) in [(at, colour), (at + CLEAR_COLOUR_B, words)] {
            for (word, value) in (0..).zip(channels.into_iter().chain([words[0], words[1]])) {
                self.store_word(at + 4 * word, value)?;
            }
        }
        self.hardware.pending |= Flush::STATE | Flush::TEXTURES;
        Ok(())
    }

    /// Fills a rectangle of layers of a control surface with a texel: a clear of it as an image at an address.
    ///
    /// source: Mesa, blorp_clear.c (`blorp_mcs_ambiguate`, `blorp_ccs_ambiguate`)
    fn fill_control(
        &mut self,
        (address, info): (u64, ImageInfo),
        [layer, layers]: [u32; 2],
        area: vk::Rect2D,
        pixel: u64,
    ) -> Result<()> {
        let image = ImageRef {
            image: Arc::new(Image::new(self.device.generation(), &info)?),
            info,
            addresses: [address; MAX_PLANES],
            plane: 0,
            format: info.format,
            level: 0,
            layer,
            layers,
        };
        let attachment = Attachment {
            image: Arc::new(image),
            layout: vk::ImageLayout::TRANSFER_DST_OPTIMAL,
            load: vk::AttachmentLoadOp::CLEAR,
            store: vk::AttachmentStoreOp::STORE,
            clear: [pixel as u32, (pixel >> 32) as u32, 0, 0],
            resolve: None,
        };
        // The surface was that of another kind to the render cache. source: Mesa, genX_cmd_buffer.c (`transition_color_buffer`)
        self.hardware.pending |= Flush::RENDER | Flush::STALL;
        self.begin(&rendering(attachment, area))?;
        self.targets = None;
        Ok(())
    }
}

/// A rendering to all layers of an attachment of one sample.
fn rendering(attachment: Attachment<Intel>, area: vk::Rect2D) -> Rendering<Intel> {
    Rendering {
        area,
        layers: attachment.image.layers,
        view_mask: 0,
        colours: vec![Some(attachment)],
        depth: None,
        stencil: None,
        samples: 1,
    }
}

/// Rows of the control surface of cache lines as an image of words.
fn words_info(of: &ImageInfo, pitch: u64, rows: u32) -> ImageInfo {
    ImageInfo {
        image_type: vk::ImageType::_2D,
        format: Format::R32G32B32A32_UINT,
        extent: [(pitch / u64::from(CONTROL_WORD_B)) as u32, rows, 1],
        levels: 1,
        layers: 1,
        usage: vk::ImageUsageFlags::TRANSFER_DST,
        views: ViewFormats::Own,
        modifier: None,
        explicit: None,
        ..*of
    }
}

/// The words of a control surface that a range of an image has: all of them, or those of each level of each layer.
fn words_of(l: &Layout, surface: &Aux, range: &vk::ImageSubresourceRange) -> Vec<ControlWords> {
    let shape = &l.desc().shape;
    if (range.level_count, range.layer_count) == (shape.levels, shape.layers) {
        let rows = (surface.size_B / surface.row_pitch_B.max(1)) as u32;
        let words = (surface.row_pitch_B / u64::from(CONTROL_WORD_B)) as u32;
        return vec![ControlWords { origin: [0, 0], size: [words, rows] }];
    }
    let layers = |level: u32| match shape.dimension {
        Dimension::D3 => 0..(shape.depth_px >> level).max(1),
        _ => range.base_array_layer..range.base_array_layer + range.layer_count,
    };
    let levels = range.base_mip_level..range.base_mip_level + range.level_count;
    let of = |level| layers(level).filter_map(move |layer| l.control_words(level, layer));
    levels.flat_map(of).collect()
}

/// Whether any colour may be that of clear blocks of an image on Gen9: a word in memory says then whether the colour has to be resolved.
fn has_any_colour(info: &ImageInfo, control: &Auxiliary) -> bool {
    control.clear_offset != 0 && is_single(info)
}

/// Whether a queue family is that of another device or another API.
fn is_external(family: u32) -> bool {
    matches!(family, vk::QUEUE_FAMILY_EXTERNAL | vk::QUEUE_FAMILY_FOREIGN_EXT)
}

/// Aspects of colours.
const COLOURS: vk::ImageAspectFlags = vk::ImageAspectFlags::COLOR;

/// A level of the layers of a dependency, or of all slices.
fn part(i: &ImageDependency<Intel>, level: u32) -> ImageRef<Intel> {
    ImageRef {
        image: i.image.clone(),
        info: i.info,
        addresses: i.addresses,
        plane: 0,
        format: i.info.format,
        level,
        layer: i.range.base_array_layer,
        layers: match i.info.image_type {
            vk::ImageType::_3D => slices(&i.info, level),
            _ => i.range.layer_count,
        },
    }
}

/// A texel of a colour.
fn texel(format: Format, colour: [u32; 4]) -> Result<u128> {
    let unknown = |_| Error::unsupported(format!("clears of {format}"));
    let codec = TexelCodec::new(format).map_err(unknown)?;
    Ok(match format.info().numeric().is_integer() {
        true => codec.pack_u32(colour),
        false => codec.pack_f32(colour.map(f32::from_bits)),
    })
}

fn clone(i: &ImageRef<Intel>) -> ImageRef<Intel> {
    ImageRef { image: i.image.clone(), ..*i }
}

/// Whether an image has one level and one layer, of which alone any colour is that of clear blocks.
fn is_single(info: &ImageInfo) -> bool {
    info.levels == 1 && info.layers == 1 && info.image_type == vk::ImageType::_2D
}

/// Largest side of an image in pixels. source: SKL PRM volume 2d, RENDER_SURFACE_STATE, Height
const MAX_SIDE_PX: u32 = 1 << 14;

/// Largest side in pixels of images of at most 32 bits that are not cleared fast: Wa_18020603990.
const MAX_SLOW_PX: u32 = 256;

/// Whether an attachment's clear at the beginning of a rendering marks blocks of its first layer: one of the first level of the image's first
/// layer as a whole. Clear blocks have one colour in an image, and views of other formats do not have it but for zero.
///
/// source: Mesa, anv_image.c (`anv_can_fast_clear_color`, `anv_layout_to_fast_clear_type`), anv_private.h
/// (`anv_can_sample_mcs_with_clear`)
fn is_fast_clear(generation: Generation, r: &Rendering<Intel>, a: &Attachment<Intel>) -> bool {
    let i = &a.image;
    let is_gen12 = generation == Generation::Gen12;
    let element_b = i.info.format.info().block.bytes;
    // On Gen9, clear samples are zero, and nothing has to say which.
    let of_samples = i.image.sample_control().is_some_and(|c| {
        // The sampler misreads clear samples of small texels: Wa_14013111325.
        !is_gen12 || c.clear_offset != 0 && i.image.has_compressed_pages() && element_b > 2
    });
    let of_pages = i.image.page_control().is_some_and(|c| c.clear_offset != 0);
    let of_lines = i.image.line_control().is_some_and(|c| c.clear_offset != 0);
    let of_clears = i.image.clear_control().is_some_and(|_| may_be_clear(a.layout));
    let [width, height] = i.extent();
    let is_whole = (r.area.offset.x, r.area.offset.y) == (0, 0)
        && r.area.extent.width >= width
        && r.area.extent.height >= height;
    let is_first = i.level == 0 && i.layer == 0 && (r.view_mask == 0 || r.view_mask & 1 != 0);
    // A view of one slice is not told from one of the image.
    let is_first = is_first && i.info.image_type == vk::ImageType::_2D;
    let is_small = is_gen12 && element_b <= 4 && width.max(height) <= MAX_SLOW_PX;
    // Outside of attachments, Gen9 has zero as the colour of clear blocks.
    let is_plain = (is_gen12 || !of_samples && may_be_clear(a.layout))
        && i.format == i.info.format
        && i.info.views == ViewFormats::Own
        && is_single(&i.info)
        && hw(i.format).is_some_and(|hw| hw.swizzle == IDENTITY);
    a.load == vk::AttachmentLoadOp::CLEAR
        && (of_pages || of_lines || of_clears || of_samples)
        && is_whole
        && is_first
        && !is_small
        && (is_plain || a.clear == [0; 4])
}

#[cfg(test)]
mod tests {
    use tepui_intel_chips::Generation;
    use tepui_intel_layout::ImageLayout;

    use super::*;

    #[test]
    fn control_surfaces_are_laid_out_as_images_of_numbers() {
        for (samples, layers, extent) in [
            (2, 1, [1, 1, 1]),
            (2, 3, [130, 77, 1]),
            (4, 2, [1920, 1080, 1]),
            (8, 5, [33, 31, 1]),
            (16, 2, [257, 65, 1]),
        ] {
            let of = ImageInfo {
                image_type: vk::ImageType::_2D,
                format: Format::R8G8B8A8_UNORM,
                extent,
                levels: 1,
                layers,
                samples,
                usage: vk::ImageUsageFlags::COLOR_ATTACHMENT,
                flags: vk::ImageCreateFlags::empty(),
                views: ViewFormats::Own,
                linear: false,
                modifier: None,
                explicit: None,
            };
            for generation in [Generation::Gen9, Generation::Gen12] {
                let image = Image::new(generation, &of).unwrap();
                let surface = image.sample_control().unwrap().surface;
                let numbers = Image::new(generation, &control_info(&of)).unwrap();
                let l = &numbers.planes[0].layout;
                let bytes = [1, 1, 4, 8][samples.ilog2() as usize - 1];
                let found = (l.row_pitch_B, l.qpitch_el, l.size_B, l.element_B());
                let right = (surface.row_pitch_B, surface.qpitch_px, surface.size_B, bytes);
                assert_eq!(found, right, "{generation} {of:?}");
            }
        }
    }
}
