//! Programs with a wait each, and without.

use proptest::prelude::*;
use tepui_mali_analysis::{Code, CodeError, Finding, Hazard, check};
use tepui_mali_isa::{asm, random};

fn code(source: &str) -> Code {
    Code::decode(&asm::assemble(source).expect("a program")).expect("instructions")
}

/// Findings of a program: the instruction's index, the hazard, the register and the slot.
fn findings(source: &str) -> Vec<(usize, Hazard, Option<u8>, Option<u8>)> {
    let code = code(source);
    let found = check(&code, false).expect("a program of few paths");
    let short = |f: &Finding| {
        assert!(f.text(&code).contains(&code.insts()[f.inst].to_string()), "{}", f.text(&code));
        (f.inst, f.hazard, f.register, f.slot)
    };
    found.iter().map(short).collect()
}

#[test]
fn a_result_is_waited_for_before_it_is_read() {
    let program = |slot: u8, flow: &str| {
        format!(
            "LOAD.i32.unsigned.slot{slot}{flow} @r0, r2, offset:0
             FADD.f32 r4, r0, r5
             NOP.end"
        )
    };
    // The name of a flow has the slots that it waits for, or none for all.
    let flows = [
        "",
        ".reconverge",
        ".wait0",
        ".wait1",
        ".wait01",
        ".wait2",
        ".wait02",
        ".wait12",
        ".wait012",
    ];
    for flow in flows.into_iter().chain([".wait0126", ".wait"]) {
        for slot in 0..3u8 {
            let waits = flow == ".wait" || flow.contains(&slot.to_string());
            let expected = (!waits).then_some((1, Hazard::ReadPending, Some(0), Some(slot)));
            let found = findings(&program(slot, flow));
            assert_eq!(found, Vec::from_iter(expected), "{flow}, slot {slot}");
        }
    }
}

#[test]
fn a_result_is_waited_for_before_its_register_is_written() {
    let second = |wait: &str| {
        format!(
            "LOAD.i32.d0.slot0{wait} @r0:r1, r2, offset:0
             FADD.f32 r1, r4, r5
             NOP.wait0
             NOP.end"
        )
    };
    assert_eq!(findings(&second(".wait0")), []);
    assert_eq!(findings(&second("")), [(1, Hazard::WritePending, Some(1), Some(0))]);
    let messages = "LOAD.i32.unsigned.slot0 @r0, r2, offset:0
                    LOAD.i32.unsigned.slot1 @r0, r2, offset:4
                    NOP.end";
    assert_eq!(findings(messages), [(1, Hazard::WritePending, Some(0), Some(0))]);
}

/// The registers that a message reads may be written at once.
#[test]
fn registers_that_a_message_reads_may_be_written() {
    let store = "STORE.i32.slot0 @r0, r2, offset:0
                 FADD.f32 r0, r4, r5
                 FADD.f32 r2, r4, r5
                 NOP.end";
    assert_eq!(findings(store), []);
}

#[test]
fn all_paths_wait() {
    let branch = |wait: &str| {
        format!(
            "LOAD.i32.unsigned.slot0 @r0, r2, offset:0
             BRANCHZ.eq.reconverge r4, offset:skip
             NOP{wait}
             skip: FADD.f32 r5, r0, r0
             NOP.end"
        )
    };
    // One path does not wait.
    assert_eq!(findings(&branch(".wait0")), [(3, Hazard::ReadPending, Some(0), Some(0))]);
    let repeat = |wait: &str| {
        format!(
            "again: FADD.f32 r0, r0, r0
             LOAD.i32.unsigned.slot2{wait} @r0, r2, offset:0
             BRANCHZ.eq.reconverge r4, offset:again
             NOP.end"
        )
    };
    assert_eq!(findings(&repeat(".wait2")), []);
    let expected =
        [Hazard::ReadPending, Hazard::WritePending].map(|hazard| (0, hazard, Some(0), Some(2)));
    let found = findings(&repeat(""));
    assert_eq!(found[..2], expected);
    assert!(found[2..].iter().all(|f| f.1 == Hazard::WritePending && f.0 == 1), "{found:?}");
}

/// A branch on the constant 0 is always taken: nothing comes after it but its target.
#[test]
fn a_branch_on_a_constant_is_taken() {
    let jump = |condition: &str| {
        format!(
            "LOAD.i32.unsigned.slot0 @r0, r2, offset:0
             BRANCHZ.eq.reconverge {condition}, offset:skip
             FADD.f32 r5, r0, r0
             NOP.end
             skip: NOP.end"
        )
    };
    assert_eq!(findings(&jump("0x0")), []);
    assert_eq!(findings(&jump("r4")), [(2, Hazard::ReadPending, Some(0), Some(0))]);
}

