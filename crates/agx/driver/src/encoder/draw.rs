//! Draws: shader variants for the state, their USC words, the record of fixed-function state, and the vertex control stream.

use std::sync::Arc;

use tepui_agx_compiler::Source;
use tepui_agx_compiler::abi::Prolog;
use tepui_agx_compiler::abi::attribute::Attribute;
use tepui_agx_compiler::abi::colour::NO_TARGET;
use tepui_agx_compiler::abi::tile::{Layout, TARGETS, Tile, channels};
use tepui_agx_compiler::varyings::Varying;
use tepui_agx_packets::vdm;
use tepui_agx_packets::{ppp, usc};
use tepui_format::Format;
use tepui_passes::lower_blend::Mode;
use tepui_vulkan::backend::{Counts, Draw, Encoder as _};
use tepui_vulkan::command::{CommandState, IndexBuffer};
use tepui_vulkan::draws::DrawOutcome;
use tepui_vulkan::state::{GraphicsState, Groups, MAX_VIEWPORTS};
use tepui_vulkan::{Error, Result, vk};

use super::stream::VertexStream;
use super::values::{Bindings, Halves, long, word};
use super::{Encoder, Unfinished, put};
use crate::Agx;
use crate::device::packet;
use crate::shader::{Additions, FragmentKey, Linked, Results, Shader, Value, Variant, VertexKey};
use crate::state::{self, sample_places};
use crate::tile::shared;

/// A render that is being recorded.
pub struct Render {
    /// The vertex control stream.
    pub stream: VertexStream,
    /// The tile.
    pub layout: Layout,
    /// Formats and samples of the tile.
    pub tile: Tile,
    /// Scissors and ranges of depth.
    pub scissors: Vec<u8>,
    /// Depth biases.
    pub biases: Vec<u8>,
    /// Bytes of scratch memory of vertex and fragment programs.
    pub scratch: [u32; 2],
    /// Something was drawn.
    pub draws: u32,
    /// Size in pixels.
    pub size: [u32; 2],
    /// The render area.
    pub area: vk::Rect2D,
    /// Formats of depth and stencil: whether there are such attachments.
    pub zs: [bool; 2],
    /// Depth is of 16 bits.
    pub depth_16: bool,
    /// Whether depth biases count steps of fixed point, once a draw has one.
    pub bias_unorm: Option<bool>,
    /// Layers.
    pub layers: u32,
    /// Places of samples that the application chose: the same for all draws of a rendering.
    own_places: Option<[[u32; 2]; 4]>,
    /// Programs of the last draws whose state was that of the last draw.
    recent: Vec<Arc<Programs>>,
    /// State of the last draw.
    last: Last,
}

/// State that determines the sample positions.
const PLACES: Groups = Groups::SAMPLE_LOCATIONS.union(Groups::SAMPLE_LOCATIONS_ENABLE);

/// Programs of as many draws are remembered.
const RECENT: usize = 8;

/// The programs of a draw.
struct Programs {
    /// The shaders that they are variants of.
    shaders: (Arc<Shader>, Option<Arc<Shader>>),
    vertex: Arc<Variant>,
    fragment: Arc<Variant>,
    linked: Arc<Linked>,
    /// A program's registers hold numbers of the draw.
    reads_draw: bool,
}

impl Programs {
    fn are_of(&self, vertex: &Arc<Shader>, fragment: Option<&Arc<Shader>>) -> bool {
        let same = match (&self.shaders.1, fragment) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        same && Arc::ptr_eq(&self.shaders.0, vertex)
    }
}

impl Render {
    /// The next draw looks for its programs anew.
    pub(super) fn forget_programs(&mut self) {
        self.last.programs = None;
        self.last.plain_header = None;
    }

    /// Changes the address of the descriptors of the driver's own set; for draws with other programs than the last.
    pub(super) fn set_targets(&mut self, address: u64) {
        self.last.bindings = Bindings::with_targets(address);
    }

    /// Whether the depth bias of a state counts steps of fixed point; `None` without one.
    pub(super) fn bias_of(&self, s: &GraphicsState) -> Option<bool> {
        (self.zs[0] && s.depth_bias_enable).then_some(self.depth_16 || s.depth_bias_unit.unorm)
    }

