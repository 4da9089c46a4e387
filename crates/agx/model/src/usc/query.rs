//! Static properties of instructions.

use tepui_agx_isa::Inst;

/// The change of nesting depth: constructs that the instruction enters minus those that it leaves.
pub fn nesting(inst: &Inst) -> i64 {
    match inst {
        Inst::IfIcmp(i) => i64::from(i.n),
        Inst::IfFcmp(i) => i64::from(i.n),
        Inst::PopExec(i) => -i64::from(i.n),
        _ => 0,
    }
}

/// Whether the instruction computes the same in all lanes if its sources are the same in all lanes.
/// True only for the instructions of background programs that clear.
pub fn ignores_lane(inst: &Inst) -> bool {
    match inst {
        Inst::StTile(i) => !i.explicit,
        _ => matches!(
            inst,
            Inst::MovImm16(_)
                | Inst::MovImm32(_)
                | Inst::Fadd32(_)
                | Inst::Fmul32(_)
                | Inst::Fmadd32(_)
                | Inst::Fadd16(_)
                | Inst::Fmul16(_)
                | Inst::Fmadd16(_)
                | Inst::Iadd(_)
                | Inst::Imadd(_)
                | Inst::Bitop(_)
                | Inst::Bfi(_)
                | Inst::Bfeil(_)
                | Inst::Extr(_)
                | Inst::Convert(_)
                | Inst::Icmpsel(_)
                | Inst::Fcmpsel(_)
                | Inst::Wait(_)
                | Inst::WaitPix(_)
                | Inst::SignalPix(_)
                | Inst::Stop(_)
        ),
    }
}

/// Whether the instruction leaves local memory as it is. True only for the instructions of end-of-tile programs that store
/// colours.
pub fn keeps_local(inst: &Inst) -> bool {
    matches!(inst, Inst::ImageWriteBlock(_))
        || ignores_lane(inst) && !matches!(inst, Inst::StTile(_))
}

/// The scoreboard slot that an instruction waits for.
pub fn waits_for(inst: &Inst) -> Option<u8> {
    match inst {
        Inst::Wait(i) => Some(i.slot),
        _ => None,
    }
}
