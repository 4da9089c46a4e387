//! Operations that no AGX instruction does, in terms of those that one does.
//!
//! Runs on the IR after the machine-independent passes, so that what it makes is folded and shared like everything else.

use tepui_ir::cranelift_entity::SecondaryMap;
use tepui_ir::cranelift_entity::packed_option::PackedOption;
use tepui_ir::{Attrs, Builder, Inst, Op, Region, Shader, Type, Value};

/// Rewrites a shader; returns whether anything changed.
pub fn run(s: &mut Shader) -> bool {
    let mut pass = Legalise { names: SecondaryMap::new(), changed: false };
    let root = s.root;
    pass.region(s, root);
    pass.changed
}

struct Legalise {
    names: SecondaryMap<Value, PackedOption<Value>>,
    changed: bool,
}

impl Legalise {
    fn region(&mut self, s: &mut Shader, r: Region) {
        let insts = std::mem::take(&mut s.regions[r].insts);
        s.regions[r].insts.reserve(insts.len());
        for i in insts {
            for k in 0..s.args(i).len() {
                if let Some(new) = self.names[s.arg(i, k)].expand() {
                    s.args_mut(i)[k] = new;
                }
            }
            if s.insts[i].op.is_pure() && s.results(i).len() == 1 && self.inst(s, r, i) {
                self.changed = true;
                continue;
            }
            s.regions[r].insts.push(i);
            for q in s.inst_regions(i) {
                self.region(s, q);
            }
        }
    }

    /// Appends what stands for an instruction; false if it may stay.
    fn inst(&mut self, s: &mut Shader, r: Region, i: Inst) -> bool {
        let old = s.result(i);
        let d = &s.insts[i];
        let (op, loc, flags, attrs) = (d.op, d.loc, d.flags, d.attrs);
        let args: Vec<Value> = s.args(i).to_vec();
        let ty = s.ty(old);
        let mut e = Emit(Builder::at(s, r));
        e.0.loc = loc;
        e.0.flags = flags;
        let new = if ty.is_scalar() && args.iter().all(|&a| e.ty(a).is_scalar()) {
            e.scalar(op, &args, ty)
        } else {
            e.vector(op, attrs, &args, ty)
        };
        match new {
            Some(new) => {
                self.names[old] = new.into();
                true
            }
            None => false,
        }
    }
}

struct Emit<'a>(Builder<'a>);

