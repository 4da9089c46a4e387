//! `libvulkan_tepui.so`: Tepui's Vulkan driver as the loader opens it, and its manifest.
//!
//! The library exports the three functions of the loader's interface and nothing else; programs that
//! open drivers without the loader find them by name as well. `TEPUI_VULKAN_GPU` names virtual GPUs, which
//! then are in the same process; without it the driver looks for render nodes of the machine.

use std::ffi::c_char;
use std::path::Path;

use tepui_vulkan::{instance, lookup, vk};

/// The contents of a manifest for a library: on several lines, because some programs read it line by
/// line. source: Vulkan-Loader, docs/LoaderDriverInterface.md, "Driver Manifest File Format"
pub fn manifest(library: &Path) -> String {
    let version = instance::API_VERSION;
    let (major, minor) = (vk::version_major(version), vk::version_minor(version));
    let patch = vk::version_patch(version);
    let mut path = String::new();
    for c in library.to_string_lossy().chars() {
        if matches!(c, '"' | '\\') {
            path.push('\\');
        }
        path.push(c);
    }
    format!(
        "{{\n    \"ICD\": {{\n        \"api_version\": \"{major}.{minor}.{patch}\",\n        \
         \"library_path\": \"{path}\"\n    }},\n    \"file_format_version\": \"1.0.1\"\n}}\n"
    )
}

/// `vk_icdNegotiateLoaderICDInterfaceVersion`: the loader's first call.
///
/// # Safety
/// `version` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn vk_icdNegotiateLoaderICDInterfaceVersion(
    version: *mut u32,
) -> vk::Result {
    instance::register(tepui_gpus::vulkan::devices);
    // SAFETY: as the caller says.
    unsafe { instance::negotiate(version) }
}

/// `vk_icdGetInstanceProcAddr`: all commands.
///
/// # Safety
/// `name` is a string; `instance` is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn vk_icdGetInstanceProcAddr(
    instance: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    instance::register(tepui_gpus::vulkan::devices);
    // SAFETY: as the caller says.
    unsafe { lookup::proc_addr(instance, name) }
}

/// `vk_icdGetPhysicalDeviceProcAddr`: commands whose first parameter is a physical device.
///
/// # Safety
/// `name` is a string; `instance` is null or live.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn vk_icdGetPhysicalDeviceProcAddr(
    _instance: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    // SAFETY: as the caller says.
    unsafe { lookup::physical_proc(name) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_path_is_on_a_line_of_its_own() {
        let text = super::manifest(std::path::Path::new("/a \"b\"/lib.so"));
        let line = text.lines().find(|line| line.contains("library_path")).unwrap();
        assert_eq!(line.trim(), r#""library_path": "/a \"b\"/lib.so""#);
        assert!(text.contains("\"api_version\": \"1.4."));
    }
}
