//! Programs ready to run: decoded code, and what is derived from it when it is first needed.

use std::sync::{Arc, OnceLock};

use tepui_hostvec::Target;

use super::check::{Audit, Checker, Footprints, News, proof};
use super::clear;
use super::code::Code;
use crate::job::{ProgramPoint, Report, ReportKind};

/// Translation of programs to host code.
#[derive(Clone, Copy, Debug)]
pub struct Translation {
    /// The number of SIMD-groups that run a program before it is translated; never with `u32::MAX`.
    pub after: u32,
    /// The target. All programs are interpreted with `None`, or with one that the host lacks.
    pub target: Option<Target>,
    /// Programs may be proven to use their registers rightly.
    pub prove: bool,
}

impl Translation {
    /// No translation.
    #[cfg(test)]
    pub const NEVER: Translation = Translation { after: u32::MAX, target: None, prove: true };
}

/// A program.
pub struct Program {
    /// The decoded program.
    pub code: Code,
    footprints: OnceLock<Arc<Footprints>>,
    cleared: OnceLock<Option<Vec<u16>>>,
    /// Initial state for which its register use was verified first, and whether it is correct.
    proven: OnceLock<(Start, bool)>,
    #[cfg(target_arch = "x86_64")]
    translation: super::jit::Lazy,
    #[cfg(target_arch = "x86_64")]
    translation_with_checks: super::jit::Lazy,
}

/// Initial state of SIMD-groups: registers that hold values, whether lanes are pixels, and whether
/// there is an audit.
type Start = (Vec<usize>, bool, bool);

impl Program {
    /// A program, translated according to the options.
    pub fn new(code: Code, translation: Translation) -> Program {
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (translation.after, translation.target);
        Program {
            code,
            footprints: OnceLock::new(),
            cleared: OnceLock::new(),
            proven: if translation.prove {
                OnceLock::new()
            } else {
                OnceLock::from((Start::default(), false))
            },
            #[cfg(target_arch = "x86_64")]
            translation: super::jit::Lazy::after(translation.after, translation.target),
            #[cfg(target_arch = "x86_64")]
            translation_with_checks: super::jit::Lazy::after(translation.after, translation.target),
        }
    }

    /// The host's own code for it, once it has run often enough.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub fn translated(&self) -> Option<&super::jit::Translated> {
        self.translation.get(&self.code, false)
    }

    /// A translation with the interpreter's memory instructions, for the checker.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub fn translated_with_checks(&self) -> Option<&super::jit::Translated> {
        self.translation_with_checks.get(&self.code, true)
    }

    /// Whether it is proven that SIMD-groups which start with the registers `preloaded` use their registers rightly.
    pub fn registers_are_right(&self, preloaded: &[usize], quads: bool, audit: bool) -> bool {
        let (start, holds) = self.proven.get_or_init(|| {
            let all = self.footprints();
            let holds = proof::holds_for(&self.code, all, preloaded, quads, audit);
            ((preloaded.to_vec(), quads, audit), holds)
        });
        // A program runs in one stage; in another it is watched.
        *holds && (&start.0[..], start.1, start.2) == (preloaded, quads, audit)
    }

    /// The register accesses of each instruction, for the checker.
    pub fn footprints(&self) -> &Arc<Footprints> {
        self.footprints.get_or_init(|| Arc::new(Footprints::of(&self.code)))
    }

    /// A checker of a SIMD-group that starts with the 32-bit registers `preloaded`; `quads` if lanes are pixels, `stores` if
    /// its only results are stores.
    pub fn checker(
        &self,
        preloaded: &[usize],
        [quads, stores]: [bool; 2],
        workgroup: [u32; 3],
        audit: Option<Audit>,
    ) -> Checker {
        let quads = quads && audit.is_some();
        let is_proven = self.registers_are_right(preloaded, quads, audit.is_some());
        let footprints = self.footprints();
        Checker::new(footprints, is_proven, preloaded, [quads, stores], workgroup, audit)
    }

    /// Changes of the set of unread results since the last call, for the checker.
    pub fn unread(&self) -> Vec<Report> {
        let news = self.footprints.get().map_or_else(Vec::new, |footprints| footprints.news());
        let report = |(index, news)| {
            let (offset, text) = self.code.describe(index);
            let (kind, what) = match news {
                News::Unread => (ReportKind::UnreadResult, "nobody reads what this writes"),
                News::Read => (ReportKind::ResultRead, "what this writes is read after all"),
            };
            let at = ProgramPoint { program: self.code.address(), offset, text };
            let shader = self.code.fingerprint();
            Report {
                kind,
                what: what.to_owned(),
                at,
                shader,
                lanes: 0,
                workgroup: [0; 3],
                count: 1,
            }
        };
        news.into_iter().map(report).collect()
    }

    /// Rows that a whole SIMD-group must find cleared; `None` for all.
    pub fn cleared_rows(&self) -> Option<&[u16]> {
        self.cleared.get_or_init(|| clear::rows(&self.code)).as_deref()
    }
}
