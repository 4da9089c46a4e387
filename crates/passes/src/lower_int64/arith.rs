//! 64-bit arithmetic on pairs of 32-bit halves.

use super::{New, Pair, Pairs};
use crate::rewrite::Emit;
use tepui_ir::{Attrs, InstFlags, Op, Type, Value};

fn not_zero(e: &mut Emit, v: Value) -> Value {
    let zero = e.u32(0);
    e.op(Op::INe, &[v, zero])
}

fn bit(e: &mut Emit, c: Value) -> Value {
    e.value(Op::B2I, Attrs::None, &[c], Type::B32)
}

pub(super) fn select(e: &mut Emit, c: Value, a: Pair, b: Pair) -> Pair {
    [e.select(c, a[0], b[0]), e.select(c, a[1], b[1])]
}

fn constant(e: &mut Emit, c: u64) -> Pair {
    [e.u32(c as u32), e.u32((c >> 32) as u32)]
}

fn each(e: &mut Emit, op: Op, a: Pair, b: Pair) -> Pair {
    [e.op(op, &[a[0], b[0]]), e.op(op, &[a[1], b[1]])]
}

fn not(e: &mut Emit, a: Pair) -> Pair {
    a.map(|x| e.op(Op::INot, &[x]))
}

fn add(e: &mut Emit, a: Pair, b: Pair) -> Pair {
    let lo = e.op(Op::IAdd, &[a[0], b[0]]);
    let carry = e.op(Op::ULt, &[lo, a[0]]);
    let carry = bit(e, carry);
    let hi = e.op(Op::IAdd, &[a[1], b[1]]);
    [lo, e.op(Op::IAdd, &[hi, carry])]
}

fn sub(e: &mut Emit, a: Pair, b: Pair) -> Pair {
    let lo = e.op(Op::ISub, &[a[0], b[0]]);
    let borrow = e.op(Op::ULt, &[a[0], b[0]]);
    let borrow = bit(e, borrow);
    let hi = e.op(Op::ISub, &[a[1], b[1]]);
    [lo, e.op(Op::ISub, &[hi, borrow])]
}

fn neg(e: &mut Emit, a: Pair) -> Pair {
    let zero = constant(e, 0);
    sub(e, zero, a)
}

fn mul(e: &mut Emit, a: Pair, b: Pair) -> Pair {
    let lo = e.op(Op::IMul, &[a[0], b[0]]);
    let hi = e.op(Op::UMulHi, &[a[0], b[0]]);
    let x = e.op(Op::IMul, &[a[0], b[1]]);
    let y = e.op(Op::IMul, &[a[1], b[0]]);
    let hi = e.op(Op::IAdd, &[hi, x]);
    [lo, e.op(Op::IAdd, &[hi, y])]
}

/// The high 64 bits of the unsigned product.
fn umul_hi(e: &mut Emit, a: Pair, b: Pair) -> Pair {
    let product = |e: &mut Emit, x: Value, y: Value| -> Pair {
        [e.op(Op::IMul, &[x, y]), e.op(Op::UMulHi, &[x, y])]
    };
    let wide = |e: &mut Emit, x: Value| -> Pair { [x, e.u32(0)] };
    let low = e.op(Op::UMulHi, &[a[0], b[0]]);
    let (p, q, high) = (product(e, a[0], b[1]), product(e, a[1], b[0]), product(e, a[1], b[1]));
    // low + p cannot pass 64 bits, nor can the low half of q on top of it; what is above 32 bits
    // goes up.
    let low = wide(e, low);
    let s = add(e, p, low);
    let q0 = wide(e, q[0]);
    let t0 = wide(e, s[0]);
    let t = add(e, t0, q0);
    let (s1, q1, t1) = (wide(e, s[1]), wide(e, q[1]), wide(e, t[1]));
    let r = add(e, high, s1);
    let r = add(e, r, q1);
    add(e, r, t1)
}

fn is_negative(e: &mut Emit, a: Pair) -> Value {
    let zero = e.u32(0);
    e.op(Op::SLt, &[a[1], zero])
}

fn is_zero(e: &mut Emit, a: Pair) -> Value {
    let any = e.op(Op::IOr, &[a[0], a[1]]);
    let zero = e.u32(0);
    e.op(Op::IEq, &[any, zero])
}

/// Unsigned or signed `a < b`.
pub(super) fn less(e: &mut Emit, signed: bool, a: Pair, b: Pair) -> Value {
    let high = e.op(if signed { Op::SLt } else { Op::ULt }, &[a[1], b[1]]);
    let same = e.op(Op::IEq, &[a[1], b[1]]);
    let low = e.op(Op::ULt, &[a[0], b[0]]);
    let low = e.op(Op::IAnd, &[same, low]);
    e.op(Op::IOr, &[high, low])
}

