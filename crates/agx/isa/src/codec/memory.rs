//! Operands of memory, tile and varying instructions.

use super::alu::{UNALIGNED, check_span};
use super::raw::number;
use super::{Codec, Field, Pieces, Reject, Tokens, bits};
use crate::access::{Access, File, Role};
use crate::operand::{
    Base64, Coef, CopyDescriptor, Index, LocalBase, LocalIndex, RegOrImm, RegVec, SamplerState,
    Size, SpecialReg, TextureState, Uniform64,
};
use crate::regname::{self, Named, RegKind};

/// Whether registers are read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dir {
    /// Read.
    In,
    /// Written.
    Out,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wide {
    /// 32 bits if this bit is set.
    Bit(u8),
    Always,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Count {
    Fixed(u8),
    /// As many as bits are set in the four bits from here (which belong to another operand).
    Mask(u8),
    /// The two bits from here (0 stands for 4) times a factor.
    Field(u8, u8),
    /// One if this bit is set, else none; and whether the bit is also the width.
    Enabled(u8),
    /// Two if the four bits from the first place (of another operand) have the second value.
    PairIf(u8, u32),
    /// Depth (two halves) if the bit is set, stencil (one half) if the next is.
    DepthStencil(u8),
}

/// Consecutive registers.
///
/// source: applegpu.py, MemoryRegDesc and its kin; agx_pack.c, agx_pack_memory_reg
#[derive(Clone, Copy, Debug)]
pub struct RegVecCodec {
    low: (u8, u8),
    high: (u8, u8),
    /// The number counts 32-bit registers rather than halves.
    whole: bool,
    wide: Wide,
    count: Count,
    dir: Dir,
}

impl RegVecCodec {
    /// The bits owned.
    pub const fn pieces(&self) -> Pieces {
        let mut pieces = Pieces::NONE.and(self.low.0, self.low.1, "");
        if self.high.1 != 0 {
            pieces = pieces.and(self.high.0, self.high.1, "x");
        }
        if let Wide::Bit(at) = self.wide {
            pieces = pieces.and(at, 1, "t");
        }
        match self.count {
            Count::Field(at, _) => pieces.and(at, 2, "n"),
            Count::DepthStencil(at) => pieces.and(at, 2, "n"),
            Count::Enabled(at) => pieces.and(at, 1, "e"),
            _ => pieces,
        }
    }

    /// The same registers, written.
    pub const fn out(mut self) -> Self {
        self.dir = Dir::Out;
        self
    }

    #[inline(always)]
    fn count(&self, word: u128) -> u8 {
        match self.count {
            Count::Fixed(n) => n,
            Count::Mask(at) => bits(word, at, 4).count_ones() as u8,
            Count::Field(at, times) => match bits(word, at, 2) {
                0 => 4 * times,
                n => n as u8 * times,
            },
            Count::Enabled(at) => bits(word, at, 1) as u8,
            Count::PairIf(at, value) => 1 + u8::from(bits(word, at, 4) == value),
            Count::DepthStencil(at) => {
                let zs = bits(word, at, 2) as u8;
                (zs & 1) * 2 + (zs >> 1)
            }
        }
    }
}

impl Codec for RegVecCodec {
    type Value = RegVec;

    #[inline(always)]
    fn decode(&self, word: u128) -> Result<RegVec, Reject> {
        let mut reg = bits(word, self.low.0, self.low.1) as u16;
        reg |= (bits(word, self.high.0, self.high.1) as u16) << self.low.1;
        if self.whole {
            reg <<= 1;
        }
        let size = match self.wide {
            Wide::Bit(at) if bits(word, at, 1) == 0 => Size::B16,
            Wide::Never => Size::B16,
            _ => Size::B32,
        };
        let vec = RegVec { reg, size, count: self.count(word) };
        if vec.count != 0 {
            if size == Size::B32 && reg & 1 != 0 {
                return Err(Reject::Reserved(UNALIGNED));
            }
            check_span(reg, vec.halves()).map_err(Reject::Reserved)?;
        } else if matches!(self.count, Count::DepthStencil(_)) {
            return Err(Reject::Reserved("neither depth nor stencil is written"));
        }
        Ok(vec)
    }

    fn encode(&self, vec: RegVec) -> Result<u128, &'static str> {
        let fits = match self.wide {
            Wide::Bit(_) => vec.size != Size::B64,
            Wide::Always => vec.size == Size::B32,
            Wide::Never => vec.size == Size::B16,
        };
        if !fits {
            return Err("the registers have a width that this instruction does not take");
        }
        if vec.count != 0 {
            if vec.size == Size::B32 && vec.reg & 1 != 0 {
                return Err(UNALIGNED);
            }
            check_span(vec.reg, vec.halves())?;
        }
        let value = if self.whole { vec.reg >> 1 } else { vec.reg };
        if value >> (self.low.1 + self.high.1) != 0 {
            return Err("the register number has more bits than the field");
        }
        let mut word = (u128::from(value) & super::ones(self.low.1)) << self.low.0
            | u128::from(value >> self.low.1) << self.high.0;
        if let Wide::Bit(at) = self.wide {
            word |= u128::from(vec.size == Size::B32) << at;
        }
        let count = u128::from(vec.count);
        match self.count {
            Count::Fixed(n) if n != vec.count => {
                return Err("the number of registers is fixed and another one");
            }
            Count::Field(at, times) => {
                let n = vec.count / times;
                if !vec.count.is_multiple_of(times) || !(1..=4).contains(&n) {
                    return Err("the number of registers does not fit");
                }
                word |= u128::from(n & 3) << at;
            }
            Count::Enabled(at) if vec.count <= 1 => word |= count << at,
            Count::Enabled(_) => return Err("one register or none is expected"),
            Count::DepthStencil(at) if (1..=3).contains(&vec.count) => {
                word |= (count >> 1 | (count & 1) << 1) << at;
            }
            Count::DepthStencil(_) => return Err("one to three half-registers are expected"),
            // The mask or operation is another field; a mismatch is found by decoding again.
            Count::Mask(_) | Count::PairIf(..) | Count::Fixed(_) => {}
        }
        Ok(word)
    }

    fn print(&self, vec: RegVec, _: Option<u64>, out: &mut String) {
        match (vec.count, self.count) {
            (0, Count::Enabled(_)) => out.push_str("None"),
            _ => regname::push_regs(out, vec.reg, vec.size, u16::from(vec.count)),
        }
    }

    fn note(&self, vec: RegVec) -> Option<u64> {
        let hidden = u64::from(vec.reg) | u64::from(vec.size == Size::B32) << 8;
        let needed = vec.count == 0 && (hidden != 0 || matches!(self.count, Count::Mask(_)));
        needed.then_some(hidden)
    }

    fn absent(&self, _: Option<&str>, note: Option<u64>) -> bool {
        note.is_some() && matches!(self.count, Count::Mask(_))
    }

    fn parse(&self, tokens: &Tokens<'_>) -> Result<RegVec, String> {
        let none = |hidden: u64| RegVec {
            reg: (hidden & 0xff) as u16,
            size: if hidden & 0x100 != 0 { Size::B32 } else { Size::B16 },
            count: 0,
        };
        if let Some(hidden) = tokens.note {
            return Ok(none(hidden));
        }
        let own = tokens.own()?;
        if own == "None" && matches!(self.count, Count::Enabled(_)) {
            let wide = u64::from(self.wide == Wide::Always) << 8;
            return Ok(none(wide));
        }
        let named = Named::parse(own)?;
        named.allow(&[], own)?;
        let (reg, size) = named.regs(RegKind::Reg, named.count, own)?;
        Ok(RegVec { reg, size, count: named.count as u8 })
    }

    fn touch(&self, vec: RegVec, report: &mut dyn FnMut(Access)) {
        if vec.count != 0 {
            let role = if self.dir == Dir::In { Role::Read } else { Role::Write };
            report(Access::new(role, File::Reg, vec.reg, vec.halves()));
        }
    }

    fn describe(&self) -> String {
        let width = match self.wide {
            Wide::Bit(_) => "16-bit or 32-bit",
            Wide::Always => "32-bit",
            Wide::Never => "16-bit",
        };

        match self.count {
            Count::Fixed(1) => return format!("{width} register"),
            Count::Fixed(n) => format!("{n} consecutive {width} registers"),
            Count::Mask(_) => format!("consecutive {width} registers, one for each channel"),
            Count::Field(_, 1) => format!("1 to 4 consecutive {width} registers"),
            Count::Field(_, times) => format!("1 to 4 times {times} consecutive {width} registers"),
            Count::Enabled(_) => format!("{width} register, or `None`"),
            Count::PairIf(..) => format!("{width} register, two for `cmpxchg`"),
            Count::DepthStencil(_) => {
                "consecutive 16-bit registers: two hold a 32-bit depth, a single or third one \
                 holds stencil"
                    .into()
            }
        }
    }
}

