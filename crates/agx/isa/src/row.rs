//! Rows of the instruction table, and their expansion.
//!
//! A row of the table reads
//!
//! ```text
//! /// Summary line.
//! ///
//! /// Semantics, in Markdown.
//! Fadd32 "fadd32" (4, 6; 15) [0:6 = 0b101010] zero [u46: 2] {
//!     /// Saturates.
//!     sat: bool = suffix flag(6, "", ".sat");
//!     /// Sum.
//!     d: Dst = operand dst(44);
//!     …
//! }
//! ```
//!
//! that is: name, mnemonic, lengths in bytes (short, long; the bit that tells), fixed bits (`low :
//! count = value`), unknown bits, and the fields in the order of the assembly text, each with its
//! type, its [`Kind`] and its codec. Two kinds of fields are not written out. A row of two lengths
//! begins with the field `form`, its length bit. Unknown bits are hidden fields at the end, named
//! after their lowest bit: `zero [u46: 2]` are two bits from bit 46 that were only seen as 0,
//! `unknown […]` are others.
//!
//! `rows!` turns it into a struct and an implementation of [`Row`]; while compiling it checks that
//! every bit of the encoding belongs to exactly one field.

use crate::access::Access;
use crate::codec::{Codec, Field, Pieces, Reject, Tokens, ones};
use crate::error::{EncodeError, ParseErrorKind};
use crate::operand::OperandMut;

/// Role of a field in the assembly text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An operand.
    Operand,
    /// Not part of the text; a note `{name=value}` if it is not as usual.
    Hidden,
    /// Its text is appended to the mnemonic.
    Suffix,
    /// Its text is the mnemonic.
    Name,
    /// The length bit.
    Form,
}

/// Bits that are the same in all instances of a row.
#[derive(Clone, Copy, Debug)]
pub struct Fixed {
    /// Lowest bit.
    pub lo: u8,
    /// Number of bits.
    pub len: u8,
    /// Their value.
    pub value: u128,
}

/// The lengths of a row.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    /// Bytes of the short (or only) form.
    pub short: u8,
    /// Bytes of the long form; the same if there is only one.
    pub long: u8,
    /// The bit that is set in the long form.
    pub bit: u8,
}

/// A field's entry in the table.
pub struct FieldDesc {
    /// Name.
    pub name: &'static str,
    /// Its description.
    pub docs: &'static [&'static str],
    /// Its place in the text.
    pub kind: Kind,
    /// Its bits.
    pub pieces: Pieces,
    /// Description of its values.
    pub describe: fn() -> String,
}

/// A row's entry in the table.
pub struct Desc {
    /// Name of the row and its struct.
    pub name: &'static str,
    /// Mnemonic, without what [`Kind::Suffix`] and [`Kind::Name`] fields add.
    pub mnemonic: &'static str,
    /// The module of its table file: its family.
    pub module: &'static str,
    /// Summary and semantics.
    pub docs: &'static [&'static str],
    /// Lengths.
    pub length: Length,
    /// Fixed bits.
    pub fixed: &'static [Fixed],
    /// Fields in the order of the text.
    pub fields: &'static [FieldDesc],
}

impl Desc {
    /// Mask and value of the fixed bits.
    pub const fn pattern(&self) -> (u128, u128) {
        let (mut mask, mut value, mut i) = (0, 0, 0);
        while i < self.fixed.len() {
            let f = self.fixed[i];
            assert!(f.value & !ones(f.len) == 0, "a fixed value has more bits than its place");
            assert!(mask & (ones(f.len) << f.lo) == 0, "a bit is fixed twice");
            mask |= ones(f.len) << f.lo;
            value |= f.value << f.lo;
            i += 1;
        }
        (mask, value)
    }

    /// Fails to compile unless every bit belongs to exactly one field or is fixed.
    pub const fn check(&self) {
        let (mut owned, _) = self.pattern();
        let mut i = 0;
        while i < self.fields.len() {
            let mask = self.fields[i].pieces.mask();
            assert!(owned & mask == 0, "two fields, or a field and fixed bits, share a bit");
            owned |= mask;
            i += 1;
        }
        assert!(owned >> (self.length.long * 8 - 1) >> 1 == 0, "a field is past the end");
        assert!(owned == ones(self.length.long * 8), "a bit belongs to no field");
        assert!(self.length.short <= self.length.long && self.length.long <= 12);
        let form = self.length.short == self.length.long || owned >> self.length.bit & 1 == 1;
        assert!(form);
    }

    /// The one-line summary.
    pub fn summary(&self) -> &'static str {
        self.docs.first().map_or("", |line| line.trim())
    }
}

/// An instruction of the table.
pub trait Row: Copy + Default + PartialEq {
    /// Its table entry.
    const DESC: Desc;

