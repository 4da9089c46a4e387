//! Text to an instruction.

use arrayvec::ArrayVec;

use crate::inst::{Inst, range};
use crate::modifier::{Flow, ModifierValue};
use crate::operand::{
    Dest, Halves, Operand, REGISTERS, Source, Special, Staging, Swizzle, constant, identity_name,
    select,
};
use crate::table::field::{Count, SourceField, StagingField};
use crate::table::{Op, Row};

/// An error at a position in an instruction's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {}: {kind}", .column + 1)]
pub struct ParseError {
    /// The column, from 0, in characters.
    pub column: usize,
    /// The problem.
    pub kind: ParseErrorKind,
}

/// A problem in an instruction's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// No instruction has the mnemonic.
    #[error("no instruction is called `{0}`")]
    Mnemonic(String),
    /// The instruction has no such modifier, or has it already.
    #[error("`{op}` takes no (further) modifier `{name}`")]
    Modifier {
        /// The instruction.
        op: Op,
        /// The modifier.
        name: String,
    },
    /// A modifier must be written.
    #[error("`{op}` needs a modifier for its {kind}: one of {values}")]
    MissingModifier {
        /// The instruction.
        op: Op,
        /// The modifier's kind.
        kind: &'static str,
        /// The possible values.
        values: String,
    },
    /// The instruction takes a different number of operands.
    #[error("`{op}` takes {expected} operands, not {found}")]
    Operands {
        /// The instruction.
        op: Op,
        /// The expected number of operands.
        expected: usize,
        /// The number of operands in the text.
        found: usize,
    },
    /// Something else is expected.
    #[error("expected {expected}, found `{found}`")]
    Expected {
        /// The expected text.
        expected: &'static str,
        /// The text that was found.
        found: String,
    },
    /// A number is not one of the constants of the instruction set.
    #[error("`{0}` is not one of the constants that a source can name")]
    Constant(String),
    /// A number is too large or too small.
    #[error("{value} is outside of {least} to {most}")]
    Range {
        /// The number.
        value: i64,
        /// The least.
        least: i64,
        /// The most.
        most: i64,
    },
    /// The source has no such modifier, or has it already.
    #[error("this source takes no (further) modifier `{0}`")]
    SourceModifier(String),
    /// Staging registers are not consecutive.
    #[error("staging registers must follow each other")]
    NotConsecutive,
    /// Too many or too few staging registers.
    #[error("{0} staging registers do not go here")]
    StagingCount(usize),
    /// A label in place of an offset; only assembling a whole program resolves labels.
    #[error("label `{0}` is not known here")]
    Label(String),
}

type Result<T> = std::result::Result<T, ParseError>;

/// A number in decimal or with `0x` in hexadecimal, with or without a sign.
pub(super) fn number(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let value = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(hex) if hex.starts_with(|c: char| c.is_ascii_hexdigit()) => {
            i64::from_str_radix(hex, 16).ok()?
        }
        Some(_) => return None,
        None if digits.starts_with(|c: char| c.is_ascii_digit()) => digits.parse().ok()?,
        None => return None,
    };
    if negative { value.checked_neg() } else { Some(value) }
}

struct Parser<'a> {
    text: &'a str,
    op: Op,
}

impl Parser<'_> {
    fn fail<T>(&self, part: &str, kind: ParseErrorKind) -> Result<T> {
        let offset = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let before = self.text.get(..offset).unwrap_or(self.text);
        Err(ParseError { column: before.chars().count(), kind })
    }

    fn expected<T>(&self, part: &str, expected: &'static str) -> Result<T> {
        self.fail(part, ParseErrorKind::Expected { expected, found: part.into() })
    }
}

