//! Draws of Bifrost: the draw descriptor, renderer state with its shaders, arrays of descriptors.
//!
// source: Mesa, decode.c (`pandecode_dcd`, `pandecode_attributes`, `pandecode_textures`), v7.xml.

use tepui_mali_isa::bifrost::disasm::{Content as Part, parts};
use tepui_mali_packets::bifrost::{
    AttributeBuffer, AttributeTypeV7, AttributeV7, Continuation3d, ContinuationNpot, DrawV7,
    LocalStorageV7, RendererState, SurfaceWithStride, UniformBuffer, Viewport,
};
use tepui_mali_packets::draw::{Blend, BlendMode};
use tepui_mali_packets::texture::{Sampler, Texture, TextureDimension};
use tepui_mali_packets::{Packet, PacketInfo};

use crate::{Content, Decoder, InstructionError, Problem, Record};

/// The purpose of a draw descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DrawStage {
    /// Compute or vertices, with one shader.
    OneShader,
    /// Vertices, with a position and a varying shader.
    TwoShaders,
    /// Fragments, which are blended.
    Fragments,
}

/// Limit on the texture surfaces that are shown.
pub(crate) const MAX_SURFACES: u64 = 6 * 2048;

/// Bytes of a renderer state's first part, which its blend descriptors follow.
const STATE: u64 = RendererState::SIZE_BYTES as u64;

/// Bytes of an instruction word.
const WORD: usize = 16;

