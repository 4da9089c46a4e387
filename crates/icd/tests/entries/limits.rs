//! Numbers of a program that are far larger than anything: a command fails with a code that it may return, or does what it is
//! asked for; no number sizes an allocation that ends the process.

use std::ptr::{null, null_mut};

use tepui_vulkan::vk::{self, Handle};
use tepui_vulkan::{registry, vk::Result as R};

use crate::{DeviceOnly, call};

const LARGE: [u32; 4] = [1 << 20, i32::MAX as u32, u32::MAX - 1, u32::MAX];

/// A result that the command may return.
fn may(command: &str, result: R) -> bool {
    assert_eq!(registry::returnable(command, result), result, "{command}");
    result.as_raw() >= 0
}

impl DeviceOnly {
    /// Creates a set layout and destroys it; whether it was created.
    fn layout(&self, bindings: &[vk::DescriptorSetLayoutBinding], push: bool) -> bool {
        let (i, d) = (self.instance, self.device);
        let flags = match push {
            true => vk::DescriptorSetLayoutCreateFlags::PUSH_DESCRIPTOR,
            false => vk::DescriptorSetLayoutCreateFlags::empty(),
        };
        let info = vk::DescriptorSetLayoutCreateInfo {
            flags,
            binding_count: bindings.len() as u32,
            bindings: bindings.as_ptr(),
            ..Default::default()
        };
        let mut support = vk::DescriptorSetLayoutSupport::default();
        call!(
            i,
            PFN_vkGetDescriptorSetLayoutSupport,
            vkGetDescriptorSetLayoutSupport(d, &info, &mut support)
        );
        let mut layout = vk::DescriptorSetLayout::null();
        let result = call!(
            i,
            PFN_vkCreateDescriptorSetLayout,
            vkCreateDescriptorSetLayout(d, &info, null(), &mut layout)
        );
        let created = may("vkCreateDescriptorSetLayout", result);
        assert_eq!(support.supported == vk::TRUE, created);
        if created {
            call!(
                i,
                PFN_vkDestroyDescriptorSetLayout,
                vkDestroyDescriptorSetLayout(d, layout, null())
            );
        }
        created
    }
}

#[test]
fn set_layouts() {
    use vk::DescriptorType as T;
    let device = DeviceOnly::new(&[c"VK_KHR_push_descriptor"]);
    let binding = |binding, descriptor_type, descriptor_count| vk::DescriptorSetLayoutBinding {
        binding,
        descriptor_type,
        descriptor_count,
        stage_flags: vk::ShaderStageFlags::COMPUTE,
        ..Default::default()
    };
    for n in LARGE {
        let number = [binding(n, T::STORAGE_BUFFER, 1), binding(0, T::SAMPLED_IMAGE, 2)];
        assert_eq!(device.layout(&number, false), n <= i32::MAX as u32, "binding {n}");
        for ty in [
            T::STORAGE_BUFFER,
            T::SAMPLED_IMAGE,
            T::STORAGE_BUFFER_DYNAMIC,
            T::INLINE_UNIFORM_BLOCK,
            T::MUTABLE_EXT,
        ] {
            let counts = [binding(0, ty, n), binding(1, ty, n)];
            assert!(!device.layout(&counts, false) || n == 1 << 20, "{n} of {ty:?}");
            device.layout(&counts, true);
        }
    }
}

#[test]
fn pools() {
    let device = DeviceOnly::new(&[]);
    let (i, d) = (device.instance, device.device);
    for n in LARGE {
        for (max_sets, descriptor_count) in [(n, 1), (1, n), (n, n)] {
            let size = vk::DescriptorPoolSize {
                type_: vk::DescriptorType::COMBINED_IMAGE_SAMPLER,
                descriptor_count,
            };
            let info = vk::DescriptorPoolCreateInfo {
                max_sets,
                pool_size_count: 1,
                pool_sizes: &raw const size,
                ..Default::default()
            };
            let mut pool = vk::DescriptorPool::null();
            let result = call!(
                i,
                PFN_vkCreateDescriptorPool,
                vkCreateDescriptorPool(d, &info, null(), &mut pool)
            );
            if may("vkCreateDescriptorPool", result) {
                call!(i, PFN_vkDestroyDescriptorPool, vkDestroyDescriptorPool(d, pool, null()));
            }
        }
        for query_type in [
            vk::QueryType::OCCLUSION,
            vk::QueryType::TIMESTAMP,
            vk::QueryType::PIPELINE_STATISTICS,
            vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT,
        ] {
            let info = vk::QueryPoolCreateInfo {
                query_type,
                query_count: n,
                pipeline_statistics: vk::QueryPipelineStatisticFlags::from_bits_truncate(0x7ff),
                ..Default::default()
            };
            let mut pool = vk::QueryPool::null();
            let result =
                call!(i, PFN_vkCreateQueryPool, vkCreateQueryPool(d, &info, null(), &mut pool));
            if may("vkCreateQueryPool", result) {
                call!(i, PFN_vkDestroyQueryPool, vkDestroyQueryPool(d, pool, null()));
            }
        }
    }
}

