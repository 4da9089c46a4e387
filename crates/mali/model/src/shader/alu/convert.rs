//! Conversions.

use tepui_mali_isa::Op as Isa;

use super::float::{finish, finish16};
use super::rounding::{from_integer, to_half, to_integral};
use super::{unary, zip};
use crate::shader::op::Handler;
use crate::warp::host::for_hosts;
use crate::warp::row::{float16, halves, join};

for_hosts! {
    /// The handler of an instruction.
    pub fn handler(isa: Isa) -> Option<Handler> {
        Some(match isa {
            // Sources are extended when they are selected.
            Isa::S16_TO_S32 => |l, op| unary(l, op, |a| a as u16 as i16 as i32 as u32),
            Isa::U16_TO_U32 => |l, op| unary(l, op, |a| a & 0xffff),
            Isa::S8_TO_S32 | Isa::U8_TO_U32 | Isa::V2S8_TO_V2S16 | Isa::V2U8_TO_V2U16 => {
                |l, op| unary(l, op, |a| a)
            }
            Isa::S16_TO_F32 => |l, op| unary(l, op, |a| f32::from(a as u16 as i16).to_bits()),
            Isa::U16_TO_F32 => |l, op| unary(l, op, |a| f32::from(a as u16).to_bits()),
            Isa::S8_TO_F32 => |l, op| unary(l, op, |a| (a as i32 as f32).to_bits()),
            Isa::U8_TO_F32 => |l, op| unary(l, op, |a| (a as f32).to_bits()),
            Isa::V2S8_TO_V2F16 | Isa::V2S16_TO_V2F16 => |l, op| {
                let mode = op.round;
                unary(l, op, |a| join(halves(a).map(|a| to_half(f32::from(a as i16), mode))))
            },
            Isa::V2U8_TO_V2F16 | Isa::V2U16_TO_V2F16 => |l, op| {
                let mode = op.round;
                unary(l, op, |a| join(halves(a).map(|a| to_half(f32::from(a), mode))))
            },
            Isa::S32_TO_F32 => |l, op| {
                let mode = op.round;
                unary(l, op, |a| from_integer(i64::from(a as i32), mode).to_bits())
            },
            Isa::U32_TO_F32 => |l, op| {
                let mode = op.round;
                unary(l, op, |a| from_integer(i64::from(a), mode).to_bits())
            },
            // Out-of-range numbers are clamped, NaN becomes zero.
            Isa::F32_TO_S32 => |l, op| {
                let mode = op.round;
                unary(l, op, |a| to_integral(f32::from_bits(a), mode) as i32 as u32)
            },
            Isa::F32_TO_U32 => |l, op| {
                let mode = op.round;
                unary(l, op, |a| to_integral(f32::from_bits(a), mode) as u32)
            },
            Isa::F16_TO_S32 => |l, op| {
                let mode = op.round;
                unary(l, op, |a| to_integral(float16(a as u16), mode) as i32 as u32)
            },
            Isa::F16_TO_U32 => |l, op| {
                let mode = op.round;
                unary(l, op, |a| to_integral(float16(a as u16), mode) as u32)
            },
            Isa::V2F16_TO_V2S16 => |l, op| {
                let mode = op.round;
                let one = move |a| to_integral(float16(a), mode) as i16 as u16;
                unary(l, op, |a| join(halves(a).map(one)))
            },
            Isa::V2F16_TO_V2U16 => |l, op| {
                let mode = op.round;
                unary(l, op, |a| join(halves(a).map(|a| to_integral(float16(a), mode) as u16)))
            },
            Isa::F16_TO_F32 => |l, op| unary(l, op, |a| float16(a as u16).to_bits()),
            Isa::FROUND_F32 => |l, op| {
                let mode = op.round;
                let a = l.get(&op.src[0]);
                finish(l, op, &a.map(|a| to_integral(f32::from_bits(a), mode).to_bits()))
            },
            Isa::FROUND_V2F16 => |l, op| {
                let mode = op.round;
                let one = move |a| to_half(to_integral(float16(a), mode), mode);
                let a = l.get(&op.src[0]);
                finish16(l, op, &a.map(|a| join(halves(a).map(one))))
            },
            Isa::V2F32_TO_V2F16 => |l, op| {
                let mode = op.round;
                let (a, b) = (l.get(&op.src[0]), l.get(&op.src[1]));
                let f = |a, b| join([a, b].map(|v| to_half(f32::from_bits(v), mode)));
                finish16(l, op, &zip(&a, &b, f))
            },
            _ => return None,
        })
    }
}
