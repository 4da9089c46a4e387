//! Swapchains by the driver's entry points, without a loader and without a window: what windows show is
//! tested in `tepui-wsi` and by programs.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use tepui_drm::monotonic_ns;
use tepui_vulkan::vk::{self, Handle};

use crate::{DeviceOnly, call, ok};

const SECOND: u64 = 1_000_000_000;
const FORMAT: vk::Format = vk::Format::B8G8R8A8_UNORM;
const SIZE: vk::Extent2D = vk::Extent2D { width: 70, height: 30 };

/// An instance with a device and a headless surface.
struct Setup {
    instance: vk::Instance,
    physical: vk::PhysicalDevice,
    device: vk::Device,
    queue: vk::Queue,
    surface: vk::SurfaceKHR,
    /// Destroyed last.
    only: DeviceOnly,
}

impl Setup {
    fn new() -> Setup {
        let only = DeviceOnly::new(&[
            c"VK_KHR_swapchain",
            c"VK_EXT_swapchain_maintenance1",
            c"VK_KHR_present_id",
            c"VK_KHR_present_wait",
            c"VK_KHR_incremental_present",
            c"VK_KHR_swapchain_mutable_format",
            c"VK_KHR_present_id2",
            c"VK_EXT_present_timing",
        ]);
        let (instance, physical) = (only.instance, only.physical);
        let info = vk::HeadlessSurfaceCreateInfoEXT::default();
        let mut surface = vk::SurfaceKHR::null();
        ok(call!(
            instance,
            PFN_vkCreateHeadlessSurfaceEXT,
            vkCreateHeadlessSurfaceEXT(instance, &info, null(), &mut surface)
        ));
        let (device, queue) = (only.device, only.queue);
        Setup { instance, physical, device, queue, surface, only }
    }

    fn swapchain(&self, count: u32, old: vk::SwapchainKHR) -> Result<vk::SwapchainKHR, vk::Result> {
        let info = vk::SwapchainCreateInfoKHR {
            flags: vk::SwapchainCreateFlagsKHR::MUTABLE_FORMAT,
            surface: self.surface,
            min_image_count: count,
            image_format: FORMAT,
            image_extent: SIZE,
            image_array_layers: 1,
            image_usage: USAGE,
            pre_transform: vk::SurfaceTransformFlagsKHR::IDENTITY,
            composite_alpha: vk::CompositeAlphaFlagsKHR::OPAQUE,
            present_mode: vk::PresentModeKHR::FIFO,
            old_swapchain: old,
            ..Default::default()
        };
        let mut swapchain = vk::SwapchainKHR::null();
        let result = call!(
            self.instance,
            PFN_vkCreateSwapchainKHR,
            vkCreateSwapchainKHR(self.device, &info, null(), &mut swapchain)
        );
        if result == vk::Result::SUCCESS { Ok(swapchain) } else { Err(result) }
    }

    fn destroy_swapchain(&self, swapchain: vk::SwapchainKHR) {
        call!(
            self.instance,
            PFN_vkDestroySwapchainKHR,
            vkDestroySwapchainKHR(self.device, swapchain, null())
        );
    }

    fn images(&self, swapchain: vk::SwapchainKHR) -> Vec<vk::Image> {
        let mut count = 0;
        let get = |out: *mut vk::Image, count: &mut u32| {
            call!(
                self.instance,
                PFN_vkGetSwapchainImagesKHR,
                vkGetSwapchainImagesKHR(self.device, swapchain, count, out)
            )
        };
        ok(get(null_mut(), &mut count));
        let mut images = vec![vk::Image::null(); count as usize];
        ok(get(images.as_mut_ptr(), &mut count));
        images
    }

    fn fence(&self) -> vk::Fence {
        let (info, mut fence) = (vk::FenceCreateInfo::default(), vk::Fence::null());
        ok(call!(
            self.instance,
            PFN_vkCreateFence,
            vkCreateFence(self.device, &info, null(), &mut fence)
        ));
        fence
    }

