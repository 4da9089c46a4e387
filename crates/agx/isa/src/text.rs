//! Assembly text of one instruction, in applegpu's syntax.
//!
//! `mnemonic operand, operand, …`, the mnemonic padded to 16 columns. What applegpu's text does
//! not show follows in braces, `{name=value}`, if it is not as usual, so that the text holds the
//! whole encoding.

use core::fmt;
use core::str::FromStr;
use std::collections::HashMap;
use std::sync::LazyLock;

use crate::error::{ParseError, ParseErrorKind};
use crate::inst::{Inst, MNEMONICS};
use crate::row::{ParseState, Text};

impl Inst {
    /// The text in parts; with `pc`, branch targets are absolute.
    pub fn text(&self, pc: Option<u64>) -> Text {
        let mut text = Text { pc, ..Text::default() };
        self.print_fields(&mut text);
        alias::shorten(self, &mut text);
        text
    }

    /// The text; with `pc`, branch targets are absolute.
    pub fn display(&self, pc: Option<u64>) -> impl fmt::Display {
        self.text(pc)
    }

    /// Reads one instruction; with `pc`, branch targets may be absolute.
    ///
    /// # Errors
    /// With the column at which the text is wrong.
    pub fn parse(line: &str, pc: Option<u64>) -> Result<Inst, ParseError> {
        Line::split(line)?.parse(pc)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.operands.is_empty() {
            f.write_str(&self.mnemonic)?;
        } else {
            write!(f, "{:16} {}", self.mnemonic, self.operands.join(", "))?;
        }
        if !self.notes.is_empty() {
            let notes: Vec<_> = self.notes.iter().map(|(n, v)| format!("{n}={v}")).collect();
            write!(f, " {{{}}}", notes.join(", "))?;
        }
        Ok(())
    }
}

impl fmt::Display for Inst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text(None).fmt(f)
    }
}

impl FromStr for Inst {
    type Err = ParseError;

    fn from_str(line: &str) -> Result<Self, ParseError> {
        Inst::parse(line, None)
    }
}

/// Rows by mnemonic.
static BY_MNEMONIC: LazyLock<HashMap<String, Vec<usize>>> = LazyLock::new(|| {
    let mut map: HashMap<String, Vec<usize>> = HashMap::new();
    for (row, mnemonics) in MNEMONICS.iter().enumerate() {
        for mnemonic in mnemonics() {
            map.entry(mnemonic).or_default().push(row);
        }
    }
    map
});

/// A line split at commas, each part with its column (from 1).
struct Line<'a> {
    mnemonic: (usize, &'a str),
    operands: Vec<(usize, String)>,
    notes: Vec<(String, String)>,
    notes_column: usize,
}

fn column(line: &str, part: &str) -> usize {
    let offset = (part.as_ptr() as usize).wrapping_sub(line.as_ptr() as usize);
    line.get(..offset).map_or(1, |before| before.chars().count() + 1)
}

impl<'a> Line<'a> {
    fn split(line: &'a str) -> Result<Self, ParseError> {
        let mut body = line.trim();
        let fail = |part: &str, kind| Err(ParseError { column: column(line, part), kind });
        let (mut notes, mut notes_column) = (Vec::new(), 1);
        if let Some(open) = body.find('{') {
            let Some(inner) = body[open + 1..].strip_suffix('}') else {
                return fail(&body[open..], ParseErrorKind::NoteSyntax);
            };
            notes_column = column(line, &body[open..]);
            for note in inner.split(',').map(str::trim).filter(|n| !n.is_empty()) {
                let Some((name, value)) = note.split_once('=') else {
                    return fail(note, ParseErrorKind::NoteSyntax);
                };
                notes.push((name.trim().to_string(), value.trim().to_string()));
            }
            body = body[..open].trim_end();
        }
        let end = body.find(char::is_whitespace).unwrap_or(body.len());
        let (mnemonic, rest) = body.split_at(end);
        if mnemonic.is_empty() {
            return fail(body, ParseErrorKind::Empty);
        }
        let mut operands = Vec::new();
        if !rest.trim().is_empty() {
            for part in rest.split(',') {
                let part = part.trim();
                // `$r1` is the short way to write `r1.cache`.
                let text = match part.strip_prefix('$') {
                    Some(name) => format!("{name}.cache"),
                    None => part.to_string(),
                };
                operands.push((column(line, part), text));
            }
        }
        Ok(Self { mnemonic: (column(line, mnemonic), mnemonic), operands, notes, notes_column })
    }

