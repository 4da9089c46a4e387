//! The parameters of the shared lowering passes ([`tepui_passes::target`]) for execution units.

use tepui_intel_isa::Generation;
use tepui_passes::lower_alu::Alu;
use tepui_passes::lower_int64;
use tepui_passes::lower_subgroups::Subgroups;
use tepui_passes::lower_tex::Tex;
use tepui_passes::target::Target;
use tepui_passes::unroll;

/// Arithmetic that the machine lacks, or that selection does not use yet.
const LACKS: Alu = Alu::FDIV
    .union(Alu::FREM)
    .union(Alu::FSIGN)
    .union(Alu::FLDEXP)
    .union(Alu::FFREXP)
    .union(Alu::FQUANTIZE)
    .union(Alu::F2F_RTZ)
    .union(Alu::DIV_CONST)
    .union(Alu::ISIGN)
    .union(Alu::CARRY)
    .union(Alu::SATURATE)
    .union(Alu::BIT_INSERT)
    .union(Alu::BIT_EXTRACT)
    .union(Alu::PACK)
    .union(Alu::NARROW)
    .union(Alu::HALF_SPECIAL)
    .union(Alu::TO_INT8)
    .union(Alu::DYNAMIC)
    .union(Alu::INTERLEAVE);

/// Subgroup operations that become masks of channels, values of other channels, and reductions of 32 bits. Integers are
/// multiplied in several steps, which scans do not have.
const NO_SUBGROUPS: Subgroups = Subgroups::RELATIVE
    .union(Subgroups::XOR)
    .union(Subgroups::QUAD)
    .union(Subgroups::VOTE_EQ)
    .union(Subgroups::VOTE)
    .union(Subgroups::ELECT)
    .union(Subgroups::BOOL_REDUCE)
    .union(Subgroups::REDUCE_64)
    .union(Subgroups::IMUL);

/// Limits of complete unrolling. A loop around barriers gains what any loop does: its addresses become constants, and
/// neighbouring accesses of several rounds one message. Arrays that unrolling would put into registers are worth less than
/// where registers hold one lane's value: the array of a round function such as SHA-256's takes all of them, and the code grows
/// by fourteen.
pub const UNROLLING: unroll::Limits =
    unroll::Limits { iterations: 128, instructions: 512, known: 512, arrays: 1200, barrier: 1 };

/// The machine. The number of channels differs between the programs of one shader, so passes do not know the size of a
/// subgroup.
#[must_use]
pub fn target(generation: Generation) -> Target {
    let alu = match generation {
        Generation::Gen9 => LACKS,
        Generation::Gen12 => LACKS.union(Alu::FPOW),
    };
    Target {
        lanes: None,
        alu,
        int64: lower_int64::Options::default(),
        min_int_bits: 32,
        addresses: None,
        subgroups: NO_SUBGROUPS,
        subgroup_trees: false,
        // Layers are rounded and clamped by the sampler.
        tex: Tex::all().difference(Tex::ARRAY_LAYER),
        buffers: false,
        float64: false,
    }
}
