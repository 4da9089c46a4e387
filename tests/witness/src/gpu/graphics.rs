//! Graphics pipelines with everything static but vertex buffers, and rendering into attachments.

use ash::vk;

use super::descriptors::{Bind, Descriptors};
use super::pipelines::Pipelines;
use super::state::State;
use super::{Commands, Destroyable, During, Error, Gpu, Image, Result};
use crate::number::Number;

/// A graphics pipeline, its layout and its descriptor set.
pub struct Graphics {
    pub(crate) pipeline: vk::Pipeline,
    /// For push constants.
    pub layout: vk::PipelineLayout,
    pub(crate) set: vk::DescriptorSet,
    /// Shader objects in the place of a pipeline.
    objects: Vec<(vk::ShaderStageFlags, vk::ShaderEXT)>,
    /// State that is set when the pipeline is bound.
    dynamic: Option<State>,
    /// Feedback loops that are set then, too.
    loops: Option<vk::ImageAspectFlags>,
}

impl Gpu {
    /// A pipeline of the stages, with the descriptors of set 0.
    pub fn graphics(
        &self,
        stages: &[(vk::ShaderStageFlags, &[u32])],
        state: &State,
        binds: &[Bind<'_>],
    ) -> Result<Graphics> {
        let needed = [
            (state.negative_one_to_one, ash::ext::depth_clip_control::NAME),
            (state.depth_clip.is_some(), ash::ext::depth_clip_enable::NAME),
            (state.clamp_range.is_some(), super::later::DEPTH_CLAMP_CONTROL),
            (state.provoking_last, ash::ext::provoking_vertex::NAME),
            (state.line_mode.is_some(), ash::ext::line_rasterization::NAME),
            (state.bias_of_unorm, ash::ext::depth_bias_control::NAME),
            (!state.sample_places.is_empty(), ash::ext::sample_locations::NAME),
            (state.fragment_px.is_some(), ash::khr::fragment_shading_rate::NAME),
            (state.loops.is_some(), ash::ext::attachment_feedback_loop_dynamic_state::NAME),
        ];
        for (_, name) in needed.into_iter().filter(|(is_needed, _)| *is_needed) {
            self.require(name)?;
        }
        let mut descriptors = Descriptors::default();
        binds.iter().for_each(|&bind| descriptors.push(vec![bind]));
        let set_layout = descriptors.layout(self, vk::ShaderStageFlags::ALL_GRAPHICS)?;
        let push = [vk::PushConstantRange::default()
            .stage_flags(vk::ShaderStageFlags::ALL_GRAPHICS)
            .size(state.push_bytes)];
        let set_layouts = [set_layout];
        let create = vk::PipelineLayoutCreateInfo::default()
            .set_layouts(&set_layouts)
            .push_constant_ranges(if state.push_bytes == 0 { &[] } else { &push });
        // SAFETY: the set layout is live.
        let layout = unsafe { self.device.create_pipeline_layout(&create, None) }
            .during("vkCreatePipelineLayout")?;
        self.keep(Destroyable::PipelineLayout(layout));
        let both = vk::ShaderStageFlags::VERTEX | vk::ShaderStageFlags::FRAGMENT;
        let has_objects = self.pipelines.get() == Pipelines::Objects
            && state.subpass.is_none()
            && state.sample_shading.is_none()
            && !state.robust_inputs
            && state.clamp_range.is_none()
            && !state.colors.contains(&vk::Format::UNDEFINED)
            && stages.iter().all(|s| both.contains(s.0));
        let (pipeline, objects) = match has_objects {
            true => {
                let push = if state.push_bytes == 0 { &[][..] } else { &push };
                (vk::Pipeline::null(), self.objects(stages, &set_layouts, push)?)
            }
            false => (self.pipeline_of(stages, state, layout)?, Vec::new()),
        };
        let is_dynamic = self.pipelines.get() == Pipelines::Dynamic || has_objects;
        let dynamic = is_dynamic.then(|| state.clone());
        let set = descriptors.set(self, set_layout)?;
        Ok(Graphics { pipeline, layout, set, objects, dynamic, loops: state.loops })
    }

    /// A pipeline of the stages with a layout.
    pub fn pipeline_of(
        &self,
        stages: &[(vk::ShaderStageFlags, &[u32])],
        state: &State,
        layout: vk::PipelineLayout,
    ) -> Result<vk::Pipeline> {
        stages.iter().try_for_each(|&(stage, _)| self.stage(stage))?;
        let mut modules = Vec::new();
        let mut result = Ok(());
        for &(stage, code) in stages {
            let create = vk::ShaderModuleCreateInfo::default().code(code);
            // SAFETY: the code is a whole SPIR-V module: the GLSL compiler made it.
            match unsafe { self.device.create_shader_module(&create, None) } {
                Ok(module) => modules.push((stage, module)),
                Err(error) => {
                    result = Err(Error::Vulkan { call: "vkCreateShaderModule", result: error });
                }
            }
        }
        let made = result.and_then(|()| self.graphics_pipeline(&modules, state, layout));
        for (_, module) in modules {
            // SAFETY: pipelines do not need their modules any more.
            unsafe { self.device.destroy_shader_module(module, None) };
        }
        let pipeline = made?;
        self.keep(Destroyable::Pipeline(pipeline));
        Ok(pipeline)
    }

    /// A pipeline of modules whose entry points are called `main`; the caller destroys it.
    pub(crate) fn graphics_pipeline(
        &self,
        modules: &[(vk::ShaderStageFlags, vk::ShaderModule)],
        state: &State,
        layout: vk::PipelineLayout,
    ) -> Result<vk::Pipeline> {
        let stages: Vec<_> = modules
            .iter()
            .map(|&(stage, module)| {
                vk::PipelineShaderStageCreateInfo::default()
                    .stage(stage)
                    .module(module)
                    .name(c"main")
            })
            .collect();
        let mut divisors = vk::PipelineVertexInputDivisorStateCreateInfoKHR::default()
            .vertex_binding_divisors(&state.divisors);
        let mut input = vk::PipelineVertexInputStateCreateInfo::default()
            .vertex_binding_descriptions(&state.bindings)
            .vertex_attribute_descriptions(&state.attributes);
        if !state.divisors.is_empty() {
            input = input.push_next(&mut divisors);
        }
        let assembly = vk::PipelineInputAssemblyStateCreateInfo::default()
            .topology(state.topology)
            .primitive_restart_enable(state.restart);
        let tessellation = vk::PipelineTessellationStateCreateInfo::default()
            .patch_control_points(state.patch_points);
        let mut control =
            vk::PipelineViewportDepthClipControlCreateInfoEXT::default().negative_one_to_one(true);
        let mut viewport = vk::PipelineViewportStateCreateInfo::default()
            .viewports(&state.viewports)
            .scissors(&state.scissors);
        if state.negative_one_to_one {
            viewport = viewport.push_next(&mut control);
        }
        let mut range = state.clamp_range.as_ref().map(super::later::DepthClampRange::new);
        if let Some(range) = &mut range {
            viewport = viewport.push_next(range);
        }
        let [constant, clamp, slope] = state.depth_bias.unwrap_or_default();
        let mut clip = vk::PipelineRasterizationDepthClipStateCreateInfoEXT::default()
            .depth_clip_enable(state.depth_clip.unwrap_or(true));
        let mut provoking = vk::PipelineRasterizationProvokingVertexStateCreateInfoEXT::default()
            .provoking_vertex_mode(vk::ProvokingVertexModeEXT::LAST_VERTEX);
        let mut line = vk::PipelineRasterizationLineStateCreateInfoKHR::default()
            .line_rasterization_mode(state.line_mode.unwrap_or_default());
        let mut stream = vk::PipelineRasterizationStateStreamCreateInfoEXT::default()
            .rasterization_stream(state.rasterization_stream);
        let mut raster = vk::PipelineRasterizationStateCreateInfo::default()
            .depth_clamp_enable(state.depth_clamp)
            .rasterizer_discard_enable(state.discard)
            .polygon_mode(state.polygon_mode)
            .cull_mode(state.cull)
            .front_face(state.front_face)
            .depth_bias_enable(state.depth_bias.is_some())
            .depth_bias_constant_factor(constant)
            .depth_bias_clamp(clamp)
            .depth_bias_slope_factor(slope)
            .line_width(state.line_width);
        if state.depth_clip.is_some() {
            raster = raster.push_next(&mut clip);
        }
        if state.provoking_last {
            raster = raster.push_next(&mut provoking);
        }
        if state.rasterization_stream != 0 {
            raster = raster.push_next(&mut stream);
        }
        if state.line_mode.is_some() {
            raster = raster.push_next(&mut line);
        }
        let mut unit = unorm_bias();
        if state.bias_of_unorm {
            raster = raster.push_next(&mut unit);
        }
        let masks = [state.sample_mask];
        let list = sample_places(state);
        let mut places = vk::PipelineSampleLocationsStateCreateInfoEXT::default()
            .sample_locations_enable(true)
            .sample_locations_info(sample_info(state, &list));
        let mut samples = vk::PipelineMultisampleStateCreateInfo::default()
            .rasterization_samples(state.samples)
            .sample_shading_enable(state.sample_shading.is_some())
            .min_sample_shading(state.sample_shading.unwrap_or(0.0))
            .sample_mask(&masks)
            .alpha_to_coverage_enable(state.alpha_to_coverage)
            .alpha_to_one_enable(state.alpha_to_one);
        if !list.is_empty() {
            samples = samples.push_next(&mut places);
        }
        let (compare, write) = state.depth.unwrap_or((vk::CompareOp::ALWAYS, false));
        let [front, back] = state.stencil.unwrap_or_default();
        let depth_stencil = vk::PipelineDepthStencilStateCreateInfo::default()
            .depth_test_enable(state.depth.is_some())
            .depth_write_enable(write)
            .depth_compare_op(compare)
            .stencil_test_enable(state.stencil.is_some())
            .front(front)
            .back(back);
        let mut attachments = state.blend.clone();
        attachments.resize(
            state.colors.len(),
            vk::PipelineColorBlendAttachmentState::default()
                .color_write_mask(vk::ColorComponentFlags::RGBA),
        );
        let mut advanced = vk::PipelineColorBlendAdvancedStateCreateInfoEXT::default();
        let mut blend = vk::PipelineColorBlendStateCreateInfo::default()
            .attachments(&attachments)
            .blend_constants(state.blend_constants)
            .logic_op_enable(state.logic_op.is_some())
            .logic_op(state.logic_op.unwrap_or_default());
        if let Some((source, destination, overlap)) = state.advanced {
            self.require(ash::ext::blend_operation_advanced::NAME)?;
            advanced = advanced
                .src_premultiplied(source)
                .dst_premultiplied(destination)
                .blend_overlap(overlap);
            blend = blend.push_next(&mut advanced);
        }
        let mut rendering = vk::PipelineRenderingCreateInfo::default()
            .color_attachment_formats(&state.colors)
            .depth_attachment_format(state.depth_format)
            .stencil_attachment_format(state.stencil_format)
            .view_mask(state.view_mask);
        let mut create = vk::GraphicsPipelineCreateInfo::default()
            .flags(state.flags)
            .stages(&stages)
            .vertex_input_state(&input)
            .input_assembly_state(&assembly)
            .tessellation_state(&tessellation)
            .viewport_state(&viewport)
            .rasterization_state(&raster)
            .multisample_state(&samples)
            .depth_stencil_state(&depth_stencil)
            .color_blend_state(&blend)
            .layout(layout);
        let loops = [vk::DynamicState::ATTACHMENT_FEEDBACK_LOOP_ENABLE_EXT];
        let dynamic = vk::PipelineDynamicStateCreateInfo::default().dynamic_states(&loops);
        if state.loops.is_some() {
            create = create.dynamic_state(&dynamic);
        }
        create = match state.subpass {
            Some((pass, number)) => create.render_pass(pass).subpass(number),
            None => create.push_next(&mut rendering),
        };
        let mut locations = vk::RenderingAttachmentLocationInfoKHR::default()
            .color_attachment_locations(&state.locations);
        if !state.locations.is_empty() {
            create = create.push_next(&mut locations);
        }
        let mut robust = vk::PipelineRobustnessCreateInfoEXT::default()
            .vertex_inputs(vk::PipelineRobustnessBufferBehaviorEXT::ROBUST_BUFFER_ACCESS_2);
        let [width, height] = state.fragment_px.unwrap_or([1; 2]);
        let mut rate = vk::PipelineFragmentShadingRateStateCreateInfoKHR::default()
            .fragment_size(vk::Extent2D { width, height });
        if state.fragment_px.is_some() {
            create = create.push_next(&mut rate);
        }
        if state.robust_inputs {
            // First in the chain, where libraries look for it.
            create = create.push_next(&mut robust);
        }
        // SAFETY: everything that `create` points to outlives the call.
        unsafe { self.assemble(&create) }
    }
}

/// Depth biases in exact steps of fixed point.
pub(super) fn unorm_bias() -> vk::DepthBiasRepresentationInfoEXT<'static> {
    vk::DepthBiasRepresentationInfoEXT::default()
        .depth_bias_representation(
            vk::DepthBiasRepresentationEXT::LEAST_REPRESENTABLE_VALUE_FORCE_UNORM,
        )
        .depth_bias_exact(true)
}

