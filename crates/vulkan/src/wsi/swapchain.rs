//! Swapchains.

use std::ffi::c_void;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use tepui_wsi as window;
use vulkanalia_sys::{self as vk, Handle};

use super::presenter::{Frame, Presenter, Rows};
use super::surface::window_of;
use super::times::Target;
use super::{status_code, window_alpha, window_format, window_mode};
use crate::backend::{Allocation, Backend, ImageInfo, Subresource, ViewFormats};
use crate::chain;
use crate::debug::{self, Flags};
use crate::device::Device;
use crate::entry;
use crate::error::{Error, Result};
use crate::image::{Image, format_of};
use crate::object::{Allocator, dispatch_mut, enumerate, get, get_mut, handle, maybe, slice};
use crate::queue::{Queue, Semaphores};
use crate::sync::{Fence, Semaphore};

/// A swapchain.
pub struct Swapchain<B: Backend> {
    // First, so that the thread ends before the images do.
    pub(super) presenter: Presenter<B>,
    images: Images<B>,
    /// The pixels of images that the server does not map.
    rows: Vec<Option<Rows>>,
}

/// Images as Vulkan objects.
struct Images<B: Backend> {
    allocator: Allocator,
    list: Vec<*mut Image<B>>,
}

// SAFETY: images are used as the application synchronises them.
unsafe impl<B: Backend> Send for Images<B> {}
// SAFETY: as above.
unsafe impl<B: Backend> Sync for Images<B> {}

impl<B: Backend> Drop for Images<B> {
    fn drop(&mut self) {
        for image in self.list.drain(..) {
            // SAFETY: the images are this list's and came from this allocator.
            unsafe { self.allocator.destroy(image) };
        }
    }
}

impl<B: Backend> Swapchain<B> {
    fn new(
        d: &Device<B>,
        surface: &window::Surface,
        info: &vk::SwapchainCreateInfoKHR,
        old: Option<&Swapchain<B>>,
        allocator: Allocator,
    ) -> Result<Swapchain<B>> {
        if info.min_image_count > window::MAX_IMAGES {
            let why = format!("a swapchain of {} images", info.min_image_count);
            return Err(Error::new(vk::Result::ERROR_INITIALIZATION_FAILED, why));
        }
        // Frames presented before the swapchain is replaced are still shown.
        if let Some(old) = old {
            old.presenter.shared.finish();
        }
        let mut flags = vk::ImageCreateFlags::empty();
        if info.flags.contains(vk::SwapchainCreateFlagsKHR::MUTABLE_FORMAT) {
            flags |= vk::ImageCreateFlags::MUTABLE_FORMAT | vk::ImageCreateFlags::EXTENDED_USAGE;
        }
        let image_info = ImageInfo {
            image_type: vk::ImageType::_2D,
            format: format_of(info.image_format)?,
            extent: [info.image_extent.width, info.image_extent.height, 1],
            levels: 1,
            layers: info.image_array_layers,
            samples: 1,
            usage: info.image_usage,
            flags,
            views: ViewFormats::Any,
            linear: true,
            modifier: None,
            explicit: None,
        };
        let format = window_format(info.image_format)?;
        let is_kernels = B::node(&d.inner).is_kernels();
        let share = if is_kernels && surface.takes_dma_buf(format, LINEAR) {
            Share::DmaBuf
        } else if surface.shares_memory() {
            Share::File
        } else {
            Share::None
        };
        let mut images = Images { allocator, list: Vec::new() };
        let mut places = Vec::new();
        for _ in 0..info.min_image_count {
            let (image, place) = image::<B>(d, &image_info, share)?;
            images.list.push(allocator.create(image)?);
            places.push(place);
        }
        let is_shared = places.iter().all(|place| place.file.is_some());
        let count = places.len();
        let mut rows = Vec::new();
        let mut shared = Vec::new();
        for place in places {
            match place.file.filter(|_| is_shared) {
                Some(memory) => {
                    let (offset, pitch) = (place.sub.offset, place.sub.row_pitch as u32);
                    let modifier = (share == Share::DmaBuf).then_some(LINEAR);
                    shared.push(window::SharedImage { memory, modifier, offset, pitch });
                    rows.push(None);
                }
                None => rows.push(Some(place.rows)),
            }
        }
        if debug::flags().contains(Flags::WINDOWS) {
            let how = match (is_shared, share) {
                (true, Share::DmaBuf) => "dma-bufs",
                (true, _) => "memory that the server maps",
                (false, _) => "rows that are sent",
            };
            let [width, height, _] = image_info.extent;
            eprintln!("tepui: a swapchain of {count} images, {width}x{height}: {how}");
        }
        let config = window::Config {
            extent: window::Extent {
                width: info.image_extent.width,
                height: info.image_extent.height,
            },
            format,
            alpha: window_alpha(info.composite_alpha),
            mode: window_mode(info.present_mode)?,
            images: match is_shared {
                true => window::Images::Shared(shared),
                false => window::Images::Private { count },
            },
        };
        let chain = surface.swapchain(config, old.map(|old| &old.presenter.shared.chain))?;
        let presenter = Presenter::new(chain, &d.inner, &d.lost)?;
        Ok(Swapchain { presenter, images, rows })
    }
}

