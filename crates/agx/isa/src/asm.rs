//! The assembler: text to code.
//!
//! A line holds labels (`name:`), then an instruction or a directive, then a comment (`#`, `;` or
//! `//`). Branches take a label, an offset from their start (`pc+8`) or from the start of the code
//! (`0x40`). Directives: `.zero N` (bytes of zeros) and `.hex 8800` (any bytes). Lines of a listing
//! (`offset: bytes text`) are understood; their offset and bytes are only looked at where they say
//! that disassembly failed.

use std::collections::HashMap;

use thiserror::Error;

use crate::error::{ParseError, ParseErrorKind};
use crate::inst::Inst;

/// Maximum number of bytes that `.zero` emits.
pub const MAX_ZEROS: usize = 1 << 20;

/// Kind of an error in a source.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AsmErrorKind {
    /// An instruction is wrong.
    #[error(transparent)]
    Inst(#[from] ParseErrorKind),
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

/// An error at a place in a source.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{line}:{column}: {kind}")]
pub struct AsmError {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
    /// The problem.
    pub kind: AsmErrorKind,
}

/// A line after labels and comments are taken away.
struct Statement<'a> {
    line: usize,
    column: usize,
    /// Assembly, or bytes in hexadecimal.
    text: &'a str,
    is_bytes: bool,
    offset: usize,
}

/// Assembles a source.
///
/// # Errors
/// All that is wrong, one error a line.
pub fn assemble(source: &str) -> Result<Vec<u8>, Vec<AsmError>> {
    assemble_lines(source).map(|(code, _)| code)
}

/// Assembles a source; also returns the offset in the code and the line, from 1, of each statement.
///
/// # Errors
/// As [`assemble`].
#[expect(clippy::type_complexity, reason = "two plain lists")]
pub fn assemble_lines(source: &str) -> Result<(Vec<u8>, Vec<(usize, usize)>), Vec<AsmError>> {
    let mut errors = Vec::new();
    let mut labels: HashMap<&str, usize> = HashMap::new();
    let mut statements = Vec::new();

    // First, lengths: they do not depend on where labels are, so that each may stand for 0.
    let mut offset = 0usize;
    for (i, full) in source.lines().enumerate() {
        let mut rest = strip_comment(full);
        let mut fail = |at: &str, kind| {
            errors.push(AsmError { line: i + 1, column: column(full, at), kind });
        };
        let mut is_bytes = false;
        match listed(rest) {
            Some(ListingLine::Text(text)) => rest = text,
            Some(ListingLine::Bytes(bytes)) => (rest, is_bytes) = (bytes, true),
            None => {}
        }
        while let Some((label, behind)) = split_label(rest) {
            if labels.insert(label, offset).is_some() {
                fail(label, AsmErrorKind::DuplicateLabel(label.into()));
            }
            rest = behind;
        }
        let text = rest.trim();
        if text.is_empty() {
            continue;
        }
        let statement =
            Statement { line: i + 1, column: column(full, text), text, is_bytes, offset };
        match emit(&statement, &|_| Some(offset)) {
            Ok(bytes) => offset += bytes.len(),
            Err(error) => errors.push(error),
        }
        statements.push(statement);
    }
    if !errors.is_empty() {
        return Err(errors);
    }

    let mut code = Vec::with_capacity(offset);
    for statement in &statements {
        match emit(statement, &|label| labels.get(label).copied()) {
            Ok(bytes) => code.extend(bytes),
            Err(error) => errors.push(error),
        }
    }
    let lines = statements.iter().map(|s| (s.offset, s.line)).collect();
    if errors.is_empty() { Ok((code, lines)) } else { Err(errors) }
}

fn column(line: &str, part: &str) -> usize {
    let offset = (part.as_ptr() as usize).wrapping_sub(line.as_ptr() as usize);
    line.get(..offset).map_or(1, |before| before.chars().count() + 1)
}

