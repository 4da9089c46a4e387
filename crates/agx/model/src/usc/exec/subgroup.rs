//! Operations across the lanes of a SIMD-group or of its quads.

use tepui_agx_texture::half;

use super::{Lanes, Next, Op};
use crate::usc::op::Form;
use crate::usc::row::{LANES, Row};

/// The lanes of `lane`'s window: its quad, or the whole group.
#[inline(always)]
fn window(quad: bool, lane: usize) -> std::ops::Range<usize> {
    if quad { lane & !3..(lane & !3) + 4 } else { 0..LANES }
}

/// The reduction operations. source: Mesa's agx_opcodes.py, SIMD_OP.
mod reduction {
    pub const AND: u16 = 0b00000;
    pub const FADD: u16 = 0b00001;
    pub const OR: u16 = 0b00010;
    pub const FMUL: u16 = 0b00011;
    pub const XOR: u16 = 0b00100;
    pub const FMIN: u16 = 0b00101;
    pub const FMAX: u16 = 0b00111;
    pub const IADD: u16 = 0b10000;
    pub const SMIN: u16 = 0b10100;
    pub const SMAX: u16 = 0b10110;
    pub const UMIN: u16 = 0b11100;
    pub const UMAX: u16 = 0b11110;
}

/// An operation on two raw values.
type Combine = fn(u32, u32) -> u32;

/// The operation on two raw values, and its neutral element, which a lane without predecessors
/// receives. `half`: the values are 16 bits wide.
fn monoid(operation: u16, half: bool) -> Option<(u32, Combine)> {
    use reduction::*;
    fn float(f: fn(f32, f32) -> f32, a: u32, b: u32) -> u32 {
        f(f32::from_bits(a), f32::from_bits(b)).to_bits()
    }
    let float_value = |x: f32| x.to_bits();
    let (low, high) =
        if half { (i16::MIN as i32 as u32, i16::MAX as u32) } else { (1 << 31, !0 >> 1) };
    Some(match operation {
        AND => (u32::MAX, |a, b| a & b),
        OR => (0, |a, b| a | b),
        XOR => (0, |a, b| a ^ b),
        IADD => (0, |a, b| a.wrapping_add(b)),
        UMIN => (u32::MAX, |a, b| a.min(b)),
        UMAX => (0, |a, b| a.max(b)),
        SMIN => (high, |a, b| (a as i32).min(b as i32) as u32),
        SMAX => (low, |a, b| (a as i32).max(b as i32) as u32),
        FADD => (float_value(0.0), |a, b| float(|a, b| a + b, a, b)),
        FMUL => (float_value(1.0), |a, b| float(|a, b| a * b, a, b)),
        FMIN => (float_value(f32::INFINITY), |a, b| float(f32::min, a, b)),
        FMAX => (float_value(f32::NEG_INFINITY), |a, b| float(f32::max, a, b)),
        _ => return None,
    })
}

/// Whether the operation is on floats.
pub fn is_float(operation: u16) -> bool {
    use reduction::*;
    matches!(operation, FADD | FMUL | FMIN | FMAX)
}

/// `aux[0]`: the operation; `aux[1]`: over quads; `aux[2]`: exclusive prefix instead of the whole.
/// Inactive lanes take no part. The order in which silicon adds floats is unknown; here it is that
/// of the lanes.
#[inline(always)]
pub fn reduce<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let half = op.s[0].form != Form::Word;
    let Some((identity, combine)) = monoid(op.aux[0], half) else {
        return l.fail(format!("the reduction operation {:#07b} is unknown", op.aux[0]));
    };
    let float = is_float(op.aux[0]);
    let (quad, prefix) = (op.aux[1] != 0, op.aux[2] != 0);
    let raw = if float {
        Row(l.load_f32(op.s[0]).map(f32::to_bits))
    } else {
        let signed = matches!(op.aux[0], reduction::SMIN | reduction::SMAX);
        l.load_u32(crate::usc::op::Src { sign_extend: signed, ..op.s[0] })
    };
    // A 16-bit float result is rounded at each step, as an accumulator of that width would be.
    let round = |x: u32| {
        if float && half { half::widen(half::narrow(f32::from_bits(x))).to_bits() } else { x }
    };
    let mut out = Row::ZERO;
    for start in (0..LANES).step_by(if quad { 4 } else { LANES }) {
        let lanes = window(quad, start);
        let mut sum = identity;
        let mut first = true;
        for i in lanes.clone() {
            out.0[i] = sum;
            if l.exec >> i & 1 != 0 {
                sum = if first { raw.0[i] } else { round(combine(sum, raw.0[i])) };
                first = false;
            }
        }
        if !prefix {
            out.0[lanes].fill(sum);
        }
    }
    if float {
        let values = out.0.map(f32::from_bits);
        l.store_f32(op.d, &values);
    } else {
        l.store_u32(op.d, &out);
    }
    Next::Continue
}

