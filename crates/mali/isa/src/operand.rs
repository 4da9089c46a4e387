//! Operands: registers, uniforms, constants, special values, and the parts of them that a source
//! selects.
//!
// source: Mesa, src/panfrost/compiler/valhall/ISA.xml ("Immediates", "FAU special page", the
// enumerations of swizzles), valhall.py (`Source`).

use std::fmt;

use crate::table::Row;
use crate::table::field::{Select, SourceField};

/// Registers of a thread.
pub const REGISTERS: u8 = 64;

/// The constants that a source can name, by their number.
pub const CONSTANTS: [u32; 32] = [
    0x0000_0000,
    0xffff_ffff,
    0x7fff_ffff,
    0xfafc_fdfe,
    0x0100_0000,
    0x8000_2000,
    0x7060_5030,
    0xc0b0_a090,
    0x0302_0100,
    0x0706_0504,
    0x0b0a_0908,
    0x0f0e_0d0c,
    0x1312_1110,
    0x1716_1514,
    0x1b1a_1918,
    0x1f1e_1d1c,
    0x3f80_0000,
    0x3dcc_cccd,
    0x3ea2_f983,
    0x3f31_7218,
    0x4049_0fdb,
    0x0000_0000,
    0x477f_ff00,
    0x5c00_5bf8,
    0x2e66_0000,
    0x3400_0000,
    0x3800_0000,
    0x3c00_0000,
    0x4000_0000,
    0x4400_0000,
    0x4800_0000,
    0x4248_0000,
];

/// The number of a constant with a value.
pub fn constant(value: u32) -> Option<u8> {
    let at = CONSTANTS.iter().position(|c| *c == value)?;
    u8::try_from(at).ok()
}

macro_rules! specials {
    ($($(#[doc = $doc:literal])+ $name:ident = $page:literal $index:literal $text:literal;)*) => {
        /// A 64-bit value that the hardware provides in addition to uniforms.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Special {
            $($(#[doc = $doc])+ $name,)*
        }

        impl Special {
            /// All special values.
            pub const ALL: &[Special] = &[$(Special::$name),*];

            /// Its page, and its index in the page.
            pub const fn place(self) -> (u8, u8) {
                match self { $(Special::$name => ($page, $index),)* }
            }

            /// The name in text.
            pub const fn name(self) -> &'static str {
                match self { $(Special::$name => $text,)* }
            }

            /// Its description.
            pub const fn doc(self) -> &'static str {
                match self { $(Special::$name => concat!($($doc),+),)* }
            }

            /// The special value of a page and an index.
            pub const fn at(page: u8, index: u8) -> Option<Special> {
                match (page, index) {
                    $(($page, $index) => Some(Special::$name),)*
                    _ => None,
                }
            }
        }
    };
}

specials! {
    /// The warp's number on its core, and the number of warps per core minus one.
    WarpId = 0 2 "warp_id";
    /// The largest coordinates inside of the bounding box.
    FramebufferSize = 0 4 "framebuffer_size";
    /// The parameter of ATEST.
    AtestDatum = 0 5 "atest_datum";
    /// The address of the sample positions.
    Sample = 0 6 "sample";
    /// The blend descriptor of render target 0.
    BlendDescriptor0 = 0 8 "blend_descriptor_0";
    /// The blend descriptor of render target 1.
    BlendDescriptor1 = 0 9 "blend_descriptor_1";
    /// The blend descriptor of render target 2.
    BlendDescriptor2 = 0 10 "blend_descriptor_2";
    /// The blend descriptor of render target 3.
    BlendDescriptor3 = 0 11 "blend_descriptor_3";
    /// The blend descriptor of render target 4.
    BlendDescriptor4 = 0 12 "blend_descriptor_4";
    /// The blend descriptor of render target 5.
    BlendDescriptor5 = 0 13 "blend_descriptor_5";
    /// The blend descriptor of render target 6.
    BlendDescriptor6 = 0 14 "blend_descriptor_6";
    /// The blend descriptor of render target 7.
    BlendDescriptor7 = 0 15 "blend_descriptor_7";
    /// The address of thread-local storage.
    ThreadLocalPointer = 1 1 "thread_local_pointer";
    /// The address of workgroup-local storage.
    WorkgroupLocalPointer = 1 3 "workgroup_local_pointer";
    /// The address of the table of resource tables.
    ResourceTablePointer = 1 7 "resource_table_pointer";
    /// The lane in the warp.
    LaneId = 3 1 "lane_id";
    /// The core's number.
    CoreId = 3 3 "core_id";
    /// The address of the next instruction.
    ProgramCounter = 3 15 "program_counter";
}

/// The origin of a source's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A register, 0 to 63; for 64 bits, the lower of two.
    Register {
        /// Its number.
        index: u8,
        /// Whether its value is not needed after the instruction.
        last: bool,
    },
    /// A uniform word: fast-access uniforms of the shader, 0 to 255.
    Uniform(u8),
    /// A number of [`CONSTANTS`].
    Constant(u8),
    /// A word of a special value: the lower (0) or the upper (1).
    Special(Special, u8),
}

