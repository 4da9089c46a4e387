//! Arithmetic: instructions of the units, and branches.

use super::super::bundle::Tag;
use super::super::names::{
    ABSOLUTE, BRANCHES, CALLS, CONDITIONS, DOUBLED, FLOAT_OUTMODS, INTEGER_OUTMODS, NEGATED,
    SHRINK, UNITS, WIDEN, WIDENINGS, component_number,
};
use super::super::swizzle::{self, Fill, IDENTITY};
use super::super::table::{ALU, AluRow, Unit};
use super::super::word::{
    Conditional, Extended, Registers, Scalar, ScalarSource, Unconditional, Vector, VectorSource,
    branch, expand, register, shrink,
};
use super::constants::{self, Values};
use super::cursor::{Cursor, Result};
use super::error::AsmErrorKind as Kind;
use super::fields::{BracedFields, Fields};

/// An instruction of a unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) enum Arithmetic {
    Vector(Unit, (Registers, Vector)),
    Scalar(Unit, (Registers, Scalar)),
}

impl Arithmetic {
    pub fn unit(&self) -> Unit {
        match self {
            Arithmetic::Vector(unit, _) | Arithmetic::Scalar(unit, _) => *unit,
        }
    }

    /// Fields that determine how the rest of a line is parsed, if braces set them.
    pub fn decisive(&self) -> [(&'static str, u32); 2] {
        let (immediate, mask) = match self {
            Arithmetic::Vector(_, (r, v)) => (r.immediate, v.mask),
            Arithmetic::Scalar(_, (r, _)) => (r.immediate, 0),
        };
        [(IMMEDIATE, immediate), (MASK, mask)]
    }
}

/// Names of the fields that determine how others are parsed.
const IMMEDIATE: &str = "immediate";
const MASK: &str = "mask";

/// A mnemonic with its type.
struct TypedMnemonic {
    unit: Option<Unit>,
    /// The rows with the name: several if the first source distinguishes them.
    rows: Vec<&'static AluRow>,
    code: u32,
    bits: u32,
}

/// The output modifier of integer operations whose results are not narrowed: Mesa's compiler keeps the lower
/// half.
//
// source: Mesa, midgard_compile.c (midgard_outmod_keeplo)
const KEEP_LOW: u32 = 2;

/// Whether a line begins with an arithmetic instruction: its name and type are one's.
pub(super) fn is_arithmetic(head: &str) -> bool {
    let named =
        UNITS.iter().any(|unit| head.strip_prefix(unit).is_some_and(|rest| rest.starts_with('.')));
    let is_row = |name: &str| name.starts_with(UNKNOWN) || ALU.iter().any(|row| row.name == name);
    named || split_type(head).is_some_and(|(name, _, _)| is_row(name))
}

/// Prefix of the number of an opcode without a row.
const UNKNOWN: &str = "alu_op_";

/// A name, the letter of its type and its bits.
fn split_type(head: &str) -> Option<(&str, char, u32)> {
    let (name, of) = head.rsplit_once('.')?;
    let letter = of.chars().next().filter(|c| matches!(c, 'f' | 'i' | 's' | 'u'))?;
    let bits = match &of[1..] {
        "8" => 8,
        "16" => 16,
        "32" => 32,
        "64" => 64,
        _ => return None,
    };
    Some((name, letter, bits))
}

fn head(cursor: Cursor<'_>) -> Result<TypedMnemonic> {
    let mut here = cursor;
    let unit = Unit::ALL.into_iter().find(|unit| {
        let rest = here.rest.strip_prefix(unit.name()).and_then(|rest| rest.strip_prefix('.'));
        here.rest = rest.unwrap_or(here.rest);
        rest.is_some()
    });
    let Some((name, letter, bits)) = split_type(here.rest) else {
        return here.expected("an instruction with its type, as in `FADD.f32`");
    };
    let named = || ALU.iter().filter(|row| row.name == name);
    let code = name.strip_prefix(UNKNOWN).and_then(|hex| u8::from_str_radix(hex, 16).ok());
    let rows: Vec<&AluRow> = named().filter(|row| row.letter(true) == letter).collect();
    match (rows.first(), named().next(), code) {
        (Some(first), _, _) => Ok(TypedMnemonic { unit, code: first.op as u32, rows, bits }),
        (None, Some(row), _) if letter == 'i' && !row.is_signed_by_name() => {
            here.fail(Kind::Sign { name: name.into(), bits })
        }
        (None, Some(row), _) => {
            let (name, expected) = (name.into(), row.letter(true));
            here.fail(Kind::Type { name, expected, found: letter, bits })
        }
        (None, None, Some(code)) => Ok(TypedMnemonic { unit, rows, code: code.into(), bits }),
        (None, None, None) => here.fail(Kind::Mnemonic(name.into())),
    }
}

/// Reads an instruction of a unit. Numbers are looked up in the bundle's constants.
pub(in super::super) fn arithmetic(
    line: Cursor<'_>,
    words: Option<&[u32; 4]>,
) -> Result<Arithmetic> {
    let (body, braces) = BracedFields::split(line)?;
    let mut rest = body;
    let name = rest.word(|c| !c.is_whitespace());
    let mut head = head(name)?;
    let operands = rest.operands();
    let [dest, src1, src2] = operands[..] else {
        return match operands.get(3) {
            Some(fourth) => fourth.expected("three operands"),
            None => body.at(&body.rest[body.rest.len()..]).expected("three operands"),
        };
    };
    let doubled = src1.rest.contains(DOUBLED);
    if let Some(row) = head.rows.iter().find(|row| row.doubles() == doubled) {
        head.code = row.op as u32;
    }
    let values = Values { words, immediate: braces.value(IMMEDIATE) };
    let unit = head.unit.unwrap_or_else(|| usual_unit(&head, [dest, src1, src2]));
    if unit.is_scalar() {
        if head.bits != Scalar::ELEMENT_BITS {
            return name.expected("a type of 32 bits, which scalar units have");
        }
        let mut inst = scalar(&head, [dest, src1, src2], &values)?;
        inst.set(&braces)?;
        return Ok(Arithmetic::Scalar(unit, inst));
    }
    // The text of a mask that covers parts of components is not exact; sources then use the mask in braces.
    let mask = braces.value(MASK).map(|mask| mask as u32 & 0xff);
    let mut inst = vector(&head, [dest, src1, src2], mask, &values)?;
    inst.set(&braces)?;
    Ok(Arithmetic::Vector(unit, inst))
}

/// The unit of an instruction that names none: a scalar unit if all operands are one component of 32 bits.
fn usual_unit(head: &TypedMnemonic, operands: [Cursor<'_>; 3]) -> Unit {
    let is_component =
        |part: &str| part.len() == 1 && part.chars().all(|c| component_number(c).is_some());
    let single = |operand: &Cursor<'_>| {
        operand.rest.starts_with('#') || operand.rest.split('.').nth(1).is_some_and(is_component)
    };
    let has = |unit: &Unit| head.rows.first().is_none_or(|row| row.units.has(*unit));
    let scalar = SCALAR_UNITS.into_iter().find(has);
    match VECTOR_UNITS.into_iter().find(has) {
        Some(vector) if scalar.is_none() || !operands.iter().all(single) => vector,
        vector if head.bits != Scalar::ELEMENT_BITS => vector.unwrap_or(Unit::Vmul),
        _ => scalar.unwrap_or(Unit::Vmul),
    }
}

/// Vector units in the order of preference, for instructions that name none.
const VECTOR_UNITS: [Unit; 3] = [Unit::Vmul, Unit::Vadd, Unit::Lut];
const SCALAR_UNITS: [Unit; 2] = [Unit::Smul, Unit::Sadd];

/// Whether sources and results are integers.
fn kinds(head: &TypedMnemonic) -> (bool, bool) {
    head.rows.first().map_or((false, false), |row| (row.is_integer(), row.makes_integer()))
}

/// The number of a register; registers from 24 on have names that depend on the position.
fn register_number(cursor: &mut Cursor<'_>) -> Result<u32> {
    let start = *cursor;
    let name = cursor.take(|c| c.is_ascii_alphanumeric() || c == '_');
    let numbered = |prefix: &str, first: u32, count: u32| {
        let digits = name.strip_prefix(prefix).filter(|d| d.bytes().all(|b| b.is_ascii_digit()))?;
        digits.parse().ok().filter(|n: &u32| *n < count).map(|n| first + n)
    };
    let number = match name {
        "PC_SP" => Some(register::SELECT),
        _ => numbered("TMP", register::TEMPORARY, 2)
            .or_else(|| numbered("AL", register::LOAD_STORE, 2))
            .or_else(|| numbered("AT", register::TEXTURE, 2))
            .or_else(|| numbered("TA", register::TEXTURE, 2))
            .or_else(|| numbered("U", 0, 16).map(|n| register::UNIFORM_END - 1 - n))
            .or_else(|| numbered("R", 0, 32)),
    };
    match number {
        Some(number) => Ok(number),
        None => start.expected("a register"),
    }
}

/// Reads the word after a point, unless it is one of `words`, none of which consists of components.
fn letters<'a>(cursor: &mut Cursor<'a>, words: &[&str]) -> Option<Cursor<'a>> {
    let is_word = |word: &str| {
        let rest = cursor.rest.strip_prefix(word).filter(|_| !word.is_empty());
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
    };
    if !cursor.rest.starts_with('.') || words.iter().any(|word| is_word(word)) {
        return None;
    }
    cursor.eat(".");
    Some(cursor.word(|c| c.is_ascii_alphanumeric() || matches!(c, '[' | ']')))
}

