//! Records of fixed-function state.

use tepui_agx_packets::{ppp, vdm};
use tepui_vulkan::state::{GraphicsState, MAX_VIEWPORTS};
use tepui_vulkan::{Result, vk};

use super::render::{Programs, Render};
use super::variants::provoking;
use super::{Encoder, put};
use crate::state;

impl Encoder {
    /// The record of fixed-function state: what it says of the programs, and, if `whole`, the rest.
    pub(super) fn record(
        &mut self,
        r: &mut Render,
        s: &GraphicsState,
        programs: &Programs,
        whole: bool,
    ) -> Result<()> {
        let mut out = std::mem::take(&mut self.words);
        out.clear();
        let count = (s.viewport_count as usize).clamp(1, MAX_VIEWPORTS);
        put!(
            out,
            ppp::Header {
                fragment_control: whole,
                fragment_control_2: true,
                fragment_front_face: whole,
                fragment_front_face_2: whole,
                fragment_front_stencil: whole,
                fragment_back_face: whole,
                fragment_back_face_2: whole,
                fragment_back_stencil: whole,
                depth_bias_scissor: whole,
                region_clip: whole,
                viewport: whole,
                viewport_count: if whole { count as u32 } else { 1 },
                w_clamp: whole,
                output_select: true,
                varying_counts_32: true,
                varying_counts_16: true,
                cull: whole,
                cull_2: true,
                fragment_shader: true,
                occlusion_query: whole,
                output_size: true,
                ..Default::default()
            }
        );
        if whole {
            self.fragment_control(r, s, &mut out)?;
        }
        let Programs { vertex: v, fragment: f, linked, .. } = programs;
        let t = f.fragment();
        put!(
            out,
            ppp::FragmentControl {
                tag_write_disable: t.is_idle(),
                disable_tri_merging: t.keeps_quads_apart() || state::is_line(s),
                pass_type: t.pass_type(),
                ..ppp::FragmentControl::default()
            }
        );
        if whole {
            fixed_function(r, s, count, &mut out)?;
        }
        put!(out, linked.varyings.select);
        put!(out, linked.varyings.counts_32);
        put!(out, linked.varyings.counts_16);
        if whole {
            put!(out, state::cull(s, provoking(s)));
        }
        put!(
            out,
            ppp::Cull2 {
                clamp_w: true,
                needs_primitive_id: linked.varyings.numbers_primitives,
                draw_clipped_edges: false,
                rasterizer_discard: s.discard,
            }
        );
        put!(
            out,
            ppp::FragmentShaderWord0 {
                uniform_register_count: Self::uniform_count(f),
                texture_state_register_count: f.textures.next_multiple_of(8),
                sampler_state_register_count: Self::sampler_states(f),
                preshader_register_count: 16,
                cf_binding_count: linked.varyings.bindings.len() as u32,
                ..ppp::FragmentShaderWord0::default()
            }
        );
        put!(
            out,
            ppp::FragmentShaderWord1 { pipeline: r.last.fragment_pipeline, ..Default::default() }
        );
        put!(
            out,
            ppp::FragmentShaderWord2 {
                cf_bindings: linked.bindings.as_ref().map_or(0, |b| b.usc())
            }
        );
        put!(out, ppp::FragmentShaderWord3::default());
        if whole {
            put!(out, ppp::FragmentOcclusionQuery { index: self.query.map_or(0, |q| q.0) });
        }
        put!(out, ppp::OutputSize { count: u32::from(v.vertex().words()) });
        let size_words = out.len() as u32 / 4;
        let pointer = self.upload(&out, 64)?.address;
        self.words = out;
        put!(r.stream, vdm::PppState { pointer, size_words });
        Ok(())
    }

    /// The first words of a whole record.
    fn fragment_control(&self, r: &Render, s: &GraphicsState, out: &mut Vec<u8>) -> Result<()> {
        let stencil = r.zs[1];
        put!(
            out,
            ppp::FragmentControl {
                visibility_mode: match self.query {
                    None => ppp::VisibilityMode::None,
                    Some((_, true)) => ppp::VisibilityMode::Counting,
                    Some((_, false)) => ppp::VisibilityMode::Boolean,
                },
                scissor_enable: true,
                depth_bias_enable: s.depth_bias_enable,
                stencil_test_enable: stencil && s.stencil_test,
                two_sided_stencil: stencil && s.stencil_test,
                ..ppp::FragmentControl::default()
            }
        );
        Ok(())
    }
}

/// The state of a whole record that no program has a part in: tests, scissors, viewports.
fn fixed_function(
    r: &mut Render,
    s: &GraphicsState,
    count: usize,
    out: &mut Vec<u8>,
) -> Result<()> {
    let (scissor, bias) = (r.scissors.len() as u32 / 16, r.biases.len() as u32 / 12);
    for k in 0..count {
        r.scissors.extend_from_slice(&state::scissor(s, k, r)?);
    }
    put!(r.biases, state::depth_bias(s, r.depth_16));
    let [depth, stencil] = r.zs;
    for face in 0..2 {
        let tests = depth && s.depth_test;
        let func = if tests { state::zs_func(s.depth_compare) } else { ppp::ZsFunc::Always };
        let writes = tests && s.depth_write;
        put!(
            out,
            ppp::FragmentFace {
                stencil_reference: u64::from(s.stencil_reference[face] & 0xff) as _,
                line_width: s.line_width.clamp(1.0 / 16.0, 16.0),
                polygon_mode: match s.polygon_mode {
                    vk::PolygonMode::LINE => ppp::PolygonMode::Line,
                    vk::PolygonMode::POINT => ppp::PolygonMode::Point,
                    _ => ppp::PolygonMode::Fill,
                },
                disable_depth_write: !writes,
                depth_function: func,
                ..ppp::FragmentFace::default()
            }
        );
        put!(
            out,
            ppp::FragmentFace2 {
                disable_depth_write: !writes,
                conservative_depth: ppp::ConservativeDepth::Any,
                depth_function: func,
                object_type: state::object_type(s),
            }
        );
        put!(out, state::stencil(s, face, stencil));
    }
    put!(out, ppp::DepthBiasScissor { scissor, depth_bias: bias });
    for k in 0..count {
        put!(out, state::region(s, k, r));
    }
    put!(out, ppp::ViewportControl {});
    for k in 0..count {
        put!(out, state::viewport(s, k));
    }
    // source: Mesa, hk_cmd_draw.c, w_clamp
    put!(out, ppp::WClamp { w_clamp: 1e-10 });
    Ok(())
}
