//! Element types of buffers, and the encoding of their values.

use half::f16;
use tepui_format::{Component, Encoding, Format, Numeric};

/// A number of a script.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer.
    Int(i128),
    /// Any other number.
    Float(f64),
}

impl Number {
    /// Parses decimal and hexadecimal integers and floats.
    #[must_use]
    pub fn parse(text: &str) -> Option<Number> {
        let (sign, digits) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text),
        };
        if let Some(hex) = digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
            return u64::from_str_radix(hex, 16).ok().map(|n| Number::Int(sign * i128::from(n)));
        }
        match text.parse::<i64>() {
            Ok(n) => Some(Number::Int(n.into())),
            Err(_) => match text.parse::<u64>() {
                Ok(n) => Some(Number::Int(n.into())),
                Err(_) => text.parse().ok().map(Number::Float),
            },
        }
    }

    /// Converts to a float.
    #[must_use]
    pub fn float(self) -> f64 {
        match self {
            Number::Int(n) => n as f64,
            Number::Float(x) => x,
        }
    }

    /// Converts to an integer, rounding towards zero.
    #[must_use]
    pub fn int(self) -> i128 {
        match self {
            Number::Int(n) => n,
            Number::Float(x) => x as i128,
        }
    }
}

/// A scalar type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// Signed integer with this number of bits.
    Int(u8),
    /// Unsigned integer with this number of bits.
    Uint(u8),
    /// Float of 16, 32 or 64 bits.
    Float(u8),
}

impl Scalar {
    fn from_name(name: &str) -> Option<Scalar> {
        Some(match name {
            "int8" => Scalar::Int(8),
            "int16" => Scalar::Int(16),
            "int32" => Scalar::Int(32),
            "int64" => Scalar::Int(64),
            "uint8" => Scalar::Uint(8),
            "uint16" => Scalar::Uint(16),
            "uint32" => Scalar::Uint(32),
            "uint64" => Scalar::Uint(64),
            "float16" => Scalar::Float(16),
            "float" => Scalar::Float(32),
            "double" => Scalar::Float(64),
            _ => return None,
        })
    }

    /// Size in bytes.
    #[must_use]
    pub fn bytes(self) -> usize {
        let (Scalar::Int(bits) | Scalar::Uint(bits) | Scalar::Float(bits)) = self;
        usize::from(bits / 8)
    }

    /// Converts a number to this type and returns its bits.
    #[must_use]
    pub fn encode(self, n: Number) -> u64 {
        match self {
            Scalar::Int(_) | Scalar::Uint(_) => n.int() as u64,
            Scalar::Float(16) => f16::from_f64(n.float()).to_bits().into(),
            Scalar::Float(32) => (n.float() as f32).to_bits().into(),
            Scalar::Float(_) => n.float().to_bits(),
        }
    }

    /// Reads the number at the start of `bytes`, if there are enough.
    #[must_use]
    pub fn decode(self, bytes: &[u8]) -> Option<Number> {
        let n = self.bytes();
        let mut word = [0; 8];
        word[..n].copy_from_slice(bytes.get(..n)?);
        let word = u64::from_le_bytes(word);
        Some(match self {
            Scalar::Int(bits) => Number::Int(i128::from(tepui_ir::sext(word, bits) as i64)),
            Scalar::Uint(_) => Number::Int(word.into()),
            Scalar::Float(16) => Number::Float(f16::from_bits(word as u16).to_f64()),
            Scalar::Float(32) => Number::Float(f32::from_bits(word as u32).into()),
            Scalar::Float(_) => Number::Float(f64::from_bits(word)),
        })
    }
}

/// The type of a buffer's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// Type of its numbers.
    pub scalar: Scalar,
    /// Columns of a matrix; 1 for other types.
    pub columns: usize,
    /// Numbers in a column or vector.
    pub rows: usize,
    /// Bytes from one column to the next.
    column_stride: usize,
    /// The format, if the script gives the type as a format.
    format: Option<Format>,
}

impl Element {
    /// Parses a type: `float`, `vec3<float>`, `mat2x4<float>`, `int32[]`, or a format's name.
    #[must_use]
    pub fn parse(name: &str, std140: bool) -> Option<Element> {
        let (name, array) = match name.split_once('[') {
            Some((name, _)) => (name, true),
            None => (name, false),
        };
        if let Some(scalar) = Scalar::from_name(name) {
            return Some(Element::new(scalar, 1, 1, std140 && array));
        }
        if let Some((shape, inner)) = name.strip_suffix('>').and_then(|n| n.split_once('<')) {
            let scalar = Scalar::from_name(inner)?;
            let count = |t: &str| t.parse().ok().filter(|n| (1..=4).contains(n));
            return match (shape.strip_prefix("vec"), shape.strip_prefix("mat")) {
                (Some(n), _) => Some(Element::new(scalar, 1, count(n)?, std140 && array)),
                (_, Some(m)) => {
                    let (columns, rows) = m.split_once('x')?;
                    Some(Element::new(scalar, count(columns)?, count(rows)?, std140))
                }
                _ => None,
            };
        }
        Element::of_format(name.parse().ok()?)
    }