    /// Waits for a fence and destroys it.
    fn finish(&self, fence: vk::Fence) {
        ok(call!(
            self.instance,
            PFN_vkWaitForFences,
            vkWaitForFences(self.device, 1, &fence, 1, 10 * SECOND)
        ));
        call!(self.instance, PFN_vkDestroyFence, vkDestroyFence(self.device, fence, null()));
    }

    fn semaphore(&self) -> vk::Semaphore {
        let (info, mut semaphore) = (vk::SemaphoreCreateInfo::default(), vk::Semaphore::null());
        ok(call!(
            self.instance,
            PFN_vkCreateSemaphore,
            vkCreateSemaphore(self.device, &info, null(), &mut semaphore)
        ));
        semaphore
    }

    fn destroy_semaphore(&self, semaphore: vk::Semaphore) {
        call!(
            self.instance,
            PFN_vkDestroySemaphore,
            vkDestroySemaphore(self.device, semaphore, null())
        );
    }

    /// Acquires an image: the result, and the index.
    fn acquire(
        &self,
        swapchain: vk::SwapchainKHR,
        timeout: u64,
        semaphore: vk::Semaphore,
        fence: vk::Fence,
    ) -> (vk::Result, u32) {
        let mut index = u32::MAX;
        let result = call!(
            self.instance,
            PFN_vkAcquireNextImageKHR,
            vkAcquireNextImageKHR(self.device, swapchain, timeout, semaphore, fence, &mut index)
        );
        (result, index)
    }

    /// Acquires an image and waits until it may be written.
    fn acquired(&self, swapchain: vk::SwapchainKHR) -> u32 {
        let fence = self.fence();
        let (result, index) = self.acquire(swapchain, 10 * SECOND, vk::Semaphore::null(), fence);
        ok(result);
        self.finish(fence);
        index
    }

    /// Presents an image, with a chain of extensions.
    fn present(
        &self,
        swapchain: vk::SwapchainKHR,
        index: u32,
        waits: &[vk::Semaphore],
        next: *const c_void,
    ) -> vk::Result {
        let info = vk::PresentInfoKHR {
            next,
            wait_semaphore_count: waits.len() as u32,
            wait_semaphores: waits.as_ptr(),
            swapchain_count: 1,
            swapchains: &raw const swapchain,
            image_indices: &raw const index,
            ..Default::default()
        };
        call!(self.instance, PFN_vkQueuePresentKHR, vkQueuePresentKHR(self.queue, &info))
    }

    /// Submits nothing but a wait and a signal.
    fn submit(&self, wait: vk::Semaphore, signal: vk::Semaphore) {
        let stage = vk::PipelineStageFlags::ALL_COMMANDS;
        let info = vk::SubmitInfo {
            wait_semaphore_count: 1,
            wait_semaphores: &raw const wait,
            wait_dst_stage_mask: &raw const stage,
            signal_semaphore_count: 1,
            signal_semaphores: &raw const signal,
            ..Default::default()
        };
        ok(call!(
            self.instance,
            PFN_vkQueueSubmit,
            vkQueueSubmit(self.queue, 1, &info, vk::Fence::null())
        ));
    }

    fn wait_for(&self, swapchain: vk::SwapchainKHR, id: u64, timeout: u64) -> vk::Result {
        call!(
            self.instance,
            PFN_vkWaitForPresentKHR,
            vkWaitForPresentKHR(self.device, swapchain, id, timeout)
        )
    }
}

const USAGE: vk::ImageUsageFlags = vk::ImageUsageFlags::from_bits_truncate(
    vk::ImageUsageFlags::COLOR_ATTACHMENT.bits() | vk::ImageUsageFlags::TRANSFER_DST.bits(),
);