fn shift(e: &mut Emit, op: Op, a: Pair, n: Value) -> Pair {
    let (one, half, last) = (e.u32(1), e.u32(32), e.u32(31));
    let big = e.op(Op::IAnd, &[n, half]);
    let big = not_zero(e, big);
    // Shifts take their count modulo 32; the bits that cross are shifted by 1 and then by 31 - n,
    // so that n = 0 brings none.
    let m = e.op(Op::INot, &[n]);
    let m = e.op(Op::IAnd, &[m, last]);
    if op == Op::IShl {
        let lo = e.op(Op::IShl, &[a[0], n]);
        let hi = e.op(Op::IShl, &[a[1], n]);
        let cross = e.op(Op::UShr, &[a[0], one]);
        let cross = e.op(Op::UShr, &[cross, m]);
        let hi = e.op(Op::IOr, &[hi, cross]);
        let zero = e.u32(0);
        return [e.select(big, zero, lo), e.select(big, lo, hi)];
    }
    let lo = e.op(Op::UShr, &[a[0], n]);
    let hi = e.op(op, &[a[1], n]);
    let cross = e.op(Op::IShl, &[a[1], one]);
    let cross = e.op(Op::IShl, &[cross, m]);
    let lo = e.op(Op::IOr, &[lo, cross]);
    let fill = if op == Op::SShr { e.op(Op::SShr, &[a[1], last]) } else { e.u32(0) };
    [e.select(big, hi, lo), e.select(big, fill, hi)]
}

/// Quotient and remainder by shifting and subtracting, one bit a turn. The quotient by zero is all
/// ones, its remainder the dividend.
fn udivmod(e: &mut Emit, a: Pair, b: Pair) -> (Pair, Pair) {
    let zero = e.u32(0);
    let steps = e.u32(64);
    // The dividend leaves its pair at the top while the quotient enters at the bottom.
    let r = e.while_(
        &[steps, a[0], a[1], zero, zero],
        |e, p| not_zero(e, p[0]),
        |e, p| {
            let one = e.u32(1);
            let last = e.u32(31);
            let top = e.op(Op::UShr, &[p[2], last]);
            let out = e.op(Op::UShr, &[p[4], last]);
            let lost = not_zero(e, out);
            let q = shift(e, Op::IShl, [p[1], p[2]], one);
            let rem = shift(e, Op::IShl, [p[3], p[4]], one);
            let rem = [e.op(Op::IOr, &[rem[0], top]), rem[1]];
            let below = less(e, false, rem, b);
            let fits = e.op(Op::INot, &[below]);
            let fits = e.op(Op::IOr, &[fits, lost]);
            let reduced = sub(e, rem, b);
            let rem = select(e, fits, reduced, rem);
            let in_bit = bit(e, fits);
            let q0 = e.op(Op::IOr, &[q[0], in_bit]);
            let n = e.op(Op::ISub, &[p[0], one]);
            vec![n, q0, q[1], rem[0], rem[1]]
        },
    );
    ([r[1], r[2]], [r[3], r[4]])
}

fn abs(e: &mut Emit, a: Pair) -> Pair {
    let minus = is_negative(e, a);
    let n = neg(e, a);
    select(e, minus, n, a)
}

fn divide(e: &mut Emit, op: Op, a: Pair, b: Pair) -> Pair {
    if matches!(op, Op::UDiv | Op::UMod) {
        let (q, r) = udivmod(e, a, b);
        return if op == Op::UDiv { q } else { r };
    }
    let (na, nb) = (is_negative(e, a), is_negative(e, b));
    let by_zero = is_zero(e, b);
    let (ua, ub) = (abs(e, a), abs(e, b));
    let (q, r) = udivmod(e, ua, ub);
    if op == Op::SDiv {
        let flip = e.op(Op::IXor, &[na, nb]);
        let n = neg(e, q);
        let q = select(e, flip, n, q);
        let minus_one = constant(e, u64::MAX);
        return select(e, by_zero, minus_one, q);
    }
    let n = neg(e, r);
    let r = select(e, na, n, r);
    if op == Op::SRem {
        return r; // x rem 0 is x: the unsigned remainder was |x|
    }
    // The modulo takes the divisor's sign.
    let zero = is_zero(e, r);
    let differ = e.op(Op::IXor, &[na, nb]);
    let zero_not = e.op(Op::INot, &[zero]);
    let fix = e.op(Op::IAnd, &[differ, zero_not]);
    let nz = e.op(Op::INot, &[by_zero]);
    let fix = e.op(Op::IAnd, &[fix, nz]);
    let moved = add(e, r, b);
    select(e, fix, moved, r)
}

