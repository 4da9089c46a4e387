//! Surfaces, and what physical devices say about them.

use std::ffi::{c_ulong, c_void};

use tepui_wsi as window;
use vulkanalia_sys::{self as vk, Handle};

use super::times::OWN_STAGES;
use super::{FORMATS, alpha_of, formats_of, mode_of, window_mode};
use crate::chain;
use crate::entry;
use crate::error::Result;
use crate::instance::Instance;
use crate::object::{Allocator, dispatch, enumerate, get, handle};
use crate::physical::Physical;

/// The window of a `VkSurfaceKHR`.
pub(super) unsafe fn window_of<'a>(surface: vk::SurfaceKHR) -> &'a window::Surface {
    // SAFETY: the handle is a surface's.
    unsafe { get(surface) }
}

unsafe fn create(
    instance: vk::Instance,
    callbacks: *const vk::AllocationCallbacks,
    out: *mut vk::SurfaceKHR,
    surface: window::Result<window::Surface>,
) -> Result<vk::Result> {
    // SAFETY: the instance is live, the pointers are valid.
    unsafe {
        let allocator = Allocator::new(callbacks, dispatch::<Instance>(instance).allocator);
        *out = handle(allocator.create(surface?)?);
        Ok(vk::Result::SUCCESS)
    }
}

/// Image usage of a swapchain on this device: the usage that the format supports in linear images.
pub(super) fn usage(physical: &Physical, format: vk::Format) -> vk::ImageUsageFlags {
    use vk::{FormatFeatureFlags2 as F, ImageUsageFlags as U};
    let features = physical.features_of(format).linear;
    let mut usage = U::empty();
    for (feature, bits) in [
        (F::TRANSFER_SRC, U::TRANSFER_SRC),
        (F::TRANSFER_DST, U::TRANSFER_DST),
        (F::SAMPLED_IMAGE, U::SAMPLED),
        (F::STORAGE_IMAGE, U::STORAGE),
        (F::COLOR_ATTACHMENT, U::COLOR_ATTACHMENT | U::INPUT_ATTACHMENT),
    ] {
        if features.contains(feature) {
            usage |= bits;
        }
    }
    usage
}

fn extent(e: window::Extent) -> vk::Extent2D {
    vk::Extent2D { width: e.width, height: e.height }
}

/// Times that a surface reports.
fn timing_stages(surface: &window::Surface) -> vk::PresentStageFlagsEXT {
    match surface.tells_times() {
        true => OWN_STAGES | vk::PresentStageFlagsEXT::IMAGE_FIRST_PIXEL_OUT,
        false => OWN_STAGES,
    }
}

/// Capabilities of a surface, for a mode or for all.
unsafe fn capabilities(
    physical: vk::PhysicalDevice,
    surface: &window::Surface,
    mode: Option<window::Mode>,
) -> Result<vk::SurfaceCapabilitiesKHR> {
    // SAFETY: the handle is a physical device's.
    let physical: &Physical = unsafe { dispatch(physical) };
    let c = surface.capabilities()?;
    // The usage of the first format. What another supports is asked as of any image; encoded formats
    // are never storage images, and those who want one take a format that is not.
    let first = surface.formats()?.first().and_then(|format| formats_of(*format).last());
    let usage = first.map_or(vk::ImageUsageFlags::empty(), |format| usage(physical, *format));
    let undecided = vk::Extent2D { width: u32::MAX, height: u32::MAX };
    Ok(vk::SurfaceCapabilitiesKHR {
        min_image_count: mode.map_or(c.min_images, window::Mode::min_images),
        max_image_count: c.max_images,
        current_extent: c.current_extent.map_or(undecided, extent),
        min_image_extent: extent(c.min_extent),
        max_image_extent: extent(c.max_extent),
        max_image_array_layers: 1,
        supported_transforms: vk::SurfaceTransformFlagsKHR::IDENTITY,
        current_transform: vk::SurfaceTransformFlagsKHR::IDENTITY,
        supported_composite_alpha: alpha_of(c.alpha),
        supported_usage_flags: usage,
    })
}

/// The formats of images that a surface takes and the device draws.
unsafe fn formats(
    physical: vk::PhysicalDevice,
    surface: &window::Surface,
) -> Result<Vec<vk::SurfaceFormatKHR>> {
    // SAFETY: the handle is a physical device's.
    let physical: &Physical = unsafe { dispatch(physical) };
    let taken = surface.formats()?;
    let rows = FORMATS.iter().filter(|row| taken.contains(&row.0)).flat_map(|row| row.1);
    let drawn =
        rows.filter(|f| usage(physical, **f).contains(vk::ImageUsageFlags::COLOR_ATTACHMENT));
    let pairs = drawn.map(|&format| vk::SurfaceFormatKHR {
        format,
        color_space: vk::ColorSpaceKHR::SRGB_NONLINEAR,
    });
    Ok(pairs.collect())
}

