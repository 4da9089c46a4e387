//! The tree of decoded records.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap, Serializer};
use tepui_packets::{Decoded, PacketInfo, Revision, Revisions, Value};

use crate::memory::Unreadable;

/// Something invalid in the decoded memory, or a reason why decoding stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// A pointer refers to memory that is not mapped.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// A packet violates its declaration.
    #[error(transparent)]
    Packet(tepui_packets::Problem),
    /// A control stream returns to an address with the same return stack: it never ends.
    #[error(
        "the stream never ends: it reaches {address:#x} a second time with the same return stack"
    )]
    EndlessLoop {
        /// The address.
        address: u64,
    },
    /// A return without a call.
    #[error("a return without a call")]
    ReturnWithoutCall,
    /// Calls are nested more deeply than the limit.
    #[error("calls are nested more than {limit} deep")]
    CallsTooDeep {
        /// The limit.
        limit: usize,
    },
    /// The limit on the number of records is reached.
    #[error("more than {limit} records; the rest is left out")]
    TooMuch {
        /// The limit.
        limit: usize,
    },
    /// A block of a control stream whose type is unknown.
    #[error("unknown block type in word {word:#010x}")]
    UnknownBlock {
        /// The first word.
        word: u32,
    },
    /// A command whose first double word is that of no known command.
    #[error("unknown command {header:#010x}")]
    UnknownCommand {
        /// The first double word.
        header: u32,
    },
    /// Words of unknown meaning.
    #[error("{words} words of unknown meaning")]
    UnknownWords {
        /// Number of words.
        words: u32,
    },
    /// A USC word with an unknown tag. Its length is unknown too, so the list ends here.
    #[error("unknown USC word with tag {tag:#04x}")]
    UnknownTag {
        /// The tag.
        tag: u8,
    },
    /// Bytes of a program that are not an instruction. The disassembly ends here.
    #[error("at {offset:#x}: {error}")]
    Instruction {
        /// Offset in bytes from the program's start.
        offset: u32,
        /// The error.
        error: InstructionError,
    },
    /// A program that ends in zeros without an instruction that ends it.
    #[error("at {offset:#x}: the code ends without an instruction that ends the program")]
    CodeEnds {
        /// Offset in bytes from the program's start.
        offset: u32,
    },
    /// A state record with another size than the pointer to it states.
    #[error("the record has {found} words, the pointer to it states {stated}")]
    RecordSize {
        /// Words that are present according to the header, which is included.
        found: u32,
        /// Words that the pointer states.
        stated: u32,
    },
}

/// Reason why bytes are no instruction, as the disassembler of the GPU has it.
#[derive(Clone, Debug)]
pub struct InstructionError(Arc<dyn std::error::Error + Send + Sync>);

impl InstructionError {
    /// Wraps a disassembler's error.
    pub fn new(error: impl std::error::Error + Send + Sync + 'static) -> InstructionError {
        InstructionError(Arc::new(error))
    }

    /// The disassembler's error.
    pub fn get(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
        &*self.0
    }
}

/// Errors are equal if their messages are.
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

/// The content of a record besides its children.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// No contents: the record groups its children.
    Empty,
    /// A packet.
    Packet(Decoded),
    /// Names and values that are not from a packet.
    Fields(Vec<(Cow<'static, str>, Value)>),
    /// Raw memory.
    Bytes(Vec<u8>),
    /// Disassembly: offset in bytes, the instruction's bytes, text.
    Code(Vec<(u32, Vec<u8>, String)>),
    /// A reference to an earlier record at the same address.
    SeeAbove,
}

/// A node of the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Title: the hardware name, if there is one.
    pub title: Cow<'static, str>,
    /// GPU address of its first byte.
    pub address: Option<u64>,
    /// Content.
    pub content: Content,
    /// Problems found.
    pub problems: Vec<Problem>,
    /// The records that it consists of or points to.
    pub children: Vec<Record>,
}

/// Up to this many [`Content::Fields`] are printed in one line.
const ONE_LINE_FIELDS: usize = 8;

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

    /// Visits the record and all its descendants, in the order in which they are printed.
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
        self.set_packet_as(info, bytes, Revisions::FIRST);
    }

    /// Version of [`Record::set_packet`] of a revision of the hardware.
    pub fn set_packet_as(&mut self, info: &'static PacketInfo, bytes: &[u8], revision: Revision) {
        match info.decode_as(bytes, revision) {
            Ok(mut decoded) => {
                let problems = std::mem::take(&mut decoded.problems);
                self.problems.extend(problems.into_iter().map(Problem::Packet));
                self.content = Content::Packet(decoded);
            }
            Err(problem) => self.problems.push(Problem::Packet(problem)),
        }
    }

    /// Writes the tree as text, indented by `indent` spaces. If `all` is set, false flags are
    /// printed too.
    pub fn write_text(&self, out: &mut dyn fmt::Write, indent: usize, all: bool) -> fmt::Result {
        write!(out, "{:indent$}{}", "", self.title)?;
        if let Some(address) = self.address {
            write!(out, " at {address:#x}")?;
        }
        match &self.content {
            Content::SeeAbove => write!(out, ": see above")?,
            // A few values fit on the line of the title.
            Content::Fields(fields) if fields.len() <= ONE_LINE_FIELDS => {
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
            Content::Empty | Content::SeeAbove => {}
            Content::Packet(decoded) => decoded.write_text(out, inner, all)?,
            Content::Fields(fields) if fields.len() <= ONE_LINE_FIELDS => {}
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

/// The bytes in hexadecimal.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = fmt::Write::write_fmt(&mut text, format_args!("{byte:02x}"));
        text
    })
}

/// Writes memory as 32-bit words, eight per line, each line with its offset.
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
/// true, "problems": […], "children": […]}`, without the members that are empty.
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
            Content::SeeAbove => map.serialize_entry("above", &true)?,
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
