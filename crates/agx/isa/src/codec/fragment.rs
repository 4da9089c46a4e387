//! Operands of tile memory and varying instructions: masks, coefficient registers, sample indices.

use super::alu::check_span;
use super::memory::parse_reg;
use super::raw::number;
use super::{Codec, Field, Pieces, Reject, Tokens, bits};
use crate::access::{Access, File, Role};
use crate::operand::{Coef, RegOrImm, SampleIndex, Size};
use crate::regname::{self, Named, RegKind};

/// A 16-bit register or an immediate.
#[derive(Clone, Copy, Debug)]
pub struct RegOrImmCodec {
    at: u8,
    ext: u8,
    tag: u8,
    /// The value of the tag bit that stands for an immediate.
    imm: u32,
}

impl RegOrImmCodec {
    /// The bits owned.
    pub const fn pieces(&self) -> Pieces {
        Pieces::NONE.and(self.at, 6, "").and(self.ext, 2, "x").and(self.tag, 1, "t")
    }
}

impl Codec for RegOrImmCodec {
    type Value = RegOrImm;

    #[inline(always)]
    fn decode(&self, word: u128) -> Result<RegOrImm, Reject> {
        let value = bits(word, self.at, 6) | bits(word, self.ext, 2) << 6;
        Ok(if bits(word, self.tag, 1) == self.imm {
            RegOrImm::Imm(value as u8)
        } else {
            RegOrImm::Reg(value as u16)
        })
    }

    fn encode(&self, value: RegOrImm) -> Result<u128, &'static str> {
        let (value, tag) = match value {
            RegOrImm::Imm(imm) => (u16::from(imm), self.imm),
            RegOrImm::Reg(reg) => {
                check_span(reg, 1)?;
                (reg, 1 - self.imm)
            }
        };
        Ok(u128::from(value & 63) << self.at
            | u128::from(value >> 6) << self.ext
            | u128::from(tag) << self.tag)
    }

    fn print(&self, value: RegOrImm, _: Option<u64>, out: &mut String) {
        match value {
            RegOrImm::Imm(imm) => out.push_str(&imm.to_string()),
            RegOrImm::Reg(reg) => regname::push_regs(out, reg, Size::B16, 1),
        }
    }

    fn parse(&self, tokens: &Tokens<'_>) -> Result<RegOrImm, String> {
        let own = tokens.own()?;
        if regname::is_number(own) {
            return number(own)
                .and_then(|v| u8::try_from(v).ok())
                .map(RegOrImm::Imm)
                .ok_or_else(|| format!("immediate `{own}` is not between 0 and 255"));
        }
        parse_reg(own, Size::B16).map(RegOrImm::Reg)
    }

    fn touch(&self, value: RegOrImm, report: &mut dyn FnMut(Access)) {
        if let RegOrImm::Reg(reg) = value {
            report(Access::new(Role::Read, File::Reg, reg, 1));
        }
    }

    fn describe(&self) -> String {
        "16-bit register or 8-bit immediate".into()
    }
}

impl Field for RegOrImm {
    type Codec = RegOrImmCodec;

    fn operand_mut(&mut self) -> Option<crate::operand::OperandMut<'_>> {
        Some(crate::operand::OperandMut::RegOrImm(self))
    }
}

/// A coefficient register.
#[derive(Clone, Copy, Debug)]
pub struct CoefCodec {
    at: u8,
    ext: u8,
    /// The bit that says that the number is in a register, if there is one.
    indirect: Option<u8>,
}

impl CoefCodec {
    /// The bits owned.
    pub const fn pieces(&self) -> Pieces {
        let pieces = Pieces::NONE.and(self.at, 6, "").and(self.ext, 2, "x");
        match self.indirect {
            Some(at) => pieces.and(at, 1, "t"),
            None => pieces,
        }
    }
}

impl Codec for CoefCodec {
    type Value = Coef;

    #[inline(always)]
    fn decode(&self, word: u128) -> Result<Coef, Reject> {
        let value = bits(word, self.at, 6) | bits(word, self.ext, 2) << 6;
        Ok(match self.indirect {
            Some(at) if bits(word, at, 1) != 0 => Coef::Reg(value as u16),
            _ => Coef::Cf(value as u8),
        })
    }

    fn encode(&self, value: Coef) -> Result<u128, &'static str> {
        let (value, tag) = match (value, self.indirect) {
            (Coef::Cf(cf), _) => (u16::from(cf), 0),
            (Coef::Reg(reg), Some(at)) => {
                check_span(reg, 1)?;
                (reg, 1u128 << at)
            }
            (Coef::Reg(_), None) => return Err("the coefficient register cannot be indirect"),
        };
        Ok(u128::from(value & 63) << self.at | u128::from(value >> 6) << self.ext | tag)
    }

    fn print(&self, value: Coef, _: Option<u64>, out: &mut String) {
        match value {
            Coef::Cf(cf) => out.push_str(&format!("cf{cf}")),
            Coef::Reg(reg) => regname::push_regs(out, reg, Size::B16, 1),
        }
    }

    fn parse(&self, tokens: &Tokens<'_>) -> Result<Coef, String> {
        let own = tokens.own()?;
        let named = Named::parse(own)?;
        named.allow(&[], own)?;
        if named.kind == RegKind::Coefficient {
            return Ok(Coef::Cf(named.regs(RegKind::Coefficient, 1, own)?.0 as u8));
        }
        parse_reg(own, Size::B16).map(Coef::Reg)
    }

    fn touch(&self, value: Coef, report: &mut dyn FnMut(Access)) {
        match value {
            Coef::Cf(cf) => {
                report(Access::new(Role::Read, File::Coefficient, u16::from(cf), 1));
            }
            Coef::Reg(reg) => {
                report(Access::new(Role::Read, File::Reg, reg, 1));
                report(Access {
                    exact: false,
                    ..Access::new(Role::Read, File::Coefficient, 0, 256)
                });
            }
        }
    }

    fn describe(&self) -> String {
        match self.indirect {
            Some(_) => "coefficient register, or 16-bit register that holds its number".into(),
            None => "coefficient register".into(),
        }
    }
}