impl Operand {
    /// A register.
    pub const fn register(index: u8) -> Operand {
        Operand::Register { index, last: false }
    }

    /// The page of uniforms or special values, if it is one of them.
    pub const fn page(self) -> Option<u8> {
        match self {
            Operand::Uniform(index) => Some(index >> 6),
            Operand::Special(special, _) => Some(special.place().0),
            _ => None,
        }
    }

    /// The eight bits of a source.
    pub(crate) fn bits(self) -> u8 {
        match self {
            Operand::Register { index, last } => index & 0x3f | u8::from(last) << 6,
            Operand::Uniform(index) => 0x80 | index & 0x3f,
            Operand::Constant(index) => 0xc0 | index & 0x1f,
            Operand::Special(special, word) => 0xe0 | special.place().1 << 1 | word & 1,
        }
    }

    /// The operand of eight bits; `None` for a special value that does not exist.
    pub(crate) fn from_bits(bits: u8, page: u8) -> Option<Operand> {
        Some(match bits >> 5 {
            0..=3 => Operand::Register { index: bits & 0x3f, last: bits & 0x40 != 0 },
            4 | 5 => Operand::Uniform(bits & 0x3f | page << 6),
            6 => Operand::Constant(bits & 0x1f),
            _ => Operand::Special(Special::at(page, bits >> 1 & 0xf)?, bits & 1),
        })
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Operand::Register { index, last } => {
                write!(f, "{}r{index}", if last { "^" } else { "" })
            }
            Operand::Uniform(index) => write!(f, "u{index}"),
            Operand::Constant(index) => {
                let value = CONSTANTS[usize::from(index) % CONSTANTS.len()];
                // Zero has two numbers.
                match constant(value) == Some(index) {
                    true => write!(f, "{value:#X}"),
                    false => write!(f, "imm{index}"),
                }
            }
            Operand::Special(special, word) => write!(f, "{}.w{word}", special.name()),
        }
    }
}

/// A source of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// The operand.
    pub operand: Operand,
    /// Negated, after taking the absolute value.
    pub neg: bool,
    /// Absolute value.
    pub abs: bool,
    /// Bitwise inverted.
    pub not: bool,
    /// The selected parts.
    pub swizzle: Swizzle,
}

impl Source {
    /// A source without modifiers.
    pub const fn new(operand: Operand) -> Source {
        Source { operand, neg: false, abs: false, not: false, swizzle: Swizzle::Identity }
    }
}

/// A destination register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dest {
    /// The register; for 64 bits, the lower of two.
    pub register: u8,
    /// The halves that are written.
    pub halves: Halves,
}

/// Halves of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Halves {
    /// Bits 0 to 15.
    Low = 1,
    /// Bits 16 to 31.
    High = 2,
    /// All bits.
    Both = 3,
}

impl fmt::Display for Dest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let half = match self.halves {
            Halves::Low => ".h0",
            Halves::High => ".h1",
            Halves::Both => "",
        };
        write!(f, "r{}{half}", self.register)
    }
}

/// Staging registers of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Staging {
    /// The first; 0 if there are none.
    pub register: u8,
    /// Number of consecutive registers.
    pub count: u8,
}

impl fmt::Display for Staging {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("@")?;
        for i in 0..self.count {
            write!(f, "{}r{}", if i == 0 { "" } else { ":" }, self.register + i)?;
        }
        Ok(())
    }
}

