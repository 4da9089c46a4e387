//! Statistics of a program, in the terms of Mesa's shader statistics.

use crate::emit::Listing;
use serde::{Deserialize, Serialize};
use std::fmt;
use tepui_intel_isa::{Inst, Opcode, SyncFunction};
use tepui_regalloc::spill::Spilled;

/// Statistics of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Stats {
    /// Channels of a thread.
    pub width: u8,
    /// Instructions, without those in `syncs`.
    pub instructions: u32,
    /// Instructions that only wait (Gen12's `sync`, except at barriers).
    pub syncs: u32,
    /// Messages among them.
    pub sends: u32,
    /// Loops.
    pub loops: u32,
    /// Stores of spilled values.
    pub spills: u32,
    /// Loads of spilled values.
    pub fills: u32,
    /// Registers up to the last one that values take.
    pub registers: u32,
    /// Bytes of scratch memory of a thread.
    pub scratch: u32,
    /// Bytes of the code without compaction.
    pub long_bytes: u32,
    /// Bytes of the code.
    pub bytes: u32,
}

impl Stats {
    /// Counts a program.
    pub(crate) fn new(listing: &Listing, width: u8, spilled: &Spilled) -> Stats {
        let is_sync =
            |inst: &&Inst| inst.opcode == Opcode::Sync && inst.function != SyncFunction::Bar as u8;
        let syncs = listing.insts.iter().filter(is_sync).count();
        let sends = listing.insts.iter().filter(|inst| inst.opcode.is_send()).count();
        Stats {
            width,
            instructions: (listing.insts.len() - syncs) as u32,
            syncs: syncs as u32,
            sends: sends as u32,
            loops: listing.loops,
            spills: spilled.stores,
            fills: spilled.loads,
            registers: 0,
            scratch: spilled.scratch_bytes,
            long_bytes: 16 * listing.insts.len() as u32,
            bytes: listing.insts.iter().map(|inst| inst.bytes() as u32).sum(),
        }
    }
}

impl fmt::Display for Stats {
    /// The line of Mesa's `INTEL_DEBUG` output, without its cycles.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "SIMD{} shader: {} instructions, {} syncs. {} loops. {}:{} spills:fills, {} sends, {} registers. \
             Compacted {} to {} bytes.",
            self.width,
            self.instructions,
            self.syncs,
            self.loops,
            self.spills,
            self.fills,
            self.sends,
            self.registers,
            self.long_bytes,
            self.bytes
        )
    }
}
