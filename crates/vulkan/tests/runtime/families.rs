//! Devices of two families in one instance.

use std::ffi::CStr;
use std::ptr::null;

use tepui_vulkan::vk::{self, Handle};

use crate::{Gpu, HAS_SECOND, call, instance};

/// The function of a device.
fn of_device(gpu: &Gpu, name: &CStr) -> usize {
    let function = call!(gpu.i, PFN_vkGetDeviceProcAddr, vkGetDeviceProcAddr(gpu.d, name.as_ptr()));
    function.unwrap() as usize
}

/// The function of an instance.
fn of_instance(i: vk::Instance, name: &CStr) -> usize {
    // SAFETY: the instance is live.
    let function = unsafe { tepui_vulkan::lookup::proc_addr(i, name.as_ptr()) };
    function.unwrap() as usize
}

#[test]
fn functions_of_the_instance_find_the_family() {
    HAS_SECOND.set(true);
    let (i, physical, shared) = instance();
    assert_eq!(physical.len(), 2);
    let gpus = [0, 1].map(|k| Gpu::of(i, physical[k], shared[k].clone()));
    let suffixes = ["", " of family 1"];
    for (gpu, suffix) in gpus.iter().zip(suffixes) {
        // Everything here goes through functions of the instance: devices, queues and command buffers.
        let (buffer, memory) = gpu.buffer(64, 0);
        let log = gpu.run((1, 1), |c| {
            call!(i, PFN_vkCmdFillBuffer, vkCmdFillBuffer(c, buffer, 0, 16, 3));
        });
        assert_eq!(log, [format!("queue 1.1{suffix}"), "fill 16 m1+0x0 0x3".to_owned()]);
        gpu.destroy_buffer((buffer, memory));
    }
    let name = c"vkQueueSubmit";
    let own = gpus.each_ref().map(|gpu| of_device(gpu, name));
    assert_ne!(own[0], own[1], "each family has its own");
    assert!(!own.contains(&of_instance(i, name)));
    call!(i, PFN_vkDestroyDevice, vkDestroyDevice(vk::Device::null(), null()));
    drop(gpus);
    call!(i, PFN_vkDestroyInstance, vkDestroyInstance(i, null()));
    HAS_SECOND.set(false);
}

#[test]
fn an_instance_of_one_family_gives_its_functions() {
    let gpu = Gpu::new();
    for name in [c"vkQueueSubmit", c"vkCmdDraw", c"vkCreateBuffer"] {
        assert_eq!(of_instance(gpu.i, name), of_device(&gpu, name), "{name:?}");
    }
}

#[test]
fn tables_of_families_have_the_same_names() {
    let names = |list: Vec<(&'static str, tepui_vulkan::table::Function)>| -> Vec<_> {
        list.into_iter().map(|c| c.0).collect()
    };
    let first = names(tepui_vulkan::commands_of::<tepui_vulkan_null::Null>());
    assert_eq!(first, names(tepui_vulkan::commands_of::<tepui_vulkan_null::Null<1>>()));
    assert!(first.len() > 250, "{}", first.len());
}
