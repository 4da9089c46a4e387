//! Statistics of a program, with the cycles of Mesa's model.
//!
//! source: Mesa, bifrost_compile.c (`va_print_stats`, `va_gather_stats`)

use crate::emit::Listing;
use tepui_mali_isa::Op;
use tepui_mali_isa::table::field::Unit;

/// Statistics of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Stats {
    /// Instructions.
    pub instructions: u32,
    /// Bytes of machine code.
    pub bytes: u32,
    /// Registers.
    pub registers: u32,
    /// Loops.
    pub loops: u32,
    /// Stores of spilled values.
    pub spills: u32,
    /// Loads of spilled values.
    pub fills: u32,
    /// Bytes of scratch memory of a thread.
    pub scratch: u32,
    /// Words of fast-access uniforms.
    pub fau: u32,
    /// Instructions of the multiply-add unit.
    pub fma: u32,
    /// Instructions of the conversion unit.
    pub cvt: u32,
    /// Instructions of the special function unit.
    pub sfu: u32,
    /// Varyings, in halves of 16 bits.
    pub varyings: u32,
    /// Texture lookups.
    pub textures: u32,
    /// Accesses of memory.
    pub load_store: u32,
}

impl Stats {
    /// Counts the instructions of a listing.
    pub(crate) fn count(&mut self, listing: &Listing) {
        self.loops = listing.loops;
        for line in &listing.lines {
            let inst = &line.inst;
            self.instructions += 1;
            match inst.op.row().form.unit {
                Unit::Fma => self.fma += 1,
                _ if inst.op == Op::NOP => {}
                Unit::Cvt => self.cvt += 1,
                Unit::Sfu => self.sfu += 1,
                Unit::Varying => self.varyings += 2 * u32::from(inst.staging[0].count),
                Unit::Texture | Unit::VaryingTexture => self.textures += 1,
                Unit::LoadStore => self.load_store += 1,
                Unit::Other => {}
            }
        }
    }

    /// Cycles of each unit of one core of a G78 for a thread: multiply-add, conversion, special function, varying, texture, load and
    /// store.
    #[must_use]
    pub fn cycles(&self) -> [f32; 6] {
        let per = |n: u32, rate: u32| n as f32 / rate as f32;
        [
            per(self.fma, 64),
            per(self.cvt, 64),
            per(self.sfu, 16),
            per(self.varyings, 16),
            per(self.textures, 4),
            self.load_store as f32,
        ]
    }

    /// Whether a shader core holds only half as many threads as it can.
    #[must_use]
    pub fn is_half(&self) -> bool {
        self.registers > u32::from(crate::mir::FULL_OCCUPANCY)
    }
}

impl std::fmt::Display for Stats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [fma, cvt, sfu, v, t, ls] = self.cycles();
        write!(
            f,
            "{} instructions, {fma:.3} fma, {cvt:.3} cvt, {sfu:.3} sfu, {v:.3} v, {t:.3} t, {ls:.0} ls, {} bytes, {} registers, \
             {} loops, {}:{} spills:fills, {} scratch bytes, {} uniform words",
            self.instructions,
            self.bytes,
            self.registers,
            self.loops,
            self.spills,
            self.fills,
            self.scratch,
            self.fau,
        )
    }
}
