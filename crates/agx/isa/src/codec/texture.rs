//! Operands of texture and image instructions.

use super::alu::{PAST_END, UNALIGNED, check_span};
use super::{Codec, Enumerated, Field, Pieces, Reject, Tokens, bits};
use crate::access::{Access, File, Role};
use crate::operand::{CompareOffset, Coords, Dim, Lod, LodMode, Sampler, Size, TexBase, Texture};
use crate::regname::{self, Named, RegKind};

fn reg_access(reg: u16, halves: u16) -> Access {
    Access::new(Role::Read, File::Reg, reg, halves)
}

/// The texture dimension: three bits at 40 and a fourth elsewhere.
#[inline(always)]
fn dim_of(word: u128, high: u8) -> Result<Dim, Reject> {
    let raw = bits(word, 40, 3) | bits(word, high, 1) << 3;
    Dim::from_raw(raw as u8).ok_or(Reject::Reserved("the texture dimension is unknown"))
}

/// Texture coordinates.
///
/// source: applegpu.py, CoordsDesc; agx_pack.c, agx_pack_sample_coords; agx_nir_lower_texture.c
#[derive(Clone, Copy, Debug)]
pub struct CoordsCodec {
    ext: u8,
    dim_high: u8,
}

impl CoordsCodec {
    /// The bits owned.
    pub const fn pieces(&self) -> Pieces {
        Pieces::NONE.and(16, 6, "").and(self.ext, 2, "x").and(22, 1, "t").and(47, 1, "s")
    }
}

#[inline(always)]
fn check_coords(c: Coords) -> Result<(), &'static str> {
    // 32-bit coordinates with 16-bit extras: the alignment rule is unknown.
    if c.size == Size::B32 && c.extras == 0 && c.reg & 1 != 0 {
        return Err(UNALIGNED);
    }
    if c.reg + c.halves() > 256 { Err(PAST_END) } else { Ok(()) }
}

impl Codec for CoordsCodec {
    type Value = Coords;

    #[inline(always)]
    fn decode(&self, word: u128) -> Result<Coords, Reject> {
        let dim = dim_of(word, self.dim_high)?;
        let coords = Coords {
            reg: (bits(word, 16, 6) | bits(word, self.ext, 2) << 6) as u16,
            size: if bits(word, 47, 1) != 0 { Size::B16 } else { Size::B32 },
            axes: dim.axes(),
            extras: dim.extras(),
            discard: bits(word, 22, 1) != 0,
        };
        check_coords(coords).map_err(Reject::Reserved)?;
        Ok(coords)
    }

    fn encode(&self, c: Coords) -> Result<u128, &'static str> {
        if c.size == Size::B64 {
            return Err("coordinates are 16 or 32 bits wide");
        }
        if c.reg >= 256 {
            return Err(PAST_END);
        }
        check_coords(c)?;
        Ok(u128::from(c.reg & 63) << 16
            | u128::from(c.reg >> 6) << self.ext
            | u128::from(c.discard) << 22
            | u128::from(c.size == Size::B16) << 47)
    }

    fn print(&self, c: Coords, _: Option<u64>, out: &mut String) {
        if c.size == Size::B32 && c.extras == 0 {
            regname::push_regs(out, c.reg, Size::B32, u16::from(c.axes));
        } else {
            regname::push_regs(out, c.reg, Size::B16, c.halves());
        }
        if c.discard {
            out.push_str(".discard");
        }
    }

    fn parse(&self, tokens: &Tokens<'_>) -> Result<Coords, String> {
        let own = tokens.own()?;
        // Image stores name the dimension after the coordinates.
        let later = |t: &&str| Dim::NAMED.iter().find(|n| n.2 == *t).map(|n| n.0);
        let dim = match tokens.rest.iter().find_map(later) {
            Some(dim) => dim,
            None => dim_of(tokens.word, self.dim_high)
                .map_err(|_| "the texture dimension is missing".to_string())?,
        };
        let named = Named::parse(own)?;
        named.allow(&["discard"], own)?;
        let (reg, size) = named.regs(RegKind::Reg, named.count, own)?;
        let mut coords = Coords {
            reg,
            size: Size::B32,
            axes: dim.axes(),
            extras: dim.extras(),
            discard: named.has("discard"),
        };
        let narrow = u16::from(dim.axes() + dim.extras());
        if size == Size::B16 && named.count == narrow {
            coords.size = Size::B16;
        } else {
            let wide = if dim.extras() == 0 { Size::B32 } else { Size::B16 };
            let count = if dim.extras() == 0 { u16::from(dim.axes()) } else { coords.halves() };
            if size != wide || named.count != count {
                let what = if wide == Size::B32 { "32-bit" } else { "16-bit" };
                let dim = dim.text().unwrap_or("");
                return Err(format!(
                    "`{own}`: {dim} takes {narrow} 16-bit registers or {count} {what} registers"
                ));
            }
        }
        Ok(coords)
    }

    fn touch(&self, c: Coords, report: &mut dyn FnMut(Access)) {
        report(reg_access(c.reg, c.halves()));
    }

    fn describe(&self) -> String {
        "coordinates: 16-bit or 32-bit registers, then a 16-bit register each for sample index \
         and layer"
            .into()
    }
}

