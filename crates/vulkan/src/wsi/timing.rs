//! When frames are shown, and when they were (`VK_EXT_present_timing`).
//!
//! The presenting thread waits for a frame's time before it hands the frame over, whatever the window system.

use vulkanalia_sys as vk;

use super::swapchain::Swapchain;
use crate::backend::Backend;
use crate::entry;
use crate::object::get;

/// The number of the only time domain, `CLOCK_MONOTONIC`.
const DOMAIN_ID: u64 = 1;

entry! {
    /// `vkSetSwapchainPresentTimingQueueSizeEXT`.
    fn vkSetSwapchainPresentTimingQueueSizeEXT<B: Backend>(_device: vk::Device, swapchain: vk::SwapchainKHR, size: u32) -> vk::Result {
        unsafe {
            let timing = &mut get::<Swapchain<B>>(swapchain).presenter.shared.lock().timing;
            if timing.records.len() > size as usize {
                return Ok(vk::Result::NOT_READY);
            }
            timing.capacity = size as usize;
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkGetSwapchainTimingPropertiesEXT`.
    fn vkGetSwapchainTimingPropertiesEXT<B: Backend>(_device: vk::Device, swapchain: vk::SwapchainKHR, out: *mut vk::SwapchainTimingPropertiesEXT, counter: *mut u64) -> vk::Result {
        unsafe {
            let chain = &get::<Swapchain<B>>(swapchain).presenter.shared.chain;
            // The refresh duration is unknown until the first events arrive; 0 means unknown.
            let refresh = chain.refresh_ns().unwrap_or(0);
            ((*out).refresh_duration, (*out).refresh_interval) = (refresh, refresh);
            if let Some(counter) = counter.as_mut() {
                *counter = refresh;
            }
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkGetSwapchainTimeDomainPropertiesEXT`.
    fn vkGetSwapchainTimeDomainPropertiesEXT<B: Backend>(_device: vk::Device, _swapchain: vk::SwapchainKHR, out: *mut vk::SwapchainTimeDomainPropertiesEXT, counter: *mut u64) -> vk::Result {
        unsafe {
            let out = &mut *out;
            if let Some(counter) = counter.as_mut() {
                *counter = DOMAIN_ID;
            }
            let lists = !out.time_domains.is_null() || !out.time_domain_ids.is_null();
            if lists && out.time_domain_count == 0 {
                return Ok(vk::Result::INCOMPLETE);
            }
            out.time_domain_count = 1;
            if let Some(domain) = out.time_domains.as_mut() {
                *domain = vk::TimeDomainKHR::CLOCK_MONOTONIC;
            }
            if let Some(id) = out.time_domain_ids.as_mut() {
                *id = DOMAIN_ID;
            }
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkGetPastPresentationTimingEXT`.
    fn vkGetPastPresentationTimingEXT<B: Backend>(_device: vk::Device, info: *const vk::PastPresentationTimingInfoEXT, out: *mut vk::PastPresentationTimingPropertiesEXT) -> vk::Result {
        unsafe {
            use vk::PastPresentationTimingFlagsEXT as F;
            let (info, out) = (&*info, &mut *out);
            let shared = &get::<Swapchain<B>>(info.swapchain).presenter.shared;
            (out.timing_properties_counter, out.time_domains_counter) = (shared.chain.refresh_ns().unwrap_or(0), DOMAIN_ID);
            let timing = &mut shared.lock().timing;
            timing.update(&shared.chain);
            let partial = info.flags.contains(F::ALLOW_PARTIAL_RESULTS);
            let any_order = info.flags.contains(F::ALLOW_OUT_OF_ORDER_RESULTS);
            let mut keys = Vec::new();
            for r in &timing.records {
                let known = r.is_complete() || partial && r.times().iter().any(|s| s.time != 0);
                match (known, any_order) {
                    (true, _) => keys.push(r.key),
                    (false, true) => {}
                    (false, false) => break,
                }
            }
            if out.presentation_timings.is_null() {
                out.presentation_timing_count = keys.len() as u32;
                return Ok(vk::Result::SUCCESS);
            }
            let room = (out.presentation_timing_count as usize).min(keys.len());
            for (k, &key) in keys[..room].iter().enumerate() {
                let Some(r) = timing.of(Some(key)) else { continue };
                let to = &mut *out.presentation_timings.add(k);
                (to.present_id, to.target_time) = (r.present_id, r.target);
                (to.time_domain, to.time_domain_id) = (vk::TimeDomainKHR::CLOCK_MONOTONIC, DOMAIN_ID);
                to.report_complete = u32::from(r.is_complete());
                let times = r.times();
                let stages = if to.present_stages.is_null() { 0 } else { times.len().min(to.present_stage_count as usize) };
                for (k, time) in times[..stages].iter().enumerate() {
                    *to.present_stages.add(k) = *time;
                }
                to.present_stage_count = stages as u32;
                if r.is_complete() {
                    timing.forget(key);
                }
            }
            out.presentation_timing_count = room as u32;
            Ok(if room < keys.len() { vk::Result::INCOMPLETE } else { vk::Result::SUCCESS })
        }
    }
}
