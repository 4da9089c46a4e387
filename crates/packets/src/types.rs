//! Field types. A declaration names one of these types for each field; an enumeration declared with
//! [`bits_enum!`](crate::bits_enum!) is a field type too.
//!
//! Modifiers wrap a number: `Shr<Address, 4>` is an address stored without its low four bits,
//! `Minus<Uint, 1>` a count stored as one less, `Minus<Shr<Uint, 4>, 16>` a stride stored as
//! (stride - 16) >> 4, `Groups<64>` a count of registers stored in groups of 64, `Log2` a power of
//! two stored as its logarithm.

use std::fmt::Debug;
use std::marker::PhantomData;

use crate::bits;
use crate::decoded::Value;
use crate::field::{Base, Field, Kind, Modifier, Piece, Revisions};
use crate::packet::{Packet, unpack_words};
use crate::problem::{Problem, ProblemKind};

/// A field type: reads the value from a packet and writes it.
pub trait FieldType {
    /// The Rust type of the value.
    type Value: Copy + Debug + PartialEq;
    /// The kind, for reflection.
    const KIND: Kind;
    /// The value of all-zero bits.
    fn zero(width: u32) -> Self::Value;
    /// Reads the value. An invalid one is added to `problems` and replaced by that of all-zero
    /// bits.
    fn read(words: &[u64], field: &Field, problems: &mut Vec<Problem>) -> Self::Value;
    /// Writes the value over zeros.
    fn write(value: &Self::Value, words: &mut [u64], field: &Field) -> Result<(), Problem>;
    /// The value for printing. Invalid bits give [`Value::Unknown`].
    fn show(bytes: &[u8], field: &Field) -> Value;
}

/// A field type that fits into 64 bits.
pub trait Scalar {
    /// The Rust type of the value.
    type Value: Copy + Debug + PartialEq;
    /// The kind, for reflection.
    const KIND: Kind;
    /// Decodes `width` raw bits.
    fn decode(raw: u64, width: u32) -> Result<Self::Value, ProblemKind>;
    /// Encodes a value as raw bits.
    fn encode(value: Self::Value, width: u32) -> Result<u64, ProblemKind>;
    /// The value for printing.
    fn show(value: Self::Value) -> Value;
    /// The value as an unsigned number, for range checks.
    fn number(_value: Self::Value) -> Option<u64> {
        None
    }
    /// The value of all-zero bits.
    fn zero(width: u32) -> Self::Value;
}

#[cold]
#[inline(never)]
fn problem(field: &Field, kind: ProblemKind) -> Problem {
    Problem { packet: field.packet, field: field.name, bit: field.start(), kind }
}

#[inline(always)]
fn check_range(field: &Field, number: Option<u64>) -> Result<(), Problem> {
    match (field.range, number) {
        (Some((low, high)), Some(value)) if !(low..=high).contains(&value) => {
            Err(problem(field, ProblemKind::OutOfRange { value, low, high }))
        }
        _ => Ok(()),
    }
}

impl<T: Scalar> FieldType for T {
    type Value = T::Value;
    const KIND: Kind = <T as Scalar>::KIND;

    fn zero(width: u32) -> Self::Value {
        <T as Scalar>::zero(width)
    }

    #[inline(always)]
    fn read(words: &[u64], field: &Field, problems: &mut Vec<Problem>) -> Self::Value {
        match T::decode(bits::word_get_pieces(words, field.pieces), field.width()) {
            Ok(value) => {
                if let Err(found) = check_range(field, T::number(value)) {
                    problems.push(found);
                }
                value
            }
            Err(kind) => {
                problems.push(problem(field, kind));
                <T as Scalar>::zero(field.width())
            }
        }
    }

    #[inline(always)]
    fn write(value: &Self::Value, words: &mut [u64], field: &Field) -> Result<(), Problem> {
        check_range(field, T::number(*value))?;
        let width = field.width();
        let raw = T::encode(*value, width).map_err(|kind| problem(field, kind))?;
        if raw & !bits::mask(width) != 0 {
            return Err(problem(field, ProblemKind::DoesNotFit { value: raw, width }));
        }
        bits::word_or_pieces(words, field.pieces, raw);
        Ok(())
    }

