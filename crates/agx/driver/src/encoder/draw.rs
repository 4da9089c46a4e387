//! Draws: shader variants for the state, their USC words, the record of fixed-function state, and the vertex control stream.

use std::sync::Arc;

use tepui_agx_compiler::Source;
use tepui_agx_compiler::abi::tile::Layout;
use tepui_agx_compiler::varyings::Varying;
use tepui_agx_packets::usc;
use tepui_agx_packets::vdm;
use tepui_sysval::{Arguments, LaunchWords, SystemValue, Words as _};
use tepui_vulkan::backend::{Counts, Draw};
use tepui_vulkan::command::CommandState;
use tepui_vulkan::state::Groups;
use tepui_vulkan::{Error, Result, vk};
use tepui_vulkan_expand::CountedWords;

use super::bindings::{Halves, word};
use super::index::index_list;
use super::render::{PLACES, Programs, RECENT, Render};
use super::variants::{VertexSources, fragment_key, provoking, vertex_key};
use super::{Encoder, put};
use crate::family::Agx;
use crate::recipe::Value;
use crate::shader::{Additions, Linked, Variant};
use crate::state;
use crate::tile::shared;

fn primitive(t: vk::PrimitiveTopology) -> Result<vdm::Primitive> {
    use vk::PrimitiveTopology as T;
    Ok(match t {
        T::POINT_LIST => vdm::Primitive::Points,
        T::LINE_LIST => vdm::Primitive::Lines,
        T::LINE_STRIP => vdm::Primitive::LineStrip,
        T::TRIANGLE_LIST => vdm::Primitive::Triangles,
        T::TRIANGLE_STRIP => vdm::Primitive::TriangleStrip,
        T::TRIANGLE_FAN => vdm::Primitive::TriangleFan,
        other => return Err(Error::unsupported(format!("primitive topology {}", other.as_raw()))),
    })
}

/// Whether primitives have adjacent vertices.
fn has_adjacent(t: vk::PrimitiveTopology) -> bool {
    use vk::PrimitiveTopology as T;
    matches!(
        t,
        T::LINE_LIST_WITH_ADJACENCY
            | T::LINE_STRIP_WITH_ADJACENCY
            | T::TRIANGLE_LIST_WITH_ADJACENCY
            | T::TRIANGLE_STRIP_WITH_ADJACENCY
    )
}

impl Encoder {
    /// Whether the vertices of a draw go through stages that the hardware does not have; `known` says that the CPU knows its counts.
    pub(super) fn expands(&self, state: &CommandState<Agx>, indexed: bool, known: bool) -> bool {
        // Programs read zeros where a sparse buffer has no memory, but the unit that fetches indices
        // faults. Direct draws take a copy.
        let is_sparse = state.index.is_some_and(|i| i.is_sparse);
        let fetches = is_sparse && indexed && !known;
        tepui_vulkan_expand::expands(state, indexed, known)
            || fetches
            || has_adjacent(state.graphics.topology)
    }

    /// Records a draw with counts that the CPU knows, of one view, which no stage but the hardware's and no count needs;
    /// whether it is one.
    pub(super) fn draw_plain(
        &mut self,
        state: &mut CommandState<Agx>,
        draw: &Draw,
    ) -> Result<bool> {
        let Draw::Direct(d) = draw else { return Ok(false) };
        let is_plain = !state.feedback.active
            && state.condition.is_none()
            && !self.expansion.is_unfinished()
            && self.expansion.statistics.is_empty()
            && state.rendering.as_ref().is_some_and(|r| r.view_mask == 0)
            && !self.expands(state, d.indexed, true);
        if is_plain && d.count != 0 && d.instances != 0 {
            self.draw_one_view(state, draw, 0)?;
        }
        Ok(is_plain)
    }

