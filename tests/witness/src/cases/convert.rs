//! Conversions between types, and packing.

use half::f16;

use super::map::unary;
use crate::case::Case;
use crate::number::Scalar;

/// Integer to integer: keeps the low bits, extends by the source's sign.
macro_rules! integers {
    ($cases:ident, $($from:ty => $to:ty),* $(,)?) => {$(
        $cases.push(unary::<$from, $to>(
            format!("convert/{}_to_{}", stringify!($from), stringify!($to)),
            "a",
            |a| Some(a as $to),
        ));
    )*};
}

/// Integer to float where every value is exact, or the rounding is to nearest.
macro_rules! to_float {
    ($cases:ident, $($from:ty => $to:ty, $convert:expr);* $(;)?) => {$(
        $cases.push(unary::<$from, $to>(
            format!("convert/{}_to_{}", stringify!($from), stringify!($to)),
            "a",
            |a| {
                let convert: fn($from) -> Option<$to> = $convert;
                convert(a)
            },
        ));
    )*};
}

/// Float to integer, toward zero; outside the range the result is undefined.
macro_rules! from_float {
    ($cases:ident, $from:ty => $($to:ty),*) => {$(
        $cases.push(unary::<$from, $to>(
            format!("convert/{}_to_{}", stringify!($from), stringify!($to)),
            "a",
            |a| {
                let whole = f64::from(a).trunc();
                let fits = whole >= <$to>::MIN as f64 && whole <= <$to>::MAX as f64;
                // 2^63 and 2^64 compare equal to the rounded limits, but do not fit.
                (fits && whole < <$to>::MAX as f64 + 0.5).then(|| whole as $to)
                    .filter(|_| size_of::<$to>() < 8 || whole < <$to>::MAX as f64)
            },
        ));
    )*};
}

/// Only integers that the float holds exactly: the rounding of others is not prescribed.
fn exact<T: Scalar>(value: f64, back: impl Fn(f64) -> T, to: impl Fn(T) -> f64) -> Option<T> {
    let result = back(value);
    (to(result) == value).then_some(result)
}

fn half(value: f64) -> Option<f16> {
    exact(value, f16::from_f64, f16::to_f64)
}

fn single(value: f64) -> Option<f32> {
    exact(value, |x| x as f32, |x| x as f64)
}

/// A fixed-point value of `bits` bits for x in [low, 1], unless it is near a tie.
fn fixed(x: f32, low: f32, scale: f32) -> Option<i32> {
    if x.is_nan() {
        return None;
    }
    let scaled = x.clamp(low, 1.0) as f64 * scale as f64;
    let tie = (scaled - scaled.floor() - 0.5).abs();
    (tie > 1e-3).then(|| scaled.round() as i32)
}

fn packing() -> Vec<Case> {
    let four = "vec4(a, a * 0.5, 1.0 - a, -a)";
    let values = |a: f32| [a, a * 0.5, 1.0 - a, -a];
    let small = |a: f32| a.is_finite() && a.abs() < 100.0 && (a == 0.0 || a.abs() > 1e-30);
    vec![
        unary::<f32, u32>(
            "convert/pack_unorm4x8".into(),
            &format!("packUnorm4x8({four})"),
            move |a| {
                let mut word = 0;
                for (i, x) in values(a).into_iter().enumerate() {
                    word |= (fixed(x, 0.0, 255.0)? as u32) << (8 * i);
                }
                small(a).then_some(word)
            },
        ),
        unary::<f32, u32>(
            "convert/pack_snorm4x8".into(),
            &format!("packSnorm4x8({four})"),
            move |a| {
                let mut word = 0;
                for (i, x) in values(a).into_iter().enumerate() {
                    word |= (fixed(x, -1.0, 127.0)? as u32 & 0xff) << (8 * i);
                }
                small(a).then_some(word)
            },
        ),
        unary::<f32, u32>(
            "convert/pack_unorm2x16".into(),
            "packUnorm2x16(vec2(a, a * 0.5))",
            move |a| {
                let (x, y) = (fixed(a, 0.0, 65535.0)?, fixed(a * 0.5, 0.0, 65535.0)?);
                small(a).then_some(x as u32 | (y as u32) << 16)
            },
        ),
        unary::<f32, u32>(
            "convert/pack_snorm2x16".into(),
            "packSnorm2x16(vec2(a, a * 0.5))",
            move |a| {
                let (x, y) = (fixed(a, -1.0, 32767.0)?, fixed(a * 0.5, -1.0, 32767.0)?);
                small(a).then_some(x as u32 & 0xffff | (y as u32 & 0xffff) << 16)
            },
        ),
        unary::<u32, [f32; 2]>("convert/unpack_half2x16".into(), "unpackHalf2x16(a)", |a| {
            let parts = [f16::from_bits(a as u16), f16::from_bits((a >> 16) as u16)];
            let kept = parts.iter().all(|p| p.is_normal() || *p == f16::ZERO || p.is_infinite());
            kept.then(|| parts.map(f16::to_f32))
        }),
        unary::<f32, u32>("convert/pack_half2x16".into(), "packHalf2x16(vec2(a, -a))", |a| {
            let h = f16::from_f32(a);
            // Values that are exact: the rounding of others is not prescribed.
            let bits = (h.to_bits() as u32) | ((-h).to_bits() as u32) << 16;
            (h.to_f32() == a && (h.is_normal() || a == 0.0)).then_some(bits)
        }),
    ]
}

