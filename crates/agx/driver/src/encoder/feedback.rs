//! Transform feedback: vertices are captured by a second run of the vertex shader, as a compute program before the rendering
//! ([`tepui_agx_compiler::abi::capture`]).
//!
//! For each draw, one program writes the list of vertex numbers in the order of the primitives, and
//! another computes how many primitives fit after those that were captured before: it reads the
//! buffers' offsets, which stay in GPU memory from `vkCmdBeginTransformFeedbackEXT` to its end.

use crate::family::LANES;
use tepui_agx_compiler::Source;
use tepui_vulkan::backend::{Dispatch, Draw, Encoder as _};
use tepui_vulkan::command::{CommandState, IndexBuffer};
use tepui_vulkan::feedback::{Counters, FeedbackBuffer, MAX_FEEDBACK};
use tepui_vulkan::{Error, Result};

use super::Encoder;
use super::bindings::split;
use super::variants::{VertexSources, vertex_key};
use crate::family::Agx;
use crate::shader::Results;
use tepui_vulkan_expand::Order;
use tepui_vulkan_expand::Program;
use tepui_vulkan_expand::UNROLL_ALL;
use tepui_vulkan_expand::UNROLL_FROM;
use tepui_vulkan_expand::feedback::LIST;
use tepui_vulkan_expand::feedback::PARAMETERS_B;

/// Maximum number of bytes written to a buffer: offsets are words.
const MAX_BYTES: u64 = u32::MAX as u64;
/// The word of that program that counts the vertices of an instance.
pub(super) const FIT_VERTICES: Source = Source::Driver { offset: 80 };

impl Encoder {
    pub(super) fn begin_capture(&mut self, counters: &Counters) -> Result<()> {
        let offsets = self.upload(&[0; 16], 16)?.address;
        self.feedback = offsets;
        self.order();
        for (k, &counter) in counters.iter().enumerate() {
            let to = offsets + 4 * k as u64;
            // Without a counter, the word is cleared here too: the commands may run again.
            match counter {
                0 => self.fill_buffer(to, 4, 0)?,
                from => self.copy_buffer(from, to, 4)?,
            }
        }
        self.order();
        Ok(())
    }

    pub(super) fn end_capture(&mut self, counters: &Counters) -> Result<()> {
        let offsets = std::mem::take(&mut self.feedback);
        self.order();
        for (k, &counter) in counters.iter().enumerate().filter(|c| *c.1 != 0) {
            self.copy_buffer(offsets + 4 * k as u64, counter, 4)?;
        }
        self.order();
        Ok(())
    }

    /// Arguments of an indirect draw of the captured vertices after `start` bytes.
    pub(super) fn captured_draw(
        &mut self,
        counter: u64,
        start: u32,
        stride: u32,
        instances: u32,
        first_instance: u32,
    ) -> Result<u64> {
        let to = self.upload(&[0; 16], 16)?.address;
        let ([a, b], [c, d]) = (split(counter), split(to));
        let words = [a, b, c, d, start, stride, instances, first_instance];
        self.run(Program::ByteCount, &words, &[], [1; 3])?;
        Ok(to)
    }

    /// The words of the program that computes how many vertices of a stream fit: `counts` are the vertices of an instance, the
    /// instances, and the vertices of a primitive.
    pub(super) fn fit_words(
        &self,
        buffers: &[FeedbackBuffer; MAX_FEEDBACK],
        strides: [u32; MAX_FEEDBACK],
        parameters: u64,
        counts: [u32; 3],
        stream: u32,
    ) -> Vec<u32> {
        let mut words = [split(self.feedback), split(parameters)].concat();
        words.extend(buffers.iter().flat_map(|b| split(b.address)));
        words.extend(buffers.iter().map(|b| b.size.min(MAX_BYTES) as u32));
        words.extend(strides);
        words.extend(counts);
        words.extend(split(self.feedback_queries[stream as usize]));
        words
    }

