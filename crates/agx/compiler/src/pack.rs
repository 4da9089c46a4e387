//! Encodes a list of instructions as machine code.

use crate::error::{Error, Result};
use crate::flow::Listing;
use tepui_agx_isa::Inst;
use tepui_ir::Loc;

/// Trap instructions after the end, for the instruction prefetcher. source: Mesa, agx_compile.c
/// (agx_pack_binary's padding)
const TRAPS: usize = 8;

/// Encoded code and where each instruction comes from.
#[derive(Clone, Debug, Default)]
pub struct Packed {
    /// Machine code, ends with `stop` and traps.
    pub code: Vec<u8>,
    /// Bytes before the last instruction, which is `stop`, and the traps.
    pub body_bytes: u32,
    /// Offset of each instruction with its place in the source.
    pub locs: Vec<(u32, Loc)>,
}

/// Encodes a listing.
///
/// # Errors
/// When an instruction has no encoding: a bug of what made it.
pub fn run(listing: &Listing) -> Result<Packed> {
    let code = Vec::with_capacity(listing.lines.len() * 8);
    let mut out = Packed { code, ..Packed::default() };
    out.locs.reserve(listing.lines.len());
    let mut starts = Vec::with_capacity(listing.lines.len());
    let mut jumps = Vec::new();
    for line in &listing.lines {
        let at = out.code.len();
        starts.push(at);
        out.locs.push((at as u32, line.loc));
        if let Some(l) = line.target {
            jumps.push((at, line.inst, l));
        }
        out.code.extend_from_slice(&line.inst.encode()?);
    }
    for (at, mut inst, label) in jumps {
        let line = listing.labels[label as usize] as usize;
        let Some(&to) = starts.get(line) else {
            return Err(Error::Internal(format!("a branch goes to line {line}, past the end")));
        };
        let off = to as i32 - at as i32;
        match &mut inst {
            Inst::JmpExecAny(j) => j.off = off,
            Inst::JmpExecNone(j) => j.off = off,
            _ => return Err(Error::Internal("a branch is none".to_owned())),
        }
        let bytes = inst.encode()?;
        out.code[at..at + bytes.len()].copy_from_slice(&bytes);
    }
    out.body_bytes = starts.last().map_or(0, |&s| s as u32);
    let trap = Inst::from(tepui_agx_isa::table::flow::Trap::default()).encode()?;
    for _ in 0..TRAPS {
        out.code.extend_from_slice(&trap);
    }
    Ok(out)
}
