//! Sources and destinations of ALU instructions.

use super::raw::number;
use super::{Codec, Field, Pieces, Reject, Tokens, bits};
use crate::access::{Access, File, Role};
use crate::operand::{
    Dst, Hint, REGISTER_HALVES, Size, Src, SrcKind, UNIFORM_HALVES, minifloat_encode,
};
use crate::regname::{self, Named, RegKind};

pub(super) const PAST_END: &str = "the registers run past r127";
pub(super) const UNALIGNED: &str = "a 32-bit or 64-bit register begins in a high half";
const UNIFORM_PAST_END: &str = "the uniforms run past u255";

#[inline(always)]
pub(super) fn check_span(reg: u16, halves: u16) -> Result<(), &'static str> {
    if reg + halves > REGISTER_HALVES { Err(PAST_END) } else { Ok(()) }
}

/// Encoding of a destination: bits 7 to 14 and an extension.
///
/// source: applegpu.py, ALUDstDesc; agx_pack.c, agx_pack_alu_dst
#[derive(Clone, Copy, Debug)]
pub struct DstCodec {
    ext: u8,
    max: Size,
    /// The row fixes the size, and the size bit with it.
    fixed: Option<Size>,
    /// Two consecutive registers are written.
    pair: bool,
}

const CACHE_BIT: u8 = 7;
const SIZE_BIT: u8 = 8;

impl DstCodec {
    /// The bits owned.
    pub const fn pieces(&self) -> Pieces {
        let pieces = Pieces::NONE.and(9, 6, "").and(self.ext, 2, "x").and(CACHE_BIT, 1, "c");
        if self.fixed.is_some() { pieces } else { pieces.and(SIZE_BIT, 1, "t") }
    }

    #[inline(always)]
    fn count(&self) -> u16 {
        if self.pair { 2 } else { 1 }
    }
}

impl Codec for DstCodec {
    type Value = Dst;

    #[inline(always)]
    fn decode(&self, word: u128) -> Result<Dst, Reject> {
        let value = (bits(word, 9, 6) | bits(word, self.ext, 2) << 6) as u16;
        let size = match self.fixed {
            Some(size) => size,
            None if bits(word, SIZE_BIT, 1) == 0 => Size::B16,
            None if self.max == Size::B16 => {
                return Err(Reject::Reserved("a 16-bit instruction with a 32-bit destination"));
            }
            None if value & 1 == 0 => Size::B32,
            None if self.max == Size::B64 => Size::B64,
            None => return Err(Reject::Reserved(UNALIGNED)),
        };
        let reg = match size {
            Size::B64 => value & !1,
            Size::B32 if value & 1 != 0 => return Err(Reject::Reserved(UNALIGNED)),
            _ => value,
        };
        check_span(reg, size.halves() * self.count()).map_err(Reject::Reserved)?;
        Ok(Dst { reg, size, cache: bits(word, CACHE_BIT, 1) != 0 })
    }

    fn encode(&self, dst: Dst) -> Result<u128, &'static str> {
        if dst.size > self.max || self.fixed.is_some_and(|s| s != dst.size) {
            return Err("the destination has a width that this instruction cannot write");
        }
        if dst.size != Size::B16 && dst.reg & 1 != 0 {
            return Err(UNALIGNED);
        }
        check_span(dst.reg, dst.size.halves() * self.count())?;
        let value = u128::from(dst.reg | u16::from(dst.size == Size::B64));
        let wide = self.fixed.is_none() && dst.size != Size::B16;
        Ok((value & 63) << 9
            | (value >> 6) << self.ext
            | u128::from(dst.cache) << CACHE_BIT
            | u128::from(wide) << SIZE_BIT)
    }

    fn print(&self, dst: Dst, _: Option<u64>, out: &mut String) {
        regname::push_regs(out, dst.reg, dst.size, self.count());
        if dst.cache {
            out.push_str(".cache");
        }
    }

    fn parse(&self, tokens: &Tokens<'_>) -> Result<Dst, String> {
        let own = tokens.own()?;
        let named = Named::parse(own)?;
        let (reg, size) = named.regs(RegKind::Reg, self.count(), own)?;
        named.allow(&["cache"], own)?;
        Ok(Dst { reg, size, cache: named.has("cache") })
    }

    fn touch(&self, dst: Dst, report: &mut dyn FnMut(Access)) {
        let count = dst.size.halves() * self.count();
        report(Access::new(Role::Write, File::Reg, dst.reg, count));
    }

    fn writes(&self) -> bool {
        true
    }

    fn describe(&self) -> String {
        let what = match (self.fixed, self.max) {
            (Some(Size::B16), _) | (None, Size::B16) => "16-bit register",
            (Some(_), _) => "32-bit register",
            (None, Size::B32) => "16-bit or 32-bit register",
            (None, Size::B64) => "16-bit, 32-bit or 64-bit register",
        };
        if self.pair { format!("pair of {what}s") } else { what.into() }
    }
}

