//! Lowers integer division: by constants to a multiplication, by variables to the float reciprocal.
//!
//! Constants: Granlund and Montgomery, "Division by invariant integers using multiplication"
//! (1994), figures 4.1 and 5.2. Variables: one Newton step on a 32-bit fixed-point reciprocal that
//! starts from the float one; the remainder then shows by how much the quotient is too small (at
//! most two).

use super::Alu;
use crate::rewrite::Emit;
use tepui_ir::{Op, Type, Value, mask, sext};

pub(super) fn lower(e: &mut Emit, on: Alu, op: Op, a: Value, b: Value) -> Option<Value> {
    let ty = e.ty(a);
    let signed = matches!(op, Op::SDiv | Op::SRem | Op::SMod);
    if let Some(d) = e.s.as_const(b).filter(|&d| d != 0 && on.contains(Alu::DIV_CONST)) {
        let q = if signed { sdiv_const(e, a, sext(d, ty.bits())) } else { udiv_const(e, a, d) };
        return Some(rest(e, op, a, b, q, Some(sext(d, ty.bits()))));
    }
    if !on.contains(Alu::DIV) {
        return None;
    }
    if ty.bits() < 32 {
        let ext = if signed { Op::S2S } else { Op::U2U };
        let (x, y) = (e.convert(ext, a, Type::B32), e.convert(ext, b, Type::B32));
        let r = variable(e, op, x, y);
        return Some(e.convert(Op::U2U, r, ty));
    }
    Some(variable(e, op, a, b))
}

/// The quotient, or the remainder that it leaves.
fn rest(e: &mut Emit, op: Op, a: Value, b: Value, q: Value, d: Option<i64>) -> Value {
    if matches!(op, Op::UDiv | Op::SDiv) {
        return q;
    }
    let p = e.op(Op::IMul, &[q, b]);
    let r = e.op(Op::ISub, &[a, p]);
    if op != Op::SMod {
        return r;
    }
    // The divisor's sign: add the divisor where the remainder has the other.
    let ty = e.ty(a);
    let zero = e.konst(ty, 0);
    let wrong = match d {
        Some(d) if d > 0 => e.op(Op::SLt, &[r, zero]),
        Some(_) => e.op(Op::SLt, &[zero, r]),
        None => {
            let x = e.op(Op::IXor, &[r, b]);
            let differ = e.op(Op::SLt, &[x, zero]);
            let some = e.op(Op::INe, &[r, zero]);
            e.op(Op::IAnd, &[differ, some])
        }
    };
    let moved = e.op(Op::IAdd, &[r, b]);
    e.select(wrong, moved, r)
}

fn shift_right(e: &mut Emit, op: Op, a: Value, n: u32) -> Value {
    if n == 0 {
        return a;
    }
    let n = e.u32(n);
    e.op(op, &[a, n])
}

/// A multiplier below 2^`bits` and a shift, such that the product's high half shifted is the
/// quotient of any number of `width` bits.
fn magic(bits: u32, width: u32, d: u64) -> Option<(u64, u32)> {
    (0..=bits).find_map(|extra| {
        let p = 1u128 << (bits + extra);
        let m = p.div_ceil(u128::from(d));
        let error = m * u128::from(d) - p;
        (m < 1 << bits && error << width <= p).then_some((m as u64, extra))
    })
}

fn udiv_const(e: &mut Emit, a: Value, d: u64) -> Value {
    let ty = e.ty(a);
    let bits = u32::from(ty.bits());
    if d.is_power_of_two() {
        return shift_right(e, Op::UShr, a, d.trailing_zeros());
    }
    if let Some((m, extra)) = magic(bits, bits, d) {
        let m = e.konst(ty, m);
        let h = e.op(Op::UMulHi, &[a, m]);
        return shift_right(e, Op::UShr, h, extra);
    }
    let even = d.trailing_zeros();
    if even > 0
        && let Some((m, extra)) = magic(bits, bits - even, d >> even)
    {
        let x = shift_right(e, Op::UShr, a, even);
        let m = e.konst(ty, m);
        let h = e.op(Op::UMulHi, &[x, m]);
        return shift_right(e, Op::UShr, h, extra);
    }
    // The multiplier has one bit more than the word: its top bit is an addition.
    let l = 64 - (d - 1).leading_zeros();
    let m = ((((1u128 << l) - u128::from(d)) << bits) / u128::from(d) + 1) as u64;
    let m = e.konst(ty, m);
    let h = e.op(Op::UMulHi, &[a, m]);
    let x = e.op(Op::ISub, &[a, h]);
    let x = shift_right(e, Op::UShr, x, 1);
    let x = e.op(Op::IAdd, &[x, h]);
    shift_right(e, Op::UShr, x, l - 1)
}

