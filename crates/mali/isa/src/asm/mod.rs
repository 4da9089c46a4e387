//! The assembler: text to code, in the syntax of Mesa's assembler.
//!
//! A line holds labels (`name:` with nothing before it), then an instruction or a directive, then a
//! comment (`#` at its beginning, `//` or `;` anywhere). The offset of a branch may be a label:
//! `offset:name`. Directives: `.zero N` (bytes of zeros, such as pad a shader) and `.hex BYTES`.
//! The bytes that a listing has before the text are skipped.

mod parse;

use std::collections::HashMap;

pub use parse::{ParseError, ParseErrorKind};

use crate::error::FieldError;
use crate::inst::{BYTES, Inst};
use crate::validate;

/// Limit on the bytes that one `.zero` emits.
pub const MAX_ZEROS: usize = 1 << 20;

/// An error at a place in a source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {kind}")]
pub struct AsmError {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
    /// The problem.
    pub kind: AsmErrorKind,
}

/// A problem in a source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AsmErrorKind {
    /// An instruction is wrong.
    #[error(transparent)]
    Inst(#[from] ParseErrorKind),
    /// An instruction violates a rule of the hardware.
    #[error(transparent)]
    Rule(#[from] validate::Rule),
    /// A part of an instruction cannot be encoded.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// A label is defined twice.
    #[error("label `{0}` is defined twice")]
    DuplicateLabel(String),
    /// A label is not defined.
    #[error("label `{0}` is not defined")]
    UnknownLabel(String),
    /// A directive is unknown or its operand is wrong.
    #[error("`{0}` is not a directive; write `.zero N` (N up to 1048576) or `.hex BYTES`")]
    Directive(String),
}

/// Parses an instruction. The rules of the hardware are not checked: see [`validate::check`].
///
/// # Errors
/// The problem, with its position.
pub fn parse(text: &str) -> Result<Inst, ParseError> {
    parse::instruction(text, &|_| None)
}

/// A line without labels and comment.
struct Statement<'a> {
    line: usize,
    /// The whole line.
    full: &'a str,
    text: &'a str,
    offset: usize,
}

/// Assembles a source.
///
/// # Errors
/// All problems, at most one per line.
pub fn assemble(source: &str) -> Result<Vec<u8>, Vec<AsmError>> {
    let mut errors = Vec::new();
    let mut labels: HashMap<&str, usize> = HashMap::new();
    let mut statements = Vec::new();
    let mut offset = 0usize;
    for (n, full) in source.lines().enumerate() {
        let mut rest = strip_listing(strip_comment(full));
        while let Some((label, behind)) = split_label(rest) {
            if labels.insert(label, offset).is_some() {
                let kind = AsmErrorKind::DuplicateLabel(label.into());
                errors.push(AsmError { line: n + 1, column: column(full, label), kind });
            }
            rest = behind;
        }
        let text = rest.trim();
        if text.is_empty() {
            continue;
        }
        let statement = Statement { line: n + 1, full, text, offset };
        offset += match directive(&statement) {
            Some(Ok(bytes)) => bytes.len(),
            Some(Err(error)) => {
                errors.push(error);
                continue;
            }
            None => BYTES,
        };
        statements.push(statement);
    }
    let mut code = Vec::with_capacity(offset);
    for statement in &statements {
        match emit(statement, &labels) {
            Ok(bytes) => code.extend(bytes),
            Err(error) => errors.push(error),
        }
    }
    errors.sort_by_key(|e| e.line);
    if errors.is_empty() { Ok(code) } else { Err(errors) }
}

fn emit(statement: &Statement<'_>, labels: &HashMap<&str, usize>) -> Result<Vec<u8>, AsmError> {
    if let Some(bytes) = directive(statement) {
        return bytes;
    }
    let Statement { line, full, text, offset } = *statement;
    let fail = |at: usize, kind| AsmError { line, column: column(full, text) + at, kind };
    let mut unknown = None;
    let inst = {
        let target = |label: &str| {
            let target = labels.get(label)?;
            let units = |offset: usize| (offset / BYTES) as i64;
            (target % BYTES == offset % BYTES).then(|| units(*target) - units(offset) - 1)
        };
        parse::instruction(text, &target)
    };
    let inst = inst.map_err(|error| {
        if let ParseErrorKind::Label(label) = &error.kind {
            unknown = Some(AsmErrorKind::UnknownLabel(label.clone()));
        }
        fail(error.column, unknown.take().unwrap_or(error.kind.into()))
    })?;
    validate::check(&inst).map_err(|rule| fail(0, rule.into()))?;
    let word = inst.encode().map_err(|error| fail(0, error.into()))?;
    Ok(word.to_le_bytes().to_vec())
}

/// The bytes of a directive, if the statement is one.
fn directive(statement: &Statement<'_>) -> Option<Result<Vec<u8>, AsmError>> {
    let text = statement.text;
    if !text.starts_with('.') {
        return None;
    }
    let (name, operand) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let bytes = match name {
        ".zero" => parse::number(operand.trim())
            .and_then(|n| usize::try_from(n).ok())
            .filter(|n| *n <= MAX_ZEROS)
            .map(|n| vec![0; n]),
        ".hex" => hex_bytes(operand),
        _ => None,
    };
    let column = column(statement.full, text);
    let error =
        || AsmError { line: statement.line, column, kind: AsmErrorKind::Directive(text.into()) };
    Some(bytes.ok_or_else(error))
}

/// Bytes in hexadecimal, with or without spaces.
pub fn hex_bytes(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok()))
        .collect();
    let digits = digits?;
    let pairs = digits.chunks_exact(2);
    pairs.remainder().is_empty().then(|| pairs.map(|p| p[0] << 4 | p[1]).collect())
}

fn strip_comment(line: &str) -> &str {
    if line.trim_start().starts_with('#') {
        return "";
    }
    let end = line.find("//").unwrap_or(line.len());
    let end = line.find(';').map_or(end, |at| at.min(end));
    &line[..end]
}

/// Strips the bytes that a listing has in front of a line: eight pairs of digits.
fn strip_listing(line: &str) -> &str {
    let mut rest = line.trim_start();
    for _ in 0..BYTES {
        let pair = rest.as_bytes();
        let is_pair = pair.len() >= 2 && pair[..2].iter().all(u8::is_ascii_hexdigit);
        match rest.get(2..) {
            Some(behind) if is_pair && behind.starts_with([' ', '\t']) => {
                rest = behind.trim_start();
            }
            _ => return line,
        }
    }
    rest
}

/// A label at the beginning of a line and what follows it.
fn split_label(line: &str) -> Option<(&str, &str)> {
    let (label, rest) = line.split_once(':')?;
    let label = label.trim();
    let mut chars = label.chars();
    let head = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    (head && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')).then_some((label, rest))
}

/// The column of a part of a line, from 1.
fn column(line: &str, part: &str) -> usize {
    let offset = (part.as_ptr() as usize).saturating_sub(line.as_ptr() as usize);
    line.get(..offset).map_or(0, |before| before.chars().count()) + 1
}
