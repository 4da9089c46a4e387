//! Assembler for the host's vector instructions, and memory that can be executed.
//!
//! GPU models translate the programs of SIMD-groups (subgroups, warps) to machine code of the host.
//! What does not depend on the GPU is here: instructions over vectors that hold a part of a group's
//! lanes ([`Assembler`]), with encodings for each [`Target`], and [`Executable`] memory. The model
//! says with [`Group`] how many lanes a group has and where its execution mask lies.
//!
//! Start reading in `asm/mod.rs`.

pub mod asm;
#[cfg(not(target_family = "wasm"))]
mod executable;
mod held;
mod target;

pub use asm::{Assembler, Group};
#[cfg(not(target_family = "wasm"))]
pub use executable::Executable;
pub use held::HeldRows;
pub use target::Target;
