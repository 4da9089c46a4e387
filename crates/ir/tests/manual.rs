//! `docs/ir-ops.md` is the op table; `BLESS=1` writes it.

use std::fmt::Write;
use std::path::Path;
use tepui_ir::op::OPS;
use tepui_ir::{AttrKind, Fold, Op, Pat, Props};

/// Families by the op that each begins with, in the order of the table.
const FAMILIES: &[(Op, &str)] = &[
    (Op::FAdd, "Floats"),
    (Op::IAdd, "Integers, logic, comparisons"),
    (Op::F2F, "Conversions and packing"),
    (Op::Const, "Constants and vectors"),
    (Op::LoadVar, "Memory"),
    (Op::TexSample, "Images and textures"),
    (Op::Ballot, "Sub-groups, quads, derivatives, barriers"),
    (Op::LoadInput, "Inputs, outputs, built-ins, fragments"),
    (Op::If, "Control flow"),
];

fn pattern(p: &Pat) -> &'static str {
    match p {
        Pat::T => "T",
        Pat::F => "F",
        Pat::I => "I",
        Pat::B => "B",
        Pat::W => "W",
        Pat::UF => "F'",
        Pat::UI => "I'",
        Pat::B1 => "b1",
        Pat::S32 => "b32",
        Pat::S64 => "b64",
        Pat::H => "handle",
        Pat::V2 => "b32x2",
        Pat::V4 => "b32x4",
        Pat::SF => "f",
        Pat::E => "elem",
        Pat::Any => "any",
        Pat::Rest => "…",
    }
}

fn manual() -> String {
    let mut out = String::from(
        "# The operations of the IR

This page is the op table of `crates/ir`, written by `BLESS=1 cargo test -p tepui-ir --test manual`.
[The IR](ir.md) explains the text form.

Operands and results: within one instruction T, F and I are one type, the same everywhere; F has 16, 32 or 64
bits, I 8 to 64. B is truth values, W is 32-bit words, F' and I' are another size, all with as many components as T;
elem is one component of T. Properties: *pure* (depends on operands only), *comm*utes, *assoc*iates, *float* (rounds:
contraction and reassociation rules apply), *conv*ergent (other lanes take part), *reads*, *writes*. What is
marked *folds* has its meaning in the table, and constant folding, the interpreter and the tests share it.
",
    );
    for info in OPS {
        if let Some((_, title)) = FAMILIES.iter().find(|f| f.0 == info.op) {
            let _ = write!(
                out,
                "\n## {title}\n\n| op | operands | results | attributes | properties | meaning |\n| --- | --- | --- | --- | --- | --- |\n"
            );
        }
        let list = |p: &[Pat]| p.iter().map(pattern).collect::<Vec<_>>().join(", ");
        let names = [
            (Props::PURE, "pure"),
            (Props::COMM, "comm"),
            (Props::ASSOC, "assoc"),
            (Props::FLOAT, "float"),
            (Props::CONVERGENT, "conv"),
            (Props::READS, "reads"),
            (Props::WRITES, "writes"),
            (Props::TERM, "ends a region"),
            (Props::REGIONS, "has regions"),
        ];
        let mut props: Vec<&str> =
            names.iter().filter(|n| info.props.contains(n.0)).map(|n| n.1).collect();
        if !matches!(info.fold, Fold::None) {
            props.push("folds");
        }
        let attrs = if info.attrs == AttrKind::None { "" } else { info.attrs.name() };
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {attrs} | {} | {} |",
            info.name,
            list(info.operands),
            list(info.results),
            props.join(", "),
            info.doc.trim().replace('|', "\\|"),
        );
    }
    out
}

#[test]
fn the_manual_is_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ir-ops.md");
    let want = manual();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, want).unwrap();
        return;
    }
    let have = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(have == want, "docs/ir-ops.md is not the op table: run with BLESS=1");
}
