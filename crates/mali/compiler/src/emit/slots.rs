//! Dependency slots: which one each message takes, and which must be waited for before an instruction.
//!
//! A message writes its results later; instructions that touch those registers wait for its slot. Messages read their staging
//! registers without a wait: the hardware stalls until they are read. Accesses of memory are ordered as registers are, by two units
//! for each memory: one that loads read and stores write, one that stores write and loads read.

use super::Listing;
use super::field::{EARLY, LATE};
use crate::mir::{Inst, Memory, Place, words};
use tepui_mali_isa::Op;
use tepui_mali_isa::modifier::Slot;
use tepui_mali_isa::table::field::Unit;
use tepui_regalloc::RegSet;
use tepui_regalloc::pending::{self, Access, Asynchronous, Pending};

/// Slots of messages.
const SLOTS: usize = 3;
/// The slot of messages without results: nothing but barriers and later accesses waits for them.
const STORES: usize = 2;
/// First of the units that stand for memories.
const MEMORY: u16 = 64;
/// The unit of the hidden register of interpolation, which loads of varyings write. A quad that diverges must not have any under
/// way. source: Mesa, va_insert_flow.c
const POSITION: u16 = 80;

/// The units of a memory: of loads under way, and of stores under way.
fn units(memory: Memory) -> Option<[u16; 2]> {
    let n = match memory {
        Memory::None => return None,
        Memory::Global => 0,
        Memory::Shared => 1,
        Memory::Scratch => 2,
        Memory::Tile => 3,
    };
    Some([MEMORY + 2 * n, MEMORY + 2 * n + 1])
}

fn unit(n: u16) -> RegSet {
    RegSet::range(n..n + 1)
}

/// Registers of an instruction's operands: of results that come at once, of results of messages, and of all sources.
pub(crate) fn registers(inst: &Inst) -> [RegSet; 3] {
    let row = inst.op.row();
    let (mut now, mut later, mut read) = (RegSet::EMPTY, RegSet::EMPTY, RegSet::EMPTY);
    let of = |count: u8, register: u16| RegSet::of(words(count), register);
    if row.form.dest {
        now.add(of(if row.width == 64 { 2 } else { 1 }, inst.dest));
    }
    for (field, own) in row.form.staging.iter().zip(&inst.staging).filter(|s| s.1.count > 0) {
        let to = if field.write { &mut later } else { &mut read };
        to.add(of(own.count, own.register));
    }
    for at in 0..row.form.sources.len() {
        if let Place::Register(register) = inst.sources[at].place {
            read.add(of(inst.source_units(at), register));
        }
    }
    [now, later, read]
}

/// Whether an instruction interpolates.
fn is_varying(inst: &Inst) -> bool {
    matches!(inst.op.row().form.unit, Unit::Varying | Unit::VaryingTexture)
}

struct Messages<'a> {
    lines: &'a [tepui_backend::Line<Inst>],
    /// Whether each line is a store that no earlier store can overlap.
    apart: Vec<bool>,
    has_stores: bool,
    next: usize,
}

impl Messages<'_> {
    fn inst(&self, line: usize) -> &Inst {
        &self.lines[line].inst
    }
}

impl Asynchronous<SLOTS> for Messages<'_> {
    fn access(&self, line: usize) -> Access {
        let inst = self.inst(line);
        let [now, later, read] = registers(inst);
        let mut access = Access { reads: read, writes: now.union(later) };
        if is_varying(inst) {
            access.writes.add(unit(POSITION));
        } else if inst.op == Op::BRANCHZ {
            access.reads.add(unit(POSITION));
        }
        if let Some([loads, stores]) = units(inst.memory) {
            if inst.is_load() {
                access.reads.add(unit(stores));
            } else {
                access.writes.add(unit(loads));
                if !self.apart[line] {
                    access.reads.add(unit(stores));
                }
            }
        }
        access
    }

    fn begins(&self, line: usize) -> Option<Access> {
        let inst = self.inst(line);
        if !inst.is_message() || inst.op == Op::BARRIER {
            return None;
        }
        let [_, later, _] = registers(inst);
        let mut access = Access { reads: RegSet::EMPTY, writes: later };
        if is_varying(inst) {
            access.writes.add(unit(POSITION));
        }
        if let Some([loads, stores]) = units(inst.memory) {
            match inst.is_load() {
                true => access.reads.add(unit(loads)),
                false => access.writes.add(unit(stores)),
            }
        }
        Some(access)
    }

    fn waits(&self, line: usize, pending: &Pending<SLOTS>) -> u32 {
        match self.inst(line).op {
            // A NOP of selection is a fence.
            Op::BARRIER | Op::NOP => pending.busy(),
            _ => 0,
        }
    }

    fn slot(&mut self, line: usize, pending: &Pending<SLOTS>, waits: u32) -> usize {
        let inst = self.inst(line);
        if matches!(inst.op, Op::ATEST | Op::ZS_EMIT) {
            return 0;
        }
        if !inst.returns() {
            return STORES;
        }
        let count = if self.has_stores { STORES } else { SLOTS };
        let busy = pending.busy() & !waits;
        let order = (0..count).map(|k| (self.next + k) % count);
        let slot = order.clone().find(|slot| busy >> slot & 1 == 0).unwrap_or(self.next % count);
        self.next = slot + 1;
        slot
    }
}

