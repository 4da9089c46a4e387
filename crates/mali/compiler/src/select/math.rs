//! Functions: reciprocals, roots, powers, logarithms, sines.
//!
//! source: Mesa, bifrost_compile.c (`bi_fexp_32`, `bi_flog2_32`, `bi_lower_fsincos_32`)

use super::{Opnd, Select};
use crate::error::Result;
use crate::mir::{Inst as Isa, Val, WORD};
use tepui_ir::{Inst, InstFlags, Op};
use tepui_mali_isa::Op as IsaOp;
use tepui_mali_isa::modifier::fields::LOG;
use tepui_mali_isa::modifier::{Clamp, RoundMode};
use tepui_mali_isa::operand::Swizzle;

/// 2 / pi.
const TWO_OVER_PI: u32 = 0x3f22_f983;
/// 12 · 2^16: added to quarters of a turn, it leaves the number of 64ths of a turn in the low bits.
const SINCOS_BIAS: u32 = 0x4940_0000;
/// pi / 2, negated.
const MINUS_HALF_PI: u32 = 0xbfc9_0fdb;

impl Select<'_> {
    /// Selects functions; whether the instruction is one.
    pub(super) fn math(&mut self, i: Inst) -> Result<bool> {
        let s = self.s;
        let ([r], [a, ..]) = (s.results(i), s.args(i)) else { return Ok(false) };
        let half = self.ty(*r).bits() == 16 || self.ty(*a).bits() == 16;
        match s.insts[i].op {
            Op::FRcp | Op::FRsq => {
                let isa = match (s.insts[i].op, half) {
                    (Op::FRcp, false) => IsaOp::FRCP_F32,
                    (Op::FRcp, true) => IsaOp::FRCP_F16,
                    (_, false) => IsaOp::FRSQ_F32,
                    (_, true) => IsaOp::FRSQ_F16,
                };
                self.each(i, |x, k| {
                    let o = x.fsrc(*a, k);
                    x.word(isa, &[o])
                });
            }
            Op::FSqrt => self.each(i, |x, k| {
                let o = x.fsrc(*a, k);
                let (root, inverse, part) = match half {
                    false => (IsaOp::FRSQ_F32, IsaOp::FRCP_F32, Swizzle::Identity),
                    true => (IsaOp::FRSQ_F16, IsaOp::FRCP_F16, Swizzle::H00),
                };
                let root = x.word(root, &[o]);
                x.word(inverse, &[Opnd::val(root).part(part)])
            }),
            Op::FExp2 => self.each(i, |x, k| {
                let o = x.wide_float(*a, k);
                let v = x.exp2(o);
                x.narrowed(v, half)
            }),
            Op::FLog2 => self.each(i, |x, k| {
                let o = x.wide_float(*a, k);
                let v = x.log2(o);
                x.narrowed(v, half)
            }),
            Op::FSin | Op::FCos => {
                let sine = s.insts[i].op == Op::FSin;
                let strict = s.insts[i].flags.contains(InstFlags::STRICT)
                    || s.info
                        .float_controls(self.ty(*a).bits())
                        .is_some_and(|c| c.preserve_special);
                self.each(i, |x, k| {
                    let o = x.wide_float(*a, k);
                    let v = x.sincos(o, sine, strict);
                    x.narrowed(v, half)
                });
            }
            Op::FLdexp => {
                let isa = if half { IsaOp::LDEXP_V2F16 } else { IsaOp::LDEXP_F32 };
                self.each(i, |x, k| {
                    let o = x.fsrc(*a, k);
                    let o = if half { o.part(Swizzle::Identity) } else { o };
                    let n = x.word_operand(s.arg(i, 1), k);
                    x.word(isa, &[o, n])
                });
            }
            Op::FFrexpSig | Op::FFrexpExp => {
                let isa = match (s.insts[i].op, half) {
                    (Op::FFrexpSig, false) => IsaOp::FREXPM_F32,
                    (Op::FFrexpSig, true) => IsaOp::FREXPM_V2F16,
                    (_, false) => IsaOp::FREXPE_F32,
                    (_, true) => IsaOp::FREXPE_V2F16,
                };
                self.each(i, |x, k| {
                    let o = x.word_operand(*a, k);
                    let o = if half { o.part(Swizzle::H00) } else { o };
                    x.word(isa, &[o])
                });
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A float operand as a number of 32 bits without modifiers or conversion on its way.
    fn wide_float(&mut self, v: tepui_ir::Value, k: usize) -> Opnd {
        let o = self.word_operand(v, k);
        match (self.ty(v).bits(), o.known()) {
            (16, Some(n)) => Opnd::imm(super::convert::half_to_float(n as u16)),
            (16, None) => Opnd::val(self.word(IsaOp::F16_TO_F32, &[o.part(Swizzle::H0)])),
            _ => o,
        }
    }

    fn narrowed(&mut self, v: Val, half: bool) -> Val {
        let o = Opnd::val(v);
        if half { self.word(IsaOp::V2F32_TO_V2F16, &[o, o]) } else { v }
    }

    /// Two to the power of a number, by way of a fixed point number of 24 fractional bits.
    fn exp2(&mut self, a: Opnd) -> Val {
        let bits = Opnd::imm(24);
        let minus_zero = Opnd::imm(0x8000_0000);
        let one = Opnd::imm(0x3f80_0000);
        let inst = Isa::new(IsaOp::FMA_RSCALE_F32).with(Clamp::None);
        let scaled = self.def(inst, WORD, &[a, one, minus_zero, bits]);
        let fixed = Isa::new(IsaOp::F32_TO_S32).with(RoundMode::Rte);
        let fixed = self.def(fixed, WORD, &[Opnd::val(scaled)]);
        self.word(IsaOp::FEXP_F32, &[Opnd::val(fixed), Opnd::val(scaled)])
    }

    /// The logarithm to base 2: the exponent, and the slope of the mantissa's logarithm times its distance from 1.
    fn log2(&mut self, a: Opnd) -> Val {
        let exponent = self.def(Isa::new(IsaOp::FREXPE_F32).flag(&LOG, true), WORD, &[a]);
        let exponent = self.word(IsaOp::S32_TO_F32, &[Opnd::val(exponent)]);
        let slope = self.word(IsaOp::FLOGD_F32, &[a]);
        let minus_one = Opnd::imm(0xbf80_0000);
        let distance = self.word(IsaOp::FADD_LSCALE_F32, &[minus_one, a]);
        let ops = [slope, distance, exponent].map(Opnd::val);
        self.word(IsaOp::FMA_F32, &ops)
    }

    /// A sine or cosine: those of the nearest 64th of a turn by a table, and the first terms of the series around it; `strict` gives NaN
    /// for NaN and infinities.
    fn sincos(&mut self, a: Opnd, sine: bool, strict: bool) -> Val {
        let (scale, bias) = (Opnd::imm(TWO_OVER_PI), Opnd::imm(SINCOS_BIAS));
        let number = self.word(IsaOp::FMA_F32, &[a, scale, bias]);
        let rounded = self.word(IsaOp::FADD_F32, &[Opnd::val(number), bias.negated()]);
        let rest = [Opnd::val(rounded), Opnd::imm(MINUS_HALF_PI), a];
        let rest = self.word(IsaOp::FMA_F32, &rest);
        let sin = self.word(IsaOp::FSIN_TABLE_U6, &[Opnd::val(number)]);
        let cos = self.word(IsaOp::FCOS_TABLE_U6, &[Opnd::val(number)]);
        // f(x + e) = f(x) + e f'(x) + e² f''(x) / 2, and f'' = -f.
        let (mut f, d) = if sine { (sin, Opnd::val(cos)) } else { (cos, Opnd::val(sin).negated()) };
        let minus_one = Opnd::val(self.mov_imm(u32::MAX));
        let nothing = Opnd::imm(0x8000_0000);
        let square = Isa::new(IsaOp::FMA_RSCALE_F32);
        let square =
            self.def(square, WORD, &[Opnd::val(rest), Opnd::val(rest), nothing, minus_one]);
        let first = [d, Opnd::val(rest), nothing];
        let first = self.word(IsaOp::FMA_F32, &first);
        let sum = [Opnd::val(square).negated(), Opnd::val(f), Opnd::val(first)];
        let change = self.def(Isa::new(IsaOp::FMA_F32).with(Clamp::ClampM11), WORD, &sum);
        if strict {
            // The limits of the change hide that the rest of such an angle is NaN.
            let special = [Opnd::val(rest), Opnd::imm(0), Opnd::val(f)];
            f = self.word(IsaOp::FMA_F32, &special);
        }
        self.word(IsaOp::FADD_F32, &[Opnd::val(change), Opnd::val(f)])
    }
}
