//! A position in a line of assembly.

use super::error::{AsmError, AsmErrorKind as Kind};

/// Reads a line from left to right.
#[derive(Clone, Copy)]
pub(in super::super) struct Cursor<'a> {
    line: usize,
    full: &'a str,
    /// The rest of the line.
    pub rest: &'a str,
}

pub(in super::super) type Result<T> = std::result::Result<T, AsmError>;

impl<'a> Cursor<'a> {
    /// A cursor at the beginning of a line without comments; lines are numbered from 1.
    pub fn new(line: usize, full: &'a str) -> Cursor<'a> {
        Cursor { line, full, rest: full }
    }

    /// A part of the line.
    pub fn at(&self, rest: &'a str) -> Cursor<'a> {
        Cursor { rest, ..*self }
    }

    /// An error at this position.
    pub fn error(&self, kind: Kind) -> AsmError {
        let at = (self.rest.as_ptr() as usize).saturating_sub(self.full.as_ptr() as usize);
        let before = self.full.get(..at).unwrap_or(self.full);
        AsmError { line: self.line, column: before.chars().count() + 1, kind }
    }

    /// Fails with an error at this position.
    pub fn fail<T>(&self, kind: Kind) -> Result<T> {
        Err(self.error(kind))
    }

    /// Fails because something else is expected at this position.
    pub fn expected<T>(&self, expected: &'static str) -> Result<T> {
        let word = self.rest.find(|c: char| c.is_whitespace() || c == ',');
        let found = match (self.rest.chars().next(), word) {
            (None, _) => "nothing".to_owned(),
            (Some(','), _) => "`,`".to_owned(),
            (Some(c), _) if c.is_whitespace() => "a space".to_owned(),
            (_, end) => format!("`{}`", &self.rest[..end.unwrap_or(self.rest.len())]),
        };
        self.fail(Kind::Expected { expected, found })
    }

    /// Skips white space.
    pub fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Whether only white space is left.
    pub fn is_done(&self) -> bool {
        self.rest.trim_start().is_empty()
    }

    /// Consumes a text if the line continues with it.
    pub fn eat(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Consumes a mark, and white space before and after it.
    pub fn mark(&mut self, mark: &str) -> bool {
        let before = *self;
        self.space();
        let found = self.eat(mark);
        if found {
            self.space();
        } else {
            *self = before;
        }
        found
    }

    /// Consumes a mark that is required.
    pub fn need(&mut self, mark: &str, expected: &'static str) -> Result<()> {
        if self.mark(mark) { Ok(()) } else { self.expected(expected) }
    }

    /// Consumes the characters that satisfy a predicate.
    pub fn take(&mut self, is: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !is(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    /// Version of [`Cursor::take`]: returns a cursor for the text.
    pub fn word(&mut self, is: impl Fn(char) -> bool) -> Cursor<'a> {
        let start = *self;
        start.at(self.take(is))
    }

    /// Consumes the longest spelling that matches; returns its index.
    pub fn longest(&mut self, spellings: &[&str]) -> Option<u32> {
        let found = spellings.iter().enumerate().filter(|(_, s)| self.rest.starts_with(**s));
        let (number, spelling) = found.max_by_key(|(_, s)| s.len())?;
        self.rest = &self.rest[spelling.len()..];
        Some(number as u32)
    }

    /// Reads a non-negative number in decimal, or with `0x` in hexadecimal.
    pub fn number(&mut self, what: &'static str) -> Result<i64> {
        let start = *self;
        let value = match self.eat("0x") || self.eat("0X") {
            true => i64::from_str_radix(digits(self.take(|c| c.is_ascii_hexdigit())), 16),
            false => digits(self.take(|c| c.is_ascii_digit())).parse(),
        };
        match value {
            Ok(value) => Ok(value),
            Err(_) => {
                *self = start;
                self.expected(what)
            }
        }
    }

    /// Reads a number for an unsigned field of `bits` bits.
    pub fn field(&mut self, what: &'static str, bits: u32) -> Result<u32> {
        let start = *self;
        let value = self.number(what)?;
        start.range(what, value, 0, (1 << bits) - 1)?;
        Ok(value as u32)
    }

    /// The two's complement of a number in a signed field of `bits` bits.
    pub fn signed(&self, what: &'static str, value: i64, bits: u32) -> Result<u32> {
        let most = (1i64 << (bits - 1)) - 1;
        self.range(what, value, -most - 1, most)?;
        Ok(value as u32 & ((1 << bits) - 1))
    }

    fn range(&self, what: &'static str, value: i64, least: i64, most: i64) -> Result<()> {
        match (least..=most).contains(&value) {
            true => Ok(()),
            false => self.fail(Kind::Range { what, value, least, most }),
        }
    }

    /// An error if anything is left.
    pub fn end(&self) -> Result<()> {
        let mut here = *self;
        here.space();
        if here.rest.is_empty() { Ok(()) } else { here.expected("the end of the line") }
    }

    /// Splits the operands at commas outside of brackets. `<…>` is one operand.
    pub fn operands(&self) -> Vec<Cursor<'a>> {
        let (mut depth, mut start, mut all) = (0usize, 0, Vec::new());
        let mut push = |part: &'a str| {
            let mut one = self.at(part.trim_end());
            one.space();
            all.push(one);
        };
        for (at, c) in self.rest.char_indices() {
            match c {
                // The second character of `<<` is not a bracket either.
                '<' if self.rest[at..].starts_with("<<") || self.rest[..at].ends_with('<') => {}
                '<' => depth += 1,
                '>' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => {
                    push(&self.rest[start..at]);
                    start = at + 1;
                }
                _ => {}
            }
        }
        push(&self.rest[start..]);
        all
    }
}

/// Digits without leading zeros, so that long numbers do not fail to parse.
fn digits(text: &str) -> &str {
    let short = text.trim_start_matches('0');
    if short.is_empty() && !text.is_empty() { "0" } else { short }
}
