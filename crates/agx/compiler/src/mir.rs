//! The machine IR of AGX: an instance of [`tepui_regalloc`]'s over the instructions of the ISA
//! table ([`Inst`]), and the instruction properties that its passes need.

use crate::values::ValueLocations;
use std::ops::{Deref, DerefMut};
use tepui_agx_isa::Inst;
use tepui_agx_isa::operand::{
    Base64, Dst, Format, Gather, Index, LodMode, OperandMut, RegVec, Size,
};
use tepui_agx_isa::table::moves::MovImm32;
use tepui_agx_isa::table::stack::{StackLoad, StackStore};
pub use tepui_regalloc::{
    Block, BlockData, Effect, Ins, RegClass, StackAccess, StackOffset, Target, UNASSIGNED, Val,
};

/// The operation of an instruction.
pub type Op = tepui_regalloc::Op<Inst>;
/// Structured control flow; the branch is an `if_icmp` or `if_fcmp`.
pub type Ctl = tepui_regalloc::Ctl<Inst>;

/// One half-register.
pub const HALF: RegClass = RegClass::new(1);
/// A 32-bit register.
pub const WORD: RegClass = RegClass::new(2).aligned(2);
/// A pair of registers.
pub const LONG: RegClass = RegClass::new(4).aligned(2);

/// The class of `count` elements of `bits` each. A unit is a half-register.
#[must_use]
pub const fn class_of(bits: u8, count: u8) -> RegClass {
    let half = if bits <= 16 { 1 } else { bits / 16 };
    RegClass::new(half * count).aligned(if bits > 16 { 2 } else { 1 })
}

/// A program.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// Blocks, instructions and values.
    pub body: tepui_regalloc::Function<Inst>,
    /// `r0h` is kept at zero for shuffles.
    pub uses_r0h: bool,
    /// Uniforms with addresses of memory that nothing writes while the program runs, by their first
    /// halves.
    pub constant: Vec<u16>,
    /// Machine values of the IR's values, if requested.
    pub(crate) value_locations: Option<Box<ValueLocations>>,
    /// A prolog, main part or epilog of several that run one after the other: `r0l` is the nesting
    /// counter of all of them.
    pub is_part: bool,
}

impl Function {
    /// Half-registers that values may not take: `r0l` counts nesting where there is control flow,
    /// `r0h` is kept for shuffles.
    #[must_use]
    pub fn reserved(&self) -> u16 {
        if self.uses_r0h {
            return 2;
        }
        let has_control = || self.insts.values().any(|i| matches!(i.op, Op::Ctl(_)));
        u16::from(self.is_part || has_control())
    }
}

impl Deref for Function {
    type Target = tepui_regalloc::Function<Inst>;

    fn deref(&self) -> &tepui_regalloc::Function<Inst> {
        &self.body
    }
}

impl DerefMut for Function {
    fn deref_mut(&mut self) -> &mut tepui_regalloc::Function<Inst> {
        &mut self.body
    }
}

/// The machine instruction inside of an op.
#[must_use]
pub fn isa(op: &Op) -> Option<&Inst> {
    op.inst()
}

/// The effect of an op.
#[must_use]
pub fn effect(op: &Op) -> Effect {
    op.effect::<Agx>()
}

/// Calls `f` for each operand without a register: its size in half-registers, and whether it is
/// written.
pub fn unassigned(inst: &Inst, mut f: impl FnMut(u16, bool)) {
    let mut inst = *inst;
    inst.visit_mut(|operand, written| {
        if let Some((UNASSIGNED, halves)) = operand.reg() {
            f(halves, written);
        }
    });
}

/// AGX, as the passes on the machine IR see it. A unit of registers is a half-register.
#[derive(Clone, Copy, Debug)]
pub struct Agx;

impl Target for Agx {
    type Inst = Inst;

    const MAX_SPILLED_UNITS: u8 = 8;
    const UNIT_BYTES: u32 = 2;
    const SLOT_ALIGN: u32 = 4;
    // The immediate is 16 bits, signed here; Mesa's encoder takes them as unsigned.
    const STACK_IMMEDIATES: u32 = 1 << 15;
    const STACK_OFFSET: RegClass = WORD;

    fn is_load(inst: &Inst) -> bool {
        inst.scoreboard().is_some()
    }

    fn rematerialises(inst: &Inst) -> bool {
        matches!(inst, Inst::MovImm16(_) | Inst::MovImm32(_) | Inst::GetSr(_) | Inst::Bitop(_))
    }

