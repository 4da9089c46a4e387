//! The state that a graphics pipeline fixes, from the structures that it is created with.

use std::ffi::c_void;

use vulkanalia_sys as vk;

use crate::chain;
use crate::error::Result;
use crate::image::format_of;
use crate::object::{maybe, slice};
use crate::render_pass::RenderPass;
use crate::state::{
    self, AdvancedBlend, Blend, GraphicsState, Groups, MAX_COLOURS, MAX_VERTEX, MAX_VIEWPORTS,
    Stencil, VertexAttribute,
};

/// Groups of each part of a pipeline.
pub(super) fn groups_of(part: vk::GraphicsPipelineLibraryFlagsEXT) -> Groups {
    use vk::GraphicsPipelineLibraryFlagsEXT as P;
    let mut g = Groups::empty();
    if part.contains(P::VERTEX_INPUT_INTERFACE) {
        g |= Groups::VERTEX_ATTRIBUTES
            | Groups::VERTEX_STRIDES
            | Groups::TOPOLOGY
            | Groups::RESTART
            | Groups::ROBUST_VERTEX_INPUTS;
    }
    if part.contains(P::PRE_RASTERIZATION_SHADERS) {
        g |= Groups::VIEWPORTS
            | Groups::VIEWPORT_COUNT
            | Groups::SCISSORS
            | Groups::SCISSOR_COUNT
            | Groups::LINE_WIDTH
            | Groups::DEPTH_BIAS
            | Groups::DEPTH_BIAS_ENABLE
            | Groups::CULL_MODE
            | Groups::FRONT_FACE
            | Groups::DISCARD
            | Groups::POLYGON_MODE
            | Groups::DEPTH_CLAMP
            | Groups::DEPTH_CLAMP_RANGE
            | Groups::DEPTH_CLIP
            | Groups::NEGATIVE_ONE_TO_ONE
            | Groups::PROVOKING
            | Groups::LINE_MODE
            | Groups::CONSERVATIVE
            | Groups::LINE_STIPPLE
            | Groups::LINE_STIPPLE_ENABLE
            | Groups::PATCH
            | Groups::PATCH_ORIGIN
            | Groups::RASTERIZATION_STREAM;
    }
    if part.contains(P::FRAGMENT_SHADER) {
        g |= Groups::DEPTH_TEST
            | Groups::DEPTH_WRITE
            | Groups::DEPTH_COMPARE
            | Groups::DEPTH_BOUNDS
            | Groups::DEPTH_BOUNDS_TEST
            | Groups::STENCIL_TEST
            | Groups::STENCIL_OP
            | Groups::STENCIL_COMPARE_MASK
            | Groups::STENCIL_WRITE_MASK
            | Groups::STENCIL_REFERENCE
            | Groups::SHADING_RATE;
    }
    if part.contains(P::FRAGMENT_OUTPUT_INTERFACE) {
        g |= Groups::BLEND_CONSTANTS
            | Groups::LOGIC_OP
            | Groups::LOGIC_OP_ENABLE
            | Groups::BLEND_ENABLE
            | Groups::BLEND_EQUATION
            | Groups::WRITE_MASK
            | Groups::WRITE_ENABLE
            | Groups::SAMPLES
            | Groups::SAMPLE_MASK
            | Groups::SAMPLE_LOCATIONS
            | Groups::SAMPLE_LOCATIONS_ENABLE
            | Groups::ALPHA_TO_COVERAGE
            | Groups::ALPHA_TO_ONE
            | Groups::FEEDBACK_LOOPS
            | Groups::FIXED
            | Groups::LOCATIONS;
    }
    g
}