impl<B: Backend> Swapchain<B> {
    /// The memory of an image, and its offset in it.
    pub(crate) fn memory(&self, image: u32) -> Option<&(Arc<B::Memory>, u64)> {
        // SAFETY: the images are the swapchain's own.
        let image = unsafe { self.images.list.get(image as usize)?.as_ref()? };
        image.memory[0].as_ref()
    }
}

/// The modifier of rows of texels. source: drm_fourcc.h
const LINEAR: u64 = 0;

/// Access of the server to images.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Share {
    /// No access to the driver's memory.
    None,
    /// Through a file that it maps.
    File,
    /// Through dma-bufs, on its GPU.
    DmaBuf,
}

/// Location of an image's pixels.
struct Place {
    /// The memory as a file, if the server reads it.
    file: Option<OwnedFd>,
    sub: Subresource,
    rows: Rows,
}

/// An image in memory of its own.
fn image<B: Backend>(d: &Device<B>, info: &ImageInfo, share: Share) -> Result<(Image<B>, Place)> {
    let mut image = crate::image::with_info::<B>(d, *info)?;
    let (size, _) = B::image_size(&image.layout);
    let exportable = share != Share::None;
    let allocation = Allocation { size, exportable, ..Default::default() };
    let memory = Arc::new(B::allocate(&d.inner, allocation)?);
    let sub = B::subresource(&image.layout, 0, 0, 0);
    image.bind(&memory, 0);
    // A buffer of a kernel's driver is no file of which other processes can map pages.
    let mappable = |file: &OwnedFd| {
        let stat = rustix::fs::fstat(file);
        stat.is_ok_and(|stat| u64::try_from(stat.st_size).unwrap_or(0) >= sub.offset + sub.size)
    };
    let file = match share {
        Share::DmaBuf => Some(B::export(&d.inner, &memory)?),
        Share::File => B::export(&d.inner, &memory).ok().filter(mappable),
        Share::None => None,
    };
    // SAFETY: the image lies in its memory, which the image keeps.
    let base = unsafe { B::host(&memory).add(sub.offset as usize) };
    let rows = Rows { base, bytes: sub.size as usize, pitch: sub.row_pitch as usize };
    Ok((image, Place { file, sub, rows }))
}

fn timeout_of(ns: u64) -> Duration {
    if ns == u64::MAX { Duration::MAX } else { Duration::from_nanos(ns) }
}

