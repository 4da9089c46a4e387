//! 64-bit values, and bit casts between sizes.
//!
//! The hardware adds 64-bit values and multiplies 32 by 32 bits to 64; all else is done on 32-bit
//! words. A 64-bit value is a pair of registers.

use super::alu::table;
use super::{Comp, Opnd, Select};
use crate::error::Result;
use crate::mir::{HALF, LONG, Op as MOp, WORD};
use tepui_agx_isa::operand::{ICond, Size};
use tepui_ir::{Inst, Op, Type};

impl Select<'_> {
    /// The low and the high word of a 64-bit component.
    pub(crate) fn words(&mut self, c: Comp) -> [Comp; 2] {
        match c {
            Comp::Const(x) => [Comp::Const(x & 0xffff_ffff), Comp::Const(x >> 32)],
            Comp::Uniform(h) => [Comp::Uniform(h), Comp::Uniform(h + 2)],
            Comp::Undef => [Comp::Undef; 2],
            Comp::Val(v) => {
                let (lo, hi) = (self.f.val(WORD), self.f.val(WORD));
                self.emit(MOp::Split, &[lo, hi], &[v]);
                [Comp::Val(lo), Comp::Val(hi)]
            }
        }
    }

    /// A 64-bit component from two words.
    pub(crate) fn long(&mut self, words: [Comp; 2]) -> Comp {
        if let [Comp::Const(lo), Comp::Const(hi)] = words {
            return Comp::Const(lo | hi << 32);
        }
        let regs = words.map(|c| self.reg(c, WORD));
        let d = self.f.val(LONG);
        self.emit(MOp::Collect, &[d], &regs);
        Comp::Val(d)
    }

    /// 64-bit arithmetic that the machine has, or that splits into words.
    pub(super) fn one_long(&mut self, i: Inst, op: Op, k: usize, ty: Type) -> Result<Comp> {
        let s = self.s;
        let args = s.args(i);
        let from = self.ty(args[0]).bits();
        Ok(match op {
            Op::IAdd | Op::ISub => {
                let (a, b) = (self.esrc(args[0], k), self.esrc(args[1], k));
                Comp::Val(self.iadd(64, op == Op::ISub, a, b, 0))
            }
            Op::INeg => {
                let a = self.esrc(args[0], k);
                Comp::Val(self.iadd(64, true, Opnd::imm(0), a, 0))
            }
            Op::U2U | Op::S2S if from == 64 => {
                let lo = self.comp(args[0], k);
                let [lo, _] = self.words(lo);
                if ty.bits() == 32 {
                    return Ok(lo);
                }
                let o = self.comp_src(lo, 32);
                Comp::Val(self.mov(Opnd { size: Size::B16, ..o }, HALF))
            }
            Op::U2U | Op::S2S => {
                let c = self.comp(args[0], k);
                if let Comp::Const(x) = c {
                    let x = if op == Op::S2S { tepui_ir::sext(x, from) as u64 } else { x };
                    return Ok(Comp::Const(x));
                }
                let mut o = match (from, op) {
                    (8, Op::U2U) => self.low_byte(args[0], k),
                    (8, _) => self.sign_byte(args[0], k),
                    _ => self.isrc(args[0], k),
                };
                o.sx = op == Op::S2S;
                Comp::Val(self.iadd(64, false, o, Opnd::imm(0), 0))
            }
            Op::B2I => {
                let o = self.isrc(args[0], k);
                Comp::Val(self.iadd(64, false, o, Opnd::imm(0), 0))
            }
            Op::IShl if matches!(self.comp(args[1], k), Comp::Const(1..=4)) => {
                let Comp::Const(n) = self.comp(args[1], k) else { return Ok(Comp::Undef) };
                let a = self.esrc(args[0], k);
                Comp::Val(self.iadd(64, false, Opnd::imm(0), a, n as u8))
            }
            Op::IMul => {
                // a * b = lo + ((a.hi * b.lo + a.lo * b.hi) << 32)
                let (a, b) = (self.comp(args[0], k), self.comp(args[1], k));
                let [al, ah] = self.words(a);
                let [bl, bh] = self.words(b);
                let [al, ah, bl, bh] = [al, ah, bl, bh].map(|c| self.comp_src(c, 32));
                let p = self.imadd(64, false, [al, bl, Opnd::imm(0)], 0);
                let [lo, hi] = self.words(Comp::Val(p));
                let hi = self.comp_src(hi, 32);
                let x = self.imadd(32, false, [al, bh, hi], 0);
                let x = self.imadd(32, false, [ah, bl, Opnd::of(x, Size::B32)], 0);
                self.long([lo, Comp::Val(x)])
            }
            Op::IAnd | Op::IOr | Op::IXor => {
                let t = match op {
                    Op::IAnd => table::AND,
                    Op::IOr => table::OR,
                    _ => table::XOR,
                };
                let (a, b) = (self.comp(args[0], k), self.comp(args[1], k));
                let (a, b) = (self.words(a), self.words(b));
                let r = [0, 1].map(|n| {
                    let (x, y) = (self.comp_src(a[n], 32), self.comp_src(b[n], 32));
                    Comp::Val(self.bitop(32, t, x, y))
                });
                self.long(r)
            }
            Op::INot => {
                let a = self.comp(args[0], k);
                let r = self.words(a).map(|c| {
                    let x = self.comp_src(c, 32);
                    Comp::Val(self.bitop(32, table::NOT_A, x, Opnd::imm(0)))
                });
                self.long(r)
            }
            Op::FNeg | Op::FAbs => {
                let a = self.comp(args[0], k);
                let [lo, hi] = self.words(a);
                let x = self.comp_src(hi, 32);
                let (t, m) = if op == Op::FNeg {
                    (table::XOR, 1 << 31)
                } else {
                    (table::AND, (1 << 31) - 1)
                };
                let m = self.konst(m, Size::B32);
                let hi = Comp::Val(self.bitop(32, t, x, m));
                self.long([lo, hi])
            }
            Op::Select => {
                let c = self.cond_comp(args[0], k);
                let (x, y) = (self.comp(args[1], k), self.comp(args[2], k));
                let (x, y) = (self.words(x), self.words(y));
                let r = [0, 1].map(|n| {
                    let (x, y) = (self.comp_src(x[n], 32), self.comp_src(y[n], 32));
                    Comp::Val(self.cond_select(c, x, y, WORD))
                });
                self.long(r)
            }
            Op::IEq | Op::INe => {
                let (a, b) = (self.comp(args[0], k), self.comp(args[1], k));
                let (a, b) = (self.words(a), self.words(b));
                let d = [0, 1].map(|n| {
                    let (x, y) = (self.comp_src(a[n], 32), self.comp_src(b[n], 32));
                    Opnd::of(self.bitop(32, table::XOR, x, y), Size::B32)
                });
                let any = Opnd::of(self.bitop(32, table::OR, d[0], d[1]), Size::B32);
                let c = super::cond::Cond::Int {
                    cc: ICond::Ueq,
                    a: any,
                    b: Opnd::imm(0),
                    inv: op == Op::INe,
                };
                self.truth(c)
            }
            _ => return self.refuse(i, format!("of {ty} from {from} bits is not compiled")),
        })
    }

    pub(super) fn bitcast(&mut self, i: Inst) -> Result<()> {
        let s = self.s;
        let (a, r) = (s.arg(i, 0), s.result(i));
        let (from, to) = (self.ty(a), self.ty(r));
        let mut halves: Vec<Comp> =
            (0..usize::from(from.comps())).map(|k| self.comp(a, k)).collect();
        let (mut bits, want) = (from.bits(), to.bits());
        // Down by splitting, up by joining, one step of two at a time.
        while bits > want {
            halves = halves.into_iter().flat_map(|c| self.split(c, bits)).collect();
            bits /= 2;
        }
        while bits < want {
            halves = halves.chunks_exact(2).map(|p| self.pair([p[0], p[1]], bits)).collect();
            bits *= 2;
        }
        self.set(r, &halves);
        Ok(())
    }

    /// The two halves of a component of `bits`.
    fn split(&mut self, c: Comp, bits: u8) -> [Comp; 2] {
        match (bits, c) {
            (64, _) => self.words(c),
            (_, Comp::Const(x)) => {
                let h = bits / 2;
                [Comp::Const(x & tepui_ir::mask(h)), Comp::Const(x >> h & tepui_ir::mask(h))]
            }
            (_, Comp::Undef) => [Comp::Undef; 2],
            (32, Comp::Uniform(h)) => [Comp::Uniform(h), Comp::Uniform(h + 1)],
            (32, Comp::Val(v)) => {
                let d = [self.f.val(HALF), self.f.val(HALF)];
                self.emit(MOp::Split, &d, &[v]);
                d.map(Comp::Val)
            }
            _ => {
                let o = self.comp_src(c, 16);
                [c, Comp::Val(self.bfeil(16, o, Opnd::imm(8), 8))]
            }
        }
    }

    /// A component of twice the bits from two of `bits`.
    fn pair(&mut self, p: [Comp; 2], bits: u8) -> Comp {
        if let [Comp::Const(a), Comp::Const(b)] = p {
            return Comp::Const(a | b << bits);
        }
        match bits {
            32 => self.long(p),
            16 => {
                let regs = p.map(|c| self.reg(c, HALF));
                let d = self.f.val(WORD);
                self.emit(MOp::Collect, &[d], &regs);
                Comp::Val(d)
            }
            _ => {
                let [lo, hi] = p.map(|c| self.comp_src(c, 8));
                Comp::Val(self.bfi(16, [lo, hi, Opnd::imm(8)], 8))
            }
        }
    }
}
