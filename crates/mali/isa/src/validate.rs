//! Rules of the hardware that the encoding does not imply.
//!
//! Uniforms, constants and special values reach an instruction through one buffer of 64 bits.
//!
// source: Mesa, src/panfrost/compiler/valhall/va_validate.c, asm.py (`FAUState`, staging registers).

use arrayvec::ArrayVec;

use crate::inst::Inst;
use crate::modifier::{Flow, Slot};
use crate::operand::{Operand, Special};
use crate::table::Op;

/// A rule that an instruction violates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rule {
    /// At most two words of uniforms, constants and special values.
    #[error("an instruction reads at most two words of uniforms, constants and special values")]
    Words,
    /// One pair of uniforms, or two for a message.
    #[error("an instruction reads one pair of uniforms or one special value; a message reads two")]
    Slots,
    /// A message cannot read values that only the execution engine has.
    #[error("a message cannot read warp_id, lane_id, core_id or program_counter")]
    Message,
    /// Several staging registers are aligned to an even register.
    #[error("several staging registers begin at an even one")]
    Staging,
    /// A pair of registers is aligned to an even register.
    #[error("a source of 64 bits begins at an even register")]
    Pair,
    /// A barrier takes slot 7, and no other instruction does.
    #[error("a barrier takes slot 7, no other instruction does")]
    BarrierSlot,
    /// A barrier has flow wait.
    #[error("a barrier has flow wait")]
    BarrierFlow,
}

impl Rule {
    /// All rules.
    pub const ALL: &[Rule] = &[
        Rule::Words,
        Rule::Slots,
        Rule::Message,
        Rule::Staging,
        Rule::Pair,
        Rule::BarrierSlot,
        Rule::BarrierFlow,
    ];
}

/// Checks an instruction.
///
/// # Errors
/// The first rule that it violates.
pub fn check(inst: &Inst) -> Result<(), Rule> {
    let row = inst.op.row();
    // BLEND and ATEST may run in the execution engine.
    let in_engine = matches!(inst.op, Op::BLEND | Op::ATEST);
    let message = row.form.unit.is_message();
    let mut words: ArrayVec<Operand, 8> = ArrayVec::new();
    let mut slots: ArrayVec<(bool, u8, u8), 8> = ArrayVec::new();
    for source in &inst.sources {
        let operand = source.operand;
        if matches!(operand, Operand::Register { .. }) {
            continue;
        }
        if !words.contains(&operand) {
            words.push(operand);
        }
        let slot = match operand {
            Operand::Uniform(index) => (false, 0, index >> 1),
            Operand::Special(special, _) => {
                let (page, index) = special.place();
                if message && (page == 3 || special == Special::WarpId) {
                    return Err(Rule::Message);
                }
                (true, page, index)
            }
            _ => continue,
        };
        if !slots.contains(&slot) {
            slots.push(slot);
        }
    }
    if words.len() > 2 {
        return Err(Rule::Words);
    }
    if slots.len() > if message && !in_engine { 2 } else { 1 } {
        return Err(Rule::Slots);
    }
    if inst.staging.iter().any(|s| s.count > 1 && s.register % 2 != 0) {
        return Err(Rule::Staging);
    }
    for (field, source) in row.form.sources.iter().zip(&inst.sources) {
        let whole = source.swizzle == crate::Swizzle::Identity;
        if let Operand::Register { index, .. } = source.operand
            && row.source_width(field) == 64
            && whole
            && index % 2 != 0
        {
            return Err(Rule::Pair);
        }
    }
    let barrier = inst.op == Op::BARRIER;
    if let Some(slot) = inst.modifier::<Slot>()
        && (slot == Slot::Slot7) != barrier
    {
        return Err(Rule::BarrierSlot);
    }
    if barrier && inst.flow != Flow::Wait {
        return Err(Rule::BarrierFlow);
    }
    Ok(())
}
