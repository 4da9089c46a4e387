//! Shifts and bitwise logic, which are one instruction together: `(a << n) op b`.

use super::{Opnd, Select};
use crate::mir::{Comp, Inst as Isa, Val, WORD};
use tepui_ir::{Inst, Op, Value};
use tepui_mali_isa::Op as IsaOp;
use tepui_mali_isa::modifier::fields::SIGNED;
use tepui_mali_isa::operand::Swizzle;

/// A shift.
#[derive(Clone, Copy)]
struct Shift {
    left: bool,
    signed: bool,
    value: Opnd,
    count: Opnd,
}

/// The logic that follows a shift.
#[derive(Clone, Copy, PartialEq)]
enum Logic {
    And,
    Or,
    Xor,
}

impl Shift {
    fn none(value: Opnd) -> Shift {
        Shift { left: true, signed: false, value, count: Opnd::imm(0) }
    }

    fn inst(&self, logic: Logic) -> Isa {
        let op = match (self.left, logic) {
            (true, Logic::And) => IsaOp::LSHIFT_AND_I32,
            (true, Logic::Or) => IsaOp::LSHIFT_OR_I32,
            (true, Logic::Xor) => IsaOp::LSHIFT_XOR_I32,
            (false, Logic::And) => IsaOp::RSHIFT_AND_I32,
            (false, Logic::Or) => IsaOp::RSHIFT_OR_I32,
            (false, Logic::Xor) => IsaOp::RSHIFT_XOR_I32,
        };
        let inst = Isa::new(op);
        if self.left { inst } else { inst.flag(&SIGNED, self.signed) }
    }
}

impl Select<'_> {
    /// Selects shifts, logic and bit counts; whether the instruction is one.
    pub(super) fn bits(&mut self, i: Inst) -> bool {
        let s = self.s;
        let [r] = *s.results(i) else { return false };
        let op = s.insts[i].op;
        if self.ty(r).bits() == 64 || s.args(i).iter().any(|&a| self.ty(a).bits() == 64) {
            return false;
        }
        match op {
            Op::IShl | Op::SShr | Op::UShr if self.ty(r).bits() == 32 => self.each(i, |x, k| {
                let shift = x.shift(i, op, k);
                x.def(shift.inst(Logic::Or), WORD, &[shift.value, shift.count, Opnd::imm(0)])
            }),
            Op::IAnd => self.each(i, |x, k| x.combine(i, Logic::And, k)),
            Op::IOr => self.each(i, |x, k| x.combine(i, Logic::Or, k)),
            Op::IXor => self.each(i, |x, k| x.combine(i, Logic::Xor, k)),
            Op::INot => self.each(i, |x, k| {
                let a = x.word_operand(s.arg(i, 0), k);
                let zero = Opnd::imm(0);
                x.word(IsaOp::LSHIFT_XOR_I32, &[a, zero, zero.inverted()])
            }),
            Op::BitCount | Op::BitReverse | Op::UFindMsb => self.each(i, |x, k| {
                let a = x.isrc(s.arg(i, 0), k, false);
                let a = x.extended(a);
                match op {
                    Op::BitCount => x.word(IsaOp::POPCOUNT_I32, &[a]),
                    Op::BitReverse => x.word(IsaOp::BITREV_I32, &[a]),
                    _ => {
                        // Of zero the count is 32.
                        let zeros = x.word(IsaOp::CLZ_U32, &[a]);
                        x.word(IsaOp::ISUB_U32, &[Opnd::imm(31), Opnd::val(zeros)])
                    }
                }
            }),
            _ => return false,
        }
        true
    }

    /// An operand that is extended by an instruction of its own, for those that do not extend.
    pub(super) fn extended(&mut self, o: Opnd) -> Opnd {
        let op = match o.swizzle {
            Swizzle::Identity => return o,
            Swizzle::B0 => IsaOp::U8_TO_U32,
            _ => IsaOp::U16_TO_U32,
        };
        Opnd::val(self.word(op, &[o]))
    }

    fn shift(&mut self, i: Inst, op: Op, k: usize) -> Shift {
        let s = self.s;
        let value = self.word_operand(s.arg(i, 0), k);
        let count = self.word_operand(s.arg(i, 1), k);
        let count = match count.known() {
            Some(n) => Opnd::imm(n & 31),
            // The lowest byte counts, modulo 32.
            None => count.part(Swizzle::B00),
        };
        Shift { left: op == Op::IShl, signed: op == Op::SShr, value, count }
    }

    /// The shift that makes a value of which nothing else is used.
    fn shift_of(&mut self, v: Value, k: usize) -> Option<Shift> {
        let i = self.def_inst(v).filter(|_| self.uses[v] == 1 && self.ty(v).bits() == 32)?;
        let op = self.s.insts[i].op;
        matches!(op, Op::IShl | Op::SShr | Op::UShr).then(|| self.shift(i, op, k))
    }

    /// The operand whose complement makes a value.
    fn complement_of(&mut self, v: Value, k: usize) -> Option<Opnd> {
        let i = self.def_inst(v).filter(|&i| self.s.insts[i].op == Op::INot)?;
        Some(self.word_operand(self.s.arg(i, 0), k))
    }

    fn combine(&mut self, i: Inst, logic: Logic, k: usize) -> Val {
        let s = self.s;
        let (a, b) = (s.arg(i, 0), s.arg(i, 1));
        let found = match self.shift_of(a, k) {
            Some(shift) if a != b => Some((shift, b)),
            _ => self.shift_of(b, k).filter(|_| a != b).map(|shift| (shift, a)),
        };
        let (shift, other) = match found {
            Some(found) => found,
            None if self.complement_of(a, k).is_some() => (Shift::none(self.word_operand(b, k)), a),
            None => (Shift::none(self.word_operand(a, k)), b),
        };
        let other = match self.complement_of(other, k) {
            Some(o) if o.known().is_none() => o.inverted(),
            _ => self.word_operand(other, k),
        };
        self.def(shift.inst(logic), WORD, &[shift.value, shift.count, other])
    }

    /// A component of a narrower type from some bit of a word on.
    pub(super) fn above(&mut self, word: Comp, bit: u32) -> Comp {
        if bit == 0 {
            return word;
        }
        let a = self.opnd(word);
        let inst = Isa::new(IsaOp::RSHIFT_OR_I32);
        Comp::Val(self.def(inst, WORD, &[a, Opnd::imm(bit), Opnd::imm(0)]))
    }
}
