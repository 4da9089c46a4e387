//! Expanded draws whose sizes only the GPU knows: tessellated ones, and those of indices with restarts.

use std::sync::Arc;

use crate::family::LANES;
use tepui_agx_compiler::Source;
use tepui_expand::capture::VERTICES;
use tepui_expand::lower::patch_stride;
use tepui_expand::{Emission, Expansion, Record, TESSELLATED_B, lists};
use tepui_ir::PrimitiveKind;
use tepui_vulkan::backend::{Counts, Dispatch};
use tepui_vulkan::command::{CommandState, IndexBuffer};
use tepui_vulkan::{Error, Result, debug};

use super::Encoder;
use super::bindings::{Bindings, split};
use super::expand::{Expanded, List, PIECE_SLACK_B, SMALL_PIECE_B};
use super::expansion::{HEAP_B, HEAP_HEAD_B};
use super::feedback::indices_from;
use super::piece_memory::Listed;
use super::stages::{Stages, list_buffer, record_key};
use super::variants::VertexSources;
use crate::family::Agx;
use crate::shader::{Linking, Shader, Variant};
use tepui_vulkan_expand::Order;
use tepui_vulkan_expand::Program;
use tepui_vulkan_expand::UNROLL_ALL;
use tepui_vulkan_expand::UNROLL_FROM;
use tepui_vulkan_expand::pieces::Pieces;
use tepui_vulkan_expand::place::params;
use tepui_vulkan_expand::topology::{input_order, list_topology, makes_points, topology};

/// Output of the first stage after the vertices in memory.
struct First {
    program: Arc<Variant>,
    /// Invocations for each primitive; for patches one.
    invocations: u32,
    /// Bytes of an invocation's records.
    bytes: u32,
    /// Indices that an invocation has in a list.
    indices: u32,
    /// Index lists.
    lists: u32,
    /// Invocations of a workgroup.
    threads: u32,
}

/// The order of a draw's vertices, and the indices that they come from.
#[derive(Clone, Copy)]
struct Input {
    order: Order,
    index: Option<IndexBuffer>,
    /// Indices have restarts.
    restarts: bool,
}

/// Start of a piece of a draw, relative to the draw, and the base vertex.
#[derive(Clone, Copy)]
struct Start {
    instance: u32,
    primitive: u32,
    base_vertex: u32,
}

impl First {
    /// The output of a geometry shader.
    fn emissions(geometry: &Shader, expansion: &Expansion) -> Result<First> {
        let program = geometry.expanded(expansion)?;
        let emission = Emission::of(&geometry.ir);
        let record = Record::of_vertices(&geometry.ir);
        Ok(First {
            invocations: emission.invocations,
            bytes: emission.vertices * record.stride().max(16),
            indices: emission.indices,
            lists: lists(emission.streams, expansion.rasterised.into()),
            threads: program.workgroup[0],
            program,
        })
    }

    /// The output of a control shader: the tessellator counts points in its list.
    fn patches(control: &Shader, expansion: &Expansion) -> Result<First> {
        let program = control.expanded(expansion)?;
        let vertices = control.ir.info.primitives.vertices.max(1);
        let (patch, record) = (Record::of_patch(&control.ir), Record::of_vertices(&control.ir));
        Ok(First {
            invocations: 1,
            bytes: patch_stride(&patch, &record, vertices),
            indices: 1,
            lists: 1,
            threads: program.workgroup[0] / vertices,
            program,
        })
    }
}

