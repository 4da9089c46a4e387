//! Lowers arithmetic that a GPU lacks to simpler operations; each family of operations has a flag.
//!
//! Works on scalars of up to 32 bits (64-bit integers: [`crate::lower_int64`], or [`run_long`]).
//! Integer lowerings are bit-exact, except for x / 0 and x mod 0, which shading languages leave
//! undefined. Float lowerings keep the precision that Vulkan requires.

use crate::rewrite::{self, Emit, Lowering, Step};
use bitflags::bitflags;
use tepui_ir::{Attrs, Inst, InstFlags, Op, Shader, Type, Value};

mod divide;
mod pack;

bitflags! {
    /// Families of ops to lower.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Alu: u32 {
        /// `fdiv` to a product with the reciprocal.
        const FDIV = 1 << 0;
        /// `frem`, `fmod`.
        const FREM = 1 << 1;
        /// `fpow` to `flog2` and `fexp2`.
        const FPOW = 1 << 2;
        /// `fsign`.
        const FSIGN = 1 << 3;
        /// `ffract`.
        const FFRACT = 1 << 4;
        /// `fldexp`.
        const FLDEXP = 1 << 5;
        /// `ffrexp_sig`, `ffrexp_exp`.
        const FFREXP = 1 << 6;
        /// `fquantize16`.
        const FQUANTIZE = 1 << 7;
        /// `f2f_rtz`.
        const F2F_RTZ = 1 << 8;
        /// `fsat` to `fmin` and `fmax`.
        const FSAT = 1 << 9;
        /// Division and remainder by constants, to a product and shifts.
        const DIV_CONST = 1 << 10;
        /// Division and remainder by variables, through the float reciprocal.
        const DIV = 1 << 11;
        /// `iabs`, `isign`.
        const ISIGN = 1 << 12;
        /// `uadd_carry`, `usub_borrow`.
        const CARRY = 1 << 13;
        /// `uadd_sat` and its kin.
        const SATURATE = 1 << 14;
        /// `find_lsb`.
        const FIND_LSB = 1 << 15;
        /// `ufind_msb` to a bit count.
        const UFIND_MSB = 1 << 16;
        /// `sfind_msb` to `ufind_msb`.
        const SFIND_MSB = 1 << 17;
        /// `bit_count`.
        const BIT_COUNT = 1 << 18;
        /// `bit_reverse`.
        const BIT_REVERSE = 1 << 19;
        /// `bit_insert`.
        const BIT_INSERT = 1 << 20;
        /// `ubit_extract`, `sbit_extract`.
        const BIT_EXTRACT = 1 << 21;
        /// `pack_…` and `unpack_…`.
        const PACK = 1 << 22;
        /// Integer minimum and maximum to a comparison and `select`.
        const IMINMAX = 1 << 23;
        /// `umul_hi` and `smul_hi` of 32 bits to 16-bit products.
        const MUL_HI = 1 << 24;
        /// `umul_hi`, `smul_hi` and `bit_reverse` of fewer than 32 bits to those of 32.
        const NARROW = 1 << 25;
        /// `bit_insert` and `ubit_extract` of a variable width or of other than 32 bits, and every
        /// `sbit_extract`.
        const BIT_FIELD = 1 << 26;
        /// 16-bit division, remainder, power, sine and cosine to those of 32 bits.
        const HALF_SPECIAL = 1 << 27;
        /// `f2s` and `f2u` to 8 bits, to those of 32 bits.
        const TO_INT8 = 1 << 28;
        /// `extract_dyn` and `insert_dyn` to selects.
        const DYNAMIC = 1 << 29;
        /// `bit_interleave` to shifts.
        const INTERLEAVE = 1 << 30;
        /// `fmin` and `fmax` that must take -0 for less than 0, to selects: the hardware's take them for equal.
        const FMINMAX_ZEROS = 1 << 31;
    }
}

