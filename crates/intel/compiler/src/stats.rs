//! Statistics of a program, in the terms of Mesa's shader statistics.

use crate::emit::listing::Listing;
use serde::{Deserialize, Serialize};
use std::fmt;
use tepui_intel_isa::descriptor::STATELESS_NON_COHERENT;
use tepui_intel_isa::message::{Descriptor, response_registers};
use tepui_intel_isa::{Desc, Inst, Opcode, SyncFunction};
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
    /// Messages among them, without accesses of scratch memory, as Mesa counts them. source: Mesa, `brw_generator.cpp`
    pub sends: u32,
    /// Loops.
    pub loops: u32,
    /// Stores of spilled values.
    pub spills: u32,
    /// Loads of spilled values.
    pub fills: u32,
    /// Stores to arrays in scratch memory.
    pub array_stores: u32,
    /// Loads from arrays in scratch memory.
    pub array_loads: u32,
    /// Registers up to the last one that values take.
    pub registers: u32,
    /// Bytes of scratch memory of a thread.
    pub scratch: u32,
    /// Bytes of the code without compaction.
    pub long_bytes: u32,
    /// Bytes of the code.
    pub bytes: u32,
}

/// Message of an instruction, by what statistics count.
enum Message {
    /// Access of a spilled value.
    Spill,
    /// Store to an array in scratch memory, or load.
    Array(bool),
    Other,
}

fn message(inst: &Inst) -> Option<Message> {
    if !inst.opcode.is_send() {
        return None;
    }
    let Desc::Immediate(desc) = inst.send.desc else { return Some(Message::Other) };
    Some(match Descriptor::decode(inst.send.sfid, desc) {
        Descriptor::Scratch { .. } => Message::Spill,
        Descriptor::Data0 { surface: STATELESS_NON_COHERENT, .. } => {
            Message::Array(response_registers(desc) == 0)
        }
        _ => Message::Other,
    })
}

impl Stats {
    /// Stores to scratch memory, which is Mesa's number of spills.
    #[must_use]
    pub const fn scratch_stores(&self) -> u32 {
        self.spills + self.array_stores
    }

    /// Loads from scratch memory, which is Mesa's number of fills.
    #[must_use]
    pub const fn scratch_loads(&self) -> u32 {
        self.fills + self.array_loads
    }

    /// Counts a program.
    pub(crate) fn new(listing: &Listing, width: u8, spilled: &Spilled) -> Stats {
        let is_sync =
            |inst: &&Inst| inst.opcode == Opcode::Sync && inst.function != SyncFunction::Bar as u8;
        let syncs = listing.insts.iter().filter(is_sync).count();
        let [mut sends, mut array_stores, mut array_loads] = [0; 3];
        for access in listing.insts.iter().filter_map(message) {
            match access {
                Message::Spill => {}
                Message::Array(true) => array_stores += 1,
                Message::Array(false) => array_loads += 1,
                Message::Other => sends += 1,
            }
        }
        Stats {
            width,
            instructions: (listing.insts.len() - syncs) as u32,
            syncs: syncs as u32,
            sends,
            loops: listing.loops,
            spills: spilled.stores,
            fills: spilled.loads,
            array_stores,
            array_loads,
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
            self.scratch_stores(),
            self.scratch_loads(),
            self.sends,
            self.registers,
            self.long_bytes,
            self.bytes
        )
    }
}