impl Field for RegVec {
    type Codec = RegVecCodec;
}

/// A 64-bit base address.
#[derive(Clone, Copy, Debug)]
pub struct MemBaseCodec {
    low: (u8, u8),
    high: (u8, u8),
    uniform: u8,
}

impl MemBaseCodec {
    /// The bits owned.
    pub const fn pieces(&self) -> Pieces {
        let pieces = Pieces::NONE.and(self.low.0, self.low.1, "");
        let pieces =
            if self.high.1 != 0 { pieces.and(self.high.0, self.high.1, "x") } else { pieces };
        pieces.and(self.uniform, 1, "t")
    }
}

impl Codec for MemBaseCodec {
    type Value = Base64;

    #[inline(always)]
    fn decode(&self, word: u128) -> Result<Base64, Reject> {
        let value = (bits(word, self.low.0, self.low.1)
            | bits(word, self.high.0, self.high.1) << self.low.1) as u16;
        if value & 1 != 0 {
            return Err(Reject::Reserved(UNALIGNED));
        }
        if bits(word, self.uniform, 1) != 0 {
            return Ok(Base64::Uniform(value));
        }
        check_span(value, 4).map_err(Reject::Reserved)?;
        Ok(Base64::Reg(value))
    }

    fn encode(&self, base: Base64) -> Result<u128, &'static str> {
        let (reg, uniform) = match base {
            Base64::Reg(reg) => (reg, false),
            Base64::Uniform(reg) => (reg, true),
        };
        if reg & 1 != 0 {
            return Err(UNALIGNED);
        }
        if reg >> (self.low.1 + self.high.1) != 0 {
            return Err("the register or uniform is out of the field's reach");
        }
        if !uniform {
            check_span(reg, 4)?;
        }
        let reg = u128::from(reg);
        Ok((reg & super::ones(self.low.1)) << self.low.0
            | (reg >> self.low.1) << self.high.0
            | u128::from(uniform) << self.uniform)
    }

    fn print(&self, base: Base64, _: Option<u64>, out: &mut String) {
        match base {
            Base64::Reg(reg) => regname::push_regs(out, reg, Size::B64, 1),
            Base64::Uniform(reg) => regname::push_uniform(out, reg, Size::B64),
        }
    }

    fn parse(&self, tokens: &Tokens<'_>) -> Result<Base64, String> {
        let own = tokens.own()?;
        let named = Named::parse(own)?;
        named.allow(&[], own)?;
        let kind = named.kind;
        let (reg, size) = named.regs(kind, 1, own)?;
        match (kind, size) {
            (RegKind::Reg, Size::B64) => Ok(Base64::Reg(reg)),
            (RegKind::Uniform, Size::B64) => Ok(Base64::Uniform(reg)),
            _ => Err(format!("`{own}` is not a 64-bit register or uniform")),
        }
    }

    fn touch(&self, base: Base64, report: &mut dyn FnMut(Access)) {
        report(match base {
            Base64::Reg(reg) => Access::new(Role::Read, File::Reg, reg, 4),
            Base64::Uniform(reg) => Access::new(Role::Read, File::Uniform, reg, 4),
        });
    }

    fn describe(&self) -> String {
        "64-bit register or uniform".into()
    }
}

