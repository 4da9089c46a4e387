//! Values of a channel: types in registers, and types of arithmetic.

use half::f16;

/// A type of elements in registers.
pub trait Element: Copy {
    /// Its size in bytes.
    const BYTES: usize;
    /// Reads little-endian bytes.
    fn read(bytes: &[u8]) -> Self;
    /// Writes little-endian bytes.
    fn write(self, bytes: &mut [u8]);
    /// Converts to a bank.
    fn load<T: Bank>(self) -> T;
    /// Converts from a bank: wrapped or, if `saturate`, clamped.
    fn store<T: Bank>(value: T, saturate: bool, mode: FloatMode) -> Self;
    /// The comparison with zero; `None` for NaN.
    fn sign(self) -> Option<std::cmp::Ordering>;
    /// All bits set, or none.
    fn boolean(value: bool) -> Self;
}

/// Rounding and denormal modes of floats: bits of cr0.0.
///
/// source: Mesa, `brw_eu_defines.h` (`brw_rnd_mode`, `BRW_CR0_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloatMode(pub u32);

impl FloatMode {
    /// Whether conversions round toward zero instead of to nearest.
    pub fn to_zero(self) -> bool {
        self.0 >> 4 & 3 == 3
    }

    /// The bit that keeps denormals of DF. It is set in new threads.
    pub const KEEPS_DOUBLES: u32 = 1 << 6;

    /// Whether denormals of F are kept.
    pub fn keeps_denormals(self) -> bool {
        self.0 >> 7 & 1 != 0
    }

    /// A rounded result, or zero where denormals are flushed and the exact result is one after it is rounded to the precision of
    /// normal numbers. Rounded as a denormal it may be the smallest normal number, which hosts that flush do not return either.
    #[inline(always)]
    pub fn underflow(self, rounded: f32, exact: impl FnOnce() -> f64) -> f32 {
        const LEAST: f64 = f32::MIN_POSITIVE as f64 * (1.0 - f32::EPSILON as f64 / 4.0);
        let edge = rounded.abs() == f32::MIN_POSITIVE && !self.keeps_denormals();
        if edge && exact().abs() < LEAST { 0f32.copysign(rounded) } else { rounded }
    }

    /// Whether denormals of DF are kept.
    pub fn keeps_double_denormals(self) -> bool {
        self.0 & FloatMode::KEEPS_DOUBLES != 0
    }
}

/// A type of arithmetic.
///
/// Integers of up to 32 bits are computed exactly in 64 bits, or in 32 if the result depends only on its low
/// 32 bits. 64-bit integers are computed in 128. F and HF are computed in `f32`.
pub trait Bank: Copy + Default + PartialOrd {
    /// Whether it is computed in 32 bits, as registers hold it.
    const IS_32: bool = false;
    /// Converts from 32 bits of a register; for 32-bit banks.
    fn from_bits(bits: u32) -> Self {
        let _ = bits;
        Self::default()
    }
    /// Converts to 32 bits of a register; for 32-bit banks. Floats are clamped to 0 … 1 if they saturate.
    fn to_bits(self, saturate: bool) -> u32 {
        let _ = saturate;
        0
    }
    /// Converts from an integer; its low bits are used.
    fn signed(value: i64) -> Self;
    /// Converts from an unsigned integer.
    fn unsigned(value: u64) -> Self;
    /// Converts from a float.
    fn float(value: f32) -> Self;
    /// Converts from a double.
    fn double(value: f64) -> Self;
    /// Converts to an integer, clamped to a range. Floats are always clamped.
    fn clamped(self, low: i64, high: i64) -> i64;
    /// Converts to an integer: the low 64 bits, wrapped; floats are clamped.
    fn wrapped(self, low: i64, high: i64) -> i64;
    /// Converts to an unsigned integer of 64 bits.
    fn to_u64(self, saturate: bool) -> u64;
    /// Converts to a float.
    fn to_f32(self, mode: FloatMode) -> f32;
    /// Converts to a double.
    fn to_f64(self, mode: FloatMode) -> f64;
    /// The sign bit is set.
    fn is_negative(self) -> bool;
    /// The additive inverse.
    fn negate(self) -> Self;
    /// The absolute value.
    fn absolute(self) -> Self;
    /// Inverts all bits; no effect on floats.
    fn invert(self) -> Self;
    /// Less, equal, greater; `None` with NaN.
    fn order(self, other: Self) -> Option<std::cmp::Ordering>;
    /// Replaces denormals by zero unless the mode keeps them.
    fn flush(self, mode: FloatMode) -> Self;
}

