//! Captures of AGX work.
//!
//! A [`Recorder`] watches a device ([`tepui_agx_kernel::Observer`]): every request of the client,
//! and for every hardware command the memory of its address space before and after. It writes a
//! [`tepui_capture`] stream into a socket or a file; [`recorder`] is how the
//! preloaded library gets one. [`requests`] tells a recorder of real nodes what `asahi`'s requests
//! mean. [`Events`] reads such a stream back as requests and commands, decoded as far
//! as wanted ([`mod@describe`]), and a [`Replayer`] executes the commands again on a model and
//! compares what they wrote.
//!
//! ```no_run
//! use tepui_agx_capture::{Event, Events};
//!
//! let mut events = Events::new(std::fs::File::open("capture/1234-0.capture")?)?;
//! while let Some(event) = events.next() {
//!     if let Event::Start(start) = event? {
//!         println!("command {} of submission {}", start.command, start.submission);
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod client;
pub mod debug;
pub mod describe;
mod environment;
mod history;
mod real;
mod recorder;
mod replay;
#[cfg(test)]
mod tests;
mod tracker;

pub use environment::recorder;
pub use real::requests;
pub use recorder::Recorder;
pub use replay::{Replayed, Replayer, Unplayable, replayer};
pub use tepui_capture::{CAPTURE_VARIABLE, Changed, Comparison, Event, EventError, Events};
