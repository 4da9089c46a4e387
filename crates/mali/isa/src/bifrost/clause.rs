//! A clause: its header, tuples and constants, packed into words of 16 bytes.
//!
//! A word has a tag of eight bits, 60 bits of a tuple or constant and three smaller parts. A tuple has 78 bits; its
//! upper parts fill free bits of other words, so that the number of tuples determines the sequence of formats. Words of
//! two constants follow those of tuples.
//!
// source: Mesa, compiler/bifrost.h (bi_clause_formats, struct bifrost_fmt_constant), bi_pack.c
// (bi_pack_clause, bi_pack_format, bi_pack_constants), disassemble.c (dump_clause, M1_table, M2_table).

use arrayvec::ArrayVec;

use super::error::{ClauseError, InstError};
use super::header::{self, Header};
use super::inst::Inst;
use super::registers::{self, Registers};
use super::table::Unit;

/// Bytes of a word.
pub const WORD_BYTES: usize = 16;
/// Maximum number of tuples of a clause.
pub const MAX_TUPLES: usize = 8;
/// Maximum number of constants of a clause.
pub const MAX_CONSTANTS: usize = 6;
/// Maximum number of words of a clause: those of eight tuples, and three of constants.
pub const MAX_WORDS: usize = 9;

/// Two instructions and their ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tuple {
    /// The block of ports.
    pub registers: Registers,
    /// The instruction of the FMA unit.
    pub fma: Inst,
    /// The instruction of the ADD unit.
    pub add: Inst,
}

/// The address that the hardware adds to a constant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Modifier {
    /// Nothing.
    #[default]
    None,
    /// The clause's address to all 64 bits.
    Pc,
    /// The clause's address to the upper word.
    PcHigh,
    /// The clause's address to each word.
    PcBoth,
}

/// A clause.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clause {
    /// The header.
    pub header: Header,
    /// The tuples, in the order of execution.
    pub tuples: ArrayVec<Tuple, MAX_TUPLES>,
    /// Constants. The lowest four bits come from the byte that chooses them.
    pub constants: ArrayVec<u64, MAX_CONSTANTS>,
    /// Modifiers of the first constant if its word is between tuples: two numbers of four bits.
    pub first_modifiers: u8,
}

/// The contents of a part of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WordPart {
    /// A number.
    Literal(u8),
    /// The upper three bits of a tuple.
    Upper(usize),
    /// The upper three bits of two tuples.
    Uppers(usize, usize),
    /// Bits of a tuple.
    Tuple(usize),
    /// Bits of the header.
    Header,
    /// Bits of the first constant.
    Constant,
    /// Modifiers of the first constant.
    Modifiers,
    /// Zeros.
    Zero,
    /// 1 at the end of a clause.
    End,
}

/// A format of a word: tag (2, 3 and 3 bits from the top), then 60, 15, 30 and 15 bits.
struct Format {
    tag: [WordPart; 3],
    main: WordPart,
    fourth: WordPart,
    fifth: WordPart,
    /// The first bit of the tuple in the fifth part.
    fifth_start: u32,
    last: WordPart,
    /// The bits of the constant that the parts after the first hold.
    constant: ConstantBits,
}

/// The distribution of a constant's bits over the parts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ConstantBits {
    /// All 60 in the main part.
    Whole,
    /// The lowest 15 in the last part.
    Low,
    /// Bits 15 to 44 in the fifth part, the others in the last.
    High,
}

use ConstantBits::{High, Low, Whole};
use WordPart::{
    Constant as C, End as Z, Header as H, Literal as L, Modifiers as M, Tuple as T, Upper as U,
    Uppers, Zero as R,
};

const fn format(
    tag: [WordPart; 3],
    main: WordPart,
    fourth: WordPart,
    fifth: (WordPart, u32),
    last: WordPart,
    constant: ConstantBits,
) -> Format {
    let (fifth, fifth_start) = fifth;
    Format { tag, main, fourth, fifth, fifth_start, last, constant }
}

