//! Listings: instructions in their final order, with labels, and their encoding.

use crate::error::{Error, Result};
use std::ops::Deref;
use tepui_ir::Loc;

/// An instruction in its final order. Branches name a label.
#[derive(Clone, Copy, Debug)]
pub struct Line<I> {
    /// The instruction; a branch's offset is filled in when it is encoded.
    pub inst: I,
    /// Target of a branch.
    pub target: Option<Label>,
    /// Source location.
    pub loc: Loc,
    /// The step that it was emitted for.
    pub step: At,
}

/// A step of a program, by its block and its number there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct At {
    /// The block.
    pub block: u32,
    /// The step.
    pub step: u32,
}

/// A place between instructions: an index of [`Listing::labels`].
pub type Label = u32;

/// A program in order.
#[derive(Clone, Debug)]
pub struct Listing<I> {
    /// Instructions.
    pub lines: Vec<Line<I>>,
    /// The line that each label precedes.
    pub labels: Vec<u32>,
    /// Loops.
    pub loops: u32,
    /// Another program is linked after the end.
    pub is_part: bool,
}

impl<I> Default for Listing<I> {
    fn default() -> Listing<I> {
        Listing { lines: Vec::new(), labels: Vec::new(), loops: 0, is_part: false }
    }
}

/// Machine code and where each instruction comes from.
#[derive(Clone, Debug, Default)]
pub struct Encoded {
    /// Machine code.
    pub code: Vec<u8>,
    /// Offset of each line's instruction, with its place in the source.
    pub locs: Vec<(u32, Loc)>,
}

/// Encodes a listing: `encode` gives the bytes of an instruction, `branch` one whose distance in bytes, from the
/// beginning of the branch to its target, is known. Both give as many bytes for a branch.
///
/// # Errors
/// Those of `encode` and `branch`, and a branch to a line that there is not.
pub fn encode<I: Copy, B: Deref<Target = [u8]>, E: From<Error>>(
    listing: &Listing<I>,
    mut encode: impl FnMut(&I) -> Result<B, E>,
    mut branch: impl FnMut(I, i32) -> Result<B, E>,
) -> Result<Encoded, E> {
    let lines = &listing.lines;
    let mut out = Encoded { code: Vec::with_capacity(lines.len() * 8), ..Encoded::default() };
    out.locs.reserve(lines.len());
    let mut branches = Vec::new();
    for (n, line) in lines.iter().enumerate() {
        out.locs.push((out.code.len() as u32, line.loc));
        if let Some(label) = line.target {
            branches.push((n, line.inst, label));
        }
        out.code.extend_from_slice(&encode(&line.inst)?);
    }
    for (line, inst, target) in branches {
        let to = listing.labels.get(target as usize).and_then(|&l| out.locs.get(l as usize));
        let Some(&(to, _)) = to else { return Err(Error::Branch { line, target }.into()) };
        let at = out.locs[line].0;
        let bytes = branch(inst, to as i32 - at as i32)?;
        let at = at as usize;
        out.code[at..at + bytes.len()].copy_from_slice(&bytes);
    }
    Ok(out)
}