/// Runs the pass.
pub fn run(s: &mut Shader, lower: Alu) -> bool {
    rewrite::run(s, &mut Pass(lower, false))
}

/// Runs the pass including 64-bit integers, for the families that support any size: not division, bit
/// counts and products.
pub fn run_long(s: &mut Shader, lower: Alu) -> bool {
    rewrite::run(s, &mut Pass(lower, true))
}

/// The families, and whether 64-bit integers are lowered, too.
struct Pass(Alu, bool);

/// A value that is a number, and whether it may be zero with a sign bit, or without.
type Number = (Value, Option<bool>);

/// A value as one that is certainly a number: a constant, a converted integer, or a selection of constants.
fn number(s: &Shader, v: Value) -> Option<Number> {
    let i = s.def_inst(v)?;
    let zero = match s.insts[i].op {
        Op::Const => {
            let (sign, infinity) = match s.ty(v).bits() {
                16 => (1 << 15, 0x7c00),
                _ => (1 << 31, 0x7f80_0000),
            };
            let bits = s.as_const(v)?;
            let size = bits & (sign - 1);
            if size > infinity {
                return None;
            }
            (size == 0).then_some(bits & sign != 0)
        }
        Op::U2F | Op::S2F => Some(false),
        Op::Select => {
            let [x, y] = [1, 2].map(|k| s.as_const(s.arg(i, k)).and(number(s, s.arg(i, k))));
            match (x?.1, y?.1) {
                (None, zero) | (zero, None) => zero,
                (x, y) if x == y => x,
                _ => return None,
            }
        }
        _ => return None,
    };
    Some((v, zero))
}

/// The smaller or the larger of a variable and a number, which is the result if the variable is NaN. Of two zeros, the comparison
/// holds if the variable is the right one or has the same bits.
fn extreme(e: &mut Emit, op: Op, variable: Value, (number, zero): Number) -> Value {
    let [x, y] = if op == Op::FMin { [variable, number] } else { [number, variable] };
    let wins = match zero == Some(op == Op::FMin) {
        true => e.op(Op::FLt, &[x, y]),
        false => e.op(Op::FGe, &[y, x]),
    };
    e.select(wins, variable, number)
}

/// The smaller or the larger of two values; a NaN gives the other.
fn extreme_of_variables(e: &mut Emit, op: Op, a: Value, b: Value) -> Value {
    let (merge, x, y) = if op == Op::FMin { (Op::IOr, a, b) } else { (Op::IAnd, b, a) };
    let less = e.op(Op::FLt, &[x, y]);
    let number = e.op(Op::FEq, &[b, b]);
    let other = e.select(number, b, a);
    let extreme = e.select(less, a, other);
    // Two zeros: the sign bit of either, or of both.
    let equal = e.op(Op::FEq, &[a, b]);
    let merged = e.op(merge, &[a, b]);
    e.select(equal, merged, extreme)
}

impl Lowering for Pass {
    fn wants(&self, s: &Shader, i: Inst) -> bool {
        (1..=4).contains(&s.args(i).len()) && s.results(i).len() == 1 && s.insts[i].op.is_pure()
    }

    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let op = e.s.insts[i].op;
        let (args, r) = (e.s.args(i), e.s.result(i));
        let mut a = [args[0]; 4];
        a[..args.len()].copy_from_slice(args);
        let ty = e.ty(r);
        if self.0.contains(Alu::PACK)
            && let Some(v) = pack::lower(e, op, a[0], ty)
        {
            return Step::Replace(vec![v]);
        }
        if self.0.contains(Alu::DYNAMIC)
            && let Some(v) = dynamic(e, op, a, ty)
        {
            return Step::Replace(vec![v]);
        }
        let scalar = ty.is_scalar() && e.ty(a[0]).is_scalar();
        let long = e.ty(a[0]).bits() == 64 || ty.bits() == 64;
        if !scalar || (long && !self.1) {
            return Step::Keep;
        }
        match self.scalar(e, op, a, ty) {
            Some(v) => Step::Replace(vec![v]),
            None => Step::Keep,
        }
    }
}

