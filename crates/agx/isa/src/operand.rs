//! Operand types: what table rows hold, decoded so that nobody else needs bit positions.
//!
//! Registers are always numbered in halves: `r0l` is 0, `r0h` is 1, `r1l` is 2. There are 256
//! half-registers (`r0` to `r127`) and 512 half-uniforms (`u0` to `u255`).

use core::fmt;

use crate::codec::hardware_enum;

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

/// Which form of a row with two lengths is encoded.
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

/// Where a source comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SrcKind {
    /// A general-purpose register: first half-register.
    Reg(u16),
    /// A uniform register: first half-uniform. The same for all threads.
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

/// The value of AGX's 8-bit float: sign, 3 exponent bits (bias 7 with the point behind the
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
    (0..=255u8).find(|bits| minifloat_decode(*bits).to_bits() == value.to_bits())
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
    /// Number of 16-bit extras behind them: sample index, layer.
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

hardware_enum! {
    /// Memory format of loads and stores.
    // source: applegpu.py, MEMORY_FORMATS; agx_compile.h, enum agx_format
    Format, unknown Unknown {
        /// 8-bit integer.
        I8 = 0 "i8",
        /// 16-bit integer.
        I16 = 1 "i16",
        /// 32-bit integer.
        I32 = 2 "i32",
        /// 16-bit float.
        F16 = 3 "f16",
        /// 8-bit unsigned normalised.
        U8Norm = 4 "u8norm",
        /// 8-bit signed normalised.
        S8Norm = 5 "s8norm",
        /// 16-bit unsigned normalised.
        U16Norm = 6 "u16norm",
        /// 16-bit signed normalised.
        S16Norm = 7 "s16norm",
        /// 10-10-10-2 bits unsigned normalised, packed into 32 bits.
        Rgb10A2 = 8 "rgb10a2",
        /// 8-bit sRGB (alpha linear).
        Srgba8 = 10 "srgba8",
        /// 11-11-10 bits float, packed into 32 bits.
        Rg11B10F = 12 "rg11b10f",
        /// 9-9-9 bits with a shared 5-bit exponent, packed into 32 bits.
        Rgb9E5 = 13 "rgb9e5",
        /// As `Rg11B10F`, rounding towards zero.
        Rg11B10FRtz = 14 "rg11b10f.rtz",
        /// As `Rgb9E5`, rounding towards zero.
        Rgb9E5Rtz = 15 "rgb9e5.rtz",
    }
}

impl Format {
    /// Bytes of one element in memory, to which addresses are aligned. Packed formats count in
    /// bytes for the index but read and write an aligned 32-bit word; see [`Format::is_packed`].
    /// `None` if the format is unknown.
    pub const fn element_bytes(self) -> Option<u32> {
        match self {
            Format::I8
            | Format::U8Norm
            | Format::S8Norm
            | Format::Rgb10A2
            | Format::Srgba8
            | Format::Rg11B10F
            | Format::Rgb9E5
            | Format::Rg11B10FRtz
            | Format::Rgb9E5Rtz => Some(1),
            Format::I16 | Format::F16 | Format::U16Norm | Format::S16Norm => Some(2),
            Format::I32 => Some(4),
            Format::Unknown(_) => None,
        }
    }

    /// All channels are packed into one 32-bit word; shift and channel mask are ignored.
    pub const fn is_packed(self) -> bool {
        self.packed_channels().is_some()
    }

    /// Channels of a packed format.
    pub const fn packed_channels(self) -> Option<u8> {
        match self {
            Format::Rgb10A2 => Some(4),
            Format::Rg11B10F | Format::Rgb9E5 | Format::Rg11B10FRtz | Format::Rgb9E5Rtz => Some(3),
            _ => None,
        }
    }
}

hardware_enum! {
    /// Integer condition.
    ICond, unknown Unknown {
        /// Equal (unsigned compare).
        Ueq = 0 "ueq",
        /// Unsigned less.
        Ult = 1 "ult",
        /// Unsigned greater.
        Ugt = 2 "ugt",
        /// Equal, after sign extension of each source from its own width.
        Seq = 4 "seq",
        /// Signed less.
        Slt = 5 "slt",
        /// Signed greater.
        Sgt = 6 "sgt",
        /// Not equal (unsigned compare).
        Nueq = 8 "nueq",
        /// Unsigned greater or equal.
        Ugte = 9 "ugte",
        /// Unsigned less or equal.
        Ulte = 10 "ulte",
        /// Not equal, after sign extension of each source from its own width.
        Nseq = 12 "nseq",
        /// Signed greater or equal.
        Sgte = 13 "sgte",
        /// Signed less or equal.
        Slte = 14 "slte",
    }
}