/// The output modifier, and whether the result is half as wide.
fn outmod(cursor: &mut Cursor<'_>, integer: bool) -> (u32, bool) {
    if integer {
        let found = cursor.longest(&INTEGER_OUTMODS);
        return (found.unwrap_or(KEEP_LOW), found.is_some());
    }
    let shrinks = cursor.eat(SHRINK);
    (cursor.longest(&FLOAT_OUTMODS).unwrap_or(0), shrinks)
}

/// Words that may follow a destination without being its components.
fn outmod_words() -> Vec<&'static str> {
    [&INTEGER_OUTMODS[..], &FLOAT_OUTMODS[..], &[SHRINK]].concat()
}

/// The source modifier, and whether the source's elements are half as wide.
fn modifier(cursor: &mut Cursor<'_>, integer: bool) -> (u32, bool) {
    if integer {
        let found = cursor.longest(&WIDENINGS);
        return (found.unwrap_or(0), found.is_some());
    }
    let absolute = u32::from(cursor.eat(ABSOLUTE));
    (absolute | u32::from(cursor.eat(NEGATED)) << 1, cursor.eat(WIDEN))
}

/// Words that may follow a source without being its components.
fn modifier_words() -> Vec<&'static str> {
    [&WIDENINGS[..], &[ABSOLUTE, NEGATED, WIDEN, DOUBLED]].concat()
}