    /// Places of samples in sixteenths of a pixel.
    pub(super) fn sample_places(&self) -> [[u32; 2]; 4] {
        self.own_places.unwrap_or_else(|| sample_places(self.tile.samples))
    }

    /// The sample positions as fragment programs read them: a byte each.
    pub(super) fn packed_sample_places(&self) -> u32 {
        u32::from_le_bytes(self.sample_places().map(|[x, y]| (x | y << 4) as u8))
    }

    /// A render without draws. `targets` is the address of the descriptors of spilled targets, or 0.
    pub fn new(
        layout: Layout,
        tile: Tile,
        size: [u32; 2],
        area: vk::Rect2D,
        layers: u32,
        targets: u64,
    ) -> Render {
        Render {
            stream: VertexStream::new(),
            layout,
            tile,
            scissors: Vec::new(),
            biases: Vec::new(),
            scratch: [0; 2],
            draws: 0,
            size,
            area,
            zs: [false; 2],
            depth_16: false,
            bias_unorm: None,
            layers,
            own_places: None,
            recent: Vec::new(),
            last: Last { bindings: Bindings::with_targets(targets), ..Last::default() },
        }
    }
}

/// State of the last draw of a render, so that the next emits only changes.
#[derive(Default)]
struct Last {
    programs: Option<Arc<Programs>>,
    bindings: Bindings,
    fragment_pipeline: u64,
    /// Dependencies of the vertex words besides the state: first vertex, first instance, draw index,
    /// view.
    draw_values: Option<[u32; 4]>,
    /// The first word of the block of a direct draw without indices like the last one.
    plain_header: Option<[u8; vdm::IndexList::SIZE_BYTES]>,
}

/// Maximum bytes of a draw's indices that are copied for padding.
const PADDED_B: u64 = 1 << 26;

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

/// The vertex of a primitive whose flat values count, as primitives are assembled.
pub fn provoking(s: &GraphicsState) -> u8 {
    use vk::PrimitiveTopology as T;
    match (s.topology, s.provoking_last) {
        (T::POINT_LIST, _) => 0,
        (T::LINE_LIST | T::LINE_STRIP, false) => 0,
        (T::LINE_LIST | T::LINE_STRIP, true) => 1,
        (T::TRIANGLE_FAN, false) => 1,
        (_, false) => 0,
        (_, true) => 2,
    }
}

/// The key of a vertex variant.
pub fn vertex_key(inputs: u32, s: &GraphicsState) -> VertexKey {
    let n = 32 - inputs.leading_zeros();
    let attributes = (0..n as usize)
        .map(|k| {
            if inputs >> k & 1 == 0 {
                return None;
            }
            let a = s.attributes[k]?;
            let b = s.binding(a.binding);
            Some(Attribute { format: a.format, stride: b.stride, per_instance: b.per_instance })
        })
        .collect();
    VertexKey {
        attributes,
        multiview: s.view_mask != 0,
        negative_one_to_one: s.negative_one_to_one,
        results: Results::Store,
        robust: s.robust_vertex_inputs,
    }
}

/// Values of a vertex shader that a draw gives.
pub(super) struct VertexSources<'a> {
    /// Attributes and vertex buffers.
    pub state: &'a CommandState<Agx>,
    /// Address at which attributes without a buffer are read.
    pub zeros: u64,
    /// First vertex, or the number that is added to indices.
    pub base_vertex: u32,
    /// First instance.
    pub base_instance: u32,
    /// Number of the draw.
    pub draw_index: u32,
    /// View.
    pub view: u32,
}

impl VertexSources<'_> {
    /// Address of an attribute's first element, and the last element that is inside of its buffer.
    fn attribute(&self, index: u8) -> Option<(u64, u32)> {
        let state = self.state;
        let a = state.graphics.attributes.get(usize::from(index)).copied().flatten()?;
        let b = state.vertex_buffers.get(usize::from(a.binding))?;
        let bytes = u64::from(a.format.info().block.bytes);
        let room = b.size.checked_sub(u64::from(a.offset) + bytes)?;
        if b.address == 0 {
            return None;
        }
        let clamp = match state.graphics.binding(a.binding).stride {
            // All elements are the first.
            0 => u32::MAX,
            stride => (room / u64::from(stride)).min(u64::from(u32::MAX)) as u32,
        };
        Some((b.address + u64::from(a.offset), clamp))
    }

    /// A value.
    pub fn get(&self, s: Source) -> Option<Halves> {
        Some(match s {
            Source::AttributeBase { index } => {
                long(self.attribute(index).map_or(self.zeros, |a| a.0))
            }
            Source::AttributeClamp { index } => word(self.attribute(index).map_or(0, |a| a.1)),
            Source::BaseVertex => word(self.base_vertex),
            Source::BaseInstance => word(self.base_instance),
            Source::DrawIndex => word(self.draw_index & 0xffff),
            Source::ViewIndex => word(self.view),
            _ => return None,
        })
    }
}

