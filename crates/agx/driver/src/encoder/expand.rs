//! Draws with geometry shaders: each stage before the rasteriser runs as a compute program before the rendering, and a vertex
//! program fetches what the last one left in memory ([`tepui_expand`]).

use tepui_agx_compiler::Source;
use tepui_agx_compiler::abi::capture::{ADDRESSES, LIMIT, THREADS, VERTICES};
use tepui_expand::gather::{vertices as gather_vertices, word as gather};
use tepui_expand::{Emission, Expansion, Record, word as words};
use tepui_ir::PrimitiveKind;
use tepui_vulkan::backend::{Dispatch, Draw, Encoder as _};
use tepui_vulkan::command::{CommandState, IndexBuffer};
use tepui_vulkan::state::{GraphicsState, Groups};
use tepui_vulkan::{Error, Result, vk};

use super::draw::{VertexSources, has_adjacent, vertex_key};
use super::feedback::{FIT_VERTICES, indices_from};
use super::record::split;
use super::values::long;
use super::{Bindings, Encoder};
use crate::Agx;
use crate::meta::Program;
use crate::meta::expand::params;
use crate::meta::feedback::{Order, PARAMETERS_B};
use crate::shader::{Linking, Results, Shader, Variant, VertexKey};
use std::sync::Arc;

/// Most bytes that the expanded vertices of a draw take.
const MOST_B: u64 = 1 << 30;
/// Bytes of the heap that draws take from whose sizes the GPU knows alone. One that finds no room draws nothing.
const HEAP_B: u32 = 1 << 28;
/// Bytes at the start of the heap that are not given away.
const HEAP_HEAD_B: u32 = 256;

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
    /// Where its vertices and the list of their indices are.
    list: List,
    /// What they make.
    topology: vk::PrimitiveTopology,
}

/// Vertices in memory, and their order.
enum List {
    /// The CPU knows where they are.
    Direct {
        /// Address of the records.
        records: u64,
        /// Address of the indices.
        address: u64,
        /// Number of indices.
        indices: u32,
    },
    /// Memory does.
    Indirect {
        /// Address of the parameters ([`params`]).
        parameters: u64,
        /// The heap that they are in.
        heap: (u64, u32),
    },
}

impl Encoder {
    /// Draws with shaders between vertices and the rasteriser.
    pub(super) fn draw_expanded(
        &mut self,
        state: &mut CommandState<Agx>,
        draw: &Draw,
    ) -> Result<()> {
        let restarts = state.graphics.restart && draw.is_indexed();
        match *draw {
            Draw::Direct {
                count,
                instances,
                first,
                vertex_offset,
                first_instance,
                indexed,
                draw_index,
            } if !restarts => {
                let d = Counts {
                    vertices: count,
                    instances,
                    first,
                    vertex_offset,
                    first_instance,
                    indexed,
                    draw_index,
                };
                match self.expand(state, d)? {
                    Some(e) => self.fetch(state, e, draw_index),
                    None => Ok(()),
                }
            }
            Draw::Direct {
                count,
                instances,
                first,
                vertex_offset,
                first_instance,
                draw_index,
                ..
            } => {
                let words = [count, instances, first, vertex_offset as u32, first_instance];
                let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
                let address = self.upload(&bytes, 16)?.address;
                let e = self.expand_indirect(state, address, true, draw_index)?;
                self.fetch(state, e, draw_index)
            }
            Draw::Indirect { address, count, stride, indexed, draw_index, .. } => {
                for k in 0..count {
                    let address = address + u64::from(k) * u64::from(stride);
                    let e = self.expand_indirect(state, address, indexed, draw_index + k)?;
                    self.fetch(state, e, draw_index + k)?;
                }
                Ok(())
            }
        }
    }