impl Drop for Setup {
    fn drop(&mut self) {
        let i = self.only.instance;
        ok(call!(i, PFN_vkDeviceWaitIdle, vkDeviceWaitIdle(self.device)));
        call!(i, PFN_vkDestroySurfaceKHR, vkDestroySurfaceKHR(i, self.surface, null()));
    }
}

fn none() -> vk::SwapchainKHR {
    vk::SwapchainKHR::null()
}

#[test]
fn surfaces_say_what_swapchains_they_take() {
    let s = Setup::new();
    let i = s.instance;
    let mut supported = 0;
    ok(call!(
        i,
        PFN_vkGetPhysicalDeviceSurfaceSupportKHR,
        vkGetPhysicalDeviceSurfaceSupportKHR(s.physical, 0, s.surface, &mut supported)
    ));
    assert_eq!(supported, 1);
    let mode = vk::SurfacePresentModeEXT {
        present_mode: vk::PresentModeKHR::MAILBOX,
        ..Default::default()
    };
    let info = vk::PhysicalDeviceSurfaceInfo2KHR {
        next: (&raw const mode).cast(),
        surface: s.surface,
        ..Default::default()
    };
    let mut modes = [vk::PresentModeKHR::IMMEDIATE; 8];
    let mut compatible = vk::SurfacePresentModeCompatibilityEXT {
        present_mode_count: 8,
        present_modes: modes.as_mut_ptr(),
        ..Default::default()
    };
    let mut out =
        vk::SurfaceCapabilities2KHR { next: (&raw mut compatible).cast(), ..Default::default() };
    ok(call!(
        i,
        PFN_vkGetPhysicalDeviceSurfaceCapabilities2KHR,
        vkGetPhysicalDeviceSurfaceCapabilities2KHR(s.physical, &info, &mut out)
    ));
    let c = out.surface_capabilities;
    assert_eq!(c.current_extent, vk::Extent2D { width: u32::MAX, height: u32::MAX });
    assert_eq!(c.min_image_count, 3, "of the mailbox");
    assert!(c.supported_usage_flags.contains(USAGE));
    assert!(c.supported_usage_flags.contains(vk::ImageUsageFlags::STORAGE));
    assert_eq!(compatible.present_mode_count, 3);
    assert!(modes[..3].contains(&vk::PresentModeKHR::FIFO));
    let mut formats = [vk::SurfaceFormatKHR::default(); 16];
    let mut count = 16;
    ok(call!(
        i,
        PFN_vkGetPhysicalDeviceSurfaceFormatsKHR,
        vkGetPhysicalDeviceSurfaceFormatsKHR(
            s.physical,
            s.surface,
            &mut count,
            formats.as_mut_ptr()
        )
    ));
    let formats: Vec<_> = formats[..count as usize].iter().map(|f| f.format).collect();
    assert_eq!(formats[..2], [vk::Format::B8G8R8A8_SRGB, vk::Format::B8G8R8A8_UNORM]);
    // Fewer than there are: as many as there is room for.
    count = 1;
    let mut one = vk::PresentModeKHR::IMMEDIATE;
    let result = call!(
        i,
        PFN_vkGetPhysicalDeviceSurfacePresentModesKHR,
        vkGetPhysicalDeviceSurfacePresentModesKHR(s.physical, s.surface, &mut count, &mut one)
    );
    assert_eq!((result, count), (vk::Result::INCOMPLETE, 1));
}

