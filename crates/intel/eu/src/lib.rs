//! Threads of Intel's execution units (EUs), independent of their dispatcher and of the units that their
//! messages reach.
//!
//! A dispatcher decodes a [`Program`] once, starts a [`Thread`] with a [`Dispatch`], writes the payload to
//! its general registers and calls [`Thread::run`] until it returns [`Stop::EndOfThread`]. `send`
//! instructions go to the caller's [`MessageUnit`].
//!
//! An instruction of the program is an operation with resolved operands (`op`, `operand`): byte offsets in one array
//! that holds all registers (`memory`). Its handler (`handlers`, `alu`, `math`) reads its sources to rows of 32
//! channels, computes, and writes the enabled ones (`rows`). Flow control keeps one instruction pointer, and for each
//! channel that is not there the operation at which it resumes (`state`, `execute`). Operations between two messages are
//! translated to the host's vector instructions, with their flow control, once a program has run a few times
//! (`translate`). A thread can be checked for reads of registers that it never wrote, and for accesses that the software
//! scoreboard does not order (`check`, `order`, [`Thread::checked`]); it can count what it executes ([`Thread::counted`]), or tell an
//! observer of each instruction ([`Thread::observed`]).

mod alu;
mod check;
pub mod copies;
mod execute;
pub mod fault;
mod finding;
mod handlers;
pub mod inputs;
mod lane;
mod math;
mod memory;
pub mod message;
mod op;
mod operand;
mod order;
pub mod program;
mod rounding;
mod rows;
mod send;
mod shadow;
pub mod state;
mod translate;
pub mod unit;

pub use copies::{Coordinate, Term, TexelCopy};
pub use fault::{Fault, FaultKind, Refusal};
pub use finding::{Finding, FindingKind, UnwrittenStorage};
pub use inputs::Inputs;
pub use memory::{REGISTER_BYTES, REGISTERS};
pub use message::Message;
pub use program::Program;
pub use state::{Counts, Dispatch, Stop, Thread};
pub use unit::{MessageUnit, Outcome, Step, ThreadView};
