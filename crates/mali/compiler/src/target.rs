//! The parameters of the shared lowering passes ([`tepui_passes::target`]) for Valhall.

use tepui_passes::lower_alu::Alu;
use tepui_passes::lower_int64::{self, Int64};
use tepui_passes::lower_subgroups::Subgroups;
use tepui_passes::lower_tex::Tex;
use tepui_passes::target::Target;
use tepui_passes::unroll;

/// Lanes of a subgroup: a warp.
pub const LANES: u32 = 16;

/// Arithmetic that the machine lacks, or that selection does not use yet.
const LACKS: Alu = Alu::FDIV
    .union(Alu::FREM)
    .union(Alu::FPOW)
    .union(Alu::FSIGN)
    .union(Alu::FFRACT)
    .union(Alu::FQUANTIZE)
    .union(Alu::DIV_CONST)
    .union(Alu::DIV)
    .union(Alu::ISIGN)
    .union(Alu::CARRY)
    .union(Alu::FIND_LSB)
    .union(Alu::SFIND_MSB)
    .union(Alu::BIT_INSERT)
    .union(Alu::BIT_EXTRACT)
    .union(Alu::PACK)
    .union(Alu::NARROW)
    .union(Alu::HALF_SPECIAL)
    .union(Alu::TO_INT8)
    .union(Alu::DYNAMIC)
    .union(Alu::INTERLEAVE);

/// Subgroup operations that become ballots, values of other lanes, and trees of them or loops over lanes.
const NO_SUBGROUPS: Subgroups = Subgroups::all().difference(Subgroups::XOR);

/// Limits of complete unrolling. A loop around barriers gains what any loop does: its addresses become constants, and its test and
/// jump go.
pub const UNROLLING: unroll::Limits =
    unroll::Limits { iterations: 128, instructions: 256, known: 512, arrays: 5000, barrier: 1 };

/// The machine.
#[must_use]
pub fn target() -> Target {
    Target {
        lanes: Some(LANES),
        alu: LACKS,
        int64: lower_int64::Options { native: Int64::ADD },
        min_int_bits: 32,
        addresses: None,
        subgroups: NO_SUBGROUPS,
        subgroup_trees: true,
        // Layers are rounded by selection and clamped by the hardware.
        tex: Tex::all().difference(Tex::ARRAY_LAYER),
        buffers: false,
        float64: false,
    }
}
