//! The shader debugger. A model runs a program once while a [`Recording`] keeps each instruction of one SIMD-group: where it
//! is, which lanes execute, and every value that a register ever had. A [`Session`] is a cursor over that, so stepping back is
//! as cheap as stepping forward, and "who wrote this" is a look-up. [`command`] is its command language, for terminals, scripts
//! and pages; [`dap`] speaks the debug adapter protocol, and `screen` shows a session on a whole terminal.
//!
//! Names no GPU family: the number of lanes, the organisation of the registers and the names of instructions come with the recording.

pub mod command;
pub mod dap;
pub mod image;
pub mod memory;
mod names;
mod recording;
mod registers;
#[cfg(feature = "screen")]
pub mod screen;
mod session;
pub mod target;

pub use names::{Name, Part, RegisterName};
pub use recording::{Finding, Instruction, Recording, RecordingFull, Step, Uniform};
pub use registers::{ElementType, Region, Register, RegisterFile};
pub use session::{Breakpoint, BreakpointLocation, Comparison, Condition, Session, Stop, Value};
