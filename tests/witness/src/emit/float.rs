//! Floats.

use rspirv::spirv::{Decoration, Word};
use tepui_ir::{Op, Type};

use super::{Emit, Unknown, glsl};

impl Emit<'_> {
    /// Emits a float operation. Floats are loaded as integers and bitcast. `at` is the type of the first
    /// operand, `rt` the result's.
    pub(super) fn float_op(
        &mut self,
        op: Op,
        at: Type,
        rt: Type,
        v: &[Word],
    ) -> Result<Word, Unknown> {
        let bool_ty = self.b.type_bool();
        if matches!(op, Op::S2F | Op::U2F) {
            let f = self.b.type_float(32, None);
            let mut x = self.did(|b| match op {
                Op::S2F => b.convert_s_to_f(f, None, v[0]),
                _ => b.convert_u_to_f(f, None, v[0]),
            })?;
            if rt.bits() != 32 {
                // The value as converted directly to 16 bits: numbers that round twice to infinity do not
                // fit, and their conversion is undefined.
                let to = self.b.type_float(u32::from(rt.bits()), None);
                x = self.did(|b| b.f_convert(to, None, x))?;
            }
            let ty = self.ty(rt);
            return self.did(|b| b.bitcast(ty, None, x));
        }
        let f = self.b.type_float(u32::from(at.bits()), None);
        let x: Vec<Word> =
            v.iter().map(|&a| self.did(|b| b.bitcast(f, None, a))).collect::<Result<_, _>>()?;
        match op {
            Op::FLt => return self.did(|b| b.f_ord_less_than(bool_ty, None, x[0], x[1])),
            Op::FGe => return self.did(|b| b.f_ord_greater_than_equal(bool_ty, None, x[0], x[1])),
            Op::FEq => return self.did(|b| b.f_ord_equal(bool_ty, None, x[0], x[1])),
            Op::FNeu => return self.did(|b| b.f_unord_not_equal(bool_ty, None, x[0], x[1])),
            Op::F2S | Op::F2U => return self.integer_of(op, at, rt, x[0]),
            Op::F2F => {
                let (to, ty) = (self.b.type_float(u32::from(rt.bits()), None), self.ty(rt));
                let y = self.did(|b| b.f_convert(to, None, x[0]))?;
                return self.did(|b| b.bitcast(ty, None, y));
            }
            _ => {}
        }
        let y = match op {
            Op::FAdd => self.did(|b| b.f_add(f, None, x[0], x[1]))?,
            Op::FSub => self.did(|b| b.f_sub(f, None, x[0], x[1]))?,
            Op::FMul => self.did(|b| b.f_mul(f, None, x[0], x[1]))?,
            Op::FNeg => self.did(|b| b.f_negate(f, None, x[0]))?,
            Op::FMin => self.glsl(f, glsl::N_MIN, &x)?,
            Op::FMax => self.glsl(f, glsl::N_MAX, &x)?,
            Op::FAbs => self.glsl(f, glsl::F_ABS, &x)?,
            Op::FFloor => self.glsl(f, glsl::FLOOR, &x)?,
            Op::FCeil => self.glsl(f, glsl::CEIL, &x)?,
            Op::FTrunc => self.glsl(f, glsl::TRUNC, &x)?,
            Op::FRoundEven => self.glsl(f, glsl::ROUND_EVEN, &x)?,
            _ => return Err(format!("`{}`", op.name())),
        };
        self.b.decorate(y, Decoration::NoContraction, []);
        let ty = self.ty(rt);
        self.did(|b| b.bitcast(ty, None, y))
    }

    /// Emits a conversion whose operand is always in range; out-of-range operands are replaced by the limits
    /// or zero.
    fn integer_of(&mut self, op: Op, at: Type, rt: Type, mut x: Word) -> Result<Word, Unknown> {
        let (f, ty, bool_ty) = (self.b.type_float(32, None), self.ty(rt), self.b.type_bool());
        if at.bits() != 32 {
            x = self.did(|b| b.f_convert(f, None, x))?;
        }
        let signed = op == Op::F2S;
        let (n, ones) = (i32::from(rt.bits()), rt.mask());
        let half = 2f32.powi(n - 1);
        let (low, high) = if signed { (-half, half) } else { (0.0, 2.0 * half) };
        let (low_bits, high_bits) = if signed { (!(ones >> 1), ones >> 1) } else { (0, ones) };
        let [lo, hi, zero] = [low, high, 0.0].map(|c| self.b.constant_bit32(f, c.to_bits()));
        let big = self.did(|b| b.f_ord_greater_than_equal(bool_ty, None, x, hi))?;
        let small = self.did(|b| b.f_ord_less_than_equal(bool_ty, None, x, lo))?;
        let nan = self.did(|b| b.f_unord_not_equal(bool_ty, None, x, x))?;
        let out = self.did(|b| b.logical_or(bool_ty, None, big, small))?;
        let out = self.did(|b| b.logical_or(bool_ty, None, out, nan))?;
        let safe = self.did(|b| b.select(f, None, out, zero, x))?;
        let mut r = self.did(|b| match signed {
            true => b.convert_f_to_s(ty, None, safe),
            false => b.convert_f_to_u(ty, None, safe),
        })?;
        for (c, bits) in [(big, high_bits), (small, low_bits)] {
            let bits = self.konst(rt.bits(), bits);
            r = self.did(|b| b.select(ty, None, c, bits, r))?;
        }
        Ok(r)
    }
}
