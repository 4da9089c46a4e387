//! The disassembler: code to a listing in Mesa's layout.
//!
// source: Mesa, disassemble.c (dump_clause, dump_src, dump_fau_src, dump_pc_imm), gen_disasm.py (the text
// of an instruction).

use std::fmt::{self, Write};

use super::clause::{Clause, Modifier, WORD_BYTES};
use super::error::ClauseError;
use super::header::Flow;
use super::inst::{Inst, Port};
use super::registers::{Access, Ports, Registers};
use super::table::Unit;

/// A part of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Offset of its first byte.
    pub offset: usize,
    /// Its length in bytes.
    pub length: usize,
    /// Its contents.
    pub content: Content,
}

/// The contents of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A clause.
    Clause(Box<Clause>),
    /// Zeros: programs end with some.
    Padding,
    /// Bytes that encode no clause.
    Error(ClauseError),
}

/// The parts of code from an offset on.
pub fn parts(code: &[u8], start: usize) -> impl Iterator<Item = Part> + '_ {
    let mut offset = start;
    std::iter::from_fn(move || {
        let rest = code.get(offset..).filter(|rest| !rest.is_empty())?;
        let zeros = rest.chunks(WORD_BYTES).take_while(|c| c.iter().all(|b| *b == 0));
        let zeros: usize = zeros.map(<[u8]>::len).sum();
        let (length, content) = match zeros {
            0 => match Clause::decode(rest) {
                Ok((clause, words)) => (words * WORD_BYTES, Content::Clause(Box::new(clause))),
                Err(error) => (rest.len().min(WORD_BYTES), Content::Error(error)),
            },
            _ => (zeros, Content::Padding),
        };
        let part = Part { offset, length, content };
        offset += length;
        Some(part)
    })
}

/// Special values by the lower bits of the byte that chooses them.
const SPECIALS: [&str; 7] =
    ["#0", "lane_id", "warp_id", "core_id", "framebuffer_size", "atest_datum", "sample"];

/// The first special value that is a blend descriptor, of eight.
const BLEND: u8 = 8;

/// The index of a constant by the upper four bits of the byte that chooses it.
const CONSTANTS: [Option<usize>; 8] =
    [None, None, Some(4), Some(5), Some(0), Some(1), Some(2), Some(3)];

/// The uniforms, constant or special value that the byte of a tuple selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fau {
    /// Two words of uniforms: the pair's number.
    Uniform(u8),
    /// A constant of the clause, and its lowest four bits.
    Constant(usize, u8),
    /// A special value, by its number.
    Special(u8),
}

impl Fau {
    /// Decodes a tuple's byte.
    pub fn of(byte: u8) -> Fau {
        match byte {
            0x80.. => Fau::Uniform(byte & 0x7f),
            0x20.. => match CONSTANTS[usize::from(byte >> 4)] {
                Some(index) => Fau::Constant(index, byte & 15),
                None => Fau::Special(byte),
            },
            _ => Fau::Special(byte),
        }
    }

    /// The byte that encodes the selection; `None` if none does.
    pub fn byte(self) -> Option<u8> {
        match self {
            Fau::Uniform(pair) => (pair < 0x80).then_some(pair | 0x80),
            Fau::Constant(index, low) => {
                let upper = CONSTANTS.iter().position(|c| *c == Some(index))?;
                Some((upper as u8) << 4 | low & 15)
            }
            Fau::Special(number) => (number < 0x20).then_some(number),
        }
    }

    /// The name of a special value, by its number.
    pub fn special_name(number: u8) -> String {
        match SPECIALS.get(usize::from(number)) {
            Some(name) => (*name).to_owned(),
            None if (BLEND..BLEND + 8).contains(&number) => {
                format!("blend_descriptor_{}", number - BLEND)
            }
            None => format!("XXX - reserved{number}"),
        }
    }

    /// The number of a special value of a name.
    pub fn special(name: &str) -> Option<u8> {
        (0..0x20).find(|number| Fau::special_name(*number) == name)
    }
}

