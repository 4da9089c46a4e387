//! The [`Packet`] trait, which every declared packet implements, and [`PacketInfo`], its reflection
//! table for code that does not know the type.

use std::fmt::Debug;

use crate::bits;
use crate::decoded::Decoded;
use crate::field::{Field, Fixed, Piece};
use crate::problem::{Problem, ProblemKind};

/// The reflection table of a packet.
#[derive(Debug)]
pub struct PacketInfo {
    /// The name in the hardware's words.
    pub name: &'static str,
    /// The name of the Rust struct.
    pub ident: &'static str,
    /// A description.
    pub doc: &'static str,
    /// Size in bytes.
    pub size_bytes: usize,
    /// Fields with one legal value.
    pub fixed: &'static [Fixed],
    /// All other fields.
    pub fields: &'static [Field],
    /// [`Packet::decode`] of the type.
    pub decode: fn(&[u8]) -> Result<Decoded, Problem>,
    /// [`Packet::unpack_lossy`], then [`Packet::pack_into`]: the packet without its invalid fields.
    /// Fails if a number is outside the range that the hardware accepts, since such numbers are
    /// kept.
    pub repack: fn(&[u8]) -> Result<Vec<u8>, Problem>,
    /// `Default` of the type, packed.
    pub default_bytes: fn() -> Result<Vec<u8>, Problem>,
}

impl PacketInfo {
    /// Lists where `bytes` violate the declaration.
    pub fn validate(&self, bytes: &[u8]) -> Vec<Problem> {
        match (self.decode)(bytes) {
            Ok(decoded) => decoded.problems,
            Err(problem) => vec![problem],
        }
    }
}

/// A bit-packed structure. Implemented by [`packet!`](crate::packet!).
pub trait Packet: Copy + Debug + Default + PartialEq + 'static {
    /// The table.
    const INFO: &'static PacketInfo;

    /// An array of the 64-bit words that the packet fills or begins.
    #[doc(hidden)]
    type Words: AsRef<[u64]> + AsMut<[u64]>;

    /// Words of zeros.
    #[doc(hidden)]
    fn zeros() -> Self::Words;

    /// Reads every field that exists. Invalid fields are added to `problems` and read as zero.
    #[doc(hidden)]
    fn read_fields(words: &Self::Words, problems: &mut Vec<Problem>) -> Self;

    /// Writes every field, those with one legal value included, into words of zeros.
    #[doc(hidden)]
    fn write_fields(&self, words: &mut Self::Words) -> Result<(), Problem>;

    /// Clears the bits of every field that exists.
    #[doc(hidden)]
    fn clear_fields(&self, words: &mut Self::Words);

    /// The fields that exist, for printing.
    #[doc(hidden)]
    fn show_fields(&self, bytes: &[u8]) -> Vec<(&'static Field, crate::Value)>;

    /// Writes the packet into the first [`PacketInfo::size_bytes`] of `bytes`. If a value does not
    /// fit, the content of `bytes` is unspecified.
    #[inline]
    fn pack_into(&self, bytes: &mut [u8]) -> Result<(), Problem> {
        let bytes = whole_mut::<Self>(bytes)?;
        let mut words = Self::zeros();
        self.write_fields(&mut words)?;
        for (to, word) in bytes.chunks_mut(8).zip(words.as_ref()) {
            to.copy_from_slice(&word.to_le_bytes()[..to.len()]);
        }
        Ok(())
    }

    /// Reads a packet strictly: the first violation of the declaration is the error.
    fn unpack(bytes: &[u8]) -> Result<Self, Problem> {
        let (value, problems) = Self::unpack_lossy(bytes)?;
        problems.into_iter().next().map_or(Ok(value), Err)
    }

    /// Reads a packet leniently and lists its violations of the declaration. Fields with an unknown
    /// value, and fields that do not exist in this form, get the value of all-zero bits; a number
    /// that the hardware does not accept is kept. Fails only if there are too few bytes.
    fn unpack_lossy(bytes: &[u8]) -> Result<(Self, Vec<Problem>), Problem> {
        let bytes = whole::<Self>(bytes)?;
        let mut words = Self::zeros();
        for (word, from) in words.as_mut().iter_mut().zip(bytes.chunks(8)) {
            let mut whole = [0; 8];
            whole[..from.len()].copy_from_slice(from);
            *word = u64::from_le_bytes(whole);
        }
        Ok(unpack_words(words))
    }

    /// Decodes the packet into field names and values.
    fn decode(bytes: &[u8]) -> Result<Decoded, Problem> {
        let (value, problems) = Self::unpack_lossy(bytes)?;
        Ok(Decoded { info: Self::INFO, fields: value.show_fields(bytes), problems })
    }

    /// Lists where `bytes` violate the declaration.
    fn validate(bytes: &[u8]) -> Vec<Problem> {
        Self::INFO.validate(bytes)
    }
}

