//! Integer arithmetic, bits, comparison and selection.

use super::{Lanes, Next, Op};
use crate::usc::op::{Dst, Form, Src};
use crate::usc::row::{LANES, Row, each_busy};

#[inline(always)]
fn map<const FAST: bool, const N: usize>(
    l: &mut Lanes<'_, '_>,
    op: &Op,
    f: impl Fn([u32; N]) -> u32,
) -> Next {
    let mut out = Row::ZERO;
    if FAST {
        let rows: [&Row; N] = std::array::from_fn(|k| l.row(op.s[k]));
        each_busy(l.exec, |i| out.0[i] = f(std::array::from_fn(|k| rows[k].0[i])));
        l.store_row(op.d.row, &out);
    } else {
        let rows: [Row; N] = std::array::from_fn(|k| l.load_u32(op.s[k]));
        for i in 0..LANES {
            out.0[i] = f(std::array::from_fn(|k| rows[k].0[i]));
        }
        l.store_u32(op.d, &out);
    }
    Next::Continue
}

/// `d = imm`
#[inline(always)]
pub fn mov_imm<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let value = Row::splat(op.imm as u32);
    if FAST {
        l.store_row(op.d.row, &value);
    } else {
        l.store_u32(op.d, &value);
    }
    Next::Continue
}

/// `d = a + (±b << aux[0])`; `aux[1]`: `b` is negated; `aux[2]`: the saturation's sign.
#[inline(always)]
pub fn iadd<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let shift = u32::from(op.aux[0]);
    if FAST {
        // Two's complement does not care about the order of negation and shift.
        return if op.aux[1] != 0 {
            map::<true, 2>(l, op, |[a, b]| a.wrapping_sub(b << shift))
        } else {
            map::<true, 2>(l, op, |[a, b]| a.wrapping_add(b << shift))
        };
    }
    if let Some(range) = saturation(op, &op.s[..2]) {
        let sources = [wide(l, op.s[0]), [1; LANES], wide(l, op.s[1])];
        return saturated(l, op, range, &sources);
    }
    let [a, b] = [l.load_u64(op.s[0]), l.load_u64(op.s[1])];
    let mut out = [0; LANES];
    for i in 0..LANES {
        let b = if op.aux[1] != 0 { b[i].wrapping_neg() } else { b[i] };
        let b = if shift < 5 { b << shift } else { 0 };
        out[i] = a[i].wrapping_add(b);
    }
    l.store_u64(op.d, &out);
    Next::Continue
}

/// `d = a * b + (±c << aux[0])`; the rest as `iadd`.
#[inline(always)]
pub fn imad<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let shift = u32::from(op.aux[0]);
    if FAST {
        return if op.aux[1] != 0 {
            map::<true, 3>(l, op, |[a, b, c]| a.wrapping_mul(b).wrapping_sub(c << shift))
        } else {
            map::<true, 3>(l, op, |[a, b, c]| a.wrapping_mul(b).wrapping_add(c << shift))
        };
    }
    if let Some(range) = saturation(op, &op.s[2..3]) {
        let sources = [0, 1, 2].map(|k| wide(l, op.s[k]));
        return saturated(l, op, range, &sources);
    }
    let [a, b, c] = [l.load_u64(op.s[0]), l.load_u64(op.s[1]), l.load_u64(op.s[2])];
    let mut out = [0; LANES];
    for i in 0..LANES {
        let c = if op.aux[1] != 0 { c[i].wrapping_neg() } else { c[i] };
        let c = if shift < 5 { c << shift } else { 0 };
        out[i] = a[i].wrapping_mul(b[i]).wrapping_add(c);
    }
    l.store_u64(op.d, &out);
    Next::Continue
}

/// The range that a sum is clamped to, if it is: only without a shift, and with summands of at most
/// 32 bits. source: applegpu.py, IAddInstructionDesc and IMAddInstructionDesc.
#[inline(always)]
fn saturation(op: &Op, narrow: &[Src]) -> Option<(i128, i128)> {
    let applies = op.d.saturate
        && op.aux[0] == 0
        && op.d.form != Form::Pair
        && narrow.iter().all(|s| s.form != Form::Pair);
    let bits = if op.d.form == Form::Word { 32 } else { 16 };
    let signed = op.aux[2] != 0;
    applies.then(|| {
        if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
    })
}

