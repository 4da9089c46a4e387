//! Inserts waits for asynchronous instructions.
//!
//! The destination registers of a load may be accessed only after a `wait` on its scoreboard slot.
//! [`pending`] propagates the set of pending loads through the code and over jumps; before a
//! backward jump all pending loads are waited for.

use crate::flow::{Line, Listing};
use tepui_agx_isa::table::barrier::Wait;
use tepui_agx_isa::{File, Inst, Role};
use tepui_regalloc::RegSet;
use tepui_regalloc::pending::{self, Access, Asynchronous, Pending};

const SLOTS: usize = 2;

/// The largest distance of neighbouring loads, in lines.
const NEAR: usize = 4;

/// Whether an asynchronous instruction has results.
fn is_load(inst: &Inst) -> bool {
    inst.scoreboard().is_some()
        && !matches!(inst, Inst::DeviceStore(_) | Inst::StackStore(_))
        && inst.operands().iter().any(|a| a.file == File::Reg && a.role != Role::Read)
}

fn set_slot(inst: &mut Inst, slot: u8) {
    match inst {
        Inst::DeviceLoad(i) => i.slot = slot,
        Inst::DeviceStore(i) => i.slot = slot,
        Inst::Atomic(i) => i.slot = slot,
        Inst::StackLoad(i) => i.slot = slot,
        Inst::StackStore(i) => i.slot = slot,
        Inst::TextureSample(i) => i.slot = slot,
        Inst::TextureLoad(i) => i.slot = slot,
        _ => {}
    }
}

/// The scoreboard of a listing.
struct Scoreboard<'a> {
    lines: &'a [Line],
    is_part: bool,
    /// Slot of a load just before, and its line.
    near: Option<(usize, usize)>,
}

impl Scoreboard<'_> {
    /// Registers of a line's operands that are accessed in one of these ways.
    fn registers(&self, line: usize, is: impl Fn(Role) -> bool) -> RegSet {
        let mut set = RegSet::EMPTY;
        for a in self.lines[line].inst.operands() {
            if a.file == File::Reg && is(a.role) {
                set.add(RegSet::range(a.start..a.start + a.count));
            }
        }
        set
    }
}

impl Asynchronous<SLOTS> for Scoreboard<'_> {
    /// source: Mesa, agx_insert_waits.c
    const MAX_PENDING: u8 = 8;

    fn access(&self, line: usize) -> Access {
        // A slot reads nothing later, so that reads and writes wait for the same.
        Access { reads: self.registers(line, |_| true), writes: RegSet::EMPTY }
    }

    fn begins(&self, line: usize) -> Option<Access> {
        self.lines[line].inst.scoreboard()?;
        let writes = self.registers(line, |role| matches!(role, Role::Write | Role::Clobber));
        Some(Access { reads: RegSet::EMPTY, writes })
    }

    fn waits(&self, line: usize, pending: &Pending<SLOTS>) -> u32 {
        let all = match self.lines[line].inst {
            Inst::ThreadgroupBarrier(_) | Inst::MemoryBarrier(_) | Inst::JmpExecAny(_) => true,
            // The program that follows expects every register to be written.
            Inst::Stop(_) => self.is_part,
            _ => false,
        };
        if all { pending.busy() } else { 0 }
    }

    fn slot(&mut self, line: usize, pending: &Pending<SLOTS>, waits: u32) -> usize {
        let is_load = is_load(&self.lines[line].inst);
        let waits = |slot: usize| waits >> slot & 1 != 0;
        // Neighbouring loads complete at about the same time, so one wait serves all.
        let shared = self.near.filter(|&(s, k)| is_load && line - k <= NEAR && !waits(s));
        let free = || (0..SLOTS).find(|&s| pending.count[s] == 0 || waits(s));
        let slot = shared.map(|near| near.0).or_else(free).unwrap_or(0);
        self.near = is_load.then_some((slot, line));
        slot
    }
}

/// Chooses slots and inserts waits.
pub fn run(listing: &mut Listing) {
    let lines = std::mem::take(&mut listing.lines);
    let mut jumps = Vec::new();
    for (n, line) in (0u32..).zip(&lines) {
        // Nothing is pending at a backward jump.
        if let (Some(l), Inst::JmpExecNone(_)) = (line.target, line.inst) {
            jumps.push((n, listing.labels[l as usize]));
        }
    }
    let mut scoreboard = Scoreboard { lines: &lines, is_part: listing.is_part, near: None };
    let slots = pending::run(&mut scoreboard, lines.len(), &jumps);
    let mut out: Vec<Line> = Vec::with_capacity(lines.len() + lines.len() / 8);
    let mut places: Vec<u32> = Vec::with_capacity(lines.len() + 1);
    for (mut line, slots) in lines.into_iter().zip(slots) {
        places.push(out.len() as u32);
        for slot in (0..SLOTS as u8).filter(|slot| slots.waits >> slot & 1 != 0) {
            let inst = Wait { slot, ..Wait::default() }.into();
            out.push(Line { inst, target: None, ..line });
        }
        if let Some(slot) = slots.own {
            set_slot(&mut line.inst, slot);
        }
        out.push(line);
    }
    places.push(out.len() as u32);
    for label in &mut listing.labels {
        *label = places.get(*label as usize).copied().unwrap_or(0);
    }
    listing.lines = out;
}
