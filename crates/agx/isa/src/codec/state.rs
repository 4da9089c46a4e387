//! Special registers, state registers, 64-bit uniforms.

use super::alu::{UNALIGNED, check_span};
use super::memory::parse_reg;
use super::raw::number;
use super::{Codec, Field, Pieces, Reject, Tokens, bits};
use crate::access::{Access, File, Role};
use crate::operand::{SamplerState, Size, SpecialReg, StateOffset, TextureState, Uniform64};
use crate::regname::{self, Named, RegKind};

/// A special register, in bits 16 to 21 with an extension at 26.
#[derive(Clone, Copy, Debug)]
pub struct SpecialRegCodec;

impl SpecialRegCodec {
    /// The bits owned.
    pub const fn pieces(&self) -> Pieces {
        Pieces::NONE.and(16, 6, "").and(26, 2, "x")
    }
}

impl Codec for SpecialRegCodec {
    type Value = SpecialReg;

    #[inline(always)]
    fn decode(&self, word: u128) -> Result<SpecialReg, Reject> {
        Ok(SpecialReg((bits(word, 16, 6) | bits(word, 26, 2) << 6) as u8))
    }

    fn encode(&self, value: SpecialReg) -> Result<u128, &'static str> {
        Ok(u128::from(value.0 & 63) << 16 | u128::from(value.0 >> 6) << 26)
    }

    fn print(&self, value: SpecialReg, _: Option<u64>, out: &mut String) {
        out.push_str(&value.to_string());
    }

    fn parse(&self, tokens: &Tokens<'_>) -> Result<SpecialReg, String> {
        let own = tokens.own()?;
        let short = own.split(" (").next().unwrap_or(own).trim();
        short
            .strip_prefix("sr")
            .and_then(|n| n.parse().ok())
            .map(SpecialReg)
            .or_else(|| SpecialReg::named().find(|(_, name)| *name == own).map(|(sr, _)| sr))
            .ok_or_else(|| format!("`{own}` is not a special register (`sr0` to `sr255`)"))
    }

    fn describe(&self) -> String {
        "special register".into()
    }
}

impl Field for SpecialReg {
    type Codec = SpecialRegCodec;
}

/// The offset of a descriptor in memory. Bit 58 tells an immediate of 16 bits from a register,
/// whose number has the same place.
#[derive(Clone, Copy, Debug)]
pub struct StateOffsetCodec;

impl StateOffsetCodec {
    /// The bits owned.
    pub const fn pieces(&self) -> Pieces {
        Pieces::NONE.and(26, 16, "").and(58, 1, "t")
    }
}

impl Codec for StateOffsetCodec {
    type Value = StateOffset;

    #[inline(always)]
    fn decode(&self, word: u128) -> Result<StateOffset, Reject> {
        let value = bits(word, 26, 16) as u16;
        if bits(word, 58, 1) != 0 {
            return Ok(StateOffset::Imm(value));
        }
        if value & 1 != 0 {
            return Err(Reject::Reserved(UNALIGNED));
        }
        check_span(value.min(0x4000), 2).map_err(Reject::Reserved)?;
        Ok(StateOffset::Reg(value))
    }

    fn encode(&self, offset: StateOffset) -> Result<u128, &'static str> {
        match offset {
            StateOffset::Imm(value) => Ok(u128::from(value) << 26 | 1 << 58),
            StateOffset::Reg(reg) if reg & 1 != 0 => Err(UNALIGNED),
            StateOffset::Reg(reg) => {
                check_span(reg, 2)?;
                Ok(u128::from(reg) << 26)
            }
        }
    }

    fn print(&self, offset: StateOffset, _: Option<u64>, out: &mut String) {
        match offset {
            StateOffset::Imm(value) => out.push_str(&value.to_string()),
            StateOffset::Reg(reg) => regname::push_regs(out, reg, Size::B32, 1),
        }
    }

    fn parse(&self, tokens: &Tokens<'_>) -> Result<StateOffset, String> {
        let own = tokens.own()?;
        if regname::is_number(own) {
            return number(own)
                .and_then(|v| u16::try_from(v).ok())
                .map(StateOffset::Imm)
                .ok_or_else(|| format!("offset `{own}` is not between 0 and 65535"));
        }
        parse_reg(own, Size::B32).map(StateOffset::Reg)
    }

    fn touch(&self, offset: StateOffset, report: &mut dyn FnMut(Access)) {
        if let StateOffset::Reg(reg) = offset {
            report(Access::new(Role::Read, File::Reg, reg, 2));
        }
    }

    fn describe(&self) -> String {
        "32-bit register or 16-bit immediate, in bytes".into()
    }
}