/// The text of a clause, whose position in words determines the text of branches.
pub struct Text<'a> {
    /// The clause.
    pub clause: &'a Clause,
    /// The position in the program, in words.
    pub place: usize,
}

impl Text<'_> {
    fn inst(&self, f: &mut fmt::Formatter<'_>, tuple: usize, inst: &Inst) -> fmt::Result {
        let row = inst.op.row();
        write!(f, "    {}", inst.op)?;
        let modifier = |f: &mut fmt::Formatter<'_>, index: usize| {
            let (modifier, value) = (&row.modifiers[index], inst.modifiers[index]);
            match modifier.values.get(usize::from(value)).copied().flatten() {
                Some(name) if modifier.default != Some(value) => write!(f, ".{name}"),
                _ => Ok(()),
            }
        };
        for (index, field) in row.modifiers.iter().enumerate() {
            if row.source_of(field).is_none() {
                modifier(f, index)?;
            }
        }
        f.write_char(' ')?;
        self.dest(f, tuple, row.unit)?;
        let registers = self.clause.tuples[tuple].registers;
        for (index, port) in inst.sources.iter().enumerate() {
            f.write_str(", ")?;
            self.source(f, registers, *port, row.unit)?;
            for (number, field) in row.modifiers.iter().enumerate() {
                if row.source_of(field) == Some(index) {
                    modifier(f, number)?;
                }
            }
        }
        for (immediate, value) in row.immediates.iter().zip(&inst.immediates) {
            write!(f, ", {}:{value}", immediate.name)?;
        }
        if row.staging.is_some() {
            write!(f, ", @r{}", self.clause.header.staging)?;
        }
        f.write_char('\n')
    }

    /// The destination of a tuple's result, which the block of the next tuple encodes.
    fn dest(&self, f: &mut fmt::Formatter<'_>, tuple: usize, unit: Unit) -> fmt::Result {
        let write = self.clause.writes(tuple).and_then(|writes| match unit {
            Unit::Fma => writes.0,
            Unit::Add => writes.1,
        });
        if let Some((register, access)) = write {
            write!(f, "r{register}:")?;
            f.write_str(if unit == Unit::Fma { "t0" } else { "t1" })?;
            return f.write_str(access.suffix());
        }
        f.write_str(if unit == Unit::Fma { "t0" } else { "t1" })
    }

    fn source(
        &self,
        f: &mut fmt::Formatter<'_>,
        registers: Registers,
        port: Port,
        unit: Unit,
    ) -> fmt::Result {
        match port {
            Port::Zero | Port::One | Port::Two => {
                write!(f, "r{}", registers.register(port as u8))
            }
            Port::Stage => f.write_str(if unit == Unit::Fma { "#0" } else { "t" }),
            Port::FauLow => self.fau(f, registers.fau(), false),
            Port::FauHigh => self.fau(f, registers.fau(), true),
            Port::PassFma => f.write_str("t0"),
            Port::PassAdd => f.write_str("t1"),
        }
    }

    fn fau(&self, f: &mut fmt::Formatter<'_>, byte: u8, high: bool) -> fmt::Result {
        match Fau::of(byte) {
            Fau::Uniform(pair) => write!(f, "u{pair}.w{}", u8::from(high)),
            Fau::Special(number) => {
                let word = if high { 'y' } else { 'x' };
                write!(f, "{}.{word}", Fau::special_name(number))
            }
            Fau::Constant(index, low) => {
                let value = self.clause.constants.get(index).copied().unwrap_or(0);
                let value = value | u64::from(low);
                let words = [value as u32, (value >> 32) as u32];
                let word = words[usize::from(high)];
                // Signed numbers of 28 and of 60 bits.
                let short = |word: u32| i64::from((word << 4) as i32 >> 4);
                let modifier = self.clause.modifier(index).unwrap_or_default();
                let offset = match modifier {
                    Modifier::Pc => (value << 4) as i64 >> 4,
                    Modifier::PcHigh if high => short(words[1]),
                    Modifier::PcBoth => short(word),
                    _ => return constant(f, word),
                };
                write!(f, "clause_{}", self.place as i64 + offset / WORD_BYTES as i64)?;
                if modifier == Modifier::Pc && high {
                    f.write_str(" >> 32")?;
                }
                if offset == 0 {
                    f.write_str(" /* XXX: likely an infinite loop */")?;
                }
                Ok(())
            }
        }
    }
}

