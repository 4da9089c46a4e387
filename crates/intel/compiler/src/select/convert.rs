//! Conversions between sizes and kinds of numbers, and bit casts.
//!
//! A plane holds narrow numbers in the low bits of its double words, so truncation is nothing, and the type of a source
//! does the rest.

use super::alu::{float_type, mov};
use super::{Comp, Select, Source};
use crate::error::Result;
use crate::mir::{self, Operand};
use tepui_intel_isa::{Opcode, Type as Ty};
use tepui_ir::{self as ir, Op};

/// The integer type of a size of up to 32 bits.
pub(super) fn int_type(bits: u8, signed: bool) -> Option<Ty> {
    Some(match (bits, signed) {
        (8, false) => Ty::UB,
        (8, true) => Ty::B,
        (16, false) => Ty::UW,
        (16, true) => Ty::W,
        (32, false) => Ty::UD,
        (32, true) => Ty::D,
        _ => return None,
    })
}

impl Select<'_> {
    /// Selects conversions; whether the instruction is one.
    pub(super) fn convert(&mut self, i: ir::Inst) -> Result<bool> {
        let s = self.s;
        let o = s.insts[i].op;
        if o == Op::Bitcast {
            return self.bitcast(i);
        }
        if !matches!(o, Op::U2U | Op::S2S | Op::S2F | Op::U2F | Op::F2S | Op::F2U | Op::F2F) {
            return Ok(false);
        }
        let (a, r) = (s.arg(i, 0), s.result(i));
        let (from, to) = (self.ty(a), self.ty(r));
        let signed = matches!(o, Op::S2S | Op::S2F | Op::F2S);
        let resizes = matches!(o, Op::U2U | Op::S2S);
        let resizes_words = resizes && from.bits().max(to.bits()) <= 32;
        if !from.is_scalar() && !resizes_words {
            return self.refuse(i, "of vectors is not compiled for Intel's GPUs yet");
        }
        if resizes && to.bits() <= from.bits() {
            // Constants have no bits above their size.
            let narrow = |c: Comp| match c {
                Comp::Const(bits) => Comp::Const((u64::from(bits) & to.elem().mask()) as u32),
                other => other,
            };
            let all: Vec<Comp> =
                (0..usize::from(to.comps())).map(|k| narrow(self.comp(a, k))).collect();
            self.set(r, &all);
            return Ok(true);
        }
        let types = match o {
            Op::U2U | Op::S2S => (int_type(from.bits(), signed), Some(Ty::D)),
            Op::S2F | Op::U2F => (int_type(from.bits(), signed), float_type(to.bits())),
            Op::F2S | Op::F2U => (float_type(from.bits()), int_type(to.bits(), signed)),
            _ => (float_type(from.bits()), float_type(to.bits())),
        };
        let (Some(src), Some(dst)) = types else {
            return self.refuse(i, "of 64 bits is not compiled for Intel's GPUs yet");
        };
        let mut all = Vec::with_capacity(usize::from(to.comps()));
        for k in 0..usize::from(to.comps()) {
            let source = match src.is_float() {
                // A scalar: only integers are resized as vectors.
                true => {
                    let x = self.float(a, src);
                    self.without_immediate(x)
                }
                false => {
                    let c = self.comp(a, k);
                    self.register(c, src)
                }
            };
            all.push(Comp::Val(self.def(mov(dst), dst, &[source])));
        }
        self.set(r, &all);
        Ok(true)
    }

    /// Gives the same bits other components.
    fn bitcast(&mut self, i: ir::Inst) -> Result<bool> {
        let s = self.s;
        let (a, r) = (s.arg(i, 0), s.result(i));
        let (from, to) = (self.ty(a).bits(), self.ty(r).bits());
        let all = self.all_comps(&[a]);
        let all = match (from.min(32), to.min(32)) {
            (x, y) if x == y => all,
            (1, _) | (_, 1) => return self.refuse(i, "of truth values is not compiled yet"),
            (narrow, wide) if narrow < wide => {
                let mut out = Vec::with_capacity(self.dwords(r));
                for parts in all.chunks(usize::from(wide / narrow)) {
                    out.push(self.pack(parts, narrow));
                }
                out
            }
            (wide, narrow) => {
                let mut out = Vec::with_capacity(self.dwords(r));
                for &c in &all {
                    for k in 0..wide / narrow {
                        out.push(self.part(c, k * narrow, narrow));
                    }
                }
                out
            }
        };
        self.set(r, &all);
        Ok(true)
    }

    /// The bits from `at` on of a component.
    fn part(&mut self, c: Comp, at: u8, bits: u8) -> Comp {
        match c {
            Comp::Undef => Comp::Undef,
            Comp::Const(k) => Comp::Const(k >> at & ((1u64 << bits) - 1) as u32),
            _ if at == 0 => c,
            _ => {
                let x = self.source(c, Ty::UD);
                let n = Source { operand: Operand::immediate(Ty::UD, at.into()), val: None };
                Comp::Val(self.def(super::alu::op(Opcode::Shr), Ty::UD, &[x, n]))
            }
        }
    }

    /// Narrow components as one, the first in the low bits.
    pub(super) fn pack(&mut self, parts: &[Comp], bits: u8) -> Comp {
        if let Some(all) = parts
            .iter()
            .map(|c| match c {
                Comp::Const(k) => Some(*k),
                Comp::Undef => Some(0),
                _ => None,
            })
            .collect::<Option<Vec<u32>>>()
        {
            let mask = ((1u64 << bits) - 1) as u32;
            let join =
                |sum: u32, (k, part): (u32, &u32)| sum | (part & mask) << (k * u32::from(bits));
            return Comp::Const((0..).zip(&all).fold(0, join));
        }
        let ty = int_type(bits, false).unwrap_or(Ty::UD);
        let mut sum: Option<tepui_regalloc::Val> = None;
        for (k, &c) in parts.iter().enumerate() {
            if matches!(c, Comp::Const(0) | Comp::Undef) {
                continue;
            }
            // Upper bits, which may never have been written, are cleared by the type.
            let x = self.register(c, ty);
            let v = match k {
                0 => self.def(mov(Ty::UD), Ty::UD, &[x]),
                _ => {
                    let by = u64::from(bits) * k as u64;
                    let n = Source { operand: Operand::immediate(Ty::UD, by), val: None };
                    self.def(super::alu::op(Opcode::Shl), Ty::UD, &[x, n])
                }
            };
            sum = Some(match sum {
                None => v,
                Some(sum) => {
                    let read = |c: &Self, v| c.read(v, Ty::UD);
                    let or: mir::Op = super::alu::op(Opcode::Or);
                    self.def(or, Ty::UD, &[read(self, sum), read(self, v)])
                }
            });
        }
        sum.map_or(Comp::Const(0), Comp::Val)
    }
}
