//! Statistics in the terms of Mesa's shader-db.

use crate::flow::Listing;
use serde::{Deserialize, Serialize};

/// Occupancy: (maximum half-registers, resident threads of a core).
/// source: Mesa, agx_performance.c
const OCCUPANCY: [(u16, u16); 10] = [
    (104, 1024),
    (112, 896),
    (128, 832),
    (136, 768),
    (144, 704),
    (160, 640),
    (184, 576),
    (208, 512),
    (232, 448),
    (256, 384),
];

/// The largest number of half-registers that costs no thread compared with `halves`.
#[must_use]
pub fn tier(halves: u16) -> u16 {
    OCCUPANCY.iter().find(|o| halves <= o.0).map_or(256, |o| o.0)
}

/// Resident threads of a core for a number of half-registers.
#[must_use]
pub fn threads(halves: u16) -> u16 {
    OCCUPANCY.iter().find(|o| halves <= o.0).map_or(384, |o| o.1)
}

/// Maximum number of half-registers with which a workgroup of this size fits on a core.
#[must_use]
pub fn registers_for(threads: u32) -> u16 {
    OCCUPANCY.iter().rev().find(|o| u32::from(o.1) >= threads).map_or(104, |o| o.0)
}

/// The cost of a shader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// Instructions of the main shader, waits and the `stop` included, as Mesa counts.
    pub instructions: u32,
    /// Cycles: the larger of `fscib` and `ic`.
    pub alu: u32,
    /// Cycles of the float, select, compare, integer and bit unit.
    pub fscib: u32,
    /// Cycles of the unit for multiplication, shifts and special functions.
    pub ic: u32,
    /// Bytes of machine code, the preamble's too.
    pub bytes: u32,
    /// Half-registers.
    pub registers: u32,
    /// Half-uniforms.
    pub uniforms: u32,
    /// Bytes of scratch memory of a thread.
    pub scratch: u32,
    /// Threads of a core.
    pub threads: u32,
    /// Loops.
    pub loops: u32,
    /// Stores of spilled registers.
    pub spills: u32,
    /// Loads of spilled registers.
    pub fills: u32,
    /// Instructions of the preamble.
    pub preamble_instructions: u32,
}

impl Stats {
    /// Counts instructions and cycles of a listing.
    pub fn count(&mut self, listing: &Listing) {
        self.instructions = listing.lines.len() as u32;
        for l in &listing.lines {
            let cost = l.inst.cost();
            self.fscib += cost.fscib;
            self.ic += cost.ic;
        }
        self.alu = self.ic.max(self.fscib);
        self.loops = listing.loops;
    }

    /// The line that Mesa's driver prints for shader-db.
    #[must_use]
    pub fn line(&self, stage: &str) -> String {
        format!(
            "{stage} shader: {} inst, {} alu, {} fscib, {} ic, {} bytes, {} regs, {} uniforms, {} scratch, {} threads, {} loops, {}:{} spills:fills",
            self.instructions,
            self.alu,
            self.fscib,
            self.ic,
            self.bytes,
            self.registers,
            self.uniforms,
            self.scratch,
            self.threads,
            self.loops,
            self.spills,
            self.fills
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{threads, tier};

    #[test]
    fn more_registers_leave_fewer_threads() {
        assert_eq!([0, 104, 105, 112, 256].map(threads), [1024, 1024, 896, 896, 384]);
        for halves in 1..=256 {
            assert!(threads(halves) <= threads(halves - 1), "{halves}");
            assert_eq!(threads(tier(halves)), threads(halves), "{halves}");
        }
    }
}