/// The formats of words.
const FORMATS: [Format; 14] = [
    format([L(0), L(5), U(0)], T(0), T(0), (H, 0), H, Whole),
    format([Z, L(1), U(0)], T(0), T(0), (H, 0), H, Whole),
    format([Z, L(0), L(3)], T(1), T(1), (R, 0), U(1), Whole),
    format([L(0), L(4), U(1)], T(1), T(1), (T(2), 0), T(2), Whole),
    format([Z, L(0), L(4)], C, M, (T(2), 45), U(2), Whole),
    format([L(0), L(0), L(1)], T(3), T(3), (T(2), 45), Uppers(2, 3), Whole),
    format([Z, L(0), L(5)], T(3), T(3), (T(2), 45), Uppers(2, 3), Whole),
    format([L(2), U(3), U(2)], T(3), T(3), (T(2), 45), C, Low),
    format([Z, L(2), U(4)], T(4), T(4), (C, 0), C, High),
    format([L(1), L(4), U(4)], T(4), T(4), (T(5), 0), T(5), Whole),
    format([Z, L(0), L(6)], C, M, (T(5), 45), U(5), Whole),
    format([Z, L(0), L(7)], T(6), T(6), (T(5), 45), Uppers(5, 6), Whole),
    format([L(3), U(6), U(5)], T(6), T(6), (T(5), 45), C, Low),
    format([Z, L(3), U(7)], T(7), T(7), (C, 0), C, High),
];

/// The formats of a clause's words by the number of tuples.
const SEQUENCES: [&[usize]; MAX_TUPLES] = [
    &[1],
    &[0, 2],
    &[0, 3, 4],
    &[0, 3, 6],
    &[0, 3, 7, 8],
    &[0, 3, 5, 9, 10],
    &[0, 3, 5, 9, 11],
    &[0, 3, 5, 9, 12, 13],
];

/// The position of words of constants by the number of tuples.
const POSITIONS: [&[u8]; MAX_TUPLES] =
    [&[0], &[1], &[3], &[2, 5], &[4, 8], &[7, 11, 14], &[6, 10, 13], &[9, 12]];

/// Tags of words of constants: others follow, or the clause ends.
const CONSTANTS_FOLLOW: u8 = 3;
const CONSTANTS_END: u8 = 7;

/// Modifiers of a pair of constants by their first number, up to 6. The number 7 selects by the second one;
/// numbers from 8 on modify nothing.
const BY_FIRST: [Option<[Modifier; 2]>; 7] = [
    Some([Modifier::None, Modifier::None]),
    Some([Modifier::Pc, Modifier::None]),
    Some([Modifier::Pc, Modifier::Pc]),
    None,
    Some([Modifier::PcHigh, Modifier::None]),
    Some([Modifier::PcHigh, Modifier::PcHigh]),
    Some([Modifier::Pc, Modifier::None]),
];
const BY_SECOND: [Option<[Modifier; 2]>; 4] = [
    Some([Modifier::PcBoth, Modifier::None]),
    Some([Modifier::PcBoth, Modifier::PcHigh]),
    Some([Modifier::PcBoth, Modifier::PcBoth]),
    Some([Modifier::PcBoth, Modifier::PcHigh]),
];

fn modifiers(first: u8, second: u8) -> Option<[Modifier; 2]> {
    match first {
        0..7 => BY_FIRST[usize::from(first)],
        7 => BY_SECOND.get(usize::from(second)).copied().flatten(),
        _ => Some([Modifier::None; 2]),
    }
}

/// Whether the word of the first constant is between those of tuples.
pub fn has_inner_constant(tuples: usize) -> bool {
    matches!(tuples, 3 | 5 | 6 | 8)
}

/// Bits of a tuple.
const TUPLE_BITS: u32 = registers::BITS + 23 + 20;

/// A clause's bits, unpacked from words.
#[derive(Default)]
struct Bits {
    tuples: [u128; MAX_TUPLES],
    header: u64,
    /// The first constant without its lowest four bits, if its word is between tuples.
    constant: u64,
    modifiers: u16,
}

const fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// Calls `part` for each part of a word: with the lowest bit and the number of bits in the word, the contents,
/// and the first bit of the contents.
fn parts(format: &Format, mut part: impl FnMut(u32, u32, WordPart, u32)) {
    part(0, 3, format.tag[2], 75);
    part(3, 3, format.tag[1], 75);
    part(6, 2, format.tag[0], 0);
    part(8, 60, format.main, 0);
    part(68, 15, format.fourth, 60);
    let fifth = if format.fifth == C { 15 } else { format.fifth_start };
    part(83, 30, format.fifth, fifth);
    let last = match format.last {
        C if format.constant == High => 45,
        C => 0,
        H => 30,
        _ => 30,
    };
    part(113, 15, format.last, last);
}

