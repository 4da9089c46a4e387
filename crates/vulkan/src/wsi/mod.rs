//! Window systems: surfaces, swapchains and presentation, over `tepui-wsi`.
//!
//! - [`surface`] has the surfaces, which belong to the instance, and what physical devices say about them.
//! - [`swapchain`] has swapchains. Their images are rows of pixels in memory that the server maps where it can, so that
//!   no frame is copied on its way.
//! - [`presenter`] presents images in a thread of each swapchain: `vkQueuePresentKHR` returns before the GPU has drawn
//!   the frame, and before its turn has come.
//! - [`times`] has the times of frames, [`timing`] the commands about them.

pub mod presenter;
pub mod surface;
pub mod swapchain;
mod times;
pub mod timing;

pub use surface::*;
pub use swapchain::*;
pub use timing::*;

use tepui_wsi as window;
use vulkanalia_sys as vk;

use crate::backend::PhysicalInfo;
use crate::error::{Error, Result};

/// Instance extensions of window systems and their versions.
pub const INSTANCE_EXTENSIONS: [(&str, u32); 10] = [
    ("VK_KHR_surface", 25),
    ("VK_KHR_xcb_surface", 6),
    ("VK_KHR_xlib_surface", 6),
    ("VK_KHR_wayland_surface", 6),
    ("VK_EXT_headless_surface", 1),
    ("VK_KHR_get_surface_capabilities2", 1),
    ("VK_KHR_surface_protected_capabilities", 1),
    ("VK_KHR_surface_maintenance1", 1),
    ("VK_EXT_surface_maintenance1", 1),
    ("VK_EXT_swapchain_colorspace", 5),
];

/// Device extensions of window systems and their versions.
pub const DEVICE_EXTENSIONS: [(&str, u32); 10] = [
    ("VK_KHR_swapchain", 70),
    ("VK_KHR_swapchain_mutable_format", 1),
    ("VK_KHR_incremental_present", 2),
    ("VK_KHR_present_id", 1),
    ("VK_KHR_present_wait", 1),
    ("VK_KHR_present_id2", 1),
    ("VK_KHR_present_wait2", 1),
    ("VK_KHR_swapchain_maintenance1", 1),
    ("VK_EXT_swapchain_maintenance1", 1),
    ("VK_EXT_present_timing", 3),
];

/// Adds the device extensions of window systems and their features, which do not depend on the GPU.
pub(crate) fn offer(info: &mut PhysicalInfo) {
    info.extensions.extend(DEVICE_EXTENSIONS);
    // SAFETY: structures of the registry with truth values only.
    unsafe {
        info.feature_chain.add(vk::PhysicalDevicePresentIdFeaturesKHR {
            present_id: vk::TRUE,
            ..Default::default()
        });
        let wait = vk::PhysicalDevicePresentWaitFeaturesKHR {
            present_wait: vk::TRUE,
            ..Default::default()
        };
        info.feature_chain.add(wait);
        info.feature_chain.add(vk::PhysicalDevicePresentId2FeaturesKHR {
            present_id2: vk::TRUE,
            ..Default::default()
        });
        info.feature_chain.add(vk::PhysicalDevicePresentWait2FeaturesKHR {
            present_wait2: vk::TRUE,
            ..Default::default()
        });
        info.feature_chain.add(vk::PhysicalDevicePresentTimingFeaturesEXT {
            present_timing: vk::TRUE,
            present_at_absolute_time: vk::TRUE,
            present_at_relative_time: vk::TRUE,
            ..Default::default()
        });
        info.feature_chain.add(vk::PhysicalDeviceSwapchainMaintenance1FeaturesEXT {
            swapchain_maintenance1: vk::TRUE,
            ..Default::default()
        });
    }
}

