//! Vertex fetch, the URB, and the vertex shader.

use tepui_intel_chips::Generation;
use tepui_intel_compiler::stage::VertexElement;
use tepui_intel_layout::surface_format::Use;
use tepui_intel_packets::bindings::{
    State3dPushConstantAllocDs, State3dPushConstantAllocGs, State3dPushConstantAllocHs,
    State3dPushConstantAllocPs, State3dPushConstantAllocVs, State3dUrbDs, State3dUrbGs,
    State3dUrbHs, State3dUrbVs,
};
use tepui_intel_packets::stages::{
    State3dDs, State3dGs, State3dHs, State3dStreamout, State3dTe, State3dVs,
};
use tepui_intel_packets::vertex::{
    State3dVertexBuffers, State3dVertexElements, State3dVf, State3dVfInstancing, State3dVfSgvs,
    State3dVfStatistics, State3dVfTopology, VertexBufferState, VertexComponentControl,
    VertexElementState,
};
use tepui_vulkan::state::MAX_VERTEX;
use tepui_vulkan::{Error, Result, vk};

use super::{Context, Out};
use crate::encoder::mocs;
use crate::format;
use crate::space;

/// Buffers of the numbers of the draw. source: Mesa, anv_private.h (`ANV_SVGS_VB_INDEX`, `ANV_DRAWID_VB_INDEX`)
pub const IDS_BUFFER: u32 = 31;
/// Buffer of the number of the draw.
pub const DRAW_BUFFER: u32 = 32;
/// Formats of one and two double words. source: Mesa, isl.h (`ISL_FORMAT_R32_UINT`, `ISL_FORMAT_R32G32_UINT`)
const R32_UINT: u32 = 0xd7;
const R32G32_UINT: u32 = 0x87;
/// KiB of the URB that push constants have, and of which each stage may have a part. source: Mesa, intel_device_info.c
/// (`max_constant_urb_size_kb`)
const CONSTANTS_KIB: u32 = 32;
/// KiB of the URB's share of the L3 without workgroup memory: 48 ways of 2 KiB in each of four banks. source: Mesa,
/// intel_l3_config.c
const URB_KIB: u32 = 384;
/// Entries that vertices may have. source: Mesa, intel_device_info.c
const MAX_ENTRIES: u32 = 1856;
/// KiB in which parts of the URB begin.
const URB_UNIT_KIB: u32 = 8;

/// The division of the URB: push constants, then vertices. Stages between have nothing.
pub fn urb(c: &Context<'_>, out: &mut Out) -> Result<()> {
    if c.generation != Generation::Gen9 {
        return Err(Error::unsupported("draws on Intel's GPUs after Skylake"));
    }
    let half = CONSTANTS_KIB / 2;
    out.put(&State3dPushConstantAllocVs { constant_buffer_size: half, ..Default::default() })?;
    out.put(&State3dPushConstantAllocHs::default())?;
    out.put(&State3dPushConstantAllocDs::default())?;
    out.put(&State3dPushConstantAllocGs::default())?;
    out.put(&State3dPushConstantAllocPs {
        constant_buffer_size: half,
        constant_buffer_offset: half,
    })?;
    let units = c.vertex_info.entry_units();
    let room = (URB_KIB - CONSTANTS_KIB) * 1024;
    let entries = (room / (64 * units)).min(MAX_ENTRIES) / 8 * 8;
    let first = CONSTANTS_KIB / URB_UNIT_KIB;
    let end = first + (entries * units * 64).div_ceil(1024 * URB_UNIT_KIB);
    out.put(&State3dUrbVs {
        vs_number_of_urb_entries: entries,
        vs_urb_entry_allocation_size: units - 1,
        vs_urb_starting_address: first,
    })?;
    out.put(&State3dUrbHs { hs_urb_starting_address: end, ..Default::default() })?;
    out.put(&State3dUrbDs { ds_urb_starting_address: end, ..Default::default() })?;
    out.put(&State3dUrbGs { gs_urb_starting_address: end, ..Default::default() })
}

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
    let used = c.state.attributes.iter().flatten().fold(0u32, |all, a| all | 1 << a.binding);
    if used == 0 {
        return Ok(());
    }
    out.put(&State3dVertexBuffers { dword_length: 4 * used.count_ones() - 1 })?;
    for k in (0..MAX_VERTEX).filter(|k| used >> k & 1 != 0) {
        let (address, size) = c.buffers[k];
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

/// The vertex shader; stages between it and the rasteriser are off.
pub fn stages(c: &Context<'_>, out: &mut Out) -> Result<()> {
    let (info, v) = (c.vertex_info, c.vertex);
    let program = v.programs[0];
    let (scratch, log2) = c.scratch[0];
    out.put(&State3dVs {
        kernel_start_pointer: v.code.address - space::CODE + u64::from(program.offset),
        binding_table_entry_count: (v.places.entries.len() as u32).min(255),
        sampler_count: (v.places.samplers.len() as u32).min(16).div_ceil(4),
        per_thread_scratch_space: log2,
        scratch_space_base_pointer: scratch,
        vertex_urb_entry_read_length: info.read_length(),
        dispatch_grf_start_register_for_urb_data: program.start.into(),
        enable: true,
        simd8_dispatch_enable: true,
        statistics_enable: c.statistics,
        // source: Mesa, intel_device_info.c (`max_vs_threads`)
        maximum_number_of_threads: 336 - 1,
        user_clip_distance_clip_test_enable_bitmask: info.outputs.clip_mask.into(),
        user_clip_distance_cull_test_enable_bitmask: info.outputs.cull_mask.into(),
        vertex_urb_entry_output_read_offset: 1,
        vertex_urb_entry_output_length: ((info.outputs.vue.slots.len() as u32).div_ceil(2)).max(2)
            - 1,
        ..State3dVs::default()
    })?;
    out.put(&State3dHs::default())?;
    out.put(&State3dTe::default())?;
    out.put(&State3dDs::default())?;
    out.put(&State3dGs::default())?;
    out.put(&State3dStreamout { rendering_disable: c.state.discard, ..State3dStreamout::default() })
}
