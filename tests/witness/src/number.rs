//! Element types of buffers: their bytes, GLSL names, and test inputs.

use half::f16;
use serde::{Deserialize, Serialize};

/// The scalar type of an output's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Elem {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F16,
    F32,
}

impl Elem {
    /// Bytes in an element.
    pub fn size_bytes(self) -> usize {
        match self {
            Elem::U8 | Elem::I8 => 1,
            Elem::U16 | Elem::I16 | Elem::F16 => 2,
            Elem::U32 | Elem::I32 | Elem::F32 => 4,
            Elem::U64 | Elem::I64 => 8,
        }
    }

    /// Whether elements are floating-point numbers.
    pub fn is_float(self) -> bool {
        matches!(self, Elem::F16 | Elem::F32)
    }

    /// The element's bits, zero-extended.
    pub fn bits(self, bytes: &[u8]) -> u64 {
        let mut wide = [0; 8];
        wide[..self.size_bytes()].copy_from_slice(&bytes[..self.size_bytes()]);
        u64::from_le_bytes(wide)
    }

    /// The value of a float element, or the integer as a float.
    pub fn value(self, bytes: &[u8]) -> f64 {
        let bits = self.bits(bytes);
        match self {
            Elem::F16 => f16::from_bits(bits as u16).to_f64(),
            Elem::F32 => f32::from_bits(bits as u32) as f64,
            Elem::I8 => bits as i8 as f64,
            Elem::I16 => bits as i16 as f64,
            Elem::I32 => bits as i32 as f64,
            Elem::I64 => bits as i64 as f64,
            _ => bits as f64,
        }
    }

    /// The distance from a float of magnitude `x` to the next one, never below that of the
    /// smallest normal number.
    pub fn ulp(self, x: f64) -> f64 {
        let (min_exponent, max_exponent, mantissa_bits) = match self {
            Elem::F16 => (-14, 15, 10),
            _ => (-126, 127, 23),
        };
        let exponent = if x == 0.0 { min_exponent } else { x.abs().log2().floor() as i32 };
        2f64.powi(exponent.clamp(min_exponent, max_exponent) - mantissa_bits)
    }

    /// The smallest normal number.
    pub fn min_normal(self) -> f64 {
        if self == Elem::F16 { 2f64.powi(-14) } else { 2f64.powi(-126) }
    }

    /// The element as people read it: the value, and the bits of a float.
    pub fn text(self, bytes: &[u8]) -> String {
        let bits = self.bits(bytes);
        match self {
            Elem::U8 | Elem::U16 | Elem::U32 | Elem::U64 => format!("{bits} ({bits:#x})"),
            Elem::I8 => format!("{} ({bits:#x})", bits as i8),
            Elem::I16 => format!("{} ({bits:#x})", bits as i16),
            Elem::I32 => format!("{} ({bits:#x})", bits as i32),
            Elem::I64 => format!("{} ({bits:#x})", bits as i64),
            Elem::F16 | Elem::F32 => {
                format!(
                    "{:e} ({bits:#0width$x})",
                    self.value(bytes),
                    width = self.size_bytes() * 2 + 2
                )
            }
        }
    }
}

/// A type that buffers hold: a scalar, or a small vector of one.
pub trait Number: Copy + Send + Sync + 'static {
    /// The scalar type.
    const ELEM: Elem;
    /// Bytes of the whole value.
    const SIZE_BYTES: usize;
    /// The GLSL type with the same bytes.
    const GLSL: &'static str;

    /// Appends the little-endian bytes.
    fn put(self, bytes: &mut Vec<u8>);
    /// Reads from little-endian bytes.
    fn get(bytes: &[u8]) -> Self;

    /// Bytes of a slice.
    fn to_bytes(values: &[Self]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(values.len() * Self::SIZE_BYTES);
        for &value in values {
            value.put(&mut bytes);
        }
        bytes
    }

    /// Values from bytes; a rest that fills no value is dropped.
    fn from_slice(bytes: &[u8]) -> Vec<Self> {
        bytes.chunks_exact(Self::SIZE_BYTES).map(Self::get).collect()
    }
}