impl Bits {
    /// The value of a part; `end` is set in the clause's last word.
    fn get(&self, part: WordPart, start: u32, size: u32, end: bool) -> u64 {
        let upper = |tuple: usize| (self.tuples[tuple] >> 75) as u64 & 7;
        let value = match part {
            L(value) => value.into(),
            U(tuple) if size == 15 => upper(tuple) << 12,
            U(tuple) => upper(tuple),
            Uppers(first, second) => upper(first) << 12 | upper(second) << 9,
            T(tuple) => (self.tuples[tuple] >> start) as u64,
            H => self.header >> start,
            C => self.constant >> start,
            M => self.modifiers.into(),
            R => 0,
            Z => u64::from(end),
        };
        value & mask(size)
    }

    /// Stores the value of a part.
    fn put(&mut self, part: WordPart, start: u32, value: u64) {
        match part {
            L(_) | R | Z => {}
            U(tuple) if start == 75 => self.tuples[tuple] |= u128::from(value) << 75,
            U(tuple) => self.tuples[tuple] |= u128::from(value >> 12) << 75,
            Uppers(first, second) => {
                self.tuples[first] |= u128::from(value >> 12 & 7) << 75;
                self.tuples[second] |= u128::from(value >> 9 & 7) << 75;
            }
            T(tuple) => self.tuples[tuple] |= u128::from(value) << start,
            H => self.header |= value << start,
            C => self.constant |= value << start,
            M => self.modifiers = value as u16,
        }
    }
}

/// Whether a tag belongs to a format.
fn has_tag(format: &Format, tag: u8) -> bool {
    let of = |part: WordPart, bits: u8| match part {
        L(value) => value == bits,
        Z => bits < 2,
        _ => true,
    };
    let parts =
        [(format.tag[0], tag >> 6), (format.tag[1], tag >> 3 & 7), (format.tag[2], tag & 7)];
    parts.iter().all(|(part, bits)| of(*part, *bits))
}

impl Clause {
    /// Decodes the clause at the beginning of code; returns its number of words too.
    ///
    /// # Errors
    /// The words encode no clause.
    pub fn decode(code: &[u8]) -> Result<(Clause, usize), ClauseError> {
        let words = code.as_chunks::<WORD_BYTES>().0;
        let word = |place: usize| {
            words.get(place).map(|w| u128::from_le_bytes(*w)).ok_or(ClauseError::Truncated)
        };
        let mut bits = Bits::default();
        let mut place = 0;
        let mut choices: ArrayVec<usize, MAX_TUPLES> = (0..MAX_TUPLES).collect();
        let mut end;
        // Reads the words of tuples.
        let count = loop {
            let word = word(place)?;
            let tag = word as u8;
            choices.retain(|n| {
                SEQUENCES[*n].get(place).is_some_and(|index| has_tag(&FORMATS[*index], tag))
            });
            let Some(first) = choices.first() else {
                return Err(ClauseError::Tag { place, tag });
            };
            let format = &FORMATS[SEQUENCES[*first][place]];
            parts(format, |at, size, part, start| {
                bits.put(part, start, (word >> at) as u64 & mask(size));
            });
            end = tag & 0x40 != 0;
            place += 1;
            if format.tag[0] == Z {
                break *first + 1;
            }
        };
        let mut constants = ArrayVec::<u64, MAX_CONSTANTS>::new();
        if has_inner_constant(count) {
            constants.push(bits.constant << 4);
        }
        let mut pairs = POSITIONS[count - 1].iter();
        while !end {
            let word = word(place)?;
            let tag = word as u8;
            let position = pairs.next().ok_or(ClauseError::Tag { place, tag })?;
            end = tag >> 4 == CONSTANTS_END;
            if tag & 15 != *position || !end && tag >> 4 != CONSTANTS_FOLLOW {
                return Err(ClauseError::Tag { place, tag });
            }
            for start in [8, 68] {
                let constant = (word >> start) as u64 & mask(60);
                let count = constants.len() + 1;
                let full = ClauseError::Count { what: "constants", count };
                constants.try_push(constant << 4).map_err(|_| full)?;
            }
            place += 1;
        }
        let mut clause = Clause {
            header: Header::decode(bits.header)?,
            tuples: ArrayVec::new(),
            constants,
            first_modifiers: bits.modifiers as u8,
        };
        for (tuple, bits) in bits.tuples[..count].iter().enumerate() {
            let inst = |error| ClauseError::Inst { tuple, error };
            let (fma, add) = ((bits >> 35) as u32 & 0x7f_ffff, (bits >> 58) as u32 & 0xf_ffff);
            clause.tuples.push(Tuple {
                registers: Registers(*bits as u64 & mask(registers::BITS)),
                fma: Inst::decode(Unit::Fma, fma).map_err(inst)?,
                add: Inst::decode(Unit::Add, add).map_err(inst)?,
            });
        }
        clause.check()?;
        let packed = clause.encode()?;
        for (place, packed) in packed.as_chunks::<WORD_BYTES>().0.iter().enumerate() {
            let bits = word(place)? ^ u128::from_le_bytes(*packed);
            if bits != 0 {
                return Err(ClauseError::Unexplained { place, bits });
            }
        }
        Ok((clause, place))
    }

