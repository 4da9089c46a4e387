//! Instances.

use std::ffi::{CStr, c_char};
use std::sync::{Arc, OnceLock};

use vulkanalia_sys as vk;

use crate::entry;
use crate::error::Error;
use crate::object::{self, Allocator, Dispatchable, dispatchable, enumerate, slice};
use crate::physical::{self, Family, Physical, extension};
use crate::registry::Enabled;

/// The newest interface version between loader and driver that is spoken. source: vk_icd.h
const INTERFACE: u32 = 7;

/// The version of the API.
pub const API_VERSION: u32 = vk::make_version(1, 4, 309);

/// Finds the physical devices of this process.
pub type Enumerate = fn() -> Vec<Arc<dyn Family>>;

static ENUMERATE: OnceLock<Enumerate> = OnceLock::new();

/// An instance.
pub struct Instance {
    pub(crate) allocator: Allocator,
    pub(crate) physical: Vec<Dispatchable<Physical>>,
    pub(crate) enabled: Arc<Enabled>,
}

/// Instance extensions but for those of window systems, and their versions.
const EXTENSIONS: &[(&str, u32)] = &[
    ("VK_KHR_device_group_creation", 1),
    ("VK_KHR_external_fence_capabilities", 1),
    ("VK_KHR_external_memory_capabilities", 1),
    ("VK_KHR_external_semaphore_capabilities", 1),
    ("VK_KHR_get_physical_device_properties2", 2),
    ("VK_EXT_debug_report", 10),
    ("VK_EXT_debug_utils", 2),
];

/// Instance extensions and their versions.
pub fn extensions() -> Vec<(&'static str, u32)> {
    EXTENSIONS.iter().chain(&crate::wsi::INSTANCE_EXTENSIONS).copied().collect()
}

/// Says how the process finds its physical devices; the first call counts.
pub fn register(enumerate: Enumerate) {
    let _ = ENUMERATE.set(enumerate);
}

/// `vk_icdNegotiateLoaderICDInterfaceVersion`.
///
/// # Safety
/// `version` is valid.
pub unsafe fn negotiate(version: *mut u32) -> vk::Result {
    // SAFETY: as the caller says.
    unsafe { *version = (*version).min(INTERFACE) };
    vk::Result::SUCCESS
}

fn families() -> Vec<Arc<dyn Family>> {
    ENUMERATE.get().map_or_else(Vec::new, |f| f())
}