fn umsb(e: &mut Emit, a: Pair) -> Value {
    let (lo, hi) = (e.op(Op::UFindMsb, &[a[0]]), e.op(Op::UFindMsb, &[a[1]]));
    let n = e.u32(32);
    let hi = e.op(Op::IAdd, &[hi, n]);
    let c = not_zero(e, a[1]);
    e.select(c, hi, lo)
}

/// Unsigned 64-bit integer to a 32-bit float, rounded to nearest even.
fn u2f32(e: &mut Emit, a: Pair) -> Value {
    // The highest bit goes to bit 63. The high half then has more bits than the significand, and
    // everything below only says whether there is anything: one bit at the bottom of the high half.
    let msb = umsb(e, a);
    let top = e.u32(63);
    let n = e.op(Op::ISub, &[top, msb]);
    let x = shift(e, Op::IShl, a, n);
    let sticky = not_zero(e, x[0]);
    let sticky = bit(e, sticky);
    let x = e.op(Op::IOr, &[x[1], sticky]);
    let f = e.value(Op::U2F, Attrs::None, &[x], Type::B32);
    // f * 2^(32 - n): the result is 0 or at least 1.
    let (bias, mantissa) = (e.u32(127 + 32), e.u32(23));
    let scale = e.op(Op::ISub, &[bias, n]);
    let scale = e.op(Op::IShl, &[scale, mantissa]);
    let f = e.op(Op::FMul, &[f, scale]);
    let zero = is_zero(e, a);
    let none = e.u32(0);
    e.select(zero, none, f)
}

fn to_float(e: &mut Emit, signed: bool, a: Pair, ty: Type) -> Option<Value> {
    if ty.bits() == 64 {
        return None;
    }
    let minus = if signed { Some(is_negative(e, a)) } else { None };
    let a = if signed { abs(e, a) } else { a };
    let f = if ty.bits() == 16 {
        // Everything past 2^17 is infinite, so the low half says it all.
        let large = not_zero(e, a[1]);
        let ones = e.u32(u32::MAX);
        let x = e.select(large, ones, a[0]);
        e.value(Op::U2F, Attrs::None, &[x], ty)
    } else {
        u2f32(e, a)
    };
    Some(match minus {
        Some(c) => {
            let n = e.op(Op::FNeg, &[f]);
            e.select(c, n, f)
        }
        None => f,
    })
}

/// A 32-bit float to an unsigned 64-bit integer, saturating.
fn f2u(e: &mut Emit, f: Value) -> Pair {
    let down = e.f32(1.0 / 4_294_967_296.0);
    let up = e.f32(-4_294_967_296.0);
    // Both products are exact: a power of two, and a difference of multiples of the same unit.
    let h = e.op(Op::FMul, &[f, down]);
    let h = e.op(Op::FTrunc, &[h]);
    let hi = e.value(Op::F2U, Attrs::None, &[h], Type::B32);
    let l = e.op(Op::FFma, &[h, up, f]);
    let lo = e.value(Op::F2U, Attrs::None, &[l], Type::B32);
    let limit = e.f32(18_446_744_073_709_551_616.0);
    let over = e.op(Op::FGe, &[f, limit]);
    let ones = constant(e, u64::MAX);
    select(e, over, ones, [lo, hi])
}

fn from_float(e: &mut Emit, signed: bool, f: Value) -> Option<Pair> {
    let f = match e.ty(f).bits() {
        16 => e.value(Op::F2F, Attrs::None, &[f], Type::B32),
        32 => f,
        _ => return None,
    };
    let outer = std::mem::replace(&mut e.flags, InstFlags::EXACT | InstFlags::STRICT);
    let r = if signed {
        let size = e.op(Op::FAbs, &[f]);
        let u = f2u(e, size);
        let n = neg(e, u);
        let zero = e.f32(0.0);
        let minus = e.op(Op::FLt, &[f, zero]);
        let x = select(e, minus, n, u);
        let limit = e.f32(9_223_372_036_854_775_808.0);
        let over = e.op(Op::FGe, &[size, limit]);
        let (least, most) = (constant(e, 1 << 63), constant(e, u64::MAX >> 1));
        let end = select(e, minus, least, most);
        select(e, over, end, x)
    } else {
        f2u(e, f)
    };
    e.flags = outer;
    Some(r)
}

