//! Tessellation and the geometry stage.

use super::{Builder, DrawError, Placed};
use tepui_intel_chips::Generation;
use tepui_intel_compiler::Variant;
use tepui_intel_compiler::stage::{ControlData, DomainInfo, GeometryInfo, HullInfo};
use tepui_intel_packets::bindings::{
    State3dBindingTablePointersDs, State3dBindingTablePointersGs, State3dBindingTablePointersHs,
    State3dConstantDs, State3dConstantGs, State3dConstantHs, State3dSamplerStatePointersDs,
    State3dSamplerStatePointersGs, State3dSamplerStatePointersHs, State3dUrbDs, State3dUrbGs,
    State3dUrbHs,
};
use tepui_intel_packets::gen12;
use tepui_intel_packets::stages::{State3dDs, State3dGs, State3dHs, State3dTe};
use tepui_ir::PrimitiveKind;

/// Dispatch modes. source: Mesa, genxml (3DSTATE_HS, 3DSTATE_DS, 3DSTATE_GS)
const HULL_EIGHT_PATCHES: u32 = 2;
const DOMAIN_SIMD8: u32 = 1;
const GEOMETRY_SIMD8: u32 = 3;

/// Maximum tessellation levels.
const MAX_LEVEL_ODD: f32 = 63.0;
const MAX_LEVEL: f32 = 64.0;

impl Builder<'_, '_> {
    pub(super) fn hull_shader(
        &mut self,
        info: &HullInfo,
        p: &Placed,
        variant: Variant,
    ) -> Result<(), DrawError> {
        let urb = State3dUrbHs {
            hs_number_of_urb_entries: 64,
            hs_urb_entry_allocation_size: info.patch.entry_units() - 1,
            hs_urb_starting_address: 8,
        };
        match self.generation {
            Generation::Gen9 => self.add(urb)?,
            Generation::Gen12 => self.add(gen12::State3dUrbAllocHs {
                hs_number_of_urb_entries_slice0: urb.hs_number_of_urb_entries,
                hs_urb_starting_address_slice0: urb.hs_urb_starting_address,
                ..urb.into()
            })?,
        }
        self.add(State3dHs {
            enable: true,
            instance_count: u32::from(info.threads) - 1,
            maximum_number_of_threads: 335,
            kernel_start_pointer: p.code,
            per_thread_scratch_space: p.scratch_log2,
            scratch_space_base_pointer: self.scratch(p),
            include_primitive_id: info.primitive_id,
            dispatch_mode: if info.eight_patches { HULL_EIGHT_PATCHES } else { 0 },
            dispatch_grf_start_register_for_urb_data: u32::from(variant.start) & 0x1f,
            dispatch_grf_start_register_for_urb_data_5: variant.start >= 32,
            include_vertex_handles: true,
            ..State3dHs::default()
        })?;
        let constants = self.constant_body(p);
        self.add(State3dConstantHs { constant_body: constants, ..State3dConstantHs::default() })?;
        self.add(State3dSamplerStatePointersHs { pointer_to_hs_sampler_state: p.samplers })?;
        self.add(State3dBindingTablePointersHs { pointer_to_hs_binding_table: p.table })
    }

    pub(super) fn tessellator(&mut self) -> Result<(), DrawError> {
        let Some(t) = self.d.tessellator else { return Ok(()) };
        let te = State3dTe {
            te_enable: true,
            te_domain: t.domain.into(),
            output_topology: t.topology.into(),
            partitioning: t.partitioning.into(),
            maximum_tessellation_factor_odd: MAX_LEVEL_ODD,
            maximum_tessellation_factor_not_odd: MAX_LEVEL,
            ..State3dTe::default()
        };
        match self.generation {
            Generation::Gen9 => self.add(te),
            Generation::Gen12 => self.add(gen12::State3dTe::from(te)),
        }
    }