fn vector(
    head: &TypedMnemonic,
    [mut dest, src1, src2]: [Cursor<'_>; 3],
    mask: Option<u32>,
    values: &Values<'_>,
) -> Result<(Registers, Vector)> {
    let (integer, makes_integer) = kinds(head);
    let mode = head.bits.ilog2() - 3;
    let mut r = Registers { dest: register_number(&mut dest)?, ..Registers::default() };
    let mut v = Vector { op: head.code, mode, mask: 0xff, ..Vector::default() };
    let components = letters(&mut dest, &outmod_words());
    dest.space();
    let (outmod, shrinks) = outmod(&mut dest, makes_integer);
    v.outmod = outmod;
    v.shrink = if shrinks { shrink::LOW } else { shrink::NONE };
    dest.end()?;
    if let Some(components) = components {
        (v.mask, v.shrink) = written(&components, head.bits, shrinks)?;
    }
    v.mask = mask.unwrap_or(v.mask);
    let doubles = v.row().is_some_and(AluRow::doubles);
    (r.src1, v.src1) = match constants::begins(&src1) {
        true => (register::CONSTANT, constants::vector(&src1, &v, values)?.encode() as u32),
        false => vector_source(src1, &v, integer, doubles)?,
    };
    if !constants::begins(&src2) {
        (r.src2, v.src2) = vector_source(src2, &v, integer, false)?;
        return Ok((r, v));
    }
    let found = constants::vector(&src2, &v, values);
    match values.immediate(&src2, integer, found)? {
        Ok(value) => v.set_immediate(&mut r, value),
        Err(source) => (r.src2, v.src2) = (register::CONSTANT, source.encode() as u32),
    }
    Ok((r, v))
}

/// The mask of components that are written, and the half of the register that they are in.
fn written(letters: &Cursor<'_>, bits: u32, shrinks: bool) -> Result<(u32, u32)> {
    let fail = || letters.expected("components of the destination in their order");
    let numbers: Option<Vec<u32>> = letters.rest.chars().map(component_number).collect();
    let Some(numbers) = numbers.filter(|n| n.is_sorted_by(|a, b| a < b)) else { return fail() };
    // The upper half of 8-bit elements has the same component names as the lower one.
    let first = 128 / bits;
    let upper = shrinks && bits > 8 && numbers.first().is_some_and(|n| *n >= first);
    let numbers = numbers.into_iter().map(|n| if upper { n - first } else { n });
    let numbers: Vec<u32> = numbers.collect();
    let mut mask = 0;
    if bits == 8 {
        for pair in numbers.chunks(2) {
            let [a, b] = pair[..] else { return fail() };
            if a & 1 != 0 || b != a + 1 {
                return fail();
            }
            mask |= 1 << (a / 2);
        }
    } else {
        let halves = bits / 16;
        for number in numbers {
            if (number + 1) * halves > 8 {
                return fail();
            }
            mask |= ((1 << halves) - 1) << (number * halves);
        }
    }
    let half = if upper { shrink::HIGH } else { shrink::LOW };
    Ok((mask, if shrinks { half } else { shrink::NONE }))
}

/// Values of `expand` for elements as wide as the operation, in the order in which they are tried. For 16-bit
/// elements Mesa's compiler uses one half for both.
const WHOLE: [u32; 4] = [expand::NONE, expand::LOW_TWICE, expand::HIGH_TWICE, expand::SWAP];
const WHOLE_16: [u32; 4] = [expand::LOW_TWICE, expand::HIGH_TWICE, expand::NONE, expand::SWAP];
/// Values of `expand` for elements half as wide.
const NARROW: [u32; 4] = [expand::LOW, expand::HIGH, expand::LOW_SWAP, expand::HIGH_SWAP];

/// Values of `expand` in the order in which they are tried.
pub(super) fn ways(mode: u32, narrow: bool) -> [u32; 4] {
    match (narrow, mode) {
        (true, _) => NARROW,
        (false, 1) => WHOLE_16,
        (false, _) => WHOLE,
    }
}

/// The fill of swizzle components that are not used: in 16 bits Mesa's compiler leaves them in place.
pub(super) fn fill(mode: u32) -> Fill {
    if mode == 1 { Fill::Count } else { Fill::Repeat }
}

fn vector_source(
    mut cursor: Cursor<'_>,
    v: &Vector,
    integer: bool,
    doubles: bool,
) -> Result<(u32, u32)> {
    let number = register_number(&mut cursor)?;
    let letters = letters(&mut cursor, &modifier_words());
    if doubles {
        cursor.eat(DOUBLED);
    }
    let (modifier, narrow) = modifier(&mut cursor, integer);
    cursor.end()?;
    let mut source = VectorSource { modifier, expand: expand::NONE, swizzle: IDENTITY };
    let ways = ways(v.mode, narrow);
    match letters {
        None if narrow => source.expand = expand::LOW,
        None => {}
        Some(letters) => {
            let read = |how: u32| swizzle::read(letters.rest, how, v.mode, v.source_mask());
            let found = ways.into_iter().find_map(|how| read(how).map(|slots| (how, slots)));
            let Some((how, slots)) = found else {
                return letters.expected("a component for each that is written");
            };
            (source.expand, source.swizzle) = (how, slots.filled(fill(v.mode)));
        }
    }
    Ok((number, source.encode() as u32))
}

fn scalar(
    head: &TypedMnemonic,
    [mut dest, src1, src2]: [Cursor<'_>; 3],
    values: &Values<'_>,
) -> Result<(Registers, Scalar)> {
    let (integer, makes_integer) = kinds(head);
    let mut r = Registers { dest: register_number(&mut dest)?, ..Registers::default() };
    let mut s = Scalar { op: head.code, ..Scalar::default() };
    let component = letters(&mut dest, &outmod_words());
    let (outmod, shrinks) = outmod(&mut dest, makes_integer);
    dest.end()?;
    (s.outmod, s.full) = (outmod, u32::from(!shrinks));
    s.component = one_component(component.as_ref().unwrap_or(&dest), shrinks)?;
    let row = s.row();
    (r.src1, s.src1) = match constants::begins(&src1) {
        true => (register::CONSTANT, constants::scalar(&src1, row, values)?.encode() as u32),
        false => scalar_source(src1, integer)?,
    };
    if !constants::begins(&src2) {
        (r.src2, s.src2) = scalar_source(src2, integer)?;
        return Ok((r, s));
    }
    let found = constants::scalar(&src2, row, values);
    match values.immediate(&src2, integer, found)? {
        Ok(value) => s.set_immediate(&mut r, value),
        Err(source) => (r.src2, s.src2) = (register::CONSTANT, source.encode() as u32),
    }
    Ok((r, s))
}

/// The index of a component, in units of 16 bits.
fn one_component(letters: &Cursor<'_>, narrow: bool) -> Result<u32> {
    let mut chars = letters.rest.chars();
    let number = chars.next().and_then(component_number).filter(|_| chars.next().is_none());
    match number {
        Some(number) if narrow && number < 8 => Ok(number),
        Some(number) if !narrow && number < 4 => Ok(number << 1),
        _ => letters.expected("one component"),
    }
}

fn scalar_source(mut cursor: Cursor<'_>, integer: bool) -> Result<(u32, u32)> {
    let number = register_number(&mut cursor)?;
    let letters = letters(&mut cursor, &modifier_words());
    cursor.eat(DOUBLED);
    let (modifier, narrow) = modifier(&mut cursor, integer);
    cursor.end()?;
    let component = one_component(letters.as_ref().unwrap_or(&cursor), narrow)?;
    let source = ScalarSource { modifier, full: u32::from(!narrow), component };
    Ok((number, source.encode() as u32))
}

/// The target of a branch.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    /// Its position in the source.
    pub at: Cursor<'a>,
    /// Distance in words from the bundle's end, or a label.
    pub place: std::result::Result<i64, &'a str>,
    /// The tag of the target bundle, if it is written.
    pub tag: Option<Tag>,
}

/// A branch whose target is not known yet.
#[derive(Clone, Copy)]
pub(super) enum Branch {
    Short(Conditional),
    Long(Extended),
}

/// Bits of the offset of a short branch; below, of a long one.
const SHORT_BITS: u32 = 7;
const LONG_BITS: u32 = 23;

impl Branch {
    /// The branch with its target.
    pub fn to(self, target: &Target<'_>, offset: i64, tag: Tag) -> Result<Branch> {
        let bits = if matches!(self, Branch::Short(_)) { SHORT_BITS } else { LONG_BITS };
        let offset = target.at.signed("the distance of a branch in words", offset, bits)?;
        let tag = u32::from(tag.0);
        Ok(match self {
            Branch::Short(b) if b.op == branch::UNCONDITIONAL => {
                let b = Unconditional { offset, tag, ..Unconditional::decode(b.encode()) };
                Branch::Short(Conditional::decode(b.encode()))
            }
            Branch::Short(b) => Branch::Short(Conditional { offset, tag, ..b }),
            Branch::Long(b) => Branch::Long(Extended { offset, tag, ..b }),
        })
    }
}

/// Whether a line begins with a branch.
pub(super) fn is_branch(head: &str) -> bool {
    head.starts_with("br.") || head.starts_with("brx.")
}

pub(super) fn branch(line: Cursor<'_>) -> Result<(Branch, Target<'_>)> {
    let mut here = line;
    let condition = "a condition: `write0`, `false`, `true` or `always`";
    let point = "a point, as in `br.cond.true`";
    let long = here.eat("brx");
    let call = if long { here.longest(&CALLS).unwrap_or(0) } else { 0 };
    if !long {
        here.eat("br");
    }
    if !here.eat(".") {
        return here.expected(point);
    }
    let Some(op) = here.longest(&BRANCHES) else {
        return here.expected("what the branch does, as in `br.cond.true`");
    };
    let branch = if !long && op == branch::UNCONDITIONAL {
        let call = here.longest(&CALLS).unwrap_or(0);
        let b = Unconditional { op, call, ..Unconditional::default() };
        Branch::Short(Conditional::decode(b.encode()))
    } else {
        if !here.eat(".") {
            return here.expected(point);
        }
        let start = here;
        if long && here.eat("lut") {
            let hex = here.take(|c| c.is_ascii_hexdigit());
            let Ok(condition) = u16::from_str_radix(hex, 16) else {
                return start.expected("a table of truth of 16 bits, as in `lut5F5F`");
            };
            Branch::Long(Extended { op, call, condition: condition.into(), ..Extended::default() })
        } else {
            let Some(when) = here.longest(&CONDITIONS) else { return here.expected(condition) };
            match long {
                true => {
                    let condition = branch::every(when);
                    Branch::Long(Extended { op, call, condition, ..Extended::default() })
                }
                false => {
                    Branch::Short(Conditional { op, condition: when, ..Conditional::default() })
                }
            }
        }
    };
    if !here.rest.starts_with(|c: char| c.is_whitespace()) {
        return here.expected("a space and where the branch leads");
    }
    here.space();
    let at = here;
    let negative = here.eat("-");
    let place = if negative || here.eat("+") {
        let value = here.number("a number")?;
        Ok(if negative { -value } else { value })
    } else {
        let name = here.take(super::is_label);
        if !super::is_label_name(name) {
            return at.expected("a distance with its sign, or a label");
        }
        Err(name)
    };
    let mut tag = None;
    if here.mark("->") {
        tag = Some(super::tag(&mut here)?);
    }
    here.end()?;
    Ok((branch, Target { at, place, tag }))
}
