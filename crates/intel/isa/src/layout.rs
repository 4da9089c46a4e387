//! Offsets of instructions and jumps between them: programs whose instructions may be compacted.
//!
//! A jump is an offset in bytes from its own instruction, so it depends on the sizes of the instructions that it
//! passes, and its own size can depend on the offset. [`compact()`] finds sizes that agree.

use tepui_intel_chips::Generation;

use crate::compact;
use crate::inst::{Condition, Inst};
use crate::table::opcode::{Form, Opcode};
use crate::types::Type;

/// The targets of an instruction's jumps, as indices of instructions; the end of the program is the index after the
/// last. `None` where the field is not a jump or is final already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    /// Of [`Inst::jip`].
    pub jip: Option<usize>,
    /// Of [`Inst::uip`].
    pub uip: Option<usize>,
}

/// Byte offset of each instruction, and of the end.
pub fn offsets(insts: &[Inst]) -> Vec<i64> {
    let mut offsets = Vec::with_capacity(insts.len() + 1);
    let mut at = 0;
    for inst in insts {
        offsets.push(at);
        at += inst.bytes() as i64;
    }
    offsets.push(at);
    offsets
}

/// Sets the offsets of all jumps.
///
/// # Panics
/// When a target is past the end, or the lists differ in length.
pub fn resolve(insts: &mut [Inst], targets: &[Targets]) {
    assert_eq!(insts.len(), targets.len());
    let offsets = offsets(insts);
    for (n, (inst, to)) in insts.iter_mut().zip(targets).enumerate() {
        for (target, field) in [(to.jip, &mut inst.jip), (to.uip, &mut inst.uip)] {
            if let Some(target) = target {
                *field = (offsets[target] - offsets[n]) as i32;
            }
        }
    }
}

/// Compacts every instruction that has a compacted form, as Mesa's compiler does, and sets the offsets of all jumps.
///
/// # Panics
/// As [`resolve`].
pub fn compact(insts: &mut [Inst], targets: &[Targets]) {
    insts.iter_mut().for_each(|inst| inst.compacted = false);
    resolve(insts, targets);
    for inst in insts.iter_mut() {
        let mut eased = *inst;
        ease(&mut eased);
        if inst.opcode != Opcode::Nop && fits(&eased) {
            *inst = Inst { compacted: true, ..eased };
        }
    }
    // Shorter code changes offsets, so that a jump may no longer fit its compacted form; it then gets
    // longer and changes other offsets.
    loop {
        resolve(insts, targets);
        let mut changed = false;
        for inst in insts.iter_mut() {
            if inst.compacted && !fits(inst) {
                inst.compacted = false;
                changed = true;
            }
        }
        if !changed {
            return;
        }
    }
}

fn fits(inst: &Inst) -> bool {
    let short = Inst { compacted: true, ..*inst };
    short.encode_long().is_ok_and(|long| compact::compact(inst.generation, long).is_ok())
}

/// Changes types if the meaning stays the same and the instruction then has a compacted form.
///
/// source: Mesa, `brw_eu_compact.c` (`precompact`).
fn ease(inst: &mut Inst) {
    let Some(bits) = inst.src[0].immediate_bits() else { return };
    if inst.generation != Generation::Gen9 || !matches!(inst.form(), Form::Regular { .. }) {
        return;
    }
    let src = &mut inst.src[0];
    let dst = &mut inst.dst;
    if bits == 0 && src.ty == Type::F && dst.ty == Type::F && dst.stride == 1 {
        src.ty = Type::VF;
    }
    let short = matches!(bits as u32 as i32 >> 12, 0 | -1);
    if short && inst.condition == Condition::None && src.ty == Type::D && dst.ty == Type::D {
        src.ty = Type::UD;
        dst.ty = Type::UD;
    }
}