/// Integer constant of the size of `ty`.
fn int(e: &mut Emit, ty: Type, x: u64) -> Value {
    e.konst(ty, x)
}

/// The low 16 bits of a number with a zero above each.
fn apart(e: &mut Emit, v: Value) -> Value {
    let low = e.u32(0xffff);
    let v = e.op(Op::IAnd, &[v, low]);
    [(8, 0x00ff_00ff), (4, 0x0f0f_0f0f), (2, 0x3333_3333), (1, 0x5555_5555)].into_iter().fold(
        v,
        |v, (n, mask)| {
            let (shift, mask) = (e.u32(n), e.u32(mask));
            let up = e.op(Op::IShl, &[v, shift]);
            let both = e.op(Op::IOr, &[v, up]);
            e.op(Op::IAnd, &[both, mask])
        },
    )
}

fn bits_of(e: &Emit, v: Value) -> u64 {
    u64::from(e.ty(v).bits())
}

impl Pass {
    /// An op, or its lowering when it is to be lowered as well.
    fn op(&self, e: &mut Emit, op: Op, args: &[Value]) -> Value {
        let Some(ty) = tepui_ir::builder::infer(e.s, op, args) else { return e.op(op, args) };
        let mut a = [args[0]; 4];
        a[..args.len()].copy_from_slice(args);
        match self.scalar(e, op, a, ty) {
            Some(v) => v,
            None => e.op(op, args),
        }
    }