impl Field for Base64 {
    type Codec = MemBaseCodec;
}

/// The descriptor of an asynchronous copy.
#[derive(Clone, Copy, Debug)]
pub struct SpecialCodec<T> {
    of: core::marker::PhantomData<T>,
    at: u8,
}

impl SpecialCodec<CopyDescriptor> {
    /// The bits owned.
    pub const fn pieces(&self) -> Pieces {
        Pieces::NONE.and(16, 4, "").and(36, 4, "x").and(25, 1, "t")
    }
}

impl Codec for SpecialCodec<CopyDescriptor> {
    type Value = CopyDescriptor;

    #[inline(always)]
    fn decode(&self, word: u128) -> Result<CopyDescriptor, Reject> {
        let count = if bits(word, self.at, 1) != 0 { 5 } else { 3 };
        let reg = ((bits(word, 16, 4) | bits(word, 36, 4) << 4) as u16) * 2;
        if bits(word, 25, 1) != 0 {
            if reg + u16::from(count) * 2 > crate::operand::UNIFORM_HALVES {
                return Err(Reject::Reserved("the uniforms run past u255"));
            }
            return Ok(CopyDescriptor { base: Base64::Uniform(reg), count });
        }
        check_span(reg, u16::from(count) * 2).map_err(Reject::Reserved)?;
        Ok(CopyDescriptor { base: Base64::Reg(reg), count })
    }