/// Parses an instruction; `target` gives the offset of a label.
pub(super) fn instruction(text: &str, target: &dyn Fn(&str) -> Option<i64>) -> Result<Inst> {
    let trimmed = text.trim();
    let (head, rest) = trimmed.split_once(char::is_whitespace).unwrap_or((trimmed, ""));
    let Some(op) = mnemonic(head) else {
        let kind = ParseErrorKind::Mnemonic(head.into());
        return Err(ParseError { column: 0, kind });
    };
    let p = Parser { text, op };
    let row = op.row();
    let mut inst = Inst::new(op);
    let shorter = newer_name(head).len() - head.len();
    modifiers(&p, row, &head[row.name.len() - shorter..], &mut inst)?;
    let (operands, unusual) = match rest.trim_end().strip_suffix('}') {
        Some(body) => match body.rsplit_once('{') {
            Some((operands, bits)) => (operands, Some(bits)),
            None => return p.expected(rest, "an opening brace"),
        },
        None => (rest, None),
    };
    if let Some(bits) = unusual {
        let hex = bits.trim().strip_prefix("0x").map(|h| u64::from_str_radix(h, 16));
        match hex {
            Some(Ok(bits)) => inst.unusual = bits,
            _ => return p.expected(bits, "bits in hexadecimal"),
        }
    }
    let parts = operands.split(',').map(str::trim).filter(|part| !part.is_empty());
    let operands: ArrayVec<&str, 16> = parts.take(16).collect();
    let form = &row.form;
    let lengths = [form.staging.len(), form.sources.len(), form.immediates.len()];
    let expected = usize::from(form.dest) + lengths.iter().sum::<usize>();
    if operands.len() != expected {
        let found = operands.len();
        return p.fail(rest, ParseErrorKind::Operands { op, expected, found });
    }
    let mut operands = operands.into_iter();
    let mut next = || operands.next().unwrap_or("");
    if form.dest {
        inst.dest = Some(dest(&p, next())?);
    }
    for (field, slot) in form.staging.iter().zip(&mut inst.staging) {
        *slot = staging(&p, field, next())?;
    }
    for (field, slot) in form.sources.iter().zip(&mut inst.sources) {
        *slot = source(&p, row, field, next())?;
    }
    for (field, slot) in form.immediates.iter().zip(&mut inst.immediates) {
        let text = next();
        let body = match field.name {
            "constant" => text.strip_prefix('#'),
            name => text.strip_prefix(name).and_then(|rest| rest.strip_prefix(':')),
        };
        let Some(body) = body else { return p.expected(text, field.name) };
        let is_label = body.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let value = match (number(body), is_label && field.name == "offset" && field.bits > 16) {
            (Some(value), _) => value,
            (None, true) => match target(body) {
                Some(value) => value,
                None => return p.fail(body, ParseErrorKind::Label(body.into())),
            },
            (None, false) => return p.expected(body, "a number"),
        };
        let range = range(field);
        if !range.contains(&value) {
            let (least, most) = (*range.start(), *range.end());
            return p.fail(body, ParseErrorKind::Range { value, least, most });
        }
        *slot = value;
    }
    Ok(inst)
}

/// The instruction whose name begins the text: the longest name that the end of the text or a point follows.
fn mnemonic(head: &str) -> Option<Op> {
    let head = &newer_name(head);
    let rest_of = |op: &Op| head.strip_prefix(op.row().name);
    Op::all()
        .filter(|op| rest_of(op).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
        .max_by_key(|op| op.row().name.len())
}

/// The mnemonic with the names of the table in place of those of newer Mesa versions.
fn newer_name(head: &str) -> std::borrow::Cow<'_, str> {
    match head.split_once("_PKA") {
        Some(("LD" | "LEA", _)) => head.replacen("_PKA", "_BUFFER", 1).into(),
        _ => head.into(),
    }
}

fn modifiers(p: &Parser<'_>, row: &Row, text: &str, inst: &mut Inst) -> Result<()> {
    let mut given = [false; 12];
    let mut flow = None;
    let mut rest = text.strip_prefix('.').unwrap_or(text);
    while !rest.is_empty() {
        // Widths of two results have a point in their name.
        let one = rest.find('.').unwrap_or(rest.len());
        let two = rest[one..].get(1..).and_then(|r| r.find('.')).map(|at| one + 1 + at);
        let two = two.unwrap_or(rest.len());
        let find = |name: &str| {
            let fields = row.form.modifiers.iter().enumerate();
            let mut fields = fields.filter(|(i, _)| !given[*i]);
            fields.find_map(|(i, field)| field.kind.value_of(name).map(|value| (i, value)))
        };
        let found = find(&rest[..two]).map(|f| (two, f));
        let end = match found.or_else(|| find(&rest[..one]).map(|f| (one, f))) {
            Some((end, (i, value))) => {
                given[i] = true;
                inst.modifiers[i] = value;
                end
            }
            None => {
                let name = &rest[..one];
                match Flow::KIND.value_of(name).and_then(Flow::from_raw) {
                    Some(value) if flow.is_none() => flow = Some(value),
                    _ => {
                        let kind = ParseErrorKind::Modifier { op: p.op, name: name.into() };
                        return p.fail(name, kind);
                    }
                }
                one
            }
        };
        rest = rest[end..].strip_prefix('.').unwrap_or(&rest[end..]);
    }
    inst.flow = flow.unwrap_or(Flow::None);
    for (i, field) in row.form.modifiers.iter().enumerate() {
        if !given[i] && field.kind.default.is_none() {
            let values: Vec<&str> = field.kind.values.iter().copied().flatten().collect();
            let (kind, values) = (field.kind.name, values.join(", "));
            return p.fail(text, ParseErrorKind::MissingModifier { op: p.op, kind, values });
        }
    }
    Ok(())
}

