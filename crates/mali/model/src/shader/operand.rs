//! Sources of operations: a row, and the selected part of it.

use tepui_mali_isa::operand::{Special, select};
use tepui_mali_isa::table::field::{Select as SelectField, SourceField};
use tepui_mali_isa::{Operand, Row as IsaRow, Source, Swizzle};

use crate::warp::row::{Row, float16};
use crate::warp::uniforms;

/// The selected part of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Select {
    /// All of it.
    Whole,
    /// A half, zero-extended or sign-extended.
    Half { index: u8, signed: bool },
    /// A half, shifted to the upper half of the word.
    HalfShifted(u8),
    /// A byte, zero-extended or sign-extended.
    Byte { index: u8, signed: bool },
    /// A half-float, converted.
    Float16(u8),
    /// Two halves.
    Halves([u8; 2]),
    /// Two bytes, each extended to a half.
    HalvesOfBytes { bytes: [u8; 2], signed: bool },
    /// Four bytes.
    Bytes([u8; 4]),
}

/// A source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Src {
    /// The row: registers first, then rows that all warps share.
    pub row: u16,
    /// The row of the upper 32 bits of a 64-bit source.
    pub high: u16,
    /// The selected part.
    pub select: Select,
    /// Bits that are cleared, then bits that are flipped: absolute value, negation and inversion.
    pub clear: u32,
    /// See `clear`.
    pub flip: u32,
}

impl Src {
    /// No source.
    pub const NONE: Src =
        Src { row: uniforms::ZERO, high: uniforms::ZERO, select: Select::Whole, clear: 0, flip: 0 };

    /// The source of an instruction. `None` if it is a special value that does not exist.
    pub fn new(row: &IsaRow, field: &SourceField, source: &Source, signed: bool) -> Option<Src> {
        let (low, high) = rows(source.operand)?;
        let width = row.source_width(field);
        let select = selection(row, field, source, signed)?;
        let sign = match width {
            16 => 0x8000_8000,
            _ => 0x8000_0000u32,
        };
        // A 32-bit float that is widened from a half has its sign bit at the top, like others.
        let clear = if source.abs { sign } else { 0 };
        let mut flip = if source.neg { sign } else { 0 };
        if source.not {
            flip = u32::MAX;
        }
        let high = match select {
            Select::Whole => high,
            _ => uniforms::ZERO,
        };
        Some(Src { row: low, high, select, clear, flip })
    }

    /// Whether the value is the row without selection or modifiers.
    pub fn is_plain(&self) -> bool {
        self.select == Select::Whole && self.clear == 0 && self.flip == 0
    }

    /// The value of a row.
    #[inline(always)]
    pub fn apply(&self, row: &Row) -> Row {
        let selected = match self.select {
            Select::Whole => *row,
            Select::Half { index, signed: false } => {
                row.map(|v| v >> (16 * u32::from(index)) & 0xffff)
            }
            Select::Half { index, signed: true } => {
                row.map(|v| (v >> (16 * u32::from(index))) as u16 as i16 as i32 as u32)
            }
            Select::HalfShifted(index) => row.map(|v| v >> (16 * u32::from(index)) << 16),
            Select::Byte { index, signed: false } => {
                row.map(|v| v >> (8 * u32::from(index)) & 0xff)
            }
            Select::Byte { index, signed: true } => {
                row.map(|v| (v >> (8 * u32::from(index))) as u8 as i8 as i32 as u32)
            }
            Select::Float16(index) => {
                row.map(|v| float16((v >> (16 * u32::from(index))) as u16).to_bits())
            }
            Select::Halves([a, b]) => row.map(|v| {
                v >> (16 * u32::from(a)) & 0xffff | (v >> (16 * u32::from(b)) & 0xffff) << 16
            }),
            Select::HalvesOfBytes { bytes: [a, b], signed } => row.map(|v| {
                let byte = |n: u8| (v >> (8 * u32::from(n))) as u8;
                let half = |n: u8| match signed {
                    true => byte(n) as i8 as i16 as u16,
                    false => u16::from(byte(n)),
                };
                crate::warp::row::join([half(a), half(b)])
            }),
            Select::Bytes(bytes) => {
                row.map(|v| u32::from_le_bytes(bytes.map(|n| (v >> (8 * u32::from(n))) as u8)))
            }
        };
        match (self.clear, self.flip) {
            (0, 0) => selected,
            (clear, flip) => selected.map(|v| v & !clear ^ flip),
        }
    }
}