unsafe fn acquire<B: Backend>(
    device: vk::Device,
    info: &vk::AcquireNextImageInfoKHR,
    out: *mut u32,
) -> Result<vk::Result> {
    // SAFETY: the handles are live and synchronised by the application.
    unsafe {
        let d = Device::<B>::of(device);
        d.check()?;
        let swapchain: &Swapchain<B> = get(info.swapchain);
        let acquired = swapchain.presenter.shared.acquire(timeout_of(info.timeout));
        let (image, status) = match acquired {
            Err(error) if error.code == vk::Result::TIMEOUT => {
                return Ok(if info.timeout == 0 {
                    vk::Result::NOT_READY
                } else {
                    vk::Result::TIMEOUT
                });
            }
            result => result?,
        };
        // The server is done with the image: nothing is left to wait for.
        let semaphore =
            (!info.semaphore.is_null()).then(|| Semaphore::<B>::point(info.semaphore, 0).0);
        let fence = maybe::<Fence<B>>(info.fence).map(Fence::sync);
        let syncs: Vec<u32> = semaphore.into_iter().chain(fence).collect();
        if !syncs.is_empty() {
            let signalled = B::node(&d.inner).signal_syncs(&syncs);
            signalled.map_err(|e| Error::kernel("signalling an acquired image", e))?;
        }
        *out = image;
        Ok(status_code(status))
    }
}

/// The structures in the chain of a present operation.
struct Extras<'a, B: Backend> {
    regions: &'a [vk::PresentRegionKHR],
    modes: &'a [vk::PresentModeKHR],
    ids: &'a [u64],
    fences: Vec<Option<&'a Fence<B>>>,
    timings: &'a [vk::PresentTimingInfoEXT],
}

impl<'a, B: Backend> Extras<'a, B> {
    unsafe fn of(next: *const c_void) -> Extras<'a, B> {
        // SAFETY: the chain is the application's and valid.
        unsafe {
            let regions: Option<&vk::PresentRegionsKHR> =
                chain::find(next, vk::StructureType::PRESENT_REGIONS_KHR);
            let modes: Option<&vk::SwapchainPresentModeInfoEXT> =
                chain::find(next, vk::StructureType::SWAPCHAIN_PRESENT_MODE_INFO_KHR);
            let ids: Option<&vk::PresentIdKHR> =
                chain::find(next, vk::StructureType::PRESENT_ID_KHR);
            let ids2: Option<&vk::PresentId2KHR> =
                chain::find(next, vk::StructureType::PRESENT_ID_2_KHR);
            let ids2 = ids2.map_or(&[][..], |i| slice(i.present_ids, i.swapchain_count));
            let fences: Option<&vk::SwapchainPresentFenceInfoEXT> =
                chain::find(next, vk::StructureType::SWAPCHAIN_PRESENT_FENCE_INFO_KHR);
            let fences = fences.map_or(&[][..], |f| slice(f.fences, f.swapchain_count));
            let timings: Option<&vk::PresentTimingsInfoEXT> =
                chain::find(next, vk::StructureType::PRESENT_TIMINGS_INFO_EXT);
            Extras {
                timings: timings.map_or(&[], |t| slice(t.timing_infos, t.swapchain_count)),
                regions: regions.map_or(&[], |r| slice(r.regions, r.swapchain_count)),
                modes: modes.map_or(&[], |m| slice(m.present_modes, m.swapchain_count)),
                ids: ids.map_or(ids2, |i| slice(i.present_ids, i.swapchain_count)),
                fences: fences.iter().map(|&fence| maybe(fence)).collect(),
            }
        }
    }

    fn fence(&self, index: usize) -> Option<u32> {
        self.fences.get(index).copied().flatten().map(Fence::sync)
    }

    unsafe fn damage(&self, index: usize) -> Vec<window::Rect> {
        let Some(region) = self.regions.get(index) else { return Vec::new() };
        // SAFETY: the rectangles are the application's and valid.
        let rects = unsafe { slice(region.rectangles, region.rectangle_count) }.iter();
        let rects = rects.map(|r| window::Rect {
            x: r.offset.x,
            y: r.offset.y,
            width: r.extent.width,
            height: r.extent.height,
        });
        rects.collect()
    }
}