impl Encoder {
    /// Draws a piece of a draw whose counts the CPU knows, but not what its stages make of them: it is tessellated, or its indices
    /// have restarts.
    pub(super) fn draw_in_heap(
        &mut self,
        state: &mut CommandState<Agx>,
        d: Counts,
        piece: u64,
    ) -> Result<Option<u64>> {
        let order = input_order(&state.graphics)?;
        let restarts = state.graphics.restart && d.indexed;
        // An upper bound if there are restarts.
        let primitives = order.count(d.count) / order.vertices();
        let small = debug::flags().contains(debug::Flags::PIECES);
        let room =
            if small { SMALL_PIECE_B } else { u64::from(HEAP_B - HEAP_HEAD_B) - PIECE_SLACK_B };
        let bytes = self.most_bytes(state, order)?;
        let pieces = Pieces::new(primitives, d.instances, bytes, room);
        let Some(part) = pieces.get(piece) else { return Ok(None) };
        let all = u64::from(part.primitives) * u64::from(part.instances);
        let wanted = bytes.saturating_mul(all).saturating_add(PIECE_SLACK_B);
        if self.heap_reserved > 0 && self.heap_reserved.saturating_add(wanted) > u64::from(HEAP_B) {
            return Ok(Some(piece));
        }
        self.heap_reserved = self.heap_reserved.saturating_add(wanted);
        let index = if d.indexed { state.index } else { None };
        let offset = d.base_vertex();
        let each = order.vertices();
        // A whole draw may have vertices after the last primitive.
        let whole = part.primitives == primitives;
        let (count, skipped) = match whole {
            true => (d.count, 0),
            false => (part.primitives * each, part.primitive * each),
        };
        let (input, arguments) = if restarts && !whole {
            // The start of a primitive is known when all before are found.
            let listed = match self.pieces.listed.filter(|_| piece > 0) {
                Some(listed) => listed,
                None => self.list_primitives(order, index, d)?,
            };
            self.pieces.listed = Some(listed);
            let index = Some(list_buffer(listed.list, 4 * u64::from(listed.most)));
            let input = Input { order: Order::Whole(each), index, restarts: false };
            (input, self.part_of(listed, skipped, count, part.instances, d.first_instance)?)
        } else {
            let first = d.first.wrapping_add(skipped);
            let arguments = match d.indexed {
                true => vec![count, part.instances, first, offset, d.first_instance],
                false => vec![count, part.instances, first, d.first_instance],
            };
            let bytes: Vec<u8> = arguments.iter().flat_map(|w| w.to_le_bytes()).collect();
            (Input { order, index, restarts }, self.upload(&bytes, 16)?.address)
        };
        let start =
            Start { instance: part.instance, primitive: part.primitive, base_vertex: offset };
        self.expansion_heap(wanted)?;
        let e = self.expand_in_heap(state, input, arguments, d.draw_index, start)?;
        self.fetch(state, e, d.draw_index)?;
        Ok((piece + 1 < pieces.count()).then_some(piece + 1))
    }

    /// Lists the vertices of all primitives of indices with restarts.
    fn list_primitives(
        &mut self,
        order: Order,
        index: Option<IndexBuffer>,
        d: Counts,
    ) -> Result<Listed> {
        let most = order.count(d.count);
        // Threads after the last one may read the list.
        let list = self.room(4 * (u64::from(most) + u64::from(LANES)))?;
        let parameters = self.upload(&[0; params::BYTES], 64)?.address;
        let (indices, index_bytes, in_buffer) = indices_from(index, d.first);
        let ([a, b], [c, e], [f, g]) = (split(list), split(indices), split(parameters));
        let own = [a, b, c, e, d.vertex_offset as u32, d.count, in_buffer, f, g, 0, 0];
        self.run(Program::Restarts { order, index_bytes }, &own, &[], [1; 3])?;
        Ok(Listed { list, most, number: parameters + u64::from(params::VERTEX + VERTICES) })
    }

    /// Arguments of an indexed draw of at most `most` of the vertices of a list, from a number on.
    fn part_of(
        &mut self,
        listed: Listed,
        first: u32,
        most: u32,
        instances: u32,
        first_instance: u32,
    ) -> Result<u64> {
        let to = self.upload(&[0; 20], 16)?.address;
        let ([a, b], [c, d]) = (split(listed.number), split(to));
        let own = [a, b, c, d, first, most, instances, first_instance];
        self.run(Program::Part, &own, &[], [1; 3])?;
        Ok(to)
    }

