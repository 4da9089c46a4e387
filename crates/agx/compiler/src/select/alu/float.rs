//! Arithmetic on floats of 16 and 32 bits.

use super::{Target, dst, table};
use crate::error::Result;
use crate::mir::{WORD, class_of};
use crate::select::operand::size_of;
use crate::select::{Comp, Opnd, Select};
use tepui_agx_isa::operand::{FCond, Size};
use tepui_agx_isa::table::float::Fmadd32;
use tepui_agx_isa::table::unary::{
    Ceil, Exp2, Floor, Log2, Rcp, Rint, Rsqrt, RsqrtSpecial, SinPt1, SinPt2, Trunc,
};
use tepui_ir::{Inst, Op, Type, Value};

impl Select<'_> {
    /// One component of a float operation.
    pub(super) fn float_op(
        &mut self,
        i: Inst,
        op: Op,
        k: usize,
        ty: Type,
        t: &Target,
    ) -> Result<Comp> {
        let s = self.s;
        let args = s.args(i);
        let bits = ty.bits();
        let half = bits == 16;
        macro_rules! unary {
            ($row:ident) => {{
                let a = self.fsrc(args[0], k);
                let inst = $row { sat: t.sat, d: dst(t.bits), a: a.src(), ..$row::default() };
                Comp::Val(self.def(inst, class_of(t.bits, 1), &[a]))
            }};
        }
        Ok(match op {
            Op::FAdd | Op::FSub if let Some((n, r)) = self.root(args) => {
                let square = self.s.arg(self.def_inst(args[n]).unwrap_or(i), 0);
                let (x, other) = (self.fsrc(square, k), self.fsrc(args[1 - n], k));
                let (x, other) = match (op, n) {
                    (Op::FSub, 1) => (x.negated(), other),
                    (Op::FSub, _) => (x, other.negated()),
                    _ => (x, other),
                };
                self.float3(t, false, x, Opnd::of(r, Size::B32), other)
            }
            Op::FAdd | Op::FSub => {
                let (a, b) = (self.fsrc(args[0], k), self.fsrc(args[1], k));
                let b = if op == Op::FSub { b.negated() } else { b };
                Comp::Val(self.fadd(t.sat, t.bits, half, a, b))
            }
            Op::FMul => {
                let (a, b) = (self.fsrc(args[0], k), self.fsrc(args[1], k));
                Comp::Val(self.fmul(t.sat, t.bits, half, a, b))
            }
            Op::FFma => {
                let ops = [0, 1, 2].map(|n| self.fsrc(args[n], k));
                self.float3(t, half, ops[0], ops[1], ops[2])
            }
            Op::FSat => {
                let a = self.fsrc(args[0], k);
                Comp::Val(self.fadd(true, t.bits, half, a, Opnd::NEG_ZERO))
            }
            Op::F2F => {
                // Between 16 and 32 bits: the 32-bit adder converts.
                let a = self.fsrc(args[0], k);
                Comp::Val(self.fadd(t.sat, t.bits, false, a, Opnd::NEG_ZERO))
            }
            Op::FNeg if let Some(p) = self.negatable(args[0]) => self.negated_product(p, t, k),
            Op::FNeg | Op::FAbs => {
                let a = self.isrc(args[0], k);
                let sign = 1u64 << (bits - 1);
                let (table, m) = match op {
                    Op::FNeg => (table::XOR, sign),
                    _ => (table::AND, sign - 1),
                };
                let m = self.int(m, size_of(bits));
                Comp::Val(self.bitop(bits, table, a, m))
            }
            Op::FFloor => unary!(Floor),
            Op::FCeil => unary!(Ceil),
            Op::FTrunc => unary!(Trunc),
            Op::FRoundEven => unary!(Rint),
            Op::FRcp => unary!(Rcp),
            Op::FRsq => unary!(Rsqrt),
            Op::FExp2 => unary!(Exp2),
            Op::FLog2 => unary!(Log2),
            Op::FSqrt => {
                let a = self.fsrc(args[0], k);
                let inst = RsqrtSpecial { d: dst(32), a: a.src(), ..RsqrtSpecial::default() };
                let r = self.def(inst, WORD, &[a]);
                if ty.is_scalar() {
                    self.roots.insert(self.s.result(i), r);
                }
                Comp::Val(self.fmul(t.sat, t.bits, false, a, Opnd::of(r, Size::B32)))
            }
            Op::FSin | Op::FCos => self.sine(op, args[0], k, t),
            Op::FMin | Op::FMax => {
                let cc = if op == Op::FMin { FCond::Ltn } else { FCond::Gtn };
                let (a, b) = (self.plain(args[0], k), self.plain(args[1], k));
                let (x, y) = (self.isrc(args[0], k), self.isrc(args[1], k));
                let c = crate::select::cond::Cond::Float { cc, a, b, inv: false };
                let v = self.cond_select(c, x, y, Self::class(ty));
                // The selection copies denormals bit by bit; the adder flushes them.
                let flushes =
                    bits == 32 && s.info.float_controls(32).is_some_and(|f| f.denorm_flush);
                Comp::Val(match flushes {
                    true => self.fadd(false, 32, false, Opnd::of(v, Size::B32), Opnd::NEG_ZERO),
                    false => v,
                })
            }
            _ => return self.refuse(i, format!("of {ty} is not compiled")),
        })
    }

    /// Sine or cosine.
    fn sine(&mut self, op: Op, v: Value, k: usize, t: &Target) -> Comp {
        // An angle in quadrants, 0 to 4. source: Mesa, fsin_agx
        let a = self.fsrc(v, k);
        let turn =
            self.konst(u64::from(std::f32::consts::FRAC_1_PI.to_bits() - (1 << 23)), Size::B32);
        let turns = if op == Op::FCos {
            let inst = Fmadd32 {
                d: dst(32),
                a: a.src(),
                b: turn.src(),
                c: Opnd::imm(0x10).src(),
                ..Fmadd32::default()
            };
            self.def(inst, WORD, &[a, turn])
        } else {
            self.fmul(false, 32, false, a, turn)
        };
        let turns = Opnd::of(turns, Size::B32);
        let inst = Floor { d: dst(32), a: turns.src(), ..Floor::default() };
        let whole = self.def(inst, WORD, &[turns]);
        let part = self.fadd(false, 32, false, turns, Opnd::of(whole, Size::B32).negated());
        let four = Opnd::imm(0x50);
        let q = Opnd::of(self.fmul(false, 32, false, Opnd::of(part, Size::B32), four), Size::B32);
        let inst = SinPt1 { d: dst(32), a: q.src(), ..SinPt1::default() };
        let x = Opnd::of(self.def(inst, WORD, &[q]), Size::B32);
        let inst = SinPt2 { d: dst(32), a: x.src(), ..SinPt2::default() };
        let y = Opnd::of(self.def(inst, WORD, &[x]), Size::B32);
        Comp::Val(self.fmul(t.sat, t.bits, false, x, y))
    }

    /// A float operand without folded modifiers.
    fn plain(&mut self, v: Value, k: usize) -> Opnd {
        match self.comp(v, k) {
            Comp::Const(x) => {
                let bits = self.ty(v).bits();
                self.konst(x, size_of(bits))
            }
            _ => self.isrc(v, k),
        }
    }
}
