//! Conversions.

use super::{Opnd, Select};
use crate::error::Result;
use crate::mir::{Comp, Inst as Isa, Val, WORD};
use tepui_ir::{Inst, Op};
use tepui_mali_isa::Op as IsaOp;
use tepui_mali_isa::modifier::{Condition, RoundMode};
use tepui_mali_isa::operand::Swizzle;

/// A 16-bit float as one of 32 bits.
pub(super) fn half_to_float(half: u16) -> u32 {
    let (sign, exponent, mantissa) = (half >> 15, half >> 10 & 0x1f, half & 0x3ff);
    let bits = match exponent {
        // Subnormal numbers are multiples of 2^-24.
        0 => (f32::from(mantissa) / f32::from_bits(0x4b80_0000)).to_bits(),
        31 => 0x7f80_0000 | u32::from(mantissa) << 13,
        _ => (u32::from(exponent) + 112) << 23 | u32::from(mantissa) << 13,
    };
    u32::from(sign) << 31 | bits
}

impl Select<'_> {
    /// Selects conversions; whether the instruction is one.
    pub(super) fn convert(&mut self, i: Inst) -> Result<bool> {
        let s = self.s;
        let ([r], [a, ..]) = (s.results(i), s.args(i)) else { return Ok(false) };
        let (from, to) = (self.ty(*a).bits(), self.ty(*r).bits());
        match s.insts[i].op {
            Op::Bitcast => return self.bitcast(i).map(|()| true),
            Op::U2U | Op::S2S | Op::B2I => return self.resize(i).map(|()| true),
            Op::F2F | Op::F2FRtz if from == to => {
                let comps = self.all_comps(&[*a]);
                self.set(*r, &comps);
            }
            Op::F2F if (from, to) == (16, 32) => self.each(i, |x, k| {
                let o = x.opnd(x.comp(*a, k)).part(Swizzle::H0);
                x.word(IsaOp::F16_TO_F32, &[o])
            }),
            Op::F2F | Op::F2FRtz if (from, to) == (32, 16) => {
                let rtz = s.insts[i].op == Op::F2FRtz;
                let mode = if rtz { RoundMode::Rtz } else { RoundMode::Rte };
                self.each(i, |x, k| {
                    let o = x.fsrc_plain(*a, k);
                    x.def(Isa::new(IsaOp::V2F32_TO_V2F16).with(mode), WORD, &[o, o])
                });
            }
            Op::F2S | Op::F2U if from != 64 && to != 64 => {
                self.each(i, |x, k| x.integer_of(i, k, from, to));
            }
            Op::S2F | Op::U2F if from != 64 && to != 64 => {
                self.each(i, |x, k| x.float_of(i, k, from, to));
            }
            Op::B2F => self.each(i, |x, k| {
                let o = x.opnd(x.comp(*a, k));
                let one = if to == 16 { 0x3c00_3c00 } else { 0x3f80_0000 };
                let inst = Isa::new(IsaOp::CSEL_U32).with(Condition::Ne);
                x.def(inst, WORD, &[o, Opnd::imm(0), Opnd::imm(one), Opnd::imm(0)])
            }),
            Op::PackHalf2x16 => {
                let [x, y] = [0, 1].map(|k| self.fsrc_plain(*a, k));
                let v = self.word(IsaOp::V2F32_TO_V2F16, &[x, y]);
                self.set(*r, &[Comp::Val(v)]);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A float operand of 32 bits that is not widened on its way.
    fn fsrc_plain(&mut self, v: tepui_ir::Value, k: usize) -> Opnd {
        let o = self.fsrc(v, k);
        match o.swizzle {
            Swizzle::Identity => o,
            _ => self.word_operand(v, k),
        }
    }

    /// Bits as another vector shape.
    fn bitcast(&mut self, i: Inst) -> Result<()> {
        let s = self.s;
        let (a, r) = (s.arg(i, 0), s.result(i));
        let (from, to) = (self.ty(a).bits(), self.ty(r).bits());
        let comps = self.all_comps(&[a]);
        let words: Vec<Comp> = match from {
            8 | 16 => self.packed(&comps, from),
            1 => return self.refuse(i, "of truth values is not compiled"),
            _ => comps,
        };
        let out: Vec<Comp> = match to {
            8 | 16 if from == to => self.all_comps(&[a]),
            8 | 16 => {
                let count = u32::from(self.ty(r).comps());
                let bits = u32::from(to);
                (0..count)
                    .map(|k| self.above(words[(k * bits / 32) as usize], k * bits % 32))
                    .collect()
            }
            _ => words,
        };
        self.set(r, &out);
        Ok(())
    }

    /// Words of components of 8 or 16 bits, the first one lowest.
    pub(super) fn packed(&mut self, comps: &[Comp], bits: u8) -> Vec<Comp> {
        let per_word = 32 / usize::from(bits);
        comps.chunks(per_word).map(|parts| self.packed_word(parts, bits)).collect()
    }

    fn packed_word(&mut self, parts: &[Comp], bits: u8) -> Comp {
        let mask = (1u64 << bits) - 1;
        let known: Option<Vec<u64>> = parts
            .iter()
            .map(|c| match c {
                Comp::Const(n) => Some(n & mask),
                Comp::Undef => Some(0),
                _ => None,
            })
            .collect();
        if let Some(known) = known {
            let word = known.iter().zip(0u32..).fold(0, |w, (n, k)| w | n << (k * u32::from(bits)));
            return Comp::Const(word);
        }
        if parts.len() == 1 {
            return parts[0];
        }
        if bits == 16 {
            return Comp::Val(self.join_halves(parts[0], parts[1]));
        }
        let byte = |x: &mut Self, c: Option<&Comp>| {
            let v = c.map(|&c| x.register(c));
            let o = v.map_or(Opnd::imm(0), Opnd::val);
            o.part(Swizzle::B0)
        };
        let upper = match parts.len() {
            0..=2 => Opnd::imm(0),
            _ => {
                let ops = [byte(self, parts.get(2)), byte(self, parts.get(3)), Opnd::imm(0)];
                let ops = ops.map(|o| self.byte_operand(o));
                Opnd::val(self.word(IsaOp::MKVEC_V2I8, &ops))
            }
        };
        let ops = [byte(self, parts.first()), byte(self, parts.get(1))];
        let [a, b] = ops.map(|o| self.byte_operand(o));
        Comp::Val(self.word(IsaOp::MKVEC_V2I8, &[a, b, upper]))
    }

    /// A number as a byte is read from a register.
    fn byte_operand(&mut self, o: Opnd) -> Opnd {
        match o.known() {
            Some(_) if o.swizzle != Swizzle::Identity => {
                let v = self.in_register(Opnd::new(o.from));
                Opnd::val(v).part(o.swizzle)
            }
            _ => o,
        }
    }

    /// Two components of 16 bits in a word.
    pub(super) fn join_halves(&mut self, low: Comp, high: Comp) -> Val {
        let half = |x: &mut Self, c: Comp| match c {
            Comp::Const(n) => Opnd::imm((n as u32 & 0xffff) * 0x1_0001),
            Comp::Undef => Opnd::imm(0),
            c => Opnd::val(x.register(c)).part(Swizzle::H00),
        };
        let ops = [half(self, low), half(self, high)];
        self.word(IsaOp::MKVEC_V2I16, &ops)
    }

    /// Integers of another size.
    fn resize(&mut self, i: Inst) -> Result<()> {
        let s = self.s;
        let (a, r, op) = (s.arg(i, 0), s.result(i), s.insts[i].op);
        let (from, to) = (self.ty(a).bits(), self.ty(r).bits());
        let comps = usize::from(self.ty(r).comps());
        let mut out = Vec::new();
        for k in 0..comps {
            let words = if from == 64 { 2 } else { 1 };
            let low = self.comp(a, words * k);
            if to < from || from == 1 || from == to {
                out.push(low);
                if to == 64 {
                    out.push(if from == 64 { self.comp(a, 2 * k + 1) } else { Comp::Const(0) });
                }
                continue;
            }
            let signed = op == Op::S2S;
            let wide = match (low, from) {
                (Comp::Const(n), _) => {
                    let n = if signed { tepui_ir::sext(n, from) as u64 } else { n };
                    Comp::Const(n & 0xffff_ffff)
                }
                (_, 32) => low,
                _ => {
                    let o = self.opnd(low);
                    let (isa, part) = match (from, signed) {
                        (8, false) => (IsaOp::U8_TO_U32, Swizzle::B0),
                        (8, true) => (IsaOp::S8_TO_S32, Swizzle::B0),
                        (_, false) => (IsaOp::U16_TO_U32, Swizzle::H00),
                        (_, true) => (IsaOp::S16_TO_S32, Swizzle::H00),
                    };
                    Comp::Val(self.word(isa, &[o.part(part)]))
                }
            };
            out.push(wide);
            if to == 64 {
                let high = match (wide, signed) {
                    (_, false) => Comp::Const(0),
                    (Comp::Const(n), true) => Comp::Const(u64::from((n as i32 >> 31) as u32)),
                    (c, true) => {
                        use tepui_mali_isa::modifier::fields::SIGNED;
                        let o = self.opnd(c);
                        let inst = Isa::new(IsaOp::RSHIFT_OR_I32).flag(&SIGNED, true);
                        Comp::Val(self.def(inst, WORD, &[o, Opnd::imm(31), Opnd::imm(0)]))
                    }
                };
                out.push(high);
            }
        }
        self.set(r, &out);
        Ok(())
    }

    fn integer_of(&mut self, i: Inst, k: usize, from: u8, to: u8) -> Val {
        let s = self.s;
        let signed = s.insts[i].op == Op::F2S;
        let a = s.arg(i, 0);
        let isa = match (from, to, signed) {
            (16, 16, true) => IsaOp::V2F16_TO_V2S16,
            (16, 16, false) => IsaOp::V2F16_TO_V2U16,
            (16, _, true) => IsaOp::F16_TO_S32,
            (16, _, false) => IsaOp::F16_TO_U32,
            (_, _, true) => IsaOp::F32_TO_S32,
            (_, _, false) => IsaOp::F32_TO_U32,
        };
        let o = if from == 32 { self.fsrc_plain(a, k) } else { self.fsrc(a, k) };
        let v = self.def(Isa::new(isa).with(RoundMode::Rtz), WORD, &[o]);
        if from == to || to == 32 {
            return v;
        }
        // Fewer bits: the nearest number that there is.
        let limit = |x: &mut Self, v: Val, n: i32, condition, op| {
            let (a, n) = (Opnd::val(v), Opnd::imm(n as u32));
            x.def(Isa::new(op).with(condition), WORD, &[a, n, a, n])
        };
        if signed {
            let most = (1 << (to - 1)) - 1;
            let v = limit(self, v, most, Condition::Lt, IsaOp::CSEL_S32);
            limit(self, v, -most - 1, Condition::Gt, IsaOp::CSEL_S32)
        } else {
            limit(self, v, (1 << to) - 1, Condition::Lt, IsaOp::CSEL_U32)
        }
    }

    fn float_of(&mut self, i: Inst, k: usize, from: u8, to: u8) -> Val {
        let s = self.s;
        let signed = s.insts[i].op == Op::S2F;
        let a = s.arg(i, 0);
        let v = self.in_register_of(a, k);
        let (isa, part) = match (from, signed) {
            (8, true) => (IsaOp::S8_TO_F32, Swizzle::B0),
            (8, false) => (IsaOp::U8_TO_F32, Swizzle::B0),
            (16, true) => (IsaOp::S16_TO_F32, Swizzle::H00),
            (16, false) => (IsaOp::U16_TO_F32, Swizzle::H00),
            (_, true) => (IsaOp::S32_TO_F32, Swizzle::Identity),
            (_, false) => (IsaOp::U32_TO_F32, Swizzle::Identity),
        };
        let wide = self.word(isa, &[Opnd::val(v).part(part)]);
        if to == 32 {
            return wide;
        }
        // Numbers that two roundings would change are past the largest half.
        let o = Opnd::val(wide);
        self.word(IsaOp::V2F32_TO_V2F16, &[o, o])
    }

    fn in_register_of(&mut self, v: tepui_ir::Value, k: usize) -> Val {
        let c = self.comp(v, k);
        self.register(c)
    }
}

#[cfg(test)]
mod tests {
    use super::half_to_float;

    #[test]
    fn halves_become_floats() {
        let of = |half| f32::from_bits(half_to_float(half));
        assert_eq!((of(0x3c00), of(0xc000), of(1)), (1.0, -2.0, 1.0 / 16_777_216.0));
        assert_eq!((of(0x7c00), of(0x8000).to_bits()), (f32::INFINITY, 0x8000_0000));
    }
}
