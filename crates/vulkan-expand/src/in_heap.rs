//! Expanded draws whose sizes only the GPU knows: tessellated ones, and those of indices with restarts.

use tepui_expand::capture::{CaptureWords, Destination};
use tepui_expand::lower::patch_stride;
use tepui_expand::{Emission, Expansion, Record, TESSELLATED_B, lists};
use tepui_ir::PrimitiveKind;
use tepui_sysval::{LaunchWords, MemoryWords, Words as _};
use tepui_vulkan::backend::{Counts, Dispatch};
use tepui_vulkan::command::{CommandState, IndexBuffer};
use tepui_vulkan::{Error, Result, debug};

use crate::capture::indices_from;
use crate::derived;
use crate::draw::{Expanded, List, PIECE_SLACK_B, SMALL_PIECE_B, fetch};
use crate::emissions::{emissions, looks_at_emissions};
use crate::launch::{
    Application, ExpandBackend, ExpandShader, Expander, Launch, ProgramOf, Supplied, VertexValues,
    run, run_indirect, run_stage,
};
use crate::lists::PartWords;
use crate::memory::{HEAP_B, HEAP_HEAD_B, Listed, heap};
use crate::order::{ListSource, ListWords, Order};
use crate::params::{DrawIndexedArguments, DrawParams};
use crate::pieces::Pieces;
use crate::place::{EmissionSizes, PlaceWords};
use crate::program::Program;
use crate::stages::{Stages, emission_sizes, list_buffer, record_b};
use crate::tessellate::tessellate;
use crate::topology::{input_order, list_topology, makes_points, topology};

/// The first stage after the vertices in memory, and its output.
struct First<B: ExpandBackend> {
    program: ProgramOf<B>,
    sizes: EmissionSizes,
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
    draw_index: u32,
}

impl<B: ExpandBackend> First<B> {
    /// The output of a geometry shader.
    fn emissions(geometry: &B::Shader, expansion: &Expansion) -> Result<Self> {
        let program = geometry.expanded_program(expansion)?;
        Ok(First {
            sizes: emission_sizes::<B>(geometry, expansion.rasterised.into()),
            threads: <B::Shader as ExpandShader>::threads(&program),
            program,
        })
    }

    /// The output of a control shader: the tessellator counts points in its list.
    fn patches(control: &B::Shader, expansion: &Expansion) -> Result<Self> {
        let program = control.expanded_program(expansion)?;
        let ir = control.ir();
        let vertices = ir.info.primitives.vertices.max(1);
        let (patch, record) = (Record::of_patch(ir), Record::of_vertices(ir));
        let records_bytes = patch_stride(&patch, &record, vertices);
        Ok(First {
            sizes: EmissionSizes { invocations: 1, records_bytes, indices: 1, lists: 1 },
            threads: <B::Shader as ExpandShader>::threads(&program) / vertices,
            program,
        })
    }
}

/// Draws a piece of a draw whose counts the CPU knows, but not what its stages make of them: it is tessellated, or its indices
/// have restarts.
pub(crate) fn draw_in_heap<B: ExpandBackend>(
    e: &mut B::Encoder,
    state: &mut CommandState<B>,
    d: Counts,
    piece: u64,
) -> Result<Option<u64>> {
    let order = input_order(&state.graphics)?;
    let restarts = state.graphics.restart && d.indexed;
    // An upper bound if there are restarts.
    let primitives = order.count(d.count) / order.vertices();
    let small = debug::flags().contains(debug::Flags::PIECES);
    let room = if small { SMALL_PIECE_B } else { u64::from(HEAP_B - HEAP_HEAD_B) - PIECE_SLACK_B };
    let bytes = most_bytes(e, state, order)?;
    let pieces = Pieces::new(primitives, d.instances, bytes, room);
    let Some(part) = pieces.get(piece) else { return Ok(None) };
    let all = u64::from(part.primitives) * u64::from(part.instances);
    let wanted = bytes.saturating_mul(all).saturating_add(PIECE_SLACK_B);
    if !e.expansion().heap.reserve(wanted) {
        return Ok(Some(piece));
    }
    let index = if d.indexed { state.index } else { None };
    let base_vertex = d.base_vertex();
    let each = order.vertices();
    // A whole draw may have vertices after the last primitive.
    let whole = part.primitives == primitives;
    let (count, skipped) = match whole {
        true => (d.count, 0),
        false => (part.primitives * each, part.primitive * each),
    };
    let (input, arguments) = if restarts && !whole {
        // The start of a primitive is known when all before are found.
        let listed = match e.expansion().pieces.listed.filter(|_| piece > 0) {
            Some(listed) => listed,
            None => list_primitives::<B>(e, order, index, d)?,
        };
        e.expansion().pieces.listed = Some(listed);
        let index = Some(list_buffer(listed.list, 4 * u64::from(listed.most)));
        let input = Input { order: Order::Whole(each), index, restarts: false };
        let instances = [part.instances, d.first_instance];
        (input, part_of::<B>(e, listed, [skipped, count], instances)?)
    } else {
        let first = d.first.wrapping_add(skipped);
        let arguments = DrawIndexedArguments {
            count,
            instances: part.instances,
            first,
            vertex_offset: base_vertex,
            first_instance: d.first_instance,
        };
        let arguments = match d.indexed {
            true => e.put_bytes(arguments.bytes(), 16)?,
            false => {
                let words = [count, part.instances, first, d.first_instance];
                e.put_bytes(words.map(u32::to_le_bytes).as_flattened(), 16)?
            }
        };
        (Input { order, index, restarts }, arguments)
    };
    let start = Start {
        instance: part.instance,
        primitive: part.primitive,
        base_vertex,
        draw_index: d.draw_index,
    };
    heap::<B>(e, wanted)?;
    let expanded = expand_in_heap(e, state, input, arguments, start)?;
    fetch(e, state, expanded, d.draw_index)?;
    Ok((piece + 1 < pieces.count()).then_some(piece + 1))
}

