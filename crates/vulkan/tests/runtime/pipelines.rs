//! Pipelines, pipeline libraries and shader objects.

use std::ptr::null;

use tepui_vulkan::vk::{self, Handle};

use crate::{Gpu, call, ok};

/// A shader of a stage that does nothing, in SPIR-V 1.0.
pub fn words(stage: vk::ShaderStageFlags) -> Vec<u32> {
    let op = |code: u32, words: &[u32]| {
        let mut all = vec![(words.len() as u32 + 1) << 16 | code];
        all.extend(words);
        all
    };
    let mode = |all: &[u32]| op(16, &[&[1], all].concat());
    // source: the SPIR-V specification, "Execution Model", "Execution Mode", "Capability"
    let (model, capability, modes) = match stage {
        vk::ShaderStageFlags::COMPUTE => (5, 1, vec![mode(&[17, 64, 1, 1])]),
        vk::ShaderStageFlags::VERTEX => (0, 1, vec![]),
        vk::ShaderStageFlags::FRAGMENT => (4, 1, vec![mode(&[7])]),
        vk::ShaderStageFlags::GEOMETRY => {
            (3, 2, vec![mode(&[19]), mode(&[0, 1]), mode(&[27]), mode(&[26, 1])])
        }
        other => panic!("no shader of stage {other:?}"),
    };
    [
        vec![0x0723_0203, 0x1_0000, 0, 5, 0],
        op(17, &[capability]),
        op(14, &[0, 1]),                                      // OpMemoryModel
        op(15, &[model, 1, u32::from_le_bytes(*b"main"), 0]), // OpEntryPoint
        modes.concat(),
        op(19, &[2]),          // OpTypeVoid
        op(33, &[3, 2]),       // OpTypeFunction
        op(54, &[2, 1, 0, 3]), // OpFunction
        op(248, &[4]),         // OpLabel
        op(253, &[]),          // OpReturn
        op(56, &[]),           // OpFunctionEnd
    ]
    .concat()
}

impl Gpu {
    pub fn module(&self, stage: vk::ShaderStageFlags) -> vk::ShaderModule {
        let (words, mut module) = (words(stage), vk::ShaderModule::null());
        let info = vk::ShaderModuleCreateInfo {
            code_size: 4 * words.len(),
            code: words.as_ptr(),
            ..Default::default()
        };
        let (i, d) = (self.i, self.d);
        ok(call!(i, PFN_vkCreateShaderModule, vkCreateShaderModule(d, &info, null(), &mut module)));
        module
    }

    pub fn layout(&self, sets: &[vk::DescriptorSetLayout]) -> vk::PipelineLayout {
        let info = vk::PipelineLayoutCreateInfo {
            set_layout_count: sets.len() as u32,
            set_layouts: sets.as_ptr(),
            ..Default::default()
        };
        let mut layout = vk::PipelineLayout::null();
        let (i, d) = (self.i, self.d);
        ok(call!(
            i,
            PFN_vkCreatePipelineLayout,
            vkCreatePipelineLayout(d, &info, null(), &mut layout)
        ));
        layout
    }

    pub fn destroy_layout(&self, layout: vk::PipelineLayout) {
        call!(self.i, PFN_vkDestroyPipelineLayout, vkDestroyPipelineLayout(self.d, layout, null()));
    }

    pub fn compute(&self, layout: vk::PipelineLayout) -> vk::Pipeline {
        let stage = vk::ShaderStageFlags::COMPUTE;
        let module = self.module(stage);
        let stage = vk::PipelineShaderStageCreateInfo {
            stage,
            module,
            name: c"main".as_ptr(),
            ..Default::default()
        };
        let info = vk::ComputePipelineCreateInfo { stage, layout, ..Default::default() };
        let mut pipeline = vk::Pipeline::null();
        let (i, d, none) = (self.i, self.d, vk::PipelineCache::null());
        ok(call!(
            i,
            PFN_vkCreateComputePipelines,
            vkCreateComputePipelines(d, none, 1, &info, null(), &mut pipeline)
        ));
        call!(i, PFN_vkDestroyShaderModule, vkDestroyShaderModule(d, module, null()));
        pipeline
    }