entry! {
    /// `vkEnumerateInstanceVersion`.
    fn vkEnumerateInstanceVersion(out: *mut u32) -> vk::Result {
        unsafe { *out = API_VERSION }
        Ok(vk::Result::SUCCESS)
    }

    /// `vkEnumerateInstanceExtensionProperties`.
    fn vkEnumerateInstanceExtensionProperties(layer: *const c_char, count: *mut u32, out: *mut vk::ExtensionProperties) -> vk::Result {
        if !layer.is_null() {
            return Err(Error::new(vk::Result::ERROR_LAYER_NOT_PRESENT, "the driver has no layers"));
        }
        Ok(unsafe { enumerate(count, out, &extensions(), |o, &(name, version)| *o = extension(name, version)) })
    }

    /// `vkEnumerateInstanceLayerProperties`.
    fn vkEnumerateInstanceLayerProperties(count: *mut u32, _out: *mut vk::LayerProperties) -> vk::Result {
        unsafe { *count = 0 }
        Ok(vk::Result::SUCCESS)
    }

    /// `vkCreateInstance`.
    fn vkCreateInstance(info: *const vk::InstanceCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::Instance) -> vk::Result {
        unsafe {
            let allocator = Allocator::new(callbacks, Allocator::GLOBAL);
            let info = &*info;
            for &name in slice(info.enabled_extension_names, info.enabled_extension_count) {
                let name = CStr::from_ptr(name).to_string_lossy();
                if !extensions().iter().any(|e| e.0 == name) {
                    let why = format!("the driver has no instance extension {name}");
                    return Err(Error::new(vk::Result::ERROR_EXTENSION_NOT_PRESENT, why));
                }
            }
            let enabled = Arc::new(Enabled::of_instance(info));
            let physical = physical::all(families(), allocator, &enabled);
            let physical = physical.into_iter().map(Dispatchable::new).collect();
            let instance = allocator.create(Dispatchable::new(Instance { allocator, physical, enabled }))?;
            *out = dispatchable(instance);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkDestroyInstance`.
    fn vkDestroyInstance(instance: vk::Instance, _callbacks: *const vk::AllocationCallbacks) {
        unsafe {
            if vk::Handle::is_null(instance) {
                return;
            }
            let allocator = object::dispatch::<Instance>(instance).allocator;
            allocator.destroy(vk::Handle::as_raw(instance) as *mut Dispatchable<Instance>);
        }
    }

    /// `vkEnumeratePhysicalDevices`.
    fn vkEnumeratePhysicalDevices(instance: vk::Instance, count: *mut u32, out: *mut vk::PhysicalDevice) -> vk::Result {
        unsafe {
            let i: &Instance = object::dispatch(instance);
            Ok(enumerate(count, out, &i.physical, |o, p| *o = dispatchable(p)))
        }
    }

    /// `vkEnumeratePhysicalDeviceGroups`.
    fn vkEnumeratePhysicalDeviceGroups(instance: vk::Instance, count: *mut u32, out: *mut vk::PhysicalDeviceGroupProperties) -> vk::Result {
        unsafe {
            let i: &Instance = object::dispatch(instance);
            Ok(enumerate(count, out, &i.physical, |o, p| {
                o.physical_device_count = 1;
                o.physical_devices[0] = dispatchable(p);
                o.subset_allocation = vk::FALSE;
            }))
        }
    }

    /// `vkCreateDebugUtilsMessengerEXT`: the driver itself sends no messages.
    fn vkCreateDebugUtilsMessengerEXT(_instance: vk::Instance, _info: *const vk::DebugUtilsMessengerCreateInfoEXT, callbacks: *const vk::AllocationCallbacks, out: *mut vk::DebugUtilsMessengerEXT) -> vk::Result {
        unsafe {
            *out = crate::object::handle(Allocator::new(callbacks, Allocator::GLOBAL).create(0u64)?);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkDestroyDebugUtilsMessengerEXT`.
    fn vkDestroyDebugUtilsMessengerEXT(_instance: vk::Instance, messenger: vk::DebugUtilsMessengerEXT, callbacks: *const vk::AllocationCallbacks) {
        unsafe {
            Allocator::new(callbacks, Allocator::GLOBAL).destroy(vk::Handle::as_raw(messenger) as *mut u64);
        }
    }

    /// `vkSubmitDebugUtilsMessageEXT`.
    fn vkSubmitDebugUtilsMessageEXT(_instance: vk::Instance, _severity: vk::DebugUtilsMessageSeverityFlagsEXT, _types: vk::DebugUtilsMessageTypeFlagsEXT, _data: *const vk::DebugUtilsMessengerCallbackDataEXT) {
    }

    /// `vkCreateDebugReportCallbackEXT`.
    fn vkCreateDebugReportCallbackEXT(_instance: vk::Instance, _info: *const vk::DebugReportCallbackCreateInfoEXT, callbacks: *const vk::AllocationCallbacks, out: *mut vk::DebugReportCallbackEXT) -> vk::Result {
        unsafe {
            *out = crate::object::handle(Allocator::new(callbacks, Allocator::GLOBAL).create(0u64)?);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkDestroyDebugReportCallbackEXT`.
    fn vkDestroyDebugReportCallbackEXT(_instance: vk::Instance, callback: vk::DebugReportCallbackEXT, callbacks: *const vk::AllocationCallbacks) {
        unsafe {
            Allocator::new(callbacks, Allocator::GLOBAL).destroy(vk::Handle::as_raw(callback) as *mut u64);
        }
    }

    /// `vkDebugReportMessageEXT`.
    fn vkDebugReportMessageEXT(_instance: vk::Instance, _flags: vk::DebugReportFlagsEXT, _type: vk::DebugReportObjectTypeEXT, _object: u64, _location: usize, _code: i32, _layer: *const c_char, _message: *const c_char) {
    }
}