    /// Maximum bytes of a primitive in the heap.
    fn most_bytes(&self, state: &CommandState<Agx>, order: Order) -> Result<u64> {
        let Stages { vertex, tessellation, geometry } =
            Stages::new(state, self.looks_at_emissions(state))?;
        let stride = |s: &Shader| u64::from(Record::of_vertices(&s.ir).stride().max(16));
        let read_b = u64::from(order.vertices()) * (stride(&vertex) + 4);
        // Bytes for each primitive that a geometry shader reads.
        let emitted_b = geometry.as_ref().map_or(0, |g| {
            let emission = Emission::of(&g.ir);
            let lists = lists(emission.streams, state.graphics.rasterization_stream.into());
            let indices = 4 * (u64::from(lists) * u64::from(emission.indices) + 1);
            u64::from(emission.invocations) * (u64::from(emission.vertices) * stride(g) + indices)
        });
        let Some(t) = tessellation else { return Ok(read_b + emitted_b) };
        let (patch, controlled) =
            (Record::of_patch(&t.control.ir), Record::of_vertices(&t.control.ir));
        let vertices = t.control.ir.info.primitives.vertices.max(1);
        let patch_b = u64::from(patch_stride(&patch, &controlled, vertices)) + 8;
        let (points, indices) = t.how.most();
        // Only a geometry shader reads the vertices themselves.
        let evaluated_b = if geometry.is_some() { stride(&t.evaluation) } else { 0 };
        let point_b = u64::from(TESSELLATED_B) + evaluated_b;
        let divided_b = u64::from(points) * point_b + 4 * u64::from(indices);
        let primitives = match t.how.output() {
            PrimitiveKind::Points => indices,
            PrimitiveKind::Lines => indices / 2,
            _ => indices / 3,
        };
        Ok(read_b + patch_b + divided_b + u64::from(primitives) * emitted_b)
    }

    /// Lists the vertices of a draw whose parameters are in memory. Indices and invocations of the first stage are those of a primitive.
    fn list_in_memory(
        &mut self,
        state: &CommandState<Agx>,
        input: &Input,
        parameters: u64,
        [indices, invocations]: [u32; 2],
    ) -> Result<()> {
        let Input { order, index, restarts } = *input;
        let (_, index_bytes, _) = indices_from(index, 0);
        let [e, f] = split(parameters);
        let lists = match restarts && index_bytes > 0 {
            true => Program::Restarts { order, index_bytes },
            false => Program::Unroll { order, index_bytes },
        };
        let v = self.device.clone().meta(lists)?.compute()?;
        self.driver[7..11].copy_from_slice(&[e, f, indices, invocations]);
        self.driver[UNROLL_FROM] = 0;
        let none = Bindings::default();
        let groups = |at: u32| Dispatch::Indirect([0; 3], parameters + u64::from(at));
        let listing = |s: Source| match s {
            Source::Driver { offset } if offset < 28 => {
                Some(parameters + u64::from(params::LIST + offset))
            }
            Source::Driver { offset } if offset == 4 * UNROLL_ALL as u32 => {
                Some(parameters + u64::from(params::LIST + 20))
            }
            _ => None,
        };
        self.launch_with(&v, &none, &state.push, &groups(params::LIST_GROUPS), &|_| None, &listing)
    }

