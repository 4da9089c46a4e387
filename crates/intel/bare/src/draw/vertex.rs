//! Vertex fetch and the vertex stage.

use super::{Builder, DrawError, Format, Placed};
use tepui_intel_chips::Generation;
use tepui_intel_compiler::stage::{VertexElement, VertexInfo};
use tepui_intel_packets::bindings::{
    State3dBindingTablePointersVs, State3dConstantVs, State3dSamplerStatePointersVs, State3dUrbVs,
};
use tepui_intel_packets::gen12;
use tepui_intel_packets::stages::State3dVs;
use tepui_intel_packets::vertex::{
    State3dVertexBuffers, State3dVertexElements, State3dVf, State3dVfComponentPacking,
    State3dVfSgvs, VertexBufferState, VertexComponentControl, VertexElementState,
};

/// Buffers of the numbers of the draw. source: Mesa, anv_private.h (`ANV_SVGS_VB_INDEX`, `ANV_DRAWID_VB_INDEX`)
const IDS_BUFFER: u32 = 31;
const DRAW_BUFFER: u32 = 32;
/// Formats of one and two double words. source: Mesa, isl.h (`ISL_FORMAT_R32_UINT`, `ISL_FORMAT_R32G32_UINT`)
const R32_UINT: u32 = 0xd7;
const R32G32_UINT: u32 = 0x87;

impl Builder<'_, '_> {
    pub(super) fn vertex_fetch(&mut self, info: &VertexInfo) -> Result<(), DrawError> {
        let mut buffers: Vec<(u32, u32, Vec<u8>)> = Vec::new();
        let bytes = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
        for (k, a) in (0..).zip(&self.d.attributes) {
            buffers.push((k, 16, bytes(a.values.as_flattened())));
        }
        let first = [self.d.vertices[0], self.d.instances[0]];
        buffers.push((IDS_BUFFER, 0, bytes(&first)));
        buffers.push((DRAW_BUFFER, 0, bytes(&[self.d.draw_index])));
        self.add(State3dVertexBuffers { dword_length: 4 * buffers.len() as u32 - 1 })?;
        for (index, pitch, bytes) in buffers {
            let at = self.m.place(&bytes, 64);
            self.add(VertexBufferState {
                buffer_pitch: pitch,
                address_modify_enable: true,
                vertex_buffer_index: index,
                buffer_starting_address: self.m.address(at),
                buffer_size: bytes.len() as u32,
                ..VertexBufferState::default()
            })?;
        }
        self.add(State3dVertexElements { dword_length: 2 * info.elements.len() as u32 - 1 })?;
        for element in &info.elements {
            use VertexComponentControl::{Store0, StoreSrc};
            let (index, format, controls) = match element {
                VertexElement::Attribute(n) => {
                    let found = self.d.attributes.iter().position(|a| a.location == *n);
                    (found.map(|k| k as u32), Format::Uint as u32, [StoreSrc; 4])
                }
                VertexElement::Ids { first_vertex, first_instance, .. } => {
                    let used = |on: bool| if on { StoreSrc } else { Store0 };
                    let controls = [used(*first_vertex), used(*first_instance), Store0, Store0];
                    (Some(IDS_BUFFER), R32G32_UINT, controls)
                }
                VertexElement::DrawIndex => {
                    (Some(DRAW_BUFFER), R32_UINT, [StoreSrc, Store0, Store0, Store0])
                }
            };
            self.add(VertexElementState {
                source_element_format: format,
                valid: index.is_some(),
                vertex_buffer_index: index.unwrap_or(0),
                component_0_control: controls[0],
                component_1_control: controls[1],
                component_2_control: controls[2],
                component_3_control: controls[3],
                ..VertexElementState::default()
            })?;
        }
        self.add(State3dVf { component_packing_enable: info.packed, ..State3dVf::default() })?;
        if info.packed {
            let mut packing = State3dVfComponentPacking::default().pack()?.to_vec();
            let masks = info.component_packing();
            for (to, mask) in packing[4..].as_chunks_mut::<4>().0.iter_mut().zip(masks) {
                *to = mask.to_le_bytes();
            }
            self.batch.extend(packing);
        }
        let mut sgvs = State3dVfSgvs::default();
        for (k, element) in (0..).zip(&info.elements) {
            if let VertexElement::Ids { vertex, instance, .. } = *element {
                sgvs = State3dVfSgvs {
                    vertexid_element_offset: k,
                    vertexid_component_number: 2,
                    vertexid_enable: vertex,
                    instanceid_element_offset: k,
                    instanceid_component_number: 3,
                    instanceid_enable: instance,
                };
            }
        }
        self.add(sgvs)
    }

    pub(super) fn vertex_shader(&mut self, info: &VertexInfo, p: &Placed) -> Result<(), DrawError> {
        let variant = self.d.vertex.variants[0];
        let urb = State3dUrbVs {
            vs_number_of_urb_entries: 64,
            vs_urb_entry_allocation_size: info.entry_units() - 1,
            vs_urb_starting_address: 4,
        };
        match self.generation {
            Generation::Gen9 => self.add(urb)?,
            Generation::Gen12 => self.add(gen12::State3dUrbAllocVs {
                vs_number_of_urb_entries_slice0: urb.vs_number_of_urb_entries,
                vs_urb_starting_address_slice0: urb.vs_urb_starting_address,
                ..urb.into()
            })?,
        }
        self.add(State3dVs {
            kernel_start_pointer: p.code + u64::from(variant.offset),
            per_thread_scratch_space: p.scratch_log2,
            scratch_space_base_pointer: self.scratch(p),
            maximum_number_of_threads: 335,
            ..tepui_intel_programs::vertex(info, &variant)
        })?;
        let constants = self.constant_body(p);
        self.add(State3dConstantVs { constant_body: constants, ..State3dConstantVs::default() })?;
        self.add(State3dSamplerStatePointersVs { pointer_to_vs_sampler_state: p.samplers })?;
        self.add(State3dBindingTablePointersVs { pointer_to_vs_binding_table: p.table })
    }
}
