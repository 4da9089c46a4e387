//! The vertex fetcher: the vertices of a draw in their order, and their elements from memory.

use tepui_intel_packets::gen12::State3dVfSgvs2;
use tepui_intel_packets::vertex::{VertexBufferState, VertexComponentControl, VertexElementState};

use super::state::{State, latched, unpack};
use super::unit::{UNIT, unimplemented};
use crate::context::HardwareContext;
use crate::format::{self, Format};
use crate::job::JobFault;
use crate::memory::Memory;
use crate::registers;

/// Maximum number of elements of a vertex.
///
/// source: SKL PRM volume 2a, VERTEX_ELEMENT_STATE.
const MAX_ELEMENTS: usize = 34;

/// A vertex to fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Input {
    /// The index in the vertex buffers.
    pub index: u32,
    /// The vertex ID that shaders see.
    pub id: u32,
    /// The instance index, from 0.
    pub instance: u32,
}

/// The source of an element.
struct Element {
    /// The buffer's address and bytes; none if there is no buffer.
    buffer: Option<(u64, u64)>,
    pitch: u64,
    offset: u64,
    source: Source,
    controls: [VertexComponentControl; 4],
    /// The index of its first double word in the vertex.
    place: usize,
    /// Instance step rate; none if the element advances per vertex.
    step: Option<u32>,
}

/// The format of an element's components in memory.
#[derive(Clone, Copy)]
enum Source {
    /// Texels of a surface format.
    Format(&'static Format),
    /// Scaled numbers: double words, signed or not, that become floats; possibly fixed-point numbers with 16
    /// fractional bits.
    Scaled { count: usize, signed: bool, fixed: bool },
    /// Numbers of 64 bits that become 32-bit floats.
    Doubles(usize),
    /// Numbers of 64 bits that are stored without conversion.
    Wide(usize),
}

impl Source {
    /// source: Mesa, isl.h (`isl_format`).
    fn of(number: u32) -> Option<Source> {
        let scaled = |count, signed, fixed| Some(Source::Scaled { count, signed, fixed });
        match number {
            0x007 => scaled(4, true, false),
            0x008 => scaled(4, false, false),
            0x020 => scaled(4, true, true),
            0x045 => scaled(3, true, false),
            0x046 => scaled(3, false, false),
            0x050 => scaled(3, true, true),
            0x095 => scaled(2, true, false),
            0x096 => scaled(2, false, false),
            0x0a0 => scaled(2, true, true),
            0x0f8 => scaled(1, true, false),
            0x0f9 => scaled(1, false, false),
            0x1b2 => scaled(1, true, true),
            0x08d => Some(Source::Doubles(1)),
            0x005 => Some(Source::Doubles(2)),
            0x198 => Some(Source::Doubles(3)),
            0x197 => Some(Source::Doubles(4)),
            0x0a1 => Some(Source::Wide(1)),
            0x021 => Some(Source::Wide(2)),
            0x1bd => Some(Source::Wide(3)),
            0x1bc => Some(Source::Wide(4)),
            _ => format::find(number).map(Source::Format),
        }
    }

    fn bytes(self) -> usize {
        match self {
            Source::Format(format) => format.bytes,
            Source::Scaled { count, .. } => 4 * count,
            Source::Doubles(count) | Source::Wide(count) => 8 * count,
        }
    }