    /// Draws for one view, by the hardware alone.
    pub(super) fn draw_one_view(
        &mut self,
        state: &mut CommandState<Agx>,
        draw: &Draw,
        view: u32,
    ) -> Result<()> {
        let Some(mut render) = self.render.take() else {
            return Err(Error::new(vk::Result::ERROR_UNKNOWN, "a draw outside of a rendering"));
        };
        let drawn = self.draw_in(&mut render, state, draw, view);
        self.render = Some(render);
        drawn
    }

    pub(super) fn draw_in(
        &mut self,
        r: &mut Render,
        state: &mut CommandState<Agx>,
        draw: &Draw,
        view: u32,
    ) -> Result<()> {
        match *draw {
            Draw::Direct(_) => self.draw_one(r, state, draw, view, None),
            Draw::Indirect { address, count, stride, draw_index, .. } => {
                for k in 0..count {
                    let at = address + u64::from(k) * u64::from(stride);
                    self.draw_one(r, state, draw, view, Some((at, draw_index + k)))?;
                }
                Ok(())
            }
        }
    }

    /// The programs of a draw; what is not drawn with fragments has none.
    fn variants(&mut self, r: &mut Render, state: &mut CommandState<Agx>) -> Result<bool> {
        let samples_changed = state.changed.intersects(
            Groups::VARIANTS
                | Groups::FIXED
                | Groups::LOCATIONS
                | Groups::SAMPLE_MASK
                | Groups::TOPOLOGY
                | Groups::PROVOKING,
        );
        let corrects_borders = self.device.wrong_borders.may_show();
        let is_last = |p: &Arc<Programs>| p.corrects_borders == corrects_borders;
        let last = r.last.programs.as_ref();
        if !state.shaders_changed && !samples_changed && last.is_some_and(is_last) {
            return Ok(false);
        }
        if samples_changed || r.last.programs.is_none() {
            r.recent.clear();
        }
        let s = &state.graphics;
        let Some(vertex) = &state.bound.vertex else {
            return Err(Error::unsupported("draws without a vertex shader"));
        };
        let known = r
            .recent
            .iter()
            .find(|p| p.are_of(vertex, state.bound.fragment.as_ref(), corrects_borders));
        if let Some(p) = known.cloned() {
            state.shaders_changed = false;
            let same = r.last.programs.as_ref().is_some_and(|last| Arc::ptr_eq(last, &p));
            r.last.programs = Some(p);
            return Ok(!same);
        }
        let v = vertex.vertex(&vertex_key(vertex.inputs, s), vertex.linking())?;
        let culls =
            v.vertex().varyings.iter().find(|x| x.0 == Varying::Kept).map_or(0, |x| x.1 as u8);
        let samples = r.tile.samples;
        if samples == 0 {
            // A rendering without attachments takes its samples from the pipeline.
            r.tile.samples = s.samples as u8;
            r.layout = Layout::new(&r.tile).map_err(Error::unsupported)?;
        }
        let empty;
        let fragment = match &state.bound.fragment {
            Some(f) => f,
            None => {
                empty = self.device.clone().empty_fragment()?;
                &empty
            }
        };
        let mut key = fragment_key(fragment, &r.tile, s, culls)?;
        let counts = self.expansion.counted_fragments() != 0 && !fragment.does_nothing();
        key.additions = Additions { counts, primitive: vertex.passes_primitive };
        let f = fragment.fragment(&key, fragment.linking())?;
        let linked = f.link(&self.device, &v, provoking(s))?;
        let same = r.last.programs.as_ref().is_some_and(|last| {
            Arc::ptr_eq(&last.vertex, &v)
                && Arc::ptr_eq(&last.fragment, &f)
                && Arc::ptr_eq(&last.linked, &linked)
        });
        if !same {
            r.scratch[0] = r.scratch[0].max(v.scratch);
            r.scratch[1] = r.scratch[1].max(f.scratch);
            self.keep.extend([v.clone(), f.clone()]);
        }
        let programs = Arc::new(Programs {
            shaders: (vertex.clone(), state.bound.fragment.clone()),
            reads_draw: reads_draw(&v) || reads_draw(&f),
            corrects_borders,
            vertex: v,
            fragment: f,
            linked,
        });
        if r.recent.len() == RECENT {
            r.recent.remove(0);
        }
        r.recent.push(programs.clone());
        r.last.programs = Some(programs);
        state.shaders_changed = false;
        Ok(!same)
    }

