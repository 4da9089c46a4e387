//! The manual holds every row, and its families every table file.

use tepui_agx_isa::{Inst, ROWS, manual};

#[test]
fn every_row_has_an_entry() {
    let all = manual::manual();
    for (row, desc) in ROWS.iter().enumerate() {
        assert!(all.contains(&format!("(`{}`)", desc.name)), "{} has no entry", desc.name);
        assert!(!desc.summary().is_empty() && desc.fields.iter().all(|f| !f.docs.is_empty()));
        assert!(manual::entry(row).contains(desc.summary()));
    }
    let entries = all.lines().filter(|l| l.starts_with("### ") && l.ends_with("`)")).count();
    assert_eq!(entries, ROWS.len());
    assert_eq!(manual::entry(ROWS.len()), "");
}

#[test]
fn instructions_are_found_by_any_of_their_names() {
    let names = |name: &str| -> Vec<_> {
        manual::find(name).into_iter().map(|row| ROWS[row].name).collect()
    };
    assert_eq!(names("fadd32"), ["Fadd32"]);
    assert_eq!(names("fadd32.sat"), ["Fadd32"]);
    assert_eq!(names("Fadd32"), ["Fadd32"]);
    assert_eq!(names("isub"), ["Iadd"]);
    assert_eq!(names("mov_imm"), ["MovImm16", "MovImm32"]);
    assert_eq!(names("simd_prefix_min.u"), ["SimdReduce"]);
    assert_eq!(names("xnor"), ["Bitop"]);
    assert_eq!(names("no_such_thing"), [""; 0]);
}

#[test]
fn aliases_name_mnemonics() {
    for (alias, of) in manual::ALIASES {
        assert!(!manual::find(of).is_empty(), "{alias} stands for {of}, which does not exist");
    }
    let text = Inst::parse("mov r0, r1", None).map(|inst| inst.desc().name);
    assert_eq!(text, Ok("Bitop"));
}
