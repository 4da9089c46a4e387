//! Captures of AGX work.
//!
//! A [`Recorder`] watches a device ([`tepui_agx_kernel::Observer`]): every request of the client, and
//! for every hardware command the memory of its address space before and after. It writes a
//! [`tepui_capture`] stream into a socket or a file; [`recorder_from_environment`] is how the preloaded
//! library gets one. A [`RealRecorder`] does the same for the machine's own node, as far as the calls tell.
//! [`Events`] reads such a stream back as requests and commands, decoded as far as
//! wanted ([`mod@describe`]), and [`Replayer`] executes the commands again on a model and compares what
//! they wrote.

mod client;
pub mod describe;
mod events;
mod real;
mod recorder;
mod replay;
mod residency;
mod sink;
#[cfg(test)]
mod tests;
mod tracker;

pub use events::{Event, EventError, Events, SpaceMemory};
pub use real::RealRecorder;
pub use recorder::Recorder;
pub use replay::{Changed, Compared, Replayed, Replayer, Unplayable};
pub use sink::{CAPTURE_VARIABLE, real_recorder_from_environment, recorder_from_environment};
