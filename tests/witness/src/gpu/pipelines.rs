//! Other ways to make the same pipeline: from four libraries, with all state dynamic, and as shader objects.

use std::ffi::c_void;

use ash::{ext, khr, vk};

use super::graphics::{sample_info, sample_places, unorm_bias};
use super::state::State;
use super::{Commands, Destroyable, During, Error, Gpu, Result};

/// The way in which graphics pipelines are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Pipelines {
    /// Complete pipelines with static state.
    #[default]
    Whole,
    /// Linked from four libraries (`VK_EXT_graphics_pipeline_library`).
    Libraries,
    /// With dynamic state of all three extensions and dynamic vertex input.
    Dynamic,
    /// Shader objects, made from the binaries of others (`VK_EXT_shader_object`); complete pipelines where shader
    /// objects are not possible: in render passes, with sample shading of a fraction, and without some of the
    /// rendering's attachments.
    Objects,
}

/// State that commands set in [`Pipelines::Dynamic`].
const DYNAMIC: &[vk::DynamicState] = &[
    vk::DynamicState::VERTEX_INPUT_EXT,
    vk::DynamicState::PRIMITIVE_TOPOLOGY,
    vk::DynamicState::PRIMITIVE_RESTART_ENABLE,
    vk::DynamicState::VIEWPORT_WITH_COUNT,
    vk::DynamicState::SCISSOR_WITH_COUNT,
    vk::DynamicState::POLYGON_MODE_EXT,
    vk::DynamicState::CULL_MODE,
    vk::DynamicState::FRONT_FACE,
    vk::DynamicState::LINE_WIDTH,
    vk::DynamicState::RASTERIZER_DISCARD_ENABLE,
    vk::DynamicState::DEPTH_CLAMP_ENABLE_EXT,
    vk::DynamicState::DEPTH_CLIP_ENABLE_EXT,
    vk::DynamicState::DEPTH_CLIP_NEGATIVE_ONE_TO_ONE_EXT,
    vk::DynamicState::PROVOKING_VERTEX_MODE_EXT,
    vk::DynamicState::RASTERIZATION_STREAM_EXT,
    vk::DynamicState::LINE_RASTERIZATION_MODE_EXT,
    vk::DynamicState::DEPTH_BIAS_ENABLE,
    vk::DynamicState::DEPTH_BIAS,
    vk::DynamicState::RASTERIZATION_SAMPLES_EXT,
    vk::DynamicState::SAMPLE_MASK_EXT,
    vk::DynamicState::ALPHA_TO_COVERAGE_ENABLE_EXT,
    vk::DynamicState::ALPHA_TO_ONE_ENABLE_EXT,
    vk::DynamicState::DEPTH_TEST_ENABLE,
    vk::DynamicState::DEPTH_WRITE_ENABLE,
    vk::DynamicState::DEPTH_COMPARE_OP,
    vk::DynamicState::STENCIL_TEST_ENABLE,
    vk::DynamicState::STENCIL_OP,
    vk::DynamicState::STENCIL_COMPARE_MASK,
    vk::DynamicState::STENCIL_WRITE_MASK,
    vk::DynamicState::STENCIL_REFERENCE,
    vk::DynamicState::LOGIC_OP_ENABLE_EXT,
    vk::DynamicState::LOGIC_OP_EXT,
    vk::DynamicState::BLEND_CONSTANTS,
    vk::DynamicState::COLOR_BLEND_ENABLE_EXT,
    vk::DynamicState::COLOR_BLEND_EQUATION_EXT,
    vk::DynamicState::COLOR_WRITE_MASK_EXT,
];

