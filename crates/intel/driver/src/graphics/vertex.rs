//! Vertex fetch.

use tepui_intel_chips::Generation;
use tepui_intel_compiler::stage::VertexElement;
use tepui_intel_layout::surface_format::Use;
use tepui_intel_packets::vertex::{
    State3dVertexBuffers, State3dVertexElements, State3dVf, State3dVfInstancing, State3dVfSgvs,
    State3dVfStatistics, State3dVfTopology, VertexBufferState, VertexComponentControl,
    VertexElementState,
};
use tepui_vulkan::command::VertexBuffer;
use tepui_vulkan::state::MAX_VERTEX;
use tepui_vulkan::{Error, Result, vk};

use super::Context;
use crate::format;
use crate::mocs::mocs;
use crate::packets::Out;

/// Buffers of the numbers of the draw. source: Mesa, anv_private.h (`ANV_SVGS_VB_INDEX`, `ANV_DRAWID_VB_INDEX`)
pub const IDS_BUFFER: u32 = 31;
/// Buffer of the number of the draw.
pub const DRAW_BUFFER: u32 = 32;
/// Formats of one and two double words. source: Mesa, isl.h (`ISL_FORMAT_R32_UINT`, `ISL_FORMAT_R32G32_UINT`)
const R32_UINT: u32 = 0xd7;
const R32G32_UINT: u32 = 0x87;
/// Primitive restart.
pub fn restart(c: &Context<'_>, out: &mut Out) -> Result<()> {
    out.put(&State3dVf {
        indexed_draw_cut_index_enable: c.state.restart && c.index_bytes != 0,
        cut_index: match c.index_bytes {
            1 => 0xff,
            2 => 0xffff,
            _ => u32::MAX,
        },
        ..State3dVf::default()
    })
}

/// Rectangles of three vertices, the last of which is the upper left one: the API has none.
pub const RECTANGLES: vk::PrimitiveTopology = vk::PrimitiveTopology::from_raw(i32::MAX);

/// source: genxml, `3D_Prim_Topo_Type`
pub fn topology(c: &Context<'_>, out: &mut Out) -> Result<()> {
    use vk::PrimitiveTopology as T;
    let primitive_topology_type = match c.state.topology {
        T::POINT_LIST => 1,
        T::LINE_LIST => 2,
        T::LINE_STRIP => 3,
        T::TRIANGLE_LIST => 4,
        T::TRIANGLE_STRIP => 5,
        T::TRIANGLE_FAN => 6,
        T::LINE_LIST_WITH_ADJACENCY => 9,
        T::LINE_STRIP_WITH_ADJACENCY => 10,
        T::TRIANGLE_LIST_WITH_ADJACENCY => 11,
        T::TRIANGLE_STRIP_WITH_ADJACENCY => 12,
        RECTANGLES => 15,
        T::PATCH_LIST => 31 + c.state.patch_points,
        other => {
            return Err(Error::unsupported(format!("primitives of kind {}", other.as_raw())));
        }
    };
    out.put(&State3dVfTopology { primitive_topology_type })
}

/// Vertex elements: attributes, and numbers of the vertex, the instance and the draw.
pub fn elements(c: &Context<'_>, out: &mut Out) -> Result<()> {
    use VertexComponentControl::{Store0, Store1Fp, Store1Int, StoreSrc};
    let list = &c.vertex_info.elements;
    out.put(&State3dVertexElements { dword_length: 2 * list.len() as u32 - 1 })?;
    let mut steps = Vec::with_capacity(list.len());
    let mut sgvs = State3dVfSgvs::default();
    for (k, element) in (0u32..).zip(list) {
        let mut step = State3dVfInstancing { vertex_element_index: k, ..Default::default() };
        let mut state = VertexElementState { valid: true, ..VertexElementState::default() };
        let controls = match *element {
            VertexElement::Attribute(n) => {
                let attribute = c.state.attributes.get(usize::from(n)).copied().flatten();
                match attribute {
                    Some(a) => {
                        let unknown = || Error::unsupported(format!("attributes of {}", a.format));
                        let hw = format::hw(a.format).ok_or_else(unknown)?;
                        let gen12 = c.generation == Generation::Gen12;
                        hw.row.has(gen12, Use::Vertex).then_some(()).ok_or_else(unknown)?;
                        state.source_element_format = hw.number;
                        state.source_element_offset = a.offset;
                        state.vertex_buffer_index = a.binding.into();
                        if let Some(rate) = c.state.binding(a.binding).per_instance {
                            step.instancing_enable = true;
                            step.instance_data_step_rate = rate;
                        }
                        let one = match a.format.info().numeric().is_integer() {
                            true => Store1Int,
                            false => Store1Fp,
                        };
                        let there = format::components(a.format);
                        [0, 1, 2, 3].map(|k| match (there[k], k) {
                            (true, _) => StoreSrc,
                            (false, 3) => one,
                            _ => Store0,
                        })
                    }
                    None => [Store0; 4],
                }
            }
            VertexElement::Ids { first_vertex, first_instance, vertex, instance } => {
                state.source_element_format = R32G32_UINT;
                state.vertex_buffer_index = IDS_BUFFER;
                sgvs = State3dVfSgvs {
                    vertexid_element_offset: k,
                    vertexid_component_number: 2,
                    vertexid_enable: vertex,
                    instanceid_element_offset: k,
                    instanceid_component_number: 3,
                    instanceid_enable: instance,
                };
                // No component from memory follows one that is not. source: BDW PRM, 3D_Vertex_Component_Control
                let used = if first_vertex || first_instance { StoreSrc } else { Store0 };
                [used, used, Store0, Store0]
            }
            VertexElement::DrawIndex => {
                state.source_element_format = R32_UINT;
                state.vertex_buffer_index = DRAW_BUFFER;
                [StoreSrc, Store0, Store0, Store0]
            }
        };
        [
            state.component_0_control,
            state.component_1_control,
            state.component_2_control,
            state.component_3_control,
        ] = controls;
        out.put(&state)?;
        steps.push(step);
    }
    steps.iter().try_for_each(|step| out.put(step))?;
    out.put(&sgvs)?;
    out.put(&State3dVfStatistics { statistics_enable: c.statistics })
}

/// Vertex buffers that attributes read.
pub fn buffers(c: &Context<'_>, out: &mut Out) -> Result<()> {
    let used = c.read_buffers;
    if used == 0 {
        return Ok(());
    }
    out.put(&State3dVertexBuffers { dword_length: 4 * used.count_ones() - 1 })?;
    for k in (0..MAX_VERTEX).filter(|k| used >> k & 1 != 0) {
        let VertexBuffer { address, size } = c.buffers[k];
        out.put(&buffer(
            c.generation,
            k as u32,
            (address, size.min(u64::from(u32::MAX)) as u32),
            c.state.binding(k as u8).stride,
        ))?;
    }
    Ok(())
}

/// The state of a vertex buffer.
pub fn buffer(
    generation: Generation,
    index: u32,
    (address, size): (u64, u32),
    stride: u32,
) -> VertexBufferState {
    let is_null = address == 0 || size == 0;
    VertexBufferState {
        buffer_pitch: stride,
        null_vertex_buffer: is_null,
        address_modify_enable: true,
        mocs: u32::from(mocs(generation)),
        vertex_buffer_index: index,
        buffer_starting_address: if is_null { 0 } else { address },
        buffer_size: if is_null { 0 } else { size },
        ..VertexBufferState::default()
    }
}
