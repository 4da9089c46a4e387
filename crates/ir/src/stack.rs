//! Stack space for recursion over nested regions.
//!
//! Validator, printer, interpreter, passes and compilers recurse from a region into the regions of
//! its instructions. The depth is known beforehand, so each entry point ensures that there is
//! enough stack ([`for_shader`]), on whatever thread it is called. Front end and parser do not know
//! the depth, and check at each level ([`grow`]).

use crate::Shader;

/// Stack that one level of nesting may take, with what is called at the innermost one. Debug builds
/// measured up to 9 KiB.
const BYTES_PER_LEVEL: usize = 24 << 10;
/// Nesting that any thread's stack has room for.
const SHALLOW: usize = 16;

/// The stack that a recursion over a shader's regions needs.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    bytes: usize,
}

/// The stack that a recursion over the regions of `s` needs, where a pass may double the nesting.
#[must_use]
pub fn for_shader(s: &Shader) -> Stack {
    // Each region has one parent, so nesting is no deeper than the number of regions.
    let levels = if s.regions.len() <= SHALLOW { 0 } else { s.nesting() };
    Stack { bytes: if levels <= SHALLOW { 0 } else { 2 * levels * BYTES_PER_LEVEL } }
}

/// Calls `f`, a level of a recursion whose depth is not known beforehand, with stack enough for
/// that level.
pub fn grow<R>(f: impl FnOnce() -> R) -> R {
    const PIECE: usize = 4 << 20;
    stacker::maybe_grow(SHALLOW * BYTES_PER_LEVEL, PIECE, f)
}

impl Stack {
    /// Calls `f` with at least that much stack left, on a new stack if there is less on this one.
    pub fn run<R>(self, f: impl FnOnce() -> R) -> R {
        match self.bytes {
            0 => f(),
            bytes => stacker::maybe_grow(bytes, bytes + BYTES_PER_LEVEL * SHALLOW, f),
        }
    }
}
