//! Text of bundles, in Mesa's syntax.
//!
//! [`exact`] adds to Mesa's text what the assembler needs to make the same bytes.
//!
//! Mesa's versions print bit patterns that no compiler emits in different ways; those are not followed.
//!
// source: Mesa, disassemble.c, midgard_print_constant.c.

/// Writes into the text.
macro_rules! put {
    ($printer:expr, $($argument:tt)*) => {{ let _ = write!($printer.out, $($argument)*); }};
}

mod alu;
mod exact;
mod memory;
mod texture;
mod values;

use std::fmt::Write;

pub use exact::exact;
pub(super) use values::{constant, general};

use super::TextureRegisters;
use super::bundle::{Bundle, BundleError, Content, Tag, WORD_BYTES};
use super::names::WRITEOUT;
use super::word::LoadStore;

/// A bundle of a program, or bytes that encode none.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its first byte.
    pub offset: usize,
    /// Its bytes.
    pub length: usize,
    /// Its contents.
    pub content: Result<Bundle, BundleError>,
    /// Registers 8 to 15 that have been written before, one bit each: the others are uniforms.
    written: u32,
}

/// The bundles of a program from a byte on, up to its end.
pub fn parts(code: &[u8], start: usize) -> impl Iterator<Item = Part> + '_ {
    let (mut at, mut written) = (start, 0);
    std::iter::from_fn(move || {
        let rest = code.get(at..).filter(|rest| !rest.is_empty())?;
        let zeros = rest.chunks(WORD_BYTES).take_while(|c| c.iter().all(|byte| *byte == 0));
        let words = zeros.count().max(1);
        let content = Bundle::decode(rest);
        let words = content.map_or(words, |bundle| bundle.tag.words());
        let length = (words * WORD_BYTES).min(rest.len());
        let part = Part { offset: at, length, content, written };
        at += length;
        written |= part.content.map_or(0, |bundle| writes(&bundle));
        Some(part)
    })
}

/// Registers that a bundle writes, one bit each.
fn writes(bundle: &Bundle) -> u32 {
    match &bundle.content {
        Content::Alu(alu) => {
            let vectors = [alu.vmul, alu.vadd, alu.lut].into_iter().flatten().map(|(r, _)| r.dest);
            let scalars = [alu.sadd, alu.smul].into_iter().flatten().map(|(r, _)| r.dest);
            vectors.chain(scalars).fold(0, |bits, dest| bits | 1 << dest)
        }
        Content::LoadStore(words) => words
            .iter()
            .filter(|word| **word != LoadStore::NOP && !word.shape().store)
            .fold(0, |bits, word| bits | 1 << word.reg),
        Content::Texture(_) => 0,
    }
}

/// The text of a program.
pub fn program(code: &[u8]) -> String {
    let mut text = String::new();
    for part in parts(code, 0) {
        text.push_str(&part.text(code));
        text.push('\n');
        let ends = part.content.is_ok_and(|bundle| bundle.next == Tag::BREAK);
        if ends && code[part.offset + part.length..].iter().all(|byte| *byte == 0) {
            break;
        }
    }
    text
}

impl Part {
    /// Whether it is zeros, with which programs are padded.
    pub fn is_padding(&self, code: &[u8]) -> bool {
        code[self.offset..self.offset + self.length].iter().all(|byte| *byte == 0)
    }

    /// The text, one line per instruction.
    pub fn text(&self, code: &[u8]) -> String {
        self.text_with(code, TextureRegisters::Own)
    }

    /// The text for a chip whose texture unit has these registers.
    pub fn text_with(&self, code: &[u8], registers: TextureRegisters) -> String {
        let mut out = String::new();
        match &self.content {
            Ok(bundle) => {
                let written = self.written;
                Printer { out: &mut out, written, registers, exact: false }.bundle(bundle);
            }
            Err(error) => {
                let bytes = &code[self.offset..self.offset + self.length];
                let words = bytes.chunks(4).map(|word| {
                    let word = word.iter().rev();
                    word.fold(String::from("0x"), |text, byte| text + &format!("{byte:02X}"))
                });
                let words: Vec<String> = words.collect();
                let _ = writeln!(out, "{} /* {error} */", words.join(", "));
            }
        }
        out
    }
}

/// Bytes in hexadecimal.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

struct Printer<'a> {
    out: &'a mut String,
    written: u32,
    registers: TextureRegisters,
    /// Whether the sign of integers is written.
    exact: bool,
}

impl Printer<'_> {
    fn bundle(&mut self, bundle: &Bundle) {
        match &bundle.content {
            Content::Alu(alu) => self.alu(alu),
            Content::LoadStore(words) => {
                for word in words.iter().filter(|word| **word != LoadStore::NOP) {
                    self.load_store(word);
                }
            }
            Content::Texture(t) => self.texture(t, bundle.tag),
        }
        if bundle.tag.0 >= Tag::WRITEOUT.0 {
            put!(self, "{WRITEOUT}\n");
        }
    }
}