impl Gpu {
    /// Makes a pipeline as [`Pipelines`] says. What the device lacks for it is an error.
    ///
    /// # Safety
    /// `create` and all that it points to are valid.
    pub(super) unsafe fn assemble(
        &self,
        create: &vk::GraphicsPipelineCreateInfo<'_>,
    ) -> Result<vk::Pipeline> {
        match self.pipelines.get() {
            Pipelines::Whole | Pipelines::Objects => {
                // SAFETY: as the caller says.
                unsafe { self.create(create) }
            }
            Pipelines::Dynamic => {
                self.require(ext::extended_dynamic_state3::NAME)?;
                self.require(ext::vertex_input_dynamic_state::NAME)?;
                let mut states = DYNAMIC.to_vec();
                // Cases that blend so ask for the extension before.
                if self.extensions.contains(&ext::blend_operation_advanced::NAME) {
                    states.push(vk::DynamicState::COLOR_BLEND_ADVANCED_EXT);
                }
                if self.extensions.contains(&khr::fragment_shading_rate::NAME) {
                    states.push(vk::DynamicState::FRAGMENT_SHADING_RATE_KHR);
                }
                // SAFETY: what `create` points to is valid.
                if let Some(own) = unsafe { create.p_dynamic_state.as_ref() } {
                    let count = own.dynamic_state_count as usize;
                    // SAFETY: likewise.
                    states
                        .extend(unsafe { std::slice::from_raw_parts(own.p_dynamic_states, count) });
                }
                let dynamic = vk::PipelineDynamicStateCreateInfo::default().dynamic_states(&states);
                // The static values of dynamic state must be ignored; if they were used, pictures would be
                // wrong.
                let input = vk::PipelineVertexInputStateCreateInfo::default();
                let create = vk::GraphicsPipelineCreateInfo {
                    p_vertex_input_state: &input,
                    p_dynamic_state: &dynamic,
                    ..*create
                };
                // SAFETY: as the caller says.
                unsafe { self.create(&create) }
            }
            Pipelines::Libraries => {
                self.require(ext::graphics_pipeline_library::NAME)?;
                // SAFETY: as the caller says.
                unsafe { self.link(create) }
            }
        }
    }

    /// Shader objects of stages: each is made of the binary of one that was made of SPIR-V.
    pub(super) fn objects(
        &self,
        stages: &[(vk::ShaderStageFlags, &[u32])],
        sets: &[vk::DescriptorSetLayout],
        push: &[vk::PushConstantRange],
    ) -> Result<Vec<(vk::ShaderStageFlags, vk::ShaderEXT)>> {
        self.require(ext::shader_object::NAME)?;
        let objects = ext::shader_object::Device::new(&self.instance, &self.device);
        let mut out = Vec::new();
        for (k, &(stage, words)) in stages.iter().enumerate() {
            let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            let info = vk::ShaderCreateInfoEXT::default()
                .stage(stage)
                .next_stage(stages.get(k + 1).map_or(vk::ShaderStageFlags::empty(), |s| s.0))
                .name(c"main")
                .set_layouts(sets)
                .push_constant_ranges(push);
            let made = |code: &[u8], ty| -> Result<vk::ShaderEXT> {
                let info = info.code_type(ty).code(code);
                // SAFETY: the code is a whole module, or the binary of one that this device made.
                let made = unsafe { objects.create_shaders(&[info], None) };
                let call = "vkCreateShadersEXT";
                Ok(made.map_err(|(_, result)| Error::Vulkan { call, result })?[0])
            };
            let first = made(&bytes, vk::ShaderCodeTypeEXT::SPIRV)?;
            // SAFETY: the object is live, and nothing uses it afterwards.
            let binary = unsafe {
                let binary = objects.get_shader_binary_data(first);
                objects.destroy_shader(first, None);
                binary.during("vkGetShaderBinaryDataEXT")?
            };
            let object = made(&binary, vk::ShaderCodeTypeEXT::BINARY)?;
            self.keep(Destroyable::Shader(object));
            out.push((stage, object));
        }
        Ok(out)
    }

    unsafe fn create(&self, create: &vk::GraphicsPipelineCreateInfo<'_>) -> Result<vk::Pipeline> {
        // SAFETY: as the caller says.
        unsafe { self.create_from(self.cache.get(), create) }
    }

    /// Creates a library twice, and gives the second, whose programs come out of a cache.
    unsafe fn create_library(
        &self,
        create: &vk::GraphicsPipelineCreateInfo<'_>,
    ) -> Result<vk::Pipeline> {
        let info = vk::PipelineCacheCreateInfo::default();
        // SAFETY: as the caller says; the cache and the first library are used no more.
        unsafe {
            let call = "vkCreatePipelineCache";
            let cache = self.device.create_pipeline_cache(&info, None);
            let cache = cache.map_err(|result| Error::Vulkan { call, result })?;
            let twice = [self.create_from(cache, create), self.create_from(cache, create)];
            self.device.destroy_pipeline_cache(cache, None);
            let [first, second] = twice;
            self.device.destroy_pipeline(first?, None);
            second
        }
    }

