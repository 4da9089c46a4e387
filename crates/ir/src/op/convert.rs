//! Conversions between sizes and kinds, bit casts and packing.

use super::Pat::{Any, B, F, I, S32, UF, UI, V2, V4, W};
use super::code::Op;
use super::info::{Fold, OpInfo, Props, op};
use super::lanes;

const FLOAT: Props = Props::FLOAT;
const PURE: Props = Props::PURE;

/// The rows of the family.
pub(super) const ROWS: &[OpInfo] = &[
    op(Op::F2F, "f2f", "Float to float of another size, round to nearest even.")
        .args(&[F])
        .results(&[UF])
        .props(&[PURE, FLOAT])
        .fold(Fold::Lane(|l| lanes::f2f(l, false))),
    op(Op::F2FRtz, "f2f_rtz", "Float to float of another size, round towards zero.")
        .args(&[F])
        .results(&[UF])
        .props(&[PURE, FLOAT])
        .fold(Fold::Lane(|l| lanes::f2f(l, true))),
    op(Op::F2S, "f2s", "Float to signed integer, towards zero, saturating; NaN gives 0.")
        .args(&[F])
        .results(&[UI])
        .props(&[PURE])
        .fold(Fold::Lane(lanes::f2s)),
    op(Op::F2U, "f2u", "Float to unsigned integer, towards zero, saturating; NaN gives 0.")
        .args(&[F])
        .results(&[UI])
        .props(&[PURE])
        .fold(Fold::Lane(lanes::f2u)),
    op(Op::S2F, "s2f", "Signed integer to float, round to nearest even.")
        .args(&[I])
        .results(&[UF])
        .props(&[PURE, FLOAT])
        .fold(Fold::Lane(lanes::s2f)),
    op(Op::U2F, "u2f", "Unsigned integer to float, round to nearest even.")
        .args(&[I])
        .results(&[UF])
        .props(&[PURE, FLOAT])
        .fold(Fold::Lane(lanes::u2f)),
    op(Op::S2S, "s2s", "Signed integer to integer of another size: sign-extends or truncates.")
        .args(&[I])
        .results(&[UI])
        .props(&[PURE])
        .fold(sint!(n; a => a)),
    op(Op::U2U, "u2u", "Unsigned integer to integer of another size: zero-extends or truncates.")
        .args(&[I])
        .results(&[UI])
        .props(&[PURE])
        .fold(uint!(n; a => a)),
    op(Op::B2F, "b2f", "Truth value to float: 0.0 or 1.0.")
        .args(&[B])
        .results(&[F])
        .props(&[PURE])
        .fold(Fold::Lane(lanes::u2f)),
    op(Op::B2I, "b2i", "Truth value to integer: 0 or 1.")
        .args(&[B])
        .results(&[I])
        .props(&[PURE])
        .fold(uint!(n; a => a)),
    op(
        Op::FQuantize16,
        "fquantize16",
        "Rounds a 32-bit float to 16-bit precision and range, and returns it as 32 bits \
         (`OpQuantizeToF16`).",
    )
    .args(&[W])
    .results(&[W])
    .props(&[PURE, FLOAT])
    .fold(Fold::Lane(lanes::quantize16)),
    op(
        Op::Bitcast,
        "bitcast",
        "The same bits as another vector shape; the first component is the lowest.",
    )
    .args(&[Any])
    .results(&[Any])
    .props(&[PURE])
    .fold(Fold::Whole(lanes::bitcast)),
    op(Op::PackHalf2x16, "pack_half_2x16", "Two 32-bit floats to two 16-bit floats in one word.")
        .args(&[V2])
        .results(&[S32])
        .props(&[PURE, FLOAT])
        .fold(Fold::Whole(|w, o| {
            o.push(lanes::pack(w, 16, |x| u64::from(half::f16::from_f32(x).to_bits())))
        })),
    op(Op::PackSnorm2x16, "pack_snorm_2x16", "Two floats to 16-bit signed normalised.")
        .args(&[V2])
        .results(&[S32])
        .props(&[PURE, FLOAT])
        .fold(Fold::Whole(|w, o| {
            o.push(lanes::pack(w, 16, |x| {
                (x.clamp(-1.0, 1.0) * 32767.0).round_ties_even() as i64 as u64
            }))
        })),
    op(Op::PackUnorm2x16, "pack_unorm_2x16", "Two floats to 16-bit unsigned normalised.")
        .args(&[V2])
        .results(&[S32])
        .props(&[PURE, FLOAT])
        .fold(Fold::Whole(|w, o| {
            o.push(lanes::pack(w, 16, |x| (x.clamp(0.0, 1.0) * 65535.0).round_ties_even() as u64))
        })),
    op(Op::PackSnorm4x8, "pack_snorm_4x8", "Four floats to 8-bit signed normalised.")
        .args(&[V4])
        .results(&[S32])
        .props(&[PURE, FLOAT])
        .fold(Fold::Whole(|w, o| {
            o.push(lanes::pack(w, 8, |x| {
                (x.clamp(-1.0, 1.0) * 127.0).round_ties_even() as i64 as u64
            }))
        })),
    op(Op::PackUnorm4x8, "pack_unorm_4x8", "Four floats to 8-bit unsigned normalised.")
        .args(&[V4])
        .results(&[S32])
        .props(&[PURE, FLOAT])
        .fold(Fold::Whole(|w, o| {
            o.push(lanes::pack(w, 8, |x| (x.clamp(0.0, 1.0) * 255.0).round_ties_even() as u64))
        })),
    op(
        Op::UnpackHalf2x16,
        "unpack_half_2x16",
        "Two 16-bit floats in one word to two 32-bit floats.",
    )
    .args(&[S32])
    .results(&[V2])
    .props(&[PURE, FLOAT])
    .fold(Fold::Whole(|w, o| lanes::unpack(w, 16, o, |x| half::f16::from_bits(x as u16).to_f32()))),
    op(Op::UnpackSnorm2x16, "unpack_snorm_2x16", "16-bit signed normalised to floats.")
        .args(&[S32])
        .results(&[V2])
        .props(&[PURE, FLOAT])
        .fold(Fold::Whole(|w, o| {
            lanes::unpack(w, 16, o, |x| (f32::from(x as i16) / 32767.0).max(-1.0))
        })),
    op(Op::UnpackUnorm2x16, "unpack_unorm_2x16", "16-bit unsigned normalised to floats.")
        .args(&[S32])
        .results(&[V2])
        .props(&[PURE, FLOAT])
        .fold(Fold::Whole(|w, o| lanes::unpack(w, 16, o, |x| f32::from(x as u16) / 65535.0))),
    op(Op::UnpackSnorm4x8, "unpack_snorm_4x8", "8-bit signed normalised to floats.")
        .args(&[S32])
        .results(&[V4])
        .props(&[PURE, FLOAT])
        .fold(Fold::Whole(|w, o| {
            lanes::unpack(w, 8, o, |x| (f32::from(x as i8) / 127.0).max(-1.0))
        })),
    op(Op::UnpackUnorm4x8, "unpack_unorm_4x8", "8-bit unsigned normalised to floats.")
        .args(&[S32])
        .results(&[V4])
        .props(&[PURE, FLOAT])
        .fold(Fold::Whole(|w, o| lanes::unpack(w, 8, o, |x| f32::from(x as u8) / 255.0))),
];
