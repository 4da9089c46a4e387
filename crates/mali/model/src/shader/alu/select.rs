//! Selects and comparisons.

use tepui_mali_isa::Op as Isa;
use tepui_mali_isa::modifier::{Condition, Mux};

use super::{Done, by_bytes, by_halves, ternary, zip};
use crate::shader::op::{Handler, Lanes, Op};
use crate::warp::host::for_hosts;
use crate::warp::row::{LANES, Row, float16, halves, join};

/// The combination of a comparison with its third source: in the upper bits of [`Op::flags`], above the
/// representation of true.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Chain {
    /// True if the third source or the comparison is true.
    Or = 0,
    /// True if both are true.
    And = 1,
    /// The comparison of the upper words of a 64-bit number; the third source is the result for the lower
    /// words.
    High = 2,
    /// The comparison of the lower words of a 64-bit number.
    Low = 3,
}

for_hosts! {
    /// The handler of an instruction.
    pub fn handler(isa: Isa) -> Option<Handler> {
        Some(match isa {
            Isa::CSEL_U32 => |l, op| choose(l, op, |c, a, b| mask(holds(c, a, b))),
            Isa::CSEL_S32 => |l, op| choose(l, op, |c, a, b| mask(holds(c, a as i32, b as i32))),
            Isa::CSEL_F32 => {
                |l, op| choose(l, op, |c, a, b| mask(holds(c, f32::from_bits(a), f32::from_bits(b))))
            }
            Isa::CSEL_V2U16 => |l, op| choose(l, op, |c, a, b| halves_mask(c, a, b, |v| v)),
            Isa::CSEL_V2S16 => |l, op| choose(l, op, |c, a, b| halves_mask(c, a, b, |v| v as i16)),
            Isa::CSEL_V2F16 => |l, op| choose(l, op, |c, a, b| halves_mask(c, a, b, float16)),
            Isa::ICMP_OR_U32 | Isa::ICMP_AND_U32 | Isa::ICMP_MULTI_U32 => |l, op| compare(l, op, |v| v),
            Isa::ICMP_OR_S32 | Isa::ICMP_AND_S32 | Isa::ICMP_MULTI_S32 => {
                |l, op| compare(l, op, |v| v as i32)
            }
            Isa::FCMP_OR_F32 | Isa::FCMP_AND_F32 => |l, op| compare(l, op, f32::from_bits),
            Isa::ICMP_OR_V2U16 | Isa::ICMP_AND_V2U16 => |l, op| compare_halves(l, op, |v| v),
            Isa::ICMP_OR_V2S16 | Isa::ICMP_AND_V2S16 => |l, op| compare_halves(l, op, |v| v as i16),
            Isa::FCMP_OR_V2F16 | Isa::FCMP_AND_V2F16 => |l, op| compare_halves(l, op, float16),
            Isa::ICMP_OR_V4U8 | Isa::ICMP_AND_V4U8 => |l, op| compare_bytes(l, op, |v| v),
            Isa::ICMP_OR_V4S8 | Isa::ICMP_AND_V4S8 => |l, op| compare_bytes(l, op, |v| v as i8),
            Isa::MUX_I32 => |l, op| mux(l, op, mux_word),
            Isa::MUX_V2I16 => |l, op| {
                mux(l, op, |kind, mask| match kind {
                    Mux::Bit => mask,
                    _ => join(halves(mask).map(|m| mux_part(kind, m.into(), 15) as u16)),
                })
            },
            Isa::MUX_V4I8 => |l, op| {
                mux(l, op, |kind, mask| match kind {
                    Mux::Bit => mask,
                    _ => u32::from_le_bytes(
                        mask.to_le_bytes().map(|m| mux_part(kind, m.into(), 7) as u8),
                    ),
                })
            },
            _ => return None,
        })
    }
}

/// All bits if true.
#[inline(always)]
fn mask(condition: bool) -> u32 {
    u32::from(condition).wrapping_neg()
}

/// Evaluates a condition. Integers are always ordered, so `gtlt` and `total` have no separate meaning for
/// them.
#[inline(always)]
pub fn holds<T: PartialOrd>(condition: Condition, a: T, b: T) -> bool {
    match condition {
        Condition::Eq => a == b,
        Condition::Gt => a > b,
        Condition::Ge => a >= b,
        Condition::Ne => a != b,
        Condition::Lt => a < b,
        Condition::Le => a <= b,
        Condition::Gtlt => a.partial_cmp(&b).is_some_and(|order| order.is_ne()),
        Condition::Total => a.partial_cmp(&b).is_some(),
    }
}

#[inline(always)]
fn halves_mask<T: PartialOrd>(c: Condition, a: u32, b: u32, of: impl Fn(u16) -> T) -> u32 {
    by_halves(|a, b| mask(holds(c, of(a), of(b))) as u16)(a, b)
}

