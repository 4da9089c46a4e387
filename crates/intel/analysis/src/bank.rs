//! Banks of the general registers.
//!
//! Of an instruction with three sources the second and the third are read at once, if they are in different banks.
//! There are four banks: two halves of the file, each with even and odd registers. The rule was found by
//! experiment on Gen7 to Gen9; Mesa uses it for Gen12, too. source: Mesa, `brw_opt_bank_conflicts.cpp` (`bank_of`,
//! `has_bank_conflict`, `is_conflict_optimized_out`).

use tepui_intel_isa::{Form, Inst};

use crate::timing::general;

/// The bank of a general register: bit 6 and bit 0 of its number.
pub const fn bank(register: u8) -> u8 {
    register >> 5 & 2 | register & 1
}

/// Whether an instruction loses a cycle for each register of its result because its second and third source are in
/// one bank. A register that another source reads too is read once.
pub fn conflict(inst: &Inst) -> bool {
    if inst.form() != Form::Ternary {
        return false;
    }
    let [first, second, third] = inst.src.map(|src| general(src.location));
    let (Some(b), Some(c)) = (second, third) else { return false };
    bank(b) == bank(c) && b != c && first != Some(b) && first != Some(c)
}
