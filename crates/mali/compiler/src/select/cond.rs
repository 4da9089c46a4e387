//! Truth values: comparisons, selects and logic. A truth value in a register is 0 or 1.

use super::operand::From;
use super::{Opnd, Select};
use crate::mir::{Comp, Inst as Isa, WORD};
use tepui_ir::{Inst, Op, Value};
use tepui_mali_isa::Op as IsaOp;
use tepui_mali_isa::modifier::{Condition, ResultType};
use tepui_mali_isa::operand::Swizzle;

/// The type that a comparison compares.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Unsigned,
    Signed,
    /// Halves are widened as they are read: a comparison of halves has a result for each half.
    Float,
}

/// A comparison of two operands.
#[derive(Clone, Copy, Debug)]
struct Compare {
    kind: Kind,
    condition: Condition,
    a: Opnd,
    b: Opnd,
}

impl Compare {
    /// The comparison that combines its result with a third source by or, or by and.
    fn inst(&self, and: bool) -> Isa {
        let op = match (self.kind, and) {
            (Kind::Unsigned, false) => IsaOp::ICMP_OR_U32,
            (Kind::Unsigned, true) => IsaOp::ICMP_AND_U32,
            (Kind::Signed, false) => IsaOp::ICMP_OR_S32,
            (Kind::Signed, true) => IsaOp::ICMP_AND_S32,
            (Kind::Float, false) => IsaOp::FCMP_OR_F32,
            (Kind::Float, true) => IsaOp::FCMP_AND_F32,
        };
        Isa::new(op).with(self.condition).with(ResultType::I1)
    }

    /// The select that compares, if it takes these operands: it has no modifiers.
    fn select(&self) -> Option<Isa> {
        let op = match self.kind {
            Kind::Unsigned => IsaOp::CSEL_U32,
            Kind::Signed => IsaOp::CSEL_S32,
            Kind::Float => IsaOp::CSEL_F32,
        };
        (self.a.is_plain() && self.b.is_plain()).then(|| Isa::new(op).with(self.condition))
    }
}

/// The kind and the condition of a comparison.
fn comparison(op: Op) -> Option<(Kind, Condition)> {
    Some(match op {
        Op::IEq => (Kind::Unsigned, Condition::Eq),
        Op::INe => (Kind::Unsigned, Condition::Ne),
        Op::SLt => (Kind::Signed, Condition::Lt),
        Op::SGe => (Kind::Signed, Condition::Ge),
        Op::ULt => (Kind::Unsigned, Condition::Lt),
        Op::UGe => (Kind::Unsigned, Condition::Ge),
        Op::FEq => (Kind::Float, Condition::Eq),
        Op::FNeu => (Kind::Float, Condition::Ne),
        Op::FLt => (Kind::Float, Condition::Lt),
        Op::FGe => (Kind::Float, Condition::Ge),
        _ => return None,
    })
}

