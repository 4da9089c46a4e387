//! Texture instructions.

use super::super::names::{
    DIMENSIONS, DIRECTIONS, EXECUTIONS, FLOAT_OUTMODS, MODES, SAMPLERS, UNKNOWN_MODE, VERTEX,
    component_number,
};
use super::super::swizzle::{self, Fill, IDENTITY};
use super::super::table::{TEXTURE, texture};
use super::super::word::{Texture, TextureRegister, expand};
use super::cursor::{Cursor, Result};
use super::error::AsmErrorKind as Kind;
use super::fields::{BracedFields, Fields};

/// Prefix of the number of an opcode without a row.
const UNKNOWN: &str = "tex_op_";

/// The opcode of a mnemonic, and the rest of the line.
fn mnemonic<'a>(cursor: &Cursor<'a>) -> Option<(u32, Cursor<'a>)> {
    let ends = |rest: &str| {
        !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
            || rest.starts_with(UNKNOWN_MODE)
    };
    let named = TEXTURE.iter().filter(|row| cursor.rest.strip_prefix(row.name).is_some_and(ends));
    if let Some(row) = named.max_by_key(|row| row.name.len()) {
        return Some((row.code, cursor.at(&cursor.rest[row.name.len()..])));
    }
    let mut here = *cursor;
    let code = here.eat(UNKNOWN).then(|| here.rest.get(..2))??;
    here.rest = &here.rest[2..];
    Some((u32::from_str_radix(code, 16).ok().filter(|code| *code < 16)?, here))
}

/// Whether a line begins with a texture instruction.
pub(super) fn is_texture(line: &Cursor<'_>) -> bool {
    mnemonic(line).is_some()
}

/// Reads a texture instruction, and whether it belongs to a vertex shader.
pub(in super::super) fn texture(line: Cursor<'_>) -> Result<(Texture, bool)> {
    let (body, braces) = BracedFields::split(line)?;
    let Some((op, mut here)) = mnemonic(&body) else {
        return body.fail(Kind::Mnemonic(body.rest.into()));
    };
    let mut t = Texture { op, exec: ALL_LANES, ..Texture::default() };
    let mut vertex = false;
    if op == texture::BARRIER {
        t.out_of_order = out_of_order(&mut here)?;
        here.end()?;
    } else {
        vertex = here.eat(VERTEX);
        instruction(&mut here, &mut t)?;
    }
    t.set(&braces)?;
    Ok((t, vertex))
}

/// The execution mode by all lanes, which Mesa's compiler uses.
//
// source: Mesa, midgard.h (MIDGARD_PARTIAL_EXECUTION_NONE)
const ALL_LANES: u32 = 3;

fn out_of_order(here: &mut Cursor<'_>) -> Result<u32> {
    match here.eat(".ooo") {
        true => here.field("the bundles behind it that need not wait", 4),
        false => Ok(0),
    }
}

fn instruction(here: &mut Cursor<'_>, t: &mut Texture) -> Result<()> {
    let directions = if t.op == texture::DERIVATIVE { &DIRECTIONS[..] } else { &[] };
    t.mode = match here.longest(directions) {
        Some(direction) => direction,
        None if here.eat(UNKNOWN_MODE) => 0,
        None => {
            let names = MODES.map(|(_, name)| name);
            MODES[here.longest(&names).unwrap_or(0) as usize].0
        }
    };
    let Some(format) = here.longest(&DIMENSIONS) else {
        return here.expected("dimensions: `.cube`, `.1d`, `.2d` or `.3d`");
    };
    t.format = format;
    t.exec = here.longest(&EXECUTIONS).unwrap_or(ALL_LANES);
    t.out_of_order = out_of_order(here)?;
    if !here.rest.starts_with(char::is_whitespace) {
        return here.expected("a space and operands");
    }
    here.space();
    result(here, t)?;
    here.need(",", "a comma")?;
    if !here.eat("texture") {
        return here.expected("the texture, such as `texture0`");
    }
    (t.texture_register, t.texture) = number_or_register(here, "the texture's number")?;
    here.need(",", "a comma")?;
    let Some(of) = here.longest(&SAMPLERS).filter(|_| here.eat("sampler")) else {
        return here.expected("the sampler, such as `fsampler0`, `isampler0` or `usampler0`");
    };
    t.sampler_type = of;
    (t.sampler_register, t.sampler) = number_or_register(here, "the sampler's number")?;
    t.swizzle = match here.eat(".") {
        true => {
            let letters = here.word(char::is_alphanumeric);
            swizzle_of(letters, expand::NONE)?
        }
        false => IDENTITY,
    };
    here.need(",", "a comma")?;
    t.in_select = operand(here)?;
    let (upper, swizzle, full) = coordinates(here)?;
    (t.in_upper, t.in_swizzle, t.in_full) = (upper, swizzle, full);
    if here.mark("+") {
        offset(here, t)?;
    }
    if here.mark(",") && !here.is_done() {
        level(here, t)?;
        here.mark(",");
    }
    here.end()
}

