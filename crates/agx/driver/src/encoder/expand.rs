//! Draws with geometry or tessellation shaders: each stage before the rasteriser runs as a compute program before the rendering, and a vertex
//! program fetches what the last one left in memory ([`tepui_expand`]).

use std::sync::Arc;

use crate::family::LANES;
use tepui_agx_compiler::Source;
use tepui_expand::capture::{ADDRESSES, VERTICES};
use tepui_expand::gather::word as gather;
use tepui_expand::{Emission, Expansion, Record, lists, word as words};
use tepui_vulkan::backend::{Counts, Dispatch, Draw};
use tepui_vulkan::command::CommandState;
use tepui_vulkan::state::Groups;
use tepui_vulkan::{Error, Result, debug, vk};

use super::Encoder;
use super::bindings::{Bindings, long, split};
use super::stages::{GeometryStages, Stages, list_buffer, record_key};
use super::variants::VertexSources;
use crate::family::Agx;
use crate::shader::{Linking, Shader, Variant};
use tepui_vulkan_expand::pieces::{Piece, Pieces};
use tepui_vulkan_expand::place::params;
use tepui_vulkan_expand::topology::{input_order, is_list, list_topology, makes_points, topology};

/// Bytes that the stages of a draw may take; of a draw that needs more, a piece.
const PIECE_B: u64 = 1 << 28;
/// Bytes of a piece with the option of `TEPUI_DEBUG` for small pieces.
pub(super) const SMALL_PIECE_B: u64 = 1 << 11;
/// Bytes for the alignment of a piece's buffers, and for threads after the end of a list.
pub(super) const PIECE_SLACK_B: u64 = 1 << 10;

/// The hardware draw of an expanded draw.
pub(super) struct Expanded {
    /// The vertex shader that the hardware runs.
    pub(super) vertex: Arc<Shader>,
    /// Location of its vertices and of the index list.
    pub(super) list: List,
    /// Topology of the indices.
    pub(super) topology: vk::PrimitiveTopology,
}

/// Vertices in memory, and their order.
pub(super) enum List {
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
    pub(super) fn fetch(
        &mut self,
        state: &mut CommandState<Agx>,
        e: Expanded,
        draw_index: u32,
    ) -> Result<()> {
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
            let groups = invocations.div_ceil(LANES);
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

    /// The descriptor sets of graphics, whatever a draw has seen of them.
    pub(super) fn all_bindings(&mut self, state: &CommandState<Agx>) -> Result<Bindings> {
        let mut bindings = Bindings::default();
        let mut sets = state.graphics_sets.clone();
        sets.changed = u32::MAX;
        bindings.update(|b| Ok(self.upload(b, 64)?.address), &mut sets)?;
        Ok(bindings)
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
        let groups = [listed.div_ceil(LANES), part.instances, 1];
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

/// A word of the driver's, or two.
#[derive(Clone, Copy)]
enum Word {
    Short(u32),
    Long(u64),
}
