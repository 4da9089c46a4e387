//! Captures of work on Mali GPUs.
//!
//! A [`Recorder`] watches a virtual device ([`tepui_mali_kernel::Observer`]): every request of the client, and for
//! every run of a group the memory of its address space before and after. It writes a [`tepui_capture`] stream. A
//! [`Describer`] turns the contents of such a stream into records, and a [`Replayer`] executes the runs again on a
//! model and compares what they wrote. A [`debug::Debugger`] follows a pixel or a thread through them.
//!
//! A command of the capture is a run: the queues of a group execute in turn until a stream has ended or all wait for
//! sync objects. A stream that waits continues in a later run. On GPUs with a job manager each chain of jobs is a
//! run.

mod client;
pub mod debug;
mod describe;
mod interface;
mod payload;
mod recorder;
mod replay;

pub use describe::Describer;
pub use interface::Interface;
pub use payload::{Run, Stream};
pub use recorder::Recorder;
pub use replay::{Mali, Replayed, Replayer, RunStats, Unplayable, replayer};
