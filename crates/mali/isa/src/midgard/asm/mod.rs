//! The assembler: a listing to code, in the syntax of Mesa's disassembler.
//!
//! A bundle is one line for each of its instructions, and an empty line or a label ends it:
//!
//! * arithmetic in the order of units, `vmul`, `sadd`, `vadd`, `smul`, `lut`: `FADD.f32 R0.xy, R1.yx, U0.zw`. The unit
//!   is the first of `vmul`, `vadd` and `lut` that executes the instruction or, if all operands are one component of 32
//!   bits, of `smul` and `sadd`. Another unit is written before the instruction, as Mesa does in verbose output:
//!   `lut.FMUL.f32 …`. A branch follows, then the words of constants (`uconstants 0x3F800000, 0x0, 0x0, 0x0`), and
//!   `writeout` if the bundle writes to the tile buffer;
//! * up to two loads or stores; `NOP` before the second one if it stands alone;
//! * a texture instruction.
//!
//! Mesa's text does not determine a program. If signed and unsigned integers are two instructions, the type
//! distinguishes them (`MIN.s32`, `MIN.u32`), and Mesa's `MIN.i32` is refused. Fields that text leaves out have the
//! value that Mesa's compiler gives them; braces after an instruction set them, and any other field:
//! `{src2.swizzle:0x54, mask:0x3}`. The tag of the next bundle is that of the bundle that follows, or is given by
//! `.next TAG`; `.tag TAG` gives a bundle's own tag if its instructions do not determine it.
//!
//! The target of a branch is a distance in words of 16 bytes from the end of its bundle (`br.cond.true +3 -> alu/4`) or
//! a label (`br.cond.true again`), whose bundle determines the tag. A number as the second source is an immediate if it
//! fits (a half-float, or 16 bits without a sign), and other numbers are looked up in the bundle's constants.
//! Directives: `.zero N`, `.hex BYTES`. Comments: `/* … */` and `//`.
//!
//! The [exact text](super::disasm::exact) of a program is assembled to the same bytes.

mod alu;
mod constants;
mod cursor;
mod error;
mod fields;
mod memory;
mod texture;

use std::collections::HashMap;

use super::bundle::{Alu, Bundle, Content, Tag, WORD_BYTES};
use super::names::{CONSTANTS, WRITEOUT};
use super::table::{Unit, texture as opcode};
use super::word::{LoadStore, Texture};
use crate::asm::{MAX_ZEROS, hex_bytes};
use alu::{Branch, Target};
use error::AsmErrorKind as Kind;
pub use error::{AsmError, AsmErrorKind};

pub(super) use alu::{Arithmetic, arithmetic};
pub(super) use cursor::{Cursor, Result};
pub(super) use fields::Fields;
pub(super) use memory::load_store;
pub(super) use texture::texture;

/// Assembles a listing.
///
/// # Errors
/// All problems, at most one per bundle.
pub fn assemble(source: &str) -> std::result::Result<Vec<u8>, Vec<AsmError>> {
    let lines: Vec<String> = without_comments(source);
    let mut program = Program::default();
    let mut open: Vec<Cursor<'_>> = Vec::new();
    for ((number, line), original) in lines.iter().enumerate().zip(source.lines()) {
        let mut cursor = Cursor::new(number + 1, line);
        cursor.rest = cursor.rest.trim();
        if cursor.rest.is_empty() {
            // Lines with only a comment do not end a bundle.
            if original.trim().is_empty() {
                program.close(&mut open);
            }
            continue;
        }
        let is_data = [".zero", ".hex"].iter().any(|d| cursor.rest.starts_with(d));
        let label = cursor.rest.strip_suffix(':').filter(|name| is_label_name(name));
        if label.is_none() && !is_data {
            open.push(cursor);
            continue;
        }
        program.close(&mut open);
        match label {
            Some(name) if program.labels.contains_key(name) => {
                program.errors.push(cursor.error(Kind::DuplicateLabel(name.into())));
            }
            Some(name) => {
                program.labels.insert(name, program.place);
            }
            None => match data(&cursor) {
                Ok(bytes) => program.push(Part::Bytes(bytes)),
                Err(error) => program.errors.push(error),
            },
        }
    }
    program.close(&mut open);
    program.finish()
}

/// The lines of a source with spaces in place of comments.
pub(super) fn without_comments(source: &str) -> Vec<String> {
    let mut inside = false;
    let clean = |line: &str| {
        let mut out = String::with_capacity(line.len());
        let mut chars = line.char_indices();
        while let Some((at, c)) = chars.next() {
            let rest = &line[at..];
            let (closes, opens) = (inside && rest.starts_with("*/"), rest.starts_with("/*"));
            if !inside && rest.starts_with("//") {
                break;
            }
            if closes || opens && !inside {
                inside = opens;
                chars.next();
                out.push_str("  ");
            } else {
                out.push(if inside { ' ' } else { c });
            }
        }
        out
    };
    source.lines().map(clean).collect()
}

