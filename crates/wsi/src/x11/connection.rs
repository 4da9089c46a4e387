//! The application's connection to an X server.

use std::ffi::{c_int, c_void};
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::time::Instant;

use rustix::event::PollFlags;
use rustix::net::AddressFamily;
use x11rb::connection::{Connection as _, DiscardMode, RequestConnection as _, RequestKind};
use x11rb::protocol::xproto::{ConnectionExt as _, ImageOrder, VisualClass, Visualid};
use x11rb::xcb_ffi::XCBConnection;

use crate::capabilities::Extent;
use crate::error::{Error, Result};
use crate::format::{FORMATS, Format};
use crate::wait::wait_for;

/// Functions of libxcb that x11rb does not have.
pub(super) struct Libxcb {
    has_error: unsafe extern "C" fn(*mut c_void) -> c_int,
    poll_for_reply: unsafe extern "C" fn(*mut c_void, u64, *mut *mut u8, *mut *mut u8) -> c_int,
    pub(super) register_for_special_xge:
        unsafe extern "C" fn(*mut c_void, *mut c_void, u32, *mut u32) -> *mut c_void,
    pub(super) poll_for_special_event: unsafe extern "C" fn(*mut c_void, *mut c_void) -> *mut u8,
    pub(super) unregister_for_special_event: unsafe extern "C" fn(*mut c_void, *mut c_void),
    _library: libloading::Library,
}

/// libxcb, loaded when it is first asked for; it stays loaded.
pub(super) fn libxcb() -> Result<&'static Libxcb> {
    const NAME: &str = "libxcb.so.1";
    static LIBRARY: OnceLock<Option<Libxcb>> = OnceLock::new();
    let load = || {
        x11rb::xcb_ffi::load_libxcb().ok()?;
        // SAFETY: libxcb runs nothing when it is loaded.
        let library = unsafe { libloading::Library::new(NAME) }.ok()?;
        // SAFETY: the types are those of xcb.h and xcbext.h.
        unsafe {
            Some(Libxcb {
                has_error: *library.get(b"xcb_connection_has_error\0").ok()?,
                poll_for_reply: *library.get(b"xcb_poll_for_reply64\0").ok()?,
                register_for_special_xge: *library.get(b"xcb_register_for_special_xge\0").ok()?,
                poll_for_special_event: *library.get(b"xcb_poll_for_special_event\0").ok()?,
                unregister_for_special_event: *library
                    .get(b"xcb_unregister_for_special_event\0")
                    .ok()?,
                _library: library,
            })
        }
    };
    LIBRARY.get_or_init(load).as_ref().ok_or(Error::Library(NAME))
}

/// The libxcb connection of an Xlib display.
///
/// # Safety
///
/// `display` is null or a display of libX11.
pub(crate) unsafe fn xcb_of_xlib(display: *mut c_void) -> Result<*mut c_void> {
    const NAME: &str = "libX11-xcb.so.1";
    type GetConnection = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
    static LIBRARY: OnceLock<Option<(GetConnection, libloading::Library)>> = OnceLock::new();
    if display.is_null() {
        return Err(Error::InvalidHandle("Xlib display"));
    }
    let load = || {
        // SAFETY: the library runs nothing when it is loaded.
        let library = unsafe { libloading::Library::new(NAME) }.ok()?;
        // SAFETY: the type of Xlib-xcb.h.
        let get = unsafe { *library.get::<GetConnection>(b"XGetXCBConnection\0").ok()? };
        Some((get, library))
    };
    let (get, _) = LIBRARY.get_or_init(load).as_ref().ok_or(Error::Library(NAME))?;
    // SAFETY: the caller's display.
    Ok(unsafe { get(display) })
}

/// The application's connection.
///
/// Requests are sent so that their errors come back to this crate or are discarded: an error in the
/// application's event queue would end most programs.
pub(crate) struct Connection {
    xcb: XCBConnection,
    library: &'static Libxcb,
}

impl Connection {
    /// # Safety
    ///
    /// `connection` is null or a connection of libxcb that outlives the value.
    pub(crate) unsafe fn new(connection: *mut c_void) -> Result<Connection> {
        let library = libxcb()?;
        if connection.is_null() {
            return Err(Error::InvalidHandle("X connection"));
        }
        // SAFETY: the caller's connection.
        if unsafe { (library.has_error)(connection) } != 0 {
            return Err(Error::SurfaceLost);
        }
        // SAFETY: the caller's connection, which outlives this and is not closed by it.
        let xcb = unsafe { XCBConnection::from_raw_xcb_connection(connection, false)? };
        Ok(Connection { xcb, library })
    }

    pub(super) fn xcb(&self) -> &XCBConnection {
        &self.xcb
    }

    pub(super) fn raw(&self) -> *mut c_void {
        self.xcb.get_raw_xcb_connection()
    }

    pub(super) fn has(&self, extension: &'static str) -> Result<bool> {
        Ok(self.xcb.extension_information(extension)?.is_some())
    }

