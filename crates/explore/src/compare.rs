//! Compares two compiled shaders, of one GPU or of two: their listings, aligned instruction by instruction.
//!
//! Alignment has two steps. The first looks for instructions with the same text. What it leaves unmatched between two of them is
//! compared by mnemonic, because one more live value mostly renumbers the registers of all that follows.

use std::ops::Range;

use serde::Serialize;
use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::compile::{Report, ShaderError, Text, report};
use crate::listing::Line;

/// Difference between the two sides of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// Equal text.
    Same,
    /// Equal mnemonic with other operands.
    Operands,
    /// Only on the left.
    Removed,
    /// Only on the right.
    Added,
}

/// A row of two aligned listings: indices of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The difference between the sides.
    pub change: Change,
    /// The instruction on the left.
    pub left: Option<usize>,
    /// The instruction on the right.
    pub right: Option<usize>,
}

/// Two compiled shaders.
#[derive(Serialize, Clone, Debug)]
pub struct Comparison {
    /// The first.
    pub left: Report,
    /// The second.
    pub right: Report,
    /// Their preambles, aligned.
    pub preamble: Vec<Row>,
    /// Their main programs, aligned.
    pub main: Vec<Row>,
}

/// Compiles two texts and aligns their listings.
///
/// # Errors
/// One of them does not compile. A place is in the right text: an error of the left one names its line in the message.
pub fn compare(left: &Text, right: &Text) -> Result<Comparison, ShaderError> {
    let left = report(left, false).map_err(|e| {
        let line = e.place.map_or(String::new(), |p| format!("line {}: ", p.line));
        ShaderError::new(format!("the left side: {line}{}", e.message))
    })?;
    let right = report(right, false)?;
    Ok(Comparison {
        preamble: align(&left.preamble, &right.preamble),
        main: align(&left.asm, &right.asm),
        left,
        right,
    })
}

/// Aligns two listings.
#[must_use]
pub fn align(left: &[Line], right: &[Line]) -> Vec<Row> {
    let text = |lines: &[Line]| lines.iter().map(|l| l.text.clone()).collect::<Vec<_>>();
    let (a, b) = (text(left), text(right));
    let mut rows = Vec::with_capacity(a.len().max(b.len()));
    for op in capture_diff_slices(Algorithm::Myers, &a, &b) {
        match op {
            DiffOp::Equal { old_index, new_index, len } => {
                pair(&mut rows, Change::Same, old_index, new_index, len);
            }
            op => by_mnemonic(&mut rows, (&a, op.old_range()), (&b, op.new_range())),
        }
    }
    rows
}

/// Aligns ranges without common instructions by their mnemonics.
fn by_mnemonic(
    rows: &mut Vec<Row>,
    (a, old): (&[String], Range<usize>),
    (b, new): (&[String], Range<usize>),
) {
    let mnemonics = |lines: &[String]| {
        let mnemonic = |l: &String| l.split(' ').next().unwrap_or("").to_owned();
        lines.iter().map(mnemonic).collect::<Vec<_>>()
    };
    let (a, b) = (mnemonics(&a[old.clone()]), mnemonics(&b[new.clone()]));
    for op in capture_diff_slices(Algorithm::Myers, &a, &b) {
        if let DiffOp::Equal { old_index, new_index, len } = op {
            let (from, to) = (old.start + old_index, new.start + new_index);
            pair(rows, Change::Operands, from, to, len);
            continue;
        }
        let removed = |k| Row { change: Change::Removed, left: Some(old.start + k), right: None };
        let added = |k| Row { change: Change::Added, left: None, right: Some(new.start + k) };
        rows.extend(op.old_range().map(removed));
        rows.extend(op.new_range().map(added));
    }
}

fn pair(rows: &mut Vec<Row>, change: Change, left: usize, right: usize, count: usize) {
    let row = |k| Row { change, left: Some(left + k), right: Some(right + k) };
    rows.extend((0..count).map(row));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(texts: &[&str]) -> Vec<Line> {
        let line = |(k, text): (usize, &&str)| Line {
            offset: 4 * k,
            bytes: String::new(),
            text: (*text).to_owned(),
            line: 0,
        };
        texts.iter().enumerate().map(line).collect()
    }

    #[test]
    fn rows_pair_what_belongs_together() {
        let left = lines(&["get_sr r0", "fadd32 r1, r0, 1", "wait 0", "stop"]);
        let right = lines(&["get_sr r0", "iadd r2, r0, 1", "fadd32 r3, r2, 1", "stop"]);
        let row = |change, left, right| Row { change, left, right };
        assert_eq!(
            align(&left, &right),
            [
                row(Change::Same, Some(0), Some(0)),
                row(Change::Added, None, Some(1)),
                row(Change::Operands, Some(1), Some(2)),
                row(Change::Removed, Some(2), None),
                row(Change::Same, Some(3), Some(3)),
            ]
        );
    }

    #[test]
    fn every_instruction_is_in_one_row() {
        let left = lines(&["a 1", "b 2", "c 3", "a 1", "b 9"]);
        let right = lines(&["c 3", "a 7", "d", "b 2", "a 1"]);
        let rows = align(&left, &right);
        let of = |side: fn(&Row) -> Option<usize>| rows.iter().filter_map(side).collect::<Vec<_>>();
        assert_eq!(of(|r| r.left), [0, 1, 2, 3, 4]);
        assert_eq!(of(|r| r.right), [0, 1, 2, 3, 4]);
    }
}
