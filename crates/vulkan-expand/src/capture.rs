//! Transform feedback: vertices are captured by a second run of the vertex shader, as a compute program before the rendering
//! ([`tepui_expand::capture`]).
//!
//! For each draw, one program writes the list of vertex numbers in the order of the primitives, and
//! another computes how many primitives fit after those that were captured before: it reads the
//! buffers' offsets, which stay in GPU memory from `vkCmdBeginTransformFeedbackEXT` to its end.

use tepui_expand::capture::{CaptureWords, Destination};
use tepui_sysval::{LaunchWords, MemoryWords, Words as _};
use tepui_vulkan::backend::{Dispatch, Draw, Encoder as _};
use tepui_vulkan::command::{CommandState, IndexBuffer};
use tepui_vulkan::feedback::{Counters, FeedbackBuffer, MAX_FEEDBACK};
use tepui_vulkan::{Error, Result};

use crate::derived::strides;
use crate::feedback::{ByteCountWords, CaptureParams, FitWords};
use crate::launch::{
    Application, ExpandBackend, ExpandShader as _, Expander, Launch, Supplied, VertexValues, run,
};
use crate::memory::piece_room;
use crate::order::{ListSource, ListWords, Order};
use crate::program::Program;

/// Maximum number of bytes written to a buffer: offsets are words.
const MAX_BYTES: u64 = u32::MAX as u64;

/// Begins transform feedback.
///
/// # Errors
/// When there is no memory.
pub fn begin_capture<B: ExpandBackend>(e: &mut B::Encoder, counters: &Counters) -> Result<()> {
    let offsets = e.put_bytes(&[0; 4 * MAX_FEEDBACK], 16)?;
    e.expansion().feedback = offsets;
    e.wait_for_all();
    for (k, &counter) in counters.iter().enumerate() {
        let to = offsets + 4 * k as u64;
        // Without a counter, the word is cleared here too: the commands may run again.
        match counter {
            0 => e.fill_buffer(to, 4, 0)?,
            from => e.copy_buffer(from, to, 4)?,
        }
    }
    e.wait_for_all();
    Ok(())
}

/// Ends transform feedback.
///
/// # Errors
/// When there is no memory.
pub fn end_capture<B: ExpandBackend>(e: &mut B::Encoder, counters: &Counters) -> Result<()> {
    let offsets = std::mem::take(&mut e.expansion().feedback);
    e.wait_for_all();
    for (k, &counter) in counters.iter().enumerate().filter(|c| *c.1 != 0) {
        e.copy_buffer(offsets + 4 * k as u64, counter, 4)?;
    }
    e.wait_for_all();
    Ok(())
}

/// Address of the arguments of a draw of captured vertices: `counter` is the address of the number of captured bytes, `start` the first
/// of them that is drawn.
///
/// # Errors
/// When there is no memory.
pub fn captured_draw<B: ExpandBackend>(
    e: &mut B::Encoder,
    counter: u64,
    start: u32,
    stride: u32,
    instances: u32,
    first_instance: u32,
) -> Result<u64> {
    let to = e.put_bytes(&[0; 16], 16)?;
    let words = ByteCountWords {
        counter: counter.into(),
        draw: to.into(),
        start,
        stride,
        instances,
        first_instance,
    };
    run::<B>(e, Program::ByteCount, LaunchWords::of(words.words()), 1)?;
    Ok(to)
}

/// The words of the program that computes how many vertices of a stream fit: `counts` are the vertices of an instance, the instances,
/// and the vertices of a primitive.
pub(crate) fn fit_words<B: ExpandBackend>(
    e: &B::Encoder,
    buffers: &[FeedbackBuffer; MAX_FEEDBACK],
    strides: [u32; MAX_FEEDBACK],
    parameters: u64,
    [vertices, instances, per_primitive]: [u32; 3],
    stream: u32,
) -> FitWords {
    let state = e.expansion_ref();
    FitWords {
        offsets: state.feedback.into(),
        parameters: parameters.into(),
        buffers: buffers.map(|b| b.address.into()),
        sizes: buffers.map(|b| b.size.min(MAX_BYTES) as u32),
        strides,
        vertices,
        instances,
        per_primitive,
        query: state.feedback_queries[stream as usize].into(),
    }
}