    fn parse(mut self, pc: Option<u64>) -> Result<Inst, ParseError> {
        let mut mnemonic = self.mnemonic.1.to_string();
        alias::expand(&mut mnemonic, &mut self.operands);
        let Some(rows) = BY_MNEMONIC.get(&mnemonic) else {
            let kind = ParseErrorKind::Mnemonic(self.mnemonic.1.to_string());
            return Err(ParseError { column: self.mnemonic.0, kind });
        };
        let operands: Vec<&str> = self.operands.iter().map(|(_, t)| t.as_str()).collect();
        // Rows may share a mnemonic (`mov_imm`): the first that can be encoded counts, and of the
        // errors the one that got furthest.
        let mut best: Option<ParseError> = None;
        for &row in rows {
            match self.parse_row(row, &mnemonic, &operands, pc) {
                Ok(inst) => return Ok(inst),
                Err(error) if best.as_ref().is_none_or(|b| error.column > b.column) => {
                    best = Some(error);
                }
                Err(_) => {}
            }
        }
        Err(best.unwrap_or(ParseError { column: 1, kind: ParseErrorKind::Empty }))
    }

    fn parse_row(
        &self,
        row: usize,
        mnemonic: &str,
        operands: &[&str],
        pc: Option<u64>,
    ) -> Result<Inst, ParseError> {
        let mut state = ParseState {
            mnemonic,
            operands,
            at: 0,
            notes: &self.notes,
            notes_used: 0,
            word: 0,
            pc,
        };
        let at = |i: usize| self.operands.get(i).map_or(self.mnemonic.0, |(c, _)| *c);
        let inst = Inst::parse_row(row, &mut state).map_err(|kind| {
            let column = match &kind {
                ParseErrorKind::Operand { operand, .. } => at(*operand),
                _ => self.mnemonic.0,
            };
            ParseError { column, kind }
        })?;
        if let Some(excess) = operands.get(state.at) {
            let kind = ParseErrorKind::Excess(excess.to_string());
            return Err(ParseError { column: at(state.at), kind });
        }
        if let Some(i) = (0..self.notes.len()).find(|i| state.notes_used >> i.min(&31) & 1 == 0) {
            let kind = ParseErrorKind::Note(self.notes[i].0.clone());
            return Err(ParseError { column: self.notes_column, kind });
        }
        inst.encode()
            .map_err(|error| ParseError { column: self.mnemonic.0, kind: error.into() })?;
        Ok(inst)
    }
}

/// Texts that stand for others.
mod alias {
    use super::{Inst, Text};

    const BINARY: [(&str, &str); 6] = [
        ("0001", "and"),
        ("0111", "or"),
        ("0110", "xor"),
        ("1110", "nand"),
        ("1000", "nor"),
        ("1001", "xnor"),
    ];
    const UNARY: [(&str, &str); 2] = [("1010", "not"), ("0101", "mov")];
    /// Operands that only `device_load.TODO` and `device_store.TODO` show, where they are as
    /// usual.
    const LOAD_USUAL: [&str; 4] = ["1", "0", "4", "0"];
    const STORE_USUAL: [&str; 4] = ["1", "0", "2", "0"];

    /// Placeholders of applegpu for instructions that Mesa's compiler names.
    /// source: Mesa, agx_opcodes.py
    const PLACEHOLDERS: [(&str, &str); 2] =
        [("TODO.ldcf", "ldcf"), ("TODO.stack_adjust", "stack_adjust")];