impl Field for Coords {
    type Codec = CoordsCodec;

    fn operand_mut(&mut self) -> Option<crate::operand::OperandMut<'_>> {
        Some(crate::operand::OperandMut::Coords(self))
    }
}

/// The level-of-detail source.
///
/// source: applegpu.py, LodDesc; agx_pack.c, agx_pack_lod; agx_validate.c for the counts
#[derive(Clone, Copy, Debug)]
pub struct LodCodec;

impl LodCodec {
    /// The bits owned.
    pub const fn pieces(&self) -> Pieces {
        Pieces::NONE.and(24, 6, "").and(76, 2, "x")
    }

    /// The operand's shape for the mode in the word, with register 0.
    #[inline(always)]
    fn shape(word: u128) -> Result<Lod, Reject> {
        let mode = LodMode::from_raw(bits(word, 52, 4) as u8)
            .ok_or(Reject::Reserved("the level-of-detail mode is unknown"))?;
        Ok(match mode {
            LodMode::Auto => Lod::None(0),
            LodMode::BiasUniform | LodMode::LodUniform => Lod::Uniform { reg: 0, count: 1 },
            LodMode::BiasMinUniform => Lod::Uniform { reg: 0, count: 2 },
            LodMode::Bias | LodMode::Lod => Lod::Reg { reg: 0, count: 1 },
            LodMode::BiasMin => Lod::Reg { reg: 0, count: 2 },
            LodMode::Gradient | LodMode::GradientMin => {
                let min = u8::from(mode == LodMode::GradientMin);
                Lod::Gradient { reg: 0, count: dim_of(word, 71)?.axes() * 2 + min }
            }
        })
    }
}

impl Codec for LodCodec {
    type Value = Lod;

    #[inline(always)]
    fn decode(&self, word: u128) -> Result<Lod, Reject> {
        let value = (bits(word, 24, 6) | bits(word, 76, 2) << 6) as u16;
        Ok(match Self::shape(word)? {
            Lod::None(_) => Lod::None(value as u8),
            Lod::Uniform { count, .. } => Lod::Uniform { reg: value, count },
            Lod::Reg { count, .. } => {
                check_span(value, u16::from(count)).map_err(Reject::Reserved)?;
                Lod::Reg { reg: value, count }
            }
            Lod::Gradient { count, .. } => {
                if value & 1 != 0 {
                    return Err(Reject::Reserved(UNALIGNED));
                }
                check_span(value, u16::from(count) * 2).map_err(Reject::Reserved)?;
                Lod::Gradient { reg: value, count }
            }
        })
    }