/// Formats of windows, and of their images: the encoded one first, as Mesa's drivers list them.
const FORMATS: [(window::Format, &[vk::Format]); 5] = [
    (window::Format::B8G8R8A8, &[vk::Format::B8G8R8A8_SRGB, vk::Format::B8G8R8A8_UNORM]),
    (window::Format::R8G8B8A8, &[vk::Format::R8G8B8A8_SRGB, vk::Format::R8G8B8A8_UNORM]),
    (window::Format::A2R10G10B10, &[vk::Format::A2R10G10B10_UNORM_PACK32]),
    (window::Format::A2B10G10R10, &[vk::Format::A2B10G10R10_UNORM_PACK32]),
    (window::Format::R5G6B5, &[vk::Format::R5G6B5_UNORM_PACK16]),
];

/// The formats of images for a window's format.
fn formats_of(format: window::Format) -> &'static [vk::Format] {
    FORMATS.iter().find(|row| row.0 == format).map_or(&[], |row| row.1)
}

/// The window's format for images of a format.
fn window_format(format: vk::Format) -> Result<window::Format> {
    let row = FORMATS.iter().find(|row| row.1.contains(&format));
    row.map(|row| row.0).ok_or_else(|| {
        let why = format!("no window has format {}", format.as_raw());
        Error::new(vk::Result::ERROR_FORMAT_NOT_SUPPORTED, why)
    })
}

const MODES: [(window::Mode, vk::PresentModeKHR); 4] = [
    (window::Mode::Immediate, vk::PresentModeKHR::IMMEDIATE),
    (window::Mode::Mailbox, vk::PresentModeKHR::MAILBOX),
    (window::Mode::Fifo, vk::PresentModeKHR::FIFO),
    (window::Mode::FifoRelaxed, vk::PresentModeKHR::FIFO_RELAXED),
];

fn mode_of(mode: window::Mode) -> vk::PresentModeKHR {
    MODES.iter().find(|row| row.0 == mode).map_or(vk::PresentModeKHR::FIFO, |row| row.1)
}

fn window_mode(mode: vk::PresentModeKHR) -> Result<window::Mode> {
    let row = MODES.iter().find(|row| row.1 == mode);
    row.map(|row| row.0)
        .ok_or_else(|| Error::unsupported(format!("present mode {}", mode.as_raw())))
}

const ALPHAS: [(window::Alpha, vk::CompositeAlphaFlagsKHR); 3] = [
    (window::Alpha::OPAQUE, vk::CompositeAlphaFlagsKHR::OPAQUE),
    (window::Alpha::PRE_MULTIPLIED, vk::CompositeAlphaFlagsKHR::PRE_MULTIPLIED),
    (window::Alpha::INHERIT, vk::CompositeAlphaFlagsKHR::INHERIT),
];

fn alpha_of(alpha: window::Alpha) -> vk::CompositeAlphaFlagsKHR {
    let rows = ALPHAS.iter().filter(|row| alpha.contains(row.0));
    rows.fold(vk::CompositeAlphaFlagsKHR::empty(), |all, row| all | row.1)
}

fn window_alpha(alpha: vk::CompositeAlphaFlagsKHR) -> window::Alpha {
    let rows = ALPHAS.iter().filter(|row| alpha.contains(row.1));
    rows.fold(window::Alpha::empty(), |all, row| all | row.0)
}

impl From<window::Error> for Error {
    fn from(error: window::Error) -> Error {
        let code = match error {
            window::Error::SurfaceLost => vk::Result::ERROR_SURFACE_LOST_KHR,
            window::Error::OutOfDate => vk::Result::ERROR_OUT_OF_DATE_KHR,
            window::Error::WindowInUse => vk::Result::ERROR_NATIVE_WINDOW_IN_USE_KHR,
            window::Error::OutOfMemory => vk::Result::ERROR_OUT_OF_HOST_MEMORY,
            window::Error::Timeout => vk::Result::TIMEOUT,
            window::Error::System(errno) => return Error::kernel("presenting", errno),
            _ => vk::Result::ERROR_INITIALIZATION_FAILED,
        };
        Error::new(code, error.to_string())
    }
}

/// The code of a swapchain's status.
fn status_code(status: window::Status) -> vk::Result {
    match status {
        window::Status::Optimal => vk::Result::SUCCESS,
        window::Status::Suboptimal => vk::Result::SUBOPTIMAL_KHR,
    }
}