impl Field for Dst {
    type Codec = DstCodec;

    fn operand_mut(&mut self) -> Option<crate::operand::OperandMut<'_>> {
        Some(crate::operand::OperandMut::Dst(self))
    }
}

/// Modifiers a source can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mods {
    None,
    /// Sign extension flag at this bit.
    SignExtend(u8),
    /// `abs` at this bit, `neg` at the next.
    Float(u8),
}

/// The layout of a source's type bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// Four type bits: 16, 32 and perhaps 64 bits.
    Wide,
    /// Three type bits: 16 bits only.
    Half,
    /// Three type bits: as wide as the destination.
    Select,
}

/// Encoding of a source: six bits, type bits after them, a two-bit extension elsewhere.
///
/// source: applegpu.py, ALUSrcDesc, CmpselSrcDesc; agx_pack.c, agx_pack_alu_src
#[derive(Clone, Copy, Debug)]
pub struct SrcCodec {
    at: u8,
    ext: u8,
    layout: Layout,
    max: Size,
    mods: Mods,
    pair: bool,
}

const UNDEFINED_TYPE: &str = "the source's type bits are undefined";

impl SrcCodec {
    #[inline(always)]
    const fn type_bits(&self) -> u8 {
        match self.layout {
            Layout::Wide => 4,
            Layout::Half | Layout::Select => 3,
        }
    }

    /// The bits owned.
    pub const fn pieces(&self) -> Pieces {
        let pieces = Pieces::NONE.and(self.at, 6, "").and(self.ext, 2, "x").and(
            self.at + 6,
            self.type_bits(),
            "t",
        );
        match self.mods {
            Mods::None => pieces,
            Mods::SignExtend(at) => pieces.and(at, 1, "s"),
            Mods::Float(at) => pieces.and(at, 2, "m"),
        }
    }

    #[inline(always)]
    fn count(&self) -> u16 {
        if self.pair { 2 } else { 1 }
    }