    /// Records a direct draw without indices whose state is that of the one before; whether it did so.
    #[inline]
    pub(super) fn repeat_draw(&mut self, state: &CommandState<Agx>, draw: &Draw) -> bool {
        let Draw::Direct(Counts {
            count,
            instances,
            first,
            first_instance,
            indexed: false,
            draw_index,
            ..
        }) = *draw
        else {
            return false;
        };
        let settled = state.is_settled()
            && !state.feedback.active
            && state.condition.is_none()
            && self.expansion.statistics.is_empty()
            && !self.query_dirty;
        let Some(r) = self.render.as_mut().filter(|_| settled) else { return false };
        let (Some(header), Some(programs)) = (&r.last.plain_header, &r.last.programs) else {
            return false;
        };
        let values = [first, first_instance, draw_index, 0];
        if programs.reads_draw && r.last.draw_values != Some(values) {
            return false;
        }
        if r.stream.reserve(&mut self.arena, &self.device).is_err() {
            return false;
        }
        r.last.draw_values = Some(values);
        if count > 0 && instances > 0 {
            r.draws += 1;
            // Numbers of vertices and instances, and the first vertex, are words as they are.
            let words = [u32::from_le_bytes(*header), count, instances, first].map(u32::to_le);
            r.stream.extend_from_slice(bytemuck::bytes_of(&words));
        }
        true
    }

    /// One draw for one view.
    pub(super) fn draw_one(
        &mut self,
        r: &mut Render,
        state: &mut CommandState<Agx>,
        draw: &Draw,
        view: u32,
        indirect: Option<(u64, u32)>,
    ) -> Result<()> {
        let primitive = primitive(state.graphics.topology)?;
        r.stream.reserve(&mut self.arena, &self.device)?;
        let new_programs = self.variants(r, state)?;
        let new_sets = state.graphics_sets.changed != 0
            && r.last
                .bindings
                .update(|b| Ok(self.upload(b, 64)?.address), &mut state.graphics_sets)?;
        let (indexed, values) = match *draw {
            Draw::Direct(d) => (d.indexed, [d.base_vertex(), d.first_instance, d.draw_index, view]),
            Draw::Indirect { indexed, .. } => (indexed, [0, 0, indirect.map_or(0, |i| i.1), view]),
        };
        if let Some(unorm) = r.bias_of(&state.graphics) {
            r.bias_unorm = Some(unorm);
        }
        if let Some(places) = state::own_sample_places(&state.graphics) {
            r.own_places = Some(places);
        }
        let reads_draw = r.last.programs.as_ref().is_some_and(|p| p.reads_draw);
        let new_values = reads_draw && (r.last.draw_values != Some(values) || indirect.is_some());
        r.last.draw_values = Some(values);
        let first = r.draws == 0;
        let new_words = first || new_programs || new_sets || state.push_changed || new_values;
        let new_state = self.query_changed(r) || !state.changed.is_empty();
        if new_words || new_state || state.vertex_buffers_changed {
            let at = indirect.map(|i| i.0);
            self.draw_state(r, state, values, at, indexed, [new_words, new_state])?;
        }
        r.draws += 1;
        let restart_enable = state.graphics.restart && indexed;
        let (index, draw) = self.indices(state, draw)?;
        let header = index_list(
            &mut r.stream,
            &draw,
            primitive,
            restart_enable,
            indirect.map(|i| i.0),
            index,
            self.device.zeros.address,
        )?;
        let plain = !indexed && indirect.is_none() && view == 0 && state.graphics.view_mask == 0;
        r.last.plain_header = plain.then_some(header);
        Ok(())
    }

