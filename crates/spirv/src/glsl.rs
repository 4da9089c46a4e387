//! Translates the GLSL.std.450 extended instruction set; skips debug information sets.

use crate::error::Result;
use crate::module::Inst;
use crate::translate::Cx;
use crate::value::{Place, Val};
use rspirv::spirv::GlslStd450Op as G;
use tepui_ir::{Attrs, Op, Type, Value};

/// Instructions that are one op.
fn direct(g: G) -> Option<Op> {
    Some(match g {
        G::Round | G::RoundEven => Op::FRoundEven,
        G::Trunc => Op::FTrunc,
        G::FAbs => Op::FAbs,
        G::SAbs => Op::IAbs,
        G::FSign => Op::FSign,
        G::SSign => Op::ISign,
        G::Floor => Op::FFloor,
        G::Ceil => Op::FCeil,
        G::Fract => Op::FFract,
        G::Cos => Op::FCos,
        G::Pow => Op::FPow,
        G::Exp2 => Op::FExp2,
        G::Log2 => Op::FLog2,
        G::Sqrt => Op::FSqrt,
        G::InverseSqrt => Op::FRsq,
        G::FMin | G::NMin => Op::FMin,
        G::FMax | G::NMax => Op::FMax,
        G::UMin => Op::UMin,
        G::UMax => Op::UMax,
        G::SMin => Op::SMin,
        G::SMax => Op::SMax,
        G::Fma => Op::FFma,
        G::PackSnorm4x8 => Op::PackSnorm4x8,
        G::PackUnorm4x8 => Op::PackUnorm4x8,
        G::PackSnorm2x16 => Op::PackSnorm2x16,
        G::PackUnorm2x16 => Op::PackUnorm2x16,
        G::PackHalf2x16 => Op::PackHalf2x16,
        G::UnpackSnorm4x8 => Op::UnpackSnorm4x8,
        G::UnpackUnorm4x8 => Op::UnpackUnorm4x8,
        G::UnpackSnorm2x16 => Op::UnpackSnorm2x16,
        G::UnpackUnorm2x16 => Op::UnpackUnorm2x16,
        G::UnpackHalf2x16 => Op::UnpackHalf2x16,
        G::FindILsb => Op::FindLsb,
        G::FindSMsb => Op::SFindMsb,
        G::FindUMsb => Op::UFindMsb,
        _ => return None,
    })
}