impl Select<'_> {
    /// The comparison that makes a truth value.
    fn compare(&mut self, v: Value, k: usize) -> Option<Compare> {
        let i = self.def_inst(v)?;
        self.compare_inst(i, k)
    }

    fn compare_inst(&mut self, i: Inst, k: usize) -> Option<Compare> {
        let s = self.s;
        let bits = s.args(i).first().map(|&a| self.ty(a).bits())?;
        let (kind, condition) = comparison(s.insts[i].op)?;
        if bits == 64 {
            return None;
        }
        let (a, b) = (s.arg(i, 0), s.arg(i, 1));
        let of = |x: &mut Self, v| match kind {
            Kind::Float => x.fsrc_as(v, k, 32),
            _ => x.isrc(v, k, kind == Kind::Signed),
        };
        let (a, b) = (of(self, a), of(self, b));
        Some(Compare { kind, condition, a, b })
    }

    /// A value that is not zero where a truth value holds, or that is zero there: an operand without modifiers.
    pub(super) fn truth(&mut self, v: Value, k: usize) -> (Opnd, bool) {
        if let Some(i) = self.def_inst(v) {
            let s = self.s;
            match s.insts[i].op {
                Op::INot => {
                    let (o, set) = self.truth(s.arg(i, 0), k);
                    return (o, !set);
                }
                Op::IEq | Op::INe if self.ty(s.arg(i, 0)).bits() == 32 => {
                    let [a, b] = [0, 1].map(|n| self.comp(s.arg(i, n), k));
                    let other = match (a, b) {
                        (Comp::Const(0), other) | (other, Comp::Const(0)) => Some(other),
                        _ => None,
                    };
                    if let Some(other) = other {
                        return (self.opnd(other), s.insts[i].op == Op::INe);
                    }
                }
                _ => {}
            }
        }
        let c = self.comp(v, k);
        (self.opnd(c), true)
    }

    /// Selects comparisons, selects and logic of truth values; whether the instruction is one.
    pub(super) fn logic(&mut self, i: Inst) -> bool {
        let s = self.s;
        let [r] = s.results(i) else { return false };
        let op = s.insts[i].op;
        let n = usize::from(self.ty(*r).comps());
        let mut comps = Vec::with_capacity(n);
        for k in 0..n {
            let c = match op {
                Op::Select => {
                    self.select_comps(i, k, &mut comps);
                    continue;
                }
                Op::IAnd | Op::IOr | Op::IXor | Op::INot if self.ty(*r).bits() == 1 => {
                    self.logic_comp(i, op, k)
                }
                _ => match self.compare_inst(i, k) {
                    Some(c) => {
                        let v = self.def(c.inst(false), WORD, &[c.a, c.b, Opnd::imm(0)]);
                        Comp::Val(v)
                    }
                    None => return false,
                },
            };
            comps.push(c);
        }
        self.set(*r, &comps);
        true
    }

    fn logic_comp(&mut self, i: Inst, op: Op, k: usize) -> Comp {
        let s = self.s;
        let of = |x: &Self, n: usize| {
            let c = x.comp(s.arg(i, n), k);
            x.opnd(c)
        };
        let a = of(self, 0);
        if op == Op::INot {
            let shift = Opnd::imm(0);
            let v = self.word(IsaOp::LSHIFT_XOR_I32, &[a, shift, Opnd::imm(1)]);
            return Comp::Val(v);
        }
        let b = of(self, 1);
        if op != Op::IXor {
            // A comparison of which nothing else is used takes the other operand.
            for (n, other) in [(1, a), (0, b)] {
                let v = s.arg(i, n);
                if self.uses[v] == 1
                    && s.arg(i, 0) != s.arg(i, 1)
                    && let Some(c) = self.compare(v, k)
                {
                    let v = self.def(c.inst(op == Op::IAnd), WORD, &[c.a, c.b, other]);
                    return Comp::Val(v);
                }
            }
        }
        let op = match op {
            Op::IAnd => IsaOp::LSHIFT_AND_I32,
            Op::IOr => IsaOp::LSHIFT_OR_I32,
            _ => IsaOp::LSHIFT_XOR_I32,
        };
        Comp::Val(self.word(op, &[a, Opnd::imm(0), b]))
    }

    /// The words of a component of a select.
    fn select_comps(&mut self, i: Inst, k: usize, comps: &mut Vec<Comp>) {
        let s = self.s;
        let (cond, t, f) = (s.arg(i, 0), s.arg(i, 1), s.arg(i, 2));
        let ck = if self.ty(cond).is_scalar() { 0 } else { k };
        let words = self.count(t) / usize::from(self.ty(t).comps());
        let compare = self.compare(cond, ck).filter(|c| c.select().is_some());
        for word in words * k..words * (k + 1) {
            let (t, f) = (self.comp(t, word), self.comp(f, word));
            if t == f || f == Comp::Undef {
                comps.push(t);
                continue;
            }
            let (t, f) = (self.opnd(t), self.opnd(f));
            let v = match compare.and_then(|c| Some((c.select()?, c))) {
                Some((inst, c)) => self.def(inst, WORD, &[c.a, c.b, t, f]),
                None => {
                    let (truth, set) = self.truth(cond, ck);
                    let condition = if set { Condition::Ne } else { Condition::Eq };
                    let inst = Isa::new(IsaOp::CSEL_U32).with(condition);
                    self.def(inst, WORD, &[truth, Opnd::imm(0), t, f])
                }
            };
            comps.push(Comp::Val(v));
        }
    }

    /// An integer operand of 32 bits: a narrower value is extended as it is read.
    pub(super) fn isrc(&mut self, v: Value, k: usize, signed: bool) -> Opnd {
        let c = self.comp(v, k);
        let bits = self.ty(v).bits();
        if let Comp::Const(n) = c {
            let n = if signed { tepui_ir::sext(n, bits) as u32 } else { n as u32 };
            return Opnd::imm(n);
        }
        let o = self.opnd(c);
        match (o.from, bits) {
            (From::Const(_), _) => o,
            (_, 8) => o.part(Swizzle::B0),
            (_, 16) => o.part(Swizzle::H0),
            _ => o,
        }
    }
}
