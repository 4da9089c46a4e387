//! Windows, and what their servers offer.

use std::sync::Arc;

use x11rb::protocol::xproto::{ConnectionExt as _, Window};
use x11rb::protocol::{dri3, present as present_protocol, shm, xfixes};

use super::connection::Connection;
use crate::capabilities::{Alpha, Extent, Mode};
use crate::error::{Error, Result};
use crate::format::Format;

/// Capabilities of the server's MIT-SHM extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shm {
    /// Whether pixmaps can lie in shared memory.
    pub(super) pixmaps: bool,
}

/// A window, and what its server offers.
pub(crate) struct X11Surface {
    pub(super) connection: Arc<Connection>,
    pub(super) window: Window,
    pub(super) depth: u8,
    pub(super) formats: Vec<Format>,
    pub(super) shm: Option<Shm>,
    pub(super) present: bool,
    pub(super) xfixes: bool,
    /// Modifiers of dma-bufs that can be pixmaps of the window's depth.
    modifiers: Vec<u64>,
}

impl X11Surface {
    pub(crate) fn new(connection: Connection, window: Window) -> Result<X11Surface> {
        let xcb = connection.xcb();
        let attributes = xcb.get_window_attributes(window)?;
        let geometry = xcb.get_geometry(window)?;
        let attributes = attributes.reply()?;
        let depth = geometry.reply()?.depth;
        let formats = connection.visual_formats(attributes.visual);
        let mut shm = None;
        // Descriptors pass through local sockets only.
        if connection.has(shm::X11_EXTENSION_NAME)? && connection.is_local() {
            let version = shm::query_version(xcb)?.reply()?;
            // AttachFd came with MIT-SHM 1.2.
            if (version.major_version, version.minor_version) >= (1, 2) {
                shm = Some(Shm { pixmaps: version.shared_pixmaps });
            }
        }
        let present = connection.has(present_protocol::X11_EXTENSION_NAME)?;
        if present {
            let (major, minor) = present_protocol::X11_XML_VERSION;
            present_protocol::query_version(xcb, major, minor)?.reply()?;
        }
        let xfixes = connection.has(xfixes::X11_EXTENSION_NAME)?;
        if xfixes {
            // The server keeps one version for a client: the newest, so as to take nothing away from
            // what the application has asked for.
            let (major, minor) = xfixes::X11_XML_VERSION;
            xfixes::query_version(xcb, major, minor)?.reply()?;
        }
        let modifiers = match present {
            true => modifiers(&connection, window, depth)?,
            false => Vec::new(),
        };
        let connection = Arc::new(connection);
        Ok(X11Surface { connection, window, depth, formats, shm, present, xfixes, modifiers })
    }

    /// Whether the server takes dma-bufs as pixmaps.
    pub(crate) fn takes_dma_buf(&self, format: Format, modifier: u64) -> bool {
        self.formats.contains(&format) && self.modifiers.contains(&modifier)
    }

    /// The size of the window.
    pub(crate) fn extent(&self) -> Result<Extent> {
        let reply = self.connection.xcb().get_geometry(self.window)?.reply()?;
        Ok(Extent { width: reply.width.into(), height: reply.height.into() })
    }

    /// A visual with alpha blends with the windows below if there is a compositing manager; other
    /// windows ignore alpha.
    pub(crate) fn alpha(&self) -> Alpha {
        let own = if self.depth == 32 { Alpha::PRE_MULTIPLIED } else { Alpha::OPAQUE };
        own | Alpha::INHERIT
    }

    pub(crate) fn formats(&self) -> Vec<Format> {
        self.formats.clone()
    }

    /// Without the Present extension there are no vertical blanks that a mailbox could wait for.
    pub(crate) fn modes(&self) -> Vec<Mode> {
        match self.present {
            true => vec![Mode::Fifo, Mode::FifoRelaxed, Mode::Mailbox, Mode::Immediate],
            false => vec![Mode::Fifo, Mode::Immediate],
        }
    }

    pub(crate) fn tells_times(&self) -> bool {
        self.present
    }

    pub(crate) fn shares_memory(&self) -> bool {
        self.shm.is_some()
    }
}

/// The modifiers of dma-bufs that DRI3 takes as pixmaps of a depth; none without DRI3, or on another machine.
fn modifiers(connection: &Connection, window: Window, depth: u8) -> Result<Vec<u64>> {
    let xcb = connection.xcb();
    if !connection.is_local() || !connection.has(dri3::X11_EXTENSION_NAME)? {
        return Ok(Vec::new());
    }
    // Modifiers came with DRI3 1.2.
    let version = dri3::query_version(xcb, 1, 2)?.reply()?;
    if (version.major_version, version.minor_version) < (1, 2) {
        return Ok(Vec::new());
    }
    let all = dri3::get_supported_modifiers(xcb, window, depth, connection.bits_per_pixel(depth))?;
    let all = all.reply()?;
    Ok([all.window_modifiers, all.screen_modifiers].concat())
}

/// The size and depth of a window from the bytes of a reply to GetGeometry.
pub(super) fn geometry_extent(reply: &[u8]) -> Result<Extent> {
    use x11rb::protocol::xproto::GetGeometryReply;
    use x11rb::x11_utils::TryParse as _;
    let (reply, _) = GetGeometryReply::try_parse(reply).map_err(|_| Error::SurfaceLost)?;
    Ok(Extent { width: reply.width.into(), height: reply.height.into() })
}