macro_rules! int_bank {
    ($($t:ty, { $($direct:tt)* };)*) => {$(
        impl Bank for $t {
            $($direct)*
            #[inline(always)]
            fn signed(value: i64) -> Self { value as $t }
            #[inline(always)]
            fn unsigned(value: u64) -> Self { value as $t }
            #[inline(always)]
            fn float(value: f32) -> Self { value as $t }
            #[inline(always)]
            fn double(value: f64) -> Self { value as $t }
            #[inline(always)]
            fn clamped(self, low: i64, high: i64) -> i64 {
                (self as i128).clamp(low as i128, high as i128) as i64
            }
            #[inline(always)]
            fn wrapped(self, _: i64, _: i64) -> i64 { self as i64 }
            #[inline(always)]
            fn to_u64(self, saturate: bool) -> u64 {
                if saturate { (self as i128).clamp(0, u64::MAX as i128) as u64 } else { self as u64 }
            }
            #[inline(always)]
            fn to_f32(self, mode: FloatMode) -> f32 {
                let nearest = self as f32;
                if !mode.to_zero() || (nearest as i128).unsigned_abs() <= (self as i128).unsigned_abs() {
                    return nearest;
                }
                f32::from_bits(nearest.to_bits() - 1)
            }
            #[inline(always)]
            fn to_f64(self, mode: FloatMode) -> f64 {
                let nearest = self as f64;
                if !mode.to_zero() || (nearest as i128).unsigned_abs() <= (self as i128).unsigned_abs() {
                    return nearest;
                }
                f64::from_bits(nearest.to_bits() - 1)
            }
            #[inline(always)]
            fn is_negative(self) -> bool { self < 0 }
            #[inline(always)]
            fn negate(self) -> Self { self.wrapping_neg() }
            #[inline(always)]
            fn absolute(self) -> Self { self.wrapping_abs() }
            #[inline(always)]
            fn invert(self) -> Self { !self }
            #[inline(always)]
            fn order(self, other: Self) -> Option<std::cmp::Ordering> { Some(self.cmp(&other)) }
            #[inline(always)]
            fn flush(self, _: FloatMode) -> Self { self }
        }
    )*};
}
int_bank! {
    i32, {
        const IS_32: bool = true;
        #[inline(always)]
        fn from_bits(bits: u32) -> Self { bits as i32 }
        #[inline(always)]
        fn to_bits(self, _: bool) -> u32 { self as u32 }
    };
    i64, {};
    i128, {};
}

macro_rules! float_bank {
    ($t:ty, $to_f32:expr, $flush:expr, { $($direct:tt)* }) => {
        impl Bank for $t {
            $($direct)*
            #[inline(always)]
            fn signed(value: i64) -> Self {
                value as $t
            }
            #[inline(always)]
            fn unsigned(value: u64) -> Self {
                value as $t
            }
            #[inline(always)]
            fn float(value: f32) -> Self {
                value as $t
            }
            #[inline(always)]
            fn double(value: f64) -> Self {
                value as $t
            }
            #[inline(always)]
            fn clamped(self, low: i64, high: i64) -> i64 {
                (self as i64).clamp(low, high)
            }
            #[inline(always)]
            fn wrapped(self, low: i64, high: i64) -> i64 {
                (self as i64).clamp(low, high)
            }
            #[inline(always)]
            fn to_u64(self, _: bool) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn to_f32(self, mode: FloatMode) -> f32 {
                $to_f32(self, mode)
            }
            #[inline(always)]
            fn to_f64(self, _: FloatMode) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn is_negative(self) -> bool {
                self.is_sign_negative()
            }
            #[inline(always)]
            fn negate(self) -> Self {
                -self
            }
            #[inline(always)]
            fn absolute(self) -> Self {
                self.abs()
            }
            #[inline(always)]
            fn invert(self) -> Self {
                self
            }
            #[inline(always)]
            fn order(self, other: Self) -> Option<std::cmp::Ordering> {
                self.partial_cmp(&other)
            }
            #[inline(always)]
            fn flush(self, mode: FloatMode) -> Self {
                $flush(self, mode)
            }
        }
    };
}

float_bank!(f32, |value, _| value, flush32, {
    const IS_32: bool = true;
    #[inline(always)]
    fn from_bits(bits: u32) -> Self {
        f32::from_bits(bits)
    }
    #[inline(always)]
    fn to_bits(self, saturate: bool) -> u32 {
        if saturate { f32::store(self, true, FloatMode(!0)).to_bits() } else { f32::to_bits(self) }
    }
});
float_bank!(f64, narrow, flush64, {});

#[inline(always)]
fn flush32(value: f32, mode: FloatMode) -> f32 {
    let bits = value.to_bits();
    if mode.keeps_denormals() {
        return value;
    }
    let denormal = bits & 0x7f80_0000 == 0;
    // The multiplication by one of translated code makes signalling NaNs quiet.
    let nan = bits & 0x7fff_ffff > 0x7f80_0000;
    f32::from_bits(if denormal { bits & 0x8000_0000 } else { bits | u32::from(nan) << 22 })
}