    fn encode(&self, lod: Lod) -> Result<u128, &'static str> {
        let value = match lod {
            Lod::None(value) => u16::from(value),
            Lod::Uniform { reg, .. } if reg >= 256 => {
                return Err("level-of-detail uniforms end at u127h");
            }
            Lod::Uniform { reg, .. } => reg,
            Lod::Reg { reg, count } => {
                check_span(reg, u16::from(count))?;
                reg
            }
            Lod::Gradient { reg, .. } if reg & 1 != 0 => return Err(UNALIGNED),
            Lod::Gradient { reg, count } => {
                check_span(reg, u16::from(count) * 2)?;
                reg
            }
        };
        Ok(u128::from(value & 63) << 24 | u128::from(value >> 6) << 76)
    }

    fn print(&self, lod: Lod, _: Option<u64>, out: &mut String) {
        match lod {
            Lod::None(_) => out.push('0'),
            Lod::Uniform { reg, count } => {
                regname::push_uniforms(out, reg, Size::B16, u16::from(count));
            }
            Lod::Reg { reg, count } => regname::push_regs(out, reg, Size::B16, u16::from(count)),
            Lod::Gradient { reg, count } => {
                regname::push_regs(out, reg, Size::B32, u16::from(count));
            }
        }
    }

    fn note(&self, lod: Lod) -> Option<u64> {
        match lod {
            Lod::None(value) if value != 0 => Some(u64::from(value)),
            _ => None,
        }
    }

    fn parse(&self, tokens: &Tokens<'_>) -> Result<Lod, String> {
        let own = tokens.own()?;
        let shape = Self::shape(tokens.word)
            .map_err(|_| "the level-of-detail mode is unknown".to_string())?;
        if let Lod::None(_) = shape {
            return match own {
                "0" => Ok(Lod::None(tokens.note.unwrap_or(0) as u8)),
                _ => Err(format!("`{own}`: automatic level of detail takes `0`")),
            };
        }
        let named = Named::parse(own)?;
        named.allow(&[], own)?;
        let (kind, width, wanted) = match shape {
            Lod::Uniform { count, .. } => (RegKind::Uniform, Size::B16, count),
            Lod::Gradient { count, .. } => (RegKind::Reg, Size::B32, count),
            Lod::Reg { count, .. } => (RegKind::Reg, Size::B16, count),
            Lod::None(_) => (RegKind::Reg, Size::B16, 0),
        };
        let (reg, size) = named.regs(kind, named.count, own)?;
        if size != width || named.count != u16::from(wanted) {
            return Err(format!("`{own}`: this mode takes {wanted} {}-bit values", width.bits()));
        }
        Ok(match shape {
            Lod::Uniform { count, .. } => Lod::Uniform { reg, count },
            Lod::Gradient { count, .. } => Lod::Gradient { reg, count },
            Lod::Reg { count, .. } => Lod::Reg { reg, count },
            Lod::None(value) => Lod::None(value),
        })
    }

    fn touch(&self, lod: Lod, report: &mut dyn FnMut(Access)) {
        match lod {
            Lod::None(_) => {}
            Lod::Uniform { reg, count } => {
                report(Access::new(Role::Read, File::Uniform, reg, u16::from(count)));
            }
            Lod::Reg { reg, count } => report(reg_access(reg, u16::from(count))),
            Lod::Gradient { reg, count } => report(reg_access(reg, u16::from(count) * 2)),
        }
    }

    fn describe(&self) -> String {
        "level of detail, bias, minimum or gradients, as the mode says; `0` if automatic".into()
    }
}

impl Field for Lod {
    type Codec = LodCodec;

    fn operand_mut(&mut self) -> Option<crate::operand::OperandMut<'_>> {
        Some(crate::operand::OperandMut::Lod(self))
    }
}

/// A texture reference.
///
/// source: applegpu.py, TextureDesc; agx_pack.c, agx_pack_texture
#[derive(Clone, Copy, Debug)]
pub struct TextureCodec {
    ext: u8,
}

impl TextureCodec {
    /// The bits owned.
    pub const fn pieces(&self) -> Pieces {
        Pieces::NONE.and(32, 6, "").and(self.ext, 2, "x").and(38, 2, "t")
    }
}

impl Codec for TextureCodec {
    type Value = Texture;

    #[inline(always)]
    fn decode(&self, word: u128) -> Result<Texture, Reject> {
        let value = (bits(word, 32, 6) | bits(word, self.ext, 2) << 6) as u16;
        match bits(word, 38, 2) {
            0 => Ok(Texture::State(value as u8)),
            1 => Ok(Texture::StateReg(value)),
            2 => Ok(Texture::Unknown(value as u8)),
            _ if value & 1 != 0 => Err(Reject::Reserved(UNALIGNED)),
            _ => Ok(Texture::Bindless(value)),
        }
    }

