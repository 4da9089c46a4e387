//! Encodings of operand values.
//!
//! Each operand type ([`Field`]) has one codec type, and each table row names a codec *constant*
//! for each of its fields: the constant holds the bit positions and the variant. Everything that
//! is known about one operand — bits, text, registers touched, manual entry — stands in its codec.

mod alu;
mod enums;
mod fragment;
mod local;
mod memory;
mod raw;
mod state;
mod texture;

pub use alu::{DstCodec, SrcCodec};
pub(crate) use enums::hardware_enum;
pub use enums::{EnumCodec, Enumerated};
pub use fragment::{CoefCodec, RegOrImmCodec, SampleIndexCodec};
pub use local::{LocalBaseCodec, LocalIndexCodec};
pub use memory::{CopyDescriptorCodec, IndexCodec, MemBaseCodec, RegVecCodec};
pub use raw::{BranchCodec, FlagCodec, FormCodec, Raw, SignedCodec};
pub use state::{NumberedCodec, SpecialRegCodec};
pub use texture::{
    CompareOffsetCodec, CoordsCodec, LodCodec, SamplerCodec, TexBaseCodec, TextureCodec,
};

/// The constructors that table rows use.
pub mod ctor {
    pub use super::alu::ctor::*;
    pub use super::enums::ctor::*;
    pub use super::fragment::ctor::*;
    pub use super::local::ctor::*;
    pub use super::memory::ctor::*;
    pub use super::raw::ctor::*;
    pub use super::state::ctor::*;
    pub use super::texture::ctor::*;
}

use crate::access::Access;
use crate::operand::OperandMut;

/// A run of bits: `len` bits from bit `lo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Lowest bit.
    pub lo: u8,
    /// Number of bits.
    pub len: u8,
    /// Name of the part of the operand: appended to the field's name in the manual (`t`, `x`, `m` …).
    pub part: &'static str,
}

/// The bits an operand owns, low part of the value first.
#[derive(Clone, Copy, Debug)]
pub struct Pieces {
    list: [Piece; 6],
    len: usize,
}

impl Pieces {
    /// No bits.
    pub const NONE: Self = Self { list: [Piece { lo: 0, len: 0, part: "" }; 6], len: 0 };

    /// Adds `len` bits from bit `lo`.
    pub const fn and(mut self, lo: u8, len: u8, part: &'static str) -> Self {
        self.list[self.len] = Piece { lo, len, part };
        self.len += 1;
        self
    }

    /// The pieces as a slice.
    #[inline(always)]
    pub const fn as_slice(&self) -> &[Piece] {
        self.list.split_at(self.len).0
    }

    /// All bits owned.
    pub const fn mask(&self) -> u128 {
        let mut mask = 0;
        let mut i = 0;
        while i < self.len {
            let piece = self.list[i];
            let bits = ones(piece.len) << piece.lo;
            assert!(mask & bits == 0, "an operand uses a bit twice");
            mask |= bits;
            i += 1;
        }
        mask
    }
}

/// `len` one bits.
#[inline(always)]
pub const fn ones(len: u8) -> u128 {
    if len >= 128 { u128::MAX } else { (1 << len) - 1 }
}

/// `len` bits of `word` from bit `lo`.
#[inline(always)]
pub const fn bits(word: u128, lo: u8, len: u8) -> u32 {
    ((word >> lo) & ones(len)) as u32
}

/// Reason why a row does not take an encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reject {
    /// The bits belong to another row: look on.
    Mismatch,
    /// The bits belong to this row but the operand is reserved or undefined.
    Reserved(&'static str),
}

/// An operand type: a value that table rows hold.
pub trait Field: Copy + PartialEq + core::fmt::Debug + Default {
    /// Codec: bit positions and variant of the encoding.
    type Codec: Codec<Value = Self>;

    /// The operand, if its type can hold a register.
    fn operand_mut(&mut self) -> Option<OperandMut<'_>> {
        None
    }
}

/// Input of an operand's parser.
pub struct Tokens<'a> {
    /// Operands not yet consumed; the first is this operand's own.
    pub rest: &'a [&'a str],
    /// The note `{name=value}` of this field, if the text has one.
    pub note: Option<u64>,
    /// Encoding of all fields parsed so far.
    pub word: u128,
    /// Address of the instruction, for absolute branch targets.
    pub pc: Option<u64>,
}

impl<'a> Tokens<'a> {
    /// This operand's token.
    pub fn own(&self) -> Result<&'a str, String> {
        self.rest.first().copied().ok_or_else(|| "operand is missing".to_string())
    }
}

/// Encoding, text and register use of one operand.
pub trait Codec: Copy {
    /// The operand type.
    type Value: Copy;

    /// The value held by the bits.
    fn decode(&self, word: u128) -> Result<Self::Value, Reject>;

    /// The bits that hold the value, or why it does not fit.
    fn encode(&self, value: Self::Value) -> Result<u128, &'static str>;

    /// Writes the operand's text; nothing if the operand is left out. `pc` is the instruction's
    /// address if branch targets are to be printed absolutely.
    fn print(&self, value: Self::Value, pc: Option<u64>, out: &mut String);

    /// A value the text does not show, printed as `{field=value}` so that nothing is lost.
    fn note(&self, _value: Self::Value) -> Option<u64> {
        None
    }

    /// Whether the operand may be absent from a text whose next token is `next`.
    fn absent(&self, _next: Option<&str>, _note: Option<u64>) -> bool {
        false
    }

    /// Reads the operand. `tokens.rest` is empty or begins with its token; for an absent operand
    /// it is empty.
    fn parse(&self, tokens: &Tokens<'_>) -> Result<Self::Value, String>;

    /// Reports the registers the operand touches.
    fn touch(&self, _value: Self::Value, _report: &mut dyn FnMut(Access)) {}

    /// All texts the operand can print, for those that are part of the mnemonic.
    fn spellings(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Whether the registers it holds are written.
    fn writes(&self) -> bool {
        false
    }

    /// The manual's description of the encoding.
    fn describe(&self) -> String;
}

/// A non-negative number as notes hold it.
pub(crate) fn note_number(text: &str) -> Option<u64> {
    raw::number(text).and_then(|v| u64::try_from(v).ok())
}