impl Decoder<'_> {
    /// Decodes a draw descriptor with everything that it points to.
    pub(crate) fn draw_v7(&mut self, title: &'static str, at: u64, stage: DrawStage) -> Record {
        if self.is_midgard() {
            return self.draw_v5(title, at, stage == DrawStage::Fragments);
        }
        let mut record = self.reader.packet_as(title, DrawV7::INFO, at);
        let Ok(d) = self.reader.value::<DrawV7>(at) else { return record };
        let out = &mut record.children;
        let state = self.reader.value::<RendererState>(d.state);
        if d.state != 0 {
            out.push(self.state(d.state, stage));
        }
        if let Ok(s) = state {
            let count = |n: u32| u64::from(n);
            let push = d.push_uniforms | count(s.uniform_count) << 56;
            if d.push_uniforms != 0 && s.uniform_count != 0 {
                out.push(self.uniforms("Push uniforms", push));
            }
            out.extend(self.array(
                UniformBuffer::INFO,
                d.uniform_buffers,
                count(s.uniform_buffer_count),
            ));
            out.extend(self.array(Sampler::INFO, d.samplers, count(s.sampler_count)));
            for index in 0..if d.textures == 0 { 0 } else { count(s.texture_count) } {
                if self.reader.left() == 0 {
                    break;
                }
                let at = d.textures.wrapping_add(index * Texture::SIZE_BYTES as u64);
                out.push(self.texture_v7(index, at));
            }
            out.extend(self.elements(
                "Attribute",
                d.attributes,
                d.attribute_buffers,
                s.attribute_count,
            ));
            out.extend(self.elements("Varying", d.varyings, d.varying_buffers, s.varying_count));
        }
        if d.viewport != 0 {
            out.push(self.reader.packet(Viewport::INFO, d.viewport));
        }
        if d.thread_storage != 0 {
            out.push(self.reader.packet(LocalStorageV7::INFO, d.thread_storage));
        }
        record
    }

    /// Decodes the descriptors of an array.
    pub(crate) fn array(&mut self, info: &'static PacketInfo, at: u64, count: u64) -> Vec<Record> {
        let mut all = Vec::new();
        for index in 0..if at == 0 { 0 } else { count } {
            if self.reader.left() == 0 {
                break;
            }
            let at = at.wrapping_add(index * info.size_bytes as u64);
            all.push(self.reader.packet_as(format!("{} {index}", info.name), info, at));
        }
        all
    }

    fn texture_v7(&mut self, index: u64, at: u64) -> Record {
        let title = format!("{} {index}", Texture::INFO.name);
        let mut record = self.reader.packet_as(title, Texture::INFO, at);
        let Ok(texture) = self.reader.value::<Texture>(at) else { return record };
        let faces = if texture.dimension == TextureDimension::Cube { 6 } else { 1 };
        let count = u64::from(texture.levels)
            * u64::from(texture.array_size)
            * u64::from(texture.sample_count)
            * faces;
        record.children =
            self.array(SurfaceWithStride::INFO, texture.surfaces, count.min(MAX_SURFACES));
        record
    }

    /// Decodes attributes or varyings, and the buffers that they name.
    pub(crate) fn elements(
        &mut self,
        what: &str,
        list: u64,
        buffers: u64,
        count: u32,
    ) -> Vec<Record> {
        let mut all = Vec::new();
        let mut most = None;
        for index in 0..if list == 0 { 0 } else { u64::from(count) } {
            if self.reader.left() == 0 {
                return all;
            }
            let at = list.wrapping_add(index * AttributeV7::SIZE_BYTES as u64);
            let title = format!("{what} {index}");
            all.push(self.reader.packet_as(title, AttributeV7::INFO, at));
            if let Ok(a) = self.reader.value::<AttributeV7>(at) {
                most = most.max(Some(a.buffer_index));
            }
        }
        let Some(most) = most.filter(|_| buffers != 0) else { return all };
        let mut index = 0;
        while index <= most && self.reader.left() > 0 {
            let place =
                |n: u32| buffers.wrapping_add(u64::from(n) * AttributeBuffer::SIZE_BYTES as u64);
            let title = format!("{what} buffer {index}");
            all.push(self.reader.packet_as(title, AttributeBuffer::INFO, place(index)));
            let kind = self.reader.value::<AttributeBuffer>(place(index)).map(|b| b.kind);
            index += 1;
            let more = match kind {
                Ok(
                    AttributeTypeV7::N1dNpotDivisor | AttributeTypeV7::N1dNpotDivisorWriteReduction,
                ) => ContinuationNpot::INFO,
                Ok(AttributeTypeV7::N3dLinear | AttributeTypeV7::N3dInterleaved) => {
                    Continuation3d::INFO
                }
                _ => continue,
            };
            all.push(self.reader.packet(more, place(index)));
            index += 1;
        }
        all
    }

    /// Decodes the renderer state: shaders and blending.
    fn state(&mut self, at: u64, stage: DrawStage) -> Record {
        let mut record = self.reader.packet(RendererState::INFO, at);
        if self.is_known("Renderer state", at) {
            record.content = Content::SeeAbove;
            return record;
        }
        let Ok(s) = self.reader.value::<RendererState>(at) else { return record };
        let upper = s.shader & !0xffff_ffff;
        if s.shader & 0xffff_ffff != 0 {
            record.children.push(self.code_v7(s.shader & !0xf));
        }
        if stage == DrawStage::TwoShaders && s.secondary_shader != 0 {
            record.children.push(self.code_v7(upper | s.secondary_shader));
        }
        let targets = if stage == DrawStage::Fragments { self.targets } else { 0 };
        for index in 0..targets {
            let at = at.wrapping_add(STATE + u64::from(index) * Blend::SIZE_BYTES as u64);
            let mut child = self.reader.packet_as(format!("Blend {index}"), Blend::INFO, at);
            if let (Ok(word), Ok(low)) =
                (self.reader.word(at.wrapping_add(8)), self.reader.word(at.wrapping_add(12)))
                && BlendMode::from_raw(u64::from(word & 3)) == Some(BlendMode::Shader)
            {
                child.children.push(self.code_v7(upper | u64::from(low & !0xf)));
            }
            record.children.push(child);
        }
        record
    }

    /// Disassembles a program, clause by clause.
    pub(crate) fn code_v7(&mut self, start: u64) -> Record {
        let (mut record, code) = self.begin_code(start, WORD);
        let Some(code) = code else { return record };
        let mut lines = Vec::new();
        for part in parts(&code, 0) {
            let bytes = &code[part.offset..part.offset + part.length];
            let offset = part.offset as u32;
            match &part.content {
                Part::Padding => break,
                Part::Clause(_) => {
                    // A clause is a block of text; the first lines show its words in their byte column.
                    let mut words = bytes.chunks(WORD);
                    let mut at = offset;
                    for text in part.text(&code).lines().filter(|line| !line.is_empty()) {
                        let word = words.next().unwrap_or_default().to_vec();
                        let length = word.len() as u32;
                        // A word of 16 bytes fills its column.
                        lines.push((at, word, format!(" {text}")));
                        at = (at + length).min(offset + bytes.len() as u32 - WORD as u32);
                    }
                }
                Part::Error(error) => {
                    let error = InstructionError::new(error.clone());
                    record.problems.push(Problem::Instruction { offset, error });
                    break;
                }
            }
        }
        record.content = Content::Code(lines);
        record
    }
}
