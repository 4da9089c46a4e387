//! Base and index of threadgroup memory instructions.

use super::alu::check_span;
use super::memory::{parse_imm16, parse_reg};
use super::{Codec, Field, Pieces, Reject, Tokens, bits};
use crate::access::{Access, File, Role};
use crate::operand::{LocalBase, LocalIndex, Size};
use crate::regname::{self, Named, RegKind};

/// The index of a threadgroup memory access.
#[derive(Clone, Copy, Debug)]
pub struct LocalIndexCodec;

impl LocalIndexCodec {
    /// The bits owned.
    pub const fn pieces(&self) -> Pieces {
        Pieces::NONE.and(28, 6, "").and(48, 10, "x").and(34, 1, "t")
    }
}

impl Codec for LocalIndexCodec {
    type Value = LocalIndex;

    #[inline(always)]
    fn decode(&self, word: u128) -> Result<LocalIndex, Reject> {
        let value = (bits(word, 28, 6) | bits(word, 48, 10) << 6) as u16;
        if bits(word, 34, 1) != 0 {
            return Ok(LocalIndex::Imm(value as i16));
        }
        check_span(value.min(0x4000), 1).map_err(Reject::Reserved)?;
        Ok(LocalIndex::Reg(value))
    }

    fn encode(&self, index: LocalIndex) -> Result<u128, &'static str> {
        let (value, imm) = match index {
            LocalIndex::Imm(imm) => (imm as u16, true),
            LocalIndex::Reg(reg) => {
                check_span(reg, 1)?;
                (reg, false)
            }
        };
        let value = u128::from(value);
        Ok((value & 63) << 28 | (value >> 6) << 48 | u128::from(imm) << 34)
    }

    fn print(&self, index: LocalIndex, _: Option<u64>, out: &mut String) {
        match index {
            LocalIndex::Imm(imm) => out.push_str(&imm.to_string()),
            LocalIndex::Reg(reg) => regname::push_regs(out, reg, Size::B16, 1),
        }
    }

    fn parse(&self, tokens: &Tokens<'_>) -> Result<LocalIndex, String> {
        let own = tokens.own()?;
        if regname::is_number(own) {
            return parse_imm16(own).map(LocalIndex::Imm);
        }
        parse_reg(own, Size::B16).map(LocalIndex::Reg)
    }

    fn touch(&self, index: LocalIndex, report: &mut dyn FnMut(Access)) {
        if let LocalIndex::Reg(reg) = index {
            report(Access::new(Role::Read, File::Reg, reg, 1));
        }
    }

    fn describe(&self) -> String {
        "16-bit register or signed 16-bit immediate".into()
    }
}

impl Field for LocalIndex {
    type Codec = LocalIndexCodec;

    fn operand_mut(&mut self) -> Option<crate::operand::OperandMut<'_>> {
        Some(crate::operand::OperandMut::LocalIndex(self))
    }
}

/// The base of a threadgroup memory access.
#[derive(Clone, Copy, Debug)]
pub struct LocalBaseCodec;

impl LocalBaseCodec {
    /// The bits owned.
    pub const fn pieces(&self) -> Pieces {
        Pieces::NONE.and(16, 6, "").and(58, 2, "x").and(22, 2, "t")
    }
}

impl Codec for LocalBaseCodec {
    type Value = LocalBase;

    #[inline(always)]
    fn decode(&self, word: u128) -> Result<LocalBase, Reject> {
        let value = (bits(word, 16, 6) | bits(word, 58, 2) << 6) as u16;
        Ok(match bits(word, 22, 2) {
            0 => LocalBase::Reg(value),
            2 => LocalBase::Zero(value as u8),
            tag => LocalBase::Uniform(value | ((tag >> 1) as u16) << 8),
        })
    }

    fn encode(&self, base: LocalBase) -> Result<u128, &'static str> {
        let (value, tag) = match base {
            LocalBase::Reg(reg) => {
                check_span(reg, 1)?;
                (reg, 0)
            }
            LocalBase::Zero(value) => (u16::from(value), 2),
            LocalBase::Uniform(reg) if reg >= 512 => return Err("the uniforms end at u255"),
            LocalBase::Uniform(reg) => (reg & 0xff, 1 | (reg >> 8) << 1),
        };
        let value = u128::from(value);
        Ok((value & 63) << 16 | (value >> 6) << 58 | u128::from(tag) << 22)
    }

    fn print(&self, base: LocalBase, _: Option<u64>, out: &mut String) {
        match base {
            LocalBase::Reg(reg) => regname::push_regs(out, reg, Size::B16, 1),
            LocalBase::Uniform(reg) => regname::push_uniform(out, reg, Size::B16),
            LocalBase::Zero(_) => out.push('0'),
        }
    }

    fn note(&self, base: LocalBase) -> Option<u64> {
        match base {
            LocalBase::Zero(value) if value != 0 => Some(u64::from(value)),
            _ => None,
        }
    }

    fn parse(&self, tokens: &Tokens<'_>) -> Result<LocalBase, String> {
        let own = tokens.own()?;
        if own == "0" {
            return Ok(LocalBase::Zero(tokens.note.unwrap_or(0) as u8));
        }
        let named = Named::parse(own)?;
        named.allow(&[], own)?;
        let kind = named.kind;
        match (kind, named.regs(kind, 1, own)?) {
            (RegKind::Reg, (reg, Size::B16)) => Ok(LocalBase::Reg(reg)),
            (RegKind::Uniform, (reg, Size::B16)) => Ok(LocalBase::Uniform(reg)),
            _ => Err(format!("`{own}` is not a 16-bit register, a 16-bit uniform or 0")),
        }
    }

    fn touch(&self, base: LocalBase, report: &mut dyn FnMut(Access)) {
        match base {
            LocalBase::Reg(reg) => report(Access::new(Role::Read, File::Reg, reg, 1)),
            LocalBase::Uniform(reg) => report(Access::new(Role::Read, File::Uniform, reg, 1)),
            LocalBase::Zero(_) => {}
        }
    }

    fn describe(&self) -> String {
        "16-bit register, 16-bit uniform or 0".into()
    }
}

impl Field for LocalBase {
    type Codec = LocalBaseCodec;

    fn operand_mut(&mut self) -> Option<crate::operand::OperandMut<'_>> {
        Some(crate::operand::OperandMut::LocalBase(self))
    }
}

/// Constructors.
pub mod ctor {
    use super::*;

    /// The index of threadgroup memory accesses.
    pub const fn local_index() -> LocalIndexCodec {
        LocalIndexCodec
    }
    /// The base of threadgroup memory accesses.
    pub const fn local_base() -> LocalBaseCodec {
        LocalBaseCodec
    }
}
