//! Clipping, setup and the pixel stage.

use super::{Builder, DrawError, Placed};
use tepui_intel_compiler::stage::{FragmentInfo, VertexOutputs};
use tepui_intel_compiler::vue::{Setup, SetupAttribute, Varying};
use tepui_intel_packets::bindings::{
    State3dBindingTablePointersPs, State3dConstantPs, State3dSamplerStatePointersPs,
};
use tepui_intel_packets::pixel::{State3dPs, State3dPsExtra, State3dWm};
use tepui_intel_packets::raster::{
    SfOutputAttributeDetail, State3dClip, State3dDrawingRectangle, State3dRaster, State3dSbe,
    State3dSbeSwiz, State3dSf,
};

impl Builder<'_, '_> {
    pub(super) fn raster(
        &mut self,
        out: &VertexOutputs,
        fragment: &FragmentInfo,
        setup: &Setup,
    ) -> Result<(), DrawError> {
        let several = self.d.samples_log2 > 0;
        self.add(State3dClip {
            clip_enable: true,
            api_mode: true,
            viewport_xy_clip_test_enable: true,
            guardband_clip_test_enable: true,
            non_perspective_barycentric_enable: fragment.linear,
            force_zero_rta_index_enable: !out.layer,
            maximum_vp_index: self.d.viewports.len().max(1) as u32 - 1,
            minimum_point_width: 0.125,
            maximum_point_width: 255.875,
            ..State3dClip::default()
        })?;
        self.add(State3dSf {
            viewport_transform_enable: true,
            point_width: 1.0,
            // 0 takes it from vertices.
            point_width_source: !out.point_size,
            line_width: 1.0,
            ..State3dSf::default()
        })?;
        self.add(State3dRaster {
            viewport_z_near_clip_test_enable: true,
            viewport_z_far_clip_test_enable: true,
            cull_mode: 1,
            front_winding: self.d.counter_clockwise,
            api_mode: 2,
            dx_multisample_rasterization_enable: several,
            dx_multisample_rasterization_mode: if several { 3 } else { 0 },
            ..State3dRaster::default()
        })?;
        let bit = |f: fn(&SetupAttribute) -> bool| {
            let all = (0..).zip(&setup.attributes);
            all.fold(0u32, |mask, (k, a)| mask | u32::from(f(a)) << k)
        };
        let primitive =
            setup.attributes.iter().position(|a| a.generated == Some(Varying::PrimitiveId));
        self.add(State3dSbe {
            vertex_urb_entry_read_offset: setup.read_offset.into(),
            vertex_urb_entry_read_length: setup.read_length.into(),
            force_vertex_urb_entry_read_offset: true,
            force_vertex_urb_entry_read_length: true,
            attribute_swizzle_enable: true,
            number_of_sf_output_attributes: setup.attributes.len() as u32,
            constant_interpolation_enable: bit(|a| a.flat),
            point_sprite_texture_coordinate_enable: bit(|a| {
                a.generated == Some(Varying::PointCoord)
            }),
            primitive_id_override_attribute_select: primitive.unwrap_or(0) as u32,
            primitive_id_override_component_x: primitive.is_some(),
            ..State3dSbe::default()
        })?;
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
        self.add(State3dSbeSwiz {
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
        })?;
        self.add(State3dDrawingRectangle {
            clipped_drawing_rectangle_x_max: 0xffff,
            clipped_drawing_rectangle_y_max: 0xffff,
            ..State3dDrawingRectangle::default()
        })
    }

    pub(super) fn pixel_shader(
        &mut self,
        info: &FragmentInfo,
        p: &Placed,
    ) -> Result<(), DrawError> {
        let wanted = self.d.width;
        let all = &self.d.fragment.variants;
        let of = |width: u8| {
            let used = wanted == 0 || wanted == width;
            all.iter().find(|v| v.width == width && used).copied()
        };
        let (narrow, wide) = (of(8), of(16));
        let pointer = |v: Option<tepui_intel_compiler::Variant>| {
            v.map_or((0, 0), |v| (p.code + u64::from(v.offset), u32::from(v.start)))
        };
        // A single program is kernel 0.
        let (zero, two) = match (narrow, wide) {
            (Some(_), Some(_)) => (pointer(narrow), pointer(wide)),
            (one, other) => (pointer(one.or(other)), (0, 0)),
        };
        self.add(State3dPs {
            kernel_start_pointer_0: zero.0,
            kernel_start_pointer_2: two.0,
            dispatch_grf_start_register_for_constant_setup_data_0: zero.1,
            dispatch_grf_start_register_for_constant_setup_data_2: two.1,
            n8_pixel_dispatch_enable: narrow.is_some(),
            n16_pixel_dispatch_enable: wide.is_some(),
            vector_mask_enable: true,
            per_thread_scratch_space: p.scratch_log2,
            scratch_space_base_pointer: self.scratch(p),
            position_xy_offset_select: if info.sample_position { 3 } else { 0 },
            push_constant_enable: p.registers > 0,
            maximum_number_of_threads_per_psd: 63,
            ..State3dPs::default()
        })?;
        use tepui_ir::DepthMode;
        self.add(State3dPsExtra {
            input_coverage_mask_state: u32::from(info.coverage),
            pixel_shader_has_uav: info.side_effects,
            pixel_shader_pulls_bary: info.pulls_barycentrics,
            pixel_shader_computes_stencil: info.stencil,
            pixel_shader_is_per_sample: info.per_sample,
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
        })?;
        self.add(State3dWm {
            barycentric_interpolation_mode: info.barycentrics.into(),
            early_depth_stencil_control: if info.early_tests { 2 } else { 0 },
            force_thread_dispatch_enable: if info.side_effects { 2 } else { 0 },
            ..State3dWm::default()
        })?;
        let constants = self.constant_body(p);
        self.add(State3dConstantPs { constant_body: constants, ..State3dConstantPs::default() })?;
        self.add(State3dSamplerStatePointersPs { pointer_to_ps_sampler_state: p.samplers })?;
        self.add(State3dBindingTablePointersPs { pointer_to_ps_binding_table: p.table })
    }
}
