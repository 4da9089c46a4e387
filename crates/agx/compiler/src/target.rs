//! The parameters of the shared lowering passes ([`tepui_passes::target`]) for AGX.

use crate::{Options, Source};
use tepui_passes::lower_alu::Alu;
use tepui_passes::lower_int64::{self, Int64};
use tepui_passes::lower_subgroups::Subgroups;
use tepui_passes::lower_tex::Tex;
use tepui_passes::preamble::Costs;
use tepui_passes::target::Target;

/// Lanes of a sub-group (a SIMD-group).
pub const LANES: u32 = tepui_agx_chips::LANES as u32;

/// Arithmetic that the machine lacks.
const LACKS: Alu = Alu::FDIV
    .union(Alu::FREM)
    .union(Alu::FPOW)
    .union(Alu::FSIGN)
    .union(Alu::FFRACT)
    .union(Alu::FLDEXP)
    .union(Alu::FFREXP)
    .union(Alu::FQUANTIZE)
    .union(Alu::F2F_RTZ)
    .union(Alu::DIV_CONST)
    .union(Alu::DIV)
    .union(Alu::ISIGN)
    .union(Alu::CARRY)
    .union(Alu::FIND_LSB)
    .union(Alu::SFIND_MSB)
    .union(Alu::PACK)
    .union(Alu::NARROW)
    .union(Alu::BIT_FIELD)
    .union(Alu::HALF_SPECIAL)
    .union(Alu::TO_INT8)
    .union(Alu::DYNAMIC)
    .union(Alu::FMINMAX_ZEROS);

/// The machine's preambles: a texture sample needs its coordinates in registers and takes longer than
/// a load.
pub const PREAMBLE: Costs = Costs {
    max_halves: 192,
    load: 1,
    sample: 4,
    is_preset: |s, i| Source::of_descriptor_load(s, i).is_some(),
};

/// The machine, for a compilation with these options.
#[must_use]
pub fn target(options: &Options) -> Target {
    Target {
        lanes: Some(LANES),
        alu: LACKS,
        int64: lower_int64::Options { native: Int64::ADD | Int64::MUL_32X32 },
        min_int_bits: 16,
        addresses: None,
        subgroups: Subgroups::CLUSTERED
            | Subgroups::REDUCE_64
            | Subgroups::IMUL
            | Subgroups::VOTE_EQ,
        subgroup_trees: false,
        tex: Tex::all(),
        buffers: options.robust,
        float64: false,
    }
}
