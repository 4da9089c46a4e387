//! Programs ready to run: decoded code, and what is derived from it when it is first needed.

use std::sync::OnceLock;

use tepui_hostvec::Target;

use super::check::Footprint;
use super::clear;
use super::code::Code;

/// Translation of programs to host code.
#[derive(Clone, Copy, Debug)]
pub struct Translation {
    /// The number of SIMD-groups that run a program before it is translated; never with `u32::MAX`.
    pub after: u32,
    /// The target. All programs are interpreted with `None`, or with one that the host lacks.
    pub target: Option<Target>,
}

impl Translation {
    /// No translation.
    #[cfg(test)]
    pub const NEVER: Translation = Translation { after: u32::MAX, target: None };
}

/// A program.
pub struct Program {
    /// The decoded program.
    pub code: Code,
    footprints: OnceLock<Vec<Footprint>>,
    cleared: OnceLock<Option<Vec<u16>>>,
    #[cfg(target_arch = "x86_64")]
    translation: super::jit::Lazy,
}

impl Program {
    /// A program that is translated as the options say.
    pub fn new(code: Code, translation: Translation) -> Program {
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (translation.after, translation.target);
        Program {
            code,
            footprints: OnceLock::new(),
            cleared: OnceLock::new(),
            #[cfg(target_arch = "x86_64")]
            translation: super::jit::Lazy::after(translation.after, translation.target),
        }
    }

    /// The host's own code for it, once it has run often enough.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub fn translated(&self) -> Option<&super::jit::Translated> {
        self.translation.get(&self.code)
    }

    /// The register accesses of each instruction, for the checker.
    pub fn footprints(&self) -> &[Footprint] {
        self.footprints.get_or_init(|| Footprint::of(&self.code))
    }

    /// Rows that a whole SIMD-group must find cleared; `None` for all.
    pub fn cleared_rows(&self) -> Option<&[u16]> {
        self.cleared.get_or_init(|| clear::rows(&self.code)).as_deref()
    }
}
