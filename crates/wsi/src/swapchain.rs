//! The images of a window: which of them the driver may write, and presenting them.
//!
//! [`Swapchain`] keeps the state of each image; an [`Engine`] for each window system shows images and
//! reports what became of them as [`Event`]s.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::capabilities::{Alpha, Extent, Mode};
use crate::error::{Error, Result};
use crate::format::Format;

/// The longest time that a wait goes without looking at the state again. Another thread of the
/// application may read this swapchain's events from the connection between a look at the state and
/// the wait for the connection, and then nothing ends the wait.
const SLICE: Duration = Duration::from_millis(4);

/// Frames whose times are kept.
const TIMES: usize = 64;

/// Interval at which a wait checks that the window still exists: servers send nothing for windows that
/// were destroyed.
const LIVENESS: Duration = Duration::from_millis(100);

/// Configuration of a swapchain.
#[derive(Debug)]
pub struct Config {
    /// The size of the images.
    pub extent: Extent,
    /// Their pixel format.
    pub format: Format,
    /// Compositing of alpha: one of [`crate::Capabilities::alpha`].
    pub alpha: Alpha,
    /// The presentation mode.
    pub mode: Mode,
    /// The images.
    pub images: Images,
}

/// Location of the images' pixels at presentation.
#[derive(Debug)]
pub enum Images {
    /// In the driver's own memory; [`Swapchain::present`] gets the pixels.
    Private {
        /// The number of images.
        count: usize,
    },
    /// In memory of the driver that the server can map.
    Shared(Vec<SharedImage>),
}

impl Images {
    pub(crate) fn count(&self) -> usize {
        match self {
            Images::Private { count } => *count,
            Images::Shared(images) => images.len(),
        }
    }
}

/// An image in memory that the server reads.
#[derive(Debug)]
pub struct SharedImage {
    /// The memory: a dma-buf if there is a `modifier`, else a `memfd` or another file that can be mapped.
    pub memory: OwnedFd,
    /// Format modifier of a dma-buf, one that the window takes ([`crate::Surface::takes_dma_buf`]).
    /// None: rows of pixels, top row first, in a file that the server maps.
    pub modifier: Option<u64>,
    /// Bytes from the start of the memory to the first pixel.
    pub offset: u64,
    /// Bytes from one row to the next.
    pub pitch: u32,
}

impl SharedImage {
    /// Bytes from the start of the memory to the end of the last row.
    pub(crate) fn end(&self, extent: Extent) -> u64 {
        self.offset.saturating_add(u64::from(self.pitch) * u64::from(extent.height))
    }

    /// An error unless the image lies in its memory: a server that reads beyond may end.
    pub(crate) fn check(&self, extent: Extent, format: Format) -> Result<()> {
        let layout = Error::Unsupported(crate::error::Property::Layout);
        if self.pitch < format.row_bytes(extent.width) || !self.pitch.is_multiple_of(4) {
            return Err(layout);
        }
        let given = rustix::fs::fstat(&self.memory)?.st_size;
        let given = u64::try_from(given).unwrap_or(0);
        let needed = self.end(extent);
        if needed > given { Err(Error::ImageMemory { needed, given }) } else { Ok(()) }
    }
}

/// The pixels of an image that is presented.
pub enum Pixels<'a> {
    /// In the image's own memory ([`Images::Shared`]).
    InPlace,
    /// Rows of pixels, top row first. Without shared memory they are not copied before they are sent.
    Rows {
        /// The pixels: at least `pitch` bytes for each row but the last.
        bytes: &'a [u8],
        /// Bytes from one row to the next.
        pitch: usize,
    },
    /// A function that writes the rows into the memory it is given, which the server reads: the first
    /// argument is the memory, the second the bytes from one row to the next. For images that are
    /// detiled when they are presented.
    Fill(&'a mut dyn FnMut(&mut [u8], usize)),
}

/// A part of an image in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rect {
    /// The left column.
    pub x: i32,
    /// The top row.
    pub y: i32,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

impl Rect {
    /// The part inside of an image, or none.
    pub(crate) fn clipped(&self, extent: Extent) -> Option<Rect> {
        let clip = |start: i32, length: u32, end: u32| -> Option<(i32, u32)> {
            let from = i64::from(start).max(0);
            let to = (i64::from(start) + i64::from(length)).min(i64::from(end));
            (from < to).then_some((from as i32, (to - from) as u32))
        };
        let (x, width) = clip(self.x, self.width, extent.width)?;
        let (y, height) = clip(self.y, self.height, extent.height)?;
        Some(Rect { x, y, width, height })
    }
}

/// Whether a swapchain fits its window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The swapchain has the window's size.
    Optimal,
    /// The window has another size by now: `VK_SUBOPTIMAL_KHR`.
    Suboptimal,
}

/// Whether a swapchain was replaced.
#[derive(Debug, Default)]
pub(crate) struct Retired(AtomicBool);

