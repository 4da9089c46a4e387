//! Times of frames: those that applications ask for, and those at which frames were shown.
//!
//! All times are those of `CLOCK_MONOTONIC`.

use std::collections::VecDeque;

use tepui_drm::monotonic_ns;
use tepui_wsi as window;
use vulkanalia_sys as vk;

use crate::error::{Error, Result};

/// The stages whose times the driver knows by itself.
pub(super) const OWN_STAGES: vk::PresentStageFlagsEXT =
    vk::PresentStageFlagsEXT::QUEUE_OPERATIONS_END
        .union(vk::PresentStageFlagsEXT::REQUEST_DEQUEUED);

/// The earliest time of a frame.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Target {
    /// Nanoseconds; 0 for none.
    pub(super) ns: u64,
    /// Whether they are relative to the presentation of the previous frame.
    pub(super) relative: bool,
    /// Whether the nearest refresh is acceptable.
    pub(super) nearest: bool,
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
pub(super) struct Record {
    /// Counts the records of the swapchain.
    pub(super) key: u64,
    pub(super) present_id: u64,
    pub(super) target: u64,
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
    pub(super) fn times(&self) -> Vec<vk::PresentStageTimeEXT> {
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

    pub(super) fn is_complete(&self) -> bool {
        self.ended || self.times().iter().all(|s| s.time != 0)
    }
}

/// The times of a swapchain's frames.
#[derive(Debug, Default)]
pub(super) struct Timing {
    pub(super) records: VecDeque<Record>,
    /// Records that there may be.
    pub(super) capacity: usize,
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

    pub(super) fn of(&mut self, key: Option<u64>) -> Option<&mut Record> {
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
    pub(super) fn update(&mut self, chain: &window::Swapchain) {
        for r in &mut self.records {
            if let (0, Some(serial)) = (r.shown, r.serial) {
                r.shown = chain.shown_time(serial).unwrap_or(0);
            }
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
