//! State packets that follow from a compiled program alone. Whoever draws adds where the program is, its scratch memory, the
//! number of its threads, and what depends on other state.

use tepui_intel_compiler::Variant;
use tepui_intel_compiler::stage::{
    ControlData, DomainInfo, FragmentInfo, GeometryInfo, HullInfo, Tessellator, VertexInfo,
};
use tepui_intel_compiler::vue::{Setup, SetupAttribute, Varying};
use tepui_intel_packets::pixel::{CoverageMask, State3dPsExtra};
use tepui_intel_packets::raster::{SfOutputAttributeDetail, State3dSbe, State3dSbeSwiz};
use tepui_intel_packets::stages::{State3dDs, State3dGs, State3dHs, State3dTe, State3dVs};
use tepui_ir::{DepthMode, PrimitiveKind};

/// Dispatch modes. source: genxml, 3DSTATE_HS, 3DSTATE_DS, 3DSTATE_GS
const HULL_EIGHT_PATCHES: u32 = 2;
const DOMAIN_SIMD8: u32 = 1;
const GEOMETRY_SIMD8: u32 = 3;

/// Maximum tessellation levels.
const MAX_LEVEL_ODD: f32 = 63.0;
const MAX_LEVEL: f32 = 64.0;

/// 3DSTATE_VS of a vertex program.
#[must_use]
pub fn vertex(info: &VertexInfo, v: &Variant) -> State3dVs {
    State3dVs {
        enable: true,
        simd8_dispatch_enable: true,
        vertex_urb_entry_read_length: info.read_length(),
        dispatch_grf_start_register_for_urb_data: v.start.into(),
        user_clip_distance_clip_test_enable_bitmask: info.outputs.clip_mask.into(),
        user_clip_distance_cull_test_enable_bitmask: info.outputs.cull_mask.into(),
        ..State3dVs::default()
    }
}

/// 3DSTATE_HS of a hull program.
#[must_use]
pub fn hull(info: &HullInfo, v: &Variant) -> State3dHs {
    let start = u32::from(v.start);
    State3dHs {
        enable: true,
        instance_count: u32::from(info.threads) - 1,
        include_primitive_id: info.primitive_id,
        dispatch_mode: if info.eight_patches { HULL_EIGHT_PATCHES } else { 0 },
        dispatch_grf_start_register_for_urb_data: start & 0x1f,
        dispatch_grf_start_register_for_urb_data_5: start >= 32,
        include_vertex_handles: true,
        ..State3dHs::default()
    }
}

/// 3DSTATE_TE of a hull and a domain program.
#[must_use]
pub fn tessellator(t: &Tessellator) -> State3dTe {
    State3dTe {
        te_enable: true,
        te_domain: t.domain.into(),
        output_topology: t.topology.into(),
        partitioning: t.partitioning.into(),
        maximum_tessellation_factor_odd: MAX_LEVEL_ODD,
        maximum_tessellation_factor_not_odd: MAX_LEVEL,
        ..State3dTe::default()
    }
}

/// 3DSTATE_DS of a domain program.
#[must_use]
pub fn domain(info: &DomainInfo, v: &Variant) -> State3dDs {
    State3dDs {
        enable: true,
        patch_urb_entry_read_length: info.read_length.into(),
        dispatch_grf_start_register_for_urb_data: v.start.into(),
        compute_w_coordinate_enable: info.patch.domain == PrimitiveKind::Triangles,
        dispatch_mode: DOMAIN_SIMD8,
        user_clip_distance_clip_test_enable_bitmask: info.outputs.clip_mask.into(),
        user_clip_distance_cull_test_enable_bitmask: info.outputs.cull_mask.into(),
        ..State3dDs::default()
    }
}

/// 3DSTATE_GS of a geometry program.
#[must_use]
pub fn geometry(info: &GeometryInfo, v: &Variant) -> State3dGs {
    let start = u32::from(v.start);
    State3dGs {
        enable: true,
        expected_vertex_count: info.vertices_in.into(),
        dispatch_grf_start_register_for_urb_data: start & 0xf,
        dispatch_grf_start_register_for_urb_data_5_4: start >> 4,
        include_vertex_handles: true,
        include_primitive_id: info.primitive_id,
        output_topology: info.topology(),
        output_vertex_size: u32::from(info.vertex_slots()) - 1,
        dispatch_mode: GEOMETRY_SIMD8,
        instance_control: u32::from(info.invocations) - 1,
        control_data_header_size: info.control_units().into(),
        control_data_format: info.control == ControlData::Streams,
        default_stream_id: info.stream.into(),
        static_output: info.static_count.is_some(),
        static_output_vertex_count: info.static_count.unwrap_or(0).into(),
        user_clip_distance_clip_test_enable_bitmask: info.outputs.clip_mask.into(),
        user_clip_distance_cull_test_enable_bitmask: info.outputs.cull_mask.into(),
        ..State3dGs::default()
    }
}

