//! Proves that a program makes no mistake with its registers, so that its SIMD-groups need not be watched while they run: each register
//! is written before it is read and waited for if a load brings it, in every lane and on every way; what is sampled is read;
//! and differences within quads are taken where all lanes execute.
//!
//! Control flow of this GPU is a counter of each lane (`r0l`), which runs while it is 0. The state at an instruction says for each
//! value of the counter which half-registers every lane with this value has written. An instruction moves sets between
//! counters as it moves lanes, and where ways meet, sets are intersected; that ends, since sets only shrink. What the proof does
//! not understand it refuses, and then the checker looks at each instruction as it runs.

use tepui_agx_isa::Inst;
use tepui_agx_isa::operand::{FCond, ICond, Src};

use super::footprint::{Footprints, HALVES, SLOTS};
use crate::usc::code::Code;
use crate::usc::opcode::Opcode;
use crate::usc::query;

/// Counters that are followed: deeper nesting is refused.
const COUNTERS: usize = 24;
/// Longest program: the time is that of some walks over it.
const MAX_OPS: usize = 4096;

/// Half-registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Set([u64; HALVES / 64]);

impl Set {
    const NONE: Set = Set([0; HALVES / 64]);

    fn insert(&mut self, half: u16) {
        self.0[usize::from(half) / 64] |= 1 << (half % 64);
    }

    fn has(&self, half: u16) -> bool {
        self.0[usize::from(half) / 64] >> (half % 64) & 1 != 0
    }

    fn remove(&mut self, half: u16) {
        self.0[usize::from(half) / 64] &= !(1 << (half % 64));
    }

    fn both(&self, other: &Set) -> Set {
        Set(std::array::from_fn(|k| self.0[k] & other.0[k]))
    }

    fn either(&self, other: &Set) -> Set {
        Set(std::array::from_fn(|k| self.0[k] | other.0[k]))
    }
}

/// Known state before an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    /// By counter: registers that each lane with it has written; `None` if no lane has it.
    written: [Option<Set>; COUNTERS],
    /// By scoreboard slot: registers that loads without a wait may still write.
    pending: [Set; SLOTS],
}

/// Lanes get a counter.
fn add(to: &mut [Option<Set>; COUNTERS], counter: usize, set: Option<Set>) -> Option<()> {
    let Some(set) = set else { return Some(()) };
    let to = to.get_mut(counter)?;
    *to = Some(to.map_or(set, |old| old.both(&set)));
    Some(())
}

impl State {
    /// Joins another way to the same place; returns whether that changed something.
    fn join(&mut self, other: &State) -> bool {
        let before = self.clone();
        for (to, from) in self.written.iter_mut().zip(&other.written) {
            *to = match (*to, *from) {
                (Some(a), Some(b)) => Some(a.both(&b)),
                (a, b) => a.or(b),
            };
        }
        for (to, from) in self.pending.iter_mut().zip(&other.pending) {
            *to = to.either(from);
        }
        *self != before
    }

    /// Lanes change their counters: each with a counter gets one of those that `next` gives for it.
    fn update<const N: usize>(&mut self, next: impl Fn(usize) -> [usize; N]) -> Option<()> {
        let mut new = [None; COUNTERS];
        for (counter, set) in self.written.iter().enumerate() {
            for to in next(counter) {
                add(&mut new, to, *set)?;
            }
        }
        self.written = new;
        Some(())
    }
}

/// Whether a comparison holds whatever is in registers: how compilers write "always".
fn holds(inst: &Inst) -> bool {
    let ints = |cc, a: &Src, b: &Src| {
        a == b && a.imm_int().is_some() && matches!(cc, ICond::Ueq | ICond::Seq)
    };
    let floats = |cc, a: &Src, b: &Src| a == b && a.imm_int().is_some() && cc == FCond::Eq;
    match inst {
        Inst::IfIcmp(i) => ints(i.cc, &i.a, &i.b),
        Inst::ElseIcmp(i) => ints(i.cc, &i.a, &i.b),
        Inst::WhileIcmp(i) => ints(i.cc, &i.a, &i.b),
        Inst::IfFcmp(i) => floats(i.cc, &i.a, &i.b),
        Inst::ElseFcmp(i) => floats(i.cc, &i.a, &i.b),
        Inst::WhileFcmp(i) => floats(i.cc, &i.a, &i.b),
        _ => false,
    }
}

/// The values that an instruction may give the counter of lanes that execute.
fn counts(inst: &Inst) -> Option<[usize; 2]> {
    let [a, b] = match inst {
        Inst::MovImm16(i) => return Some([usize::from(i.imm); 2]),
        Inst::Icmpsel(i) => [i.x.imm_int()?, i.y.imm_int()?],
        Inst::Fcmpsel(i) => [i.x.imm_int()?, i.y.imm_int()?],
        _ => return None,
    };
    Some([usize::from(a), usize::from(b)])
}

/// Whether the registers of a program are right in every SIMD-group that starts with the 32-bit registers `preloaded`. With `quads`,
/// lanes are pixels. With `texels`, what is sampled must be read.
pub fn holds_for(
    code: &Code,
    all: &Footprints,
    preloaded: &[usize],
    quads: bool,
    texels: bool,
) -> bool {
    prove(code, all, preloaded, quads).is_some() && (!texels || reads_texels(code, all))
}