/// A scalar type with a list of interesting values.
pub trait Scalar: Number + PartialEq + std::fmt::Debug {
    /// Values at the edges of the type's range and of its encodings.
    fn edges() -> Vec<Self>;
    /// The value with these low bits.
    fn from_bits64(bits: u64) -> Self;
    /// A small integer as a value.
    fn from_small(integer: u32) -> Self;
}

macro_rules! scalar {
    ($($t:ty, $elem:ident, $glsl:literal, $edges:expr, $from:expr, $small:expr;)*) => {$(
        impl Number for $t {
            const ELEM: Elem = Elem::$elem;
            const SIZE_BYTES: usize = size_of::<$t>();
            const GLSL: &'static str = $glsl;
            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
            fn get(bytes: &[u8]) -> Self {
                let mut exact = [0; size_of::<$t>()];
                exact.copy_from_slice(bytes);
                <$t>::from_le_bytes(exact)
            }
        }
        impl Scalar for $t {
            fn edges() -> Vec<Self> {
                $edges
            }
            fn from_bits64(bits: u64) -> Self {
                let from: fn(u64) -> $t = $from;
                from(bits)
            }
            fn from_small(integer: u32) -> Self {
                let from: fn(u32) -> $t = $small;
                from(integer)
            }
        }
    )*};
}

/// 0, ±1, the type's limits, single bits and runs of bits.
fn integer_edges(width_bits: u32) -> Vec<u64> {
    let mask = u64::MAX >> (64 - width_bits);
    let mut edges = vec![0, 1, 2, 3, 7, 10, 100, mask, mask - 1, mask >> 1, (mask >> 1) + 1];
    edges.extend([0x5555_5555_5555_5555 & mask, 0xaaaa_aaaa_aaaa_aaaa & mask]);
    edges.extend((2..width_bits).step_by(3).map(|bit| 1 << bit));
    edges.extend((3..width_bits).step_by(5).map(|bit| mask << bit & mask));
    edges
}

macro_rules! int_edges {
    ($t:ty) => {
        integer_edges(<$t>::BITS).into_iter().map(|x| x as $t).collect()
    };
}

const F32_EDGES: [f32; 24] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    3.0,
    -3.5,
    1.5,
    2.5,
    0.1,
    0.999_999_94,
    1.000_000_1,
    std::f32::consts::PI,
    8_388_608.5,
    16_777_217.0,
    -2_147_483_648.0,
    4_294_967_296.0,
    f32::MAX,
    f32::MIN_POSITIVE,
    1e-40, // denormal
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];

scalar! {
    u8, U8, "uint8_t", int_edges!(u8), |b| b as u8, |x| x as u8;
    i8, I8, "int8_t", int_edges!(i8), |b| b as i8, |x| x as i8;
    u16, U16, "uint16_t", int_edges!(u16), |b| b as u16, |x| x as u16;
    i16, I16, "int16_t", int_edges!(i16), |b| b as i16, |x| x as i16;
    u32, U32, "uint", int_edges!(u32), |b| b as u32, |x| x;
    i32, I32, "int", int_edges!(i32), |b| b as i32, |x| x as i32;
    u64, U64, "uint64_t", int_edges!(u64), |b| b, |x| x as u64;
    i64, I64, "int64_t", int_edges!(i64), |b| b as i64, |x| x as i64;
    f32, F32, "float", F32_EDGES.to_vec(), |b| f32::from_bits(b as u32), |x| x as f32;
    f16, F16, "float16_t",
        F32_EDGES.iter().map(|&x| f16::from_f32(x))
            .chain([f16::MAX, f16::MIN_POSITIVE, f16::from_bits(1), f16::from_bits(0x3ff)])
            .collect(),
        |b| f16::from_bits(b as u16), |x| f16::from_f32(x as f32);
}