    fn show(bytes: &[u8], field: &Field) -> Value {
        let raw = bits::get_pieces(bytes, field.pieces);
        match T::decode(raw, field.width()) {
            Ok(value) => <T as Scalar>::show(value),
            Err(_) => Value::Unknown(raw),
        }
    }
}

/// A number that modifiers can wrap.
pub trait Number: Scalar {
    /// Converts from the decoded number.
    fn from_u64(value: u64) -> Result<Self::Value, ProblemKind>;
    /// Converts to the number to store.
    fn to_u64(value: Self::Value) -> u64;
}

macro_rules! number {
    ($(#[$doc:meta])* $name:ident, $value:ty, $base:ident, $show:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Scalar for $name {
            type Value = $value;
            const KIND: Kind = Kind::plain(Base::$base);

            #[inline]
            fn decode(raw: u64, _width: u32) -> Result<$value, ProblemKind> {
                Self::from_u64(raw)
            }

            #[inline]
            fn encode(value: $value, _width: u32) -> Result<u64, ProblemKind> {
                Ok(u64::from(value))
            }

            fn show(value: $value) -> Value {
                Value::$show(u64::from(value))
            }

            fn number(value: $value) -> Option<u64> {
                Some(u64::from(value))
            }

            fn zero(_width: u32) -> $value {
                0
            }
        }

        impl Number for $name {
            #[inline]
            fn from_u64(value: u64) -> Result<$value, ProblemKind> {
                <$value>::try_from(value)
                    .map_err(|_| ProblemKind::DoesNotFit { value, width: <$value>::BITS })
            }

            #[inline]
            fn to_u64(value: $value) -> u64 {
                u64::from(value)
            }
        }
    };
}

number!(
    /// An unsigned number of up to 32 bits.
    Uint, u32, Uint, Uint
);
number!(
    /// An unsigned number of up to 64 bits.
    Uint64, u64, Uint, Uint
);
number!(
    /// An unsigned number of up to 32 bits, printed in hexadecimal: masks, raw words, unknown
    /// fields.
    Hex, u32, Hex, Hex
);
number!(
    /// Version of [`Hex`]: up to 64 bits.
    Hex64, u64, Hex, Hex
);
number!(
    /// A GPU address in bytes.
    Address, u64, Address, Address
);

/// A number in two's complement of up to 32 bits.
#[derive(Clone, Copy, Debug)]
pub struct Int;

impl Scalar for Int {
    type Value = i32;
    const KIND: Kind = Kind::plain(Base::Int);

    fn decode(raw: u64, width: u32) -> Result<i32, ProblemKind> {
        let unused = 64 - width.min(64);
        let value = ((raw << unused) as i64) >> unused;
        i32::try_from(value).map_err(|_| ProblemKind::DoesNotFit { value: raw, width: 32 })
    }

    fn encode(value: i32, width: u32) -> Result<u64, ProblemKind> {
        let unused = 64 - width.min(64);
        let wide = i64::from(value);
        if (wide << unused) >> unused != wide {
            return Err(ProblemKind::DoesNotFit { value: wide as u64, width });
        }
        Ok(wide as u64 & bits::mask(width))
    }

    fn show(value: i32) -> Value {
        Value::Int(i64::from(value))
    }

    fn zero(_width: u32) -> i32 {
        0
    }
}

/// One bit.
#[derive(Clone, Copy, Debug)]
pub struct Bool;

impl Scalar for Bool {
    type Value = bool;
    const KIND: Kind = Kind::plain(Base::Bool);

    #[inline]
    fn decode(raw: u64, _width: u32) -> Result<bool, ProblemKind> {
        Ok(raw != 0)
    }

    #[inline]
    fn encode(value: bool, _width: u32) -> Result<u64, ProblemKind> {
        Ok(u64::from(value))
    }

    fn show(value: bool) -> Value {
        Value::Bool(value)
    }

    fn zero(_width: u32) -> bool {
        false
    }
}

/// A 32-bit float. All bit patterns are kept, NaN payloads included.
#[derive(Clone, Copy, Debug)]
pub struct Float;

impl Scalar for Float {
    type Value = f32;
    const KIND: Kind = Kind::plain(Base::Float);

    #[inline]
    fn decode(raw: u64, _width: u32) -> Result<f32, ProblemKind> {
        Ok(f32::from_bits(raw as u32))
    }

