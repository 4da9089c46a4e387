//! Numeric operands of arithmetic: immediates in the instruction, and components of the bundle's constants.
//!
//! Text has the values of the components that a source reads, and separately the words of the constants. The components
//! are found by comparing the printer's text of each candidate.

use super::super::disasm::{constant, general};
use super::super::half::{half, nearest};
use super::super::swizzle::SwizzleSlots;
use super::super::table::AluRow;
use super::super::word::{ScalarSource, Vector, VectorSource};
use super::cursor::{Cursor, Result};
use super::error::AsmErrorKind as Kind;

/// Sources of numeric operands.
pub(super) struct Values<'a> {
    /// The bundle's constants.
    pub words: Option<&'a [u32; 4]>,
    /// Whether the second source is an immediate, if braces say it.
    pub immediate: Option<i64>,
}

/// A numeric token, and its value.
struct Token<'a> {
    text: &'a str,
    value: f64,
}

/// Whether an operand is a number.
pub(super) fn begins(operand: &Cursor<'_>) -> bool {
    operand.rest.starts_with(['#', '<'])
}

/// The value of a number; an approximation of integers beyond 53 bits.
fn value(text: &str) -> Option<f64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let value = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok()? as f64,
        None => digits.parse().ok()?,
    };
    Some(if negative { -value } else { value })
}

/// The numbers of an operand.
fn tokens<'a>(operand: &Cursor<'a>) -> Result<Vec<Token<'a>>> {
    let mut here = *operand;
    let several = here.eat("<");
    if !several {
        here.eat("#");
    }
    let body = match (several, here.rest.strip_suffix('>')) {
        (true, None) => return operand.expected("numbers in `<…>`"),
        (true, Some(body)) => body,
        (false, _) => here.rest,
    };
    let parts = body.split(',').map(str::trim).filter(|text| several || !text.is_empty());
    let tokens = parts.map(|text| match value(text) {
        Some(value) => Ok(Token { text, value }),
        None => operand.at(text).expected("a number"),
    });
    tokens.collect()
}

impl Token<'_> {
    /// Whether the number is the printer's text of a component.
    fn is(&self, text: &str, strict: bool) -> bool {
        let text = text.split(' ').next().unwrap_or(text);
        self.text == text || !strict && value(text) == Some(self.value)
    }
}

/// Tries exact matches of the printer's text first, then numbers with another spelling of the same value.
fn either<T>(mut find: impl FnMut(bool) -> Option<T>) -> Option<T> {
    find(true).or_else(|| find(false))
}

/// The swizzle of the constants that matches an operand of a vector unit.
pub(super) fn vector(
    operand: &Cursor<'_>,
    v: &Vector,
    values: &Values<'_>,
) -> Result<VectorSource> {
    let tokens = tokens(operand)?;
    let words = values.words.copied().unwrap_or_default();
    let ways = [false, true].map(|narrow| super::alu::ways(v.mode, narrow)).concat();
    let read = |how: u32, modifier: u32, strict: bool| {
        let mut source = VectorSource { modifier, expand: how, swizzle: 0 };
        let mask = v.constant_mask(how);
        if mask.count_ones() as usize != tokens.len() {
            return None;
        }
        let elements = (0..16).filter(|i| mask >> i & 1 != 0).map(|i| v.constant_place(how, i));
        let elements: Vec<_> = elements.zip(&tokens).collect();
        let mut slots = SwizzleSlots::default();
        for slot in 0..16 {
            let mut here = elements.iter().filter(|(place, _)| place.slot == slot).peekable();
            if here.peek().is_none() {
                continue;
            }
            let is = |step: u32| {
                here.clone().all(|(place, token)| {
                    let c = place.scale * step + place.first;
                    let narrow = source.expands();
                    token.is(&constant(&words, c, v.mode, narrow, modifier, v.row()), strict)
                })
            };
            if slot < 4 {
                slots = slots.set(slot, (0..4).find(|step| is(*step))?)?;
            } else if !is(0) {
                return None;
            }
        }
        source.swizzle = slots.filled(super::alu::fill(v.mode));
        Some(source)
    };
    let found = either(|strict| {
        let tries = ways.iter().flat_map(|how| (0..4).map(move |modifier| (*how, modifier)));
        tries.into_iter().find_map(|(how, modifier)| read(how, modifier, strict))
    });
    found.ok_or_else(|| operand.error(Kind::Constant(operand.rest.into())))
}

/// The component of the constants that matches an operand of a scalar unit.
pub(super) fn scalar(
    operand: &Cursor<'_>,
    row: Option<&AluRow>,
    values: &Values<'_>,
) -> Result<ScalarSource> {
    let tokens = tokens(operand)?;
    let [token] = &tokens[..] else { return operand.expected("one number") };
    let words = values.words.copied().unwrap_or_default();
    let found = either(|strict| {
        for full in [1, 0] {
            for modifier in 0..4 {
                let mode = full + 1;
                let is =
                    |c: &u32| token.is(&constant(&words, *c, mode, false, modifier, row), strict);
                if let Some(c) = (0..8 >> full).find(is) {
                    return Some(ScalarSource { modifier, full, component: c << full });
                }
            }
        }
        None
    });
    found.ok_or_else(|| operand.error(Kind::Constant(operand.rest.into())))
}

impl Values<'_> {
    /// The second source: an immediate, or the given match in the constants. Mesa's compiler encodes as an immediate
    /// each number that fits.
    pub fn immediate<T>(
        &self,
        operand: &Cursor<'_>,
        integer: bool,
        found: Result<T>,
    ) -> Result<std::result::Result<u16, T>> {
        let tokens = tokens(operand)?;
        let fits = match &tokens[..] {
            [token] if integer => {
                let whole = token.value >= 0.0 && token.value.fract() == 0.0;
                (whole && token.value <= u16::MAX.into()).then_some(token.value as u16)
            }
            // A number that would be rounded is not a half-float immediate, unless it is the rounded text of
            // one.
            [token] => nearest(token.value).filter(|bits| {
                let value = f64::from(half(*bits));
                value == token.value || value.is_nan() || general(value) == token.text
            }),
            _ => None,
        };
        match (fits, self.immediate) {
            (Some(bits), None | Some(1..)) => Ok(Ok(bits)),
            _ => found.map(Err),
        }
    }
}
