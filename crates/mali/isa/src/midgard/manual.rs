//! The manual, in Markdown, from the table.

use std::fmt::Write;

use super::table::{ALU, AluRow, MEMORY, MemoryRow, SourceType, TEXTURE, Unit, Units};

/// Facts about all instructions.
const INTRODUCTION: &str = include_str!("manual.md");

/// The units of a set.
fn units(units: Units) -> String {
    let units = Unit::ALL.into_iter().filter(|unit| units.has(*unit));
    let names: Vec<&str> = units.map(Unit::name).collect();
    names.join(" ")
}

fn kind(kind: SourceType) -> &'static str {
    match kind {
        SourceType::Float => "float",
        SourceType::Signed => "signed",
        SourceType::Unsigned => "unsigned",
    }
}

fn arithmetic(row: &AluRow) -> String {
    let result = match (row.makes_integer(), row.channels) {
        (true, 0) => "integer".to_owned(),
        (false, 0) => "float".to_owned(),
        (true, n) => format!("integer of {n} components"),
        (false, n) => format!("float of {n} components"),
    };
    let (sources, units) = (kind(row.kind), units(row.units));
    format!("| `{}` | {:#04x} | {sources} | {result} | {units} |\n", row.name, row.op as u8)
}

fn memory(row: &MemoryRow) -> String {
    format!("| `{}` | {:#04x} | {} |\n", row.name, row.op as u8, row.about())
}

/// The whole manual.
pub fn manual() -> String {
    let mut out = INTRODUCTION.to_owned();
    out.push_str("\n## Arithmetic\n\n| mnemonic | opcode | sources | result | units |\n");
    out.push_str("| --- | --- | --- | --- | --- |\n");
    out.extend(ALU.iter().map(arithmetic));
    out.push_str("\n## Loads and stores\n\n| mnemonic | opcode | about |\n| --- | --- | --- |\n");
    out.extend(MEMORY.iter().map(memory));
    out.push_str("\n## Textures\n\n| mnemonic | opcode |\n| --- | --- |\n");
    for row in TEXTURE {
        let _ = writeln!(out, "| `{}` | {} |", row.name, row.code);
    }
    out
}

/// The rows of the instructions with a mnemonic, and of those whose name begins with it and a point.
pub fn entry(mnemonic: &str) -> Option<String> {
    let named = |name: &str| {
        let rest = name.strip_prefix(mnemonic);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let mut out = String::new();
    out.extend(ALU.iter().filter(|row| named(row.name)).map(arithmetic));
    out.extend(MEMORY.iter().filter(|row| named(row.name)).map(memory));
    for row in TEXTURE.iter().filter(|row| named(row.name)) {
        let _ = writeln!(out, "| `{}` | {} | texture |", row.name, row.code);
    }
    (!out.is_empty() && !mnemonic.is_empty()).then_some(out)
}