macro_rules! swizzles {
    ($($name:ident $text:literal)*) => {
        /// Parts of a register that a source selects. Names list halves (`h`), bytes (`b`) or words (`w`),
        /// the part of the lowest lane first.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub enum Swizzle {
            /// The whole register, each part in its own lane.
            #[default]
            Identity,
            $(#[doc = concat!("`.", $text, "`")] $name,)*
        }

        impl Swizzle {
            /// The name in text.
            pub const fn name(self) -> &'static str {
                match self {
                    Swizzle::Identity => "",
                    $(Swizzle::$name => $text,)*
                }
            }
        }
    };
}

swizzles! {
    H0 "h0" H1 "h1" H00 "h00" H10 "h10" H11 "h11" W0 "w0" And "and" Lowbits "lowbits"
    B0 "b0" B1 "b1" B2 "b2" B3 "b3"
    B00 "b00" B10 "b10" B20 "b20" B30 "b30" B01 "b01" B11 "b11" B21 "b21" B31 "b31"
    B02 "b02" B12 "b12" B22 "b22" B32 "b32" B03 "b03" B13 "b13" B23 "b23" B33 "b33"
    B3210 "b3210" B0101 "b0101" B2323 "b2323" B0000 "b0000" B1111 "b1111" B2222 "b2222"
    B3333 "b3333" B2301 "b2301" B1032 "b1032" B0011 "b0011" B2233 "b2233"
}

/// Meanings of the values of a select field; `None` is reserved.
pub type Swizzles = &'static [Option<Swizzle>];

macro_rules! list {
    ($($name:ident)*) => { &[$(list!(@ $name)),*] };
    (@ Reserved) => { None };
    (@ $name:ident) => { Some(Swizzle::$name) };
}

const FLOAT32: Swizzles = list!(Identity H0 H1 Reserved);
const FLOAT16: Swizzles = list!(H00 H10 Identity H11);
const WIDEN8: Swizzles = list!(
    Identity B3210 B0101 B2323 B0000 B1111 B2222 B3333
    B2301 B1032 B0011 B2233 Reserved Reserved Reserved Reserved
);
const WIDEN16: Swizzles = list!(
    H00 H10 Identity H11 B00 B20 B02 B22 B11 B31 B13 B33 B01 B23 Reserved Reserved
);
const WIDEN32: Swizzles = list!(
    Identity Reserved H0 H1 B0 B1 B2 B3
    Reserved Reserved Reserved Reserved Reserved Reserved Reserved Reserved
);
const WIDEN64: Swizzles = list!(
    Identity Reserved H0 H1 B0 B1 B2 B3 W0
    Reserved Reserved Reserved Reserved Reserved Reserved Reserved
);
const LANES: Swizzles = list!(
    Reserved Reserved Reserved Reserved B00 B11 B22 B33
    Reserved Reserved Reserved Reserved Reserved Reserved Reserved Reserved
);
const HALF_SWIZZLE: Swizzles =
    list!(B00 B10 B20 B30 B01 B11 B21 B31 B02 B12 B22 B32 B03 B13 B23 B33);
const LANE8: Swizzles = list!(B0 B1 B2 B3);
const LANE16: Swizzles = list!(H0 H1);
const COMBINE: Swizzles = list!(Identity H0 H1 And Lowbits Reserved Reserved Reserved);

/// The select field of a source: its lowest bit, its number of bits and the meanings of its values.
pub fn select(row: &Row, source: &SourceField) -> Option<(u8, u8, Swizzles)> {
    let width = row.source_width(source);
    Some(match source.select {
        Select::Whole => return None,
        Select::Swizzle(start) => (start, 2, if width == 16 { FLOAT16 } else { FLOAT32 }),
        Select::Widen(start) => {
            let list = match width {
                8 => WIDEN8,
                16 => WIDEN16,
                64 => WIDEN64,
                _ => WIDEN32,
            };
            (start, 4, list)
        }
        Select::Lanes(start) => (start, 4, LANES),
        Select::HalfSwizzle(start) => (start, 4, HALF_SWIZZLE),
        Select::Lane(start) if width == 16 => (start, 1, LANE16),
        Select::Lane(start) => (start, 2, LANE8),
        Select::Combine(start) => (start, 3, COMBINE),
    })
}

/// The name that text may give to [`Swizzle::Identity`] of a source.
pub fn identity_name(row: &Row, source: &SourceField) -> &'static str {
    match row.source_width(source) {
        8 => "b0123",
        16 => "h01",
        _ => "none",
    }
}
