//! Compares the results of instructions with references that share no code with the model.
//!
//! [`rig`] runs single instructions with given registers in all lanes and reads the registers back.
//! [`golden`] compares with vectors that applegpu's executable semantics made; the other modules
//! compare what applegpu leaves out with scalar Rust written for the purpose.

mod control;
mod golden;
mod memory;
mod rig;
mod runs;
mod scalar;
mod subgroup;
mod values;