/// The values of a source.
#[inline(always)]
fn wide(l: &Lanes<'_, '_>, s: Src) -> [i128; LANES] {
    let extend = |v: u64| if s.sign_extend { i128::from(v as i64) } else { i128::from(v) };
    l.load_u64(s).map(extend)
}

/// `a * b ± c`, clamped. The product of two unsigned words fills 64 bits, so that the sum needs
/// more.
#[inline(always)]
fn saturated(
    l: &mut Lanes<'_, '_>,
    op: &Op,
    (low, high): (i128, i128),
    [a, b, c]: &[[i128; LANES]; 3],
) -> Next {
    let mut out = [0; LANES];
    for i in 0..LANES {
        let c = if op.aux[1] != 0 { -c[i] } else { c[i] };
        out[i] = (a[i] * b[i] + c).clamp(low, high) as u64;
    }
    l.store_u64(op.d, &out);
    Next::Continue
}

/// Bitwise function of two operands by truth table: `aux[0]` bit 0 is the result for neither set,
/// bit 1 for a only, bit 2 for b only, bit 3 for both.
#[inline(always)]
pub fn bitop<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    match op.aux[0] {
        0b1000 => map::<FAST, 2>(l, op, |[a, b]| a & b),
        0b1110 => map::<FAST, 2>(l, op, |[a, b]| a | b),
        0b0110 => map::<FAST, 2>(l, op, |[a, b]| a ^ b),
        0b1010 => map::<FAST, 1>(l, op, |[a]| a),
        0b0101 => map::<FAST, 1>(l, op, |[a]| !a),
        // The tables of `b` and of `not b` give `a` on hardware. source: applegpu.py,
        // BitopInstructionDesc.
        0b1100 | 0b0011 => map::<FAST, 1>(l, op, |[a]| a),
        table => {
            let bit = |k: u16| 0u32.wrapping_sub(u32::from(table >> k) & 1);
            let (neither, only_a, only_b, both) = (bit(0), bit(1), bit(2), bit(3));
            map::<FAST, 2>(l, op, |[a, b]| {
                (neither & !a & !b) | (only_a & a & !b) | (only_b & !a & b) | (both & a & b)
            })
        }
    }
}

/// The shift amount counts modulo 128; 32 and more shift everything out.
#[inline(always)]
fn shl(x: u32, by: u32) -> u32 {
    if by & 0x60 != 0 { 0 } else { x << (by & 31) }
}

#[inline(always)]
fn shr(x: u32, by: u32) -> u32 {
    if by & 0x60 != 0 { 0 } else { x >> (by & 31) }
}

/// The low `aux[0]` bits; 0 means all.
#[inline(always)]
fn width_mask(op: &Op) -> u32 {
    match op.aux[0] {
        0 => u32::MAX,
        m => (1 << m) - 1,
    }
}

/// Bitfield insert: the low bits of b go into a at c.
#[inline(always)]
pub fn bfi<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let mask = width_mask(op);
    map::<FAST, 3>(l, op, |[a, b, c]| (a & !shl(mask, c)) | shl(b & mask, c))
}

/// Bitfield extract: the bits of b from c on go into the low bits of a.
#[inline(always)]
pub fn bfeil<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let mask = width_mask(op);
    map::<FAST, 3>(l, op, |[a, b, c]| (a & !mask) | (shr(b, c) & mask))
}

/// Funnel shift: the pair b:a shifted right by c.
#[inline(always)]
pub fn extr<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let mask = width_mask(op);
    map::<FAST, 3>(l, op, |[a, b, c]| {
        let by = c & 0x7f;
        let pair = u64::from(b) << 32 | u64::from(a);
        let shifted = if by > 63 { 0 } else { pair >> by };
        shifted as u32 & mask
    })
}

/// High word of a left shift, inserted into a.
#[inline(always)]
pub fn shlhi<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let mask = width_mask(op);
    map::<FAST, 3>(l, op, |[a, b, c]| {
        let by = c & 0x7f;
        let field = shl(mask, by.saturating_sub(32));
        let moved = if by > 63 { 0 } else { (u64::from(b) << by >> 32) as u32 };
        // From 64 on the value is shifted out of the high word too, and so is the field at 64 + 32.
        (moved & field) | (a & !field)
    })
}