    /// Decodes an encoding whose fixed bits match; bits past its length are zero.
    fn decode(word: u128) -> Result<Self, (&'static str, Reject)>;

    /// Encodes, without the length bit that the fields' values ask for.
    fn encode(&self) -> Result<u128, EncodeError>;

    /// Appends mnemonic, operands and notes.
    fn print(&self, text: &mut Text);

    /// Reads operands and notes.
    fn parse(state: &mut ParseState<'_>) -> Result<Self, ParseErrorKind>;

    /// Reports the registers that operands name.
    fn touch(&self, report: &mut dyn FnMut(Access));

    /// Shows each operand that can hold a register, in the order of the fields, to be read or
    /// replaced.
    fn visit_mut(&mut self, visit: &mut dyn FnMut(OperandMut<'_>, bool));

    /// The first field in which two instances differ, the length bit aside.
    fn difference(&self, other: &Self) -> Option<&'static str>;

    /// All mnemonics that instances can have.
    fn mnemonics() -> Vec<String>;
}

/// An instruction's text in parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// Address, if branch targets are to be absolute.
    pub pc: Option<u64>,
    /// Mnemonic with suffixes.
    pub mnemonic: String,
    /// Operands that are not empty.
    pub operands: Vec<String>,
    /// Values that neither mnemonic nor operands show.
    pub notes: Vec<(String, String)>,
}

/// An instruction's text while a row reads it.
pub struct ParseState<'a> {
    /// The rest of the mnemonic.
    pub mnemonic: &'a str,
    /// Operands.
    pub operands: &'a [&'a str],
    /// Operands consumed.
    pub at: usize,
    /// Notes.
    pub notes: &'a [(String, String)],
    /// Notes consumed, one bit each.
    pub notes_used: u32,
    /// Encoding so far.
    pub word: u128,
    /// Address of the instruction.
    pub pc: Option<u64>,
}

impl<'a> ParseState<'a> {
    fn note(&mut self, name: &str) -> Option<&'a str> {
        let i = self.notes.iter().position(|(n, _)| n == name)?;
        self.notes_used |= 1 << i.min(31);
        Some(self.notes[i].1.as_str())
    }

    /// Consumes a row's fixed part of the mnemonic.
    pub fn prefix(&mut self, name: &str) {
        self.mnemonic = self.mnemonic.strip_prefix(name).unwrap_or(self.mnemonic);
    }

    /// Consumes one field.
    pub fn field<F: Field>(
        &mut self,
        codec: F::Codec,
        name: &'static str,
        kind: Kind,
        usual: F,
    ) -> Result<F, ParseErrorKind> {
        let at = self.at;
        let fail = |why: String| ParseErrorKind::Operand { field: name, operand: at, why };
        let tokens =
            |rest, note, state: &Self| Tokens { rest, note, word: state.word, pc: state.pc };
        let value = match kind {
            Kind::Suffix | Kind::Name => {
                let spelling = codec
                    .spellings()
                    .into_iter()
                    .filter(|s| self.mnemonic.starts_with(s))
                    .max_by_key(|s| s.len())
                    .ok_or_else(|| fail(format!("`{}` is not a suffix", self.mnemonic)))?;
                self.mnemonic = &self.mnemonic[spelling.len()..];
                codec.parse(&tokens(&[spelling], None, self)).map_err(fail)?
            }
            Kind::Hidden => match self.note(name) {
                Some(text) => {
                    // `text` or `text:note`
                    let (text, note) = match text.split_once(':') {
                        Some((text, note)) => (text, crate::codec::note_number(note)),
                        None => (text, None),
                    };
                    codec.parse(&tokens(&[text], note, self)).map_err(fail)?
                }
                None => usual,
            },
            Kind::Form => {
                let note = self.note(name).map(|_| 1);
                codec.parse(&tokens(&[], note, self)).map_err(fail)?
            }
            Kind::Operand => {
                let note = match self.note(name) {
                    Some(text) => Some(
                        crate::codec::note_number(text)
                            .ok_or_else(|| fail(format!("note `{text}` is not a number")))?,
                    ),
                    None => None,
                };
                let rest = &self.operands[self.at.min(self.operands.len())..];
                if codec.absent(rest.first().copied(), note) {
                    codec.parse(&tokens(&[], note, self)).map_err(fail)?
                } else {
                    let value = codec.parse(&tokens(rest, note, self)).map_err(fail)?;
                    self.at += 1;
                    value
                }
            }
        };
        if let Ok(bits) = codec.encode(value) {
            self.word |= bits;
        }
        Ok(value)
    }
}