pub(super) unsafe fn vertex_input(
    s: &mut GraphicsState,
    info: &vk::GraphicsPipelineCreateInfo,
) -> Result<()> {
    // SAFETY: the structures are the application's and valid.
    unsafe {
        if let Some(v) = info.vertex_input_state.as_ref() {
            let divisors: Option<&vk::PipelineVertexInputDivisorStateCreateInfo> = chain::find(
                v.next,
                vk::StructureType::PIPELINE_VERTEX_INPUT_DIVISOR_STATE_CREATE_INFO,
            );
            for b in slice(v.vertex_binding_descriptions, v.vertex_binding_description_count) {
                let n = (b.binding as usize).min(MAX_VERTEX - 1);
                s.strides[n] = b.stride;
                s.rates[n] = (b.input_rate == vk::VertexInputRate::INSTANCE).then_some(1);
            }
            if let Some(d) = divisors {
                for b in slice(d.vertex_binding_divisors, d.vertex_binding_divisor_count) {
                    s.rates[(b.binding as usize).min(MAX_VERTEX - 1)] = Some(b.divisor);
                }
            }
            for a in slice(v.vertex_attribute_descriptions, v.vertex_attribute_description_count) {
                s.attributes[(a.location as usize).min(MAX_VERTEX - 1)] = Some(VertexAttribute {
                    binding: a.binding as u8,
                    format: format_of(a.format)?,
                    offset: a.offset,
                });
            }
        }
        if let Some(i) = info.input_assembly_state.as_ref() {
            (s.topology, s.restart) = (i.topology, i.primitive_restart_enable == vk::TRUE);
        }
        Ok(())
    }
}

pub(super) unsafe fn pre_raster(
    s: &mut GraphicsState,
    info: &vk::GraphicsPipelineCreateInfo,
    dynamic: Groups,
) {
    // SAFETY: the structures are the application's and valid; arrays of dynamic state may be null.
    unsafe {
        let raster = info.rasterization_state.as_ref();
        let discards = raster.is_some_and(|r| r.rasterizer_discard_enable == vk::TRUE)
            && !dynamic.contains(Groups::DISCARD);
        // Without rasterisation, the pointer may be anything.
        let viewport = if discards { None } else { info.viewport_state.as_ref() };
        if let Some(v) = viewport {
            for (to, from) in s.viewports.iter_mut().zip(slice(v.viewports, v.viewport_count)) {
                *to = *from;
            }
            for (to, from) in s.scissors.iter_mut().zip(slice(v.scissors, v.scissor_count)) {
                *to = *from;
            }
            s.viewport_count = v.viewport_count.min(MAX_VIEWPORTS as u32);
            s.scissor_count = v.scissor_count.min(MAX_VIEWPORTS as u32);
            let control: Option<&vk::PipelineViewportDepthClipControlCreateInfoEXT> = chain::find(
                v.next,
                vk::StructureType::PIPELINE_VIEWPORT_DEPTH_CLIP_CONTROL_CREATE_INFO_EXT,
            );
            s.negative_one_to_one = control.is_some_and(|c| c.negative_one_to_one == vk::TRUE);
            let clamp: Option<&vk::PipelineViewportDepthClampControlCreateInfoEXT> = chain::find(
                v.next,
                vk::StructureType::PIPELINE_VIEWPORT_DEPTH_CLAMP_CONTROL_CREATE_INFO_EXT,
            );
            s.depth_clamp_range = clamp
                .and_then(|c| state::given_clamp_range(c.depth_clamp_mode, c.depth_clamp_range));
        }
        let mut stages = slice(info.stages, info.stage_count).iter();
        // Without such a shader, the pointer may be anything.
        if stages.any(|s| s.stage == vk::ShaderStageFlags::TESSELLATION_EVALUATION)
            && let Some(t) = info.tessellation_state.as_ref()
        {
            s.patch_points = t.patch_control_points;
            let origin: Option<&vk::PipelineTessellationDomainOriginStateCreateInfo> = chain::find(
                t.next,
                vk::StructureType::PIPELINE_TESSELLATION_DOMAIN_ORIGIN_STATE_CREATE_INFO,
            );
            s.patch_lower_left =
                origin.is_some_and(|o| o.domain_origin == vk::TessellationDomainOrigin::LOWER_LEFT);
        }
        if let Some(r) = raster {
            s.discard = r.rasterizer_discard_enable == vk::TRUE;
            s.depth_clamp = r.depth_clamp_enable == vk::TRUE;
            (s.polygon_mode, s.cull_mode, s.front_face) =
                (r.polygon_mode, r.cull_mode, r.front_face);
            s.depth_bias_enable = r.depth_bias_enable == vk::TRUE;
            s.depth_bias =
                [r.depth_bias_constant_factor, r.depth_bias_clamp, r.depth_bias_slope_factor];
            s.depth_bias_unit = state::BiasUnit::of(r.next);
            s.line_width = r.line_width;
            let clip: Option<&vk::PipelineRasterizationDepthClipStateCreateInfoEXT> = chain::find(
                r.next,
                vk::StructureType::PIPELINE_RASTERIZATION_DEPTH_CLIP_STATE_CREATE_INFO_EXT,
            );
            s.depth_clip = clip.map(|c| c.depth_clip_enable == vk::TRUE);
            let provoking: Option<&vk::PipelineRasterizationProvokingVertexStateCreateInfoEXT> =
                chain::find(r.next, vk::StructureType::PIPELINE_RASTERIZATION_PROVOKING_VERTEX_STATE_CREATE_INFO_EXT);
            s.provoking_last = provoking.is_some_and(|p| {
                p.provoking_vertex_mode == vk::ProvokingVertexModeEXT::LAST_VERTEX
            });
            let conservative: Option<&vk::PipelineRasterizationConservativeStateCreateInfoEXT> =
                chain::find(
                    r.next,
                    vk::StructureType::PIPELINE_RASTERIZATION_CONSERVATIVE_STATE_CREATE_INFO_EXT,
                );
            s.conservative = conservative
                .is_some_and(|c| state::is_conservative(c.conservative_rasterization_mode));
            let stream: Option<&vk::PipelineRasterizationStateStreamCreateInfoEXT> = chain::find(
                r.next,
                vk::StructureType::PIPELINE_RASTERIZATION_STATE_STREAM_CREATE_INFO_EXT,
            );
            s.rasterization_stream =
                stream.map_or(0, |s| crate::feedback::stream_number(s.rasterization_stream));
            let line: Option<&vk::PipelineRasterizationLineStateCreateInfo> = chain::find(
                r.next,
                vk::StructureType::PIPELINE_RASTERIZATION_LINE_STATE_CREATE_INFO,
            );
            if let Some(l) = line {
                s.line_mode = l.line_rasterization_mode;
                s.stipple_enable = l.stippled_line_enable == vk::TRUE;
                s.stipple = (l.line_stipple_factor, l.line_stipple_pattern);
            }
        }
    }
}

