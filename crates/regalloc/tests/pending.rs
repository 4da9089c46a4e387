//! Waits for asynchronous instructions of a made-up target: along every path, no instruction touches what is under way.

use proptest::prelude::*;
use tepui_regalloc::RegSet;
use tepui_regalloc::pending::{self, Access, Asynchronous, Pending, Slots};

const SLOTS: usize = 3;
const MAX_PENDING: u8 = 4;

#[derive(Clone, Copy, Debug)]
struct Line {
    reads: u16,
    writes: u16,
    /// Results come later.
    is_load: bool,
    /// Sources are read later.
    is_store: bool,
}

struct Code {
    lines: Vec<Line>,
    next: usize,
}

fn unit(reg: u16) -> RegSet {
    RegSet::range(reg..reg + 1)
}

impl Asynchronous<SLOTS> for Code {
    const MAX_PENDING: u8 = MAX_PENDING;

    fn access(&self, line: usize) -> Access {
        let line = self.lines[line];
        Access { reads: unit(line.reads), writes: unit(line.writes) }
    }

    fn begins(&self, at: usize) -> Option<Access> {
        let line = self.lines[at];
        let later = |is: bool, set: RegSet| if is { set } else { RegSet::EMPTY };
        (line.is_load || line.is_store).then(|| Access {
            reads: later(line.is_store, unit(line.reads)),
            writes: later(line.is_load, unit(line.writes)),
        })
    }

    fn slot(&mut self, _: usize, _: &Pending<SLOTS>, _: u32) -> usize {
        self.next += 1;
        self.next % SLOTS
    }
}

fn slots(lines: &[Line], jumps: &[(u32, u32)]) -> Vec<Slots> {
    pending::run(&mut Code { lines: lines.to_vec(), next: 0 }, lines.len(), jumps)
}

/// Walks along a path; jumps are taken as `taken` says.
fn walk(lines: &[Line], jumps: &[(u32, u32)], slots: &[Slots], mut taken: impl FnMut() -> bool) {
    // Those under way: slot, and whether the register is read or written.
    let mut pending: Vec<(u8, u16, bool)> = Vec::new();
    let mut at = 0;
    for _ in 0..200 {
        let Some(line) = lines.get(at) else { return };
        pending.retain(|p| slots[at].waits >> p.0 & 1 == 0);
        for &(slot, reg, writes) in &pending {
            let bad =
                if writes { reg == line.reads || reg == line.writes } else { reg == line.writes };
            assert!(!bad, "line {at} touches register {reg} of slot {slot}");
        }
        if let Some(own) = slots[at].own {
            if line.is_load {
                pending.push((own, line.writes, true));
            }
            if line.is_store {
                pending.push((own, line.reads, false));
            }
        }
        let jump = jumps.iter().find(|j| j.0 as usize == at);
        at = match jump {
            Some(j) if taken() => j.1 as usize,
            _ => at + 1,
        };
    }
}

const NOTHING: Line = Line { reads: 20, writes: 21, is_load: false, is_store: false };

#[test]
fn a_result_is_waited_for_where_it_is_read() {
    let load = Line { writes: 1, is_load: true, ..NOTHING };
    let read = Line { reads: 1, ..NOTHING };
    let got = slots(&[load, NOTHING, read, read], &[]);
    assert_eq!(got.iter().map(|s| s.waits).collect::<Vec<_>>(), [0, 0, 1 << 1, 0]);
}

#[test]
fn a_source_is_waited_for_where_it_is_overwritten() {
    let store = Line { reads: 1, is_store: true, ..NOTHING };
    let read = Line { reads: 1, ..NOTHING };
    let write = Line { writes: 1, ..NOTHING };
    let got = slots(&[store, read, write], &[]);
    assert_eq!(got.iter().map(|s| s.waits).collect::<Vec<_>>(), [0, 0, 1 << 1]);
}

#[test]
fn a_loop_waits_for_what_its_last_turn_began() {
    let read = Line { reads: 1, ..NOTHING };
    let load = Line { writes: 1, is_load: true, ..NOTHING };
    let got = slots(&[read, load, NOTHING], &[(2, 0)]);
    assert_eq!(got.iter().map(|s| s.waits).collect::<Vec<_>>(), [1 << 1, 0, 0]);
}

#[test]
fn a_full_slot_is_waited_for() {
    let load = |n: u16| Line { writes: 30 + n, is_load: true, ..NOTHING };
    let lines: Vec<Line> = (0..SLOTS as u16 * 5).map(load).collect();
    let waits: Vec<u32> = slots(&lines, &[]).iter().map(|s| s.waits.count_ones()).collect();
    let full = SLOTS * usize::from(MAX_PENDING);
    assert_eq!(waits.iter().position(|&n| n > 0), Some(full));
}

proptest! {
    #[test]
    fn no_path_touches_what_is_under_way(
        lines in proptest::collection::vec((0u16..6, 0u16..6, 0u8..4), 1..30),
        jumps in proptest::collection::vec((0u32..30, 0u32..30), 0..6),
        choices in any::<u64>(),
    ) {
        let line = |&(reads, writes, kind): &(u16, u16, u8)| Line {
            reads, writes, is_load: kind == 1, is_store: kind == 2,
        };
        let lines: Vec<Line> = lines.iter().map(line).collect();
        let mut jumps: Vec<(u32, u32)> =
            jumps.into_iter().filter(|j| (j.0.max(j.1) as usize) < lines.len()).collect();
        jumps.sort_unstable();
        jumps.dedup_by_key(|j| j.0);
        let slots = slots(&lines, &jumps);
        for seed in 0..20u32 {
            let mut bits = choices.rotate_left(seed * 3) | 1;
            walk(&lines, &jumps, &slots, || {
                bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                bits >> 63 != 0
            });
        }
    }
}
