//! Draws and framebuffers of Midgard.
//!
// source: Mesa, decode.c (`pandecode_dcd`, `pandecode_textures`), decode_jm.c, v4.xml, v5.xml.

use tepui_mali_isa::midgard::disasm::parts;
use tepui_mali_isa::midgard::extent;
use tepui_mali_packets::Packet;
use tepui_mali_packets::bifrost::{
    DrawV7, LocalStorageV7, RendererState, SurfaceWithStride, UniformBuffer, Viewport,
};
use tepui_mali_packets::framebuffer::RenderTarget;
use tepui_mali_packets::midgard::{
    BlendV5, FramebufferParametersV5, SamplerV5, TextureV5, TilerContextV5, ZsCrcExtensionV5,
    framebuffer as part,
};
use tepui_mali_packets::sfbd::{self, FramebufferParametersV4};
use tepui_mali_packets::texture::TextureDimension;

use crate::bifrost::MAX_SURFACES;
use crate::{Content, Decoder, InstructionError, Problem, Record};

/// Flags in the addresses of framebuffers, and the tag in the addresses of shaders.
const FLAGS: u64 = 0x3f;
const FIRST_TAG: u64 = 0xf;

/// Limit on the size of code.
const MAX_BYTES: usize = 1 << 19;

/// Bytes of a word of code.
const WORD: usize = 16;