fn modes(surface: &window::Surface) -> Result<Vec<vk::PresentModeKHR>> {
    Ok(surface.modes()?.into_iter().map(mode_of).collect())
}

entry! {
    /// `vkCreateXcbSurfaceKHR`.
    fn vkCreateXcbSurfaceKHR(instance: vk::Instance, info: *const vk::XcbSurfaceCreateInfoKHR, callbacks: *const vk::AllocationCallbacks, out: *mut vk::SurfaceKHR) -> vk::Result {
        unsafe { create(instance, callbacks, out, window::Surface::xcb((*info).connection.cast(), (*info).window)) }
    }

    /// `vkCreateXlibSurfaceKHR`.
    fn vkCreateXlibSurfaceKHR(instance: vk::Instance, info: *const vk::XlibSurfaceCreateInfoKHR, callbacks: *const vk::AllocationCallbacks, out: *mut vk::SurfaceKHR) -> vk::Result {
        unsafe { create(instance, callbacks, out, window::Surface::xlib((*info).dpy.cast(), (*info).window)) }
    }

    /// `vkCreateWaylandSurfaceKHR`.
    fn vkCreateWaylandSurfaceKHR(instance: vk::Instance, info: *const vk::WaylandSurfaceCreateInfoKHR, callbacks: *const vk::AllocationCallbacks, out: *mut vk::SurfaceKHR) -> vk::Result {
        unsafe { create(instance, callbacks, out, window::Surface::wayland((*info).display.cast(), (*info).surface.cast())) }
    }

    /// `vkCreateHeadlessSurfaceEXT`.
    fn vkCreateHeadlessSurfaceEXT(instance: vk::Instance, _info: *const vk::HeadlessSurfaceCreateInfoEXT, callbacks: *const vk::AllocationCallbacks, out: *mut vk::SurfaceKHR) -> vk::Result {
        unsafe { create(instance, callbacks, out, Ok(window::Surface::headless())) }
    }

    /// `vkDestroySurfaceKHR`.
    fn vkDestroySurfaceKHR(instance: vk::Instance, surface: vk::SurfaceKHR, callbacks: *const vk::AllocationCallbacks) {
        unsafe {
            let allocator = Allocator::new(callbacks, dispatch::<Instance>(instance).allocator);
            allocator.destroy(surface.as_raw() as *mut window::Surface);
        }
    }

    /// `vkGetPhysicalDeviceXcbPresentationSupportKHR`.
    fn vkGetPhysicalDeviceXcbPresentationSupportKHR(_physical: vk::PhysicalDevice, _family: u32, connection: *mut c_void, visual: u32) -> vk::Bool32 {
        u32::from(unsafe { window::xcb_supports(connection, visual) })
    }

    /// `vkGetPhysicalDeviceXlibPresentationSupportKHR`.
    fn vkGetPhysicalDeviceXlibPresentationSupportKHR(_physical: vk::PhysicalDevice, _family: u32, display: *mut vk::Display, visual: c_ulong) -> vk::Bool32 {
        u32::from(unsafe { window::xlib_supports(display.cast(), visual) })
    }

    /// `vkGetPhysicalDeviceWaylandPresentationSupportKHR`.
    fn vkGetPhysicalDeviceWaylandPresentationSupportKHR(_physical: vk::PhysicalDevice, _family: u32, display: *mut vk::wl_display) -> vk::Bool32 {
        u32::from(unsafe { window::wayland_supports(display.cast()) })
    }

    /// `vkGetPhysicalDeviceSurfaceSupportKHR`: each queue presents.
    fn vkGetPhysicalDeviceSurfaceSupportKHR(_physical: vk::PhysicalDevice, _family: u32, surface: vk::SurfaceKHR, out: *mut vk::Bool32) -> vk::Result {
        unsafe { *out = u32::from(!window_of(surface).formats()?.is_empty()) }
        Ok(vk::Result::SUCCESS)
    }

    /// `vkGetPhysicalDeviceSurfaceCapabilitiesKHR`.
    fn vkGetPhysicalDeviceSurfaceCapabilitiesKHR(physical: vk::PhysicalDevice, surface: vk::SurfaceKHR, out: *mut vk::SurfaceCapabilitiesKHR) -> vk::Result {
        unsafe { *out = capabilities(physical, window_of(surface), None)? }
        Ok(vk::Result::SUCCESS)
    }

    /// `vkGetPhysicalDeviceSurfaceCapabilities2KHR`.
    fn vkGetPhysicalDeviceSurfaceCapabilities2KHR(physical: vk::PhysicalDevice, info: *const vk::PhysicalDeviceSurfaceInfo2KHR, out: *mut vk::SurfaceCapabilities2KHR) -> vk::Result {
        unsafe {
            let surface = window_of((*info).surface);
            let mode: Option<&vk::SurfacePresentModeEXT> = chain::find((*info).next, vk::StructureType::SURFACE_PRESENT_MODE_KHR);
            let mode = mode.map(|m| window_mode(m.present_mode)).transpose()?;
            let own = capabilities(physical, surface, mode)?;
            (*out).surface_capabilities = own;
            let all = modes(surface)?;
            chain::each((*out).next, |s_type, at| match s_type {
                vk::StructureType::SURFACE_PRESENT_MODE_COMPATIBILITY_KHR => {
                    let o = &mut *at.cast::<vk::SurfacePresentModeCompatibilityEXT>();
                    enumerate(&raw mut o.present_mode_count, o.present_modes, &all, |o, m| *o = *m);
                }
                vk::StructureType::SURFACE_PRESENT_SCALING_CAPABILITIES_KHR => {
                    // A window of another size shows the upper left part, pixel by pixel.
                    let o = &mut *at.cast::<vk::SurfacePresentScalingCapabilitiesEXT>();
                    let fixed = own.current_extent.width != u32::MAX;
                    let gravity = vk::PresentGravityFlagsKHR::MIN;
                    if fixed {
                        o.supported_present_scaling = vk::PresentScalingFlagsKHR::ONE_TO_ONE;
                        (o.supported_present_gravity_x, o.supported_present_gravity_y) = (gravity, gravity);
                        o.min_scaled_image_extent = vk::Extent2D { width: 1, height: 1 };
                        o.max_scaled_image_extent = vk::Extent2D { width: 16384, height: 16384 };
                    } else {
                        o.supported_present_scaling = vk::PresentScalingFlagsKHR::empty();
                        o.supported_present_gravity_x = vk::PresentGravityFlagsKHR::empty();
                        o.supported_present_gravity_y = vk::PresentGravityFlagsKHR::empty();
                        o.min_scaled_image_extent = own.min_image_extent;
                        o.max_scaled_image_extent = own.max_image_extent;
                    }
                }
                vk::StructureType::SURFACE_CAPABILITIES_PRESENT_ID_2_KHR => {
                    (*at.cast::<vk::SurfaceCapabilitiesPresentId2KHR>()).present_id2_supported = vk::TRUE;
                }
                vk::StructureType::SURFACE_CAPABILITIES_PRESENT_WAIT_2_KHR => {
                    (*at.cast::<vk::SurfaceCapabilitiesPresentWait2KHR>()).present_wait2_supported = vk::TRUE;
                }
                vk::StructureType::PRESENT_TIMING_SURFACE_CAPABILITIES_EXT => {
                    let o = &mut *at.cast::<vk::PresentTimingSurfaceCapabilitiesEXT>();
                    o.present_timing_supported = vk::TRUE;
                    (o.present_at_absolute_time_supported, o.present_at_relative_time_supported) = (vk::TRUE, vk::TRUE);
                    o.present_stage_queries = timing_stages(surface);
                }
                vk::StructureType::SURFACE_PROTECTED_CAPABILITIES_KHR => {
                    (*at.cast::<vk::SurfaceProtectedCapabilitiesKHR>()).supports_protected = vk::FALSE;
                }
                _ => {}
            });
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkGetPhysicalDeviceSurfaceFormatsKHR`.
    fn vkGetPhysicalDeviceSurfaceFormatsKHR(physical: vk::PhysicalDevice, surface: vk::SurfaceKHR, count: *mut u32, out: *mut vk::SurfaceFormatKHR) -> vk::Result {
        unsafe {
            let all = formats(physical, window_of(surface))?;
            Ok(enumerate(count, out, &all, |o, f| *o = *f))
        }
    }

    /// `vkGetPhysicalDeviceSurfaceFormats2KHR`.
    fn vkGetPhysicalDeviceSurfaceFormats2KHR(physical: vk::PhysicalDevice, info: *const vk::PhysicalDeviceSurfaceInfo2KHR, count: *mut u32, out: *mut vk::SurfaceFormat2KHR) -> vk::Result {
        unsafe {
            let all = formats(physical, window_of((*info).surface))?;
            Ok(enumerate(count, out, &all, |o, f| o.surface_format = *f))
        }
    }

    /// `vkGetPhysicalDeviceSurfacePresentModesKHR`.
    fn vkGetPhysicalDeviceSurfacePresentModesKHR(_physical: vk::PhysicalDevice, surface: vk::SurfaceKHR, count: *mut u32, out: *mut vk::PresentModeKHR) -> vk::Result {
        unsafe {
            let all = modes(window_of(surface))?;
            Ok(enumerate(count, out, &all, |o, m| *o = *m))
        }
    }

    /// `vkGetPhysicalDevicePresentRectanglesKHR`: all of the surface.
    fn vkGetPhysicalDevicePresentRectanglesKHR(physical: vk::PhysicalDevice, surface: vk::SurfaceKHR, count: *mut u32, out: *mut vk::Rect2D) -> vk::Result {
        unsafe {
            let extent = capabilities(physical, window_of(surface), None)?.current_extent;
            let all = [vk::Rect2D { offset: vk::Offset2D::default(), extent }];
            Ok(enumerate(count, out, &all, |o, r| *o = *r))
        }
    }
}
