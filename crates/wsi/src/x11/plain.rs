//! Presentation on X servers without the Present extension: images are copied into the window, paced by
//! a timer.
//!
//! The window's geometry is requested after each frame. The reply shows that the server has read the
//! frame, that the window still exists, and its size.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use x11rb::protocol::xproto::Window;

use super::connection::Connection;
use super::surface::geometry_extent;
use super::upload::Canvas;
use crate::capabilities::Mode;
use crate::error::Result;
use crate::swapchain::{Engine, Event, Frame};

/// The time of a refresh where the server does not say it: 60 Hz.
const REFRESH: Duration = Duration::from_nanos(1_000_000_000 / 60);

/// A frame that the server may not have read yet.
struct Sent {
    /// The sequence number of the request after it.
    request: u64,
    serial: u64,
    image: usize,
}

struct Inner {
    canvas: Canvas,
    sent: VecDeque<Sent>,
    events: Vec<Event>,
}

/// Copies images into a window.
pub(super) struct Copier {
    connection: Arc<Connection>,
    window: Window,
    inner: Mutex<Inner>,
    /// Time at which the last frame was shown.
    shown: Mutex<Option<Instant>>,
}

impl Copier {
    pub(super) fn new(window: Window, canvas: Canvas) -> Copier {
        let connection = Arc::clone(&canvas.connection);
        let inner = Inner { canvas, sent: VecDeque::new(), events: Vec::new() };
        Copier { connection, window, inner: Mutex::new(inner), shown: Mutex::new(None) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next refresh after the last frame, which may be over.
    fn pace(&self) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let turn = shown.map_or(now, |shown| shown + REFRESH).max(now);
        std::thread::sleep(turn - now);
        *shown = Some(turn);
    }
}

impl Engine for Copier {
    fn present(&self, frame: Frame<'_>) -> Result<()> {
        if matches!(frame.mode, Mode::Fifo | Mode::FifoRelaxed) {
            self.pace();
        }
        let mut inner = self.lock();
        inner.canvas.draw(frame.image, self.window, frame.pixels)?;
        let request = self.connection.ask_geometry(self.window)?;
        self.connection.flush()?;
        inner.sent.push_back(Sent { request, serial: frame.serial, image: frame.image });
        if !inner.canvas.is_read_by_server(frame.image) {
            inner.events.push(Event::Free(frame.image)); // the pixels are in the requests
        }
        Ok(())
    }

    fn drain(&self, events: &mut Vec<Event>) -> Result<()> {
        let mut inner = self.lock();
        events.append(&mut inner.events);
        while let Some(first) = inner.sent.front() {
            let Some(reply) = self.connection.poll_for_reply(first.request) else { break };
            let (serial, image) = (first.serial, first.image);
            inner.sent.pop_front();
            let extent = geometry_extent(&reply?)?;
            if inner.canvas.is_read_by_server(image) {
                events.push(Event::Free(image));
            }
            events.extend([Event::Shown(serial), Event::Resized(extent)]);
        }
        Ok(())
    }

    fn wait(&self, until: Instant) -> Result<()> {
        self.connection.wait(until)
    }

    fn check(&self) -> Result<()> {
        let extent = self.connection.geometry(self.window)?;
        self.lock().events.push(Event::Resized(extent));
        Ok(())
    }
}

impl Drop for Copier {
    fn drop(&mut self) {
        for sent in &self.lock().sent {
            self.connection.discard(sent.request);
        }
    }
}