/// Presents the images of one or more swapchains.
unsafe fn present<B: Backend>(queue: vk::Queue, info: &vk::PresentInfoKHR) -> Result<vk::Result> {
    // SAFETY: the handles are live and synchronised by the application.
    unsafe {
        let extras = Extras::<B>::of(info.next);
        let chains = slice(info.swapchains, info.swapchain_count);
        let images = slice(info.image_indices, info.swapchain_count);
        let mut frames = Vec::new();
        let mut signals = Vec::new();
        for (k, (&chain, &image)) in chains.iter().zip(images).enumerate() {
            let swapchain: &mut Swapchain<B> = get_mut(chain);
            let id = extras.ids.get(k).copied().unwrap_or(0);
            let timing = extras.timings.get(k);
            let times = match timing {
                Some(t) => swapchain.presenter.shared.lock().timing.record(t, id),
                None => Ok(None),
            };
            let times = times.inspect_err(|_| {
                // Nothing is presented.
                for (&chain, frame) in chains.iter().zip(&frames) {
                    let (chain, frame): (&Swapchain<B>, &Frame) = (get(chain), frame);
                    frame
                        .times
                        .iter()
                        .for_each(|&key| chain.presenter.shared.lock().timing.forget(key));
                }
            })?;
            let point = swapchain.presenter.next_point();
            signals.push(point);
            frames.push(Frame {
                image,
                drawn: point.1,
                damage: extras.damage(k),
                mode: extras.modes.get(k).map(|mode| window_mode(*mode)).transpose()?,
                id,
                target: timing.map(Target::of).unwrap_or_default(),
                times,
                fence: extras.fence(k),
                rows: swapchain.rows.get(image as usize).copied().flatten(),
            });
        }
        let waits = slice(info.wait_semaphores, info.wait_semaphore_count).iter();
        let waits = waits.filter_map(|&semaphore| Semaphore::<B>::take(semaphore, 0)).collect();
        dispatch_mut::<Queue<B>>(queue).submit_nothing(Semaphores { waits, signals })?;
        let mut worst = Ok(vk::Result::SUCCESS);
        for (k, (&chain, frame)) in chains.iter().zip(frames).enumerate() {
            let swapchain: &Swapchain<B> = get(chain);
            swapchain.presenter.present(frame);
            let result = swapchain.presenter.shared.status().map(status_code);
            if !info.results.is_null() {
                *info.results.add(k) =
                    result.as_ref().map_or_else(|error| error.code, |code| *code);
            }
            worst = match (worst, result) {
                (Err(error), _) => Err(error),
                (_, Err(error)) => Err(error),
                (Ok(a), Ok(b)) => Ok(if b == vk::Result::SUCCESS { a } else { b }),
            };
        }
        worst
    }
}

/// Waits until a swapchain has presented the image with an identifier.
unsafe fn wait_for<B: Backend>(
    swapchain: vk::SwapchainKHR,
    id: u64,
    timeout: u64,
) -> Result<vk::Result> {
    // SAFETY: the handle is live.
    let swapchain: &Swapchain<B> = unsafe { get(swapchain) };
    match swapchain.presenter.shared.wait_for(id, timeout_of(timeout)) {
        Err(error) if error.code == vk::Result::TIMEOUT => Ok(vk::Result::TIMEOUT),
        result => Ok(status_code(result?)),
    }
}

