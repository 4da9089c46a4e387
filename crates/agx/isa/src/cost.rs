//! Cycles of a shader core's arithmetic units that an instruction takes.

use crate::Inst;

/// Cycles of the two arithmetic units, which work side by side: the busier one is what a program takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Cycles of the float, select, compare, integer and bit unit.
    pub fscib: u32,
    /// Cycles of the unit for multiplication, shifts and special functions.
    pub ic: u32,
}

impl Cost {
    const fn fscib(cycles: u32) -> Cost {
        Cost { fscib: cycles, ic: 0 }
    }

    /// The cost of a number of issue slots of the second unit, each of which is two cycles; issue takes
    /// a cycle of the first unit.
    const fn ic(slots: u32) -> Cost {
        Cost { fscib: 1, ic: 2 * slots }
    }
}

impl Inst {
    /// Cycles of the arithmetic units that the instruction takes; none for memory, texture and flow
    /// control.
    #[must_use]
    pub fn cost(&self) -> Cost {
        // source: Mesa, agx_performance.c
        match self {
            Inst::Fmadd32(_)
            | Inst::Fmadd16(_)
            | Inst::Fadd32(_)
            | Inst::Fadd16(_)
            | Inst::Fmul32(_)
            | Inst::Fmul16(_)
            | Inst::MovImm16(_)
            | Inst::MovImm32(_)
            | Inst::Bitop(_)
            | Inst::Icmpsel(_)
            | Inst::Fcmpsel(_)
            | Inst::Iadd(_) => Cost::fscib(1),
            Inst::GetSr(_)
            | Inst::SimdShuffle(_)
            | Inst::QuadShuffle(_)
            | Inst::IcmpBallot(_)
            | Inst::FcmpBallot(_)
            | Inst::IcmpQuadBallot(_)
            | Inst::FcmpQuadBallot(_) => Cost::fscib(2),
            Inst::SimdReduce(r) => Cost::fscib(if r.prefix { 18 } else { 24 }),
            Inst::Imadd(_)
            | Inst::Bfi(_)
            | Inst::Bfeil(_)
            | Inst::Extr(_)
            | Inst::Asr(_)
            | Inst::Floor(_)
            | Inst::SinPt1(_)
            | Inst::SinPt2(_)
            | Inst::Log2(_)
            | Inst::Exp2(_) => Cost::ic(2),
            Inst::Rcp(_) => Cost::ic(3),
            Inst::Rsqrt(_) | Inst::RsqrtSpecial(_) => Cost::ic(4),
            _ => Cost::default(),
        }
    }
}
