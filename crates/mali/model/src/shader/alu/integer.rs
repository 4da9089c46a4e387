//! Integer arithmetic.

use tepui_mali_isa::Op as Isa;

use super::{binary, binary64, by_bytes, by_halves, ternary, unary};
use crate::shader::op::{Handler, Op};
use crate::shader::operand::Select;
use crate::warp::host::for_hosts;

/// Modifier in [`Op::flags`]: results saturate.
pub const SATURATE: u32 = 1;
/// Modifier: halving addition rounds up.
pub const ROUND_UP: u32 = 1;
/// Modifier: offsets are subtracted.
pub const NEGATE: u32 = 1;
/// Modifier: null pointers stay null.
pub const PRESERVE_NULL: u32 = 2;

fn saturates(op: &Op) -> bool {
    op.flags & SATURATE != 0
}

/// The handler of an instruction.
pub fn handler(isa: Isa) -> Option<Handler> {
    sum(isa).or_else(|| product(isa)).or_else(|| other(isa))
}

/// Selects the wrapping or the saturating function of a type.
macro_rules! wrap_or_saturate {
    ($lift:ident, $type:ty, $wrap:ident, $saturate:ident) => {
        |l, op| match saturates(op) {
            false => binary(l, op, $lift(|a, b| (a as $type).$wrap(b as $type) as _)),
            true => binary(l, op, $lift(|a, b| (a as $type).$saturate(b as $type) as _)),
        }
    };
}

/// Identity: a function on words.
fn by_words(f: impl Fn(u32, u32) -> u32) -> impl Fn(u32, u32) -> u32 {
    f
}

for_hosts! {
    fn sum(isa: Isa) -> Option<Handler> {
        Some(match isa {
            Isa::IADD_U32 => wrap_or_saturate!(by_words, u32, wrapping_add, saturating_add),
            Isa::IADD_S32 => wrap_or_saturate!(by_words, i32, wrapping_add, saturating_add),
            Isa::IADD_V2U16 => wrap_or_saturate!(by_halves, u16, wrapping_add, saturating_add),
            Isa::IADD_V2S16 => wrap_or_saturate!(by_halves, i16, wrapping_add, saturating_add),
            Isa::IADD_V4U8 => wrap_or_saturate!(by_bytes, u8, wrapping_add, saturating_add),
            Isa::IADD_V4S8 => wrap_or_saturate!(by_bytes, i8, wrapping_add, saturating_add),
            Isa::ISUB_U32 => wrap_or_saturate!(by_words, u32, wrapping_sub, saturating_sub),
            Isa::ISUB_S32 => wrap_or_saturate!(by_words, i32, wrapping_sub, saturating_sub),
            Isa::ISUB_V2U16 => wrap_or_saturate!(by_halves, u16, wrapping_sub, saturating_sub),
            Isa::ISUB_V2S16 => wrap_or_saturate!(by_halves, i16, wrapping_sub, saturating_sub),
            Isa::ISUB_V4U8 => wrap_or_saturate!(by_bytes, u8, wrapping_sub, saturating_sub),
            Isa::ISUB_V4S8 => wrap_or_saturate!(by_bytes, i8, wrapping_sub, saturating_sub),
            Isa::IADD_U64 => |l, op| match saturates(op) {
                false => binary64(l, op, u64::wrapping_add),
                true => binary64(l, op, u64::saturating_add),
            },
            Isa::IADD_S64 => |l, op| match saturates(op) {
                false => binary64(l, op, u64::wrapping_add),
                true => binary64(l, op, |a, b| (a as i64).saturating_add(b as i64) as u64),
            },
            Isa::ISUB_U64 => |l, op| match saturates(op) {
                false => binary64(l, op, u64::wrapping_sub),
                true => binary64(l, op, u64::saturating_sub),
            },
            Isa::ISUB_S64 => |l, op| match saturates(op) {
                false => binary64(l, op, u64::wrapping_sub),
                true => binary64(l, op, |a, b| (a as i64).saturating_sub(b as i64) as u64),
            },
            _ => return None,
        })
    }
}

