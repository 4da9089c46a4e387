//! Loads and stores.

use super::super::names::{
    ADDRESSES, ARGUMENTS, INDEX_32, INDEX_FORMATS, TABLES, WIDTHS, component_number,
};
use super::super::swizzle::{self, Fill, IDENTITY, SwizzleSlots};
use super::super::table::{MEMORY, Memory};
use super::super::word::{LoadStore, argument, expand, register};
use super::cursor::{Cursor, Result};
use super::error::AsmErrorKind as Kind;
use super::fields::{BracedFields, Fields};

/// Prefix of the number of an opcode without a row.
const UNKNOWN: &str = "ldst_op_";

/// The opcode of a mnemonic, and the rest of the line.
fn mnemonic<'a>(cursor: &Cursor<'a>) -> Option<(u32, Cursor<'a>)> {
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let named = MEMORY.iter().filter(|row| cursor.rest.strip_prefix(row.name).is_some_and(ends));
    if let Some(row) = named.max_by_key(|row| row.name.len()) {
        return Some((row.op as u32, cursor.at(&cursor.rest[row.name.len()..])));
    }
    let mut here = *cursor;
    let code = here.eat(UNKNOWN).then(|| here.take(|c| c.is_ascii_hexdigit()))?;
    Some((u8::from_str_radix(code, 16).ok()?.into(), here))
}

/// Whether a line begins with a load or store.
pub(super) fn is_load_store(line: &Cursor<'_>) -> bool {
    mnemonic(line).is_some()
}

/// Reads a load or store.
pub(in super::super) fn load_store(line: Cursor<'_>) -> Result<LoadStore> {
    let (body, braces) = BracedFields::split(line)?;
    let Some((op, mut rest)) = mnemonic(&body) else {
        return body.fail(Kind::Mnemonic(body.rest.into()));
    };
    if op == Memory::Nop as u32 && rest.is_done() {
        braces.none()?;
        return Ok(LoadStore::NOP);
    }
    let mut word = LoadStore { op, ..LoadStore::default() };
    let shape = word.shape();
    if shape.attribute {
        word.index_format = u32::from(rest.eat(INDEX_32));
        if let Some(usual) = shape.table {
            word.index_format |= rest.longest(&TABLES).unwrap_or(usual) << 1;
        }
    } else if shape.sized {
        let Some(width) = rest.longest(&WIDTHS) else { return rest.expected("`.f16` or `.f32`") };
        word.wide = width;
    }
    if !rest.rest.starts_with(char::is_whitespace) {
        return rest.expected("operands after a space");
    }
    rest.space();
    if shape.trap {
        let start = rest;
        let value = bits_32(rest.number("a number")?);
        word.offset = start.signed("the number", value, OFFSET_BITS)?;
        rest.end()?;
        word.set(&braces)?;
        return Ok(word);
    }
    let operands = rest.operands();
    let mut operands = operands.into_iter();
    let end = body.at(&body.rest[body.rest.len()..]);
    let mut next = |what: &'static str| match operands.next() {
        Some(operand) if !operand.rest.is_empty() => Ok(operand),
        _ => end.expected(what),
    };
    let data = next("a register with its components")?;
    if shape.store {
        stored(data, &mut word)?
    } else {
        loaded(data, &mut word)?
    }
    if shape.uniform {
        uniform(next("the number of the uniform buffer")?, &mut word)?;
        index(next("the index, such as `0.x`")?, &mut word, 2)?;
    }
    if shape.address {
        address(next("an address")?, &mut word, shape.compares)?;
    }
    if shape.moves {
        let mut operand = next("a register that is read")?;
        word.arg_reg = argument_number(&mut operand, 8)?;
        if operand.eat(".") {
            word.swizzle = swizzle_of(operand, 0xff)?;
        } else {
            operand.end()?;
            word.swizzle = IDENTITY;
        }
    }
    if shape.atomic {
        let (number, component) = argument(next("the operand of the atomic")?)?;
        word.swizzle = number << 2 | component;
    }
    if shape.compares {
        (word.index_reg, word.index_comp) = argument(next("the value that is compared")?)?;
    }
    if shape.special {
        index(next("the index, such as `0.x`")?, &mut word, 9)?;
    }
    if shape.attribute {
        descriptor(next("an argument, such as `0.x`")?, &mut word, shape.image)?;
    }
    if shape.packs {
        let mut operand = next("the format's descriptor")?;
        let start = operand;
        let value = bits_32(operand.number("the format's descriptor")?);
        operand.end()?;
        word.offset = start.signed("the descriptor's sixteenth", value >> 4, OFFSET_BITS)?;
        word.index_shift = (value & 15) as u32;
    }
    if let Some(more) = operands.next() {
        return more.expected("no more operands");
    }
    word.set(&braces)?;
    Ok(word)
}