/// The places of samples.
pub(super) fn sample_places(state: &State) -> Vec<vk::SampleLocationEXT> {
    state.sample_places.iter().map(|&[x, y]| vk::SampleLocationEXT { x, y }).collect()
}

/// The sample locations, which are the same in all pixels.
pub(super) fn sample_info<'a>(
    state: &State,
    list: &'a [vk::SampleLocationEXT],
) -> vk::SampleLocationsInfoEXT<'a> {
    vk::SampleLocationsInfoEXT::default()
        .sample_locations_per_pixel(state.samples)
        .sample_location_grid_size(vk::Extent2D { width: 1, height: 1 })
        .sample_locations(list)
}

/// The layouts of images while they are rendered to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Layouts {
    /// The general one, in which they are otherwise.
    #[default]
    General,
    /// Layouts of attachments, with a transition before and one after each rendering.
    Optimal,
}

/// A view of an image that is rendered to, and the image.
#[derive(Clone, Copy)]
pub struct Rendered {
    /// The view.
    pub view: vk::ImageView,
    image: vk::Image,
    range: vk::ImageSubresourceRange,
}

impl Rendered {
    /// All of an image.
    pub fn whole(image: &Image) -> Rendered {
        Rendered { view: image.view, image: image.handle, range: image.spec.whole() }
    }

