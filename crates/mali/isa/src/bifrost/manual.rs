//! The manual, in Markdown, from the table.

use std::fmt::Write;

use super::header::{Flow, Message};
use super::inst::Port;
use super::random;
use super::table::{Field, Op};

/// Facts about all instructions.
const INTRODUCTION: &str = include_str!("manual.md");

/// The whole manual.
pub fn manual() -> String {
    let mut out = INTRODUCTION.to_owned();
    out.push_str(
        "\n## Instructions\n\n| mnemonic | unit | message | about |\n| --- | --- | --- | --- |\n",
    );
    for op in Op::all() {
        let row = op.row();
        let message = row.message.name();
        let _ = writeln!(out, "| `{op}` | {} | {message} | {} |", row.unit, row.theme);
    }
    out.push_str("\n## Sources\n\n| number | what is read |\n| --: | --- |\n");
    for port in Port::ALL {
        let _ = writeln!(out, "| {} | {port} |", port as u8);
    }
    out.push_str("\n## Flow\n\n| number | name |\n| --: | --- |\n");
    for flow in Flow::ALL {
        let _ = writeln!(out, "| {} | `{}` |", *flow as u8, flow.name());
    }
    out.push_str("\n## Messages\n\n| number | name |\n| --: | --- |\n");
    for message in Message::ALL.iter().filter(|m| **m != Message::None) {
        let _ = writeln!(out, "| {} | `{}` |", *message as u8, message.name());
    }
    out
}

/// The entries of the instructions with a mnemonic, with or without its unit's mark, and of those whose name begins
/// with it and a point.
pub fn entry(mnemonic: &str) -> Option<String> {
    let (mark, name) = match mnemonic.strip_prefix(['*', '+']) {
        Some(name) => (mnemonic.chars().next(), name),
        None => (None, mnemonic),
    };
    let named = |op: &Op| {
        let row = op.row();
        let rest = row.name.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            && mark.is_none_or(|mark| mark == row.unit.mark())
    };
    let entries: Vec<String> = Op::all().filter(named).map(one).collect();
    (!entries.is_empty() && !name.is_empty()).then(|| entries.join("\n"))
}

fn bits(field: Field) -> String {
    match field.bits {
        1 => field.start.to_string(),
        n => format!("{}–{}", field.start, field.start + n - 1),
    }
}

fn one(op: Op) -> String {
    let row = op.row();
    let theme = row.theme.trim_end_matches('.');
    let mut out = format!("### {op}\n\n{theme}. {} unit", row.unit);
    if row.message.name() != "" {
        let _ = write!(out, ", message `{}`", row.message.name());
    }
    if let Some(staging) = row.staging {
        let access = match (staging.read, staging.write) {
            (true, true) => "read and written",
            (true, false) => "read",
            _ => "written",
        };
        let _ = write!(out, ", staging registers {access}: {}", staging.count);
    }
    if row.last {
        out.push_str(", at the end of a clause only");
    }
    out.push_str(".\n\n| bits | field |\n| --- | --- |\n");
    for (index, source) in row.sources.iter().enumerate() {
        let place = bits(Field { start: source.start, bits: 3 });
        let _ = writeln!(out, "| {place} | source {index}, ports {:#04x} |", source.ports);
    }
    for immediate in &row.immediates {
        let _ = writeln!(out, "| {} | `{}` |", bits(immediate.field), immediate.name);
    }
    for modifier in &row.modifiers {
        let place = modifier.field.map_or("by encoding".to_owned(), bits);
        let values = modifier.values.iter().map(|v| v.unwrap_or("-")).collect::<Vec<_>>();
        let _ = writeln!(out, "| {place} | {}: {} |", modifier.name, values.join(" "));
    }
    for encoding in &row.encodings {
        let _ =
            write!(out, "\nEncoding {:#08x} in the bits {:#08x}", encoding.exact, encoding.mask);
        let joint: Vec<&str> = encoding.joint.iter().map(|i| row.modifiers[*i].name).collect();
        if !joint.is_empty() {
            let fields: Vec<String> = encoding.fields.iter().map(|f| bits(*f)).collect();
            let _ = write!(out, "; {} in {}", joint.join(", "), fields.join(" and "));
        }
        out.push_str(".\n");
    }
    out.push_str("\nRandom instances:\n\n```\n");
    let mut state = 1u64;
    let mut draw = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state ^ state >> 29
    };
    for _ in 0..3 {
        if let Some(inst) = random::inst_of(op, &mut draw) {
            let _ = writeln!(out, "{:06x}    {}", inst.encode().unwrap_or(0), plain(&inst));
        }
    }
    out.push_str("```\n");
    out
}

/// The text of an instruction outside of a clause: ports in place of registers.
fn plain(inst: &super::Inst) -> String {
    let row = inst.op.row();
    let mut out = inst.op.to_string();
    let name = |index: usize| {
        let (modifier, value) = (&row.modifiers[index], inst.modifiers[index]);
        let text = modifier.values.get(usize::from(value)).copied().flatten();
        text.filter(|_| modifier.default != Some(value)).map_or(String::new(), |t| format!(".{t}"))
    };
    for (index, modifier) in row.modifiers.iter().enumerate() {
        if row.source_of(modifier).is_none() {
            out.push_str(&name(index));
        }
    }
    for (number, port) in inst.sources.iter().enumerate() {
        let _ = write!(out, "{} {}", if number == 0 { "" } else { "," }, *port);
        for (index, modifier) in row.modifiers.iter().enumerate() {
            if row.source_of(modifier) == Some(number) {
                out.push_str(&name(index));
            }
        }
    }
    for (immediate, value) in row.immediates.iter().zip(&inst.immediates) {
        let _ = write!(out, " {}:{value}", immediate.name);
    }
    out
}
