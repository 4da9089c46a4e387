//! Operand types: decoded fields of table rows, independent of bit positions.
//!
//! Registers are always numbered in halves: `r0l` is 0, `r0h` is 1, `r1l` is 2. There are 256
//! half-registers (`r0` to `r127`) and 512 half-uniforms (`u0` to `u255`).

mod enums;
mod special;

pub use enums::*;
pub use special::SpecialReg;

/// Half-registers in the register file.
pub const REGISTER_HALVES: u16 = 256;
/// Half-uniforms in the uniform file.
pub const UNIFORM_HALVES: u16 = 512;

/// Width of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Size {
    /// 16 bits: half a register.
    #[default]
    B16,
    /// 32 bits: one register.
    B32,
    /// 64 bits: two registers.
    B64,
}

impl Size {
    /// Half-registers it takes: 1, 2 or 4.
    #[inline(always)]
    pub const fn halves(self) -> u16 {
        match self {
            Size::B16 => 1,
            Size::B32 => 2,
            Size::B64 => 4,
        }
    }

    /// Bits: 16, 32 or 64.
    #[inline(always)]
    pub const fn bits(self) -> u32 {
        self.halves() as u32 * 16
    }
}

/// Choice of the form for a row with two lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Form {
    /// The short form if all fields fit into it, else the long form.
    #[default]
    Shortest,
    /// The long form although the short one would do (`{form=1}` in assembly).
    Long,
}

/// A destination register of an ALU instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Dst {
    /// First half-register.
    pub reg: u16,
    /// Width written.
    pub size: Size,
    /// Cache hint: the value will be read again soon.
    pub cache: bool,
}

impl Dst {
    /// A destination without cache hint.
    pub const fn new(reg: u16, size: Size) -> Self {
        Self { reg, size, cache: false }
    }
}

/// Kind and location of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SrcKind {
    /// A general-purpose register: first half-register.
    Reg(u16),
    /// A uniform register: first half-uniform. Its value is identical for all threads.
    Uniform(u16),
    /// An 8-bit immediate: an unsigned integer, or a minifloat in float instructions.
    Imm(u8),
}

/// Register cache hint of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Hint {
    /// No hint.
    #[default]
    None,
    /// The value will be read again soon.
    Cache,
    /// The value is not needed after this read: the register's contents may be lost.
    Discard,
}

/// A source of an ALU instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Src {
    /// Register, uniform or immediate.
    pub kind: SrcKind,
    /// Width read; 16 bits for an immediate.
    pub size: Size,
    /// Register cache hint.
    pub hint: Hint,
    /// Float sources: the absolute value is taken, before `neg`.
    pub abs: bool,
    /// Float sources: the sign is flipped.
    pub neg: bool,
    /// Integer sources of add and multiply: sign-extended rather than zero-extended. Without
    /// effect on immediates, which are never sign-extended.
    pub sign_extend: bool,
}

impl Default for Src {
    fn default() -> Self {
        Self::imm(0)
    }
}

impl Src {
    const fn plain(kind: SrcKind, size: Size) -> Self {
        Self { kind, size, hint: Hint::None, abs: false, neg: false, sign_extend: false }
    }

    /// A register without hint or modifier.
    pub const fn reg(half: u16, size: Size) -> Self {
        Self::plain(SrcKind::Reg(half), size)
    }

    /// A uniform.
    pub const fn uniform(half: u16, size: Size) -> Self {
        Self::plain(SrcKind::Uniform(half), size)
    }

    /// An immediate (integer value, or minifloat encoding for float instructions).
    pub const fn imm(value: u8) -> Self {
        Self::plain(SrcKind::Imm(value), Size::B16)
    }

    /// A float immediate; `None` if the minifloat cannot hold the value exactly.
    pub fn float(value: f32) -> Option<Self> {
        minifloat_encode(value).map(Self::imm)
    }

    /// The value of a float immediate, without `abs` and `neg`; `None` for registers.
    pub fn imm_f32(self) -> Option<f32> {
        match self.kind {
            SrcKind::Imm(value) => Some(minifloat_decode(value)),
            _ => None,
        }
    }

