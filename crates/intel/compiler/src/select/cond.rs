//! Comparisons, selections, and conditions of branches.

use super::{Comp, Select, Source, words};
use crate::error::Result;
use crate::mir::{self, Both, Inst, Operand};
use tepui_intel_isa::{Condition, Generation, Opcode, Type as Ty};
use tepui_ir::{self as ir, Op, Type, Value};

/// A comparison of two sources.
#[derive(Clone, Copy)]
pub(super) struct Comparison {
    pub condition: Condition,
    pub sources: [Source; 2],
}

/// The condition that holds where the given one does not. Comparisons of floats have none where a NaN takes part, except
/// equality.
pub(super) fn inverse(condition: Condition) -> Condition {
    match condition {
        Condition::Zero => Condition::NotZero,
        Condition::NotZero => Condition::Zero,
        Condition::Greater => Condition::LessEqual,
        Condition::GreaterEqual => Condition::Less,
        Condition::Less => Condition::GreaterEqual,
        Condition::LessEqual => Condition::Greater,
        other => other,
    }
}

/// The condition with its operands exchanged.
fn swapped(condition: Condition) -> Condition {
    match condition {
        Condition::Greater => Condition::Less,
        Condition::GreaterEqual => Condition::LessEqual,
        Condition::Less => Condition::Greater,
        Condition::LessEqual => Condition::GreaterEqual,
        other => other,
    }
}

/// The condition of a comparison and the type of its operands; `None` for other operations.
fn compared(op: Op, bits: u8) -> Option<(Condition, Ty)> {
    let unsigned = match bits {
        8 => Ty::UB,
        16 => Ty::UW,
        _ => Ty::UD,
    };
    let signed = match bits {
        8 => Ty::B,
        16 => Ty::W,
        _ => Ty::D,
    };
    let float = if bits == 16 { Ty::HF } else { Ty::F };
    Some(match op {
        Op::FEq => (Condition::Zero, float),
        Op::FNeu => (Condition::NotZero, float),
        Op::FLt => (Condition::Less, float),
        Op::FGe => (Condition::GreaterEqual, float),
        Op::IEq => (Condition::Zero, signed),
        Op::INe => (Condition::NotZero, signed),
        Op::SLt => (Condition::Less, signed),
        Op::SGe => (Condition::GreaterEqual, signed),
        Op::ULt => (Condition::Less, unsigned),
        Op::UGe => (Condition::GreaterEqual, unsigned),
        _ => return None,
    })
}

