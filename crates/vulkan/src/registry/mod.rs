//! Facts of Khronos' registry: which versions and extensions bring a command, and which codes it may return.

mod command;
mod commands;

use std::ffi::CStr;

use vulkanalia_sys as vk;

use crate::object::slice;
pub use command::{Command, Level, Provider};
use commands::COMMANDS;

/// Finds a command by name.
pub fn find(name: &str) -> Option<&'static Command> {
    COMMANDS.binary_search_by_key(&name, |c| c.name).ok().map(|k| &COMMANDS[k])
}

/// Codes that the specification's text lets a command return, and that the registry does not list.
const UNLISTED: &[(&str, vk::Result)] = &[
    // source: VkImageDrmFormatModifierExplicitCreateInfoEXT
    ("vkCreateImage", vk::Result::ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT),
    // source: VkDeviceQueueGlobalPriorityCreateInfo
    ("vkCreateDevice", vk::Result::ERROR_NOT_PERMITTED),
];

/// A code that a command may return: the given one, or else the nearest that is among the command's.
///
/// Errors carry the code that says most about their cause. Not every command may return it: pipelines with a construct that the
/// compiler lacks fail with `ERROR_UNKNOWN`, for example, and not with `ERROR_FEATURE_NOT_PRESENT`.
pub fn returnable(command: &str, code: vk::Result) -> vk::Result {
    let codes = find(command).map_or(&[][..], |c| c.codes);
    let has =
        |code: &vk::Result| codes.contains(&code.as_raw()) || UNLISTED.contains(&(command, *code));
    let (host, device) =
        (vk::Result::ERROR_OUT_OF_HOST_MEMORY, vk::Result::ERROR_OUT_OF_DEVICE_MEMORY);
    let near: &[vk::Result] = match code {
        vk::Result::SUCCESS => return code,
        vk::Result::ERROR_OUT_OF_POOL_MEMORY
        | vk::Result::ERROR_FRAGMENTATION
        | vk::Result::ERROR_FRAGMENTED_POOL
        | vk::Result::ERROR_TOO_MANY_OBJECTS
        | vk::Result::ERROR_OUT_OF_DEVICE_MEMORY => &[code, device, host],
        vk::Result::ERROR_OUT_OF_HOST_MEMORY => &[code, device],
        _ => &[code],
    };
    // Any command may return this one. source: the Vulkan specification, "Return Codes", "Error codes"
    near.iter().copied().find(has).unwrap_or(vk::Result::ERROR_UNKNOWN)
}

/// The version and extensions that an instance, or a device of it, is used with.
#[derive(Clone, Debug, Default)]
pub struct Enabled {
    /// Major and minor version that the application asks for.
    version: (u32, u32),
    instance: Vec<String>,
    device: Vec<String>,
}

impl Enabled {
    /// An instance's.
    ///
    /// # Safety
    /// `info` is valid.
    pub unsafe fn of_instance(info: &vk::InstanceCreateInfo) -> Enabled {
        // SAFETY: as the caller says.
        unsafe {
            let version = info.application_info.as_ref().map_or(0, |a| a.api_version);
            // 0 is 1.0. source: the specification, VkApplicationInfo
            let version = ((version >> 22 & 0x7f).max(1), version >> 12 & 0x3ff);
            let instance = names(info.enabled_extension_names, info.enabled_extension_count);
            Enabled { version, instance, device: Vec::new() }
        }
    }

    /// A device's, of the instance.
    ///
    /// # Safety
    /// `info` is valid.
    pub unsafe fn with_device(&self, info: &vk::DeviceCreateInfo) -> Enabled {
        // SAFETY: as the caller says.
        let device = unsafe { names(info.enabled_extension_names, info.enabled_extension_count) };
        Enabled { device, ..self.clone() }
    }

    /// Whether `vkGetDeviceProcAddr` gives a command: one of a device, of the version that the application asks for or of an
    /// extension that is enabled.
    pub fn has_device_command(&self, c: &Command) -> bool {
        c.level == Level::Device
            && c.by.iter().any(|by| match by {
                Provider::Version(major, minor) => (*major, *minor) <= self.version,
                Provider::Instance(name) => self.instance.iter().any(|e| e == name),
                Provider::Device(name) => self.device.iter().any(|e| e == name),
            })
    }