/// Whether a character may be part of a label.
fn is_label(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.')
}

fn is_label_name(name: &str) -> bool {
    name.chars().all(is_label) && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// Reads the name of a tag.
fn tag(cursor: &mut Cursor<'_>) -> Result<Tag> {
    let start = *cursor;
    let name = cursor.take(|c| c.is_ascii_alphanumeric() || c == '/');
    match Tag::of(name) {
        Some(tag) => Ok(tag),
        None => start.expected("a tag, such as `alu/4`, `ldst`, `tex` or `break`"),
    }
}

/// The bytes of a directive.
fn data(cursor: &Cursor<'_>) -> Result<Vec<u8>> {
    let (name, operand) = cursor.rest.split_once(char::is_whitespace).unwrap_or((cursor.rest, ""));
    let bytes = match name {
        ".zero" => {
            let count = operand.trim().parse::<usize>().ok().filter(|n| *n <= MAX_ZEROS);
            count.map(|count| vec![0; count])
        }
        ".hex" => hex_bytes(operand.trim()),
        _ => None,
    };
    bytes.ok_or_else(|| cursor.error(Kind::Directive(cursor.rest.into())))
}

/// A part of a program.
enum Part<'a> {
    Bytes(Vec<u8>),
    Bundle(Box<UnlinkedBundle<'a>>),
}

#[derive(Default)]
struct Program<'a> {
    /// Parts, and their offsets in bytes.
    parts: Vec<(usize, Part<'a>)>,
    place: usize,
    labels: HashMap<&'a str, usize>,
    errors: Vec<AsmError>,
}

impl<'a> Program<'a> {
    fn push(&mut self, part: Part<'a>) {
        let length = match &part {
            Part::Bytes(bytes) => bytes.len(),
            Part::Bundle(draft) => draft.tag.words() * WORD_BYTES,
        };
        if length > 0 {
            self.parts.push((self.place, part));
            self.place += length;
        }
    }

    /// Ends the bundle of the preceding lines.
    fn close(&mut self, open: &mut Vec<Cursor<'a>>) {
        if !open.is_empty() {
            match UnlinkedBundle::read(open) {
                Ok(draft) => self.push(Part::Bundle(Box::new(draft))),
                Err(error) => self.errors.push(error),
            }
            open.clear();
        }
    }

    /// The tag of the part at an offset.
    fn tag_at(&self, place: usize) -> Option<Tag> {
        let index = self.parts.binary_search_by_key(&place, |(at, _)| *at).ok()?;
        match &self.parts[index].1 {
            Part::Bytes(bytes) => following(bytes),
            Part::Bundle(draft) => Some(draft.tag),
        }
    }

    fn finish(mut self) -> std::result::Result<Vec<u8>, Vec<AsmError>> {
        let (mut code, mut errors) = (Vec::with_capacity(self.place), Vec::new());
        for (at, part) in &self.parts {
            match part {
                Part::Bytes(bytes) => code.extend(bytes),
                Part::Bundle(draft) => match self.bundle(*at, draft) {
                    Ok(bundle) => code.extend(bundle.encode()),
                    Err(error) => errors.push(error),
                },
            }
        }
        self.errors.extend(errors);
        self.errors.sort_by_key(|error| (error.line, error.column));
        if self.errors.is_empty() { Ok(code) } else { Err(self.errors) }
    }

    /// Completes the draft of a bundle at an offset.
    fn bundle(&self, at: usize, draft: &UnlinkedBundle<'_>) -> Result<Bundle> {
        let end = at + draft.tag.words() * WORD_BYTES;
        let mut content = draft.content;
        if let Content::Alu(alu) = &mut content {
            for (branch, target) in &draft.branches {
                let (offset, tag) = self.target(end, target)?;
                match branch.to(target, offset, tag)? {
                    Branch::Short(branch) => alu.branch = Some(branch),
                    Branch::Long(branch) => alu.extended = Some(branch),
                }
            }
        }
        let next = draft.next.or(self.tag_at(end)).unwrap_or(Tag::BREAK);
        Ok(Bundle { tag: draft.tag, next, content })
    }

    /// The distance of a branch target from the end of the branch's bundle, and the target's tag.
    fn target(&self, end: usize, target: &Target<'_>) -> Result<(i64, Tag)> {
        let words = WORD_BYTES as i64;
        let offset = match target.place {
            Ok(offset) => offset,
            Err(name) => {
                let unknown = || target.at.error(Kind::UnknownLabel(name.into()));
                let to = self.labels.get(name).ok_or_else(unknown)?;
                let bytes = *to as i64 - end as i64;
                if bytes % words != 0 {
                    let kind = Kind::Unaligned { value: bytes, unit: "words of 16 bytes" };
                    return target.at.fail(kind);
                }
                bytes / words
            }
        };
        let to = offset.checked_mul(words).and_then(|bytes| bytes.checked_add(end as i64));
        let there = || self.tag_at(usize::try_from(to?).ok()?);
        Ok((offset, target.tag.or_else(there).unwrap_or(Tag::BREAK)))
    }
}

/// The tag of the bundle that bytes begin with; zeros after a program are not a bundle.
pub(super) fn following(bytes: &[u8]) -> Option<Tag> {
    bytes.first().map(|byte| Tag(byte & 15)).filter(|tag| tag.0 != 0)
}

/// A bundle whose branches and next tag are not known yet.
struct UnlinkedBundle<'a> {
    tag: Tag,
    next: Option<Tag>,
    content: Content,
    branches: Vec<(Branch, Target<'a>)>,
}

/// The parsed lines of a bundle.
#[derive(Default)]
struct Lines<'a> {
    tag: Option<(Cursor<'a>, Tag)>,
    next: Option<Tag>,
    alu: Option<Alu>,
    last: Option<Unit>,
    branches: Vec<(Branch, Target<'a>)>,
    writes_out: bool,
    loads: Vec<LoadStore>,
    texture: Option<(Texture, bool)>,
}

/// Kinds of bundles.
const ARITHMETIC: &str = "arithmetic";
const LOADS: &str = "loads and stores";
const TEXTURES: &str = "a texture instruction";

impl<'a> UnlinkedBundle<'a> {
    fn read(open: &[Cursor<'a>]) -> Result<UnlinkedBundle<'a>> {
        let mut lines = Lines::default();
        // The constants follow the instructions, but are needed to parse them.
        let mut words = None;
        for line in open.iter().filter(|line| line.rest.starts_with(CONSTANTS)) {
            if words.replace(constant_words(*line)?).is_some() {
                return line.fail(Kind::Twice("constants"));
            }
        }
        for line in open {
            lines.add(*line, words.as_ref())?;
        }
        if let Some(alu) = &mut lines.alu {
            alu.constants = words;
        }
        lines.draft(&open[0])
    }
}

/// The words of a bundle's constants.
fn constant_words(line: Cursor<'_>) -> Result<[u32; 4]> {
    let mut here = line;
    here.eat(CONSTANTS);
    let operands = here.operands();
    let mut words = [0; 4];
    if operands.len() != words.len() {
        return line.expected("four words, as in `uconstants 0x3F800000, 0x0, 0x0, 0x0`");
    }
    for (word, mut operand) in words.iter_mut().zip(operands) {
        *word = operand.field("a word of constants", 32)?;
        operand.end()?;
    }
    Ok(words)
}

impl<'a> Lines<'a> {
    /// The kind of the parsed instructions.
    fn kind(&self) -> Option<&'static str> {
        let loads = (!self.loads.is_empty()).then_some(LOADS);
        let texture = self.texture.map(|_| TEXTURES);
        self.alu.map(|_| ARITHMETIC).or(loads).or(texture)
    }

    /// The arithmetic bundle, if the bundle is not of another kind.
    fn arithmetic(&mut self, line: &Cursor<'_>) -> Result<&mut Alu> {
        self.begin(line, ARITHMETIC)?;
        Ok(self.alu.get_or_insert_default())
    }

    fn begin(&self, line: &Cursor<'_>, found: &'static str) -> Result<()> {
        match self.kind() {
            Some(kind) if kind != found => line.fail(Kind::Mixed { kind, found }),
            _ => Ok(()),
        }
    }

    fn add(&mut self, line: Cursor<'a>, words: Option<&[u32; 4]>) -> Result<()> {
        let end = line.rest.find(char::is_whitespace).unwrap_or(line.rest.len());
        let head = &line.rest[..end];
        if head == WRITEOUT {
            line.at(&line.rest[end..]).end()?;
            self.arithmetic(&line)?;
            self.writes_out = true;
            return Ok(());
        }
        if head == CONSTANTS {
            self.arithmetic(&line)?;
            return Ok(());
        }
        if head.starts_with('.') {
            return self.directive(line, head);
        }
        if alu::is_branch(head) {
            let (branch, target) = alu::branch(line)?;
            let same = |b: &Branch| std::mem::discriminant(b) == std::mem::discriminant(&branch);
            if self.branches.iter().any(|(b, _)| same(b)) {
                return line.fail(Kind::Twice("a branch"));
            }
            self.arithmetic(&line)?;
            self.branches.push((branch, target));
            return Ok(());
        }
        if alu::is_arithmetic(head) {
            return self.unit(line, alu::arithmetic(line, words)?);
        }
        if memory::is_load_store(&line) {
            self.begin(&line, LOADS)?;
            if self.loads.len() == 2 {
                return line.fail(Kind::Twice("two loads or stores"));
            }
            self.loads.push(memory::load_store(line)?);
            return Ok(());
        }
        if texture::is_texture(&line) {
            self.begin(&line, TEXTURES)?;
            if self.texture.replace(texture::texture(line)?).is_some() {
                return line.fail(Kind::Twice("a texture instruction"));
            }
            return Ok(());
        }
        line.fail(Kind::Mnemonic(head.into()))
    }

    fn unit(&mut self, line: Cursor<'_>, inst: Arithmetic) -> Result<()> {
        let (unit, last) = (inst.unit(), self.last);
        match last {
            Some(last) if last == unit => return line.fail(Kind::Taken(unit.name())),
            Some(last) if last > unit => return line.fail(Kind::Order { unit, last }),
            _ => {}
        }
        let alu = self.arithmetic(&line)?;
        match inst {
            Arithmetic::Vector(Unit::Vmul, inst) => alu.vmul = Some(inst),
            Arithmetic::Vector(Unit::Vadd, inst) => alu.vadd = Some(inst),
            Arithmetic::Vector(_, inst) => alu.lut = Some(inst),
            Arithmetic::Scalar(Unit::Sadd, inst) => alu.sadd = Some(inst),
            Arithmetic::Scalar(_, inst) => alu.smul = Some(inst),
        }
        self.last = Some(unit);
        Ok(())
    }

    fn directive(&mut self, line: Cursor<'a>, head: &str) -> Result<()> {
        let mut operand = line.at(&line.rest[head.len()..]);
        operand.space();
        match head {
            ".next" if self.next.is_none() => self.next = Some(tag(&mut operand)?),
            ".tag" if self.tag.is_none() => self.tag = Some((line, tag(&mut operand)?)),
            ".next" | ".tag" => return line.fail(Kind::Twice("such a directive")),
            _ => return line.fail(Kind::Directive(line.rest.into())),
        }
        operand.end()
    }

    /// The bundle.
    fn draft(mut self, first: &Cursor<'_>) -> Result<UnlinkedBundle<'a>> {
        let said = self.tag.map(|(_, tag)| tag);
        if let (None, Some(tag)) = (self.kind(), said)
            && tag.0 >= Tag::ALU.0
        {
            self.alu = Some(Alu::default());
        }
        let (content, usual) = if let Some(mut alu) = self.alu {
            // The size includes branches, which are resolved later.
            for (branch, _) in &self.branches {
                match branch {
                    Branch::Short(branch) => alu.branch = Some(*branch),
                    Branch::Long(branch) => alu.extended = Some(*branch),
                }
            }
            let kind = if self.writes_out { Tag::WRITEOUT } else { Tag::ALU };
            let tag = Tag(kind.0 + alu.words() as u8 - 1);
            (Content::Alu(alu), tag)
        } else if let Some((t, vertex)) = self.texture {
            let tag = match t.op {
                opcode::BARRIER => Tag::BARRIER,
                _ if vertex => Tag::TEXTURE_VERTEX,
                _ => Tag::TEXTURE,
            };
            (Content::Texture(t), tag)
        } else if let Some(one) = self.loads.first() {
            let two = self.loads.get(1).copied().unwrap_or(LoadStore::NOP);
            (Content::LoadStore([*one, two]), Tag::LOAD_STORE)
        } else {
            return first.fail(Kind::Empty);
        };
        if let Some((line, tag)) = self.tag {
            let fits = match &content {
                Content::Texture(_) => matches!(tag.0, 2..=4),
                Content::LoadStore(_) => tag == usual,
                Content::Alu(_) => tag.0 >= Tag::ALU.0 && tag.0 & 3 == usual.0 & 3,
            };
            if !fits {
                let kind = match &content {
                    Content::Texture(_) => TEXTURES,
                    Content::LoadStore(_) => LOADS,
                    Content::Alu(_) => ARITHMETIC,
                };
                return line.fail(Kind::Tag {
                    kind,
                    bytes: usual.words() * WORD_BYTES,
                    tag: tag.name(),
                });
            }
        }
        Ok(UnlinkedBundle {
            tag: said.unwrap_or(usual),
            next: self.next,
            content,
            branches: self.branches,
        })
    }
}
