//! Reflection tables of declared packets: bit ranges, field types, enumerators.

use crate::packet::PacketInfo;

/// A run of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// First bit, counted from the first bit of the packet.
    pub start: u32,
    /// Number of bits.
    pub width: u32,
}

impl Piece {
    /// The piece that covers `start..end`.
    pub const fn new(start: u32, end: u32) -> Piece {
        assert!(end > start, "an empty run of bits");
        Piece { start, width: end - start }
    }

    /// The bit after the last.
    pub const fn end(self) -> u32 {
        self.start + self.width
    }
}

/// A revision of the hardware, by a number that grows from one to the next. What the numbers mean
/// is up to those who declare packets.
pub type Revision = u32;

/// The revisions of the hardware that have a field or a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revisions {
    since: Revision,
    before: Revision,
}

impl Revisions {
    /// The revision of those who name none: before all that declarations name.
    pub const FIRST: Revision = 0;

    /// All.
    pub const ALL: Revisions = Revisions { since: Revisions::FIRST, before: Revision::MAX };

    /// Revisions from `since` on.
    pub const fn since(self, since: Revision) -> Revisions {
        Revisions { since, ..self }
    }

    /// Revisions before `before`.
    pub const fn before(self, before: Revision) -> Revisions {
        Revisions { before, ..self }
    }

    /// Whether a revision is in the range.
    #[inline]
    pub const fn has(self, revision: Revision) -> bool {
        self.since <= revision && revision < self.before
    }
}

/// An enumerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnumValue {
    /// The encoding.
    pub value: u64,
    /// The name in the hardware's words.
    pub name: &'static str,
    /// Its documentation.
    pub doc: &'static str,
}

/// An enumeration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnumInfo {
    /// The name in the hardware's words.
    pub name: &'static str,
    /// Its documentation.
    pub doc: &'static str,
    /// The enumerators.
    pub values: &'static [EnumValue],
}

impl EnumInfo {
    /// The name of a raw value.
    pub fn name_of(&self, value: u64) -> Option<&'static str> {
        self.values.iter().find(|v| v.value == value).map(|v| v.name)
    }
}

/// Type of a field's bits, before a modifier.
#[derive(Clone, Copy, Debug)]
pub enum Base {
    /// An unsigned number.
    Uint,
    /// A number in two's complement.
    Int,
    /// An unsigned number that is printed in hexadecimal.
    Hex,
    /// A GPU address.
    Address,
    /// One bit.
    Bool,
    /// A 32-bit float.
    Float,
    /// A 16-bit float.
    Half,
    /// An unsigned fixed-point number, (raw + `bias`) / 2^`fraction`.
    UnsignedFixed {
        /// Bits after the binary point.
        fraction: u32,
        /// Added to the raw value, in units of the last bit.
        bias: u32,
    },
    /// One of a list of values.
    Enum(&'static EnumInfo),
    /// A nested packet.
    Packet(&'static PacketInfo),
    /// An array.
    Array {
        /// Type of an element.
        element: &'static Kind,
        /// Number of elements.
        count: u32,
        /// Bits from one element to the next.
        stride: u32,
        /// Bits of an element.
        width: u32,
    },
}

/// Transformation of a number into the stored bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modifier {
    /// Nothing.
    None,
    /// Shifted right by this many bits; the bits shifted out must be zero.
    Shr(u32),
    /// Decreased by this number.
    Minus(u64),
    /// Decreased, then shifted right.
    MinusShr {
        /// Subtracted before the shift.
        minus: u64,
        /// Bits shifted out.
        shr: u32,
    },
    /// Counted in groups of this size, rounded up; 2^width groups encode as zero.
    Groups(u64),
    /// The logarithm of a power of two.
    Log2,
}

/// The type of a field.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The type of the number.
    pub base: Base,
    /// The encoding of the number.
    pub modifier: Modifier,
}

impl Kind {
    /// A kind without a modifier.
    pub const fn plain(base: Base) -> Kind {
        Kind { base, modifier: Modifier::None }
    }

    /// This kind shifted right by `shr`.
    pub const fn shr(self, shr: u32) -> Kind {
        match self.modifier {
            Modifier::None => Kind { base: self.base, modifier: Modifier::Shr(shr) },
            _ => panic!("a shift goes directly on a number"),
        }
    }

    /// This kind decreased by `minus`, before a shift if there is one.
    pub const fn minus(self, minus: u64) -> Kind {
        let modifier = match self.modifier {
            Modifier::None => Modifier::Minus(minus),
            Modifier::Shr(shr) => Modifier::MinusShr { minus, shr },
            _ => panic!("a subtraction goes on a number or on a shifted number"),
        };
        Kind { base: self.base, modifier }
    }

    /// The type in words, for generated documentation.
    pub fn describe(&self) -> String {
        let base = match self.base {
            Base::Uint => "uint".into(),
            Base::Int => "int".into(),
            Base::Hex => "hex".into(),
            Base::Address => "address".into(),
            Base::Bool => "bool".into(),
            Base::Float => "float".into(),
            Base::Half => "half".into(),
            Base::UnsignedFixed { fraction, bias: 0 } => {
                format!("fixed, {fraction} bits after the point")
            }
            Base::UnsignedFixed { fraction, bias } => {
                format!("fixed, {fraction} bits after the point, {bias} less")
            }
            Base::Enum(info) => info.name.into(),
            Base::Packet(info) => info.name.into(),
            Base::Array { element, count, .. } => format!("{count} × {}", element.describe()),
        };
        match self.modifier {
            Modifier::None => base,
            Modifier::Shr(n) => format!("{base} >> {n}"),
            Modifier::Minus(n) => format!("{base} - {n}"),
            Modifier::MinusShr { minus, shr } => format!("({base} - {minus}) >> {shr}"),
            Modifier::Groups(n) => format!("{base} in groups of {n}"),
            Modifier::Log2 => format!("log2 of {base}"),
        }
    }
}

/// A field with one legal value.
#[derive(Clone, Copy, Debug)]
pub struct Fixed {
    /// The name in the hardware's words.
    pub name: &'static str,
    /// Its bits.
    pub piece: Piece,
    /// Its type.
    pub kind: Kind,
    /// The value.
    pub value: u64,
}

/// A field.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The name in the hardware's words.
    pub name: &'static str,
    /// The name of the Rust field.
    pub ident: &'static str,
    /// A description.
    pub doc: &'static str,
    /// The name of the packet, for messages.
    pub packet: &'static str,
    /// Its bits: one run, or several, the least significant first.
    pub pieces: &'static [Piece],
    /// Its type.
    pub kind: Kind,
    /// Smallest and largest number that the hardware accepts, if there is a limit.
    pub range: Option<(u64, u64)>,
    /// The revisions of the hardware that have it.
    pub revisions: Revisions,
    /// The condition under which the field exists, as the declaration states it.
    pub condition: Option<&'static str>,
}

impl Field {
    /// Width in bits, all pieces together.
    pub const fn width(&self) -> u32 {
        let mut sum = 0;
        let mut i = 0;
        while i < self.pieces.len() {
            sum += self.pieces[i].width;
            i += 1;
        }
        sum
    }

    /// First bit of the least significant piece.
    pub const fn start(&self) -> u32 {
        self.pieces[0].start
    }
}