    pub fn graphics(
        &self,
        layout: vk::PipelineLayout,
        stages: &[vk::ShaderStageFlags],
    ) -> vk::Pipeline {
        let modules: Vec<_> = stages.iter().map(|&s| self.module(s)).collect();
        let stages: Vec<_> = stages
            .iter()
            .zip(&modules)
            .map(|(&stage, &module)| vk::PipelineShaderStageCreateInfo {
                stage,
                module,
                name: c"main".as_ptr(),
                ..Default::default()
            })
            .collect();
        let input = vk::PipelineVertexInputStateCreateInfo::default();
        let assembly = vk::PipelineInputAssemblyStateCreateInfo {
            topology: vk::PrimitiveTopology::POINT_LIST,
            ..Default::default()
        };
        let viewport = vk::PipelineViewportStateCreateInfo::default();
        let rasterization = vk::PipelineRasterizationStateCreateInfo::default();
        let multisample = vk::PipelineMultisampleStateCreateInfo {
            rasterization_samples: vk::SampleCountFlags::_1,
            ..Default::default()
        };
        let blend = vk::PipelineColorBlendStateCreateInfo::default();
        let format = vk::Format::R8G8B8A8_UNORM;
        let rendering = vk::PipelineRenderingCreateInfo {
            color_attachment_count: 1,
            color_attachment_formats: &raw const format,
            ..Default::default()
        };
        let info = vk::GraphicsPipelineCreateInfo {
            next: (&raw const rendering).cast(),
            stage_count: stages.len() as u32,
            stages: stages.as_ptr(),
            vertex_input_state: &raw const input,
            input_assembly_state: &raw const assembly,
            viewport_state: &raw const viewport,
            rasterization_state: &raw const rasterization,
            multisample_state: &raw const multisample,
            color_blend_state: &raw const blend,
            layout,
            ..Default::default()
        };
        let mut pipeline = vk::Pipeline::null();
        let (i, d, none) = (self.i, self.d, vk::PipelineCache::null());
        ok(call!(
            i,
            PFN_vkCreateGraphicsPipelines,
            vkCreateGraphicsPipelines(d, none, 1, &info, null(), &mut pipeline)
        ));
        for module in modules {
            call!(i, PFN_vkDestroyShaderModule, vkDestroyShaderModule(d, module, null()));
        }
        pipeline
    }

    pub fn destroy_pipeline(&self, pipeline: vk::Pipeline) {
        call!(self.i, PFN_vkDestroyPipeline, vkDestroyPipeline(self.d, pipeline, null()));
    }
}

#[test]
fn link_gets_all_stages() {
    use vk::ShaderStageFlags as S;
    let gpu = Gpu::new();
    let layout = gpu.layout(&[]);
    let pipelines = [
        gpu.graphics(layout, &[S::VERTEX, S::FRAGMENT]),
        gpu.graphics(layout, &[S::VERTEX, S::GEOMETRY, S::FRAGMENT]),
    ];
    assert_eq!(gpu.shared.log(), ["link vertex fragment", "link vertex geometry fragment"]);
    pipelines.into_iter().for_each(|p| gpu.destroy_pipeline(p));
    gpu.destroy_layout(layout);
}

/// A vertex and a fragment shader that one call makes.
fn shader_objects(gpu: &Gpu, flags: vk::ShaderCreateFlagsEXT) -> Vec<vk::ShaderEXT> {
    use vk::ShaderStageFlags as S;
    let stages = [S::VERTEX, S::FRAGMENT];
    let words = stages.map(words);
    let infos = [0, 1].map(|k| vk::ShaderCreateInfoEXT {
        flags,
        stage: stages[k],
        next_stage: if k == 0 { S::FRAGMENT } else { S::empty() },
        code_type: vk::ShaderCodeTypeEXT::SPIRV,
        code_size: 4 * words[k].len(),
        code: words[k].as_ptr().cast(),
        name: c"main".as_ptr(),
        ..Default::default()
    });
    let mut shaders = vec![vk::ShaderEXT::null(); 2];
    ok(call!(
        gpu.i,
        PFN_vkCreateShadersEXT,
        vkCreateShadersEXT(gpu.d, 2, infos.as_ptr(), null(), shaders.as_mut_ptr())
    ));
    shaders
}

#[test]
fn linked_shader_objects_are_the_shaders_of_a_pipeline() {
    use vk::ShaderStageFlags as S;
    let gpu = Gpu::new();
    let layout = gpu.layout(&[]);
    let pipeline = gpu.graphics(layout, &[S::VERTEX, S::FRAGMENT]);
    let of_pipeline = gpu.shared.compiled();
    let [linked, unlinked] =
        [vk::ShaderCreateFlagsEXT::LINK_STAGE, vk::ShaderCreateFlagsEXT::empty()].map(|flags| {
            for shader in shader_objects(&gpu, flags) {
                call!(gpu.i, PFN_vkDestroyShaderEXT, vkDestroyShaderEXT(gpu.d, shader, null()));
            }
            gpu.shared.compiled()
        });
    assert_eq!(linked, of_pipeline);
    assert!(unlinked.len() == 2 && unlinked.iter().all(|key| !linked.contains(key)));
    gpu.destroy_pipeline(pipeline);
    gpu.destroy_layout(layout);
}

