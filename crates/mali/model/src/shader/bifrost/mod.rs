//! Bifrost machine code as operations of the interpreter.
//!
//! A clause becomes a sequence of operations: for each tuple one of the FMA unit, one of the ADD unit, and moves of
//! both results into the registers that the next block of ports names. Results of the previous and the current tuple
//! are in temporary registers above the 64 of a thread ([`temporary`]), so that the ports of a tuple do not see its own
//! writes. Instructions that Valhall also has use its handlers.
//!
//! A warp of the model has 16 lanes, in which two warps of eight, or four of four (v6), run in parallel: operations
//! across lanes (CLPER, WMASK) encode how many lanes they cover.
//!
// source: Mesa, bi_pack.c, bi_schedule.c (what a tuple may read), disassemble.c.

mod alu;
mod flow;
mod message;
mod source;
mod texture;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use tepui_mali_isa::Flow as ValhallFlow;
use tepui_mali_isa::bifrost::clause::WORD_BYTES;
use tepui_mali_isa::bifrost::disasm::{self, Content};
use tepui_mali_isa::bifrost::registers::Access;
use tepui_mali_isa::bifrost::table::{Op as Isa, Unit};
use tepui_mali_isa::bifrost::{Clause, Flow, Inst};

use super::decoded::{self, Decoded, copy, nothing};
use super::op::{Lanes, Next, Op, WriteMode};
use super::operand::Src;
use super::template::TemplateOp;
use crate::warp::row::Row;
use crate::warp::trap::Trap;

pub use message::{format_flags, load_varying};
pub use texture::preloaded as preloaded_texture;

/// Temporary registers.
pub mod temporary {
    /// Results of the FMA unit, for even and odd tuples.
    pub const FMA: u8 = 64;
    /// Results of the ADD unit, for even and odd tuples.
    pub const ADD: u8 = 66;
    /// A register's value before the FMA unit's result is written to it.
    pub const SAVED: u8 = 68;
    /// An address of two words.
    pub const ADDRESS: u8 = 70;
    /// Staging registers for Valhall's texture instructions.
    pub const TEXTURE: u8 = 72;
    /// One past the last.
    pub const END: u8 = 80;
}

/// State of the translation of a tuple.
struct Context<'a> {
    clause: &'a Clause,
    /// The offset of the clause in words.
    place: usize,
    /// Lanes of a warp.
    lanes: u32,
    tuple: usize,
    rows: &'a mut Vec<Row>,
}

/// The operations of an instruction; `None` if the model does not execute it.
type Lowered = Option<Vec<Op>>;

fn undecodable(_: &mut Lanes<'_, '_>, _: &Op) -> Result<(), Box<Trap>> {
    Err(Box::new(Trap::Undecodable("the bytes are no clause".into())))
}

fn unimplemented(_: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let isa = u16::try_from(op.immediate).ok().and_then(Isa::from_index);
    let name = isa.map_or("an instruction", |isa| isa.row().name);
    Err(Box::new(Trap::Unimplemented(format!("{name} of this clause"))))
}

/// An operation for an instruction that the model does not execute: it traps when it is reached.
fn unknown(inst: &Inst) -> Vec<Op> {
    let mut op = Op::new(unimplemented, ValhallFlow::None);
    op.immediate = inst.op.index().into();
    vec![op]
}

fn no_target(_: &mut Lanes<'_, '_>, _: &Op) -> Result<(), Box<Trap>> {
    Err(Box::new(Trap::Invalid("the branch leads to no clause".into())))
}

/// The operation that copies a row into a register, or a half of it.
fn moved(row: u16, register: u8, access: Access) -> Op {
    let mut op = Op::new(copy, ValhallFlow::None);
    op.kind = Some(TemplateOp::Copy);
    op.src[0] = Src { row, ..Src::NONE };
    op.dest = register;
    op.written = match access {
        Access::WriteLow => WriteMode::Bits(0xffff),
        Access::WriteHigh => WriteMode::Bits(0xffff_0000),
        _ => WriteMode::Word,
    };
    op
}

