//! The [`Packet`] trait, which every declared packet implements, and [`PacketInfo`], its reflection
//! table for code that does not know the type.

use std::fmt::Debug;

use crate::bits;
use crate::decoded::Decoded;
use crate::field::{Field, Fixed, Piece, Revision, Revisions};
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
    /// The revisions of the hardware that have it.
    pub revisions: Revisions,
    /// Functions of the type.
    #[doc(hidden)]
    pub functions: Functions,
}

/// The functions of a packet's type.
#[doc(hidden)]
#[derive(Debug)]
pub struct Functions {
    decode: fn(&[u8], Revision) -> Result<Decoded, Problem>,
    repack: fn(&[u8], Revision) -> Result<Vec<u8>, Problem>,
    default_bytes: fn() -> Result<Vec<u8>, Problem>,
}

impl Functions {
    /// The functions of a type.
    pub const fn of<P: Packet>() -> Functions {
        Functions { decode: P::decode_as, repack: repack::<P>, default_bytes: default_bytes::<P> }
    }
}

impl PacketInfo {
    /// [`Packet::decode`] of the type.
    pub fn decode(&self, bytes: &[u8]) -> Result<Decoded, Problem> {
        self.decode_as(bytes, Revisions::FIRST)
    }

    /// [`Packet::decode_as`] of the type.
    pub fn decode_as(&self, bytes: &[u8], revision: Revision) -> Result<Decoded, Problem> {
        (self.functions.decode)(bytes, revision)
    }

    /// [`Packet::unpack_lossy`], then [`Packet::pack_into`]: the packet without its invalid fields.
    /// Fails if a number is outside the range that the hardware accepts, since such numbers are
    /// kept.
    pub fn repack(&self, bytes: &[u8]) -> Result<Vec<u8>, Problem> {
        self.repack_as(bytes, Revisions::FIRST)
    }

    /// Version of [`PacketInfo::repack`] of a revision.
    pub fn repack_as(&self, bytes: &[u8], revision: Revision) -> Result<Vec<u8>, Problem> {
        (self.functions.repack)(bytes, revision)
    }

    /// `Default` of the type, packed.
    pub fn default_bytes(&self) -> Result<Vec<u8>, Problem> {
        (self.functions.default_bytes)()
    }

    /// Lists where `bytes` violate the declaration.
    pub fn validate(&self, bytes: &[u8]) -> Vec<Problem> {
        self.validate_as(bytes, Revisions::FIRST)
    }

    /// Version of [`PacketInfo::validate`] of a revision.
    pub fn validate_as(&self, bytes: &[u8], revision: Revision) -> Vec<Problem> {
        match self.decode_as(bytes, revision) {
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
    fn read_fields(words: &Self::Words, revision: Revision, problems: &mut Vec<Problem>) -> Self;

    /// Writes every field, those with one legal value included, into words of zeros.
    #[doc(hidden)]
    fn write_fields(&self, words: &mut Self::Words, revision: Revision) -> Result<(), Problem>;

    /// Clears the bits of every field that exists.
    #[doc(hidden)]
    fn clear_fields(&self, words: &mut Self::Words, revision: Revision);

    /// The fields that exist, for printing.
    #[doc(hidden)]
    fn show_fields(&self, bytes: &[u8], revision: Revision) -> Vec<(&'static Field, crate::Value)>;

    /// Writes the packet into the first [`PacketInfo::size_bytes`] of `bytes`. If a value does not
    /// fit, the content of `bytes` is unspecified.
    #[inline]
    fn pack_into(&self, bytes: &mut [u8]) -> Result<(), Problem> {
        self.pack_into_as(bytes, Revisions::FIRST)
    }

    /// Version of [`Packet::pack_into`] for a revision. Fields that it does not have must be zero.
    #[inline]
    fn pack_into_as(&self, bytes: &mut [u8], revision: Revision) -> Result<(), Problem> {
        let bytes = whole_mut::<Self>(bytes)?;
        let mut words = Self::zeros();
        self.write_fields(&mut words, revision)?;
        for (to, word) in bytes.chunks_mut(8).zip(words.as_ref()) {
            to.copy_from_slice(&word.to_le_bytes()[..to.len()]);
        }
        Ok(())
    }

    /// Reads a packet strictly: the first violation of the declaration is the error.
    fn unpack(bytes: &[u8]) -> Result<Self, Problem> {
        Self::unpack_as(bytes, Revisions::FIRST)
    }

    /// Version of [`Packet::unpack`] of a revision. Fields that it does not have are zero.
    fn unpack_as(bytes: &[u8], revision: Revision) -> Result<Self, Problem> {
        let (value, problems) = Self::unpack_lossy_as(bytes, revision)?;
        problems.into_iter().next().map_or(Ok(value), Err)
    }

    /// Reads a packet leniently and lists its violations of the declaration. Fields with an unknown
    /// value, and fields that do not exist in this form, get the value of all-zero bits; a number
    /// that the hardware does not accept is kept. Fails only if there are too few bytes.
    fn unpack_lossy(bytes: &[u8]) -> Result<(Self, Vec<Problem>), Problem> {
        Self::unpack_lossy_as(bytes, Revisions::FIRST)
    }

    /// Version of [`Packet::unpack_lossy`] of a revision.
    fn unpack_lossy_as(bytes: &[u8], revision: Revision) -> Result<(Self, Vec<Problem>), Problem> {
        let bytes = whole::<Self>(bytes)?;
        let mut words = Self::zeros();
        for (word, from) in words.as_mut().iter_mut().zip(bytes.chunks(8)) {
            let mut whole = [0; 8];
            whole[..from.len()].copy_from_slice(from);
            *word = u64::from_le_bytes(whole);
        }
        Ok(unpack_words(words, revision))
    }

    /// Decodes the packet into field names and values.
    fn decode(bytes: &[u8]) -> Result<Decoded, Problem> {
        Self::decode_as(bytes, Revisions::FIRST)
    }

    /// Version of [`Packet::decode`] of a revision.
    fn decode_as(bytes: &[u8], revision: Revision) -> Result<Decoded, Problem> {
        let (value, problems) = Self::unpack_lossy_as(bytes, revision)?;
        Ok(Decoded { info: Self::INFO, fields: value.show_fields(bytes, revision), problems })
    }

    /// Lists where `bytes` violate the declaration.
    fn validate(bytes: &[u8]) -> Vec<Problem> {
        Self::INFO.validate(bytes)
    }
}

/// [`Packet::unpack_lossy`] of words.
pub(crate) fn unpack_words<P: Packet>(
    mut words: P::Words,
    revision: Revision,
) -> (P, Vec<Problem>) {
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
    let value = P::read_fields(&words, revision, &mut problems);
    // The remaining bits belong to no field.
    value.clear_fields(&mut words, revision);
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

fn repack<P: Packet>(bytes: &[u8], revision: Revision) -> Result<Vec<u8>, Problem> {
    let (value, _) = P::unpack_lossy_as(bytes, revision)?;
    let mut out = vec![0; P::INFO.size_bytes];
    value.pack_into_as(&mut out, revision)?;
    Ok(out)
}

fn default_bytes<P: Packet>() -> Result<Vec<u8>, Problem> {
    let mut out = vec![0; P::INFO.size_bytes];
    P::default().pack_into(&mut out)?;
    Ok(out)
}
