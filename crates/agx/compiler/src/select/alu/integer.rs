//! Comparisons, selections and arithmetic on integers of up to 32 bits.

use super::dst;
use crate::error::Result;
use crate::select::operand::{Place, size_of};
use crate::select::{Comp, Opnd, Select};
use tepui_agx_isa::operand::ICond;
use tepui_agx_isa::table::integer::Iadd;
use tepui_ir::{Inst, Op, Type};

impl Select<'_> {
    /// One component of a comparison, a selection or an integer operation.
    pub(super) fn integer_op(&mut self, i: Inst, op: Op, k: usize, ty: Type) -> Result<Comp> {
        let s = self.s;
        let args = s.args(i);
        let bits = ty.bits();
        Ok(match op {
            Op::FEq | Op::FNeu | Op::FLt | Op::FGe | Op::SLt | Op::SGe | Op::ULt | Op::UGe => {
                let c = self.cond_comp(s.result(i), k);
                self.truth(c)
            }
            Op::IEq | Op::INe => {
                let c = self.cond_comp(s.result(i), k);
                self.truth(c)
            }
            Op::B2I if bits <= 16 => self.comp(args[0], k),
            Op::B2I => {
                let c = self.cond_comp(args[0], k);
                Comp::Val(self.cond_select(c, Opnd::imm(1), Opnd::imm(0), Self::class(ty)))
            }
            Op::B2F => {
                let c = self.cond_comp(args[0], k);
                let one = if bits == 16 { 0x3c00 } else { 0x3f80_0000 };
                let one = self.konst(one, size_of(bits));
                Comp::Val(self.cond_select(c, one, Opnd::imm(0), Self::class(ty)))
            }
            Op::Select => {
                let c = self.cond_comp(args[0], k);
                let (x, y) = (self.isrc(args[1], k), self.isrc(args[2], k));
                Comp::Val(self.cond_select(c, x, y, Self::class(ty)))
            }
            Op::IAdd => Comp::Val(self.add(args[0], args[1], false, k, bits.max(16))),
            Op::ISub => Comp::Val(self.add(args[0], args[1], true, k, bits.max(16))),
            Op::INeg => {
                let a = self.esrc(args[0], k);
                Comp::Val(self.iadd(bits.max(16), true, Opnd::imm(0), a, 0))
            }
            Op::IMul => {
                if let (x, Comp::Const(c)) | (Comp::Const(c), x) =
                    (self.comp(args[0], k), self.comp(args[1], k))
                    && c > 2
                    && (c - 1).is_power_of_two()
                    && c <= 17
                {
                    let x = self.comp_src(x, bits);
                    return Ok(Comp::Val(self.iadd(
                        bits.max(16),
                        false,
                        x,
                        x,
                        (c - 1).trailing_zeros() as u8,
                    )));
                }
                let (a, b) = (self.esrc(args[0], k), self.esrc(args[1], k));
                Comp::Val(self.imadd(bits.max(16), false, [a, b, Opnd::imm(0)], 0))
            }
            Op::UMulHi | Op::SMulHi if bits == 32 => {
                let sx = op == Op::SMulHi;
                let (mut a, mut b) = (self.isrc(args[0], k), self.isrc(args[1], k));
                a.sx = sx;
                b.sx = sx;
                let p = self.imadd(64, false, [a, b, Opnd::imm(0)], 0);
                self.words(Comp::Val(p))[1]
            }
            Op::SMin | Op::SMax | Op::UMin | Op::UMax => {
                let signed = matches!(op, Op::SMin | Op::SMax);
                let [a, b] = [args[0], args[1]].map(|x| match (bits, signed) {
                    (8, true) => self.sign_byte(x, k),
                    (8, false) => self.low_byte(x, k),
                    _ => self.isrc(x, k),
                });
                let cc = match op {
                    Op::SMin => ICond::Slt,
                    Op::SMax => ICond::Sgt,
                    Op::UMin => ICond::Ult,
                    _ => ICond::Ugt,
                };
                let c = crate::select::cond::Cond::Int { cc, a, b, inv: false };
                Comp::Val(self.cond_select(c, a, b, Self::class(ty)))
            }
            Op::UAddSat | Op::USubSat | Op::SAddSat | Op::SSubSat if bits >= 16 => {
                let (mut a, mut b) = (self.isrc(args[0], k), self.isrc(args[1], k));
                let signed = matches!(op, Op::SAddSat | Op::SSubSat);
                // Signedness is a flag of an operand, which immediates lack.
                if signed && matches!((a.place, b.place), (Place::Imm(_), Place::Imm(_))) {
                    a = Opnd::of(
                        self.mov(Opnd { size: size_of(bits), ..a }, Self::class(ty)),
                        size_of(bits),
                    );
                }
                a.sx = signed;
                b.sx = signed;
                let negate = matches!(op, Op::USubSat | Op::SSubSat);
                let inst = Iadd {
                    negate,
                    sat: true,
                    d: dst(bits),
                    a: a.src(),
                    b: b.src(),
                    ..Iadd::default()
                };
                Comp::Val(self.def(inst, Self::class(ty), &[a, b]))
            }
            _ => return self.refuse(i, format!("of {ty} is not compiled")),
        })
    }
}
