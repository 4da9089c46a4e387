//! When frames are shown, and when they were (`VK_EXT_present_timing`).
//!
//! The presenting thread waits for a frame's time before it hands the frame over, whatever the window system. All times are those
//! of `CLOCK_MONOTONIC`.

use std::collections::VecDeque;
use std::sync::PoisonError;
use std::time::Duration;

use tepui_drm::monotonic_ns;
use tepui_wsi as window;
use vulkanalia_sys as vk;

use super::presenter::Shared;
use super::swapchain::Swapchain;
use crate::backend::Backend;
use crate::entry;
use crate::error::{Error, Result};
use crate::object::get;

/// The number of the only time domain, `CLOCK_MONOTONIC`.
const DOMAIN_ID: u64 = 1;
/// The stages whose times the driver knows by itself.
const OWN_STAGES: vk::PresentStageFlagsEXT = vk::PresentStageFlagsEXT::QUEUE_OPERATIONS_END
    .union(vk::PresentStageFlagsEXT::REQUEST_DEQUEUED);
/// Maximum wait for the previous frame to be shown, for frames whose time is relative to it.
const PREVIOUS: Duration = Duration::from_secs(1);

/// Times that a surface reports.
pub(super) fn capabilities(surface: &window::Surface) -> vk::PresentStageFlagsEXT {
    match surface.tells_times() {
        true => OWN_STAGES | vk::PresentStageFlagsEXT::IMAGE_FIRST_PIXEL_OUT,
        false => OWN_STAGES,
    }
}

/// The earliest time of a frame.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Target {
    /// Nanoseconds; 0 for none.
    ns: u64,
    /// Whether they are relative to the presentation of the previous frame.
    relative: bool,
    /// Whether the nearest refresh is acceptable.
    nearest: bool,
}

impl Target {
    pub(super) fn of(info: &vk::PresentTimingInfoEXT) -> Target {
        use vk::PresentTimingInfoFlagsEXT as F;
        Target {
            ns: info.target_time,
            relative: info.flags.contains(F::PRESENT_AT_RELATIVE_TIME),
            nearest: info.flags.contains(F::PRESENT_AT_NEAREST_REFRESH_CYCLE),
        }
    }
}

/// The times of a frame that the application asked for.
#[derive(Debug)]
struct Record {
    /// Counts the records of the swapchain.
    key: u64,
    present_id: u64,
    target: u64,
    stages: vk::PresentStageFlagsEXT,
    queue_end: u64,
    dequeued: u64,
    /// The swapchain's number of the frame, once it is handed over.
    serial: Option<u64>,
    /// When its first pixel was shown.
    shown: u64,
    /// Whether the record is complete.
    ended: bool,
}

impl Record {
    /// The stages and their times; unfinished ones have 0.
    fn times(&self) -> Vec<vk::PresentStageTimeEXT> {
        use vk::PresentStageFlagsEXT as S;
        let all = [
            (S::QUEUE_OPERATIONS_END, self.queue_end),
            (S::REQUEST_DEQUEUED, self.dequeued),
            (S::IMAGE_FIRST_PIXEL_OUT, self.shown),
        ];
        all.into_iter()
            .filter(|s| self.stages.contains(s.0))
            .map(|(stage, time)| vk::PresentStageTimeEXT { stage, time })
            .collect()
    }

    fn is_complete(&self) -> bool {
        self.ended || self.times().iter().all(|s| s.time != 0)
    }
}

/// The times of a swapchain's frames.
#[derive(Debug, Default)]
pub(super) struct Timing {
    records: VecDeque<Record>,
    /// Records that there may be.
    capacity: usize,
    /// The key of the newest record.
    newest: u64,
}

