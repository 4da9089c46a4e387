//! Draws with geometry shaders: each stage before the rasteriser runs as a compute program before the rendering, and a vertex
//! program fetches what the last one left in memory ([`tepui_expand`]).

use tepui_agx_compiler::Source;
use tepui_agx_compiler::abi::capture::{ADDRESSES, LIMIT, THREADS, VERTICES};
use tepui_expand::{Emission, Expansion, RESTART, Record, word as words};
use tepui_ir::PrimitiveKind;
use tepui_vulkan::backend::{Dispatch, Draw, Encoder as _};
use tepui_vulkan::command::{CommandState, IndexBuffer};
use tepui_vulkan::state::Groups;
use tepui_vulkan::{Error, Result, vk};

use super::draw::{VertexSources, vertex_key};
use super::record::split;
use super::values::long;
use super::{Bindings, Encoder};
use crate::Agx;
use crate::meta::Program;
use crate::meta::feedback::Order;
use crate::shader::{Linking, Results, Shader, Variant};
use std::sync::Arc;

/// Most bytes that the expanded vertices of a draw take.
const MOST_B: u64 = 1 << 30;

/// The counts of a draw.
#[derive(Clone, Copy)]
struct Counts {
    vertices: u32,
    instances: u32,
    first: u32,
    vertex_offset: i32,
    first_instance: u32,
    indexed: bool,
    draw_index: u32,
}

/// What the last stage leaves to the rasteriser.
struct Expanded {
    /// The stage.
    last: Arc<Shader>,
    /// Address of its records.
    records: u64,
    /// Address of the list of indices.
    list: u64,
    /// Their number.
    indices: u32,
    /// What they make.
    topology: vk::PrimitiveTopology,
}

impl Encoder {
    /// Draws with shaders between vertices and the rasteriser.
    pub(super) fn draw_expanded(
        &mut self,
        state: &mut CommandState<Agx>,
        draw: &Draw,
    ) -> Result<()> {
        let Draw::Direct {
            count,
            instances,
            first,
            vertex_offset,
            first_instance,
            indexed,
            draw_index,
        } = *draw
        else {
            return Err(Error::unsupported("indirect draws with geometry shaders"));
        };
        let counts = Counts {
            vertices: count,
            instances,
            first,
            vertex_offset,
            first_instance,
            indexed,
            draw_index,
        };
        let Some(e) = self.expand(state, counts)? else { return Ok(()) };
        let own = state.graphics.clone();
        let vertex = state.vertex.replace(e.last.pull()?);
        let index = state.index.replace(IndexBuffer {
            address: e.list,
            size: 4 * u64::from(e.indices),
            index_bytes: 4,
        });
        let between = std::mem::take(&mut state.between);
        state.graphics.topology = e.topology;
        state.graphics.restart = true;
        self.programs_changed(state);
        self.put_words(&[(words::OUTPUT, Word::Long(e.records))]);
        let fetched = Draw::Direct {
            count: e.indices,
            instances: 1,
            first: 0,
            vertex_offset: 0,
            first_instance: 0,
            indexed: true,
            draw_index,
        };
        let drawn = self.draw_with(state, &fetched);
        state.graphics = own;
        (state.vertex, state.index, state.between) = (vertex, index, between);
        self.programs_changed(state);
        drawn
    }

    /// The next draw looks for its programs anew, with another topology.
    fn programs_changed(&mut self, state: &mut CommandState<Agx>) {
        state.shaders_changed = true;
        state.changed |= Groups::TOPOLOGY | Groups::RESTART;
        if let Some(r) = &mut self.render {
            r.forget_programs();
        }
    }

    /// Runs the stages of a draw; nothing if it makes no primitives.
    fn expand(&mut self, state: &mut CommandState<Agx>, d: Counts) -> Result<Option<Expanded>> {
        if state.between.evaluation.is_some() {
            return Err(Error::unsupported("tessellation"));
        }
        let (Some(vertex), Some(geometry)) = (state.vertex.clone(), state.between.geometry.clone())
        else {
            return Err(Error::unsupported("draws without a vertex shader"));
        };
        let s = &state.graphics;
        let order = Order::with_adjacency(s.topology, s.provoking_last)
            .ok_or_else(|| Error::unsupported("geometry shaders with this topology"))?;
        let listed = order.count(d.vertices);
        let primitives = listed / order.vertices();
        if primitives == 0 || d.instances == 0 {
            return Ok(None);
        }
        let mut bindings = Bindings::default();
        let mut sets = state.graphics_sets.clone();
        sets.changed = u32::MAX;
        bindings.update(self, &mut sets)?;
        let input = Record::of_vertices(&vertex.ir);
        let vertices = self.vertex_records(state, &vertex, &bindings, order, listed, d)?;

        let (output, emission) = (Record::of_vertices(&geometry.ir), Emission::of(&geometry.ir));
        let invocations =
            u64::from(primitives) * u64::from(d.instances) * u64::from(emission.invocations);
        let records_b =
            invocations * u64::from(emission.vertices) * u64::from(output.stride().max(16));
        let indices = invocations * u64::from(emission.indices);
        let too_many = || {
            let what = format!("{invocations} invocations of a geometry shader in one draw");
            Error::new(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY, what)
        };
        let indices = u32::try_from(indices).map_err(|_| too_many())?;
        if records_b > MOST_B {
            return Err(too_many());
        }
        let records = self.room(records_b)?;
        let list = self.room(4 * u64::from(indices))?;
        self.fill_buffer(list, 4 * u64::from(indices), RESTART)?;
        let expansion = Expansion { vertices: input, ..Expansion::default() };
        let program = geometry.expanded(&expansion)?;
        let threads = primitives.checked_mul(emission.invocations).ok_or_else(too_many)?;
        let all = [
            (words::VERTICES, Word::Long(vertices)),
            (words::OUTPUT, Word::Long(records)),
            (words::LIST, Word::Long(list)),
            (words::COUNT, Word::Short(primitives)),
            (words::FIRST, Word::Short(0)),
        ];
        self.stage(&program, state, &bindings, threads, d, &all)?;
        let topology = match emission.output {
            PrimitiveKind::Points => vk::PrimitiveTopology::POINT_LIST,
            PrimitiveKind::Lines => vk::PrimitiveTopology::LINE_STRIP,
            _ => vk::PrimitiveTopology::TRIANGLE_STRIP,
        };
        Ok(Some(Expanded { last: geometry, records, list, indices, topology }))
    }