impl Retired {
    pub(crate) fn get(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// An image on its way to the screen.
pub(crate) struct Frame<'a> {
    pub(crate) image: usize,
    /// Counts the frames of the swapchain, from 1.
    pub(crate) serial: u64,
    pub(crate) mode: Mode,
    /// Regions that changed since the previous frame; all of the image if empty.
    pub(crate) damage: &'a [Rect],
    pub(crate) pixels: Pixels<'a>,
}

/// Events of presented frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// The server no longer reads this image.
    Free(usize),
    /// This frame and all before it were shown or replaced by later ones.
    Shown(u64),
    /// Time at which this frame was shown, in nanoseconds of `CLOCK_MONOTONIC`.
    ShownAt(u64, u64),
    /// Nanoseconds from a refresh of the screen to the next.
    Refresh(u64),
    /// The window has this size.
    Resized(Extent),
}

/// Presentation engine of a window system.
pub(crate) trait Engine: Send + Sync {
    /// Presents an image. May wait as long as its mode demands.
    fn present(&self, frame: Frame<'_>) -> Result<()>;
    /// Appends events that have arrived, without waiting.
    fn drain(&self, events: &mut Vec<Event>) -> Result<()>;
    /// Waits for events, until `until` at most.
    fn wait(&self, until: Instant) -> Result<()>;
    /// An error if the window is gone. May ask the server.
    fn check(&self) -> Result<()> {
        Ok(())
    }
}

/// Owner of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Free,
    Driver,
    Server,
}

struct State {
    owners: Vec<Owner>,
    /// Indices of free images, the longest free first.
    free: VecDeque<usize>,
    /// The serial of the newest frame.
    serial: u64,
    shown: u64,
    /// Serials and times of the newest frames whose presentation times the server has reported.
    times: VecDeque<(u64, u64)>,
    refresh_ns: Option<u64>,
    status: Status,
    mode: Mode,
    /// An error that stays.
    lost: Option<Error>,
}

/// The images of a window.
pub struct Swapchain {
    engine: Box<dyn Engine>,
    extent: Extent,
    retired: Arc<Retired>,
    state: Mutex<State>,
}

impl Swapchain {
    pub(crate) fn new(
        engine: Box<dyn Engine>,
        extent: Extent,
        mode: Mode,
        count: usize,
    ) -> Swapchain {
        let state = State {
            owners: vec![Owner::Free; count],
            free: (0..count).collect(),
            serial: 0,
            shown: 0,
            times: VecDeque::new(),
            refresh_ns: None,
            status: Status::Optimal,
            mode,
            lost: None,
        };
        Swapchain { engine, extent, retired: Arc::default(), state: Mutex::new(state) }
    }

    pub(crate) fn retired(&self) -> &Arc<Retired> {
        &self.retired
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is whole between any two statements that could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of images.
    pub fn count(&self) -> u32 {
        self.lock().owners.len() as u32
    }

    /// The size of the images.
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// Waits until an image may be written and returns its index. A timeout of zero does not wait, one
    /// of [`Duration::MAX`] has no end.
    ///
    /// # Errors
    ///
    /// [`Error::Timeout`], [`Error::OutOfDate`] for a retired swapchain, [`Error::SurfaceLost`].
    pub fn acquire(&self, timeout: Duration) -> Result<(u32, Status)> {
        self.wait_until(timeout, |state| {
            if self.retired.get() {
                return Some(Err(Error::OutOfDate));
            }
            let image = state.free.pop_front()?;
            state.owners[image] = Owner::Driver;
            Some(Ok((image as u32, state.status)))
        })?
    }

    /// Shows an acquired image, and returns the number of the frame: the first is 1. `damage` says which
    /// parts changed since the frame before; empty means all. `mode` changes the mode of this frame and
    /// those that follow.
    ///
    /// Depending on the mode, this waits until the image's turn has come. Whatever the result, the image
    /// is no more the caller's.
    ///
    /// # Errors
    ///
    /// [`Error::NotAcquired`], [`Error::OutOfDate`] for a retired swapchain, [`Error::SurfaceLost`],
    /// [`Error::OutOfMemory`].
    pub fn present<'a>(
        &self,
        image: u32,
        damage: &'a [Rect],
        mode: Option<Mode>,
        pixels: Pixels<'a>,
    ) -> Result<(u64, Status)> {
        let index = image as usize;
        let (serial, mode) = {
            let state = &mut *self.lock();
            state.take(image)?;
            if self.retired.get() {
                state.give_back(index);
                return Err(Error::OutOfDate);
            }
            if let Some(error) = &state.lost {
                let error = error.clone();
                state.give_back(index);
                return Err(error);
            }
            state.owners[index] = Owner::Server;
            state.serial += 1;
            state.mode = mode.unwrap_or(state.mode);
            (state.serial, state.mode)
        };
        let result = self.engine.present(Frame { image: index, serial, mode, damage, pixels });
        let mut state = self.lock();
        if let Err(error) = result {
            if state.owners[index] == Owner::Server {
                state.give_back(index);
            }
            state.shown = state.shown.max(serial);
            return Err(state.remember(error));
        }
        state.update(&*self.engine, self.extent)?;
        Ok((serial, state.status))
    }