/// Whether the state asks fragment shaders to run for each sample.
pub fn shades_samples(s: &GraphicsState, samples: u8) -> bool {
    s.sample_shading && s.min_sample_shading * f32::from(samples) > 1.0
}

/// Whether a target's components stay in part as they are.
fn keeps_components(format: Format, write_mask: u8) -> bool {
    let exists = (1u16 << channels(format).0) - 1;
    let written = u16::from(write_mask) & exists;
    written != 0 && written != exists
}

/// The key of a fragment shader's variant for a tile.
pub fn fragment_key(
    shader: &Shader,
    tile: &Tile,
    s: &GraphicsState,
    cull_distances: u8,
) -> Result<FragmentKey> {
    let samples = tile.samples;
    let mut tile = Tile { blend: state::blend(s)?, ..tile.clone() };
    // Attachments say which of the shader's colour locations they take.
    let formats = tile.formats;
    let mut moved = [None; TARGETS];
    for (k, location) in s.locations.iter().enumerate().filter(|&(k, _)| formats[k].is_some()) {
        let location = location.filter(|_| s.absent_colours >> k & 1 == 0);
        match location.and_then(|n| moved.get_mut(usize::from(n))) {
            Some(to) => *to = Some(k as u8),
            None => tile.blend.locations[k].write_mask = 0,
        }
    }
    if (0..TARGETS).any(|k| moved[k] != formats[k].map(|_| k as u8)) {
        tile.moved = Some(moved);
        tile.blend.alpha_location = moved[0].unwrap_or(NO_TARGET);
    }
    if s.local_read && shader.reads_attachments {
        for (location, input) in s.inputs.iter().enumerate() {
            if let Some(n) = input
                && let Some(slot) = tile.attachments.get_mut(usize::from(*n))
                && formats[location].is_some()
            {
                *slot = Some(location as u8);
            }
        }
    }
    let reads_tile = tile.blend.logic.is_some()
        || tile.attachments.iter().any(Option::is_some)
        || tile.blend.locations.iter().zip(tile.formats).any(|(l, f)| {
            f.is_some_and(|f| l.mode != Mode::Replace || keeps_components(f, l.write_mask))
        });
    // Only for several samples, since this runs for all draws with new state.
    let spills = samples > 1 && Layout::new(&tile).is_ok_and(|l| l.spilled != 0);
    let all = (1u32 << samples) - 1;
    let killed =
        if samples > 1 || s.sample_mask & 1 == 0 { (!s.sample_mask & all) as u8 } else { 0 };
    let shades_samples = shades_samples(s, samples);
    Ok(FragmentKey {
        tile,
        // Accesses of the tile or of spilled colours must be per sample.
        per_sample: samples > 1 && (shades_samples || reads_tile || spills),
        whole_coverage: !shades_samples,
        prolog: Prolog { killed, cull_distances },
        additions: Additions::default(),
    })
}

impl Encoder {
    /// Draws what is left of a draw that was recorded in part.
    #[cold]
    pub(super) fn draw_rest(&mut self, state: &mut CommandState<Agx>) -> Result<DrawOutcome> {
        match self.unfinished.take() {
            Some(rest) => self.draw_with(state, rest),
            None => Ok(DrawOutcome::Complete),
        }
    }