    fn encode(&self, value: CopyDescriptor) -> Result<u128, &'static str> {
        let (reg, uniform) = match value.base {
            Base64::Reg(reg) => (reg, false),
            Base64::Uniform(reg) => (reg, true),
        };
        if reg & 1 != 0 {
            return Err(UNALIGNED);
        }
        if reg >= 512 {
            return Err("the register or uniform is out of the field's reach");
        }
        let n = u128::from(reg / 2);
        Ok((n & 15) << 16 | (n >> 4) << 36 | u128::from(uniform) << 25)
    }

    fn print(&self, value: CopyDescriptor, _: Option<u64>, out: &mut String) {
        let count = u16::from(value.count);
        match value.base {
            Base64::Reg(reg) => regname::push_regs(out, reg, Size::B32, count),
            Base64::Uniform(reg) => regname::push_uniforms(out, reg, Size::B32, count),
        }
    }

    fn parse(&self, tokens: &Tokens<'_>) -> Result<CopyDescriptor, String> {
        let own = tokens.own()?;
        let named = Named::parse(own)?;
        named.allow(&[], own)?;
        let (reg, size) = named.regs(named.kind, named.count, own)?;
        let base = match (named.kind, size) {
            (RegKind::Reg, Size::B32) => Base64::Reg(reg),
            (RegKind::Uniform, Size::B32) => Base64::Uniform(reg),
            _ => return Err(format!("`{own}` are not 32-bit registers or uniforms")),
        };
        Ok(CopyDescriptor { base, count: named.count as u8 })
    }

    fn touch(&self, value: CopyDescriptor, report: &mut dyn FnMut(Access)) {
        let count = u16::from(value.count) * 2;
        report(match value.base {
            Base64::Reg(reg) => Access::new(Role::Read, File::Reg, reg, count),
            Base64::Uniform(reg) => Access::new(Role::Read, File::Uniform, reg, count),
        });
    }

    fn describe(&self) -> String {
        "three (`copy_1d`) or five (`copy_2d`) consecutive 32-bit registers or uniforms".into()
    }
}

impl Field for CopyDescriptor {
    type Codec = SpecialCodec<CopyDescriptor>;
}

impl SpecialCodec<SpecialReg> {
    /// The bits owned.
    pub const fn pieces(&self) -> Pieces {
        Pieces::NONE.and(16, 6, "").and(26, 2, "x")
    }
}

impl Codec for SpecialCodec<SpecialReg> {
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
    type Codec = SpecialCodec<SpecialReg>;
}

/// Numbered state registers and 64-bit uniforms in one run of bits.
#[derive(Clone, Copy, Debug)]
pub struct UniformPairCodec<T> {
    of: core::marker::PhantomData<T>,
    at: u8,
    len: u8,
}