#[test]
fn a_value_is_not_read_after_its_last_use() {
    let last = |first: &str| {
        format!(
            "FADD.f32 r0, {first}, r5
             FADD.f32 r1, r4, r5
             NOP.end"
        )
    };
    assert_eq!(findings(&last("r4")), []);
    assert_eq!(findings(&last("^r4")), [(1, Hazard::ReadDiscarded, Some(4), None)]);
    // The same instruction, or one between, may write it.
    let between = "FADD.f32 r0, ^r4, r5\nFADD.f32 r4, r0, r5\nFADD.f32 r1, r4, r5\nNOP.end";
    assert_eq!(findings(between), []);
    assert_eq!(findings("FADD.f32 r4, ^r4, r5\nFADD.f32 r1, r4, r5\nNOP.end"), []);
}

#[test]
fn barriers_and_the_tile_buffer_have_waits_of_their_own() {
    let barrier = |wait: &str| {
        format!("STORE.i32.slot1{wait} @r0, r2, offset:0\nBARRIER.slot7.wait\nNOP.end")
    };
    assert_eq!(findings(&barrier(".wait1")), []);
    assert_eq!(findings(&barrier("")), [(1, Hazard::BarrierPending, None, Some(1))]);
    let fragment = |early: &str, late: &str| {
        format!(
            "NOP{early}
             ATEST.wait0 @r60, r60, 0x3F800000, atest_datum.w0
             NOP{late}
             BLEND.slot0.v4.f32.end @r0:r1:r2:r3, blend_descriptor_0.w0, r60, target:0x0"
        )
    };
    assert_eq!(findings(&fragment(".wait0126", ".wait")), []);
    assert_eq!(findings(&fragment("", ".wait")), [(1, Hazard::Unsynchronised, None, Some(6))]);
    assert_eq!(findings(&fragment(".wait0126", "")), [(3, Hazard::Unsynchronised, None, Some(7))]);
    // A wait for the tile stands for both slots.
    let load = |wait: &str| {
        format!("NOP{wait}\nLD_TILE.v4.f32.slot0.wait0 @r0:r1:r2:r3, r4, r5, r6\nNOP.end")
    };
    assert_eq!(findings(&load(".wait_resource")), []);
    assert_eq!(findings(&load(".wait0126")), [(1, Hazard::Unsynchronised, None, Some(7))]);
}

/// A blend shader may change registers, and is called after the waits.
#[test]
fn blend_shaders_change_registers() {
    let two = |register: &str| {
        format!(
            "NOP.wait
             BLEND.slot0.v4.f32 @r0:r1:r2:r3, blend_descriptor_0.w0, r60, target:0x0
             BLEND.slot0.v4.f32.end @{register}, blend_descriptor_1.w0, r60, target:0x0"
        )
    };
    assert_eq!(findings(&two("r16:r17:r18:r19")), []);
    let found = findings(&two("r4:r5:r6:r7"));
    assert_eq!(found, [(2, Hazard::ReadDiscarded, Some(4), None)]);
    // A blend shader's own BLEND has its descriptor in constants and calls none.
    let own = "NOP.wait
               BLEND.slot0.v4.f32.wait0 @r0:r1:r2:r3, r20, r60, target:0x0
               BRANCHZI.absolute.end r48, r48";
    assert_eq!(findings(own), []);
    let tile = code("ST_TILE.v4.f32.slot0 @r0:r1:r2:r3, r4, r5, r6\nNOP.end");
    assert_eq!(check(&tile, true), Ok(Vec::new()));
    assert_eq!(check(&tile, false).map(|found| found.len()), Ok(1));
}

#[test]
fn code_that_is_no_program_is_refused() {
    let branch = asm::assemble("BRANCHZ.eq.reconverge r4, offset:100\nNOP.end").unwrap();
    assert_eq!(Code::decode(&branch), Err(CodeError::Target { offset: 0 }));
    let back = asm::assemble("BRANCHZ.eq.reconverge r4, offset:-2\nNOP.end").unwrap();
    assert_eq!(Code::decode(&back), Err(CodeError::Target { offset: 0 }));
    assert!(matches!(Code::decode(&[0xff; 8]), Err(CodeError::Decode(_))));
    assert!(matches!(Code::decode(&[0; 7]), Err(CodeError::Decode(_))));
    assert!(Code::decode(&[]).unwrap().is_empty());
}

proptest! {
    /// Instructions and other words are a program or an error, and programs are checked.
    #[test]
    fn arbitrary_programs_are_checked(words in prop::collection::vec(any::<(bool, u64)>(), 0..12)) {
        let mut bytes = Vec::new();
        for (other, mut word) in words {
            let mut bits = || {
                word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                word.rotate_right(23)
            };
            let inst = random::inst(&mut bits).encode().expect("an instruction");
            bytes.extend(if other { bits() } else { inst }.to_le_bytes());
        }
        if let Ok(code) = Code::decode(&bytes) {
            check(&code, false).expect("a program of few paths");
        }
    }
}