    /// Draws what is left of a draw.
    ///
    /// # Errors
    /// When shaders do not compile, or state is not supported.
    pub(super) fn draw_with(
        &mut self,
        state: &mut CommandState<Agx>,
        rest: Unfinished,
    ) -> Result<DrawOutcome> {
        let draw = &rest.draw;
        match *draw {
            Draw::Direct(d) if d.count == 0 || d.instances == 0 => {
                return Ok(DrawOutcome::Complete);
            }
            _ => {}
        }
        let expanded = match *draw {
            Draw::Direct(d) if self.expands(state, d.indexed, true) => Some(d),
            _ => None,
        };
        let view_mask = state.rendering.as_ref().map_or(0, |r| r.view_mask);
        let views = if view_mask == 0 { 1 } else { view_mask };
        for view in (rest.view..32).filter(|v| views >> v & 1 != 0) {
            let Some(counts) = expanded else {
                self.draw_view(state, draw, view)?;
                continue;
            };
            let piece = if view == rest.view { rest.piece } else { 0 };
            if let Some(piece) = self.draw_expanded(state, counts, view, piece)? {
                self.unfinished = Some(Unfinished { draw: *draw, view, piece });
                self.order.counts.splits += 1;
                return Ok(DrawOutcome::Partial);
            }
        }
        Ok(DrawOutcome::Complete)
    }

    /// Whether the vertices of a draw go through stages that the hardware does not have; `known` says that the CPU knows its counts.
    pub(super) fn expands(&self, state: &CommandState<Agx>, indexed: bool, known: bool) -> bool {
        let restarts = state.graphics.restart && indexed;
        // Captured primitives are counted on the GPU if the CPU does not know them.
        let captures = state.feedback.active && (restarts || !known);
        // Programs read zeros where a sparse buffer has no memory, but the unit that fetches indices
        // faults. Direct draws take a copy.
        let is_sparse = state.index.is_some_and(|i| i.is_sparse);
        let fetches = is_sparse && indexed && !known;
        captures
            || fetches
            || !state.bound.between.is_empty()
            || has_adjacent(state.graphics.topology)
    }