/// Chooses slots; returns the slots that each line must wait for, as bits.
pub(super) fn run(listing: &mut Listing) -> Vec<u32> {
    let is_store = |inst: &Inst| inst.is_message() && !inst.returns() && inst.op != Op::BARRIER;
    let mut jumps: Vec<(u32, u32)> = Vec::new();
    for (n, line) in listing.lines.iter().enumerate() {
        if let Some(label) = line.target {
            jumps.push((n as u32, listing.labels[label as usize]));
        }
    }
    let mut messages = Messages {
        lines: &listing.lines,
        apart: apart(listing),
        has_stores: listing.lines.iter().any(|l| is_store(&l.inst)),
        next: 0,
    };
    let slots = pending::run(&mut messages, listing.lines.len(), &jumps);
    for (line, slots) in listing.lines.iter_mut().zip(&slots) {
        let slot = match slots.own {
            Some(0) => Slot::Slot0,
            Some(1) => Slot::Slot1,
            Some(_) => Slot::Slot2,
            None => continue,
        };
        if line.inst.modifier::<Slot>().is_some() {
            line.inst = line.inst.with(slot);
        }
    }
    let mut waits: Vec<u32> = slots.iter().map(|s| s.waits).collect();
    wait_for_tests(listing, &mut waits);
    waits
}

/// Adds waits for the hardware's own tests of depth and stencil, which are under way when a fragment program starts, and for what
/// earlier fragments do to the pixel.
fn wait_for_tests(listing: &Listing, waits: &mut [u32]) {
    let mut done = 0;
    let mut targets: Vec<u32> =
        listing.lines.iter().filter_map(|l| l.target.map(|t| listing.labels[t as usize])).collect();
    targets.sort_unstable();
    for (n, line) in listing.lines.iter().enumerate() {
        if targets.binary_search(&(n as u32)).is_ok() {
            done = 0;
        }
        let needed = match line.inst.op {
            Op::ATEST | Op::ZS_EMIT => EARLY,
            Op::BLEND | Op::LD_TILE | Op::ST_TILE => EARLY | LATE,
            _ => 0,
        };
        waits[n] |= needed & !done;
        done |= needed;
    }
}

/// An access that later ones are compared with: its address and its bytes.
struct Stored {
    memory: Memory,
    address: Place,
    bytes: std::ops::Range<i64>,
}

/// Bytes of a store.
fn bytes(op: Op) -> Option<i64> {
    Some(match op {
        Op::STORE_I8 => 1,
        Op::STORE_I16 => 2,
        Op::STORE_I32 => 4,
        Op::STORE_I64 => 8,
        Op::STORE_I96 => 12,
        Op::STORE_I128 => 16,
        _ => return None,
    })
}

/// For each line, whether it is a store that is apart from all stores that may be under way: they have the same address and
/// constant offsets that differ.
fn apart(listing: &Listing) -> Vec<bool> {
    let mut out = vec![false; listing.lines.len()];
    let mut starts = vec![false; listing.lines.len() + 1];
    for &label in &listing.labels {
        if let Some(start) = starts.get_mut(label as usize) {
            *start = true;
        }
    }
    let mut recent: Vec<Stored> = Vec::new();
    let mut unknown = true;
    for (n, line) in listing.lines.iter().enumerate() {
        let inst = &line.inst;
        if starts[n] {
            unknown = true;
            recent.clear();
        }
        let [now, later, _] = registers(inst);
        let written = now.union(later);
        if let Some(size) = bytes(inst.op) {
            let own = Stored {
                memory: inst.memory,
                address: inst.sources[0].place,
                bytes: inst.immediates[0]..inst.immediates[0] + size,
            };
            let free = |s: &Stored| {
                s.memory != own.memory
                    || s.address == own.address
                        && (s.bytes.end <= own.bytes.start || own.bytes.end <= s.bytes.start)
            };
            out[n] = !unknown && recent.iter().all(free);
            if !out[n] {
                // It waits for those before.
                recent.clear();
                unknown = false;
            }
            recent.push(own);
        } else if inst.memory != Memory::None && !inst.is_load() {
            unknown = true;
        }
        // Another value in the register of an address.
        let lost = |s: &Stored| matches!(s.address, Place::Register(r) if written.meets(&RegSet::range(r..r + 2)));
        if recent.iter().any(lost) {
            unknown = true;
            recent.clear();
        }
    }
    out
}
