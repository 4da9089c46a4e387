//! Shifts, bitwise operations and bit counts.

use tepui_mali_isa::Op as Isa;

use super::{Done, ternary, unary};
use crate::shader::op::{Handler, Lanes, Op};
use crate::warp::host::for_hosts;
use crate::warp::row::{LANES, halves, join, wide};

/// Modifier in [`Op::flags`]: the result is inverted.
pub const NOT_RESULT: u32 = 1;
/// Modifier in [`Op::flags`]: the right shift is arithmetic.
pub const ARITHMETIC: u32 = 2;

#[derive(Clone, Copy)]
enum Logic {
    And,
    Or,
    Xor,
}

/// The handler of an instruction.
pub fn handler(isa: Isa) -> Option<Handler> {
    shifts(isa).or_else(|| bits(isa))
}

macro_rules! shift {
    ($width:ident, $left:literal, $logic:ident) => {
        |l, op| $width::<$left>(l, op, Logic::$logic)
    };
}

fn shifts(isa: Isa) -> Option<Handler> {
    Some(match isa {
        Isa::LSHIFT_AND_I32 => shift!(words, true, And),
        Isa::LSHIFT_OR_I32 => shift!(words, true, Or),
        Isa::LSHIFT_XOR_I32 => shift!(words, true, Xor),
        Isa::RSHIFT_AND_I32 => shift!(words, false, And),
        Isa::RSHIFT_OR_I32 => shift!(words, false, Or),
        Isa::RSHIFT_XOR_I32 => shift!(words, false, Xor),
        Isa::LSHIFT_AND_V2I16 => shift!(half_words, true, And),
        Isa::LSHIFT_OR_V2I16 => shift!(half_words, true, Or),
        Isa::LSHIFT_XOR_V2I16 => shift!(half_words, true, Xor),
        Isa::RSHIFT_AND_V2I16 => shift!(half_words, false, And),
        Isa::RSHIFT_OR_V2I16 => shift!(half_words, false, Or),
        Isa::RSHIFT_XOR_V2I16 => shift!(half_words, false, Xor),
        Isa::LSHIFT_AND_V4I8 => shift!(bytes, true, And),
        Isa::LSHIFT_OR_V4I8 => shift!(bytes, true, Or),
        Isa::LSHIFT_XOR_V4I8 => shift!(bytes, true, Xor),
        Isa::RSHIFT_AND_V4I8 => shift!(bytes, false, And),
        Isa::RSHIFT_OR_V4I8 => shift!(bytes, false, Or),
        Isa::RSHIFT_XOR_V4I8 => shift!(bytes, false, Xor),
        Isa::LSHIFT_AND_I64 => shift!(long_words, true, And),
        Isa::LSHIFT_OR_I64 => shift!(long_words, true, Or),
        Isa::LSHIFT_XOR_I64 => shift!(long_words, true, Xor),
        Isa::RSHIFT_AND_I64 => shift!(long_words, false, And),
        Isa::RSHIFT_OR_I64 => shift!(long_words, false, Or),
        Isa::RSHIFT_XOR_I64 => shift!(long_words, false, Xor),
        _ => return None,
    })
}

for_hosts! {
    fn bits(isa: Isa) -> Option<Handler> {
        Some(match isa {
            Isa::MOV_I32 => |l, op| unary(l, op, |a| a),
            Isa::NOT_OLD_I32 => |l, op| unary(l, op, |a| !a),
            Isa::NOT_OLD_I64 => |l, op| {
                let a = l.get64(&op.src[0]);
                l.put64(op, &a.map(|a| !a));
                Ok(())
            },
            Isa::POPCOUNT_I32 => |l, op| unary(l, op, u32::count_ones),
            Isa::BITREV_I32 => |l, op| unary(l, op, u32::reverse_bits),
            Isa::CLZ_U32 => |l, op| unary(l, op, u32::leading_zeros),
            Isa::CLZ_V2U16 => {
                |l, op| unary(l, op, |a| join(halves(a).map(|a| a.leading_zeros() as u16)))
            }
            Isa::CLZ_V4U8 => |l, op| {
                unary(l, op, |a| u32::from_le_bytes(a.to_le_bytes().map(|a| a.leading_zeros() as u8)))
            },
            Isa::IABS_S32 => |l, op| unary(l, op, |a| (a as i32).wrapping_abs() as u32),
            Isa::IABS_V2S16 => {
                |l, op| unary(l, op, |a| join(halves(a).map(|a| (a as i16).wrapping_abs() as u16)))
            }
            Isa::IABS_V4S8 => |l, op| {
                unary(l, op, |a| {
                    u32::from_le_bytes(a.to_le_bytes().map(|a| (a as i8).wrapping_abs() as u8))
                })
            },
            Isa::MKVEC_V2I16 => |l, op| super::binary(l, op, |a, b| a & 0xffff | b << 16),
            Isa::MKVEC_V2I8 => |l, op| ternary(l, op, |a, b, c| a & 0xff | (b & 0xff) << 8 | c << 16),
            _ => return None,
        })
    }
}