    #[inline]
    fn encode(value: f32, _width: u32) -> Result<u64, ProblemKind> {
        Ok(u64::from(value.to_bits()))
    }

    fn show(value: f32) -> Value {
        Value::Float(value)
    }

    fn zero(_width: u32) -> f32 {
        0.0
    }
}

/// A 16-bit float. All bit patterns are kept.
#[derive(Clone, Copy, Debug)]
pub struct Half;

impl Scalar for Half {
    type Value = half::f16;
    const KIND: Kind = Kind::plain(Base::Half);

    fn decode(raw: u64, _width: u32) -> Result<half::f16, ProblemKind> {
        Ok(half::f16::from_bits(raw as u16))
    }

    fn encode(value: half::f16, _width: u32) -> Result<u64, ProblemKind> {
        Ok(u64::from(value.to_bits()))
    }

    fn show(value: half::f16) -> Value {
        Value::Float(value.to_f32())
    }

    fn zero(_width: u32) -> half::f16 {
        half::f16::ZERO
    }
}

/// An unsigned fixed-point number with `FRACTION` bits after the point, stored as value ×
/// 2^`FRACTION` − `BIAS`. A value between two steps is stored as the lower one; a value outside the
/// range is an error, so that drivers clamp explicitly.
#[derive(Clone, Copy, Debug)]
pub struct UnsignedFixed<const FRACTION: u32, const BIAS: u32 = 0>;

impl<const FRACTION: u32, const BIAS: u32> Scalar for UnsignedFixed<FRACTION, BIAS> {
    type Value = f32;
    const KIND: Kind = Kind::plain(Base::UnsignedFixed { fraction: FRACTION, bias: BIAS });

    fn decode(raw: u64, _width: u32) -> Result<f32, ProblemKind> {
        Ok(((raw + u64::from(BIAS)) as f64 / (1u64 << FRACTION) as f64) as f32)
    }

    fn encode(value: f32, width: u32) -> Result<u64, ProblemKind> {
        let steps = (f64::from(value) * (1u64 << FRACTION) as f64).floor() - f64::from(BIAS);
        if !(0.0..=bits::mask(width) as f64).contains(&steps) {
            return Err(ProblemKind::NotEncodable {
                value: value.to_string(),
                why: "outside the range of the fixed-point format",
            });
        }
        Ok(steps as u64)
    }

    fn show(value: f32) -> Value {
        Value::Float(value)
    }

    fn zero(_width: u32) -> f32 {
        (f64::from(BIAS) / (1u64 << FRACTION) as f64) as f32
    }
}

/// A number stored without its low `N` bits, which must be zero.
#[derive(Clone, Copy, Debug)]
pub struct Shr<T, const N: u32>(PhantomData<T>);

impl<T: Number, const N: u32> Scalar for Shr<T, N> {
    type Value = T::Value;
    const KIND: Kind = <T as Scalar>::KIND.shr(N);

    #[inline]
    fn decode(raw: u64, width: u32) -> Result<T::Value, ProblemKind> {
        if raw.leading_zeros() < N {
            return Err(ProblemKind::DoesNotFit { value: raw, width: width.min(64 - N) });
        }
        T::from_u64(raw << N)
    }

    #[inline]
    fn encode(value: T::Value, _width: u32) -> Result<u64, ProblemKind> {
        let value = T::to_u64(value);
        if value & bits::mask(N) != 0 {
            return Err(ProblemKind::NotMultiple { value, multiple: 1 << N });
        }
        Ok(value >> N)
    }

    fn show(value: T::Value) -> Value {
        T::show(value)
    }

    fn number(value: T::Value) -> Option<u64> {
        Some(T::to_u64(value))
    }

    fn zero(width: u32) -> T::Value {
        <T as Scalar>::zero(width)
    }
}

impl<T: Number, const N: u32> Number for Shr<T, N> {
    fn from_u64(value: u64) -> Result<T::Value, ProblemKind> {
        T::from_u64(value)
    }

    fn to_u64(value: T::Value) -> u64 {
        T::to_u64(value)
    }
}

/// A number stored decreased by `N`.
#[derive(Clone, Copy, Debug)]
pub struct Minus<T, const N: u32>(PhantomData<T>);

