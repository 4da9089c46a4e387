//! The vertex fetcher: the vertices of a draw in their order, and their elements from memory.

use tepui_intel_packets::vertex::{VertexBufferState, VertexComponentControl, VertexElementState};

use super::state::{State, unpack};
use super::{UNIT, unimplemented};
use crate::context::HardwareContext;
use crate::format::{self, Format, MOST_BYTES};
use crate::job::JobFault;
use crate::memory::Memory;

/// Most elements of a vertex.
///
/// source: SKL PRM volume 2a, VERTEX_ELEMENT_STATE.
const MOST_ELEMENTS: usize = 34;

/// A vertex to fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Input {
    /// The place in the vertex buffers.
    pub index: u32,
    /// The number that shaders see.
    pub id: u32,
    /// The instance, from 0.
    pub instance: u32,
}

/// Where an element comes from.
struct Element {
    /// The buffer's address and bytes; none if there is no buffer.
    buffer: Option<(u64, u64)>,
    pitch: u64,
    offset: u64,
    format: &'static Format,
    controls: [VertexComponentControl; 4],
    /// Instances to an element of the buffer; none if it goes on with vertices.
    step: Option<u32>,
}

/// Fetches vertices.
pub(super) struct Fetcher {
    elements: Vec<Element>,
    start_instance: u32,
    /// Element and component of the vertex number, and of the instance number.
    vertex_id: Option<usize>,
    instance_id: Option<usize>,
    /// The components that are pushed to a vertex shader's registers, by their place in the vertex.
    pushed: Vec<u16>,
}

impl Fetcher {
    /// What the context says of vertices.
    pub fn new(
        context: &HardwareContext,
        state: &State,
        start_instance: u32,
    ) -> Result<Fetcher, JobFault> {
        const NAME: &str = "3DSTATE_VERTEX_ELEMENTS";
        let bytes = context.latched.get(NAME).and_then(|bytes| bytes.get(4..)).unwrap_or(&[]);
        let mut elements = Vec::new();
        for (index, bytes) in bytes.chunks_exact(VertexElementState::SIZE_BYTES).enumerate() {
            if index >= MOST_ELEMENTS {
                return Err(JobFault::new(UNIT, "more vertex elements than there are"));
            }
            elements.push(element(context, &unpack(bytes)?, index)?);
        }
        let sgvs = &state.sgvs;
        let place = |enable: bool, element: u32, component: u32| {
            let found = enable && (element as usize) < elements.len();
            found.then_some(4 * element as usize + (component & 3) as usize)
        };
        let vertex_id = place(
            sgvs.vertexid_enable,
            sgvs.vertexid_element_offset,
            sgvs.vertexid_component_number,
        );
        let instance_id = place(
            sgvs.instanceid_enable,
            sgvs.instanceid_element_offset,
            sgvs.instanceid_component_number,
        );
        let mut pushed = Vec::new();
        for place in 0..4 * elements.len() as u16 {
            if !state.vf.component_packing_enable || packed(context, place) {
                pushed.push(place);
            }
        }
        Ok(Fetcher { elements, start_instance, vertex_id, instance_id, pushed })
    }

    /// Double words of a vertex.
    pub fn dwords(&self) -> usize {
        4 * self.elements.len()
    }

    /// The components that vertex shaders get, in the order of their registers.
    pub fn pushed(&self) -> &[u16] {
        &self.pushed
    }

    /// Fetches a vertex: four components of each element. What lies outside of a buffer is 0.
    pub fn fetch(
        &self,
        memory: &mut Memory<'_>,
        input: Input,
        vertex: &mut [u32],
    ) -> Result<(), JobFault> {
        for (element, to) in self.elements.iter().zip(vertex.chunks_exact_mut(4)) {
            let source = element.source(memory, input, self.start_instance)?;
            for (component, control) in element.controls.into_iter().enumerate() {
                to[component] = match control {
                    VertexComponentControl::StoreSrc => source[component],
                    VertexComponentControl::Store1Fp => 1.0f32.to_bits(),
                    VertexComponentControl::Store1Int => 1,
                    _ => 0,
                };
            }
        }
        if let Some(place) = self.vertex_id {
            vertex[place] = input.id;
        }
        if let Some(place) = self.instance_id {
            vertex[place] = input.instance;
        }
        Ok(())
    }
}