    fn encode(&self, texture: Texture) -> Result<u128, &'static str> {
        let (value, tag) = match texture {
            Texture::State(n) => (u16::from(n), 0),
            Texture::StateReg(reg) => {
                check_span(reg, 1)?;
                (reg, 1)
            }
            Texture::Unknown(n) => (u16::from(n), 2),
            Texture::Bindless(reg) if reg & 1 != 0 => return Err(UNALIGNED),
            Texture::Bindless(reg) => {
                check_span(reg, 2)?;
                (reg, 3)
            }
        };
        Ok(u128::from(value & 63) << 32 | u128::from(value >> 6) << self.ext | tag << 38)
    }

    fn print(&self, texture: Texture, _: Option<u64>, out: &mut String) {
        match texture {
            Texture::State(n) => out.push_str(&format!("ts{n}")),
            Texture::StateReg(reg) => regname::push_regs(out, reg, Size::B16, 1),
            Texture::Unknown(0) => out.push('0'),
            Texture::Unknown(n) => regname::push_regs(out, u16::from(n), Size::B16, 1),
            Texture::Bindless(reg) => regname::push_regs(out, reg, Size::B32, 1),
        }
    }

    fn note(&self, texture: Texture) -> Option<u64> {
        match texture {
            Texture::Unknown(n) if n != 0 => Some(u64::from(n)),
            _ => None,
        }
    }

    fn parse(&self, tokens: &Tokens<'_>) -> Result<Texture, String> {
        let own = tokens.own()?;
        if let Some(n) = tokens.note {
            return Ok(Texture::Unknown(n as u8));
        }
        if own == "0" {
            return Ok(Texture::Unknown(0));
        }
        let named = Named::parse(own)?;
        named.allow(&[], own)?;
        let kind = named.kind;
        match (kind, named.regs(kind, 1, own)?) {
            (RegKind::TextureState, (n, _)) => Ok(Texture::State(n as u8)),
            (RegKind::Reg, (reg, Size::B16)) => Ok(Texture::StateReg(reg)),
            (RegKind::Reg, (reg, Size::B32)) => Ok(Texture::Bindless(reg)),
            _ => Err(format!("`{own}` is not a texture: `ts0`, `r0l` or `r0`")),
        }
    }

    fn touch(&self, texture: Texture, report: &mut dyn FnMut(Access)) {
        match texture {
            Texture::State(n) => {
                report(Access::new(Role::Read, File::TextureState, u16::from(n), 1));
            }
            Texture::StateReg(reg) => {
                report(reg_access(reg, 1));
                report(Access {
                    exact: false,
                    ..Access::new(Role::Read, File::TextureState, 0, 256)
                });
            }
            Texture::Unknown(_) => {}
            Texture::Bindless(reg) => report(reg_access(reg, 2)),
        }
    }

    fn describe(&self) -> String {
        "texture state register `tsN`, or 16-bit register with its number, or (bindless) 32-bit \
         register with a byte offset from the base"
            .into()
    }
}

impl Field for Texture {
    type Codec = TextureCodec;

    fn operand_mut(&mut self) -> Option<crate::operand::OperandMut<'_>> {
        Some(crate::operand::OperandMut::Texture(self))
    }
}

/// The base of bindless texture references.
#[derive(Clone, Copy, Debug)]
pub struct TexBaseCodec {
    at: u8,
}

impl TexBaseCodec {
    /// The bits owned.
    pub const fn pieces(&self) -> Pieces {
        Pieces::NONE.and(self.at, 5, "")
    }
}

impl Codec for TexBaseCodec {
    type Value = TexBase;

    #[inline(always)]
    fn decode(&self, word: u128) -> Result<TexBase, Reject> {
        let value = bits(word, self.at, 5);
        // Reference kinds 2 and 3 (the high bit at 39) have a base.
        Ok(if bits(word, 39, 1) != 0 {
            TexBase::Uniform(value as u16 * 4)
        } else {
            TexBase::None(value as u8)
        })
    }

