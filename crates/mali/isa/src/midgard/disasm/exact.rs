//! Exact text: Mesa's, completed with the fields that the assembler would not infer.
//!
//! Each instruction is written as Mesa writes it, except for the sign of integers, and assembled; differences to the
//! original bits are added: the unit, then fields in braces. Text that already determines an instruction stays as it
//! is.

use std::fmt::Write;

use super::super::TextureRegisters;
use super::super::asm::{self, Arithmetic, Cursor, Fields};
use super::super::bundle::{Alu, Bundle, Content, Tag};
use super::super::table::{Unit, texture};
use super::super::word::LoadStore;
use super::{Part, Printer, hex};

impl Alu {
    /// The instruction of a unit.
    fn unit(&self, unit: Unit) -> Option<Arithmetic> {
        match unit {
            Unit::Vmul => self.vmul.map(|inst| Arithmetic::Vector(unit, inst)),
            Unit::Sadd => self.sadd.map(|inst| Arithmetic::Scalar(unit, inst)),
            Unit::Vadd => self.vadd.map(|inst| Arithmetic::Vector(unit, inst)),
            Unit::Smul => self.smul.map(|inst| Arithmetic::Scalar(unit, inst)),
            Unit::Lut => self.lut.map(|inst| Arithmetic::Vector(unit, inst)),
        }
    }
}

/// The text of a program that the [assembler](crate::midgard::asm) assembles to the same bytes.
pub fn exact(code: &[u8]) -> String {
    let parts = super::parts(code, 0);
    let texts = parts.map(|part| part.exact(code, TextureRegisters::Own) + "\n");
    texts.collect()
}

impl Part {
    /// Text that assembles to the same bytes, for a chip whose texture unit has these registers; bytes that encode no
    /// bundle are printed as a directive.
    pub fn exact(&self, code: &[u8], registers: TextureRegisters) -> String {
        let bytes = &code[self.offset..self.offset + self.length];
        let bundle = match &self.content {
            Ok(bundle) => bundle,
            Err(_) if self.is_padding(code) => return format!(".zero {}\n", self.length),
            Err(error) => return format!(".hex {} // {error}\n", hex(bytes)),
        };
        let mut out = String::new();
        let mut text = String::new();
        let mut printer = Printer { out: &mut text, written: self.written, registers, exact: true };
        if printer.exact(bundle, &mut out).is_none() {
            return format!(".hex {} // no text\n", hex(bytes));
        }
        let following = asm::following(&code[self.offset + self.length..]);
        if bundle.next != following.unwrap_or(Tag::BREAK) {
            let _ = writeln!(out, ".next {}", bundle.next.name());
        }
        out
    }
}

impl Printer<'_> {
    /// Writes the lines of a bundle; `None` if the assembler rejects one of them.
    fn exact(&mut self, bundle: &Bundle, out: &mut String) -> Option<()> {
        let mut usual = bundle.tag;
        match &bundle.content {
            Content::Alu(alu) => {
                for unit in Unit::ALL {
                    if let Some(inst) = alu.unit(unit) {
                        out.push_str(&self.unit(&inst, alu.constants.as_ref())?);
                    }
                }
                // Branches and constants are exact.
                let rest = Alu { branch: alu.branch, extended: alu.extended, ..Alu::default() };
                self.alu(&Alu { constants: alu.constants, ..rest });
                out.push_str(&self.taken());
                if out.is_empty() {
                    usual = Tag::BREAK;
                }
                if bundle.tag.0 >= Tag::WRITEOUT.0 {
                    let _ = writeln!(out, "{}", super::WRITEOUT);
                }
            }
            Content::LoadStore([one, two]) => {
                for word in [one, two] {
                    match *word == LoadStore::NOP {
                        false => out.push_str(&self.word(word)?),
                        true if out.is_empty() => out.push_str("NOP\n"),
                        true => {}
                    }
                }
            }
            Content::Texture(t) => {
                self.texture(t, bundle.tag);
                let line = self.taken();
                let read = |text: Cursor<'_>| asm::texture(text).ok().map(|(t, _)| t);
                out.push_str(&annotated(&line, t, read)?);
                usual = match (t.op, bundle.tag) {
                    (texture::BARRIER, _) => Tag::BARRIER,
                    (_, Tag::TEXTURE_VERTEX) => Tag::TEXTURE_VERTEX,
                    _ => Tag::TEXTURE,
                };
            }
        }
        if usual != bundle.tag {
            let _ = writeln!(out, ".tag {}", bundle.tag.name());
        }
        Some(())
    }

    /// Takes the printed text, which empties the buffer.
    fn taken(&mut self) -> String {
        std::mem::take(self.out)
    }

    fn unit(&mut self, inst: &Arithmetic, words: Option<&[u32; 4]>) -> Option<String> {
        let constants = words.copied().unwrap_or_default();
        match inst {
            Arithmetic::Vector(_, (r, v)) => self.vector(r, v, &constants),
            Arithmetic::Scalar(_, (r, s)) => self.scalar(r, s, &constants),
        }
        let mut line = self.taken();
        let read = |line: &str| {
            let clean = asm::without_comments(line).concat();
            asm::arithmetic(Cursor::new(1, clean.trim()), words).ok()
        };
        let (unit, decides) = (inst.unit(), inst.decisive());
        // Without the unit's name, the text may be invalid or be another unit's instruction.
        if read(&line).is_none_or(|found| found.unit() != unit) {
            line.insert_str(0, &format!("{}.", unit.name()));
        }
        // Fields that determine how the rest is parsed come first, as few as possible.
        let given = decides.map(|(name, value)| format!("{name}:{value:#x}"));
        let tries = [&[][..], &given[..1], &given[1..], &given];
        let mut found = tries.into_iter().filter_map(|said| {
            let found = read(&with_braces(&line, said))?;
            (found.decisive() == decides).then_some((said, found))
        });
        let (said, found) = found.next()?;
        let more = match (&found, inst) {
            (Arithmetic::Vector(_, found), Arithmetic::Vector(_, inst)) => found.differences(inst),
            (Arithmetic::Scalar(_, found), Arithmetic::Scalar(_, inst)) => found.differences(inst),
            _ => return None,
        };
        Some(with_braces(&line, &[said, &more].concat()))
    }

    fn word(&mut self, word: &LoadStore) -> Option<String> {
        self.load_store(word);
        let line = self.taken();
        annotated(&line, word, |text| asm::load_store(text).ok())
    }
}

/// A line, with the fields in which the instruction differs from the assembler's reading of the line.
fn annotated<T: Fields>(
    line: &str,
    inst: &T,
    read: impl Fn(Cursor<'_>) -> Option<T>,
) -> Option<String> {
    let clean = asm::without_comments(line).concat();
    let found = read(Cursor::new(1, clean.trim()))?;
    Some(with_braces(line, &found.differences(inst)))
}

/// Adds fields in braces to the first of the lines, if there are any.
fn with_braces(lines: &str, fields: &[String]) -> String {
    if fields.is_empty() {
        return lines.to_owned();
    }
    let (first, rest) = lines.split_once('\n').unwrap_or((lines, ""));
    format!("{} {{{}}}\n{rest}", first.trim_end(), fields.join(", "))
}