    /// Draws for one view, by the hardware alone.
    pub(super) fn draw_view(
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
        if !state.shaders_changed && !samples_changed && r.last.programs.is_some() {
            return Ok(false);
        }
        if samples_changed || r.last.programs.is_none() {
            r.recent.clear();
        }
        let s = &state.graphics;
        let Some(vertex) = &state.bound.vertex else {
            return Err(Error::unsupported("draws without a vertex shader"));
        };
        let known = r.recent.iter().find(|p| p.are_of(vertex, state.bound.fragment.as_ref()));
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
        let counts = self.counted_fragments() != 0 && !fragment.does_nothing();
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
    pub(super) fn draw_again(&mut self, state: &CommandState<Agx>, draw: &Draw) -> bool {
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
        let settled = state.changed.is_empty()
            && !state.shaders_changed
            && !state.push_changed
            && !state.vertex_buffers_changed
            && state.graphics_sets.changed == 0
            && !state.feedback.active
            && self.statistics.is_empty()
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
            && r.last.bindings.update(self, &mut state.graphics_sets)?;
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

    /// The index buffer of a draw, and the draw with its first index there. The hardware's reads past
    /// the end of the buffer are unknown, and it faults where a sparse buffer has no memory; indices
    /// there are 0, so such draws take a copy.
    fn indices(
        &mut self,
        state: &CommandState<Agx>,
        draw: &Draw,
    ) -> Result<(Option<IndexBuffer>, Draw)> {
        let mut draw = *draw;
        let (Some(index), Draw::Direct(Counts { count, first, indexed: true, .. })) =
            (state.index.filter(|i| i.address != 0), &mut draw)
        else {
            return Ok((state.index, draw));
        };
        let unit = u64::from(index.index_bytes);
        let (start, bytes) = (u64::from(*first) * unit, u64::from(*count) * unit);
        let there = index.size.saturating_sub(start).min(bytes);
        let is_padded = there < bytes && bytes <= PADDED_B;
        if !index.is_sparse && !is_padded {
            return Ok((state.index, draw));
        }
        let (address, size) = match is_padded {
            true => (self.upload(&vec![0; bytes as usize], 16)?.address, bytes),
            false => (self.room(there)?, there),
        };
        if there > 0 {
            self.copy_buffer(index.address + start, address, there)?;
        }
        *first = 0;
        Ok((Some(IndexBuffer { address, size, is_sparse: false, ..index }), draw))
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
        if let Some(address) = self.vertex_driver {
            for &(half, value) in &v.recipe.values {
                if let Value::Source(Source::Driver { offset }) = value {
                    let register = v.recipe.register(half);
                    let from = address + u64::from(offset);
                    super::compute::put_uniform(&mut words, register, 2, from)?;
                }
            }
        }
        if let Some(address) = indirect {
            for &(half, value) in &v.recipe.values {
                let offset = match (value, indexed) {
                    (Value::Source(Source::BaseVertex), false) => 8,
                    (Value::Source(Source::BaseVertex), true) => 12,
                    (Value::Source(Source::BaseInstance), false) => 12,
                    (Value::Source(Source::BaseInstance), true) => 16,
                    _ => continue,
                };
                super::compute::put_uniform(
                    &mut words,
                    v.recipe.register(half),
                    2,
                    address + offset,
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
                Source::ViewIndex => word(values[3]),
                Source::DrawIndex => word(values[2] & 0xffff),
                Source::SampleMask => word(state.graphics.sample_mask & 0xffff),
                Source::SamplePositions => word(r.packed_sample_places()),
                Source::BlendConstant { component } => {
                    word(state.graphics.blend_constants[usize::from(component & 3)].to_bits())
                }
                _ => return None,
            })
        };
        let counted = self.counted_fragments();
        if counted != 0 {
            self.driver[..2].copy_from_slice(&super::record::split(counted));
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

    /// The record of fixed-function state: what it says of the programs, and, if `whole`, the rest.
    fn record(
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

/// Whether a program's registers hold numbers of the draw.
fn reads_draw(v: &Variant) -> bool {
    v.recipe.has(|s| {
        matches!(
            s,
            Source::BaseVertex | Source::BaseInstance | Source::DrawIndex | Source::ViewIndex
        )
    })
}

/// The block of a draw in the control stream; gives its first word.
fn index_list(
    stream: &mut VertexStream,
    draw: &Draw,
    primitive: vdm::Primitive,
    restart_enable: bool,
    indirect: Option<u64>,
    index: Option<IndexBuffer>,
    zeros: u64,
) -> Result<[u8; vdm::IndexList::SIZE_BYTES]> {
    let indexed = draw.is_indexed();
    // Without an index buffer, indices are zeros.
    let index = index.filter(|i| i.address != 0).unwrap_or(IndexBuffer {
        address: zeros,
        size: 16384,
        index_bytes: 4,
        is_sparse: false,
    });
    let skipped = match *draw {
        Draw::Direct(d) if d.indexed => u64::from(d.first) * u64::from(index.index_bytes),
        _ => 0,
    };
    let (address, size) = (index.address + skipped, index.size.saturating_sub(skipped));
    let (address, size) = if size == 0 { (zeros, 16384) } else { (address, size) };
    let header = vdm::IndexList {
        index_buffer_hi: (if indexed { address >> 32 & 0xff } else { 0 }) as _,
        primitive,
        restart_enable,
        index_size: match index.index_bytes {
            1 => vdm::IndexSize::U8,
            2 => vdm::IndexSize::U16,
            _ => vdm::IndexSize::U32,
        },
        index_buffer_size_present: indexed,
        index_buffer_present: indexed,
        index_count_present: indirect.is_none(),
        instance_count_present: indirect.is_none(),
        start_present: indirect.is_none(),
        indirect_buffer_present: indirect.is_some(),
        ..vdm::IndexList::default()
    };
    let header = header.pack().map_err(packet)?;
    stream.extend_from_slice(&header);
    if indexed {
        put!(stream, vdm::IndexListBufferLo { buffer_lo: (address & 0xffff_ffff) as _ });
    }
    match (*draw, indirect) {
        (Draw::Direct(d), _) => {
            put!(stream, vdm::IndexListCount { count: d.count });
            put!(stream, vdm::IndexListInstances { count: d.instances });
            put!(stream, vdm::IndexListStart { start: d.base_vertex() });
        }
        (_, Some(address)) => put!(stream, vdm::IndexListIndirectBuffer { address }),
        _ => {}
    }
    if indexed {
        put!(stream, vdm::IndexListBufferSize { size: size.next_multiple_of(4) });
    }
    Ok(header)
}
