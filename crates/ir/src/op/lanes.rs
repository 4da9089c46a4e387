//! Helpers for the meanings of ops: macros that define a function for every bit size, and functions
//! that rows share.

/// A function of floats: 16 bits are computed in f64 and rounded once. A result that is not a
/// number is always the same one, so that it does not tell which operand it came from.
macro_rules! float {
    ($($a:ident),+ => $e:expr) => {
        Fold::Lane(|l| {
            let [$($a),+] = *l.args else { return 0 };
            match l.bits {
                16 => {
                    $(let $a = half::f16::from_bits($a as u16).to_f64();)+
                    let r: f64 = $e;
                    let rounded = crate::op::lanes::half_from_f64(r).to_bits();
                    if r.is_nan() { 0x7e00 } else { u64::from(rounded) }
                }
                32 => {
                    $(let $a = f32::from_bits($a as u32);)+
                    let r: f32 = $e;
                    if r.is_nan() { 0x7fc0_0000 } else { u64::from(r.to_bits()) }
                }
                _ => {
                    $(let $a = f64::from_bits($a);)+
                    let r: f64 = $e;
                    if r.is_nan() { 0x7ff8_0000_0000_0000 } else { r.to_bits() }
                }
            }
        })
    };
}

/// A predicate of floats.
macro_rules! fcmp {
    ($($a:ident),+ => $e:expr) => {
        Fold::Lane(|l| {
            let [$($a),+] = *l.args else { return 0 };
            u64::from(match l.bits {
                16 => { $(let $a = half::f16::from_bits($a as u16).to_f64();)+ $e }
                32 => { $(let $a = f32::from_bits($a as u32);)+ $e }
                _ => { $(let $a = f64::from_bits($a);)+ $e }
            })
        })
    };
}

/// A function of unsigned integers; `$n` is the operand size in bits.
macro_rules! uint {
    ($n:ident; $($a:ident),+ => $e:expr) => {
        Fold::Lane(|l| {
            let [$($a),+] = *l.args else { return 0 };
            let $n = u32::from(l.bits);
            let _ = $n;
            $e
        })
    };
}

/// A function of sign-extended integers; `$n` is the operand size in bits.
macro_rules! sint {
    ($n:ident; $($a:ident),+ => $e:expr) => {
        Fold::Lane(|l| {
            let [$($a),+] = *l.args else { return 0 };
            let $n = u32::from(l.bits);
            let _ = $n;
            $(let $a = crate::types::sext($a, l.bits);)+
            let r: i64 = $e;
            r as u64
        })
    };
}

use super::info::Lane;
use half::f16;

fn to_f64(bits: u8, v: u64) -> f64 {
    match bits {
        16 => f16::from_bits(v as u16).to_f64(),
        32 => f64::from(f32::from_bits(v as u32)),
        _ => f64::from_bits(v),
    }
}

/// Rounds to an odd 32-bit float first, which keeps the effect of every bit: `half` looks at the
/// high word only.
pub(super) fn half_from_f64(v: f64) -> f16 {
    let near = v as f32;
    let back = f64::from(near);
    if v.is_nan() || back == v {
        return f16::from_f32(near);
    }
    let below = if back.abs() > v.abs() { near.to_bits() - 1 } else { near.to_bits() };
    f16::from_f32(f32::from_bits(below | 1))
}

fn from_f64(bits: u8, v: f64) -> u64 {
    match bits {
        16 => u64::from(half_from_f64(v).to_bits()),
        32 => u64::from((v as f32).to_bits()),
        _ => v.to_bits(),
    }
}

/// Scales in exact steps; only the last can round.
fn scale(mut x: f64, mut e: i64) -> f64 {
    e = e.clamp(-4000, 4000);
    while e > 1000 {
        x *= 2f64.powi(1000);
        e -= 1000;
    }
    while e < -1000 {
        // Stay in the normal range as long as possible: rounding happens in the last product only.
        x *= 2f64.powi(-500);
        e += 500;
    }
    x * 2f64.powi(e as i32 / 2) * 2f64.powi(e as i32 - e as i32 / 2)
}

pub(super) fn ldexp(l: &Lane) -> u64 {
    let [a, b] = *l.args else { return 0 };
    from_f64(l.bits, scale(to_f64(l.bits, a), i64::from(b as u32 as i32)))
}

pub(super) fn frexp(l: &Lane) -> (u64, i64) {
    let x = to_f64(l.bits, l.args[0]);
    if x == 0.0 || !x.is_finite() {
        return (l.args[0], 0);
    }
    let (m, bias) = if x.abs() < f64::MIN_POSITIVE { (x * 2f64.powi(54), -54) } else { (x, 0) };
    let e = ((m.to_bits() >> 52) & 0x7ff) as i64 - 1022;
    let sig = f64::from_bits((m.to_bits() & !(0x7ff << 52)) | (1022 << 52));
    (from_f64(l.bits, sig), e + bias)
}

/// Any float size to any other; `rtz` rounds towards zero.
pub(super) fn f2f(l: &Lane, rtz: bool) -> u64 {
    let x = to_f64(l.bits, l.args[0]);
    let r = from_f64(l.dst, x);
    if !rtz || !x.is_finite() {
        return r;
    }
    let back = to_f64(l.dst, r);
    if back.abs() > x.abs() { r - 1 } else { r }
}

