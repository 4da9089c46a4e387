//! Translates a program's operations to machine code of the host: x86-64 with AVX-512.
//!
//! The interpreter ([`super::run`]) spends most of an instruction's time on finding out what to do. The
//! translator writes that down once: for each operation a few vector instructions over the rows of the
//! register file, sixteen lanes at a time, with the execution mask in mask registers; control flow
//! becomes jumps. Operations that it does not know are calls of the interpreter's handlers, so both
//! ways run the same program to the same result and either can take over from the other at most places.
//!
//! Between two changes of the execution mask, operations of lanes run first for one half of the group, if
//! any of its lanes executes, then for the other. So divergent code costs half, and all rows of a run
//! fit in vector registers: they are loaded once, and written back at its end in the active lanes.
//! (Cranelift would allocate registers over the whole program, but its vectors have 128 bits: a row
//! would be eight of them.)
//!
//! `asm` encodes instructions, `translate` walks the program and keeps rows in vector registers, `lanes`,
//! `local`, `device`, `fragment` and `control` have the templates, `code` holds what can be executed.

mod asm;
mod code;
mod control;
mod device;
mod fragment;
#[cfg(test)]
mod golden;
mod lanes;
mod local;
mod translate;

pub use code::{Translated, exit};

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::program::Program;

/// A program's translation, made when the program has run for a while.
pub struct Lazy {
    /// Runs until then.
    left: AtomicU32,
    code: OnceLock<Option<Translated>>,
}

impl Lazy {
    /// A translation that is made after so many runs of a SIMD-group; never after `u32::MAX`.
    pub fn after(runs: u32) -> Lazy {
        let code = if runs == u32::MAX { OnceLock::from(None) } else { OnceLock::new() };
        Lazy { left: AtomicU32::new(runs), code }
    }

    /// The translation, once there is one.
    #[inline]
    pub fn get(&self, program: &Program) -> Option<&Translated> {
        if let Some(code) = self.code.get() {
            return code.as_ref();
        }
        let less = |left: u32| left.checked_sub(1);
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok() {
            return None;
        }
        self.code.get_or_init(|| translate::translate(program)).as_ref()
    }
}

/// Can this host run translations?
pub fn is_available() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
}
