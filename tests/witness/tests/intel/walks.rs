//! Random walks through programs of Gen12, and what their scoreboard annotations order along them.
//!
//! A definition of order that shares nothing with `tepui_intel_analysis::scoreboard` but the registers that instructions access and
//! the edges of control flow: a conflict of the steps i < k of a walk is ordered if one of the steps i+1 to k waits for step
//! i. There is no state and no fixpoint: all pairs of a window are looked at.

use std::collections::BTreeSet;

use tepui_intel_analysis::{Access, Code};
use tepui_intel_isa::{Inst, Opcode, SyncFunction, Token};

/// Steps of a walk of a program with jumps.
const STEPS: usize = 500;

/// Steps between two accesses that are looked at in such a walk.
const WINDOW: usize = 160;

/// Walks of a program with jumps.
const WALKS: u64 = 12;

/// In-order instructions after which one has completed.
const DEPTH: usize = 10;

/// A part of an annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The distance.
    Distance,
    /// The token.
    Token,
}

/// Findings of walks through a program.
#[derive(Debug, Default)]
pub struct Walked {
    /// Conflicts that nothing orders: the later and the earlier instruction.
    pub unordered: BTreeSet<(usize, usize)>,
    /// Parts of annotations that alone order some conflict: instruction and part.
    pub needed: BTreeSet<(usize, Part)>,
}

/// An instruction of the program.
struct Step<'a> {
    inst: &'a Inst,
    reads: u128,
    writes: u128,
    access: Access,
    out_of_order: bool,
    counts: bool,
    /// Whether control flow can come from elsewhere than the instruction before it, or the one before it is a jump.
    leads: bool,
}

/// Walks through a program.
pub fn walk(code: &Code) -> Walked {
    let mut steps: Vec<Step<'_>> = (0..code.len())
        .map(|n| {
            let inst = &code.insts()[n];
            let out_of_order = inst.opcode.is_send() || inst.opcode == Opcode::Math;
            let barrier = inst.function == SyncFunction::Bar as u8;
            let access = code.access(n);
            Step {
                inst,
                reads: access.read_mask(),
                writes: access.writes.mask(),
                access,
                out_of_order,
                counts: !out_of_order && (inst.opcode != Opcode::Sync || barrier),
                leads: n == 0,
            }
        })
        .collect();
    let mut jumps = false;
    for n in 0..code.len() {
        let next = code.successors(n);
        if next != [n + 1] {
            jumps |= !next.is_empty();
            for to in next.into_iter().chain([n + 1]).filter(|&to| to < code.len()) {
                steps[to].leads = true;
            }
        }
    }
    let mut found = Walked::default();
    // Of code without jumps there is one path, which is walked whole.
    let (walks, length, window) =
        if jumps { (WALKS, STEPS, WINDOW) } else { (1, usize::MAX, usize::MAX) };
    for seed in 0..walks {
        let path = path(code, seed, length);
        for later in 1..path.len() {
            for earlier in later.saturating_sub(window)..later {
                pair(&steps, &path, earlier, later, &mut found);
            }
        }
    }
    found
}

/// A random path from the start.
fn path(code: &Code, seed: u64, length: usize) -> Vec<usize> {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut path = Vec::new();
    let mut n = 0;
    while n < code.len() && path.len() < length {
        path.push(n);
        let next = code.successors(n);
        // Marsaglia's xorshift.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let Some(&to) = next.get((random >> 33) as usize % next.len().max(1)) else { break };
        n = to;
    }
    path
}

/// Whether a later access conflicts with an earlier one, and whether waiting for the earlier one's reads is enough.
fn conflict(earlier: &Step<'_>, later: &Step<'_>) -> [bool; 2] {
    let (e, l) = (&earlier.access, &later.access);
    let in_order = !earlier.out_of_order && !later.out_of_order;
    let accumulators = e.accumulator_writes.all() & l.accumulator_reads.operand != 0;
    // Messages have read a descriptor in a0 when they are issued, and wait for it.
    let address = e.writes_address && l.reads_address && !later.inst.opcode.is_send();
    let read = earlier.writes & later.reads != 0 || accumulators || address;
    let overwritten = !in_order && earlier.writes & later.writes != 0;
    let replaced = !in_order && earlier.reads & later.writes != 0;
    [read || overwritten, replaced]
}

fn pair(steps: &[Step<'_>], path: &[usize], from: usize, to: usize, found: &mut Walked) {
    let (earlier, later) = (&steps[path[from]], &steps[path[to]]);
    for (of_reads, conflicts) in conflict(earlier, later).into_iter().enumerate() {
        if conflicts {
            order(steps, path, from, to, of_reads == 1, found);
        }
    }
}

/// Finds what orders a conflict.
fn order(
    steps: &[Step<'_>],
    path: &[usize],
    from: usize,
    to: usize,
    reads: bool,
    found: &mut Walked,
) {
    let (earlier, later) = (&steps[path[from]], &steps[path[to]]);
    let set = match earlier.inst.swsb.token {
        Some((id, Token::Set)) => Some(id),
        _ => None,
    };
    let mut since = usize::from(earlier.counts);
    let mut waits: BTreeSet<(usize, Part)> = BTreeSet::new();
    for at in from + 1..=to {
        let (n, step) = (path[at], &steps[path[at]]);
        let swsb = step.inst.swsb;
        // An instruction with a mask does not wait where all channels are off; then nothing of its block with a mask executes.
        let block = || {
            !later.inst.no_mask
                && (at..to).all(|k| path[k + 1] == path[k] + 1 && !steps[path[k + 1]].leads)
        };
        let holds = step.inst.no_mask || !earlier.inst.no_mask || block();
        if holds
            && !earlier.out_of_order
            && swsb.distance != 0
            && since >= usize::from(swsb.distance)
        {
            waits.insert((n, Part::Distance));
        }
        if holds && let Some(set) = set {
            match swsb.token {
                Some((id, Token::Dst | Token::Set)) if id == set => {
                    waits.insert((n, Part::Token));
                }
                Some((id, Token::Src)) if id == set && reads => {
                    waits.insert((n, Part::Token));
                }
                _ => {}
            }
            if waits_for_all(step.inst, reads) {
                // Only the token of the earlier instruction is needed.
                found.needed.insert((path[from], Part::Token));
                return;
            }
        }
        if at < to {
            since += usize::from(step.counts);
        }
        if !earlier.out_of_order && since > DEPTH {
            return;
        }
    }
    if set.is_some() && !waits.is_empty() {
        found.needed.insert((path[from], Part::Token));
    }
    match waits.len() {
        0 => {
            found.unordered.insert((path[to], path[from]));
        }
        1 => found.needed.extend(waits),
        _ => {}
    }
}

/// Whether an instruction waits for all messages; for their payloads alone if that is enough.
fn waits_for_all(inst: &Inst, reads: bool) -> bool {
    let is = |function: SyncFunction| inst.function == function as u8;
    inst.opcode == Opcode::Sync
        && inst.src[0].immediate_bits().is_none()
        && (is(SyncFunction::AllWr) || reads && is(SyncFunction::AllRd))
}
