//! The tokeniser: splits a script into words.

use std::str::FromStr;

use crate::data::Number;
use crate::{Error, Result};

/// An iterator over words; `#` starts a comment.
pub struct Words<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Words<'a> {
    pub fn new(text: &'a str) -> Words<'a> {
        Words { rest: text, line: 1 }
    }

    /// The current line, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Skips blanks and comments; also newlines if `lines` is set.
    fn skip(&mut self, lines: bool) {
        loop {
            let Some(c) = self.rest.chars().next() else { return };
            if c == '#' {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.rest = &self.rest[end..];
            } else if c == '\n' && !lines || !c.is_whitespace() {
                return;
            } else {
                self.line += usize::from(c == '\n');
                self.rest = &self.rest[c.len_utf8()..];
            }
        }
    }

    fn word(&self) -> Option<&'a str> {
        if let Some(quoted) = self.rest.strip_prefix('"') {
            let end = quoted.find(['"', '\n']).unwrap_or(quoted.len());
            return Some(&self.rest[..(end + 2).min(self.rest.len())]);
        }
        let end = self.rest.find(|c: char| c.is_whitespace() || c == '#');
        Some(&self.rest[..end.unwrap_or(self.rest.len())]).filter(|w| !w.is_empty())
    }

    /// The next word, on this line or a later one.
    pub fn next(&mut self) -> Option<&'a str> {
        self.skip(true);
        let word = self.word()?;
        self.rest = &self.rest[word.len()..];
        Some(word)
    }

    /// The next word of this line, without consuming it.
    pub fn peek(&mut self) -> Option<&'a str> {
        self.skip(false);
        self.word()
    }

    /// Consumes `word` if it is next on this line; returns whether it was.
    pub fn accept(&mut self, word: &str) -> bool {
        let found = self.peek() == Some(word);
        if found {
            self.next();
        }
        found
    }

    /// Consumes a given word; any other is an error.
    pub fn expect(&mut self, word: &'static str) -> Result<()> {
        match self.next() {
            Some(w) if w == word => Ok(()),
            w => Err(self.invalid(format!("`{}` instead of `{word}`", w.unwrap_or("the end")))),
        }
    }

    /// Consumes the next word; the end of the script is an error.
    pub fn required(&mut self, what: &'static str) -> Result<&'a str> {
        self.next().ok_or_else(|| self.invalid(format!("the script ends where {what} is expected")))
    }

    /// Parses the next word.
    pub fn read<T: FromStr>(&mut self, what: &'static str) -> Result<T> {
        let word = self.required(what)?;
        word.parse().map_err(|_| self.invalid(format!("`{word}` is not {what}")))
    }

    pub fn number(&mut self) -> Result<Number> {
        let word = self.required("a number")?;
        Number::parse(word).ok_or_else(|| self.invalid(format!("`{word}` is not a number")))
    }

    /// The lines from the next one to a line `END`.
    pub fn lines_until_end(&mut self) -> Result<&'a str> {
        let start = self.line;
        let first = self.rest.find('\n').map_or(self.rest.len(), |n| n + 1);
        let body = &self.rest[first..];
        let mut at = 0;
        self.line += 1;
        for line in body.split_inclusive('\n') {
            if line.trim() == "END" {
                self.rest = &body[at + line.len()..];
                self.line += 1;
                return Ok(&body[..at]);
            }
            at += line.len();
            self.line += 1;
        }
        Err(Error::Invalid { line: start, what: "no `END` follows".to_owned() })
    }

    pub fn invalid(&self, what: impl Into<String>) -> Error {
        Error::Invalid { line: self.line, what: what.into() }
    }

    pub fn refused(&self, what: impl Into<String>) -> Error {
        Error::Refused { line: self.line, what: what.into() }
    }
}
