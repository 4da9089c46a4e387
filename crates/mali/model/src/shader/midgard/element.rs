//! Elements of registers: the row and the bits of a component of a source or a result.

use half::f16;
use tepui_mali_isa::Flow;
use tepui_mali_isa::midgard::SourceType;
use tepui_mali_isa::midgard::word::{VectorSource, expand, register};

use super::{Context, rows};
use crate::shader::op::{Lanes, Op, WriteMode};
use crate::shader::operand::{Select, Src};
use crate::warp::trap::Trap;
use crate::warp::uniforms;

/// An element of a register: its size in bits, and its index among those of its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    pub register: u32,
    pub bits: u32,
    pub index: u32,
}

impl Element {
    /// Its first word in the register, and its first byte in the word.
    fn place(self) -> (u32, u32) {
        let byte = self.index * self.bits / 8;
        (byte / 4 % 4, byte % 4)
    }

    /// The row of a result, and how it is written. 16-bit floats are given as 32-bit floats.
    pub fn written(self, float: bool) -> (u8, WriteMode) {
        let (word, byte) = self.place();
        let high = byte >= 2;
        let written = match (self.bits, float) {
            (16, true) => WriteMode::Float16 { high },
            (16, false) => WriteMode::Lower16 { high },
            (8, _) => WriteMode::Bits(0xff << (8 * byte)),
            _ => WriteMode::Word,
        };
        (rows::word(self.register, word), written)
    }
}

/// The element of a vector source for component `i` of an operation on `bits` bits. `None` for encodings that the
/// hardware does not have.
pub fn of_vector(register: u32, source: &VectorSource, bits: u32, i: u32) -> Option<Element> {
    let pick = |n: u32| source.swizzle >> (2 * (n & 3)) & 3;
    let how = source.expand;
    let (bits, index) = match (bits, how) {
        (32, expand::NONE) => (32, pick(i)),
        (32, expand::LOW) => (16, pick(i)),
        (32, expand::HIGH) => (16, 4 + pick(i)),
        (16, _) => {
            let upper = i >= 4;
            let (bits, first, second) = match how {
                expand::NONE => (16, 0, 4),
                expand::LOW_TWICE => (16, 0, 0),
                expand::HIGH_TWICE => (16, 4, 4),
                expand::SWAP => (16, 4, 0),
                expand::LOW => (8, 0, 4),
                expand::HIGH => (8, 8, 12),
                expand::LOW_SWAP => (8, 4, 0),
                _ => (8, 12, 8),
            };
            (bits, pick(i) + if upper { second } else { first })
        }
        (8, _) => {
            let upper = i >= 8;
            let (first, second) = match how {
                expand::NONE => (0, 8),
                expand::LOW_TWICE => (0, 0),
                expand::HIGH_TWICE => (8, 8),
                expand::SWAP => (8, 0),
                _ => return None,
            };
            (8, 2 * pick(i >> 1) + (i & 1) + if upper { second } else { first })
        }
        (64, expand::NONE) => (64, pick(2 * i) / 2),
        (64, expand::LOW) => (32, pick(2 * i) / 2),
        (64, expand::HIGH) => (32, 2 + pick(2 * i) / 2),
        _ => return None,
    };
    Some(Element { register, bits, index })
}

/// The sign bit of a row, replicated to all bits.
fn sign(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let value = l.get(&op.src[0]).map(|v| (v as i32 >> 31) as u32);
    l.put(op, &value);
    Ok(())
}

impl Context {
    /// The row of a register's word as a source.
    fn row(&mut self, register: u32, word: u32) -> Option<u16> {
        Some(match register {
            register::CONSTANT => {
                let value = self.constants[word as usize & 3];
                return self.constant(value);
            }
            28 | 29 => {
                u16::from(rows::TEXTURE) + (4 * (register - register::TEXTURE) + word) as u16
            }
            register::SELECT if word == 0 => return self.constant(self.counter),
            register::SELECT => uniforms::ZERO,
            register => rows::word(register, word).into(),
        })
    }

    /// An element as a source: a float is converted to 32 bits with the modifier applied; an integer of fewer bits than
    /// the operation is extended as the modifier says.
    pub(super) fn source(
        &mut self,
        element: Element,
        kind: SourceType,
        modifier: u32,
        bits: u32,
    ) -> Option<Src> {
        let (word, byte) = element.place();
        let mut src = Src { row: self.row(element.register, word)?, ..Src::NONE };
        let half = (byte / 2) as u8;
        if kind == SourceType::Float {
            src.select = match element.bits {
                32 => Select::Whole,
                16 => Select::Float16(half),
                _ => return None,
            };
            src.clear = if modifier & 1 != 0 { 1 << 31 } else { 0 };
            src.flip = if modifier & 2 != 0 { 1 << 31 } else { 0 };
            return Some(src);
        }
        let expands = element.bits < bits;
        let signed = match expands {
            true => modifier == 0,
            false => kind == SourceType::Signed,
        };
        match (element.bits, bits) {
            (64, _) => src.high = self.row(element.register, word + 1)?,
            (32, 64) => match modifier {
                0 => {
                    let mut op = Op::new(sign, Flow::None);
                    (op.src[0], op.dest) = (src, rows::SIGN + self.signs % 4);
                    self.signs += 1;
                    src.high = op.dest.into();
                    self.ops.push(op);
                }
                1 => {}
                2 => src.high = src.row,
                _ => (src.high, src.row) = (src.row, uniforms::ZERO),
            },
            (32, _) => {}
            (16, _) => {
                src.select = match (expands, modifier) {
                    (true, 2) => Select::Halves([half, half]),
                    (true, 3) => Select::HalfShifted(half),
                    _ => Select::Half { index: half, signed },
                };
            }
            (8, _) if !expands || modifier < 2 => {
                src.select = Select::Byte { index: byte as u8, signed };
            }
            _ => return None,
        }
        Some(src)
    }

    /// A 16-bit immediate as a source of an operation on `bits` bits.
    pub(super) fn immediate(&mut self, value: u16, kind: SourceType, bits: u32) -> Option<Src> {
        self.literal(match kind {
            SourceType::Float => f16::from_bits(value).to_f32().to_bits(),
            SourceType::Unsigned if bits == 16 => value.into(),
            _ => value as i16 as i32 as u32,
        })
    }
}
