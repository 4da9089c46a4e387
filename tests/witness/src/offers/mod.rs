//! Capabilities of a driver: its device extensions, features, properties and queues.
//!
//! Every structure of the registry is queried separately, so that nothing is left out. Values are the text of `Debug`,
//! one item per field.

mod structures;

use std::ffi::c_void;
use std::fmt::Debug;

use ash::{Entry, Instance, vk};
use serde::{Deserialize, Serialize};

use crate::gpu::{During, Gpu, Result};

/// One thing that a driver says about its device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// The structure, or `extension`.
    pub of: String,
    /// The field, with a `.` before the field of a structure within; an extension's name.
    pub name: String,
    /// Its value; an extension's version.
    pub value: String,
}

/// The device that is asked.
pub struct QueriedDevice {
    instance: Instance,
    physical: vk::PhysicalDevice,
}

/// The kind of a structure.
#[derive(Clone, Copy, Debug)]
enum StructureKind {
    Features,
    Properties,
}

/// The text of a structure that the device filled in.
fn ask<T: Default + Debug>(d: &QueriedDevice, kind: StructureKind) -> String {
    let mut structure = T::default();
    let next: *mut c_void = (&raw mut structure).cast();
    match kind {
        StructureKind::Features => {
            let mut all = vk::PhysicalDeviceFeatures2 { p_next: next, ..Default::default() };
            // SAFETY: the structure belongs into this chain and outlives the call; so in the other case.
            unsafe { d.instance.get_physical_device_features2(d.physical, &mut all) };
        }
        StructureKind::Properties => {
            let mut all = vk::PhysicalDeviceProperties2 { p_next: next, ..Default::default() };
            // SAFETY: as above.
            unsafe { d.instance.get_physical_device_properties2(d.physical, &mut all) };
        }
    }
    format!("{structure:#?}")
}

/// Takes the fields out of the text of a structure.
fn fields(of: &str, text: &str, items: &mut Vec<Item>) {
    let mut path: Vec<&str> = Vec::new();
    let mut list: Option<(usize, String, String)> = None;
    for line in text.lines().skip(1) {
        let body = line.trim_start();
        let depth = line.len() - body.len();
        let body = body.trim_end_matches(',');
        if let Some((at, name, value)) = &mut list {
            if *at == depth {
                let (name, value) = (std::mem::take(name), std::mem::take(value));
                items.push(Item { of: of.to_owned(), name, value });
                list = None;
            } else {
                let space = if value.is_empty() { "" } else { " " };
                value.push_str(space);
                value.push_str(body);
            }
            continue;
        }
        let Some((field, value)) = body.split_once(": ") else {
            path.pop();
            continue;
        };
        let name = path.iter().copied().chain([field]).collect::<Vec<_>>().join(".");
        match value.as_bytes().last() {
            Some(b'{') => path.push(field),
            Some(b'[' | b'(') => list = Some((depth, name, String::new())),
            _ if matches!(field, "s_type" | "next") => {}
            _ => items.push(Item { of: of.to_owned(), name, value: value.to_owned() }),
        }
    }
}

/// Names of all structures that are asked for.
pub fn names() -> impl Iterator<Item = &'static str> {
    structures::FEATURES.iter().chain(structures::PROPERTIES).map(|s| s.0)
}

/// The capabilities of the first device whose name contains `wanted`.
///
/// # Errors
/// When there is no such device.
pub fn of(wanted: &str) -> Result<Vec<Item>> {
    // SAFETY: the library that is loaded is the Vulkan loader, whose entry points these are.
    let entry = unsafe { Entry::load()? };
    let application = vk::ApplicationInfo::default().api_version(vk::make_api_version(0, 1, 4, 0));
    let create = vk::InstanceCreateInfo::default().application_info(&application);
    // SAFETY: `create` and what it points to outlive the call.
    let instance = unsafe { entry.create_instance(&create, None) }.during("vkCreateInstance")?;
    let items = Gpu::find(&instance, wanted).and_then(|physical| {
        items(&QueriedDevice { instance: instance.clone(), physical: physical.0 })
    });
    // SAFETY: nothing made from the instance is left.
    unsafe { instance.destroy_instance(None) };
    items
}

fn items(d: &QueriedDevice) -> Result<Vec<Item>> {
    let mut items = Vec::new();
    // SAFETY: the physical device is the instance's; so below.
    let extensions = unsafe { d.instance.enumerate_device_extension_properties(d.physical) }
        .during("vkEnumerateDeviceExtensionProperties")?;
    items.extend(extensions.iter().map(|e| Item {
        of: "extension".to_owned(),
        name: e.extension_name_as_c_str().unwrap_or(c"?").to_string_lossy().into_owned(),
        value: e.spec_version.to_string(),
    }));
    // SAFETY: as above.
    let (features, properties, queues) = unsafe {
        (
            d.instance.get_physical_device_features(d.physical),
            d.instance.get_physical_device_properties(d.physical),
            d.instance.get_physical_device_queue_family_properties(d.physical),
        )
    };
    fields("PhysicalDeviceFeatures", &format!("{features:#?}"), &mut items);
    fields("PhysicalDeviceProperties", &format!("{properties:#?}"), &mut items);
    for q in &queues {
        fields("QueueFamilyProperties", &format!("{q:#?}"), &mut items);
    }
    for (name, ask) in structures::FEATURES.iter().chain(structures::PROPERTIES) {
        fields(name, &ask(d), &mut items);
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_nested_structures_and_lists() {
        #[derive(Debug)]
        #[expect(dead_code, reason = "read by Debug")]
        struct Inner {
            a: [u32; 2],
            b: f32,
        }
        #[derive(Debug)]
        #[expect(dead_code, reason = "read by Debug")]
        struct Outer {
            s_type: u32,
            inner: Inner,
            on: Option<u32>,
            last: bool,
        }
        let value =
            Outer { s_type: 3, inner: Inner { a: [1, 2], b: 0.5 }, on: Some(7), last: true };
        let mut items = Vec::new();
        fields("Outer", &format!("{value:#?}"), &mut items);
        let all: Vec<_> = items.iter().map(|i| format!("{}={}", i.name, i.value)).collect();
        assert_eq!(all, ["inner.a=1 2", "inner.b=0.5", "on=7", "last=true"]);
    }
}
