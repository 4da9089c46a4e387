//! Wayland windows: images are dma-bufs or `wl_shm` buffers.
//!
//! The crate speaks on the application's `wl_display` by libwayland-client, as a guest with an event
//! queue of its own. A [`WaylandSurface`] has the globals of the compositor that presentation needs; an
//! [`engine::Engine`] presents buffers.

mod clock;
mod engine;

use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use wayland_backend::client::{Backend, ObjectId, WaylandError};
use wayland_client::globals::{BindError, GlobalError, GlobalListContents, registry_queue_init};
use wayland_client::protocol::wl_registry::{self, WlRegistry};
use wayland_client::protocol::wl_shm::{self, WlShm};
use wayland_client::protocol::wl_surface::WlSurface;
use wayland_client::{
    Connection, Dispatch, DispatchError, Proxy, QueueHandle, WEnum, delegate_noop,
};
use wayland_protocols::wp::linux_dmabuf::zv1::client::zwp_linux_dmabuf_v1::{
    self, ZwpLinuxDmabufV1,
};
use wayland_protocols::wp::presentation_time::client::wp_presentation::{self, WpPresentation};
use wayland_protocols::wp::tearing_control::v1::client::wp_tearing_control_manager_v1::WpTearingControlManagerV1;
use wayland_protocols::wp::tearing_control::v1::client::wp_tearing_control_v1::{
    PresentationHint, WpTearingControlV1,
};

use crate::capabilities::{Alpha, Mode};
use crate::error::{Error, Result};
use crate::format::{FORMATS, Format};
use crate::swapchain::Config;

/// A `wl_surface`, and what its compositor offers.
pub(crate) struct WaylandSurface {
    connection: Connection,
    surface: WlSurface,
    shm: WlShm,
    formats: Vec<wl_shm::Format>,
    dma_bufs: Option<DmaBufs>,
    tearing: Option<Tearing>,
    presentation: Option<Presentation>,
}

/// The object that tells when frames were shown, and the clock that it reads.
#[derive(Clone)]
struct Presentation {
    factory: WpPresentation,
    clock: clock::Clock,
}

/// The object that makes buffers of dma-bufs, and what it takes: codes of formats and modifiers.
struct DmaBufs {
    factory: ZwpLinuxDmabufV1,
    takes: Vec<(u32, u64)>,
}

/// The object that says whether the surface's images may be shown in the middle of a refresh. A
/// surface can have one, so that it is made when it is first wanted.
struct Tearing {
    manager: WpTearingControlManagerV1,
    control: Mutex<Option<WpTearingControlV1>>,
}

impl WaylandSurface {
    /// # Safety
    ///
    /// `display` and `surface` are null or objects of libwayland-client that outlive the value and its
    /// engines.
    pub(crate) unsafe fn new(display: *mut c_void, surface: *mut c_void) -> Result<WaylandSurface> {
        if !wayland_sys::client::is_lib_available() {
            return Err(Error::Library("libwayland-client.so.0"));
        }
        if display.is_null() {
            return Err(Error::InvalidHandle("wl_display"));
        }
        if surface.is_null() {
            return Err(Error::InvalidHandle("wl_surface"));
        }
        // SAFETY: the caller's display.
        let backend = unsafe { Backend::from_foreign_display(display.cast()) };
        let connection = Connection::from_backend(backend);
        // SAFETY: the caller's proxy.
        let id = unsafe { ObjectId::from_ptr(WlSurface::interface(), surface.cast()) };
        let surface = id.ok().and_then(|id| WlSurface::from_id(&connection, id).ok());
        let surface = surface.ok_or(Error::InvalidHandle("wl_surface"))?;

        let (globals, mut queue) = registry_queue_init::<Globals>(&connection)?;
        let handle = queue.handle();
        let shm: WlShm = globals.bind(&handle, 1..=1, ())?;
        let tearing = globals.bind(&handle, 1..=1, ()).ok();
        let tearing = tearing.map(|manager| Tearing { manager, control: Mutex::new(None) });
        // Modifiers came with version 3; since version 4 they are told by other means.
        let factory = globals.bind(&handle, 3..=3, ()).ok();
        let presentation: Option<WpPresentation> = globals.bind(&handle, 1..=2, ()).ok();
        let mut found = Globals::default();
        queue.roundtrip(&mut found)?;
        let dma_bufs = factory.map(|factory| DmaBufs { factory, takes: found.dma_bufs });
        let presentation = presentation.zip(found.clock);
        let presentation = presentation.map(|(factory, clock)| Presentation { factory, clock });
        let formats = found.formats;
        Ok(WaylandSurface { connection, surface, shm, formats, dma_bufs, tearing, presentation })
    }

    /// Colours of `wl_shm` buffers are multiplied with alpha; formats without alpha ignore it.
    pub(crate) fn alpha(&self) -> Alpha {
        Alpha::OPAQUE | Alpha::PRE_MULTIPLIED
    }