    /// Whether the server is reached by a socket that passes file descriptors.
    pub(super) fn is_local(&self) -> bool {
        rustix::net::getsockname(self.xcb.as_fd())
            .is_ok_and(|address| address.address_family() == AddressFamily::UNIX)
    }

    /// The formats that windows of a visual take: those with the masks of the visual.
    pub(crate) fn visual_formats(&self, visual: Visualid) -> Vec<Format> {
        let setup = self.xcb.setup();
        let depths = setup.roots.iter().flat_map(|screen| &screen.allowed_depths);
        let mut visuals = depths.flat_map(|d| d.visuals.iter().map(|visual| (d.depth, visual)));
        let Some((depth, visual)) = visuals.find(|(_, found)| found.visual_id == visual) else {
            return Vec::new();
        };
        let direct = [VisualClass::TRUE_COLOR, VisualClass::DIRECT_COLOR].contains(&visual.class);
        let pixmap = setup.pixmap_formats.iter().find(|format| format.depth == depth);
        let bits = u32::from(self.bits_per_pixel(depth));
        // Rows are padded to words, and bytes are in this machine's order: other servers are too rare
        // for a conversion.
        let usual = pixmap.is_some_and(|format| format.scanline_pad == 32)
            && setup.image_byte_order == ImageOrder::LSB_FIRST
            && cfg!(target_endian = "little");
        if !direct || !usual {
            return Vec::new();
        }
        let masks = [visual.red_mask, visual.green_mask, visual.blue_mask];
        let rows = FORMATS.iter().filter(|row| row.masks == masks && row.bytes * 8 == bits);
        rows.map(|row| row.format).collect()
    }

    /// Bits of a pixel in images of a depth; 0 if the server has none.
    pub(super) fn bits_per_pixel(&self, depth: u8) -> u8 {
        let mut formats = self.xcb.setup().pixmap_formats.iter();
        formats.find(|format| format.depth == depth).map_or(0, |format| format.bits_per_pixel)
    }

    /// Sends what libxcb has gathered.
    pub(super) fn flush(&self) -> Result<()> {
        Ok(self.xcb.flush()?)
    }

    /// Waits until something arrives at the connection, or until then.
    pub(super) fn wait(&self, until: Instant) -> Result<()> {
        wait_for(self.xcb.as_fd(), PollFlags::IN, until).map(|_| ())
    }

    /// The answer to a request, if it has come: the bytes of the reply.
    pub(super) fn poll_for_reply(&self, sequence: u64) -> Option<Result<Vec<u8>>> {
        let (mut reply, mut error) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the connection lives; both pointers may be written.
        let found = unsafe {
            (self.library.poll_for_reply)(self.raw(), sequence, &raw mut reply, &raw mut error)
        };
        if found == 0 {
            return None;
        }
        if !error.is_null() {
            // SAFETY: an error of libxcb has at least 32 bytes, and is freed by the caller.
            let bytes = unsafe { taken(error, 32) };
            let parsed = self.xcb.parse_error(&bytes);
            return Some(Err(match parsed {
                Ok(error) => x11rb::errors::ReplyError::X11Error(error).into(),
                Err(_) => Error::SurfaceLost,
            }));
        }
        if reply.is_null() {
            return Some(Err(Error::SurfaceLost)); // the connection is closed
        }
        // SAFETY: a reply has 32 bytes and the words that bytes 4 to 7 count.
        Some(Ok(unsafe {
            let words = reply.add(4).cast::<u32>().read_unaligned() as usize;
            taken(reply, 32 + words * 4)
        }))
    }

    /// Asks for the size of a window without waiting for the answer; see
    /// [`Connection::poll_for_reply`].
    pub(super) fn ask_geometry(&self, window: u32) -> Result<u64> {
        let cookie = self.xcb.get_geometry(window)?;
        let sequence = cookie.sequence_number();
        std::mem::forget(cookie); // dropping it would discard the reply
        Ok(sequence)
    }

    /// The size of a window.
    pub(super) fn geometry(&self, window: u32) -> Result<Extent> {
        let reply = self.xcb.get_geometry(window)?.reply()?;
        Ok(Extent { width: reply.width.into(), height: reply.height.into() })
    }

    /// Discards a request whose reply is not needed.
    pub(super) fn discard(&self, sequence: u64) {
        let mode = DiscardMode::DiscardReplyAndError;
        self.xcb.discard_reply(sequence, RequestKind::HasResponse, mode);
    }
}

/// The bytes of a block of libxcb's, which is freed.
///
/// # Safety
///
/// `block` is a block from malloc with at least `length` bytes.
pub(super) unsafe fn taken(block: *mut u8, length: usize) -> Vec<u8> {
    // SAFETY: the caller's promise.
    unsafe {
        let bytes = std::slice::from_raw_parts(block, length).to_vec();
        libc::free(block.cast());
        bytes
    }
}
