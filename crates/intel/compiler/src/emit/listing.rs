//! Machine code before it is encoded.

use tepui_backend::listing::At;
use tepui_intel_isa::Inst;
use tepui_intel_isa::layout::Targets;
use tepui_ir::Loc;

/// Instructions of the hardware.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// The instructions, without jump offsets.
    pub insts: Vec<Inst>,
    /// The targets of their jumps.
    pub targets: Vec<Targets>,
    /// Source location of each, and the step of the code that it was emitted for.
    pub origins: Vec<(Loc, At)>,
    /// Loops.
    pub loops: u32,
    /// Whether threads wait at a barrier.
    pub has_barrier: bool,
}
