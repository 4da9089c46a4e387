//! Memory types, heaps and failing allocations.

use std::ptr::null;

use tepui_vulkan::vk::{self, Handle};

use crate::{Gpu, call, ok};

fn budget(gpu: &Gpu) -> vk::PhysicalDeviceMemoryBudgetPropertiesEXT {
    let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
    let mut all = vk::PhysicalDeviceMemoryProperties2 {
        next: (&raw mut budget).cast(),
        ..Default::default()
    };
    call!(
        gpu.i,
        PFN_vkGetPhysicalDeviceMemoryProperties2,
        vkGetPhysicalDeviceMemoryProperties2(gpu.physical, &mut all)
    );
    budget
}

#[test]
fn resources_have_the_memory_types_of_the_family() {
    let gpu = Gpu::new();
    let (buffer, memory) = gpu.buffer(256, 1);
    let mut needs = vk::MemoryRequirements::default();
    call!(
        gpu.i,
        PFN_vkGetBufferMemoryRequirements,
        vkGetBufferMemoryRequirements(gpu.d, buffer, &mut needs)
    );
    assert_eq!(needs.memory_type_bits, 0b11);
    let info = vk::ImageCreateInfo {
        image_type: vk::ImageType::_2D,
        format: vk::Format::R8G8B8A8_UNORM,
        extent: vk::Extent3D { width: 8, height: 4, depth: 1 },
        mip_levels: 2,
        array_layers: 3,
        samples: vk::SampleCountFlags::_1,
        usage: vk::ImageUsageFlags::SAMPLED,
        ..Default::default()
    };
    let mut image = vk::Image::null();
    ok(call!(gpu.i, PFN_vkCreateImage, vkCreateImage(gpu.d, &info, null(), &mut image)));
    call!(
        gpu.i,
        PFN_vkGetImageMemoryRequirements,
        vkGetImageMemoryRequirements(gpu.d, image, &mut needs)
    );
    // 8×4 and 4×2 pixels in each of three layers, in pages.
    assert_eq!((needs.memory_type_bits, needs.size), (0b01, 4096));
    call!(gpu.i, PFN_vkDestroyImage, vkDestroyImage(gpu.d, image, null()));
    gpu.destroy_buffer((buffer, memory));
}

#[test]
fn each_heap_counts_its_own_memory() {
    let gpu = Gpu::new();
    let before = budget(&gpu);
    assert_eq!(before.heap_usage[..2], [0, 0]);
    assert_eq!(before.heap_budget[..2], [1 << 30, 1 << 31]);
    let buffers = [gpu.buffer(256, 0), gpu.buffer(1024, 1), gpu.buffer(512, 1)];
    assert_eq!(budget(&gpu).heap_usage[..2], [256, 1536]);
    buffers.into_iter().for_each(|b| gpu.destroy_buffer(b));
    assert_eq!(budget(&gpu).heap_usage[..2], [0, 0]);
}

#[test]
fn only_memory_that_is_not_coherent_is_flushed() {
    let gpu = Gpu::new();
    let buffers = [gpu.buffer(256, 0), gpu.buffer(256, 1)];
    let ranges = buffers.map(|(_, memory)| vk::MappedMemoryRange {
        memory,
        offset: 64,
        size: vk::WHOLE_SIZE,
        ..Default::default()
    });
    ok(call!(
        gpu.i,
        PFN_vkFlushMappedMemoryRanges,
        vkFlushMappedMemoryRanges(gpu.d, 2, ranges.as_ptr())
    ));
    ok(call!(
        gpu.i,
        PFN_vkInvalidateMappedMemoryRanges,
        vkInvalidateMappedMemoryRanges(gpu.d, 2, ranges.as_ptr())
    ));
    assert_eq!(gpu.shared.log(), ["flush m2+0x40 192", "invalidate m2+0x40 192"]);
    buffers.into_iter().for_each(|b| gpu.destroy_buffer(b));
}

#[test]
fn a_failing_allocation_leaves_nothing_behind() {
    let gpu = Gpu::new();
    gpu.shared.fail_after(0);
    let info = vk::MemoryAllocateInfo { allocation_size: 64, ..Default::default() };
    let mut memory = vk::DeviceMemory::null();
    assert_eq!(
        call!(gpu.i, PFN_vkAllocateMemory, vkAllocateMemory(gpu.d, &info, null(), &mut memory)),
        vk::Result::ERROR_OUT_OF_DEVICE_MEMORY
    );
    assert_eq!(budget(&gpu).heap_usage[0], 0);
    // A pool's memory of the second kind fails; that of the first goes.
    gpu.shared.fail_after(1);
    let size = vk::DescriptorPoolSize {
        type_: vk::DescriptorType::COMBINED_IMAGE_SAMPLER,
        descriptor_count: 4,
    };
    let info = vk::DescriptorPoolCreateInfo {
        max_sets: 1,
        pool_size_count: 1,
        pool_sizes: &raw const size,
        ..Default::default()
    };
    let mut pool = vk::DescriptorPool::null();
    assert_eq!(
        call!(
            gpu.i,
            PFN_vkCreateDescriptorPool,
            vkCreateDescriptorPool(gpu.d, &info, null(), &mut pool)
        ),
        vk::Result::ERROR_OUT_OF_DEVICE_MEMORY
    );
    assert_eq!(gpu.shared.allocations(), 0);
}