impl Decoder<'_> {
    /// Decodes a draw descriptor with everything that it points to.
    pub(crate) fn draw_v5(&mut self, title: &'static str, at: u64, fragments: bool) -> Record {
        let mut record = self.reader.packet_as(title, DrawV7::INFO, at);
        let Ok(d) = self.reader.value::<DrawV7>(at) else { return record };
        let out = &mut record.children;
        if d.state != 0 {
            out.push(self.state_v5(d.state, fragments));
        }
        if let Ok(s) = self.reader.value::<RendererState>(d.state) {
            let count = |n: u32| u64::from(n);
            if d.push_uniforms != 0 && s.uniform_registers != 0 {
                let push = d.push_uniforms | count(2 * s.uniform_registers) << 56;
                out.push(self.uniforms("Push uniforms", push));
            }
            let buffers = count(s.uniform_buffer_count);
            out.extend(self.array(UniformBuffer::INFO, d.uniform_buffers, buffers));
            out.extend(self.array(SamplerV5::INFO, d.samplers, count(s.sampler_count)));
            for index in 0..if d.textures == 0 { 0 } else { count(s.texture_count) } {
                if self.reader.left() == 0 {
                    break;
                }
                match self.address(d.textures.wrapping_add(8 * index)) {
                    Ok(0) => {}
                    Ok(at) => out.push(self.texture_v5(index, at)),
                    Err(problem) => record.problems.push(problem),
                }
            }
            let (list, buffers) = (d.attributes, d.attribute_buffers);
            out.extend(self.elements("Attribute", list, buffers, s.attribute_count));
            let (list, buffers) = (d.varyings, d.varying_buffers);
            out.extend(self.elements("Varying", list, buffers, s.varying_count));
        }
        if d.viewport != 0 {
            out.push(self.reader.packet(Viewport::INFO, d.viewport));
        }
        if d.thread_storage != 0 && !fragments {
            out.push(self.reader.packet(LocalStorageV7::INFO, d.thread_storage & !FLAGS));
        }
        record
    }

    fn texture_v5(&mut self, index: u64, at: u64) -> Record {
        let title = format!("Texture {index}");
        let mut record = self.reader.packet_as(title, TextureV5::INFO, at);
        let Ok(t) = self.reader.value::<TextureV5>(at) else { return record };
        let faces = if t.dimension == TextureDimension::Cube { 6 } else { 1 };
        let samples = if t.dimension == TextureDimension::N3d { 1 } else { t.depth };
        let count = u64::from(t.levels) * u64::from(t.array_size) * u64::from(samples) * faces;
        let surfaces = at.wrapping_add(TextureV5::SIZE_BYTES as u64);
        record.children = self.array(SurfaceWithStride::INFO, surfaces, count.min(MAX_SURFACES));
        record
    }

    /// Decodes the renderer state: the shader and blending.
    fn state_v5(&mut self, at: u64, fragments: bool) -> Record {
        let mut record = self.reader.packet(RendererState::INFO, at);
        if self.is_known("Renderer state", at) {
            record.content = Content::SeeAbove;
            return record;
        }
        let Ok(s) = self.reader.value::<RendererState>(at) else { return record };
        if s.shader & !FIRST_TAG != 0 {
            record.children.push(self.code_v5(s.shader & !FIRST_TAG));
        }
        if s.has_blend_shader {
            record.children.push(self.code_v5(s.blend_shader & !FIRST_TAG));
        }
        // v4 has no blend descriptors.
        let blends = fragments && self.options.arch.0 >= 5;
        for index in 0..if blends { u64::from(self.targets) } else { 0 } {
            let at = at.wrapping_add(RendererState::SIZE_BYTES as u64);
            let at = at.wrapping_add(index * BlendV5::SIZE_BYTES as u64);
            let mut child = self.reader.packet_as(format!("Blend {index}"), BlendV5::INFO, at);
            if let Ok(blend) = self.reader.value::<BlendV5>(at)
                && blend.blend_shader
            {
                child.children.push(self.code_v5(blend.shader_pc & !FIRST_TAG));
            }
            record.children.push(child);
        }
        record
    }

    /// Disassembles a program, bundle by bundle.
    pub(crate) fn code_v5(&mut self, start: u64) -> Record {
        let mut record = Record::new("Code", start);
        if !self.reader.take() {
            record.problems.push(self.too_much());
            return record;
        }
        if self.is_known("Code", start) {
            record.content = Content::SeeAbove;
            return record;
        }
        let code = extent(MAX_BYTES, |offset| {
            let mut bytes = [0; 8];
            self.reader.read(start.checked_add(offset)?, &mut bytes).ok()?;
            Some(bytes)
        });
        let mut lines = Vec::new();
        for part in parts(&code, 0) {
            let offset = part.offset as u32;
            if let Err(error) = &part.content {
                let error = InstructionError::new(*error);
                record.problems.push(Problem::Instruction { offset, error });
                break;
            }
            // The words of a bundle are shown in the byte column of its first lines.
            let mut words = code[part.offset..part.offset + part.length].chunks(WORD);
            let mut at = offset;
            for text in part.text_with(&code, self.options.texture_registers).lines() {
                let word = words.next().unwrap_or_default().to_vec();
                let length = word.len() as u32;
                lines.push((at, word, format!(" {text}")));
                at = (at + length).min(offset + part.length as u32 - WORD as u32);
            }
        }
        record.content = Content::Code(lines);
        record
    }

    /// Decodes the framebuffer at a pointer with flags.
    pub(crate) fn framebuffer_v5(&mut self, pointer: u64) -> Record {
        let at = pointer & !FLAGS;
        let mut record = Record::new("Framebuffer", at);
        let place = |offset: u64| at.wrapping_add(offset);
        record.children.push(self.reader.packet(LocalStorageV7::INFO, at));
        if self.options.arch.0 < 5 {
            let info = FramebufferParametersV4::INFO;
            record.children.push(self.reader.packet(info, place(sfbd::part::PARAMETERS)));
            let tiler = place(sfbd::part::TILER);
            record.children.push(self.reader.packet(TilerContextV5::INFO, tiler));
            return record;
        }
        let info = FramebufferParametersV5::INFO;
        record.children.push(self.reader.packet(info, place(part::PARAMETERS)));
        record.children.push(self.reader.packet(TilerContextV5::INFO, place(part::TILER)));
        let p = self.reader.value::<FramebufferParametersV5>(place(part::PARAMETERS));
        let Ok(p) = p else { return record };
        self.targets = p.render_target_count;
        let mut next = place(part::END);
        if p.has_zs_crc_extension {
            record.children.push(self.reader.packet(ZsCrcExtensionV5::INFO, next));
            next = next.wrapping_add(ZsCrcExtensionV5::SIZE_BYTES as u64);
        }
        for index in 0..p.render_target_count {
            let title = format!("{} {index}", RenderTarget::INFO.name);
            record.children.push(self.reader.packet_as(title, RenderTarget::INFO, next));
            next = next.wrapping_add(RenderTarget::SIZE_BYTES as u64);
        }
        record
    }
}