    /// Checks the rules that the encoding of the parts does not imply.
    fn check(&self) -> Result<(), ClauseError> {
        for (tuple, parts) in self.tuples.iter().enumerate() {
            let ports = parts.registers.ports(tuple == 0);
            ports.ok_or(ClauseError::Ports { tuple, bits: parts.registers.0 })?;
            for (unit, inst) in [(Unit::Fma, &parts.fma), (Unit::Add, &parts.add)] {
                let op = inst.op;
                if op.row().unit != unit {
                    let error = InstError::Unit { op, unit };
                    return Err(ClauseError::Inst { tuple, error });
                }
            }
        }
        for index in 0..self.constants.len() {
            self.modifier(index).ok_or(ClauseError::Constant(index))?;
        }
        Ok(())
    }

    /// Encodes the clause.
    ///
    /// # Errors
    /// A part cannot be encoded, or there are too many.
    pub fn encode(&self) -> Result<Vec<u8>, ClauseError> {
        self.check()?;
        let count = self.tuples.len();
        let sequence = match count {
            0 => return Err(ClauseError::Count { what: "tuples", count }),
            _ => SEQUENCES[count - 1],
        };
        let inner = usize::from(has_inner_constant(count));
        let positions = POSITIONS[count - 1];
        let outer = self.constants.get(inner..).unwrap_or_default();
        if self.constants.len() < inner || outer.len() % 2 != 0 || outer.len() / 2 > positions.len()
        {
            let count = self.constants.len();
            return Err(ClauseError::Count { what: "constants", count });
        }
        let mut bits = Bits { header: self.header.encode(), ..Bits::default() };
        for (tuple, (parts, bits)) in self.tuples.iter().zip(&mut bits.tuples).enumerate() {
            let inst = |error| ClauseError::Inst { tuple, error };
            let fma = u128::from(parts.fma.encode().map_err(inst)?);
            let add = u128::from(parts.add.encode().map_err(inst)?);
            *bits = u128::from(parts.registers.0 & mask(registers::BITS)) | fma << 35 | add << 58;
            debug_assert!(*bits >> TUPLE_BITS == 0);
        }
        if inner != 0 {
            bits.constant = self.constants[0] >> 4;
        }
        bits.modifiers = self.first_modifiers.into();
        debug_assert!(bits.header >> header::BITS == 0);
        let mut code = Vec::with_capacity((sequence.len() + outer.len() / 2) * WORD_BYTES);
        for index in sequence {
            let mut word = 0u128;
            parts(&FORMATS[*index], |at, size, part, start| {
                word |= u128::from(bits.get(part, start, size, outer.is_empty())) << at;
            });
            code.extend(word.to_le_bytes());
        }
        let pairs = outer.as_chunks::<2>().0;
        for (index, [first, second]) in pairs.iter().enumerate() {
            let last = index + 1 == pairs.len();
            let kind = if last { CONSTANTS_END } else { CONSTANTS_FOLLOW };
            let word = u128::from(positions[index] | kind << 4)
                | u128::from(first >> 4) << 8
                | u128::from(second >> 4) << 68;
            code.extend(word.to_le_bytes());
        }
        Ok(code)
    }

    /// The modifier of a constant; `None` if it is reserved.
    pub fn modifier(&self, index: usize) -> Option<Modifier> {
        let inner = usize::from(has_inner_constant(self.tuples.len()));
        if index < inner {
            let in_word = matches!(self.tuples.len(), 3 | 6);
            let [first, _] = match in_word {
                true => modifiers(self.first_modifiers & 15, self.first_modifiers >> 4)?,
                false => [Modifier::None; 2],
            };
            return Some(first);
        }
        // The upper bits of both words of a pair differ by the modifiers' numbers.
        let pair = inner + (index - inner) / 2 * 2;
        let (first, second) = (*self.constants.get(pair)?, *self.constants.get(pair + 1)?);
        let number = |bit: u32| (first >> bit).wrapping_sub(second >> bit) as u8 & 15;
        let both = modifiers(number(60), number(28))?;
        Some(both[index - pair])
    }
}
