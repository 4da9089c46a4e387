//! Translates sequences of operations to host code (x86-64 with AVX2).
//!
//! The interpreter spends most of an operation's time on moving rows of lanes through memory. A *block* is a sequence
//! of operations that begins where lanes may reconverge or branches lead, and ends after a branch or before an
//! operation that only the interpreter executes. It is translated to code that reads and writes the warp's registers
//! eight lanes at a time; operations without a template are calls of their handlers. Blocks jump to each other as long
//! as all executing lanes take the same way and none waits at the target; otherwise the code returns to the
//! interpreter. There are two versions of each block: for warps whose lanes all execute, and for a mask of lanes. Code
//! counts each block against the budget as the interpreter would, so either continues where the other stopped.
//!
//! `kind` lists the operations that have templates, `templates` contains these, `block` finds and translates blocks,
//! and `code` is the executable result.
//!
//! Templates access the warp's registers, the rows that all warps have, and the fields of [`HostState`] and
//! `code::Context`, nothing else; `block` has checked each row index against their number. So a program cannot make
//! code that accesses other addresses.

#[cfg(target_arch = "x86_64")]
mod block;
#[cfg(target_arch = "x86_64")]
mod code;
#[cfg(target_arch = "x86_64")]
mod kind;
#[cfg(not(target_arch = "x86_64"))]
mod none;
#[cfg(target_arch = "x86_64")]
mod templates;

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;

#[cfg(target_arch = "x86_64")]
pub use block::translate;
#[cfg(target_arch = "x86_64")]
pub use code::Translated;
#[cfg(not(target_arch = "x86_64"))]
pub use none::{Translated, translate};

/// A program's translation, made when the program has run a number of times.
pub type LazyTranslation = tepui_hostvec::LazyTranslation<Translated>;
