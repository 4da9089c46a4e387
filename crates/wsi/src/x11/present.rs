//! Presentation by the Present extension: each image is a pixmap, which the server shows at a vertical
//! blank.
//!
//! Vertical blanks are counted by the media stream counter, MSC. In the FIFO modes each frame asks for
//! the MSC after that of the previous frame; the mailbox asks for the next, where the server drops the
//! frame that another replaces; immediate frames are shown asynchronously. Two kinds of events come
//! back: CompleteNotify when a frame was shown or dropped, IdleNotify when the server no longer needs
//! its pixmap.
//!
//! A frame may reach the server when its MSC is over, and then waits for the next. So that the
//! following frame does not ask for that one too, the MSC is requested after each FIFO frame: the reply
//! gives the MSC at which the frame arrived.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use x11rb::connection::Connection as _;
use x11rb::protocol::present::{
    CompleteKind, CompleteMode, ConnectionExt as _, Option as PresentOption,
};
use x11rb::protocol::xfixes::{ConnectionExt as _, Region};
use x11rb::protocol::xproto::{Rectangle, Window};

use super::connection::Connection;
use super::special::{PresentEvent, SpecialQueue};
use super::surface::{X11Surface, geometry_extent};
use super::upload::Canvas;
use crate::capabilities::{Extent, Mode};
use crate::error::{Error, Result};
use crate::swapchain::{Engine, Event, Frame, Rect};

/// Maximum wait for events that a server sends at once, or at its next vertical blanks.
const PATIENCE: Duration = Duration::from_secs(1);

/// The flag of ConfigureNotify for a window that was destroyed; source: presentproto.txt 1.4,
/// PresentWindowDestroyed.
const WINDOW_DESTROYED: u32 = 1;

struct Inner {
    canvas: Canvas,
    events: Vec<Event>,
    /// The MSC at which the last frame that is complete was shown.
    shown_at: u64,
    /// MSC and time of the last frame that is complete and was shown; 0 before.
    blank: (u64, u64),
    /// The MSC that the last FIFO frame asked for; 0 for the next.
    target: u64,
    /// The MSC when the last FIFO frame had reached the server, once that is known.
    reached: Option<u64>,
    /// The serial of the question for that.
    question: u32,
    /// The serials of the newest frame and the newest that was shown or dropped.
    newest: u64,
    complete: u64,
    /// The mode of the last frame.
    mode: Mode,
    /// The geometry request after the last frame. It reports errors of requests that were not waited
    /// for, and the window's size where the server sends no event.
    geometry: Option<u64>,
    destroyed: bool,
}

/// Presents pixmaps.
pub(super) struct Presenter {
    connection: Arc<Connection>,
    window: Window,
    extent: Extent,
    queue: SpecialQueue,
    /// A region for the parts of a frame that changed, if the server has regions.
    region: Option<Region>,
    inner: Mutex<Inner>,
}

