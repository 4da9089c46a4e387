//! The manual, in Markdown, from the tables.

use std::fmt::Write;

use tepui_intel_chips::Generation;

use crate::message::{
    AtomicOp, DataOp0, DataOp1, GatewayOp, InterpolatorOp, RenderOp, RenderWrite, SamplerOp, UrbOp,
};
use crate::operand::Arf;
use crate::random;
use crate::sfid::Sfid;
use crate::table::field::{FIELDS, Run};
use crate::table::opcode::{Form, MathFunction, Opcode, SyncFunction};
use crate::types::{Type, TypePosition};
use crate::validate::Rule;

/// Facts about all instructions: operands, text, flow control.
const INTRODUCTION: &str = include_str!("manual.md");

/// The whole manual of a generation.
pub fn manual(generation: Generation) -> String {
    let mut out =
        INTRODUCTION.replacen("execution units", &format!("execution units, {generation}"), 1);
    out.push_str(
        "\n## Instructions\n\n| code | mnemonic | operands | |\n| --- | --- | --- | --- |\n",
    );
    for opcode in opcodes(generation) {
        let code = opcode.code(generation).unwrap_or(0);
        let operands = operands(opcode.form(generation));
        let _ = writeln!(out, "| {code} | `{opcode}` | {operands} | {} |", opcode.summary());
    }
    list(&mut out, "Functions of `math`", MathFunction::ALL, |f| (f as u8, f.name()));
    if Opcode::Sync.code(generation).is_some() {
        list(&mut out, "Functions of `sync`", SyncFunction::ALL, |f| (f as u8, f.name()));
    }
    types(&mut out, generation);
    out.push_str("\n## Architecture registers\n\n| code | name |\n| --- | --- |\n");
    for (arf, letters) in Arf::ALL {
        let _ = writeln!(out, "| {:#x} | `{letters}` |", (*arf as u8) << 4);
    }
    list(&mut out, "Shared functions", Sfid::ALL, |s| (s as u8, s.name()));
    list(&mut out, "Messages: sampler", SamplerOp::ALL, |o| (o as u8, o.name()));
    list(&mut out, "Messages: data", DataOp0::ALL, |o| (o as u8, o.name()));
    list(&mut out, "Messages: dp data 1", DataOp1::ALL, |o| (o as u8, o.name()));
    list(&mut out, "Atomic operations", AtomicOp::ALL, |o| (o as u8, o.name()));
    list(&mut out, "Messages: render", RenderOp::ALL, |o| (o as u8, o.name()));
    list(&mut out, "Payloads of render target writes", RenderWrite::ALL, |o| (o as u8, o.name()));
    list(&mut out, "Messages: urb", UrbOp::ALL, |o| (o as u8, o.name()));
    list(&mut out, "Messages: gateway", GatewayOp::ALL, |o| (o as u8, o.name()));
    list(&mut out, "Messages: pixel interp", InterpolatorOp::ALL, |o| (o as u8, o.name()));
    fields(&mut out, generation);
    out.push_str("\n## Rules\n\n");
    for rule in Rule::ALL {
        let _ = writeln!(out, "- {rule}");
    }
    out
}

/// The operations of a generation, by code.
pub fn opcodes(generation: Generation) -> Vec<Opcode> {
    let all = Opcode::ALL.iter().copied();
    let mut opcodes: Vec<Opcode> = all.filter(|op| op.code(generation).is_some()).collect();
    opcodes.sort_by_key(|op| op.code(generation));
    opcodes
}

/// The entry of an operation: its summary, its codes, examples.
pub fn entry(generation: Generation, mnemonic: &str) -> Option<String> {
    let opcode = Opcode::from_mnemonic(generation, mnemonic)?;
    let mut out = format!("### {opcode}\n\n{}\n\n", opcode.summary());
    for generation in Generation::ALL {
        if let Some(code) = opcode.code(generation) {
            let operands = operands(opcode.form(generation));
            let _ = writeln!(out, "- {generation}: code {code}; {operands}");
        }
    }
    out.push_str("\nEncodings, as examples with random operands:\n\n```\n");
    let mut state = 1u64;
    let mut bits = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z ^ z >> 27
    };
    let mut examples = 0;
    while examples < 3 {
        let inst = random::inst(generation, &mut bits);
        if inst.opcode == opcode && (crate::validate::check(&inst).is_ok() || opcode.is_send()) {
            let mut bytes = Vec::new();
            if inst.encode(&mut bytes).is_ok() {
                let hex: String = bytes.iter().map(|b| format!("{b:02x} ")).collect();
                let _ = writeln!(out, "{hex} {inst}");
                examples += 1;
            }
        }
    }
    out.push_str("```\n");
    Some(out)
}

fn operands(form: Form) -> &'static str {
    match form {
        Form::None => "none",
        Form::Regular { dst: true, sources: 1 } => "destination, 1 source",
        Form::Regular { dst: true, .. } => "destination, 2 sources",
        Form::Regular { dst: false, .. } => "1 source",
        Form::Ternary => "destination, 3 sources",
        Form::Jip => "JIP",
        Form::JipUip => "JIP, UIP",
        Form::Call => "destination, JIP",
        Form::Jump => "1 source",
        Form::Wait => "notification register",
        Form::Send => "destination, payload, descriptor",
        Form::SplitSend => "destination, 2 payloads, descriptor, extended descriptor",
    }
}

fn list<T: Copy>(out: &mut String, title: &str, all: &[T], row: impl Fn(T) -> (u8, &'static str)) {
    let _ = write!(out, "\n## {title}\n\n| code | name |\n| --- | --- |\n");
    for item in all {
        let (code, name) = row(*item);
        let _ = writeln!(out, "| {code} | {name} |");
    }
}

fn types(out: &mut String, generation: Generation) {
    let _ = write!(
        out,
        "\n## Types\n\n| type | bytes | code of registers | of immediates | of three sources |\n\
         | --- | --- | --- | --- | --- |\n"
    );
    for ty in Type::ALL {
        let code = |position| match ty.code(generation, position) {
            Some(code) => code.to_string(),
            None => "–".to_owned(),
        };
        let _ = writeln!(
            out,
            "| {ty} | {} | {} | {} | {} |",
            ty.bytes(),
            code(TypePosition::Register),
            code(TypePosition::Immediate),
            code(TypePosition::Ternary { float: ty.is_float() })
        );
    }
}

fn fields(out: &mut String, generation: Generation) {
    out.push_str(
        "\n## Fields\n\nBits of the 128-bit form, most significant run first. Fields that begin \
         with T_ are those of three sources, SEND_ of messages.\n\n| field | bits |\n| --- | --- |\n",
    );
    for field in FIELDS.iter().filter(|field| field.exists(generation)) {
        let run = |(high, low): &Run| match high == low {
            true => high.to_string(),
            false => format!("{high}:{low}"),
        };
        let runs: Vec<String> = field.runs(generation).iter().map(run).collect();
        let _ = writeln!(out, "| {} | {} |", field.name, runs.join(", "));
    }
}
