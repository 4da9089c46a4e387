//! Clipping, setup and the pixel stage.

use super::{Builder, DrawError, Placed};
use tepui_intel_compiler::stage::{FragmentInfo, VertexOutputs};
use tepui_intel_compiler::vue::Setup;
use tepui_intel_packets::bindings::{
    State3dBindingTablePointersPs, State3dConstantPs, State3dSamplerStatePointersPs,
};
use tepui_intel_packets::pixel::{State3dPs, State3dWm};
use tepui_intel_packets::raster::{State3dClip, State3dDrawingRectangle, State3dRaster, State3dSf};

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
        self.add(tepui_intel_programs::setup(setup))?;
        self.add(tepui_intel_programs::swizzles(setup))?;
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
        self.add(tepui_intel_programs::pixel(info))?;
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