impl Presenter {
    pub(super) fn new(surface: &X11Surface, canvas: Canvas, extent: Extent) -> Result<Presenter> {
        let connection = Arc::clone(&canvas.connection);
        let queue = SpecialQueue::new(Arc::clone(&connection), surface.window)?;
        let mut region = None;
        if surface.xfixes {
            let id = connection.xcb().generate_id()?;
            connection.xcb().xfixes_create_region(id, &[])?.check()?;
            region = Some(id);
        }
        let inner = Inner {
            canvas,
            events: Vec::new(),
            shown_at: 0,
            blank: (0, 0),
            target: 0,
            reached: None,
            question: 0,
            newest: 0,
            complete: 0,
            mode: Mode::Fifo,
            geometry: None,
            destroyed: false,
        };
        let window = surface.window;
        Ok(Presenter { connection, window, extent, queue, region, inner: Mutex::new(inner) })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over the events that have arrived.
    fn read(&self, inner: &mut Inner) -> Result<()> {
        // The geometry first: an event with a newer size arrives after the reply.
        if let Some(request) = inner.geometry
            && let Some(reply) = self.connection.poll_for_reply(request)
        {
            inner.geometry = None;
            inner.events.push(Event::Resized(geometry_extent(&reply?)?));
        }
        while let Some(event) = self.queue.next()? {
            inner.take(event);
        }
        if inner.destroyed { Err(Error::SurfaceLost) } else { Ok(()) }
    }

    /// Reads events until `done`, or until the timeout.
    fn read_until(&self, inner: &mut Inner, done: impl Fn(&Inner) -> bool) -> Result<()> {
        let end = Instant::now() + PATIENCE;
        loop {
            self.read(inner)?;
            let now = Instant::now();
            if done(inner) || now >= end {
                return Ok(());
            }
            // In short turns: another thread may read the event from the connection.
            self.connection.wait((now + Duration::from_millis(2)).min(end))?;
        }
    }

    /// Asks for the MSC at which the server reads the question.
    fn ask_msc(&self, inner: &mut Inner) -> Result<()> {
        inner.question = inner.question.wrapping_add(1);
        inner.reached = None;
        let xcb = self.connection.xcb();
        xcb.present_notify_msc(self.window, inner.question, 0, 0, 0)?.ignore_error();
        Ok(())
    }

    /// The options and the MSC of a frame.
    fn schedule(&self, inner: &mut Inner, mode: Mode) -> Result<(PresentOption, u64)> {
        if mode != inner.mode {
            // Frames of the mode before have times of their own, which frames of this must not overtake.
            self.read_until(inner, |inner| inner.complete == inner.newest)?;
            inner.mode = mode;
        }
        match mode {
            Mode::Immediate => Ok((PresentOption::ASYNC, 0)),
            Mode::Mailbox => Ok((PresentOption::NONE, 0)),
            Mode::Fifo | Mode::FifoRelaxed => {
                let is_done = |inner: &Inner| inner.complete == inner.newest;
                self.read_until(inner, |inner| is_done(inner) || inner.reached.is_some())?;
                let relaxed = mode == Mode::FifoRelaxed;
                inner.target = match (is_done(inner), inner.reached) {
                    // No frame is pending. A relaxed frame that is late is shown at once.
                    (true, _) if relaxed => inner.shown_at + 1,
                    (true, _) => 0,
                    // The last frame came too late for its blank, or asked for the next.
                    (false, Some(reached)) if reached >= inner.target => reached + 2,
                    (false, _) => inner.target + 1,
                };
                Ok((if relaxed { PresentOption::ASYNC } else { PresentOption::NONE }, inner.target))
            }
        }
    }

    /// The region of a frame that changed, or none for all of it.
    ///
    /// A frame with a region does not make the server drop a waiting frame. Therefore the mailbox, which
    /// wants that, has none, and FIFO frames always have one.
    fn update_region(&self, mode: Mode, damage: &[Rect]) -> Result<Region> {
        let Some(region) = self.region.filter(|_| mode != Mode::Mailbox) else { return Ok(0) };
        let all = [Rect { x: 0, y: 0, width: self.extent.width, height: self.extent.height }];
        let damage = if damage.is_empty() { &all } else { damage };
        let clipped = damage.iter().filter_map(|rect| rect.clipped(self.extent));
        let rectangles: Vec<_> = clipped
            .map(|rect| Rectangle {
                x: rect.x as i16,
                y: rect.y as i16,
                width: rect.width as u16,
                height: rect.height as u16,
            })
            .collect();
        self.connection.xcb().xfixes_set_region(region, &rectangles)?.ignore_error();
        Ok(region)
    }
}

impl Inner {
    fn take(&mut self, event: PresentEvent) {
        match event {
            PresentEvent::Configure(event) => {
                if event.pixmap_flags & WINDOW_DESTROYED != 0 {
                    self.destroyed = true;
                }
                let extent = Extent { width: event.width.into(), height: event.height.into() };
                self.events.push(Event::Resized(extent));
            }
            PresentEvent::Idle(event) => {
                let mut pictures = self.canvas.pictures.iter();
                let image = pictures.position(|picture| picture.pixmap == Some(event.pixmap));
                self.events.extend(image.map(Event::Free));
            }
            PresentEvent::Complete(event) => {
                if event.kind == CompleteKind::NOTIFY_MSC {
                    if event.serial == self.question {
                        self.reached = Some(event.msc);
                    }
                    return;
                }
                // Events have the low half of the serial of a frame that is not older than 2³².
                let behind = (self.newest as u32).wrapping_sub(event.serial);
                let Some(serial) = self.newest.checked_sub(behind.into()) else { return };
                self.complete = self.complete.max(serial);
                // Servers count microseconds of the monotonic clock. Frames that others replaced have no time of their own.
                if event.ust > 0 && event.mode != CompleteMode::SKIP {
                    let (blanks, us) = (
                        event.msc.saturating_sub(self.blank.0),
                        event.ust.saturating_sub(self.blank.1),
                    );
                    if self.blank.1 > 0 && blanks > 0 && us > 0 {
                        self.events.push(Event::Refresh(us.saturating_mul(1000) / blanks));
                    }
                    self.blank = (event.msc, event.ust);
                    self.events.push(Event::ShownAt(serial, event.ust.saturating_mul(1000)));
                }
                self.shown_at = self.shown_at.max(event.msc);
                self.events.push(Event::Shown(self.complete));
            }
        }
    }
}

impl Engine for Presenter {
    fn present(&self, frame: Frame<'_>) -> Result<()> {
        let inner = &mut *self.lock();
        self.read(inner)?;
        inner.canvas.draw(frame.image, self.window, frame.pixels)?;
        let pixmap = inner.canvas.pictures[frame.image].pixmap.ok_or(Error::OutOfMemory)?;
        let (options, target) = self.schedule(inner, frame.mode)?;
        let region = self.update_region(frame.mode, frame.damage)?;
        let xcb = self.connection.xcb();
        let serial = frame.serial as u32;
        let cookie = xcb.present_pixmap(
            self.window,
            pixmap,
            serial,
            0,
            region,
            0,
            0,
            0,
            0,
            0,
            options.into(),
            target,
            0,
            0,
            &[],
        )?;
        cookie.ignore_error();
        inner.newest = frame.serial;
        if matches!(frame.mode, Mode::Fifo | Mode::FifoRelaxed) {
            self.ask_msc(inner)?;
        }
        if inner.geometry.is_none() {
            inner.geometry = Some(self.connection.ask_geometry(self.window)?);
        }
        self.connection.flush()
    }

    fn drain(&self, events: &mut Vec<Event>) -> Result<()> {
        let inner = &mut *self.lock();
        let result = self.read(inner);
        events.append(&mut inner.events);
        result
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

impl Drop for Presenter {
    fn drop(&mut self) {
        if let Some(request) = self.lock().geometry {
            self.connection.discard(request);
        }
        if let Some(region) = self.region
            && let Ok(cookie) = self.connection.xcb().xfixes_destroy_region(region)
        {
            cookie.ignore_error();
        }
    }
}
