//! Arithmetic.

use super::{Comp, Select, Source, words};
use crate::error::Result;
use crate::mir::{self, Inst, Operand};
use tepui_intel_isa::{Condition, Generation, MathFunction, Opcode, Type as Ty};
use tepui_ir::{self as ir, Attrs, Builtin, Op, Type, Value};

/// An operation of the hardware with a type for result and sources.
#[derive(Clone, Copy)]
pub(super) struct Simple {
    pub opcode: Opcode,
    pub ty: Ty,
    pub commutes: bool,
}

/// A hardware operation.
pub(super) fn op(opcode: Opcode) -> mir::Op {
    mir::Op::Alu { opcode, function: 0, condition: Condition::None, saturate: false }
}

/// A minimum (`Less`) or maximum (`GreaterEqual`).
fn minmax(condition: Condition) -> mir::Op {
    mir::Op::Alu { opcode: Opcode::Sel, function: 0, condition, saturate: false }
}

pub(super) fn math(function: MathFunction) -> mir::Op {
    mir::Op::Alu {
        opcode: Opcode::Math,
        function: function as u8,
        condition: Condition::None,
        saturate: false,
    }
}

/// The float type of a size; `None` for 64 bits.
pub(super) fn float_type(bits: u8) -> Option<Ty> {
    match bits {
        16 => Some(Ty::HF),
        32 => Some(Ty::F),
        _ => None,
    }
}

/// The function of a mathematical operation.
fn math_function(o: Op) -> Option<MathFunction> {
    Some(match o {
        Op::FSqrt => MathFunction::Sqrt,
        Op::FRsq => MathFunction::Rsq,
        Op::FRcp => MathFunction::Inv,
        Op::FExp2 => MathFunction::Exp,
        Op::FLog2 => MathFunction::Log,
        Op::FSin => MathFunction::Sin,
        Op::FCos => MathFunction::Cos,
        Op::FPow => MathFunction::Pow,
        _ => return None,
    })
}

/// The operation of a rounding.
fn rounding(o: Op) -> Option<Opcode> {
    Some(match o {
        Op::FFloor => Opcode::Rndd,
        Op::FCeil => Opcode::Rndu,
        Op::FTrunc => Opcode::Rndz,
        Op::FRoundEven => Opcode::Rnde,
        Op::FFract => Opcode::Frc,
        _ => return None,
    })
}

