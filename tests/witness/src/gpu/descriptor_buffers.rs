//! Descriptor buffers: set layouts, and memory with descriptors.

use ash::{ext, vk};

use super::{Bind, Buffer, Destroyable, During, Gpu, Result};

/// A binding of a set layout: kind, count, samplers that the layout fixes.
pub type LayoutBinding<'a> = (vk::DescriptorType, u32, &'a [vk::Sampler]);

/// Descriptor buffers of a device.
pub struct DescriptorBuffers<'a> {
    gpu: &'a Gpu,
    /// The extension's commands.
    pub api: ext::descriptor_buffer::Device,
    properties: vk::PhysicalDeviceDescriptorBufferPropertiesEXT<'static>,
}

impl Gpu {
    /// Its descriptor buffers.
    pub fn descriptor_buffers(&self) -> Result<DescriptorBuffers<'_>> {
        self.require(ext::descriptor_buffer::NAME)?;
        let mut properties = vk::PhysicalDeviceDescriptorBufferPropertiesEXT::default();
        let mut all = vk::PhysicalDeviceProperties2::default().push_next(&mut properties);
        // SAFETY: the chain is well formed and outlives the call.
        unsafe { self.instance.get_physical_device_properties2(self.physical, &mut all) };
        properties.p_next = std::ptr::null_mut();
        let api = ext::descriptor_buffer::Device::new(&self.instance, &self.device);
        Ok(DescriptorBuffers { gpu: self, api, properties })
    }
}

impl DescriptorBuffers<'_> {
    /// A set layout for compute shaders whose descriptors are in a buffer, or, with `embedded`, in the layout itself.
    pub fn layout(
        &self,
        bindings: &[LayoutBinding<'_>],
        embedded: bool,
    ) -> Result<vk::DescriptorSetLayout> {
        use vk::DescriptorSetLayoutCreateFlags as F;
        let list: Vec<_> = (0..)
            .zip(bindings)
            .map(|(number, &(kind, count, samplers))| {
                let b = vk::DescriptorSetLayoutBinding::default()
                    .binding(number)
                    .descriptor_type(kind)
                    .descriptor_count(count)
                    .stage_flags(vk::ShaderStageFlags::COMPUTE);
                if samplers.is_empty() { b } else { b.immutable_samplers(samplers) }
            })
            .collect();
        let own = if embedded { F::EMBEDDED_IMMUTABLE_SAMPLERS_EXT } else { F::empty() };
        let create = vk::DescriptorSetLayoutCreateInfo::default()
            .bindings(&list)
            .flags(F::DESCRIPTOR_BUFFER_EXT | own);
        // SAFETY: the device is live.
        let layout = unsafe { self.gpu.device.create_descriptor_set_layout(&create, None) }
            .during("vkCreateDescriptorSetLayout")?;
        self.gpu.keep(Destroyable::SetLayout(layout));
        Ok(layout)
    }

    /// The first multiple of the alignment of sets after some bytes.
    pub fn aligned(&self, offset: u64) -> u64 {
        offset.next_multiple_of(self.properties.descriptor_buffer_offset_alignment)
    }

    /// A descriptor buffer with room for a set at an offset.
    pub fn buffer(&self, layout: vk::DescriptorSetLayout, offset: u64) -> Result<Buffer> {
        // SAFETY: the layout is one for descriptor buffers.
        let size = unsafe { self.api.get_descriptor_set_layout_size(layout) };
        let usage = vk::BufferUsageFlags::RESOURCE_DESCRIPTOR_BUFFER_EXT
            | vk::BufferUsageFlags::SAMPLER_DESCRIPTOR_BUFFER_EXT;
        self.gpu.empty_for((offset + size) as usize, usage)
    }

    /// First byte of a binding in a set.
    pub fn offset(&self, layout: vk::DescriptorSetLayout, binding: u32) -> u64 {
        // SAFETY: the layout is one for descriptor buffers, which has the binding.
        unsafe { self.api.get_descriptor_set_layout_binding_offset(layout, binding) }
    }

    /// Writes the descriptors of a binding into a set at an offset; no descriptor is null. Texel buffers have a format.
    pub fn write(
        &self,
        to: &Buffer,
        set: u64,
        (layout, binding): (vk::DescriptorSetLayout, u32),
        descriptors: &[Option<Bind<'_>>],
        kind: vk::DescriptorType,
        format: vk::Format,
    ) {
        let mut at = set + self.offset(layout, binding);
        for bind in descriptors {
            let bytes = self.bytes(*bind, kind, format);
            to.write_at(at as usize, &bytes);
            at += bytes.len() as u64;
        }
    }

    fn bytes(
        &self,
        bind: Option<Bind<'_>>,
        kind: vk::DescriptorType,
        format: vk::Format,
    ) -> Vec<u8> {
        use vk::DescriptorType as T;
        let p = &self.properties;
        let size = match kind {
            T::SAMPLER => p.sampler_descriptor_size,
            T::COMBINED_IMAGE_SAMPLER => p.combined_image_sampler_descriptor_size,
            T::SAMPLED_IMAGE => p.sampled_image_descriptor_size,
            T::STORAGE_IMAGE => p.storage_image_descriptor_size,
            T::UNIFORM_TEXEL_BUFFER => p.robust_uniform_texel_buffer_descriptor_size,
            T::STORAGE_TEXEL_BUFFER => p.robust_storage_texel_buffer_descriptor_size,
            T::UNIFORM_BUFFER => p.robust_uniform_buffer_descriptor_size,
            _ => p.robust_storage_buffer_descriptor_size,
        };
        let range = |b: &Buffer| {
            vk::DescriptorAddressInfoEXT::default()
                .address(b.address)
                .range(b.len_bytes)
                .format(format)
        };
        let image = |image_view, sampler| vk::DescriptorImageInfo {
            sampler,
            image_view,
            image_layout: vk::ImageLayout::GENERAL,
        };
        let (mut address, mut info) = Default::default();
        match bind {
            Some(Bind::Storage(b) | Bind::Uniform(b)) => address = Some(range(b)),
            Some(Bind::Texture(view, sampler)) => info = Some(image(view, sampler)),
            Some(Bind::Sampled(view) | Bind::StorageImage(view)) => {
                info = Some(image(view, vk::Sampler::null()));
            }
            _ => {}
        }
        let pointer = |a: &Option<vk::DescriptorAddressInfoEXT<'_>>| -> *const _ {
            a.as_ref().map_or(std::ptr::null(), std::ptr::from_ref).cast()
        };
        // All members of the union are pointers.
        let data = match &info {
            Some(info) => vk::DescriptorDataEXT { p_sampled_image: info },
            None => vk::DescriptorDataEXT { p_uniform_buffer: pointer(&address) },
        };
        let get = vk::DescriptorGetInfoEXT { ty: kind, data, ..Default::default() };
        let mut bytes = vec![0; size];
        // SAFETY: the structure is of the kind, and its objects are live.
        unsafe { self.api.get_descriptor(&get, &mut bytes) };
        bytes
    }
}