#[test]
fn memory_buffers_and_images() {
    let device = DeviceOnly::new(&[]);
    let (i, d) = (device.instance, device.device);
    // The virtual GPU's memory takes pages of the host when they are written.
    let sizes = [1u64 << 38, i64::MAX as u64, u64::MAX - 65535, u64::MAX];
    for size in sizes {
        let info = vk::MemoryAllocateInfo { allocation_size: size, ..Default::default() };
        let mut memory = vk::DeviceMemory::null();
        let result =
            call!(i, PFN_vkAllocateMemory, vkAllocateMemory(d, &info, null(), &mut memory));
        if may("vkAllocateMemory", result) {
            call!(i, PFN_vkFreeMemory, vkFreeMemory(d, memory, null()));
        }
        for flags in [vk::BufferCreateFlags::empty(), vk::BufferCreateFlags::SPARSE_BINDING] {
            let usage = vk::BufferUsageFlags::TRANSFER_DST;
            let info = vk::BufferCreateInfo { flags, size, usage, ..Default::default() };
            let mut buffer = vk::Buffer::null();
            let result =
                call!(i, PFN_vkCreateBuffer, vkCreateBuffer(d, &info, null(), &mut buffer));
            if may("vkCreateBuffer", result) {
                call!(i, PFN_vkDestroyBuffer, vkDestroyBuffer(d, buffer, null()));
            }
        }
    }
    for n in LARGE {
        for k in 0..5 {
            let of = |index| if k == index { n } else { 1 };
            let info = vk::ImageCreateInfo {
                image_type: if k == 2 { vk::ImageType::_3D } else { vk::ImageType::_2D },
                format: vk::Format::R8G8B8A8_UNORM,
                extent: vk::Extent3D { width: of(0), height: of(1), depth: of(2) },
                mip_levels: of(3),
                array_layers: of(4),
                samples: vk::SampleCountFlags::_1,
                usage: vk::ImageUsageFlags::SAMPLED,
                ..Default::default()
            };
            let mut image = vk::Image::null();
            let result = call!(i, PFN_vkCreateImage, vkCreateImage(d, &info, null(), &mut image));
            assert!(!may("vkCreateImage", result), "{k} {n}");
        }
    }
}

/// The number of draws is at most that of the arguments which a buffer has.
#[test]
fn indirect_draws() {
    let device = DeviceOnly::new(&[]);
    let (i, d) = (device.instance, device.device);
    let info = vk::BufferCreateInfo {
        size: 4096,
        usage: vk::BufferUsageFlags::INDIRECT_BUFFER,
        ..Default::default()
    };
    let mut buffer = vk::Buffer::null();
    assert_eq!(
        call!(i, PFN_vkCreateBuffer, vkCreateBuffer(d, &info, null(), &mut buffer)),
        R::SUCCESS
    );
    let info = vk::MemoryAllocateInfo { allocation_size: 4096, ..Default::default() };
    let mut memory = vk::DeviceMemory::null();
    call!(i, PFN_vkAllocateMemory, vkAllocateMemory(d, &info, null(), &mut memory));
    call!(i, PFN_vkBindBufferMemory, vkBindBufferMemory(d, buffer, memory, 0));
    // No pipeline is bound: the draws fail when the command buffer ends, or are nothing.
    let (info, mut pool) = (vk::CommandPoolCreateInfo::default(), vk::CommandPool::null());
    call!(i, PFN_vkCreateCommandPool, vkCreateCommandPool(d, &info, null(), &mut pool));
    let info = vk::CommandBufferAllocateInfo {
        command_pool: pool,
        command_buffer_count: 1,
        ..Default::default()
    };
    let mut c = vk::CommandBuffer::null();
    call!(i, PFN_vkAllocateCommandBuffers, vkAllocateCommandBuffers(d, &info, &mut c));
    let info = vk::CommandBufferBeginInfo::default();
    call!(i, PFN_vkBeginCommandBuffer, vkBeginCommandBuffer(c, &info));
    let rendering = vk::RenderingInfo {
        render_area: vk::Rect2D {
            offset: vk::Offset2D::default(),
            extent: vk::Extent2D { width: 8, height: 8 },
        },
        layer_count: 1,
        ..Default::default()
    };
    call!(i, PFN_vkCmdBeginRendering, vkCmdBeginRendering(c, &rendering));
    for count in LARGE {
        call!(
            i,
            PFN_vkCmdDrawIndirectCount,
            vkCmdDrawIndirectCount(c, buffer, 0, buffer, 0, count, 16)
        );
        call!(
            i,
            PFN_vkCmdDrawIndexedIndirectCount,
            vkCmdDrawIndexedIndirectCount(c, buffer, 64, buffer, 0, count, 20)
        );
        call!(i, PFN_vkCmdDrawIndirect, vkCmdDrawIndirect(c, buffer, 4092, count, 16));
    }
    call!(i, PFN_vkCmdEndRendering, vkCmdEndRendering(c));
    let result = call!(i, PFN_vkEndCommandBuffer, vkEndCommandBuffer(c));
    may("vkEndCommandBuffer", result);
    call!(i, PFN_vkDestroyCommandPool, vkDestroyCommandPool(d, pool, null()));
    call!(i, PFN_vkDestroyBuffer, vkDestroyBuffer(d, buffer, null()));
    call!(i, PFN_vkFreeMemory, vkFreeMemory(d, memory, null()));
}