impl Select<'_> {
    /// A float as a source, with the negation and the absolute value that its definition has.
    pub(super) fn float(&mut self, v: Value, ty: Ty) -> Source {
        let (mut at, mut negate, mut abs) = (v, false, false);
        while let Some(i) = self.s.def_inst(at) {
            match self.s.insts[i].op {
                Op::FNeg => negate ^= !abs,
                Op::FAbs => abs = true,
                Op::Copy => {}
                _ => break,
            }
            at = self.s.arg(i, 0);
        }
        if self.comp(at, 0) == Comp::Undef || matches!(self.comp(at, 0), Comp::Const(_)) {
            (at, negate, abs) = (v, false, false);
        }
        let c = self.comp(at, 0);
        let mut source = self.source(c, ty);
        source.operand.negate = negate;
        source.operand.abs = abs;
        source
    }

    /// A result of one double word for each component, of which there is one.
    fn result(&mut self, i: ir::Inst, v: tepui_regalloc::Val) -> Result<()> {
        self.set(self.s.result(i), &[Comp::Val(v)]);
        Ok(())
    }

    /// An operation of two sources, of which the second may be an immediate.
    fn two(&mut self, o: Simple, mut sources: [Source; 2]) -> tepui_regalloc::Val {
        if o.commutes && sources[0].val.is_none() && is_immediate(&sources[0]) {
            sources.swap(0, 1);
        }
        sources[0] = self.without_immediate(sources[0]);
        self.def(op(o.opcode), o.ty, &sources)
    }

    /// Sources of integers.
    fn ints(&mut self, i: ir::Inst, ty: Ty) -> [Source; 2] {
        [0, 1].map(|k| {
            let c = self.comp(self.s.arg(i, k), 0);
            self.source(c, ty)
        })
    }

    /// Sources of a sum of double words: one of them may be a narrow number that the sum itself widens.
    fn addends(&mut self, i: ir::Inst) -> [Source; 2] {
        let s = self.s;
        for k in [0, 1] {
            let narrow = s.def_inst(s.arg(i, k)).filter(|&d| {
                let widens = matches!(s.insts[d].op, Op::U2U | Op::S2S);
                widens && matches!(self.ty(s.arg(d, 0)).bits(), 8 | 16)
            });
            let Some(d) = narrow else { continue };
            let a = s.arg(d, 0);
            let signed = s.insts[d].op == Op::S2S;
            let Some(ty) = super::convert::int_type(self.ty(a).bits(), signed) else { continue };
            let (c, other) = (self.comp(a, 0), self.comp(s.arg(i, 1 - k), 0));
            if let Comp::Val(_) = c {
                // On Gen12 only the first source can be of bytes.
                return [self.source(c, ty), self.source(other, Ty::D)];
            }
        }
        self.ints(i, Ty::D)
    }

    pub(super) fn alu(&mut self, i: ir::Inst) -> Result<()> {
        let s = self.s;
        let o = s.insts[i].op;
        let [r] = *s.results(i) else {
            return self.refuse(i, "is not compiled for Intel's GPUs yet");
        };
        let ty = self.ty(r);
        if let Op::IAnd | Op::IOr | Op::IXor | Op::INot = o {
            return self.logic(i);
        }
        if !ty.is_scalar() || s.args(i).iter().any(|&a| !self.ty(a).is_scalar()) {
            return self.refuse(i, "of vectors is not compiled for Intel's GPUs yet");
        }
        if words(ty) != 1 || s.args(i).iter().any(|&a| words(self.ty(a)) != 1) {
            return self.refuse(i, "of 64 bits is not compiled for Intel's GPUs yet");
        }
        match o.touches_floats() || matches!(o, Op::FNeg | Op::FAbs) {
            true => self.float_op(i, ty),
            false => self.int_op(i, ty),
        }
    }

    fn float_op(&mut self, i: ir::Inst, ir_ty: Type) -> Result<()> {
        let s = self.s;
        let o = s.insts[i].op;
        let Some(ty) = float_type(ir_ty.bits()) else {
            return self.refuse(i, "of 64 bits is not compiled for Intel's GPUs yet");
        };
        let simple = |opcode, commutes| Simple { opcode, ty, commutes };
        if let Some(function) = math_function(o) {
            let mut sources: Vec<Source> = Vec::with_capacity(2);
            for &a in s.args(i) {
                let x = self.float(a, ty);
                sources.push(self.without_immediate(x));
            }
            let v = self.def(math(function), ty, &sources);
            return self.result(i, v);
        }
        if let Some(opcode) = rounding(o) {
            let x = self.float(s.arg(i, 0), ty);
            let v = self.def(op(opcode), ty, &[x]);
            return self.result(i, v);
        }
        let v = match o {
            Op::FNeg | Op::FAbs => {
                let sign = 1u64 << (ir_ty.bits() - 1);
                let (opcode, bits) = match o {
                    Op::FNeg => (Opcode::Xor, sign),
                    _ => (Opcode::And, sign - 1),
                };
                let bits_ty = if ty == Ty::HF { Ty::UW } else { Ty::UD };
                let c = self.comp(s.arg(i, 0), 0);
                let x = self.register(c, bits_ty);
                let y = Source { operand: Operand::immediate(bits_ty, bits), val: None };
                self.def(op(opcode), bits_ty, &[x, y])
            }
            Op::FAdd | Op::FSub | Op::FMul => {
                let mut sources = [self.float(s.arg(i, 0), ty), self.float(s.arg(i, 1), ty)];
                if o == Op::FSub {
                    sources[1] = negated(sources[1], ir_ty.bits());
                }
                let opcode = if o == Op::FMul { Opcode::Mul } else { Opcode::Add };
                self.two(simple(opcode, true), sources)
            }
            Op::FMin | Op::FMax => {
                let condition =
                    if o == Op::FMin { Condition::Less } else { Condition::GreaterEqual };
                let sources = [self.float(s.arg(i, 0), ty), self.float(s.arg(i, 1), ty)];
                let sources = self.second_immediate(sources);
                self.def(minmax(condition), ty, &sources)
            }
            Op::FSat => {
                let x = self.float(s.arg(i, 0), ty);
                let saturate = mir::Op::Alu {
                    opcode: Opcode::Mov,
                    function: 0,
                    condition: Condition::None,
                    saturate: true,
                };
                self.def(saturate, ty, &[x])
            }
            Op::FFma if ty == Ty::F => {
                let [a, b, c] = [0, 1, 2].map(|k| {
                    let x = self.float(s.arg(i, k), ty);
                    self.without_immediate(x)
                });
                self.def(op(Opcode::Mad), ty, &[c, a, b])
            }
            // Planes of half floats have strides, which ternary instructions do not. SPIR-V takes the precision of a
            // product and a sum.
            Op::FFma => {
                let [a, b, c] = [0, 1, 2].map(|k| self.float(s.arg(i, k), ty));
                let product = self.two(simple(Opcode::Mul, true), [a, b]);
                let product = self.read(product, ty);
                self.two(simple(Opcode::Add, true), [product, c])
            }
            _ => return self.refuse(i, "is not compiled for Intel's GPUs yet"),
        };
        self.result(i, v)
    }

    /// Bitwise operations, of any size and number of components. Those of narrow values read their bits alone, since the
    /// others may never have been written.
    fn logic(&mut self, i: ir::Inst) -> Result<()> {
        let s = self.s;
        if let Some((v, count)) = self.rotation(i) {
            let c = self.comp(v, 0);
            let x = self.register(c, Ty::UD);
            let n = Source { operand: Operand::immediate(Ty::UD, count), val: None };
            let v = self.def(op(Opcode::Rol), Ty::UD, &[x, n]);
            return self.result(i, v);
        }
        let opcode = match s.insts[i].op {
            Op::IAnd => Opcode::And,
            Op::IOr => Opcode::Or,
            Op::IXor => Opcode::Xor,
            _ => Opcode::Not,
        };
        let r = s.result(i);
        // Instructions have no immediates of bytes.
        let (ty, register_ty) = match self.ty(r).bits() {
            8 => (Ty::UW, Ty::UB),
            16 => (Ty::UW, Ty::UW),
            _ => (Ty::UD, Ty::UD),
        };
        let mut all = Vec::with_capacity(self.dwords(r));
        for k in 0..self.dwords(r) {
            let args: Vec<Comp> = s.args(i).iter().map(|&a| self.comp(a, k)).collect();
            let mut sources: Vec<Source> = Vec::with_capacity(2);
            for &c in &args {
                sources.push(self.source(c, ty));
            }
            for x in sources.iter_mut().filter(|x| !is_immediate(x)) {
                x.operand.ty = register_ty;
            }
            let v = match sources[..] {
                [a, b] => {
                    let [a, b] = if is_immediate(&a) { [b, a] } else { [a, b] };
                    let bytes = b.operand.ty == Ty::UB && self.generation == Generation::Gen12;
                    let b = if bytes { self.word(b) } else { b };
                    self.two(Simple { opcode, ty, commutes: true }, [a, b])
                }
                _ => {
                    let a = self.without_immediate(sources[0]);
                    self.def(op(opcode), ty, &[a])
                }
            };
            all.push(Comp::Val(v));
        }
        self.set(r, &all);
        Ok(())
    }

    /// The value that two shifts and their disjunction rotate to the left, and the count, on machines that can. source: Mesa,
    /// `brw_compiler.c` (`lower_rotate`)
    fn rotation(&self, i: ir::Inst) -> Option<(Value, u64)> {
        let s = self.s;
        if s.insts[i].op != Op::IOr
            || self.generation == Generation::Gen9
            || self.ty(s.result(i)) != Type::B32
        {
            return None;
        }
        let shift = |k: usize| {
            let i = s.def_inst(s.arg(i, k))?;
            let is_shift = matches!(s.insts[i].op, Op::IShl | Op::UShr);
            let count = s.as_const(*s.args(i).get(1).filter(|_| is_shift)?)?;
            Some((s.insts[i].op, s.arg(i, 0), count & 31))
        };
        let (first, second) = (shift(0)?, shift(1)?);
        let (left, right) = if first.0 == Op::IShl { (first, second) } else { (second, first) };
        let rotates = left.0 == Op::IShl
            && right.0 == Op::UShr
            && left.1 == right.1
            && left.2 + right.2 == 32;
        rotates.then_some((left.1, left.2))
    }

    fn int_op(&mut self, i: ir::Inst, ir_ty: Type) -> Result<()> {
        let s = self.s;
        let o = s.insts[i].op;
        let narrow = ir_ty.bits() != 32 || s.args(i).iter().any(|&a| self.ty(a).bits() != 32);
        if narrow {
            return self.refuse(i, "of 8 or 16 bits is not compiled for Intel's GPUs yet");
        }
        let simple = |opcode, ty, commutes| Simple { opcode, ty, commutes };
        let v = match o {
            Op::IAdd => {
                let sources = self.addends(i);
                self.two(simple(Opcode::Add, Ty::D, true), sources)
            }
            Op::ISub => {
                let [a, b] = self.ints(i, Ty::D);
                let b = match b.operand.place {
                    mir::Place::Immediate(bits) => {
                        let bits = u64::from((bits as u32).wrapping_neg());
                        Source { operand: Operand::immediate(Ty::D, bits), val: None }
                    }
                    _ => Source { operand: b.operand.negated(), ..b },
                };
                self.two(simple(Opcode::Add, Ty::D, true), [a, b])
            }
            Op::IMul => self.product(i),
            Op::UMulHi | Op::SMulHi => {
                let ty = if o == Op::UMulHi { Ty::UD } else { Ty::D };
                let [a, b] = self.ints(i, ty).map(|x| self.without_immediate(x));
                self.def(mir::Op::MulHigh, ty, &[a, b])
            }
            Op::IShl | Op::UShr => {
                let opcode = if o == Op::IShl { Opcode::Shl } else { Opcode::Shr };
                let sources = self.shift(i, Ty::UD);
                self.two(simple(opcode, Ty::UD, false), sources)
            }
            Op::SShr => {
                let sources = self.shift(i, Ty::D);
                self.two(simple(Opcode::Asr, Ty::D, false), sources)
            }
            Op::SMin | Op::SMax | Op::UMin | Op::UMax => {
                let ty = if matches!(o, Op::SMin | Op::SMax) { Ty::D } else { Ty::UD };
                let condition = match o {
                    Op::SMin | Op::UMin => Condition::Less,
                    _ => Condition::GreaterEqual,
                };
                let sources = self.ints(i, ty);
                let sources = match is_immediate(&sources[0]) {
                    true => [sources[1], sources[0]],
                    false => sources,
                };
                let sources = self.second_immediate(sources);
                self.def(minmax(condition), ty, &sources)
            }
            Op::INeg => {
                let [a, _] = self.one(i, Ty::D);
                self.def(op(Opcode::Mov), Ty::D, &[a.negated()])
            }
            Op::UDiv | Op::UMod | Op::SDiv | Op::SRem => {
                let ty = if matches!(o, Op::UDiv | Op::UMod) { Ty::UD } else { Ty::D };
                let function = match o {
                    Op::UDiv | Op::SDiv => MathFunction::IntDiv,
                    _ => MathFunction::IntMod,
                };
                let sources = self.ints(i, ty).map(|x| self.without_immediate(x));
                self.def(math(function), ty, &sources)
            }
            Op::SMod => self.floored(i),
            Op::BitReverse => self.unary(i, Opcode::Bfrev, Ty::UD),
            Op::BitCount => self.unary(i, Opcode::Cbit, Ty::UD),
            Op::FindLsb => self.unary(i, Opcode::Fbl, Ty::UD),
            Op::UFindMsb | Op::SFindMsb => self.highest_bit(i),
            _ => return self.refuse(i, "is not compiled for Intel's GPUs yet"),
        };
        self.result(i, v)
    }

    fn one(&mut self, i: ir::Inst, ty: Ty) -> [Source; 2] {
        let c = self.comp(self.s.arg(i, 0), 0);
        let a = self.register(c, ty);
        [a, a]
    }

    fn unary(&mut self, i: ir::Inst, opcode: Opcode, ty: Ty) -> tepui_regalloc::Val {
        let [a, _] = self.one(i, ty);
        self.def(op(opcode), ty, &[a])
    }

    /// Sources of a shift, whose count is taken modulo 32 by the hardware, too.
    fn shift(&mut self, i: ir::Inst, ty: Ty) -> [Source; 2] {
        let [a, b] = self.ints(i, ty);
        let b = match b.operand.place {
            mir::Place::Immediate(bits) => {
                Source { operand: Operand::immediate(Ty::UD, bits & 31), val: None }
            }
            _ => Source { operand: Operand { ty: Ty::UD, ..b.operand }, ..b },
        };
        [a, b]
    }

    /// A product of double words. One with a word takes half the time on Gen9, and is the only one from Gen11 on: source 1 is
    /// the narrower one.
    fn product(&mut self, i: ir::Inst) -> tepui_regalloc::Val {
        let mut sources = self.ints(i, Ty::D);
        let [mut first, mut second] = [0, 1].map(|k| self.s.arg(i, k));
        if is_immediate(&sources[0]) || !is_immediate(&sources[1]) && self.is_word(first) {
            sources.swap(0, 1);
            std::mem::swap(&mut first, &mut second);
        }
        let multiply = Simple { opcode: Opcode::Mul, ty: Ty::D, commutes: false };
        let [a, b] = sources;
        if let mir::Place::Immediate(bits) = b.operand.place {
            let narrow = match bits as u32 as i32 {
                0..0x1_0000 => Some(Ty::UW),
                -0x8000..0 => Some(Ty::W),
                _ => None,
            };
            if let Some(ty) = narrow {
                let place = mir::Place::Immediate(bits & 0xffff);
                let b = Source { operand: Operand { place, ty, ..b.operand }, ..b };
                return self.two(multiply, [a, b]);
            }
        }
        if !is_immediate(&b) && self.is_word(second) {
            let word = Source { operand: Operand { ty: Ty::UW, ..b.operand }, ..b };
            return self.two(multiply, [a, word]);
        }
        match self.generation {
            Generation::Gen9 => self.two(multiply, sources),
            Generation::Gen12 => self.product_of_words(a, b),
        }
    }

    /// Whether a number has at most 16 bits, as far as its definition says.
    fn is_word(&self, v: Value) -> bool {
        self.bound(v, 0).is_some_and(|most| most <= u64::from(u16::MAX))
    }

    /// The largest value that an unsigned number of 32 bits can have, where its definition says so.
    fn bound(&self, v: Value, depth: u32) -> Option<u64> {
        const MAX_DEPTH: u32 = 6;
        let s = self.s;
        if let Some(c) = s.as_const(v) {
            return Some(c);
        }
        let i = s.def_inst(v).filter(|_| depth < MAX_DEPTH && self.ty(v) == Type::B32)?;
        let arg = |k: usize| self.bound(s.arg(i, k), depth + 1);
        let bound = match (s.insts[i].op, s.insts[i].attrs) {
            (Op::IAnd | Op::UMin, _) => match (arg(0), arg(1)) {
                (Some(a), Some(b)) => a.min(b),
                (a, b) => a.or(b)?,
            },
            (Op::UShr, _) => {
                let count = s.as_const(s.arg(i, 1))? & 31;
                arg(0).unwrap_or(u64::from(u32::MAX)) >> count
            }
            (Op::IShl, _) => arg(0)? << (s.as_const(s.arg(i, 1))? & 31),
            (Op::UMod, _) => s.as_const(s.arg(i, 1))?.checked_sub(1)?,
            (Op::IAdd, _) => arg(0)? + arg(1)?,
            (Op::U2U, _) => (1 << self.ty(s.arg(i, 0)).bits().min(32)) - 1,
            (Op::LoadBuiltin, Attrs::Builtin(Builtin::LocalInvocationIndex)) => {
                s.info.workgroup_size.iter().map(|&n| u64::from(n)).product()
            }
            (Op::LoadBuiltin, Attrs::Builtin(Builtin::SubgroupInvocationId)) => self.width.into(),
            _ => return None,
        };
        // Sums and shifts that wrap around have no bound.
        Some(bound).filter(|&bound| bound <= u64::from(u32::MAX))
    }

    /// A product as the sum of those with the words of the second source: `a * low + (a << 16) * high`.
    fn product_of_words(&mut self, a: Source, b: Source) -> tepui_regalloc::Val {
        let a = self.without_immediate(a);
        let word = |byte: u8| {
            let place = match b.operand.place {
                mir::Place::Immediate(bits) => mir::Place::Immediate(bits >> (8 * byte) & 0xffff),
                place => place,
            };
            let byte = if is_immediate(&b) { 0 } else { byte };
            Source { operand: Operand { place, ty: Ty::UW, byte, ..b.operand }, ..b }
        };
        let unsigned = Source { operand: Operand { ty: Ty::UD, ..a.operand }, ..a };
        let sixteen = Source { operand: Operand::immediate(Ty::UD, 16), val: None };
        let low = self.def(op(Opcode::Mul), Ty::D, &[a, word(0)]);
        let high = self.def(op(Opcode::Shl), Ty::UD, &[unsigned, sixteen]);
        let (low, high) = (self.read(low, Ty::D), self.read(high, Ty::D));
        self.def(op(Opcode::Mad), Ty::D, &[low, high, word(2)])
    }

    /// The remainder with the divisor's sign: the divisor is added to a remainder that is not zero and has the other sign.
    fn floored(&mut self, i: ir::Inst) -> tepui_regalloc::Val {
        let sources = self.ints(i, Ty::D).map(|x| self.without_immediate(x));
        let divisor = sources[1];
        let read = |c: &Self, v| c.read(v, Ty::D);
        let zero = Source { operand: Operand::immediate(Ty::D, 0), val: None };
        let rest = self.def(math(MathFunction::IntMod), Ty::D, &sources);
        let signs = self.def(op(Opcode::Xor), Ty::D, &[read(self, rest), divisor]);
        let moved = self.def(op(Opcode::Add), Ty::D, &[read(self, rest), divisor]);
        let conditions = [Condition::Less, Condition::NotZero];
        let both = mir::Op::CompareBoth(mir::Both { conditions, either: false });
        let sources = [read(self, signs), zero, read(self, rest), zero];
        let both = self.def(both, Ty::D, &sources);
        let select = mir::Op::Select(Condition::NotZero);
        let sources = [read(self, both), zero, read(self, moved), read(self, rest)];
        self.def(select, Ty::UD, &sources)
    }

    /// The position of the highest bit: the hardware counts from the other end.
    fn highest_bit(&mut self, i: ir::Inst) -> tepui_regalloc::Val {
        let read = |c: &Self, v| c.read(v, Ty::D);
        let last = Source { operand: Operand::immediate(Ty::D, 31), val: None };
        if self.s.insts[i].op == Op::UFindMsb {
            // Of zero, 32 zeros lead: 31 - 32.
            let zeros = self.unary(i, Opcode::Lzd, Ty::UD);
            let below = self.read(zeros, Ty::D).negated();
            return self.def(op(Opcode::Add), Ty::D, &[below, last]);
        }
        let [a, _] = self.one(i, Ty::D);
        let from_top = self.def(op(Opcode::Fbh), Ty::D, &[a]);
        let below = self.read(from_top, Ty::D).negated();
        let place = self.def(op(Opcode::Add), Ty::D, &[below, last]);
        // -1 where there is no such bit.
        let zero = Source { operand: Operand::immediate(Ty::D, 0), val: None };
        let select = mir::Op::Select(Condition::Less);
        self.def(
            select,
            Ty::UD,
            &[read(self, from_top), zero, read(self, from_top), read(self, place)],
        )
    }
}

fn is_immediate(source: &Source) -> bool {
    matches!(source.operand.place, mir::Place::Immediate(_))
}

/// A float with the other sign.
fn negated(source: Source, bits: u8) -> Source {
    match source.operand.place {
        mir::Place::Immediate(value) => {
            let place = mir::Place::Immediate(value ^ 1 << (bits - 1));
            Source { operand: Operand { place, ..source.operand }, ..source }
        }
        _ => Source { operand: source.operand.negated(), ..source },
    }
}

/// A copy as an instruction.
pub(super) fn mov(ty: Ty) -> mir::Op {
    Inst::alu(Opcode::Mov, ty, &[]).op
}