/// A constant, as a number and as a float.
fn constant(f: &mut fmt::Formatter<'_>, word: u32) -> fmt::Result {
    let float = f32::from_bits(word);
    write!(f, "0x{word:08x} /* ")?;
    match float {
        _ if float.is_nan() => {
            f.write_str(if float.is_sign_negative() { "-nan" } else { "nan" })?
        }
        _ => write!(f, "{float:.6}")?,
    }
    f.write_str(" */")
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "clause_{}:", self.place)?;
        writeln!(f, "{}", self.clause.header)?;
        f.write_str("{\n")?;
        for (index, tuple) in self.clause.tuples.iter().enumerate() {
            self.inst(f, index, &tuple.fma)?;
            self.inst(f, index, &tuple.add)?;
        }
        f.write_str("}\n\n")
    }
}

/// The register that a result goes to, and the part of it that is written.
pub type ResultWrite = Option<(u8, Access)>;

impl Clause {
    /// The decoded ports of a tuple; `None` if there is no such tuple or the block is reserved.
    pub fn ports(&self, tuple: usize) -> Option<Ports> {
        self.tuples.get(tuple)?.registers.ports(tuple == 0)
    }

    /// The place, in words of the program, that a branch's source leads to, of a clause at a place; `None` if the source is no
    /// constant that is relative to the program counter.
    pub fn branch_target(&self, tuple: usize, port: Port, place: usize) -> Option<usize> {
        let high = match port {
            Port::FauLow => false,
            Port::FauHigh => true,
            _ => return None,
        };
        let Fau::Constant(index, low) = Fau::of(self.tuples.get(tuple)?.registers.fau()) else {
            return None;
        };
        let value = self.constants.get(index)? | u64::from(low);
        let short = |word: u32| i64::from((word << 4) as i32 >> 4);
        let offset = match self.modifier(index)? {
            Modifier::Pc => (value << 4) as i64 >> 4,
            Modifier::PcHigh if high => short((value >> 32) as u32),
            Modifier::PcBoth => short(if high { (value >> 32) as u32 } else { value as u32 }),
            _ => return None,
        };
        usize::try_from(place as i64 + offset / WORD_BYTES as i64).ok()
    }

    /// The destinations of a tuple's units; `None` if the block that encodes them is reserved.
    pub fn writes(&self, tuple: usize) -> Option<(ResultWrite, ResultWrite)> {
        // The first tuple's block has the writes of the last one.
        let next = if tuple + 1 == self.tuples.len() { 0 } else { tuple + 1 };
        let ports = self.ports(next)?;
        let three = ports.port3.0.writes().then_some((ports.port3.1, ports.port3.0));
        let fma = match ports.port2.0.writes() {
            true => Some((ports.port2.1, ports.port2.0)),
            false => three.filter(|_| ports.port3_fma),
        };
        Some((fma, three.filter(|_| !ports.port3_fma)))
    }
}

impl Part {
    /// Mesa's text of the part; bytes that encode no clause are printed as a directive.
    pub fn text(&self, code: &[u8]) -> String {
        match &self.content {
            Content::Clause(clause) => Text { clause, place: self.offset / WORD_BYTES }.to_string(),
            Content::Padding => format!(".zero {}\n", self.length),
            Content::Error(error) => {
                let bytes = code.get(self.offset..self.offset + self.length).unwrap_or_default();
                let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
                format!(".hex {hex} // {error}\n")
            }
        }
    }

    /// Whether the program ends after this part.
    pub fn ends(&self) -> bool {
        matches!(&self.content, Content::Clause(clause) if clause.header.flow == Flow::End)
    }
}

/// A listing of a whole program.
pub fn program(code: &[u8]) -> String {
    parts(code, 0).map(|part| part.text(code)).collect()
}
