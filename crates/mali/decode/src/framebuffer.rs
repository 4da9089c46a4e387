//! Framebuffers, tiler contexts and draw descriptors.

use tepui_mali_packets::Packet;
use tepui_mali_packets::bifrost::ZsCrcExtensionV7;
use tepui_mali_packets::draw::{Blend, BlendMode, DepthStencil, Draw};
use tepui_mali_packets::framebuffer::{
    FramebufferParameters, PrePostFrameShaderMode, RenderTarget, ZsCrcExtension,
};
use tepui_mali_packets::tiler::{TilerContext, TilerContextJm, TilerHeap, TilerHeapV7};

use crate::bifrost::DrawStage;
use crate::resources::Stage;
use crate::{Content, Decoder, Record};

/// Flag bits of a framebuffer pointer.
const FLAGS: u64 = 0x3f;

/// Bytes of the parameters, which the render targets and extensions follow.
const PARAMETERS: u64 = 128;

/// Bytes of the table of sample positions: all patterns, with 16 bits per sample.
const SAMPLE_BYTES: usize = 33 * 4;

impl Decoder<'_> {
    /// Decodes the framebuffer at a pointer with flags.
    pub(crate) fn framebuffer(&mut self, pointer: u64) -> Record {
        if self.is_midgard() {
            return self.framebuffer_v5(pointer);
        }
        let at = pointer & !FLAGS;
        let mut record = self.reader.packet(FramebufferParameters::INFO, at);
        let Ok(p) = self.reader.value::<FramebufferParameters>(at) else { return record };
        self.targets = p.render_target_count;
        if p.sample_locations != 0 {
            let mut samples = Record::new("Sample locations", p.sample_locations);
            match self.reader.bytes(p.sample_locations, SAMPLE_BYTES) {
                Ok(bytes) => samples.content = Content::Bytes(bytes),
                Err(problem) => samples.problems.push(problem),
            }
            record.children.push(samples);
        }
        let frame_shaders = [
            ("Pre frame 0", p.pre_frame_0),
            ("Pre frame 1", p.pre_frame_1),
            ("Post frame", p.post_frame),
        ];
        for (index, (title, mode)) in (0..).zip(frame_shaders) {
            if mode != PrePostFrameShaderMode::Never {
                // Draws have the same size on all architectures.
                let dcd = p.frame_shader_dcds.wrapping_add(index * Draw::SIZE_BYTES as u64);
                record.children.push(match self.is_bifrost() {
                    true => self.draw_v7(title, dcd, DrawStage::Fragments),
                    false => self.draw(title, dcd),
                });
            }
        }
        if p.tiler != 0 {
            record.children.push(self.tiler(p.tiler));
        }
        let mut next = at.wrapping_add(PARAMETERS);
        if p.has_zs_crc_extension {
            let info =
                if self.is_bifrost() { ZsCrcExtensionV7::INFO } else { ZsCrcExtension::INFO };
            record.children.push(self.reader.packet(info, next));
            next = next.wrapping_add(ZsCrcExtension::SIZE_BYTES as u64);
        }
        for index in 0..p.render_target_count {
            let title = format!("{} {index}", RenderTarget::INFO.name);
            record.children.push(self.reader.packet_as(title, RenderTarget::INFO, next));
            next = next.wrapping_add(RenderTarget::SIZE_BYTES as u64);
        }
        record
    }

    /// Decodes a tiler context and its heap.
    pub(crate) fn tiler(&mut self, at: u64) -> Record {
        let (mut record, heap) = match self.options.arch.0 {
            10.. => {
                let record = self.reader.packet(TilerContext::INFO, at);
                (record, self.reader.value::<TilerContext>(at).map(|context| context.heap))
            }
            _ => {
                let record = self.reader.packet(TilerContextJm::INFO, at);
                (record, self.reader.value::<TilerContextJm>(at).map(|context| context.heap))
            }
        };
        if let Ok(heap) = heap
            && heap != 0
        {
            let info = if self.is_bifrost() { TilerHeapV7::INFO } else { TilerHeap::INFO };
            record.children.push(self.reader.packet(info, heap));
        }
        record
    }

    /// Decodes a draw descriptor with everything that it points to.
    pub(crate) fn draw(&mut self, title: &'static str, at: u64) -> Record {
        let mut record = self.reader.packet_as(title, Draw::INFO, at);
        let Ok(draw) = self.reader.value::<Draw>(at) else { return record };
        let shader = draw.shader;
        record.children = self.stage(
            "",
            Stage {
                resources: shader.resources,
                uniforms: shader.fau | u64::from(shader.fau_count) << 56,
                program: shader.shader,
                storage: shader.thread_storage,
            },
        );
        self.pixels(draw.blend, draw.blend_count, draw.depth_stencil, shader.shader, &mut record);
        record
    }

    /// Decodes blend descriptors, blend shaders, and the depth and stencil descriptor.
    pub(crate) fn pixels(
        &mut self,
        blend: u64,
        count: u32,
        depth_stencil: u64,
        program: u64,
        record: &mut Record,
    ) {
        for index in 0..count {
            let at = blend.wrapping_add(u64::from(index) * Blend::SIZE_BYTES as u64);
            let mut child = self.reader.packet_as(format!("Blend {index}"), Blend::INFO, at);
            // A blend shader is in the same 4 GiB as the fragment shader.
            let binary = self.reader.value::<tepui_mali_packets::shader::ShaderProgram>(program);
            if let (Ok(binary), Ok(word), Ok(low)) = (
                binary,
                self.reader.word(at.wrapping_add(8)),
                self.reader.word(at.wrapping_add(12)),
            ) && BlendMode::from_raw(u64::from(word & 3)) == Some(BlendMode::Shader)
            {
                let code = binary.binary & !0xffff_ffff | u64::from(low & !0xf);
                child.children.push(self.code(code));
            }
            record.children.push(child);
        }
        if depth_stencil != 0 {
            record.children.push(self.reader.packet(DepthStencil::INFO, depth_stencil));
        }
    }
}