    unsafe fn create_from(
        &self,
        cache: vk::PipelineCache,
        create: &vk::GraphicsPipelineCreateInfo<'_>,
    ) -> Result<vk::Pipeline> {
        // SAFETY: as the caller says.
        let made = unsafe { self.device.create_graphics_pipelines(cache, &[*create], None) };
        let call = "vkCreateGraphicsPipelines";
        Ok(made.map_err(|(_, result)| Error::Vulkan { call, result })?[0])
    }

    unsafe fn link(&self, create: &vk::GraphicsPipelineCreateInfo<'_>) -> Result<vk::Pipeline> {
        // SAFETY: as the caller says.
        let libraries = unsafe { self.libraries(create) }?;
        let mut all = self.libraries.take();
        all.push(libraries);
        self.libraries.set(all);
        self.link_libraries(create.layout, create.flags, &libraries)
    }

    /// Links libraries that have all parts of a pipeline.
    pub(crate) fn link_libraries(
        &self,
        layout: vk::PipelineLayout,
        flags: vk::PipelineCreateFlags,
        libraries: &[vk::Pipeline],
    ) -> Result<vk::Pipeline> {
        let mut info = vk::PipelineLibraryCreateInfoKHR::default().libraries(libraries);
        let whole = vk::GraphicsPipelineCreateInfo::default()
            .layout(layout)
            .flags(flags)
            .push_next(&mut info);
        // SAFETY: the libraries are live and have all parts.
        unsafe { self.create(&whole) }
    }

    /// Destroys pipelines with the device.
    pub(crate) fn keep_pipelines(&self, pipelines: &[vk::Pipeline]) {
        pipelines.iter().for_each(|&p| self.keep(Destroyable::Pipeline(p)));
    }

    /// The libraries of a pipeline.
    unsafe fn libraries(
        &self,
        create: &vk::GraphicsPipelineCreateInfo<'_>,
    ) -> Result<[vk::Pipeline; 4]> {
        use vk::GraphicsPipelineLibraryFlagsEXT as Part;
        // SAFETY: the stages are an array of the count.
        let stages =
            unsafe { std::slice::from_raw_parts(create.p_stages, create.stage_count as usize) };
        let is_fragment =
            |s: &&vk::PipelineShaderStageCreateInfo| s.stage == vk::ShaderStageFlags::FRAGMENT;
        let (fragment, before): (Vec<_>, Vec<_>) =
            stages.iter().copied().partition(|s| is_fragment(&s));
        let parts = [
            (Part::VERTEX_INPUT_INTERFACE, &[][..]),
            (Part::PRE_RASTERIZATION_SHADERS, &before),
            (Part::FRAGMENT_SHADER, &fragment),
            (Part::FRAGMENT_OUTPUT_INTERFACE, &[]),
        ];
        let mut libraries = [vk::Pipeline::null(); 4];
        for (to, (part, stages)) in libraries.iter_mut().zip(parts) {
            let mut info = vk::GraphicsPipelineLibraryCreateInfoEXT::default().flags(part);
            info.p_next = match part {
                Part::VERTEX_INPUT_INTERFACE => create.p_next,
                // SAFETY: as the caller says.
                _ => unsafe { after_robustness(create.p_next) },
            }
            .cast_mut();
            let create = vk::GraphicsPipelineCreateInfo {
                p_next: (&raw const info).cast(),
                flags: create.flags | vk::PipelineCreateFlags::LIBRARY_KHR,
                ..*create
            }
            .stages(stages);
            // SAFETY: as the caller says.
            let library = unsafe { self.create_library(&create) }?;
            self.keep(Destroyable::Pipeline(library));
            *to = library;
        }
        Ok(libraries)
    }
}