    fn stack_access(access: StackAccess, class: RegClass, offset: StackOffset) -> Inst {
        let (format, size, count) = if class.align == 2 {
            (Format::I32, Size::B32, class.units / 2)
        } else {
            (Format::I16, Size::B16, class.units)
        };
        let (mask, r) = ((1 << count) - 1, RegVec::new(UNASSIGNED, size, count));
        let index = match offset {
            StackOffset::Immediate(n) => Index::Imm(n as i16),
            StackOffset::Register => Index::Reg(UNASSIGNED),
        };
        match access {
            StackAccess::Load => {
                StackLoad { format, mask, r, index, ..StackLoad::default() }.into()
            }
            StackAccess::Store => {
                StackStore { format, mask, r, index, ..StackStore::default() }.into()
            }
        }
    }

    fn stack_offset(offset: u32) -> Inst {
        let d = Dst::new(UNASSIGNED, Size::B32);
        MovImm32 { d, imm: offset, ..MovImm32::default() }.into()
    }

    fn move_units(to: u16, from: u16, units: u16) -> u16 {
        if units >= 2 && (to | from) & 1 == 0 { 2 } else { 1 }
    }

    fn assign(inst: &mut Inst, mut regs: impl FnMut(bool) -> u16) {
        inst.visit_mut(|mut operand: OperandMut<'_>, written| {
            if let Some((UNASSIGNED, _)) = operand.reg() {
                let reg = regs(written);
                operand.set_reg(reg);
            }
        });
    }

    fn effect(inst: &Inst) -> Effect {
        match inst {
            Inst::MovImm16(m) if m.d.reg != UNASSIGNED => Effect::Fixed,
            Inst::Bitop(b) if b.d.reg != UNASSIGNED => Effect::Fixed,
            // The active lanes depend on the position.
            Inst::GetSr(g) if matches!(g.sr.0, 56..=63) => Effect::Convergent,
            Inst::IcmpBallot(_)
            | Inst::FcmpBallot(_)
            | Inst::SimdReduce(_)
            | Inst::QuadShuffle(_)
            | Inst::SimdShuffle(_)
            | Inst::Dfdx(_)
            | Inst::Dfdy(_) => Effect::Convergent,
            Inst::MovImm16(_)
            | Inst::MovImm32(_)
            | Inst::GetSr(_)
            | Inst::Iadd(_)
            | Inst::Imadd(_)
            | Inst::Convert(_)
            | Inst::Bfi(_)
            | Inst::Bfeil(_)
            | Inst::Extr(_)
            | Inst::Shlhi(_)
            | Inst::Shrhi(_)
            | Inst::Asr(_)
            | Inst::Asrh(_)
            | Inst::Bitop(_)
            | Inst::Bitrev(_)
            | Inst::Popcount(_)
            | Inst::Intl(_)
            | Inst::Ffs(_)
            | Inst::Fmadd32(_)
            | Inst::Fmadd16(_)
            | Inst::Fadd32(_)
            | Inst::Fadd16(_)
            | Inst::Fmul32(_)
            | Inst::Fmul16(_)
            | Inst::Floor(_)
            | Inst::Ceil(_)
            | Inst::Trunc(_)
            | Inst::Rint(_)
            | Inst::Rcp(_)
            | Inst::Rsqrt(_)
            | Inst::RsqrtSpecial(_)
            | Inst::SinPt1(_)
            | Inst::SinPt2(_)
            | Inst::Log2(_)
            | Inst::Exp2(_)
            | Inst::Icmpsel(_)
            | Inst::Fcmpsel(_)
            | Inst::Iter(_)
            | Inst::Iterproj(_)
            | Inst::Ldcf(_) => Effect::Pure,
            // Levels of detail come from the quad's other lanes.
            Inst::TextureSample(t)
                if matches!(
                    t.lod_mode,
                    LodMode::Auto
                        | LodMode::Bias
                        | LodMode::BiasMin
                        | LodMode::BiasUniform
                        | LodMode::BiasMinUniform
                ) && t.gather == Gather::None =>
            {
                Effect::Convergent
            }
            Inst::TextureSample(_) => Effect::Pure,
            // Storage images may be written.
            Inst::TextureLoad(t) if t.cache & 1 != 0 => Effect::Read,
            Inst::TextureLoad(_) => Effect::Pure,
            Inst::DeviceLoad(_) | Inst::ThreadgroupLoad(_) | Inst::StackLoad(_) => Effect::Read,
            _ => Effect::Fixed,
        }
    }
}

/// Whether common subexpressions of an instruction are shared. Constants and moves from uniforms
/// are not, as each copy of one lets a phi have it in place; of loads, those of memory that nothing
/// writes.
#[must_use]
pub fn is_shared(inst: &Inst, results: usize, sources: usize, constant: &[u16]) -> bool {
    match inst {
        Inst::MovImm16(_) | Inst::MovImm32(_) => false,
        Inst::Bitop(_) if sources == 0 => false,
        Inst::DeviceLoad(l) => matches!(l.base, Base64::Uniform(h) if constant.contains(&h)),
        i => Agx::effect(i) == Effect::Pure && results == 1,
    }
}
