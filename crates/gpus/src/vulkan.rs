//! Physical devices for the Vulkan driver: virtual GPUs of this process, or the render nodes of
//! the machine.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tepui_agx_driver::{Agx, Physical};
use tepui_drm::client::RenderNode;
use tepui_drm::device::VirtualDevice;
use tepui_intel_driver::Intel;
use tepui_mali_driver::Mali;
pub use tepui_vulkan::debug::{INFO_VARIABLE, STATS_VARIABLE};
use tepui_vulkan::heap_usage::HeapUsage;
use tepui_vulkan::member::member;
use tepui_vulkan::physical::Family;
use tepui_vulkan::{Error, vk};

use crate::device::{DeviceOptions, device};
use crate::{Feature, Gpu};

/// Names the virtual GPUs, as `tepui gpus` does, with commas between; without it, render nodes come first and the M1
/// last.
pub const GPU_VARIABLE: &str = "TEPUI_VULKAN_GPU";
/// Names the virtual GPU for which a preloaded library gives the process a render node.
const NODE_VARIABLE: &str = "TEPUI_GPU";
/// Turns on the model's checks.
pub const CHECK_VARIABLE: &str = "TEPUI_CHECK";
/// Ends the process when the GPU faults.
pub const ABORT_VARIABLE: &str = "TEPUI_ABORT_ON_FAULT";
/// Worker threads of the model.
pub const THREADS_VARIABLE: &str = "TEPUI_THREADS";
/// The number of the buffer object that cannot be made, for tests.
pub const FAIL_VARIABLE: &str = "TEPUI_FAIL_ALLOCATION";

/// The major number of render nodes; the minor one is that in their names. source: Linux, admin-guide/devices.txt, "226 char"
const DRM_MAJOR: u32 = 226;
/// Minor numbers of render nodes. source: Linux, drivers/gpu/drm/drm_drv.c, `DRM_MINOR_RENDER`
const FIRST_RENDER_NODE: u32 = 128;
const LAST_RENDER_NODE: u32 = 191;

/// The virtual GPU that stands in where the machine has none.
const DEFAULT: &str = "m1";

/// The physical devices of this process: the virtual GPUs that [`GPU_VARIABLE`] names; without it
/// the machine's render nodes that a family has a driver for, or the virtual M1 if there are none.
///
/// If [`NODE_VARIABLE`] names the same GPU, the device is its render node, so that what else opens the node (zink as
/// OpenGL's and OpenCL's driver, a compositor) shares buffers with it. Where there is no node, as in statically linked
/// programs, the virtual GPU is in the process.
pub fn devices() -> Vec<Arc<dyn Family>> {
    let variable = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
    let named = variable(GPU_VARIABLE);
    if named.is_none() || named == variable(NODE_VARIABLE) {
        let mut nodes = nodes();
        if named.is_some() {
            // The virtual node has the first number that no node of the machine has.
            nodes = nodes.pop().into_iter().collect();
        }
        if !nodes.is_empty() {
            return nodes;
        }
    }
    let devices = named_gpus(named.as_deref().unwrap_or(DEFAULT))
        .and_then(|gpus| gpus.into_iter().map(virtual_physical).collect());
    devices.unwrap_or_else(|why: String| {
        eprintln!("tepui: {GPU_VARIABLE}: {why}");
        Vec::new()
    })
}

/// The GPUs of a list with commas between, each with a Vulkan driver.
fn named_gpus(list: &str) -> Result<Vec<Gpu>, String> {
    let mut gpus = Vec::new();
    for name in list.split(',') {
        let gpu: Gpu = name.trim().parse().map_err(|e: crate::UnknownGpu| e.to_string())?;
        let gpu = gpu.require(Feature::Driver).map_err(|e| e.to_string())?;
        if gpus.contains(&gpu) {
            return Err(format!("{gpu:?} is named twice; name each GPU once"));
        }
        gpus.push(gpu);
    }
    Ok(gpus)
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|v| v == "1")
}