    fn encode(&self, base: TexBase) -> Result<u128, &'static str> {
        let value = match base {
            TexBase::None(n) => n,
            TexBase::Uniform(reg) if reg & 3 != 0 => {
                return Err("the base is a 64-bit uniform at an even number");
            }
            TexBase::Uniform(reg) => u8::try_from(reg / 4).unwrap_or(255),
        };
        if value >= 32 {
            return Err("the base's uniform is out of the field's reach (u0_u1 to u62_u63)");
        }
        Ok(u128::from(value) << self.at)
    }

    fn print(&self, base: TexBase, _: Option<u64>, out: &mut String) {
        match base {
            TexBase::None(_) => out.push_str("None"),
            TexBase::Uniform(reg) => regname::push_uniform(out, reg, Size::B64),
        }
    }

    fn note(&self, base: TexBase) -> Option<u64> {
        match base {
            TexBase::None(n) if n != 0 => Some(u64::from(n)),
            _ => None,
        }
    }

    fn parse(&self, tokens: &Tokens<'_>) -> Result<TexBase, String> {
        let own = tokens.own()?;
        if own == "None" {
            return Ok(TexBase::None(tokens.note.unwrap_or(0) as u8));
        }
        let named = Named::parse(own)?;
        named.allow(&[], own)?;
        match named.regs(RegKind::Uniform, 1, own)? {
            (reg, Size::B64) => Ok(TexBase::Uniform(reg)),
            _ => Err(format!("`{own}` is not a 64-bit uniform or `None`")),
        }
    }

    fn touch(&self, base: TexBase, report: &mut dyn FnMut(Access)) {
        if let TexBase::Uniform(reg) = base {
            report(Access::new(Role::Read, File::Uniform, reg, 4));
        }
    }

    fn describe(&self) -> String {
        "base of bindless references: 64-bit uniform (counted in pairs), or `None`".into()
    }
}

impl Field for TexBase {
    type Codec = TexBaseCodec;
}

/// A sampler reference.
#[derive(Clone, Copy, Debug)]
pub struct SamplerCodec;

impl SamplerCodec {
    /// The bits owned.
    pub const fn pieces(&self) -> Pieces {
        Pieces::NONE.and(56, 6, "").and(92, 2, "x").and(62, 1, "t")
    }
}

impl Codec for SamplerCodec {
    type Value = Sampler;

    #[inline(always)]
    fn decode(&self, word: u128) -> Result<Sampler, Reject> {
        let value = bits(word, 56, 6) | bits(word, 92, 2) << 6;
        Ok(if bits(word, 62, 1) != 0 {
            Sampler::StateReg(value as u16)
        } else {
            Sampler::State(value as u8)
        })
    }

    fn encode(&self, sampler: Sampler) -> Result<u128, &'static str> {
        let (value, tag) = match sampler {
            Sampler::State(n) => (u16::from(n), 0),
            Sampler::StateReg(reg) => {
                check_span(reg, 1)?;
                (reg, 1)
            }
        };
        Ok(u128::from(value & 63) << 56 | u128::from(value >> 6) << 92 | tag << 62)
    }

    fn print(&self, sampler: Sampler, _: Option<u64>, out: &mut String) {
        match sampler {
            Sampler::State(n) => out.push_str(&format!("ss{n}")),
            Sampler::StateReg(reg) => regname::push_regs(out, reg, Size::B16, 1),
        }
    }

    fn parse(&self, tokens: &Tokens<'_>) -> Result<Sampler, String> {
        let own = tokens.own()?;
        let named = Named::parse(own)?;
        named.allow(&[], own)?;
        let kind = named.kind;
        match (kind, named.regs(kind, 1, own)?) {
            (RegKind::SamplerState, (n, _)) => Ok(Sampler::State(n as u8)),
            (RegKind::Reg, (reg, Size::B16)) => Ok(Sampler::StateReg(reg)),
            _ => Err(format!("`{own}` is not a sampler: `ss0` or `r0l`")),
        }
    }

    fn touch(&self, sampler: Sampler, report: &mut dyn FnMut(Access)) {
        match sampler {
            Sampler::State(n) => {
                report(Access::new(Role::Read, File::SamplerState, u16::from(n), 1));
            }
            Sampler::StateReg(reg) => {
                report(reg_access(reg, 1));
                report(Access {
                    exact: false,
                    ..Access::new(Role::Read, File::SamplerState, 0, 256)
                });
            }
        }
    }

    fn describe(&self) -> String {
        "sampler state register `ssN`, or 16-bit register with its number".into()
    }
}

impl Field for Sampler {
    type Codec = SamplerCodec;

    fn operand_mut(&mut self) -> Option<crate::operand::OperandMut<'_>> {
        Some(crate::operand::OperandMut::Sampler(self))
    }
}

/// Comparison value and texel offsets.
#[derive(Clone, Copy, Debug)]
pub struct CompareOffsetCodec {
    /// The bit, of another operand, that says that there is a comparison value.
    compare: u8,
}

impl CompareOffsetCodec {
    /// The bits owned.
    pub const fn pieces(&self) -> Pieces {
        Pieces::NONE.and(80, 6, "").and(94, 2, "x").and(91, 1, "t")
    }
}

