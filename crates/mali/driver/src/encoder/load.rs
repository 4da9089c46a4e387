//! Loads of attachments: the frame shaders of a rendering, with the textures that they read.

use std::sync::Arc;

use tepui_mali_packets::draw::Draw;
use tepui_mali_packets::framebuffer::PrePostFrameShaderMode as Mode;
use tepui_mali_packets::texture::TextureDimension;
use tepui_vulkan::Result;
use tepui_vulkan::command::{BindPoint, MAX_PUSH, MAX_SETS};

use super::Encoder;
use super::inputs::{Inputs, Values};
use super::targets::Kept;
use crate::encoder::uploaded::Stage;
use crate::graphics::blend;
use crate::graphics::framebuffer::{FrameShaders, Framebuffer, Target};
use crate::graphics::load::{self, Addresses, Loads};
use crate::packed::DESCRIPTOR_ALIGN;
use crate::shader::{Entry, Variant};
use crate::texture::{Bytes, Part, Role, unsupported};

impl Encoder {
    /// The texture descriptor of a part of an image, whose planes live as long as the recording.
    ///
    /// # Errors
    /// When there is no such texture, or no memory.
    pub(super) fn texture(&mut self, part: &Part<'_>, role: Role) -> Result<Bytes> {
        let planes = tepui_mali_textures::planes(part).map_err(unsupported)?;
        let planes = self.upload(&planes, DESCRIPTOR_ALIGN)?.address;
        tepui_mali_textures::of_part(part, role, planes).map_err(unsupported)
    }

    /// Frame shaders that load what a rendering keeps.
    ///
    /// # Errors
    /// When there is no memory, or an attachment is no texture.
    pub(super) fn loads(
        &mut self,
        kept: &Kept<'_>,
        framebuffer: &Framebuffer<'_>,
        layers: u32,
    ) -> Result<FrameShaders> {
        let multisampled = framebuffer.samples > 1;
        let kind = |t: &Target<'_>| tepui_vulkan_meta::view::kind_of(t.format);
        let colours = Loads {
            colours: kept.colours.each_ref().map(|t| t.as_ref().map(kind)),
            multisampled,
            ..Loads::default()
        };
        let depth = Loads {
            depth: kept.depth.is_some(),
            stencil: kept.stencil.is_some(),
            multisampled,
            ..Loads::default()
        };
        let mut out = FrameShaders::default();
        if colours.is_empty() && depth.is_empty() {
            return Ok(out);
        }
        let mut descriptors = vec![0; 3 * Draw::SIZE_BYTES];
        let of_colours = kept.colours.iter().flatten().copied().collect::<Vec<_>>();
        let of_depth = kept.depth.iter().chain(&kept.stencil).copied().collect::<Vec<_>>();
        let modes = [Mode::Intersect, Mode::EarlyZsAlways];
        for (k, (loads, textures)) in [(colours, of_colours), (depth, of_depth)].iter().enumerate()
        {
            if loads.is_empty() {
                continue;
            }
            let draw = self.frame_shader(loads, textures, framebuffer, layers)?;
            descriptors[k * Draw::SIZE_BYTES..][..Draw::SIZE_BYTES].copy_from_slice(&draw);
            out.modes[k] = modes[k];
        }
        out.descriptors = self.upload(&descriptors, DESCRIPTOR_ALIGN)?.address;
        Ok(out)
    }

    /// The draw descriptor of a frame shader.
    fn frame_shader(
        &mut self,
        loads: &Loads,
        textures: &[Target<'_>],
        framebuffer: &Framebuffer<'_>,
        layers: u32,
    ) -> Result<Vec<u8>> {
        let v: Arc<Variant> = self.device.load_program(loads)?;
        let mut set = Vec::new();
        for t in textures {
            let part = Part {
                layout: t.layout,
                address: t.address,
                format: t.format,
                shape: TextureDimension::N2d,
                levels: [t.level, 1],
                layers: [t.layer, layers],
                swizzle: tepui_mali_textures::IDENTITY,
                min_lod: 0.0,
            };
            set.extend_from_slice(&self.texture(&part, Role::Sampled)?);
        }
        let mut sets = BindPoint::default();
        let mut pushed = [0; MAX_SETS];
        pushed[0] = self.upload(&set, DESCRIPTOR_ALIGN)?.address;
        sets.sets[0].pushed[0] = set;
        let push = [0; MAX_PUSH];
        let inputs = Inputs { sets: &sets, pushed, push: &push };
        let values = Values::default();
        let blends = blend::loads(loads, &framebuffer.colours)?;
        let addresses = Addresses {
            resources: self.resources(Stage::Fragment, &inputs, &v, None)?,
            program: v.descriptor(Entry::Only),
            threads: self.threads_only(v.stats.scratch)?,
            fau: self.uniforms(Stage::Fragment, &v, &inputs, &values)?.pointer,
            depth_stencil: self.upload(&load::depth_stencil(loads)?, DESCRIPTOR_ALIGN)?.address,
            blend: self.upload(&blends, DESCRIPTOR_ALIGN)?.address,
            blends: framebuffer.colours.len() as u32,
        };
        self.keep(&v);
        load::draw(loads, &addresses)
    }
}