/// A signed number, which Mesa writes as 32 bits.
fn bits_32(value: i64) -> i64 {
    u32::try_from(value).map_or(value, |bits| i64::from(bits as i32))
}

/// Parameters of a varying that is interpolated with perspective at the centroid, and of one that is not interpolated.
//
// source: Mesa, midgard.h (midgard_varying_params)
const SMOOTH: u32 = 1 << 4 | 1 << 6;
const FLAT: u32 = SMOOTH | 1 << 3;

/// Bits of the offset.
const OFFSET_BITS: u32 = 18;

fn stored(mut data: Cursor<'_>, word: &mut LoadStore) -> Result<()> {
    word.reg = argument_number(&mut data, 32)?;
    (word.mask, word.swizzle) = (0xf, IDENTITY);
    if data.eat(".") {
        let count = data.rest.len() as u32;
        if count > 4 {
            return data.expected("up to four components");
        }
        word.mask = (1 << count) - 1;
        word.swizzle = swizzle_of(data, (1 << (2 * count)) - 1)?;
        return Ok(());
    }
    data.end()
}

fn loaded(mut data: Cursor<'_>, word: &mut LoadStore) -> Result<()> {
    let start = data;
    let name = data.take(|c| c.is_ascii_alphanumeric() || c == '_');
    let two = |prefix: &str, first: u32, count: u32| {
        let number = name.strip_prefix(prefix)?.parse::<u32>().ok()?;
        (number < count).then_some(first + number)
    };
    let number = match name {
        "PC_SP" => Some(register::SELECT),
        _ => two("AL", register::LOAD_STORE, 2)
            .or_else(|| two("AT", register::TEXTURE, 2))
            .or_else(|| two("R", 0, 32)),
    };
    let Some(number) = number else { return start.expected("a register") };
    word.reg = number;
    if !data.eat(".") {
        return data.expected("four components, as in `R0.xy~~`");
    }
    let expected = "four of `x`, `y`, `z`, `w` and `~`";
    let letters: Vec<char> = data.rest.chars().collect();
    if letters.len() != 4 {
        return data.expected(expected);
    }
    let mut slots = SwizzleSlots::default();
    for (n, letter) in (0..).zip(letters).filter(|(_, c)| *c != '~') {
        let set = component_number(letter).and_then(|c| slots.set(n, c));
        let Some(set) = set else { return data.expected(expected) };
        slots = set;
        word.mask |= 1 << n;
    }
    word.swizzle = slots.filled(Fill::Count);
    Ok(())
}

/// The number of an argument register, below a limit.
fn argument_number(cursor: &mut Cursor<'_>, limit: u32) -> Result<u32> {
    let start = *cursor;
    let name = cursor.take(|c| c.is_ascii_alphanumeric() || c == '_');
    let named = ARGUMENTS.iter().position(|argument| *argument == name).map(|n| n as u32);
    let numbered = || name.strip_prefix('R')?.parse().ok().filter(|n| *n < limit);
    match named.or_else(numbered) {
        Some(number) => Ok(number),
        None => start.expected("a register such as `AL0`, `LOCAL_THREAD_ID` or `0`"),
    }
}

fn one_component(cursor: &mut Cursor<'_>) -> Result<u32> {
    let start = *cursor;
    let point = cursor.eat(".");
    let mut letters = cursor.take(|c| c.is_ascii_alphanumeric()).chars();
    let number = letters.next().and_then(component_number).filter(|c| *c < 4);
    match number {
        Some(number) if point && letters.next().is_none() => Ok(number),
        _ => start.expected("a component: `.x`, `.y`, `.z` or `.w`"),
    }
}

/// A register with a component, as the whole operand.
fn argument(mut operand: Cursor<'_>) -> Result<(u32, u32)> {
    let number = argument_number(&mut operand, 8)?;
    let component = one_component(&mut operand)?;
    operand.end()?;
    Ok((number, component))
}

fn swizzle_of(letters: Cursor<'_>, mask: u32) -> Result<u32> {
    match swizzle::read(letters.rest, expand::NONE, 2, mask) {
        Some(slots) => Ok(slots.filled(Fill::Repeat)),
        None => letters.expected("a swizzle of `x`, `y`, `z` and `w`"),
    }
}