/// Lists the vertices of all primitives of indices with restarts.
fn list_primitives<B: ExpandBackend>(
    e: &mut B::Encoder,
    order: Order,
    index: Option<IndexBuffer>,
    d: Counts,
) -> Result<Listed> {
    let most = order.count(d.count);
    // Threads after the last one may read the list.
    let lanes = <B::Encoder as Expander<B>>::LANES;
    let list = e.gpu_memory(4 * (u64::from(most) + u64::from(lanes)))?;
    let parameters = e.put_bytes(DrawParams::default().bytes(), 64)?;
    let (indices, index_bytes, in_buffer) = indices_from(index, d.first);
    let source = ListSource {
        list: list.into(),
        indices: indices.into(),
        added: d.vertex_offset as u32,
        count: d.count,
        in_buffer,
    };
    let words = ListWords { source, parameters: parameters.into(), ..ListWords::default() };
    let restarts = Program::Restarts { order, index_bytes };
    run::<B>(e, restarts, LaunchWords::of(words.words()), 1)?;
    let number = DrawParams::VERTEX.then(CaptureWords::VERTICES).address(parameters);
    Ok(Listed { list, most, number })
}

/// Address of the arguments of an indexed draw of at most `most` of the vertices of a list, from a number on.
fn part_of<B: ExpandBackend>(
    e: &mut B::Encoder,
    listed: Listed,
    [first, most]: [u32; 2],
    [instances, first_instance]: [u32; 2],
) -> Result<u64> {
    let to = e.put_bytes(DrawIndexedArguments::default().bytes(), 16)?;
    let words = PartWords {
        number: listed.number.into(),
        draw: to.into(),
        first,
        most,
        instances,
        first_instance,
    };
    run::<B>(e, Program::Part, LaunchWords::of(words.words()), 1)?;
    Ok(to)
}

