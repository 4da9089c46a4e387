//! Static analyses of machine code of Mali GPUs.
//!
//! [`code`] decodes a program of Valhall and knows the registers that each instruction accesses and where execution
//! continues. [`slots`] checks that a program waits for the messages whose results it uses, [`dependencies`] does so for Bifrost.

pub mod code;
mod dataflow;
pub mod dependencies;
pub mod slots;

pub use code::{Access, Code, CodeError};
pub use dependencies::{Clauses, DependencyError};
pub use slots::{Finding, Hazard, SlotError, check};