    fn scalar(&self, e: &mut Emit, op: Op, [a, b, c, d]: [Value; 4], ty: Type) -> Option<Value> {
        let on = |f: Alu| self.0.contains(f);
        let at = e.ty(a);
        if on(Alu::HALF_SPECIAL) && at.bits() == 16 {
            let wide = match op {
                Op::FSin | Op::FCos => vec![e.convert(Op::F2F, a, Type::B32)],
                Op::FDiv | Op::FRem | Op::FMod | Op::FPow => {
                    vec![e.convert(Op::F2F, a, Type::B32), e.convert(Op::F2F, b, Type::B32)]
                }
                _ => Vec::new(),
            };
            if !wide.is_empty() {
                let r = self.op(e, op, &wide);
                return Some(e.convert(Op::F2F, r, ty));
            }
        }
        Some(match op {
            Op::FDiv if on(Alu::FDIV) => {
                let r = e.op(Op::FRcp, &[b]);
                e.op(Op::FMul, &[a, r])
            }
            Op::FRem | Op::FMod if on(Alu::FREM) => {
                let q = self.op(e, Op::FDiv, &[a, b]);
                let q = e.op(if op == Op::FRem { Op::FTrunc } else { Op::FFloor }, &[q]);
                let n = e.op(Op::FNeg, &[q]);
                e.op(Op::FFma, &[n, b, a])
            }
            Op::FPow if on(Alu::FPOW) => {
                let l = e.op(Op::FLog2, &[a]);
                let m = e.op(Op::FMul, &[l, b]);
                e.op(Op::FExp2, &[m])
            }
            Op::FSign if on(Alu::FSIGN) => {
                let (zero, one, minus) = (e.float(ty, 0.0), e.float(ty, 1.0), e.float(ty, -1.0));
                let above = e.op(Op::FLt, &[zero, a]);
                let below = e.op(Op::FLt, &[a, zero]);
                // Zero keeps its sign; NaN gives zero.
                let equal = e.op(Op::FEq, &[a, zero]);
                let x = e.select(equal, a, zero);
                let x = e.select(below, minus, x);
                e.select(above, one, x)
            }
            Op::FFract if on(Alu::FFRACT) => {
                let f = e.op(Op::FFloor, &[a]);
                e.op(Op::FSub, &[a, f])
            }
            Op::FMin | Op::FMax
                if on(Alu::FMINMAX_ZEROS) && e.flags.contains(InstFlags::STRICT) =>
            {
                let v = match number(e.s, a).or_else(|| number(e.s, b)) {
                    Some(number) => extreme(e, op, if number.0 == a { b } else { a }, number),
                    None => extreme_of_variables(e, op, a, b),
                };
                if e.s.info.float_controls(ty.bits()).is_some_and(|f| f.denorm_flush) {
                    let nothing = e.float(ty, -0.0);
                    return Some(e.op(Op::FAdd, &[v, nothing]));
                }
                v
            }
            Op::FSat if on(Alu::FSAT) => {
                let (zero, one) = (e.float(ty, 0.0), e.float(ty, 1.0));
                let x = e.op(Op::FMax, &[a, zero]);
                e.op(Op::FMin, &[x, one])
            }
            Op::FLdexp if on(Alu::FLDEXP) => ldexp(e, a, b),
            Op::FFrexpSig | Op::FFrexpExp if on(Alu::FFREXP) => frexp(e, op, a),
            Op::FQuantize16 if on(Alu::FQUANTIZE) => {
                let h = e.convert(Op::F2F, a, Type::B16);
                let back = e.convert(Op::F2F, h, Type::B32);
                let size = e.op(Op::FAbs, &[a]);
                // Results below the smallest normal 16-bit number are flushed.
                let least = e.f32(f32::from_bits(0x387f_e000));
                let keep = e.op(Op::FGe, &[size, least]);
                let nan = e.op(Op::FNeu, &[a, a]);
                let keep = e.op(Op::IOr, &[keep, nan]);
                let sign = e.u32(0x8000_0000);
                let zero = e.op(Op::IAnd, &[a, sign]);
                e.select(keep, back, zero)
            }
            Op::F2FRtz if on(Alu::F2F_RTZ) && ty.bits() < at.bits() => {
                let h = e.convert(Op::F2F, a, ty);
                let back = e.convert(Op::F2F, h, at);
                let (x, y) = (e.op(Op::FAbs, &[back]), e.op(Op::FAbs, &[a]));
                let over = e.op(Op::FLt, &[y, x]);
                let inf = e.float(at, f64::INFINITY);
                let finite = e.op(Op::FLt, &[y, inf]);
                let over = e.op(Op::IAnd, &[over, finite]);
                let one = int(e, ty, 1);
                let down = e.op(Op::ISub, &[h, one]);
                e.select(over, down, h)
            }
            // To as many bits or more every value goes as it is.
            Op::F2FRtz if on(Alu::F2F_RTZ) => e.convert(Op::F2F, a, ty),
            Op::F2S | Op::F2U if on(Alu::TO_INT8) && ty.bits() == 8 => {
                let x = e.value(op, Attrs::None, &[a], Type::B32);
                let x = if op == Op::F2S {
                    let (lo, hi) = (e.u32(-128i32 as u32), e.u32(127));
                    let x = self.op(e, Op::SMax, &[x, lo]);
                    self.op(e, Op::SMin, &[x, hi])
                } else {
                    let hi = e.u32(255);
                    self.op(e, Op::UMin, &[x, hi])
                };
                e.convert(Op::U2U, x, ty)
            }
            Op::UDiv | Op::UMod | Op::SDiv | Op::SRem | Op::SMod => {
                return divide::lower(e, self.0, op, a, b);
            }
            Op::IAbs if on(Alu::ISIGN) => {
                let n = e.op(Op::INeg, &[a]);
                self.op(e, Op::SMax, &[a, n])
            }
            Op::ISign if on(Alu::ISIGN) => {
                let (one, minus) = (int(e, ty, 1), int(e, ty, u64::MAX));
                let x = self.op(e, Op::SMax, &[a, minus]);
                self.op(e, Op::SMin, &[x, one])
            }
            Op::SMin | Op::SMax | Op::UMin | Op::UMax if on(Alu::IMINMAX) => {
                let less = if matches!(op, Op::SMin | Op::SMax) { Op::SLt } else { Op::ULt };
                let c = e.op(less, &[a, b]);
                if matches!(op, Op::SMin | Op::UMin) {
                    e.select(c, a, b)
                } else {
                    e.select(c, b, a)
                }
            }
            Op::UAddCarry if on(Alu::CARRY) => {
                let s = e.op(Op::IAdd, &[a, b]);
                let c = e.op(Op::ULt, &[s, a]);
                e.value(Op::B2I, Attrs::None, &[c], ty)
            }
            Op::USubBorrow if on(Alu::CARRY) => {
                let c = e.op(Op::ULt, &[a, b]);
                e.value(Op::B2I, Attrs::None, &[c], ty)
            }
            Op::UAddSat if on(Alu::SATURATE) => {
                let s = e.op(Op::IAdd, &[a, b]);
                let c = e.op(Op::ULt, &[s, a]);
                let most = int(e, ty, u64::MAX);
                e.select(c, most, s)
            }
            Op::USubSat if on(Alu::SATURATE) => {
                let d = e.op(Op::ISub, &[a, b]);
                let c = e.op(Op::ULt, &[a, b]);
                let zero = int(e, ty, 0);
                e.select(c, zero, d)
            }
            Op::SAddSat | Op::SSubSat if on(Alu::SATURATE) => {
                let add = op == Op::SAddSat;
                let r = e.op(if add { Op::IAdd } else { Op::ISub }, &[a, b]);
                // Overflow: the operands agree in sign (differ, for a difference) and the result
                // does not agree with a.
                let x = e.op(Op::IXor, &[a, b]);
                let x = if add { e.op(Op::INot, &[x]) } else { x };
                let y = e.op(Op::IXor, &[a, r]);
                let over = e.op(Op::IAnd, &[x, y]);
                let zero = int(e, ty, 0);
                let over = e.op(Op::SLt, &[over, zero]);
                let n = e.u32(u32::from(ty.bits()) - 1);
                let sign = e.op(Op::SShr, &[a, n]);
                let most = int(e, ty, ty.mask() >> 1);
                let end = e.op(Op::IXor, &[sign, most]);
                e.select(over, end, r)
            }
            Op::FindLsb if on(Alu::FIND_LSB) => {
                let n = e.op(Op::INeg, &[a]);
                let bit = e.op(Op::IAnd, &[a, n]);
                self.op(e, Op::UFindMsb, &[bit])
            }
            Op::UFindMsb if on(Alu::UFIND_MSB) => {
                // All bits below the highest set: their number is its position plus one.
                let mut x = a;
                let mut k = 1;
                while k < bits_of(e, a) {
                    let n = e.u32(k as u32);
                    let y = e.op(Op::UShr, &[x, n]);
                    x = e.op(Op::IOr, &[x, y]);
                    k *= 2;
                }
                let count = self.op(e, Op::BitCount, &[x]);
                let minus = e.u32(u32::MAX);
                e.op(Op::IAdd, &[count, minus])
            }
            Op::SFindMsb if on(Alu::SFIND_MSB) => {
                let n = e.u32(u32::from(at.bits()) - 1);
                let sign = e.op(Op::SShr, &[a, n]);
                let x = e.op(Op::IXor, &[a, sign]);
                self.op(e, Op::UFindMsb, &[x])
            }
            Op::BitCount if on(Alu::BIT_COUNT) => bit_count(e, a),
            Op::BitReverse if on(Alu::BIT_REVERSE) => bit_reverse(e, a),
            Op::BitInterleave if on(Alu::INTERLEAVE) => {
                let (even, odd) = (apart(e, a), apart(e, b));
                let one = e.u32(1);
                let odd = e.op(Op::IShl, &[odd, one]);
                e.op(Op::IOr, &[even, odd])
            }
            Op::BitReverse if on(Alu::NARROW) && ty.bits() < 32 => {
                let x = e.convert(Op::U2U, a, Type::B32);
                let x = e.op(Op::BitReverse, &[x]);
                let n = e.u32(32 - u32::from(ty.bits()));
                let x = e.op(Op::UShr, &[x, n]);
                e.convert(Op::U2U, x, ty)
            }
            Op::BitInsert if on(Alu::BIT_INSERT) || self.field_of(e, d, ty) => {
                let m = self.field(e, ty, c, d);
                let x = e.op(Op::IShl, &[b, c]);
                let x = e.op(Op::IAnd, &[x, m]);
                let keep = e.op(Op::INot, &[m]);
                let y = e.op(Op::IAnd, &[a, keep]);
                e.op(Op::IOr, &[x, y])
            }
            Op::UBitExtract if on(Alu::BIT_EXTRACT) || self.field_of(e, c, ty) => {
                let m = self.field(e, ty, b, c);
                let x = e.op(Op::IAnd, &[a, m]);
                e.op(Op::UShr, &[x, b])
            }
            Op::SBitExtract if on(Alu::BIT_EXTRACT) || on(Alu::BIT_FIELD) => {
                let n = e.u32(u32::from(ty.bits()));
                // The field may pass the end of the word; the bits that exist have the sign on top.
                let count = self.op(e, Op::UMin, &[c, n]);
                let end = e.op(Op::IAdd, &[b, count]);
                let end = self.op(e, Op::UMin, &[end, n]);
                let left = e.op(Op::ISub, &[n, end]);
                let x = e.op(Op::IShl, &[a, left]);
                let right = e.op(Op::IAdd, &[left, b]);
                let x = e.op(Op::SShr, &[x, right]);
                let zero = e.u32(0);
                let some = e.op(Op::INe, &[c, zero]);
                let inside = e.op(Op::ULt, &[b, n]);
                let some = e.op(Op::IAnd, &[some, inside]);
                let none = int(e, ty, 0);
                e.select(some, x, none)
            }
            Op::UMulHi | Op::SMulHi if on(Alu::MUL_HI) && ty.bits() == 32 => mul_hi(e, op, a, b),
            Op::UMulHi | Op::SMulHi if ty.bits() < 32 && (on(Alu::MUL_HI) || on(Alu::NARROW)) => {
                let ext = if op == Op::SMulHi { Op::S2S } else { Op::U2U };
                let (x, y) = (e.convert(ext, a, Type::B32), e.convert(ext, b, Type::B32));
                let p = e.op(Op::IMul, &[x, y]);
                let n = e.u32(u32::from(ty.bits()));
                let p = e.op(Op::UShr, &[p, n]);
                e.convert(Op::U2U, p, ty)
            }
            _ => return None,
        })
    }