/// Whether 3DSTATE_VF_COMPONENT_PACKING keeps a component.
fn packed(context: &HardwareContext, place: u16) -> bool {
    let bytes = context.latched.get("3DSTATE_VF_COMPONENT_PACKING");
    // Four bits for each element, behind the header.
    let byte = bytes.and_then(|b| b.get(4 + usize::from(place) / 8));
    byte.is_none_or(|byte| byte >> (place % 8) & 1 != 0)
}

fn element(
    context: &HardwareContext,
    state: &VertexElementState,
    index: usize,
) -> Result<Element, JobFault> {
    let number = state.source_element_format;
    let format = format::find(number)
        .ok_or_else(|| unimplemented(&format!("the vertex format {number:#x}")))?;
    let buffer = match context.vertex_buffers.get(&state.vertex_buffer_index) {
        Some(bytes) => unpack(bytes)?,
        None => VertexBufferState { null_vertex_buffer: true, ..VertexBufferState::default() },
    };
    let there = state.valid && !buffer.null_vertex_buffer;
    let step = context.instancing.get(&(index as u32)).copied();
    Ok(Element {
        buffer: there.then_some((buffer.buffer_starting_address, u64::from(buffer.buffer_size))),
        pitch: u64::from(buffer.buffer_pitch),
        offset: u64::from(state.source_element_offset),
        format,
        controls: [
            state.component_0_control,
            state.component_1_control,
            state.component_2_control,
            state.component_3_control,
        ],
        step,
    })
}

impl Element {
    fn source(
        &self,
        memory: &mut Memory<'_>,
        input: Input,
        start_instance: u32,
    ) -> Result<[u32; 4], JobFault> {
        let index = match self.step {
            None => input.index,
            // A step of 0 never advances.
            Some(0) => start_instance,
            Some(step) => start_instance.wrapping_add(input.instance / step),
        };
        let at = self.pitch * u64::from(index) + self.offset;
        let bytes = self.format.bytes;
        let Some((base, _)) = self.buffer.filter(|(_, size)| at + bytes as u64 <= *size) else {
            return Ok([0; 4]);
        };
        let mut texel = [0; MOST_BYTES];
        memory
            .read(base + at, &mut texel[..bytes])
            .map_err(|fault| JobFault::memory(UNIT, fault))?;
        Ok(self.format.unpack(&texel[..bytes], [0; 2]))
    }
}

/// The indices of a draw.
pub(super) struct Indices {
    address: u64,
    /// Bytes of the buffer, and of an index.
    size: u64,
    bytes: usize,
    /// The index that restarts primitives.
    pub cut: Option<u32>,
}

impl Indices {
    pub fn of(state: &State) -> Result<Indices, JobFault> {
        let bytes = match state.indices.index_format {
            format @ 0..=2 => 1 << format,
            _ => return Err(JobFault::new(UNIT, "3DSTATE_INDEX_BUFFER: Index Format 3")),
        };
        Ok(Indices {
            address: state.indices.buffer_starting_address,
            size: u64::from(state.indices.buffer_size),
            bytes,
            cut: state.vf.indexed_draw_cut_index_enable.then_some(state.vf.cut_index),
        })
    }

    /// An index; 0 outside of the buffer.
    pub fn read(&self, memory: &mut Memory<'_>, number: u32) -> Result<u32, JobFault> {
        let at = u64::from(number) * self.bytes as u64;
        if at + self.bytes as u64 > self.size {
            return Ok(0);
        }
        let mut bytes = [0; 4];
        memory
            .read(self.address + at, &mut bytes[..self.bytes])
            .map_err(|fault| JobFault::memory(UNIT, fault))?;
        Ok(u32::from_le_bytes(bytes))
    }
}
