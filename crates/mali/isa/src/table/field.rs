//! Fields of the instruction word, of which rows consist.
//!
//! All instructions are 64 bits. Four places of eight bits, called slots here, may hold sources or
//! parts of immediates; bits 40 to 47 name the destination or a staging register, 48 to 56 are the
//! opcode, 57 and 58 the page of uniforms, 59 to 62 the flow.

use crate::modifier::Modifier;

/// The unit that executes an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Multiply and add.
    Fma,
    /// Conversions, comparisons, simple integers.
    Cvt,
    /// Special functions.
    Sfu,
    /// The load/store unit.
    LoadStore,
    /// Varyings.
    Varying,
    /// Textures.
    Texture,
    /// Varyings, then textures.
    VaryingTexture,
    /// Tile buffer, blending, barriers.
    Other,
}

impl Unit {
    /// Whether the instruction is a message to a unit outside of the execution engine.
    pub fn is_message(self) -> bool {
        !matches!(self, Unit::Fma | Unit::Cvt | Unit::Sfu)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Fma => "FMA",
            Unit::Cvt => "CVT",
            Unit::Sfu => "SFU",
            Unit::LoadStore => "load/store",
            Unit::Varying => "varying",
            Unit::Texture => "texture",
            Unit::VaryingTexture => "varying and texture",
            Unit::Other => "other",
        }
    }
}

/// The place of the secondary opcode: `mask` applies after a shift to the right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecondaryOpcode {
    /// Bits to shift.
    pub shift: u8,
    /// Bits that count.
    pub mask: u16,
}

/// A source's selection of parts of a register. The value is a field of the instruction word, whose names
/// depend on the source's width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Select {
    /// No selection.
    Whole,
    /// Two bits: a half of a float of 32 bits, or both halves of a register in some order.
    Swizzle(u8),
    /// Four bits: bytes, halves or words of an integer.
    Widen(u8),
    /// Four bits: the byte that holds a shift or a lane.
    Lanes(u8),
    /// Four bits: two bytes in some order.
    HalfSwizzle(u8),
    /// Two bits: a byte, or one bit: a half.
    Lane(u8),
    /// Three bits: the part of a condition that is used.
    Combine(u8),
}

/// A source.
#[derive(Clone, Copy, Debug)]
pub struct SourceField {
    /// The slot of eight bits.
    pub slot: u8,
    /// Its name.
    pub name: &'static str,
    /// Whether it may be negated, or its absolute value taken.
    pub float: bool,
    /// Whether it may be inverted, with bit 35.
    pub inverted: bool,
    /// Its selection of parts of a register.
    pub select: Select,
    /// Its width in bits, if it differs from the instruction's.
    pub width: Option<u8>,
}

/// A source in a slot.
pub const fn src(slot: u8, name: &'static str) -> SourceField {
    SourceField { slot, name, float: false, inverted: false, select: Select::Whole, width: None }
}

impl SourceField {
    /// Allows negation and absolute value.
    pub const fn float(self) -> SourceField {
        SourceField { float: true, ..self }
    }

    /// [`Select::Swizzle`].
    pub const fn swizzled(self) -> SourceField {
        SourceField { select: Select::Swizzle(28 - 2 * self.slot), ..self }
    }

    /// [`Select::Widen`].
    pub const fn widened(self) -> SourceField {
        SourceField { select: Select::Widen(if self.slot == 1 { 26 } else { 36 }), ..self }
    }

    /// [`Select::Lanes`].
    pub const fn lanes(self) -> SourceField {
        SourceField { select: Select::Lanes(26), ..self }
    }

    /// [`Select::HalfSwizzle`].
    pub const fn half_swizzled(self) -> SourceField {
        SourceField { select: Select::HalfSwizzle(36), ..self }
    }

    /// [`Select::Lane`].
    pub const fn lane(self, start: u8) -> SourceField {
        SourceField { select: Select::Lane(start), ..self }
    }

    /// [`Select::Combine`].
    pub const fn combined(self) -> SourceField {
        SourceField { select: Select::Combine(37), ..self }
    }

    /// Allows bitwise inversion.
    pub const fn inverted(self) -> SourceField {
        SourceField { inverted: true, ..self }
    }

    /// Sets a width that differs from the instruction's.
    pub const fn sized(self, width: u8) -> SourceField {
        SourceField { width: Some(width), ..self }
    }

    /// The bit that negates it. The next higher bit takes its absolute value.
    pub const fn negate_bit(&self) -> u8 {
        38 - 2 * self.slot
    }
}

/// The bit that inverts a source.
pub const INVERT_BIT: u8 = 35;

/// The field that holds the number of staging registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Bits 33 to 35.
    At33,
    /// Bits 36 to 38, minus one.
    LessOneAt36,
}