impl Emit<'_> {
    fn ty(&self, v: Value) -> Type {
        self.0.shader.ty(v)
    }

    fn constant(&self, v: Value) -> Option<u64> {
        self.0.shader.as_const(v)
    }

    fn op(&mut self, op: Op, args: &[Value]) -> Value {
        self.0.alu(op, args)
    }

    fn bits(&mut self, ty: Type, x: u64) -> Value {
        self.0.const_bits(ty, x)
    }

    fn u32(&mut self, x: u32) -> Value {
        self.0.u32(x)
    }

    fn f32(&mut self, x: f32) -> Value {
        self.0.f32(x)
    }

    fn float(&mut self, ty: Type, x: f64) -> Value {
        let bits = tepui_passes::simplify::float_bits(ty.bits(), x);
        self.bits(ty, bits)
    }

    fn select(&mut self, c: Value, a: Value, b: Value) -> Value {
        self.op(Op::Select, &[c, a, b])
    }

    /// A 16-bit float op done in 32 bits.
    fn widened(&mut self, op: Op, args: &[Value]) -> Option<Value> {
        let wide: Vec<Value> = args.iter().map(|&a| self.0.convert(Op::F2F, a, 32)).collect();
        let r = match self.scalar(op, &wide, Type::B32) {
            Some(r) => r,
            None => self.op(op, &wide),
        };
        Some(self.0.convert(Op::F2F, r, 16))
    }

    fn scalar(&mut self, op: Op, args: &[Value], ty: Type) -> Option<Value> {
        let a = *args.first()?;
        let at = self.ty(a);
        if at.bits() == 64 {
            return None;
        }
        Some(match (op, args) {
            (Op::FDiv | Op::FRem | Op::FMod | Op::FPow | Op::FSin | Op::FCos, _)
                if at.bits() == 16 =>
            {
                return self.widened(op, args);
            }
            (Op::FLdexp, &[a, b]) if at.bits() == 16 => {
                let wide = self.0.convert(Op::F2F, a, 32);
                let r = self.ldexp(wide, b);
                self.0.convert(Op::F2F, r, 16)
            }
            (Op::FDiv, &[a, b]) => {
                let r = self.op(Op::FRcp, &[b]);
                self.op(Op::FMul, &[a, r])
            }
            (Op::FRem | Op::FMod, &[a, b]) => {
                let r = self.op(Op::FRcp, &[b]);
                let q = self.op(Op::FMul, &[a, r]);
                let q = self.op(if op == Op::FRem { Op::FTrunc } else { Op::FFloor }, &[q]);
                let n = self.op(Op::FNeg, &[q]);
                self.op(Op::FFma, &[n, b, a])
            }
            (Op::FPow, &[a, b]) => {
                let l = self.op(Op::FLog2, &[a]);
                let m = self.op(Op::FMul, &[l, b]);
                self.op(Op::FExp2, &[m])
            }
            (Op::FSign, _) => {
                let (zero, one, minus) =
                    (self.float(ty, 0.0), self.float(ty, 1.0), self.float(ty, -1.0));
                let above = self.op(Op::FLt, &[zero, a]);
                let x = self.select(above, one, a);
                let below = self.op(Op::FLt, &[x, zero]);
                self.select(below, minus, x)
            }
            (Op::FFract, _) => {
                let f = self.op(Op::FFloor, &[a]);
                self.op(Op::FSub, &[a, f])
            }
            (Op::FLdexp, &[a, b]) => self.ldexp(a, b),
            (Op::FFrexpSig, _) if at.bits() == 32 => {
                let (keep, half) = (self.u32(0x807f_ffff), self.u32(0x3f00_0000));
                let m = self.op(Op::IAnd, &[a, keep]);
                let m = self.op(Op::IOr, &[m, half]);
                let special = self.frexp_special(a);
                self.select(special, a, m)
            }
            (Op::FFrexpExp, _) if at.bits() == 32 => {
                let (at, count, bias, zero) =
                    (self.u32(23), self.u32(8), self.u32(126), self.u32(0));
                let e = self.op(Op::UBitExtract, &[a, at, count]);
                let e = self.op(Op::ISub, &[e, bias]);
                let special = self.frexp_special(a);
                self.select(special, zero, e)
            }
            (Op::FFrexpSig | Op::FFrexpExp, _) => {
                let wide = self.0.convert(Op::F2F, a, 32);
                let r = self.scalar(op, &[wide], Type::B32)?;
                if op == Op::FFrexpSig { self.0.convert(Op::F2F, r, 16) } else { r }
            }
            (Op::FQuantize16, _) => {
                let h = self.0.convert(Op::F2F, a, 16);
                let back = self.0.convert(Op::F2F, h, 32);
                let size = self.op(Op::FAbs, &[back]);
                let least = self.f32(6.103_515_6e-5);
                let small = self.op(Op::FLt, &[size, least]);
                let sign = self.u32(0x8000_0000);
                let zero = self.op(Op::IAnd, &[a, sign]);
                self.select(small, zero, back)
            }
            (Op::F2FRtz, _) if at.bits() == 32 && ty.bits() == 16 => {
                let h = self.0.convert(Op::F2F, a, 16);
                let back = self.0.convert(Op::F2F, h, 32);
                let (x, y) = (self.op(Op::FAbs, &[back]), self.op(Op::FAbs, &[a]));
                let over = self.op(Op::FLt, &[y, x]);
                let (inf, one) = (self.f32(f32::INFINITY), self.bits(ty, 1));
                let finite = self.op(Op::FLt, &[y, inf]);
                let over = self.op(Op::IAnd, &[over, finite]);
                let down = self.op(Op::ISub, &[h, one]);
                self.select(over, down, h)
            }
            (Op::F2S, _) if ty.bits() == 8 => {
                let x = self.0.value(op, Attrs::None, &[a], Type::B32);
                let (lo, hi) = (self.u32(-128i32 as u32), self.u32(127));
                let x = self.op(Op::SMax, &[x, lo]);
                let x = self.op(Op::SMin, &[x, hi]);
                self.0.convert(Op::U2U, x, 8)
            }
            (Op::F2U, _) if ty.bits() == 8 => {
                let x = self.0.value(op, Attrs::None, &[a], Type::B32);
                let hi = self.u32(255);
                let x = self.op(Op::UMin, &[x, hi]);
                self.0.convert(Op::U2U, x, 8)
            }
            (Op::F2FRtz, _) => self.0.convert(Op::F2F, a, ty.bits()),
            (Op::UDiv | Op::UMod, &[a, b]) if at.bits() == 32 => self.udiv(a, b, op == Op::UMod),
            (Op::SDiv | Op::SRem | Op::SMod, &[a, b]) if at.bits() == 32 => self.sdiv(op, a, b),
            (Op::UDiv | Op::UMod, &[a, b]) => {
                let (a, b) = (self.0.convert(Op::U2U, a, 32), self.0.convert(Op::U2U, b, 32));
                let r = self.udiv(a, b, op == Op::UMod);
                self.0.convert(Op::U2U, r, ty.bits())
            }
            (Op::SDiv | Op::SRem | Op::SMod, &[a, b]) => {
                let (a, b) = (self.0.convert(Op::S2S, a, 32), self.0.convert(Op::S2S, b, 32));
                let r = self.sdiv(op, a, b);
                self.0.convert(Op::U2U, r, ty.bits())
            }
            (Op::UMulHi | Op::SMulHi, &[a, b]) if at.bits() < 32 => {
                let ext = if op == Op::SMulHi { Op::S2S } else { Op::U2U };
                let (a, b) = (self.0.convert(ext, a, 32), self.0.convert(ext, b, 32));
                let p = self.op(Op::IMul, &[a, b]);
                let n = self.u32(u32::from(at.bits()));
                let p = self.op(Op::UShr, &[p, n]);
                self.0.convert(Op::U2U, p, ty.bits())
            }
            (Op::UAddCarry, &[a, b]) => {
                let sum = self.op(Op::IAdd, &[a, b]);
                let c = self.op(Op::ULt, &[sum, a]);
                self.0.value(Op::B2I, Attrs::None, &[c], ty)
            }
            (Op::USubBorrow, &[a, b]) => {
                let c = self.op(Op::ULt, &[a, b]);
                self.0.value(Op::B2I, Attrs::None, &[c], ty)
            }
            (Op::IAbs, _) => {
                let n = self.op(Op::INeg, &[a]);
                self.op(Op::SMax, &[a, n])
            }
            (Op::ISign, _) => {
                let (one, minus) = (self.bits(ty, 1), self.bits(ty, ty.mask()));
                let x = self.op(Op::SMax, &[a, minus]);
                self.op(Op::SMin, &[x, one])
            }
            (Op::FindLsb, _) => {
                let n = self.op(Op::INeg, &[a]);
                let bit = self.op(Op::IAnd, &[a, n]);
                self.op(Op::UFindMsb, &[bit])
            }
            (Op::SFindMsb, _) => {
                let wide = if at.bits() == 32 { a } else { self.0.convert(Op::S2S, a, 32) };
                let n = self.u32(31);
                let sign = self.op(Op::SShr, &[wide, n]);
                let x = self.op(Op::IXor, &[wide, sign]);
                self.op(Op::UFindMsb, &[x])
            }
            (Op::BitReverse, _) if at.bits() < 32 => {
                let wide = self.0.convert(Op::U2U, a, 32);
                let x = self.op(Op::BitReverse, &[wide]);
                let n = self.u32(32 - u32::from(at.bits()));
                let x = self.op(Op::UShr, &[x, n]);
                self.0.convert(Op::U2U, x, ty.bits())
            }
            (Op::BitInsert, &[base, ins, off, cnt]) => {
                if ty.bits() == 32 && self.constant(cnt).is_some() {
                    return None;
                }
                let m = self.ones(cnt, ty);
                let m = self.op(Op::IShl, &[m, off]);
                let m = self.inside(off, m, ty);
                let x = self.op(Op::IShl, &[ins, off]);
                let x = self.op(Op::IAnd, &[x, m]);
                let not = self.op(Op::INot, &[m]);
                let y = self.op(Op::IAnd, &[base, not]);
                self.op(Op::IOr, &[x, y])
            }
            (Op::UBitExtract, &[base, off, cnt]) => {
                if ty.bits() == 32 && self.constant(cnt).is_some() {
                    return None;
                }
                let x = self.op(Op::UShr, &[base, off]);
                let m = self.ones(cnt, ty);
                let x = self.op(Op::IAnd, &[x, m]);
                self.inside(off, x, ty)
            }
            (Op::SBitExtract, &[base, off, cnt]) => {
                // The field, cut at the top, moved to the top, then down again.
                let n = u32::from(ty.bits());
                let known = |v| self.constant(v).map(|c| c as u32);
                if let (Some(off), Some(cnt)) = (known(off), known(cnt)) {
                    let end = off.saturating_add(cnt).min(n);
                    if end <= off {
                        return Some(self.bits(ty, 0));
                    }
                    let (left, right) = (self.u32(n - end), self.u32(n - end + off));
                    let x = self.op(Op::IShl, &[base, left]);
                    return Some(self.op(Op::SShr, &[x, right]));
                }
                let width = self.u32(n);
                let end = self.op(Op::UAddSat, &[off, cnt]);
                let end = self.op(Op::UMin, &[end, width]);
                let left = self.op(Op::ISub, &[width, end]);
                let right = self.op(Op::IAdd, &[left, off]);
                let x = self.op(Op::IShl, &[base, left]);
                let x = self.op(Op::SShr, &[x, right]);
                let zero = self.bits(ty, 0);
                let empty = self.op(Op::UGe, &[off, end]);
                self.select(empty, zero, x)
            }
            _ => return None,
        })
    }

    /// `x` where a field begins inside of the value, else 0.
    fn inside(&mut self, off: Value, x: Value, ty: Type) -> Value {
        let n = u64::from(ty.bits());
        match self.constant(off) {
            Some(c) if c < n => x,
            _ => {
                let (n, zero) = (self.u32(n as u32), self.bits(ty, 0));
                let inside = self.op(Op::ULt, &[off, n]);
                self.select(inside, x, zero)
            }
        }
    }

    /// `cnt` ones, for `cnt` up to the width of `ty`.
    fn ones(&mut self, cnt: Value, ty: Type) -> Value {
        let (one, all, n) =
            (self.bits(ty, 1), self.bits(ty, ty.mask()), self.u32(u32::from(ty.bits())));
        let x = self.op(Op::IShl, &[one, cnt]);
        let x = self.op(Op::ISub, &[x, one]);
        let partial = self.op(Op::ULt, &[cnt, n]);
        self.select(partial, x, all)
    }

    /// Zero (denormals too), infinite or NaN: frexp leaves those alone.
    fn frexp_special(&mut self, a: Value) -> Value {
        let (at, count, max, one, zero) =
            (self.u32(23), self.u32(8), self.u32(254), self.u32(1), self.u32(0));
        let _ = zero;
        let e = self.op(Op::UBitExtract, &[a, at, count]);
        let e = self.op(Op::ISub, &[e, one]);
        self.op(Op::UGe, &[e, max])
    }

    /// In two steps, each within the range of normal exponents.
    fn ldexp(&mut self, a: Value, b: Value) -> Value {
        let (lo, hi, one) = (self.u32(-252i32 as u32), self.u32(254), self.u32(1));
        let b = self.op(Op::SMax, &[b, lo]);
        let b = self.op(Op::SMin, &[b, hi]);
        let half = self.op(Op::SShr, &[b, one]);
        let rest = self.op(Op::ISub, &[b, half]);
        let x = self.power(half);
        let y = self.power(rest);
        let x = self.op(Op::FMul, &[a, x]);
        self.op(Op::FMul, &[x, y])
    }

    /// 2^n for -126 <= n <= 127.
    fn power(&mut self, n: Value) -> Value {
        let (bias, at) = (self.u32(127), self.u32(23));
        let e = self.op(Op::IAdd, &[n, bias]);
        self.op(Op::IShl, &[e, at])
    }

    /// Unsigned division: by a constant as a multiplication, else by the reciprocal in floats, improved once and
    /// corrected twice.
    /// source: the method of AMD's and Mesa's drivers for GPUs without integer division (nir_lower_idiv.c)
    fn udiv(&mut self, n: Value, d: Value, modulo: bool) -> Value {
        if let Some(c) = self.constant(d).filter(|c| *c > 1) {
            let q = self.udiv_const(n, c as u32);
            if !modulo {
                return q;
            }
            let p = self.op(Op::IMul, &[q, d]);
            return self.op(Op::ISub, &[n, p]);
        }
        let f = self.0.value(Op::U2F, Attrs::None, &[d], Type::B32);
        let r = self.op(Op::FRcp, &[f]);
        let scale = self.u32(0x4f7f_fffe);
        let r = self.op(Op::FMul, &[r, scale]);
        let r = self.0.value(Op::F2U, Attrs::None, &[r], Type::B32);
        let p = self.op(Op::IMul, &[r, d]);
        let e = self.op(Op::INeg, &[p]);
        let h = self.op(Op::UMulHi, &[r, e]);
        let r = self.op(Op::IAdd, &[r, h]);
        let q = self.op(Op::UMulHi, &[n, r]);
        let p = self.op(Op::IMul, &[q, d]);
        let rem = self.op(Op::ISub, &[n, p]);
        let one = self.u32(1);
        if modulo {
            let less = self.op(Op::ISub, &[rem, d]);
            let over = self.op(Op::UGe, &[rem, d]);
            let rem = self.select(over, less, rem);
            let less = self.op(Op::ISub, &[rem, d]);
            let over = self.op(Op::UGe, &[rem, d]);
            return self.select(over, less, rem);
        }
        let over = self.op(Op::UGe, &[rem, d]);
        let less = self.op(Op::ISub, &[rem, d]);
        let rem = self.select(over, less, rem);
        let more = self.op(Op::IAdd, &[q, one]);
        let q = self.select(over, more, q);
        let over = self.op(Op::UGe, &[rem, d]);
        let more = self.op(Op::IAdd, &[q, one]);
        self.select(over, more, q)
    }

    /// `n / c` as a product with the rounded-up reciprocal. source: Granlund and Montgomery, "Division by
    /// Invariant Integers using Multiplication", figure 4.1
    fn udiv_const(&mut self, n: Value, c: u32) -> Value {
        if c.is_power_of_two() {
            let k = self.u32(c.trailing_zeros());
            return self.op(Op::UShr, &[n, k]);
        }
        let l = 32 - (c - 1).leading_zeros();
        let m = ((1u64 << 32) * ((1u64 << l) - u64::from(c)) / u64::from(c) + 1) as u32;
        // The multiplier is 2^32 + m. Where m itself with a smaller shift is exact, the sum is not needed.
        for k in 0..l {
            let power = 1u128 << (32 + k);
            let mul = power.div_ceil(u128::from(c));
            if mul < 1 << 32 && (mul * u128::from(c) - power) <= 1 << k {
                let mul = self.u32(mul as u32);
                let h = self.op(Op::UMulHi, &[n, mul]);
                let k = self.u32(k);
                return self.op(Op::UShr, &[h, k]);
            }
        }
        let m = self.u32(m);
        let t = self.op(Op::UMulHi, &[n, m]);
        let d = self.op(Op::ISub, &[n, t]);
        let one = self.u32(1);
        let d = self.op(Op::UShr, &[d, one]);
        let s = self.op(Op::IAdd, &[t, d]);
        let k = self.u32(l - 1);
        self.op(Op::UShr, &[s, k])
    }

    fn sdiv(&mut self, op: Op, a: Value, b: Value) -> Value {
        let n = self.u32(31);
        let (na, nb) = (self.op(Op::INeg, &[a]), self.op(Op::INeg, &[b]));
        let (x, y) = (self.op(Op::SMax, &[a, na]), self.op(Op::SMax, &[b, nb]));
        // The magnitude of a constant is a constant.
        let y = match self.constant(b) {
            Some(c) => self.u32((c as u32 as i32).unsigned_abs()),
            None => y,
        };
        let sign = self.op(Op::SShr, &[a, n]);
        if op == Op::SDiv {
            let q = self.udiv(x, y, false);
            let t = self.op(Op::IXor, &[a, b]);
            let t = self.op(Op::SShr, &[t, n]);
            let q = self.op(Op::IXor, &[q, t]);
            return self.op(Op::ISub, &[q, t]);
        }
        let r = self.udiv(x, y, true);
        let r = self.op(Op::IXor, &[r, sign]);
        let r = self.op(Op::ISub, &[r, sign]);
        if op == Op::SRem {
            return r;
        }
        // Modulo has the divisor's sign.
        let zero = self.u32(0);
        let t = self.op(Op::IXor, &[r, b]);
        let differs = self.op(Op::SLt, &[t, zero]);
        let some = self.op(Op::INe, &[r, zero]);
        let fix = self.op(Op::IAnd, &[differs, some]);
        let sum = self.op(Op::IAdd, &[r, b]);
        self.select(fix, sum, r)
    }

    fn part(&mut self, v: Value, k: u32) -> Value {
        let ty = self.ty(v).elem();
        self.0.value(Op::Extract, Attrs::Index(k), &[v], ty)
    }

    /// Ops on vectors that are not element-wise.
    fn vector(&mut self, op: Op, attrs: Attrs, args: &[Value], ty: Type) -> Option<Value> {
        let _ = attrs;
        let a = *args.first()?;
        let n = u32::from(self.ty(a).comps());
        Some(match op {
            Op::FDot => {
                let mut sum = None;
                for k in 0..n {
                    let (x, y) = (self.part(a, k), self.part(args[1], k));
                    let p = self.op(Op::FMul, &[x, y]);
                    sum = Some(match sum {
                        None => p,
                        Some(s) => self.op(Op::FAdd, &[s, p]),
                    });
                }
                sum?
            }
            Op::BAny | Op::BAll => {
                let join = if op == Op::BAny { Op::IOr } else { Op::IAnd };
                let mut all = self.part(a, 0);
                for k in 1..n {
                    let x = self.part(a, k);
                    all = self.op(join, &[all, x]);
                }
                all
            }
            Op::ExtractDyn => {
                let index = args[1];
                let mut r = self.bits(ty, 0);
                for k in 0..n {
                    let (x, at) = (self.part(a, k), self.u32(k));
                    let here = self.op(Op::IEq, &[index, at]);
                    r = self.select(here, x, r);
                }
                r
            }
            Op::InsertDyn => {
                let mut parts = Vec::new();
                for k in 0..n {
                    let (x, at) = (self.part(a, k), self.u32(k));
                    let here = self.op(Op::IEq, &[args[2], at]);
                    parts.push(self.select(here, args[1], x));
                }
                self.0.vec(&parts)
            }
            Op::PackHalf2x16 => {
                let parts = [0, 1].map(|k| {
                    let x = self.part(a, k);
                    self.0.convert(Op::F2F, x, 16)
                });
                let v = self.0.vec(&parts);
                self.0.value(Op::Bitcast, Attrs::None, &[v], Type::B32)
            }
            Op::UnpackHalf2x16 => {
                let halves = self.0.value(Op::Bitcast, Attrs::None, &[a], Type::vec(16, 2));
                let parts = [0, 1].map(|k| {
                    let x = self.part(halves, k);
                    self.0.convert(Op::F2F, x, 32)
                });
                self.0.vec(&parts)
            }
            Op::PackSnorm2x16 | Op::PackUnorm2x16 | Op::PackSnorm4x8 | Op::PackUnorm4x8 => {
                let signed = matches!(op, Op::PackSnorm2x16 | Op::PackSnorm4x8);
                let bits = 32 / n;
                let max = ((1u64 << (bits - u32::from(signed))) - 1) as f32;
                let mut word = None;
                for k in 0..n {
                    let x = self.part(a, k);
                    let x = if signed {
                        let (lo, hi) = (self.f32(-1.0), self.f32(1.0));
                        let x = self.op(Op::FMax, &[x, lo]);
                        self.op(Op::FMin, &[x, hi])
                    } else {
                        self.op(Op::FSat, &[x])
                    };
                    let m = self.f32(max);
                    let x = self.op(Op::FMul, &[x, m]);
                    let x = self.op(Op::FRoundEven, &[x]);
                    let to = if signed { Op::F2S } else { Op::F2U };
                    let x = self.0.value(to, Attrs::None, &[x], Type::B32);
                    word = Some(match word {
                        None if !signed => x,
                        None => {
                            let m = self.u32((1 << bits) - 1);
                            self.op(Op::IAnd, &[x, m])
                        }
                        Some(w) => {
                            let (at, count) = (self.u32(k * bits), self.u32(bits));
                            self.op(Op::BitInsert, &[w, x, at, count])
                        }
                    });
                }
                word?
            }
            Op::UnpackSnorm2x16 | Op::UnpackUnorm2x16 | Op::UnpackSnorm4x8 | Op::UnpackUnorm4x8 => {
                let signed = matches!(op, Op::UnpackSnorm2x16 | Op::UnpackSnorm4x8);
                let count = u32::from(ty.comps());
                let bits = 32 / count;
                let max = ((1u64 << (bits - u32::from(signed))) - 1) as f32;
                let mut parts = Vec::new();
                for k in 0..count {
                    let (at, width) = (self.u32(k * bits), self.u32(bits));
                    let get = if signed { Op::SBitExtract } else { Op::UBitExtract };
                    let x = self.op(get, &[a, at, width]);
                    let x = match self.scalar(get, &[a, at, width], Type::B32) {
                        Some(x) => x,
                        None => x,
                    };
                    let from = if signed { Op::S2F } else { Op::U2F };
                    let x = self.0.value(from, Attrs::None, &[x], Type::B32);
                    let m = self.f32(1.0 / max);
                    let mut x = self.op(Op::FMul, &[x, m]);
                    if signed {
                        let lo = self.f32(-1.0);
                        x = self.op(Op::FMax, &[x, lo]);
                    }
                    parts.push(x);
                }
                self.0.vec(&parts)
            }
            _ => return None,
        })
    }
}