macro_rules! vector {
    ($($t:ty, $n:literal, $glsl:literal;)*) => {$(
        impl Number for [$t; $n] {
            const ELEM: Elem = <$t as Number>::ELEM;
            const SIZE_BYTES: usize = $n * size_of::<$t>();
            const GLSL: &'static str = $glsl;
            fn put(self, bytes: &mut Vec<u8>) {
                for x in self {
                    x.put(bytes);
                }
            }
            fn get(bytes: &[u8]) -> Self {
                std::array::from_fn(|i| {
                    <$t>::get(&bytes[i * size_of::<$t>()..][..size_of::<$t>()])
                })
            }
        }
    )*};
}

vector! {
    u32, 2, "uvec2";
    i32, 2, "ivec2";
    f32, 2, "vec2";
    f16, 2, "f16vec2";
    u32, 4, "uvec4";
    i32, 4, "ivec4";
    f32, 4, "vec4";
    u8, 4, "u8vec4";
    i8, 4, "i8vec4";
    u16, 2, "u16vec2";
    u16, 4, "u16vec4";
}

/// A small generator of numbers (PCG-XSH-RR), the same on each run.
pub struct Random(u64);

impl Random {
    /// A generator with its own sequence.
    pub fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1));
        random.next_u32();
        random
    }

    /// The next 32 bits.
    pub fn next_u32(&mut self) -> u32 {
        let old = self.0;
        self.0 =
            old.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let xorshifted = (((old >> 18) ^ old) >> 27) as u32;
        xorshifted.rotate_right((old >> 59) as u32)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        (self.next_u32() as u64) << 32 | self.next_u32() as u64
    }

    /// A float in [`low`, `high`).
    pub fn float(&mut self, low: f32, high: f32) -> f32 {
        let unit = (self.next_u32() >> 8) as f32 / (1 << 24) as f32;
        low + unit * (high - low)
    }

    /// `count` random 32-bit integers.
    pub fn integers(seed: u64, count: usize) -> Vec<u32> {
        let mut random = Random::new(seed);
        (0..count).map(|_| random.next_u32()).collect()
    }

    /// `count` floats in [`low`, `high`).
    pub fn floats(seed: u64, count: usize, low: f32, high: f32) -> Vec<f32> {
        let mut random = Random::new(seed);
        (0..count).map(|_| random.float(low, high)).collect()
    }
}

/// The half nearest to a number, ties to even. `f16::from_f64` is not it on every host: where there is no instruction for it,
/// the lower word of the number is cut off first.
pub fn nearest_half(x: f64) -> f16 {
    // To a float, to odd where it is not exact, so that the second rounding sees what the first left out.
    let mut float = x as f32;
    if !x.is_nan() && f64::from(float) != x {
        let down = u32::from(f64::from(float).abs() > x.abs());
        float = f32::from_bits((float.to_bits() - down) | 1);
    }
    f16::from_f32(float)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_half_is_found_in_one_rounding() {
        let tie = 1.0 + 2f64.powi(-11);
        let next = 1.0 + 2f64.powi(-10);
        assert_eq!(nearest_half(tie).to_f64(), 1.0);
        // Differences that neither a float nor the upper word of the double holds.
        assert_eq!(nearest_half(tie + 2f64.powi(-45)).to_f64(), next);
        assert_eq!(nearest_half(tie - 2f64.powi(-45)).to_f64(), 1.0);
        assert_eq!(nearest_half(-tie - 2f64.powi(-30)).to_f64(), -next);
        assert_eq!(nearest_half(1e300), f16::INFINITY);
        assert_eq!(nearest_half(65519.99), f16::MAX);
        assert!(nearest_half(f64::NAN).is_nan());
        for bits in 0..=u16::MAX {
            let half = f16::from_bits(bits);
            assert!(half.is_nan() || nearest_half(half.to_f64()).to_bits() == bits);
        }
    }
}
