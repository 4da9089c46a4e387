//! The disassembler: code to a listing.

use std::fmt::{self, Write};

use crate::error::DecodeError;
use crate::inst::{BYTES, Inst};
use crate::modifier::Flow;
use crate::table::Op;

/// A line of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Offset of its first byte.
    pub offset: usize,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Its contents.
    pub content: Content,
}

/// The contents of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// An instruction.
    Inst(Box<Inst>),
    /// Zeros, with which shaders are padded.
    Padding,
    /// Bytes that encode no instruction.
    Error(DecodeError),
}

/// The lines of code from an offset on.
pub fn disassemble(code: &[u8], start: usize) -> impl Iterator<Item = Line> + '_ {
    let mut offset = start;
    std::iter::from_fn(move || {
        let rest = code.get(offset..).filter(|rest| !rest.is_empty())?;
        let zeros = rest.chunks(BYTES).take_while(|c| c.iter().all(|b| *b == 0));
        let zeros: usize = zeros.map(<[u8]>::len).sum();
        let (length, content) = if zeros > 0 {
            (zeros, Content::Padding)
        } else {
            let content = match Inst::decode_at(code, offset) {
                Ok(inst) => Content::Inst(Box::new(inst)),
                Err(error) => Content::Error(error),
            };
            (rest.len().min(BYTES), content)
        };
        let line = Line { offset, bytes: rest[..length].to_vec(), content };
        offset += length;
        Some(line)
    })
}

impl Line {
    /// The assembly of the line; bytes that encode no instruction are printed as a directive.
    pub fn text(&self) -> String {
        match &self.content {
            Content::Inst(inst) => inst.to_string(),
            Content::Padding => format!(".zero {}", self.bytes.len()),
            Content::Error(_) => format!(".hex {}", self.hex("")),
        }
    }

    /// The bytes in hexadecimal.
    pub fn hex(&self, separator: &str) -> String {
        let bytes: Vec<String> = self.bytes.iter().map(|b| format!("{b:02x}")).collect();
        bytes.join(separator)
    }

    /// Whether the line ends the shader.
    pub fn ends(&self) -> bool {
        matches!(&self.content, Content::Inst(inst) if inst.flow == Flow::End)
    }
}

impl fmt::Display for Line {
    /// The line in the format of Mesa's listings with bytes: the bytes, spaces, the text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.content {
            Content::Inst(inst) => write!(f, "{}    {inst}", self.hex(" ")),
            Content::Padding => write!(f, ".zero {}", self.bytes.len()),
            Content::Error(error) => write!(f, ".hex {} // {}", self.hex(""), error.kind),
        }
    }
}

/// A listing of a whole program, in Mesa's layout: an empty line after branches.
pub fn program(code: &[u8]) -> String {
    let mut out = String::new();
    for line in disassemble(code, 0) {
        let _ = writeln!(out, "   {}", line.text());
        if let Content::Inst(inst) = &line.content
            && matches!(inst.op, Op::BRANCHZ | Op::BRANCHZI)
        {
            out.push('\n');
        }
    }
    out
}
