//! Programs that copy texels: each thread loads one and writes it, as it is, to memory or to its pixel.
//!
//! Drivers load attachments into the tile buffer and copy images to buffers with such programs, a warp for each 16 texels.
//! What one does is the same for all places, so that whoever runs it may copy rows instead of executing warps. [`find`]
//! executes a program on descriptions of values ([`value`]) instead of values: what it cannot describe makes it give up.

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
use super::message::Port;
use super::program::Program;
use super::uniforms::Uniforms;
use super::warp::COMMON;

/// Most instructions of a program that is looked at.
const MOST: usize = 128;
/// Most fetches and most writes.
const MOST_EFFECTS: usize = 8;

/// Whose registers a program begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inputs {
    /// The pixel in r59, its coverage in r60.
    Fragments,
    /// The thread's place in r60 to r62.
    Threads,
}

/// Loads a texel of level 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// The index of the operation.
    pub index: u32,
    /// The texture's handle.
    pub texture: u32,
    pub at: [Affine; 3],
    pub layer: Affine,
}

/// Writes what was loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Words to memory, at a number of 64 bits and an unsigned one of 32.
    Store { base: u64, offset: Affine, words: ArrayVec<Word, 4>, bytes: u8 },
    /// A colour to the target of a blend descriptor; the flags are BLEND's.
    Blend { descriptor: u64, channels: [Word; 4], flags: u32 },
    /// Depth and stencil, which are tested with them.
    Emit { depth: Option<Word>, stencil: Option<Word> },
}

/// What a program does that copies texels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copies {
    /// The places at which it does it; elsewhere it does nothing.
    pub region: Region,
    pub fetches: ArrayVec<Fetch, MOST_EFFECTS>,
    pub effects: ArrayVec<Effect, MOST_EFFECTS>,
    /// The instructions that threads execute which copy, a bit for each, and those of the others.
    executed: [u128; 2],
}

impl Copies {
    /// The instructions of a warp with threads that copy, or with others, or with both.
    pub fn instructions(&self, copying: bool, others: bool) -> u64 {
        let of = |some: bool, executed: u128| if some { executed } else { 0 };
        (of(copying, self.executed[0]) | of(others, self.executed[1])).count_ones().into()
    }
}

/// What a program does, if it does nothing but copy texels. Of the registers from r48 on, those of `preload` have a value at
/// the start.
pub fn find(
    program: &Program,
    uniforms: &Uniforms,
    port: &mut Port<'_>,
    inputs: Inputs,
    preload: u16,
) -> Option<Copies> {
    if program.ops.len() > MOST || !program.ops.iter().any(|op| op.isa == Some(Isa::TEX_FETCH)) {
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