impl<T: Number, const N: u32> Scalar for Minus<T, N> {
    type Value = T::Value;
    const KIND: Kind = <T as Scalar>::KIND.minus(N as u64);

    #[inline]
    fn decode(raw: u64, width: u32) -> Result<T::Value, ProblemKind> {
        let stored = T::to_u64(T::decode(raw, width)?);
        let sum = stored.checked_add(u64::from(N));
        T::from_u64(sum.ok_or(ProblemKind::DoesNotFit { value: raw, width })?)
    }

    #[inline]
    fn encode(value: T::Value, width: u32) -> Result<u64, ProblemKind> {
        let value = T::to_u64(value);
        let Some(less) = value.checked_sub(u64::from(N)) else {
            return Err(ProblemKind::OutOfRange { value, low: u64::from(N), high: u64::MAX });
        };
        T::encode(T::from_u64(less)?, width)
    }

    fn show(value: T::Value) -> Value {
        T::show(value)
    }

    fn number(value: T::Value) -> Option<u64> {
        Some(T::to_u64(value))
    }

    fn zero(width: u32) -> T::Value {
        Self::decode(0, width).unwrap_or_else(|_| <T as Scalar>::zero(width))
    }
}

/// A count stored in groups of `N`, rounded up to whole groups and at least one. 2^width groups
/// encode as zero.
#[derive(Clone, Copy, Debug)]
pub struct Groups<const N: u32>;

impl<const N: u32> Scalar for Groups<N> {
    type Value = u32;
    const KIND: Kind = Kind { base: Base::Uint, modifier: Modifier::Groups(N as u64) };

    #[inline]
    fn decode(raw: u64, width: u32) -> Result<u32, ProblemKind> {
        let groups = if raw == 0 { bits::mask(width) + 1 } else { raw };
        Uint::from_u64(groups * u64::from(N))
    }

    #[inline]
    fn encode(value: u32, width: u32) -> Result<u64, ProblemKind> {
        let groups = u64::from(value.div_ceil(N).max(1));
        let all = bits::mask(width) + 1;
        if groups > all {
            let high = all * u64::from(N);
            return Err(ProblemKind::OutOfRange { value: u64::from(value), low: 0, high });
        }
        Ok(if groups == all { 0 } else { groups })
    }

    fn show(value: u32) -> Value {
        Value::Uint(u64::from(value))
    }

    fn number(value: u32) -> Option<u64> {
        Some(u64::from(value))
    }

    fn zero(width: u32) -> u32 {
        ((bits::mask(width) + 1) * u64::from(N)) as u32
    }
}

/// A power of two stored as its logarithm.
#[derive(Clone, Copy, Debug)]
pub struct Log2;

impl Scalar for Log2 {
    type Value = u32;
    const KIND: Kind = Kind { base: Base::Uint, modifier: Modifier::Log2 };

    fn decode(raw: u64, width: u32) -> Result<u32, ProblemKind> {
        let shift = u32::try_from(raw).ok().filter(|&s| s < 32);
        shift.map(|s| 1 << s).ok_or(ProblemKind::DoesNotFit { value: raw, width: width.min(5) })
    }

    fn encode(value: u32, _width: u32) -> Result<u64, ProblemKind> {
        if !value.is_power_of_two() {
            let value = value.to_string();
            return Err(ProblemKind::NotEncodable { value, why: "not a power of two" });
        }
        Ok(u64::from(value.ilog2()))
    }

    fn show(value: u32) -> Value {
        Value::Uint(u64::from(value))
    }

    fn number(value: u32) -> Option<u64> {
        Some(u64::from(value))
    }

    fn zero(_width: u32) -> u32 {
        1
    }
}

/// A nested packet at a byte boundary, always of the first revision.
#[derive(Clone, Copy, Debug)]
pub struct Nested<P>(PhantomData<P>);

fn nested_range(field: &Field, size_bytes: usize) -> std::ops::Range<usize> {
    let first = (field.start() / 8) as usize;
    first..first + size_bytes
}

/// Positions of a nested packet's words in the outer packet.
fn nested_words<P: Packet>(field: &Field) -> impl Iterator<Item = Piece> {
    let (first, bits) = (field.start(), 8 * P::INFO.size_bytes as u32);
    (0..bits).step_by(64).map(move |k| Piece { start: first + k, width: (bits - k).min(64) })
}

