//! Operations on the auxiliary surfaces of colour images.

use std::sync::Arc;

use tepui_format::Format;
use tepui_vulkan::backend::{Attachment, ImageInfo, ImageRef, MAX_PLANES, Rendering, ViewFormats};
use tepui_vulkan::dependency::{Dependency, ImageDependency};
use tepui_vulkan::{Result, vk};

use super::Encoder;
use crate::compression::{begins, own_slices};
use crate::family::Intel;
use crate::flush::{Flush, of_dependency};
use crate::image::Image;

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
        for i in d.images.iter().filter(|i| begins(i.old_layout)) {
            if let Some(control) = i.image.sample_control() {
                let address = i.addresses[0] + control.offset;
                self.separate_samples(i, address)?;
                // What uses the image after the dependency uses its auxiliary surface, too.
                self.hardware.pending |= of_dependency(self.device.generation(), d)
                    | Flush::RENDER
                    | Flush::TEXTURES
                    | Flush::STALL;
            }
        }
        Ok(())
    }

    /// Makes the control surface at an address say that all samples are in their own slices: a clear of it as an image.
    ///
    /// source: Mesa, blorp_clear.c (`blorp_mcs_ambiguate`)
    fn separate_samples(&mut self, i: &ImageDependency<Intel>, address: u64) -> Result<()> {
        let info = control_info(&i.info);
        let image = ImageRef {
            image: Arc::new(Image::new(self.device.generation(), &info)?),
            info,
            addresses: [address; MAX_PLANES],
            plane: 0,
            format: info.format,
            level: 0,
            layer: i.range.base_array_layer,
            layers: i.range.layer_count,
        };
        let (layers, [width, height, _]) = (image.layers, info.extent);
        let pixel = own_slices(i.info.samples);
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
        self.begin(&Rendering {
            area: vk::Rect2D {
                offset: vk::Offset2D { x: 0, y: 0 },
                extent: vk::Extent2D { width, height },
            },
            layers,
            view_mask: 0,
            colours: vec![Some(attachment)],
            depth: None,
            stencil: None,
            samples: 1,
        })?;
        self.targets = None;
        Ok(())
    }
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