impl Cx<'_> {
    /// `OpExtInst`.
    pub fn ext_inst(&mut self, i: Inst) -> Result<()> {
        let m = self.m;
        let (set, n) = (m.op(&i, 0)?, m.op(&i, 1)?);
        let name = m.ext_sets.get(&set).map_or("", String::as_str);
        match name {
            "GLSL.std.450" => {}
            crate::module::DEBUG_INFO => return self.debug_info(i, n),
            s if s.starts_with("NonSemantic.") || s == "DebugInfo" => return Ok(()),
            s => return self.unsupported(format!("extended instruction set \"{s}\"")),
        }
        let Some(g) = G::from_u32(n) else {
            return self.unsupported(format!("GLSL.std.450 instruction {n}"));
        };
        let v = self.glsl(i, g)?;
        self.bind(v)
    }

    /// Source lines: `DebugLine` (103) and `DebugNoLine` (104).
    fn debug_info(&mut self, i: Inst, n: u32) -> Result<()> {
        let num = |cx: &Self, k: usize| {
            cx.arg_ssa(k).ok().and_then(|v| cx.s.as_const(v)).unwrap_or(0) as u32
        };
        match n {
            103 => {
                let (line, col) = (num(self, 3), num(self, 5));
                // DebugSource's first operand is the file's name.
                let src = self.m.op(&i, 2)?;
                let file = self
                    .m
                    .globals
                    .iter()
                    .find(|g| g.id == src)
                    .map_or(0, |g| self.m.op(g, 2).unwrap_or(0));
                self.set_line(file, line, col);
            }
            104 => self.no_line(),
            _ => {}
        }
        Ok(())
    }

    fn f(&mut self, like: Value, v: f64) -> Value {
        let ty = self.s.ty(like);
        self.fconst(ty, v)
    }

    fn fmul(&mut self, a: Value, b: Value) -> Result<Value> {
        self.checked(Op::FMul, &[a, b])
    }

    fn fadd(&mut self, a: Value, b: Value) -> Result<Value> {
        self.checked(Op::FAdd, &[a, b])
    }

    fn fsub(&mut self, a: Value, b: Value) -> Result<Value> {
        self.checked(Op::FSub, &[a, b])
    }

    fn fscale(&mut self, a: Value, k: f64) -> Result<Value> {
        let k = self.f(a, k);
        self.fmul(a, k)
    }

    fn glsl(&mut self, i: Inst, g: G) -> Result<Val> {
        if let Some(op) = direct(g) {
            let args = (2..2 + op.info().operands.len())
                .map(|n| self.arg_ssa(n))
                .collect::<Result<Vec<_>>>()?;
            return Ok(Val::Ssa(self.checked(op, &args)?));
        }
        let v = match g {
            G::Radians => {
                let a = self.arg_ssa(2)?;
                self.fscale(a, std::f64::consts::PI / 180.0)?
            }
            G::Degrees => {
                let a = self.arg_ssa(2)?;
                self.fscale(a, 180.0 / std::f64::consts::PI)?
            }
            G::Sin => {
                let a = self.arg_ssa(2)?;
                self.sin(a)?
            }
            G::Tan => {
                let a = self.arg_ssa(2)?;
                let (s, c) = (self.sin(a)?, self.checked(Op::FCos, &[a])?);
                self.checked(Op::FDiv, &[s, c])?
            }
            G::Exp => {
                let a = self.arg_ssa(2)?;
                self.exp(a)?
            }
            G::Log => {
                let a = self.arg_ssa(2)?;
                self.log(a)?
            }
            G::Sinh | G::Cosh | G::Tanh => {
                let a = self.arg_ssa(2)?;
                self.hyperbolic(a, g)?
            }
            G::Asin => {
                let a = self.arg_ssa(2)?;
                self.asin(a)?
            }
            G::Acos => {
                let a = self.arg_ssa(2)?;
                let s = self.asin(a)?;
                let half_pi = self.f(a, std::f64::consts::FRAC_PI_2);
                self.fsub(half_pi, s)?
            }
            G::Atan => {
                let a = self.arg_ssa(2)?;
                self.atan(a)?
            }
            G::Atan2 => {
                let (y, x) = (self.arg_ssa(2)?, self.arg_ssa(3)?);
                self.atan2(y, x)?
            }
            G::Asinh | G::Acosh | G::Atanh => {
                let a = self.arg_ssa(2)?;
                self.area(a, g)?
            }
            G::Determinant => {
                let m = self.matrix(2)?;
                self.det(&m)?
            }
            G::MatrixInverse => {
                let m = self.matrix(2)?;
                return self.inverse(&m);
            }
            G::Modf | G::ModfStruct => {
                let a = self.arg_ssa(2)?;
                let whole = self.checked(Op::FTrunc, &[a])?;
                let frac = self.fsub(a, whole)?;
                // An infinite operand has fraction zero. Fraction and whole part have its sign.
                let abs = self.checked(Op::FAbs, &[a])?;
                let inf = self.f(a, f64::INFINITY);
                let is_inf = self.checked(Op::FEq, &[abs, inf])?;
                let zero = self.f(a, 0.0);
                let frac = self.checked(Op::Select, &[is_inf, zero, frac])?;
                let frac = self.odd(frac, a)?;
                return self.two_results(i, g == G::ModfStruct, frac, whole);
            }
            G::Frexp | G::FrexpStruct => {
                let a = self.arg_ssa(2)?;
                let (sig, exp) =
                    (self.checked(Op::FFrexpSig, &[a])?, self.checked(Op::FFrexpExp, &[a])?);
                return self.two_results(i, g == G::FrexpStruct, sig, exp);
            }
            G::Ldexp => {
                let (a, mut e) = (self.arg_ssa(2)?, self.arg_ssa(3)?);
                let ty = self.s.ty(e);
                if ty.bits() == 64 {
                    // Beyond every float's exponents, so that 32 bits of it say the same.
                    for (op, limit) in [(Op::SMax, -0x4000i64), (Op::SMin, 0x4000)] {
                        let limit = self.konst(ty.elem(), limit as u64);
                        let limit = self.vec(&vec![limit; usize::from(ty.comps())])?;
                        e = self.checked(op, &[e, limit])?;
                    }
                }
                let w = ty.with_bits(32);
                let e = self.convert(Op::S2S, e, w)?;
                self.checked(Op::FLdexp, &[a, e])?
            }
            G::FClamp | G::NClamp | G::UClamp | G::SClamp => {
                let (mn, mx) = match g {
                    G::UClamp => (Op::UMin, Op::UMax),
                    G::SClamp => (Op::SMin, Op::SMax),
                    _ => (Op::FMin, Op::FMax),
                };
                let (x, lo, hi) = (self.arg_ssa(2)?, self.arg_ssa(3)?, self.arg_ssa(4)?);
                let t = self.checked(mx, &[x, lo])?;
                self.checked(mn, &[t, hi])?
            }
            G::FMix => {
                let (x, y, a) = (self.arg_ssa(2)?, self.arg_ssa(3)?, self.arg_ssa(4)?);
                let one = self.f(x, 1.0);
                let b = self.fsub(one, a)?;
                let (p, q) = (self.fmul(x, b)?, self.fmul(y, a)?);
                self.fadd(p, q)?
            }
            G::Step => {
                let (e, x) = (self.arg_ssa(2)?, self.arg_ssa(3)?);
                let lt = self.checked(Op::FLt, &[x, e])?;
                let (z, one) = (self.f(x, 0.0), self.f(x, 1.0));
                self.checked(Op::Select, &[lt, z, one])?
            }
            G::SmoothStep => {
                let (a, b, x) = (self.arg_ssa(2)?, self.arg_ssa(3)?, self.arg_ssa(4)?);
                let (n, d) = (self.fsub(x, a)?, self.fsub(b, a)?);
                let t = self.checked(Op::FDiv, &[n, d])?;
                let t = self.checked(Op::FSat, &[t])?;
                let (three, two) = (self.f(t, 3.0), self.f(t, 2.0));
                let tt = self.fmul(two, t)?;
                let k = self.fsub(three, tt)?;
                let sq = self.fmul(t, t)?;
                self.fmul(sq, k)?
            }
            G::PackDouble2x32 => {
                let a = self.arg_ssa(2)?;
                if self.s.ty(a) != Type::vec(32, 2) {
                    return self.invalid("needs two 32-bit components");
                }
                self.op1(Op::Bitcast, a, Type::B64)
            }
            G::UnpackDouble2x32 => {
                let a = self.arg_ssa(2)?;
                if self.s.ty(a) != Type::B64 {
                    return self.invalid("needs a 64-bit scalar");
                }
                self.op1(Op::Bitcast, a, Type::vec(32, 2))
            }
            G::Length => {
                let a = self.arg_ssa(2)?;
                self.length(a)?
            }
            G::Distance => {
                let (a, b) = (self.arg_ssa(2)?, self.arg_ssa(3)?);
                let d = self.fsub(a, b)?;
                self.length(d)?
            }
            G::Cross => {
                let (a, b) = (self.arg_ssa(2)?, self.arg_ssa(3)?);
                let (a, b) = (self.split(a), self.split(b));
                let (&[a0, a1, a2], &[b0, b1, b2]) = (&a[..], &b[..]) else {
                    return self.invalid("needs vectors of three components");
                };
                let mut parts = Vec::new();
                for (p, q, r, s) in [(a1, b2, b1, a2), (a2, b0, b2, a0), (a0, b1, b0, a1)] {
                    let (x, y) = (self.fmul(p, q)?, self.fmul(r, s)?);
                    parts.push(self.fsub(x, y)?);
                }
                self.vec(&parts)?
            }
            G::Normalize => {
                let a = self.arg_ssa(2)?;
                let d = self.dot(a, a)?;
                let r = self.checked(Op::FRsq, &[d])?;
                let r = self.splat(r, self.s.ty(a).comps())?;
                self.fmul(a, r)?
            }
            G::FaceForward => {
                let (n, v, r) = (self.arg_ssa(2)?, self.arg_ssa(3)?, self.arg_ssa(4)?);
                let d = self.dot(r, v)?;
                let z = self.f(d, 0.0);
                let lt = self.checked(Op::FLt, &[d, z])?;
                let lt = self.splat(lt, self.s.ty(n).comps())?;
                let neg = self.checked(Op::FNeg, &[n])?;
                self.checked(Op::Select, &[lt, n, neg])?
            }
            G::Reflect => {
                let (x, n) = (self.arg_ssa(2)?, self.arg_ssa(3)?);
                let d = self.dot(n, x)?;
                let d = self.fscale(d, 2.0)?;
                let d = self.splat(d, self.s.ty(n).comps())?;
                let p = self.fmul(d, n)?;
                self.fsub(x, p)?
            }
            G::Refract => {
                let (x, n, eta) = (self.arg_ssa(2)?, self.arg_ssa(3)?, self.arg_ssa(4)?);
                self.refract(x, n, eta)?
            }
            G::InterpolateAtCentroid | G::InterpolateAtSample | G::InterpolateAtOffset => {
                let p = self.arg_ptr(2)?;
                if !matches!(p.place, Place::Io { .. }) {
                    return self.invalid("needs a pointer to an input");
                }
                return self.interpolate_at(&p, g);
            }
            _ => return self.unsupported(format!("GLSL.std.450 {g:?}")),
        };
        Ok(Val::Ssa(v))
    }

    /// Two results, the second through a pointer operand or both as a structure.
    fn two_results(&mut self, i: Inst, as_struct: bool, a: Value, b: Value) -> Result<Val> {
        if as_struct {
            let tys = self.member_tys(i.ty)?;
            let want = tys.get(1).map(|&t| self.ir_ty(t)).transpose()?;
            let b = match want {
                Some(t) if t.comps() == self.s.ty(b).comps() && t != self.s.ty(b) => {
                    self.convert(Op::S2S, b, t)?
                }
                _ => b,
            };
            return self.aggregate(vec![Val::Ssa(a), Val::Ssa(b)]);
        }
        let p = self.arg_ptr(3)?;
        let want = self.ir_ty(p.ty)?;
        let b = if want == self.s.ty(b) { b } else { self.convert(Op::S2S, b, want)? };
        self.store(&p, &Val::Ssa(b), None)?;
        Ok(Val::Ssa(a))
    }

    fn dot(&mut self, a: Value, b: Value) -> Result<Value> {
        if self.s.ty(a).is_scalar() { self.fmul(a, b) } else { self.checked(Op::FDot, &[a, b]) }
    }

    fn length(&mut self, a: Value) -> Result<Value> {
        if self.s.ty(a).is_scalar() {
            return self.checked(Op::FAbs, &[a]);
        }
        let d = self.dot(a, a)?;
        self.checked(Op::FSqrt, &[d])
    }

    fn exp(&mut self, a: Value) -> Result<Value> {
        let x = self.fscale(a, std::f64::consts::LOG2_E)?;
        self.checked(Op::FExp2, &[x])
    }

    fn log(&mut self, a: Value) -> Result<Value> {
        let x = self.checked(Op::FLog2, &[a])?;
        self.fscale(x, std::f64::consts::LN_2)
    }

    /// The result of an odd function with the sign of its operand, where the sign of zero has to be
    /// kept: a difference of equal numbers is +0.
    fn odd(&mut self, result: Value, operand: Value) -> Result<Value> {
        if !self.keeps_special(operand) {
            return Ok(result);
        }
        let sign = self.f(operand, -0.0);
        let sign = self.checked(Op::IAnd, &[operand, sign])?;
        let size = self.checked(Op::FAbs, &[result])?;
        self.checked(Op::IOr, &[size, sign])
    }

    /// A result, or the operand where that is NaN and NaNs have to be kept.
    fn or_nan(&mut self, result: Value, operand: Value) -> Result<Value> {
        if !self.keeps_special(operand) {
            return Ok(result);
        }
        let nan = self.checked(Op::FNeu, &[operand, operand])?;
        self.checked(Op::Select, &[nan, operand, result])
    }

    /// The sine, which reduces its operand to a part of a turn without sign.
    fn sin(&mut self, a: Value) -> Result<Value> {
        let s = self.checked(Op::FSin, &[a])?;
        if !self.keeps_special(a) {
            return Ok(s);
        }
        let zero = self.f(a, 0.0);
        let is_zero = self.checked(Op::FEq, &[a, zero])?;
        self.checked(Op::Select, &[is_zero, a, s])
    }

    fn hyperbolic(&mut self, a: Value, g: G) -> Result<Value> {
        // Past ±10, tanh is ±1 in every precision that matters, and e^x must not overflow.
        let x = if g == G::Tanh {
            let (lo, hi) = (self.f(a, -10.0), self.f(a, 10.0));
            let t = self.checked(Op::FMax, &[a, lo])?;
            self.checked(Op::FMin, &[t, hi])?
        } else {
            a
        };
        let p = self.exp(x)?;
        let n = self.checked(Op::FNeg, &[x])?;
        let q = self.exp(n)?;
        let (sum, dif) = (self.fadd(p, q)?, self.fsub(p, q)?);
        match g {
            G::Sinh => {
                let r = self.fscale(dif, 0.5)?;
                self.odd(r, a)
            }
            G::Cosh => self.fscale(sum, 0.5),
            _ => {
                let r = self.checked(Op::FDiv, &[dif, sum])?;
                let r = self.odd(r, a)?;
                self.or_nan(r, a)
            }
        }
    }

    /// Inverse hyperbolic functions by their logarithmic forms.
    fn area(&mut self, a: Value, g: G) -> Result<Value> {
        let one = self.f(a, 1.0);
        match g {
            G::Atanh => {
                let (n, d) = (self.fadd(one, a)?, self.fsub(one, a)?);
                let q = self.checked(Op::FDiv, &[n, d])?;
                let l = self.log(q)?;
                let r = self.fscale(l, 0.5)?;
                self.odd(r, a)
            }
            G::Acosh => {
                let sq = self.fmul(a, a)?;
                let r = self.fsub(sq, one)?;
                let r = self.checked(Op::FSqrt, &[r])?;
                let s = self.fadd(a, r)?;
                self.log(s)
            }
            _ => {
                // Odd function: on |a|, so that nothing cancels.
                let x = self.checked(Op::FAbs, &[a])?;
                let sq = self.fmul(x, x)?;
                let r = self.fadd(sq, one)?;
                let r = self.checked(Op::FSqrt, &[r])?;
                let s = self.fadd(x, r)?;
                let l = self.log(s)?;
                let sign = self.checked(Op::FSign, &[a])?;
                self.fmul(l, sign)
            }
        }
    }

    /// A polynomial by Horner's rule, constant term last.
    fn poly(&mut self, x: Value, coeffs: &[f64]) -> Result<Value> {
        let mut p = self.f(x, coeffs[0]);
        for &c in &coeffs[1..] {
            let c = self.f(x, c);
            p = self.checked(Op::FFma, &[p, x, c])?;
        }
        Ok(p)
    }

    /// asin(x) = sign(x) (π/2 − √(1 − |x|) P(|x|)).
    // source: Abramowitz and Stegun, Handbook of Mathematical Functions, 4.4.46
    fn asin(&mut self, a: Value) -> Result<Value> {
        const C: [f64; 8] = [
            -0.001_262_491_1,
            0.006_670_090_1,
            -0.017_088_125_6,
            0.030_891_881,
            -0.050_174_304_6,
            0.088_978_987_4,
            -0.214_598_801_6,
            1.570_796_305,
        ];
        let x = self.checked(Op::FAbs, &[a])?;
        let p = self.poly(x, &C)?;
        let one = self.f(x, 1.0);
        let r = self.fsub(one, x)?;
        let r = self.checked(Op::FSqrt, &[r])?;
        let q = self.fmul(r, p)?;
        let half_pi = self.f(x, std::f64::consts::FRAC_PI_2);
        let y = self.fsub(half_pi, q)?;
        let sign = self.checked(Op::FSign, &[a])?;
        self.fmul(y, sign)
    }

    /// atan on 0 to 1.
    // source: Abramowitz and Stegun, 4.4.49
    fn atan_to_one(&mut self, t: Value) -> Result<Value> {
        const C: [f64; 9] = [
            0.002_866_225_7,
            -0.016_165_736_7,
            0.042_909_613_8,
            -0.075_289_640_0,
            0.106_562_639_3,
            -0.142_088_994_4,
            0.199_935_508_5,
            -0.333_331_452_8,
            1.0,
        ];
        let t2 = self.fmul(t, t)?;
        let p = self.poly(t2, &C)?;
        self.fmul(p, t)
    }

    /// atan on all numbers, by the reciprocal for |x| > 1. That of 2^126 and above is flushed to
    /// zero, with the right result: π/2.
    fn atan(&mut self, a: Value) -> Result<Value> {
        let x = self.checked(Op::FAbs, &[a])?;
        let one = self.f(x, 1.0);
        let big = self.checked(Op::FLt, &[one, x])?;
        let inv = self.checked(Op::FDiv, &[one, x])?;
        let t = self.checked(Op::Select, &[big, inv, x])?;
        let p = self.atan_to_one(t)?;
        let half_pi = self.f(x, std::f64::consts::FRAC_PI_2);
        let q = self.fsub(half_pi, p)?;
        let r = self.checked(Op::Select, &[big, q, p])?;
        self.signed(r, a)
    }

    /// A number that is not negative, negated where `of` is.
    fn signed(&mut self, size: Value, of: Value) -> Result<Value> {
        if self.keeps_special(of) {
            return self.odd(size, of);
        }
        let neg = self.checked(Op::FNeg, &[size])?;
        let zero = self.f(of, 0.0);
        let lt = self.checked(Op::FLt, &[of, zero])?;
        self.checked(Op::Select, &[lt, neg, size])
    }

    /// The angle of (x, y) from that of (|x|, |y|), which is the arc tangent of the smaller
    /// coordinate divided by the larger or what that leaves of π/2.
    fn atan2(&mut self, y: Value, x: Value) -> Result<Value> {
        let (ax, ay) = (self.checked(Op::FAbs, &[x])?, self.checked(Op::FAbs, &[y])?);
        let steep = self.checked(Op::FLt, &[ax, ay])?;
        let small = self.checked(Op::Select, &[steep, ax, ay])?;
        let large = self.checked(Op::Select, &[steep, ay, ax])?;
        // The reciprocal of 2^126 and above would be flushed to zero, of 16 bits from 2^14 on. Both
        // coordinates by a factor keep the quotient.
        let (huge, factor) = if self.s.ty(x).bits() == 16 {
            (2f64.powi(12), 0.25)
        } else {
            (2f64.powi(100), 2f64.powi(-28))
        };
        let huge = self.f(x, huge);
        let is_huge = self.checked(Op::FLt, &[huge, large])?;
        let (factor, one) = (self.f(x, factor), self.f(x, 1.0));
        let factor = self.checked(Op::Select, &[is_huge, factor, one])?;
        let (n, d) = (self.fmul(small, factor)?, self.fmul(large, factor)?);
        let mut t = self.checked(Op::FDiv, &[n, d])?;
        let zero = self.f(x, 0.0);
        if self.keeps_special(x) {
            // Two infinities are equal in magnitude; their quotient is NaN.
            let equal = self.checked(Op::FEq, &[ax, ay])?;
            t = self.checked(Op::Select, &[equal, one, t])?;
        }
        // (0, 0) has the angle of its quotient 0.
        let sum = self.fadd(ax, ay)?;
        let origin = self.checked(Op::FEq, &[sum, zero])?;
        let t = self.checked(Op::Select, &[origin, zero, t])?;
        let r = self.atan_to_one(t)?;
        let half_pi = self.f(x, std::f64::consts::FRAC_PI_2);
        let rest = self.fsub(half_pi, r)?;
        let r = self.checked(Op::Select, &[steep, rest, r])?;
        let pi = self.f(x, std::f64::consts::PI);
        let rest = self.fsub(pi, r)?;
        let left = if self.keeps_special(x) {
            self.sign_bit(x)?
        } else {
            self.checked(Op::FLt, &[x, zero])?
        };
        let r = self.checked(Op::Select, &[left, rest, r])?;
        self.signed(r, y)
    }

    /// Whether a float's sign bit is set.
    fn sign_bit(&mut self, v: Value) -> Result<Value> {
        let ty = self.s.ty(v);
        let zero = self.konst(ty.elem(), 0);
        let zero = self.splat(zero, ty.comps())?;
        self.checked(Op::SLt, &[v, zero])
    }

    fn refract(&mut self, x: Value, n: Value, eta: Value) -> Result<Value> {
        let comps = self.s.ty(x).comps();
        let d = self.dot(n, x)?;
        let eta = if self.s.ty(eta) == self.s.ty(d) {
            eta
        } else {
            let ty = self.s.ty(d);
            self.convert(Op::F2F, eta, ty)?
        };
        let one = self.f(d, 1.0);
        let dd = self.fmul(d, d)?;
        let s = self.fsub(one, dd)?;
        let ee = self.fmul(eta, eta)?;
        let es = self.fmul(ee, s)?;
        let k = self.fsub(one, es)?;
        let zero = self.f(d, 0.0);
        let total = self.checked(Op::FLt, &[k, zero])?;
        let root = self.checked(Op::FSqrt, &[k])?;
        let ed = self.fmul(eta, d)?;
        let f = self.fadd(ed, root)?;
        let (ev, fv) = (self.splat(eta, comps)?, self.splat(f, comps)?);
        let (a, b) = (self.fmul(ev, x)?, self.fmul(fv, n)?);
        let r = self.fsub(a, b)?;
        let (zero, total) = (self.f(x, 0.0), self.splat(total, comps)?);
        self.checked(Op::Select, &[total, zero, r])
    }

    // ---- matrices ----

    /// The components of a square matrix, `[column][row]`.
    fn matrix(&mut self, n: usize) -> Result<Vec<Vec<Value>>> {
        let cols = self.columns(n)?;
        let m: Vec<Vec<Value>> = cols.into_iter().map(|c| self.split(c)).collect();
        if m.iter().any(|c| c.len() != m.len()) {
            return self.invalid("needs a square matrix");
        }
        Ok(m)
    }

    /// Determinant by expansion along the first column.
    fn det(&mut self, m: &[Vec<Value>]) -> Result<Value> {
        if m.len() == 1 {
            return Ok(m[0][0]);
        }
        let mut sum: Option<Value> = None;
        for r in 0..m.len() {
            let minor = minor(m, 0, r);
            let d = self.det(&minor)?;
            let p = self.fmul(m[0][r], d)?;
            sum = Some(match sum {
                None => p,
                Some(s) if r % 2 == 1 => self.fsub(s, p)?,
                Some(s) => self.fadd(s, p)?,
            });
        }
        sum.map_or_else(|| self.invalid("an empty matrix"), Ok)
    }

    /// Inverse by the adjugate.
    fn inverse(&mut self, m: &[Vec<Value>]) -> Result<Val> {
        let d = self.det(m)?;
        let one = self.f(d, 1.0);
        let inv = self.checked(Op::FDiv, &[one, d])?;
        let mut cols = Vec::new();
        for c in 0..m.len() {
            let mut col = Vec::new();
            for r in 0..m.len() {
                // The adjugate is the transposed matrix of cofactors.
                let x = self.det(&minor(m, r, c))?;
                let x = if (r + c) % 2 == 1 { self.checked(Op::FNeg, &[x])? } else { x };
                col.push(self.fmul(x, inv)?);
            }
            cols.push(Val::Ssa(self.vec(&col)?));
        }
        self.aggregate(cols)
    }

    /// A built-in as a value.
    pub fn builtin(&mut self, b: tepui_ir::Builtin, ty: Type) -> Value {
        self.emit1(Op::LoadBuiltin, Attrs::Builtin(b), &[], ty)
    }
}

/// The matrix without a column and a row.
fn minor(m: &[Vec<Value>], col: usize, row: usize) -> Vec<Vec<Value>> {
    let keep = |n: usize, skip: usize| (0..n).filter(move |&k| k != skip);
    keep(m.len(), col).map(|c| keep(m.len(), row).map(|r| m[c][r]).collect()).collect()
}
