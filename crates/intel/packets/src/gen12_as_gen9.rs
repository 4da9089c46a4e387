//! Structures of Gen12 as those of Gen9 and the other way, for models, decoders and drivers that treat both in the same way.

use crate::gen12::{
    Primitive3dExtended, State3dDepthBuffer, State3dStencilBuffer, State3dTe, State3dUrbAllocDs,
    State3dUrbAllocGs, State3dUrbAllocHs, State3dUrbAllocVs, StateBaseAddress,
};
use crate::{bindings, output, stages, state, vertex};

/// Converts between a structure of Gen12 and the one of Gen9, by the fields that both have.
macro_rules! as_before {
    ($new:ident, $old:ty, { $($field:ident),* $(,)? }) => {
        impl From<$new> for $old {
            #[allow(clippy::needless_update, reason = "some have all fields in common")]
            fn from(new: $new) -> $old {
                Self { $($field: new.$field,)* ..Self::default() }
            }
        }

        impl From<$old> for $new {
            #[allow(clippy::needless_update, reason = "some have all fields in common")]
            fn from(old: $old) -> $new {
                Self { $($field: old.$field,)* ..Self::default() }
            }
        }
    };
}

as_before!(StateBaseAddress, state::StateBaseAddress, {
    general_state_base_address_modify_enable,
    general_state_mocs,
    general_state_base_address,
    stateless_data_port_access_mocs,
    surface_state_base_address_modify_enable,
    surface_state_mocs,
    surface_state_base_address,
    dynamic_state_base_address_modify_enable,
    dynamic_state_mocs,
    dynamic_state_base_address,
    indirect_object_base_address_modify_enable,
    indirect_object_mocs,
    indirect_object_base_address,
    instruction_base_address_modify_enable,
    instruction_mocs,
    instruction_base_address,
    general_state_buffer_size_modify_enable,
    general_state_buffer_size,
    dynamic_state_buffer_size_modify_enable,
    dynamic_state_buffer_size,
    indirect_object_buffer_size_modify_enable,
    indirect_object_buffer_size,
    instruction_buffer_size_modify_enable,
    instruction_buffer_size,
    bindless_surface_state_base_address_modify_enable,
    bindless_surface_state_mocs,
    bindless_surface_state_base_address,
    bindless_surface_state_size,
});

as_before!(State3dDepthBuffer, output::State3dDepthBuffer, {
    surface_pitch,
    surface_format,
    hierarchical_depth_buffer_enable,
    depth_write_enable,
    surface_type,
    surface_base_address,
    lod,
    width,
    height,
    mocs,
    minimum_array_element,
    depth,
    mip_tail_start_lod,
    tiled_resource_mode,
    surface_qpitch,
    render_target_view_extent,
});

impl From<State3dStencilBuffer> for output::State3dStencilBuffer {
    fn from(new: State3dStencilBuffer) -> Self {
        /// The type of a buffer that is not there.
        const NULL: u32 = 7;
        Self {
            surface_pitch: new.surface_pitch,
            mocs: new.mocs,
            stencil_buffer_enable: new.surface_type != NULL,
            surface_base_address: new.surface_base_address,
            surface_qpitch: new.surface_qpitch,
        }
    }
}

as_before!(State3dTe, stages::State3dTe, {
    te_enable,
    te_mode,
    te_domain,
    output_topology,
    partitioning,
    maximum_tessellation_factor_odd,
    maximum_tessellation_factor_not_odd,
});

as_before!(State3dUrbAllocVs, bindings::State3dUrbVs, { vs_urb_entry_allocation_size });

as_before!(State3dUrbAllocHs, bindings::State3dUrbHs, { hs_urb_entry_allocation_size });

as_before!(State3dUrbAllocDs, bindings::State3dUrbDs, { ds_urb_entry_allocation_size });

as_before!(State3dUrbAllocGs, bindings::State3dUrbGs, { gs_urb_entry_allocation_size });

as_before!(Primitive3dExtended, vertex::Primitive3d, {
    predicate_enable,
    uav_coherency_required,
    indirect_parameter_enable,
    primitive_topology_type,
    vertex_access_type,
    end_offset_enable,
    vertex_count_per_instance,
    start_vertex_location,
    instance_count,
    start_instance_location,
    base_vertex_location,
});
