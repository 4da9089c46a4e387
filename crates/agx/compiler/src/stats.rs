//! Statistics in the terms of Mesa's shader-db.

use crate::flow::Listing;
use serde::{Deserialize, Serialize};

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