/// [`Packet::unpack_lossy`] of words.
pub(crate) fn unpack_words<P: Packet>(mut words: P::Words) -> (P, Vec<Problem>) {
    let mut problems = Vec::new();
    for fixed in P::INFO.fixed {
        let Piece { start, width } = fixed.piece;
        let found = bits::word_get(words.as_ref(), start, width);
        bits::word_clear(words.as_mut(), start, width);
        if found != fixed.value {
            problems.push(Problem {
                packet: P::INFO.name,
                field: fixed.name,
                bit: start,
                kind: ProblemKind::WrongFixed { expected: fixed.value, found },
            });
        }
    }
    let value = P::read_fields(&words, &mut problems);
    // What is left belongs to no field.
    value.clear_fields(&mut words);
    for (k, &word) in words.as_ref().iter().enumerate().filter(|w| *w.1 != 0) {
        let stray = (0..64).filter(|b| word >> b & 1 != 0).map(|b| 64 * k as u32 + b);
        problems.extend(stray.map(|bit| Problem {
            packet: P::INFO.name,
            field: "",
            bit,
            kind: ProblemKind::MustBeZero,
        }));
    }
    (value, problems)
}

fn too_short<P: Packet>(have: usize) -> Problem {
    let need = P::INFO.size_bytes;
    let bit = have.min(need) as u32 * 8;
    let kind = ProblemKind::TooShort { need, have };
    Problem { packet: P::INFO.name, field: "", bit, kind }
}

fn whole<P: Packet>(bytes: &[u8]) -> Result<&[u8], Problem> {
    bytes.get(..P::INFO.size_bytes).ok_or_else(|| too_short::<P>(bytes.len()))
}

fn whole_mut<P: Packet>(bytes: &mut [u8]) -> Result<&mut [u8], Problem> {
    let have = bytes.len();
    bytes.get_mut(..P::INFO.size_bytes).ok_or_else(|| too_short::<P>(have))
}

/// Clears a field's bits. Of an array, clears those of each element.
#[doc(hidden)]
#[inline(always)]
pub fn clear(words: &mut [u64], field: &Field) {
    if let crate::Base::Array { count, stride, width, .. } = field.kind.base {
        for i in 0..count {
            bits::word_clear(words, field.start() + i * stride, width);
        }
        return;
    }
    for &Piece { start, width } in field.pieces {
        let mut done = 0;
        while done < width {
            let step = (width - done).min(64);
            bits::word_clear(words, start + done, step);
            done += step;
        }
    }
}

/// As [`PacketInfo::repack`].
#[doc(hidden)]
pub fn repack<P: Packet>(bytes: &[u8]) -> Result<Vec<u8>, Problem> {
    let (value, _) = P::unpack_lossy(bytes)?;
    let mut out = vec![0; P::INFO.size_bytes];
    value.pack_into(&mut out)?;
    Ok(out)
}

/// As [`PacketInfo::default_bytes`].
#[doc(hidden)]
pub fn default_bytes<P: Packet>() -> Result<Vec<u8>, Problem> {
    let mut out = vec![0; P::INFO.size_bytes];
    P::default().pack_into(&mut out)?;
    Ok(out)
}
