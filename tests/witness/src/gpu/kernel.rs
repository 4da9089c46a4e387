//! A compute pipeline together with the descriptor set that it runs with.

use std::ffi::CString;

use ash::vk;

use super::descriptors::{self, Bind, Descriptors};
use super::{Buffer, Destroyable, During, Error, Gpu, Result};

/// Pipeline, layout and descriptor set.
pub struct Kernel {
    pub(crate) pipeline: vk::Pipeline,
    pub(crate) layout: vk::PipelineLayout,
    pub(crate) set: vk::DescriptorSet,
}

/// Collects what a [`Kernel`] is made of.
pub struct KernelBuilder<'a> {
    gpu: &'a Gpu,
    spirv: &'a [u32],
    entry: &'a str,
    descriptors: Descriptors<'a>,
    push_bytes: u32,
    /// Id and bits.
    constants: Vec<(u32, u32)>,
    flags: vk::PipelineCreateFlags,
    cache: vk::PipelineCache,
    with_subgroups: bool,
}

impl Kernel {
    /// Writes another descriptor to a binding; the kernel does not run.
    pub fn write(&self, gpu: &Gpu, binding: u32, bind: &Bind) {
        descriptors::write(gpu, self.set, binding, 0, bind);
    }
}

impl Gpu {
    /// Begins a kernel of a SPIR-V module, whose entry point is `main` unless another is named.
    pub fn kernel<'a>(&'a self, spirv: &'a [u32]) -> KernelBuilder<'a> {
        KernelBuilder {
            gpu: self,
            spirv,
            entry: "main",
            descriptors: Descriptors::default(),
            push_bytes: 0,
            constants: Vec::new(),
            flags: vk::PipelineCreateFlags::empty(),
            cache: vk::PipelineCache::null(),
            with_subgroups: false,
        }
    }
}

impl<'a> KernelBuilder<'a> {
    /// The next binding of set 0, in the order 0, 1, 2, ….
    pub fn bind(self, what: Bind<'a>) -> Self {
        self.bind_array(vec![what])
    }

    /// The next binding of set 0 as an array of descriptors of one type.
    pub fn bind_array(mut self, what: Vec<Bind<'a>>) -> Self {
        self.descriptors.push(what);
        self
    }

    /// Storage buffers at the next bindings.
    pub fn storage(mut self, buffers: &[&'a Buffer]) -> Self {
        for &buffer in buffers {
            self = self.bind(Bind::Storage(buffer));
        }
        self
    }

    /// Sets the size of push constants.
    pub fn push_bytes(mut self, bytes: u32) -> Self {
        self.push_bytes = bytes;
        self
    }

    /// 32-bit specialization constants with ids 0, 1, 2, ….
    pub fn constants(mut self, constants: &[u32]) -> Self {
        self.constants = (0..).zip(constants.iter().copied()).collect();
        self
    }

    /// 32-bit specialization constants by their ids.
    pub fn specialized(mut self, constants: &[(u32, u32)]) -> Self {
        self.constants = constants.to_vec();
        self
    }

    /// Flags of the pipeline.
    pub fn flags(mut self, flags: vk::PipelineCreateFlags) -> Self {
        self.flags = flags;
        self
    }

    /// The cache that the pipeline is looked for in.
    pub fn cache(mut self, cache: vk::PipelineCache) -> Self {
        self.cache = cache;
        self
    }

    /// Bindings hold descriptors of any kind.
    pub fn mutable(mut self) -> Self {
        self.descriptors.mutable = true;
        self
    }

    /// Another entry point.
    pub fn entry(mut self, name: &'a str) -> Self {
        self.entry = name;
        self
    }

    /// The kernel looks at its sub-groups: they have the size that the device tells.
    #[must_use]
    pub fn with_subgroups(mut self) -> Self {
        self.with_subgroups = true;
        self
    }

    /// Makes the pipeline and fills the descriptor set.
    pub fn build(self) -> Result<Kernel> {
        let set_layout = self.descriptors.layout(self.gpu, vk::ShaderStageFlags::COMPUTE)?;
        let kernel = self.build_for(&[set_layout])?;
        Ok(Kernel { set: self.descriptors.set(self.gpu, set_layout)?, ..kernel })
    }

    /// Makes the pipeline for sets of these layouts, without a set.
    pub fn build_for(&self, set_layouts: &[vk::DescriptorSetLayout]) -> Result<Kernel> {
        let gpu = self.gpu;
        let push = [vk::PushConstantRange::default()
            .stage_flags(vk::ShaderStageFlags::COMPUTE)
            .size(self.push_bytes)];
        let create = vk::PipelineLayoutCreateInfo::default()
            .set_layouts(set_layouts)
            .push_constant_ranges(if self.push_bytes == 0 { &[] } else { &push });
        // SAFETY: the set layout is live.
        let layout = unsafe { gpu.device.create_pipeline_layout(&create, None) }
            .during("vkCreatePipelineLayout")?;
        gpu.keep(Destroyable::PipelineLayout(layout));
        let pipeline = self.pipeline(layout)?;
        Ok(Kernel { pipeline, layout, set: vk::DescriptorSet::null() })
    }

    fn pipeline(&self, layout: vk::PipelineLayout) -> Result<vk::Pipeline> {
        let device = &self.gpu.device;
        let entry = |(i, &(id, _)): (usize, &(u32, u32))| {
            vk::SpecializationMapEntry::default().constant_id(id).offset(4 * i as u32).size(4)
        };
        let entries: Vec<_> = self.constants.iter().enumerate().map(entry).collect();
        let constants: Vec<u8> = self.constants.iter().flat_map(|c| c.1.to_le_bytes()).collect();
        let name = CString::new(self.entry).map_err(|e| Error::Case(e.to_string()))?;
        let specialization =
            vk::SpecializationInfo::default().map_entries(&entries).data(&constants);
        let module = vk::ShaderModuleCreateInfo::default().code(self.spirv);
        // SAFETY: the code is a whole SPIR-V module: the GLSL compiler made it.
        let module =
            unsafe { device.create_shader_module(&module, None) }.during("vkCreateShaderModule")?;
        let mut size = vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo::default()
            .required_subgroup_size(self.gpu.subgroup_size);
        let mut stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module)
            .name(&name)
            .specialization_info(&specialization);
        if self.with_subgroups && self.gpu.requires_subgroup_size {
            stage = stage.push_next(&mut size);
        }
        let create =
            vk::ComputePipelineCreateInfo::default().flags(self.flags).stage(stage).layout(layout);
        // SAFETY: module, layout and constants outlive the call; the module may go after it.
        let made = unsafe {
            let made = device.create_compute_pipelines(self.cache, &[create], None);
            device.destroy_shader_module(module, None);
            made
        };
        let pipeline = made
            .map_err(|(_, result)| Error::Vulkan { call: "vkCreateComputePipelines", result })?[0];
        self.gpu.keep(Destroyable::Pipeline(pipeline));
        Ok(pipeline)
    }
}