fn stencil_of(o: &vk::StencilOpState) -> Stencil {
    Stencil { fail: o.fail_op, pass: o.pass_op, depth_fail: o.depth_fail_op, compare: o.compare_op }
}

pub(super) unsafe fn depth_stencil(s: &mut GraphicsState, info: &vk::GraphicsPipelineCreateInfo) {
    // SAFETY: the structure is the application's and valid, or null.
    let Some(d) = (unsafe { info.depth_stencil_state.as_ref() }) else { return };
    s.depth_test = d.depth_test_enable == vk::TRUE;
    s.depth_write = d.depth_write_enable == vk::TRUE;
    s.depth_compare = d.depth_compare_op;
    s.depth_bounds_test = d.depth_bounds_test_enable == vk::TRUE;
    s.depth_bounds = [d.min_depth_bounds, d.max_depth_bounds];
    s.stencil_test = d.stencil_test_enable == vk::TRUE;
    let faces = [&d.front, &d.back];
    s.stencil = faces.map(stencil_of);
    s.stencil_compare_mask = faces.map(|f| f.compare_mask);
    s.stencil_write_mask = faces.map(|f| f.write_mask);
    s.stencil_reference = faces.map(|f| f.reference);
}

/// Size of fragments of a pipeline. Its operations that combine it with rates of primitives and of an attachment keep it, as no family offers those rates.
pub(super) unsafe fn shading_rate(s: &mut GraphicsState, info: &vk::GraphicsPipelineCreateInfo) {
    // SAFETY: the chain is the application's and valid.
    let rate: Option<&vk::PipelineFragmentShadingRateStateCreateInfoKHR> = unsafe {
        let kind = vk::StructureType::PIPELINE_FRAGMENT_SHADING_RATE_STATE_CREATE_INFO_KHR;
        chain::find(info.next, kind)
    };
    s.fragment_size = rate.map_or([1; 2], |r| state::fragment_size(r.fragment_size));
}

