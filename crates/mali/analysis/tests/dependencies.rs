//! Programs of Bifrost with the waits that they need, and without.

use proptest::prelude::*;
use tepui_mali_analysis::{Clauses, DependencyError, Finding, Hazard};
use tepui_mali_isa::bifrost::asm;

/// A finding: the clause, the hazard, the register and the slot.
type Short = (usize, Hazard, Option<u8>, Option<u8>);

fn findings(source: &str) -> Vec<Short> {
    let code = asm::assemble(source).unwrap_or_else(|e| panic!("{source}: {e:?}"));
    let clauses = Clauses::decode(&code).expect("clauses");
    let found = clauses.check().expect("a program of few paths");
    let short = |f: &Finding| {
        let at = format!("the clause at {:#x}", clauses.offset(f.inst));
        assert!(clauses.text(f).starts_with(&at), "{}", clauses.text(f));
        (f.inst, f.hazard, f.register, f.slot)
    };
    found.iter().map(short).collect()
}

/// A clause with a header, of one tuple.
fn clause(header: &str, fma: &str, add: &str) -> String {
    format!("{header}\n{{\n*{fma}\n+{add}\n}}\n")
}

const NOTHING: [&str; 2] = ["NOP t0", "NOP t1"];

/// A load of r6, and what comes after it.
fn load(slot: u8, wait: &str) -> String {
    clause(&format!("ds({slot}) nbb load {wait}"), NOTHING[0], "LOAD.i32 t1, r4, r5, @r6")
}

fn end() -> String {
    clause("ds(0) eos", NOTHING[0], NOTHING[1])
}

#[test]
fn a_result_is_waited_for() {
    let uses = [
        ("FADD.f32 t0, r6, r6", "NOP t1", Hazard::ReadPending),
        ("NOP t0", "IADD.s32 t1, r1, r6", Hazard::ReadPending),
    ];
    for (fma, add, hazard) in uses {
        for slot in 0..6 {
            for waited in 0..6 {
                let wait = format!("dwb({waited})");
                let source = load(slot, &wait) + &clause("ds(0) eos", fma, add);
                let missing = (1, hazard, Some(6), Some(slot));
                let expected = Vec::from_iter((slot != waited).then_some(missing));
                assert_eq!(findings(&source), expected, "slot {slot}, {wait}: {fma}, {add}");
            }
        }
    }
    // A wait holds for the next clause alone, but what it has waited for is over.
    let between = clause("ds(0) nbb dwb(3)", NOTHING[0], NOTHING[1]);
    let user = clause("ds(0) eos", uses[0].0, uses[0].1);
    assert_eq!(findings(&(load(3, "") + &between + &user)), []);
    assert_eq!(
        findings(&(load(3, "dwb(3)") + &clause("ds(0) nbb", NOTHING[0], NOTHING[1]) + &user)),
        []
    );
}

#[test]
fn a_register_is_not_written_before_a_message_is_done_with_it() {
    let store = |header: &str| clause(header, NOTHING[0], "STORE.i32 t1, r4, r5, @r6");
    let writes = clause("ds(0) eos", "FADD.f32 r6:t0, r1, r1", "NOP t1");
    let staging = (1, Hazard::WriteStaging, Some(6), Some(2));
    assert_eq!(findings(&(store("ds(2) nbb store") + &writes)), [staging]);
    assert_eq!(findings(&(store("ds(2) osrb nbb store") + &writes)), []);
    assert_eq!(findings(&(store("ds(2) nbb store dwb(2)") + &writes)), []);
    // A staging barrier does not wait for results.
    let pending = (1, Hazard::WritePending, Some(6), Some(0));
    let first = clause("ds(0) osrb nbb load", NOTHING[0], "LOAD.i32 t1, r4, r5, @r6");
    assert_eq!(findings(&(first + &writes)), [pending]);
    // Reads of staging registers need no order with other reads.
    let reads = clause("ds(0) eos", "FADD.f32 r7:t0, r6, r6", "NOP t1");
    assert_eq!(findings(&(store("ds(2) nbb store") + &reads)), []);
}