hardware_enum! {
    /// Float condition. Those with `n` in front negate the whole comparison, NaN included.
    FCond, unknown Unknown {
        /// Equal (false for NaN).
        Eq = 0 "eq",
        /// Less (false for NaN).
        Lt = 1 "lt",
        /// Greater (false for NaN).
        Gt = 2 "gt",
        /// Less, NaN loses: true if the second is NaN. With select it makes `fmin`.
        Ltn = 3 "ltn",
        /// Greater or equal (false for NaN).
        Gte = 5 "gte",
        /// Less or equal (false for NaN).
        Lte = 6 "lte",
        /// Greater, NaN loses: true if the second is NaN. With select it makes `fmax`.
        Gtn = 7 "gtn",
        /// Not equal.
        Neq = 8 "neq",
        /// Not less.
        Nlt = 9 "nlt",
        /// Not greater.
        Ngt = 10 "ngt",
        /// Not `ltn`.
        Nltn = 11 "nltn",
        /// Not greater or equal.
        Ngte = 13 "ngte",
        /// Not less or equal.
        Nlte = 14 "nlte",
        /// Not `gtn`.
        Ngtn = 15 "ngtn",
    }
}

hardware_enum! {
    /// What `convert` converts.
    ConvertMode, unknown Unknown {
        /// Unsigned 8-bit integer to float.
        U8ToF = 0 "u8_to_f",
        /// Signed 8-bit integer to float.
        S8ToF = 1 "s8_to_f",
        /// Float to unsigned 16-bit integer.
        FToU16 = 4 "f_to_u16",
        /// Float to signed 16-bit integer.
        FToS16 = 5 "f_to_s16",
        /// Unsigned 16-bit integer to float.
        U16ToF = 6 "u16_to_f",
        /// Signed 16-bit integer to float.
        S16ToF = 7 "s16_to_f",
        /// Float to unsigned 32-bit integer.
        FToU32 = 8 "f_to_u32",
        /// Float to signed 32-bit integer.
        FToS32 = 9 "f_to_s32",
        /// Unsigned 32-bit integer to float.
        U32ToF = 10 "u32_to_f",
        /// Signed 32-bit integer to float.
        S32ToF = 11 "s32_to_f",
    }
}

hardware_enum! {
    /// Rounding of `convert`.
    Round, unknown Unknown {
        /// Towards zero.
        Rtz = 0 "rtz",
        /// To nearest, ties to even.
        Rte = 1 "rte",
    }
}

hardware_enum! {
    /// Rounding of image stores. (The encoding is the other way round than in [`Round`].)
    StoreRound {
        /// To nearest, ties to even; also for integers.
        Rte = 0 "rte",
        /// Towards zero.
        Rtz = 1 "rtz",
    }
}

hardware_enum! {
    /// How a 32-bit register index is extended to 64 bits.
    Extend {
        /// Sign-extended.
        Signed = 0 "signed",
        /// Zero-extended.
        Unsigned = 1 "unsigned",
    }
}

hardware_enum! {
    /// Texture dimension.
    // source: applegpu.py, TEX_TYPES; agx_opcodes.py, DIM
    Dim {
        /// 1D.
        D1 = 0 "tex_1d",
        /// 1D array.
        D1Array = 1 "tex_1d_array",
        /// 2D.
        D2 = 2 "tex_2d",
        /// 2D array.
        D2Array = 3 "tex_2d_array",
        /// 2D multisampled.
        D2Ms = 4 "tex_2d_ms",
        /// 3D.
        D3 = 5 "tex_3d",
        /// Cube.
        Cube = 6 "tex_cube",
        /// Cube array.
        CubeArray = 7 "tex_cube_array",
        /// 2D multisampled array.
        D2MsArray = 8 "tex_2d_ms_array",
    }
}

