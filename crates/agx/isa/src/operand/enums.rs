//! Enumerated operands: formats, conditions, modes, operations.

use crate::codec::hardware_enum;

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
        /// Version of `Rg11B10F`: rounding towards zero.
        Rg11B10FRtz = 14 "rg11b10f.rtz",
        /// Version of `Rgb9E5`: rounding towards zero.
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
    /// Types of a `convert`.
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
    /// Extension of a 32-bit register index to 64 bits.
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

    /// Whether it has a layer index.
    pub const fn is_array(self) -> bool {
        matches!(self, Dim::D1Array | Dim::D2Array | Dim::CubeArray | Dim::D2MsArray)
    }

    /// Whether it has a sample index.
    pub const fn is_multisampled(self) -> bool {
        matches!(self, Dim::D2Ms | Dim::D2MsArray)
    }

    /// Number of 16-bit coordinates after the axes: sample index, layer.
    pub const fn extras(self) -> u8 {
        self.is_array() as u8 + self.is_multisampled() as u8
    }
}

hardware_enum! {
    /// Level-of-detail mode of a texture instruction.
    // source: applegpu.py, the `lod` operand; agx_compiler.h, enum agx_lod_mode
    LodMode {
        /// From derivatives of the coordinates over the quad (level 0 for loads).
        Auto = 0 "auto_lod",
        /// Version of `Auto` plus a bias in a 16-bit uniform.
        BiasUniform = 1 "auto_lod_bias.u",
        /// The level in a 16-bit uniform, clamped by the sampler.
        LodUniform = 2 "lod_min.u",
        /// From the given gradients.
        Gradient = 4 "lod_grad",
        /// Version of `Auto` plus a bias in a 16-bit register.
        Bias = 5 "auto_lod_bias",
        /// The level in a 16-bit register, clamped by the sampler.
        Lod = 6 "lod_min",
        /// Version of `BiasUniform`: then at least the minimum in the next uniform.
        BiasMinUniform = 9 "auto_lod_bias_min.u",
        /// From the given gradients, then at least the given minimum.
        GradientMin = 12 "lod_grad_min",
        /// Version of `Bias`: then at least the minimum in the next register.
        BiasMin = 13 "auto_lod_bias_min",
    }
}

hardware_enum! {
    /// The kind of result of a texture instruction.
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
    /// Position at which a coefficient is interpolated.
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
        /// Version of `Up`: wrapping around.
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