/// Parameters of advanced blend operations for all attachments of a pipeline.
unsafe fn advanced_blend(next: *const c_void) -> AdvancedBlend {
    // SAFETY: the chain is the application's and valid.
    let info: Option<&vk::PipelineColorBlendAdvancedStateCreateInfoEXT> = unsafe {
        chain::find(next, vk::StructureType::PIPELINE_COLOR_BLEND_ADVANCED_STATE_CREATE_INFO_EXT)
    };
    info.map_or(AdvancedBlend::default(), |i| AdvancedBlend {
        source_straight: i.src_premultiplied == vk::FALSE,
        destination_straight: i.dst_premultiplied == vk::FALSE,
        overlap: i.blend_overlap,
        clamp: false,
    })
}

/// Blending of an attachment.
fn blend_of(a: &vk::PipelineColorBlendAttachmentState, advanced: AdvancedBlend) -> Blend {
    Blend {
        advanced,
        colour: [
            a.src_color_blend_factor.as_raw(),
            a.dst_color_blend_factor.as_raw(),
            a.color_blend_op.as_raw(),
        ],
        alpha: [
            a.src_alpha_blend_factor.as_raw(),
            a.dst_alpha_blend_factor.as_raw(),
            a.alpha_blend_op.as_raw(),
        ],
    }
}

pub(super) unsafe fn multisample(
    s: &mut GraphicsState,
    info: &vk::GraphicsPipelineCreateInfo,
    dynamic: Groups,
) {
    // SAFETY: the structure is the application's and valid, or null.
    unsafe {
        let Some(m) = info.multisample_state.as_ref() else { return };
        s.samples = crate::image::samples_of(m.rasterization_samples);
        s.sample_mask = m.sample_mask.as_ref().map_or(u32::MAX, |m| *m);
        s.alpha_to_coverage = m.alpha_to_coverage_enable == vk::TRUE;
        s.alpha_to_one = m.alpha_to_one_enable == vk::TRUE;
        s.sample_shading = m.sample_shading_enable == vk::TRUE;
        s.min_sample_shading = m.min_sample_shading;
        let places: Option<&vk::PipelineSampleLocationsStateCreateInfoEXT> =
            chain::find(m.next, vk::StructureType::PIPELINE_SAMPLE_LOCATIONS_STATE_CREATE_INFO_EXT);
        if let Some(p) = places {
            s.sample_locations_enable = p.sample_locations_enable == vk::TRUE;
            // Else the structure's locations may be anything.
            if s.sample_locations_enable || dynamic.contains(Groups::SAMPLE_LOCATIONS_ENABLE) {
                s.sample_locations = state::sample_locations(&p.sample_locations_info);
            }
        }
    }
}

