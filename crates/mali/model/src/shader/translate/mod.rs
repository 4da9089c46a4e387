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
pub mod kind;
#[cfg(not(target_arch = "x86_64"))]
mod none;
#[cfg(target_arch = "x86_64")]
mod templates;

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;

#[cfg(target_arch = "x86_64")]
use block::translate;
#[cfg(target_arch = "x86_64")]
pub use code::Translated;
pub use kind::{Number, TemplateOp};
#[cfg(not(target_arch = "x86_64"))]
pub use none::{Translated, translate};

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::program::Program;
use super::row::LANES;

/// State of a warp for translated code, in addition to its registers.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct HostState {
    /// The executing lanes, of which `row` is the expanded mask.
    pub exec: u32,
    /// All ones for executing lanes.
    pub row: [u32; LANES],
}

/// A program's translation, made when the program has run a number of times.
pub struct LazyTranslation {
    /// Remaining runs until the translation.
    left: AtomicU32,
    translated: OnceLock<Option<Translated>>,
}

impl LazyTranslation {
    /// A translation that is made after `runs` runs of warps; never if it is `u32::MAX`.
    pub fn after(runs: u32) -> LazyTranslation {
        let never = runs == u32::MAX;
        let translated = if never { OnceLock::from(None) } else { OnceLock::new() };
        LazyTranslation { left: AtomicU32::new(runs), translated }
    }

    /// The program's translation, once it exists.
    #[inline]
    pub fn get(&self, program: &Program) -> Option<&Translated> {
        if let Some(translated) = self.translated.get() {
            return translated.as_ref();
        }
        let less = |left: u32| left.checked_sub(1);
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok() {
            return None;
        }
        self.translated.get_or_init(|| translate(program)).as_ref()
    }
}
