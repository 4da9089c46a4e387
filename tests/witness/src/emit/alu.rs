//! Integers, truth values and vectors.

use rspirv::spirv::Word;
use tepui_ir::{Attrs, Inst, Op};

use super::{Emit, EmitResult, Unknown, glsl};

impl Emit<'_> {
    pub(super) fn alu(&mut self, i: Inst) -> Result<EmitResult, Unknown> {
        self.plain(i).map(EmitResult::Value)
    }

    fn plain(&mut self, i: Inst) -> Result<Word, Unknown> {
        let s = self.s;
        let d = &s.insts[i];
        let (op, args) = (d.op, s.args(i));
        let rt = s.ty(s.result(i));
        let ty = self.ty(rt);
        let boolean = rt.bits() == 1;
        if let Op::Const = op {
            let bits = s.as_const(s.result(i)).unwrap_or(0);
            return Ok(match (rt.bits(), bits) {
                (1, 0) => self.b.constant_false(ty),
                (1, _) => self.b.constant_true(ty),
                _ => self.konst(rt.bits(), bits),
            });
        }
        if op == Op::Undef {
            return Ok(self.b.constant_null(ty));
        }
        let v: Vec<Word> = args.iter().map(|&a| self.value(a)).collect::<Result<_, _>>()?;
        let from_bool = args.first().is_some_and(|&a| s.ty(a).bits() == 1);
        macro_rules! op {
            ($name:ident) => {
                self.did(|b| b.$name(ty, None, v[0], v[1]))
            };
        }
        if op.touches_floats() {
            return self.float_op(op, s.ty(args[0]), rt, &v);
        }
        match op {
            Op::Copy => Ok(v[0]),
            Op::Vec => self.collect(rt, &v),
            Op::Extract => {
                let Attrs::Index(k) = d.attrs else { return Err("extract".to_owned()) };
                self.did(|b| b.composite_extract(ty, None, v[0], [k]))
            }
            Op::InsertDyn => {
                let n = u32::from(rt.comps());
                let (elem, bool_ty) = (self.ty(rt.elem()), self.b.type_bool());
                let mut parts = Vec::new();
                for k in 0..n {
                    let old = self.did(|b| b.composite_extract(elem, None, v[0], [k]))?;
                    let k = self.word(k);
                    let c = self.did(|b| b.i_equal(bool_ty, None, v[2], k))?;
                    parts.push(self.did(|b| b.select(elem, None, c, v[1], old))?);
                }
                self.collect(rt, &parts)
            }
            Op::IAdd => op!(i_add),
            Op::ISub => op!(i_sub),
            Op::IMul => op!(i_mul),
            Op::IAnd if boolean => op!(logical_and),
            Op::IOr if boolean => op!(logical_or),
            Op::IXor if boolean => op!(logical_not_equal),
            Op::IAnd => op!(bitwise_and),
            Op::IOr => op!(bitwise_or),
            Op::IXor => op!(bitwise_xor),
            Op::INot if boolean => self.did(|b| b.logical_not(ty, None, v[0])),
            Op::INot => self.did(|b| b.not(ty, None, v[0])),
            Op::INeg => self.did(|b| b.s_negate(ty, None, v[0])),
            Op::IShl | Op::UShr | Op::SShr => {
                let (w, mask) = (self.b.type_int(32, 0), self.word(u32::from(rt.bits()) - 1));
                let n = self.did(|b| b.bitwise_and(w, None, v[1], mask))?;
                self.did(|b| match op {
                    Op::IShl => b.shift_left_logical(ty, None, v[0], n),
                    Op::UShr => b.shift_right_logical(ty, None, v[0], n),
                    _ => b.shift_right_arithmetic(ty, None, v[0], n),
                })
            }
            Op::UDiv => op!(u_div),
            Op::UMod => op!(u_mod),
            Op::SDiv | Op::SRem | Op::SMod => {
                // The quotient of the minimum by -1 is undefined.
                let bool_ty = self.b.type_bool();
                let [minus, one, zero] = [u64::MAX, 1, 0].map(|x| self.konst(rt.bits(), x));
                let c = self.did(|b| b.i_equal(bool_ty, None, v[1], minus))?;
                let by = self.did(|b| b.select(ty, None, c, one, v[1]))?;
                let special = match op {
                    Op::SDiv => self.did(|b| b.s_negate(ty, None, v[0]))?,
                    _ => zero,
                };
                let plain = self.did(|b| match op {
                    Op::SDiv => b.s_div(ty, None, v[0], by),
                    Op::SRem => b.s_rem(ty, None, v[0], by),
                    _ => b.s_mod(ty, None, v[0], by),
                })?;
                self.did(|b| b.select(ty, None, c, special, plain))
            }
            Op::SMulHi | Op::UMulHi => self.mul_hi(op, rt.bits(), v[0], v[1]),
            Op::SMin => self.glsl(ty, glsl::S_MIN, &v),
            Op::SMax => self.glsl(ty, glsl::S_MAX, &v),
            Op::UMin => self.glsl(ty, glsl::U_MIN, &v),
            Op::UMax => self.glsl(ty, glsl::U_MAX, &v),
            Op::BitReverse | Op::BitCount => self.bits_of(op, s.ty(args[0]).bits(), v[0]),
            Op::IEq if from_bool => op!(logical_equal),
            Op::INe if from_bool => op!(logical_not_equal),
            Op::IEq => op!(i_equal),
            Op::INe => op!(i_not_equal),
            Op::SLt => op!(s_less_than),
            Op::SGe => op!(s_greater_than_equal),
            Op::ULt => op!(u_less_than),
            Op::UGe => op!(u_greater_than_equal),
            Op::Select => self.did(|b| b.select(ty, None, v[0], v[1], v[2])),
            Op::U2U | Op::S2S if s.ty(args[0]) == rt => Ok(v[0]),
            Op::U2U => self.did(|b| b.u_convert(ty, None, v[0])),
            Op::S2S => self.did(|b| b.s_convert(ty, None, v[0])),
            Op::Bitcast => self.did(|b| b.bitcast(ty, None, v[0])),
            Op::B2I => {
                let [one, zero] = [1, 0].map(|x| self.konst(rt.bits(), x));
                self.did(|b| b.select(ty, None, v[0], one, zero))
            }
            _ => Err(format!("`{}`", op.name())),
        }
    }

    /// The upper half of a product.
    fn mul_hi(&mut self, op: Op, bits: u8, x: Word, y: Word) -> Result<Word, Unknown> {
        let ty = self.b.type_int(u32::from(bits), 0);
        if bits >= 32 {
            let pair = self.b.type_struct([ty, ty]);
            let both = self.did(|b| match op {
                Op::SMulHi => b.s_mul_extended(pair, None, x, y),
                _ => b.u_mul_extended(pair, None, x, y),
            })?;
            return self.did(|b| b.composite_extract(ty, None, both, [1]));
        }
        let (word, n) = (self.b.type_int(32, 0), self.word(u32::from(bits)));
        let mut wide = |v| {
            self.did(|b| match op {
                Op::SMulHi => b.s_convert(word, None, v),
                _ => b.u_convert(word, None, v),
            })
        };
        let (x, y) = (wide(x)?, wide(y)?);
        let product = self.did(|b| b.i_mul(word, None, x, y))?;
        let high = self.did(|b| b.shift_right_logical(word, None, product, n))?;
        self.did(|b| b.u_convert(ty, None, high))
    }

    /// `bit_count` and `bit_reverse`, which Vulkan has for 32 bits only.
    fn bits_of(&mut self, op: Op, bits: u8, x: Word) -> Result<Word, Unknown> {
        let (ty, word) = (self.b.type_int(u32::from(bits), 0), self.b.type_int(32, 0));
        let part = |e: &mut Self, x| {
            e.did(|b| match op {
                Op::BitCount => b.bit_count(word, None, x),
                _ => b.bit_reverse(word, None, x),
            })
        };
        if bits == 64 {
            let pair = self.b.type_vector(word, 2);
            let halves = self.did(|b| b.bitcast(pair, None, x))?;
            let low = self.did(|b| b.composite_extract(word, None, halves, [0]))?;
            let high = self.did(|b| b.composite_extract(word, None, halves, [1]))?;
            let (low, high) = (part(self, low)?, part(self, high)?);
            if op == Op::BitCount {
                return self.did(|b| b.i_add(word, None, low, high));
            }
            let turned = self.did(|b| b.composite_construct(pair, None, [high, low]))?;
            return self.did(|b| b.bitcast(ty, None, turned));
        }
        if bits == 32 {
            return part(self, x);
        }
        let wide = self.did(|b| b.u_convert(word, None, x))?;
        let r = part(self, wide)?;
        if op == Op::BitCount {
            return Ok(r);
        }
        let n = self.word(32 - u32::from(bits));
        let low = self.did(|b| b.shift_right_logical(word, None, r, n))?;
        self.did(|b| b.u_convert(ty, None, low))
    }
}