    fn layout(&self, layouts: Layouts) -> vk::ImageLayout {
        match layouts {
            Layouts::General => vk::ImageLayout::GENERAL,
            Layouts::Optimal if self.range.aspect_mask == vk::ImageAspectFlags::COLOR => {
                vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL
            }
            Layouts::Optimal => vk::ImageLayout::DEPTH_STENCIL_ATTACHMENT_OPTIMAL,
        }
    }
}

/// An attachment of a [`Pass`].
#[derive(Clone, Copy)]
pub struct Attachment {
    /// The image that is rendered to.
    pub image: Rendered,
    /// The clear value; without one, the attachment is loaded.
    pub clear: Option<vk::ClearValue>,
    /// The image that its samples are resolved to, and the mode.
    pub resolve: Option<(Rendered, vk::ResolveModeFlags)>,
}

impl Attachment {
    /// A colour attachment that starts with one colour.
    pub fn color(image: &Image, clear: [f32; 4]) -> Attachment {
        let color = vk::ClearColorValue { float32: clear };
        let clear = Some(vk::ClearValue { color });
        Attachment { image: Rendered::whole(image), clear, resolve: None }
    }

    /// A depth and stencil attachment that starts with these values.
    pub fn depth(image: &Image, depth: f32, stencil: u32) -> Attachment {
        let depth_stencil = vk::ClearDepthStencilValue { depth, stencil };
        let clear = Some(vk::ClearValue { depth_stencil });
        Attachment { image: Rendered::whole(image), clear, resolve: None }
    }