impl Select<'_> {
    /// The comparison that an instruction makes, if it is one of values of up to 32 bits.
    fn comparison(&mut self, i: ir::Inst) -> Option<Comparison> {
        let s = self.s;
        let [a, b] = *s.args(i) else { return None };
        let (mut condition, ty) = compared(s.insts[i].op, self.ty(a).bits())?;
        if words(self.ty(a)) != 1 || !self.ty(a).is_scalar() {
            return None;
        }
        let [mut x, mut y] = match ty.is_float() {
            true => [self.float(a, ty), self.float(b, ty)],
            false => [a, b].map(|v| self.source(self.comp(v, 0), ty)),
        };
        if x.val.is_none() && y.val.is_some() {
            std::mem::swap(&mut x, &mut y);
            condition = swapped(condition);
        }
        let sources = self.second_immediate([x, y]);
        Some(Comparison { condition, sources })
    }

    /// Puts an immediate first source into a register, and second ones that have no immediate form.
    pub(super) fn second_immediate(&mut self, [x, y]: [Source; 2]) -> [Source; 2] {
        let byte = y.operand.ty.bytes() == 1;
        let x = self.without_immediate(x);
        let y = if byte { self.without_immediate(y) } else { y };
        if byte && self.generation == Generation::Gen12 {
            return [x, self.word(y)];
        }
        [x, y]
    }

    /// A source of bytes as one of words: on Gen12, source 1 has no bytes.
    pub(super) fn word(&mut self, source: Source) -> Source {
        let ty = if source.operand.ty.is_signed() { Ty::W } else { Ty::UW };
        let v = self.def(super::alu::mov(ty), ty, &[source]);
        self.read(v, ty)
    }

    /// A source whose immediate is in a register.
    pub(super) fn without_immediate(&mut self, source: Source) -> Source {
        match source.operand.place {
            mir::Place::Immediate(bits) => {
                let v = self.constant(Comp::Const(bits as u32));
                let place = self.read(v, source.operand.ty).operand.place;
                Source { operand: Operand { place, ..source.operand }, val: Some(v) }
            }
            _ => source,
        }
    }

    /// The comparison that makes a truth value, as its definition has it, or of the truth value with zero.
    pub(super) fn truth(&mut self, v: Value) -> Comparison {
        let s = self.s;
        if let Some(i) = s.def_inst(v) {
            if s.insts[i].op == Op::INot {
                let mut inner = self.truth(s.arg(i, 0));
                let float = inner.sources[0].operand.ty.is_float();
                let equality = matches!(inner.condition, Condition::Zero | Condition::NotZero);
                if !float || equality {
                    inner.condition = inverse(inner.condition);
                    return inner;
                }
            } else if let Some(found) = self.comparison(i) {
                return found;
            }
        }
        let c = self.comp(v, 0);
        let source = self.register(c, Ty::D);
        let zero = Source { operand: Operand::immediate(Ty::D, 0), val: None };
        Comparison { condition: Condition::NotZero, sources: [source, zero] }
    }

    /// The two comparisons that a conjunction or disjunction combines, if one of them at least is not of a truth value in
    /// registers: the bitwise operation of two such values is cheaper.
    fn both(&mut self, i: ir::Inst) -> Option<(Both, [Source; 4])> {
        let (either, [a, b]) = self.junction(i)?;
        let mut order = [a, b].map(|v| (self.is_comparison(v), v));
        // What is in registers first: the flag may have it.
        order.sort_by_key(|&(is_comparison, _)| is_comparison);
        if !order[1].0 {
            return None;
        }
        let [first, second] = order.map(|(_, v)| self.truth(v));
        let sources = [first.sources[0], first.sources[1], second.sources[0], second.sources[1]];
        if sources.iter().any(|source| source.operand.ty.bytes() != 4) {
            return None;
        }
        let conditions = [first.condition, second.condition];
        Some((Both { conditions, either }, sources))
    }

    /// The two truth values of which an instruction is the disjunction (`true`) or the conjunction: `c ? x : !c` is `!c || x`,
    /// `c ? !c : x` is `!c && x`.
    fn junction(&self, i: ir::Inst) -> Option<(bool, [Value; 2])> {
        let s = self.s;
        match (s.insts[i].op, s.args(i)) {
            (Op::IOr, &[a, b]) if self.ty(a) == Type::B1 => Some((true, [a, b])),
            (Op::IAnd, &[a, b]) if self.ty(a) == Type::B1 => Some((false, [a, b])),
            (Op::Select, &[c, x, y]) if self.ty(x) == Type::B1 => match self {
                _ if self.are_opposite(c, y) => Some((true, [y, x])),
                _ if self.are_opposite(c, x) => Some((false, [x, y])),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether two comparisons of the same values have opposite outcomes.
    fn are_opposite(&self, a: Value, b: Value) -> bool {
        let s = self.s;
        let (Some(a), Some(b)) = (s.def_inst(a), s.def_inst(b)) else { return false };
        let opposites =
            [(Op::IEq, Op::INe), (Op::SLt, Op::SGe), (Op::ULt, Op::UGe), (Op::FEq, Op::FNeu)];
        let ops = (s.insts[a].op, s.insts[b].op);
        let is_pair = |&(x, y): &(Op, Op)| ops == (x, y) || ops == (y, x);
        s.args(a) == s.args(b) && opposites.iter().any(is_pair)
    }

    /// Whether the definition of a truth value is a comparison, or the inverse of one.
    fn is_comparison(&self, v: Value) -> bool {
        let s = self.s;
        let Some(i) = s.def_inst(v) else { return false };
        match s.insts[i].op {
            Op::INot => self.is_comparison(s.arg(i, 0)),
            op => compared(op, 32).is_some() && words(self.ty(s.arg(i, 0))) == 1,
        }
    }

    /// The test of a branch.
    pub(super) fn test(&mut self, v: Value) -> (Inst, Vec<Source>) {
        let (op, sources) = match self.s.def_inst(v).and_then(|i| self.both(i)) {
            Some((both, sources)) => (mir::Op::TestBoth(both), sources.to_vec()),
            None => {
                let Comparison { condition, sources } = self.truth(v);
                (mir::Op::Test(condition), sources.to_vec())
            }
        };
        let operands: Vec<Operand> = sources.iter().map(|s| s.operand).collect();
        (Inst::new(op, Operand::NONE, &operands), sources)
    }

    /// One of two components by a comparison.
    pub(super) fn pick(&mut self, c: &Comparison, [x, y]: [Comp; 2]) -> Comp {
        if x == y {
            return x;
        }
        // Only the last source can be an immediate.
        let x = self.register(x, Ty::UD);
        let y = self.source(y, Ty::UD);
        let [a, b] = c.sources;
        Comp::Val(self.def(mir::Op::Select(c.condition), Ty::UD, &[a, b, x, y]))
    }

    /// Selects each double word of one of two values by a truth value.
    fn select_components(&mut self, i: ir::Inst) {
        let s = self.s;
        let r = s.result(i);
        let test = self.truth(s.arg(i, 0));
        let (x, y) = (s.arg(i, 1), s.arg(i, 2));
        let all: Vec<Comp> = (0..self.dwords(r))
            .map(|k| self.pick(&test, [self.comp(x, k), self.comp(y, k)]))
            .collect();
        self.set(r, &all);
    }

    /// Selects comparisons and selections; whether the instruction is one.
    pub(super) fn condition(&mut self, i: ir::Inst) -> Result<bool> {
        let s = self.s;
        let r = match s.results(i) {
            [r] => *r,
            _ => return Ok(false),
        };
        match s.insts[i].op {
            Op::IAnd | Op::IOr | Op::Select if self.ty(r) == Type::B1 => {
                if let Some((both, sources)) = self.both(i) {
                    let v = self.def(mir::Op::CompareBoth(both), Ty::D, &sources);
                    self.set(r, &[Comp::Val(v)]);
                    return Ok(true);
                }
                if s.insts[i].op != Op::Select {
                    return Ok(false);
                }
                self.select_components(i);
                Ok(true)
            }
            Op::Select if self.ty(r).is_scalar() => {
                self.select_components(i);
                Ok(true)
            }
            op if compared(op, 32).is_some() => {
                let Some(c) = self.comparison(i) else {
                    return self.refuse(i, "of 64 bits or vectors is not compiled yet");
                };
                let v = self.def(mir::Op::Compare(c.condition), Ty::D, &c.sources);
                self.set(r, &[Comp::Val(v)]);
                Ok(true)
            }
            Op::B2I | Op::B2F => {
                let c = self.comp(s.arg(i, 0), 0);
                let mut source = self.register(c, Ty::D);
                // All ones are -1.
                source.operand.negate = true;
                let ty = match (s.insts[i].op, self.ty(r).bits()) {
                    (Op::B2I, _) => Ty::D,
                    (_, 16) => Ty::HF,
                    (_, 32) => Ty::F,
                    _ => return self.refuse(i, "to 64 bits is not compiled yet"),
                };
                let v = self.def(Inst::alu(Opcode::Mov, ty, &[]).op, ty, &[source]);
                let mut all = vec![Comp::Val(v)];
                all.resize(self.dwords(r), Comp::Const(0));
                self.set(r, &all);
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}