    /// Writes what changed since the last draw: registers of the programs and what the record says of them if `new_words`, and the
    /// rest of the record if `new_state`.
    fn draw_state(
        &mut self,
        r: &mut Render,
        state: &mut CommandState<Agx>,
        values: [u32; 4],
        indirect: Option<u64>,
        indexed: bool,
        [new_words, new_state]: [bool; 2],
    ) -> Result<()> {
        let Some(programs) = r.last.programs.clone() else { return Ok(()) };
        let Programs { vertex: v, fragment: f, linked, .. } = &*programs;
        if new_words || state.vertex_buffers_changed {
            let pipeline = self.vertex_words(r, state, v, linked, values, indirect, indexed)?;
            let before = r.stream.left();
            put!(
                r.stream,
                vdm::State {
                    vertex_shader_word_0_present: true,
                    vertex_shader_word_1_present: true,
                    vertex_outputs_present: true,
                    vertex_unknown_present: true,
                    restart_index_present: true,
                    ..vdm::State::default()
                }
            );
            let index_bytes = state.index.map_or(4, |i| i.index_bytes);
            let restart = if index_bytes == 4 { u32::MAX } else { (1u32 << (8 * index_bytes)) - 1 };
            put!(r.stream, vdm::StateRestartIndex { value: u64::from(restart) as _ });
            put!(
                r.stream,
                vdm::StateVertexShaderWord0 {
                    uniform_register_count: Self::uniform_count(v),
                    texture_state_register_count: v.textures.next_multiple_of(8),
                    sampler_state_register_count: Self::sampler_states(v),
                    preshader_register_count: 16,
                    ..vdm::StateVertexShaderWord0::default()
                }
            );
            put!(r.stream, vdm::StateVertexShaderWord1 { pipeline, ..Default::default() });
            let n = linked.varyings.words;
            put!(r.stream, vdm::StateVertexOutputs { output_count_1: n, output_count_2: n });
            put!(
                r.stream,
                vdm::StateVertexUnknown {
                    flat_shading_control: match provoking(&state.graphics) {
                        0 => vdm::VdmVertex::Vertex0,
                        1 => vdm::VdmVertex::Vertex1,
                        _ => vdm::VdmVertex::Vertex2,
                    },
                    generate_primitive_id: linked.varyings.numbers_primitives,
                    ..vdm::StateVertexUnknown::default()
                }
            );
            let bytes = before - r.stream.left();
            r.stream.extend_from_slice(&[0; 8][..bytes.next_multiple_of(8) - bytes]);
        }
        if new_words
            || state.changed.intersects(
                Groups::BLEND_CONSTANTS | Groups::SAMPLE_MASK | Groups::SAMPLES | PLACES,
            )
        {
            r.last.fragment_pipeline = self.fragment_words(r, state, f, values)?;
        }
        if new_words || new_state {
            self.record(r, &state.graphics, &programs, new_state)?;
        }
        state.changed = Groups::empty();
        state.push_changed = false;
        state.vertex_buffers_changed = false;
        Ok(())
    }

    /// Whether the record's occlusion query is not the one that counts now.
    fn query_changed(&mut self, r: &Render) -> bool {
        r.draws == 0 || std::mem::take(&mut self.query_dirty)
    }