#[test]
fn images_go_around() {
    let s = Setup::new();
    let swapchain = s.swapchain(2, none()).unwrap();
    assert_eq!(s.images(swapchain).len(), 2);
    let nobody = (vk::Semaphore::null(), vk::Fence::null());
    for frame in 1..=20u64 {
        // The sequence of programs: acquire with a semaphore, submit, present.
        let (available, drawn) = (s.semaphore(), s.semaphore());
        let (result, index) = s.acquire(swapchain, 10 * SECOND, available, nobody.1);
        ok(result);
        s.submit(available, drawn);
        let fence = s.fence();
        let fences = vk::SwapchainPresentFenceInfoEXT {
            swapchain_count: 1,
            fences: &raw const fence,
            ..Default::default()
        };
        let id = frame * 10;
        let ids = vk::PresentIdKHR {
            next: (&raw const fences).cast(),
            swapchain_count: 1,
            present_ids: &raw const id,
            ..Default::default()
        };
        let mode = vk::PresentModeKHR::MAILBOX;
        let modes = vk::SwapchainPresentModeInfoEXT {
            next: (&raw const ids).cast(),
            swapchain_count: 1,
            present_modes: &raw const mode,
            ..Default::default()
        };
        ok(s.present(swapchain, index, &[drawn], (&raw const modes).cast()));
        s.finish(fence);
        // Numbers between those of frames are waited for as the next.
        ok(s.wait_for(swapchain, id - 5, 10 * SECOND));
        ok(s.wait_for(swapchain, id, 10 * SECOND));
        assert_eq!(s.wait_for(swapchain, id + 1, 1000), vk::Result::TIMEOUT);
        s.destroy_semaphore(available);
        s.destroy_semaphore(drawn);
    }
    // When all are acquired there is none, until one is released.
    let (one, two) = (s.acquired(swapchain), s.acquired(swapchain));
    assert_ne!(one, two);
    assert_eq!(s.acquire(swapchain, 0, nobody.0, s.fence()).0, vk::Result::NOT_READY);
    assert_eq!(s.acquire(swapchain, 1000, nobody.0, s.fence()).0, vk::Result::TIMEOUT);
    let release = vk::ReleaseSwapchainImagesInfoEXT {
        swapchain,
        image_index_count: 1,
        image_indices: &raw const two,
        ..Default::default()
    };
    ok(call!(
        s.instance,
        PFN_vkReleaseSwapchainImagesEXT,
        vkReleaseSwapchainImagesEXT(s.device, &release)
    ));
    assert_eq!(s.acquired(swapchain), two);
    s.destroy_swapchain(swapchain);
}

#[test]
fn a_new_swapchain_replaces_the_old() {
    let s = Setup::new();
    let old = s.swapchain(2, none()).unwrap();
    assert_eq!(s.swapchain(2, none()), Err(vk::Result::ERROR_NATIVE_WINDOW_IN_USE_KHR));
    let held = s.acquired(old);
    let new = s.swapchain(3, old).unwrap();
    let nobody = (vk::Semaphore::null(), vk::Fence::null());
    assert_eq!(s.acquire(old, SECOND, nobody.0, nobody.1).0, vk::Result::ERROR_OUT_OF_DATE_KHR);
    assert_eq!(s.present(old, held, &[], null()), vk::Result::ERROR_OUT_OF_DATE_KHR);
    let index = s.acquired(new);
    ok(s.present(new, index, &[], null()));
    s.destroy_swapchain(old);
    s.destroy_swapchain(new);
    s.destroy_swapchain(vk::SwapchainKHR::null());
}