/// The physical device of a virtual GPU of this process.
fn virtual_physical(gpu: Gpu) -> Result<Arc<dyn Family>, String> {
    let open = move || {
        let device = shared_device(gpu)?;
        Ok(RenderNode::of_virtual(device.open()))
    };
    let usage = HeapUsage::of_device(gpu.id());
    Ok(match gpu {
        Gpu::Agx(chip) => member::<Agx>(Physical::new(chip, true, Box::new(open)), usage),
        Gpu::Intel(chip) => {
            member::<Intel>(tepui_intel_driver::Physical::new(chip, Box::new(open)), usage)
        }
        Gpu::Mali(chip) => {
            member::<Mali>(tepui_mali_driver::Physical::new(chip, Box::new(open)), usage)
        }
    })
}

/// The virtual device of a GPU: one for all instances of the process, opened as often as the program asks, so that what is
/// exported from one is imported by another.
fn shared_device(gpu: Gpu) -> tepui_vulkan::Result<Arc<dyn VirtualDevice>> {
    static DEVICES: Mutex<Vec<(Gpu, Arc<dyn VirtualDevice>)>> = Mutex::new(Vec::new());
    let mut devices = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, device)) = devices.iter().find(|d| d.0 == gpu) {
        return Ok(device.clone());
    }
    let number = |variable| std::env::var(variable).ok().and_then(|n| n.parse().ok());
    let options = DeviceOptions {
        threads: number(THREADS_VARIABLE).unwrap_or(0),
        check: is_set(CHECK_VARIABLE),
        relaxed: crate::device::relaxed_of_environment(),
        counts: crate::counts::file_of_environment(),
        abort_on_fault: is_set(ABORT_VARIABLE),
        failing_allocation: std::env::var(FAIL_VARIABLE).ok().and_then(|n| n.parse().ok()),
        ..DeviceOptions::default()
    };
    let failed = |why: String| Error::new(vk::Result::ERROR_INITIALIZATION_FAILED, why);
    let new = device(gpu, &options).map_err(|e| failed(e.to_string()))?;
    devices.push((gpu, new.clone()));
    Ok(new)
}

/// Render nodes of the machine whose kernel driver a family has a driver for.
fn nodes() -> Vec<Arc<dyn Family>> {
    (FIRST_RENDER_NODE..=LAST_RENDER_NODE).filter_map(node_physical).collect()
}

/// The physical device of a render node.
fn node_physical(minor: u32) -> Option<Arc<dyn Family>> {
    let path = PathBuf::from(format!("/dev/dri/renderD{minor}"));
    let node = RenderNode::open(&path).ok()?;
    let usage = HeapUsage::of_device(&path.to_string_lossy());
    let driver = node.driver().ok()?;
    let open =
        move || RenderNode::open(&path).map_err(|e| Error::kernel("opening the render node", e));
    match crate::Family::of_driver(&driver)? {
        crate::Family::Agx => {
            let (chip, soft_faults) = tepui_agx_driver::chip(&node).ok()?;
            let physical = Physical::new(chip, soft_faults, Box::new(open));
            Some(member::<Agx>(physical.on_node(DRM_MAJOR, minor), usage))
        }
        crate::Family::Intel => {
            let chip = tepui_intel_driver::chip(&node).ok()?;
            Gpu::Intel(chip).require(Feature::Driver).ok()?;
            let physical = tepui_intel_driver::Physical::new(chip, Box::new(open));
            Some(member::<Intel>(physical.on_node(DRM_MAJOR, minor), usage))
        }
        crate::Family::Mali => {
            let chip = tepui_mali_driver::chip(&node).ok()?;
            Gpu::Mali(chip).require(Feature::Driver).ok()?;
            let physical = tepui_mali_driver::Physical::new(chip, Box::new(open));
            Some(member::<Mali>(physical.on_node(DRM_MAJOR, minor), usage))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::named_gpus;

    #[test]
    fn lists_name_gpus_with_drivers_once_each() {
        let ids = |list| named_gpus(list).map(|g| g.iter().map(|g| g.id()).collect::<Vec<_>>());
        assert_eq!(ids("m1"), Ok(vec!["m1"]));
        assert_eq!(ids("m1, M1"), Err("m1 is named twice; name each GPU once".to_owned()));
        assert_eq!(ids("m1,skl"), Ok(vec!["m1", "skl"]));
        let missing =
            "there is no driver for m2; there is one for m1, mali-g57, mali-g610, skl, tgl"
                .to_owned();
        assert_eq!(ids("m1,m2"), Err(missing));
        assert!(ids("m1,").unwrap_err().starts_with("no GPU ''; there are m1, "));
    }
}