    /// Runs the stages of a draw, or of a piece of one, whose arguments are in memory.
    fn expand_in_heap(
        &mut self,
        state: &mut CommandState<Agx>,
        Input { order, index, restarts }: Input,
        arguments: u64,
        draw_index: u32,
        start: Start,
    ) -> Result<Expanded> {
        let emissions = self.looks_at_emissions(state);
        let Stages { vertex, tessellation, geometry } = Stages::new(state, emissions)?;
        let s = &state.graphics;
        let bindings = self.all_bindings(state)?;
        let input = Record::of_vertices(&vertex.ir);
        let rasterised = s.rasterization_stream;
        let no_size = |g: &Shader| !emissions && !makes_points(s, Emission::of(&g.ir).output);
        let no_size = geometry.as_deref().is_some_and(no_size);
        // A control shader keeps what its evaluation shader reads.
        let expansion = Expansion {
            vertices: input,
            rasterised,
            no_size: no_size && tessellation.is_none(),
            ..Expansion::default()
        };
        // Output of the first stage for each primitive or patch.
        let first = match (&tessellation, &geometry) {
            (Some(t), _) => First::patches(&t.control, &expansion)?,
            (None, Some(g)) => First::emissions(g, &expansion)?,
            (None, None) => return Err(Error::unsupported("draws that need no expansion")),
        };
        let heap = self.expansion_heap(0)?;
        let parameters = self.upload(&[0; params::BYTES], 64)?.address;
        let (indices, index_bytes, in_buffer) = indices_from(index, 0);
        let ([a, b], [c, d]) = (split(arguments), split(heap.0));
        let ([e, f], [g, h]) = (split(parameters), split(indices));
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
            first.invocations,
            first.bytes,
            first.indices,
            first.threads,
            first.lists,
            start.primitive,
        ];
        self.run(Program::Place { order, index_bytes, restart: restarts }, &own, &[], [1; 3])?;
        let per_primitive = [first.indices * first.invocations, first.invocations];
        self.list_in_memory(state, &Input { order, index, restarts }, parameters, per_primitive)?;
        // The vertices.
        let v = vertex.vertex(&record_key(&vertex, &state.graphics), Linking::Whole)?;
        let sources = VertexSources {
            state,
            zeros: self.device.zeros.address,
            base_vertex: start.base_vertex,
            base_instance: 0,
            draw_index,
            view: self.view,
        };
        let from = |at: u32| Some(parameters + u64::from(at));
        let in_memory = |s: Source| match s {
            Source::Driver { offset } => from(params::VERTEX + offset),
            Source::CaptureIndices => from(params::LIST),
            Source::BaseInstance => from(params::FIRST_INSTANCE),
            _ => None,
        };
        let at = parameters + u64::from(params::VERTEX_GROUPS);
        let dispatch = Dispatch::Indirect([0, start.instance, 0], at);
        let own = |s: Source| sources.get(s);
        self.launch_with(&v, &bindings, &state.push, &dispatch, &own, &in_memory)?;
        // The primitives or patches.
        let groups = parameters + u64::from(params::GEOMETRY_GROUPS);
        let dispatch = Dispatch::Indirect([0; 3], groups);
        self.launch_at(&first.program, &bindings, state, &dispatch, parameters)?;
        let (parameters, vertex, output) = match (tessellation, &geometry) {
            (None, Some(g)) => (parameters, g.pull(no_size)?, None),
            (Some(t), _) => {
                let (vertex, behind) =
                    self.tessellate(state, &bindings, parameters, &t, geometry.as_ref())?;
                (behind, vertex, Some(t.how.output()))
            }
            (None, None) => return Err(Error::unsupported("draws that need no expansion")),
        };
        if emissions && let Some(g) = &geometry {
            self.emissions(state, g, &Emission::of(&g.ir), parameters)?;
        }
        let (words, topology) = match (&geometry, output) {
            (Some(last), _) => (parameters, topology(&Emission::of(&last.ir))),
            (None, output) => {
                let topology = list_topology(output.unwrap_or(PrimitiveKind::Triangles));
                (parameters + u64::from(params::EVALUATE), topology)
            }
        };
        let list = List::Indirect { words, draw: parameters + u64::from(params::DRAW), heap };
        Ok(Expanded { vertex, list, topology })
    }
}