/// Maximum bytes of a primitive in the heap.
fn most_bytes<B: ExpandBackend>(
    e: &B::Encoder,
    state: &CommandState<B>,
    order: Order,
) -> Result<u64> {
    let Stages { vertex, tessellation, geometry } =
        Stages::new(state, looks_at_emissions(e, state))?;
    let stride = |s: &B::Shader| u64::from(record_b(&Record::of_vertices(s.ir())));
    let read_b = u64::from(order.vertices()) * (stride(&vertex) + 4);
    // Bytes for each primitive that a geometry shader reads.
    let emitted_b = geometry.as_ref().map_or(0, |g| {
        let emission = Emission::of(g.ir());
        let lists = lists(emission.streams, state.graphics.rasterization_stream.into());
        let indices = 4 * (u64::from(lists) * u64::from(emission.indices) + 1);
        u64::from(emission.invocations) * (u64::from(emission.vertices) * stride(g) + indices)
    });
    let Some(t) = tessellation else { return Ok(read_b + emitted_b) };
    let control = t.control.ir();
    let (patch, controlled) = (Record::of_patch(control), Record::of_vertices(control));
    let vertices = control.info.primitives.vertices.max(1);
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

/// Lists the vertices of a draw whose parameters are in memory.
fn list_in_memory<B: ExpandBackend>(
    e: &mut B::Encoder,
    input: &Input,
    parameters: u64,
    sizes: &EmissionSizes,
) -> Result<()> {
    let Input { order, index, restarts } = *input;
    let (_, index_bytes, _) = indices_from(index, 0);
    let program = match restarts && index_bytes > 0 {
        true => Program::Restarts { order, index_bytes },
        false => Program::Unroll { order, index_bytes },
    };
    let program = e.program(program)?;
    let words = ListWords {
        parameters: parameters.into(),
        indices_each: sizes.indices * sizes.invocations,
        invocations: sizes.invocations,
        ..ListWords::default()
    };
    let source = DrawParams::LIST;
    let in_memory = [
        MemoryWords::field(ListWords::SOURCE, source.address(parameters)),
        MemoryWords::field(ListWords::ALL, source.then(ListSource::COUNT).address(parameters)),
    ];
    let words = LaunchWords { values: words.words(), in_memory: &in_memory };
    run_indirect::<B>(e, &program, words, DrawParams::LIST_GROUPS.address(parameters))
}

/// Runs the stages of a draw, or of a piece of one, whose arguments are in memory.
fn expand_in_heap<B: ExpandBackend>(
    e: &mut B::Encoder,
    state: &CommandState<B>,
    input: Input,
    arguments: u64,
    start: Start,
) -> Result<Expanded<B>> {
    let looks = looks_at_emissions(e, state);
    let Stages { vertex, tessellation, geometry } = Stages::new(state, looks)?;
    let s = &state.graphics;
    let sets = e.graphics_sets(state)?;
    let record = Record::of_vertices(vertex.ir());
    let no_size = |g: &B::Shader| !looks && !makes_points(s, Emission::of(g.ir()).output);
    let no_size = geometry.as_deref().is_some_and(no_size);
    // A control shader keeps what its evaluation shader reads.
    let expansion = Expansion {
        vertices: record,
        rasterised: s.rasterization_stream,
        no_size: no_size && tessellation.is_none(),
        ..Expansion::default()
    };
    // Output of the first stage for each primitive or patch.
    let first = match (&tessellation, &geometry) {
        (Some(t), _) => First::<B>::patches(&t.control, &expansion)?,
        (None, Some(g)) => First::<B>::emissions(g, &expansion)?,
        (None, None) => return Err(Error::unsupported("draws that need no expansion")),
    };
    let heap = heap::<B>(e, 0)?;
    let parameters = e.put_bytes(DrawParams::default().bytes(), 64)?;
    let (indices, index_bytes, in_buffer) = indices_from(input.index, 0);
    let words = PlaceWords {
        arguments: arguments.into(),
        heap: heap.0.into(),
        heap_bytes: heap.1,
        parameters: parameters.into(),
        indices: indices.into(),
        in_buffer,
        vertex_bytes: record_b(&record),
        emission: first.sizes,
        threads: first.threads,
        first_primitive: start.primitive,
    };
    let Input { order, restarts: restart, .. } = input;
    let place = Program::Place { order, index_bytes, restart };
    run::<B>(e, place, LaunchWords::of(words.words()), 1)?;
    list_in_memory::<B>(e, &input, parameters, &first.sizes)?;
    let application = |vertex| Application { state, sets: &sets, vertex };
    // The vertices.
    let program = vertex.vertex_program(s, Destination::Records)?;
    let in_memory = [MemoryWords::all::<CaptureWords>(DrawParams::VERTEX.address(parameters))];
    let values = VertexValues {
        base_vertex: start.base_vertex,
        first_instance: Supplied::Memory(DrawParams::FIRST_INSTANCE.address(parameters)),
        draw_index: start.draw_index,
        list: Supplied::Memory(DrawParams::LIST.then(ListSource::LIST).address(parameters)),
    };
    let groups = DrawParams::VERTEX_GROUPS.address(parameters);
    e.launch_ordered(&Launch {
        program: &program,
        dispatch: Dispatch::Indirect([0, start.instance, 0], groups),
        words: LaunchWords { values: &[], in_memory: &in_memory },
        application: Some(application(Some(values))),
    })?;
    // The primitives or patches.
    let groups = DrawParams::GEOMETRY_GROUPS.address(parameters);
    let words = DrawParams::STAGE.address(parameters);
    run_stage(e, &first.program, application(None), words, groups)?;
    let (parameters, vertex, output) = match (tessellation, &geometry) {
        (None, Some(g)) => (parameters, derived::pull(&**g, no_size)?, None),
        (Some(t), g) => {
            let (vertex, later) = tessellate(e, &application(None), parameters, &t, g.as_deref())?;
            (later, vertex, Some(t.how.output()))
        }
        (None, None) => return Err(Error::unsupported("draws that need no expansion")),
    };
    if looks && let Some(g) = &geometry {
        emissions(e, state, &**g, &Emission::of(g.ir()), parameters)?;
    }
    let (words, topology) = match (&geometry, output) {
        (Some(last), _) => (DrawParams::STAGE, topology(&Emission::of(last.ir()))),
        (None, output) => {
            let topology = list_topology(output.unwrap_or(PrimitiveKind::Triangles));
            (DrawParams::EVALUATE, topology)
        }
    };
    let draw = DrawParams::DRAW.address(parameters);
    let list = List::Indirect { words: words.address(parameters), draw, heap };
    Ok(Expanded { vertex, list, topology })
}
