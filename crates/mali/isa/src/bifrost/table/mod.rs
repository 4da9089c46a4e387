//! The table: one row for each instruction of a unit.
//!
//! The rows are text, in files by theme. A row begins with the unit (`*` for FMA, `+` for ADD), the
//! mnemonic and the sources: `3:fb` is a source of three bits from bit 3 on, which can be the ports whose bits are in
//! the mask `fb` (all without a mask). Lines with two spaces before them follow:
//!
//! | line | meaning |
//! | --- | --- |
//! | `message load, staging w=2, dests 0, last, table` | the message; staging registers read, written or both, and how many; no destination; only at a clause's end; reads a special value |
//! | `clamp@15:2 = [none] clamp_0_1` | a modifier in two bits from bit 15 on, its values by number, `-` for reserved ones, in brackets the one that text leaves away. Without a place, encodings say where it is |
//! | `#index@3:5` | an immediate of five bits from bit 3 on |
//! | `7e0000 2c0000` | an encoding: the bits that tell it from others, and what they are |
//! | `… neg0@7:1 …` | where this encoding has a modifier |
//! | `… 9:3 widen0,widen1 = 0:none/none 1:none/h0` | bits that hold several modifiers together (`9:3+17:1`: also higher ones from bit 17 on), and what each number says. `ordering` is a modifier that the sources hold: `gt` if the first port's number is the greater one |
//!
//! Lines that begin with four spaces continue the line above.
//!
// source: Mesa, ISA.xml, bifrost_isa.py, gen_disasm.py (orderings).

mod parse;

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

use super::header::Message;

/// The unit that executes an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Multiplies and adds; first in a tuple.
    Fma,
    /// Adds, special functions, messages and branches.
    Add,
}

impl Unit {
    /// Bits of an instruction.
    pub const fn bits(self) -> u32 {
        match self {
            Unit::Fma => 23,
            Unit::Add => 20,
        }
    }

    /// The character before a mnemonic.
    pub const fn mark(self) -> char {
        match self {
            Unit::Fma => '*',
            Unit::Add => '+',
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unit::Fma => "FMA",
            Unit::Add => "ADD",
        })
    }
}

/// A bit field of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The lowest bit.
    pub start: u8,
    /// The number of bits.
    pub bits: u8,
}

impl Field {
    /// The field's value in an instruction.
    pub fn get(self, word: u32) -> u32 {
        word >> self.start & ((1 << self.bits) - 1)
    }
}

/// A source: three bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The lowest bit.
    pub start: u8,
    /// The ports that it can read, one bit each.
    pub ports: u8,
}

/// A modifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Modifier {
    /// Its name. A name that ends in the number of a source belongs to that source.
    pub name: &'static str,
    /// Its field, if it is the same in all encodings.
    pub field: Option<Field>,
    /// Its values by number; `None` for reserved ones.
    pub values: Vec<Option<&'static str>>,
    /// The value that text omits.
    pub default: Option<u8>,
}

/// An immediate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Immediate {
    /// Its name in text.
    pub name: &'static str,
    /// Its field.
    pub field: Field,
}

/// Staging registers of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Staging {
    /// The message reads them.
    pub read: bool,
    /// The message writes them.
    pub write: bool,
    /// The number of registers, `format` (determined by the register format) or `sr_count` (determined by a
    /// descriptor or a mask).
    pub count: &'static str,
}

/// The meaning of a number in an encoding's joint field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JointCase {
    /// The number.
    pub number: u32,
    /// Whether the first source's port must have the greater number, if the order matters.
    pub greater: Option<bool>,
    /// The value of each modifier of [`Encoding::joint`].
    pub values: Vec<u8>,
}

/// One of the encodings of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoding {
    /// The bits that identify the encoding.
    pub mask: u32,
    /// Their values.
    pub exact: u32,
    /// Modifiers that have a field of their own here, by their index in the row.
    pub direct: Vec<(usize, Field)>,
    /// Bits of the joint field, the lowest first.
    pub fields: Vec<Field>,
    /// Modifiers of the joint field, by their index in the row.
    pub joint: Vec<usize>,
    /// Meanings of the joint field. Cases with the same number differ by a modifier that has a field of its own
    /// too, or by the order of sources.
    pub cases: Vec<JointCase>,
}

impl Encoding {
    /// The number in the joint field.
    pub fn number(&self, word: u32) -> u32 {
        let mut shift = 0;
        self.fields.iter().fold(0, |number, field| {
            let part = field.get(word) << shift;
            shift += field.bits;
            number | part
        })
    }

    /// Distributes a number over the bits of the joint field.
    pub fn spread(&self, number: u32) -> u32 {
        let mut rest = number;
        self.fields.iter().fold(0, |word, field| {
            let part = rest & ((1 << field.bits) - 1);
            rest >>= field.bits;
            word | part << field.start
        })
    }
}