    /// Whether a field of this many bits is one that the machine lacks.
    fn field_of(&self, e: &Emit, count: Value, ty: Type) -> bool {
        self.0.contains(Alu::BIT_FIELD) && (ty.bits() != 32 || e.s.as_const(count).is_none())
    }

    /// The bits [off, off + count) of a word.
    fn field(&self, e: &mut Emit, ty: Type, off: Value, count: Value) -> Value {
        let n = e.u32(u32::from(ty.bits()));
        let one = int(e, ty, 1);
        let x = e.op(Op::IShl, &[one, count]);
        let x = e.op(Op::ISub, &[x, one]);
        let partial = e.op(Op::ULt, &[count, n]);
        let all = int(e, ty, u64::MAX);
        let m = e.select(partial, x, all);
        let m = e.op(Op::IShl, &[m, off]);
        let inside = e.op(Op::ULt, &[off, n]);
        let none = int(e, ty, 0);
        e.select(inside, m, none)
    }
}

/// The component that a number names, or the vector with that one replaced.
fn dynamic(e: &mut Emit, op: Op, [a, b, c, _]: [Value; 4], ty: Type) -> Option<Value> {
    let index = match op {
        Op::ExtractDyn => b,
        Op::InsertDyn => c,
        _ => return None,
    };
    let parts = e.split(a);
    let mut found = e.konst(ty.elem(), 0);
    let mut all = Vec::with_capacity(parts.len());
    for (k, x) in parts.into_iter().enumerate() {
        let k = e.u32(k as u32);
        let here = e.op(Op::IEq, &[index, k]);
        if op == Op::ExtractDyn {
            found = e.select(here, x, found);
        } else {
            all.push(e.select(here, b, x));
        }
    }
    Some(if op == Op::ExtractDyn { found } else { e.vec(&all) })
}