    /// Replaces the plain text by the one that applegpu prints.
    pub fn shorten(inst: &Inst, text: &mut Text) {
        let ops = &mut text.operands;
        match inst {
            Inst::Bitop(_) => {
                let table = ops[0].clone();
                if let Some((_, name)) = BINARY.iter().find(|(t, _)| *t == table) {
                    ops.remove(0);
                    text.mnemonic = name.to_string();
                } else if let Some((_, name)) = UNARY.iter().find(|(t, _)| *t == table)
                    && ops[3] == "0"
                {
                    ops.remove(0);
                    ops.pop();
                    text.mnemonic = name.to_string();
                } else if table == "0011" || table == "1100" {
                    text.mnemonic = "bitop_mov_a".to_string();
                }
            }
            Inst::IfFcmp(_) if ops[1] == "eq" && ops[2] == "0.0" && ops[3] == "0.0" => {
                ops.drain(1..4);
                text.mnemonic = if ops[1] == "0" { "update_exec" } else { "push_exec" }.to_string();
                if ops[1] == "0" {
                    ops.pop();
                }
            }
            Inst::DeviceLoad(_) | Inst::DeviceStore(_) => {
                let load = matches!(inst, Inst::DeviceLoad(_));
                let usual = if load { LOAD_USUAL } else { STORE_USUAL };
                let tail = ops.len() - usual.len();
                if ops[tail..] == usual {
                    ops.truncate(tail);
                } else {
                    text.mnemonic.push_str(".TODO");
                }
            }
            Inst::Iter(_) | Inst::Iterproj(_) => {
                for op in ops.iter_mut().filter(|op| *op == "sample_register") {
                    op.truncate("sample".len());
                }
            }
            Inst::TextureSample(_) | Inst::TextureLoad(_) => {
                for op in ops.iter_mut().filter(|op| op.ends_with(".u") && op.contains("lod")) {
                    op.truncate(op.len() - 2);
                }
            }
            _ => {}
        }
    }

    /// The reverse of [`shorten`].
    pub fn expand(mnemonic: &mut String, ops: &mut Vec<(usize, String)>) {
        let end = ops.last().map_or(1, |(c, t)| c + t.len());
        let add = |texts: &[&str], ops: &mut Vec<(usize, String)>, at: usize| {
            let at = at.min(ops.len());
            ops.splice(at..at, texts.iter().map(|t| (end, t.to_string())));
        };
        if let Some((table, _)) = BINARY.iter().find(|(_, n)| n == mnemonic) {
            *mnemonic = "bitop".to_string();
            add(&[table], ops, 0);
            return;
        }
        if let Some((table, _)) = UNARY.iter().find(|(_, n)| n == mnemonic) {
            *mnemonic = "bitop".to_string();
            add(&[table], ops, 0);
            add(&["0"], ops, 3);
            return;
        }
        if let Some((_, name)) = PLACEHOLDERS.iter().find(|(p, _)| p == mnemonic) {
            *mnemonic = name.to_string();
        }
        match mnemonic.as_str() {
            "bitop_mov_a" => *mnemonic = "bitop".to_string(),
            "push_exec" | "update_exec" => {
                if mnemonic == "update_exec" {
                    add(&["0"], ops, 1);
                }
                add(&["eq", "0.0", "0.0"], ops, 1);
                *mnemonic = "if_fcmp".to_string();
            }
            "device_load" => add(&LOAD_USUAL, ops, usize::MAX),
            "device_store" => add(&STORE_USUAL, ops, usize::MAX),
            "device_load.TODO" | "device_store.TODO" => {
                mnemonic.truncate(mnemonic.len() - ".TODO".len());
            }
            "iter" | "iterproj" => {
                let at = ops.iter().position(|(_, t)| t == "sample").unwrap_or(0);
                let index = ops[..at].iter().rfind(|(_, t)| t != "forward" && t != "elide");
                if index.is_some_and(|(_, t)| t.starts_with('r')) {
                    ops[at].1 = "sample_register".to_string();
                }
            }
            "texture_sample" | "texture_load" => {
                for i in 1..ops.len() {
                    if ops[i - 1].1.contains("lod") && ops[i].1.starts_with('u') {
                        ops[i - 1].1.push_str(".u");
                    }
                }
            }
            _ => {}
        }
    }
}
