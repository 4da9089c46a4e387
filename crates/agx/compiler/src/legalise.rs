//! Operations that no AGX instruction does, in terms of those that one does: what the machine asks of
//! [`lower_alu`](mod@tepui_passes::lower_alu).
//!
//! Runs on the IR after the machine-independent passes, so that what it makes is folded and shared like everything else.

use tepui_ir::Shader;
use tepui_passes::lower_alu::{self, Alu};

/// What the machine lacks.
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
    .union(Alu::DYNAMIC);

/// Rewrites a shader; returns whether anything changed.
pub fn run(s: &mut Shader) -> bool {
    let changed = lower_alu::run(s, LACKS);
    // What one lowering makes, packing, say, may be another's to take further: its divisions.
    changed && {
        lower_alu::run(s, LACKS);
        true
    }
}
