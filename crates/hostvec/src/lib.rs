//! Assembler for the host's vector instructions, and memory that can be executed.
//!
//! GPU models translate the programs of SIMD-groups (subgroups, warps) to machine code of the host.
//! This crate has the parts that do not depend on the GPU: instructions over vectors that hold a part of
//! a group's lanes ([`Assembler`]), with encodings for each [`Target`], and [`Executable`] memory. The
//! model describes the group's state in memory with [`GroupLayout`].
//!
//! Start reading in `asm/mod.rs`.

pub mod asm;
#[cfg(not(target_family = "wasm"))]
mod executable;
mod lazy;
mod row_cache;
mod target;

pub use asm::{Assembler, GroupLayout};
#[cfg(not(target_family = "wasm"))]
pub use executable::Executable;
pub use lazy::LazyTranslation;
pub use row_cache::RowCache;
pub use target::Target;
