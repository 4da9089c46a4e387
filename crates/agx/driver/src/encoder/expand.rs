//! Draws with geometry or tessellation shaders: each stage before the rasteriser runs as a compute program before the rendering, and a vertex
//! program fetches what the last one left in memory ([`tepui_expand`]).

use tepui_agx_compiler::Source;
use tepui_agx_compiler::abi::capture::{ADDRESSES, LIMIT, THREADS, VERTICES};
use tepui_expand::gather::{vertices as gather_vertices, word as gather};
use tepui_expand::lower::patch_stride;
use tepui_expand::tessellate::Tessellation;
use tepui_expand::{Emission, Expansion, Record, TESSELLATED_B, list_of, lists, word as words};
use tepui_ir::{PrimitiveKind, Spacing};
use tepui_vulkan::backend::{Counts, Dispatch, Draw, Encoder as _};
use tepui_vulkan::command::{CommandState, IndexBuffer};
use tepui_vulkan::state::{GraphicsState, Groups};
use tepui_vulkan::vk::QueryPipelineStatisticFlags as Flags;
use tepui_vulkan::{Error, Result, debug, vk};

use super::draw::{VertexSources, vertex_key};
use super::feedback::{FIT_VERTICES, indices_from};
use super::pieces::{Piece, Pieces};
use super::record::split;
use super::values::long;
use super::{Bindings, Encoder};
use crate::Agx;
use crate::meta::Program;
use crate::meta::expand::params;
use crate::meta::feedback::{Order, PARAMETERS_B, UNROLL_ALL, UNROLL_FROM};
use crate::shader::{Gathered, Linking, Results, Shader, Variant, VertexKey};
use std::sync::Arc;

/// Bytes that the stages of a draw may take; of a draw that needs more, a piece.
const PIECE_B: u64 = 1 << 28;
/// Bytes of a piece with the option of `TEPUI_DEBUG` for small pieces.
const SMALL_PIECE_B: u64 = 1 << 11;
/// Bytes for the alignment of a piece's buffers, and for threads after the end of a list.
const PIECE_SLACK_B: u64 = 1 << 10;
/// Minimum bytes of the memory of pieces.
const MIN_PIECES_B: u64 = 1 << 20;
/// Bytes of the heap for draws whose sizes only the GPU knows.
const HEAP_B: u32 = 1 << 28;
/// Maximum bytes of the heap, for draws of which one primitive might need more.
const HEAP_MOST_B: u32 = u32::MAX - 0xffff;
/// Reserved bytes at the start of the heap.
const HEAP_HEAD_B: u32 = 256;

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

/// The order of a draw's vertices, and the indices that they come from.
#[derive(Clone, Copy)]
struct Input {
    order: Order,
    index: Option<IndexBuffer>,
    /// Indices have restarts.
    restarts: bool,
}

/// The vertices of the primitives of indices with restarts.
#[derive(Clone, Copy)]
pub(super) struct Listed {
    /// Address of the list.
    list: u64,
    /// Maximum number of vertices.
    most: u32,
    /// Address of their number.
    number: u64,
}

/// Start of a piece of a draw, relative to the draw, and the base vertex.
#[derive(Clone, Copy)]
struct Start {
    instance: u32,
    primitive: u32,
    base_vertex: u32,
}

/// The hardware draw of an expanded draw.
struct Expanded {
    /// The vertex shader that the hardware runs.
    vertex: Arc<Shader>,
    /// Location of its vertices and of the index list.
    list: List,
    /// Topology of the indices.
    topology: vk::PrimitiveTopology,
}

/// Vertices in memory, and their order.
enum List {
    /// At addresses that the CPU knows.
    Direct {
        /// Address of the records.
        records: u64,
        /// Address of the indices.
        address: u64,
        /// Number of indices.
        indices: u32,
    },
    /// Without an index list.
    InOrder {
        /// Address of the records.
        records: u64,
        /// Number of vertices.
        vertices: u32,
    },
    /// Memory does.
    Indirect {
        /// Address of the vertex shader's words.
        words: u64,
        /// Address of the arguments of the draw.
        draw: u64,
        /// The heap that they are in.
        heap: (u64, u32),
    },
}