/// Narrowing to half: to nearest or toward zero, so within one unit and never beyond.
fn narrowing() -> Vec<Case> {
    vec![
        unary::<f32, f16>("convert/f32_to_f16".into(), "a", |a| {
            exact(a as f64, f16::from_f64, f16::to_f64).filter(|h| h.is_normal() || a == 0.0)
        }),
        unary::<f16, f32>("convert/f16_to_f32".into(), "a", |a| {
            (a.is_normal() || a == f16::ZERO || a.is_infinite() || a.is_nan()).then(|| a.to_f32())
        }),
        // All drivers and the M1 round to nearest, ties to even.
        unary::<u32, f16>(
            "convert/f32_to_f16_nearest".into(),
            "uintBitsToFloat(0x3f800000u | (a & 0x7fffffu))",
            |a| Some(f16::from_f32(f32::from_bits(0x3f80_0000 | a & 0x7f_ffff))),
        ),
        unary::<u32, u32>("convert/u32_to_bool".into(), "bool(a) ? 3u : 4u", |a| {
            Some(if a != 0 { 3 } else { 4 })
        }),
        unary::<f32, u32>("convert/f32_to_bool".into(), "uint(bool(a))", |a| {
            (a.is_normal() || a == 0.0).then_some(u32::from(a != 0.0))
        }),
        unary::<i32, f32>("convert/bool_to_f32".into(), "float(a > 5)", |a| {
            Some(f32::from(u8::from(a > 5)))
        }),
    ]
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    integers!(cases,
        u8 => u32, u8 => i32, u8 => u64, u8 => u16, i8 => i32, i8 => u32, i8 => i64, i8 => i16,
        u16 => u32, u16 => u64, u16 => u8, i16 => i32, i16 => u32, i16 => i64, i16 => i8,
        u32 => u8, u32 => u16, u32 => u64, i32 => i8, i32 => i16, i32 => i64, i32 => u64,
        u64 => u32, u64 => u16, u64 => u8, i64 => i32, i64 => i16, i64 => i8,
    );
    to_float!(cases,
        u8 => f32, |a| Some(a as f32);
        i8 => f32, |a| Some(a as f32);
        u16 => f32, |a| Some(a as f32);
        i16 => f32, |a| Some(a as f32);
        u32 => f32, |a| single(a as f64);
        i32 => f32, |a| single(a as f64);
        u64 => f32, |a| single(a as f64).filter(|_| a as f64 as u64 == a);
        i64 => f32, |a| single(a as f64).filter(|_| a as f64 as i64 == a);
        u8 => f16, |a| half(a as f64);
        i8 => f16, |a| half(a as f64);
        u16 => f16, |a| half(a as f64);
        i16 => f16, |a| half(a as f64);
        u32 => f16, |a| half(a as f64);
        i32 => f16, |a| half(a as f64);
    );
    from_float!(cases, f32 => u8, i8, u16, i16, u32, i32, u64, i64);
    from_float!(cases, f16 => u8, i8, u16, i16, u32, i32);
    cases.extend(packing());
    cases.extend(narrowing());
    cases
}
