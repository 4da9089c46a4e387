//! Static analyses of machine code of Mali GPUs.
//!
//! [`code`] decodes a program of Valhall and knows the registers that each instruction accesses and where execution
//! continues. [`slots`] checks that a program waits for the messages whose results it uses, [`dependencies`] does so for Bifrost;
//! [`scoreboard`] has the rules of both, with which the model checks programs as they run.

pub mod code;
mod dataflow;
pub mod dependencies;
pub mod scoreboard;
pub mod slots;

pub use code::{Code, CodeError};
pub use dependencies::{Clauses, DependencyError};
pub use scoreboard::{Access, Hazard, RegisterSet};
pub use slots::{Finding, SlotError, check};
