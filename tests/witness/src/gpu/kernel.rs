//! A compute pipeline together with the descriptor set that it runs with.

use ash::vk;

use super::{Buffer, During, Error, Garbage, Gpu, Result};

/// What stands at a binding, or at one element of an array binding.
#[derive(Clone, Copy)]
pub enum Bind<'a> {
    /// Storage buffer, whole.
    Storage(&'a Buffer),
    /// Storage buffer, a range in bytes (offset, length).
    StorageRange(&'a Buffer, u64, u64),
    /// Uniform buffer, whole.
    Uniform(&'a Buffer),
    /// Uniform buffer, a range in bytes (offset, length).
    UniformRange(&'a Buffer, u64, u64),
    /// Uniform buffer whose start moves with a dynamic offset, with its length in bytes.
    UniformDynamic(&'a Buffer, u64),
    /// Storage buffer whose start moves with a dynamic offset, with its length in bytes.
    StorageDynamic(&'a Buffer, u64),
    /// Uniform texel buffer.
    UniformTexel(vk::BufferView),
    /// Storage texel buffer.
    StorageTexel(vk::BufferView),
    /// Storage image in the general layout.
    StorageImage(vk::ImageView),
    /// Sampled image with its sampler, in the general layout.
    Texture(vk::ImageView, vk::Sampler),
    /// Sampled image alone, in the general layout.
    Sampled(vk::ImageView),
    /// Sampler alone.
    Sampler(vk::Sampler),
}

impl Bind<'_> {
    fn kind(&self) -> vk::DescriptorType {
        match self {
            Bind::Storage(_) | Bind::StorageRange(..) => vk::DescriptorType::STORAGE_BUFFER,
            Bind::Uniform(_) | Bind::UniformRange(..) => vk::DescriptorType::UNIFORM_BUFFER,
            Bind::UniformDynamic(..) => vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC,
            Bind::StorageDynamic(..) => vk::DescriptorType::STORAGE_BUFFER_DYNAMIC,
            Bind::UniformTexel(_) => vk::DescriptorType::UNIFORM_TEXEL_BUFFER,
            Bind::StorageTexel(_) => vk::DescriptorType::STORAGE_TEXEL_BUFFER,
            Bind::StorageImage(_) => vk::DescriptorType::STORAGE_IMAGE,
            Bind::Texture(..) => vk::DescriptorType::COMBINED_IMAGE_SAMPLER,
            Bind::Sampled(_) => vk::DescriptorType::SAMPLED_IMAGE,
            Bind::Sampler(_) => vk::DescriptorType::SAMPLER,
        }
    }
}

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
    binds: Vec<(u32, Vec<Bind<'a>>)>,
    push_bytes: u32,
    constants: Vec<u32>,
}

impl Gpu {
    /// Begins a kernel of a SPIR-V module whose entry point is `main`.
    pub fn kernel<'a>(&'a self, spirv: &'a [u32]) -> KernelBuilder<'a> {
        KernelBuilder { gpu: self, spirv, binds: Vec::new(), push_bytes: 0, constants: Vec::new() }
    }
}

impl<'a> KernelBuilder<'a> {
    /// The next binding of set 0, in the order 0, 1, 2, ….
    pub fn bind(self, what: Bind<'a>) -> Self {
        self.bind_array(vec![what])
    }

    /// The next binding of set 0 as an array of descriptors of one type.
    pub fn bind_array(mut self, what: Vec<Bind<'a>>) -> Self {
        self.binds.push((self.binds.len() as u32, what));
        self
    }

    /// Storage buffers at the next bindings.
    pub fn storage(mut self, buffers: &[&'a Buffer]) -> Self {
        for &buffer in buffers {
            self = self.bind(Bind::Storage(buffer));
        }
        self
    }

    /// Room for push constants.
    pub fn push_bytes(mut self, bytes: u32) -> Self {
        self.push_bytes = bytes;
        self
    }

    /// 32-bit specialization constants with ids 0, 1, 2, ….
    pub fn constants(mut self, constants: &[u32]) -> Self {
        self.constants = constants.to_vec();
        self
    }

    /// Makes the pipeline and fills the descriptor set.
    pub fn build(self) -> Result<Kernel> {
        let gpu = self.gpu;
        let set_layout = self.set_layout()?;
        let set_layouts = [set_layout];
        let push = [vk::PushConstantRange::default()
            .stage_flags(vk::ShaderStageFlags::COMPUTE)
            .size(self.push_bytes)];
        let create = vk::PipelineLayoutCreateInfo::default()
            .set_layouts(&set_layouts)
            .push_constant_ranges(if self.push_bytes == 0 { &[] } else { &push });
        // SAFETY: the set layout is live.
        let layout = unsafe { gpu.device.create_pipeline_layout(&create, None) }
            .during("vkCreatePipelineLayout")?;
        gpu.keep(Garbage::PipelineLayout(layout));
        let pipeline = self.pipeline(layout)?;
        let set = self.set(set_layout)?;
        Ok(Kernel { pipeline, layout, set })
    }

    fn set_layout(&self) -> Result<vk::DescriptorSetLayout> {
        let bindings: Vec<_> = self
            .binds
            .iter()
            .map(|(binding, what)| {
                vk::DescriptorSetLayoutBinding::default()
                    .binding(*binding)
                    .descriptor_type(what[0].kind())
                    .descriptor_count(what.len() as u32)
                    .stage_flags(vk::ShaderStageFlags::COMPUTE)
            })
            .collect();
        let create = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        // SAFETY: the device is live.
        let layout = unsafe { self.gpu.device.create_descriptor_set_layout(&create, None) }
            .during("vkCreateDescriptorSetLayout")?;
        self.gpu.keep(Garbage::SetLayout(layout));
        Ok(layout)
    }

    fn pipeline(&self, layout: vk::PipelineLayout) -> Result<vk::Pipeline> {
        let device = &self.gpu.device;
        let entries: Vec<_> = (0..self.constants.len() as u32)
            .map(|i| vk::SpecializationMapEntry::default().constant_id(i).offset(4 * i).size(4))
            .collect();
        let constants: Vec<u8> = self.constants.iter().flat_map(|c| c.to_le_bytes()).collect();
        let specialization =
            vk::SpecializationInfo::default().map_entries(&entries).data(&constants);
        let module = vk::ShaderModuleCreateInfo::default().code(self.spirv);
        // SAFETY: the code is a whole SPIR-V module: the GLSL compiler made it.
        let module =
            unsafe { device.create_shader_module(&module, None) }.during("vkCreateShaderModule")?;
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module)
            .name(c"main")
            .specialization_info(&specialization);
        let create = vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout);
        // SAFETY: module, layout and constants outlive the call; the module may go after it.
        let made = unsafe {
            let made = device.create_compute_pipelines(vk::PipelineCache::null(), &[create], None);
            device.destroy_shader_module(module, None);
            made
        };
        let pipeline = made
            .map_err(|(_, result)| Error::Vulkan { call: "vkCreateComputePipelines", result })?[0];
        self.gpu.keep(Garbage::Pipeline(pipeline));
        Ok(pipeline)
    }

    fn set(&self, layout: vk::DescriptorSetLayout) -> Result<vk::DescriptorSet> {
        let gpu = self.gpu;
        if self.binds.is_empty() {
            return Ok(vk::DescriptorSet::null());
        }
        let sizes: Vec<_> = self
            .binds
            .iter()
            .map(|(_, what)| {
                vk::DescriptorPoolSize::default()
                    .ty(what[0].kind())
                    .descriptor_count(what.len() as u32)
            })
            .collect();
        let create = vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(&sizes);
        // SAFETY: the device is live.
        let pool = unsafe { gpu.device.create_descriptor_pool(&create, None) }
            .during("vkCreateDescriptorPool")?;
        gpu.keep(Garbage::DescriptorPool(pool));
        let layouts = [layout];
        let allocate =
            vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&layouts);
        // SAFETY: pool and layout are live.
        let set = unsafe { gpu.device.allocate_descriptor_sets(&allocate) }
            .during("vkAllocateDescriptorSets")?[0];
        for (binding, what) in &self.binds {
            for (element, bind) in what.iter().enumerate() {
                self.write(set, *binding, element as u32, bind);
            }
        }
        Ok(set)
    }

    fn write(&self, set: vk::DescriptorSet, binding: u32, element: u32, bind: &Bind) {
        let (mut buffers, mut images, mut views) = (Vec::new(), Vec::new(), Vec::new());
        let buffer = |b: &Buffer, offset, range| vk::DescriptorBufferInfo {
            buffer: b.handle,
            offset,
            range,
        };
        let image = |image_view, sampler| vk::DescriptorImageInfo {
            sampler,
            image_view,
            image_layout: vk::ImageLayout::GENERAL,
        };
        match *bind {
            Bind::Storage(b) | Bind::Uniform(b) => buffers.push(buffer(b, 0, vk::WHOLE_SIZE)),
            Bind::StorageRange(b, offset, length) | Bind::UniformRange(b, offset, length) => {
                buffers.push(buffer(b, offset, length));
            }
            Bind::UniformDynamic(b, length) | Bind::StorageDynamic(b, length) => {
                buffers.push(buffer(b, 0, length));
            }
            Bind::UniformTexel(view) | Bind::StorageTexel(view) => views.push(view),
            Bind::StorageImage(view) | Bind::Sampled(view) => {
                images.push(image(view, vk::Sampler::null()));
            }
            Bind::Texture(view, sampler) => images.push(image(view, sampler)),
            Bind::Sampler(sampler) => images.push(image(vk::ImageView::null(), sampler)),
        }
        let write = vk::WriteDescriptorSet {
            descriptor_count: 1,
            ..vk::WriteDescriptorSet::default()
                .dst_set(set)
                .dst_binding(binding)
                .dst_array_element(element)
                .descriptor_type(bind.kind())
                .buffer_info(&buffers)
                .image_info(&images)
                .texel_buffer_view(&views)
        };
        // SAFETY: the set and everything that is written into it are live, and no submission uses
        // the set yet.
        unsafe { self.gpu.device.update_descriptor_sets(&[write], &[]) };
    }
}