    /// Draws what the last stage left.
    fn fetch(&mut self, state: &mut CommandState<Agx>, e: Expanded, draw_index: u32) -> Result<()> {
        let own = state.graphics.clone();
        let vertex = state.vertex.replace(e.last.pull()?);
        let (index, fetched) = match e.list {
            List::Direct { records, address, indices } => {
                self.put_words(&[(words::OUTPUT, Word::Long(records))]);
                let draw = Draw::Direct {
                    count: indices,
                    instances: 1,
                    first: 0,
                    vertex_offset: 0,
                    first_instance: 0,
                    indexed: true,
                    draw_index,
                };
                (IndexBuffer { address, size: 4 * u64::from(indices), index_bytes: 4 }, draw)
            }
            List::Indirect { parameters, heap: (address, bytes) } => {
                self.vertex_driver = Some(parameters);
                let draw = Draw::Indirect {
                    address: parameters + u64::from(params::DRAW),
                    count: 1,
                    stride: 20,
                    count_address: None,
                    indexed: true,
                    draw_index,
                };
                (IndexBuffer { address, size: bytes.into(), index_bytes: 4 }, draw)
            }
        };
        let index = state.index.replace(index);
        let between = std::mem::take(&mut state.between);
        state.graphics.topology = e.topology;
        state.graphics.restart = true;
        self.programs_changed(state);
        let drawn = self.draw_with(state, &fetched);
        self.vertex_driver = None;
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
        let (vertex, geometry) = stages(state)?;
        let order = input_order(&state.graphics)?;
        let listed = order.count(d.vertices);
        let primitives = listed / order.vertices();
        if primitives == 0 || d.instances == 0 {
            return Ok(None);
        }
        let bindings = self.all_bindings(state)?;
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
        if self.looks_at_emissions(state) {
            let invocations = invocations as u32;
            let mut bytes = vec![0; params::BYTES];
            let table = self.room(4 * u64::from(invocations))?;
            let groups = invocations.div_ceil(THREADS);
            for (offset, value) in [
                (params::GATHER + gather::LIST, list),
                (params::GATHER + gather::TABLE, table),
                (params::GATHER + gather::RECORDS, records),
                (params::GATHER + gather::COUNT, u64::from(invocations)),
                (params::GATHER_GROUPS, u64::from(groups) | 1 << 32),
                (params::GATHER_GROUPS + 8, 1),
            ] {
                bytes[offset as usize..][..8].copy_from_slice(&value.to_le_bytes());
            }
            let parameters = self.upload(&bytes, 64)?.address;
            self.emissions(state, &geometry, &emission, parameters)?;
        }
        let topology = topology(&emission);
        let list = List::Direct { records, address: list, indices };
        Ok(Some(Expanded { last: geometry, list, topology }))
    }