/// A chain without the robust access of vertex inputs, which may stand first in it.
unsafe fn after_robustness(chain: *const c_void) -> *const c_void {
    // SAFETY: the chain is valid, or null.
    unsafe {
        match chain.cast::<vk::BaseInStructure<'_>>().as_ref() {
            Some(b) if b.s_type == vk::StructureType::PIPELINE_ROBUSTNESS_CREATE_INFO_EXT => {
                b.p_next.cast()
            }
            _ => chain,
        }
    }
}

impl Commands<'_> {
    /// Binds shader objects, and none to the other stage.
    pub(super) fn bind_objects(&self, shaders: &[(vk::ShaderStageFlags, vk::ShaderEXT)]) {
        let objects = ext::shader_object::Device::new(&self.gpu.instance, &self.gpu.device);
        let stages = [vk::ShaderStageFlags::VERTEX, vk::ShaderStageFlags::FRAGMENT];
        let of =
            |stage| shaders.iter().find(|s| s.0 == stage).map_or(vk::ShaderEXT::null(), |s| s.1);
        // SAFETY: the objects are live, and this buffer is being recorded.
        unsafe { objects.cmd_bind_shaders(self.handle, &stages, &stages.map(of)) }
    }

    /// Sets all dynamic state to what `s` says.
    pub fn set_dynamic(&self, s: &State) {
        let (instance, device, c) = (&self.gpu.instance, &self.gpu.device, self.handle);
        let input = ext::vertex_input_dynamic_state::Device::new(instance, device);
        let more = ext::extended_dynamic_state3::Device::new(instance, device);
        let second = ext::extended_dynamic_state2::Device::new(instance, device);
        let bindings: Vec<_> = s
            .bindings
            .iter()
            .map(|b| {
                let own = s.divisors.iter().find(|d| d.binding == b.binding);
                vk::VertexInputBindingDescription2EXT::default()
                    .binding(b.binding)
                    .stride(b.stride)
                    .input_rate(b.input_rate)
                    .divisor(own.map_or(1, |d| d.divisor))
            })
            .collect();
        let attributes: Vec<_> = s
            .attributes
            .iter()
            .map(|a| {
                vk::VertexInputAttributeDescription2EXT::default()
                    .location(a.location)
                    .binding(a.binding)
                    .format(a.format)
                    .offset(a.offset)
            })
            .collect();
        let mut blend = s.blend.clone();
        let plain = vk::PipelineColorBlendAttachmentState::default();
        blend.resize(s.colors.len(), plain.color_write_mask(vk::ColorComponentFlags::RGBA));
        let enables: Vec<_> = blend.iter().map(|b| b.blend_enable).collect();
        let masks: Vec<_> = blend.iter().map(|b| b.color_write_mask).collect();
        let equations: Vec<_> = blend
            .iter()
            .map(|b| vk::ColorBlendEquationEXT {
                src_color_blend_factor: b.src_color_blend_factor,
                dst_color_blend_factor: b.dst_color_blend_factor,
                color_blend_op: b.color_blend_op,
                src_alpha_blend_factor: b.src_alpha_blend_factor,
                dst_alpha_blend_factor: b.dst_alpha_blend_factor,
                alpha_blend_op: b.alpha_blend_op,
            })
            .collect();
        let (compare, write) = s.depth.unwrap_or((vk::CompareOp::ALWAYS, false));
        let [constant, clamp, slope] = s.depth_bias.unwrap_or_default();
        let provoking = match s.provoking_last {
            true => vk::ProvokingVertexModeEXT::LAST_VERTEX,
            false => vk::ProvokingVertexModeEXT::FIRST_VERTEX,
        };
        let places = sample_places(s);
        // SAFETY: the buffer is being recorded, and the device has the extensions: the pipeline
        // wanted them.
        unsafe {
            input.cmd_set_vertex_input(c, &bindings, &attributes);
            device.cmd_set_primitive_topology(c, s.topology);
            device.cmd_set_primitive_restart_enable(c, s.restart);
            device.cmd_set_viewport_with_count(c, &s.viewports);
            device.cmd_set_scissor_with_count(c, &s.scissors);
            more.cmd_set_polygon_mode(c, s.polygon_mode);
            device.cmd_set_cull_mode(c, s.cull);
            device.cmd_set_front_face(c, s.front_face);
            device.cmd_set_line_width(c, s.line_width);
            device.cmd_set_rasterizer_discard_enable(c, s.discard);
            more.cmd_set_depth_clamp_enable(c, s.depth_clamp);
            more.cmd_set_depth_clip_enable(c, s.depth_clip.unwrap_or(!s.depth_clamp));
            more.cmd_set_depth_clip_negative_one_to_one(c, s.negative_one_to_one);
            more.cmd_set_provoking_vertex_mode(c, provoking);
            more.cmd_set_rasterization_stream(c, s.rasterization_stream);
            more.cmd_set_line_rasterization_mode(c, s.line_mode.unwrap_or_default());
            device.cmd_set_depth_bias_enable(c, s.depth_bias.is_some());
            device.cmd_set_depth_bias(c, constant, clamp, slope);
            if s.bias_of_unorm {
                let set = ext::depth_bias_control::Device::new(instance, device);
                let mut unit = unorm_bias();
                let bias = vk::DepthBiasInfoEXT::default()
                    .depth_bias_constant_factor(constant)
                    .depth_bias_clamp(clamp)
                    .depth_bias_slope_factor(slope)
                    .push_next(&mut unit);
                (set.fp().cmd_set_depth_bias2_ext)(c, &bias);
            }
            more.cmd_set_rasterization_samples(c, s.samples);
            more.cmd_set_sample_mask(c, s.samples, &[s.sample_mask]);
            if !places.is_empty() {
                let set = ext::sample_locations::Device::new(instance, device);
                more.cmd_set_sample_locations_enable(c, true);
                set.cmd_set_sample_locations(c, &sample_info(s, &places));
            }
            if let Some([width, height]) = s.fragment_px {
                let keep = [vk::FragmentShadingRateCombinerOpKHR::KEEP; 2];
                let set = khr::fragment_shading_rate::Device::new(instance, device);
                (set.fp().cmd_set_fragment_shading_rate_khr)(
                    c,
                    &vk::Extent2D { width, height },
                    &keep,
                );
            }
            more.cmd_set_alpha_to_coverage_enable(c, s.alpha_to_coverage);
            more.cmd_set_alpha_to_one_enable(c, s.alpha_to_one);
            device.cmd_set_depth_test_enable(c, s.depth.is_some());
            device.cmd_set_depth_write_enable(c, write);
            device.cmd_set_depth_compare_op(c, compare);
            device.cmd_set_stencil_test_enable(c, s.stencil.is_some());
            let faces = [vk::StencilFaceFlags::FRONT, vk::StencilFaceFlags::BACK];
            for (face, f) in faces.into_iter().zip(s.stencil.unwrap_or_default()) {
                device.cmd_set_stencil_op(
                    c,
                    face,
                    f.fail_op,
                    f.pass_op,
                    f.depth_fail_op,
                    f.compare_op,
                );
                device.cmd_set_stencil_compare_mask(c, face, f.compare_mask);
                device.cmd_set_stencil_write_mask(c, face, f.write_mask);
                device.cmd_set_stencil_reference(c, face, f.reference);
            }
            more.cmd_set_logic_op_enable(c, s.logic_op.is_some());
            second.cmd_set_logic_op(c, s.logic_op.unwrap_or_default());
            device.cmd_set_blend_constants(c, &s.blend_constants);
            if !blend.is_empty() {
                more.cmd_set_color_blend_enable(c, 0, &enables);
                match s.advanced {
                    None => more.cmd_set_color_blend_equation(c, 0, &equations),
                    Some((source, destination, overlap)) => {
                        let list: Vec<_> = blend
                            .iter()
                            .map(|b| vk::ColorBlendAdvancedEXT {
                                advanced_blend_op: b.color_blend_op,
                                src_premultiplied: source.into(),
                                dst_premultiplied: destination.into(),
                                blend_overlap: overlap,
                                clamp_results: vk::FALSE,
                            })
                            .collect();
                        more.cmd_set_color_blend_advanced(c, 0, &list);
                    }
                }
                more.cmd_set_color_write_mask(c, 0, &masks);
            }
        }
    }
}