/// Selects by a mask of each lane's bits. The condition is dispatched once, outside of the loop over lanes.
#[inline(always)]
fn choose(l: &mut Lanes<'_, '_>, op: &Op, test: impl Fn(Condition, u32, u32) -> u32) -> Done {
    let [a, b, c, d] = [0, 1, 2, 3].map(|i| l.get(&op.src[i]));
    let masks = by_condition(op.condition, &a, &b, test);
    let mut out = d;
    for i in 0..LANES {
        out.0[i] = d.0[i] ^ ((c.0[i] ^ d.0[i]) & masks.0[i]);
    }
    l.put(op, &out);
    Ok(())
}

/// Applies a comparison to lanes, so that each condition has a loop of its own.
#[inline(always)]
fn by_condition(
    condition: Condition,
    a: &Row,
    b: &Row,
    test: impl Fn(Condition, u32, u32) -> u32,
) -> Row {
    macro_rules! each {
        ($($name:ident)*) => {
            match condition {
                $(Condition::$name => zip(a, b, |a, b| test(Condition::$name, a, b)),)*
            }
        };
    }
    each!(Eq Gt Ge Ne Lt Le Gtlt Total)
}

/// Compares words. `flags` contains the combination with the third source, `immediate` the representation of
/// true.
#[inline(always)]
fn compare<T: PartialOrd>(l: &mut Lanes<'_, '_>, op: &Op, of: impl Fn(u32) -> T) -> Done {
    let [a, b, c] = [0, 1, 2].map(|i| l.get(&op.src[i]));
    let masks = by_condition(op.condition, &a, &b, |c, a, b| mask(holds(c, of(a), of(b))));
    let truth = op.immediate;
    let mut out = masks;
    match op.flags {
        f if f == Chain::Or as u32 => {
            for i in 0..LANES {
                out.0[i] = (masks.0[i] | mask(c.0[i] != 0)) & truth;
            }
        }
        f if f == Chain::And as u32 => {
            for i in 0..LANES {
                out.0[i] = masks.0[i] & mask(c.0[i] != 0) & truth;
            }
        }
        f if f == Chain::Low as u32 => out = masks.map(|m| m & truth),
        _ => {
            // The upper halves decide unless they are equal.
            for i in 0..LANES {
                let (a, b) = (of(a.0[i]), of(b.0[i]));
                let below = c.0[i] != 0;
                let result = match op.condition {
                    Condition::Eq => a == b && below,
                    Condition::Ne | Condition::Gtlt => a != b || below,
                    Condition::Gt | Condition::Ge => a > b || a == b && below,
                    Condition::Lt | Condition::Le => a < b || a == b && below,
                    Condition::Total => true,
                };
                out.0[i] = mask(result) & truth;
            }
        }
    }
    l.put(op, &out);
    Ok(())
}

#[inline(always)]
fn compare_halves<T: PartialOrd>(l: &mut Lanes<'_, '_>, op: &Op, of: impl Fn(u16) -> T) -> Done {
    let [a, b, c] = [0, 1, 2].map(|i| l.get(&op.src[i]));
    let masks = by_condition(op.condition, &a, &b, |c, a, b| halves_mask(c, a, b, &of));
    let other = c.map(|c| join(halves(c).map(|c| mask(c != 0) as u16)));
    chain(l, op, &masks, &other)
}

#[inline(always)]
fn compare_bytes<T: PartialOrd>(l: &mut Lanes<'_, '_>, op: &Op, of: impl Fn(u8) -> T) -> Done {
    let [a, b, c] = [0, 1, 2].map(|i| l.get(&op.src[i]));
    let masks = by_condition(op.condition, &a, &b, |c, a, b| {
        by_bytes(|a, b| mask(holds(c, of(a), of(b))) as u8)(a, b)
    });
    let other = c.map(|c| u32::from_le_bytes(c.to_le_bytes().map(|c| mask(c != 0) as u8)));
    chain(l, op, &masks, &other)
}

/// Combines masks with those of the third source.
#[inline(always)]
fn chain(l: &mut Lanes<'_, '_>, op: &Op, masks: &Row, other: &Row) -> Done {
    let truth = op.immediate;
    let out = match op.flags == Chain::And as u32 {
        true => zip(masks, other, |a, b| a & b & truth),
        false => zip(masks, other, |a, b| (a | b) & truth),
    };
    l.put(op, &out);
    Ok(())
}

#[inline(always)]
fn mux(l: &mut Lanes<'_, '_>, op: &Op, masks: impl Fn(Mux, u32) -> u32) -> Done {
    macro_rules! each {
        ($($name:ident)*) => {
            match op.flags {
                $(f if f == Mux::$name as u32 => ternary(l, op, |a, b, m| {
                    b ^ ((a ^ b) & masks(Mux::$name, m))
                }),)*
                _ => Ok(()),
            }
        };
    }
    each!(Neg IntZero FpZero Bit)
}

#[inline(always)]
fn mux_word(kind: Mux, m: u32) -> u32 {
    match kind {
        Mux::Bit => m,
        _ => mux_part(kind, m, 31),
    }
}

/// All ones if the sign bit of a part of the mask selects A.
#[inline(always)]
fn mux_part(kind: Mux, part: u32, top: u32) -> u32 {
    mask(match kind {
        Mux::Neg => part >> top != 0,
        Mux::IntZero => part == 0,
        Mux::FpZero => part & !(1 << top) == 0,
        Mux::Bit => false,
    })
}
