//! Data registers; base, index and descriptor of device memory instructions.

use super::alu::{UNALIGNED, check_span};
use super::raw::number;
use super::{Codec, Field, Pieces, Reject, Tokens, bits};
use crate::access::{Access, File, Role};
use crate::operand::{Base64, CopyDescriptor, Index, RegVec, Size, UNIFORM_HALVES};
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
    /// The number of bits set in the four bits from here (which belong to another operand).
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

    /// The codec of these registers as a destination.
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
        let usual = u64::from(self.wide == Wide::Always) << 8;
        let needed = vec.count == 0 && (hidden != usual || matches!(self.count, Count::Mask(_)));
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

    fn writes(&self) -> bool {
        self.dir == Dir::Out
    }

    fn describe(&self) -> String {
        let width = match self.wide {
            Wide::Bit(_) => "16-bit or 32-bit",
            Wide::Always => "32-bit",
            Wide::Never => "16-bit",
        };

        match self.count {
            Count::Fixed(1) => format!("{width} register"),
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

    fn operand_mut(&mut self) -> Option<crate::operand::OperandMut<'_>> {
        Some(crate::operand::OperandMut::RegVec(self))
    }
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

    fn operand_mut(&mut self) -> Option<crate::operand::OperandMut<'_>> {
        Some(crate::operand::OperandMut::Base64(self))
    }
}

/// The descriptor of an asynchronous copy.
#[derive(Clone, Copy, Debug)]
pub struct CopyDescriptorCodec {
    /// The bit, of another operand, that tells its kind.
    shape: u8,
}

impl CopyDescriptorCodec {
    /// The bits owned.
    pub const fn pieces(&self) -> Pieces {
        Pieces::NONE.and(16, 4, "").and(36, 4, "x").and(25, 1, "t")
    }
}

impl Codec for CopyDescriptorCodec {
    type Value = CopyDescriptor;

    #[inline(always)]
    fn decode(&self, word: u128) -> Result<CopyDescriptor, Reject> {
        let count = if bits(word, self.shape, 1) != 0 { 5 } else { 3 };
        let reg = ((bits(word, 16, 4) | bits(word, 36, 4) << 4) as u16) * 2;
        if bits(word, 25, 1) != 0 {
            if reg + u16::from(count) * 2 > UNIFORM_HALVES {
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
    type Codec = CopyDescriptorCodec;
}

pub(super) fn parse_reg(own: &str, size: Size) -> Result<u16, String> {
    let named = Named::parse(own)?;
    named.allow(&[], own)?;
    match named.regs(RegKind::Reg, 1, own)? {
        (reg, s) if s == size => Ok(reg),
        _ => Err(format!("`{own}` is not a {}-bit register", size.bits())),
    }
}

pub(super) fn parse_imm16(own: &str) -> Result<i16, String> {
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

    fn operand_mut(&mut self) -> Option<crate::operand::OperandMut<'_>> {
        Some(crate::operand::OperandMut::Index(self))
    }
}

/// Constructors.
pub mod ctor {
    use super::*;

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
    pub const fn copy_descriptor(shape: u8) -> CopyDescriptorCodec {
        CopyDescriptorCodec { shape }
    }
    /// The index of device and stack accesses.
    pub const fn index() -> IndexCodec {
        IndexCodec
    }
}
