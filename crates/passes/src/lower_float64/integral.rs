//! 64-bit float operations on the bits in place: rounding to integers, comparisons, minimum and
//! maximum.

use super::{INF, NAN, ONE, abs, high, sign_of, with_sign};
use crate::rewrite::Emit;
use tepui_ir::{Op, Value};

/// Rounding direction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum To {
    Zero,
    Down,
    Up,
    Even,
}

/// The integer next to a number. Zeros and what becomes zero keep their sign.
pub(super) fn round(e: &mut Emit, a: Value, to: To) -> Value {
    let exp = ir!(e, (ISub (UBitExtract (fn high a) 20u32 11u32) 1023u32));
    // The fraction bits of a number from 1 on: adding to them carries into the integer, and from there
    // into the exponent.
    let shift = ir!(e, (SMin (SMax exp 0u32) 52u32));
    let behind = ir!(e, (UShr {super::FRACTION} shift));
    let whole = ir!(e, (INot behind));
    let sign = sign_of(e, a);
    let up = match to {
        To::Zero => None,
        To::Down => Some(ir!(e, (SLt a 0u64))),
        To::Up => Some(ir!(e, (SGe a 0u64))),
        To::Even => None,
    };
    let large = match (to, up) {
        (To::Even, _) => {
            // Half of the last bit, less one where the integer is even.
            let odd = ir!(e, (IAnd (UShr a (ISub 52u32 shift)) 1u64));
            ir!(e, (IAnd (IAdd (IAdd a (UShr behind 1u32)) (IAnd odd behind)) whole))
        }
        (_, Some(up)) => ir!(e, (IAnd (IAdd a (if up behind 0u64)) whole)),
        _ => ir!(e, (IAnd a whole)),
    };
    // Below 1: zero or one.
    let xa = abs(e, a);
    let one = match (to, up) {
        (To::Even, _) => ir!(e, (ULt {0x3feu64 << 52} xa)),
        (_, Some(up)) => ir!(e, (IAnd up (INe xa 0u64))),
        _ => e.konst(tepui_ir::Type::B1, 0),
    };
    let small = ir!(e, (if one ONE 0u64));
    let small = with_sign(e, small, sign);
    let r = ir!(e, (if (SLt exp 0u32) small large));
    // Numbers without fraction bits, and infinities, are integers.
    let r = ir!(e, (if (SLt exp 52u32) r a));
    ir!(e, (if (ULt INF xa) NAN r))
}

fn is_nan(e: &mut Emit, a: Value) -> Value {
    ir!(e, (ULt INF (fn abs a)))
}

/// An integer in the order of the numbers, -0 below +0.
fn key(e: &mut Emit, a: Value) -> Value {
    ir!(e, (IXor a (UShr (SShr a 63u32) 1u32)))
}

pub(super) fn compare(e: &mut Emit, op: Op, a: Value, b: Value) -> Value {
    let nan = ir!(e, (IOr (fn is_nan a) (fn is_nan b)));
    let zeros = ir!(e, (IEq (IShl (IOr a b) 1u32) 0u64));
    match op {
        Op::FEq | Op::FNeu => {
            let same = ir!(e, (IAnd (IOr zeros (IEq a b)) (INot nan)));
            if op == Op::FEq { same } else { ir!(e, (INot same)) }
        }
        // a < b, or not.
        _ => {
            let less = ir!(e, (IAnd (SLt (fn key a) (fn key b)) (INot zeros)));
            let less = if op == Op::FGe { ir!(e, (INot less)) } else { less };
            ir!(e, (IAnd less (INot nan)))
        }
    }
}

/// Minimum and maximum; a number wins against a not-a-number.
pub(super) fn extreme(e: &mut Emit, op: Op, a: Value, b: Value) -> Value {
    let less = ir!(e, (SLt (fn key a) (fn key b)));
    let r = if op == Op::FMin { ir!(e, (if less a b)) } else { ir!(e, (if less b a)) };
    let (na, nb) = (is_nan(e, a), is_nan(e, b));
    let r = ir!(e, (if nb a (if na b r)));
    ir!(e, (if (IAnd na nb) NAN r))
}

/// Clamped to 0–1; not-a-numbers give 0.
pub(super) fn saturate(e: &mut Emit, a: Value) -> Value {
    // As integers, positive floats are in order and negative ones below them.
    let nan = is_nan(e, a);
    let r = ir!(e, (SMin (SMax a 0u64) ONE));
    ir!(e, (if nan 0u64 r))
}

/// -1, 1, a zero as it is, or 0 for what is no number.
pub(super) fn sign(e: &mut Emit, a: Value) -> Value {
    let (xa, sign) = (abs(e, a), sign_of(e, a));
    let unit = ir!(e, (fn with_sign ONE sign));
    let r = ir!(e, (if (IEq xa 0u64) a unit));
    ir!(e, (if (ULt INF xa) 0u64 r))
}