/// An instruction of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The unit.
    pub unit: Unit,
    /// The mnemonic.
    pub name: &'static str,
    /// Its theme: the title of its file.
    pub theme: &'static str,
    /// Its sources.
    pub sources: Vec<Source>,
    /// Its modifiers, in the order of text.
    pub modifiers: Vec<Modifier>,
    /// Its immediates.
    pub immediates: Vec<Immediate>,
    /// The message that it sends.
    pub message: Message,
    /// Staging registers.
    pub staging: Option<Staging>,
    /// Whether it has a destination.
    pub dest: bool,
    /// Whether it is only allowed at the end of a clause.
    pub last: bool,
    /// Whether it reads a special value, which its tuple has to select.
    pub table: bool,
    /// Its encodings.
    pub encodings: Vec<Encoding>,
}

impl Row {
    /// The source after which text puts a modifier, if there is one.
    pub fn source_of(&self, modifier: &Modifier) -> Option<usize> {
        let number = modifier.name.chars().last()?.to_digit(4)? as usize;
        (number < self.sources.len()).then_some(number)
    }
}

/// The files of the table.
const FILES: [&str; 11] = [
    include_str!("flow.isa"),
    include_str!("bitwise.isa"),
    include_str!("select.isa"),
    include_str!("convert.isa"),
    include_str!("integer.isa"),
    include_str!("float.isa"),
    include_str!("special.isa"),
    include_str!("memory.isa"),
    include_str!("attribute.isa"),
    include_str!("texture.isa"),
    include_str!("fragment.isa"),
];

/// All rows, in the order of the files.
pub static ROWS: LazyLock<Vec<Row>> =
    LazyLock::new(|| FILES.iter().flat_map(|file| parse::rows(file)).collect());

/// An instruction of the table, by its index in [`ROWS`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Op(u16);

/// Encodings of a unit, those with the longest masks first: the row's and the encoding's index.
type EncodingOrder = Vec<(Op, usize)>;

impl Op {
    /// All instructions, in the order of the table.
    pub fn all() -> impl Iterator<Item = Op> {
        (0..ROWS.len() as u16).map(Op)
    }

    /// Its index in the table.
    pub fn index(self) -> u16 {
        self.0
    }

    /// The instruction at an index of the table.
    pub fn from_index(index: u16) -> Option<Op> {
        (usize::from(index) < ROWS.len()).then_some(Op(index))
    }

    /// Its row.
    pub fn row(self) -> &'static Row {
        &ROWS[usize::from(self.0)]
    }

    /// The instruction of a unit with a mnemonic.
    pub fn from_name(unit: Unit, name: &str) -> Option<Op> {
        static NAMES: LazyLock<HashMap<(Unit, &str), Op>> =
            LazyLock::new(|| Op::all().map(|op| ((op.row().unit, op.row().name), op)).collect());
        NAMES.get(&(unit, name)).copied()
    }

    /// The encodings of a unit in the order in which they are tried.
    pub(super) fn encodings(unit: Unit) -> &'static EncodingOrder {
        static ORDERS: LazyLock<[EncodingOrder; 2]> = LazyLock::new(|| {
            [Unit::Fma, Unit::Add].map(|unit| {
                let of_unit = Op::all().filter(|op| op.row().unit == unit);
                let mut all: EncodingOrder = of_unit
                    .flat_map(|op| (0..op.row().encodings.len()).map(move |index| (op, index)))
                    .collect();
                all.sort_by_key(|(op, index)| !op.row().encodings[*index].mask);
                all
            })
        });
        &ORDERS[usize::from(unit == Unit::Add)]
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.row().unit.mark(), self.row().name)
    }
}

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_mesa_s_number_is_there() {
        assert_eq!(ROWS.len(), 304);
        for op in Op::all() {
            assert_eq!(Op::from_name(op.row().unit, op.row().name), Some(op));
        }
        assert_eq!(Op::all().filter(|op| op.row().unit == Unit::Fma).count(), 98);
    }

    /// Each bit of an encoding belongs to one field at most.
    #[test]
    fn fields_do_not_overlap() {
        for op in Op::all() {
            for encoding in &op.row().encodings {
                let mut used = encoding.mask;
                assert_eq!(encoding.exact & !encoding.mask, 0, "{op}");
                let row = op.row();
                // A source that can only read one port is part of the bits that identify the encoding.
                let sources = row.sources.iter().filter(|s| s.ports.count_ones() > 1);
                let sources = sources.map(|s| Field { start: s.start, bits: 3 });
                let immediates = row.immediates.iter().map(|i| i.field);
                let direct = encoding.direct.iter().map(|(_, field)| *field);
                let fields = encoding.fields.iter().copied();
                for field in sources.chain(immediates).chain(direct).chain(fields) {
                    let mask = ((1 << field.bits) - 1) << field.start;
                    assert_eq!(used & mask, 0, "{op}: {field:?}");
                    used |= mask;
                }
                assert_eq!(used >> row.unit.bits(), 0, "{op}");
                // Each modifier has a field or is part of the joint one.
                for index in 0..row.modifiers.len() {
                    let direct = encoding.direct.iter().any(|(i, _)| *i == index);
                    assert!(direct || encoding.joint.contains(&index), "{op}: {index}");
                }
            }
        }
    }
}
