//! Encodes a list of instructions as machine code.

use crate::error::{Error, Result};
use crate::flow::Listing;
use tepui_agx_isa::Inst;
use tepui_backend::listing;
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
    let encoded = listing::encode(
        listing,
        |inst| Ok::<_, Error>(inst.encode()?),
        |mut inst, off| {
            match &mut inst {
                Inst::JmpExecAny(j) => j.off = off,
                Inst::JmpExecNone(j) => j.off = off,
                _ => return Err(Error::Internal("a branch is none".to_owned())),
            }
            Ok(inst.encode()?)
        },
    )?;
    let (mut code, locs) = (encoded.code, encoded.locs);
    let body_bytes = locs.last().map_or(0, |&(at, _)| at);
    let trap = Inst::from(tepui_agx_isa::table::flow::Trap::default()).encode()?;
    for _ in 0..TRAPS {
        code.extend_from_slice(&trap);
    }
    Ok(Packed { code, body_bytes, locs })
}