fn result(here: &mut Cursor<'_>, t: &mut Texture) -> Result<()> {
    let start = *here;
    let named = here.eat("TA") || here.eat("R");
    t.out_select = match here.longest(&["0", "1"]) {
        Some(select) if named => select,
        _ => return start.expected("a register: `TA0` or `TA1`, or `R0` or `R1`"),
    };
    let types = [".i16", ".i32", ".f16", ".f32"];
    let of = |c: &Cursor<'_>| types.iter().any(|of| c.rest.starts_with(of));
    t.mask = 0xf;
    if here.eat("'") {
        t.out_upper = 1;
    } else if !of(here) && here.eat(".") {
        let letters = here.word(|c| c.is_ascii_alphabetic());
        let numbers: Option<Vec<u32>> = letters.rest.chars().map(component_number).collect();
        let expected = "components of a half: `xyzw` or `efgh` in their order";
        let Some(numbers) = numbers.filter(|n| n.is_sorted_by(|a, b| a < b)) else {
            return letters.expected(expected);
        };
        t.out_upper = u32::from(numbers.first().is_some_and(|n| *n >= 4));
        t.mask = 0;
        for number in numbers {
            match number.checked_sub(4 * t.out_upper).filter(|n| *n < 4) {
                Some(bit) => t.mask |= 1 << bit,
                None => return letters.expected(expected),
            }
        }
    }
    let Some(found) = here.longest(&types) else {
        return here.expected("a type: `.f32`, `.f16`, `.i32` or `.i16`");
    };
    t.out_full = found & 1;
    if found >= 2 {
        t.outmod = here.longest(&FLOAT_OUTMODS).unwrap_or(0);
    }
    Ok(())
}

fn number_or_register(here: &mut Cursor<'_>, what: &'static str) -> Result<(u32, u32)> {
    if !here.eat("[") {
        return Ok((0, here.field(what, 16)?));
    }
    let register = register(here)?;
    here.need("]", "a closing bracket")?;
    Ok((1, register))
}

/// A register, a component and its bits.
fn register(here: &mut Cursor<'_>) -> Result<u32> {
    let select = operand(here)?;
    let start = *here;
    let expected = "a component and bits, as in `.x.32`";
    let letter = if here.eat(".") { here.take(|c| c.is_ascii_alphabetic()) } else { "" };
    let mut letters = letter.chars();
    let number = letters.next().and_then(component_number).filter(|n| *n < 8);
    let (Some(number), None) = (number, letters.next()) else { return start.expected(expected) };
    let Some(full) = here.longest(&[".16", ".32"]) else { return here.expected(expected) };
    let r = TextureRegister { full, select, upper: number / 4, component: number % 4, zero: 0 };
    Ok(r.encode() as u32)
}

/// A register that the texture unit reads: the index of one of the two.
fn operand(here: &mut Cursor<'_>) -> Result<u32> {
    let start = *here;
    let named = here.eat("AT") || here.eat("AL");
    match here.longest(&["0", "1"]) {
        Some(select) if named => Ok(select),
        _ => start.expected("a register: `AT0` or `AT1`, or `AL0` or `AL1`"),
    }
}

/// Half, swizzle and width of coordinates.
fn coordinates(here: &mut Cursor<'_>) -> Result<(u32, u32, u32)> {
    const BITS: [&str; 2] = [".16", ".32"];
    let is_bits = BITS.iter().any(|bits| here.rest.starts_with(bits));
    let (mut upper, mut swizzle) = (0, IDENTITY);
    if !is_bits && here.eat(".") {
        let letters = here.word(|c| c.is_ascii_alphabetic());
        upper = u32::from(letters.rest.chars().filter_map(component_number).any(|n| n >= 4));
        swizzle = swizzle_of(letters, if upper != 0 { expand::HIGH } else { expand::NONE })?;
    }
    match here.longest(&BITS) {
        Some(full) => Ok((upper, swizzle, full)),
        None => here.expected("bits of coordinates: `.32` or `.16`"),
    }
}

fn swizzle_of(letters: Cursor<'_>, how: u32) -> Result<u32> {
    match swizzle::read(letters.rest, how, 2, 0xff) {
        Some(slots) => Ok(slots.filled(Fill::Repeat)),
        None => letters.expected("a swizzle of four components"),
    }
}

/// Offsets of coordinates: three numbers, or a register.
fn offset(here: &mut Cursor<'_>, t: &mut Texture) -> Result<()> {
    if !here.eat("<") {
        let select = operand(here)?;
        let (upper, swizzle, full) = coordinates(here)?;
        t.offset_register = 1;
        t.offset = full | select << 1 | upper << 2 | swizzle << 3;
        return Ok(());
    }
    for at in [0, 4, 8] {
        if at > 0 {
            here.need(",", "three offsets")?;
        }
        t.offset |= here.field("an offset", 4)? << at;
    }
    here.need(">", "a closing bracket")
}

/// The level of detail, or its bias.
fn level(here: &mut Cursor<'_>, t: &mut Texture) -> Result<()> {
    if !here.eat("lod") {
        return here.expected("a level, as in `lod = 1.0`");
    }
    here.space();
    let start = *here;
    let Some(sign) = here.longest(&["=", "+", "-"]) else {
        return here.expected("`=`, `+` or `-`");
    };
    if (sign == 0) == (t.op == texture::TEX) {
        return start.expected("`=` of a level, `+` or `-` of what `TEX` adds to it");
    }
    here.space();
    if here.rest.starts_with('A') {
        (t.lod_register, t.bias) = (1, register(here)?);
        return Ok(());
    }
    if t.op == texture::TEX_FETCH {
        t.bias = here.field("the level", 8)?;
        return Ok(());
    }
    let number = here.word(|c| c.is_ascii_digit() || c == '.');
    let Ok(value) = number.rest.parse::<f64>() else { return number.expected("a level") };
    let value = if sign == 2 { -value } else { value };
    // A signed integer part of eight bits, and eight bits of fraction.
    let fixed = (value * 256.0).round().clamp(-1e9, 1e9) as i64;
    let fixed = number.signed("256 times the level", fixed, 16)?;
    (t.bias, t.bias_int) = (fixed & 0xff, fixed >> 8);
    Ok(())
}
