//! Presentation of `wl_buffer`s, in shared memory or dma-bufs.
//!
//! Each frame is attached to the surface with a frame callback, which the compositor answers when it
//! shows the frame. In FIFO mode the next frame waits for that, so that no frame is replaced before it
//! was shown; in the other modes the compositor shows the newest. A compositor with `wp_presentation`
//! also tells when it has shown a frame, which is up to a refresh later. A buffer is free when the
//! compositor releases it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use wayland_backend::client::WaylandError;
use wayland_client::protocol::wl_buffer::{self, WlBuffer};
use wayland_client::protocol::wl_callback::{self, WlCallback};
use wayland_client::protocol::wl_shm::WlShm;
use wayland_client::protocol::wl_shm_pool::WlShmPool;
use wayland_client::protocol::wl_surface::WlSurface;
use wayland_client::{Connection, Dispatch, EventQueue, Proxy, QueueHandle, delegate_noop};
use wayland_protocols::wp::linux_dmabuf::zv1::client::zwp_linux_buffer_params_v1::{
    Flags, ZwpLinuxBufferParamsV1,
};
use wayland_protocols::wp::linux_dmabuf::zv1::client::zwp_linux_dmabuf_v1::ZwpLinuxDmabufV1;
use wayland_protocols::wp::presentation_time::client::wp_presentation_feedback::{
    self, WpPresentationFeedback,
};
use wayland_protocols::wp::tearing_control::v1::client::wp_tearing_control_v1::WpTearingControlV1;

use super::{Presentation, WaylandSurface, hint};
use crate::capabilities::{Alpha, Extent, Mode};
use crate::error::{Error, Property, Result};
use crate::memory::{ImageMemory, Layout};
use crate::swapchain::{self, Config, Event, Frame, Images, Rect};
use crate::wait::wait_for;

/// Maximum time that a FIFO frame waits for the previous one. Compositors show no frames of a hidden
/// window; an application that draws such a window continues at this rate.
const UNSEEN: Duration = Duration::from_millis(250);

/// Maximum time for which the compositor may leave requests unread.
const UNREAD: Duration = Duration::from_secs(5);

/// State that events change.
#[derive(Default)]
struct State {
    events: Vec<Event>,
    /// The newest frame whose callback has come.
    shown: u64,
    presentation: Option<Presentation>,
}

struct Image {
    memory: ImageMemory,
    buffer: WlBuffer,
}

struct Inner {
    queue: EventQueue<State>,
    state: State,
    images: Vec<Image>,
    /// The serial of the last frame.
    serial: u64,
    tearing: Option<WpTearingControlV1>,
    mode: Mode,
}

/// Presents buffers to a surface.
pub(crate) struct Engine {
    connection: Connection,
    surface: WlSurface,
    extent: Extent,
    inner: Mutex<Inner>,
}

/// A buffer whose memory the compositor maps.
fn shm_buffer(
    shm: &WlShm,
    memory: &ImageMemory,
    alpha: Alpha,
    handle: &QueueHandle<State>,
    index: usize,
) -> Result<WlBuffer> {
    let Layout { extent, format } = memory.layout;
    let row = format.row();
    let format = if alpha == Alpha::OPAQUE { Some(row.opaque) } else { row.alpha };
    let format = format.ok_or(Error::Unsupported(Property::Alpha))?;
    // Sizes and offsets are signed words of the protocol.
    let size = i32::try_from(memory.end());
    let size = size.map_err(|_| Error::Unsupported(Property::Layout))?;
    let pool = shm.create_pool(memory.file(), size, handle, ());
    let (width, height) = (extent.width as i32, extent.height as i32);
    let (offset, pitch) = (memory.offset as i32, memory.pitch as i32);
    let buffer = pool.create_buffer(offset, width, height, pitch, format, handle, index);
    pool.destroy(); // the buffer keeps the memory
    Ok(buffer)
}