impl Field for StateOffset {
    type Codec = StateOffsetCodec;

    fn operand_mut(&mut self) -> Option<crate::operand::OperandMut<'_>> {
        Some(crate::operand::OperandMut::StateOffset(self))
    }
}

/// Numbered state registers and 64-bit uniforms in one run of bits.
#[derive(Clone, Copy, Debug)]
pub struct NumberedCodec<T> {
    of: core::marker::PhantomData<T>,
    at: u8,
    len: u8,
}

impl<T> NumberedCodec<T> {
    /// The bits owned.
    pub const fn pieces(&self) -> Pieces {
        Pieces::NONE.and(self.at, self.len, "")
    }

    fn place(&self, value: u16) -> Result<u128, &'static str> {
        if value >> self.len != 0 {
            return Err("the register number has more bits than the field");
        }
        Ok(u128::from(value) << self.at)
    }
}

impl Codec for NumberedCodec<Uniform64> {
    type Value = Uniform64;

    #[inline(always)]
    fn decode(&self, word: u128) -> Result<Uniform64, Reject> {
        Ok(Uniform64(bits(word, self.at, self.len) as u16 * 4))
    }

    fn encode(&self, value: Uniform64) -> Result<u128, &'static str> {
        if value.0 & 3 != 0 { Err(UNALIGNED) } else { self.place(value.0 / 4) }
    }

    fn print(&self, value: Uniform64, _: Option<u64>, out: &mut String) {
        regname::push_uniform(out, value.0, Size::B64);
    }

    fn parse(&self, tokens: &Tokens<'_>) -> Result<Uniform64, String> {
        let own = tokens.own()?;
        let named = Named::parse(own)?;
        named.allow(&[], own)?;
        match named.regs(RegKind::Uniform, 1, own)? {
            (reg, Size::B64) => Ok(Uniform64(reg)),
            _ => Err(format!("`{own}` is not a 64-bit uniform")),
        }
    }

    fn touch(&self, value: Uniform64, report: &mut dyn FnMut(Access)) {
        report(Access::new(Role::Read, File::Uniform, value.0, 4));
    }

    fn describe(&self) -> String {
        "64-bit uniform".into()
    }
}

impl Field for Uniform64 {
    type Codec = NumberedCodec<Uniform64>;
}

macro_rules! state_codec {
    ($Name:ident, $prefix:literal, $kind:ident) => {
        impl Codec for NumberedCodec<$Name> {
            type Value = $Name;

            #[inline(always)]
            fn decode(&self, word: u128) -> Result<$Name, Reject> {
                Ok($Name(bits(word, self.at, self.len) as u8))
            }

            fn encode(&self, value: $Name) -> Result<u128, &'static str> {
                self.place(u16::from(value.0))
            }

            fn print(&self, value: $Name, _: Option<u64>, out: &mut String) {
                out.push_str(&format!(concat!($prefix, "{}"), value.0));
            }

            fn parse(&self, tokens: &Tokens<'_>) -> Result<$Name, String> {
                let own = tokens.own()?;
                let named = Named::parse(own)?;
                named.allow(&[], own)?;
                let (first, _) = named.regs(RegKind::$kind, 1, own)?;
                Ok($Name(first as u8))
            }

            fn touch(&self, value: $Name, report: &mut dyn FnMut(Access)) {
                report(Access::new(Role::Write, File::$kind, u16::from(value.0), 1));
            }

            fn describe(&self) -> String {
                concat!("state register `", $prefix, "N`").into()
            }
        }

        impl Field for $Name {
            type Codec = NumberedCodec<$Name>;
        }
    };
}
state_codec!(TextureState, "ts", TextureState);
state_codec!(SamplerState, "ss", SamplerState);

/// Constructors.
pub mod ctor {
    use super::*;
    use core::marker::PhantomData;

    /// A special register.
    pub const fn special() -> SpecialRegCodec {
        SpecialRegCodec
    }
    /// The offset of a descriptor.
    pub const fn state_offset() -> StateOffsetCodec {
        StateOffsetCodec
    }
    /// A state register or 64-bit uniform by number.
    pub const fn numbered<T>(at: u8, len: u8) -> NumberedCodec<T> {
        NumberedCodec { of: PhantomData, at, len }
    }
}