    #[inline(always)]
    fn decode_kind(&self, word: u128) -> Result<(SrcKind, Size, Hint), &'static str> {
        let value = (bits(word, self.at, 6) | bits(word, self.ext, 2) << 6) as u16;
        let tag = bits(word, self.at + 6, self.type_bits());
        let hint = match tag & 3 {
            2 => Hint::Cache,
            3 => Hint::Discard,
            _ => Hint::None,
        };
        if self.layout == Layout::Select {
            let size = if bits(word, SIZE_BIT, 1) != 0 { Size::B32 } else { Size::B16 };
            return match tag {
                0b100 => Ok((SrcKind::Imm(value as u8), Size::B16, Hint::None)),
                1..=3 => Ok((SrcKind::Reg(value), size, hint)),
                6 | 7 => {
                    let reg = value | ((tag & 1) << 8) as u16;
                    Ok((SrcKind::Uniform(reg), size, Hint::None))
                }
                _ => Err(UNDEFINED_TYPE),
            };
        }
        if tag == 0 {
            return Ok((SrcKind::Imm(value as u8), Size::B16, Hint::None));
        }
        if tag >> 2 == 1 {
            let size = if tag & 2 != 0 { Size::B32 } else { Size::B16 };
            return Ok((SrcKind::Uniform(value | ((tag & 1) << 8) as u16), size, Hint::None));
        }
        if tag & 3 == 0 {
            return Err(UNDEFINED_TYPE);
        }
        let size = match tag >> 2 {
            0 => Size::B16,
            2 => Size::B32,
            _ => Size::B64,
        };
        Ok((SrcKind::Reg(value), size, hint))
    }

    #[inline(always)]
    fn check(&self, kind: SrcKind, size: Size) -> Result<(), &'static str> {
        let (reg, limit, past) = match kind {
            SrcKind::Imm(_) => return Ok(()),
            SrcKind::Reg(reg) => (reg, REGISTER_HALVES, PAST_END),
            SrcKind::Uniform(_) if size == Size::B64 => {
                return Err("a uniform source is 16 or 32 bits wide");
            }
            SrcKind::Uniform(reg) => (reg, UNIFORM_HALVES, UNIFORM_PAST_END),
        };
        if size > self.max {
            return Err("the source is wider than this instruction can read");
        }
        if size != Size::B16 && reg & 1 != 0 {
            return Err(UNALIGNED);
        }
        let count = if matches!(kind, SrcKind::Reg(_)) { self.count() } else { 1 };
        if reg + size.halves() * count > limit { Err(past) } else { Ok(()) }
    }

    fn is_float(&self) -> bool {
        matches!(self.mods, Mods::Float(_))
    }
}

impl Codec for SrcCodec {
    type Value = Src;

    #[inline(always)]
    fn decode(&self, word: u128) -> Result<Src, Reject> {
        let (kind, size, hint) = self.decode_kind(word).map_err(Reject::Reserved)?;
        self.check(kind, size).map_err(Reject::Reserved)?;
        let (mut abs, mut neg, mut sign_extend) = (false, false, false);
        match self.mods {
            Mods::None => {}
            Mods::SignExtend(at) => sign_extend = bits(word, at, 1) != 0,
            Mods::Float(at) => {
                abs = bits(word, at, 1) != 0;
                neg = bits(word, at + 1, 1) != 0;
            }
        }
        Ok(Src { kind, size, hint, abs, neg, sign_extend })
    }

