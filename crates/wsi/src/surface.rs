//! Windows, and what swapchains they take.

use std::ffi::{c_ulong, c_void};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::capabilities::{Alpha, Capabilities, Extent, MAX_IMAGES, MIN_IMAGES, Mode};
use crate::error::{Error, Property, Result};
use crate::format::Format;
use crate::headless;
use crate::swapchain::{Config, Engine, Images, Retired, Swapchain};
use crate::wayland::WaylandSurface;
use crate::x11::{self, X11Surface};

/// The window systems.
enum Window {
    X11(X11Surface),
    Wayland(Box<WaylandSurface>),
    Headless,
}

/// A window that images can be presented to.
pub struct Surface {
    window: Window,
    /// The swapchain that presents to the window.
    current: Mutex<Weak<Retired>>,
}

impl Surface {
    /// The window with the ID `window` on an `xcb_connection_t`.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without libxcb, [`Error::InvalidHandle`] for null, [`Error::SurfaceLost`] if
    /// there is no such window, and what the server answers.
    ///
    /// # Safety
    ///
    /// `connection` is null or a connection of libxcb that outlives the surface and its swapchains.
    pub unsafe fn xcb(connection: *mut c_void, window: u32) -> Result<Surface> {
        // SAFETY: the caller's promise.
        let connection = unsafe { x11::Connection::new(connection)? };
        Ok(Surface::of(Window::X11(X11Surface::new(connection, window)?)))
    }

    /// The window with the ID `window` on an Xlib `Display`.
    ///
    /// # Errors
    ///
    /// As [`Surface::xcb`], and [`Error::Library`] without libX11-xcb.
    ///
    /// # Safety
    ///
    /// `display` is null or a display of libX11 that outlives the surface and its swapchains.
    pub unsafe fn xlib(display: *mut c_void, window: c_ulong) -> Result<Surface> {
        // SAFETY: the caller's promise.
        let connection = unsafe { x11::xcb_of_xlib(display)? };
        // IDs of X have 29 bits; Xlib keeps them in longs.
        let window = u32::try_from(window).map_err(|_| Error::SurfaceLost)?;
        // SAFETY: a display's connection lives as long as the display.
        unsafe { Surface::xcb(connection, window) }
    }

    /// A `wl_surface` on a `wl_display`.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without libwayland-client, [`Error::InvalidHandle`] for null or a proxy of
    /// another interface, [`Error::SurfaceLost`] if the connection is closed or the compositor has no
    /// `wl_shm`.
    ///
    /// # Safety
    ///
    /// `display` and `surface` are null or objects of libwayland-client that outlive the surface and
    /// its swapchains.
    pub unsafe fn wayland(display: *mut c_void, surface: *mut c_void) -> Result<Surface> {
        // SAFETY: the caller's promise.
        let surface = unsafe { WaylandSurface::new(display, surface)? };
        Ok(Surface::of(Window::Wayland(Box::new(surface))))
    }

    /// A surface without a window: presented images are free again at once.
    pub fn headless() -> Surface {
        Surface::of(Window::Headless)
    }

    fn of(window: Window) -> Surface {
        Surface { window, current: Mutex::new(Weak::new()) }
    }

    /// The capabilities of the surface for swapchains at the moment.
    ///
    /// # Errors
    ///
    /// [`Error::SurfaceLost`] if the window is gone.
    pub fn capabilities(&self) -> Result<Capabilities> {
        let largest = Extent { width: 16384, height: 16384 };
        let free = |alpha| Capabilities {
            current_extent: None,
            min_extent: Extent { width: 1, height: 1 },
            max_extent: largest,
            min_images: MIN_IMAGES,
            max_images: MAX_IMAGES,
            alpha,
        };
        match &self.window {
            Window::X11(surface) => {
                let extent = surface.extent()?;
                Ok(Capabilities {
                    current_extent: Some(extent),
                    min_extent: extent,
                    max_extent: extent,
                    ..free(surface.alpha())
                })
            }
            Window::Wayland(surface) => Ok(free(surface.alpha())),
            Window::Headless => Ok(free(Alpha::all())),
        }
    }

    /// The formats that the window takes, the usual one first.
    ///
    /// # Errors
    ///
    /// None at present; the list is asked for when the surface is made.
    pub fn formats(&self) -> Result<Vec<Format>> {
        Ok(match &self.window {
            Window::X11(surface) => surface.formats(),
            Window::Wayland(surface) => surface.formats(),
            Window::Headless => vec![
                Format::B8G8R8A8,
                Format::R8G8B8A8,
                Format::A2R10G10B10,
                Format::A2B10G10R10,
                Format::R5G6B5,
            ],
        })
    }

    /// The modes that the window offers. A swapchain can change between all of them with each image.
    ///
    /// # Errors
    ///
    /// None at present.
    pub fn modes(&self) -> Result<Vec<Mode>> {
        Ok(match &self.window {
            Window::X11(surface) => surface.modes(),
            Window::Wayland(surface) => surface.modes(),
            Window::Headless => vec![Mode::Fifo, Mode::Mailbox, Mode::Immediate],
        })
    }

