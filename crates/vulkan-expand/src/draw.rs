//! Draws with geometry or tessellation shaders: each stage before the rasteriser runs as a compute program before the rendering, and a
//! vertex program fetches what the last one left in memory ([`tepui_expand`]).

use tepui_expand::capture::{CaptureWords, Destination};
use tepui_expand::gather::GatherWords;
use tepui_expand::{Emission, Expansion, Record, StageWords, lists};
use tepui_sysval::{LaunchWords, MemoryWords, Words as _};
use tepui_vulkan::backend::{Counts, Dispatch, Draw};
use tepui_vulkan::command::CommandState;
use tepui_vulkan::draws::DrawOutcome;
use tepui_vulkan::state::Groups;
use tepui_vulkan::{Error, Result, debug, vk};

use crate::capture::vertex_list;
use crate::derived;
use crate::emissions::{emissions, looks_at_emissions};
use crate::in_heap::draw_in_heap;
use crate::launch::{
    Application, ExpandBackend, ExpandShader, Expander, Launch, ShaderOf, Supplied, VertexValues,
};
use crate::memory::{begin_piece, piece_room};
use crate::params::DrawParams;
use crate::pieces::{Piece, Pieces};
use crate::stages::{GeometryStages, Stages, list_buffer, record_b};
use crate::state::Unfinished;
use crate::topology::{input_order, is_list, list_topology, makes_points, topology};

/// Bytes that the stages of a draw may take; of a draw that needs more, a piece.
const PIECE_B: u64 = 1 << 28;
/// Bytes of a piece with the option of `TEPUI_DEBUG` for small pieces.
pub(crate) const SMALL_PIECE_B: u64 = 1 << 11;
/// Bytes for the alignment of a piece's buffers, and for threads after the end of a list.
pub(crate) const PIECE_SLACK_B: u64 = 1 << 10;

/// The hardware draw of an expanded draw.
pub(crate) struct Expanded<B: ExpandBackend> {
    /// The vertex shader that the hardware runs.
    pub(crate) vertex: ShaderOf<B>,
    /// Location of its vertices and of the index list.
    pub(crate) list: List,
    /// Topology of the indices.
    pub(crate) topology: vk::PrimitiveTopology,
}

/// Vertices in memory, and their order.
pub(crate) enum List {
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
    /// At addresses in memory.
    Indirect {
        /// Address of the vertex shader's words.
        words: u64,
        /// Address of the arguments of the draw.
        draw: u64,
        /// The heap that they are in.
        heap: (u64, u32),
    },
}

/// Draws for all views of the rendering, by the hardware alone or expanded as `expands` says; then the counts have to be known. A draw
/// that needs another rendering is partial: [`draw_rest`] goes on with it.
///
/// # Errors
/// When shaders do not compile, or state is not supported.
pub fn draw<B: ExpandBackend>(
    e: &mut B::Encoder,
    state: &mut CommandState<B>,
    draw: Draw,
    expands: bool,
) -> Result<DrawOutcome> {
    draw_with(e, state, Unfinished { draw, view: 0, piece: 0 }, expands)
}

/// Draws what is left of a draw that was recorded in part.
///
/// # Errors
/// As [`draw`].
#[cold]
pub fn draw_rest<B: ExpandBackend>(
    e: &mut B::Encoder,
    state: &mut CommandState<B>,
) -> Result<DrawOutcome> {
    match e.expansion().unfinished.take() {
        Some(rest) => draw_with(e, state, rest, true),
        None => Ok(DrawOutcome::Complete),
    }
}

fn draw_with<B: ExpandBackend>(
    e: &mut B::Encoder,
    state: &mut CommandState<B>,
    rest: Unfinished,
    expands: bool,
) -> Result<DrawOutcome> {
    let draw = &rest.draw;
    if matches!(draw, Draw::Direct(d) if d.count == 0 || d.instances == 0) {
        return Ok(DrawOutcome::Complete);
    }
    let expanded = match *draw {
        Draw::Direct(d) if expands => Some(d),
        _ => None,
    };
    let view_mask = state.rendering.as_ref().map_or(0, |r| r.view_mask);
    let views = if view_mask == 0 { 1 } else { view_mask };
    for view in (rest.view..32).filter(|v| views >> v & 1 != 0) {
        let Some(counts) = expanded else {
            e.draw_view(state, draw, view, LaunchWords::default())?;
            continue;
        };
        let piece = if view == rest.view { rest.piece } else { 0 };
        if let Some(piece) = draw_expanded(e, state, counts, view, piece)? {
            e.expansion().unfinished = Some(Unfinished { draw: *draw, view, piece });
            return Ok(DrawOutcome::Partial);
        }
    }
    Ok(DrawOutcome::Complete)
}

