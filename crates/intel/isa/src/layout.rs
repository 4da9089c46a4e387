//! Offsets of instructions and jumps between them: programs whose instructions may be compacted.
//!
//! A jump is an offset in bytes from its own instruction, so it depends on the sizes of the instructions that it
//! passes, and its own size can depend on the offset. [`compact()`] finds sizes that agree.

use tepui_intel_chips::Generation;

use crate::compact;
use crate::error::FieldError;
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
    encodings(insts, targets);
}

/// [`compact()`], and the bytes of the program.
///
/// # Errors
/// An instruction cannot be encoded.
///
/// # Panics
/// As [`resolve`].
pub fn assemble(insts: &mut [Inst], targets: &[Targets]) -> Result<Vec<u8>, FieldError> {
    let words = encodings(insts, targets);
    let mut bytes = Vec::with_capacity(16 * insts.len());
    for word in words {
        match word? {
            Word::Short(word) => bytes.extend(word.to_le_bytes()),
            Word::Long(word) => bytes.extend(word.to_le_bytes()),
        }
    }
    Ok(bytes)
}

/// An encoded instruction.
#[derive(Clone, Copy)]
enum Word {
    /// The compacted form.
    Short(u64),
    /// The form of 128 bits.
    Long(u128),
}

/// Compacts instructions, and sets the offsets of jumps; the encoding of each. Those that are no jumps are encoded once.
fn encodings(insts: &mut [Inst], targets: &[Targets]) -> Vec<Result<Word, FieldError>> {
    insts.iter_mut().for_each(|inst| inst.compacted = false);
    resolve(insts, targets);
    let mut words = Vec::with_capacity(insts.len());
    for inst in insts.iter_mut() {
        let mut eased = *inst;
        ease(&mut eased);
        words.push(match short(&eased) {
            Some(word) if inst.opcode != Opcode::Nop => {
                *inst = Inst { compacted: true, ..eased };
                Ok(Word::Short(word))
            }
            _ => inst.encode_long().map(Word::Long),
        });
    }
    let jumps: Vec<usize> =
        (0..insts.len()).filter(|&n| targets[n] != Targets::default()).collect();
    // Shorter code changes offsets, so that a jump may no longer fit its compacted form; it then gets
    // longer and changes other offsets.
    loop {
        resolve(insts, targets);
        let mut changed = false;
        for &n in &jumps {
            let inst = &mut insts[n];
            let word = if inst.compacted { short(inst) } else { None };
            if word.is_none() && inst.compacted {
                inst.compacted = false;
                changed = true;
            }
            words[n] =
                word.map_or_else(|| inst.encode_long().map(Word::Long), |w| Ok(Word::Short(w)));
        }
        if !changed {
            return words;
        }
    }
}

/// The compacted form of an instruction, if it has one.
fn short(inst: &Inst) -> Option<u64> {
    let long = Inst { compacted: true, ..*inst }.encode_long().ok()?;
    compact::compact(inst.generation, long).ok()
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
