//! Dataflow of pending asynchronous instructions: the slots that each instruction must wait for.
//!
//! Loads, texture samples and other messages write their results, and may read their sources, after later
//! instructions were issued. A scoreboard slot (AGX, Valhall, Bifrost) or token (Intel) names those
//! under way. An instruction waits for a slot before it touches registers that the slot's
//! instructions still write, and before it writes registers that they still read.
//!
//! The analysis runs over machine code with registers: lines, each of which continues with the next one,
//! and jumps. States of all paths to a line are joined, round loops until nothing changes.

use crate::class::RegSet;

/// Registers that an instruction reads and writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Access {
    /// Registers read.
    pub reads: RegSet,
    /// Registers written.
    pub writes: RegSet,
}

/// The instructions under way at a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pending<const SLOTS: usize> {
    /// Registers that the instructions of each slot still access.
    pub access: [Access; SLOTS],
    /// Most instructions of each slot.
    pub count: [u8; SLOTS],
}

impl<const SLOTS: usize> Default for Pending<SLOTS> {
    fn default() -> Self {
        Pending { access: [Access::default(); SLOTS], count: [0; SLOTS] }
    }
}

impl<const SLOTS: usize> Pending<SLOTS> {
    /// The slots of which something is under way, as bits.
    #[must_use]
    pub fn busy(&self) -> u32 {
        (0..SLOTS).filter(|&s| self.count[s] > 0).fold(0, |all, s| all | 1 << s)
    }

    /// The slots that an access must wait for, as bits.
    #[must_use]
    pub fn hazards(&self, access: &Access) -> u32 {
        let touched = access.reads.union(access.writes);
        let hit = |s: &Access| s.writes.meets(&touched) || s.reads.meets(&access.writes);
        (0..SLOTS).filter(|&s| hit(&self.access[s])).fold(0, |all, s| all | 1 << s)
    }

    /// Adds what is under way at the same place on another path.
    fn join(&mut self, other: &Self) {
        for (slot, other) in self.access.iter_mut().zip(&other.access) {
            slot.reads.add(other.reads);
            slot.writes.add(other.writes);
        }
        for (count, other) in self.count.iter_mut().zip(&other.count) {
            *count = (*count).max(*other);
        }
    }
}

/// The asynchronous instructions of a target, for code of a kind.
pub trait Asynchronous<const SLOTS: usize> {
    /// Most instructions of a slot that may be under way.
    const MAX_PENDING: u8 = u8::MAX;

    /// The registers that a line's instruction reads and writes, now or later.
    fn access(&self, line: usize) -> Access;

    /// Accesses that an asynchronous instruction still makes when the next one is issued; nothing for others.
    fn begins(&self, line: usize) -> Option<Access>;

    /// Slots that must be waited for besides those of the registers, as bits. Asked where something is
    /// under way, like [`Asynchronous::access`].
    fn waits(&self, _line: usize, _pending: &Pending<SLOTS>) -> u32 {
        0
    }

    /// The slot of an asynchronous instruction, which waits for those in `waits`. Asked once for each.
    fn slot(&mut self, line: usize, pending: &Pending<SLOTS>, waits: u32) -> usize;
}

/// Slots of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Slots {
    /// Slots to wait for before it, as bits.
    pub waits: u32,
    /// That of the asynchronous instruction.
    pub own: Option<u8>,
}

/// Runs the analysis over `lines` lines with `jumps` from one line to another, by their first lines.
pub fn run<const SLOTS: usize, M: Asynchronous<SLOTS>>(
    machine: &mut M,
    lines: usize,
    jumps: &[(u32, u32)],
) -> Vec<Slots> {
    let mut out = vec![Slots::default(); lines];
    // What jumps bring to a line.
    let mut targets: Vec<(u32, Pending<SLOTS>)> =
        jumps.iter().map(|j| (j.1, Pending::default())).collect();
    targets.sort_unstable_by_key(|t| t.0);
    targets.dedup_by_key(|t| t.0);
    let mut is_first = true;
    loop {
        let mut again = false;
        let mut pending = Pending::<SLOTS>::default();
        let (mut next_target, mut next_jump) = (0, 0);
        for (line, slots) in out.iter_mut().enumerate() {
            if let Some((_, state)) = targets.get(next_target).filter(|t| t.0 as usize == line) {
                pending.join(state);
                next_target += 1;
            }
            let mut waits = match pending.busy() {
                0 => 0,
                _ => pending.hazards(&machine.access(line)) | machine.waits(line, &pending),
            };
            let begins = machine.begins(line);
            if begins.is_some() {
                if is_first {
                    slots.own = Some(machine.slot(line, &pending, waits) as u8);
                }
                if let Some(own) = slots.own
                    && pending.count[usize::from(own)] >= M::MAX_PENDING
                {
                    waits |= 1 << own;
                }
            }
            for slot in (0..SLOTS).filter(|slot| waits >> slot & 1 != 0) {
                pending.access[slot] = Access::default();
                pending.count[slot] = 0;
            }
            slots.waits = waits;
            if let (Some(own), Some(access)) = (slots.own, begins) {
                let slot = usize::from(own);
                pending.access[slot].reads.add(access.reads);
                pending.access[slot].writes.add(access.writes);
                pending.count[slot] = pending.count[slot].saturating_add(1);
            }
            while let Some(&(_, to)) = jumps.get(next_jump).filter(|j| j.0 as usize == line) {
                next_jump += 1;
                let at = targets.partition_point(|t| t.0 < to);
                let Some((_, state)) = targets.get_mut(at) else { continue };
                let before = *state;
                state.join(&pending);
                again |= to as usize <= line && *state != before;
            }
        }
        is_first = false;
        if !again {
            return out;
        }
    }
}
