//! Name tables: which function implements which command of the registry.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use vulkanalia_sys as vk;

use crate::backend::Backend;
use crate::registry;

/// A command of unknown type.
pub type Function = unsafe extern "system" fn();

/// Commands by name.
pub struct Table(HashMap<&'static str, Function>);

impl Table {
    /// A table of commands.
    pub fn new(list: Vec<(&'static str, Function)>) -> Table {
        Table(list.into_iter().collect())
    }

    /// Finds a command, or the one that it is an alias of.
    pub fn get(&self, name: &str) -> vk::PFN_vkVoidFunction {
        let alias = || self.0.get(registry::find(name)?.of);
        self.0.get(name).or_else(alias).copied()
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

/// Commands of the devices of a family.
pub fn of_family<B: Backend>() -> &'static Table {
    static TABLES: Mutex<Vec<(TypeId, &'static Table)>> = Mutex::new(Vec::new());
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    let family = TypeId::of::<B>();
    if let Some((_, table)) = tables.iter().find(|t| t.0 == family) {
        return table;
    }
    let table: &'static Table = Box::leak(Box::new(Table::new(crate::commands_of::<B>())));
    tables.push((family, table));
    table
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

/// Commands of instances and physical devices, and those that need none.
pub fn all_of_instances() -> Vec<(&'static str, Function)> {
    [global(), instance()].iter().flat_map(|t| &t.0).map(|(&name, &f)| (name, f)).collect()
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