    /// Whether `vkGetInstanceProcAddr` gives a command: one of any version, of an instance extension that is enabled, or of a
    /// device extension that a physical device `offers`.
    pub fn has_command(&self, c: &Command, offers: impl Fn(&str) -> bool) -> bool {
        c.by.iter().any(|by| match by {
            Provider::Version(..) => true,
            Provider::Instance(name) => self.instance.iter().any(|e| e == name),
            Provider::Device(name) => offers(name),
        })
    }
}

/// Copies a list of names.
unsafe fn names(list: *const *const std::ffi::c_char, count: u32) -> Vec<String> {
    // SAFETY: the caller's structure is valid.
    let list = unsafe { slice(list, count) }.iter();
    list.map(|&n| unsafe { CStr::from_ptr(n) }.to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_sorted_and_refer_to_commands() {
        assert!(COMMANDS.is_sorted_by_key(|c| c.name));
        for c in COMMANDS {
            assert!(find(c.of).is_some(), "{}", c.name);
            assert!(!c.by.is_empty(), "{}", c.name);
        }
    }

    #[test]
    fn codes_are_those_of_the_command() {
        use vk::Result as R;
        let cases = [
            ("vkCreateGraphicsPipelines", R::ERROR_FEATURE_NOT_PRESENT, R::ERROR_UNKNOWN),
            ("vkCreateDevice", R::ERROR_FEATURE_NOT_PRESENT, R::ERROR_FEATURE_NOT_PRESENT),
            ("vkCreateDevice", R::ERROR_NOT_PERMITTED, R::ERROR_NOT_PERMITTED),
            ("vkEndCommandBuffer", R::ERROR_FEATURE_NOT_PRESENT, R::ERROR_UNKNOWN),
            ("vkEndCommandBuffer", R::ERROR_OUT_OF_DEVICE_MEMORY, R::ERROR_OUT_OF_DEVICE_MEMORY),
            ("vkAllocateCommandBuffers", R::ERROR_TOO_MANY_OBJECTS, R::ERROR_OUT_OF_DEVICE_MEMORY),
            ("vkResetDescriptorPool", R::ERROR_OUT_OF_HOST_MEMORY, R::ERROR_UNKNOWN),
            ("vkGetQueryPoolResults", R::NOT_READY, R::NOT_READY),
            ("vkGetMemoryFdKHR", R::ERROR_OUT_OF_DEVICE_MEMORY, R::ERROR_OUT_OF_HOST_MEMORY),
            ("vkCreateFence", R::SUCCESS, R::SUCCESS),
        ];
        for (command, code, expected) in cases {
            assert_eq!(returnable(command, code), expected, "{command} {code:?}");
        }
    }

    #[test]
    fn device_commands_take_a_version_or_an_enabled_extension() {
        let enabled = |version, instance: &[&str], device: &[&str]| {
            let own = |list: &[&str]| list.iter().map(|&e| e.to_owned()).collect();
            Enabled { version, instance: own(instance), device: own(device) }
        };
        let has = |e: &Enabled, name| e.has_device_command(find(name).unwrap());
        let bare = enabled((1, 0), &[], &[]);
        assert!(has(&bare, "vkCmdDraw"));
        assert!(!has(&bare, "vkGetPhysicalDeviceProperties"), "not a device's");
        assert!(!has(&bare, "vkCmdSetCullMode"), "of 1.3");
        assert!(has(&enabled((1, 4), &[], &[]), "vkCmdSetCullMode"));
        assert!(!has(&enabled((1, 4), &[], &[]), "vkCmdSetCullModeEXT"));
        assert!(has(&enabled((1, 0), &[], &["VK_EXT_shader_object"]), "vkCmdSetCullModeEXT"));
        assert!(!has(&enabled((1, 4), &[], &[]), "vkQueuePresentKHR"));
        assert!(has(&enabled((1, 0), &[], &["VK_KHR_swapchain"]), "vkQueuePresentKHR"));
        assert!(!has(&bare, "vkSetDebugUtilsObjectNameEXT"));
        let debug = enabled((1, 0), &["VK_EXT_debug_utils"], &[]);
        assert!(has(&debug, "vkSetDebugUtilsObjectNameEXT"));
    }
}
