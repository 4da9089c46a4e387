//! Commands that the driver gives by name.

use std::ffi::CStr;
use std::ptr::null;

use tepui_vulkan::registry;
use tepui_vulkan::vk::{self, Handle};

use crate::{DeviceOnly, call};

impl DeviceOnly {
    /// Whether the device gives a command.
    fn has(&self, name: &CStr) -> bool {
        let name = name.as_ptr();
        let get =
            call!(self.instance, PFN_vkGetDeviceProcAddr, vkGetDeviceProcAddr(self.device, name));
        get.is_some()
    }

    /// Whether the instance gives a command.
    fn instance_has(&self, name: &CStr) -> bool {
        // SAFETY: the instance is live.
        unsafe { vulkan_tepui::vk_icdGetInstanceProcAddr(self.instance, name.as_ptr()) }.is_some()
    }
}

#[test]
fn devices_give_commands_of_the_version_and_of_enabled_extensions() {
    let bare = DeviceOnly::new(&[]);
    let with = DeviceOnly::new(&[
        c"VK_KHR_swapchain",
        c"VK_EXT_extended_dynamic_state",
        c"VK_KHR_external_memory_fd",
    ]);
    let of_extensions = [
        c"vkAcquireNextImageKHR",
        c"vkQueuePresentKHR",
        c"vkCmdSetCullModeEXT",
        c"vkGetMemoryFdKHR",
    ];
    for name in of_extensions {
        assert!(!bare.has(name), "{name:?}");
        assert!(with.has(name), "{name:?}");
        assert!(bare.instance_has(name), "{name:?} is of an extension that the device offers");
    }
    // The application asks for Vulkan 1.0, as one does that says nothing.
    let later = [c"vkGetBufferDeviceAddress", c"vkCmdSetCullMode", c"vkCmdPipelineBarrier2"];
    let others = [c"vkCmdDrawMeshTasksEXT", c"vkCmdTraceRaysKHR", c"vkNothing", c"vkCmdDrawEXT"];
    let of_instances =
        [c"vkGetPhysicalDeviceFeatures", c"vkCreateInstance", c"vkDestroySurfaceKHR"];
    for name in later.into_iter().chain(others).chain(of_instances) {
        assert!(!with.has(name), "{name:?}");
    }
    assert!(bare.has(c"vkCmdDraw") && bare.has(c"vkGetDeviceProcAddr"));
    let of_disabled = [c"vkCreateXcbSurfaceKHR", c"vkSetDebugUtilsObjectNameEXT"];
    for name in of_disabled.into_iter().chain(others) {
        assert!(!bare.instance_has(name), "{name:?}");
    }
    assert!(bare.instance_has(c"vkCreateHeadlessSurfaceEXT"), "enabled");
}

#[test]
fn the_registry_has_every_command_of_the_driver() {
    let mut commands = tepui_vulkan::commands_of::<tepui_agx_driver::Agx>();
    commands.extend(tepui_vulkan::lookup::all_of_instances());
    assert!(commands.len() > 300);
    for (name, _) in commands {
        let command = registry::find(name);
        assert!(command.is_some_and(|c| c.of == name), "{name}: run tools/registry");
    }
}

#[test]
fn commands_return_only_codes_of_their_own() {
    let device = DeviceOnly::new(&[]);
    let info = vk::QueryPoolCreateInfo {
        query_type: vk::QueryType::PERFORMANCE_QUERY_KHR,
        query_count: 1,
        ..Default::default()
    };
    let mut pool = vk::QueryPool::null();
    let result = call!(
        device.instance,
        PFN_vkCreateQueryPool,
        vkCreateQueryPool(device.device, &info, null(), &mut pool)
    );
    // Inside of the driver it is a feature that is not present, which this command may not say.
    assert_eq!(result, vk::Result::ERROR_UNKNOWN);
}