impl Timing {
    /// Makes a record for a frame whose times are asked for; gives its key.
    pub(super) fn record(
        &mut self,
        info: &vk::PresentTimingInfoEXT,
        present_id: u64,
    ) -> Result<Option<u64>> {
        let stages = info.present_stage_queries;
        if stages.is_empty() {
            return Ok(None);
        }
        if self.records.len() >= self.capacity {
            let full = vk::Result::ERROR_PRESENT_TIMING_QUEUE_FULL_EXT;
            return Err(Error::new(full, "no room for another frame's times"));
        }
        self.newest += 1;
        self.records.push_back(Record {
            key: self.newest,
            present_id,
            target: info.target_time,
            stages,
            queue_end: 0,
            dequeued: 0,
            serial: None,
            shown: 0,
            ended: false,
        });
        Ok(Some(self.newest))
    }

    /// Forgets the record of a frame that is not presented.
    pub(super) fn forget(&mut self, key: u64) {
        self.records.retain(|r| r.key != key);
    }

    fn of(&mut self, key: Option<u64>) -> Option<&mut Record> {
        let key = key?;
        self.records.iter_mut().find(|r| r.key == key)
    }

    /// The GPU has drawn a frame.
    pub(super) fn drawn(&mut self, key: Option<u64>) {
        if let Some(r) = self.of(key) {
            r.queue_end = monotonic_ns();
        }
    }

    /// A frame was handed over; without a number it will not be shown.
    pub(super) fn handed_over(&mut self, key: Option<u64>, serial: Option<u64>) {
        if let Some(r) = self.of(key) {
            (r.dequeued, r.serial, r.ended) = (monotonic_ns(), serial, serial.is_none());
        }
    }

    /// Asks for when frames were shown.
    fn update(&mut self, chain: &window::Swapchain) {
        for r in &mut self.records {
            if let (0, Some(serial)) = (r.shown, r.serial) {
                r.shown = chain.shown_time(serial).unwrap_or(0);
            }
        }
    }
}

impl<B: Backend> Shared<B> {
    /// Waits for the time of a frame; `before` is the number of the frame before, and when it was handed over.
    pub(super) fn wait_for_time(&self, target: Target, before: Option<(u64, u64)>) -> Result<()> {
        if target.ns == 0 {
            return Ok(());
        }
        let mut at = target.ns;
        if target.relative {
            let Some((serial, handed_over)) = before else { return Ok(()) };
            let shown = match self.chain.wait_shown(serial, PREVIOUS) {
                Ok(_) => self.chain.shown_time(serial),
                Err(_) => None,
            };
            at = at.saturating_add(shown.unwrap_or(handed_over));
        }
        if target.nearest {
            at = at.saturating_sub(self.chain.refresh_ns().unwrap_or(0) / 2);
        }
        loop {
            self.check()?;
            let left = at.saturating_sub(monotonic_ns());
            let state = self.lock();
            // The application does not wait for the times of frames when it destroys their swapchain.
            if left == 0 || state.closing {
                return Ok(());
            }
            let left = Duration::from_nanos(left).min(super::presenter::STEP);
            drop(self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner));
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn info(stages: vk::PresentStageFlagsEXT) -> vk::PresentTimingInfoEXT {
        vk::PresentTimingInfoEXT { present_stage_queries: stages, ..Default::default() }
    }

    #[test]
    fn records_have_room_and_end() {
        use vk::PresentStageFlagsEXT as S;
        let mut t = Timing { capacity: 2, ..Timing::default() };
        assert!(matches!(t.record(&info(S::empty()), 1), Ok(None)), "nothing is asked for");
        let first = t.record(&info(S::QUEUE_OPERATIONS_END), 1).unwrap();
        let second = t.record(&info(OWN_STAGES), 2).unwrap();
        let full = t.record(&info(OWN_STAGES), 3).map_err(|e| e.code);
        assert_eq!(full, Err(vk::Result::ERROR_PRESENT_TIMING_QUEUE_FULL_EXT));
        t.drawn(first);
        t.drawn(second);
        let complete: Vec<bool> = t.records.iter().map(Record::is_complete).collect();
        assert_eq!(complete, [true, false]);
        t.handed_over(second, None);
        assert!(t.records[1].is_complete(), "a frame that is not shown ends");
        t.forget(first.unwrap());
        assert!(t.record(&info(OWN_STAGES), 4).is_ok());
    }
}
