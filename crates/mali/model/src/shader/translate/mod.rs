//! Translates runs of operations to machine code of the host (x86-64 with AVX2).
//!
//! The interpreter spends most of an operation's time on moving rows of lanes through memory. A *block* is a run of
//! operations that begins where lanes may meet or branches go, and ends behind a branch or before an operation that the
//! interpreter alone executes. It becomes code that reads and writes the warp's registers eight lanes at a time; operations
//! without a template are calls of their handlers. Blocks jump to one another as long as all lanes that execute take the
//! same way and none waits where they go; else code is left, and the interpreter goes on. All is there twice: for warps whose
//! lanes all execute, and with the lanes of a mask. Code counts each block against the budget as the interpreter would, so
//! either goes on where the other stopped.
//!
//! `kind` says for which operations there are templates, `templates` has these, `block` finds blocks and translates them, and
//! `code` is what can be executed.
//!
//! Templates touch the warp's registers, the rows that all warps have, and the fields of [`HostState`] and
//! `code::Context`, nothing else; `block` has compared each row with the number of them. So no address outside can be
//! formed, whatever a program says.

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
pub use kind::{Kind, Number};
#[cfg(not(target_arch = "x86_64"))]
pub use none::{Translated, translate};

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::program::Program;
use super::row::LANES;

/// What translated code keeps of a warp beside its registers.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct HostState {
    /// The lanes that execute, of which `row` is the mask.
    pub exec: u32,
    /// All bits of the lanes that execute.
    pub row: [u32; LANES],
}

/// A program's translation, made when the program has run for a while.
pub struct Lazy {
    /// Runs until then.
    left: AtomicU32,
    translated: OnceLock<Option<Translated>>,
}

impl Lazy {
    /// A translation that is made after so many runs of a warp; never after `u32::MAX`.
    pub fn after(runs: u32) -> Lazy {
        let never = runs == u32::MAX;
        let translated = if never { OnceLock::from(None) } else { OnceLock::new() };
        Lazy { left: AtomicU32::new(runs), translated }
    }

    /// The program's translation, once there is one.
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