entry! {
    /// `vkCreateSwapchainKHR`.
    fn vkCreateSwapchainKHR<B: Backend>(device: vk::Device, info: *const vk::SwapchainCreateInfoKHR, callbacks: *const vk::AllocationCallbacks, out: *mut vk::SwapchainKHR) -> vk::Result {
        unsafe {
            let (d, info) = (Device::<B>::of(device), &*info);
            let allocator = d.allocator(callbacks);
            let old = maybe::<Swapchain<B>>(info.old_swapchain);
            let swapchain = Swapchain::new(d, window_of(info.surface), info, old, allocator)?;
            *out = handle(allocator.create(swapchain)?);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkDestroySwapchainKHR`.
    fn vkDestroySwapchainKHR<B: Backend>(device: vk::Device, swapchain: vk::SwapchainKHR, callbacks: *const vk::AllocationCallbacks) {
        unsafe { Device::<B>::of(device).allocator(callbacks).destroy(swapchain.as_raw() as *mut Swapchain<B>) }
    }

    /// `vkGetSwapchainImagesKHR`.
    fn vkGetSwapchainImagesKHR<B: Backend>(_device: vk::Device, swapchain: vk::SwapchainKHR, count: *mut u32, out: *mut vk::Image) -> vk::Result {
        unsafe {
            let swapchain: &Swapchain<B> = get(swapchain);
            Ok(enumerate(count, out, &swapchain.images.list, |o, image| *o = handle(*image)))
        }
    }

    /// `vkAcquireNextImageKHR`.
    fn vkAcquireNextImageKHR<B: Backend>(device: vk::Device, swapchain: vk::SwapchainKHR, timeout: u64, semaphore: vk::Semaphore, fence: vk::Fence, out: *mut u32) -> vk::Result {
        unsafe { acquire::<B>(device, &vk::AcquireNextImageInfoKHR { swapchain, timeout, semaphore, fence, ..Default::default() }, out) }
    }

    /// `vkAcquireNextImage2KHR`.
    fn vkAcquireNextImage2KHR<B: Backend>(device: vk::Device, info: *const vk::AcquireNextImageInfoKHR, out: *mut u32) -> vk::Result {
        unsafe { acquire::<B>(device, &*info, out) }
    }

    /// `vkQueuePresentKHR`.
    fn vkQueuePresentKHR<B: Backend>(queue: vk::Queue, info: *const vk::PresentInfoKHR) -> vk::Result {
        unsafe { present::<B>(queue, &*info) }
    }

    /// `vkReleaseSwapchainImagesKHR`.
    fn vkReleaseSwapchainImagesKHR<B: Backend>(_device: vk::Device, info: *const vk::ReleaseSwapchainImagesInfoKHR) -> vk::Result {
        unsafe {
            let swapchain: &Swapchain<B> = get((*info).swapchain);
            swapchain.presenter.shared.chain.release(slice((*info).image_indices, (*info).image_index_count))?;
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkWaitForPresentKHR`.
    fn vkWaitForPresentKHR<B: Backend>(_device: vk::Device, swapchain: vk::SwapchainKHR, id: u64, timeout: u64) -> vk::Result {
        unsafe { wait_for::<B>(swapchain, id, timeout) }
    }

    /// `vkWaitForPresent2KHR`.
    fn vkWaitForPresent2KHR<B: Backend>(_device: vk::Device, swapchain: vk::SwapchainKHR, info: *const vk::PresentWait2InfoKHR) -> vk::Result {
        unsafe { wait_for::<B>(swapchain, (*info).present_id, (*info).timeout) }
    }

    /// `vkGetDeviceGroupPresentCapabilitiesKHR`: the one device presents its own images.
    fn vkGetDeviceGroupPresentCapabilitiesKHR<B: Backend>(_device: vk::Device, out: *mut vk::DeviceGroupPresentCapabilitiesKHR) -> vk::Result {
        unsafe {
            (*out).present_mask = Default::default();
            (&mut (*out).present_mask)[0] = 1;
            (*out).modes = vk::DeviceGroupPresentModeFlagsKHR::LOCAL;
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkGetDeviceGroupSurfacePresentModesKHR`.
    fn vkGetDeviceGroupSurfacePresentModesKHR<B: Backend>(_device: vk::Device, _surface: vk::SurfaceKHR, out: *mut vk::DeviceGroupPresentModeFlagsKHR) -> vk::Result {
        unsafe { *out = vk::DeviceGroupPresentModeFlagsKHR::LOCAL }
        Ok(vk::Result::SUCCESS)
    }
}