    /// Whether the server tells when frames were shown ([`Swapchain::shown_time`]).
    pub fn tells_times(&self) -> bool {
        match &self.window {
            Window::X11(surface) => surface.tells_times(),
            Window::Wayland(surface) => surface.tells_times(),
            Window::Headless => false,
        }
    }

    /// Whether the server reads images from the driver's own memory ([`Images::Shared`]). If not,
    /// such images are copied into requests.
    pub fn shares_memory(&self) -> bool {
        match &self.window {
            Window::X11(surface) => surface.shares_memory(),
            Window::Wayland(_) => true,
            Window::Headless => false,
        }
    }

    /// Whether the server reads dma-bufs of a format, with alpha and without, whose texels lie as one of the
    /// DRM's modifiers says.
    pub fn takes_dma_buf(&self, format: Format, modifier: u64) -> bool {
        match &self.window {
            Window::X11(surface) => surface.takes_dma_buf(format, modifier),
            Window::Wayland(surface) => surface.takes_dma_buf(format, modifier),
            Window::Headless => false,
        }
    }

    /// Makes a swapchain. `old`, which presented to the window before, is retired even if the new one
    /// cannot be made.
    ///
    /// The extent of images may differ from the window's: a smaller image covers the upper left part
    /// of an X11 window, and gives a Wayland window its size.
    ///
    /// # Errors
    ///
    /// [`Error::WindowInUse`] if a swapchain that is not `old` presents to the window;
    /// [`Error::Unsupported`] for what the surface does not offer; [`Error::ImageMemory`] for shared
    /// images that do not lie in their memory; [`Error::OutOfMemory`]; [`Error::SurfaceLost`].
    pub fn swapchain(&self, config: Config, old: Option<&Swapchain>) -> Result<Swapchain> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(presents) = current.upgrade().filter(|retired| !retired.get())
            && !old.is_some_and(|old| Arc::ptr_eq(old.retired(), &presents))
        {
            return Err(Error::WindowInUse);
        }
        if let Some(old) = old {
            old.retired().set();
        }
        self.check(&config)?;
        let (extent, mode, count) = (config.extent, config.mode, config.images.count());
        let engine: Box<dyn Engine> = match &self.window {
            Window::X11(surface) => surface.engine(config)?,
            Window::Wayland(surface) => Box::new(surface.engine(config)?),
            Window::Headless => Box::new(headless::Engine::default()),
        };
        let swapchain = Swapchain::new(engine, extent, mode, count);
        *current = Arc::downgrade(swapchain.retired());
        Ok(swapchain)
    }

    fn check(&self, config: &Config) -> Result<()> {
        let capabilities = self.capabilities()?;
        let refuse = |property| Err(Error::Unsupported(property));
        let Extent { width, height } = config.extent;
        // On X11 the window may have changed since the caller asked: only the largest extent that X
        // requests can express is a limit.
        if width == 0 || height == 0 || width > 16384 || height > 16384 {
            return refuse(Property::Extent);
        }
        if config.alpha.bits().count_ones() != 1 || !capabilities.alpha.contains(config.alpha) {
            return refuse(Property::Alpha);
        }
        if !self.formats()?.contains(&config.format) {
            return refuse(Property::Format);
        }
        if !self.modes()?.contains(&config.mode) {
            return refuse(Property::Mode);
        }
        if config.images.count() == 0 || config.images.count() > MAX_IMAGES as usize {
            return refuse(Property::Count);
        }
        if let Images::Shared(images) = &config.images {
            for image in images {
                image.check(config.extent, config.format)?;
                if image.modifier.is_some_and(|m| !self.takes_dma_buf(config.format, m)) {
                    return refuse(Property::Layout);
                }
            }
        }
        Ok(())
    }
}

/// Whether windows of an X visual, by its ID, can be presented to; see [`Surface::formats`].
///
/// # Safety
///
/// `connection` is null or a connection of libxcb.
pub unsafe fn xcb_supports(connection: *mut c_void, visual: u32) -> bool {
    // SAFETY: the caller's promise.
    unsafe { x11::Connection::new(connection) }.is_ok_and(|c| !c.visual_formats(visual).is_empty())
}

/// Version of [`xcb_supports`]: on an Xlib `Display`.
///
/// # Safety
///
/// `display` is null or a display of libX11.
pub unsafe fn xlib_supports(display: *mut c_void, visual: c_ulong) -> bool {
    // SAFETY: the caller's promise; a display's connection lives as long as the display.
    let Ok(connection) = (unsafe { x11::xcb_of_xlib(display) }) else { return false };
    // SAFETY: as above.
    u32::try_from(visual).is_ok_and(|visual| unsafe { xcb_supports(connection, visual) })
}

/// Whether windows of a `wl_display` can be presented to: every compositor has `wl_shm`, so that this
/// asks for libwayland-client only.
///
/// # Safety
///
/// `display` is null or a display of libwayland-client.
pub unsafe fn wayland_supports(display: *mut c_void) -> bool {
    !display.is_null() && wayland_sys::client::is_lib_available()
}
