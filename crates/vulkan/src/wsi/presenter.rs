//! The thread of a swapchain that presents its images.
//!
//! `vkQueuePresentKHR` submits a signal to the queue after the semaphores that it waits for, and passes
//! the frame to the thread. The thread waits for the signal, so that the GPU has drawn the frame, and
//! presents it, which may wait for a vertical blank. It ends with the swapchain, after its last frame.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tepui_drm::client::Wait;
use tepui_drm::{Errno, monotonic_ns};
use tepui_wsi as window;

use super::times::{Target, Timing};
use crate::backend::{Backend, SyncPoint};
use crate::error::{Error, Result};

/// Interval at which a wait checks whether the device is lost.
const STEP: Duration = Duration::from_millis(100);

/// Maximum wait for the previous frame to be shown, for frames whose time is relative to it.
const PREVIOUS: Duration = Duration::from_secs(1);

/// The pixels of an image that the server does not map: as the GPU left them in mapped memory.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    pub(super) base: *const u8,
    pub(super) bytes: usize,
    pub(super) pitch: usize,
}

// SAFETY: the memory belongs to an image of the swapchain, which outlives the thread.
unsafe impl Send for Rows {}

/// A frame on its way.
pub(super) struct Frame {
    pub(super) image: u32,
    /// The point of the timeline that the GPU signals when the frame is drawn.
    pub(super) drawn: u64,
    pub(super) damage: Vec<window::Rect>,
    pub(super) mode: Option<window::Mode>,
    /// The application's number of the frame; 0 without one.
    pub(super) id: u64,
    /// A fence that is signalled when the frame is presented.
    pub(super) fence: Option<u32>,
    /// Location of the pixels, unless the server maps them.
    pub(super) rows: Option<Rows>,
    /// Time at which it should be shown.
    pub(super) target: Target,
    /// The record of its times.
    pub(super) times: Option<u64>,
}

#[derive(Default)]
pub(super) struct State {
    /// Frames that were handed over and are not presented.
    waiting: usize,
    /// The application's numbers of presented frames, and the swapchain's.
    presented: VecDeque<(u64, u64)>,
    /// Why a frame was not presented; the first such error.
    error: Option<Error>,
    /// The times of frames.
    pub(super) timing: Timing,
    /// The swapchain is being destroyed.
    pub(super) closing: bool,
}

/// State shared by the thread and the API.
pub(super) struct Shared<B: Backend> {
    pub(super) chain: window::Swapchain,
    device: Arc<B::Device>,
    lost: Arc<AtomicBool>,
    /// A timeline whose points are the swapchain's frames.
    timeline: u32,
    state: Mutex<State>,
    pub(super) changed: Condvar,
}

impl<B: Backend> Shared<B> {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An error once the device is lost: no frame is drawn any more.
    pub(super) fn check(&self) -> Result<()> {
        if self.lost.load(Ordering::Acquire) { Err(crate::queue::lost()) } else { Ok(()) }
    }

    /// Status of the swapchain relative to its window, or the error that ended it.
    pub(super) fn status(&self) -> Result<window::Status> {
        match &self.lock().error {
            Some(error) => Err(error.clone()),
            None => Ok(self.chain.status()?),
        }
    }

    /// Waits until the application may write an image.
    pub(super) fn acquire(&self, timeout: Duration) -> Result<(u32, window::Status)> {
        self.in_steps(timeout, |step| self.chain.acquire(step))
    }

    /// Waits until the frame with a number of the application's, or a later one, was shown.
    pub(super) fn wait_for(&self, id: u64, timeout: Duration) -> Result<window::Status> {
        let end = Instant::now().checked_add(timeout);
        let serial = loop {
            let state = self.lock();
            if let Some(&(_, serial)) = state.presented.iter().find(|frame| frame.0 >= id) {
                break serial;
            }
            if let Some(error) = &state.error {
                return Err(error.clone());
            }
            self.check()?;
            let left = end.map_or(STEP, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Err(window::Error::Timeout.into());
            }
            drop(self.changed.wait_timeout(state, left.min(STEP)));
        };
        let left = end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
        self.in_steps(left, |step| self.chain.wait_shown(serial, step))
    }