/// Translates machine code, for warps of `lanes` lanes.
pub fn decode(code: &[u8], lanes: u32) -> Decoded {
    let mut decoded = Decoded::default();
    // The first operation of each clause, by its offset in words.
    let mut places = HashMap::new();
    for part in disasm::parts(code, 0) {
        let place = part.offset / WORD_BYTES;
        let first = decoded.ops.len();
        match &part.content {
            Content::Clause(clause) => {
                places.insert(place, first as u32);
                let ops = clause_ops(clause, place, lanes, &mut decoded.rows);
                decoded.ops.extend(ops);
            }
            Content::Padding => {}
            Content::Error(_) => {
                places.insert(place, first as u32);
                decoded.ops.push(Op::new(undecodable, ValhallFlow::None));
            }
        }
        decoded.offsets.resize(decoded.ops.len(), part.offset as u32);
    }
    for op in &mut decoded.ops {
        if flow::is_branch(op) {
            match places.get(&(op.immediate as usize)) {
                Some(target) => (op.immediate, op.flags) = (*target, 0),
                None => *op = Op::new(no_target, ValhallFlow::None),
            }
        }
    }
    decoded
}

/// The operations of a clause.
fn clause_ops(clause: &Clause, place: usize, lanes: u32, rows: &mut Vec<Row>) -> Vec<Op> {
    let mut ops = Vec::new();
    for (index, tuple) in clause.tuples.iter().enumerate() {
        let mut context = Context { clause, place, lanes, tuple: index, rows };
        let (fma, add) = clause.writes(index).unwrap_or_default();
        let own = (index & 1) as u8;
        let (fma_row, add_row) = (temporary::FMA + own, temporary::ADD + own);
        let first = context.lower(&tuple.fma, None).unwrap_or_else(|| unknown(&tuple.fma));
        let second = context.lower(&tuple.add, Some(&tuple.fma));
        let second = second.unwrap_or_else(|| unknown(&tuple.add));
        ops.extend(first);
        let commit = fma.map(|(register, access)| moved(fma_row.into(), register, access));
        let last = second.last().is_some_and(flow::chooses);
        if !last {
            ops.extend(second);
            ops.extend(commit);
        } else {
            // The ports have read the register before; its new value is written before lanes leave.
            let mut second = second;
            if let Some((register, _)) = fma {
                let reads =
                    second.iter().any(|op| op.src.iter().any(|s| s.row == u16::from(register)));
                if reads {
                    ops.push(moved(register.into(), temporary::SAVED, Access::Write));
                    for source in second.iter_mut().flat_map(|op| &mut op.src) {
                        if source.row == u16::from(register) {
                            source.row = temporary::SAVED.into();
                        }
                    }
                }
            }
            ops.extend(commit);
            ops.extend(second);
        }
        ops.extend(add.map(|(register, access)| moved(add_row.into(), register, access)));
    }
    if clause.header.flow == Flow::End && !ops.last().is_some_and(|op| op.next == Next::End) {
        ops.push(Op::new(nothing, ValhallFlow::End));
    }
    ops
}

impl Context<'_> {
    /// The row of a constant.
    fn constant(&mut self, value: u32) -> Option<u16> {
        self.row(Row::splat(value))
    }

    fn row(&mut self, row: Row) -> Option<u16> {
        decoded::constant(self.rows, row)
    }

    /// The temporary register of a result: of this tuple, or of the previous one.
    fn result(&self, unit: Unit, before: bool) -> u8 {
        let parity = (self.tuple & 1) as u8 ^ u8::from(before);
        parity + if unit == Unit::Fma { temporary::FMA } else { temporary::ADD }
    }

    /// Translates an instruction. Some of the ADD unit depend on the FMA unit's in the same tuple.
    fn lower(&mut self, inst: &Inst, fma: Option<&Inst>) -> Lowered {
        if inst.op.row().name == "NOP" {
            return Some(Vec::new());
        }
        let mut ops = flow::lower(self, inst)
            .or_else(|| message::lower(self, inst, fma))
            .or_else(|| texture::lower(self, inst))
            .or_else(|| alu::lower(self, inst, fma).map(|op| vec![op]))?;
        let dest = self.result(inst.op.row().unit, false);
        for op in ops.iter_mut().filter(|op| op.dest == 0) {
            op.dest = dest;
        }
        Some(ops)
    }
}
