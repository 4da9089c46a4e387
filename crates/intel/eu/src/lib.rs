//! Threads of Intel's execution units (EUs), independent of what dispatches them and of what their
//! messages reach.
//!
//! A dispatcher decodes a [`Program`] once, starts a [`Thread`] with a [`Dispatch`], writes the
//! payload to its general registers and calls [`Thread::run`] until it says
//! [`Stop::EndOfThread`]. `send` instructions go to the caller's [`MessageUnit`].

pub mod fault;
pub mod message;
pub mod program;
pub mod thread;

pub use fault::{Fault, FaultKind, Refusal};
pub use message::{Message, MessageUnit, Outcome, REGISTER_BYTES, ThreadView};
pub use program::Program;
pub use thread::{Dispatch, REGISTERS, Stop, Thread};