    /// Waits for the time of a frame; `before` is the number of the frame before, and when it was handed over.
    fn wait_for_time(&self, target: Target, before: Option<(u64, u64)>) -> Result<()> {
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
            let left = Duration::from_nanos(left).min(STEP);
            drop(self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Repeats a wait in short steps, between which the device may be lost.
    fn in_steps<T>(
        &self,
        timeout: Duration,
        wait: impl Fn(Duration) -> window::Result<T>,
    ) -> Result<T> {
        let end = Instant::now().checked_add(timeout);
        loop {
            if let Some(error) = &self.lock().error {
                return Err(error.clone());
            }
            let left = end.map_or(STEP, |end| end.saturating_duration_since(Instant::now()));
            match wait(left.min(STEP)) {
                Err(window::Error::Timeout) if left > STEP || end.is_none() => self.check()?,
                result => return Ok(result?),
            }
        }
    }

    /// Waits until all frames that were handed over are presented.
    pub(super) fn finish(&self) {
        let mut state = self.lock();
        while state.waiting > 0 {
            state = match self.changed.wait(state) {
                Ok(state) => state,
                Err(poisoned) => poisoned.into_inner(),
            };
        }
    }

    /// Waits until the GPU has drawn a frame.
    fn wait_until_drawn(&self, point: u64) -> Result<()> {
        let wait = Wait { deadline_ns: 0, all: true, for_submit: true, available: false };
        loop {
            self.check()?;
            let deadline_ns = monotonic_ns() as i64 + STEP.as_nanos() as i64;
            match B::node(&self.device).wait_syncs(
                &[self.timeline],
                &[point],
                Wait { deadline_ns, ..wait },
            ) {
                Ok(_) => return self.check(),
                Err(Errno::TIME) => {}
                Err(e) => return Err(Error::kernel("waiting for a frame", e)),
            }
        }
    }

    /// Presents a frame after another, given that one's number and time; returns its own number.
    fn present(&self, frame: &Frame, before: Option<(u64, u64)>) -> Result<u64> {
        self.wait_until_drawn(frame.drawn)?;
        self.lock().timing.drawn(frame.times);
        self.wait_for_time(frame.target, before)?;
        let pixels = match frame.rows {
            None => window::Pixels::InPlace,
            Some(Rows { base, bytes, pitch }) => {
                // SAFETY: mapped memory of an image that the swapchain keeps; the GPU has drawn it, and the
                // application has given it away.
                window::Pixels::Rows {
                    bytes: unsafe { std::slice::from_raw_parts(base, bytes) },
                    pitch,
                }
            }
        };
        Ok(self.chain.present(frame.image, &frame.damage, frame.mode, pixels)?.0)
    }

    fn run(&self, frames: &mpsc::Receiver<Frame>) {
        let mut before = None;
        for frame in frames {
            let result = self.present(&frame, before);
            let serial = result.as_ref().ok().copied();
            before = serial.map(|serial| (serial, monotonic_ns())).or(before);
            let mut state = self.lock();
            state.timing.handed_over(frame.times, serial);
            state.waiting -= 1;
            match result {
                Ok(serial) if frame.id > 0 => {
                    // Later frames are enough to find earlier ones.
                    if state.presented.len() >= 64 {
                        state.presented.pop_front();
                    }
                    state.presented.push_back((frame.id, serial));
                }
                Ok(_) => {}
                Err(error) => state.error = state.error.take().or(Some(error)),
            }
            drop(state);
            if let Some(fence) = frame.fence {
                let _ = B::node(&self.device).signal_syncs(&[fence]);
            }
            self.changed.notify_all();
        }
    }
}

impl<B: Backend> Drop for Shared<B> {
    fn drop(&mut self) {
        B::node(&self.device).destroy_sync(self.timeline);
    }
}

/// The thread, as the API sees it.
pub(super) struct Presenter<B: Backend> {
    pub(super) shared: Arc<Shared<B>>,
    frames: Option<mpsc::Sender<Frame>>,
    thread: Option<JoinHandle<()>>,
    /// The newest point of the timeline.
    last: u64,
}

impl<B: Backend> Presenter<B> {
    pub(super) fn new(
        chain: window::Swapchain,
        device: &Arc<B::Device>,
        lost: &Arc<AtomicBool>,
    ) -> Result<Presenter<B>> {
        let timeline = B::node(device).create_sync(false);
        let timeline = timeline.map_err(|e| Error::kernel("creating a sync object", e))?;
        let shared = Arc::new(Shared::<B> {
            chain,
            device: Arc::clone(device),
            lost: Arc::clone(lost),
            timeline,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let (frames, receiver) = mpsc::channel();
        let worker = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("tepui-present".to_owned())
            .spawn(move || worker.run(&receiver))
            .map_err(|_| Error::host_memory())?;
        Ok(Presenter { shared, frames: Some(frames), thread: Some(thread), last: 0 })
    }

    /// The point that the GPU is to signal when the next frame is drawn.
    pub(super) fn next_point(&mut self) -> SyncPoint {
        self.last += 1;
        (self.shared.timeline, self.last)
    }

    /// Hands a frame over whose point was submitted.
    pub(super) fn present(&self, frame: Frame) {
        self.shared.lock().waiting += 1;
        // The thread lives as long as this sender.
        if let Some(frames) = &self.frames
            && frames.send(frame).is_err()
        {
            self.shared.lock().waiting -= 1;
        }
    }
}

impl<B: Backend> Drop for Presenter<B> {
    fn drop(&mut self) {
        self.frames = None;
        self.shared.lock().closing = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