    /// The value of an integer immediate; `None` for registers.
    pub const fn imm_int(self) -> Option<u8> {
        match self.kind {
            SrcKind::Imm(value) => Some(value),
            _ => None,
        }
    }
}

/// The value of AGX's 8-bit float: sign, 3 exponent bits (bias 7 with the binary point after the
/// mantissa), 4 mantissa bits; exponent 0 is denormal in steps of 1/64.
// source: applegpu.py, decode_float_immediate; agx_minifloat.h
pub fn minifloat_decode(bits: u8) -> f32 {
    let exponent = i32::from(bits >> 4 & 7);
    let mantissa = f32::from(bits & 15);
    let magnitude = match exponent {
        0 => mantissa / 64.0,
        _ => (16.0 + mantissa) * 2f32.powi(exponent - 7),
    };
    if bits & 0x80 != 0 { -magnitude } else { magnitude }
}

/// The 8-bit float that holds exactly `value` (sign of zero included), if there is one.
pub fn minifloat_encode(value: f32) -> Option<u8> {
    let sign = (value.to_bits() >> 31 << 7) as u8;
    let magnitude = value.abs();
    let sixty_fourths = magnitude * 64.0;
    if sixty_fourths < 16.0 {
        let mantissa = sixty_fourths as u8;
        return (f32::from(mantissa) == sixty_fourths).then_some(sign | mantissa);
    }
    // 1.0 to 2.0 has exponent 3: (16 + mantissa) / 16.
    let exponent = (magnitude.to_bits() >> 23) as i32 - 127 + 3;
    let mantissa = magnitude.to_bits() & 0x007f_ffff;
    let fits = (1..=7).contains(&exponent) && mantissa.trailing_zeros() >= 19;
    fits.then_some(sign | (exponent as u8) << 4 | (mantissa >> 19) as u8)
}

/// Consecutive registers of one width: the data of memory and texture instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RegVec {
    /// First half-register.
    pub reg: u16,
    /// Width of each element: 16 or 32 bits.
    pub size: Size,
    /// Number of elements, as the instruction's mask or count says; 0 if there is no register.
    pub count: u8,
}

impl RegVec {
    /// `count` registers of `size` from half-register `reg`.
    pub const fn new(reg: u16, size: Size, count: u8) -> Self {
        Self { reg, size, count }
    }

    /// Half-registers covered.
    pub const fn halves(self) -> u16 {
        self.size.halves() * self.count as u16
    }
}

/// A 64-bit base address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base64 {
    /// In a register pair: first half-register.
    Reg(u16),
    /// In a uniform pair: first half-uniform.
    Uniform(u16),
}

impl Default for Base64 {
    fn default() -> Self {
        Base64::Reg(0)
    }
}

/// The descriptor of an asynchronous copy: consecutive 32-bit registers or uniforms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CopyDescriptor {
    /// First register.
    pub base: Base64,
    /// 32-bit registers: 3 for a run, 5 for a rectangle.
    pub count: u8,
}

/// A 64-bit uniform, by its first half-uniform.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Uniform64(pub u16);

/// A texture state register as a destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TextureState(pub u8);

/// A sampler state register as a destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SamplerState(pub u8);

/// The index of a device or stack access, in elements of the format (bytes for the stack).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Index {
    /// A 32-bit register: first half-register.
    Reg(u16),
    /// A signed immediate.
    Imm(i16),
}

impl Default for Index {
    fn default() -> Self {
        Index::Imm(0)
    }
}

/// The index of a threadgroup memory access, in elements of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LocalIndex {
    /// A 16-bit register.
    Reg(u16),
    /// A signed immediate.
    Imm(i16),
}

impl Default for LocalIndex {
    fn default() -> Self {
        LocalIndex::Imm(0)
    }
}

/// The offset of a descriptor that becomes a state register, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StateOffset {
    /// A 32-bit register: first half-register.
    Reg(u16),
    /// An immediate.
    Imm(u16),
}

impl Default for StateOffset {
    fn default() -> Self {
        StateOffset::Imm(0)
    }
}

/// The base of a threadgroup memory access, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LocalBase {
    /// A 16-bit register.
    Reg(u16),
    /// A 16-bit uniform.
    Uniform(u16),
    /// Zero. The number held is ignored by the hardware as far as known; 0 in all seen code.
    Zero(u8),
}