#[inline(always)]
fn combine(op: &Op, logic: Logic, shifted: u32, b: u32) -> u32 {
    let value = match logic {
        Logic::And => shifted & b,
        Logic::Or => shifted | b,
        Logic::Xor => shifted ^ b,
    };
    if op.flags & NOT_RESULT != 0 { !value } else { value }
}

/// The shift amount modulo the width.
#[inline(always)]
fn words<const LEFT: bool>(l: &mut Lanes<'_, '_>, op: &Op, logic: Logic) -> Done {
    let arithmetic = op.flags & ARITHMETIC != 0;
    ternary(l, op, |a, amount, b| {
        let amount = amount & 31;
        let shifted = match (LEFT, arithmetic) {
            (true, _) => a << amount,
            (false, false) => a >> amount,
            (false, true) => (a as i32 >> amount) as u32,
        };
        combine(op, logic, shifted, b)
    })
}

#[inline(always)]
fn half_words<const LEFT: bool>(l: &mut Lanes<'_, '_>, op: &Op, logic: Logic) -> Done {
    let arithmetic = op.flags & ARITHMETIC != 0;
    ternary(l, op, |a, amount, b| {
        let amount = halves(amount).map(|n| n & 15);
        let a = halves(a);
        let one = |i: usize| match (LEFT, arithmetic) {
            (true, _) => a[i] << amount[i],
            (false, false) => a[i] >> amount[i],
            (false, true) => (a[i] as i16 >> amount[i]) as u16,
        };
        combine(op, logic, join([one(0), one(1)]), b)
    })
}

#[inline(always)]
fn bytes<const LEFT: bool>(l: &mut Lanes<'_, '_>, op: &Op, logic: Logic) -> Done {
    let arithmetic = op.flags & ARITHMETIC != 0;
    ternary(l, op, |a, amount, b| {
        let amount = amount.to_le_bytes().map(|n| n & 7);
        let a = a.to_le_bytes();
        let one = |i: usize| match (LEFT, arithmetic) {
            (true, _) => a[i] << amount[i],
            (false, false) => a[i] >> amount[i],
            (false, true) => (a[i] as i8 >> amount[i]) as u8,
        };
        combine(op, logic, u32::from_le_bytes(std::array::from_fn(one)), b)
    })
}

#[inline(always)]
fn long_words<const LEFT: bool>(l: &mut Lanes<'_, '_>, op: &Op, logic: Logic) -> Done {
    let arithmetic = op.flags & ARITHMETIC != 0;
    let a = l.get64(&op.src[0]);
    let amount = l.get(&op.src[1]);
    let flip = |row: crate::warp::row::Row| row.map(|v| v ^ op.src[2].flip);
    let b = wide(&l.get(&op.src[2]), &flip(*l.raw(op.src[2].high)));
    let mut out = [0; LANES];
    for i in 0..LANES {
        let n = amount.0[i] & 63;
        let shifted = match (LEFT, arithmetic) {
            (true, _) => a[i] << n,
            (false, false) => a[i] >> n,
            (false, true) => (a[i] as i64 >> n) as u64,
        };
        let halves = [0, 32].map(|s| combine(op, logic, (shifted >> s) as u32, (b[i] >> s) as u32));
        out[i] = u64::from(halves[0]) | u64::from(halves[1]) << 32;
    }
    l.put64(op, &out);
    Ok(())
}