/// The list of vertex numbers, primitive by primitive: of `count` vertices, with `added` added to their numbers, from the draw's first
/// index or vertex `first` on. These are the vertices from number `from` on of `all` of the primitives. Threads after the last vertex
/// may read the list, too.
pub(crate) fn vertex_list<B: ExpandBackend>(
    e: &mut B::Encoder,
    order: Order,
    index: Option<IndexBuffer>,
    first: u32,
    [added, count]: [u32; 2],
    [from, all]: [u32; 2],
) -> Result<u64> {
    let room = count.next_multiple_of(<B::Encoder as Expander<B>>::LANES);
    if index.is_none()
        && order.is_counting()
        && let Some(first) = added.checked_add(from)
        && let Some(list) = e.identity_list(first, room)?
    {
        return Ok(list);
    }
    let list = piece_room::<B>(e, 4 * u64::from(room))?;
    let (indices, index_bytes, in_buffer) = indices_from(index, first);
    let source = ListSource { list: list.into(), indices: indices.into(), added, count, in_buffer };
    let words = ListWords { source, from, all, ..ListWords::default() };
    let unroll = Program::Unroll { order, index_bytes };
    run::<B>(e, unroll, LaunchWords::of(words.words()), count.max(1))?;
    Ok(list)
}

/// Captures the vertices of a draw.
///
/// # Errors
/// When shaders do not compile, or state is not supported.
pub fn capture<B: ExpandBackend>(
    e: &mut B::Encoder,
    state: &CommandState<B>,
    draw: &Draw,
) -> Result<()> {
    let Draw::Direct(d) = *draw else {
        return Err(Error::unsupported("transform feedback of indirect draws by itself"));
    };
    let Some(shader) = state.bound.vertex.clone() else { return Ok(()) };
    let strides = strides(&*shader, 0);
    let s = &state.graphics;
    let order = Order::new(s.topology, s.provoking_last)
        .ok_or_else(|| Error::unsupported("transform feedback of this topology"))?;
    let (per_primitive, vertices) = (order.vertices(), order.count(d.count));
    // Room for as many as there are, or as fit.
    let buffers = state.feedback.buffers;
    let room = (0..MAX_FEEDBACK)
        .filter(|&k| strides[k] > 0)
        .map(|k| buffers[k].size.min(MAX_BYTES) / u64::from(strides[k]));
    let most = room.min().unwrap_or(0).min(u64::from(vertices)) as u32;
    let index = if d.indexed { state.index } else { None };
    let added = d.base_vertex();
    let list = vertex_list::<B>(e, order, index, d.first, [added, most], [0, vertices])?;
    // Computes the number that fits and the destinations.
    let parameters = e.put_bytes(CaptureParams::default().bytes(), 16)?;
    let counts = [vertices, d.instances, per_primitive];
    let words = fit_words::<B>(e, &buffers, strides, parameters, counts, 0);
    run::<B>(e, Program::Fit, LaunchWords::of(words.words()), 1)?;
    if strides == [0; MAX_FEEDBACK] {
        return Ok(());
    }
    // The vertex shader.
    let program = shader.vertex_program(s, Destination::Captures)?;
    let sets = e.graphics_sets(state)?;
    let in_memory = [MemoryWords::all::<CaptureWords>(CaptureParams::CAPTURE.address(parameters))];
    let vertex = VertexValues {
        base_vertex: added,
        first_instance: Supplied::Value(d.first_instance),
        draw_index: d.draw_index,
        list: Supplied::Value(list),
    };
    e.launch_ordered(&Launch {
        program: &program,
        dispatch: Dispatch::Indirect([0; 3], CaptureParams::GROUPS.address(parameters)),
        words: LaunchWords { values: &[], in_memory: &in_memory },
        application: Some(Application { state, sets: &sets, vertex: Some(vertex) }),
    })
}

/// Address of a draw's first index, bytes of an index, and the number of indices in the buffer from
/// there; without a buffer, vertices are numbered directly.
pub(crate) fn indices_from(index: Option<IndexBuffer>, first: u32) -> (u64, u8, u32) {
    let Some(i) = index else { return (0, 0, u32::MAX) };
    let bytes = u64::from(i.index_bytes);
    let left = (i.size / bytes).saturating_sub(u64::from(first)) as u32;
    (i.address + u64::from(first) * bytes, i.index_bytes as u8, left)
}
