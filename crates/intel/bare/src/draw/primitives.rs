//! Tessellation and the geometry stage.

use super::{Builder, DrawError, Placed};
use tepui_intel_chips::Generation;
use tepui_intel_compiler::Variant;
use tepui_intel_compiler::stage::{DomainInfo, GeometryInfo, HullInfo};
use tepui_intel_packets::bindings::{
    State3dBindingTablePointersDs, State3dBindingTablePointersGs, State3dBindingTablePointersHs,
    State3dConstantDs, State3dConstantGs, State3dConstantHs, State3dSamplerStatePointersDs,
    State3dSamplerStatePointersGs, State3dSamplerStatePointersHs, State3dUrbDs, State3dUrbGs,
    State3dUrbHs,
};
use tepui_intel_packets::gen12;
use tepui_intel_packets::stages::{State3dDs, State3dGs, State3dHs};

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
            maximum_number_of_threads: 335,
            kernel_start_pointer: p.code,
            per_thread_scratch_space: p.scratch_log2,
            scratch_space_base_pointer: self.scratch(p),
            ..tepui_intel_programs::hull(info, &variant)
        })?;
        let constants = self.constant_body(p);
        self.add(State3dConstantHs { constant_body: constants, ..State3dConstantHs::default() })?;
        self.add(State3dSamplerStatePointersHs { pointer_to_hs_sampler_state: p.samplers })?;
        self.add(State3dBindingTablePointersHs { pointer_to_hs_binding_table: p.table })
    }

    pub(super) fn tessellator(&mut self) -> Result<(), DrawError> {
        let Some(t) = self.d.tessellator else { return Ok(()) };
        let te = tepui_intel_programs::tessellator(&t);
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
        let urb = State3dUrbDs {
            ds_number_of_urb_entries: 64,
            ds_urb_entry_allocation_size: info.outputs.vue.entry_units() - 1,
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
            kernel_start_pointer: p.code,
            per_thread_scratch_space: p.scratch_log2,
            scratch_space_base_pointer: self.scratch(p),
            maximum_number_of_threads: 335,
            ..tepui_intel_programs::domain(info, &variant)
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
            kernel_start_pointer: p.code,
            per_thread_scratch_space: p.scratch_log2,
            scratch_space_base_pointer: self.scratch(p),
            maximum_number_of_threads: 335,
            ..tepui_intel_programs::geometry(info, &variant)
        })?;
        let constants = self.constant_body(p);
        self.add(State3dConstantGs { constant_body: constants, ..State3dConstantGs::default() })?;
        self.add(State3dSamplerStatePointersGs { pointer_to_gs_sampler_state: p.samplers })?;
        self.add(State3dBindingTablePointersGs { pointer_to_gs_binding_table: p.table })
    }
}