/// Bytes that a program hands over as a pipeline cache name sizes of their own.
#[test]
fn pipeline_caches() {
    let device = DeviceOnly::new(&[]);
    let (i, d) = (device.instance, device.device);
    let cache = |bytes: &[u8]| {
        let info = vk::PipelineCacheCreateInfo {
            initial_data_size: bytes.len(),
            initial_data: bytes.as_ptr().cast(),
            ..Default::default()
        };
        let mut cache = vk::PipelineCache::null();
        let result = call!(
            i,
            PFN_vkCreatePipelineCache,
            vkCreatePipelineCache(d, &info, null(), &mut cache)
        );
        assert!(may("vkCreatePipelineCache", result));
        let mut size = 0;
        let get = |size: &mut usize, out| {
            call!(i, PFN_vkGetPipelineCacheData, vkGetPipelineCacheData(d, cache, size, out))
        };
        assert_eq!(get(&mut size, null_mut()), R::SUCCESS);
        let mut bytes = vec![0u8; size];
        assert_eq!(get(&mut size, bytes.as_mut_ptr().cast()), R::SUCCESS);
        call!(i, PFN_vkDestroyPipelineCache, vkDestroyPipelineCache(d, cache, null()));
        bytes
    };
    let header = cache(&[]);
    for fill in [0xffu8, 0x7f, 0x10] {
        let mut bytes = header.clone();
        bytes.extend([fill; 256]);
        assert_eq!(cache(&bytes), header);
    }
}

/// Equal samplers share a place of the heap; of those that differ there are as many as it has places.
#[test]
fn samplers() {
    let device = DeviceOnly::new(&[]);
    let (i, d) = (device.instance, device.device);
    let create = |max_lod: f32| {
        let info = vk::SamplerCreateInfo { max_lod, ..Default::default() };
        let mut sampler = vk::Sampler::null();
        let result = call!(i, PFN_vkCreateSampler, vkCreateSampler(d, &info, null(), &mut sampler));
        if result == R::SUCCESS { Ok(sampler) } else { Err(result) }
    };
    let destroy = |s: vk::Sampler| call!(i, PFN_vkDestroySampler, vkDestroySampler(d, s, null()));
    // The hardware has 64 steps a level, and ten bits of them.
    let distinct = |k: u32| (k % 896) as f32 / 64.0;
    let mut all: Vec<_> = (0..4000).map(|k| create(distinct(k)).unwrap()).collect();
    let mip = |k: u32| {
        let info = vk::SamplerCreateInfo {
            mipmap_mode: vk::SamplerMipmapMode::LINEAR,
            max_lod: distinct(k),
            ..Default::default()
        };
        let mut sampler = vk::Sampler::null();
        let result = call!(i, PFN_vkCreateSampler, vkCreateSampler(d, &info, null(), &mut sampler));
        if result == R::SUCCESS { Ok(sampler) } else { Err(result) }
    };
    let further: Vec<_> = (0..896).map_while(|k| mip(k).ok()).collect();
    assert!(all.len() > 1024 && further.len() < 896, "{} {}", all.len(), further.len());
    assert_eq!(mip(895).err(), Some(R::ERROR_OUT_OF_DEVICE_MEMORY));
    // One that is there already has its place.
    all.push(create(distinct(5)).unwrap());
    further.into_iter().for_each(destroy);
    let again = mip(895).unwrap();
    destroy(again);
    all.into_iter().for_each(destroy);
}
