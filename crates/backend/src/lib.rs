//! The compiler back end that GPU families share: from the IR after the shared passes to machine code with registers, generic over
//! a [`Machine`].
//!
//! ```text
//! Shader ─ walk (selection) ─▶ Function ─ finish (passes, spilling, registers) ─▶ Code ─ the family ─▶ Listing ─▶ bytes
//! ```
//!
//! - [`machine`]: the trait of a machine: properties of its instructions beyond those that register allocation needs
//! - [`builder`]: the state of instruction selection; [`walk`]: regions, branches, loops and phis, over the trait
//!   [`Select`] of a family's selection
//! - [`function`]: the machine IR of a program; [`mod@print`], [`dot`]: its text and its graph; [`validate`]: its rules
//! - [`finish`]: the order of the passes on the machine IR, up to registers
//! - [`group_loads`]: moves loads together, so that fewer waits are needed
//! - [`listing`]: instructions in their final order, with labels, and their encoding
//! - [`values`]: locations of the IR's values in registers, for debuggers
//!
//! Everything is monomorphised for a machine: nothing here is called through a vtable but the callback for snapshots.

pub mod builder;
pub mod dot;
mod error;
pub mod finish;
pub mod function;
pub mod group_loads;
pub mod listing;
pub mod machine;
pub mod print;
pub mod validate;
pub mod values;
pub mod walk;

pub use builder::{Builder, Comp};
pub use error::{Error, Result};
pub use finish::{Budget, Finished};
pub use function::Function;
pub use listing::{At, Label, Line, Listing};
pub use machine::{Grouping, Machine, Operand};
pub use values::Names;
pub use walk::Select;

use tepui_ir::Shader;

/// A snapshot of the program after a pass, for the debug callback.
pub enum Snapshot<'a, M: Machine> {
    /// The IR after a pass.
    Ir(&'a Shader),
    /// The machine IR after a pass.
    Mir(&'a Function<M>),
}

/// The debug callback: it is called with the name of a pass and the program after it.
pub type After<'a, M> = dyn FnMut(&'static str, Snapshot<'_, M>) + 'a;