impl Codec for CompareOffsetCodec {
    type Value = CompareOffset;

    #[inline(always)]
    fn decode(&self, word: u128) -> Result<CompareOffset, Reject> {
        let value = CompareOffset {
            reg: (bits(word, 80, 6) | bits(word, 94, 2) << 6) as u16,
            compare: bits(word, self.compare, 1) != 0,
            offset: bits(word, 91, 1) != 0,
        };
        if value.compare && value.reg & 1 != 0 {
            return Err(Reject::Reserved(UNALIGNED));
        }
        check_span(value.reg, value.halves()).map_err(Reject::Reserved)?;
        Ok(value)
    }

    fn encode(&self, value: CompareOffset) -> Result<u128, &'static str> {
        if value.compare && value.reg & 1 != 0 {
            return Err(UNALIGNED);
        }
        check_span(value.reg, value.halves().max(1))?;
        Ok(u128::from(value.reg & 63) << 80
            | u128::from(value.reg >> 6) << 94
            | u128::from(value.offset) << 91)
    }

    fn print(&self, value: CompareOffset, _: Option<u64>, out: &mut String) {
        if value.compare {
            regname::push_regs(out, value.reg, Size::B32, 1);
        }
        if value.offset {
            if value.compare {
                out.push('_');
            }
            regname::push_regs(out, value.reg + 2 * u16::from(value.compare), Size::B16, 1);
        }
    }

    fn note(&self, value: CompareOffset) -> Option<u64> {
        let unused = !value.compare && !value.offset && value.reg != 0;
        unused.then_some(u64::from(value.reg))
    }

    fn absent(&self, next: Option<&str>, _: Option<u64>) -> bool {
        next.is_none()
    }

    fn parse(&self, tokens: &Tokens<'_>) -> Result<CompareOffset, String> {
        let Some(own) = tokens.rest.first() else {
            let reg = (tokens.note.unwrap_or(0) & 0xff) as u16;
            return Ok(CompareOffset { reg, ..CompareOffset::default() });
        };
        let named = Named::parse(own)?;
        named.allow(&[], own)?;
        let (compare, offset) = match (named.half, named.half_tail, named.count) {
            (true, _, 1) => (false, true),
            (false, false, 1) => (true, false),
            (false, true, 2) => (true, true),
            _ => return Err(format!("`{own}` is not `r0` (compare), `r0l` (offset) or `r0_r1l`")),
        };
        if named.kind != RegKind::Reg {
            return Err(format!("`{own}` is not a register"));
        }
        Ok(CompareOffset { reg: named.first, compare, offset })
    }

    fn touch(&self, value: CompareOffset, report: &mut dyn FnMut(Access)) {
        if value.halves() != 0 {
            report(reg_access(value.reg, value.halves()));
        }
    }

    fn describe(&self) -> String {
        "32-bit comparison value and/or 16-bit texel offsets; left out if there is neither".into()
    }
}

impl CompareOffset {
    /// Half-registers read.
    pub const fn halves(self) -> u16 {
        2 * self.compare as u16 + self.offset as u16
    }
}

impl Field for CompareOffset {
    type Codec = CompareOffsetCodec;

    fn operand_mut(&mut self) -> Option<crate::operand::OperandMut<'_>> {
        Some(crate::operand::OperandMut::CompareOffset(self))
    }
}

/// Constructors.
pub mod ctor {
    use super::*;

    /// Coordinates: extension at `ext`, fourth bit of the dimension at `dim_high`.
    pub const fn coords(ext: u8, dim_high: u8) -> CoordsCodec {
        CoordsCodec { ext, dim_high }
    }
    /// The level-of-detail source.
    pub const fn lod() -> LodCodec {
        LodCodec
    }
    /// A texture reference with its extension at `ext`.
    pub const fn texture(ext: u8) -> TextureCodec {
        TextureCodec { ext }
    }
    /// The base of bindless references.
    pub const fn tex_base(at: u8) -> TexBaseCodec {
        TexBaseCodec { at }
    }
    /// The sampler.
    pub const fn sampler() -> SamplerCodec {
        SamplerCodec
    }
    /// Comparison value and offsets; the flag of the former at `compare`.
    pub const fn compare_offset(compare: u8) -> CompareOffsetCodec {
        CompareOffsetCodec { compare }
    }
}