fn shift(cursor: &mut Cursor<'_>, word: &mut LoadStore) -> Result<()> {
    if cursor.mark("<<") {
        word.index_shift = cursor.field("the shift", 4)?;
    }
    Ok(())
}

/// A signed displacement, or nothing; its unit determines the number of bits.
fn displacement(cursor: &mut Cursor<'_>, bits: u32) -> Result<u32> {
    let negative = cursor.mark("-");
    if !negative && !cursor.mark("+") {
        return Ok(0);
    }
    let start = *cursor;
    let value = cursor.number("a displacement, as in `+ 0x10`")?;
    start.signed("the displacement", if negative { -value } else { value }, bits)
}

fn uniform(mut operand: Cursor<'_>, word: &mut LoadStore) -> Result<()> {
    // A register and a component are the number where the lowest bit of the offset is 0.
    if operand.rest.contains('.') {
        (word.arg_reg, word.arg_comp) = argument(operand)?;
        return Ok(());
    }
    let number = operand.field("the number of the uniform buffer", 8)?;
    operand.end()?;
    (word.arg_comp, word.arg_reg) = (number & 3, number >> 2 & 7);
    (word.wide, word.index_format) = (number >> 5 & 1, number >> 6);
    word.offset = 1;
    Ok(())
}

/// An index with a shift and a displacement, which begins at bit `low` of the offset.
fn index(mut operand: Cursor<'_>, word: &mut LoadStore, low: u32) -> Result<()> {
    word.index_reg = argument_number(&mut operand, 8)?;
    word.index_comp = one_component(&mut operand)?;
    shift(&mut operand, word)?;
    word.offset |= displacement(&mut operand, OFFSET_BITS - low)? << low;
    operand.end()
}

fn descriptor(mut operand: Cursor<'_>, word: &mut LoadStore, image: bool) -> Result<()> {
    word.arg_reg = argument_number(&mut operand, 8)?;
    if image {
        let Some(wide) = operand.longest(&ADDRESSES) else {
            return operand.expected("`.u32` or `.u64`");
        };
        word.wide = wide;
    }
    word.arg_comp = one_component(&mut operand)?;
    if !image {
        let parameters = displacement(&mut operand, 9)?;
        word.wide = u32::from(parameters != 0);
        word.offset |= if parameters != 0 { parameters } else { usual_parameters(word) };
    }
    operand.end()
}

/// The parameters that replace an argument's displacement if the argument is `0`: the interpolation of varyings.
//
// source: Mesa, midgard_compile.c (emit_varying_read)
fn usual_parameters(word: &LoadStore) -> u32 {
    match word.row().map(|row| row.op) {
        Some(Memory::LdVary32 | Memory::LdVary16) => SMOOTH,
        Some(Memory::LdVary32u | Memory::LdVary32i) => FLAT,
        _ => 0,
    }
}

/// A base, an index and a displacement, each optional.
fn address(mut operand: Cursor<'_>, word: &mut LoadStore, compares: bool) -> Result<()> {
    (word.arg_reg, word.index_reg) = (argument::ZERO, argument::ZERO);
    let (mut base, mut index) = (false, false);
    while !operand.rest.starts_with(['+', '-']) && !operand.is_done() {
        let start = operand;
        let number = argument_number(&mut operand, 8)?;
        let mut after = operand;
        let wide = after.longest(&ADDRESSES);
        let component = one_component(&mut after);
        // A shifted register is the index.
        let shifted = after.clone().mark("<<");
        if let (Some(wide), false, false) = (wide, base || index, shifted) {
            (word.arg_reg, word.wide, base) = (number, wide, true);
            word.arg_comp = component?;
            operand = after;
        } else if !index && !compares {
            (word.index_reg, index) = (number, true);
            word.index_format = operand.longest(&INDEX_FORMATS).unwrap_or(0);
            word.index_comp = one_component(&mut operand)?;
            shift(&mut operand, word)?;
        } else {
            return start.expected("a base, an index and a displacement");
        }
        // A plus is followed by another register, or by the displacement.
        let mut ahead = operand;
        if ahead.mark("+") && ahead.rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
            operand = ahead;
        } else {
            operand.space();
        }
    }
    word.offset = displacement(&mut operand, OFFSET_BITS)?;
    operand.end()
}
