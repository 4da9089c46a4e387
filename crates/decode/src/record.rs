//! The tree that decoding leaves.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap, Serializer};
use tepui_packets::{Decoded, PacketInfo, Value};

use crate::memory::Unreadable;

/// Something that kept the decoder from going on, or that the hardware would not expect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// A pointer leads to memory that is not there.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// A packet does not keep to its declaration.
    #[error(transparent)]
    Packet(tepui_packets::Problem),
    /// A control stream comes back to a place with nothing changed.
    #[error(
        "the stream runs in a circle: it comes to {address:#x} a second time with the same calls open"
    )]
    Circle {
        /// The place.
        address: u64,
    },
    /// A return without a call.
    #[error("a return, but no call is open")]
    ReturnWithoutCall,
    /// More calls within calls than the limit.
    #[error("more than {limit} calls within calls")]
    CallsTooDeep {
        /// The limit.
        limit: usize,
    },
    /// The tree is as large as it may be.
    #[error("more than {limit} records: the rest is left out")]
    TooMuch {
        /// The limit.
        limit: usize,
    },
    /// A block of a control stream of a kind that nobody knows.
    #[error("no block begins with {word:#010x}")]
    UnknownBlock {
        /// The first word.
        word: u32,
    },
    /// Words whose meaning nobody knows.
    #[error("{words} words of unknown meaning")]
    UnknownWords {
        /// How many.
        words: u32,
    },
    /// A USC word with a tag that nobody knows. Its length is unknown too, so the list ends here.
    #[error("no USC word has the tag {tag:#04x}")]
    UnknownTag {
        /// The tag.
        tag: u8,
    },
    /// Bytes of a program that are no instruction. The listing ends here.
    #[error("at {offset:#x}: {error}")]
    Instruction {
        /// Where, in bytes from the program's start.
        offset: u32,
        /// Why.
        error: InstructionError,
    },
    /// A program that runs into zeros.
    #[error("at {offset:#x} the code ends without a stop")]
    CodeEnds {
        /// Where, in bytes from the program's start.
        offset: u32,
    },
    /// A state record whose words are more or fewer than the pointer says.
    #[error("the record has {found} words, the pointer to it says {said}")]
    RecordSize {
        /// Words that the header announces, itself included.
        found: u32,
        /// Words that the pointer says.
        said: u32,
    },
}

/// Why bytes are no instruction, as the disassembler of the GPU has it.
#[derive(Clone, Debug)]
pub struct InstructionError(Arc<dyn std::error::Error + Send + Sync>);

impl InstructionError {
    /// Of a disassembler's error.
    pub fn new(error: impl std::error::Error + Send + Sync + 'static) -> InstructionError {
        InstructionError(Arc::new(error))
    }

    /// The disassembler's error.
    pub fn get(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
        &*self.0
    }
}

/// The same if they say the same.
impl PartialEq for InstructionError {
    fn eq(&self, other: &InstructionError) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for InstructionError {}

impl fmt::Display for InstructionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a record holds beside its children.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Nothing: the record groups its children.
    Empty,
    /// A packet.
    Packet(Decoded),
    /// Values by name that no packet holds.
    Fields(Vec<(Cow<'static, str>, Value)>),
    /// Raw memory.
    Bytes(Vec<u8>),
    /// Lines of code: offset in bytes, the instruction's bytes, text.
    Code(Vec<(u32, Vec<u8>, String)>),
    /// The same as an earlier record at the same address.
    Above,
}

/// A node of the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// What it is, in the hardware's words where it has any.
    pub title: Cow<'static, str>,
    /// GPU address of its first byte.
    pub address: Option<u64>,
    /// What it holds.
    pub content: Content,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// What it consists of or points to.
    pub children: Vec<Record>,
}

/// Values of no packet that are printed in one line.
const SHORT: usize = 8;

impl Record {
    /// An empty record at an address.
    pub fn new(title: impl Into<Cow<'static, str>>, address: u64) -> Record {
        Record { address: Some(address), ..Record::group(title) }
    }

    /// An empty record without an address.
    pub fn group(title: impl Into<Cow<'static, str>>) -> Record {
        Record {
            title: title.into(),
            address: None,
            content: Content::Empty,
            problems: Vec::new(),
            children: Vec::new(),
        }
    }

    /// A record of one problem.
    pub fn failed(title: impl Into<Cow<'static, str>>, address: u64, problem: Problem) -> Record {
        Record { problems: vec![problem], ..Record::new(title, address) }
    }

    /// The record and all below it, in order of print.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Record)) {
        visit(self);
        for child in &self.children {
            child.walk(visit);
        }
    }

    /// The packet in this record.
    pub fn packet(&self) -> Option<&Decoded> {
        if let Content::Packet(decoded) = &self.content { Some(decoded) } else { None }
    }