    #[allow(clippy::too_many_arguments, reason = "what a draw is made of")]
    fn vertex_words(
        &mut self,
        r: &Render,
        state: &CommandState<Agx>,
        v: &Variant,
        linked: &Linked,
        [base_vertex, base_instance, draw_index, view]: [u32; 4],
        indirect: Option<u64>,
        indexed: bool,
    ) -> Result<u64> {
        let zeros = self.device.zeros.address;
        let sources = VertexSources { state, zeros, base_vertex, base_instance, draw_index, view };
        let own = |s: Source| match s {
            Source::VaryingWord { varying } => {
                let place = linked.varyings.places.iter().find(|p| p.0 == varying);
                Some(word(place.map_or(0, |p| u32::from(p.1))))
            }
            s => sources.get(s),
        };
        let bindings = &r.last.bindings;
        let block = self.block(v, bindings, &state.push, &own)?;
        let mut words = std::mem::take(&mut self.words);
        words.clear();
        self.state_words(&mut words, v, block, |s| bindings.addresses[usize::from(s)])?;
        if !self.vertex_words.is_empty() {
            let own = LaunchWords { values: &[], in_memory: &self.vertex_words };
            for &(half, value) in &v.recipe.values {
                if let Value::Source(Source::System(SystemValue::Driver { offset })) = value
                    && let Some(from) = own.address(offset)
                {
                    let register = v.recipe.register(half);
                    super::compute::put_uniform(&mut words, register, 2, from)?;
                }
            }
        }
        if let Some(address) = indirect {
            let arguments = if indexed { Arguments::DrawIndexed } else { Arguments::Draw };
            for &(half, value) in &v.recipe.values {
                let Value::Source(Source::System(own)) = value else { continue };
                let Some(offset) = own.in_arguments(arguments) else { continue };
                super::compute::put_uniform(
                    &mut words,
                    v.recipe.register(half),
                    2,
                    address + u64::from(offset),
                )?;
            }
        }
        put!(
            words,
            usc::Shared {
                uses_shared_memory: false,
                layout: usc::SharedLayout::VertexCompute,
                sample_count: 1,
                sample_stride_in_8_bytes: 0,
                bytes_per_threadgroup: 65536,
            }
        );
        self.end_words(&mut words, v, None, false)?;
        let at = self.upload(&words, 64)?.usc();
        self.words = words;
        Ok(at)
    }

    fn fragment_words(
        &mut self,
        r: &Render,
        state: &CommandState<Agx>,
        f: &Variant,
        values: [u32; 4],
    ) -> Result<u64> {
        let samples = r.tile.samples;
        let own = |s: Source| -> Option<Halves> {
            Some(match s {
                Source::FirstFan => {
                    let fan = state.graphics.topology == vk::PrimitiveTopology::TRIANGLE_FAN;
                    word(u32::from(fan && !state.graphics.provoking_last))
                }
                Source::System(SystemValue::ViewIndex) => word(values[3]),
                Source::System(SystemValue::DrawIndex) => word(values[2] & 0xffff),
                Source::System(SystemValue::SampleMask) => {
                    word(state.graphics.sample_mask & 0xffff)
                }
                Source::System(SystemValue::SamplePositions) => word(r.packed_sample_places()),
                Source::System(SystemValue::BlendConstant { component }) => {
                    word(state.graphics.blend_constants[usize::from(component & 3)].to_bits())
                }
                _ => return None,
            })
        };
        let counted = self.expansion.counted_fragments();
        if counted != 0 {
            let own = CountedWords { counter: counted.into() };
            let own = own.words();
            self.driver[..own.len()].copy_from_slice(own);
        }
        let bindings = &r.last.bindings;
        let block = self.block(f, bindings, &state.push, &own)?;
        let mut words = std::mem::take(&mut self.words);
        words.clear();
        self.state_words(&mut words, f, block, |s| bindings.addresses[usize::from(s)])?;
        put!(words, shared(&r.layout, samples));
        let t = f.fragment();
        let properties = usc::FragmentProperties {
            early_z_testing: !t.decides,
            unk_2: true,
            unk_3: 0xf,
            unk_4: 2,
            ..usc::FragmentProperties::default()
        };
        self.end_words(&mut words, f, Some(properties), !t.coefficients.is_empty())?;
        let at = self.upload(&words, 64)?.usc();
        self.words = words;
        Ok(at)
    }
}

/// Whether a program's registers hold numbers of the draw.
fn reads_draw(v: &Variant) -> bool {
    v.recipe.has(|s| {
        matches!(
            s,
            Source::System(SystemValue::BaseVertex)
                | Source::System(SystemValue::BaseInstance)
                | Source::System(SystemValue::DrawIndex)
                | Source::System(SystemValue::ViewIndex)
        )
    })
}