    /// The list of vertex numbers, primitive by primitive. Parameters: the first index or vertex, the
    /// number that is added, and the count; the first of these among all vertices of the primitives,
    /// and the number of those. Threads after the last vertex may read the list, too.
    pub(super) fn vertex_list(
        &mut self,
        order: Order,
        index: Option<IndexBuffer>,
        [first, added, count]: [u32; 3],
        [from, all]: [u32; 2],
    ) -> Result<u64> {
        if index.is_none()
            && order.is_counting()
            && let Some(first) = added.checked_add(from)
            && let Some(list) = self.device.counting_list(first, count.next_multiple_of(LANES))?
        {
            return Ok(list);
        }
        let list = self.piece_room(4 * u64::from(count.next_multiple_of(LANES)))?;
        let (indices, index_bytes, indices_in_buffer) = indices_from(index, first);
        let ([a, b], [c, d]) = (split(list), split(indices));
        let unroll = Program::Unroll { order, index_bytes };
        let mut words = [a, b, c, d, added, count, indices_in_buffer, 0, 0, 0, 0, 0, 0];
        (words[UNROLL_FROM], words[UNROLL_ALL]) = (from, all);
        self.run(unroll, &words, &[], [count.max(1), 1, 1])?;
        Ok(list)
    }

    /// Captures the vertices of a draw.
    pub(super) fn capture(&mut self, state: &mut CommandState<Agx>, draw: &Draw) -> Result<()> {
        let Draw::Direct(d) = *draw else {
            return Err(Error::unsupported("transform feedback of indirect draws by itself"));
        };
        let Some(shader) = state.bound.vertex.clone() else { return Ok(()) };
        let strides = shader.strides(0);
        let s = &state.graphics;
        let order = Order::new(s.topology, s.provoking_last)
            .ok_or_else(|| Error::unsupported("transform feedback of this topology"))?;
        let (per_primitive, vertices) = (order.vertices(), order.count(d.count));
        let mut key = vertex_key(shader.inputs, s);
        key.results = Results::Feedback;
        // Room for as many as there are, or as fit.
        let buffers = state.feedback.buffers;
        let room = (0..4)
            .filter(|&k| strides[k] > 0)
            .map(|k| buffers[k].size.min(MAX_BYTES) / u64::from(strides[k]));
        let most = room.min().unwrap_or(0).min(u64::from(vertices)) as u32;
        let index = if d.indexed { state.index } else { None };
        let added = d.base_vertex();
        let list = self.vertex_list(order, index, [d.first, added, most], [0, vertices])?;
        // Computes the number that fits and the destinations.
        let parameters = self.upload(&[0; PARAMETERS_B], 16)?.address;
        let words = self.fit_words(
            &buffers,
            strides,
            parameters,
            [vertices, d.instances, per_primitive],
            0,
        );
        self.run(Program::Fit, &words, &[], [1; 3])?;
        if strides == [0; 4] {
            return Ok(());
        }
        // The vertex shader.
        let v = shader.vertex(&key, crate::shader::Linking::Whole)?;
        let bindings = self.all_bindings(state)?;
        let sources = VertexSources {
            state,
            zeros: self.device.zeros.address,
            base_vertex: added,
            base_instance: d.first_instance,
            draw_index: d.draw_index,
            view: 0,
        };
        let own = |s: Source| match s {
            Source::CaptureIndices => Some(super::bindings::long(list)),
            s => sources.get(s),
        };
        let from_memory = |s: Source| match s {
            Source::Driver { offset } => Some(parameters + u64::from(offset)),
            _ => None,
        };
        let dispatch = Dispatch::Indirect([0; 3], parameters + u64::from(LIST));
        self.launch_with(&v, &bindings, &state.push, &dispatch, &own, &from_memory)
    }
}

/// Address of a draw's first index, bytes of an index, and the number of indices in the buffer from
/// there; without a buffer, vertices are numbered directly.
pub(super) fn indices_from(index: Option<IndexBuffer>, first: u32) -> (u64, u8, u32) {
    let Some(i) = index else { return (0, 0, u32::MAX) };
    let bytes = u64::from(i.index_bytes);
    let left = (i.size / bytes).saturating_sub(u64::from(first)) as u32;
    (i.address + u64::from(first) * bytes, i.index_bytes as u8, left)
}
