//! Builds operations from opcodes and operands.

use tepui_agx_isa::Inst;

use super::operands::none;
use crate::job::FaultKind;
use crate::usc::code::Builder;
use crate::usc::op::{Dst, Form, Op, Src};
use crate::usc::opcode::Opcode;

/// An operation whose handler has a faster entry for operands that are all whole rows.
pub fn op(opcode: Opcode, d: Dst, sources: &[Src], aux: [u16; 4]) -> Op {
    let whole_rows = d.form == Form::Word && !d.saturate && sources.iter().all(|s| s.is_word());
    let mut s = [none(); 4];
    s[..sources.len()].copy_from_slice(sources);
    Op { opcode, whole_rows, d, s, imm: 0, aux }
}

/// An operation whose handler has one entry.
pub fn plain(opcode: Opcode, d: Dst, sources: &[Src], imm: u64, aux: [u16; 4]) -> Op {
    let mut s = [none(); 4];
    s[..sources.len()].copy_from_slice(sources);
    Op { opcode, whole_rows: false, d, s, imm, aux }
}

/// An instruction that cannot be executed.
pub fn refuse(b: &mut Builder<'_>, why: impl Into<String>) -> Op {
    refuse_as(b, FaultKind::Invalid, why)
}

/// An instruction that cannot be executed, for a reason of a kind.
pub fn refuse_as(b: &mut Builder<'_>, kind: FaultKind, why: impl Into<String>) -> Op {
    b.notes.push((kind, why.into()));
    plain(Opcode::refuse, Dst::NONE, &[], (b.notes.len() - 1) as u64, [0; 4])
}

/// An instruction that the model does not execute.
pub fn not_executed(b: &mut Builder<'_>, inst: &Inst) -> Op {
    let why = format!("`{inst}` is not executed by this model yet");
    refuse_as(b, FaultKind::Unimplemented, why)
}