fn strip_comment(line: &str) -> &str {
    let end = [line.find(['#', ';']), line.find("//")].into_iter().flatten().min();
    &line[..end.unwrap_or(line.len())]
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn split_label(line: &str) -> Option<(&str, &str)> {
    let (label, rest) = line.split_once(':')?;
    is_name(label.trim()).then_some((label.trim(), rest))
}

fn is_hex(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Content of a listing's line.
enum ListingLine<'a> {
    /// Assembly.
    Text(&'a str),
    /// Bytes that were not disassembled.
    Bytes(&'a str),
}

/// Reads a listing's line; `None` if it is not one.
fn listed(line: &str) -> Option<ListingLine<'_>> {
    let (offset, rest) = line.split_once(':')?;
    if !is_hex(offset.trim()) {
        return None;
    }
    let rest = rest.trim_start();
    if rest.starts_with(".zero") {
        return Some(ListingLine::Text(rest));
    }
    let (bytes, text) = rest.split_once(char::is_whitespace)?;
    if !is_hex(bytes) || bytes.len() % 2 != 0 {
        return None;
    }
    let text = text.trim_start();
    let failed = text.starts_with("<disassembly failed>");
    Some(if failed { ListingLine::Bytes(bytes) } else { ListingLine::Text(text) })
}

fn emit(
    statement: &Statement<'_>,
    resolve: &dyn Fn(&str) -> Option<usize>,
) -> Result<Vec<u8>, AsmError> {
    let Statement { line, column, text, is_bytes, offset } = *statement;
    let fail = |kind| Err(AsmError { line, column, kind });
    if is_bytes {
        return Ok(hex_bytes(text).unwrap_or_default());
    }
    if let Some(directive) = text.strip_prefix('.') {
        let (name, operand) = directive.split_once(char::is_whitespace).unwrap_or((directive, ""));
        let bytes = match name {
            "zero" => {
                operand.trim().parse::<usize>().ok().filter(|n| *n <= MAX_ZEROS).map(|n| vec![0; n])
            }
            "hex" => hex_bytes(operand),
            _ => None,
        };
        return match bytes {
            Some(bytes) => Ok(bytes),
            None => fail(AsmErrorKind::Directive(text.into())),
        };
    }
    // A branch's target is its last operand.
    let (head, last) = match text.rfind(|c: char| c == ',' || c.is_whitespace()) {
        Some(i) => text.split_at(i + 1),
        None => (text, ""),
    };
    let mnemonic = text.split_whitespace().next().unwrap_or("");
    let is_branch = mnemonic.starts_with("jmp_") || mnemonic == "call";
    let replaced;
    let mut source = text;
    if is_branch && is_name(last) && !last.starts_with("pc") && !is_register(last) {
        let Some(target) = resolve(last) else {
            return Err(AsmError {
                line,
                column: column + head.chars().count(),
                kind: AsmErrorKind::UnknownLabel(last.into()),
            });
        };
        replaced = format!("{head}0x{target:x}");
        source = &replaced;
    }
    let inst =
        Inst::parse(source, Some(offset as u64)).map_err(|ParseError { column: c, kind }| {
            AsmError { line, column: column + c - 1, kind: kind.into() }
        })?;
    match inst.encode() {
        Ok(bytes) => Ok(bytes.to_vec()),
        Err(error) => fail(AsmErrorKind::Inst(error.into())),
    }
}

fn is_register(text: &str) -> bool {
    text.strip_prefix('r').is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()))
}

/// Bytes from hexadecimal digits, which may be spaced; `None` for anything else.
pub fn hex_bytes(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    let (pairs, odd) = digits.as_chunks::<2>();
    let digit = |b: u8| char::from(b).to_digit(16);
    let byte = |p: &[u8; 2]| u8::try_from(digit(p[0])? << 4 | digit(p[1])?).ok();
    if odd.is_empty() { pairs.iter().map(byte).collect() } else { None }
}