/// Staging registers: those that a message reads or writes.
#[derive(Clone, Copy, Debug)]
pub struct StagingField {
    /// The lowest bit of the register.
    pub start: u8,
    /// The two bits above the register.
    pub mark: u8,
    /// Whether the message writes them; else it reads them.
    pub write: bool,
    /// The field that holds their number.
    pub count: Count,
}

const fn staging(start: u8, mark: u8, write: bool, count: Count) -> StagingField {
    StagingField { start, mark, write, count }
}

/// Written registers.
pub const WRITE: StagingField = staging(40, 2, true, Count::At33);
/// Read registers.
pub const READ: StagingField = staging(40, 1, false, Count::At33);
/// Read registers of a message that writes others.
pub const READ_WRITTEN_APART: StagingField = staging(40, 3, false, Count::At33);
/// Read registers of a message that uses the two bits above the register otherwise.
pub const READ_UNMARKED: StagingField = staging(40, 0, false, Count::At33);
/// Written registers of a message that reads others.
pub const WRITE_AT_16: StagingField = staging(16, 0, true, Count::LessOneAt36);
/// Written registers of a message that uses bits 33 to 35 otherwise.
pub const WRITE_COUNTED_AT_36: StagingField = staging(40, 2, true, Count::LessOneAt36);

/// A number in the instruction.
#[derive(Clone, Copy, Debug)]
pub struct ImmediateField {
    /// Its name in text; that of `constant` is a `#`.
    pub name: &'static str,
    /// The lowest bit.
    pub start: u8,
    /// The number of bits.
    pub bits: u8,
    /// Whether its top bit is a sign.
    pub signed: bool,
}

/// An immediate without a sign.
pub const fn unsigned(name: &'static str, start: u8, bits: u8) -> ImmediateField {
    ImmediateField { name, start, bits, signed: false }
}

/// An immediate with a sign.
pub const fn signed(name: &'static str, start: u8, bits: u8) -> ImmediateField {
    ImmediateField { name, start, bits, signed: true }
}

/// Fields that several rows share.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// The unit that executes it.
    pub unit: Unit,
    /// The field of the secondary opcode.
    pub second: SecondaryOpcode,
    /// Whether it has a destination register.
    pub dest: bool,
    /// Its staging registers.
    pub staging: &'static [StagingField],
    /// Its sources.
    pub sources: &'static [SourceField],
    /// Its immediates.
    pub immediates: &'static [ImmediateField],
    /// Its modifiers, in the order of text.
    pub modifiers: &'static [Modifier],
}

const fn of(unit: Unit) -> Form {
    Form {
        unit,
        second: SecondaryOpcode { shift: 0, mask: 0 },
        dest: false,
        staging: &[],
        sources: &[],
        immediates: &[],
        modifiers: &[],
    }
}

/// No fields, executed by [`Unit::Fma`].
pub const FMA: Form = of(Unit::Fma);
/// No fields, executed by [`Unit::Cvt`].
pub const CVT: Form = of(Unit::Cvt);
/// No fields, executed by [`Unit::Sfu`].
pub const SFU: Form = of(Unit::Sfu);
/// No fields, executed by [`Unit::LoadStore`].
pub const LS: Form = of(Unit::LoadStore);
/// No fields, executed by [`Unit::Varying`].
pub const VARY: Form = of(Unit::Varying);
/// No fields, executed by [`Unit::Texture`].
pub const TEX: Form = of(Unit::Texture);
/// No fields, executed by [`Unit::VaryingTexture`].
pub const VARTEX: Form = of(Unit::VaryingTexture);
/// No fields, executed by [`Unit::Other`].
pub const MESSAGE: Form = of(Unit::Other);

/// Bits 16 to 19.
pub const AT_16: SecondaryOpcode = SecondaryOpcode { shift: 16, mask: 0xf };
/// Bits 16 to 20.
pub const AT_16_5: SecondaryOpcode = SecondaryOpcode { shift: 16, mask: 0x1f };
/// Bits 24 to 27.
pub const AT_24: SecondaryOpcode = SecondaryOpcode { shift: 24, mask: 0xf };
/// Bits 24 and 25.
pub const AT_24_2: SecondaryOpcode = SecondaryOpcode { shift: 24, mask: 3 };
/// Bits 24, 25 and 32.
pub const AT_24_AND_32: SecondaryOpcode = SecondaryOpcode { shift: 24, mask: 0x103 };
/// Bits 27 to 29.
pub const AT_27: SecondaryOpcode = SecondaryOpcode { shift: 27, mask: 7 };
/// Bits 37 and 38.
pub const AT_37: SecondaryOpcode = SecondaryOpcode { shift: 37, mask: 3 };