/// a * 2^b in two exact steps and one that may round: the exponent is cut in three.
fn ldexp(e: &mut Emit, a: Value, b: Value) -> Value {
    let ty = e.ty(a);
    if ty.bits() == 16 {
        let wide = e.convert(Op::F2F, a, Type::B32);
        let r = ldexp(e, wide, b);
        return e.convert(Op::F2F, r, ty);
    }
    let (lo, hi) = (e.u32(-300i32 as u32), e.u32(300));
    let b = e.op(Op::SMax, &[b, lo]);
    let b = e.op(Op::SMin, &[b, hi]);
    let (one, two) = (e.u32(1), e.u32(2));
    let quarter = e.op(Op::SShr, &[b, two]);
    let half = e.op(Op::SShr, &[b, one]);
    let rest = e.op(Op::ISub, &[b, half]);
    let (least, most) = (e.u32(-126i32 as u32), e.u32(127));
    let rest = e.op(Op::SMax, &[rest, least]);
    let rest = e.op(Op::SMin, &[rest, most]);
    let first = e.op(Op::ISub, &[b, quarter]);
    let first = e.op(Op::ISub, &[first, rest]);
    // Growing numbers grow in the first steps, shrinking ones shrink as late as they can: their
    // denormals round once.
    let mut x = a;
    for n in [first, quarter] {
        let p = power(e, n);
        x = e.op(Op::FMul, &[x, p]);
    }
    let p = power(e, rest);
    e.op(Op::FMul, &[x, p])
}