    pub(super) fn domain_shader(
        &mut self,
        info: &DomainInfo,
        p: &Placed,
        variant: Variant,
    ) -> Result<(), DrawError> {
        let out = &info.outputs;
        let urb = State3dUrbDs {
            ds_number_of_urb_entries: 64,
            ds_urb_entry_allocation_size: out.vue.entry_units() - 1,
            ds_urb_starting_address: 12,
        };
        match self.generation {
            Generation::Gen9 => self.add(urb)?,
            Generation::Gen12 => self.add(gen12::State3dUrbAllocDs {
                ds_number_of_urb_entries_slice0: urb.ds_number_of_urb_entries,
                ds_urb_starting_address_slice0: urb.ds_urb_starting_address,
                ..urb.into()
            })?,
        }
        self.add(State3dDs {
            enable: true,
            kernel_start_pointer: p.code,
            per_thread_scratch_space: p.scratch_log2,
            scratch_space_base_pointer: self.scratch(p),
            patch_urb_entry_read_length: info.read_length.into(),
            dispatch_grf_start_register_for_urb_data: variant.start.into(),
            compute_w_coordinate_enable: info.patch.domain == PrimitiveKind::Triangles,
            dispatch_mode: DOMAIN_SIMD8,
            maximum_number_of_threads: 335,
            user_clip_distance_clip_test_enable_bitmask: out.clip_mask.into(),
            user_clip_distance_cull_test_enable_bitmask: out.cull_mask.into(),
            ..State3dDs::default()
        })?;
        let constants = self.constant_body(p);
        self.add(State3dConstantDs { constant_body: constants, ..State3dConstantDs::default() })?;
        self.add(State3dSamplerStatePointersDs { pointer_to_ds_sampler_state: p.samplers })?;
        self.add(State3dBindingTablePointersDs { pointer_to_ds_binding_table: p.table })
    }

    pub(super) fn geometry_shader(
        &mut self,
        info: &GeometryInfo,
        p: &Placed,
        variant: Variant,
    ) -> Result<(), DrawError> {
        let out = &info.outputs;
        let urb = State3dUrbGs {
            gs_number_of_urb_entries: 64,
            gs_urb_entry_allocation_size: info.entry_units() - 1,
            gs_urb_starting_address: 16,
        };
        match self.generation {
            Generation::Gen9 => self.add(urb)?,
            Generation::Gen12 => self.add(gen12::State3dUrbAllocGs {
                gs_number_of_urb_entries_slice0: urb.gs_number_of_urb_entries,
                gs_urb_starting_address_slice0: urb.gs_urb_starting_address,
                ..urb.into()
            })?,
        }
        self.add(State3dGs {
            enable: true,
            kernel_start_pointer: p.code,
            expected_vertex_count: info.vertices_in.into(),
            per_thread_scratch_space: p.scratch_log2,
            scratch_space_base_pointer: self.scratch(p),
            dispatch_grf_start_register_for_urb_data: u32::from(variant.start) & 0xf,
            dispatch_grf_start_register_for_urb_data_5_4: u32::from(variant.start) >> 4,
            include_vertex_handles: true,
            include_primitive_id: info.primitive_id,
            output_topology: info.topology(),
            output_vertex_size: u32::from(info.vertex_slots()) - 1,
            dispatch_mode: GEOMETRY_SIMD8,
            instance_control: u32::from(info.invocations) - 1,
            control_data_header_size: info.control_units().into(),
            control_data_format: info.control == ControlData::Streams,
            maximum_number_of_threads: 335,
            static_output: info.static_count.is_some(),
            static_output_vertex_count: info.static_count.unwrap_or(0).into(),
            user_clip_distance_clip_test_enable_bitmask: out.clip_mask.into(),
            user_clip_distance_cull_test_enable_bitmask: out.cull_mask.into(),
            ..State3dGs::default()
        })?;
        let constants = self.constant_body(p);
        self.add(State3dConstantGs { constant_body: constants, ..State3dConstantGs::default() })?;
        self.add(State3dSamplerStatePointersGs { pointer_to_gs_sampler_state: p.samplers })?;
        self.add(State3dBindingTablePointersGs { pointer_to_gs_binding_table: p.table })
    }
}