    /// The attachment, loaded with its previous contents.
    pub fn loaded(self) -> Attachment {
        Attachment { clear: None, ..self }
    }

    /// The attachment, with a view of a part of its image.
    pub fn through(self, view: vk::ImageView) -> Attachment {
        Attachment { image: Rendered { view, ..self.image }, ..self }
    }

    /// Its load, store and resolve operations.
    pub fn info(&self, layouts: Layouts) -> vk::RenderingAttachmentInfo<'static> {
        let load = match self.clear {
            Some(_) => vk::AttachmentLoadOp::CLEAR,
            None => vk::AttachmentLoadOp::LOAD,
        };
        let info = vk::RenderingAttachmentInfo::default()
            .image_view(self.image.view)
            .image_layout(self.image.layout(layouts))
            .load_op(load)
            .store_op(vk::AttachmentStoreOp::STORE)
            .clear_value(self.clear.unwrap_or_default());
        match self.resolve {
            None => info,
            Some((to, mode)) => info
                .resolve_image_view(to.view)
                .resolve_image_layout(to.layout(layouts))
                .resolve_mode(mode),
        }
    }
}

/// The attachments of a rendering.
#[derive(Clone, Default)]
pub struct Pass {
    /// Colour attachments.
    pub colors: Vec<Attachment>,
    /// Depth attachment.
    pub depth: Option<Attachment>,
    /// Stencil attachment.
    pub stencil: Option<Attachment>,
    /// Width and height.
    pub size_px: [u32; 2],
    /// Layers; 0 counts as 1.
    pub layers: u32,
    /// Views that each draw goes to, a bit each.
    pub view_mask: u32,
    /// Shaders read the attachments as images, so that they stay in the general layout.
    pub is_read: bool,
}

