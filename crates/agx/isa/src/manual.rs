//! The manual, in Markdown, from the table.

use core::fmt::Write;

use crate::inst::{MNEMONICS, ROWS};
use crate::operand::SpecialReg;
use crate::random::Source;
use crate::row::{Desc, FieldDesc, Kind};
use crate::table::FAMILIES;

/// Introduction of the manual: the machine, operands, encodings.
const INTRODUCTION: &str = include_str!("manual.md");

/// The whole manual.
pub fn manual() -> String {
    let mut out = String::from(INTRODUCTION);
    out.push_str("\n## Special registers\n\n| number | name |\n| --- | --- |\n");
    for (SpecialReg(number), name) in SpecialReg::named() {
        let _ = writeln!(out, "| sr{number} | {name} |");
    }
    out.push_str("\n## Instructions\n\n");
    for family in FAMILIES {
        let names: Vec<_> = family_rows(family.module).map(title).collect();
        let _ = writeln!(out, "- **{}**: {}", family.title, names.join(", "));
    }
    for family in FAMILIES {
        let _ = writeln!(out, "\n## {}\n\n{}", family.title, family.about);
        for row in family_rows(family.module) {
            out.push('\n');
            out.push_str(&entry(row));
        }
    }
    out
}

/// The rows of the instruction: by mnemonic (as in `fadd32`, `simd_iadd`) or row name (`Fadd32`).
pub fn find(name: &str) -> Vec<usize> {
    let plain = name.strip_suffix(".sat").unwrap_or(name);
    let alias = ALIASES.iter().find(|(alias, _)| *alias == plain).map_or(plain, |a| a.1);
    (0..ROWS.len())
        .filter(|row| {
            ROWS[*row].name.eq_ignore_ascii_case(alias)
                || MNEMONICS[*row]().iter().any(|m| m == alias)
        })
        .collect()
}

/// Mnemonics that are other instructions' with certain operands.
pub const ALIASES: &[(&str, &str)] = &[
    ("TODO.ldcf", "ldcf"),
    ("TODO.stack_adjust", "stack_adjust"),
    ("and", "bitop"),
    ("or", "bitop"),
    ("xor", "bitop"),
    ("nand", "bitop"),
    ("nor", "bitop"),
    ("xnor", "bitop"),
    ("not", "bitop"),
    ("mov", "bitop"),
    ("bitop_mov_a", "bitop"),
    ("push_exec", "if_fcmp"),
    ("update_exec", "if_fcmp"),
    ("device_load.TODO", "device_load"),
    ("device_store.TODO", "device_store"),
];

fn family_rows(module: &'static str) -> impl Iterator<Item = usize> {
    (0..ROWS.len()).filter(move |row| ROWS[*row].module.ends_with(module))
}

/// The mnemonics of a row, an index into [`ROWS`], in short; empty past their end.
pub fn title(row: usize) -> String {
    let Some(mnemonics) = MNEMONICS.get(row) else { return String::new() };
    let mut names: Vec<_> = mnemonics().into_iter().filter(|m| !m.ends_with(".sat")).collect();
    names.dedup();
    match names.len() {
        0..=5 => names.join(", "),
        n => format!("{}, {}, … ({n} mnemonics)", names[0], names[1]),
    }
}

/// The entry of one row, an index into [`ROWS`]; empty past their end.
pub fn entry(row: usize) -> String {
    let Some(desc) = ROWS.get(row) else { return String::new() };
    let mut out = String::new();
    let _ = writeln!(out, "### {} (`{}`)\n", title(row), desc.name);
    let _ = writeln!(out, "{}", desc.summary());
    for line in desc.docs.iter().skip(1) {
        let _ = writeln!(out, "{}", line.strip_prefix(' ').unwrap_or(line));
    }
    let length = desc.length;
    if length.short == length.long {
        let _ = writeln!(out, "\nLength: {} bytes.", length.short);
    } else {
        let _ = writeln!(
            out,
            "\nLength: {} bytes, or {} if bit {} (L) is set; the bits that the short form leaves \
             out are 0.",
            length.short, length.long, length.bit
        );
    }
    out.push_str(&syntax(row, desc));
    out.push_str(&encoding(desc));
    operands(&mut out, "Operands", desc, |f| !matches!(f.kind, Kind::Hidden | Kind::Form));
    operands(&mut out, "Not in the text unless unusual", desc, |f| f.kind == Kind::Hidden);
    out
}

fn syntax(row: usize, desc: &Desc) -> String {
    let operands: Vec<_> =
        desc.fields.iter().filter(|f| f.kind == Kind::Operand).map(|f| f.name).collect();
    let mnemonic = MNEMONICS[row]().into_iter().next().unwrap_or_default();
    let general = format!("{mnemonic:16} {}", operands.join(", "));
    format!("\n```text\n{}\n{}```\n", general.trim_end(), examples(row))
}

/// A few instances without unusual bits, one a line.
fn examples(row: usize) -> String {
    const EXAMPLES: usize = 2;
    const DRAWS: usize = 100;
    let mut source = Source::new(row as u64);
    (0..DRAWS)
        .map(|_| source.inst_of(row))
        .filter(|inst| inst.text(None).notes.is_empty() && !inst.text(None).operands.is_empty())
        .map(|inst| format!("{inst}\n"))
        .take(EXAMPLES)
        .collect()
}

/// The bits, highest first.
fn encoding(desc: &Desc) -> String {
    let mut places: Vec<(u8, u8, String)> = Vec::new();
    for f in desc.fixed {
        let width = usize::from(f.len);
        places.push((f.lo, f.len, format!("`{:0width$b}`", f.value)));
    }
    for field in desc.fields {
        for piece in field.pieces.as_slice() {
            let name = match (field.kind, piece.part) {
                (Kind::Form, _) => "L".to_string(),
                (_, "") => field.name.to_string(),
                (_, part) => format!("{}.{part}", field.name),
            };
            places.push((piece.lo, piece.len, name));
        }
    }
    places.sort_by_key(|place| core::cmp::Reverse(place.0));
    let mut out = String::from("\n| bits | field |\n| --- | --- |\n");
    for (lo, len, name) in places {
        let range = match len {
            1 => format!("{lo}"),
            _ => format!("{}–{lo}", lo + len - 1),
        };
        let _ = writeln!(out, "| {range} | {name} |");
    }
    out
}

fn operands(out: &mut String, heading: &str, desc: &Desc, wanted: impl Fn(&FieldDesc) -> bool) {
    let fields: Vec<_> = desc.fields.iter().filter(|f| wanted(f)).collect();
    if fields.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{heading}:\n");
    for field in fields {
        let docs: Vec<_> = field.docs.iter().map(|line| line.trim()).collect();
        let _ = writeln!(out, "- `{}`: {} ({})", field.name, docs.join(" "), (field.describe)());
    }
}
