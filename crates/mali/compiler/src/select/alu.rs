//! Arithmetic.

use super::{Opnd, Select};
use crate::error::Result;
use crate::mir::{Comp, Inst as Isa, PAIR, Val, WORD};
use tepui_ir::{Inst, Op, Value};
use tepui_mali_isa::Op as IsaOp;
use tepui_mali_isa::modifier::fields::SATURATE;
use tepui_mali_isa::modifier::{Clamp, Condition, RoundMode};
use tepui_mali_isa::operand::Swizzle;

/// Number of conversions, signs and magnitudes that an operand is followed through.
const MAX_MODIFIERS: usize = 4;

impl Select<'_> {
    /// A float operand, with the signs, magnitudes and conversions from 16 bits that make it. Halves are read from the lower half.
    pub(super) fn fsrc(&mut self, v: Value, k: usize) -> Opnd {
        let bits = self.ty(v).bits();
        self.fsrc_as(v, k, bits)
    }

    /// A float operand of an operation on 16 or 32 bits, for which a half is widened as it is read.
    pub(super) fn fsrc_as(&mut self, v: Value, k: usize, bits: u8) -> Opnd {
        let s = self.s;
        let (mut at, mut neg, mut abs, mut narrow) = (v, false, false, self.ty(v).bits() == 16);
        for _ in 0..MAX_MODIFIERS {
            let Some(i) = self.def_inst(at).filter(|_| !matches!(self.comp(at, k), Comp::Const(_)))
            else {
                break;
            };
            match s.insts[i].op {
                Op::FNeg => neg ^= !abs,
                Op::FAbs => abs = true,
                Op::F2F if !narrow && self.ty(s.arg(i, 0)).bits() == 16 => narrow = true,
                _ => break,
            }
            at = s.arg(i, 0);
        }
        let c = self.comp(at, k);
        if let Comp::Const(n) = c {
            return self.float_const(n, self.ty(at).bits(), bits, neg, abs);
        }
        let mut o = self.opnd(c);
        if narrow {
            o = o.part(if bits == 16 { Swizzle::H00 } else { Swizzle::H0 });
        }
        Opnd { neg, abs, ..o }
    }

    fn float_const(&self, n: u64, from: u8, bits: u8, neg: bool, abs: bool) -> Opnd {
        let sign = 1 << (from - 1);
        let n = if abs { n & !sign } else { n };
        let n = if neg { n ^ sign } else { n } as u32;
        match (from, bits) {
            (16, 16) => Opnd::imm((n & 0xffff) * 0x1_0001),
            (16, _) => Opnd::imm(super::convert::half_to_float(n as u16)),
            _ => Opnd::imm(n),
        }
    }

    /// The value that a float result becomes when nothing but its saturation is used.
    fn clamped(&self, r: Value) -> (Value, Clamp) {
        let s = self.s;
        if self.uses[r] == 1
            && self.ty(r).is_scalar()
            && let Some(u) = self.user[r].expand()
            && s.insts[u].op == Op::FSat
        {
            return (s.result(u), Clamp::Clamp01);
        }
        (r, Clamp::None)
    }

    /// Selects arithmetic; whether the instruction is some.
    pub(super) fn alu(&mut self, i: Inst) -> Result<bool> {
        if let [r] = self.s.results(i)
            && self.is_set(*r)
        {
            return Ok(true);
        }
        if self.logic(i) || self.float(i) || self.integer(i)? || self.bits(i) || self.convert(i)? {
            return Ok(true);
        }
        self.math(i)
    }

    /// Applies a selection to each component.
    pub(super) fn each(&mut self, i: Inst, mut f: impl FnMut(&mut Self, usize) -> Val) {
        let r = self.s.result(i);
        let n = usize::from(self.ty(r).comps());
        let comps: Vec<Comp> = (0..n).map(|k| Comp::Val(f(self, k))).collect();
        self.set(r, &comps);
    }

    fn float(&mut self, i: Inst) -> bool {
        let s = self.s;
        let op = s.insts[i].op;
        let args = s.args(i);
        let [r] = *s.results(i) else { return false };
        let half = self.ty(r).bits() == 16;
        let pick = |word, halves| if half { halves } else { word };
        let isa = match op {
            Op::FAdd | Op::FSub => pick(IsaOp::FADD_F32, IsaOp::FADD_V2F16),
            Op::FMul | Op::FFma => pick(IsaOp::FMA_F32, IsaOp::FMA_V2F16),
            Op::FMin => pick(IsaOp::FMIN_F32, IsaOp::FMIN_V2F16),
            Op::FMax => pick(IsaOp::FMAX_F32, IsaOp::FMAX_V2F16),
            // Minus zero is what leaves every number as it is.
            Op::FNeg | Op::FAbs | Op::FSat => pick(IsaOp::FADD_F32, IsaOp::FADD_V2F16),
            Op::FFloor | Op::FCeil | Op::FTrunc | Op::FRoundEven => {
                pick(IsaOp::FROUND_F32, IsaOp::FROUND_V2F16)
            }
            _ => return false,
        };
        if matches!(op, Op::FNeg | Op::FAbs) {
            self.sign(i, op, half);
            return true;
        }
        let rounds = isa == IsaOp::FROUND_F32 || isa == IsaOp::FROUND_V2F16;
        let (result, clamp) = if rounds { (r, Clamp::None) } else { self.clamped(r) };
        let clamp = if op == Op::FSat { Clamp::Clamp01 } else { clamp };
        let result = if op == Op::FSat { r } else { result };
        let mut comps = Vec::new();
        for k in 0..usize::from(self.ty(r).comps()) {
            let mut ops: Vec<Opnd> = args.iter().map(|&a| self.fsrc(a, k)).collect();
            let nothing = if half { 0x8000_8000 } else { 0x8000_0000 };
            match op {
                Op::FSub if half => ops[1] = ops[1].negated_half(),
                Op::FSub => ops[1] = ops[1].negated(),
                Op::FMul | Op::FSat => ops.push(Opnd::imm(nothing)),
                _ => {}
            }
            let inst = Isa::new(isa);
            let inst = match op {
                Op::FFloor => inst.with(RoundMode::Rtn),
                Op::FCeil => inst.with(RoundMode::Rtp),
                Op::FTrunc => inst.with(RoundMode::Rtz),
                Op::FRoundEven => inst.with(RoundMode::Rte),
                _ => inst.with(clamp),
            };
            comps.push(Comp::Val(self.def(inst, WORD, &ops)));
        }
        self.set(result, &comps);
        if result != r {
            // Nothing reads it.
            self.set(r, &comps);
        }
        true
    }

    /// A flipped or cleared sign bit, where no operation could take it.
    fn sign(&mut self, i: Inst, op: Op, half: bool) {
        let a = self.s.arg(i, 0);
        self.each(i, |x, k| {
            let c = x.comp(a, k);
            let o = x.opnd(c);
            let sign = if half { 0x8000_8000u32 } else { 0x8000_0000 };
            let (op, mask) = match op {
                Op::FNeg => (IsaOp::LSHIFT_XOR_I32, sign),
                _ => (IsaOp::LSHIFT_AND_I32, !sign),
            };
            x.word(op, &[o, Opnd::imm(0), Opnd::imm(mask)])
        });
    }

    fn integer(&mut self, i: Inst) -> Result<bool> {
        let s = self.s;
        let op = s.insts[i].op;
        let [r] = *s.results(i) else { return Ok(false) };
        if self.ty(r).bits() == 64 {
            return Ok(self.long(i, op));
        }
        match op {
            Op::IAdd | Op::ISub | Op::INeg => self.each(i, |x, k| x.sum(i, op, k)),
            Op::IMul => self.each(i, |x, k| {
                let ops = [0, 1].map(|n| x.word_operand(s.arg(i, n), k));
                x.word(IsaOp::IMUL_I32, &ops)
            }),
            Op::UMulHi => self.each(i, |x, k| x.high_product(i, k)),
            Op::SMulHi => self.each(i, |x, k| x.signed_high_product(i, k)),
            Op::UAddSat | Op::USubSat | Op::SAddSat | Op::SSubSat if self.ty(r).bits() == 32 => {
                let isa = match op {
                    Op::UAddSat => IsaOp::IADD_U32,
                    Op::USubSat => IsaOp::ISUB_U32,
                    Op::SAddSat => IsaOp::IADD_S32,
                    _ => IsaOp::ISUB_S32,
                };
                self.each(i, |x, k| {
                    let ops = [0, 1].map(|n| x.word_operand(s.arg(i, n), k));
                    x.def(Isa::new(isa).flag(&SATURATE, true), WORD, &ops)
                });
            }
            Op::IAbs => self.each(i, |x, k| {
                let a = x.word_operand(s.arg(i, 0), k);
                x.word(IsaOp::IABS_S32, &[a])
            }),
            Op::SMin | Op::SMax | Op::UMin | Op::UMax => {
                let signed = matches!(op, Op::SMin | Op::SMax);
                let isa = if signed { IsaOp::CSEL_S32 } else { IsaOp::CSEL_U32 };
                let least = matches!(op, Op::SMin | Op::UMin);
                let condition = if least { Condition::Lt } else { Condition::Gt };
                self.each(i, |x, k| {
                    let [a, b] = [0, 1].map(|n| x.word_operand(s.arg(i, n), k));
                    x.def(Isa::new(isa).with(condition), WORD, &[a, b, a, b])
                });
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// An operand of which all 32 bits are read.
    pub(super) fn word_operand(&mut self, v: Value, k: usize) -> Opnd {
        let c = self.comp(v, k);
        self.opnd(c)
    }

    /// An operand of a sum: what is extended to 32 bits is read where it is.
    fn term(&mut self, v: Value, k: usize) -> Opnd {
        let s = self.s;
        if let Some(i) = self.def_inst(v)
            && self.ty(v).bits() == 32
            && s.insts[i].op == Op::U2U
        {
            let a = s.arg(i, 0);
            if matches!(self.ty(a).bits(), 8 | 16) {
                return self.isrc(a, k, false);
            }
        }
        self.word_operand(v, k)
    }

    fn sum(&mut self, i: Inst, op: Op, k: usize) -> Val {
        let s = self.s;
        if op == Op::INeg {
            let a = self.term(s.arg(i, 0), k);
            return self.word(IsaOp::ISUB_U32, &[Opnd::imm(0), a]);
        }
        let (mut a, mut b) = (self.term(s.arg(i, 0), k), self.term(s.arg(i, 1), k));
        if op == Op::IAdd && a.known().is_some() {
            std::mem::swap(&mut a, &mut b);
        }
        if let Some(n) = b.known().filter(|_| a.is_plain()) {
            let n = if op == Op::IAdd { n } else { n.wrapping_neg() };
            return self.add_const(a, n);
        }
        let isa = if op == Op::IAdd { IsaOp::IADD_U32 } else { IsaOp::ISUB_U32 };
        self.word(isa, &[a, b])
    }

    /// A word plus a number.
    pub(super) fn add_const(&mut self, a: Opnd, n: u32) -> Val {
        if n == 0 {
            return self.in_register(a);
        }
        let inst = Isa::new(IsaOp::IADD_IMM_I32).immediate(0, n.into());
        self.def(inst, WORD, &[a])
    }

    /// The product of two words, of 64 bits.
    fn product(&mut self, a: Opnd, b: Opnd) -> [Val; 2] {
        let [a, b] = [a, b].map(|o| Opnd::val(self.in_register(o)).part(Swizzle::W0));
        let pair = self.def(Isa::new(IsaOp::IMULD_U64), PAIR, &[a, b]);
        let words = self.split(pair);
        [words[0], words[1]]
    }

    fn high_product(&mut self, i: Inst, k: usize) -> Val {
        let [a, b] = [0, 1].map(|n| self.word_operand(self.s.arg(i, n), k));
        self.product(a, b)[1]
    }

    /// The high half of a signed product: the unsigned one without the other factor for each negative factor.
    fn signed_high_product(&mut self, i: Inst, k: usize) -> Val {
        use tepui_mali_isa::modifier::fields::SIGNED;
        let [a, b] = [0, 1].map(|n| self.word_operand(self.s.arg(i, n), k));
        let mut high = self.product(a, b)[1];
        for (a, b) in [(a, b), (b, a)] {
            let inst = Isa::new(IsaOp::RSHIFT_AND_I32).flag(&SIGNED, true);
            let extra = self.def(inst, WORD, &[a, Opnd::imm(31), b]);
            high = self.word(IsaOp::ISUB_U32, &[Opnd::val(high), Opnd::val(extra)]);
        }
        high
    }

    /// A value of 64 bits as an operand: two registers, or a pair that is read where it is.
    pub(super) fn wide(&mut self, v: Value, k: usize) -> Opnd {
        let halves = [self.comp(v, 2 * k), self.comp(v, 2 * k + 1)];
        self.wide_of(halves)
    }

    pub(super) fn wide_of(&mut self, halves: [Comp; 2]) -> Opnd {
        use crate::mir::Fixed;
        match halves {
            [Comp::Uniform(Fixed::Uniform(n)), Comp::Uniform(Fixed::Uniform(m))]
                if n % 2 == 0 && m == n + 1 =>
            {
                Opnd::uniform(n)
            }
            [low, Comp::Const(0)] if !matches!(low, Comp::Const(_)) => {
                // A source that extends reads the low word only.
                let v = self.register(low);
                Opnd::val(v).part(Swizzle::W0)
            }
            _ => {
                let words = halves.map(|c| self.register(c));
                Opnd::val(self.collect(&words))
            }
        }
    }

    /// Sums of 64 bits.
    fn long(&mut self, i: Inst, op: Op) -> bool {
        let isa = match op {
            Op::IAdd => IsaOp::IADD_U64,
            Op::ISub | Op::INeg => IsaOp::ISUB_U64,
            _ => return false,
        };
        let s = self.s;
        let r = s.result(i);
        let mut comps = Vec::new();
        for k in 0..usize::from(self.ty(r).comps()) {
            let ops = match op {
                Op::INeg => {
                    let zero = self.wide_of([Comp::Const(0); 2]);
                    [zero, self.wide(s.arg(i, 0), k)]
                }
                _ => [0, 1].map(|n| self.wide(s.arg(i, n), k)),
            };
            let pair = self.def(Isa::new(isa), PAIR, &ops);
            comps.extend(self.split(pair).into_iter().map(Comp::Val));
        }
        self.set(r, &comps);
        true
    }
}

impl Opnd {
    /// The negation of two halves.
    pub(super) fn negated_half(self) -> Opnd {
        match self.known() {
            Some(n) if !self.neg && !self.abs => Opnd::imm(n ^ 0x8000_8000),
            _ => Opnd { neg: !self.neg, ..self },
        }
    }
}
