//! Control flow: branches, barriers, discards.
//!
// source: Mesa, src/panfrost/compiler/valhall/ISA.xml.

use super::field::*;
use crate::modifier::fields::*;

rows! {
    after nothing;

    "Does nothing; carries a flow modifier where no other instruction can."
    Form { ..CVT } => {
        NOP = "NOP" 32, 0x0, 0x0;
    }

    "Branches by `offset` instructions from the next one if the source is not zero, or with `.eq` \
     if it is."
    Form {
        modifiers: &[CONSERVATIVE, EQ],
        sources: &[src(0, "condition").combined()],
        immediates: &[signed("offset", 8, 27)],
        ..CVT
    } => {
        BRANCHZ = "BRANCHZ" 32, 0x1f, 0x0;
    }

    "Discards the fragment and ends its thread if the comparison holds."
    Form {
        modifiers: &[CONDITION],
        sources: &[src(0, "left").float().swizzled(), src(1, "right").float().swizzled()],
        ..CVT
    } => {
        DISCARD_F32 = "DISCARD.f32" 32, 0x20, 0x0;
    }

    "Branches to an address, relative to the instruction or with `.absolute` not, if the first \
     source is not zero, or with `.eq` if it is."
    Form {
        modifiers: &[CONSERVATIVE, EQ, ABSOLUTE],
        sources: &[src(0, "condition").combined(), src(1, "target")],
        ..CVT
    } => {
        BRANCHZI = "BRANCHZI" 32, 0x2f, 0x0;
    }

    "Waits until all threads of the workgroup are here and their accesses to memory are done. It \
     takes slot 7 and needs flow `.wait`."
    Form { modifiers: &[SLOT], ..MESSAGE } => {
        BARRIER = "BARRIER" 32, 0x45, 0x0;
    }
}