impl Field for Coef {
    type Codec = CoefCodec;

    fn operand_mut(&mut self) -> Option<crate::operand::OperandMut<'_>> {
        Some(crate::operand::OperandMut::Coef(self))
    }
}

/// The sample index of an interpolation, in bits 32 to 39; its kind is in bits 48 and 49.
#[derive(Clone, Copy, Debug)]
pub struct SampleIndexCodec;

impl SampleIndexCodec {
    /// The bits owned.
    pub const fn pieces(&self) -> Pieces {
        Pieces::NONE.and(32, 8, "")
    }
}

impl Codec for SampleIndexCodec {
    type Value = SampleIndex;

    #[inline(always)]
    fn decode(&self, word: u128) -> Result<SampleIndex, Reject> {
        let value = bits(word, 32, 8);
        match bits(word, 48, 2) {
            1 => Ok(SampleIndex::Imm(value as u8)),
            3 => Ok(SampleIndex::Reg(value as u16)),
            _ if value != 0 => Err(Reject::Reserved("a sample index without sample mode")),
            _ => Ok(SampleIndex::None),
        }
    }

    fn encode(&self, value: SampleIndex) -> Result<u128, &'static str> {
        Ok(match value {
            SampleIndex::None => 0,
            SampleIndex::Imm(imm) => u128::from(imm) << 32,
            SampleIndex::Reg(reg) => {
                check_span(reg, 1)?;
                u128::from(reg) << 32
            }
        })
    }

    fn print(&self, value: SampleIndex, _: Option<u64>, out: &mut String) {
        match value {
            SampleIndex::None => {}
            SampleIndex::Imm(imm) => out.push_str(&imm.to_string()),
            SampleIndex::Reg(reg) => regname::push_regs(out, reg, Size::B16, 1),
        }
    }

    fn absent(&self, next: Option<&str>, _: Option<u64>) -> bool {
        next.is_none_or(|t| number(t).is_none() && Named::parse(t).is_err())
    }

    fn parse(&self, tokens: &Tokens<'_>) -> Result<SampleIndex, String> {
        let Some(own) = tokens.rest.first() else { return Ok(SampleIndex::None) };
        if let Some(value) = number(own) {
            return u8::try_from(value)
                .map(SampleIndex::Imm)
                .map_err(|_| format!("sample index `{own}` is not between 0 and 255"));
        }
        let named = Named::parse(own)?;
        named.allow(&[], own)?;
        match named.regs(RegKind::Reg, 1, own)? {
            (reg, Size::B16) => Ok(SampleIndex::Reg(reg)),
            _ => Err(format!("`{own}` is not a 16-bit register")),
        }
    }

    fn touch(&self, value: SampleIndex, report: &mut dyn FnMut(Access)) {
        if let SampleIndex::Reg(reg) = value {
            report(Access::new(Role::Read, File::Reg, reg, 1));
        }
    }

    fn describe(&self) -> String {
        "sample index: 16-bit register or immediate; left out unless interpolating at a sample"
            .into()
    }
}

impl Field for SampleIndex {
    type Codec = SampleIndexCodec;

    fn operand_mut(&mut self) -> Option<crate::operand::OperandMut<'_>> {
        Some(crate::operand::OperandMut::SampleIndex(self))
    }
}

/// Constructors.
pub mod ctor {
    use super::*;

    /// A 16-bit register, or an immediate if bit `tag` is set.
    pub const fn imm_if(at: u8, ext: u8, tag: u8) -> RegOrImmCodec {
        RegOrImmCodec { at, ext, tag, imm: 1 }
    }
    /// An immediate, or a 16-bit register if bit `tag` is set.
    pub const fn reg_if(at: u8, ext: u8, tag: u8) -> RegOrImmCodec {
        RegOrImmCodec { at, ext, tag, imm: 0 }
    }
    /// A coefficient register.
    pub const fn coef(at: u8, ext: u8) -> CoefCodec {
        CoefCodec { at, ext, indirect: None }
    }
    /// A coefficient register, indirect if bit `tag` is set.
    pub const fn coef_or_reg(at: u8, ext: u8, tag: u8) -> CoefCodec {
        CoefCodec { at, ext, indirect: Some(tag) }
    }
    /// The sample index.
    pub const fn sample_index() -> SampleIndexCodec {
        SampleIndexCodec
    }
}