fn prove(code: &Code, all: &Footprints, preloaded: &[usize], quads: bool) -> Option<()> {
    let count = code.ops().len();
    if !(1..=MAX_OPS).contains(&count) || count != all.of.len() {
        return None;
    }
    let mut start = State { written: [None; COUNTERS], pending: [Set::NONE; SLOTS] };
    let mut known = Set::NONE;
    // The checker's initial state: r0l counts control flow.
    known.insert(0);
    for &register in preloaded {
        known.insert(2 * register as u16);
        known.insert(2 * register as u16 + 1);
    }
    start.written[0] = Some(known);
    // Without control flow r0l is a register like others.
    let nests = code.ops().iter().any(|op| op.opcode.changes_lanes());
    let mut states: Vec<Option<State>> = vec![None; count];
    states[0] = Some(start);
    // Ways back are few: the walk is repeated until no jump brings news.
    let mut again = true;
    while std::mem::take(&mut again) {
        for index in 0..count {
            let Some(mut state) = states[index].clone() else { continue };
            step(code, all, index, [nests, quads], &mut state)?;
            let op = &code.ops()[index];
            let target = (op.imm as u32) as usize;
            let taken = match op.opcode {
                Opcode::stop => continue,
                Opcode::jmp_exec_any => {
                    let taken = state.clone();
                    // After it no lane executes.
                    state.written[0] = None;
                    taken.written[0].is_some().then_some(taken)
                }
                Opcode::jmp_exec_none => {
                    let mut taken = state.clone();
                    taken.written[0] = None;
                    Some(taken)
                }
                _ => None,
            };
            if let Some(taken) = taken {
                let to = states.get_mut(target)?;
                let changed = to.as_mut().is_none_or(|old| old.join(&taken));
                if changed && to.is_none() {
                    *to = Some(taken);
                }
                again |= changed && target <= index;
            }
            // A program that runs past its end is a fault.
            let to = states.get_mut(index + 1)?;
            match to {
                Some(old) => _ = old.join(&state),
                None => *to = Some(state),
            }
        }
    }
    Some(())
}

/// One instruction.
fn step(
    code: &Code,
    all: &Footprints,
    index: usize,
    [nests, quads]: [bool; 2],
    state: &mut State,
) -> Option<()> {
    let (op, footprint) = (&code.ops()[index], &all.of[index]);
    let inst = code.inst(index)?;
    // Kept in order by others than registers, or not understood.
    if footprint.sync
        || matches!(
            op.opcode,
            Opcode::call | Opcode::jump_register | Opcode::refuse | Opcode::stack_map
        )
    {
        return None;
    }
    if let Some(slot) = footprint.waits {
        state.pending[slot] = Set::NONE;
    }
    if footprint.quad && quads && state.written[1..].iter().any(Option::is_some) {
        return None;
    }
    if let Some(written) = &state.written[0] {
        for half in footprint.reads.iter().cloned().flatten() {
            if !written.has(half) || state.pending.iter().any(|p| p.has(half)) {
                return None;
            }
        }
    }
    let n = usize::from(op.aux[2]);
    let always = holds(inst);
    match op.opcode {
        Opcode::if_icmp | Opcode::if_fcmp => {
            // Lanes that fail leave for 1 level; those that are out go deeper.
            let out = if always { 0 } else { 1 };
            return state.update(|v| if v == 0 { [0, out] } else { [v + n; 2] });
        }
        Opcode::else_icmp | Opcode::else_fcmp => {
            let out = if always { 0 } else { 1 };
            return state.update(|v| match v {
                0 => [n; 2],
                1 => [0, out],
                v => [v; 2],
            });
        }
        Opcode::while_icmp | Opcode::while_fcmp => {
            let out = if always { 0 } else { n };
            return state.update(|v| if v < n { [0, out] } else { [v; 2] });
        }
        Opcode::pop_exec => return state.update(|v| [v.saturating_sub(n)]),
        _ => {}
    }
    for half in footprint.writes.iter().cloned().flatten() {
        if half == 0 && nests {
            // Lanes that execute set their own counter, which is 0. Another value counts from the next instruction on, which has to
            // look at the counters.
            let counts = counts(inst)?;
            if counts != [0; 2] && code.ops().get(index + 1)?.opcode != Opcode::pop_exec {
                return None;
            }
            state.update(|v| if v == 0 { counts } else { [v; 2] })?;
            continue;
        }
        let under_way = state.pending.iter().any(|p| p.has(half));
        if under_way && footprint.slot.is_none() && state.written[0].is_some() {
            return None;
        }
        if let Some(written) = &mut state.written[0] {
            written.insert(half);
        }
        // Without a slot the half stays pending: in other lanes a load may still be under way.
        if let Some(slot) = footprint.slot {
            state.pending[slot].insert(half);
        }
    }
    Some(())
}

/// Whether the result of each instruction that reads texels is read, in an instruction that runs whenever that one does.
fn reads_texels(code: &Code, all: &Footprints) -> bool {
    (0..all.of.len()).filter(|&index| all.of[index].texel).all(|index| {
        let mut result = Set::NONE;
        all.of[index].writes.iter().cloned().flatten().for_each(|half| result.insert(half));
        let mut depth = 0;
        for next in index + 1..all.of.len() {
            let (op, footprint) = (&code.ops()[next], &all.of[next]);
            let Some(inst) = code.inst(next) else { return false };
            let jumps = matches!(op.opcode, Opcode::jmp_exec_any | Opcode::jmp_exec_none);
            if jumps && depth <= 0 {
                return false;
            }
            if depth <= 0 && footprint.reads.iter().cloned().flatten().any(|half| result.has(half))
            {
                return true;
            }
            footprint.writes.iter().cloned().flatten().for_each(|half| result.remove(half));
            depth += query::nesting(inst);
        }
        false
    })
}