/// An image of the application's bound to the memory of a swapchain's image is that image.
#[test]
fn images_can_be_bound_to_a_swapchains_memory() {
    let s = Setup::new();
    let swapchain = s.swapchain(2, none()).unwrap();
    let own = s.images(swapchain)[1];
    let chain = vk::ImageSwapchainCreateInfoKHR { swapchain, ..Default::default() };
    let info = vk::ImageCreateInfo {
        next: (&raw const chain).cast(),
        flags: vk::ImageCreateFlags::MUTABLE_FORMAT,
        image_type: vk::ImageType::_2D,
        format: FORMAT,
        extent: vk::Extent3D { width: SIZE.width, height: SIZE.height, depth: 1 },
        mip_levels: 1,
        array_layers: 1,
        samples: vk::SampleCountFlags::_1,
        usage: USAGE,
        ..Default::default()
    };
    let mut image = vk::Image::null();
    ok(call!(s.instance, PFN_vkCreateImage, vkCreateImage(s.device, &info, null(), &mut image)));
    let place =
        vk::BindImageMemorySwapchainInfoKHR { swapchain, image_index: 1, ..Default::default() };
    let bind =
        vk::BindImageMemoryInfo { next: (&raw const place).cast(), image, ..Default::default() };
    ok(call!(s.instance, PFN_vkBindImageMemory2, vkBindImageMemory2(s.device, 1, &bind)));
    let layout = |image| {
        let mut layout = vk::SubresourceLayout::default();
        let part =
            vk::ImageSubresource { aspect_mask: vk::ImageAspectFlags::COLOR, ..Default::default() };
        call!(
            s.instance,
            PFN_vkGetImageSubresourceLayout,
            vkGetImageSubresourceLayout(s.device, image, &part, &mut layout)
        );
        layout
    };
    assert_eq!(layout(image).row_pitch, layout(own).row_pitch);
    assert!(layout(image).row_pitch >= u64::from(SIZE.width) * 4);
    let address = |image: vk::Image| {
        // SAFETY: handles of the driver are its objects.
        let image: &tepui_vulkan::image::Image<tepui_agx_driver::Agx> =
            unsafe { tepui_vulkan::object::get(image) };
        image.addresses[0]
    };
    assert_eq!(address(image), address(own));
    call!(s.instance, PFN_vkDestroyImage, vkDestroyImage(s.device, image, null()));
    s.destroy_swapchain(swapchain);
}

#[test]
fn swapchains_leave_nothing_behind() {
    // Alone in a process: other tests have files and threads, too.
    const ALONE: &str = "TEPUI_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let mut this = std::process::Command::new(std::env::current_exe().unwrap());
        this.args(["--exact", "swapchains_leave_nothing_behind"]).env(ALONE, "1");
        let output = this.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    let s = Setup::new();
    let count = |folder: &str| std::fs::read_dir(folder).unwrap().count();
    let run = |times: u32| {
        for n in 0..times {
            let swapchain = s.swapchain(2 + n % 3, none()).unwrap();
            let index = s.acquired(swapchain);
            ok(s.present(swapchain, index, &[], null()));
            s.destroy_swapchain(swapchain);
        }
    };
    run(20);
    let before = (count("/proc/self/fd"), count("/proc/self/task"));
    run(300);
    assert_eq!(before, (count("/proc/self/fd"), count("/proc/self/task")));
}

/// The times of frames that are known: their numbers, targets, and stages with times.
fn times(
    s: &Setup,
    swapchain: vk::SwapchainKHR,
    room: usize,
    result: vk::Result,
) -> Vec<(u64, u64, Vec<vk::PresentStageTimeEXT>)> {
    let mut stages = vec![[vk::PresentStageTimeEXT::default(); 4]; room];
    let mut list: Vec<_> = stages
        .iter_mut()
        .map(|stages| vk::PastPresentationTimingEXT {
            present_stage_count: 4,
            present_stages: stages.as_mut_ptr(),
            ..Default::default()
        })
        .collect();
    let info = vk::PastPresentationTimingInfoEXT { swapchain, ..Default::default() };
    let mut all = vk::PastPresentationTimingPropertiesEXT {
        presentation_timing_count: room as u32,
        presentation_timings: list.as_mut_ptr(),
        ..Default::default()
    };
    let got = call!(
        s.instance,
        PFN_vkGetPastPresentationTimingEXT,
        vkGetPastPresentationTimingEXT(s.device, &info, &mut all)
    );
    assert_eq!(got, result);
    let count = all.presentation_timing_count as usize;
    let times = list[..count].iter().zip(&stages).map(|(t, stages)| {
        assert_eq!((t.report_complete, t.time_domain), (1, vk::TimeDomainKHR::CLOCK_MONOTONIC));
        (t.present_id, t.target_time, stages[..t.present_stage_count as usize].to_vec())
    });
    times.collect()
}

