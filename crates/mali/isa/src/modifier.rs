//! Modifiers: the parts of a mnemonic after its name, each a field of a few bits.
//!
//! A [`ModifierKind`] lists the names of a field's values; a [`Modifier`] is a kind at a position in the instruction
//! word. Each kind with more than two values is also an enumeration, which
//! [`Inst::modifier`](crate::Inst::modifier) returns.
//!
// source: Mesa, src/panfrost/compiler/valhall/ISA.xml (`enum`), valhall.py (`MODIFIERS`).

/// The values of a modifier.
#[derive(Debug)]
pub struct ModifierKind {
    /// Its name.
    pub name: &'static str,
    /// Its description.
    pub doc: &'static str,
    /// Names by value; `None` is reserved.
    pub values: &'static [Option<&'static str>],
    /// The value that text omits. Without a default, text must name a value.
    pub default: Option<u8>,
}

impl ModifierKind {
    /// The name of a value.
    pub fn name_of(&self, value: u8) -> Option<&'static str> {
        self.values.get(usize::from(value)).copied().flatten()
    }

    /// The value with a name.
    pub fn value_of(&self, name: &str) -> Option<u8> {
        let at = self.values.iter().position(|v| !name.is_empty() && *v == Some(name))?;
        u8::try_from(at).ok()
    }
}

/// A modifier at a position in the instruction word.
#[derive(Clone, Copy, Debug)]
pub struct Modifier {
    /// Its values.
    pub kind: &'static ModifierKind,
    /// The lowest bit.
    pub start: u8,
    /// The number of bits.
    pub bits: u8,
}

impl Modifier {
    /// Whether it is a single bit, which text names if it is set.
    pub fn is_flag(&self) -> bool {
        self.kind.values.first() == Some(&Some(""))
    }
}

impl PartialEq for Modifier {
    /// Compares kinds only: an instruction has at most one modifier of each kind.
    fn eq(&self, other: &Modifier) -> bool {
        self.kind.name == other.kind.name
    }
}

/// An enumeration of a kind's values.
pub trait ModifierValue: Copy + Eq {
    /// The kind.
    const KIND: &'static ModifierKind;
    /// The enumerator of a value.
    fn from_raw(raw: u8) -> Option<Self>;
    /// The value.
    fn raw(self) -> u8;
}