#[test]
fn shader_objects_draw_linked_and_unlinked() {
    use vk::ShaderStageFlags as S;
    let gpu = Gpu::new();
    for flags in [vk::ShaderCreateFlagsEXT::empty(), vk::ShaderCreateFlagsEXT::LINK_STAGE] {
        let shaders = shader_objects(&gpu, flags);
        let log = gpu.run((0, 0), |c| {
            let info = vk::RenderingInfo {
                render_area: vk::Rect2D {
                    extent: vk::Extent2D { width: 4, height: 4 },
                    ..Default::default()
                },
                layer_count: 1,
                ..Default::default()
            };
            call!(gpu.i, PFN_vkCmdBeginRendering, vkCmdBeginRendering(c, &info));
            let stages = [S::VERTEX, S::FRAGMENT];
            call!(
                gpu.i,
                PFN_vkCmdBindShadersEXT,
                vkCmdBindShadersEXT(c, 2, stages.as_ptr(), shaders.as_ptr())
            );
            let topology = vk::PrimitiveTopology::POINT_LIST;
            call!(gpu.i, PFN_vkCmdSetPrimitiveTopology, vkCmdSetPrimitiveTopology(c, topology));
            call!(gpu.i, PFN_vkCmdDraw, vkCmdDraw(c, 3, 1, 0, 0));
            call!(gpu.i, PFN_vkCmdEndRendering, vkCmdEndRendering(c));
        });
        assert_eq!(log, ["queue 0.0", "begin 4x4", "draw 3x1 vertex fragment topology 0", "end"]);
        for shader in shaders {
            call!(gpu.i, PFN_vkDestroyShaderEXT, vkDestroyShaderEXT(gpu.d, shader, null()));
        }
    }
}

/// The key of a compute pipeline whose layout fixes a sampler with this bias. The sampler stays.
fn key_with_sampler(gpu: &Gpu, mip_lod_bias: f32) -> Vec<u8> {
    let (i, d) = (gpu.i, gpu.d);
    let info = vk::SamplerCreateInfo { mip_lod_bias, ..Default::default() };
    let mut sampler = vk::Sampler::null();
    ok(call!(i, PFN_vkCreateSampler, vkCreateSampler(d, &info, null(), &mut sampler)));
    let binding = vk::DescriptorSetLayoutBinding {
        descriptor_type: vk::DescriptorType::SAMPLER,
        descriptor_count: 1,
        stage_flags: vk::ShaderStageFlags::COMPUTE,
        immutable_samplers: &sampler,
        ..Default::default()
    };
    let info = vk::DescriptorSetLayoutCreateInfo {
        binding_count: 1,
        bindings: &binding,
        ..Default::default()
    };
    let mut set = vk::DescriptorSetLayout::null();
    ok(call!(
        i,
        PFN_vkCreateDescriptorSetLayout,
        vkCreateDescriptorSetLayout(d, &info, null(), &mut set)
    ));
    let layout = gpu.layout(&[set]);
    let module = gpu.module(vk::ShaderStageFlags::COMPUTE);
    let stage = vk::PipelineShaderStageCreateInfo {
        stage: vk::ShaderStageFlags::COMPUTE,
        module,
        name: c"main".as_ptr(),
        ..Default::default()
    };
    let mut info = vk::ComputePipelineCreateInfo { stage, layout, ..Default::default() };
    let of = vk::PipelineCreateInfoKHR { next: (&raw mut info).cast(), ..Default::default() };
    let mut key = vk::PipelineBinaryKeyKHR::default();
    ok(call!(i, PFN_vkGetPipelineKeyKHR, vkGetPipelineKeyKHR(d, &of, &mut key)));
    call!(i, PFN_vkDestroyShaderModule, vkDestroyShaderModule(d, module, null()));
    gpu.destroy_layout(layout);
    call!(i, PFN_vkDestroyDescriptorSetLayout, vkDestroyDescriptorSetLayout(d, set, null()));
    key.key[..key.key_size as usize].to_vec()
}

#[test]
fn keys_of_pipelines_follow_from_samplers_and_not_from_their_handles() {
    let gpu = Gpu::new();
    let [a, b, c] = [0.5, 0.5, 0.75].map(|bias| key_with_sampler(&gpu, bias));
    assert_eq!(a, b);
    assert_ne!(a, c);
}
