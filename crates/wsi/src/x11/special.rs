//! A queue of Present events apart from the application's events.
//!
//! libxcb sorts generic events by their event context: those of a registered one go to a queue of
//! their own, which the application does not see.

use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

use x11rb::connection::Connection as _;
use x11rb::protocol::present::{
    self, CompleteNotifyEvent, ConfigureNotifyEvent, EventMask, IdleNotifyEvent,
};
use x11rb::protocol::xproto::Window;
use x11rb::x11_utils::TryParse as _;

use super::connection::{Connection, libxcb, taken};
use crate::error::{Error, Result};

/// `xcb_extension_t`: libxcb keeps its number for the extension in it.
#[repr(C)]
struct Extension {
    name: *const c_char,
    global_id: UnsafeCell<c_int>,
}

// SAFETY: libxcb writes the number under its own lock and is the only reader.
unsafe impl Sync for Extension {}

static PRESENT: Extension = Extension { name: c"Present".as_ptr(), global_id: UnsafeCell::new(0) };

/// An event of the Present extension.
pub(super) enum PresentEvent {
    Configure(ConfigureNotifyEvent),
    Complete(CompleteNotifyEvent),
    Idle(IdleNotifyEvent),
}

/// The events of one window for one swapchain.
pub(super) struct SpecialQueue {
    connection: Arc<Connection>,
    window: Window,
    context: u32,
    queue: NonNull<c_void>,
}

// SAFETY: libxcb's functions lock the connection; the queue is only passed to them.
unsafe impl Send for SpecialQueue {}
// SAFETY: as above.
unsafe impl Sync for SpecialQueue {}

impl SpecialQueue {
    pub(super) fn new(connection: Arc<Connection>, window: Window) -> Result<SpecialQueue> {
        let library = libxcb()?;
        let context = connection.xcb().generate_id()?;
        // SAFETY: the connection lives; libxcb writes only to the number in the extension, and keeps
        // the pointer no longer than the program runs. The stamp may be null.
        let queue = unsafe {
            (library.register_for_special_xge)(
                connection.raw(),
                (&raw const PRESENT).cast_mut().cast(),
                context,
                std::ptr::null_mut(),
            )
        };
        let queue = NonNull::new(queue).ok_or(Error::OutOfMemory)?;
        let special = SpecialQueue { connection, window, context, queue };
        let mask =
            EventMask::CONFIGURE_NOTIFY | EventMask::COMPLETE_NOTIFY | EventMask::IDLE_NOTIFY;
        present::select_input(special.connection.xcb(), context, window, mask)?.check()?;
        Ok(special)
    }

    /// The next event that has arrived.
    pub(super) fn next(&self) -> Result<Option<PresentEvent>> {
        loop {
            // SAFETY: connection and queue live.
            let event = unsafe {
                (libxcb()?.poll_for_special_event)(self.connection.raw(), self.queue.as_ptr())
            };
            if event.is_null() {
                return match self.connection.xcb().has_error() {
                    Some(error) => Err(error.into()),
                    None => Ok(None),
                };
            }
            // SAFETY: a generic event has 32 bytes, libxcb's sequence number in 4, and the words that
            // bytes 4 to 7 count.
            let mut bytes = unsafe {
                let words = event.add(4).cast::<u32>().read_unaligned() as usize;
                taken(event, 36 + words * 4)
            };
            bytes.drain(32..36);
            let kind = u16::from_ne_bytes([bytes[8], bytes[9]]);
            let parsed = match kind {
                present::CONFIGURE_NOTIFY_EVENT => {
                    ConfigureNotifyEvent::try_parse(&bytes).map(|e| PresentEvent::Configure(e.0))
                }
                present::COMPLETE_NOTIFY_EVENT => {
                    CompleteNotifyEvent::try_parse(&bytes).map(|e| PresentEvent::Complete(e.0))
                }
                present::IDLE_NOTIFY_EVENT => {
                    IdleNotifyEvent::try_parse(&bytes).map(|e| PresentEvent::Idle(e.0))
                }
                _ => continue,
            };
            // An event that is too short is none that this crate knows.
            if let Ok(event) = parsed {
                return Ok(Some(event));
            }
        }
    }
}

impl Drop for SpecialQueue {
    fn drop(&mut self) {
        // The server's reply arrives after the last event, so that none reaches the application's queue
        // once this one is gone.
        let mask = EventMask::NO_EVENT;
        if let Ok(cookie) =
            present::select_input(self.connection.xcb(), self.context, self.window, mask)
        {
            let _ = cookie.check();
        }
        if let Ok(library) = libxcb() {
            // SAFETY: connection and queue live, and the queue is not used again.
            unsafe {
                (library.unregister_for_special_event)(self.connection.raw(), self.queue.as_ptr());
            }
        }
    }
}
