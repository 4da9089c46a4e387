//! Window systems for Vulkan drivers: surfaces and swapchains on X11 and Wayland, or without a window.
//!
//! The crate presents images that lie in memory as rows of pixels. It knows no Vulkan object and no
//! GPU: a driver translates its structures into these, brings an image into rows when it is presented
//! (or renders into rows), and says how it wants the pixels read.
//!
//! - [`Surface`] is a window. It says what images the window takes ([`Surface::capabilities`],
//!   [`Surface::formats`], [`Surface::modes`]) and makes swapchains.
//! - [`Swapchain`] is the images of a window: [`Swapchain::acquire`] gives one that may be written,
//!   [`Swapchain::present`] shows it. [`Images`] says where the pixels are: in memory of the driver that
//!   the server reads itself, without a copy, or in memory of this crate, which the driver fills.
//!
//! The application owns the connection to the server. Requests go through the application's own
//! connection, by libxcb or libwayland-client, which are loaded when the first window needs them; events
//! come through queues of this crate, so that the application never sees them, nor this crate the
//! application's. No threads are started.
//!
//! On X11 frames are shown by the Present extension at the vertical blank that the mode asks for, from
//! pixmaps in shared memory if the server has MIT-SHM with shared pixmaps, and from pixmaps that are
//! filled by requests otherwise. Without the Present extension a timer paces them. On Wayland a frame is
//! a `wl_shm` buffer, paced by the compositor's frame callbacks; `wp_presentation` tells when it was
//! shown. A server that takes the driver's dma-bufs ([`Surface::takes_dma_buf`]), by DRI3 or
//! `zwp_linux_dmabuf`, reads them on its GPU.
//!
//! ```
//! use std::time::Duration;
//! use tepui_wsi::{Alpha, Config, Extent, Format, Images, Mode, Pixels, Surface};
//!
//! let surface = Surface::headless();
//! let config = Config {
//!     extent: Extent { width: 64, height: 32 },
//!     format: Format::B8G8R8A8,
//!     alpha: Alpha::OPAQUE,
//!     mode: Mode::Fifo,
//!     images: Images::Private { count: 3 },
//! };
//! let swapchain = surface.swapchain(config, None)?;
//! let (image, _) = swapchain.acquire(Duration::MAX)?;
//! let mut draw = |rows: &mut [u8], _pitch: usize| rows.fill(0xff);
//! let (frame, _) = swapchain.present(image, &[], None, Pixels::Fill(&mut draw))?;
//! swapchain.wait_shown(frame, Duration::MAX)?;
//! # Ok::<(), tepui_wsi::Error>(())
//! ```
//!
//! # Thread safety
//!
//! All objects can be used from several threads. As Vulkan demands of applications, calls of
//! [`Swapchain::acquire`], [`Swapchain::present`] and [`Swapchain::release`] on one swapchain must not
//! overlap; [`Swapchain::wait_shown`] may overlap with everything.

#![deny(missing_docs)]

mod capabilities;
mod error;
mod format;
mod headless;
mod memory;
mod surface;
mod swapchain;
mod wait;
mod wayland;
mod x11;

pub use capabilities::{Alpha, Capabilities, Extent, MAX_IMAGES, Mode};
pub use error::{Error, Property, Result};
pub use format::Format;
pub use surface::Surface;
pub use surface::{wayland_supports, xcb_supports, xlib_supports};
pub use swapchain::{Config, Images, Pixels, Rect, SharedImage, Status, Swapchain};