/// The number of a register, written `r` and a number.
fn register(text: &str) -> Option<u8> {
    let digits = text.strip_prefix('r')?;
    let digits = Some(digits).filter(|d| !d.starts_with('+'))?;
    digits.parse().ok().filter(|r| *r < REGISTERS)
}

fn dest(p: &Parser<'_>, text: &str) -> Result<Dest> {
    let (name, halves) = match text.split_once('.') {
        None => (text, Halves::Both),
        Some((name, "h0")) => (name, Halves::Low),
        Some((name, "h1")) => (name, Halves::High),
        Some((_, other)) => return p.expected(other, "h0 or h1"),
    };
    match register(name) {
        Some(register) => Ok(Dest { register, halves }),
        None => p.expected(text, "a destination register"),
    }
}

fn staging(p: &Parser<'_>, field: &StagingField, text: &str) -> Result<Staging> {
    let Some(list) = text.strip_prefix('@') else {
        return p.expected(text, "staging registers, which begin with @");
    };
    let mut staging = Staging { register: 0, count: 0 };
    for name in list.split(':').filter(|_| !list.is_empty()) {
        let Some(this) = register(name) else { return p.expected(name, "a register") };
        if staging.count == 0 {
            staging.register = this;
        } else if this != staging.register + staging.count {
            return p.fail(name, ParseErrorKind::NotConsecutive);
        }
        staging.count += 1;
    }
    let range = match field.count {
        Count::At33 => 0..=7,
        Count::LessOneAt36 => 1..=8,
    };
    match range.contains(&staging.count) {
        true => Ok(staging),
        false => p.fail(text, ParseErrorKind::StagingCount(staging.count.into())),
    }
}

fn source(p: &Parser<'_>, row: &Row, field: &SourceField, text: &str) -> Result<Source> {
    let mut parts = text.split('.');
    let name = parts.next().unwrap_or("");
    let special = Special::ALL.iter().find(|s| s.name() == name);
    let operand = if let Some(special) = special {
        match parts.next() {
            Some("w0") => Operand::Special(*special, 0),
            Some("w1") => Operand::Special(*special, 1),
            _ => return p.expected(text, "a special value with .w0 or .w1"),
        }
    } else {
        operand(p, name)?
    };
    let mut source = Source::new(operand);
    let mut swizzle = None;
    let list = select(row, field).map_or(&[][..], |(_, _, list)| list);
    for part in parts {
        let named = |s: &Swizzle| match s {
            Swizzle::Identity => identity_name(row, field) == part,
            s => s.name() == part,
        };
        let found = list.iter().flatten().find(|s| named(s));
        match part {
            "neg" if field.float && !source.neg => source.neg = true,
            "abs" if field.float && !source.abs => source.abs = true,
            "not" if field.inverted && !source.not => source.not = true,
            _ => match found {
                Some(found) if swizzle.is_none() => swizzle = Some(*found),
                _ => return p.fail(part, ParseErrorKind::SourceModifier(part.into())),
            },
        }
    }
    source.swizzle = swizzle.unwrap_or(Swizzle::Identity);
    if !list.is_empty() && !list.contains(&Some(source.swizzle)) {
        return p.expected(text, "a source that says which part counts, such as .b0, .h0 or .b00");
    }
    Ok(source)
}

fn operand(p: &Parser<'_>, text: &str) -> Result<Operand> {
    // Newer versions of Mesa write the mark after the register.
    if let Some(index) = text.strip_prefix('^').or(text.strip_suffix('^')).and_then(register) {
        return Ok(Operand::Register { index, last: true });
    }
    if let Some(index) = register(text) {
        return Ok(Operand::register(index));
    }
    let decimal = |prefix| {
        let digits: &str = text.strip_prefix(prefix)?;
        digits.starts_with(|c: char| c.is_ascii_digit()).then(|| digits.parse::<u8>().ok())?
    };
    if let Some(index) = decimal("imm").filter(|i| *i < 32) {
        return Ok(Operand::Constant(index));
    }
    if let Some(index) = decimal("u") {
        return Ok(Operand::Uniform(index));
    }
    if text.starts_with("0x") {
        let value = number(text).and_then(|v| u32::try_from(v).ok());
        return match value.and_then(constant) {
            Some(index) => Ok(Operand::Constant(index)),
            None => p.fail(text, ParseErrorKind::Constant(text.into())),
        };
    }
    p.expected(text, "a register, a uniform, a constant or a special value")
}