#[test]
fn paths_join_with_what_either_leaves() {
    // The second clause repeats; the load at its end is not waited for on the way back.
    let program = |wait: &str| {
        format!(
            "{}again:\n{}{}{}",
            clause("ds(0) nbb", NOTHING[0], NOTHING[1]),
            clause("ds(0) nbb load", "FADD.f32 t0, r6, r6", "LOAD.i32 t1, r4, r5, @r6"),
            clause(&format!("ds(0) nbb br_pc {wait}"), NOTHING[0], "BRANCHZ.i32.ne t1, r1, again"),
            end()
        )
    };
    let hazard = (1, Hazard::ReadPending, Some(6), Some(0));
    let write = (1, Hazard::WritePending, Some(6), Some(0));
    assert_eq!(findings(&program("")), [hazard, write]);
    assert_eq!(findings(&program("dwb(0)")), []);
}

/// A blend shader may change r0 to r15 and the return address; the program's last clause calls one that does not return.
#[test]
fn blend_shaders_change_registers() {
    let add = "BLEND r48:t1, r60, blend_descriptor_0.x, blend_descriptor_0.y, @r0";
    let blend = |header: &str| clause(&format!("{header} blend"), NOTHING[0], add);
    let program = |register: u8| {
        clause("ds(0) nbb dwb(6, 7)", NOTHING[0], NOTHING[1])
            + &blend("ds(0) nbb dwb(0)")
            + &clause("ds(0) eos", &format!("FADD.f32 t0, r{register}, r{register}"), NOTHING[1])
    };
    for register in 0..48 {
        let changed = (2, Hazard::ReadDiscarded, Some(register), None);
        let expected = Vec::from_iter((register < 16).then_some(changed));
        assert_eq!(findings(&program(register)), expected, "r{register}");
    }
    // A blend shader's own BLEND has its descriptor in registers and calls none.
    let own = clause("ds(0) nbb dwb(0) blend", NOTHING[0], "BLEND r48:t1, r60, r20, r21, @r0");
    let start = clause("ds(0) nbb dwb(6, 7)", NOTHING[0], NOTHING[1]);
    let back = clause("ds(0) eos", NOTHING[0], "JUMP t1, r48");
    assert_eq!(findings(&(start + &own + &back)), []);
    // The message of a clause reads what the clause has written.
    let second = "ds(0) eos blend\n{\n*MOV.i32 r0:t0, r49\n+MOV.i32 r1:t1, r50\n*MOV.i32 r2:t0, r51\n+MOV.i32 r3:t1, r52\n\
                  *NOP t0\n+BLEND r48:t1, r60, blend_descriptor_1.x, blend_descriptor_1.y, @r0\n}\n";
    let first =
        clause("ds(0) nbb dwb(6, 7)", NOTHING[0], NOTHING[1]) + &blend("ds(0) nbb dwb(0, 6, 7)");
    assert_eq!(findings(&(first + second)), []);
}

#[test]
fn code_that_is_no_program_is_an_error() {
    assert_eq!(Clauses::decode(&[0xff; 16]), Err(DependencyError::Decode { offset: 0 }));
    assert_eq!(Clauses::decode(&[]).map(|clauses| clauses.count()), Ok(0));
}

proptest! {
    /// Arbitrary bytes never panic.
    #[test]
    fn any_bytes_end(code in prop::collection::vec(any::<u8>(), 0..256)) {
        if let Ok(clauses) = Clauses::decode(&code) {
            for finding in clauses.check().unwrap_or_default() {
                prop_assert!(!clauses.text(&finding).is_empty());
            }
        }
    }

    /// Clauses of random instructions never panic.
    #[test]
    fn any_clauses_end(words in prop::collection::vec(any::<u64>(), 64)) {
        let mut words = words.into_iter().cycle();
        let mut bits = || words.next().unwrap_or(0);
        let clauses = (0..4).map(|_| tepui_mali_isa::bifrost::random::clause(&mut bits).encode());
        let code: Vec<u8> = clauses.filter_map(Result::ok).flatten().collect();
        if let Ok(clauses) = Clauses::decode(&code) {
            let _ = clauses.check();
        }
    }
}
