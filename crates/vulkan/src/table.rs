//! Name tables: which function implements which command of the registry.

use std::any::TypeId;
use std::sync::{Mutex, OnceLock, PoisonError};

use vulkanalia_sys as vk;

use crate::backend::Backend;
use crate::registry;

/// A command of unknown type.
pub type Function = unsafe extern "system" fn();

/// Commands, sorted by name: tables of the same names have a command at the same position.
pub struct Table(Vec<(&'static str, Function)>);

impl Table {
    /// A table of commands.
    pub fn new(mut list: Vec<(&'static str, Function)>) -> Table {
        list.sort_unstable_by_key(|c| c.0);
        Table(list)
    }

    /// The position of the command of a name.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.0.binary_search_by_key(&name, |c| c.0).ok()
    }

    /// The command at a position.
    pub(crate) fn at(&self, position: usize) -> Function {
        self.0[position].1
    }

    /// Finds a command, or the one that it is an alias of.
    pub fn get(&self, name: &str) -> vk::PFN_vkVoidFunction {
        let alias = || self.position(registry::find(name)?.of);
        self.position(name).or_else(alias).map(|k| self.at(k))
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

/// A list of `(name, function)` pairs like [`commands!`], with the functions that dispatch between families in place of a family's
/// own.
macro_rules! dispatchers {
    (@one $path:ident $name:ident) => { $crate::$path::$name };
    (@one $path:ident $name:ident $g:ident) => { ::pastey::paste! { $crate::$path::[<any_ $name>] } };
    ($($path:ident :: { $($name:ident $(<$g:ident>)?),* $(,)? })*) => {
        ::pastey::paste! {
            vec![$($({
                let typed: vulkanalia_sys::[<PFN_ $name>] = dispatchers!(@one $path $name $($g)?);
                // SAFETY: function pointers have one size; callers cast it back to the registry's type.
                (stringify!($name), unsafe { std::mem::transmute::<vulkanalia_sys::[<PFN_ $name>], $crate::table::Function>(typed) })
            }),*),*]
        }
    };
}
pub(crate) use dispatchers;

/// Device-level commands that dispatch between families.
pub(crate) fn any_family() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| Table::new(crate::dispatching_commands()))
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
    [global(), instance()].iter().flat_map(|t| t.0.iter().copied()).collect()
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