#[inline(always)]
fn flush64(value: f64, mode: FloatMode) -> f64 {
    let denormal = value.is_subnormal() && !mode.keeps_double_denormals();
    if denormal { 0f64.copysign(value) } else { value }
}

#[inline(always)]
fn narrow(value: f64, mode: FloatMode) -> f32 {
    let nearest = value as f32;
    if mode.to_zero() && f64::from(nearest).abs() > value.abs() {
        return f32::from_bits(nearest.to_bits() - 1);
    }
    nearest
}

/// Converts a float to a half float.
#[inline(always)]
fn halve(value: f32, mode: FloatMode) -> f16 {
    let nearest = f16::from_f32(value);
    if mode.to_zero() && nearest.to_f32().abs() > value.abs() {
        return f16::from_bits(nearest.to_bits() - 1);
    }
    nearest
}

macro_rules! int_element {
    ($($t:ident $load:ident $wide:ty;)*) => {$(
        impl Element for $t {
            const BYTES: usize = size_of::<$t>();
            #[inline(always)]
            fn read(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<$t>()];
                own.copy_from_slice(bytes);
                <$t>::from_le_bytes(own)
            }
            #[inline(always)]
            fn write(self, bytes: &mut [u8]) { bytes.copy_from_slice(&self.to_le_bytes()); }
            #[inline(always)]
            fn load<T: Bank>(self) -> T { T::$load(<$wide>::from(self)) }
            #[inline(always)]
            fn store<T: Bank>(value: T, saturate: bool, _: FloatMode) -> Self {
                let (low, high) = (<$t>::MIN as i64, <$t>::MAX as i64);
                if saturate { value.clamped(low, high) as $t } else { value.wrapped(low, high) as $t }
            }
            #[inline(always)]
            fn sign(self) -> Option<std::cmp::Ordering> { Some(self.cmp(&0)) }
            #[inline(always)]
            fn boolean(value: bool) -> Self { if value { !0 } else { 0 } }
        }
    )*};
}
int_element! {
    u8 unsigned u64;
    i8 signed i64;
    u16 unsigned u64;
    i16 signed i64;
    u32 unsigned u64;
    i32 signed i64;
    i64 signed i64;
}

impl Element for u64 {
    const BYTES: usize = 8;
    #[inline(always)]
    fn read(bytes: &[u8]) -> Self {
        i64::read(bytes) as u64
    }
    #[inline(always)]
    fn write(self, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.to_le_bytes());
    }
    #[inline(always)]
    fn load<T: Bank>(self) -> T {
        T::unsigned(self)
    }
    #[inline(always)]
    fn store<T: Bank>(value: T, saturate: bool, _: FloatMode) -> Self {
        value.to_u64(saturate)
    }
    #[inline(always)]
    fn sign(self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(&0))
    }
    #[inline(always)]
    fn boolean(value: bool) -> Self {
        if value { !0 } else { 0 }
    }
}

macro_rules! float_element {
    ($t:ty, $bits:ident, |$r:ident| $load:expr, |$v:ident, $mode:ident| $store:expr) => {
        impl Element for $t {
            const BYTES: usize = size_of::<$t>();
            #[inline(always)]
            fn read(bytes: &[u8]) -> Self {
                <$t>::from_bits($bits::read(bytes))
            }
            #[inline(always)]
            fn write(self, bytes: &mut [u8]) {
                self.to_bits().write(bytes);
            }
            #[inline(always)]
            fn load<T: Bank>(self) -> T {
                let $r = self;
                $load
            }
            #[inline(always)]
            fn store<T: Bank>($v: T, saturate: bool, $mode: FloatMode) -> Self {
                let value: $t = $store;
                let (zero, one) = (<$t>::from_bits(0), Self::one());
                if !saturate {
                    value
                } else if value > zero {
                    if value < one { value } else { one }
                } else {
                    // Also for NaN.
                    zero
                }
            }
            #[inline(always)]
            fn sign(self) -> Option<std::cmp::Ordering> {
                self.partial_cmp(&<$t>::from_bits(0))
            }
            #[inline(always)]
            fn boolean(value: bool) -> Self {
                <$t>::from_bits(if value { !0 } else { 0 })
            }
        }
    };
}

trait One {
    fn one() -> Self;
}
impl One for f16 {
    #[inline(always)]
    fn one() -> f16 {
        f16::ONE
    }
}
impl One for f32 {
    #[inline(always)]
    fn one() -> f32 {
        1.0
    }
}
impl One for f64 {
    #[inline(always)]
    fn one() -> f64 {
        1.0
    }
}

float_element!(f16, u16, |v| T::float(v.to_f32()), |v, mode| halve(v.to_f32(mode), mode));
float_element!(f32, u32, |v| T::float(v), |v, mode| v.to_f32(mode));
float_element!(f64, u64, |v| T::double(v), |v, mode| v.to_f64(mode));