/// `count` low ones.
fn ones(e: &mut Emit, count: Value) -> Pair {
    let (one, all) = (constant(e, 1), constant(e, u64::MAX));
    let n = e.u32(64);
    let x = shift(e, Op::IShl, one, count);
    let x = sub(e, x, one);
    let partial = e.op(Op::ULt, &[count, n]);
    select(e, partial, x, all)
}

/// The bits that a field of a 64-bit word has; none when it starts past the end.
fn field(e: &mut Emit, off: Value, count: Value) -> Pair {
    let m = ones(e, count);
    let m = shift(e, Op::IShl, m, off);
    let n = e.u32(64);
    let inside = e.op(Op::ULt, &[off, n]);
    let none = constant(e, 0);
    select(e, inside, m, none)
}

impl Pairs {
    /// An op on scalars, some of them 64 bits wide.
    pub(super) fn arith(&mut self, e: &mut Emit, op: Op, args: &[Value], ty: Type) -> Option<New> {
        let wide = ty.bits() == 64;
        let two = |p: Pair| Some(New::Pairs(vec![p]));
        let one = |v: Value| Some(New::Value(v));
        match op {
            // 64 bits from something else.
            Op::U2U | Op::S2S if wide => {
                let a = args[0];
                let x = e.convert(op, a, Type::B32);
                let hi = if op == Op::S2S {
                    let n = e.u32(31);
                    e.op(Op::SShr, &[x, n])
                } else {
                    e.u32(0)
                };
                two([x, hi])
            }
            Op::B2I => {
                let x = bit(e, args[0]);
                two([x, e.u32(0)])
            }
            Op::F2U | Op::F2S => two(from_float(e, op == Op::F2S, args[0])?),
            // Something else from 64 bits.
            Op::U2U | Op::S2S => {
                let a = self.get(e, args[0]);
                one(e.convert(Op::U2U, a[0], ty))
            }
            Op::U2F | Op::S2F => {
                let a = self.get(e, args[0]);
                one(to_float(e, op == Op::S2F, a, ty)?)
            }
            Op::IEq | Op::INe => {
                let (a, b) = (self.get(e, args[0]), self.get(e, args[1]));
                let x = each(e, Op::IXor, a, b);
                let same = is_zero(e, x);
                one(if op == Op::IEq { same } else { e.op(Op::INot, &[same]) })
            }
            Op::ULt | Op::UGe | Op::SLt | Op::SGe => {
                let (a, b) = (self.get(e, args[0]), self.get(e, args[1]));
                let below = less(e, matches!(op, Op::SLt | Op::SGe), a, b);
                let not = matches!(op, Op::UGe | Op::SGe);
                one(if not { e.op(Op::INot, &[below]) } else { below })
            }
            Op::BitCount => {
                let c = self.get(e, args[0]).map(|x| e.op(Op::BitCount, &[x]));
                one(e.op(Op::IAdd, &c))
            }
            Op::UFindMsb => {
                let a = self.get(e, args[0]);
                one(umsb(e, a))
            }
            Op::SFindMsb => {
                let a = self.get(e, args[0]);
                let n = e.u32(31);
                let sign = e.op(Op::SShr, &[a[1], n]);
                let x = a.map(|x| e.op(Op::IXor, &[x, sign]));
                one(umsb(e, x))
            }
            Op::FindLsb => {
                let a = self.get(e, args[0]);
                let (lo, hi) = (e.op(Op::FindLsb, &[a[0]]), e.op(Op::FindLsb, &[a[1]]));
                let n = e.u32(32);
                let up = e.op(Op::IAdd, &[hi, n]);
                let none = e.u32(u32::MAX);
                let some = not_zero(e, a[1]);
                let up = e.select(some, up, none);
                let low = not_zero(e, a[0]);
                one(e.select(low, lo, up))
            }
            // 64 bits from 64 bits.
            Op::Select => {
                let (a, b) = (self.get(e, args[1]), self.get(e, args[2]));
                two(select(e, args[0], a, b))
            }
            Op::IShl | Op::UShr | Op::SShr => {
                let a = self.get(e, args[0]);
                two(shift(e, op, a, args[1]))
            }
            Op::INeg | Op::INot | Op::IAbs | Op::ISign | Op::BitReverse => {
                let a = self.get(e, args[0]);
                two(match op {
                    Op::INeg => neg(e, a),
                    Op::INot => not(e, a),
                    Op::IAbs => abs(e, a),
                    Op::BitReverse => [a[1], a[0]].map(|x| e.op(Op::BitReverse, &[x])),
                    _ => {
                        let n = e.u32(31);
                        let sign = e.op(Op::SShr, &[a[1], n]);
                        let any = e.op(Op::IOr, &[a[0], a[1]]);
                        let some = not_zero(e, any);
                        let some = bit(e, some);
                        [e.op(Op::IOr, &[sign, some]), sign]
                    }
                })
            }
            Op::BitInsert => {
                let (base, ins) = (self.get(e, args[0]), self.get(e, args[1]));
                let m = field(e, args[2], args[3]);
                let x = shift(e, Op::IShl, ins, args[2]);
                let x = each(e, Op::IAnd, x, m);
                let keep = not(e, m);
                let y = each(e, Op::IAnd, base, keep);
                two(each(e, Op::IOr, x, y))
            }
            Op::UBitExtract | Op::SBitExtract => {
                let base = self.get(e, args[0]);
                let m = field(e, args[1], args[2]);
                let x = each(e, Op::IAnd, base, m);
                let x = shift(e, Op::UShr, x, args[1]);
                if op == Op::UBitExtract {
                    return two(x);
                }
                // The sign bit is the highest of the field, which the end of the word may cut.
                let m = shift(e, Op::UShr, m, args[1]);
                let upper = not(e, m);
                let one_bit = constant(e, 1);
                let half = shift(e, Op::UShr, m, one_bit[0]);
                let top = each(e, Op::IXor, m, half);
                let sign = each(e, Op::IAnd, x, top);
                let set = is_zero(e, sign);
                let full = each(e, Op::IOr, x, upper);
                two(select(e, set, x, full))
            }
            _ if wide && args.len() == 2 && args.iter().all(|&a| e.ty(a).bits() == 64) => {
                let (a, b) = (self.get(e, args[0]), self.get(e, args[1]));
                two(binary(e, op, a, b)?)
            }
            _ => None,
        }
    }
}