/// Low word of a right shift of the high word, inserted into a.
#[inline(always)]
pub fn shrhi<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    let mask = width_mask(op);
    map::<FAST, 3>(l, op, |[a, b, c]| {
        let by = c & 0x7f;
        let field = ((u64::from(mask) << 32) >> by.min(32)) as u32;
        let moved = if by > 63 { 0 } else { ((u64::from(b) << 32) >> by) as u32 };
        (moved & field) | (a & !field)
    })
}

/// Arithmetic shift right; a keeps its own width's sign.
#[inline(always)]
pub fn asr<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    map::<FAST, 2>(l, op, |[a, b]| (a as i32 >> (b & 0x7f).min(31)) as u32)
}

/// Arithmetic shift right of `a << 32`.
#[inline(always)]
pub fn asrhi<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    map::<FAST, 2>(l, op, |[a, b]| ((i64::from(a as i32) << 32) >> (b & 0x7f).min(63)) as u32)
}

/// Bits in reverse order.
#[inline(always)]
pub fn bitrev<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    map::<FAST, 1>(l, op, |[a]| a.reverse_bits())
}

/// Number of set bits.
#[inline(always)]
pub fn popcount<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    map::<FAST, 1>(l, op, |[a]| a.count_ones())
}

/// Index of the highest set bit, all ones for zero.
#[inline(always)]
pub fn ffs<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    map::<FAST, 1>(l, op, |[a]| 31u32.wrapping_sub(a.leading_zeros()))
}

/// Interleaves the low 16 bits of a (even places) and b (odd places).
#[inline(always)]
pub fn intl<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    #[inline(always)]
    fn spread(x: u32) -> u32 {
        let x = x & 0xffff;
        let x = (x | x << 8) & 0x00ff_00ff;
        let x = (x | x << 4) & 0x0f0f_0f0f;
        let x = (x | x << 2) & 0x3333_3333;
        (x | x << 1) & 0x5555_5555
    }
    map::<FAST, 2>(l, op, |[a, b]| spread(a) | spread(b) << 1)
}

/// `compare(a, b) ? x : y` on integers. `aux[0]` is the condition: 0 equal, 1 below, 2 above, and
/// plus 4 the same on signed integers. source: Mesa's agx_compiler.h, `enum agx_icond`.
#[inline(always)]
pub fn icmpsel<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    if FAST {
        return match op.aux[0] {
            0 | 4 => map::<true, 4>(l, op, |[a, b, x, y]| if a == b { x } else { y }),
            1 => map::<true, 4>(l, op, |[a, b, x, y]| if a < b { x } else { y }),
            2 => map::<true, 4>(l, op, |[a, b, x, y]| if a > b { x } else { y }),
            5 => map::<true, 4>(l, op, |[a, b, x, y]| if (a as i32) < b as i32 { x } else { y }),
            _ => map::<true, 4>(l, op, |[a, b, x, y]| if a as i32 > b as i32 { x } else { y }),
        };
    }
    let yes = icompare(l, op, op.aux[0]);
    select(l, op, &yes)
}

/// All bits in the lanes (active or not) in which the integer condition holds for sources 0 and 1.
#[inline(always)]
pub fn icompare(l: &Lanes<'_, '_>, op: &Op, condition: u16) -> Row {
    let signed = condition & 4 != 0;
    let load = |s: Src| l.load_u32(Src { sign_extend: signed && !s.constant, ..s });
    let [a, b] = [load(op.s[0]), load(op.s[1])];
    let mut out = Row::ZERO;
    macro_rules! test {
        ($a:ident, $b:ident, $test:expr) => {
            for i in 0..LANES {
                let ($a, $b) = (a.0[i], b.0[i]);
                out.0[i] = if $test { u32::MAX } else { 0 };
            }
        };
    }
    match condition {
        0 | 4 => test!(a, b, a == b),
        1 => test!(a, b, a < b),
        2 => test!(a, b, a > b),
        5 => test!(a, b, (a as i32) < b as i32),
        _ => test!(a, b, a as i32 > b as i32),
    }
    out
}

/// Stores source 2 in the lanes of `yes`, source 3 in the others.
#[inline(always)]
pub fn select(l: &mut Lanes<'_, '_>, op: &Op, yes: &Row) -> Next {
    let [x, y] = [l.load_u32(op.s[2]), l.load_u32(op.s[3])];
    let mut out = Row::ZERO;
    for i in 0..LANES {
        out.0[i] = (x.0[i] & yes.0[i]) | (y.0[i] & !yes.0[i]);
    }
    l.store_u32(Dst { saturate: false, ..op.d }, &out);
    Next::Continue
}