    /// The formats that the compositor takes both with alpha and without.
    pub(crate) fn formats(&self) -> Vec<Format> {
        let takes = |format: &wl_shm::Format| self.formats.contains(format);
        let rows = FORMATS.iter().filter(|row| takes(&row.opaque));
        rows.filter(|row| row.alpha.as_ref().is_some_and(takes)).map(|row| row.format).collect()
    }

    /// Whether the compositor takes dma-bufs of a format, with alpha and without.
    pub(crate) fn takes_dma_buf(&self, format: Format, modifier: u64) -> bool {
        let Some(dma_bufs) = &self.dma_bufs else { return false };
        let mut codes = format.fourcc().into_iter().flatten();
        codes.all(|code| dma_bufs.takes.contains(&(code, modifier)))
    }

    pub(crate) fn modes(&self) -> Vec<Mode> {
        let mut modes = vec![Mode::Fifo, Mode::Mailbox];
        modes.extend(self.tearing.as_ref().map(|_| Mode::Immediate));
        modes
    }

    /// Whether the compositor tells when frames were shown, by a clock of this machine.
    pub(crate) fn tells_times(&self) -> bool {
        self.presentation.is_some()
    }

    pub(crate) fn engine(&self, config: Config) -> Result<engine::Engine> {
        engine::Engine::new(self, config)
    }

    /// A control of tearing, if the compositor has one and it is needed: an object once made stays.
    fn tearing(&self, wanted: bool) -> Option<WpTearingControlV1> {
        let tearing = self.tearing.as_ref()?;
        let mut control = tearing.control.lock().unwrap_or_else(PoisonError::into_inner);
        if control.is_none() && wanted {
            // The object has no events: no queue will ever be asked for them.
            let queue = self.connection.new_event_queue::<Globals>();
            *control =
                Some(tearing.manager.get_tearing_control(&self.surface, &queue.handle(), ()));
        }
        control.clone()
    }
}

impl Drop for WaylandSurface {
    fn drop(&mut self) {
        if let Some(tearing) = &self.tearing {
            let control = tearing.control.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(control) = control {
                control.destroy();
            }
            tearing.manager.destroy();
        }
        if let Some(dma_bufs) = &self.dma_bufs {
            dma_bufs.factory.destroy();
        }
        if let Some(presentation) = &self.presentation {
            presentation.factory.destroy();
        }
        let _ = self.connection.flush();
    }
}

/// Globals collected when a surface is created.
#[derive(Default)]
struct Globals {
    formats: Vec<wl_shm::Format>,
    dma_bufs: Vec<(u32, u64)>,
    clock: Option<clock::Clock>,
}

impl Dispatch<WlRegistry, GlobalListContents> for Globals {
    fn event(
        _: &mut Globals,
        _: &WlRegistry,
        _: wl_registry::Event,
        _: &GlobalListContents,
        _: &Connection,
        _: &QueueHandle<Globals>,
    ) {
        // Globals that come or go later are of no interest.
    }
}

impl Dispatch<WlShm, ()> for Globals {
    fn event(
        globals: &mut Globals,
        _: &WlShm,
        event: wl_shm::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Globals>,
    ) {
        if let wl_shm::Event::Format { format: WEnum::Value(format) } = event {
            globals.formats.push(format);
        }
    }
}

impl Dispatch<ZwpLinuxDmabufV1, ()> for Globals {
    fn event(
        globals: &mut Globals,
        _: &ZwpLinuxDmabufV1,
        event: zwp_linux_dmabuf_v1::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Globals>,
    ) {
        if let zwp_linux_dmabuf_v1::Event::Modifier { format, modifier_hi, modifier_lo } = event {
            globals.dma_bufs.push((format, u64::from(modifier_hi) << 32 | u64::from(modifier_lo)));
        }
    }
}

impl Dispatch<WpPresentation, ()> for Globals {
    fn event(
        globals: &mut Globals,
        _: &WpPresentation,
        event: wp_presentation::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Globals>,
    ) {
        if let wp_presentation::Event::ClockId { clk_id } = event {
            globals.clock = clock::Clock::new(clk_id);
        }
    }
}

delegate_noop!(Globals: ignore WpTearingControlManagerV1);
delegate_noop!(Globals: ignore WpTearingControlV1);

/// The hint for a mode.
fn hint(mode: Mode) -> PresentationHint {
    match mode {
        Mode::Immediate => PresentationHint::Async,
        _ => PresentationHint::Vsync,
    }
}

impl From<WaylandError> for Error {
    fn from(_: WaylandError) -> Error {
        // A protocol error or the end of the connection: nothing on it works any more.
        Error::SurfaceLost
    }
}

impl From<DispatchError> for Error {
    fn from(_: DispatchError) -> Error {
        Error::SurfaceLost
    }
}

impl From<GlobalError> for Error {
    fn from(_: GlobalError) -> Error {
        Error::SurfaceLost
    }
}

impl From<BindError> for Error {
    fn from(_: BindError) -> Error {
        Error::SurfaceLost
    }
}