impl Dim {
    /// Coordinates along axes: 1, 2 or 3.
    pub const fn axes(self) -> u8 {
        match self {
            Dim::D1 | Dim::D1Array => 1,
            Dim::D2 | Dim::D2Array | Dim::D2Ms | Dim::D2MsArray => 2,
            Dim::D3 | Dim::Cube | Dim::CubeArray => 3,
        }
    }

    /// Has a layer index.
    pub const fn is_array(self) -> bool {
        matches!(self, Dim::D1Array | Dim::D2Array | Dim::CubeArray | Dim::D2MsArray)
    }

    /// Has a sample index.
    pub const fn is_multisampled(self) -> bool {
        matches!(self, Dim::D2Ms | Dim::D2MsArray)
    }

    /// 16-bit extras behind the axes: sample index, layer.
    pub const fn extras(self) -> u8 {
        self.is_array() as u8 + self.is_multisampled() as u8
    }
}

hardware_enum! {
    /// How a texture instruction finds its level of detail.
    // source: applegpu.py, the `lod` operand; agx_compiler.h, enum agx_lod_mode
    LodMode {
        /// From derivatives of the coordinates over the quad (level 0 for loads).
        Auto = 0 "auto_lod",
        /// As `Auto` plus a bias in a 16-bit uniform.
        BiasUniform = 1 "auto_lod_bias.u",
        /// The level in a 16-bit uniform, clamped by the sampler.
        LodUniform = 2 "lod_min.u",
        /// From the given gradients.
        Gradient = 4 "lod_grad",
        /// As `Auto` plus a bias in a 16-bit register.
        Bias = 5 "auto_lod_bias",
        /// The level in a 16-bit register, clamped by the sampler.
        Lod = 6 "lod_min",
        /// As `BiasUniform`, then at least the minimum in the next uniform.
        BiasMinUniform = 9 "auto_lod_bias_min.u",
        /// From the given gradients, then at least the given minimum.
        GradientMin = 12 "lod_grad_min",
        /// As `Bias`, then at least the minimum in the next register.
        BiasMin = 13 "auto_lod_bias_min",
    }
}

hardware_enum! {
    /// What a texture instruction returns.
    TexMode, unknown Unknown {
        /// The texel.
        Sample = 0 "",
        /// Two values: the level clamped to the texture and sampler, and not clamped.
        QueryLod = 2 "query_lod",
    }
}

hardware_enum! {
    /// Gathering of one channel of four texels.
    Gather, unknown Unknown {
        /// No gather.
        None = 0 "none",
        /// Comparison (seen in Apple's code; Mesa sets only the `compare` flag).
        Compare = 1 "compare",
        /// Red.
        R = 2 "gather_r",
        /// Depth: gather with comparison (seen in Apple's code).
        Depth = 3 "gather_depth",
        /// Green.
        G = 6 "gather_g",
        /// Blue.
        B = 10 "gather_b",
        /// Alpha.
        A = 14 "gather_a",
    }
}

hardware_enum! {
    /// Where a coefficient is interpolated.
    Interpolation {
        /// At the pixel's centre.
        Center = 0 "center",
        /// At the sample given as an immediate.
        Sample = 1 "sample",
        /// At the centroid of the covered samples.
        Centroid = 2 "centroid",
        /// At the sample given in a register.
        SampleRegister = 3 "sample_register",
    }
}

hardware_enum! {
    /// Atomic operation.
    // source: applegpu.py, ATOMIC_OPCODES; agx_opcodes.py, ATOMIC_OPC
    AtomicOp, unknown Unknown {
        /// `old + s`.
        Add = 0 "add",
        /// `old - s`.
        Sub = 1 "sub",
        /// `s`.
        Xchg = 2 "xchg",
        /// `if old == expected { new } else { old }`: the source is a register pair: new, expected.
        CmpXchg = 3 "cmpxchg",
        /// Unsigned minimum.
        UMin = 4 "umin",
        /// Signed minimum.
        IMin = 5 "imin",
        /// Unsigned maximum.
        UMax = 6 "umax",
        /// Signed maximum.
        IMax = 7 "imax",
        /// `old & s`.
        And = 8 "and",
        /// `old | s`.
        Or = 9 "or",
        /// `old ^ s`.
        Xor = 10 "xor",
    }
}