impl Text {
    /// Appends one field.
    pub fn field<F: Field>(
        &mut self,
        codec: F::Codec,
        name: &'static str,
        kind: Kind,
        value: F,
        usual: F,
    ) {
        let mut text = String::new();
        match kind {
            Kind::Suffix => codec.print(value, None, &mut self.mnemonic),
            Kind::Name => {
                codec.print(value, None, &mut text);
                self.mnemonic = text;
            }
            Kind::Hidden if value == usual => {}
            Kind::Hidden => {
                codec.print(value, None, &mut text);
                if let Some(note) = codec.note(value) {
                    text.push_str(&format!(":{note}"));
                }
                self.notes.push((name.into(), text));
            }
            Kind::Form | Kind::Operand => {
                codec.print(value, self.pc, &mut text);
                if !text.is_empty() {
                    self.operands.push(text);
                }
                if let Some(note) = codec.note(value) {
                    self.notes.push((name.into(), note.to_string()));
                }
            }
        }
    }
}

/// The mnemonics that a list of texts makes, one from each group.
pub fn combine(first: &str, groups: &[(Kind, Vec<&'static str>)]) -> Vec<String> {
    let mut all = vec![first.to_string()];
    for (kind, texts) in groups {
        all = match kind {
            Kind::Name => texts.iter().map(|t| t.to_string()).collect(),
            Kind::Suffix => {
                all.iter().flat_map(|a| texts.iter().map(move |t| format!("{a}{t}"))).collect()
            }
            _ => continue,
        };
    }
    all
}

/// Declares table rows; see the [module](self).
macro_rules! rows {
    ($(
        $(#[doc = $doc:literal])*
        $Name:ident $mnemonic:literal ($short:literal $(, $long:literal ; $lbit:literal)?)
        [$($fixed:tt)*]
        $(zero [$($zero:ident : $zlen:tt),* $(,)?])?
        $(unknown [$($unknown:ident : $ulen:tt),* $(,)?])?
        { $(
            $(#[doc = $fdoc:literal])*
            $field:ident : $ty:ty = $kind:ident $codec:expr $(, $usual:expr)? ;
        )* }
    )*) => { $( $crate::row::row! {
        $(#[doc = $doc])*
        $Name $mnemonic ($short $(, $long ; $lbit)?)
        [$($fixed)*]
        {
            $(
                /// The length bit.
                form: $crate::operand::Form = form $crate::codec::ctor::form($lbit, $short);
            )?
            $(
                $(#[doc = $fdoc])*
                $field: $ty = $kind $codec $(, $usual)?;
            )*
            $($(
                /// Unknown; 0.
                $zero: $crate::row::bits!($zlen) = hidden $crate::row::bits!($zero, $zlen);
            )*)?
            $($(
                /// Unknown.
                $unknown: $crate::row::bits!($ulen) = hidden $crate::row::bits!($unknown, $ulen);
            )*)?
        }
    } )* };
}
pub(crate) use rows;

/// The type of an unknown field of N bits, and the codec of one with this name.
macro_rules! bits {
    (1) => {
        bool
    };
    ($name:ident, 1) => {
        $crate::codec::ctor::bit($crate::row::lowest_bit(stringify!($name)))
    };
    ($name:ident, $len:tt) => {
        $crate::codec::ctor::num($crate::row::lowest_bit(stringify!($name)), $len)
    };
    ($len:tt) => {
        <$crate::row::Bits<$len> as $crate::row::Number>::Type
    };
}
pub(crate) use bits;

/// A number of bits, as a type.
pub struct Bits<const LEN: u8>;

/// The smallest unsigned type for a number of bits.
pub trait Number {
    /// The type.
    type Type;
}

macro_rules! numbers {
    ($($ty:ident: $($len:literal)*;)*) => { $($(
        impl Number for Bits<$len> {
            type Type = $ty;
        }
    )*)* };
}

numbers! {
    u8: 2 3 4 5 6 7 8;
    u16: 9 10 11 12 13 14 15 16;
    u32: 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32;
}

/// The bit that an unknown field is named after: `u46` begins at bit 46.
pub const fn lowest_bit(name: &str) -> u8 {
    let digits = name.as_bytes();
    assert!(digits[0] == b'u', "unknown fields are named `u` and their lowest bit");
    let (mut bit, mut i) = (0, 1);
    while i < digits.len() {
        bit = bit * 10 + (digits[i] - b'0');
        i += 1;
    }
    bit
}

/// Declares one row with all its fields.
macro_rules! row {
    (
        $(#[doc = $doc:literal])*
        $Name:ident $mnemonic:literal ($short:literal $(, $long:literal ; $lbit:literal)?)
        [$($flo:literal : $flen:literal = $fvalue:expr),* $(,)?]
        { $(
            $(#[doc = $fdoc:literal])*
            $field:ident : $ty:ty = $kind:ident $codec:expr $(, $usual:expr)? ;
        )* }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $Name { $(
            $(#[doc = $fdoc])*
            pub $field: $ty,
        )* }

        impl Default for $Name {
            fn default() -> Self {
                Self { $( $field: $crate::row::usual!($ty $(, $usual)?), )* }
            }
        }

        const _: () = <$Name as $crate::row::Row>::DESC.check();

        #[allow(unused_variables, unused_mut)]
        impl $crate::row::Row for $Name {
            const DESC: $crate::row::Desc = $crate::row::Desc {
                name: stringify!($Name),
                mnemonic: $mnemonic,
                module: module_path!(),
                docs: &[$($doc),*],
                length: $crate::row::length!($short $(, $long, $lbit)?),
                fixed: &[$( $crate::row::Fixed { lo: $flo, len: $flen, value: $fvalue } ),*],
                fields: &[$( $crate::row::FieldDesc {
                    name: stringify!($field),
                    docs: &[$($fdoc),*],
                    kind: $crate::row::kind!($kind),
                    pieces: {
                        const C: <$ty as $crate::codec::Field>::Codec = $codec;
                        C.pieces()
                    },
                    describe: || {
                        const C: <$ty as $crate::codec::Field>::Codec = $codec;
                        $crate::codec::Codec::describe(&C)
                    },
                } ),*],
            };

            #[inline(always)]
            fn decode(word: u128) -> Result<Self, (&'static str, $crate::codec::Reject)> {
                Ok(Self { $( $field: {
                    const C: <$ty as $crate::codec::Field>::Codec = $codec;
                    match $crate::codec::Codec::decode(&C, word) {
                        Ok(value) => value,
                        Err(why) => return Err((stringify!($field), why)),
                    }
                }, )* })
            }

            fn encode(&self) -> Result<u128, $crate::error::EncodeError> {
                let (_, mut word) = const { <Self as $crate::row::Row>::DESC.pattern() };
                $( {
                    const C: <$ty as $crate::codec::Field>::Codec = $codec;
                    word |= $crate::codec::Codec::encode(&C, self.$field).map_err(|why| {
                        $crate::error::EncodeError::Field {
                            inst: stringify!($Name),
                            field: stringify!($field),
                            why,
                        }
                    })?;
                } )*
                Ok(word)
            }

            fn print(&self, text: &mut $crate::row::Text) {
                text.mnemonic.push_str($mnemonic);
                let usual = Self::default();
                $( text.field(
                    $codec,
                    stringify!($field),
                    $crate::row::kind!($kind),
                    self.$field,
                    usual.$field,
                ); )*
            }

            fn parse(
                state: &mut $crate::row::ParseState<'_>,
            ) -> Result<Self, $crate::error::ParseErrorKind> {
                state.prefix($mnemonic);
                let usual = Self::default();
                Ok(Self { $( $field: state.field(
                    $codec,
                    stringify!($field),
                    $crate::row::kind!($kind),
                    usual.$field,
                )?, )* })
            }

            fn touch(&self, report: &mut dyn FnMut($crate::access::Access)) {
                $( {
                    const C: <$ty as $crate::codec::Field>::Codec = $codec;
                    $crate::codec::Codec::touch(&C, self.$field, report);
                } )*
            }

            fn visit_mut(
                &mut self,
                visit: &mut dyn FnMut($crate::operand::OperandMut<'_>, bool),
            ) {
                $( if let Some(operand) = $crate::codec::Field::operand_mut(&mut self.$field) {
                    const C: <$ty as $crate::codec::Field>::Codec = $codec;
                    visit(operand, $crate::codec::Codec::writes(&C));
                } )*
            }

            fn difference(&self, other: &Self) -> Option<&'static str> {
                $( if $crate::row::kind!($kind) != $crate::row::Kind::Form
                    && self.$field != other.$field
                {
                    return Some(stringify!($field));
                } )*
                None
            }

            fn mnemonics() -> Vec<String> {
                $crate::row::combine($mnemonic, &[$( {
                    const C: <$ty as $crate::codec::Field>::Codec = $codec;
                    ($crate::row::kind!($kind), $crate::codec::Codec::spellings(&C))
                } ),*])
            }
        }
    };
}
pub(crate) use row;

macro_rules! usual {
    ($ty:ty) => {
        <$ty as Default>::default()
    };
    ($ty:ty, $usual:expr) => {
        $usual
    };
}
pub(crate) use usual;

macro_rules! length {
    ($short:literal) => {
        $crate::row::Length { short: $short, long: $short, bit: 0 }
    };
    ($short:literal, $long:literal, $bit:literal) => {
        $crate::row::Length { short: $short, long: $long, bit: $bit }
    };
}
pub(crate) use length;

macro_rules! kind {
    (operand) => {
        $crate::row::Kind::Operand
    };
    (hidden) => {
        $crate::row::Kind::Hidden
    };
    (suffix) => {
        $crate::row::Kind::Suffix
    };
    (name) => {
        $crate::row::Kind::Name
    };
    (form) => {
        $crate::row::Kind::Form
    };
}
pub(crate) use kind;