pub(super) fn f2s(l: &Lane) -> u64 {
    let x = to_f64(l.bits, l.args[0]);
    let (lo, hi) = (i64::MIN >> (64 - l.dst), i64::MAX >> (64 - l.dst));
    (x as i64).clamp(lo, hi) as u64
}

pub(super) fn f2u(l: &Lane) -> u64 {
    (to_f64(l.bits, l.args[0]) as u64).min(crate::types::mask(l.dst))
}

pub(super) fn s2f(l: &Lane) -> u64 {
    let x = crate::types::sext(l.args[0], l.bits);
    if l.dst == 32 { u64::from((x as f32).to_bits()) } else { from_f64(l.dst, x as f64) }
}

pub(super) fn u2f(l: &Lane) -> u64 {
    let x = l.args[0];
    if l.dst == 32 { u64::from((x as f32).to_bits()) } else { from_f64(l.dst, x as f64) }
}

/// The low 16 bits of a number with a zero above each.
pub(super) fn apart(v: u64) -> u64 {
    (0..16).map(|k| (v >> k & 1) << (2 * k)).sum()
}

/// The mask of bits [off, off + cnt), cut at `n` bits; empty when `off` is past the end.
pub(super) fn field(off: u64, cnt: u64, n: u32) -> u64 {
    let (off, cnt) = (off.min(64) as u32, cnt.min(64) as u32);
    if off >= n || cnt == 0 {
        return 0;
    }
    let all = u64::MAX >> (64 - n);
    ((u64::MAX >> (64 - cnt)) << off) & all
}

pub(super) fn quantize16(l: &Lane) -> u64 {
    let x = f16::from_f32(f32::from_bits(l.args[0] as u32));
    // Denormals of the 16-bit format are flushed, as OpQuantizeToF16 requires.
    let x = if x.to_f32().abs() < f16::MIN_POSITIVE.to_f32() {
        f16::from_bits(x.to_bits() & 0x8000)
    } else {
        x
    };
    u64::from(x.to_f32().to_bits())
}

use super::Whole;

pub(super) fn bitcast(w: &Whole, out: &mut Vec<u64>) {
    let (from, comps) = w.args[0];
    let (fb, tb) = (u32::from(from.bits()), u32::from(w.ty.bits()));
    if fb >= tb {
        for c in comps {
            out.extend((0..fb / tb).map(|i| (c >> (i * tb)) & w.ty.mask()));
        }
    } else {
        let k = (tb / fb) as usize;
        out.extend(
            comps
                .chunks(k)
                .map(|g| g.iter().enumerate().fold(0, |a, (i, c)| a | (c << (i as u32 * fb)))),
        );
    }
}

pub(super) fn pack(w: &Whole, bits: u32, f: fn(f32) -> u64) -> u64 {
    let m = (1 << bits) - 1;
    w.args[0]
        .1
        .iter()
        .enumerate()
        .fold(0, |a, (i, &c)| a | ((f(f32::from_bits(c as u32)) & m) << (i as u32 * bits)))
}

pub(super) fn unpack(w: &Whole, bits: u32, out: &mut Vec<u64>, f: fn(u64) -> f32) {
    let (v, m) = (w.args[0].1[0], (1u64 << bits) - 1);
    out.extend((0..32 / bits).map(|i| u64::from(f((v >> (i * bits)) & m).to_bits())));
}

pub(super) fn fdot(w: &Whole, out: &mut Vec<u64>) {
    let bits = w.args[0].0.bits();
    let pairs = w.args[0].1.iter().zip(w.args[1].1);
    out.push(match bits {
        32 => {
            let sum = pairs
                .fold(0f32, |s, (a, b)| s + f32::from_bits(*a as u32) * f32::from_bits(*b as u32));
            u64::from(if sum.is_nan() { 0x7fc0_0000 } else { sum.to_bits() })
        }
        n => {
            let sum = pairs.fold(0f64, |s, (a, b)| s + to_f64(n, *a) * to_f64(n, *b));
            from_f64(n, if sum.is_nan() { f64::NAN } else { sum })
        }
    });
}

/// Signed modulo with the divisor's sign; the dividend when the divisor is 0.
pub fn floored_rem(a: i64, b: i64) -> i64 {
    match a.checked_rem(b) {
        Some(r) if r != 0 && (r ^ b) < 0 => r + b,
        Some(r) => r,
        None if b == 0 => a,
        None => 0,
    }
}

/// Unsigned sum of `n` bits that saturates.
pub fn uadd_sat(a: u64, b: u64, n: u32) -> u64 {
    a.saturating_add(b).min(u64::MAX >> (64 - n))
}

/// The signed integer of `n` bits that is nearest.
pub fn saturate(x: i128, n: u32) -> i64 {
    x.clamp(i128::from(i64::MIN >> (64 - n)), i128::from(i64::MAX >> (64 - n))) as i64
}

/// The bits of `mask` from `insert`, shifted to bit `offset`, the others from `base`.
pub fn insert(base: u64, insert: u64, mask: u64, offset: u64) -> u64 {
    (base & !mask) | ((insert << (offset & 63)) & mask)
}

/// The bits of `mask`, which begin at `offset`, sign-extended.
pub fn sextract(base: u64, mask: u64, offset: u64) -> u64 {
    match mask.count_ones() {
        0 => 0,
        n => crate::types::sext((base & mask) >> (offset & 63), n as u8) as u64,
    }
}
