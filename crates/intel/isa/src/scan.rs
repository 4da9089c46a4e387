//! Reads tokens of assembly text.

/// A mistake in assembly text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct AsmError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// A description of the mistake.
    pub message: String,
}

/// A mistake at a byte of the text.
#[derive(Debug)]
pub struct ParseError {
    pub at: usize,
    pub message: String,
}

pub type Result<T, E = ParseError> = std::result::Result<T, E>;

/// A position in the text.
pub struct Scanner<'s> {
    source: &'s str,
    at: usize,
}

impl<'s> Scanner<'s> {
    pub fn new(source: &'s str) -> Scanner<'s> {
        Scanner { source, at: 0 }
    }

    pub fn position(&self) -> usize {
        self.at
    }

    pub fn rest(&self) -> &'s str {
        &self.source[self.at..]
    }

    pub fn fail<T>(&self, message: impl ToString) -> Result<T> {
        Err(ParseError { at: self.at, message: message.to_string() })
    }

    /// The error with the line and column of a position.
    pub fn error(&self, at: ParseError) -> AsmError {
        let before = &self.source[..at.at];
        let line_start = before.rfind('\n').map_or(0, |n| n + 1);
        AsmError {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: at.message,
        }
    }

    /// Skips white space and comments.
    pub fn blank(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if trimmed.starts_with("/*") {
                self.at += trimmed.find("*/").map_or(trimmed.len(), |n| n + 2);
            } else if trimmed.starts_with("//") {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else {
                return;
            }
        }
    }

    pub fn is_end(&mut self) -> bool {
        self.blank();
        self.rest().is_empty()
    }

    /// Consumes a text if it is next.
    pub fn take(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Skips white space, then consumes a text if it is next.
    pub fn accept(&mut self, text: &str) -> bool {
        self.blank();
        self.take(text)
    }

    pub fn expect(&mut self, text: &str) -> Result<()> {
        if self.accept(text) { Ok(()) } else { self.fail(format!("expected '{text}'")) }
    }

    /// Consumes the characters that satisfy a condition.
    pub fn run(&mut self, accept: impl Fn(char) -> bool) -> &'s str {
        let rest = self.rest();
        let end = rest.find(|c| !accept(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Consumes a word of letters, digits and underscores.
    pub fn word(&mut self) -> &'s str {
        self.blank();
        self.run(|c| c.is_ascii_alphanumeric() || c == '_')
    }

    /// Parses a decimal number without leading white space.
    pub fn decimal(&mut self) -> Result<u64> {
        let from = self.at;
        let digits = self.run(|c| c.is_ascii_digit());
        match digits.parse() {
            Ok(number) => Ok(number),
            Err(_) => {
                self.at = from;
                self.fail("expected a number")
            }
        }
    }

    /// Parses a signed number, decimal or hexadecimal (lower case, so that types can follow).
    pub fn integer(&mut self) -> Result<u64> {
        self.blank();
        let from = self.at;
        let negative = self.take("-");
        let number = if self.take("0x") {
            let digits = self.run(|c| c.is_ascii_digit() || ('a'..='f').contains(&c));
            u64::from_str_radix(digits, 16).ok()
        } else {
            self.run(|c| c.is_ascii_digit()).parse().ok()
        };
        match number {
            Some(number) if negative => Ok(0u64.wrapping_sub(number)),
            Some(number) => Ok(number),
            None => {
                self.at = from;
                self.fail("expected a number")
            }
        }
    }

    /// Parses a hexadecimal number of up to 128 bits.
    pub fn wide(&mut self) -> Result<u128> {
        self.expect("0x")?;
        let digits = self.run(|c| c.is_ascii_hexdigit());
        match u128::from_str_radix(digits, 16) {
            Ok(number) => Ok(number),
            Err(_) => self.fail("expected a hexadecimal number"),
        }
    }

    /// Skips everything up to a character, which is not consumed.
    pub fn skip_to(&mut self, end: char) {
        self.at += self.rest().find(end).unwrap_or(self.rest().len());
    }

    /// Recovers from a mistake in text that began at `from`: continues after the next semicolon.
    pub fn recover(&mut self, from: usize) {
        if self.at == from {
            self.at += self.rest().chars().next().map_or(0, char::len_utf8);
        }
        self.skip_to(';');
        self.take(";");
    }
}
