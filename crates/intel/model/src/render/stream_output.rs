//! Stream output (transform feedback): writes vertices of assembled primitives to buffers.

use tepui_intel_packets::stages::{SoDecl, State3dSoBuffer, State3dSoDeclList, State3dStreamout};

use super::assembly::Assembled;
use super::state::{latched, unpack};
use super::unit::UNIT;
use super::vertex::Vertices;
use crate::context::HardwareContext;
use crate::job::JobFault;
use crate::memory::Memory;
use crate::registers::{self, NoRegister};

/// Number of stream output buffers.
const BUFFERS: usize = 4;
/// Number of streams of a geometry shader.
pub(super) const STREAMS: usize = 4;

/// The destination of a component of a vertex.
struct Component {
    buffer: usize,
    /// Its offset in the vertex's entry; none for a hole, which is skipped.
    place: Option<usize>,
}

/// A vertex stream.
#[derive(Default)]
struct Stream {
    components: Vec<Component>,
    /// Mask of the buffers that the stream is written to.
    selected: u32,
    /// Number of primitives needed (that would have fit in sufficient buffers), and written.
    needed: u64,
    written: u64,
}

/// The stream output of a draw.
pub(super) struct StreamOutput {
    streams: [Stream; STREAMS],
    /// The stream that is rasterised.
    pub drawn: usize,
    /// Address and size in bytes of each buffer.
    buffers: [Option<(u64, u64)>; BUFFERS],
    /// Strides of vertices in bytes.
    pitches: [u64; BUFFERS],
    /// Write offsets.
    offsets: [u64; BUFFERS],
    /// Whether rasterisation is disabled.
    pub discards: bool,
    counts: bool,
}

impl StreamOutput {
    /// The stream output state of a context; `None` if it is disabled.
    pub fn of(context: &HardwareContext) -> Result<Option<StreamOutput>, JobFault> {
        let state: State3dStreamout = latched(context)?;
        if !state.so_function_enable {
            return Ok(None);
        }
        let list: State3dSoDeclList = match context.latched.get("3DSTATE_SO_DECL_LIST") {
            Some(bytes) => {
                unpack(context, &bytes[..State3dSoDeclList::SIZE_BYTES.min(bytes.len())])?
            }
            None => State3dSoDeclList::default(),
        };
        let bytes = context.latched.get("3DSTATE_SO_DECL_LIST");
        let entries = bytes.and_then(|b| b.get(State3dSoDeclList::SIZE_BYTES..)).unwrap_or(&[]);
        let offsets = [
            state.stream_0_vertex_read_offset,
            state.stream_1_vertex_read_offset,
            state.stream_2_vertex_read_offset,
            state.stream_3_vertex_read_offset,
        ];
        let selected = [
            list.stream_to_buffer_selects_0,
            list.stream_to_buffer_selects_1,
            list.stream_to_buffer_selects_2,
            list.stream_to_buffer_selects_3,
        ];
        let counts =
            [list.num_entries_0, list.num_entries_1, list.num_entries_2, list.num_entries_3];
        let mut streams: [Stream; STREAMS] = Default::default();
        for (index, stream) in streams.iter_mut().enumerate() {
            stream.selected = selected[index];
            // The read offset is in units of two vectors.
            let first = if offsets[index] { 8 } else { 0 };
            // An entry contains a declaration for each of four streams.
            for entry in entries.chunks_exact(8).take(counts[index] as usize) {
                let at = index * SoDecl::SIZE_BYTES;
                let decl: SoDecl = unpack(context, &entry[at..at + SoDecl::SIZE_BYTES])?;
                for component in (0..4).filter(|c| decl.component_mask >> c & 1 != 0) {
                    let place = first + 4 * decl.register_index as usize + component;
                    stream.components.push(Component {
                        buffer: decl.output_buffer_slot as usize,
                        place: (!decl.hole_flag).then_some(place),
                    });
                }
            }
        }
        let mut buffers = [None; BUFFERS];
        let mut offsets = [0; BUFFERS];
        for (index, (buffer, offset)) in buffers.iter_mut().zip(&mut offsets).enumerate() {
            if let Some(bytes) = context.stream_buffers.get(&(index as u32)) {
                let state: State3dSoBuffer = unpack(context, bytes)?;
                if state.so_buffer_enable {
                    // The size is in double words, minus one.
                    let size = 4 * (u64::from(state.surface_size) + 1);
                    *buffer = Some((state.surface_base_address, size));
                }
            }
            let register = registers::SO_WRITE_OFFSET + 4 * index as u32;
            *offset = u64::from(context.registers.get(register));
        }
        Ok(Some(StreamOutput {
            streams,
            drawn: state.render_stream_select as usize % STREAMS,
            buffers,
            pitches: [
                state.buffer_0_surface_pitch,
                state.buffer_1_surface_pitch,
                state.buffer_2_surface_pitch,
                state.buffer_3_surface_pitch,
            ]
            .map(u64::from),
            offsets,
            discards: state.rendering_disable,
            counts: state.so_statistics_enable,
        }))
    }