/// 3DSTATE_SBE of the attributes of a fragment program.
#[must_use]
pub fn setup(setup: &Setup) -> State3dSbe {
    let bit = |f: fn(&SetupAttribute) -> bool| {
        let all = (0..).zip(&setup.attributes);
        all.fold(0u32, |mask, (k, a)| mask | u32::from(f(a)) << k)
    };
    let primitive = setup.attributes.iter().position(|a| a.generated == Some(Varying::PrimitiveId));
    State3dSbe {
        vertex_urb_entry_read_offset: setup.read_offset.into(),
        vertex_urb_entry_read_length: setup.read_length.into(),
        force_vertex_urb_entry_read_offset: true,
        force_vertex_urb_entry_read_length: true,
        attribute_swizzle_enable: true,
        number_of_sf_output_attributes: setup.attributes.len() as u32,
        constant_interpolation_enable: bit(|a| a.flat),
        point_sprite_texture_coordinate_enable: bit(|a| a.generated == Some(Varying::PointCoord)),
        primitive_id_override_attribute_select: primitive.unwrap_or(0) as u32,
        primitive_id_override_component_x: primitive.is_some(),
        ..State3dSbe::default()
    }
}

/// 3DSTATE_SBE_SWIZ of the attributes of a fragment program.
#[must_use]
pub fn swizzles(setup: &Setup) -> State3dSbeSwiz {
    let detail = |k: usize| match setup.attributes.get(k) {
        Some(SetupAttribute { source: Some(source), .. }) => SfOutputAttributeDetail {
            source_attribute: u32::from(*source),
            ..SfOutputAttributeDetail::default()
        },
        // Zero.
        _ => SfOutputAttributeDetail {
            component_override_x: true,
            component_override_y: true,
            component_override_z: true,
            component_override_w: true,
            ..SfOutputAttributeDetail::default()
        },
    };
    State3dSbeSwiz {
        attribute_0: detail(0),
        attribute_1: detail(1),
        attribute_2: detail(2),
        attribute_3: detail(3),
        attribute_4: detail(4),
        attribute_5: detail(5),
        attribute_6: detail(6),
        attribute_7: detail(7),
        attribute_8: detail(8),
        attribute_9: detail(9),
        attribute_10: detail(10),
        attribute_11: detail(11),
        attribute_12: detail(12),
        attribute_13: detail(13),
        attribute_14: detail(14),
        attribute_15: detail(15),
        ..State3dSbeSwiz::default()
    }
}

/// 3DSTATE_PS_EXTRA of a fragment program.
#[must_use]
pub fn pixel(info: &FragmentInfo) -> State3dPsExtra {
    State3dPsExtra {
        input_coverage_mask_state: match (info.coverage, info.depth_coverage) {
            (false, _) => CoverageMask::NONE,
            (true, false) => CoverageMask::NORMAL,
            (true, true) => CoverageMask::DEPTH,
        },
        pixel_shader_has_uav: info.side_effects,
        pixel_shader_pulls_bary: info.pulls_barycentrics,
        pixel_shader_computes_stencil: info.stencil,
        pixel_shader_is_per_sample: info.per_sample,
        pixel_shader_is_per_coarse_pixel: info.coarse,
        pixel_shader_requires_source_depth_and_or_w_plane_coefficients: info.depth_plane,
        attribute_enable: !info.inputs.is_empty(),
        pixel_shader_uses_source_w: info.source_w,
        pixel_shader_uses_source_depth: info.source_depth,
        pixel_shader_computed_depth_mode: match info.depth {
            None => 0,
            Some(DepthMode::Any) => 1,
            Some(DepthMode::Greater) => 2,
            Some(DepthMode::Less | DepthMode::Unchanged) => 3,
        },
        pixel_shader_kills_pixel: info.kills,
        omask_present_to_render_target: info.sample_mask,
        pixel_shader_valid: true,
        ..State3dPsExtra::default()
    }
}