impl<T> UniformPairCodec<T> {
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

impl Codec for UniformPairCodec<Uniform64> {
    type Value = Uniform64;

    #[inline(always)]
    fn decode(&self, word: u128) -> Result<Uniform64, Reject> {
        Ok(Uniform64(bits(word, self.at, self.len) as u16 * 2))
    }

    fn encode(&self, value: Uniform64) -> Result<u128, &'static str> {
        if value.0 & 1 != 0 { Err(UNALIGNED) } else { self.place(value.0 / 2) }
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
    type Codec = UniformPairCodec<Uniform64>;
}

macro_rules! state_codec {
    ($Name:ident, $prefix:literal, $kind:ident) => {
        impl Codec for UniformPairCodec<$Name> {
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
            type Codec = UniformPairCodec<$Name>;
        }
    };
}
state_codec!(TextureState, "ts", TextureState);
state_codec!(SamplerState, "ss", SamplerState);

fn parse_reg(own: &str, size: Size) -> Result<u16, String> {
    let named = Named::parse(own)?;
    named.allow(&[], own)?;
    match named.regs(RegKind::Reg, 1, own)? {
        (reg, s) if s == size => Ok(reg),
        _ => Err(format!("`{own}` is not a {}-bit register", size.bits())),
    }
}

fn parse_imm16(own: &str) -> Result<i16, String> {
    number(own)
        .and_then(|v| i16::try_from(v).ok())
        .ok_or_else(|| format!("index `{own}` is not between -32768 and 32767"))
}

/// The index of a device or stack access.
#[derive(Clone, Copy, Debug)]
pub struct IndexCodec;

impl IndexCodec {
    /// The bits owned.
    pub const fn pieces(&self) -> Pieces {
        Pieces::NONE.and(20, 4, "").and(32, 4, "x").and(56, 8, "y").and(24, 1, "t")
    }
}

impl Codec for IndexCodec {
    type Value = Index;

    #[inline(always)]
    fn decode(&self, word: u128) -> Result<Index, Reject> {
        let value = (bits(word, 20, 4) | bits(word, 32, 4) << 4 | bits(word, 56, 8) << 8) as u16;
        if bits(word, 24, 1) != 0 {
            return Ok(Index::Imm(value as i16));
        }
        if value & 1 != 0 {
            return Err(Reject::Reserved(UNALIGNED));
        }
        check_span(value.min(0x4000), 2).map_err(Reject::Reserved)?;
        Ok(Index::Reg(value))
    }

    fn encode(&self, index: Index) -> Result<u128, &'static str> {
        let (value, imm) = match index {
            Index::Imm(imm) => (imm as u16, true),
            Index::Reg(reg) if reg & 1 != 0 => return Err(UNALIGNED),
            Index::Reg(reg) => {
                check_span(reg, 2)?;
                (reg, false)
            }
        };
        let value = u128::from(value);
        Ok((value & 15) << 20
            | (value >> 4 & 15) << 32
            | (value >> 8) << 56
            | u128::from(imm) << 24)
    }

    fn print(&self, index: Index, _: Option<u64>, out: &mut String) {
        match index {
            Index::Imm(imm) => out.push_str(&imm.to_string()),
            Index::Reg(reg) => regname::push_regs(out, reg, Size::B32, 1),
        }
    }

    fn parse(&self, tokens: &Tokens<'_>) -> Result<Index, String> {
        let own = tokens.own()?;
        if regname::is_number(own) {
            return parse_imm16(own).map(Index::Imm);
        }
        parse_reg(own, Size::B32).map(Index::Reg)
    }

    fn touch(&self, index: Index, report: &mut dyn FnMut(Access)) {
        if let Index::Reg(reg) = index {
            report(Access::new(Role::Read, File::Reg, reg, 2));
        }
    }

    fn describe(&self) -> String {
        "32-bit register or signed 16-bit immediate".into()
    }
}

impl Field for Index {
    type Codec = IndexCodec;
}

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
}

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
}

/// Constructors.
pub mod ctor {
    use super::*;
    use core::marker::PhantomData;

