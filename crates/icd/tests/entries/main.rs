//! The driver's entry points, without a loader.

mod commands;
mod images;
mod limits;
mod memory;
mod pipeline_binaries;
mod queries;
mod swapchains;

use std::ffi::CStr;
use std::mem::zeroed;
use std::ptr::null;
use std::sync::Once;

use tepui_vulkan::vk::{self, Handle};

/// Calls a command by the name of the registry: `call!(instance, vkX(a, b))`.
macro_rules! call {
    ($instance:expr, $pfn:ident, $name:ident($($arg:expr),* $(,)?)) => {{
        let name = std::ffi::CString::new(stringify!($name)).unwrap();
        // SAFETY: the driver's function of this name has the registry's type; arguments are valid.
        #[allow(unused_unsafe)]
        unsafe {
            let function = vulkan_tepui::vk_icdGetInstanceProcAddr($instance, name.as_ptr());
            let function: vk::$pfn = std::mem::transmute(function.expect(stringify!($name)));
            function($($arg),*)
        }
    }};
}
pub(crate) use call;

fn ok(result: vk::Result) {
    assert_eq!(result, vk::Result::SUCCESS);
}

/// An instance with a device.
struct DeviceOnly {
    instance: vk::Instance,
    physical: vk::PhysicalDevice,
    device: vk::Device,
    queue: vk::Queue,
}

impl DeviceOnly {
    /// A device with these extensions.
    fn new(extensions: &[&CStr]) -> DeviceOnly {
        // SAFETY: all structures are valid; nothing reads the environment before it is changed.
        unsafe {
            static ONCE: Once = Once::new();
            ONCE.call_once(|| std::env::set_var("TEPUI_VULKAN_GPU", "m1"));
            let names = [
                c"VK_KHR_surface",
                c"VK_EXT_headless_surface",
                c"VK_KHR_get_surface_capabilities2",
            ];
            let names = names.map(|name| name.as_ptr());
            let info = vk::InstanceCreateInfo {
                enabled_extension_count: names.len() as u32,
                enabled_extension_names: names.as_ptr(),
                ..Default::default()
            };
            let mut instance = zeroed();
            let none = vk::Instance::null();
            ok(call!(none, PFN_vkCreateInstance, vkCreateInstance(&info, null(), &mut instance)));
            let (mut count, mut physical) = (1, zeroed());
            ok(call!(
                instance,
                PFN_vkEnumeratePhysicalDevices,
                vkEnumeratePhysicalDevices(instance, &mut count, &mut physical)
            ));
            assert_eq!(count, 1);
            let priority = 1.0;
            let queue = vk::DeviceQueueCreateInfo {
                queue_count: 1,
                queue_priorities: &raw const priority,
                ..Default::default()
            };
            let names: Vec<_> = extensions.iter().map(|name| name.as_ptr()).collect();
            let info = vk::DeviceCreateInfo {
                queue_create_info_count: 1,
                queue_create_infos: &raw const queue,
                enabled_extension_count: names.len() as u32,
                enabled_extension_names: names.as_ptr(),
                ..Default::default()
            };
            let mut device = zeroed();
            ok(call!(
                instance,
                PFN_vkCreateDevice,
                vkCreateDevice(physical, &info, null(), &mut device)
            ));
            let mut queue = zeroed();
            call!(instance, PFN_vkGetDeviceQueue, vkGetDeviceQueue(device, 0, 0, &mut queue));
            DeviceOnly { instance, physical, device, queue }
        }
    }

    /// Records a command buffer, submits it and waits.
    fn submit(&self, record: impl FnOnce(vk::CommandBuffer)) {
        let (i, d) = (self.instance, self.device);
        let (info, mut pool) = (vk::CommandPoolCreateInfo::default(), vk::CommandPool::null());
        ok(call!(i, PFN_vkCreateCommandPool, vkCreateCommandPool(d, &info, null(), &mut pool)));
        let info = vk::CommandBufferAllocateInfo {
            command_pool: pool,
            command_buffer_count: 1,
            ..Default::default()
        };
        let mut buffer = vk::CommandBuffer::null();
        ok(call!(i, PFN_vkAllocateCommandBuffers, vkAllocateCommandBuffers(d, &info, &mut buffer)));
        let info = vk::CommandBufferBeginInfo::default();
        ok(call!(i, PFN_vkBeginCommandBuffer, vkBeginCommandBuffer(buffer, &info)));
        record(buffer);
        ok(call!(i, PFN_vkEndCommandBuffer, vkEndCommandBuffer(buffer)));
        let submit = vk::SubmitInfo {
            command_buffer_count: 1,
            command_buffers: &raw const buffer,
            ..Default::default()
        };
        let fence = vk::Fence::null();
        ok(call!(i, PFN_vkQueueSubmit, vkQueueSubmit(self.queue, 1, &submit, fence)));
        ok(call!(i, PFN_vkQueueWaitIdle, vkQueueWaitIdle(self.queue)));
        call!(i, PFN_vkDestroyCommandPool, vkDestroyCommandPool(d, pool, null()));
    }
}

impl Drop for DeviceOnly {
    fn drop(&mut self) {
        let i = self.instance;
        ok(call!(i, PFN_vkDeviceWaitIdle, vkDeviceWaitIdle(self.device)));
        call!(i, PFN_vkDestroyDevice, vkDestroyDevice(self.device, null()));
        call!(i, PFN_vkDestroyInstance, vkDestroyInstance(i, null()));
    }
}
