//! Detection of programs that copy texels: each thread loads a texel and writes it, unchanged, to memory or
//! to its pixel.
//!
//! Drivers load attachments into the tile buffer and copy images to buffers with such programs, one warp per 16 texels.
//! All threads do the same at different coordinates, so that rows can be copied instead of executing warps. [`find`]
//! executes a program on symbolic values ([`value`]); it gives up at a value that it cannot represent.

mod rows;
mod search;
mod value;

#[cfg(test)]
mod tests;

use arrayvec::ArrayVec;
use tepui_mali_isa::Op as Isa;

pub use self::rows::Fetched;
use self::value::Value;
pub use self::value::{Affine, Region, Word};
use super::program::Program;
use crate::units::Port;
use crate::warp::COMMON;
use crate::warp::uniforms::Uniforms;

/// Limit on the instructions of a program that is examined.
const MAX_OPS: usize = 128;
/// Limit on fetches, and on writes.
const MAX_EFFECTS: usize = 8;

/// The kind of threads that execute a program, which determines its initial registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inputs {
    /// Fragments: the pixel in r59, its coverage in r60.
    Fragments,
    /// Compute threads: the global invocation ID in r60 to r62.
    Threads,
}

/// A load of a texel of level 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// The index of the operation.
    pub index: u32,
    /// The texture's handle.
    pub texture: u32,
    pub at: [Affine; 3],
    pub layer: Affine,
}

/// A write of loaded values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Stores words to memory, at the sum of a 64-bit base and an unsigned 32-bit offset.
    Store { base: u64, offset: Affine, words: ArrayVec<Word, 4>, bytes: u8 },
    /// Writes a colour to the target of a blend descriptor; the flags are BLEND's.
    Blend { descriptor: u64, channels: [Word; 4], flags: u32 },
    /// Writes depth and stencil, which are tested.
    Emit { depth: Option<Word>, stencil: Option<Word> },
}

/// The effects of a program that copies texels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copies {
    /// The coordinates at which it copies; threads elsewhere do nothing.
    pub region: Region,
    pub fetches: ArrayVec<Fetch, MAX_EFFECTS>,
    pub effects: ArrayVec<Effect, MAX_EFFECTS>,
    /// The instructions that copying threads execute, one bit each, and those of the other threads.
    executed: [u128; 2],
}

impl Copies {
    /// The number of instructions of a warp with copying threads, or with others, or with both.
    pub fn instructions(&self, copying: bool, others: bool) -> u64 {
        let of = |some: bool, executed: u128| if some { executed } else { 0 };
        (of(copying, self.executed[0]) | of(others, self.executed[1])).count_ones().into()
    }
}

/// The copies of a program, if it only copies texels. Registers from r48 on that `preload` names have a value at the
/// start.
pub fn find(
    program: &Program,
    uniforms: &Uniforms,
    port: &mut Port<'_>,
    inputs: Inputs,
    preload: u16,
) -> Option<Copies> {
    if program.ops.len() > MAX_OPS || !program.ops.iter().any(|op| op.isa == Some(Isa::TEX_FETCH)) {
        return None;
    }
    let mut registers = vec![Value::bits(0); COMMON];
    for register in (48..64).filter(|register| preload >> (register - 48) & 1 != 0) {
        registers[register] = match (inputs, register) {
            (Inputs::Fragments, 59) => Value::Pixel,
            (Inputs::Fragments, 60) => Value::Coverage,
            (Inputs::Threads, 60..63) => Value::Number(Affine::axis(register - 60)),
            _ => Value::Unknown,
        };
    }
    let paths = search::paths(program, uniforms, port, registers)?;
    let (copying, others) = match paths.as_slice() {
        [path] => (path, 0),
        [path, other] if other.effects.is_empty() => (path, other.executed),
        [other, path] if other.effects.is_empty() => (path, other.executed),
        _ => return None,
    };
    (!copying.effects.is_empty()).then(|| Copies {
        region: copying.region,
        fetches: copying.fetches.clone(),
        effects: copying.effects.clone(),
        executed: [copying.executed, others],
    })
}