    const fn vec(low: (u8, u8), high: (u8, u8), wide: Wide, count: Count) -> RegVecCodec {
        RegVecCodec { low, high, whole: false, wide, count, dir: Dir::In }
    }

    /// Data registers: six bits at `at`, two at `ext`, width bit at `wide`, one for each bit set
    /// in the channel mask at `mask`.
    pub const fn data(at: u8, ext: u8, wide: u8, mask: u8) -> RegVecCodec {
        vec((at, 6), (ext, 2), Wide::Bit(wide), Count::Mask(mask))
    }
    /// Four data registers.
    pub const fn data4(at: u8, ext: u8, wide: u8) -> RegVecCodec {
        vec((at, 6), (ext, 2), Wide::Bit(wide), Count::Fixed(4))
    }
    /// Registers whose number stands in two bits at `count` (0 is 4), times `times`.
    pub const fn counted(at: u8, ext: u8, wide: u8, count: u8, times: u8) -> RegVecCodec {
        vec((at, 6), (ext, 2), Wide::Bit(wide), Count::Field(count, times))
    }
    /// One register or none.
    pub const fn optional(at: u8, ext: u8, wide: u8, enabled: u8) -> RegVecCodec {
        vec((at, 6), (ext, 2), Wide::Bit(wide), Count::Enabled(enabled))
    }
    /// One 32-bit register or none.
    pub const fn optional32(at: u8, ext: u8, enabled: u8) -> RegVecCodec {
        vec((at, 6), (ext, 2), Wide::Always, Count::Enabled(enabled))
    }
    /// One 32-bit register, two if the operation at bit `op` is a compare-and-exchange.
    pub const fn atomic_src(at: u8, op: u8) -> RegVecCodec {
        vec((at, 8), (0, 0), Wide::Always, Count::PairIf(op, 3))
    }
    /// Depth and stencil.
    pub const fn depth_stencil(at: u8, ext: u8, zs: u8) -> RegVecCodec {
        vec((at, 6), (ext, 2), Wide::Never, Count::DepthStencil(zs))
    }
    /// One 16-bit register.
    pub const fn reg16(at: u8, ext: u8) -> RegVecCodec {
        vec((at, 6), (ext, 2), Wide::Never, Count::Fixed(1))
    }
    /// One 32-bit register, numbered in halves.
    pub const fn reg32(low: (u8, u8), high: (u8, u8)) -> RegVecCodec {
        vec(low, high, Wide::Always, Count::Fixed(1))
    }
    /// One 32-bit register, numbered in whole registers.
    pub const fn whole_reg32(low: (u8, u8), high: (u8, u8)) -> RegVecCodec {
        let mut codec = vec(low, high, Wide::Always, Count::Fixed(1));
        codec.whole = true;
        codec
    }
    /// The base address of device memory instructions.
    pub const fn device_base() -> MemBaseCodec {
        MemBaseCodec { low: (16, 4), high: (36, 4), uniform: 27 }
    }
    /// The data address of asynchronous copies.
    pub const fn copy_base() -> MemBaseCodec {
        MemBaseCodec { low: (9, 6), high: (0, 0), uniform: 8 }
    }
    /// The descriptor of asynchronous copies; `shape` is the bit that tells their kind.
    pub const fn copy_descriptor(shape: u8) -> SpecialCodec<CopyDescriptor> {
        SpecialCodec { of: PhantomData, at: shape }
    }
    /// A special register.
    pub const fn special() -> SpecialCodec<SpecialReg> {
        SpecialCodec { of: PhantomData, at: 16 }
    }
    /// A state register or 64-bit uniform by number.
    pub const fn numbered<T>(at: u8, len: u8) -> UniformPairCodec<T> {
        UniformPairCodec { of: PhantomData, at, len }
    }
    /// The index of device and stack accesses.
    pub const fn index() -> IndexCodec {
        IndexCodec
    }
    /// The index of threadgroup memory accesses.
    pub const fn local_index() -> LocalIndexCodec {
        LocalIndexCodec
    }
    /// The base of threadgroup memory accesses.
    pub const fn local_base() -> LocalBaseCodec {
        LocalBaseCodec
    }
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
}