/// 2^n for -126 <= n <= 127.
fn power(e: &mut Emit, n: Value) -> Value {
    let (bias, at) = (e.u32(127), e.u32(23));
    let x = e.op(Op::IAdd, &[n, bias]);
    e.op(Op::IShl, &[x, at])
}

fn frexp(e: &mut Emit, op: Op, a: Value) -> Value {
    let ty = e.ty(a);
    let a = e.convert(Op::F2F, a, Type::B32);
    // Denormals are scaled up first.
    let size = e.op(Op::FAbs, &[a]);
    let least = e.f32(f32::MIN_POSITIVE);
    let small = e.op(Op::FLt, &[size, least]);
    let up = e.f32(16_777_216.0);
    let scaled = e.op(Op::FMul, &[a, up]);
    let x = e.select(small, scaled, a);
    let zero = e.f32(0.0);
    let inf = e.f32(f32::INFINITY);
    let finite = e.op(Op::FLt, &[size, inf]);
    let some = e.op(Op::FNeu, &[a, zero]);
    let normal = e.op(Op::IAnd, &[finite, some]);
    if op == Op::FFrexpSig {
        let (keep, half) = (e.u32(0x807f_ffff), e.u32(0x3f00_0000));
        let m = e.op(Op::IAnd, &[x, keep]);
        let m = e.op(Op::IOr, &[m, half]);
        let r = e.select(normal, m, a);
        return e.convert(Op::F2F, r, ty);
    }
    let (at, mask) = (e.u32(23), e.u32(0xff));
    let n = e.op(Op::UShr, &[x, at]);
    let n = e.op(Op::IAnd, &[n, mask]);
    let (bias, more) = (e.u32(-126i32 as u32), e.u32((-126i32 - 24) as u32));
    let bias = e.select(small, more, bias);
    let n = e.op(Op::IAdd, &[n, bias]);
    let none = e.u32(0);
    e.select(normal, n, none)
}

