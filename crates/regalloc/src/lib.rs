//! The machine-level back end that GPU families share, generic over a target's instructions.
//!
//! ```text
//! Function ─ phis ─ cse ─ dce ─ schedule ─ spill ─▶ Function ─ alloc ─▶ Code
//! ```
//!
//! - [`function`]: the machine IR, SSA over the instructions of a [`Target`] with structured
//!   control flow
//! - [`mod@target`]: the properties of instructions that a back end provides
//! - [`phis`], [`cse`], [`dce`]: clean-up after instruction selection
//! - [`liveness`]: live values and register pressure
//! - [`schedule`]: list scheduling for register pressure; [`latency`]: for latencies
//! - [`spill`]: spilling of values to stack slots until the pressure fits
//! - [`alloc`]: register assignment, copies on edges, and a checker of the result; [`code`] is the
//!   output
//! - [`pending`]: waits for asynchronous instructions, in code with registers
//!
//! Registers are counted in units: the smallest register that a value can take. A [`RegClass`] says
//! how many consecutive units a value takes and where they may begin; a [`RegSet`] is the units that
//! values may take, with or without holes.

pub mod alloc;
mod class;
pub mod code;
pub mod cse;
pub mod dce;
mod error;
pub mod function;
pub mod latency;
pub mod liveness;
pub mod pending;
pub mod phis;
pub mod schedule;
pub mod spill;
pub mod target;

pub use class::{RegClass, RegSet, UNASSIGNED, UNITS};
pub use code::{Code, CodeBlock, Def, Step};
pub use error::{CheckError, Error, Held, Result, Rule};
pub use function::{Block, BlockData, Ctl, Function, Ins, Instr, Op, Val};
pub use target::{Constraint, Effect, Overlap, StackAccess, StackOffset, Target};