    /// The four components, if they have 32 bits.
    fn unpack(self, bytes: &[u8]) -> [u32; 4] {
        let mut values = [0, 0, 0, 1.0f32.to_bits()];
        match self {
            Source::Format(format) => return format.unpack(bytes, [0; 2]),
            Source::Scaled { signed, fixed, .. } => {
                for (to, b) in values.iter_mut().zip(bytes.as_chunks::<4>().0) {
                    let value = match signed {
                        true => i32::from_le_bytes(*b) as f32,
                        false => u32::from_le_bytes(*b) as f32,
                    };
                    *to = if fixed { value / 65536.0 } else { value }.to_bits();
                }
            }
            Source::Doubles(_) | Source::Wide(_) => {
                for (to, b) in values.iter_mut().zip(bytes.as_chunks::<8>().0) {
                    *to = (f64::from_le_bytes(*b) as f32).to_bits();
                }
            }
        }
        values
    }
}

/// Fetches vertices.
pub(super) struct Fetcher {
    elements: Vec<Element>,
    /// Number of double words of a vertex.
    dwords: usize,
    start_instance: u32,
    /// Indices of the components of the vertex ID, and of the instance ID.
    vertex_id: Option<usize>,
    instance_id: Option<usize>,
    /// Components that are constant over a draw, and their values.
    constants: Vec<(usize, u32)>,
    /// The components that are pushed to a vertex shader's registers, by their index in the vertex.
    pushed: Vec<u16>,
}

impl Fetcher {
    /// The vertex fetch state of a context.
    pub fn new(
        context: &HardwareContext,
        state: &State,
        start_instance: u32,
        base_vertex: u32,
    ) -> Result<Fetcher, JobFault> {
        const NAME: &str = "3DSTATE_VERTEX_ELEMENTS";
        let bytes = context.latched.get(NAME).and_then(|bytes| bytes.get(4..)).unwrap_or(&[]);
        let mut elements: Vec<Element> = Vec::new();
        let mut dwords = 0;
        for (index, bytes) in bytes.chunks_exact(VertexElementState::SIZE_BYTES).enumerate() {
            if index >= MAX_ELEMENTS {
                return Err(JobFault::new(UNIT, "more vertex elements than there are"));
            }
            elements.push(element(context, &unpack(context, bytes)?, index, dwords)?);
            dwords += elements[index].dwords();
        }
        let sgvs = &state.sgvs;
        let place = |enable: bool, element: u32, component: u32| {
            let found = elements.get(element as usize).filter(|_| enable);
            found.map(|element| element.place + (component & 3) as usize)
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
        let numbers: State3dVfSgvs2 = latched(context)?;
        let extended = |n: u32| context.registers.get(registers::DRAW_EXTENDED + 4 * n);
        // Either the draw's own parameter, or that of an extended draw.
        let first = if numbers.xp0_source_select == 1 { base_vertex } else { extended(0) };
        let instance = if numbers.xp1_source_select == 1 { start_instance } else { extended(1) };
        let constants = [
            (
                place(numbers.xp0_enable, numbers.xp0_element_offset, numbers.xp0_component_number),
                first,
            ),
            (
                place(numbers.xp1_enable, numbers.xp1_element_offset, numbers.xp1_component_number),
                instance,
            ),
            (
                place(numbers.xp2_enable, numbers.xp2_element_offset, numbers.xp2_component_number),
                extended(2),
            ),
        ];
        let constants = constants.into_iter().filter_map(|(place, value)| Some((place?, value)));
        let constants = constants.collect();
        let mut pushed = Vec::new();
        for (index, element) in elements.iter().enumerate() {
            // Each component has a bit, also if it has 64 bits.
            let parts = if matches!(element.source, Source::Wide(_)) { 2 } else { 1 };
            for place in 0..element.dwords() {
                let bit = 4 * index + place / parts;
                if !state.vf.component_packing_enable || packed(context, bit as u16) {
                    pushed.push((element.place + place) as u16);
                }
            }
        }
        Ok(Fetcher { elements, dwords, start_instance, vertex_id, instance_id, constants, pushed })
    }

    /// Number of double words of a vertex.
    pub fn dwords(&self) -> usize {
        self.dwords
    }

    /// The components that vertex shaders get, in the order of their registers.
    pub fn pushed(&self) -> &[u16] {
        &self.pushed
    }

    /// Fetches a vertex: four components of each element. Elements outside of a buffer are 0.
    pub fn fetch(
        &self,
        memory: &mut Memory<'_>,
        input: Input,
        vertex: &mut [u32],
    ) -> Result<(), JobFault> {
        for element in &self.elements {
            let to = &mut vertex[element.place..element.place + element.dwords()];
            let mut bytes = [0; Element::MAX_BYTES];
            let there = element.read(memory, input, self.start_instance, &mut bytes)?;
            if matches!(element.source, Source::Wide(_)) {
                element.store_wide(&bytes, to);
                continue;
            }
            let source = match there {
                true => element.source.unpack(&bytes[..element.source.bytes()]),
                false => [0; 4],
            };
            for (component, control) in element.controls.into_iter().enumerate() {
                to[component] = match control {
                    VertexComponentControl::StoreSrc => source[component],
                    VertexComponentControl::Store1Fp => 1.0f32.to_bits(),
                    VertexComponentControl::Store1Int => 1,
                    _ => 0,
                };
            }
        }
        for &(place, value) in &self.constants {
            if let Some(to) = vertex.get_mut(place) {
                *to = value;
            }
        }
        for (place, value) in [(self.vertex_id, input.id), (self.instance_id, input.instance)] {
            if let Some(to) = place.and_then(|place| vertex.get_mut(place)) {
                *to = value;
            }
        }
        Ok(())
    }
}

/// Whether 3DSTATE_VF_COMPONENT_PACKING keeps a component.
fn packed(context: &HardwareContext, place: u16) -> bool {
    let bytes = context.latched.get("3DSTATE_VF_COMPONENT_PACKING");
    // Four bits per element, after the header.
    let byte = bytes.and_then(|b| b.get(4 + usize::from(place) / 8));
    byte.is_none_or(|byte| byte >> (place % 8) & 1 != 0)
}

fn element(
    context: &HardwareContext,
    state: &VertexElementState,
    index: usize,
    place: usize,
) -> Result<Element, JobFault> {
    let number = state.source_element_format;
    let source = Source::of(number)
        .ok_or_else(|| unimplemented(&format!("the vertex format {number:#x}")))?;
    let buffer = match context.vertex_buffers.get(&state.vertex_buffer_index) {
        Some(bytes) => unpack(context, bytes)?,
        None => VertexBufferState { null_vertex_buffer: true, ..VertexBufferState::default() },
    };
    let there = state.valid && !buffer.null_vertex_buffer;
    let step = context.instancing.get(&(index as u32)).copied();
    Ok(Element {
        buffer: there.then_some((buffer.buffer_starting_address, u64::from(buffer.buffer_size))),
        pitch: u64::from(buffer.buffer_pitch),
        offset: u64::from(state.source_element_offset),
        source,
        place,
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
    /// Maximum number of bytes of an element.
    const MAX_BYTES: usize = 32;

    /// Number of double words in the vertex. 64-bit components that are not stored take no space.
    ///
    /// source: Mesa, genX_pipeline.c (`vertex_element_comp_control`), which cites the manual: such elements have
    /// 128 or 256 bits.
    fn dwords(&self) -> usize {
        let stored =
            |control: &&VertexComponentControl| **control != VertexComponentControl::Nostore;
        match self.source {
            Source::Wide(_) => 2 * self.controls.iter().filter(stored).count(),
            _ => 4,
        }
    }

    /// Reads an element; `false` if it is outside of its buffer.
    fn read(
        &self,
        memory: &mut Memory<'_>,
        input: Input,
        start_instance: u32,
        into: &mut [u8; Element::MAX_BYTES],
    ) -> Result<bool, JobFault> {
        let index = match self.step {
            None => input.index,
            // A step of 0 never advances.
            Some(0) => start_instance,
            Some(step) => start_instance.wrapping_add(input.instance / step),
        };
        let at = self.pitch * u64::from(index) + self.offset;
        let bytes = self.source.bytes();
        let Some((base, _)) = self.buffer.filter(|(_, size)| at + bytes as u64 <= *size) else {
            return Ok(false);
        };
        memory
            .read(base + at, &mut into[..bytes])
            .map_err(|fault| JobFault::memory(UNIT, fault))?;
        Ok(true)
    }

    /// Stores 64-bit components.
    fn store_wide(&self, bytes: &[u8; Element::MAX_BYTES], to: &mut [u32]) {
        let stored = self.controls.iter().zip(bytes.as_chunks::<8>().0);
        let stored = stored.filter(|(control, _)| **control != VertexComponentControl::Nostore);
        for ((control, bytes), to) in stored.zip(to.chunks_exact_mut(2)) {
            let value = match control {
                VertexComponentControl::StoreSrc => u64::from_le_bytes(*bytes),
                VertexComponentControl::Store1Fp => 1.0f64.to_bits(),
                VertexComponentControl::Store1Int => 1,
                _ => 0,
            };
            to.copy_from_slice(&[value as u32, (value >> 32) as u32]);
        }
    }
}

/// The indices of a draw.
pub(super) struct Indices {
    address: u64,
    /// Size of the buffer in bytes, and of an index.
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
