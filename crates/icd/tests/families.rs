//! Devices of two families in one instance: the M1's, and one without a GPU.

use std::ffi::CString;
use std::ptr::null;
use std::sync::Arc;

use tepui_vulkan::member::member;
use tepui_vulkan::physical::Family;
use tepui_vulkan::vk::{self, Handle};
use tepui_vulkan_null::{Null, Physical};

/// Calls a command by the name of the registry: `call!(instance, PFN_vkX, vkX(a, b))`.
macro_rules! call {
    ($instance:expr, $pfn:ident, $name:ident($($arg:expr),* $(,)?)) => {{
        let name = CString::new(stringify!($name)).unwrap();
        // SAFETY: the driver's function of this name has the registry's type; arguments are valid.
        #[allow(unused_unsafe)]
        unsafe {
            let function = vulkan_tepui::vk_icdGetInstanceProcAddr($instance, name.as_ptr());
            let function: vk::$pfn = std::mem::transmute(function.expect(stringify!($name)));
            function($($arg),*)
        }
    }};
}

fn ok(result: vk::Result) {
    assert_eq!(result, vk::Result::SUCCESS);
}

/// The GPU that the environment names, and the family without one.
fn physical_devices() -> Vec<Arc<dyn Family>> {
    let mut all = tepui_gpus::vulkan::devices();
    all.push(member::<Null>(Physical::new().0, Default::default()));
    all
}

/// Fills a buffer on a device, and reads it back.
fn fill(i: vk::Instance, physical: vk::PhysicalDevice, word: u32) -> [u32; 4] {
    let priority = 1.0;
    let queues = vk::DeviceQueueCreateInfo {
        queue_count: 1,
        queue_priorities: &raw const priority,
        ..Default::default()
    };
    let info = vk::DeviceCreateInfo {
        queue_create_info_count: 1,
        queue_create_infos: &raw const queues,
        ..Default::default()
    };
    let (mut d, mut queue) = (vk::Device::null(), vk::Queue::null());
    ok(call!(i, PFN_vkCreateDevice, vkCreateDevice(physical, &info, null(), &mut d)));
    call!(i, PFN_vkGetDeviceQueue, vkGetDeviceQueue(d, 0, 0, &mut queue));
    let info = vk::BufferCreateInfo {
        size: 64,
        usage: vk::BufferUsageFlags::TRANSFER_DST,
        ..Default::default()
    };
    let (mut buffer, mut memory) = (vk::Buffer::null(), vk::DeviceMemory::null());
    ok(call!(i, PFN_vkCreateBuffer, vkCreateBuffer(d, &info, null(), &mut buffer)));
    let info = vk::MemoryAllocateInfo { allocation_size: 64, ..Default::default() };
    ok(call!(i, PFN_vkAllocateMemory, vkAllocateMemory(d, &info, null(), &mut memory)));
    ok(call!(i, PFN_vkBindBufferMemory, vkBindBufferMemory(d, buffer, memory, 0)));
    let mut pool = vk::CommandPool::null();
    let info = vk::CommandPoolCreateInfo::default();
    ok(call!(i, PFN_vkCreateCommandPool, vkCreateCommandPool(d, &info, null(), &mut pool)));
    let info = vk::CommandBufferAllocateInfo {
        command_pool: pool,
        command_buffer_count: 1,
        ..Default::default()
    };
    let mut c = vk::CommandBuffer::null();
    ok(call!(i, PFN_vkAllocateCommandBuffers, vkAllocateCommandBuffers(d, &info, &mut c)));
    let info = vk::CommandBufferBeginInfo::default();
    ok(call!(i, PFN_vkBeginCommandBuffer, vkBeginCommandBuffer(c, &info)));
    call!(i, PFN_vkCmdFillBuffer, vkCmdFillBuffer(c, buffer, 4, 8, word));
    ok(call!(i, PFN_vkEndCommandBuffer, vkEndCommandBuffer(c)));
    let submit = vk::SubmitInfo {
        command_buffer_count: 1,
        command_buffers: &raw const c,
        ..Default::default()
    };
    ok(call!(i, PFN_vkQueueSubmit, vkQueueSubmit(queue, 1, &submit, vk::Fence::null())));
    ok(call!(i, PFN_vkQueueWaitIdle, vkQueueWaitIdle(queue)));
    let mut at = std::ptr::null_mut();
    let flags = vk::MemoryMapFlags::empty();
    ok(call!(i, PFN_vkMapMemory, vkMapMemory(d, memory, 0, 64, flags, &mut at)));
    // SAFETY: the memory is mapped and has 64 bytes.
    let words = unsafe { *at.cast::<[u32; 4]>() };
    call!(i, PFN_vkDestroyCommandPool, vkDestroyCommandPool(d, pool, null()));
    call!(i, PFN_vkDestroyBuffer, vkDestroyBuffer(d, buffer, null()));
    call!(i, PFN_vkFreeMemory, vkFreeMemory(d, memory, null()));
    call!(i, PFN_vkDestroyDevice, vkDestroyDevice(d, null()));
    words
}

#[test]
fn both_families_compute_in_one_instance() {
    // SAFETY: no other thread reads the environment.
    unsafe { std::env::set_var("TEPUI_VULKAN_GPU", "m1") };
    // The first call counts, not the library's own.
    tepui_vulkan::instance::register(physical_devices);
    let mut i = vk::Instance::null();
    let (none, info) = (vk::Instance::null(), vk::InstanceCreateInfo::default());
    ok(call!(none, PFN_vkCreateInstance, vkCreateInstance(&info, null(), &mut i)));
    let mut physical = [vk::PhysicalDevice::null(); 3];
    let mut count = 3;
    ok(call!(
        i,
        PFN_vkEnumeratePhysicalDevices,
        vkEnumeratePhysicalDevices(i, &mut count, physical.as_mut_ptr())
    ));
    assert_eq!(count, 2);
    assert_eq!(fill(i, physical[0], 5), [0, 5, 5, 0]);
    assert_eq!(fill(i, physical[1], 6), [0, 6, 6, 0]);
    call!(i, PFN_vkDestroyInstance, vkDestroyInstance(i, null()));
}
