//! Conversions of one stored component to and from a number, with the API's rounding.
//! source: Vulkan specification, "Numeric Representation and Computation" and "Format Conversion".

/// A mask of the lowest `bits` bits.
#[inline]
pub const fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// The lowest `bits` bits of `value` as a two's complement number.
#[inline]
pub const fn sign_extend(value: u32, bits: u32) -> i32 {
    let unused = 32 - bits;
    ((value << unused) as i32) >> unused
}

/// Unsigned fixed point of `bits` ≤ 24 bits to a float: `value / (2^bits − 1)`, correctly rounded.
#[inline]
pub fn unorm_to_f32(value: u32, bits: u32) -> f32 {
    value as f32 / mask(bits) as f32
}

/// A float to unsigned fixed point: clamped to 0…1 (NaN gives 0), rounded to the nearest, ties to
/// even.
#[inline]
pub fn f32_to_unorm(value: f32, bits: u32) -> u32 {
    // The product is exact in double precision; the cast makes a NaN 0.
    (f64::from(value.clamp(0.0, 1.0)) * mask(bits) as f64).round_ties_even() as u32
}

/// Signed fixed point of `bits` bits (sign-extended) to a float: `value / (2^(bits−1) − 1)`, not
/// below −1.
#[inline]
pub fn snorm_to_f32(value: i32, bits: u32) -> f32 {
    (value as f32 / mask(bits - 1) as f32).max(-1.0)
}

/// A float to signed fixed point: clamped to −1…1 (NaN gives 0), rounded to the nearest, ties to
/// even. The result is never the most negative integer.
#[inline]
pub fn f32_to_snorm(value: f32, bits: u32) -> i32 {
    (f64::from(value.clamp(-1.0, 1.0)) * mask(bits - 1) as f64).round_ties_even() as i32
}

/// A float without sign, 5 exponent bits (bias 15) and `mantissa` bits, to a float. Exact.
#[inline]
pub fn ufloat_to_f32(value: u32, mantissa: u32) -> f32 {
    // The layout is that of a half float with fewer mantissa bits and no sign.
    half::f16::from_bits((value << (10 - mantissa)) as u16).to_f32()
}

/// A float to a float without sign, 5 exponent bits and `mantissa` bits: negative values become 0,
/// finite values are rounded to the nearest finite value (ties to even), infinity and NaN are kept.
/// source: Vulkan specification, "Unsigned 11-Bit Floating-Point Numbers" and the section after.
#[inline]
pub fn f32_to_ufloat(value: f32, mantissa: u32) -> u32 {
    let infinity = 31 << mantissa;
    if value.is_nan() {
        return infinity | 1;
    }
    if value <= 0.0 {
        return 0;
    }
    if value.is_infinite() {
        return infinity;
    }
    let smallest_normal = 2f32.powi(-14);
    let rounded = if value < smallest_normal {
        // Scaling by a power of two is exact, so only the last step rounds. Rounding up to
        // 2^mantissa gives the encoding of the smallest normal number.
        (value * 2f32.powi(14 + mantissa as i32)).round_ties_even() as u32
    } else {
        // Drop mantissa bits, rounding to even; a carry correctly increments the exponent.
        let drop = 23 - mantissa;
        let rebased = value.to_bits() - ((127 - 15) << 23);
        let half = (1 << (drop - 1)) - 1 + ((rebased >> drop) & 1);
        (rebased + half) >> drop
    };
    rounded.min(infinity - 1)
}

/// The largest component of a shared-exponent pixel: `(2^9 − 1) / 2^9 · 2^16`.
const SHARED_EXPONENT_MAX: f32 = 65408.0;

/// `E5B9G9R9` to red, green, blue. Exact.
/// source: Vulkan specification, "Shared exponent to RGB".
#[inline]
pub fn shared_exponent_to_rgb(value: u32) -> [f32; 3] {
    // 2^(exponent − bias − mantissa bits), built from bits: always a normal float.
    let scale = f32::from_bits(((value >> 27) + 127 - 15 - 9) << 23);
    [value, value >> 9, value >> 18].map(|v| (v & 0x1ff) as f32 * scale)
}

/// Red, green, blue to `E5B9G9R9`, with the exponent of the largest of them. source: Vulkan
/// specification, "RGB to Shared Exponent Conversion".
#[inline]
pub fn rgb_to_shared_exponent(rgb: [f32; 3]) -> u32 {
    // `clamp` keeps a NaN; `max` ignores it, and the cast makes it 0.
    let clamped = rgb.map(|c| c.clamp(0.0, SHARED_EXPONENT_MAX));
    let max = clamped[0].max(clamped[1]).max(clamped[2]);
    let floor_log2 = ((max.to_bits() >> 23) as i32 - 127).max(-16);
    let mut exponent = floor_log2 + 1 + 15;
    let quantum = |exponent: i32| 2f64.powi(exponent - 15 - 9);
    if (f64::from(max) / quantum(exponent) + 0.5).floor() >= 512.0 {
        exponent += 1;
    }
    let scale = quantum(exponent);
    let [r, g, b] = clamped.map(|c| (f64::from(c) / scale + 0.5).floor() as u32);
    r | g << 9 | b << 18 | (exponent as u32) << 27
}