impl Pass {
    /// All images that are rendered or resolved to, each once.
    fn images(&self) -> Vec<Rendered> {
        let all = self.colors.iter().chain(&self.depth).chain(&self.stencil);
        let all = all.flat_map(|a| [Some(a.image), a.resolve.map(|r| r.0)]).flatten();
        let mut images: Vec<Rendered> = Vec::new();
        for one in all {
            if !images.iter().any(|i| i.image == one.image) {
                images.push(one);
            }
        }
        images
    }
}

impl Commands<'_> {
    /// Renders what `draw` records. Barriers before and after order it with everything else.
    pub fn render(&self, pass: &Pass, draw: impl FnOnce(&Commands)) {
        let layouts = if pass.is_read { Layouts::General } else { self.gpu.layouts.get() };
        let colors: Vec<_> = pass.colors.iter().map(|a| a.info(layouts)).collect();
        let depth = pass.depth.map(|a| a.info(layouts));
        let stencil = pass.stencil.map(|a| a.info(layouts));
        let images = if layouts == Layouts::Optimal { pass.images() } else { Vec::new() };
        let change = |to_attachments: bool| {
            images.iter().for_each(|i| {
                let [general, own] = [Layouts::General, layouts].map(|l| i.layout(l));
                let (old, new) = if to_attachments { (general, own) } else { (own, general) };
                self.transition(i.image, i.range, [old, new]);
            });
        };
        let [width, height] = pass.size_px;
        let mut info = vk::RenderingInfo::default()
            .render_area(vk::Rect2D {
                offset: vk::Offset2D::default(),
                extent: vk::Extent2D { width, height },
            })
            .layer_count(pass.layers.max(1))
            .view_mask(pass.view_mask)
            .color_attachments(&colors);
        if let Some(depth) = &depth {
            info = info.depth_attachment(depth);
        }
        if let Some(stencil) = &stencil {
            info = info.stencil_attachment(stencil);
        }
        self.barrier();
        change(true);
        // SAFETY: the views are live, and this buffer is being recorded outside of any rendering.
        unsafe { self.gpu.device.cmd_begin_rendering(self.handle, &info) };
        draw(self);
        // SAFETY: rendering was begun above.
        unsafe { self.gpu.device.cmd_end_rendering(self.handle) };
        change(false);
        self.barrier();
    }

    /// Binds a pipeline with its descriptor set.
    pub fn bind_graphics(&self, graphics: &Graphics) {
        let point = vk::PipelineBindPoint::GRAPHICS;
        let device = &self.gpu.device;
        // SAFETY: the pipeline's objects are live and this buffer is being recorded.
        unsafe {
            match &graphics.objects[..] {
                [] => device.cmd_bind_pipeline(self.handle, point, graphics.pipeline),
                objects => self.bind_objects(objects),
            }
            if graphics.set != vk::DescriptorSet::null() {
                let sets = [graphics.set];
                device.cmd_bind_descriptor_sets(self.handle, point, graphics.layout, 0, &sets, &[]);
            }
        }
        if let Some(state) = &graphics.dynamic {
            self.set_dynamic(state);
        }
        if let Some(loops) = graphics.loops {
            let calls = ash::ext::attachment_feedback_loop_dynamic_state::Device::new(
                &self.gpu.instance,
                device,
            );
            // SAFETY: this buffer is being recorded, and the device has the extension.
            unsafe {
                (calls.fp().cmd_set_attachment_feedback_loop_enable_ext)(self.handle, loops);
            }
        }
    }

    /// Inside of a rendering: the shader's location that each colour attachment takes, as the pipelines say that are bound next.
    pub fn attachment_locations(&self, locations: &[u32]) {
        let info =
            vk::RenderingAttachmentLocationInfoKHR::default().color_attachment_locations(locations);
        let device = ash::khr::dynamic_rendering_local_read::Device::new(
            &self.gpu.instance,
            &self.gpu.device,
        );
        // SAFETY: this buffer is being recorded, and the device has the extension.
        unsafe { device.cmd_set_rendering_attachment_locations(self.handle, &info) }
    }

    /// Binds vertex buffers from binding 0 on.
    pub fn vertex_buffers(&self, buffers: &[&super::Buffer]) {
        let handles: Vec<_> = buffers.iter().map(|b| b.handle).collect();
        // SAFETY: the buffers are live and have vertex usage.
        unsafe {
            self.gpu.device.cmd_bind_vertex_buffers(
                self.handle,
                0,
                &handles,
                &vec![0; handles.len()],
            );
        }
    }

    /// Binds an index buffer.
    pub fn index_buffer(&self, buffer: &super::Buffer, kind: vk::IndexType) {
        // SAFETY: the buffer is live and has index usage.
        unsafe { self.gpu.device.cmd_bind_index_buffer(self.handle, buffer.handle, 0, kind) }
    }

    /// Binds no index buffer: all indices are zero.
    pub fn no_index_buffer(&self, kind: vk::IndexType) {
        // SAFETY: the device has maintenance6 and null descriptors.
        unsafe {
            self.gpu.device.cmd_bind_index_buffer(self.handle, vk::Buffer::null(), 0, kind);
        }
    }

    /// Draws vertices and instances with a pipeline.
    pub fn draw(&self, graphics: &Graphics, vertices: u32, instances: u32) {
        self.bind_graphics(graphics);
        // SAFETY: a pipeline with its descriptors is bound, inside of a rendering.
        unsafe { self.gpu.device.cmd_draw(self.handle, vertices, instances, 0, 0) }
    }

    /// Draws indices of the bound index buffer.
    pub fn draw_indexed(&self, graphics: &Graphics, indices: u32, instances: u32) {
        self.bind_graphics(graphics);
        // SAFETY: a pipeline with its descriptors and an index buffer are bound.
        unsafe { self.gpu.device.cmd_draw_indexed(self.handle, indices, instances, 0, 0, 0) }
    }

    /// Push constants for a graphics pipeline from offset 0.
    pub fn push_graphics<T: Number>(&self, graphics: &Graphics, data: &[T]) {
        // SAFETY: the pipeline's layout has room for its push constants.
        unsafe {
            self.gpu.device.cmd_push_constants(
                self.handle,
                graphics.layout,
                vk::ShaderStageFlags::ALL_GRAPHICS,
                0,
                &T::to_bytes(data),
            );
        }
    }
}
