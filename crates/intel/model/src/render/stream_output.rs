//! Stream output (transform feedback): vertices of assembled primitives go to buffers.

use tepui_intel_packets::stages::{SoDecl, State3dSoBuffer, State3dSoDeclList, State3dStreamout};

use super::assembly::Assembled;
use super::state::{latched, unpack};
use super::vertex::Vertices;
use super::{UNIT, unimplemented};
use crate::context::HardwareContext;
use crate::job::JobFault;
use crate::memory::Memory;
use crate::registers::{self, NoRegister};

/// Buffers of stream output.
const BUFFERS: usize = 4;

/// Where a component of a vertex goes.
struct Component {
    buffer: usize,
    /// Its place in the vertex's entry; none for a hole, which is left as it is.
    place: Option<usize>,
}

/// The stream output of a draw.
pub(super) struct StreamOutput {
    components: Vec<Component>,
    /// Buffers that the stream goes to.
    selected: u32,
    /// Address and bytes of each buffer.
    buffers: [Option<(u64, u64)>; BUFFERS],
    /// Bytes from vertex to vertex.
    pitches: [u64; BUFFERS],
    /// Where the next vertex goes.
    offsets: [u64; BUFFERS],
    /// Nothing is drawn.
    pub discards: bool,
    /// Primitives that there would be room for, and that were written.
    needed: u64,
    written: u64,
    counts: bool,
}

impl StreamOutput {
    /// What a context says of stream output; `None` where it is off.
    pub fn of(context: &HardwareContext) -> Result<Option<StreamOutput>, JobFault> {
        let state: State3dStreamout = latched(context)?;
        if !state.so_function_enable {
            return Ok(None);
        }
        let list: State3dSoDeclList = match context.latched.get("3DSTATE_SO_DECL_LIST") {
            Some(bytes) => unpack(&bytes[..State3dSoDeclList::SIZE_BYTES.min(bytes.len())])?,
            None => State3dSoDeclList::default(),
        };
        if [list.num_entries_1, list.num_entries_2, list.num_entries_3] != [0; 3] {
            return Err(unimplemented("stream output of several streams"));
        }
        let bytes = context.latched.get("3DSTATE_SO_DECL_LIST");
        let entries = bytes.and_then(|b| b.get(State3dSoDeclList::SIZE_BYTES..)).unwrap_or(&[]);
        // The read offset counts pairs of vectors.
        let first = if state.stream_0_vertex_read_offset { 8 } else { 0 };
        let mut components = Vec::new();
        // An entry has the declarations of four streams.
        for entry in entries.chunks_exact(8).take(list.num_entries_0 as usize) {
            let decl: SoDecl = unpack(&entry[..SoDecl::SIZE_BYTES])?;
            for component in (0..4).filter(|c| decl.component_mask >> c & 1 != 0) {
                let place = first + 4 * decl.register_index as usize + component;
                components.push(Component {
                    buffer: decl.output_buffer_slot as usize,
                    place: (!decl.hole_flag).then_some(place),
                });
            }
        }
        let mut buffers = [None; BUFFERS];
        let mut offsets = [0; BUFFERS];
        for (index, (buffer, offset)) in buffers.iter_mut().zip(&mut offsets).enumerate() {
            if let Some(bytes) = context.stream_buffers.get(&(index as u32)) {
                let state: State3dSoBuffer = unpack(bytes)?;
                if state.so_buffer_enable {
                    // The size counts double words, less one.
                    let size = 4 * (u64::from(state.surface_size) + 1);
                    *buffer = Some((state.surface_base_address, size));
                }
            }
            let register = registers::SO_WRITE_OFFSET + 4 * index as u32;
            *offset = u64::from(context.registers.get(register));
        }
        Ok(Some(StreamOutput {
            components,
            selected: list.stream_to_buffer_selects_0,
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
            needed: 0,
            written: 0,
            counts: state.so_statistics_enable,
        }))
    }

    /// Writes primitives of so many vertices, as long as all buffers have room. `first` is the number
    /// of the vertex that is written first, before those that follow it around the primitive.
    pub fn write(
        &mut self,
        memory: &mut Memory<'_>,
        vertices: &Vertices,
        list: &[Assembled],
        count: usize,
        first: usize,
    ) -> Result<(), JobFault> {
        for (three, _) in list {
            self.needed += 1;
            let room = (0..BUFFERS).filter(|b| self.selected >> b & 1 != 0).all(|b| {
                let end = self.offsets[b] + self.pitches[b] * count as u64;
                self.buffers[b].is_some_and(|(_, size)| end <= size)
            });
            if !room {
                continue;
            }
            self.written += 1;
            for k in 0..count {
                let entry = vertices.entry(three[(first + k) % count]);
                let mut at = self.offsets;
                for component in &self.components {
                    let Some((base, _)) = self.buffers[component.buffer] else { continue };
                    if let Some(place) = component.place {
                        let value = entry.get(place).copied().unwrap_or(0);
                        memory
                            .write(base + at[component.buffer], &value.to_le_bytes())
                            .map_err(|fault| JobFault::memory(UNIT, fault))?;
                    }
                    at[component.buffer] += 4;
                }
                for buffer in 0..BUFFERS {
                    self.offsets[buffer] += self.pitches[buffer];
                }
            }
        }
        Ok(())
    }

    /// Keeps where the next draw goes on, and counts.
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
        if self.counts {
            for (register, value) in [
                (registers::SO_PRIMITIVES_WRITTEN, self.written),
                (registers::SO_PRIMITIVES_NEEDED, self.needed),
            ] {
                let sum = file.get64(register).wrapping_add(value);
                file.set64(register, sum).map_err(problem)?;
            }
        }
        for (index, bytes) in &context.stream_buffers {
            let state: State3dSoBuffer = unpack(bytes)?;
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