pub(super) unsafe fn fragment_output(
    s: &mut GraphicsState,
    info: &vk::GraphicsPipelineCreateInfo,
    dynamic: Groups,
) -> Result<()> {
    // SAFETY: the structures are the application's and valid.
    unsafe {
        multisample(s, info, dynamic);
        if let Some(c) = info.color_blend_state.as_ref() {
            s.logic_op_enable = c.logic_op_enable == vk::TRUE;
            s.logic_op = c.logic_op;
            s.blend_constants = c.blend_constants;
            s.blend_enable = 0;
            let advanced = advanced_blend(c.next);
            for (k, a) in
                slice(c.attachments, c.attachment_count).iter().enumerate().take(MAX_COLOURS)
            {
                s.blend_enable |= u8::from(a.blend_enable == vk::TRUE) << k;
                s.blend[k] = blend_of(a, advanced);
                s.write_mask[k] = a.color_write_mask.bits() as u8;
            }
            let writes: Option<&vk::PipelineColorWriteCreateInfoEXT> =
                chain::find(c.next, vk::StructureType::PIPELINE_COLOR_WRITE_CREATE_INFO_EXT);
            if let Some(w) = writes {
                let enables = slice(w.color_write_enables, w.attachment_count).iter().enumerate();
                s.write_enable = enables.fold(0, |all, (k, &e)| all | u8::from(e == vk::TRUE) << k);
            }
        }
        let rendering: Option<&vk::PipelineRenderingCreateInfo> =
            chain::find(info.next, vk::StructureType::PIPELINE_RENDERING_CREATE_INFO);
        if let Some(pass) = maybe::<RenderPass>(info.render_pass) {
            pass.formats(info.subpass, s);
        } else if let Some(r) = rendering {
            s.local_read = true;
            s.view_mask = r.view_mask;
            let some = |f: vk::Format| {
                if f == vk::Format::UNDEFINED { Ok(None) } else { format_of(f).map(Some) }
            };
            for (k, &f) in slice(r.color_attachment_formats, r.color_attachment_count)
                .iter()
                .enumerate()
                .take(MAX_COLOURS)
            {
                s.colour_formats[k] = some(f)?;
            }
            s.absent_colours = (0..MAX_COLOURS)
                .filter(|&k| s.colour_formats[k].is_none())
                .fold(0, |all, k| all | 1 << k);
            s.depth_format = some(r.depth_attachment_format)?;
            s.stencil_format = some(r.stencil_attachment_format)?;
        }
        let locations: Option<&vk::RenderingAttachmentLocationInfo> =
            chain::find(info.next, vk::StructureType::RENDERING_ATTACHMENT_LOCATION_INFO);
        if let Some(l) = locations {
            set_locations(s, l);
        }
        let inputs: Option<&vk::RenderingInputAttachmentIndexInfo> =
            chain::find(info.next, vk::StructureType::RENDERING_INPUT_ATTACHMENT_INDEX_INFO);
        if let Some(i) = inputs {
            set_inputs(s, i);
        }
        Ok(())
    }
}

/// Sets which fragment outputs go to which attachments.
pub(crate) unsafe fn set_locations(s: &mut GraphicsState, l: &vk::RenderingAttachmentLocationInfo) {
    // SAFETY: the array is the application's and valid, or null.
    let list = unsafe { slice(l.color_attachment_locations, l.color_attachment_count) };
    for k in 0..MAX_COLOURS {
        let own = list.get(k).copied().unwrap_or(k as u32);
        s.locations[k] = (own < MAX_COLOURS as u32).then_some(own as u8);
    }
}

/// Sets which input attachments are which attachments.
pub(crate) unsafe fn set_inputs(s: &mut GraphicsState, l: &vk::RenderingInputAttachmentIndexInfo) {
    // SAFETY: the array is the application's and valid, or null.
    let list = unsafe { slice(l.color_attachment_input_indices, l.color_attachment_count) };
    for k in 0..MAX_COLOURS {
        let own = list.get(k).copied().unwrap_or(k as u32);
        s.inputs[k] = (own < MAX_COLOURS as u32).then_some(own as u8);
    }
}

/// Aspects of attachments that a pipeline says it samples while it writes them.
pub(super) fn feedback_loops(flags: vk::PipelineCreateFlags2) -> vk::ImageAspectFlags {
    use vk::{ImageAspectFlags as A, PipelineCreateFlags2 as F};
    let mut aspects = A::empty();
    aspects.set(A::COLOR, flags.contains(F::COLOR_ATTACHMENT_FEEDBACK_LOOP_EXT));
    aspects
        .set(A::DEPTH | A::STENCIL, flags.contains(F::DEPTH_STENCIL_ATTACHMENT_FEEDBACK_LOOP_EXT));
    aspects
}