impl Default for LocalBase {
    fn default() -> Self {
        LocalBase::Zero(0)
    }
}

/// A 16-bit register or an 8-bit immediate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegOrImm {
    /// A 16-bit register.
    Reg(u16),
    /// An immediate.
    Imm(u8),
}

impl Default for RegOrImm {
    fn default() -> Self {
        RegOrImm::Imm(0)
    }
}

/// A coefficient register, or a 16-bit register that holds its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coef {
    /// Coefficient register.
    Cf(u8),
    /// Number in a 16-bit register.
    Reg(u16),
}

impl Default for Coef {
    fn default() -> Self {
        Coef::Cf(0)
    }
}

/// The sample index of an interpolation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SampleIndex {
    /// None: interpolation at the centre or centroid.
    #[default]
    None,
    /// An immediate.
    Imm(u8),
    /// A 16-bit register.
    Reg(u16),
}

/// A texture (or image) reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Texture {
    /// Texture state register `ts0` to `ts255`.
    State(u8),
    /// Texture state register whose number is in a 16-bit register.
    StateReg(u16),
    /// Encoding 2: seen in Apple's code with 0, meaning unknown. Holds the raw value.
    Unknown(u8),
    /// Bindless: a descriptor at `base` plus the byte offset in a 32-bit register.
    Bindless(u16),
}

impl Default for Texture {
    fn default() -> Self {
        Texture::State(0)
    }
}

/// The heap of bindless texture descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TexBase {
    /// Not bindless. The number held is ignored as far as known; 0 in all seen code.
    None(u8),
    /// A 64-bit uniform: first half-uniform, a multiple of 4.
    Uniform(u16),
}

impl Default for TexBase {
    fn default() -> Self {
        TexBase::None(0)
    }
}

/// A sampler reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sampler {
    /// Sampler state register `ss0` to `ss255`.
    State(u8),
    /// Sampler state register whose number is in a 16-bit register.
    StateReg(u16),
}

impl Default for Sampler {
    fn default() -> Self {
        Sampler::State(0)
    }
}

/// Texture coordinates: consecutive registers.
///
/// With 32-bit coordinates: one 32-bit register each for x, y, z, then one half-register each for
/// sample index and layer (in this order) where the dimension has them. With 16-bit coordinates:
/// one half-register each, in the same order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Coords {
    /// First half-register.
    pub reg: u16,
    /// Width of x, y and z.
    pub size: Size,
    /// Number of x, y, z coordinates.
    pub axes: u8,
    /// Number of 16-bit coordinates after them: sample index, layer.
    pub extras: u8,
    /// The registers are not needed afterwards.
    pub discard: bool,
}

impl Coords {
    /// Half-registers covered.
    pub const fn halves(self) -> u16 {
        self.axes as u16 * self.size.halves() + self.extras as u16
    }
}

/// The level-of-detail source of a texture instruction; what it means is in its `lod_mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lod {
    /// None (automatic). The number held is ignored as far as known; 0 in all seen code.
    None(u8),
    /// `count` 16-bit uniforms: bias or minimum, or bias then minimum.
    Uniform {
        /// First half-uniform.
        reg: u16,
        /// 1 or 2.
        count: u8,
    },
    /// `count` 16-bit registers: bias or minimum, or bias then minimum.
    Reg {
        /// First half-register.
        reg: u16,
        /// 1 or 2.
        count: u8,
    },
    /// Gradients in 32-bit registers: d/dx and d/dy of each axis in turn, then perhaps the
    /// minimum in the low half of one more.
    Gradient {
        /// First half-register.
        reg: u16,
        /// 32-bit registers.
        count: u8,
    },
}

impl Default for Lod {
    fn default() -> Self {
        Lod::None(0)
    }
}

/// Depth comparison value and texel offset of a texture instruction: a 32-bit register if it
/// compares, followed by a 16-bit one if it has offsets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CompareOffset {
    /// First half-register.
    pub reg: u16,
    /// There is a comparison value.
    pub compare: bool,
    /// There are texel offsets: signed 4 bits for each axis, x lowest.
    pub offset: bool,
}

