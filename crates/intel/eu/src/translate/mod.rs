//! Translates sequences of operations to host code (x86-64 with AVX2).
//!
//! The interpreter spends most of an instruction's time on decoding and on moving rows of channels through memory. A
//! *block* is a sequence of operations that begins where channels may rejoin or flow control leads, and ends with flow
//! control, with a message, or before a read of the thread's state. It is translated to code that reads and writes the
//! thread's registers eight channels at a time; operations without a template are calls of their handlers. Blocks jump
//! to each other, and call the units for messages, so that a thread may stay in translated code from its start to its
//! end. There are two versions of each block: for threads whose channels all execute, and for a mask of channels. Code
//! tracks executing and waiting channels as the interpreter does, and counts each block against the thread's budget, so
//! interpreter and translation agree and either continues where the other stopped.
//!
//! `block` finds and translates blocks, `kind` lists the operations that have templates, `templates` contains these,
//! `flow` those of flow control, and `code` is the executable result.
//!
//! Templates access the thread's register file, against whose end `Source::new` and `Target::new` have checked all
//! offsets, the masks of its channels and the fields of `HostState`, nothing else. So a program cannot make code that
//! accesses other addresses.

#[cfg(target_arch = "x86_64")]
mod block;
#[cfg(target_arch = "x86_64")]
mod code;
#[cfg(target_arch = "x86_64")]
mod flow;
#[cfg(target_arch = "x86_64")]
mod kind;
#[cfg(not(target_arch = "x86_64"))]
mod none;
#[cfg(target_arch = "x86_64")]
mod templates;

#[cfg(target_arch = "x86_64")]
use block::translate;
#[cfg(target_arch = "x86_64")]
pub use code::{Continuation, Translated, Units};
#[cfg(not(target_arch = "x86_64"))]
use none::translate;
#[cfg(not(target_arch = "x86_64"))]
pub use none::{Continuation, Translated, Units};

use crate::lane::FloatMode;
use crate::op::Op;

/// Number of float modes that affect translated code.
const MODES: usize = 4;

/// A program's translations by float mode, made when the program has run a number of times.
#[derive(Debug)]
pub struct LazyTranslation(tepui_hostvec::LazyTranslation<Translated, MODES>);

impl LazyTranslation {
    /// A translation that is made after `runs` runs of threads; never if it is `u32::MAX`.
    pub fn after(runs: u32) -> LazyTranslation {
        LazyTranslation(tepui_hostvec::LazyTranslation::after(runs))
    }

    /// The translation for threads with this float mode, once it exists.
    pub fn get(&self, ops: &[Op], control: u32) -> Option<&Translated> {
        let mode = FloatMode(control);
        let index = usize::from(mode.to_zero()) | usize::from(mode.keeps_denormals()) << 1;
        self.0.get(index, || translate(ops, mode))
    }
}
