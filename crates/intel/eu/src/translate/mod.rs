//! Translates runs of operations to machine code of the host (x86-64 with AVX2).
//!
//! The interpreter spends most of an instruction's time on finding out what to do and on moving rows
//! of channels through memory. A *block* is a run of operations that begins where channels may join or flow control goes, and ends
//! with flow control, with a message, or before a read of the thread's state. It becomes code that reads and writes the
//! thread's registers eight channels at a time; operations without a template are calls of their handlers. Blocks jump to one
//! another, and call the units for messages, so that a thread may stay in translated code from its start to its end. All is there twice: for threads whose
//! channels all execute, and with the channels of a mask. Code keeps the channels that execute and wait as the interpreter does, and
//! counts each block against the thread's budget, so interpreter and translation agree and either goes on where the other stopped.
//!
//! `block` finds the blocks and translates them, `kind` says for which operations there are templates, `templates` has these, `flow`
//! those of flow control, and `code` what can be executed.
//!
//! Templates touch the thread's register file, whose offsets `Source::new` and `Target::new` have compared with its end, the masks of
//! its channels and the fields of `HostState`, nothing else. So no address outside of them can be formed, whatever a program says.

mod block;
mod code;
mod flow;
mod kind;
mod templates;

pub use code::{Next, Translated, Units};

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::lane::FloatMode;
use crate::op::Op;

/// A program's translation, made when the program has run for a while.
#[derive(Debug)]
pub struct Lazy {
    /// Runs until then.
    left: AtomicU32,
    /// For each float mode: [`mode_index`].
    translated: [OnceLock<Option<Translated>>; MODES],
}

/// Float modes that make a difference to translated code.
const MODES: usize = 4;

fn mode_index(mode: FloatMode) -> usize {
    usize::from(mode.to_zero()) | usize::from(mode.keeps_denormals()) << 1
}

impl Lazy {
    /// A translation that is made after so many runs of a thread; never after `u32::MAX`.
    pub fn after(runs: u32) -> Lazy {
        let never = runs == u32::MAX;
        let translated =
            [(); MODES].map(|()| if never { OnceLock::from(None) } else { OnceLock::new() });
        Lazy { left: AtomicU32::new(runs), translated }
    }

    /// The translation for threads with this float mode, once there is one.
    pub fn get(&self, ops: &[Op], control: u32) -> Option<&Translated> {
        let mode = FloatMode(control);
        let translated = &self.translated[mode_index(mode)];
        if let Some(translated) = translated.get() {
            return translated.as_ref();
        }
        let less = |left: u32| left.checked_sub(1);
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok() {
            return None;
        }
        translated.get_or_init(|| block::translate(ops, mode)).as_ref()
    }
}