    fn new(scalar: Scalar, columns: usize, rows: usize, pad: bool) -> Element {
        // A column of three is padded to four; in std140, columns and array elements are multiples
        // of 16 bytes.
        let column = scalar.bytes() * if rows == 3 { 4 } else { rows };
        let column_stride = if pad { column.next_multiple_of(16) } else { column };
        Element { scalar, columns, rows, column_stride, format: None }
    }

    /// The element type of a format whose components are whole bytes, or whose texel is one word.
    fn of_format(format: Format) -> Option<Element> {
        let Encoding::Plain(channels) = &format.info().encoding else { return None };
        let channels = channels.as_slice();
        if format.name().contains("_PACK") {
            // A texel is given as one word.
            let scalar = Scalar::Uint(8 * format.info().block.bytes as u8);
            let column_stride = scalar.bytes();
            return Some(Element {
                scalar,
                columns: 1,
                rows: 1,
                column_stride,
                format: Some(format),
            });
        }
        let first = channels.first()?;
        if first.bits % 8 != 0 || channels.iter().any(|c| c.bits != first.bits) {
            return None;
        }
        let scalar = match first.numeric {
            Numeric::Sfloat => Scalar::Float(first.bits),
            Numeric::Sint | Numeric::Snorm | Numeric::Sscaled => Scalar::Int(first.bits),
            _ => Scalar::Uint(first.bits),
        };
        let column_stride = scalar.bytes() * channels.len();
        let rows = channels.len();
        Some(Element { scalar, columns: 1, rows, column_stride, format: Some(format) })
    }

    /// Number of numbers in an element.
    #[must_use]
    pub fn numbers(&self) -> usize {
        self.columns * self.rows
    }

    /// Bytes from one element to the next.
    #[must_use]
    pub fn stride(&self) -> usize {
        self.columns * self.column_stride
    }

    /// Offset of number `n` of a list of elements, in bytes.
    #[must_use]
    pub fn place(&self, n: usize) -> usize {
        let (column, row) = (n / self.rows, n % self.rows);
        column * self.column_stride + row * self.scalar.bytes()
    }

    /// Encodes a list of numbers; an incomplete element is padded with zeros.
    #[must_use]
    pub fn encode(&self, numbers: &[Number]) -> Vec<u8> {
        let mut bytes = vec![0; numbers.len().div_ceil(self.numbers()) * self.stride()];
        for (n, &value) in numbers.iter().enumerate() {
            let (at, word) = (self.place(n), self.scalar.encode(value).to_le_bytes());
            let size = self.scalar.bytes();
            bytes[at..at + size].copy_from_slice(&word[..size]);
        }
        bytes
    }

    /// The format of vertex attributes and texels of this type.
    #[must_use]
    pub fn texel(&self) -> Option<Format> {
        if self.format.is_some() {
            return self.format;
        }
        let (kind, bits) = match self.scalar {
            Scalar::Int(b) => ("SINT", b),
            Scalar::Uint(b) => ("UINT", b),
            Scalar::Float(b) => ("SFLOAT", b),
        };
        let channels: String =
            "RGBA".chars().take(self.rows).map(|c| format!("{c}{bits}")).collect();
        format!("{channels}_{kind}").parse().ok().filter(|_| self.columns == 1)
    }
}

/// Whether a format has channel `n` of red, green, blue, alpha.
#[must_use]
pub fn has_channel(format: Format, n: usize) -> bool {
    let wanted = [Component::R, Component::G, Component::B, Component::A][n];
    match &format.info().encoding {
        Encoding::Plain(c) => c.as_slice().iter().any(|c| c.component == wanted),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_follow_the_layout_rules() {
        let place = |name, std140, n| Element::parse(name, std140).expect(name).place(n);
        assert_eq!(place("int32[]", true, 3), 48);
        assert_eq!(place("int32", true, 3), 12);
        assert_eq!(place("vec2<float>", true, 2), 8);
        assert_eq!(place("vec3<float>", false, 3), 16);
        assert_eq!(place("mat2x2<float>", true, 2), 16);
        assert_eq!(place("mat2x2<float>", false, 3), 12);
        assert_eq!(place("R32G32B32_SFLOAT", false, 3), 12);
        assert!(Element::parse("vec5<float>", false).is_none());
    }

    #[test]
    fn numbers_keep_their_bits() {
        let bits = |s: Scalar, t| s.encode(Number::parse(t).expect(t));
        assert_eq!(bits(Scalar::Float(32), "1.5"), 0x3fc0_0000);
        assert_eq!(bits(Scalar::Float(16), "-2"), 0xc000);
        assert_eq!(bits(Scalar::Int(32), "-1"), u64::MAX);
        assert_eq!(bits(Scalar::Uint(64), "18446744073709551615"), u64::MAX);
        assert_eq!(Scalar::Int(8).decode(&[0xff]), Some(Number::Int(-1)));
        assert_eq!(Scalar::Uint(32).decode(&[1, 2]), None);
        assert_eq!(Number::parse("seven"), None);
    }
}