/// Bits counted in pairs, nibbles, bytes; the bytes are summed by a product.
fn bit_count(e: &mut Emit, a: Value) -> Value {
    let a = e.convert(Op::U2U, a, Type::B32);
    let (m1, m2, m4) = (e.u32(0x5555_5555), e.u32(0x3333_3333), e.u32(0x0f0f_0f0f));
    let (n1, n2, n4) = (e.u32(1), e.u32(2), e.u32(4));
    let x = e.op(Op::UShr, &[a, n1]);
    let x = e.op(Op::IAnd, &[x, m1]);
    let a = e.op(Op::ISub, &[a, x]);
    let x = e.op(Op::UShr, &[a, n2]);
    let x = e.op(Op::IAnd, &[x, m2]);
    let y = e.op(Op::IAnd, &[a, m2]);
    let a = e.op(Op::IAdd, &[x, y]);
    let x = e.op(Op::UShr, &[a, n4]);
    let x = e.op(Op::IAdd, &[a, x]);
    let x = e.op(Op::IAnd, &[x, m4]);
    let (ones, top) = (e.u32(0x0101_0101), e.u32(24));
    let x = e.op(Op::IMul, &[x, ones]);
    e.op(Op::UShr, &[x, top])
}

/// Neighbouring groups of bits change places, from single bits up to half the word.
fn bit_reverse(e: &mut Emit, a: Value) -> Value {
    let ty = e.ty(a);
    let mut x = a;
    let mut k = 1;
    while k < u32::from(ty.bits()) {
        let mask = u64::MAX / ((1 << k) + 1);
        let (m, n) = (e.konst(ty, mask), e.u32(k));
        let up = e.op(Op::IAnd, &[x, m]);
        let up = e.op(Op::IShl, &[up, n]);
        let down = e.op(Op::UShr, &[x, n]);
        let down = e.op(Op::IAnd, &[down, m]);
        x = e.op(Op::IOr, &[up, down]);
        k *= 2;
    }
    x
}

/// The high half of a 32-bit product from products of 16-bit halves.
fn mul_hi(e: &mut Emit, op: Op, a: Value, b: Value) -> Value {
    let (low, n) = (e.u32(0xffff), e.u32(16));
    let (al, ah) = (e.op(Op::IAnd, &[a, low]), e.op(Op::UShr, &[a, n]));
    let (bl, bh) = (e.op(Op::IAnd, &[b, low]), e.op(Op::UShr, &[b, n]));
    let ll = e.op(Op::IMul, &[al, bl]);
    let lh = e.op(Op::IMul, &[al, bh]);
    let hl = e.op(Op::IMul, &[ah, bl]);
    let hh = e.op(Op::IMul, &[ah, bh]);
    let ll = e.op(Op::UShr, &[ll, n]);
    let mid = e.op(Op::IAdd, &[hl, ll]);
    let (m0, m1) = (e.op(Op::IAnd, &[mid, low]), e.op(Op::UShr, &[mid, n]));
    let mid = e.op(Op::IAdd, &[lh, m0]);
    let mid = e.op(Op::UShr, &[mid, n]);
    let r = e.op(Op::IAdd, &[hh, m1]);
    let mut r = e.op(Op::IAdd, &[r, mid]);
    if op == Op::SMulHi {
        let last = e.u32(31);
        for (x, y) in [(a, b), (b, a)] {
            let sign = e.op(Op::SShr, &[x, last]);
            let off = e.op(Op::IAnd, &[sign, y]);
            r = e.op(Op::ISub, &[r, off]);
        }
    }
    r
}
