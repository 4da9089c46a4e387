//! Inserts waits for asynchronous instructions.
//!
//! The destination registers of a load may be accessed only after a `wait` on its scoreboard slot.
//! The set of pending loads is propagated through the code and over forward jumps; before a
//! backward jump all pending loads are waited for.

use crate::flow::{Line, Listing};
use tepui_agx_isa::table::barrier::Wait;
use tepui_agx_isa::{File, Inst, Role};

const SLOTS: usize = 2;
/// Maximum number of pending instructions of a slot. source: Mesa, agx_insert_waits.c
const MAX_PENDING: u8 = 8;

/// The largest distance of neighbouring loads, in lines.
const NEAR: usize = 4;

/// Whether an asynchronous instruction has results.
fn is_load(inst: &Inst) -> bool {
    inst.scoreboard().is_some()
        && !matches!(inst, Inst::DeviceStore(_) | Inst::StackStore(_))
        && inst.operands().iter().any(|a| a.file == File::Reg && a.role != Role::Read)
}

/// A set of half-registers.
type Halves = [u64; 4];

#[derive(Clone, Copy, Default)]
struct State {
    /// Registers that a slot's loads will still write.
    writes: [Halves; SLOTS],
    /// Instructions under way.
    count: [u8; SLOTS],
}

fn span(start: u16, count: u16) -> Halves {
    let mut set = [0; 4];
    for h in start..(start + count).min(256) {
        set[usize::from(h / 64)] |= 1 << (h % 64);
    }
    set
}

fn meets(a: &Halves, b: &Halves) -> bool {
    a.iter().zip(b).any(|(x, y)| x & y != 0)
}

impl State {
    fn join(&mut self, other: &State) {
        for slot in 0..SLOTS {
            for (a, b) in self.writes[slot].iter_mut().zip(&other.writes[slot]) {
                *a |= b;
            }
            self.count[slot] = self.count[slot].max(other.count[slot]);
        }
    }
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

/// Chooses slots and inserts waits.
pub fn run(listing: &mut Listing) {
    let lines = std::mem::take(&mut listing.lines);
    let mut out: Vec<Line> = Vec::with_capacity(lines.len() + lines.len() / 8);
    let mut state = State::default();
    let mut jumped: Vec<Option<State>> = vec![None; listing.labels.len()];
    // Labels by the line that they precede.
    let mut at: Vec<(u32, u32)> =
        listing.labels.iter().enumerate().map(|(l, &line)| (line, l as u32)).collect();
    at.sort_unstable();
    let mut next_label = 0;
    // Slot of a load just before, and its line.
    let mut near: Option<(usize, usize)> = None;
    let mut placed = vec![0u32; listing.labels.len()];
    for (n, mut line) in lines.into_iter().enumerate() {
        while next_label < at.len() && at[next_label].0 == n as u32 {
            let l = at[next_label].1 as usize;
            if let Some(s) = &jumped[l] {
                state.join(s);
            }
            placed[l] = out.len() as u32;
            next_label += 1;
        }
        let mut wait = [false; SLOTS];
        for a in line.inst.operands() {
            if a.file == File::Reg {
                let set = span(a.start, a.count);
                for (wait, writes) in wait.iter_mut().zip(&state.writes) {
                    *wait |= meets(writes, &set);
                }
            }
        }
        let all = match line.inst {
            Inst::ThreadgroupBarrier(_) | Inst::MemoryBarrier(_) | Inst::JmpExecAny(_) => true,
            // The program that follows expects every register to be written.
            Inst::Stop(_) => listing.is_part,
            _ => false,
        };
        if all {
            for (wait, &count) in wait.iter_mut().zip(&state.count) {
                *wait |= count > 0;
            }
        }
        let mut mine = None;
        if line.inst.scoreboard().is_some() {
            // Neighbouring loads complete at about the same time, so one wait serves all.
            let beside = near.filter(|&(s, k)| is_load(&line.inst) && n - k <= NEAR && !wait[s]);
            let free = || (0..SLOTS).find(|&s| state.count[s] == 0 || wait[s]);
            let slot = beside.map(|b| b.0).or_else(free).unwrap_or(0);
            near = is_load(&line.inst).then_some((slot, n));
            if state.count[slot] >= MAX_PENDING {
                wait[slot] = true;
            }
            set_slot(&mut line.inst, slot as u8);
            mine = Some(slot);
        }
        for (slot, wait) in wait.into_iter().enumerate() {
            if wait {
                let inst = Wait { slot: slot as u8, ..Wait::default() }.into();
                out.push(Line { inst, target: None, ..line });
                state.writes[slot] = [0; 4];
                state.count[slot] = 0;
            }
        }
        if let Some(slot) = mine {
            for a in line.inst.operands() {
                if a.file == File::Reg && matches!(a.role, Role::Write | Role::Clobber) {
                    let set = span(a.start, a.count);
                    for (x, y) in state.writes[slot].iter_mut().zip(set) {
                        *x |= y;
                    }
                }
            }
            state.count[slot] += 1;
        }
        if let Some(l) = line.target
            && matches!(line.inst, Inst::JmpExecNone(_))
        {
            match &mut jumped[l as usize] {
                Some(s) => s.join(&state),
                none => *none = Some(state),
            }
        }
        out.push(line);
    }
    listing.lines = out;
    listing.labels = placed;
}
