//! Sources of instructions as rows, with the selected parts.

use tepui_mali_isa::Special;
use tepui_mali_isa::bifrost::clause::Modifier;
use tepui_mali_isa::bifrost::disasm::Fau;
use tepui_mali_isa::bifrost::table::Unit;
use tepui_mali_isa::bifrost::{Inst, Port};

use super::Context;
use crate::shader::operand::{Select, Src};
use crate::warp::row::Row;
use crate::warp::uniforms;

const BLEND_DESCRIPTORS: [Special; 8] = [
    Special::BlendDescriptor0,
    Special::BlendDescriptor1,
    Special::BlendDescriptor2,
    Special::BlendDescriptor3,
    Special::BlendDescriptor4,
    Special::BlendDescriptor5,
    Special::BlendDescriptor6,
    Special::BlendDescriptor7,
];

/// Whether parts of a source are sign-extended.
fn is_signed(inst: &Inst) -> bool {
    let name = inst.op.row().name;
    let kind = name.split_once('.').map_or("", |(_, kind)| kind);
    let converts = ["S8_TO", "S16_TO", "S32_TO", "V2S8_TO", "V2S16_TO"];
    ["s", "v2s", "v4s"].iter().any(|prefix| kind.starts_with(prefix))
        || converts.iter().any(|prefix| name.starts_with(prefix))
        || inst.modifier("extend") == Some("sext")
}

/// The sign bits of a float source.
fn sign(inst: &Inst) -> u32 {
    let name = inst.op.row().name;
    let short = name.ends_with("v2f16") || name.starts_with("V2F16_TO");
    if short { 0x8000_8000 } else { 0x8000_0000 }
}

/// The selection that a modifier's value encodes.
fn select(inst: &Inst, name: &str, value: &str) -> Option<Select> {
    let signed = is_signed(inst);
    let row = inst.op.row();
    let digits: Vec<u8> = value[1..].bytes().map(|b| b.wrapping_sub(b'0')).collect();
    if digits.iter().any(|digit| *digit > 3) {
        return None;
    }
    Some(match (value.as_bytes()[0], &digits[..]) {
        (b'h', [index]) => {
            let is_float = row.name.ends_with(".f32") || row.name == "ATEST";
            match name.starts_with("widen") && is_float {
                true => Select::Float16(*index),
                false => Select::Half { index: *index, signed },
            }
        }
        (b'h', [0, 1]) => Select::Whole,
        (b'h', [a, b]) => Select::Halves([*a, *b]),
        (b'b', [index]) => Select::Byte { index: *index, signed },
        (b'b', [a, b]) => Select::HalvesOfBytes { bytes: [*a, *b], signed },
        (b'b', [0, 1, 2, 3]) => Select::Whole,
        (b'b', [a, b, c, d]) => Select::Bytes([*a, *b, *c, *d]),
        _ => return None,
    })
}

impl Context<'_> {
    /// The row that a port reads.
    pub fn port(&mut self, unit: Unit, port: Port) -> Option<u16> {
        let registers = self.clause.tuples[self.tuple].registers;
        Some(match port {
            Port::Zero | Port::One | Port::Two => registers.register(port as u8).into(),
            Port::Stage if unit == Unit::Fma => uniforms::ZERO,
            Port::Stage => self.result(Unit::Fma, false).into(),
            Port::PassFma => self.result(Unit::Fma, true).into(),
            Port::PassAdd => self.result(Unit::Add, true).into(),
            Port::FauLow => self.fau(registers.fau(), false)?,
            Port::FauHigh => self.fau(registers.fau(), true)?,
        })
    }

    fn fau(&mut self, byte: u8, high: bool) -> Option<u16> {
        let word = u8::from(high);
        match Fau::of(byte) {
            Fau::Uniform(pair) => Some(uniforms::uniform(2 * pair + word)),
            Fau::Constant(index, low) => {
                if self.clause.modifier(index) != Some(Modifier::None) && high {
                    return None;
                }
                let value = self.clause.constants.get(index).copied().unwrap_or(0);
                let value = value | u64::from(low);
                self.constant((value >> (32 * u32::from(word))) as u32)
            }
            Fau::Special(0) => Some(uniforms::ZERO),
            Fau::Special(1) if !high => {
                let lanes = self.lanes;
                self.row(Row(std::array::from_fn(|lane| lane as u32 % lanes)))
            }
            Fau::Special(number) => {
                let special = match number {
                    2 => Special::WarpId,
                    3 => Special::CoreId,
                    4 => Special::FramebufferSize,
                    5 => Special::AtestDatum,
                    6 => Special::Sample,
                    8..16 => BLEND_DESCRIPTORS[usize::from(number - 8)],
                    _ => return None,
                };
                uniforms::special(special, word)
            }
        }
    }

    /// The row of a source, without its modifiers.
    pub fn plain(&mut self, inst: &Inst, index: usize) -> Option<Src> {
        let row = self.port(inst.op.row().unit, *inst.sources.get(index)?)?;
        Some(Src { row, ..Src::NONE })
    }

    /// Two sources as a value of 64 bits.
    pub fn wide(&mut self, inst: &Inst, low: usize, high: usize) -> Option<Src> {
        let (low, high) = (self.plain(inst, low)?.row, self.plain(inst, high)?.row);
        Some(Src { row: low, high, ..Src::NONE })
    }

    /// A source with its modifiers.
    pub fn source(&mut self, inst: &Inst, index: usize) -> Option<Src> {
        let mut source = self.plain(inst, index)?;
        let row = inst.op.row();
        for modifier in row.modifiers.iter().filter(|m| row.source_of(m) == Some(index)) {
            let value = inst.modifier(modifier.name)?;
            match value {
                "none" | "even" | "odd" => {}
                "abs" => source.clear = sign(inst),
                "neg" => source.flip ^= sign(inst),
                "not" => source.flip = u32::MAX,
                "sext" | "zext" => {}
                _ => source.select = select(inst, modifier.name, value)?,
            }
        }
        Some(source)
    }
}