    /// Decodes a packet into the record; what is odd in it becomes problems.
    pub fn set_packet(&mut self, info: &'static PacketInfo, bytes: &[u8]) {
        match (info.decode)(bytes) {
            Ok(mut decoded) => {
                let odd = std::mem::take(&mut decoded.problems);
                self.problems.extend(odd.into_iter().map(Problem::Packet));
                self.content = Content::Packet(decoded);
            }
            Err(problem) => self.problems.push(Problem::Packet(problem)),
        }
    }

    /// Writes the tree as text, indented by `indent` spaces. With `all`, flags that are off are
    /// printed too.
    pub fn write_text(&self, out: &mut dyn fmt::Write, indent: usize, all: bool) -> fmt::Result {
        write!(out, "{:indent$}{}", "", self.title)?;
        if let Some(address) = self.address {
            write!(out, " at {address:#x}")?;
        }
        match &self.content {
            Content::Above => write!(out, ": see above")?,
            // A few values fit behind the title.
            Content::Fields(fields) if fields.len() <= SHORT => {
                for (i, (name, value)) in fields.iter().enumerate() {
                    write!(out, "{}{name}={value}", if i == 0 { ": " } else { " " })?;
                }
            }
            _ => {}
        }
        writeln!(out)?;
        let inner = indent + 2;
        for problem in &self.problems {
            writeln!(out, "{:inner$}! {problem}", "")?;
        }
        match &self.content {
            Content::Empty | Content::Above => {}
            Content::Packet(decoded) => decoded.write_text(out, inner, all)?,
            Content::Fields(fields) if fields.len() <= SHORT => {}
            Content::Fields(fields) => {
                for (name, value) in fields {
                    writeln!(out, "{:inner$}{name}: {value}", "")?;
                }
            }
            Content::Bytes(bytes) => write_words(out, inner, bytes)?,
            Content::Code(lines) => {
                for (offset, bytes, text) in lines {
                    writeln!(out, "{:inner$}{offset:4x}: {:28}{text}", "", hex(bytes))?;
                }
            }
        }
        self.children.iter().try_for_each(|child| child.write_text(out, inner, all))
    }
}

/// Hexadecimal, a byte after the other.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = fmt::Write::write_fmt(&mut text, format_args!("{byte:02x}"));
        text
    })
}

/// Memory as 32-bit words, eight a line, each line with its offset.
fn write_words(out: &mut dyn fmt::Write, indent: usize, bytes: &[u8]) -> fmt::Result {
    for (i, line) in bytes.chunks(32).enumerate() {
        write!(out, "{:indent$}+{:03x}:", "", i * 32)?;
        for word in line.chunks(4) {
            let value = word.iter().rev().fold(0u32, |value, &byte| value << 8 | u32::from(byte));
            write!(out, " {value:0width$x}", width = word.len() * 2)?;
        }
        writeln!(out)?;
    }
    Ok(())
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_text(f, 0, false)
    }
}

/// `{"name": …, "address": "0x…", "packet": …, "fields": {…}, "bytes": "…", "code": […], "above":
/// true, "problems": […], "children": […]}`, each only where there is something to say.
impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.title)?;
        if let Some(address) = self.address {
            map.serialize_entry("address", &format!("{address:#x}"))?;
        }
        match &self.content {
            Content::Empty => {}
            Content::Packet(decoded) => {
                if self.title != decoded.info.name {
                    map.serialize_entry("packet", decoded.info.name)?;
                }
                map.serialize_entry("fields", decoded)?;
            }
            Content::Fields(fields) => map.serialize_entry("fields", &FieldMap(fields))?,
            Content::Bytes(bytes) => map.serialize_entry("bytes", &hex(bytes))?,
            Content::Code(lines) => {
                let lines: Vec<_> = lines.iter().map(CodeLine::new).collect();
                map.serialize_entry("code", &lines)?;
            }
            Content::Above => map.serialize_entry("above", &true)?,
        }
        if !self.problems.is_empty() {
            let texts: Vec<String> = self.problems.iter().map(Problem::to_string).collect();
            map.serialize_entry("problems", &texts)?;
        }
        if !self.children.is_empty() {
            map.serialize_entry("children", &self.children)?;
        }
        map.end()
    }
}

struct FieldMap<'a>(&'a [(Cow<'static, str>, Value)]);

impl Serialize for FieldMap<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

#[derive(serde::Serialize)]
struct CodeLine<'a> {
    offset: u32,
    bytes: String,
    text: &'a str,
}

impl CodeLine<'_> {
    fn new(line: &(u32, Vec<u8>, String)) -> CodeLine<'_> {
        CodeLine { offset: line.0, bytes: hex(&line.1), text: &line.2 }
    }
}
