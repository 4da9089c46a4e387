//! Name tables: which function implements which command of the registry.

use std::collections::HashMap;
use std::sync::OnceLock;

use vulkanalia_sys as vk;

/// A command of unknown type.
pub type Function = unsafe extern "system" fn();

/// Commands by name.
pub struct Table(HashMap<&'static str, Function>);

/// Suffixes of extensions whose commands were promoted unchanged.
const SUFFIXES: [&str; 3] = ["KHR", "EXT", "AMD"];

impl Table {
    /// A table of commands.
    pub fn new(list: Vec<(&'static str, Function)>) -> Table {
        Table(list.into_iter().collect())
    }

    /// Finds a command; the name that it had as an extension's finds the core command, or that of the
    /// extension that replaced it.
    pub fn get(&self, name: &str) -> vk::PFN_vkVoidFunction {
        let promoted = || {
            let core = SUFFIXES.iter().find_map(|s| name.strip_suffix(s))?;
            self.0.get(core).or_else(|| self.0.get(format!("{core}KHR").as_str()))
        };
        self.0.get(name).or_else(promoted).copied()
    }
}

/// A list of `(name, function)` pairs; each function is compared with its type in the registry.
#[macro_export]
macro_rules! commands {
    ($($path:ident :: { $($name:ident $(<$g:ident>)?),* $(,)? })*) => {
        ::pastey::paste! {
            vec![$($({
                let typed: vulkanalia_sys::[<PFN_ $name>] = $crate::$path::$name $(::<$g>)?;
                // SAFETY: function pointers have one size; callers cast it back to the registry's type.
                (stringify!($name), unsafe { std::mem::transmute::<vulkanalia_sys::[<PFN_ $name>], $crate::table::Function>(typed) })
            }),*),*]
        }
    };
}

/// Commands that need no instance.
pub(crate) fn global() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        Table::new(commands! {
            instance::{
                vkCreateInstance, vkEnumerateInstanceVersion, vkEnumerateInstanceExtensionProperties,
                vkEnumerateInstanceLayerProperties,
            }
        })
    })
}

/// Commands of instances and physical devices.
pub(crate) fn instance() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut all = physical_commands();
        all.extend(commands! {
            instance::{
                vkDestroyInstance, vkEnumeratePhysicalDevices, vkEnumeratePhysicalDeviceGroups,
                vkGetInstanceProcAddr, vkCreateDebugUtilsMessengerEXT, vkDestroyDebugUtilsMessengerEXT,
                vkSubmitDebugUtilsMessageEXT, vkCreateDebugReportCallbackEXT, vkDestroyDebugReportCallbackEXT,
                vkDebugReportMessageEXT,
            }
            wsi::{
                vkCreateXcbSurfaceKHR, vkCreateXlibSurfaceKHR, vkCreateWaylandSurfaceKHR,
                vkCreateHeadlessSurfaceEXT, vkDestroySurfaceKHR,
            }
        });
        Table::new(all)
    })
}

/// Commands of physical devices.
pub(crate) fn physical() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| Table::new(physical_commands()))
}

fn physical_commands() -> Vec<(&'static str, Function)> {
    commands! {
        physical::{
            vkGetPhysicalDeviceProperties, vkGetPhysicalDeviceProperties2, vkGetPhysicalDeviceFeatures,
            vkGetPhysicalDeviceFeatures2, vkGetPhysicalDeviceMemoryProperties,
            vkGetPhysicalDeviceMemoryProperties2, vkGetPhysicalDeviceQueueFamilyProperties,
            vkGetPhysicalDeviceQueueFamilyProperties2, vkGetPhysicalDeviceFormatProperties,
            vkGetPhysicalDeviceFormatProperties2, vkGetPhysicalDeviceImageFormatProperties,
            vkGetPhysicalDeviceImageFormatProperties2, vkGetPhysicalDeviceExternalBufferProperties,
            vkGetPhysicalDeviceExternalSemaphoreProperties, vkGetPhysicalDeviceExternalFenceProperties,
            vkGetPhysicalDeviceToolProperties, vkGetPhysicalDeviceCalibrateableTimeDomainsKHR,
            vkGetPhysicalDeviceMultisamplePropertiesEXT, vkEnumerateDeviceExtensionProperties,
            vkEnumerateDeviceLayerProperties, vkCreateDevice,
        }
        sparse::{
            vkGetPhysicalDeviceSparseImageFormatProperties, vkGetPhysicalDeviceSparseImageFormatProperties2,
        }
        wsi::{
            vkGetPhysicalDeviceXcbPresentationSupportKHR, vkGetPhysicalDeviceXlibPresentationSupportKHR,
            vkGetPhysicalDeviceWaylandPresentationSupportKHR, vkGetPhysicalDeviceSurfaceSupportKHR,
            vkGetPhysicalDeviceSurfaceCapabilitiesKHR, vkGetPhysicalDeviceSurfaceCapabilities2KHR,
            vkGetPhysicalDeviceSurfaceFormatsKHR, vkGetPhysicalDeviceSurfaceFormats2KHR,
            vkGetPhysicalDeviceSurfacePresentModesKHR, vkGetPhysicalDevicePresentRectanglesKHR,
        }
    }
}
