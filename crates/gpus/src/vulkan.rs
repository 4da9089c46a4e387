//! Physical devices for the Vulkan driver: a virtual GPU of this process, or the render nodes of
//! the machine.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use tepui_agx_driver::{Agx, Physical};
use tepui_drm::client::RenderNode;
use tepui_drm::device::VirtualDevice;
pub use tepui_vulkan::debug::{INFO_VARIABLE, STATS_VARIABLE};
use tepui_vulkan::physical::{self, Family};
use tepui_vulkan::{Error, vk};

use crate::device::{DeviceOptions, device};
use crate::{Feature, Gpu};

/// Names the virtual GPU, as `tepui gpus` does; without it, render nodes come first and the M1
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

/// The virtual GPU that stands in where the machine has none.
const DEFAULT: &str = "m1";

/// The physical devices of this process: the virtual GPU that [`GPU_VARIABLE`] names; without it
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
    let name = named.as_deref().unwrap_or(DEFAULT);
    match virtual_device(name) {
        Ok(device) => vec![device],
        Err(why) => {
            eprintln!("tepui: {GPU_VARIABLE}: {why}");
            Vec::new()
        }
    }
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|v| v == "1")
}

fn virtual_device(name: &str) -> Result<Arc<dyn Family>, String> {
    let gpu: Gpu = name.parse().map_err(|e: crate::UnknownGpu| e.to_string())?;
    let gpu = gpu.require(Feature::Compiler).map_err(|e| e.to_string())?;
    let Gpu::Agx(chip) = gpu else {
        return Err(format!("there is no Vulkan driver for {}", gpu.id()));
    };
    // One device for all instances of the process, opened as often as the program asks: what is
    // exported from one is imported by another. The environment names one GPU.
    static DEVICE: OnceLock<Arc<dyn VirtualDevice>> = OnceLock::new();
    let open = move || {
        let failed = |why: String| Error::new(vk::Result::ERROR_INITIALIZATION_FAILED, why);
        let made = match DEVICE.get() {
            Some(d) => d.clone(),
            None => {
                let options = DeviceOptions {
                    threads: std::env::var(THREADS_VARIABLE)
                        .ok()
                        .and_then(|n| n.parse().ok())
                        .unwrap_or(0),
                    check: is_set(CHECK_VARIABLE),
                    counts: crate::counts::file_of_environment(),
                    abort_on_fault: is_set(ABORT_VARIABLE),
                    failing_allocation: std::env::var(FAIL_VARIABLE)
                        .ok()
                        .and_then(|n| n.parse().ok()),
                    ..DeviceOptions::default()
                };
                let new = device(gpu, &options).map_err(|e| failed(e.to_string()))?;
                DEVICE.get_or_init(|| new).clone()
            }
        };
        Ok(RenderNode::of_virtual(made.open()))
    };
    Ok(physical::member::<Agx>(Physical::new(chip, true, Box::new(open))))
}

/// Render nodes of the machine whose kernel driver a family has a driver for.
fn nodes() -> Vec<Arc<dyn Family>> {
    let paths = (128..192).map(|n| (n, PathBuf::from(format!("/dev/dri/renderD{n}"))));
    let mut all: Vec<Arc<dyn Family>> = Vec::new();
    for (minor, path) in paths {
        let Ok(node) = RenderNode::open(&path) else { continue };
        let Ok((chip, soft_faults)) = tepui_agx_driver::chip(&node) else { continue };
        let open = move || {
            RenderNode::open(&path).map_err(|e| Error::kernel("opening the render node", e))
        };
        let physical = Physical::new(chip, soft_faults, Box::new(open)).on_node(DRM_MAJOR, minor);
        all.push(physical::member::<Agx>(physical));
    }
    all
}