    fn encode(&self, src: Src) -> Result<u128, &'static str> {
        self.check(src.kind, src.size)?;
        let hint = match src.hint {
            Hint::None => 1,
            Hint::Cache => 2,
            Hint::Discard => 3,
        };
        let select = self.layout == Layout::Select;
        let (value, tag) = match src.kind {
            SrcKind::Imm(value) => (u16::from(value), if select { 4 } else { 0 }),
            SrcKind::Uniform(reg) => {
                let wide = if select || src.size == Size::B32 { 2 } else { 0 };
                (reg & 0xff, 4 | wide | reg >> 8)
            }
            SrcKind::Reg(reg) if select => (reg, hint),
            SrcKind::Reg(reg) => {
                let size = match src.size {
                    Size::B16 => 0,
                    Size::B32 => 8,
                    Size::B64 => 12,
                };
                (reg, size | hint)
            }
        };
        if (src.abs || src.neg) && !self.is_float() {
            return Err("the source takes no `abs` or `neg`");
        }
        if src.sign_extend && !matches!(self.mods, Mods::SignExtend(_)) {
            return Err("the source takes no `sx`");
        }
        let mods = match self.mods {
            Mods::None => 0,
            Mods::SignExtend(at) => u128::from(src.sign_extend) << at,
            Mods::Float(at) => u128::from(src.abs) << at | u128::from(src.neg) << (at + 1),
        };
        Ok(u128::from(value & 63) << self.at
            | u128::from(value >> 6) << self.ext
            | u128::from(tag) << (self.at + 6)
            | mods)
    }

    fn print(&self, src: Src, _: Option<u64>, out: &mut String) {
        match src.kind {
            SrcKind::Imm(value) if self.is_float() => {
                out.push_str(&format!("{:?}", crate::operand::minifloat_decode(value)));
            }
            SrcKind::Imm(value) => out.push_str(&value.to_string()),
            SrcKind::Reg(reg) => regname::push_regs(out, reg, src.size, self.count()),
            SrcKind::Uniform(reg) => regname::push_uniform(out, reg, src.size),
        }
        match src.hint {
            Hint::None => {}
            Hint::Cache => out.push_str(".cache"),
            Hint::Discard => out.push_str(".discard"),
        }
        for (set, name) in [(src.abs, ".abs"), (src.neg, ".neg")] {
            if set {
                out.push_str(name);
            }
        }
        if src.sign_extend && !matches!(src.kind, SrcKind::Imm(_)) {
            out.push_str(".sx");
        }
    }

    fn note(&self, src: Src) -> Option<u64> {
        // Sign extension has no effect on an immediate; the text does not show it.
        (src.sign_extend && matches!(src.kind, SrcKind::Imm(_))).then_some(1)
    }

    fn parse(&self, tokens: &Tokens<'_>) -> Result<Src, String> {
        let own = tokens.own()?;
        let allowed: &[&str] = match self.mods {
            Mods::None => &["cache", "discard"],
            Mods::SignExtend(_) => &["cache", "discard", "sx"],
            Mods::Float(_) => &["cache", "discard", "abs", "neg"],
        };
        let mut src = if self.is_float() && regname::is_number(own) {
            let (digits, flags) = regname::split_float(own);
            let value: f32 = digits.parse().map_err(|_| format!("`{own}` is not a number"))?;
            let bits = minifloat_encode(value).ok_or_else(|| {
                format!("`{digits}` is not an 8-bit float; use `mov_imm` and a register")
            })?;
            let mut src = Src::imm(bits);
            for flag in flags {
                match flag {
                    "abs" => src.abs = true,
                    "neg" => src.neg = true,
                    _ => return Err(format!("`.{flag}` is not a modifier of an immediate")),
                }
            }
            src
        } else if let Some(value) = number(own) {
            let value = u8::try_from(value)
                .map_err(|_| format!("immediate `{own}` is not between 0 and 255"))?;
            Src::imm(value)
        } else {
            let named = Named::parse(own)?;
            named.allow(allowed, own)?;
            let mut src = if named.kind == RegKind::Uniform {
                let (reg, size) = named.regs(RegKind::Uniform, 1, own)?;
                Src::uniform(reg, size)
            } else {
                let (reg, size) = named.regs(RegKind::Reg, self.count(), own)?;
                Src::reg(reg, size)
            };
            src.hint = match (named.has("cache"), named.has("discard")) {
                (true, true) => return Err(format!("`{own}` is both cached and discarded")),
                (true, false) => Hint::Cache,
                (false, true) => Hint::Discard,
                (false, false) => Hint::None,
            };
            if src.hint != Hint::None && matches!(src.kind, SrcKind::Uniform(_)) {
                return Err(format!("`{own}`: a uniform takes no cache hint"));
            }
            src.abs = named.has("abs");
            src.neg = named.has("neg");
            src.sign_extend = named.has("sx");
            src
        };
        if tokens.note.is_some() && matches!(src.kind, SrcKind::Imm(_)) {
            src.sign_extend = true;
        }
        Ok(src)
    }

    fn touch(&self, src: Src, report: &mut dyn FnMut(Access)) {
        let (file, reg, count) = match src.kind {
            SrcKind::Imm(_) => return,
            SrcKind::Reg(reg) => (File::Reg, reg, self.count()),
            SrcKind::Uniform(reg) => (File::Uniform, reg, 1),
        };
        report(Access::new(Role::Read, file, reg, src.size.halves() * count));
    }

    fn describe(&self) -> String {
        let widths = match (self.layout, self.max) {
            (Layout::Select, _) => "register or uniform as wide as the destination",
            (_, Size::B16) => "16-bit register or uniform",
            (_, Size::B32) => "16-bit or 32-bit register or uniform",
            (_, Size::B64) => "16-bit, 32-bit or 64-bit register, 16-bit or 32-bit uniform",
        };
        let pair = if self.pair { " (registers in pairs)" } else { "" };
        let (imm, mods) = match self.mods {
            Mods::None => ("8-bit immediate", ""),
            Mods::SignExtend(_) => ("8-bit immediate", "; `.sx` sign-extends"),
            Mods::Float(_) => ("8-bit float immediate", "; `.abs`, `.neg`"),
        };
        format!("{widths}{pair}, or {imm}{mods}")
    }
}

