//! The manual, in Markdown, from the table.

use std::fmt::Write;

use crate::modifier::{Flow, KINDS, ModifierValue, fields};
use crate::operand::{CONSTANTS, Special, select};
use crate::random;
use crate::table::field::Count;
use crate::table::{Op, Row};
use crate::validate::Rule;

/// Facts about all instructions.
const INTRODUCTION: &str = include_str!("manual.md");

/// The whole manual.
pub fn manual() -> String {
    let mut out = INTRODUCTION.to_owned();
    out.push_str("\n## Instructions\n\n| mnemonic | unit | |\n| --- | --- | --- |\n");
    for op in Op::all() {
        let row = op.row();
        let summary = row.summary.trim();
        let _ = writeln!(out, "| `{op}` | {} | {summary} |", row.form.unit.name());
    }
    out.push_str("\n## Flow\n\n");
    values(&mut out, Flow::KIND);
    out.push_str("\n## Modifiers\n");
    for kind in KINDS.iter().filter(|k| k.name != Flow::KIND.name) {
        let _ = write!(out, "\n### {}\n\n{}\n\n", kind.name, kind.doc.trim());
        values(&mut out, kind);
    }
    out.push_str("\n### One bit\n\n| modifier | |\n| --- | --- |\n");
    for flag in fields::FLAGS {
        let _ = writeln!(out, "| `.{}` | {} |", flag.kind.name, flag.kind.doc);
    }
    out.push_str("\n## Constants\n\n| number | value |\n| --: | --- |\n");
    for (number, value) in CONSTANTS.iter().enumerate() {
        let _ = writeln!(out, "| {number} | `{value:#010x}` |");
    }
    out.push_str("\n## Special values\n\n| page | index | name | |\n| --: | --: | --- | --- |\n");
    for special in Special::ALL {
        let (page, index) = special.place();
        let doc = special.doc().trim();
        let _ = writeln!(out, "| {page} | {index} | `{}` | {doc} |", special.name());
    }
    out.push_str("\n## Rules\n\n");
    for rule in Rule::ALL {
        let _ = writeln!(out, "- {rule}");
    }
    out
}

fn values(out: &mut String, kind: &crate::ModifierKind) {
    out.push_str("| value | name |\n| --: | --- |\n");
    for (value, name) in kind.values.iter().enumerate() {
        if let Some(name) = name {
            let default = kind.default == u8::try_from(value).ok();
            let _ =
                writeln!(out, "| {value} | `{name}`{} |", if default { ", default" } else { "" });
        }
    }
}

/// The entries of the instructions with a mnemonic, and of those whose name begins with it and a point.
pub fn entry(mnemonic: &str) -> Option<String> {
    let named = |op: &Op| {
        let rest = op.row().name.strip_prefix(mnemonic);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let entries: Vec<String> = Op::all().filter(named).map(one).collect();
    (!entries.is_empty() && !mnemonic.is_empty()).then(|| entries.join("\n"))
}

fn one(op: Op) -> String {
    let row = op.row();
    let mut out = format!("### {op}\n\n{}\n\n", row.summary.trim());
    let _ = writeln!(out, "Unit: {}. Opcode {:#x}", row.form.unit.name(), row.opcode);
    if row.form.second.mask != 0 {
        let second = row.form.second;
        let _ = writeln!(
            out,
            "with {:#x} in the bits {:#x} from {} on",
            row.second, second.mask, second.shift
        );
    }
    out.push_str("\n| bits | field |\n| --- | --- |\n");
    for (start, bits, what) in bit_fields(row) {
        let _ = match bits {
            1 => writeln!(out, "| {start} | {what} |"),
            _ => writeln!(out, "| {start}–{} | {what} |", start + bits - 1),
        };
    }
    out.push_str("\nExamples with random operands:\n\n```\n");
    let mut state = 1u64;
    let mut bits = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state ^ state >> 29
    };
    for _ in 0..3 {
        let inst = random::inst_of(op, &mut bits);
        let word = inst.encode().unwrap_or(0);
        let _ = writeln!(out, "{word:016x}    {inst}");
    }
    out.push_str("```\n");
    out
}

/// The fields of a row by their lowest bit.
fn bit_fields(row: &Row) -> Vec<(u8, u8, String)> {
    let mut list = Vec::new();
    if row.form.dest {
        list.push((40, 8, "destination: register, and above it the halves written".to_owned()));
    }
    for field in row.form.staging {
        let what = if field.write { "written" } else { "read" };
        list.push((field.start, 6, format!("first staging register, {what}")));
        list.push(match field.count {
            Count::At33 => (33, 3, format!("number of staging registers, {what}")),
            Count::LessOneAt36 => (36, 3, format!("number of staging registers, {what}, less 1")),
        });
    }
    for field in row.form.sources {
        let name = if field.name.is_empty() { "source" } else { field.name };
        list.push((field.slot * 8, 8, format!("{name}, {} bits", row.source_width(field))));
        if field.float {
            list.push((field.negate_bit(), 1, format!("{name} negated")));
            list.push((field.negate_bit() + 1, 1, format!("magnitude of {name}")));
        }
        if field.inverted {
            list.push((crate::table::field::INVERT_BIT, 1, format!("{name} inverted")));
        }
        if let Some((start, bits, _)) = select(row, field) {
            list.push((start, bits, format!("parts of {name}")));
        }
    }
    for field in row.form.immediates {
        list.push((field.start, field.bits, format!("`{}`", field.name)));
    }
    for field in row.form.modifiers {
        list.push((field.start, field.bits, format!("modifier `{}`", field.kind.name)));
    }
    list.push((57, 2, "page of uniforms and special values".to_owned()));
    list.push((59, 4, "flow".to_owned()));
    list.sort_by_key(|(start, ..)| *start);
    list
}
