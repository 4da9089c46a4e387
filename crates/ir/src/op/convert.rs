//! Conversions between sizes and kinds, bit casts and packing.

macro_rules! convert_ops { ([$($acc:tt)*] $($rest:ident)*) => { chain! { [$($acc)*
    /// Float to float of another size, round to nearest even.
    F2F "f2f" (F) -> (UF) [PURE, FLOAT] = Fold::Lane(|l| $crate::op::lanes::f2f(l, false));
    /// Float to float of another size, round towards zero.
    F2FRtz "f2f_rtz" (F) -> (UF) [PURE, FLOAT] = Fold::Lane(|l| $crate::op::lanes::f2f(l, true));
    /// Float to signed integer, towards zero, saturating; NaN gives 0.
    F2S "f2s" (F) -> (UI) [PURE] = Fold::Lane($crate::op::lanes::f2s);
    /// Float to unsigned integer, towards zero, saturating; NaN gives 0.
    F2U "f2u" (F) -> (UI) [PURE] = Fold::Lane($crate::op::lanes::f2u);
    /// Signed integer to float, round to nearest even.
    S2F "s2f" (I) -> (UF) [PURE, FLOAT] = Fold::Lane($crate::op::lanes::s2f);
    /// Unsigned integer to float, round to nearest even.
    U2F "u2f" (I) -> (UF) [PURE, FLOAT] = Fold::Lane($crate::op::lanes::u2f);
    /// Signed integer to integer of another size: sign-extends or truncates.
    S2S "s2s" (I) -> (UI) [PURE] = sint!(n; a => a);
    /// Unsigned integer to integer of another size: zero-extends or truncates.
    U2U "u2u" (I) -> (UI) [PURE] = uint!(n; a => a);
    /// Truth value to float: 0.0 or 1.0.
    B2F "b2f" (B) -> (F) [PURE] = Fold::Lane(|l| $crate::op::lanes::u2f(l));
    /// Truth value to integer: 0 or 1.
    B2I "b2i" (B) -> (I) [PURE] = uint!(n; a => a);
    /// Rounds a 32-bit float to 16-bit precision and range, and returns it as 32 bits (`OpQuantizeToF16`).
    FQuantize16 "fquantize16" (W) -> (W) [PURE, FLOAT] = Fold::Lane($crate::op::lanes::quantize16);
    /// The same bits as another vector shape; the first component is the lowest.
    Bitcast "bitcast" (Any) -> (Any) [PURE] = Fold::Whole($crate::op::lanes::bitcast);
    /// Two 32-bit floats to two 16-bit floats in one word.
    PackHalf2x16 "pack_half_2x16" (V2) -> (S32) [PURE, FLOAT] = Fold::Whole(|w, o| o.push($crate::op::lanes::pack(w, 16, |x| u64::from(half::f16::from_f32(x).to_bits()))));
    /// Two floats to 16-bit signed normalised.
    PackSnorm2x16 "pack_snorm_2x16" (V2) -> (S32) [PURE, FLOAT] = Fold::Whole(|w, o| o.push($crate::op::lanes::pack(w, 16, |x| (x.clamp(-1.0, 1.0) * 32767.0).round_ties_even() as i64 as u64)));
    /// Two floats to 16-bit unsigned normalised.
    PackUnorm2x16 "pack_unorm_2x16" (V2) -> (S32) [PURE, FLOAT] = Fold::Whole(|w, o| o.push($crate::op::lanes::pack(w, 16, |x| (x.clamp(0.0, 1.0) * 65535.0).round_ties_even() as u64)));
    /// Four floats to 8-bit signed normalised.
    PackSnorm4x8 "pack_snorm_4x8" (V4) -> (S32) [PURE, FLOAT] = Fold::Whole(|w, o| o.push($crate::op::lanes::pack(w, 8, |x| (x.clamp(-1.0, 1.0) * 127.0).round_ties_even() as i64 as u64)));
    /// Four floats to 8-bit unsigned normalised.
    PackUnorm4x8 "pack_unorm_4x8" (V4) -> (S32) [PURE, FLOAT] = Fold::Whole(|w, o| o.push($crate::op::lanes::pack(w, 8, |x| (x.clamp(0.0, 1.0) * 255.0).round_ties_even() as u64)));
    /// Two 16-bit floats in one word to two 32-bit floats.
    UnpackHalf2x16 "unpack_half_2x16" (S32) -> (V2) [PURE, FLOAT] = Fold::Whole(|w, o| $crate::op::lanes::unpack(w, 16, o, |x| half::f16::from_bits(x as u16).to_f32()));
    /// 16-bit signed normalised to floats.
    UnpackSnorm2x16 "unpack_snorm_2x16" (S32) -> (V2) [PURE, FLOAT] = Fold::Whole(|w, o| $crate::op::lanes::unpack(w, 16, o, |x| (f32::from(x as i16) / 32767.0).max(-1.0)));
    /// 16-bit unsigned normalised to floats.
    UnpackUnorm2x16 "unpack_unorm_2x16" (S32) -> (V2) [PURE, FLOAT] = Fold::Whole(|w, o| $crate::op::lanes::unpack(w, 16, o, |x| f32::from(x as u16) / 65535.0));
    /// 8-bit signed normalised to floats.
    UnpackSnorm4x8 "unpack_snorm_4x8" (S32) -> (V4) [PURE, FLOAT] = Fold::Whole(|w, o| $crate::op::lanes::unpack(w, 8, o, |x| (f32::from(x as i8) / 127.0).max(-1.0)));
    /// 8-bit unsigned normalised to floats.
    UnpackUnorm4x8 "unpack_unorm_4x8" (S32) -> (V4) [PURE, FLOAT] = Fold::Whole(|w, o| $crate::op::lanes::unpack(w, 8, o, |x| f32::from(x as u8) / 255.0));
] $($rest)* } }; }
pub(super) use convert_ops;