hardware_enum! {
    /// Shuffle pattern.
    Shuffle {
        /// From the given lane.
        Index = 0 "",
        /// From the lane whose number differs in the given bits.
        Xor = 1 "_xor",
        /// From the lane that is the given number lower.
        Up = 2 "_up",
        /// From the lane that is the given number higher.
        Down = 3 "_down",
        /// As `Up`, wrapping around.
        RotateUp = 6 "_rotate_up",
    }
}

hardware_enum! {
    /// Operation of a reduction or prefix scan.
    // source: agx_opcodes.py, SIMD_OP; applegpu.py, the simd_op table
    SimdOp {
        /// Bitwise and.
        And = 0b00000 "and",
        /// Float sum.
        FAdd = 0b00001 "fadd",
        /// Bitwise or.
        Or = 0b00010 "or",
        /// Float product.
        FMul = 0b00011 "fmul",
        /// Bitwise exclusive or.
        Xor = 0b00100 "xor",
        /// Float minimum.
        FMin = 0b00101 "min.f",
        /// Float maximum.
        FMax = 0b00111 "max.f",
        /// Integer sum.
        IAdd = 0b10000 "iadd",
        /// Signed minimum.
        SMin = 0b10100 "min.s",
        /// Signed maximum.
        SMax = 0b10110 "max.s",
        /// Unsigned minimum.
        UMin = 0b11100 "min.u",
        /// Unsigned maximum.
        UMax = 0b11110 "max.u",
    }
}

hardware_enum! {
    /// The lanes that a sub-group operation covers.
    Scope {
        /// The four lanes of a quad.
        Quad = 0 "quad",
        /// The 32 lanes of a SIMD-group.
        Simd = 1 "simd",
    }
}

hardware_enum! {
    /// Shape of an asynchronous copy.
    CopyShape {
        /// A run of bytes.
        D1 = 0 "copy_1d",
        /// A rectangle.
        D2 = 1 "copy_2d",
    }
}

/// A special register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SpecialReg(pub u8);

impl SpecialReg {
    // source: applegpu.py, SR_NAMES; those marked (Mesa) from agx_opcodes.py, SR
    const NAMES: &'static [(u8, &'static str)] = &[
        (0, "threadgroup_position_in_grid.x"),
        (1, "threadgroup_position_in_grid.y"),
        (2, "threadgroup_position_in_grid.z"),
        (4, "threads_per_threadgroup.x"),
        (5, "threads_per_threadgroup.y"),
        (6, "threads_per_threadgroup.z"),
        (8, "dispatch_threads_per_threadgroup.x"),
        (9, "dispatch_threads_per_threadgroup.y"),
        (10, "dispatch_threads_per_threadgroup.z"),
        (14, "samples_log2"), // (Mesa)
        (20, "core_index"),
        (21, "vm_slot"),
        (48, "thread_position_in_threadgroup.x"),
        (49, "thread_position_in_threadgroup.y"),
        (50, "thread_position_in_threadgroup.z"),
        (51, "thread_index_in_threadgroup"),
        (52, "thread_index_in_simdgroup"),
        (53, "simdgroup_index_in_threadgroup"),
        (56, "active_thread_index_in_quadgroup"),
        (57, "total_active_threads_in_quadgroup"), // (Mesa)
        (58, "active_thread_index_in_simdgroup"),
        (59, "total_active_threads_in_simdgroup"), // (Mesa)
        (60, "internal_coverage_mask"),
        (62, "backfacing"),
        (63, "is_active_thread"),
        (80, "thread_position_in_grid.x"),
        (81, "thread_position_in_grid.y"),
        (82, "thread_position_in_grid.z"),
        (124, "input_sample_mask"),
        (144, "opfifo_cmd"),
        (146, "opfifo_data_l"),
        (147, "opfifo_data_h"),
    ];

    /// Its name, if its meaning is known.
    pub fn name(self) -> Option<&'static str> {
        Self::NAMES.iter().find(|(n, _)| *n == self.0).map(|(_, name)| *name)
    }

    /// All special registers with a known meaning.
    pub fn named() -> impl Iterator<Item = (SpecialReg, &'static str)> {
        Self::NAMES.iter().map(|(n, name)| (SpecialReg(*n), *name))
    }
}

impl fmt::Display for SpecialReg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "sr{} ({name})", self.0),
            None => write!(f, "sr{}", self.0),
        }
    }
}