/// Whether a draw goes through stages that run as compute programs; `known` says that the CPU knows its counts. Families have further
/// reasons of their own.
pub fn expands<B: ExpandBackend>(state: &CommandState<B>, indexed: bool, known: bool) -> bool {
    let restarts = state.graphics.restart && indexed;
    // Captured primitives are counted on the GPU if the CPU does not know them.
    let captures = state.feedback.active && (restarts || !known);
    captures || !state.bound.between.is_empty()
}

/// Draws with shaders between vertices and the rasteriser, for one view. Of a draw that is divided, it draws one piece, and gives the
/// number of the next that needs a rendering of its own.
fn draw_expanded<B: ExpandBackend>(
    e: &mut B::Encoder,
    state: &mut CommandState<B>,
    d: Counts,
    view: u32,
    piece: u64,
) -> Result<Option<u64>> {
    e.expansion().view = view;
    let restarts = state.graphics.restart && d.indexed;
    if restarts || state.bound.between.evaluation.is_some() {
        draw_in_heap(e, state, d, piece)
    } else {
        draw_piece(e, state, d, piece)
    }
}

/// Draws what the last stage left.
pub(crate) fn fetch<B: ExpandBackend>(
    e: &mut B::Encoder,
    state: &mut CommandState<B>,
    expanded: Expanded<B>,
    draw_index: u32,
) -> Result<()> {
    let own = state.graphics.clone();
    let vertex = state.bound.vertex.replace(expanded.vertex);
    let direct = |count, indexed| {
        Draw::Direct(Counts { count, instances: 1, indexed, draw_index, ..Counts::default() })
    };
    let mut stage = StageWords::default();
    let mut in_memory = Vec::new();
    let (index, fetched) = match expanded.list {
        List::Direct { records, address, indices } => {
            stage.output = records.into();
            (Some(list_buffer(address, 4 * u64::from(indices))), direct(indices, true))
        }
        List::InOrder { records, vertices } => {
            stage.output = records.into();
            (None, direct(vertices, false))
        }
        List::Indirect { words, draw, heap: (address, bytes) } => {
            in_memory.push(MemoryWords::all::<StageWords>(words));
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
    state.graphics.topology = expanded.topology;
    // Only strips have restarts.
    state.graphics.restart = fetched.is_indexed() && !is_list(expanded.topology);
    programs_changed(e, state);
    let words = LaunchWords { values: stage.words(), in_memory: &in_memory };
    let view = e.expansion().view;
    let drawn = e.draw_view(state, &fetched, view, words);
    state.graphics = own;
    (state.bound.vertex, state.index, state.bound.between) = (vertex, index, between);
    programs_changed(e, state);
    drawn
}

/// The next draw looks for its programs anew, with another topology.
fn programs_changed<B: ExpandBackend>(e: &mut B::Encoder, state: &mut CommandState<B>) {
    state.shaders_changed = true;
    state.changed |= Groups::TOPOLOGY | Groups::RESTART;
    e.forget_programs();
}

/// Draws a piece of a draw whose counts the CPU knows.
fn draw_piece<B: ExpandBackend>(
    e: &mut B::Encoder,
    state: &mut CommandState<B>,
    d: Counts,
    piece: u64,
) -> Result<Option<u64>> {
    let emissions = looks_at_emissions(e, state);
    let Stages { vertex, geometry: Some(geometry), .. } = Stages::new(state, emissions)? else {
        return Err(Error::unsupported("draws without a geometry shader"));
    };
    let order = input_order(&state.graphics)?;
    let primitives = order.count(d.count) / order.vertices();
    let (input, output) = (Record::of_vertices(vertex.ir()), Record::of_vertices(geometry.ir()));
    let emission = Emission::of(geometry.ir());
    let lists = lists(emission.streams, state.graphics.rasterization_stream.into());
    // Vertices that are read, with their places in a list; vertices that are emitted, with their indices and a word of a table.
    let read_b = u64::from(order.vertices()) * u64::from(record_b(&input) + 4);
    let emitted_b = u64::from(emission.vertices) * u64::from(record_b(&output))
        + 4 * (u64::from(lists) * u64::from(emission.indices) + 1);
    let bytes = read_b + u64::from(emission.invocations) * emitted_b;
    let small = debug::flags().contains(debug::Flags::PIECES);
    let most = if small { SMALL_PIECE_B } else { PIECE_B };
    let pieces = Pieces::new(primitives, d.instances, bytes, most);
    let Some(part) = pieces.get(piece) else { return Ok(None) };
    let stages = GeometryStages { vertex, geometry, order, input, output, emission, lists };
    let all = u64::from(part.primitives) * u64::from(part.instances);
    let wanted = bytes.saturating_mul(all).saturating_add(PIECE_SLACK_B);
    if !begin_piece::<B>(e, wanted, most)? {
        return Ok(Some(piece));
    }
    let expanded = expand(e, state, d, &stages, part);
    e.expansion().pieces.open = false;
    fetch(e, state, expanded?, d.draw_index)?;
    Ok((piece + 1 < pieces.count()).then_some(piece + 1))
}

/// Runs the stages of a piece of a draw.
fn expand<B: ExpandBackend>(
    e: &mut B::Encoder,
    state: &mut CommandState<B>,
    d: Counts,
    stages: &GeometryStages<B>,
    part: Piece,
) -> Result<Expanded<B>> {
    let GeometryStages { geometry, output, emission, lists, .. } = stages;
    let sets = e.graphics_sets(state)?;
    let application = |vertex| Application { state, sets: &sets, vertex };
    let vertices = vertex_records(e, &application, stages, d, part)?;
    let primitives = part.primitives;
    let invocations =
        u64::from(primitives) * u64::from(part.instances) * u64::from(emission.invocations);
    let records_b = invocations * u64::from(emission.vertices) * u64::from(record_b(output));
    let rasterised = state.graphics.rasterization_stream;
    let looks = looks_at_emissions(e, state);
    let expansion = Expansion {
        vertices: stages.input,
        rasterised,
        in_order: emission.single && rasterised == 0 && !looks,
        no_size: !looks && !makes_points(&state.graphics, emission.output),
        ..Expansion::default()
    };
    let too_many = || {
        let what = format!("{invocations} invocations of a geometry shader in one piece");
        Error::new(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY, what)
    };
    let indices = u32::try_from(invocations * u64::from(emission.indices));
    let indices = indices.map_err(|_| too_many())?;
    let records = piece_room::<B>(e, records_b)?;
    let list = match expansion.in_order {
        true => 0,
        false => piece_room::<B>(e, 4 * u64::from(*lists) * u64::from(indices))?,
    };
    let program = geometry.expanded_program(&expansion)?;
    let threads = primitives.checked_mul(emission.invocations).ok_or_else(too_many)?;
    let words = StageWords {
        vertices: vertices.into(),
        output: records.into(),
        list: list.into(),
        count: primitives,
        first: part.primitive,
        ..StageWords::default()
    };
    let groups = threads.div_ceil(<B::Shader as ExpandShader>::threads(&program));
    e.launch_ordered(&Launch {
        program: &program,
        dispatch: Dispatch::Direct([0; 3], [groups, part.instances, 1]),
        words: LaunchWords::of(words.words()),
        application: Some(application(None)),
    })?;
    if looks {
        let invocations = invocations as u32;
        let table = piece_room::<B>(e, 4 * u64::from(invocations))?;
        let params = DrawParams {
            gather: GatherWords {
                list: list.into(),
                table: table.into(),
                records: records.into(),
                invocations,
                ..GatherWords::default()
            },
            gather_groups: [invocations.div_ceil(<B::Encoder as Expander<B>>::LANES), 1, 1],
            ..DrawParams::default()
        };
        let parameters = e.put_bytes(params.bytes(), 64)?;
        self::emissions(e, state, geometry, emission, parameters)?;
    }
    let vertex = derived::pull(&**geometry, expansion.no_size)?;
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

/// Runs the vertex shader for each vertex of a piece's primitives; gives the address of their records.
fn vertex_records<'a, B: ExpandBackend>(
    e: &mut B::Encoder,
    application: &dyn Fn(Option<VertexValues>) -> Application<'a, B>,
    stages: &GeometryStages<B>,
    d: Counts,
    part: Piece,
) -> Result<u64> {
    let GeometryStages { vertex, order, .. } = stages;
    let state = application(None).state;
    let index = if d.indexed { state.index } else { None };
    let added = d.base_vertex();
    let each = order.vertices();
    let listed = part.primitives * each;
    let of_draw = [part.primitive * each, order.count(d.count)];
    let list = vertex_list::<B>(e, *order, index, d.first, [added, listed], of_draw)?;
    let written = listed.checked_mul(part.instances).ok_or_else(|| {
        let what = "the vertices of a piece of a draw with a geometry shader";
        Error::new(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY, what)
    })?;
    let records = piece_room::<B>(e, u64::from(written) * u64::from(record_b(&stages.input)))?;
    let program = vertex.vertex_program(&state.graphics, Destination::Records)?;
    let mut words = CaptureWords { vertices: listed, ..CaptureWords::default() };
    words.buffers[0] = records.into();
    let groups = [listed.div_ceil(<B::Encoder as Expander<B>>::LANES), part.instances, 1];
    e.launch_ordered(&Launch {
        program: &program,
        dispatch: Dispatch::Direct([0, part.instance, 0], groups),
        words: LaunchWords::of(words.words()),
        application: Some(application(Some(VertexValues {
            base_vertex: added,
            first_instance: Supplied::Value(d.first_instance),
            draw_index: d.draw_index,
            list: Supplied::Value(list),
        }))),
    })?;
    Ok(records)
}