    /// Runs the stages of a draw whose counts are in memory, or whose indices have restarts.
    fn expand_indirect(
        &mut self,
        state: &mut CommandState<Agx>,
        arguments: u64,
        indexed: bool,
        draw_index: u32,
    ) -> Result<Expanded> {
        let (vertex, geometry) = stages(state)?;
        let s = &state.graphics;
        let order = input_order(s)?;
        let restart = indexed && s.restart;
        let bindings = self.all_bindings(state)?;
        let (input, output) = (Record::of_vertices(&vertex.ir), Record::of_vertices(&geometry.ir));
        let emission = Emission::of(&geometry.ir);
        let program = geometry.expanded(&Expansion { vertices: input, ..Expansion::default() })?;
        let heap = self.expansion_heap()?;
        let parameters = self.upload(&[0; params::BYTES], 64)?.address;
        let index = if indexed { state.index } else { None };
        let (indices, index_bytes, in_buffer) = indices_from(index, 0);
        let ([a, b], [c, d]) = (split(arguments), split(heap.0));
        let ([e, f], [g, h]) = (split(parameters), split(indices));
        let records_b = emission.vertices * output.stride().max(16);
        let own = [
            a,
            b,
            c,
            d,
            heap.1,
            e,
            f,
            g,
            h,
            in_buffer,
            input.stride().max(16),
            emission.invocations,
            records_b,
            emission.indices,
            program.workgroup[0],
        ];
        self.run(Program::Place { order, index_bytes, restart }, &own, &[], [1; 3])?;
        // The list of vertices.
        let lists = match restart && index_bytes > 0 {
            true => Program::Restarts { order, index_bytes },
            false => Program::Unroll { order, index_bytes },
        };
        let v = self.device.clone().meta(lists)?.compute()?;
        let per_primitive = emission.indices * emission.invocations;
        self.driver[7..11].copy_from_slice(&[e, f, per_primitive, emission.invocations]);
        let none = Bindings::default();
        let groups = |at: u32| Dispatch::Indirect([0; 3], parameters + u64::from(at));
        let listing = |s: Source| match s {
            Source::Driver { offset } if offset < 28 => {
                Some(parameters + u64::from(params::LIST + offset))
            }
            _ => None,
        };
        self.launch_with(
            &v,
            &none,
            &state.push,
            &groups(params::LIST_GROUPS),
            &|_| None,
            &listing,
        )?;
        // The vertices.
        let v = vertex.vertex(&record_key(&vertex, &state.graphics), Linking::Whole)?;
        let sources = VertexSources {
            state,
            zeros: self.device.zeros.address,
            base_vertex: 0,
            base_instance: 0,
            draw_index,
            view: 0,
        };
        let from = |at: u32| Some(parameters + u64::from(at));
        let in_memory = |s: Source| match s {
            Source::Driver { offset } => from(params::VERTEX + offset),
            Source::CaptureIndices => from(params::LIST),
            Source::BaseVertex => from(params::ADDED),
            Source::BaseInstance => from(params::FIRST_INSTANCE),
            _ => None,
        };
        let dispatch = groups(params::VERTEX_GROUPS);
        let own = |s: Source| sources.get(s);
        self.launch_with(&v, &bindings, &state.push, &dispatch, &own, &in_memory)?;
        // The primitives.
        let in_memory = |s: Source| match s {
            Source::Driver { offset } => from(offset),
            _ => None,
        };
        let dispatch = groups(params::GEOMETRY_GROUPS);
        self.launch_with(&program, &bindings, &state.push, &dispatch, &|_| None, &in_memory)?;
        if self.looks_at_emissions(state) {
            self.emissions(state, &geometry, &emission, parameters)?;
        }
        let list = List::Indirect { parameters, heap };
        Ok(Expanded { last: geometry, list, topology: topology(&emission) })
    }

    /// Whether anything asks for what geometry shaders emit, beside the rasteriser.
    fn looks_at_emissions(&self, state: &CommandState<Agx>) -> bool {
        !state.between.is_empty() && (state.feedback.active || self.statistics.is_some())
    }

    /// Counts the primitives that a geometry shader emitted, and captures their vertices.
    fn emissions(
        &mut self,
        state: &CommandState<Agx>,
        geometry: &Shader,
        emission: &Emission,
        parameters: u64,
    ) -> Result<()> {
        let [count, store] = geometry.gather(state.graphics.provoking_last)?;
        let none = Bindings::default();
        let gathered = parameters + u64::from(params::GATHER);
        let groups = Dispatch::Indirect([0; 3], parameters + u64::from(params::GATHER_GROUPS));
        let in_memory = |s: Source| match s {
            Source::Driver { offset } => Some(gathered + u64::from(offset)),
            _ => None,
        };
        self.launch_with(&count, &none, &state.push, &groups, &|_| None, &in_memory)?;
        // The number of the first primitive of each invocation.
        let each = gather_vertices(emission.output);
        let emitted = parameters + u64::from(params::EMITTED);
        let [low, high] = split(emitted);
        let sums = self.device.clone().meta(Program::Sums)?.compute()?;
        self.driver[3..6].copy_from_slice(&[low, high, each]);
        let in_memory = |s: Source| match s {
            Source::Driver { offset } if offset < 8 => {
                Some(gathered + u64::from(gather::TABLE + offset))
            }
            Source::Driver { offset: 8 } => Some(gathered + u64::from(gather::COUNT)),
            _ => None,
        };
        let one = Dispatch::Direct([0; 3], [1; 3]);
        self.launch_with(&sums, &none, &state.push, &one, &|_| None, &in_memory)?;
        self.count_emissions(emitted + 4, gathered + u64::from(gather::COUNT))?;
        if !state.feedback.active {
            return Ok(());
        }
        // How many fit.
        let fit = self.device.clone().meta(Program::Fit)?.compute()?;
        let parameters = self.upload(&[0; PARAMETERS_B], 16)?.address;
        let buffers = state.feedback.buffers;
        let words = self.fit_words(&buffers, geometry.feedback, parameters, [0, 1, each]);
        self.driver[..words.len()].copy_from_slice(&words);
        let in_memory = |s: Source| (s == FIT_VERTICES).then_some(emitted);
        self.launch_with(&fit, &none, &state.push, &one, &|_| None, &in_memory)?;
        if geometry.feedback == [0; 4] {
            return Ok(());
        }
        let in_memory = |s: Source| match s {
            Source::Driver { offset } if offset < gather::BUFFERS => {
                Some(gathered + u64::from(offset))
            }
            Source::Driver { offset } if offset < gather::LIMIT => {
                Some(parameters + u64::from(ADDRESSES + offset - gather::BUFFERS))
            }
            Source::Driver { .. } => Some(parameters + u64::from(LIMIT)),
            _ => None,
        };
        self.launch_with(&store, &none, &state.push, &groups, &|_| None, &in_memory)
    }

