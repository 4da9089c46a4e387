//! Listings of code.

use core::fmt;

use crate::error::DecodeError;
use crate::inst::Inst;

/// Content at a position of the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// An instruction.
    Inst(Inst),
    /// Zeros: padding, at least four bytes.
    Zeros,
    /// Bytes that are no instruction.
    Error(DecodeError),
}

/// A line of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Offset in bytes from the start of the code.
    pub offset: usize,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Its kind.
    pub content: Content,
}

impl Line<'_> {
    /// The bytes in hexadecimal.
    pub fn hex(&self) -> String {
        self.bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The instruction's text (branch targets as code offsets), `.zero N`, or
    /// `<disassembly failed>` with the reason.
    pub fn text(&self) -> String {
        match &self.content {
            Content::Inst(inst) => inst.text(Some(self.offset as u64)).to_string(),
            Content::Zeros => format!(".zero {}", self.bytes.len()),
            Content::Error(error) => format!("<disassembly failed> {error}"),
        }
    }
}

/// `offset: bytes text`, in applegpu's columns.
impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.content {
            // Padding can be long; its bytes say nothing.
            Content::Zeros => write!(f, "{:4x}: {:20} {}", self.offset, "", self.text()),
            _ => write!(f, "{:4x}: {:20} {}", self.offset, self.hex(), self.text()),
        }
    }
}

/// Goes through code line by line. Bytes that are no instruction are a line too; each line has at
/// least one byte, so it ends with the code.
#[derive(Clone, Debug)]
pub struct Disassembler<'a> {
    code: &'a [u8],
    at: usize,
}

impl<'a> Disassembler<'a> {
    /// Begins at the start of `code`.
    pub fn new(code: &'a [u8]) -> Self {
        Self::at(code, 0)
    }

    /// Begins at an offset; offsets are still counted from the start of `code`.
    pub fn at(code: &'a [u8], offset: usize) -> Self {
        Self { code, at: offset }
    }

    /// Zeros from here, if they are padding: at least four, in units of two.
    fn zeros(&self) -> Option<usize> {
        let rest = &self.code[self.at..];
        let zeros = rest.iter().take_while(|byte| **byte == 0).count();
        // An odd byte belongs to the following unit, except at the end of the code.
        let zeros = if zeros == rest.len() { zeros } else { zeros & !1 };
        (zeros >= 4).then_some(zeros)
    }
}

impl<'a> Iterator for Disassembler<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        let rest = self.code.get(self.at..).filter(|rest| !rest.is_empty())?;
        let (len, content) = if let Some(zeros) = self.zeros() {
            (zeros, Content::Zeros)
        } else {
            match Inst::decode(rest) {
                Ok((inst, len)) => (len, Content::Inst(inst)),
                Err(error) => (error.skip().min(rest.len()), Content::Error(error)),
            }
        };
        let line = Line { offset: self.at, bytes: &rest[..len], content };
        self.at += len;
        Some(line)
    }
}