for_hosts! {
    fn product(isa: Isa) -> Option<Handler> {
        Some(match isa {
            // Without a sign in the name, saturation is unsigned.
            Isa::IMUL_I32 => wrap_or_saturate!(by_words, u32, wrapping_mul, saturating_mul),
            Isa::IMUL_S32 => wrap_or_saturate!(by_words, i32, wrapping_mul, saturating_mul),
            Isa::IMUL_V2I16 => wrap_or_saturate!(by_halves, u16, wrapping_mul, saturating_mul),
            Isa::IMUL_V2S16 => wrap_or_saturate!(by_halves, i16, wrapping_mul, saturating_mul),
            Isa::IMUL_V4I8 => wrap_or_saturate!(by_bytes, u8, wrapping_mul, saturating_mul),
            Isa::IMUL_V4S8 => wrap_or_saturate!(by_bytes, i8, wrapping_mul, saturating_mul),
            // The multiplier takes the lower words of its sources.
            Isa::IMULD_U64 => |l, op| binary64(l, op, |a, b| u64::from(a as u32) * u64::from(b as u32)),
            Isa::IDP_V4S8 => |l, op| {
                let saturate = saturates(op);
                ternary(l, op, |a, b, c| {
                    let (a, b) = (a.to_le_bytes(), b.to_le_bytes());
                    let products = (0..4).map(|i| i32::from(a[i] as i8) * i32::from(b[i] as i8));
                    let sum: i32 = products.sum();
                    let (sum, c) = (sum, c as i32);
                    (if saturate { c.saturating_add(sum) } else { c.wrapping_add(sum) }) as u32
                })
            },
            Isa::IDP_V4U8 => |l, op| {
                let saturate = saturates(op);
                ternary(l, op, |a, b, c| {
                    let (a, b) = (a.to_le_bytes(), b.to_le_bytes());
                    let sum: u32 = (0..4).map(|i| u32::from(a[i]) * u32::from(b[i])).sum();
                    if saturate { c.saturating_add(sum) } else { c.wrapping_add(sum) }
                })
            },
            _ => return None,
        })
    }
}

/// Half of a sum, computed with one more bit than the type has.
macro_rules! half_sum {
    ($lift:ident, $type:ty, $wide:ty) => {
        |l, op| {
            let more = <$wide>::from(op.flags & ROUND_UP != 0);
            let f = move |a, b| ((a as $type as $wide + b as $type as $wide + more) >> 1) as _;
            binary(l, op, $lift(f))
        }
    };
}

for_hosts! {
    fn other(isa: Isa) -> Option<Handler> {
        Some(match isa {
            Isa::HADD_U32 => half_sum!(by_words, u32, u64),
            Isa::HADD_S32 => half_sum!(by_words, i32, i64),
            Isa::HADD_V2U16 => half_sum!(by_halves, u16, u32),
            Isa::HADD_V2S16 => half_sum!(by_halves, i16, i32),
            Isa::HADD_V4U8 => half_sum!(by_bytes, u8, u16),
            Isa::HADD_V4S8 => half_sum!(by_bytes, i8, i16),
            Isa::IADD_IMM_I32 => |l, op| {
                let b = op.immediate;
                unary(l, op, |a| a.wrapping_add(b))
            },
            Isa::IADD_IMM_V2I16 => |l, op| {
                let b = op.immediate;
                unary(l, op, |a| by_halves(u16::wrapping_add)(a, b))
            },
            Isa::IADD_IMM_V4I8 => |l, op| {
                let b = op.immediate;
                unary(l, op, |a| by_bytes(u8::wrapping_add)(a, b))
            },
            Isa::SHADDX_U64 => |l, op| {
                let shift = op.immediate;
                binary64(l, op, |a, b| a.wrapping_add(b << shift))
            },
            Isa::SHADDX_S64 => |l, op| {
                let shift = op.immediate;
                // Parts of a register are extended to 32 bits.
                let extend = op.src[1].select != Select::Whole;
                binary64(l, op, |a, b| {
                    let b = if extend { b as u32 as i32 as i64 as u64 } else { b };
                    a.wrapping_add(b << shift)
                })
            },
            Isa::SEG_ADD_U64 => |l, op| {
                let flags = op.flags;
                binary64(l, op, |a, b| match flags {
                    _ if flags & PRESERVE_NULL != 0 && a == 0 => 0,
                    _ if flags & NEGATE != 0 => a.wrapping_sub(b),
                    _ => a.wrapping_add(b),
                })
            },
            _ => return None,
        })
    }
}