fn sdiv_const(e: &mut Emit, a: Value, d: i64) -> Value {
    let ty = e.ty(a);
    let bits = u32::from(ty.bits());
    let size = d.unsigned_abs() & mask(ty.bits());
    let q = if size.is_power_of_two() {
        let k = size.trailing_zeros();
        if k == 0 {
            a
        } else {
            // Towards zero: negative numbers get 2^k - 1 first.
            let sign = shift_right(e, Op::SShr, a, bits - 1);
            let add = shift_right(e, Op::UShr, sign, bits - k);
            let x = e.op(Op::IAdd, &[a, add]);
            shift_right(e, Op::SShr, x, k)
        }
    } else {
        let l = (64 - (size - 1).leading_zeros()).max(1);
        let m = (1u128 << (bits + l - 1)) / u128::from(size) + 1;
        let m = e.konst(ty, m.wrapping_sub(1 << bits) as u64);
        let h = e.op(Op::SMulHi, &[a, m]);
        let x = e.op(Op::IAdd, &[a, h]);
        let x = shift_right(e, Op::SShr, x, l - 1);
        let sign = shift_right(e, Op::SShr, a, bits - 1);
        e.op(Op::ISub, &[x, sign])
    };
    if d < 0 { e.op(Op::INeg, &[q]) } else { q }
}

fn variable(e: &mut Emit, op: Op, a: Value, b: Value) -> Value {
    if matches!(op, Op::UDiv | Op::UMod) {
        let (q, r) = udivmod(e, a, b);
        return if op == Op::UDiv { q } else { r };
    }
    let zero = e.u32(0);
    let size = |e: &mut Emit, x: Value| {
        let n = e.op(Op::INeg, &[x]);
        e.op(Op::SMax, &[x, n])
    };
    // Negated where `sign` is negative.
    let signed = |e: &mut Emit, x: Value, sign: Value| {
        let (minus, n) = (e.op(Op::SLt, &[sign, zero]), e.op(Op::INeg, &[x]));
        e.select(minus, n, x)
    };
    let (ua, ub) = (size(e, a), size(e, b));
    let (q, r) = udivmod(e, ua, ub);
    if op == Op::SDiv {
        let sign = e.op(Op::IXor, &[a, b]);
        return signed(e, q, sign);
    }
    let r = signed(e, r, a);
    if op == Op::SRem {
        return r;
    }
    // The remainder has the sign of `a`.
    let x = e.op(Op::IXor, &[a, b]);
    let differ = e.op(Op::SLt, &[x, zero]);
    let moved = e.op(Op::IAdd, &[r, b]);
    let moved = e.select(differ, moved, r);
    let none = e.op(Op::IEq, &[r, zero]);
    e.select(none, r, moved)
}

fn udivmod(e: &mut Emit, a: Value, b: Value) -> (Value, Value) {
    let f = e.value(Op::U2F, tepui_ir::Attrs::None, &[b], Type::B32);
    let f = e.op(Op::FRcp, &[f]);
    // A little less than 2^32, so that the reciprocal is never too large.
    let scale = e.f32(f32::from_bits(0x4f7f_fffe));
    let f = e.op(Op::FMul, &[f, scale]);
    let z = e.value(Op::F2U, tepui_ir::Attrs::None, &[f], Type::B32);
    let p = e.op(Op::IMul, &[z, b]);
    let miss = e.op(Op::INeg, &[p]);
    let more = e.op(Op::UMulHi, &[z, miss]);
    let z = e.op(Op::IAdd, &[z, more]);
    let mut q = e.op(Op::UMulHi, &[a, z]);
    let p = e.op(Op::IMul, &[q, b]);
    let mut r = e.op(Op::ISub, &[a, p]);
    let one = e.u32(1);
    for _ in 0..2 {
        let short = e.op(Op::UGe, &[r, b]);
        let (q1, r1) = (e.op(Op::IAdd, &[q, one]), e.op(Op::ISub, &[r, b]));
        q = e.select(short, q1, q);
        r = e.select(short, r1, r);
    }
    (q, r)
}