/// The rows of an operand: its own, and that of the next word.
fn rows(operand: Operand) -> Option<(u16, u16)> {
    Some(match operand {
        Operand::Register { index, .. } => {
            let high = (index + 1).min(63);
            (index.into(), high.into())
        }
        Operand::Uniform(index) => (uniforms::uniform(index), uniforms::uniform(index | 1)),
        // Constants are zero-extended.
        Operand::Constant(index) => (uniforms::constant(index), uniforms::ZERO),
        // The operation has a row of its own for it.
        Operand::Special(Special::ProgramCounter, _) => return None,
        Operand::Special(special, word) => {
            (uniforms::special(special, word)?, uniforms::special(special, word | 1)?)
        }
    })
}

/// The part that a source's swizzle selects. `None` if its meaning is not known.
fn selection(row: &IsaRow, field: &SourceField, source: &Source, signed: bool) -> Option<Select> {
    use Swizzle as S;
    if select(row, field).is_none() {
        return Some(Select::Whole);
    }
    let width = row.source_width(field);
    let half = |index| Some(Select::Half { index, signed });
    let byte = |index| Some(Select::Byte { index, signed });
    let bytes = |list| Some(Select::Bytes(list));
    let pair = |a, b| match field.select {
        // Shifts and lanes: the same byte for all elements.
        SelectField::Lanes(_) => bytes([a; 4]),
        _ => Some(Select::HalvesOfBytes { bytes: [a, b], signed }),
    };
    match source.swizzle {
        S::Identity => Some(Select::Whole),
        S::H0 | S::H1 => {
            let index = u8::from(source.swizzle == S::H1);
            match field.select {
                SelectField::Swizzle(_) => Some(Select::Float16(index)),
                _ => half(index),
            }
        }
        S::H00 => Some(Select::Halves([0, 0])),
        S::H10 => Some(Select::Halves([1, 0])),
        S::H11 => Some(Select::Halves([1, 1])),
        S::W0 if width == 64 => Some(match signed {
            true => return None,
            false => Select::Bytes([0, 1, 2, 3]),
        }),
        S::W0 | S::And | S::Lowbits => None,
        S::B0 => byte(0),
        S::B1 => byte(1),
        S::B2 => byte(2),
        S::B3 => byte(3),
        S::B00 => pair(0, 0),
        S::B10 => pair(1, 0),
        S::B20 => pair(2, 0),
        S::B30 => pair(3, 0),
        S::B01 => pair(0, 1),
        S::B11 => pair(1, 1),
        S::B21 => pair(2, 1),
        S::B31 => pair(3, 1),
        S::B02 => pair(0, 2),
        S::B12 => pair(1, 2),
        S::B22 => pair(2, 2),
        S::B32 => pair(3, 2),
        S::B03 => pair(0, 3),
        S::B13 => pair(1, 3),
        S::B23 => pair(2, 3),
        S::B33 => pair(3, 3),
        S::B3210 => bytes([3, 2, 1, 0]),
        S::B0101 => bytes([0, 1, 0, 1]),
        S::B2323 => bytes([2, 3, 2, 3]),
        S::B0000 => bytes([0; 4]),
        S::B1111 => bytes([1; 4]),
        S::B2222 => bytes([2; 4]),
        S::B3333 => bytes([3; 4]),
        S::B2301 => bytes([2, 3, 0, 1]),
        S::B1032 => bytes([1, 0, 3, 2]),
        S::B0011 => bytes([0, 0, 1, 1]),
        S::B2233 => bytes([2, 2, 3, 3]),
    }
}