/// An operand that can hold a register, to be replaced: how compilers fill in registers.
#[derive(Debug)]
#[allow(missing_docs, reason = "the names are those of the operand types")]
pub enum OperandMut<'a> {
    Dst(&'a mut Dst),
    Src(&'a mut Src),
    RegVec(&'a mut RegVec),
    Base64(&'a mut Base64),
    Index(&'a mut Index),
    LocalIndex(&'a mut LocalIndex),
    StateOffset(&'a mut StateOffset),
    LocalBase(&'a mut LocalBase),
    Coords(&'a mut Coords),
    Lod(&'a mut Lod),
    CompareOffset(&'a mut CompareOffset),
    RegOrImm(&'a mut RegOrImm),
    Coef(&'a mut Coef),
    SampleIndex(&'a mut SampleIndex),
    Texture(&'a mut Texture),
    Sampler(&'a mut Sampler),
}

impl OperandMut<'_> {
    /// The register and the half-registers that it covers; `None` if the operand holds something
    /// else.
    pub fn reg(&self) -> Option<(u16, u16)> {
        match self {
            OperandMut::Dst(d) => Some((d.reg, d.size.halves())),
            OperandMut::Src(s) => match s.kind {
                SrcKind::Reg(r) => Some((r, s.size.halves())),
                _ => None,
            },
            OperandMut::RegVec(v) => (v.count != 0).then(|| (v.reg, v.halves())),
            OperandMut::Base64(Base64::Reg(r)) => Some((*r, 4)),
            OperandMut::Index(Index::Reg(r)) | OperandMut::StateOffset(StateOffset::Reg(r)) => {
                Some((*r, 2))
            }
            OperandMut::LocalIndex(LocalIndex::Reg(r))
            | OperandMut::LocalBase(LocalBase::Reg(r))
            | OperandMut::RegOrImm(RegOrImm::Reg(r))
            | OperandMut::Coef(Coef::Reg(r))
            | OperandMut::SampleIndex(SampleIndex::Reg(r))
            | OperandMut::Texture(Texture::StateReg(r))
            | OperandMut::Sampler(Sampler::StateReg(r)) => Some((*r, 1)),
            OperandMut::Texture(Texture::Bindless(r)) => Some((*r, 2)),
            OperandMut::Coords(c) => Some((c.reg, c.halves())),
            OperandMut::Lod(Lod::Reg { reg, count }) => Some((*reg, u16::from(*count))),
            OperandMut::Lod(Lod::Gradient { reg, count }) => Some((*reg, 2 * u16::from(*count))),
            OperandMut::CompareOffset(c) => {
                let halves = 2 * u16::from(c.compare) + u16::from(c.offset);
                (halves != 0).then_some((c.reg, halves))
            }
            _ => None,
        }
    }

    /// Replaces the register; nothing happens if the operand holds something else.
    pub fn set_reg(&mut self, new: u16) {
        match self {
            OperandMut::Dst(d) => d.reg = new,
            OperandMut::Src(s) => {
                if let SrcKind::Reg(r) = &mut s.kind {
                    *r = new;
                }
            }
            OperandMut::RegVec(v) => v.reg = new,
            OperandMut::Coords(c) => c.reg = new,
            OperandMut::CompareOffset(c) => c.reg = new,
            OperandMut::Base64(Base64::Reg(r))
            | OperandMut::Index(Index::Reg(r))
            | OperandMut::LocalIndex(LocalIndex::Reg(r))
            | OperandMut::StateOffset(StateOffset::Reg(r))
            | OperandMut::LocalBase(LocalBase::Reg(r))
            | OperandMut::RegOrImm(RegOrImm::Reg(r))
            | OperandMut::Coef(Coef::Reg(r))
            | OperandMut::SampleIndex(SampleIndex::Reg(r))
            | OperandMut::Texture(Texture::StateReg(r) | Texture::Bindless(r))
            | OperandMut::Sampler(Sampler::StateReg(r))
            | OperandMut::Lod(Lod::Reg { reg: r, .. } | Lod::Gradient { reg: r, .. }) => *r = new,
            _ => {}
        }
    }
}