    /// The heap of draws whose sizes the GPU knows alone: all of a command buffer's take from it.
    fn expansion_heap(&mut self) -> Result<(u64, u32)> {
        if let Some(heap) = self.heap {
            return Ok(heap);
        }
        let address = self.room(u64::from(HEAP_B))?;
        // The number of bytes in use.
        self.fill_buffer(address, 4, HEAP_HEAD_B)?;
        self.heap = Some((address, HEAP_B));
        Ok((address, HEAP_B))
    }

    /// The descriptor sets of graphics, whatever a draw has seen of them.
    pub(super) fn all_bindings(&mut self, state: &CommandState<Agx>) -> Result<Bindings> {
        let mut bindings = Bindings::default();
        let mut sets = state.graphics_sets.clone();
        sets.changed = u32::MAX;
        bindings.update(self, &mut sets)?;
        Ok(bindings)
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
        let key = record_key(vertex, &state.graphics);
        let index = if d.indexed { state.index } else { None };
        let (indices, index_bytes, in_buffer) = indices_from(index, d.first);
        let added = if d.indexed { d.vertex_offset as u32 } else { d.first };
        let list = self.room(4 * u64::from(listed.next_multiple_of(THREADS)))?;
        let ([a, b], [e, f]) = (split(list), split(indices));
        let unroll = Program::Unroll { order, index_bytes };
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

/// The stages of a draw.
fn stages(state: &CommandState<Agx>) -> Result<(Arc<Shader>, Arc<Shader>)> {
    if state.between.evaluation.is_some() {
        return Err(Error::unsupported("tessellation"));
    }
    match (&state.vertex, &state.between.geometry, has_adjacent(state.graphics.topology)) {
        (Some(vertex), Some(geometry), _) => Ok((vertex.clone(), geometry.clone())),
        (Some(vertex), None, Some(triangles)) => {
            Ok((vertex.clone(), vertex.without_adjacent(triangles)?))
        }
        _ => Err(Error::unsupported("draws without a vertex shader")),
    }
}

/// The order of the vertices of a draw's primitives.
fn input_order(s: &GraphicsState) -> Result<Order> {
    Order::with_adjacency(s.topology, s.provoking_last)
        .ok_or_else(|| Error::unsupported("geometry shaders with this topology"))
}

/// The key of a vertex shader that leaves its outputs to the next stage.
fn record_key(vertex: &Shader, s: &GraphicsState) -> VertexKey {
    let mut key = vertex_key(vertex.inputs, s);
    key.results = Results::Record;
    // What comes behind moves the depth.
    key.negative_one_to_one = false;
    key
}

/// What a geometry shader's indices make.
fn topology(emission: &Emission) -> vk::PrimitiveTopology {
    match emission.output {
        PrimitiveKind::Points => vk::PrimitiveTopology::POINT_LIST,
        PrimitiveKind::Lines => vk::PrimitiveTopology::LINE_STRIP,
        _ => vk::PrimitiveTopology::TRIANGLE_STRIP,
    }
}

/// A word of the driver's, or two.
#[derive(Clone, Copy)]
enum Word {
    Short(u32),
    Long(u64),
}