    /// Writes primitives of a stream, with a number of vertices each, while they fit in all buffers. `first` is
    /// the index of the vertex that is written first, before those that follow it around the primitive.
    pub fn write(
        &mut self,
        memory: &mut Memory<'_>,
        vertices: &Vertices,
        (stream, list): (usize, &[Assembled]),
        count: usize,
        first: usize,
    ) -> Result<(), JobFault> {
        let stream = &mut self.streams[stream];
        for (three, _) in list {
            stream.needed += 1;
            let room = (0..BUFFERS).filter(|b| stream.selected >> b & 1 != 0).all(|b| {
                let end = self.offsets[b] + self.pitches[b] * count as u64;
                self.buffers[b].is_some_and(|(_, size)| end <= size)
            });
            if !room {
                continue;
            }
            stream.written += 1;
            for k in 0..count {
                let entry = vertices.entry(three[(first + k) % count]);
                let mut at = self.offsets;
                for component in &stream.components {
                    let Some((base, _)) = self.buffers[component.buffer] else { continue };
                    if let Some(place) = component.place {
                        let value = entry.get(place).copied().unwrap_or(0);
                        memory
                            .write(base + at[component.buffer], &value.to_le_bytes())
                            .map_err(|fault| JobFault::memory(UNIT, fault))?;
                    }
                    at[component.buffer] += 4;
                }
                for buffer in (0..BUFFERS).filter(|b| stream.selected >> b & 1 != 0) {
                    self.offsets[buffer] += self.pitches[buffer];
                }
            }
        }
        Ok(())
    }

    /// Stores the write offsets for the next draw, and the statistics.
    pub fn finish(
        &self,
        context: &mut HardwareContext,
        memory: &mut Memory<'_>,
    ) -> Result<(), JobFault> {
        let problem = |problem: NoRegister| JobFault::new(UNIT, problem.to_string());
        let file = &mut context.registers;
        for (index, offset) in (0..).zip(self.offsets) {
            file.set(registers::SO_WRITE_OFFSET + 4 * index, offset as u32).map_err(problem)?;
        }
        for (index, stream) in (0..).zip(&self.streams).filter(|_| self.counts) {
            for (register, value) in [
                (registers::SO_PRIMITIVES_WRITTEN + 8 * index, stream.written),
                (registers::SO_PRIMITIVES_NEEDED + 8 * index, stream.needed),
            ] {
                let sum = file.get64(register).wrapping_add(value);
                file.set64(register, sum).map_err(problem)?;
            }
        }
        for (index, bytes) in &context.stream_buffers {
            let state: State3dSoBuffer = unpack(context, bytes)?;
            if state.stream_output_buffer_offset_address_enable && state.so_buffer_enable {
                let offset = self.offsets[*index as usize % BUFFERS] as u32;
                memory
                    .write(state.stream_output_buffer_offset_address, &offset.to_le_bytes())
                    .map_err(|fault| JobFault::memory(UNIT, fault))?;
            }
        }
        Ok(())
    }
}