impl Encoder {
    /// Draws with shaders between vertices and the rasteriser, for one view. Of a draw that is divided, it draws one piece, and gives
    /// the number of the next that needs a rendering of its own.
    pub(super) fn draw_expanded(
        &mut self,
        state: &mut CommandState<Agx>,
        d: Counts,
        view: u32,
        piece: u64,
    ) -> Result<Option<u64>> {
        self.view = view;
        let restarts = state.graphics.restart && d.indexed;
        if restarts || state.bound.between.evaluation.is_some() {
            self.draw_in_heap(state, d, piece)
        } else {
            self.draw_piece(state, d, piece)
        }
    }

    /// Draws what the last stage left.
    fn fetch(&mut self, state: &mut CommandState<Agx>, e: Expanded, draw_index: u32) -> Result<()> {
        let own = state.graphics.clone();
        let vertex = state.bound.vertex.replace(e.vertex);
        let direct = |count, indexed| {
            Draw::Direct(Counts { count, instances: 1, indexed, draw_index, ..Counts::default() })
        };
        let (index, fetched) = match e.list {
            List::Direct { records, address, indices } => {
                self.put_words(&[(words::OUTPUT, Word::Long(records))]);
                let list = list_buffer(address, 4 * u64::from(indices));
                (Some(list), direct(indices, true))
            }
            List::InOrder { records, vertices } => {
                self.put_words(&[(words::OUTPUT, Word::Long(records))]);
                (None, direct(vertices, false))
            }
            List::Indirect { words, draw, heap: (address, bytes) } => {
                self.vertex_driver = Some(words);
                let draw = Draw::Indirect {
                    address: draw,
                    count: 1,
                    stride: 20,
                    count_address: None,
                    indexed: true,
                    draw_index,
                };
                (Some(list_buffer(address, bytes.into())), draw)
            }
        };
        let index = std::mem::replace(&mut state.index, index);
        let between = std::mem::take(&mut state.bound.between);
        state.graphics.topology = e.topology;
        // Only strips have restarts.
        state.graphics.restart = fetched.is_indexed() && !is_list(e.topology);
        self.programs_changed(state);
        let drawn = self.draw_view(state, &fetched, self.view);
        self.vertex_driver = None;
        state.graphics = own;
        (state.bound.vertex, state.index, state.bound.between) = (vertex, index, between);
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

    /// Draws a piece of a draw whose counts the CPU knows.
    fn draw_piece(
        &mut self,
        state: &mut CommandState<Agx>,
        d: Counts,
        piece: u64,
    ) -> Result<Option<u64>> {
        let emissions = self.looks_at_emissions(state);
        let Stages { vertex, geometry: Some(geometry), .. } = Stages::new(state, emissions)? else {
            return Err(Error::unsupported("draws without a geometry shader"));
        };
        let order = input_order(&state.graphics)?;
        let primitives = order.count(d.count) / order.vertices();
        let (input, output) = (Record::of_vertices(&vertex.ir), Record::of_vertices(&geometry.ir));
        let emission = Emission::of(&geometry.ir);
        let lists = lists(emission.streams, state.graphics.rasterization_stream.into());
        // Vertices that are read, with their places in a list; vertices that are emitted, with their indices and a word of a table.
        let read_b = u64::from(order.vertices()) * u64::from(input.stride().max(16) + 4);
        let emitted_b = u64::from(emission.vertices) * u64::from(output.stride().max(16))
            + 4 * (u64::from(lists) * u64::from(emission.indices) + 1);
        let bytes = read_b + u64::from(emission.invocations) * emitted_b;
        let small = debug::flags().contains(debug::Flags::PIECES);
        let most = if small { SMALL_PIECE_B } else { PIECE_B };
        let pieces = Pieces::new(primitives, d.instances, bytes, most);
        let Some(part) = pieces.get(piece) else { return Ok(None) };
        let stages = GeometryStages { vertex, geometry, order, input, output, emission, lists };
        let all = u64::from(part.primitives) * u64::from(part.instances);
        if !self.begin_piece(bytes.saturating_mul(all).saturating_add(PIECE_SLACK_B), most)? {
            return Ok(Some(piece));
        }
        let expanded = self.expand(state, d, &stages, part);
        self.pieces.open = false;
        self.fetch(state, expanded?, d.draw_index)?;
        Ok((piece + 1 < pieces.count()).then_some(piece + 1))
    }

    /// Runs the stages of a piece of a draw.
    fn expand(
        &mut self,
        state: &mut CommandState<Agx>,
        d: Counts,
        stages: &GeometryStages,
        part: Piece,
    ) -> Result<Expanded> {
        let GeometryStages { geometry, output, emission, lists, .. } = stages;
        let bindings = self.all_bindings(state)?;
        let vertices = self.vertex_records(state, stages, &bindings, d, part)?;
        let primitives = part.primitives;
        let invocations =
            u64::from(primitives) * u64::from(part.instances) * u64::from(emission.invocations);
        let records_b =
            invocations * u64::from(emission.vertices) * u64::from(output.stride().max(16));
        let rasterised = state.graphics.rasterization_stream;
        let emissions = self.looks_at_emissions(state);
        let expansion = Expansion {
            vertices: stages.input,
            rasterised,
            in_order: emission.single && rasterised == 0 && !emissions,
            no_size: !emissions && !makes_points(&state.graphics, emission.output),
            ..Expansion::default()
        };
        let too_many = || {
            let what = format!("{invocations} invocations of a geometry shader in one piece");
            Error::new(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY, what)
        };
        let indices = u32::try_from(invocations * u64::from(emission.indices));
        let indices = indices.map_err(|_| too_many())?;
        let records = self.piece_room(records_b)?;
        let list = match expansion.in_order {
            true => 0,
            false => self.piece_room(4 * u64::from(*lists) * u64::from(indices))?,
        };
        let program = geometry.expanded(&expansion)?;
        let threads = primitives.checked_mul(emission.invocations).ok_or_else(too_many)?;
        let all = [
            (words::VERTICES, Word::Long(vertices)),
            (words::OUTPUT, Word::Long(records)),
            (words::LIST, Word::Long(list)),
            (words::COUNT, Word::Short(primitives)),
            (words::FIRST, Word::Short(part.primitive)),
        ];
        self.stage(&program, state, &bindings, threads, part.instances, &all)?;
        if emissions {
            let invocations = invocations as u32;
            let mut bytes = vec![0; params::BYTES];
            let table = self.piece_room(4 * u64::from(invocations))?;
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
            self.emissions(state, geometry, emission, parameters)?;
        }
        let vertex = geometry.pull(expansion.no_size)?;
        if expansion.in_order {
            // Fewer than the indices, of which there are not too many.
            let vertices = invocations as u32 * emission.vertices;
            let (list, topology) =
                (List::InOrder { records, vertices }, list_topology(emission.output));
            return Ok(Expanded { vertex, list, topology });
        }
        let list = List::Direct { records, address: list, indices };
        Ok(Expanded { vertex, list, topology: topology(emission) })
    }

    /// Draws a piece of a draw whose counts the CPU knows, but not what its stages make of them: it is tessellated, or its indices
    /// have restarts.
    fn draw_in_heap(
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
        let list = self.room(4 * (u64::from(most) + u64::from(THREADS)))?;
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
        // The list of vertices.
        let lists = match restarts && index_bytes > 0 {
            true => Program::Restarts { order, index_bytes },
            false => Program::Unroll { order, index_bytes },
        };
        let v = self.device.clone().meta(lists)?.compute()?;
        let per_primitive = first.indices * first.invocations;
        self.driver[7..11].copy_from_slice(&[e, f, per_primitive, first.invocations]);
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
        let dispatch = groups(params::GEOMETRY_GROUPS);
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

    /// Whether emissions of geometry shaders are needed besides for rasterisation.
    pub(super) fn looks_at_emissions(&self, state: &CommandState<Agx>) -> bool {
        state.feedback.active || !state.bound.between.is_empty() && !self.statistics.is_empty()
    }

    /// Counts the primitives that a geometry shader emitted, and captures their vertices, stream by stream.
    fn emissions(
        &mut self,
        state: &CommandState<Agx>,
        geometry: &Shader,
        emission: &Emission,
        parameters: u64,
    ) -> Result<()> {
        if state.bound.between.geometry.is_some() {
            let number = parameters + u64::from(params::GATHER + gather::COUNT);
            self.count_from_memory(&[(Flags::GEOMETRY_SHADER_INVOCATIONS, number)])?;
        }
        (0..emission.streams)
            .try_for_each(|stream| self.emissions_to(state, geometry, emission, parameters, stream))
    }

    /// Captures the primitives of one stream.
    fn emissions_to(
        &mut self,
        state: &CommandState<Agx>,
        geometry: &Shader,
        emission: &Emission,
        parameters: u64,
        stream: u32,
    ) -> Result<()> {
        let rasterised = u32::from(state.graphics.rasterization_stream);
        let list = list_of(stream, rasterised);
        let last = state.graphics.provoking_last;
        let [count, store] = geometry.gather(Gathered { stream, list, last })?;
        let strides = geometry.strides(stream);
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
        let table = gathered + u64::from(gather::TABLE);
        let number = gathered + u64::from(gather::COUNT);
        self.sums(state, table, number, emitted, each)?;
        if !state.bound.between.is_empty() {
            self.count_stream(stream, rasterised, emitted + 4)?;
        }
        if state.bound.between.geometry.is_some() {
            self.count_from_memory(&[(Flags::GEOMETRY_SHADER_PRIMITIVES, emitted + 4)])?;
        }
        if !state.feedback.active {
            return Ok(());
        }
        // Computes the number that fits.
        let one = Dispatch::Direct([0; 3], [1; 3]);
        let fit = self.device.clone().meta(Program::Fit)?.compute()?;
        let parameters = self.upload(&[0; PARAMETERS_B], 16)?.address;
        let buffers = state.feedback.buffers;
        let words = self.fit_words(&buffers, strides, parameters, [0, 1, each], stream);
        self.driver[..words.len()].copy_from_slice(&words);
        let in_memory = |s: Source| (s == FIT_VERTICES).then_some(emitted);
        self.launch_with(&fit, &none, &state.push, &one, &|_| None, &in_memory)?;
        if strides == [0; 4] {
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

    /// Turns a table of counts into sums of those before: addresses of its address, of their number, and where the sum of all goes,
    /// times a factor and by itself.
    pub(super) fn sums(
        &mut self,
        state: &CommandState<Agx>,
        table: u64,
        number: u64,
        to: u64,
        factor: u32,
    ) -> Result<()> {
        let [low, high] = split(to);
        let sums = self.device.clone().meta(Program::Sums)?.compute()?;
        self.driver[3..6].copy_from_slice(&[low, high, factor]);
        let in_memory = |s: Source| match s {
            Source::Driver { offset } if offset < 8 => Some(table + u64::from(offset)),
            Source::Driver { offset: 8 } => Some(number),
            _ => None,
        };
        let one = Dispatch::Direct([0; 3], [1; 3]);
        self.launch_with(&sums, &Bindings::default(), &state.push, &one, &|_| None, &in_memory)
    }

    /// Runs a program whose words of the driver's are in memory.
    pub(super) fn launch_at(
        &mut self,
        program: &Arc<Variant>,
        bindings: &Bindings,
        state: &CommandState<Agx>,
        dispatch: &Dispatch,
        words: u64,
    ) -> Result<()> {
        let in_memory = |s: Source| match s {
            Source::Driver { offset } => Some(words + u64::from(offset)),
            _ => None,
        };
        self.launch_with(program, bindings, &state.push, dispatch, &|_| None, &in_memory)
    }

    /// Frees the memory of expanded draws: later work is ordered after them.
    pub(super) fn free_expanded(&mut self) {
        (self.pieces.used, self.heap_open, self.heap_reserved) = (0, false, 0);
    }

    /// The heap of draws whose sizes only the GPU knows, shared by all draws of a rendering. Only a
    /// draw that has it to itself may need
    /// more bytes than there are.
    pub(super) fn expansion_heap(&mut self, wanted: u64) -> Result<(u64, u32)> {
        let heap = match self.heap.take().filter(|heap| heap.size >= wanted) {
            Some(heap) => heap,
            None => {
                let bytes = u32::try_from(wanted.next_multiple_of(HEAP_B.into()));
                let bytes = bytes.unwrap_or(HEAP_MOST_B).max(HEAP_B);
                self.device.expansion.heap(&self.device.kernel, bytes.into())?
            }
        };
        let (address, bytes) = (heap.address, heap.size as u32);
        self.heap = Some(heap);
        if !self.heap_open {
            // The number of bytes in use.
            self.order();
            self.fill_buffer(address, 4, HEAP_HEAD_B)?;
            self.order();
            self.heap_open = true;
        }
        Ok((address, bytes))
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
    pub(super) fn room(&mut self, bytes: u64) -> Result<u64> {
        Ok(self.arena.take(&self.device, bytes.max(16), 64)?.address)
    }

    /// Begins a piece of a draw, which takes at most `bytes` bytes. Draws of a rendering take at most `most` bytes together, unless
    /// one needs more; gives whether there is room before the next rendering.
    fn begin_piece(&mut self, bytes: u64, most: u64) -> Result<bool> {
        let end = self.pieces.used.next_multiple_of(64).saturating_add(bytes);
        if self.pieces.used > 0 && end > most {
            return Ok(false);
        }
        if self.pieces.place.as_ref().is_none_or(|place| place.size < end) {
            let grown = end.max(MIN_PIECES_B).checked_next_power_of_two().unwrap_or(end);
            let place = self.device.expansion.pieces(&self.device.kernel, grown)?;
            self.pieces.outgrown.extend(self.pieces.place.replace(place));
        }
        self.pieces.open = true;
        Ok(true)
    }

    /// Memory that the GPU writes for a draw, or for the piece of one that was begun.
    pub(super) fn piece_room(&mut self, bytes: u64) -> Result<u64> {
        if !self.pieces.open {
            return self.room(bytes);
        }
        let at = self.pieces.used.next_multiple_of(64);
        let end = at + bytes;
        let Some(place) = self.pieces.place.as_ref().filter(|place| end <= place.size) else {
            return Err(Error::new(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY, "a piece of a draw"));
        };
        self.pieces.used = end;
        Ok(place.address + at)
    }

    /// Runs the vertex shader for each vertex of a piece's primitives; gives the address of their records.
    fn vertex_records(
        &mut self,
        state: &CommandState<Agx>,
        stages: &GeometryStages,
        bindings: &Bindings,
        d: Counts,
        part: Piece,
    ) -> Result<u64> {
        let GeometryStages { vertex, order, .. } = stages;
        let key = record_key(vertex, &state.graphics);
        let index = if d.indexed { state.index } else { None };
        let added = d.base_vertex();
        let each = order.vertices();
        let (listed, from) = (part.primitives * each, part.primitive * each);
        let all = order.count(d.count);
        let list = self.vertex_list(*order, index, [d.first, added, listed], [from, all])?;
        let stride = stages.input.stride().max(16);
        let written = listed.checked_mul(part.instances).ok_or_else(|| {
            let what = "the vertices of a piece of a draw with a geometry shader";
            Error::new(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY, what)
        })?;
        let records = self.piece_room(u64::from(written) * u64::from(stride))?;
        let v = vertex.vertex(&key, Linking::Whole)?;
        let sources = VertexSources {
            state,
            zeros: self.device.zeros.address,
            base_vertex: added,
            base_instance: d.first_instance,
            draw_index: d.draw_index,
            view: self.view,
        };
        let own = |s: Source| match s {
            Source::CaptureIndices => Some(long(list)),
            s => sources.get(s),
        };
        self.put_words(&[(ADDRESSES, Word::Long(records)), (VERTICES, Word::Short(listed))]);
        let groups = [listed.div_ceil(THREADS), part.instances, 1];
        let dispatch = Dispatch::Direct([0, part.instance, 0], groups);
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
        instances: u32,
        all: &[(u32, Word)],
    ) -> Result<()> {
        self.put_words(all);
        let groups = [threads.div_ceil(program.workgroup[0]), instances, 1];
        let dispatch = Dispatch::Direct([0; 3], groups);
        self.launch_with(program, bindings, &state.push, &dispatch, &|_| None, &|_| None)
    }
}

/// The stages of a draw with a geometry shader whose counts the CPU knows, and what they read and write.
struct GeometryStages {
    vertex: Arc<Shader>,
    geometry: Arc<Shader>,
    order: Order,
    /// Vertices that are read.
    input: Record,
    /// Vertices that are emitted.
    output: Record,
    emission: Emission,
    /// Index lists.
    lists: u32,
}

/// The stages of a draw before the rasteriser.
struct Stages {
    vertex: Arc<Shader>,
    tessellation: Option<Tessellated>,
    geometry: Option<Arc<Shader>>,
}

/// The stages around the tessellator.
pub(super) struct Tessellated {
    pub control: Arc<Shader>,
    pub evaluation: Arc<Shader>,
    pub how: Tessellation,
}

impl Stages {
    /// `emissions` says that something asks for the primitives that reach the rasteriser.
    fn new(state: &CommandState<Agx>, emissions: bool) -> Result<Stages> {
        let between = &state.bound.between;
        let missing = |what| move || Error::unsupported(format!("draws without {what} shader"));
        let vertex = state.bound.vertex.clone().ok_or_else(missing("a vertex"))?;
        let tessellation = match (&between.control, &between.evaluation) {
            (None, None) => None,
            (control, evaluation) => {
                let control = control.clone().ok_or_else(missing("a control"))?;
                let evaluation = evaluation.clone().ok_or_else(missing("an evaluation"))?;
                let how = tessellation(&control, &evaluation, state.graphics.patch_lower_left);
                Some(Tessellated { control, evaluation, how })
            }
        };
        let geometry = match (&between.geometry, &tessellation) {
            (Some(geometry), _) => Some(geometry.clone()),
            // Something has to count and capture what the tessellator makes.
            (None, Some(t)) if emissions => Some(t.evaluation.passed_on(t.how.output())?),
            (None, Some(_)) => None,
            (None, None) => Some(vertex.passed_on(assembled(state.graphics.topology)?)?),
        };
        Ok(Stages { vertex, tessellation, geometry })
    }
}

/// Modes of the tessellator: either stage may set them.
fn tessellation(control: &Shader, evaluation: &Shader, lower_left: bool) -> Tessellation {
    let [c, e] = [&control.ir.info.primitives, &evaluation.ir.info.primitives];
    let clockwise = e.clockwise.or(c.clockwise).unwrap_or(false);
    Tessellation {
        domain: e.input.or(c.input).unwrap_or(PrimitiveKind::Triangles),
        spacing: e.spacing.or(c.spacing).unwrap_or(Spacing::Equal),
        points: e.point_mode || c.point_mode,
        // With v downwards, clockwise is counter-clockwise to the tessellator.
        clockwise: clockwise == lower_left,
    }
}

/// The index buffer of a list that the stages wrote.
fn list_buffer(address: u64, size: u64) -> IndexBuffer {
    IndexBuffer { address, size, index_bytes: 4, is_sparse: false }
}

/// The primitives that a topology makes.
fn assembled(topology: vk::PrimitiveTopology) -> Result<PrimitiveKind> {
    use vk::PrimitiveTopology as T;
    Ok(match topology {
        T::POINT_LIST => PrimitiveKind::Points,
        T::LINE_LIST | T::LINE_STRIP => PrimitiveKind::Lines,
        T::TRIANGLE_LIST | T::TRIANGLE_STRIP | T::TRIANGLE_FAN => PrimitiveKind::Triangles,
        T::LINE_LIST_WITH_ADJACENCY | T::LINE_STRIP_WITH_ADJACENCY => PrimitiveKind::LinesAdjacency,
        T::TRIANGLE_LIST_WITH_ADJACENCY | T::TRIANGLE_STRIP_WITH_ADJACENCY => {
            PrimitiveKind::TrianglesAdjacency
        }
        other => {
            let what =
                format!("primitive topology {} without an evaluation shader", other.as_raw());
            return Err(Error::unsupported(what));
        }
    })
}

/// The order of the vertices of a draw's primitives.
pub(super) fn input_order(s: &GraphicsState) -> Result<Order> {
    if s.topology == vk::PrimitiveTopology::PATCH_LIST {
        return Ok(Order::Whole(s.patch_points.max(1)));
    }
    Order::new(s.topology, s.provoking_last)
        .ok_or_else(|| Error::unsupported("geometry shaders with this topology"))
}

/// The key of a vertex shader that leaves its outputs to the next stage.
fn record_key(vertex: &Shader, s: &GraphicsState) -> VertexKey {
    let mut key = vertex_key(vertex.inputs, s);
    key.results = Results::Record;
    // Later stages convert the depth, and write the view's layer.
    key.negative_one_to_one = false;
    key.multiview = false;
    key
}

/// Whether primitives share no vertices, so that their indices have no restarts.
fn is_list(topology: vk::PrimitiveTopology) -> bool {
    use vk::PrimitiveTopology as T;
    matches!(topology, T::LINE_LIST | T::TRIANGLE_LIST)
}

/// Whether such primitives are drawn as points.
pub(super) fn makes_points(s: &GraphicsState, primitives: PrimitiveKind) -> bool {
    primitives == PrimitiveKind::Points || s.polygon_mode == vk::PolygonMode::POINT
}

/// Topology of primitives that share no vertices.
fn list_topology(primitives: PrimitiveKind) -> vk::PrimitiveTopology {
    match primitives {
        PrimitiveKind::Points => vk::PrimitiveTopology::POINT_LIST,
        PrimitiveKind::Lines => vk::PrimitiveTopology::LINE_LIST,
        _ => vk::PrimitiveTopology::TRIANGLE_LIST,
    }
}

/// Topology of a geometry shader's indices.
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
