//! Programs with a wait each, and without: what is reported, and what registers hold.

use crate::job::ReportKind;
use crate::shader::testing::{Bench, MEMORY};
use crate::warp::row::Row;
use crate::warp::tracker::{POISON, Saved, Tracker};

/// Runs a program of Valhall under the checker; the reports with their offsets, and the lanes of a register.
fn run(source: &str, register: usize) -> (Vec<(ReportKind, u32)>, [u32; 16]) {
    let mut bench = Bench::checked();
    bench.set(2, |_| MEMORY as u32).set(3, |_| (MEMORY >> 32) as u32);
    bench.set(5, |lane| lane).set(6, |lane| u32::from(lane < 4));
    bench.vm.write(MEMORY, &7u32.to_le_bytes()).expect("memory");
    let lanes = bench.run(source, register);
    (bench.reports(), lanes)
}

#[test]
fn results_are_poison_until_they_are_waited_for() {
    let program = |wait: &str| {
        format!("LOAD.i32.unsigned.slot1{wait} @r0, r2, offset:0\nIADD.u32 r1, r0, 0x0\nNOP.wait1")
    };
    assert_eq!(run(&program(".wait1"), 1), (vec![], [7; 16]));
    let expected = (vec![(ReportKind::UnwaitedRead, 8)], [POISON; 16]);
    assert_eq!(run(&program(".wait0"), 1), expected);
    // The register itself has the result after the wait.
    assert_eq!(run(&program(""), 0).1, [7; 16]);
}

#[test]
fn results_replace_what_is_written_before_they_arrive() {
    let source = "LOAD.i32.unsigned.slot0 @r0, r2, offset:0\nIADD.u32 r0, r5, 0x0\nNOP.wait0";
    assert_eq!(run(source, 0), (vec![(ReportKind::UnwaitedWrite, 8)], [7; 16]));
}

#[test]
fn last_uses_give_a_value_up() {
    let source = "IADD.u32 r0, ^r5, 0x0\nIADD.u32 r1, r5, 0x0";
    assert_eq!(run(source, 1), (vec![(ReportKind::DiscardedRegister, 8)], [POISON; 16]));
    let (reports, lanes) = run("IADD.u32 r5, ^r5, 0x0\nIADD.u32 r1, r5, 0x0", 1);
    assert_eq!((reports, lanes[9]), (vec![], 9));
}

/// Lanes 0 to 3 wait on a way of their own; the others read the register where both meet.
#[test]
fn lanes_wait_on_their_own_ways() {
    let source = |wait: &str| {
        format!(
            "LOAD.i32.unsigned.slot0 @r0, r2, offset:0
             BRANCHZ.eq.reconverge r6, offset:other
             NOP.wait0
             BRANCHZ.eq.reconverge 0x0, offset:meet
             other:
             NOP{wait}
             meet:
             IADD.u32 r1, r0, 0x0
             NOP.wait0"
        )
    };
    assert_eq!(run(&source(".wait0"), 1), (vec![], [7; 16]));
    let (reports, lanes) = run(&source(""), 1);
    assert_eq!(reports, [(ReportKind::UnwaitedRead, 5 * 8)]);
    assert_eq!((lanes[0], lanes[3], lanes[4], lanes[15]), (7, 7, POISON, POISON));
}

/// A loop that waits for none of its messages keeps the last result of each register.
#[test]
fn results_that_nothing_waits_for_are_bounded() {
    let mut tracker = Tracker::default();
    for number in 0..100u32 {
        for register in 0..4 {
            let (lanes, value) = (0xff << (number % 2 * 8), Row::splat(number));
            tracker.save(Saved { slot: 1, register, lanes, value });
        }
    }
    assert_eq!(tracker.saved.len(), 8);
    let mut warp = crate::warp::Warp::default();
    tracker.deliver(&mut warp.registers, 1 << 1, u16::MAX);
    assert_eq!((warp.registers[3].0[0], warp.registers[3].0[15]), (98, 99));
}

#[test]
fn barriers_come_when_nothing_is_in_flight() {
    let source = |wait: &str| {
        format!("LOAD.i32.unsigned.slot2{wait} @r0, r2, offset:0\nBARRIER.slot7.wait\nNOP")
    };
    assert_eq!(run(&source(".wait2"), 0).0, []);
    assert_eq!(run(&source(""), 0).0, [(ReportKind::UnwaitedMessage, 8)]);
}

/// A clause waits for the slots that the header of the one before it names.
#[test]
fn clauses_wait_for_slots() {
    let clause = |header: &str, fma: &str, add: &str| format!("{header}\n{{\n*{fma}\n+{add}\n}}\n");
    let program = |wait: &str| {
        clause(&format!("ds(2) nbb load {wait}"), "IADD.s32 t0, r5, #0", "LOAD.i32 t1, r2, r3, @r6")
            + &clause("ds(0) nbb dwb(2)", "MOV.i32 r1:t0, r6", "NOP t1")
            + &clause("ds(0) eos", "NOP t0", "NOP t1")
    };
    let run = |wait: &str| {
        let mut bench = Bench::checked();
        bench.set(2, |_| MEMORY as u32).set(3, |_| (MEMORY >> 32) as u32);
        bench.vm.write(MEMORY, &7u32.to_le_bytes()).expect("memory");
        let source = program(wait).replace("IADD.s32 t0, r5, #0", "NOP t0");
        let stop = bench.try_bifrost(&source);
        assert!(stop.is_ok(), "{stop:?}");
        let rows = [1, 6].map(|register| bench.warp.registers[register].0);
        (bench.reports(), rows)
    };
    assert_eq!(run("dwb(2)"), (vec![], [[7; 16]; 2]));
    let (reports, [read, loaded]) = run("");
    assert_eq!(
        reports.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(),
        [ReportKind::UnwaitedRead]
    );
    assert_eq!((read, loaded), ([POISON; 16], [7; 16]));
}