impl<P: Packet> FieldType for Nested<P> {
    type Value = P;
    const KIND: Kind = Kind::plain(Base::Packet(P::INFO));

    fn zero(_width: u32) -> P {
        P::default()
    }

    fn read(words: &[u64], field: &Field, problems: &mut Vec<Problem>) -> P {
        let mut inner = P::zeros();
        for (to, piece) in inner.as_mut().iter_mut().zip(nested_words::<P>(field)) {
            *to = bits::word_get(words, piece.start, piece.width);
        }
        let (value, inner) = unpack_words::<P>(inner, Revisions::FIRST);
        let at = field.start();
        problems.extend(inner.into_iter().map(|p| Problem { bit: p.bit + at, ..p }));
        value
    }

    fn write(value: &P, words: &mut [u64], field: &Field) -> Result<(), Problem> {
        let mut inner = P::zeros();
        let moved = |p: Problem| Problem { bit: p.bit + field.start(), ..p };
        value.write_fields(&mut inner, Revisions::FIRST).map_err(moved)?;
        for (&from, piece) in inner.as_ref().iter().zip(nested_words::<P>(field)) {
            bits::word_or(words, piece.start, piece.width, from);
        }
        Ok(())
    }

    fn show(bytes: &[u8], field: &Field) -> Value {
        match bytes.get(nested_range(field, P::INFO.size_bytes)).map(P::decode) {
            Some(Ok(inner)) => Value::Packet(Box::new(inner)),
            _ => Value::Unknown(0),
        }
    }
}

/// `COUNT` equal elements of `WIDTH` bits, `STRIDE` bits from one to the next. The field's bits run
/// from the first bit of the first element to the end of the last stride.
#[derive(Clone, Copy, Debug)]
pub struct Array<T, const COUNT: usize, const STRIDE: u32, const WIDTH: u32>(PhantomData<T>);

impl<T: Scalar, const COUNT: usize, const STRIDE: u32, const WIDTH: u32>
    Array<T, COUNT, STRIDE, WIDTH>
{
    fn piece(field: &Field, index: usize) -> Piece {
        Piece { start: field.start() + index as u32 * STRIDE, width: WIDTH }
    }
}

impl<T: Scalar, const COUNT: usize, const STRIDE: u32, const WIDTH: u32> FieldType
    for Array<T, COUNT, STRIDE, WIDTH>
{
    type Value = [T::Value; COUNT];
    const KIND: Kind = Kind::plain(Base::Array {
        element: &<T as Scalar>::KIND,
        count: COUNT as u32,
        stride: STRIDE,
        width: WIDTH,
    });

    fn zero(_width: u32) -> Self::Value {
        [<T as Scalar>::zero(WIDTH); COUNT]
    }

    fn read(words: &[u64], field: &Field, problems: &mut Vec<Problem>) -> Self::Value {
        std::array::from_fn(|i| {
            let piece = Self::piece(field, i);
            T::decode(bits::word_get(words, piece.start, WIDTH), WIDTH).unwrap_or_else(|kind| {
                problems.push(Problem { bit: piece.start, ..problem(field, kind) });
                <T as Scalar>::zero(WIDTH)
            })
        })
    }

    fn write(value: &Self::Value, words: &mut [u64], field: &Field) -> Result<(), Problem> {
        for (i, &element) in value.iter().enumerate() {
            let piece = Self::piece(field, i);
            let here = |kind| Problem { bit: piece.start, ..problem(field, kind) };
            let raw = T::encode(element, WIDTH).map_err(here)?;
            if raw & !bits::mask(WIDTH) != 0 {
                return Err(here(ProblemKind::DoesNotFit { value: raw, width: WIDTH }));
            }
            bits::word_or(words, piece.start, WIDTH, raw);
        }
        Ok(())
    }

    fn show(bytes: &[u8], field: &Field) -> Value {
        let element = |i| {
            let raw = bits::get(bytes, Self::piece(field, i).start, WIDTH);
            T::decode(raw, WIDTH).map_or(Value::Unknown(raw), <T as Scalar>::show)
        };
        Value::Array((0..COUNT).map(element).collect())
    }
}
