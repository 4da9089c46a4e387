//! Operands: registers, regions, immediates.

use std::fmt;

use crate::types::Type;

/// An architecture register, without its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Arf {
    /// Reads as nothing; writes are dropped.
    Null = 0x0,
    /// Addresses for indirect operands and descriptors: 16 words.
    Address = 0x1,
    /// Accumulators.
    Accumulator = 0x2,
    /// Flags.
    Flag = 0x3,
    /// Channel enables.
    Mask = 0x4,
    /// State: dispatch mask and others.
    State = 0x7,
    /// Control: float mode, exceptions.
    Control = 0x8,
    /// Notification counts.
    Notification = 0x9,
    /// Instruction pointer.
    Ip = 0xa,
    /// Thread dependency.
    Dependency = 0xb,
    /// Timestamp.
    Timestamp = 0xc,
}

impl Arf {
    /// All architecture registers, with the letters in assembly. source: Mesa, `brw_disasm.c` (`reg`),
    /// `brw_eu_defines.h`.
    pub const ALL: &[(Arf, &str)] = &[
        (Arf::Null, "null"),
        (Arf::Address, "a"),
        (Arf::Accumulator, "acc"),
        (Arf::Flag, "f"),
        (Arf::Mask, "mask"),
        (Arf::State, "sr"),
        (Arf::Control, "cr"),
        (Arf::Notification, "n"),
        (Arf::Ip, "ip"),
        (Arf::Dependency, "tdr"),
        (Arf::Timestamp, "tm"),
    ];

    /// The letters in assembly.
    pub fn letters(self) -> &'static str {
        Arf::ALL.iter().find(|(arf, _)| *arf == self).map_or("", |(_, letters)| letters)
    }

    /// Whether there is only one register of this kind, whose name has no number.
    pub const fn is_single(self) -> bool {
        matches!(self, Arf::Null | Arf::Ip)
    }
}

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Register {
    /// A general register, 0 to 127.
    General(u8),
    /// An architecture register with its number.
    Architecture(Arf, u8),
}

impl Register {
    /// The null register.
    pub const NULL: Register = Register::Architecture(Arf::Null, 0);

    /// The number as encoded: an architecture register has its kind in the high bits.
    pub const fn code(self) -> u8 {
        match self {
            Register::General(n) => n,
            Register::Architecture(arf, n) => (arf as u8) << 4 | n,
        }
    }

    /// The register with a code; `None` for reserved ones.
    pub fn from_code(general: bool, code: u8) -> Option<Register> {
        if general {
            return (code < 128).then_some(Register::General(code));
        }
        let (arf, _) = Arf::ALL.iter().find(|(arf, _)| *arf as u8 == code >> 4)?;
        let n = code & 15;
        (n == 0 || !arf.is_single()).then_some(Register::Architecture(*arf, n))
    }

    /// A general register.
    pub const fn is_general(self) -> bool {
        matches!(self, Register::General(_))
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Register::General(n) => write!(f, "g{n}"),
            Register::Architecture(arf, _) if arf.is_single() => f.write_str(arf.letters()),
            Register::Architecture(arf, n) => write!(f, "{}{n}", arf.letters()),
        }
    }
}

/// The location of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Location {
    /// In a register.
    Direct {
        /// The register.
        register: Register,
        /// First byte in it.
        byte: u8,
    },
    /// In the general registers, at a0's value plus an offset, in bytes.
    Indirect {
        /// Subregister of a0, 0 to 15; of the first channel if each row has its own.
        address: u8,
        /// Added to it: -512 to 511.
        offset: i16,
    },
    /// An immediate. 16-bit values are repeated in both halves of 32 bits.
    Immediate(u64),
}

impl Location {
    /// The null register.
    pub const NULL: Location = Location::Direct { register: Register::NULL, byte: 0 };

    /// A register, from its first byte.
    pub const fn register(register: Register) -> Location {
        Location::Direct { register, byte: 0 }
    }
}

/// The arrangement of a source's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Region {
    /// `<vertical,width,horizontal>`: rows of `width` elements, `horizontal` elements apart; rows
    /// `vertical` elements apart.
    Rows {
        /// 0, 1, 2, 4, 8, 16 or 32.
        vertical: u8,
        /// 1, 2, 4, 8 or 16.
        width: u8,
        /// 0, 1, 2 or 4.
        horizontal: u8,
    },
    /// `<VxH,width,horizontal>`: each row has its own address register.
    PerRow {
        /// 1, 2, 4, 8 or 16.
        width: u8,
        /// 0, 1, 2 or 4.
        horizontal: u8,
    },
    /// Align16: groups of four components in the order given by `swizzle` (two bits each, x lowest), groups
    /// `vertical` elements apart.
    Swizzle {
        /// 0 to 32.
        vertical: u8,
        /// The order.
        swizzle: u8,
    },
}

impl Region {
    /// `<8,8,1>`
    pub const VECTOR: Region = Region::Rows { vertical: 8, width: 8, horizontal: 1 };
    /// `<0,1,0>`
    pub const SCALAR: Region = Region::Rows { vertical: 0, width: 1, horizontal: 0 };
    /// The order of the components that keeps them in place.
    pub const XYZW: u8 = 0b11_10_01_00;
}

/// A destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dst {
    /// Its location.
    pub location: Location,
    /// Its type.
    pub ty: Type,
    /// Stride between channels in elements: 1, 2 or 4 (0 is reserved, and encodable).
    pub stride: u8,
    /// Align16: mask of the components that are written, x in bit 0. 15 in Align1.
    pub writemask: u8,
}

impl Dst {
    /// `null<1>UD`
    pub const NULL: Dst = Dst { location: Location::NULL, ty: Type::UD, stride: 1, writemask: 15 };
}

/// A source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Src {
    /// Its location.
    pub location: Location,
    /// Its type.
    pub ty: Type,
    /// Negated; inverted in bitwise operations.
    pub negate: bool,
    /// Absolute value, taken before the negation.
    pub abs: bool,
    /// The arrangement of its elements.
    pub region: Region,
}

impl Src {
    /// `null<8,8,1>UD`
    pub const NULL: Src = Src {
        location: Location::NULL,
        ty: Type::UD,
        negate: false,
        abs: false,
        region: Region::VECTOR,
    };

    /// An immediate source. 16-bit values are repeated in both halves.
    pub const fn immediate(ty: Type, value: u64) -> Src {
        let value = match ty.immediate_bytes() {
            2 => (value & 0xffff) | (value & 0xffff) << 16,
            4 => value & 0xffff_ffff,
            _ => value,
        };
        let location = Location::Immediate(value);
        Src { location, ty, negate: false, abs: false, region: Region::SCALAR }
    }

    /// The immediate's bits, if it is one.
    pub const fn immediate_bits(&self) -> Option<u64> {
        match self.location {
            Location::Immediate(bits) => Some(bits),
            _ => None,
        }
    }
}