    /// Memory that the GPU writes.
    fn room(&mut self, bytes: u64) -> Result<u64> {
        Ok(self.arena.take(&self.device, bytes.max(16), 64)?.address)
    }

    /// Runs the vertex shader for each vertex of each primitive; gives the address of their records.
    fn vertex_records(
        &mut self,
        state: &CommandState<Agx>,
        vertex: &Shader,
        bindings: &Bindings,
        order: Order,
        listed: u32,
        d: Counts,
    ) -> Result<u64> {
        let s = &state.graphics;
        let mut key = vertex_key(vertex.inputs, s);
        key.results = Results::Record;
        // What comes behind moves the depth.
        key.negative_one_to_one = false;
        let index = if d.indexed { state.index } else { None };
        if d.indexed && s.restart {
            return Err(Error::unsupported("geometry shaders with primitive restart"));
        }
        let (indices, index_bytes, in_buffer) = match index {
            Some(i) => (
                i.address + u64::from(d.first) * u64::from(i.index_bytes),
                i.index_bytes,
                (i.size / u64::from(i.index_bytes)).saturating_sub(u64::from(d.first)) as u32,
            ),
            None => (0, 0, u32::MAX),
        };
        let added = if d.indexed { d.vertex_offset as u32 } else { d.first };
        let list = self.room(4 * u64::from(listed.next_multiple_of(THREADS)))?;
        let ([a, b], [e, f]) = (split(list), split(indices));
        let unroll = Program::Unroll { order, index_bytes: index_bytes as u8 };
        let own = [a, b, e, f, added, listed, in_buffer];
        // Threads behind the last vertex read the list, too.
        self.run(unroll, &own, &[], [listed, 1, 1])?;
        let stride = Record::of_vertices(&vertex.ir).stride().max(16);
        let all =
            listed.checked_mul(d.instances).filter(|&n| u64::from(n) * u64::from(stride) <= MOST_B);
        let Some(all) = all else {
            let what = "the vertices of a draw with a geometry shader";
            return Err(Error::new(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY, what));
        };
        let records = self.room(u64::from(all) * u64::from(stride))?;
        let v = vertex.vertex(&key, Linking::Whole)?;
        let sources = VertexSources {
            state,
            zeros: self.device.zeros.address,
            base_vertex: added,
            base_instance: d.first_instance,
            draw_index: d.draw_index,
            view: 0,
        };
        let own = |s: Source| match s {
            Source::CaptureIndices => Some(long(list)),
            s => sources.get(s),
        };
        self.put_words(&[
            (ADDRESSES, Word::Long(records)),
            (VERTICES, Word::Short(listed)),
            (LIMIT, Word::Short(all)),
        ]);
        let groups = [listed.div_ceil(THREADS), d.instances, 1];
        let dispatch = Dispatch::Direct([0; 3], groups);
        self.launch_with(&v, bindings, &state.push, &dispatch, &own, &|_| None)?;
        Ok(records)
    }

    /// Sets the driver's words at byte offsets.
    fn put_words(&mut self, all: &[(u32, Word)]) {
        for &(offset, w) in all {
            let at = offset as usize / 4;
            match w {
                Word::Short(v) => self.driver[at] = v,
                Word::Long(v) => self.driver[at..at + 2].copy_from_slice(&split(v)),
            }
        }
    }

    /// Runs a stage.
    fn stage(
        &mut self,
        program: &Arc<Variant>,
        state: &CommandState<Agx>,
        bindings: &Bindings,
        threads: u32,
        d: Counts,
        all: &[(u32, Word)],
    ) -> Result<()> {
        self.put_words(all);
        let groups = [threads.div_ceil(program.workgroup[0]), d.instances, 1];
        let dispatch = Dispatch::Direct([0; 3], groups);
        self.launch_with(program, bindings, &state.push, &dispatch, &|_| None, &|_| None)
    }
}

/// A word of the driver's, or two.
#[derive(Clone, Copy)]
enum Word {
    Short(u32),
    Long(u64),
}
