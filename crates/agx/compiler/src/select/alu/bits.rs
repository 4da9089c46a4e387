//! Logic, shifts and bit fields of up to 32 bits.

use super::{dst, table};
use crate::error::Result;
use crate::mir::{HALF, WORD};
use crate::select::{Comp, Opnd, Select};
use tepui_agx_isa::Inst as Isa;
use tepui_agx_isa::table::integer::{Bitrev, Ffs, Intl, Popcount};
use tepui_ir::{Inst, Op, Type, Value};

/// Users that two joined conditions may have: each keeps two words alive instead of half of one.
const MAX_JOINED: u32 = 3;

impl Select<'_> {
    /// One component of an operation on bits.
    pub(super) fn bit_op(&mut self, i: Inst, op: Op, k: usize, ty: Type) -> Result<Comp> {
        let s = self.s;
        let args = s.args(i);
        let bits = ty.bits();
        let from = self.ty(args[0]).bits();
        macro_rules! int_unary {
            ($row:ident) => {{
                let a = self.isrc(args[0], k);
                let inst = $row { d: dst(bits), a: a.src(), ..$row::default() };
                Comp::Val(self.def(inst, Self::class(ty), &[a]))
            }};
        }
        Ok(match op {
            Op::IAnd | Op::IOr if bits == 1 => {
                if self.uses[s.result(i)] <= MAX_JOINED
                    && let Some(c) = self.joined(op, [args[0], args[1]], k)
                {
                    return Ok(self.known_truth(c));
                }
                // A comparison is the select of the other operand: of several users, each costs the
                // same as with its truth value.
                let compares = |x: Value| {
                    s.def_op(x).is_some_and(|op| op.info().results == [tepui_ir::Pat::B])
                };
                let single = |x: Value| self.uses[x] == 1 && compares(x);
                let first = single(args[0]) || !single(args[1]) && compares(args[0]);
                let (x, y) = if first { (args[0], args[1]) } else { (args[1], args[0]) };
                if !compares(x) {
                    return Ok(Comp::Val(self.logic(op, args, k, false)));
                }
                let other = if single(y) {
                    let c = self.cond_comp(y, k);
                    self.truth(c)
                } else {
                    self.comp(y, k)
                };
                let other = self.comp_src(other, 1);
                let c = self.cond_comp(x, k);
                let (t, e) =
                    if op == Op::IAnd { (other, Opnd::imm(0)) } else { (Opnd::imm(1), other) };
                Comp::Val(self.cond_select(c, t, e, HALF))
            }
            Op::IAnd | Op::IOr | Op::IXor => Comp::Val(self.logic(op, args, k, false)),
            Op::INot => {
                if let Some(d) = self.def_inst(args[0])
                    && matches!(s.insts[d].op, Op::IAnd | Op::IOr | Op::IXor)
                    && bits > 1
                {
                    return Ok(Comp::Val(self.logic(s.insts[d].op, s.args(d), k, true)));
                }
                if bits == 1 {
                    let c = self.cond_comp(args[0], k).inverted();
                    return Ok(self.truth(c));
                }
                let a = self.isrc(args[0], k);
                Comp::Val(self.bitop(bits.max(16), table::NOT_A, a, Opnd::imm(0)))
            }
            Op::IShl => {
                if let Comp::Const(n @ 1..=4) = self.comp(args[1], k) {
                    let a = self.isrc(args[0], k);
                    return Ok(Comp::Val(self.iadd(bits.max(16), false, Opnd::imm(0), a, n as u8)));
                }
                let (a, n) = (self.isrc(args[0], k), self.count(args[1], k, bits));
                Comp::Val(self.bfi(bits.max(16), [Opnd::imm(0), a, n], 0))
            }
            Op::UShr => {
                let n = self.count(args[1], k, bits);
                let a = if bits == 8 { self.low_byte(args[0], k) } else { self.isrc(args[0], k) };
                Comp::Val(self.bfeil(bits.max(16), a, n, 0))
            }
            Op::SShr => {
                let n = self.count(args[1], k, bits);
                let a = if bits == 8 { self.sign_byte(args[0], k) } else { self.isrc(args[0], k) };
                Comp::Val(self.asr(bits.max(16), a, n))
            }
            Op::BitReverse if bits == 32 => int_unary!(Bitrev),
            Op::BitInterleave => {
                let (a, b) = (self.isrc(args[0], k), self.isrc(args[1], k));
                let inst = Intl { d: dst(32), a: a.src(), b: b.src(), ..Intl::default() };
                Comp::Val(self.def(inst, WORD, &[a, b]))
            }
            Op::BitCount | Op::UFindMsb => {
                let a = if from == 8 { self.low_byte(args[0], k) } else { self.isrc(args[0], k) };
                let d = dst(32);
                let inst: Isa = if op == Op::BitCount {
                    Popcount { d, a: a.src(), ..Popcount::default() }.into()
                } else {
                    Ffs { d, a: a.src(), ..Ffs::default() }.into()
                };
                Comp::Val(self.def(inst, WORD, &[a]))
            }
            Op::BitInsert if bits == 32 => {
                let Comp::Const(n) = self.comp(args[3], k) else {
                    return self.refuse(i, "of a variable width");
                };
                if n == 0 {
                    return Ok(self.comp(args[0], k));
                }
                let ops = [0, 1, 2].map(|m| self.isrc(args[m], k));
                Comp::Val(self.bfi(bits, ops, field(n)))
            }
            Op::UBitExtract if bits == 32 => {
                let Comp::Const(n) = self.comp(args[2], k) else {
                    return self.refuse(i, "of a variable width");
                };
                if n == 0 {
                    return Ok(Comp::Const(0));
                }
                let (b, c) = (self.isrc(args[0], k), self.isrc(args[1], k));
                Comp::Val(self.bfeil(bits, b, c, field(n)))
            }
            _ => return self.refuse(i, format!("of {ty} is not compiled")),
        })
    }
}

/// A field's width as the mask operand has it: 0 for all 32 bits.
fn field(n: u64) -> u8 {
    if n >= 32 { 0 } else { n as u8 }
}