impl Field for Src {
    type Codec = SrcCodec;

    fn operand_mut(&mut self) -> Option<crate::operand::OperandMut<'_>> {
        Some(crate::operand::OperandMut::Src(self))
    }
}

/// Constructors.
pub mod ctor {
    use super::*;

    const fn dst_codec(ext: u8, max: Size, fixed: Option<Size>, pair: bool) -> DstCodec {
        DstCodec { ext, max, fixed, pair }
    }

    /// A 16-bit or 32-bit destination, extension at bit `ext`.
    pub const fn dst(ext: u8) -> DstCodec {
        dst_codec(ext, Size::B32, None, false)
    }
    /// A 16-bit destination.
    pub const fn dst16(ext: u8) -> DstCodec {
        dst_codec(ext, Size::B16, None, false)
    }
    /// A 16-bit, 32-bit or 64-bit destination.
    pub const fn dst64(ext: u8) -> DstCodec {
        dst_codec(ext, Size::B64, None, false)
    }
    /// A destination whose size bit belongs to the opcode.
    pub const fn dst_only(ext: u8, size: Size) -> DstCodec {
        dst_codec(ext, size, Some(size), false)
    }
    /// A pair of 16-bit or 32-bit destinations.
    pub const fn dst_pair(ext: u8) -> DstCodec {
        dst_codec(ext, Size::B32, None, true)
    }

    const fn src_codec(at: u8, ext: u8, max: Size, mods: Mods) -> SrcCodec {
        SrcCodec { at, ext, layout: Layout::Wide, max, mods, pair: false }
    }

    /// A zero-extended 16-bit or 32-bit source at bit `at`, extension at bit `ext`.
    pub const fn src(at: u8, ext: u8) -> SrcCodec {
        src_codec(at, ext, Size::B32, Mods::None)
    }
    /// A 16-bit source with four type bits.
    pub const fn src16(at: u8, ext: u8) -> SrcCodec {
        src_codec(at, ext, Size::B16, Mods::None)
    }
    /// A zero-extended source up to 64 bits.
    pub const fn src64(at: u8, ext: u8) -> SrcCodec {
        src_codec(at, ext, Size::B64, Mods::None)
    }
    /// A sign-extendable source up to 32 bits.
    pub const fn mul_src(at: u8, ext: u8) -> SrcCodec {
        src_codec(at, ext, Size::B32, Mods::SignExtend(at + 10))
    }
    /// A sign-extendable source up to 64 bits.
    pub const fn add_src(at: u8, ext: u8) -> SrcCodec {
        src_codec(at, ext, Size::B64, Mods::SignExtend(at + 10))
    }
    /// A float source.
    pub const fn float_src(at: u8, ext: u8) -> SrcCodec {
        src_codec(at, ext, Size::B32, Mods::Float(at + 10))
    }
    /// A float source in pairs of registers, modifiers at bit `mods`.
    pub const fn float_pair(at: u8, ext: u8, mods: u8) -> SrcCodec {
        let mut codec = src_codec(at, ext, Size::B32, Mods::Float(mods));
        codec.pair = true;
        codec
    }
    /// A 16-bit float source with three type bits.
    pub const fn half_src(at: u8, ext: u8) -> SrcCodec {
        SrcCodec {
            at,
            ext,
            layout: Layout::Half,
            max: Size::B16,
            mods: Mods::Float(at + 9),
            pair: false,
        }
    }
    /// A source of a compare-and-select, as wide as the destination.
    pub const fn select_src(at: u8, ext: u8) -> SrcCodec {
        SrcCodec { at, ext, layout: Layout::Select, max: Size::B32, mods: Mods::None, pair: false }
    }
}