/// A buffer that the compositor's GPU reads. What the compositor does not take was refused before: a
/// failure ends the connection.
fn dma_buffer(
    factory: &ZwpLinuxDmabufV1,
    (memory, modifier): (&ImageMemory, u64),
    alpha: Alpha,
    handle: &QueueHandle<State>,
    index: usize,
) -> Result<WlBuffer> {
    let Layout { extent, format } = memory.layout;
    let format = format.fourcc()[usize::from(alpha != Alpha::OPAQUE)];
    let format = format.ok_or(Error::Unsupported(Property::Alpha))?;
    let offset = u32::try_from(memory.offset);
    let offset = offset.map_err(|_| Error::Unsupported(Property::Layout))?;
    let params = factory.create_params(handle, ());
    let (high, low) = ((modifier >> 32) as u32, modifier as u32);
    params.add(memory.file(), 0, offset, memory.pitch, high, low);
    let (width, height) = (extent.width as i32, extent.height as i32);
    let buffer = params.create_immed(width, height, format, Flags::empty(), handle, index);
    params.destroy();
    Ok(buffer)
}

impl Engine {
    pub(super) fn new(surface: &WaylandSurface, config: Config) -> Result<Engine> {
        let Config { extent, format, alpha, mode, images } = config;
        let layout = Layout { extent, format };
        let queue = surface.connection.new_event_queue();
        let handle = queue.handle();
        let given: Vec<_> = match images {
            Images::Private { count } => (0..count).map(|_| None).collect(),
            Images::Shared(images) => images.into_iter().map(Some).collect(),
        };
        let mut images = Vec::with_capacity(given.len());
        for (index, image) in given.into_iter().enumerate() {
            let modifier = image.as_ref().and_then(|image| image.modifier);
            let memory = ImageMemory::new(image, layout)?;
            let buffer = match (modifier, &surface.dma_bufs) {
                (None, _) => shm_buffer(&surface.shm, &memory, alpha, &handle, index)?,
                (Some(modifier), Some(dma_bufs)) => {
                    dma_buffer(&dma_bufs.factory, (&memory, modifier), alpha, &handle, index)?
                }
                (Some(_), None) => return Err(Error::Unsupported(Property::Layout)),
            };
            images.push(Image { memory, buffer });
        }
        let tearing = surface.tearing(mode == Mode::Immediate);
        let state = State { presentation: surface.presentation.clone(), ..State::default() };
        let inner = Inner { queue, state, images, serial: 0, tearing, mode: Mode::Fifo };
        let (connection, surface) = (surface.connection.clone(), surface.surface.clone());
        Ok(Engine { connection, surface, extent, inner: Mutex::new(inner) })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what has arrived and takes it over.
    fn read(&self, inner: &mut Inner) -> Result<()> {
        loop {
            inner.queue.dispatch_pending(&mut inner.state)?;
            // None: another thread has read events for this queue.
            let Some(guard) = self.connection.prepare_read() else { continue };
            if !wait_for(guard.connection_fd(), PollFlags::IN, Instant::now())? {
                return Ok(());
            }
            match guard.read() {
                Ok(_) => {}
                Err(error) if would_block(&error) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits until the frame before was shown, in vain if the window cannot be seen.
    fn wait_for_turn(&self) -> Result<()> {
        let end = Instant::now() + UNSEEN;
        loop {
            {
                let inner = &mut *self.lock();
                self.read(inner)?;
                if inner.state.shown >= inner.serial || Instant::now() >= end {
                    return Ok(());
                }
            }
            let turn = Instant::now() + Duration::from_millis(4);
            swapchain::Engine::wait(self, turn.min(end))?;
        }
    }

    /// Sends all requests.
    fn flush(&self) -> Result<()> {
        let end = Instant::now() + UNREAD;
        loop {
            match self.connection.flush() {
                Ok(()) => return Ok(()),
                Err(error) if would_block(&error) && Instant::now() < end => {
                    wait_for(self.connection.backend().poll_fd(), PollFlags::OUT, end)?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Says which parts of the surface change.
    fn damage(&self, damage: &[Rect]) {
        const ALL: Rect = Rect { x: 0, y: 0, width: i32::MAX as u32, height: i32::MAX as u32 };
        // Parts in pixels of the buffer came with version 4.
        let in_pixels = self.surface.version() >= 4;
        if damage.is_empty() || !in_pixels {
            let (width, height) = (ALL.width as i32, ALL.height as i32);
            match in_pixels {
                true => self.surface.damage_buffer(0, 0, width, height),
                false => self.surface.damage(0, 0, width, height),
            }
            return;
        }
        for rect in damage.iter().filter_map(|rect| rect.clipped(self.extent)) {
            self.surface.damage_buffer(rect.x, rect.y, rect.width as i32, rect.height as i32);
        }
    }
}

impl swapchain::Engine for Engine {
    fn present(&self, frame: Frame<'_>) -> Result<()> {
        if frame.mode == Mode::Fifo || self.lock().mode == Mode::Fifo {
            // A FIFO frame must not be replaced, by none of another mode either.
            self.wait_for_turn()?;
        }
        let inner = &mut *self.lock();
        let image = &mut inner.images[frame.image];
        image.memory.store(frame.pixels)?;
        if let Some(tearing) = &inner.tearing {
            tearing.set_presentation_hint(hint(frame.mode));
        }
        self.surface.attach(Some(&image.buffer), 0, 0);
        self.damage(frame.damage);
        let handle = inner.queue.handle();
        self.surface.frame(&handle, frame.serial);
        if let Some(presentation) = &inner.state.presentation {
            presentation.factory.feedback(&self.surface, &handle, frame.serial);
        }
        self.surface.commit();
        inner.serial = frame.serial;
        inner.mode = frame.mode;
        self.flush()
    }

    fn drain(&self, events: &mut Vec<Event>) -> Result<()> {
        let inner = &mut *self.lock();
        let result = self.read(inner);
        events.append(&mut inner.state.events);
        result
    }

    fn wait(&self, until: Instant) -> Result<()> {
        self.flush()?;
        let Some(guard) = self.connection.prepare_read() else { return Ok(()) };
        if wait_for(guard.connection_fd(), PollFlags::IN, until)? {
            match guard.read() {
                Ok(_) => {}
                Err(error) if would_block(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        for image in &self.lock().images {
            image.buffer.destroy();
        }
        let _ = self.connection.flush();
    }
}

/// Whether an operation only has to be tried again.
fn would_block(error: &WaylandError) -> bool {
    matches!(error, WaylandError::Io(error) if error.kind() == std::io::ErrorKind::WouldBlock)
}

impl Dispatch<WlBuffer, usize> for State {
    fn event(
        state: &mut State,
        _: &WlBuffer,
        event: wl_buffer::Event,
        image: &usize,
        _: &Connection,
        _: &QueueHandle<State>,
    ) {
        if let wl_buffer::Event::Release = event {
            state.events.push(Event::Free(*image));
        }
    }
}

impl Dispatch<WlCallback, u64> for State {
    fn event(
        state: &mut State,
        _: &WlCallback,
        event: wl_callback::Event,
        serial: &u64,
        _: &Connection,
        _: &QueueHandle<State>,
    ) {
        if let wl_callback::Event::Done { .. } = event {
            state.shown = state.shown.max(*serial);
            if state.presentation.is_none() {
                state.events.push(Event::Shown(*serial));
            }
        }
    }
}

impl Dispatch<WpPresentationFeedback, u64> for State {
    fn event(
        state: &mut State,
        _: &WpPresentationFeedback,
        event: wp_presentation_feedback::Event,
        serial: &u64,
        _: &Connection,
        _: &QueueHandle<State>,
    ) {
        use wp_presentation_feedback::Event as Feedback;
        match event {
            Feedback::Presented { tv_sec_hi, tv_sec_lo, tv_nsec, refresh, .. } => {
                let Some(Presentation { clock, .. }) = state.presentation else { return };
                let seconds = u64::from(tv_sec_hi) << 32 | u64::from(tv_sec_lo);
                let at_ns = seconds.saturating_mul(1_000_000_000).saturating_add(tv_nsec.into());
                state.events.push(Event::ShownAt(*serial, clock.to_monotonic_ns(at_ns)));
                // Zero where no refresh can be foreseen.
                state.events.extend((refresh > 0).then(|| Event::Refresh(refresh.into())));
            }
            // A later frame has replaced it.
            Feedback::Discarded => {}
            _ => return,
        }
        state.events.push(Event::Shown(*serial));
    }
}

delegate_noop!(State: ignore WlShmPool);
delegate_noop!(State: ignore ZwpLinuxBufferParamsV1);
