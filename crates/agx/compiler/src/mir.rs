//! The machine IR of AGX: an instance of [`tepui_backend`]'s over the instructions of the ISA
//! table ([`Inst`]), and the instruction properties that its passes need.

use crate::occupancy::tier;
use tepui_agx_isa::Inst;
use tepui_agx_isa::operand::{
    Base64, Dst, Format, Gather, Index, LodMode, OperandMut, RegVec, Size,
};
use tepui_agx_isa::table::moves::MovImm32;
use tepui_agx_isa::table::stack::{StackLoad, StackStore};
use tepui_backend::{Grouping, Machine, Operand};
use tepui_regalloc::alloc::{self, Registers};
pub use tepui_regalloc::{
    Block, BlockData, Effect, Ins, RegClass, StackAccess, StackOffset, Target, UNASSIGNED, Val,
};

/// The operation of an instruction.
pub type Op = tepui_regalloc::Op<Inst>;
/// Structured control flow; the branch is an `if_icmp` or `if_fcmp`.
pub type Ctl = tepui_regalloc::Ctl<Inst>;

/// Words of the stack that are not the shader's. source: Mesa, agx_compile.c at agx_stack_adjust
pub const STACK_EXTRA: u32 = 10;
/// Maximum scratch bytes of the shader: `stack_adjust` takes a signed number of words of 16 bits, and
/// the sum is a multiple of four.
pub const MAX_SCRATCH: u32 = ((i16::MAX as u32 & !3) - STACK_EXTRA) * 4;

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

/// One component of an IR value. A machine value has the register class of the IR type: half a
/// register for up to 16 bits (bits above the type's are undefined for 8 bits; truth values are 0
/// or 1).
pub type Comp = tepui_backend::Comp<u16>;

/// A program.
pub type Function = tepui_backend::Function<Agx>;

/// State that is kept with a program.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// `r0h` is kept at zero for shuffles.
    pub uses_r0h: bool,
    /// Uniforms with addresses of memory that nothing writes while the program runs, by their first
    /// halves.
    pub constant: Vec<u16>,
    /// A prolog, main part or epilog of several that run one after the other: `r0l` is the nesting
    /// counter of all of them.
    pub is_part: bool,
}

/// Half-registers that values may not take: `r0l` counts nesting where there is control flow,
/// `r0h` is kept for shuffles.
fn reserved(f: &Function) -> u16 {
    if f.state.uses_r0h {
        return 2;
    }
    let has_control = || f.insts.values().any(|i| matches!(i.op, Op::Ctl(_)));
    u16::from(f.state.is_part || has_control())
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

impl Machine for Agx {
    type State = State;
    /// The first half-uniform.
    type Uniform = u16;

    // `r0`, and a half-register that alignment loses.
    const RESERVED_UNITS: u32 = 3;
    const MAX_SCRATCH: u32 = MAX_SCRATCH;
    const MAX_SAMPLE_PRESSURE: u32 = 48;

    fn operands(inst: &Inst, mut f: impl FnMut(Operand)) {
        // Texture instructions write four registers, whatever their mask.
        let is_texture = matches!(inst, Inst::TextureSample(_) | Inst::TextureLoad(_));
        let mut inst = *inst;
        inst.visit_mut(|operand, written| {
            if let Some((UNASSIGNED, units)) = operand.reg() {
                f(Operand { units, written, exact: written && !is_texture });
            }
        });
    }

    fn grouping(inst: &Inst) -> Grouping {
        match inst {
            Inst::TextureLoad(_) | Inst::TextureSample(_) => Grouping::Sample,
            Inst::DeviceLoad(_) | Inst::StackLoad(_) => Grouping::Load,
            _ => Grouping::None,
        }
    }

    /// Constants and moves from uniforms are not shared, as each copy of one lets a phi have it in place; of loads, those of memory
    /// that nothing writes.
    fn is_shared(state: &State, f: &tepui_regalloc::Function<Inst>, i: Ins) -> bool {
        match f.insts[i].op.inst() {
            None | Some(Inst::MovImm16(_) | Inst::MovImm32(_)) => false,
            Some(Inst::Bitop(_)) if f.srcs(i).is_empty() => false,
            Some(Inst::DeviceLoad(l)) => {
                matches!(l.base, Base64::Uniform(h) if state.constant.contains(&h))
            }
            Some(inst) => Agx::effect(inst) == Effect::Pure && f.dsts(i).len() == 1,
        }
    }

    fn after_clean_up(f: &mut Function) {
        crate::shuffles::run(f);
    }

    fn registers(f: &Function, pressure: u32, limit: u16) -> Registers {
        let limit = tier((pressure + Agx::RESERVED_UNITS) as u16).min(limit);
        (reserved(f)..limit.max(alloc::fixed_end(f))).into()
    }

    fn text(inst: &Inst, mut name: impl FnMut(bool) -> String) -> String {
        // Print with values for registers, then name them.
        let mut names = Vec::new();
        let mut inst = *inst;
        Agx::assign(&mut inst, |written| {
            names.push(name(written));
            // Distinct even registers below 240, to be found again in the text.
            100 + 8 * (names.len() as u16 - 1)
        });
        let mut text = inst.to_string();
        for (n, name) in names.iter().enumerate().rev() {
            text = rename(&text, 50 + 4 * n as u16, name);
        }
        text
    }

    fn unit_name(half: u16) -> String {
        format!("r{}{}", half / 2, if half.is_multiple_of(2) { "l" } else { "h" })
    }
}

/// Replaces registers `r` to `r + 3` of a text (with whatever halves and lists) by a value's name.
fn rename(text: &str, r: u16, name: &str) -> String {
    let mut out = String::new();
    for (n, token) in text.split(' ').enumerate() {
        if n > 0 {
            out.push(' ');
        }
        let body = token.trim_end_matches(',');
        let (reg, mods) = body.split_once('.').map_or((body, ""), |(a, b)| (a, b));
        let first = reg.split('_').next().unwrap_or("");
        let half = first.ends_with('l');
        let number = first.trim_end_matches(['l', 'h']);
        if number == format!("r{r}") {
            out.push_str(name);
            if half && !reg.contains('_') {
                out.push('l');
            }
            if !mods.is_empty() {
                out.push('.');
                out.push_str(mods);
            }
            if token.ends_with(',') {
                out.push(',');
            }
        } else {
            out.push_str(token);
        }
    }
    out
}