/// Ballots: the lanes in which the comparison holds. `aux` 0 and 1 as for control flow, `aux[2]`:
/// each quad its own four bits.
#[inline(always)]
fn ballot(l: &mut Lanes<'_, '_>, op: &Op, yes: &Row) -> Next {
    let yes = yes.bits();
    let yes = (if op.aux[1] != 0 { !yes } else { yes }) & l.exec;
    let mut out = Row::splat(yes);
    if op.aux[2] != 0 {
        for i in 0..LANES {
            out.0[i] = yes >> (i & !3) & 0xf;
        }
    }
    l.store_u32(op.d, &out);
    Next::Continue
}

/// Ballot of an integer comparison.
#[inline(always)]
pub fn icmp_ballot<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let yes = super::int::icompare(l, op, op.aux[0]);
    ballot(l, op, &yes)
}

/// Ballot of a float comparison.
#[inline(always)]
pub fn fcmp_ballot<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let yes = super::float::fcompare(l, op, op.aux[0]);
    ballot(l, op, &yes)
}

/// Shuffle modes: the lane with the given number.
pub const SHUFFLE_INDEX: u16 = 0;
/// The lane whose number differs by an exclusive or.
pub const SHUFFLE_XOR: u16 = 1;
/// The lane with a number lower by the operand.
pub const SHUFFLE_UP: u16 = 2;
/// The lane with a number higher by the operand.
pub const SHUFFLE_DOWN: u16 = 3;
/// The lane that many below, around the end.
pub const SHUFFLE_ROTATE_UP: u16 = 4;

/// `aux[0]`: which shuffle; `aux[1]`: within quads.
///
/// Across the group, each quad publishes its four values permuted by the low bits of its own four
/// lanes' indices or'ed together, and a lane takes from the quad that the upper bits select; so the
/// low bits must agree within a quad for a defined result. source: applegpu.py,
/// SimdShuffleInstructionDesc.
#[inline(always)]
pub fn shuffle<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let value = l.load_u32(op.s[0]);
    let index = l.load_u32(op.s[1]);
    let mut out = Row::ZERO;
    if op.aux[1] != 0 {
        for i in 0..LANES {
            let (base, at, by) = (i & !3, i & 3, index.0[i] as usize);
            let from = match op.aux[0] {
                SHUFFLE_INDEX => by & 3,
                SHUFFLE_XOR => (at ^ by) & 3,
                SHUFFLE_UP => at.checked_sub(by).unwrap_or(at),
                SHUFFLE_DOWN => Some(at + by).filter(|&x| x < 4).unwrap_or(at),
                _ => at.wrapping_sub(by) & 3,
            };
            out.0[i] = value.0[base + from];
        }
    } else {
        let mut published = value;
        for base in (0..LANES).step_by(4) {
            let low =
                (index.0[base] | index.0[base + 1] | index.0[base + 2] | index.0[base + 3]) & 3;
            let low = low as usize;
            for at in 0..4 {
                let from = match op.aux[0] {
                    SHUFFLE_INDEX => low,
                    SHUFFLE_XOR => at ^ low,
                    SHUFFLE_DOWN => (at + low) & 3,
                    _ => at.wrapping_sub(low) & 3,
                };
                published.0[base + at] = value.0[base + from];
            }
        }
        for i in 0..LANES {
            let by = index.0[i] as usize;
            let from = match op.aux[0] {
                SHUFFLE_INDEX => Some(by),
                SHUFFLE_XOR => Some(i ^ by),
                SHUFFLE_UP => i.checked_sub(by),
                SHUFFLE_DOWN => Some(i + by),
                _ => Some(i.wrapping_sub(by) & 31),
            };
            out.0[i] = match from.filter(|&from| from < LANES) {
                Some(from) => published.0[(from & !3) | (i & 3)],
                None => value.0[i],
            };
        }
    }
    l.store_u32(op.d, &out);
    Next::Continue
}