#[test]
fn frames_have_times() {
    use vk::PresentStageFlagsEXT as Stage;
    const MS: u64 = 1_000_000;
    let s = Setup::new();
    let swapchain = s.swapchain(3, none()).unwrap();
    let mut id = vk::TimeDomainKHR::DEVICE;
    let (mut domain_id, mut counter) = (0, 0);
    let mut domains = vk::SwapchainTimeDomainPropertiesEXT {
        time_domain_count: 1,
        time_domains: &raw mut id,
        time_domain_ids: &raw mut domain_id,
        ..Default::default()
    };
    ok(call!(
        s.instance,
        PFN_vkGetSwapchainTimeDomainPropertiesEXT,
        vkGetSwapchainTimeDomainPropertiesEXT(s.device, swapchain, &mut domains, &mut counter)
    ));
    assert_eq!((domains.time_domain_count, id), (1, vk::TimeDomainKHR::CLOCK_MONOTONIC));
    let size = |n| {
        call!(
            s.instance,
            PFN_vkSetSwapchainPresentTimingQueueSizeEXT,
            vkSetSwapchainPresentTimingQueueSizeEXT(s.device, swapchain, n)
        )
    };
    let queries = Stage::QUEUE_OPERATIONS_END | Stage::REQUEST_DEQUEUED;
    let present = |id: u64, target_time: u64, flags: vk::PresentTimingInfoFlagsEXT| {
        let timing = vk::PresentTimingInfoEXT {
            flags,
            target_time,
            time_domain_id: domain_id,
            present_stage_queries: queries,
            ..Default::default()
        };
        let timings = vk::PresentTimingsInfoEXT {
            swapchain_count: 1,
            timing_infos: &raw const timing,
            ..Default::default()
        };
        let ids = vk::PresentId2KHR {
            next: (&raw const timings).cast(),
            swapchain_count: 1,
            present_ids: &raw const id,
            ..Default::default()
        };
        s.present(swapchain, s.acquired(swapchain), &[], (&raw const ids).cast())
    };
    let absolute = vk::PresentTimingInfoFlagsEXT::empty();
    // There is room for the times of two frames.
    ok(size(2));
    let start = monotonic_ns();
    let first = start + 120 * MS;
    ok(present(7, first, absolute));
    ok(present(9, 80 * MS, vk::PresentTimingInfoFlagsEXT::PRESENT_AT_RELATIVE_TIME));
    assert_eq!(present(11, 0, absolute), vk::Result::ERROR_PRESENT_TIMING_QUEUE_FULL_EXT);
    assert_eq!(size(1), vk::Result::NOT_READY);
    ok(s.wait_for(swapchain, 9, 10 * SECOND));
    assert!(monotonic_ns() >= first + 80 * MS, "frames come at their times");
    // An array that is too small for all timings leaves the rest for the next call.
    let one = times(&s, swapchain, 1, vk::Result::INCOMPLETE);
    let two = times(&s, swapchain, 4, vk::Result::SUCCESS);
    assert!(times(&s, swapchain, 4, vk::Result::SUCCESS).is_empty(), "once each");
    let [(7, target, a)] = &one[..] else { panic!("{one:?}") };
    let [(9, _, b)] = &two[..] else { panic!("{two:?}") };
    assert_eq!(*target, first);
    for stages in [a, b] {
        let named: Vec<_> = stages.iter().map(|t| t.stage).collect();
        assert_eq!(named, [Stage::QUEUE_OPERATIONS_END, Stage::REQUEST_DEQUEUED]);
    }
    assert!(a[0].time >= start && a[0].time < first, "drawn before its time");
    assert!(a[1].time >= first && b[1].time >= a[1].time + 80 * MS);
    // A frame for next year does not hold up the end of its swapchain.
    ok(present(13, monotonic_ns() + 365 * 24 * 3600 * SECOND, absolute));
    s.destroy_swapchain(swapchain);
}
