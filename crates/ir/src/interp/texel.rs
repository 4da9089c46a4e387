//! Storage image formats: conversion of texels to and from what an image stores.

use crate::attrs::ImageFormat;
use half::f16;

/// Number format of channels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ChannelFormat {
    Float,
    Unorm,
    Snorm,
    Sint,
    Uint,
}

/// Bits of each channel, 0 for those that there are not, and what they are. `None` when nothing is
/// declared.
fn channels(f: ImageFormat) -> Option<([u8; 4], ChannelFormat)> {
    match f {
        ImageFormat::Unknown => return None,
        ImageFormat::R11fG11fB10f => return Some(([11, 11, 10, 0], ChannelFormat::Float)),
        ImageFormat::Rgb10A2 => return Some(([10, 10, 10, 2], ChannelFormat::Unorm)),
        ImageFormat::Rgb10A2ui => return Some(([10, 10, 10, 2], ChannelFormat::Uint)),
        _ => {}
    }
    // The name says it: letters of the channels, bits, kind.
    let name = f.name();
    let digits = name.find(|c: char| c.is_ascii_digit())?;
    let rest = &name[digits..];
    let suffix = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let bits: u8 = rest[..rest.len() - suffix.len()].parse().ok()?;
    let kind = match suffix {
        "f" => ChannelFormat::Float,
        "snorm" => ChannelFormat::Snorm,
        "i" => ChannelFormat::Sint,
        "ui" => ChannelFormat::Uint,
        _ => ChannelFormat::Unorm,
    };
    Some((std::array::from_fn(|c| if c < digits { bits } else { 0 }), kind))
}

/// One in the format's kind: what channels that there are not give for alpha.
fn one(kind: ChannelFormat) -> u64 {
    match kind {
        ChannelFormat::Sint | ChannelFormat::Uint => 1,
        _ => u64::from(1f32.to_bits()),
    }
}

/// Whether channels are fixed-point numbers from 0 to 1.
pub(super) fn is_unorm(f: ImageFormat) -> bool {
    matches!(channels(f), Some((_, ChannelFormat::Unorm)))
}

/// A texel with zero in channels that the format does not have, and one in alpha.
pub(super) fn complete(f: ImageFormat, texel: [u64; 4]) -> [u64; 4] {
    let Some((bits, kind)) = channels(f) else { return texel };
    std::array::from_fn(|c| match (bits[c], c) {
        (0, 3) => one(kind),
        (0, _) => 0,
        _ => texel[c],
    })
}

/// The texel that is read after `texel` was stored.
pub(super) fn store(f: ImageFormat, texel: [u64; 4]) -> [u64; 4] {
    let Some((bits, kind)) = channels(f) else { return texel };
    let kept = std::array::from_fn(|c| match bits[c] {
        0 => 0,
        n => channel(n, kind, texel[c]),
    });
    complete(f, kept)
}

fn channel(n: u8, kind: ChannelFormat, x: u64) -> u64 {
    let f = f32::from_bits(x as u32);
    let float = |v: f32| u64::from(v.to_bits());
    match kind {
        ChannelFormat::Uint => x & (u64::MAX >> (64 - n)),
        // Integers narrower than a register come back with their sign.
        ChannelFormat::Sint => {
            (crate::types::sext(x, n) as u64) & if n <= 32 { 0xffff_ffff } else { u64::MAX }
        }
        ChannelFormat::Unorm => {
            let most = ((1u32 << n) - 1) as f32;
            let v = if f.is_nan() { 0.0 } else { f.clamp(0.0, 1.0) };
            float((v * most).round_ties_even() / most)
        }
        ChannelFormat::Snorm => {
            let most = ((1u32 << (n - 1)) - 1) as f32;
            let v = if f.is_nan() { 0.0 } else { f.clamp(-1.0, 1.0) };
            float((v * most).round_ties_even() / most)
        }
        ChannelFormat::Float => match n {
            16 => float(f16::from_f32(f).to_f32()),
            10 | 11 => float(small(f, n - 5)),
            _ => x,
        },
    }
}

/// An unsigned float with five bits of exponent and `mantissa` bits.
fn small(x: f32, mantissa: u8) -> f32 {
    if x.is_nan() {
        return f32::NAN;
    }
    if x <= 0.0 {
        return 0.0;
    }
    // Denormals have the exponent of the smallest normal number.
    let exponent = ((x.to_bits() >> 23) as i32 - 127).max(-14);
    let unit = f64::from(exponent - i32::from(mantissa)).exp2();
    let rounded = (f64::from(x) / unit).round_ties_even() * unit;
    let most = (2.0 - f64::from(-i32::from(mantissa)).exp2()) * 32768.0;
    if x.is_infinite() || rounded >= 65536.0 {
        return if x.is_infinite() { f32::INFINITY } else { most as f32 };
    }
    rounded as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_keep_what_they_can() {
        let f = |x: f32| u64::from(x.to_bits());
        let t = [f(0.5), f(2.0), f(-1.0), f(0.25)];
        let g = store(ImageFormat::Rgba8, t).map(|x| f32::from_bits(x as u32));
        assert_eq!(g, [128.0 / 255.0, 1.0, 0.0, 64.0 / 255.0]);
        assert_eq!(store(ImageFormat::R32f, t), [f(0.5), 0, 0, f(1.0)]);
        assert_eq!(store(ImageFormat::Rg8i, [0xff, 0x7f, 9, 9]), [0xffff_ffff, 0x7f, 0, 1]);
        assert_eq!(store(ImageFormat::Rgb10A2ui, [1023, 1024, 5, 7]), [1023, 0, 5, 3]);
        let s = store(ImageFormat::R11fG11fB10f, [f(1.0), f(3.15), f(1e-9), f(7.0)]);
        assert_eq!(s.map(|x| f32::from_bits(x as u32)), [1.0, 3.156_25, 0.0, 1.0]);
    }
}
