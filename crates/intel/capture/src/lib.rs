//! Captures of work on Intel GPUs.
//!
//! A [`Recorder`] watches a virtual device ([`tepui_intel_kernel::Observer`]): every request of the
//! client, and for every batch the memory of its address space before and after. It writes a
//! [`tepui_capture`] stream.
//! [`requests`] tells a recorder of real nodes what `i915`'s requests mean.
//! A [`Describer`] turns the contents of such a stream into records, and a [`Replayer`] executes the batches
//! again on a model and compares what they wrote.

mod client;
mod describe;
mod payload;
mod real;
mod recorder;
mod replay;
#[cfg(test)]
mod tests;

pub use describe::{Describer, call};
pub use payload::Payload;
pub use real::requests;
pub use recorder::Recorder;
pub use replay::{Intel, Replayed, Replayer, Unplayable, replayer};