    /// Gives acquired images back without presenting them.
    ///
    /// # Errors
    ///
    /// [`Error::NotAcquired`], after which the images before that one have been given back.
    pub fn release(&self, images: &[u32]) -> Result<()> {
        let mut state = self.lock();
        for &image in images {
            state.take(image)?;
            state.give_back(image as usize);
        }
        Ok(())
    }

    /// Waits until the frame of this number, as [`Swapchain::present`] returned it, or a later one was
    /// shown.
    ///
    /// # Errors
    ///
    /// [`Error::Timeout`], [`Error::OutOfDate`] for a retired swapchain, [`Error::SurfaceLost`].
    pub fn wait_shown(&self, serial: u64, timeout: Duration) -> Result<Status> {
        self.wait_until(timeout, |state| {
            if state.shown >= serial {
                return Some(Ok(state.status));
            }
            self.retired.get().then_some(Err(Error::OutOfDate))
        })?
    }

    /// Time at which the frame of this number, or a later one that replaced it, was shown, in nanoseconds of `CLOCK_MONOTONIC`, if the server
    /// tells it ([`crate::Surface::tells_times`]) and it is not long ago.
    pub fn shown_time(&self, serial: u64) -> Option<u64> {
        let mut state = self.lock();
        let _ = state.update(&*self.engine, self.extent);
        state.times.iter().find(|frame| frame.0 >= serial).map(|frame| frame.1)
    }

    /// Nanoseconds from a refresh of the screen to the next, if the server has told it.
    pub fn refresh_ns(&self) -> Option<u64> {
        self.lock().refresh_ns
    }

    /// Whether the swapchain still fits its window, without waiting.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfDate`] for a retired swapchain, [`Error::SurfaceLost`].
    pub fn status(&self) -> Result<Status> {
        if self.retired.get() {
            return Err(Error::OutOfDate);
        }
        let mut state = self.lock();
        state.update(&*self.engine, self.extent)?;
        Ok(state.status)
    }

    /// Looks at the state until `ready` returns something.
    fn wait_until<T>(
        &self,
        timeout: Duration,
        mut ready: impl FnMut(&mut State) -> Option<T>,
    ) -> Result<T> {
        let start = Instant::now();
        let end = start.checked_add(timeout);
        let mut checked = start;
        loop {
            {
                let mut state = self.lock();
                state.update(&*self.engine, self.extent)?;
                if let Some(value) = ready(&mut state) {
                    return Ok(value);
                }
            }
            let now = Instant::now();
            if end.is_some_and(|end| now >= end) {
                return Err(Error::Timeout);
            }
            if now - checked >= LIVENESS {
                checked = now;
                self.engine.check().map_err(|error| self.lock().remember(error))?;
            }
            let slice = now + SLICE;
            let until = end.map_or(slice, |end| end.min(slice));
            self.engine.wait(until).map_err(|error| self.lock().remember(error))?;
        }
    }
}

impl State {
    /// Takes an image from the driver.
    fn take(&mut self, image: u32) -> Result<()> {
        match self.owners.get(image as usize) {
            Some(Owner::Driver) => Ok(()),
            _ => Err(Error::NotAcquired { image, count: self.owners.len() as u32 }),
        }
    }

    fn give_back(&mut self, image: usize) {
        self.owners[image] = Owner::Free;
        self.free.push_back(image);
    }

    /// Keeps an error after which nothing works.
    fn remember(&mut self, error: Error) -> Error {
        if error == Error::SurfaceLost {
            self.lost = Some(Error::SurfaceLost);
        }
        error
    }

    /// Takes over what has happened.
    fn update(&mut self, engine: &dyn Engine, extent: Extent) -> Result<()> {
        if let Some(error) = &self.lost {
            return Err(error.clone());
        }
        let mut events = Vec::new();
        let result = engine.drain(&mut events);
        for event in events {
            match event {
                Event::Free(image) if self.owners.get(image) == Some(&Owner::Server) => {
                    self.give_back(image);
                }
                Event::Free(_) => {}
                Event::Shown(serial) => self.shown = self.shown.max(serial),
                Event::ShownAt(serial, ns) => {
                    if self.times.len() >= TIMES {
                        self.times.pop_front();
                    }
                    self.times.push_back((serial, ns));
                }
                Event::Refresh(ns) => self.refresh_ns = Some(ns),
                Event::Resized(size) if size == extent => self.status = Status::Optimal,
                Event::Resized(_) => self.status = Status::Suboptimal,
            }
        }
        result.map_err(|error| self.remember(error))
    }
}

#[cfg(test)]
mod tests;