fn binary(e: &mut Emit, op: Op, a: Pair, b: Pair) -> Option<Pair> {
    Some(match op {
        Op::IAdd => add(e, a, b),
        Op::ISub => sub(e, a, b),
        Op::IMul => mul(e, a, b),
        Op::UMulHi => umul_hi(e, a, b),
        Op::SMulHi => {
            let h = umul_hi(e, a, b);
            let (na, nb, zero) = (is_negative(e, a), is_negative(e, b), constant(e, 0));
            let x = select(e, na, b, zero);
            let y = select(e, nb, a, zero);
            let h = sub(e, h, x);
            sub(e, h, y)
        }
        Op::UDiv | Op::UMod | Op::SDiv | Op::SRem | Op::SMod => divide(e, op, a, b),
        Op::IAnd | Op::IOr | Op::IXor => each(e, op, a, b),
        Op::SMin | Op::UMin | Op::SMax | Op::UMax => {
            let c = less(e, matches!(op, Op::SMin | Op::SMax), a, b);
            if matches!(op, Op::SMin | Op::UMin) { select(e, c, a, b) } else { select(e, c, b, a) }
        }
        Op::UAddCarry => {
            let s = add(e, a, b);
            let c = less(e, false, s, a);
            [bit(e, c), e.u32(0)]
        }
        Op::USubBorrow => {
            let c = less(e, false, a, b);
            [bit(e, c), e.u32(0)]
        }
        Op::UAddSat => {
            let s = add(e, a, b);
            let c = less(e, false, s, a);
            let most = constant(e, u64::MAX);
            select(e, c, most, s)
        }
        Op::USubSat => {
            let d = sub(e, a, b);
            let c = less(e, false, a, b);
            let zero = constant(e, 0);
            select(e, c, zero, d)
        }
        Op::SAddSat | Op::SSubSat => {
            let r = if op == Op::SAddSat { add(e, a, b) } else { sub(e, a, b) };
            // Overflow: the operands agree in sign (differ, for a difference) and the result does
            // not agree with a.
            let x = e.op(Op::IXor, &[a[1], b[1]]);
            let x = if op == Op::SAddSat { e.op(Op::INot, &[x]) } else { x };
            let y = e.op(Op::IXor, &[a[1], r[1]]);
            let over = e.op(Op::IAnd, &[x, y]);
            let zero = e.u32(0);
            let over = e.op(Op::SLt, &[over, zero]);
            let n = e.u32(31);
            let sign = e.op(Op::SShr, &[a[1], n]);
            let most = e.u32(0x7fff_ffff);
            let end = [e.op(Op::INot, &[sign]), e.op(Op::IXor, &[sign, most])];
            select(e, over, end, r)
        }
        _ => return None,
    })
}
