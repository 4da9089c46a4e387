//! Conversions between numbers of up to 32 bits.

use super::{dst, table};
use crate::error::Result;
use crate::mir::HALF;
use crate::select::operand::size_of;
use crate::select::{Comp, Opnd, Select};
use tepui_agx_isa::operand::{ConvertMode, Round, Size};
use tepui_agx_isa::table::integer::Convert;
use tepui_ir::{Inst, Op, Type, Value};

impl Select<'_> {
    /// One component of a conversion.
    pub(super) fn conversion(&mut self, i: Inst, op: Op, k: usize, ty: Type) -> Result<Comp> {
        let s = self.s;
        let args = s.args(i);
        let bits = ty.bits();
        let from = self.ty(args[0]).bits();
        Ok(match op {
            Op::U2F | Op::S2F => {
                let signed = op == Op::S2F;
                let mode = match (from, signed) {
                    (32, false) => ConvertMode::U32ToF,
                    (32, true) => ConvertMode::S32ToF,
                    (16, false) => ConvertMode::U16ToF,
                    (16, true) => ConvertMode::S16ToF,
                    (_, false) => ConvertMode::U8ToF,
                    (_, true) => ConvertMode::S8ToF,
                };
                let src = self.isrc(args[0], k);
                let inst = Convert {
                    mode,
                    d: dst(bits),
                    src: src.src(),
                    round: Round::Rte,
                    ..Convert::default()
                };
                Comp::Val(self.def(inst, Self::class(ty), &[src]))
            }
            Op::F2U | Op::F2S
                if bits == 32
                    && let Some(axis) = self.pixel_axis(args[0], k) =>
            {
                Comp::Val(self.sr(crate::select::special::sr::GLOBAL + axis, Size::B32))
            }
            Op::F2U | Op::F2S => {
                let c = self.comp(args[0], k);
                let src = match c {
                    // An immediate would be taken for an integer's bits.
                    Comp::Const(x) => self.konst(x, size_of(from)),
                    c => self.comp_src(c, from),
                };
                let mode = match (bits, op) {
                    (32, Op::F2U) => ConvertMode::FToU32,
                    (32, _) => ConvertMode::FToS32,
                    (_, Op::F2U) => ConvertMode::FToU16,
                    _ => ConvertMode::FToS16,
                };
                let inst = Convert {
                    mode,
                    d: dst(bits),
                    src: src.src(),
                    round: Round::Rtz,
                    ..Convert::default()
                };
                Comp::Val(self.def(inst, Self::class(ty), &[src]))
            }
            Op::U2U | Op::S2S => self.resize(op, args[0], k, from, bits),
            _ => return self.refuse(i, format!("of {ty} is not compiled")),
        })
    }

    /// Integer conversions up to 32 bits.
    fn resize(&mut self, op: Op, a: Value, k: usize, from: u8, to: u8) -> Comp {
        let c = self.comp(a, k);
        if let Comp::Const(x) = c {
            let x = if op == Op::S2S { tepui_ir::sext(x, from) as u64 } else { x };
            return Comp::Const(x & tepui_ir::mask(to));
        }
        match (from, to) {
            _ if from == to => c,
            (16, 8) => c,
            (32, 8 | 16) => {
                let o = self.isrc(a, k);
                let low = Opnd { size: Size::B16, ..o };
                Comp::Val(self.mov(low, HALF))
            }
            (8, 16) if op == Op::U2U && self.is_clean_byte(a) => c,
            (8, _) if op == Op::U2U => {
                let o = self.isrc(a, k);
                if self.is_clean_byte(a) {
                    return Comp::Val(self.bitop(to, table::A, o, Opnd::imm(0)));
                }
                Comp::Val(self.bitop(to, table::AND, o, Opnd::imm(255)))
            }
            (8, _) => {
                let o = self.isrc(a, k);
                let up = self.bfi(16, [Opnd::imm(0), o, Opnd::imm(8)], 0);
                Comp::Val(self.asr(to, Opnd::of(up, Size::B16), Opnd::imm(8)))
            }
            _ => {
                let mut o = self.isrc(a, k);
                if op == Op::U2U {
                    return Comp::Val(self.bitop(to, table::A, o, Opnd::imm(0)));
                }
                o.sx = true;
                Comp::Val(self.iadd(to, false, o, Opnd::imm(0), 0))
            }
        }
    }
}
