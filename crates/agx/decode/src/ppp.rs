//! Decodes the PPP state records of draws.
//!
// source: decode.c, agxdecode_record

use tepui_agx_packets::Packet;
use tepui_agx_packets::coefficient::{Binding, BindingHeader};
use tepui_agx_packets::ppp::{
    Cull, Cull2, DepthBiasScissor, FragmentControl, FragmentFace, FragmentFace2,
    FragmentOcclusionQuery, FragmentOcclusionQuery2, FragmentShaderWord0, FragmentShaderWord1,
    FragmentShaderWord2, FragmentShaderWord3, FragmentStencil, Header, OutputSelect, OutputSize,
    OutputUnknown, RegionClip, Varying2, VaryingCounts, Viewport, ViewportControl, WClamp,
};
use tepui_agx_packets::render::{DepthBias, Scissor};
use tepui_packets::PacketInfo;

use crate::{Decoder, Problem, Record};

/// The arrays of a render command that state records index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RenderArrays {
    /// ISP_SCISSOR_BASE, 0 without.
    pub scissors: u64,
    /// ISP_DBIAS_BASE, 0 without.
    pub depth_biases: u64,
}

impl Decoder<'_> {
    /// Decodes the record of `size_words` words at an address: its header, then its words.
    pub fn ppp(&mut self, address: u64, size_words: u32, arrays: RenderArrays) -> Vec<Record> {
        let mut out = vec![self.reader.packet(Header::INFO, address)];
        let Ok(header) = self.reader.value::<Header>(address) else { return out };
        let end = address.wrapping_add(u64::from(size_words) * 4);
        let plan = words_of(&header);
        let found: usize = Header::SIZE_BYTES + plan.iter().map(|p| p.1.size_bytes).sum::<usize>();
        if found != size_words as usize * 4 {
            out[0]
                .problems
                .push(Problem::RecordSize { found: found as u32 / 4, stated: size_words });
        }
        let mut at = address.wrapping_add(Header::SIZE_BYTES as u64);
        for (title, info) in plan {
            let next = at.wrapping_add(info.size_bytes as u64);
            if next > end {
                break;
            }
            let mut record = self.reader.packet_as(title, info, at);
            if info.name == DepthBiasScissor::INFO.name {
                self.scissor(at, arrays, &mut record);
            }
            out.push(record);
            at = next;
        }
        if header.fragment_shader {
            let first = address
                .wrapping_add((Header::SIZE_BYTES + size_before_fragment_shader(&header)) as u64);
            self.fragment_shader(first, &mut out);
        }
        out
    }

    /// Adds the scissor and the depth bias that a word selects.
    fn scissor(&mut self, address: u64, arrays: RenderArrays, record: &mut Record) {
        let Ok(word) = self.reader.value::<DepthBiasScissor>(address) else { return };
        if arrays.scissors != 0 {
            let offset = u64::from(word.scissor) * Scissor::SIZE_BYTES as u64;
            record
                .children
                .push(self.reader.packet(Scissor::INFO, arrays.scissors.wrapping_add(offset)));
        }
        if arrays.depth_biases != 0 {
            let offset = u64::from(word.depth_bias) * DepthBias::SIZE_BYTES as u64;
            let at = arrays.depth_biases.wrapping_add(offset);
            record.children.push(self.reader.packet(DepthBias::INFO, at));
        }
    }

    /// Decodes what the four fragment shader words at an address point to.
    fn fragment_shader(&mut self, address: u64, out: &mut Vec<Record>) {
        let (Ok(word0), Ok(word1), Ok(word2)) = (
            self.reader.value::<FragmentShaderWord0>(address),
            self.reader.value::<FragmentShaderWord1>(address.wrapping_add(4)),
            self.reader.value::<FragmentShaderWord2>(address.wrapping_add(8)),
        ) else {
            return;
        };
        if word2.cf_bindings != 0 {
            let at = self.usc(word2.cf_bindings);
            let mut bindings = Record::new("Coefficient bindings", at);
            bindings.children.push(self.reader.packet(BindingHeader::INFO, at));
            for i in 0..u64::from(word0.cf_binding_count) {
                let at = at.wrapping_add(4 + i * 4);
                bindings.children.push(self.reader.packet(Binding::INFO, at));
            }
            out.push(bindings);
        }
        let extended = word0.sampler_state_register_count.is_extended();
        out.push(self.pipeline("Fragment pipeline", self.usc(word1.pipeline), extended));
    }
}

type Plan = Vec<(&'static str, &'static PacketInfo)>;

/// The words that are present according to a header, in order.
fn words_of(header: &Header) -> Plan {
    let mut plan = words_before_fragment_shader(header);
    let mut add = |present, title, info| {
        if present {
            plan.push((title, info));
        }
    };
    for info in [
        FragmentShaderWord0::INFO,
        FragmentShaderWord1::INFO,
        FragmentShaderWord2::INFO,
        FragmentShaderWord3::INFO,
    ] {
        add(header.fragment_shader, info.name, info);
    }
    add(header.occlusion_query, "Occlusion query", FragmentOcclusionQuery::INFO);
    add(header.occlusion_query_2, "Occlusion query 2", FragmentOcclusionQuery2::INFO);
    add(header.output_unknown, "Output unknown", OutputUnknown::INFO);
    add(header.output_size, "Output size", OutputSize::INFO);
    add(header.varying_word_2, "Varying word 2", Varying2::INFO);
    plan
}

fn size_before_fragment_shader(header: &Header) -> usize {
    words_before_fragment_shader(header).iter().map(|(_, info)| info.size_bytes).sum()
}

fn words_before_fragment_shader(header: &Header) -> Plan {
    let mut plan = Plan::new();
    let mut add = |present, title, info| {
        if present {
            plan.push((title, info));
        }
    };
    add(header.fragment_control, "Fragment control", FragmentControl::INFO);
    add(header.fragment_control_2, "Fragment control 2", FragmentControl::INFO);
    add(header.fragment_front_face, "Front face", FragmentFace::INFO);
    add(header.fragment_front_face_2, "Front face 2", FragmentFace2::INFO);
    add(header.fragment_front_stencil, "Front stencil", FragmentStencil::INFO);
    add(header.fragment_back_face, "Back face", FragmentFace::INFO);
    add(header.fragment_back_face_2, "Back face 2", FragmentFace2::INFO);
    add(header.fragment_back_stencil, "Back stencil", FragmentStencil::INFO);
    add(header.depth_bias_scissor, "Depth bias/scissor", DepthBiasScissor::INFO);
    for _ in 0..header.viewport_count {
        add(header.region_clip, "Region clip", RegionClip::INFO);
    }
    add(header.viewport, "Viewport control", ViewportControl::INFO);
    for _ in 0..header.viewport_count {
        add(header.viewport, "Viewport", Viewport::INFO);
    }
    add(header.w_clamp, "W clamp", WClamp::INFO);
    add(header.output_select, "Output select", OutputSelect::INFO);
    add(header.varying_counts_32, "Varying counts 32", VaryingCounts::INFO);
    add(header.varying_counts_16, "Varying counts 16", VaryingCounts::INFO);
    add(header.cull, "Cull", Cull::INFO);
    add(header.cull_2, "Cull 2", Cull2::INFO);
    plan
}
