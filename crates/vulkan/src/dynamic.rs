//! Commands that set dynamic state.

use vulkanalia_sys as vk;

use crate::command::of;
use crate::draws::Driver;
use crate::entry;
use crate::image::format_of;
use crate::object::{copied, slice};
use crate::state::{
    self, AdvancedBlend, Blend, GraphicsState, Groups, MAX_COLOURS, MAX_VERTEX, MAX_VIEWPORTS,
    VertexAttribute,
};

/// Records a change of a group of state.
fn set<B: Driver>(
    buffer: vk::CommandBuffer,
    name: &'static str,
    group: Groups,
    change: impl Fn(&mut GraphicsState) + Send + 'static,
) {
    // SAFETY: the handle is the entry point's.
    unsafe { of::<B>(buffer) }.record(name, move |c| {
        change(&mut c.state.graphics);
        c.state.changed |= group;
        c.state.state_set(group);
        Ok(())
    });
}

/// Both faces of a stencil mask.
fn faces(f: vk::StencilFaceFlags) -> [bool; 2] {
    [f.contains(vk::StencilFaceFlags::FRONT), f.contains(vk::StencilFaceFlags::BACK)]
}
entry! {
    /// `vkCmdSetViewport`.
    fn vkCmdSetViewport<B: Driver>(buffer: vk::CommandBuffer, first: u32, count: u32, list: *const vk::Viewport) {
        let (v, n) = copied::<_, MAX_VIEWPORTS>(unsafe { slice(list, count) }, vk::Viewport::default());
        set::<B>(buffer, "vkCmdSetViewport", Groups::VIEWPORTS, move |s| {
            for (to, from) in s.viewports.iter_mut().skip(first as usize).zip(&v[..n]) {
                *to = *from;
            }
        });
    }

    /// `vkCmdSetViewportWithCount`.
    fn vkCmdSetViewportWithCount<B: Driver>(buffer: vk::CommandBuffer, count: u32, list: *const vk::Viewport) {
        let (v, n) = copied::<_, MAX_VIEWPORTS>(unsafe { slice(list, count) }, vk::Viewport::default());
        set::<B>(buffer, "vkCmdSetViewportWithCount", Groups::VIEWPORTS | Groups::VIEWPORT_COUNT, move |s| {
            s.viewports[..n].copy_from_slice(&v[..n]);
            s.viewport_count = n as u32;
        });
    }

    /// `vkCmdSetScissor`.
    fn vkCmdSetScissor<B: Driver>(buffer: vk::CommandBuffer, first: u32, count: u32, list: *const vk::Rect2D) {
        let (v, n) = copied::<_, MAX_VIEWPORTS>(unsafe { slice(list, count) }, vk::Rect2D::default());
        set::<B>(buffer, "vkCmdSetScissor", Groups::SCISSORS, move |s| {
            for (to, from) in s.scissors.iter_mut().skip(first as usize).zip(&v[..n]) {
                *to = *from;
            }
        });
    }

    /// `vkCmdSetScissorWithCount`.
    fn vkCmdSetScissorWithCount<B: Driver>(buffer: vk::CommandBuffer, count: u32, list: *const vk::Rect2D) {
        let (v, n) = copied::<_, MAX_VIEWPORTS>(unsafe { slice(list, count) }, vk::Rect2D::default());
        set::<B>(buffer, "vkCmdSetScissorWithCount", Groups::SCISSORS | Groups::SCISSOR_COUNT, move |s| {
            s.scissors[..n].copy_from_slice(&v[..n]);
            s.scissor_count = n as u32;
        });
    }

    /// `vkCmdSetLineWidth`.
    fn vkCmdSetLineWidth<B: Driver>(buffer: vk::CommandBuffer, width: f32) {
        set::<B>(buffer, "vkCmdSetLineWidth", Groups::LINE_WIDTH, move |s| s.line_width = width);
    }

    /// `vkCmdSetDepthBias`.
    fn vkCmdSetDepthBias<B: Driver>(buffer: vk::CommandBuffer, constant: f32, clamp: f32, slope: f32) {
        set::<B>(buffer, "vkCmdSetDepthBias", Groups::DEPTH_BIAS, move |s| {
            (s.depth_bias, s.depth_bias_unit) = ([constant, clamp, slope], state::BiasUnit::default());
        });
    }

    /// `vkCmdSetBlendConstants`.
    fn vkCmdSetBlendConstants<B: Driver>(buffer: vk::CommandBuffer, constants: *const f32) {
        let v = unsafe { *constants.cast::<[f32; 4]>() };
        set::<B>(buffer, "vkCmdSetBlendConstants", Groups::BLEND_CONSTANTS, move |s| s.blend_constants = v);
    }

    /// `vkCmdSetDepthBounds`.
    fn vkCmdSetDepthBounds<B: Driver>(buffer: vk::CommandBuffer, min: f32, max: f32) {
        set::<B>(buffer, "vkCmdSetDepthBounds", Groups::DEPTH_BOUNDS, move |s| s.depth_bounds = [min, max]);
    }

    /// `vkCmdSetStencilCompareMask`.
    fn vkCmdSetStencilCompareMask<B: Driver>(buffer: vk::CommandBuffer, face: vk::StencilFaceFlags, mask: u32) {
        set::<B>(buffer, "vkCmdSetStencilCompareMask", Groups::STENCIL_COMPARE_MASK, move |s| {
            for (k, _) in faces(face).iter().enumerate().filter(|f| *f.1) {
                s.stencil_compare_mask[k] = mask;
            }
        });
    }

    /// `vkCmdSetStencilWriteMask`.
    fn vkCmdSetStencilWriteMask<B: Driver>(buffer: vk::CommandBuffer, face: vk::StencilFaceFlags, mask: u32) {
        set::<B>(buffer, "vkCmdSetStencilWriteMask", Groups::STENCIL_WRITE_MASK, move |s| {
            for (k, _) in faces(face).iter().enumerate().filter(|f| *f.1) {
                s.stencil_write_mask[k] = mask;
            }
        });
    }

    /// `vkCmdSetStencilReference`.
    fn vkCmdSetStencilReference<B: Driver>(buffer: vk::CommandBuffer, face: vk::StencilFaceFlags, reference: u32) {
        set::<B>(buffer, "vkCmdSetStencilReference", Groups::STENCIL_REFERENCE, move |s| {
            for (k, _) in faces(face).iter().enumerate().filter(|f| *f.1) {
                s.stencil_reference[k] = reference;
            }
        });
    }

    /// `vkCmdSetCullMode`.
    fn vkCmdSetCullMode<B: Driver>(buffer: vk::CommandBuffer, mode: vk::CullModeFlags) {
        set::<B>(buffer, "vkCmdSetCullMode", Groups::CULL_MODE, move |s| s.cull_mode = mode);
    }

    /// `vkCmdSetFrontFace`.
    fn vkCmdSetFrontFace<B: Driver>(buffer: vk::CommandBuffer, face: vk::FrontFace) {
        set::<B>(buffer, "vkCmdSetFrontFace", Groups::FRONT_FACE, move |s| s.front_face = face);
    }

    /// `vkCmdSetPrimitiveTopology`.
    fn vkCmdSetPrimitiveTopology<B: Driver>(buffer: vk::CommandBuffer, topology: vk::PrimitiveTopology) {
        set::<B>(buffer, "vkCmdSetPrimitiveTopology", Groups::TOPOLOGY, move |s| s.topology = topology);
    }

    /// `vkCmdSetDepthTestEnable`.
    fn vkCmdSetDepthTestEnable<B: Driver>(buffer: vk::CommandBuffer, on: vk::Bool32) {
        set::<B>(buffer, "vkCmdSetDepthTestEnable", Groups::DEPTH_TEST, move |s| s.depth_test = on == vk::TRUE);
    }

    /// `vkCmdSetDepthWriteEnable`.
    fn vkCmdSetDepthWriteEnable<B: Driver>(buffer: vk::CommandBuffer, on: vk::Bool32) {
        set::<B>(buffer, "vkCmdSetDepthWriteEnable", Groups::DEPTH_WRITE, move |s| s.depth_write = on == vk::TRUE);
    }

    /// `vkCmdSetDepthCompareOp`.
    fn vkCmdSetDepthCompareOp<B: Driver>(buffer: vk::CommandBuffer, op: vk::CompareOp) {
        set::<B>(buffer, "vkCmdSetDepthCompareOp", Groups::DEPTH_COMPARE, move |s| s.depth_compare = op);
    }

    /// `vkCmdSetDepthBoundsTestEnable`.
    fn vkCmdSetDepthBoundsTestEnable<B: Driver>(buffer: vk::CommandBuffer, on: vk::Bool32) {
        set::<B>(buffer, "vkCmdSetDepthBoundsTestEnable", Groups::DEPTH_BOUNDS_TEST, move |s| s.depth_bounds_test = on == vk::TRUE);
    }

    /// `vkCmdSetStencilTestEnable`.
    fn vkCmdSetStencilTestEnable<B: Driver>(buffer: vk::CommandBuffer, on: vk::Bool32) {
        set::<B>(buffer, "vkCmdSetStencilTestEnable", Groups::STENCIL_TEST, move |s| s.stencil_test = on == vk::TRUE);
    }

    /// `vkCmdSetStencilOp`.
    fn vkCmdSetStencilOp<B: Driver>(buffer: vk::CommandBuffer, face: vk::StencilFaceFlags, fail: vk::StencilOp, pass: vk::StencilOp, depth_fail: vk::StencilOp, compare: vk::CompareOp) {
        set::<B>(buffer, "vkCmdSetStencilOp", Groups::STENCIL_OP, move |s| {
            for (k, _) in faces(face).iter().enumerate().filter(|f| *f.1) {
                s.stencil[k] = crate::state::Stencil { fail, pass, depth_fail, compare };
            }
        });
    }

    /// `vkCmdSetRasterizerDiscardEnable`.
    fn vkCmdSetRasterizerDiscardEnable<B: Driver>(buffer: vk::CommandBuffer, on: vk::Bool32) {
        set::<B>(buffer, "vkCmdSetRasterizerDiscardEnable", Groups::DISCARD, move |s| s.discard = on == vk::TRUE);
    }

    /// `vkCmdSetDepthBias2EXT`.
    fn vkCmdSetDepthBias2EXT<B: Driver>(buffer: vk::CommandBuffer, info: *const vk::DepthBiasInfoEXT) {
        let i = unsafe { &*info };
        let bias = [i.depth_bias_constant_factor, i.depth_bias_clamp, i.depth_bias_slope_factor];
        let unit = unsafe { state::BiasUnit::of(i.next) };
        set::<B>(buffer, "vkCmdSetDepthBias2EXT", Groups::DEPTH_BIAS, move |s| (s.depth_bias, s.depth_bias_unit) = (bias, unit));
    }

    /// `vkCmdSetDepthBiasEnable`.
    fn vkCmdSetDepthBiasEnable<B: Driver>(buffer: vk::CommandBuffer, on: vk::Bool32) {
        set::<B>(buffer, "vkCmdSetDepthBiasEnable", Groups::DEPTH_BIAS_ENABLE, move |s| s.depth_bias_enable = on == vk::TRUE);
    }

    /// `vkCmdSetPrimitiveRestartEnable`.
    fn vkCmdSetPrimitiveRestartEnable<B: Driver>(buffer: vk::CommandBuffer, on: vk::Bool32) {
        set::<B>(buffer, "vkCmdSetPrimitiveRestartEnable", Groups::RESTART, move |s| s.restart = on == vk::TRUE);
    }

    /// `vkCmdSetLogicOpEXT`.
    fn vkCmdSetLogicOpEXT<B: Driver>(buffer: vk::CommandBuffer, op: vk::LogicOp) {
        set::<B>(buffer, "vkCmdSetLogicOpEXT", Groups::LOGIC_OP, move |s| s.logic_op = op);
    }

    /// `vkCmdSetLogicOpEnableEXT`.
    fn vkCmdSetLogicOpEnableEXT<B: Driver>(buffer: vk::CommandBuffer, on: vk::Bool32) {
        set::<B>(buffer, "vkCmdSetLogicOpEnableEXT", Groups::LOGIC_OP_ENABLE, move |s| s.logic_op_enable = on == vk::TRUE);
    }

    /// `vkCmdSetPatchControlPointsEXT`.
    fn vkCmdSetPatchControlPointsEXT<B: Driver>(buffer: vk::CommandBuffer, points: u32) {
        set::<B>(buffer, "vkCmdSetPatchControlPointsEXT", Groups::PATCH, move |s| s.patch_points = points);
    }

    /// `vkCmdSetPolygonModeEXT`.
    fn vkCmdSetPolygonModeEXT<B: Driver>(buffer: vk::CommandBuffer, mode: vk::PolygonMode) {
        set::<B>(buffer, "vkCmdSetPolygonModeEXT", Groups::POLYGON_MODE, move |s| s.polygon_mode = mode);
    }

    /// `vkCmdSetRasterizationSamplesEXT`.
    fn vkCmdSetRasterizationSamplesEXT<B: Driver>(buffer: vk::CommandBuffer, samples: vk::SampleCountFlags) {
        set::<B>(buffer, "vkCmdSetRasterizationSamplesEXT", Groups::SAMPLES, move |s| s.samples = crate::image::samples_of(samples));
    }

    /// `vkCmdSetSampleMaskEXT`.
    fn vkCmdSetSampleMaskEXT<B: Driver>(buffer: vk::CommandBuffer, _samples: vk::SampleCountFlags, mask: *const u32) {
        let mask = unsafe { mask.as_ref() }.copied().unwrap_or(u32::MAX);
        set::<B>(buffer, "vkCmdSetSampleMaskEXT", Groups::SAMPLE_MASK, move |s| s.sample_mask = mask);
    }

    /// `vkCmdSetSampleLocationsEnableEXT`.
    fn vkCmdSetSampleLocationsEnableEXT<B: Driver>(buffer: vk::CommandBuffer, on: vk::Bool32) {
        set::<B>(buffer, "vkCmdSetSampleLocationsEnableEXT", Groups::SAMPLE_LOCATIONS_ENABLE, move |s| s.sample_locations_enable = on == vk::TRUE);
    }

    /// `vkCmdSetSampleLocationsEXT`.
    fn vkCmdSetSampleLocationsEXT<B: Driver>(buffer: vk::CommandBuffer, info: *const vk::SampleLocationsInfoEXT) {
        let places = unsafe { state::sample_locations(&*info) };
        set::<B>(buffer, "vkCmdSetSampleLocationsEXT", Groups::SAMPLE_LOCATIONS, move |s| s.sample_locations = places);
    }

    /// `vkCmdSetFragmentShadingRateKHR`.
    fn vkCmdSetFragmentShadingRateKHR<B: Driver>(buffer: vk::CommandBuffer, size: *const vk::Extent2D, _combine: *const vk::FragmentShadingRateCombinerOpKHR) {
        let size = unsafe { state::fragment_size(*size) };
        set::<B>(buffer, "vkCmdSetFragmentShadingRateKHR", Groups::SHADING_RATE, move |s| s.fragment_size = size);
    }

    /// `vkCmdSetAlphaToCoverageEnableEXT`.
    fn vkCmdSetAlphaToCoverageEnableEXT<B: Driver>(buffer: vk::CommandBuffer, on: vk::Bool32) {
        set::<B>(buffer, "vkCmdSetAlphaToCoverageEnableEXT", Groups::ALPHA_TO_COVERAGE, move |s| s.alpha_to_coverage = on == vk::TRUE);
    }

    /// `vkCmdSetAlphaToOneEnableEXT`.
    fn vkCmdSetAlphaToOneEnableEXT<B: Driver>(buffer: vk::CommandBuffer, on: vk::Bool32) {
        set::<B>(buffer, "vkCmdSetAlphaToOneEnableEXT", Groups::ALPHA_TO_ONE, move |s| s.alpha_to_one = on == vk::TRUE);
    }

    /// `vkCmdSetAttachmentFeedbackLoopEnableEXT`.
    fn vkCmdSetAttachmentFeedbackLoopEnableEXT<B: Driver>(buffer: vk::CommandBuffer, aspects: vk::ImageAspectFlags) {
        set::<B>(buffer, "vkCmdSetAttachmentFeedbackLoopEnableEXT", Groups::FEEDBACK_LOOPS, move |s| s.feedback_loops = aspects);
    }

    /// `vkCmdSetColorBlendEnableEXT`.
    fn vkCmdSetColorBlendEnableEXT<B: Driver>(buffer: vk::CommandBuffer, first: u32, count: u32, list: *const vk::Bool32) {
        let (v, n) = copied::<_, MAX_COLOURS>(unsafe { slice(list, count) }, 0);
        set::<B>(buffer, "vkCmdSetColorBlendEnableEXT", Groups::BLEND_ENABLE, move |s| {
            for (k, on) in v[..n].iter().enumerate() {
                let bit = 1u8.checked_shl(first + k as u32).unwrap_or(0);
                s.blend_enable = s.blend_enable & !bit | if *on == vk::TRUE { bit } else { 0 };
            }
        });
    }

    /// `vkCmdSetColorBlendEquationEXT`.
    fn vkCmdSetColorBlendEquationEXT<B: Driver>(buffer: vk::CommandBuffer, first: u32, count: u32, list: *const vk::ColorBlendEquationEXT) {
        let (v, n) = copied::<_, MAX_COLOURS>(unsafe { slice(list, count) }, vk::ColorBlendEquationEXT::default());
        set::<B>(buffer, "vkCmdSetColorBlendEquationEXT", Groups::BLEND_EQUATION, move |s| {
            for (to, e) in s.blend.iter_mut().skip(first as usize).zip(&v[..n]) {
                *to = Blend {
                    colour: [e.src_color_blend_factor.as_raw(), e.dst_color_blend_factor.as_raw(), e.color_blend_op.as_raw()],
                    alpha: [e.src_alpha_blend_factor.as_raw(), e.dst_alpha_blend_factor.as_raw(), e.alpha_blend_op.as_raw()],
                    ..Blend::default()
                };
            }
        });
    }

    /// `vkCmdSetColorBlendAdvancedEXT`.
    fn vkCmdSetColorBlendAdvancedEXT<B: Driver>(buffer: vk::CommandBuffer, first: u32, count: u32, list: *const vk::ColorBlendAdvancedEXT) {
        let (v, n) = copied::<_, MAX_COLOURS>(unsafe { slice(list, count) }, vk::ColorBlendAdvancedEXT::default());
        set::<B>(buffer, "vkCmdSetColorBlendAdvancedEXT", Groups::BLEND_EQUATION, move |s| {
            for (to, a) in s.blend.iter_mut().skip(first as usize).zip(&v[..n]) {
                let advanced = AdvancedBlend {
                    source_straight: a.src_premultiplied == vk::FALSE,
                    destination_straight: a.dst_premultiplied == vk::FALSE,
                    overlap: a.blend_overlap,
                    clamp: a.clamp_results == vk::TRUE,
                };
                let operation = [0, 0, a.advanced_blend_op.as_raw()];
                *to = Blend { colour: operation, alpha: operation, advanced };
            }
        });
    }

    /// `vkCmdSetColorWriteMaskEXT`.
    fn vkCmdSetColorWriteMaskEXT<B: Driver>(buffer: vk::CommandBuffer, first: u32, count: u32, list: *const vk::ColorComponentFlags) {
        let (v, n) = copied::<_, MAX_COLOURS>(unsafe { slice(list, count) }, vk::ColorComponentFlags::empty());
        set::<B>(buffer, "vkCmdSetColorWriteMaskEXT", Groups::WRITE_MASK, move |s| {
            for (to, m) in s.write_mask.iter_mut().skip(first as usize).zip(&v[..n]) {
                *to = m.bits() as u8;
            }
        });
    }

    /// `vkCmdSetColorWriteEnableEXT`.
    fn vkCmdSetColorWriteEnableEXT<B: Driver>(buffer: vk::CommandBuffer, count: u32, list: *const vk::Bool32) {
        let (v, n) = copied::<_, MAX_COLOURS>(unsafe { slice(list, count) }, 0);
        set::<B>(buffer, "vkCmdSetColorWriteEnableEXT", Groups::WRITE_ENABLE, move |s| {
            s.write_enable = v[..n].iter().enumerate().fold(0, |all, (k, &on)| all | u8::from(on == vk::TRUE) << k);
        });
    }

    /// `vkCmdSetDepthClampEnableEXT`.
    fn vkCmdSetDepthClampEnableEXT<B: Driver>(buffer: vk::CommandBuffer, on: vk::Bool32) {
        set::<B>(buffer, "vkCmdSetDepthClampEnableEXT", Groups::DEPTH_CLAMP, move |s| s.depth_clamp = on == vk::TRUE);
    }

    /// `vkCmdSetDepthClampRangeEXT`.
    fn vkCmdSetDepthClampRangeEXT<B: Driver>(buffer: vk::CommandBuffer, mode: vk::DepthClampModeEXT, range: *const vk::DepthClampRangeEXT) {
        let range = unsafe { state::given_clamp_range(mode, range) };
        set::<B>(buffer, "vkCmdSetDepthClampRangeEXT", Groups::DEPTH_CLAMP_RANGE, move |s| s.depth_clamp_range = range);
    }

    /// `vkCmdSetDepthClipEnableEXT`.
    fn vkCmdSetDepthClipEnableEXT<B: Driver>(buffer: vk::CommandBuffer, on: vk::Bool32) {
        set::<B>(buffer, "vkCmdSetDepthClipEnableEXT", Groups::DEPTH_CLIP, move |s| s.depth_clip = Some(on == vk::TRUE));
    }

    /// `vkCmdSetDepthClipNegativeOneToOneEXT`.
    fn vkCmdSetDepthClipNegativeOneToOneEXT<B: Driver>(buffer: vk::CommandBuffer, on: vk::Bool32) {
        set::<B>(buffer, "vkCmdSetDepthClipNegativeOneToOneEXT", Groups::NEGATIVE_ONE_TO_ONE, move |s| s.negative_one_to_one = on == vk::TRUE);
    }

    /// `vkCmdSetProvokingVertexModeEXT`.
    fn vkCmdSetProvokingVertexModeEXT<B: Driver>(buffer: vk::CommandBuffer, mode: vk::ProvokingVertexModeEXT) {
        set::<B>(buffer, "vkCmdSetProvokingVertexModeEXT", Groups::PROVOKING, move |s| s.provoking_last = mode == vk::ProvokingVertexModeEXT::LAST_VERTEX);
    }

    /// `vkCmdSetLineRasterizationModeEXT`.
    fn vkCmdSetLineRasterizationModeEXT<B: Driver>(buffer: vk::CommandBuffer, mode: vk::LineRasterizationModeEXT) {
        set::<B>(buffer, "vkCmdSetLineRasterizationModeEXT", Groups::LINE_MODE, move |s| s.line_mode = mode);
    }

    /// `vkCmdSetConservativeRasterizationModeEXT`.
    fn vkCmdSetConservativeRasterizationModeEXT<B: Driver>(buffer: vk::CommandBuffer, mode: vk::ConservativeRasterizationModeEXT) {
        set::<B>(buffer, "vkCmdSetConservativeRasterizationModeEXT", Groups::CONSERVATIVE, move |s| s.conservative = state::is_conservative(mode));
    }

    /// `vkCmdSetLineStippleEnableEXT`.
    fn vkCmdSetLineStippleEnableEXT<B: Driver>(buffer: vk::CommandBuffer, on: vk::Bool32) {
        set::<B>(buffer, "vkCmdSetLineStippleEnableEXT", Groups::LINE_STIPPLE_ENABLE, move |s| s.stipple_enable = on == vk::TRUE);
    }

    /// `vkCmdSetLineStipple`.
    fn vkCmdSetLineStipple<B: Driver>(buffer: vk::CommandBuffer, factor: u32, pattern: u16) {
        set::<B>(buffer, "vkCmdSetLineStipple", Groups::LINE_STIPPLE, move |s| s.stipple = (factor, pattern));
    }

    /// `vkCmdSetVertexInputEXT`.
    fn vkCmdSetVertexInputEXT<B: Driver>(buffer: vk::CommandBuffer, n: u32, bindings: *const vk::VertexInputBindingDescription2EXT, m: u32, attributes: *const vk::VertexInputAttributeDescription2EXT) {
        let (mut a, mut rates, mut strides) = ([None; MAX_VERTEX], [None; MAX_VERTEX], [0; MAX_VERTEX]);
        for b in unsafe { slice(bindings, n) } {
            let k = (b.binding as usize).min(MAX_VERTEX - 1);
            strides[k] = b.stride;
            rates[k] = (b.input_rate == vk::VertexInputRate::INSTANCE).then_some(b.divisor);
        }
        for d in unsafe { slice(attributes, m) } {
            a[(d.location as usize).min(MAX_VERTEX - 1)] = format_of(d.format)
                .ok()
                .map(|format| VertexAttribute { binding: d.binding as u8, format, offset: d.offset });
        }
        set::<B>(buffer, "vkCmdSetVertexInputEXT", Groups::VERTEX_ATTRIBUTES | Groups::VERTEX_STRIDES, move |s| {
            (s.attributes, s.rates, s.strides) = (a, rates, strides);
        });
    }

    /// `vkCmdSetRenderingAttachmentLocations`.
    fn vkCmdSetRenderingAttachmentLocations<B: Driver>(buffer: vk::CommandBuffer, info: *const vk::RenderingAttachmentLocationInfo) {
        let mut new = GraphicsState::default();
        unsafe { crate::pipeline::set_locations(&mut new, &*info) };
        let locations = new.locations;
        set::<B>(buffer, "vkCmdSetRenderingAttachmentLocations", Groups::LOCATIONS, move |s| s.locations = locations);
    }

    /// `vkCmdSetRenderingInputAttachmentIndices`.
    fn vkCmdSetRenderingInputAttachmentIndices<B: Driver>(buffer: vk::CommandBuffer, info: *const vk::RenderingInputAttachmentIndexInfo) {
        let mut new = GraphicsState::default();
        unsafe { crate::pipeline::set_inputs(&mut new, &*info) };
        let inputs = new.inputs;
        set::<B>(buffer, "vkCmdSetRenderingInputAttachmentIndices", Groups::LOCATIONS, move |s| s.inputs = inputs);
    }

    /// `vkCmdSetRasterizationStreamEXT`.
    fn vkCmdSetRasterizationStreamEXT<B: Driver>(buffer: vk::CommandBuffer, stream: u32) {
        set::<B>(buffer, "vkCmdSetRasterizationStreamEXT", Groups::RASTERIZATION_STREAM, move |s| {
            s.rasterization_stream = crate::feedback::stream_number(stream);
        });
    }

    /// `vkCmdSetTessellationDomainOriginEXT`.
    fn vkCmdSetTessellationDomainOriginEXT<B: Driver>(buffer: vk::CommandBuffer, origin: vk::TessellationDomainOrigin) {
        set::<B>(buffer, "vkCmdSetTessellationDomainOriginEXT", Groups::PATCH_ORIGIN, move |s| {
            s.patch_lower_left = origin == vk::TessellationDomainOrigin::LOWER_LEFT;
        });
    }
}