/// Values by name, with gaps.
const fn values<const N: usize>(list: &[(u8, &'static str)]) -> [Option<&'static str>; N] {
    let mut all = [None; N];
    let mut i = 0;
    while i < list.len() {
        all[list[i].0 as usize] = Some(list[i].1);
        i += 1;
    }
    all
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $name:ident $text:literal $bits:literal {
        $($(#[default $($mark:tt)?])? $value:ident = $raw:literal $label:literal,)*
    })*) => {
        $(
            $(#[doc = $doc])+
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            #[repr(u8)]
            pub enum $name {
                $(#[doc = concat!("`.", $label, "`")] $value = $raw,)*
            }

            impl ModifierValue for $name {
                const KIND: &'static ModifierKind = &ModifierKind {
                    name: $text,
                    doc: concat!($($doc),+),
                    values: &values::<{ 1 << $bits }>(&[$(($raw, $label)),*]),
                    default: {
                        #[allow(unused_mut, unused_assignments)]
                        let mut default = Option::None;
                        $($(default = Some($raw); $($mark)?)?)*
                        default
                    },
                };

                fn from_raw(raw: u8) -> Option<$name> {
                    match raw {
                        $($raw => Some($name::$value),)*
                        _ => Option::None,
                    }
                }

                fn raw(self) -> u8 {
                    self as u8
                }
            }
        )*

        /// All kinds with more than two values.
        pub const KINDS: &[&ModifierKind] = &[$(<$name as ModifierValue>::KIND),*];
    };
}

kinds! {
    /// Actions in addition to the instruction itself: waits for dependency slots, reconvergence, the thread's
    /// end.
    Flow "flow" 4 {
        #[default] None = 0 "none",
        Wait0 = 1 "wait0",
        Wait1 = 2 "wait1",
        Wait01 = 3 "wait01",
        Wait2 = 4 "wait2",
        Wait02 = 5 "wait02",
        Wait12 = 6 "wait12",
        Wait012 = 7 "wait012",
        Wait0126 = 8 "wait0126",
        Wait = 9 "wait",
        Reconverge = 10 "reconverge",
        WaitResource = 12 "wait_resource",
        Discard = 13 "discard",
        End = 15 "end",
    }
    /// Clamping of a float result. NaN becomes the lower bound.
    Clamp "clamp" 2 {
        #[default] None = 0 "none",
        Clamp0Inf = 1 "clamp_0_inf",
        ClampM11 = 2 "clamp_m1_1",
        Clamp01 = 3 "clamp_0_1",
    }
    /// Rounding of a float result.
    RoundMode "round_mode" 2 {
        #[default] Rte = 0 "rte",
        Rtp = 1 "rtp",
        Rtn = 2 "rtn",
        Rtz = 3 "rtz",
    }
    /// The condition of a comparison. `gtlt` and `ne` differ for NaN; `total` is true if neither source is
    /// NaN.
    Condition "condition" 3 {
        Eq = 0 "eq",
        Gt = 1 "gt",
        Ge = 2 "ge",
        Ne = 3 "ne",
        Lt = 4 "lt",
        Le = 5 "le",
        Gtlt = 6 "gtlt",
        Total = 7 "total",
    }
    /// The representation of true.
    ResultType "result_type" 2 {
        I1 = 0 "i1",
        F1 = 1 "f1",
        M1 = 2 "m1",
        U1 = 3 "u1",
    }
    /// The condition on which MUX selects A.
    Mux "mux" 2 {
        Neg = 0 "neg",
        #[default] IntZero = 1 "int_zero",
        FpZero = 2 "fp_zero",
        Bit = 3 "bit",
    }
    /// Lanes of a subgroup.
    SubgroupSize "subgroup_size" 4 {
        Subgroup2 = 0 "subgroup2",
        Subgroup4 = 1 "subgroup4",
        Subgroup8 = 2 "subgroup8",
        #[default] Subgroup16 = 3 "subgroup16",
    }
    /// The operation of CLPER on the lane number that it is given.
    LaneOperation "lane_operation" 2 {
        #[default] None = 0 "none",
        Xor = 1 "xor",
        Accumulate = 2 "accumulate",
        Shift = 3 "shift",
    }
    /// The value that CLPER reads from an inactive lane.
    InactiveResult "inactive_result" 4 {
        #[default] Zero = 0 "zero",
        Umax = 1 "umax",
        I1 = 2 "i1",
        V2i1 = 3 "v2i1",
        Smin = 4 "smin",
        Smax = 5 "smax",
        V2smin = 6 "v2smin",
        V2smax = 7 "v2smax",
        V4smin = 8 "v4smin",
        V4smax = 9 "v4smax",
        F1 = 10 "f1",
        V2f1 = 11 "v2f1",
        Infn = 12 "infn",
        Inf = 13 "inf",
        V2infn = 14 "v2infn",
        V2inf = 15 "v2inf",
    }
    /// The treatment of NaN by FLUSH.
    NanMode "nan_mode" 2 {
        None = 0 "none",
        FlushNan = 1 "flush_nan",
        QuietNan = 2 "quiet_nan",
    }
    /// The dependency slot that a message takes.
    Slot "slot" 3 {
        Slot0 = 0 "slot0",
        Slot1 = 1 "slot1",
        Slot2 = 2 "slot2",
        Slot7 = 7 "slot7",
    }
    /// The kind of data that a memory access is for.
    MemoryAccess "memory_access" 3 {
        #[default] None = 0 "none",
        Istream = 1 "istream",
        Estream = 2 "estream",
        Force = 3 "force",
    }
    /// Position and extension of a loaded byte.
    LoadLane8 "load_lane_8_bit" 3 {
        #[default] B0 = 0 "b0",
        B1 = 1 "b1",
        B2 = 2 "b2",
        B3 = 3 "b3",
        H0 = 4 "h0",
        H1 = 5 "h1",
        W0 = 6 "w0",
        D0 = 7 "d0",
    }
    /// Position and extension of a loaded half.
    LoadLane16 "load_lane_16_bit" 3 {
        #[default] H0 = 0 "h0",
        H1 = 1 "h1",
        W0 = 2 "w0",
        D0 = 3 "d0",
    }
    /// Position of three loaded bytes.
    LoadLane24 "load_lane_24_bit" 3 {
        #[default] Identity = 0 "identity",
    }
    /// Position and extension of a loaded word.
    LoadLane32 "load_lane_32_bit" 3 {
        #[default] W0 = 0 "w0",
        D0 = 1 "d0",
    }
    /// Position of six loaded bytes.
    LoadLane48 "load_lane_48_bit" 3 {
        #[default] Identity = 4 "identity",
    }
    /// Position of two loaded words.
    LoadLane64 "load_lane_64_bit" 3 {
        #[default] Identity = 7 "identity",
    }
    /// Position of three loaded words.
    LoadLane96 "load_lane_96_bit" 3 {
        #[default] Identity = 6 "identity",
    }
    /// Position of four loaded words.
    LoadLane128 "load_lane_128_bit" 3 {
        #[default] Identity = 7 "identity",
    }
    /// The operation of an atomic. `axchg` with `.compare` is a compare and exchange.
    AtomicOperation "atomic_operation" 4 {
        Aadd = 2 "aadd",
        Asmin = 8 "asmin",
        Asmax = 9 "asmax",
        Aumin = 10 "aumin",
        Aumax = 11 "aumax",
        Aand = 12 "aand",
        Aor = 13 "aor",
        Axor = 14 "axor",
        Axchg = 15 "axchg",
    }
    /// The operation of an atomic with the constant 1.
    AtomicOperation1 "atomic_operation_with_1" 4 {
        Ainc = 0 "ainc",
        Adec = 1 "adec",
        Aumax1 = 2 "aumax1",
        Asmax1 = 3 "asmax1",
        Aor1 = 4 "aor1",
    }
    /// Components of a value.
    VectorSize "vector_size" 2 {
        #[default] None = 0 "none",
        V2 = 1 "v2",
        V3 = 2 "v3",
        V4 = 3 "v4",
    }
    /// The format of a value in registers.
    RegisterFormat "register_format" 3 {
        Auto = 0 "auto",
        F32 = 2 "f32",
        F16 = 3 "f16",
        S32 = 4 "s32",
        S16 = 5 "s16",
        U32 = 6 "u32",
        U16 = 7 "u16",
    }
    /// The format of a varying in memory.
    SourceFormat "source_format" 4 {
        SrcFlat32 = 0 "src_flat32",
        SrcFlat16 = 1 "src_flat16",
        SrcF32 = 2 "src_f32",
        SrcF16 = 3 "src_f16",
    }
    /// The position at which a varying is interpolated.
    SampleMode "sample_mode" 2 {
        Center = 0 "center",
        Centroid = 1 "centroid",
        Sample = 2 "sample",
        Explicit = 3 "explicit",
    }
    /// The effect on the hidden interpolation position.
    UpdateMode "update_mode" 2 {
        Store = 0 "store",
        Retrieve = 1 "retrieve",
        Clobber = 3 "clobber",
    }
    /// The position at which a varying that is fused with a texture is interpolated, and the effect on the
    /// hidden position.
    SampleUpdateMode "sample_and_update_mode" 3 {
        CenterStore = 0 "center_store",
        CentroidStore = 1 "centroid_store",
        SampleStore = 2 "sample_store",
        ExplicitStore = 3 "explicit_store",
        CenterClobber = 4 "center_clobber",
        SampleClobber = 6 "sample_clobber",
        Retrieve = 7 "retrieve",
    }
    /// A texture's dimension.
    Dimension "dimension" 2 {
        D1 = 0 "1d",
        D2 = 1 "2d",
        D3 = 2 "3d",
        Cube = 3 "cube",
    }
    /// The source of a texture's level of detail.
    LodMode "lod_mode" 3 {
        Zero = 0 "zero",
        Computed = 1 "computed",
        Explicit = 4 "explicit",
        ComputedBias = 5 "computed_bias",
        Grdesc = 6 "grdesc",
    }
    /// Components that a texture instruction returns.
    WriteMask "write_mask" 4 {
        R = 1 "r",
        G = 2 "g",
        Rg = 3 "rg",
        B = 4 "b",
        Rb = 5 "rb",
        Gb = 6 "gb",
        Rgb = 7 "rgb",
        A = 8 "a",
        Ra = 9 "ra",
        Ga = 10 "ga",
        Rga = 11 "rga",
        Ba = 12 "ba",
        Rba = 13 "rba",
        Gba = 14 "gba",
        #[default] Rgba = 15 "rgba",
    }
    /// The component that a gather returns.
    FetchComponent "fetch_component" 2 {
        Gather4R = 0 "gather4_r",
        Gather4G = 1 "gather4_g",
        Gather4B = 2 "gather4_b",
        Gather4A = 3 "gather4_a",
    }
    /// The type of a texture instruction's results. The value that Mesa's disassembler prints as reserved
    /// follows the texture's format: its compiler emits nothing else.
    RegisterType "register_type" 2 {
        Reserved = 0 "reserved",
        F = 1 "f",
        U = 2 "u",
        S = 3 "s",
    }
    /// The width of a texture instruction's results.
    RegisterWidth "register_width" 1 {
        W16 = 0 "16",
        W32 = 1 "32",
    }
    /// The widths of the results of a texture instruction that is fused with a varying.
    VaryingRegisterWidth "varying_texture_register_width" 2 {
        W16 = 0 "16",
        W32 = 1 "32",
        W16W32 = 2 "16.32",
        W32W32 = 3 "32.32",
    }
}

macro_rules! fields {
    (flags { $($flag:ident $label:literal $at:literal $doc:literal;)* }
     values { $($field:ident $name:ident $text:literal $start:literal $bits:literal;)* }) => {
        /// Modifiers at their positions.
        pub mod fields {
            use super::*;

            $(
                #[doc = $doc]
                pub const $flag: Modifier = Modifier {
                    kind: &ModifierKind {
                        name: $label,
                        doc: $doc,
                        values: &[Some(""), Some($label)],
                        default: Some(0),
                    },
                    start: $at,
                    bits: 1,
                };
            )*
            $(
                #[doc = concat!("[`", stringify!($name), "`] from bit ", stringify!($start), " on.")]
                pub const $field: Modifier = Modifier {
                    kind: &ModifierKind { name: $text, ..*<$name as ModifierValue>::KIND },
                    start: $start,
                    bits: $bits,
                };
            )*
            /// All one-bit modifiers.
            pub const FLAGS: &[Modifier] = &[$($flag),*];
        }
    };
}

fields! {
    flags {
        WIDE_INDICES "wide_indices" 8 "The texture operand is 64 bits: an index and a table each for texture and sampler.";
        ARRAY_ENABLE "array_enable" 10 "The coordinates have an array layer.";
        FTZ "ftz" 10 "Subnormal numbers become zero.";
        TEXEL_OFFSET "texel_offset" 11 "The staging registers have an offset in texels, or the sample.";
        FLUSH_INF "flush_inf" 11 "Infinities become the largest finite numbers.";
        SHADOW "shadow" 12 "The staging registers have a reference to compare with.";
        FORCE_DELTA_ENABLE "force_delta_enable" 12 "The staging registers hold differences rather than coordinates.";
        INTEGER_COORDINATES "integer_coordinates" 13 "Coordinates are texels.";
        LOD_BIAS_DISABLE "lod_bias_disable" 13 "The sampler's bias does not count.";
        LOD_CLAMP_DISABLE "lod_clamp_disable" 14 "The sampler's range of levels does not count.";
        DERIVATIVE_ENABLE "derivative_enable" 15 "The staging registers hold derivatives.";
        SQRT "sqrt" 24 "The exponent is made even, as square roots need it.";
        SECOND "second" 24 "The second step of the sequence.";
        STENCIL "stencil" 24 "Writes stencil.";
        LOG "log" 25 "The mantissa is between 0.75 and 1.5, as logarithms need it.";
        Z "z" 25 "Writes depth.";
        COMPARE "compare" 26 "Exchanges only if memory holds the compared value.";
        SATURATE "saturate" 30 "Results that do not fit become the nearest that does.";
        NOT_RESULT "not_result" 30 "Inverts the result.";
        RHADD "rhadd" 30 "Rounds up.";
        SIGNED "signed" 34 "Shifts the sign in.";
        CONSERVATIVE "conservative" 35 "The branch may be taken by lanes that need not.";
        EQ "eq" 36 "Branches if the source is zero.";
        NEG "neg" 38 "Subtracts.";
        PRESERVE_NULL "preserve_null" 39 "A null address stays null.";
        UNSIGNED "unsigned" 39 "Extends with zeros.";
        SKIP "skip" 39 "Helper lanes need no result.";
        ABSOLUTE "absolute" 40 "The target is an address.";
    }
    values {
        NAN_MODE NanMode "nan_mode" 8 2;
        LOD_MODE LodMode "lod_mode" 13 3;
        FETCH_COMPONENT FetchComponent "fetch_component" 14 2;
        ATOMIC_OPERATION AtomicOperation "atomic_operation" 22 4;
        ATOMIC_OPERATION_WITH_1 AtomicOperation1 "atomic_operation_with_1" 22 4;
        INACTIVE_RESULT InactiveResult "inactive_result" 22 4;
        WRITE_MASK WriteMask "write_mask" 22 4;
        MEMORY_ACCESS MemoryAccess "memory_access" 24 2;
        REGISTER_FORMAT RegisterFormat "register_format" 24 3;
        SOURCE_FORMAT SourceFormat "source_format" 24 4;
        VARYING_TEXTURE_REGISTER_WIDTH VaryingRegisterWidth "varying_texture_register_width" 24 2;
        REGISTER_TYPE RegisterType "register_type" 26 2;
        DIMENSION Dimension "dimension" 28 2;
        VECTOR_SIZE VectorSize "vector_size" 28 2;
        SLOT Slot "slot" 30 3;
        ROUND_MODE RoundMode "round_mode" 30 2;
        RESULT_TYPE ResultType "result_type" 30 2;
        CLAMP Clamp "clamp" 32 2;
        LANE_OPERATION LaneOperation "lane_operation" 32 2;
        MUX Mux "mux" 32 2;
        CONDITION Condition "condition" 32 3;
        SAMPLE_AND_UPDATE_MODE SampleUpdateMode "sample_and_update_mode" 33 3;
        LOAD_LANE_8_BIT LoadLane8 "load_lane_8_bit" 36 3;
        LOAD_LANE_16_BIT LoadLane16 "load_lane_16_bit" 36 3;
        LOAD_LANE_24_BIT LoadLane24 "load_lane_24_bit" 36 3;
        LOAD_LANE_32_BIT LoadLane32 "load_lane_32_bit" 36 3;
        LOAD_LANE_48_BIT LoadLane48 "load_lane_48_bit" 36 3;
        LOAD_LANE_64_BIT LoadLane64 "load_lane_64_bit" 36 3;
        LOAD_LANE_96_BIT LoadLane96 "load_lane_96_bit" 36 3;
        LOAD_LANE_128_BIT LoadLane128 "load_lane_128_bit" 36 3;
        UPDATE_MODE UpdateMode "update_mode" 36 2;
        SUBGROUP_SIZE SubgroupSize "subgroup_size" 36 4;
        MEMORY_ACCESS_AT_37 MemoryAccess "memory_access" 37 3;
        SAMPLE_MODE SampleMode "sample_mode" 38 2;
        REGISTER_WIDTH RegisterWidth "register_width" 46 1;
        SECONDARY_REGISTER_WIDTH RegisterWidth "secondary_register_width" 47 1;
    }
}
