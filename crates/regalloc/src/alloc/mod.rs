//! Register assignment on SSA.
//!
//! Blocks are processed in layout order, which visits definitions before uses. A value first tries
//! registers that save a copy: those of its phi, those next to its neighbours in an
//! [`Op::Collect`], those that it had before an [`Op::Split`]; then the first free registers of its
//! class that no later value of the block prefers, and the first free ones. A vector and components of it that stay live share registers, since SSA values do not
//! change. When enough registers are free but not consecutive, live values are moved away before
//! the instruction. Each block records the registers of its live-in values; copies on every edge
//! move them there from where the predecessor has them.
//!
//! [`check`] verifies the result.

mod check;
mod choose;
mod constrained;
mod copies;
mod edges;
mod fixed;
mod room;
pub mod unmasked;

use crate::class::{RegSet, UNITS};
use crate::code::{Code, CodeBlock, Def, Step};
use crate::error::{Error, Result};
use crate::function::{Block, Ctl, Function, Ins, Op, Val};
use crate::liveness::{LiveSet, Liveness};
use crate::target::Target;
use copies::Copy;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, SecondaryMap};
use fixed::{exports, hints};
use std::ops::Range;
use tepui_ir::Loc;

pub use check::check;
pub use fixed::fixed_end;

/// No register.
const NONE: u16 = u16::MAX;
/// Maximum number of phis and vectors through which a value is followed for a hint.
const CHAIN: usize = 32;

/// The registers of a program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Registers {
    /// Registers that values take.
    pub values: RegSet,
    /// Registers of values that are not masked ([`crate::RegClass::unmasked`]), none of which is in
    /// `values`.
    pub unmasked: RegSet,
    /// Registers through which copies in a circle go where no register of `values` is free; of no use to
    /// targets that swap.
    pub scratch: RegSet,
    /// Whether values of several units take free registers in turns, so that a register is written again
    /// long after its last use: for hardware where a write waits for pending reads.
    pub in_turns: bool,
}

impl From<Range<u16>> for Registers {
    fn from(range: Range<u16>) -> Registers {
        Registers { values: RegSet::range(range), ..Registers::default() }
    }
}

/// Registers of values at the ends of a block.
#[derive(Clone, Debug, Default)]
struct Edges {
    start: Vec<(Val, u16)>,
    end: Vec<(Val, u16)>,
}

/// Additional work of the allocation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extras {
    /// The result is checked.
    pub check: bool,
    /// [`Code::defs`] are wanted.
    pub defs: bool,
}

/// Allocates registers.
///
/// # Errors
/// When the values alive at once do not fit.
pub fn run<T: Target>(
    f: &Function<T::Inst>,
    l: &Liveness,
    registers: &Registers,
    extras: Extras,
) -> Result<Code<T::Inst>> {
    let mut a = Alloc::<T>::new(f, l, registers);
    a.noted = extras.check || extras.defs;
    if f.vals.values().any(|class| class.unmasked) {
        a.unmasked = unmasked::assign::<T>(f, &registers.unmasked)?;
        if extras.check {
            unmasked::check(f, &a.unmasked)?;
        }
    }
    for b in f.blocks.keys() {
        a.block(b)?;
    }
    a.finish_edges()?;
    let defs = if extras.defs { a.assignment.defs(f) } else { Vec::new() };
    let code = Code { blocks: a.out, units: a.highest, defs };
    if extras.check {
        check::<T>(f, &code, &a.assignment, registers)?;
    }
    Ok(code)
}

/// Registers of instructions' values, which the checker compares with.
#[derive(Clone, Debug, Default)]
pub struct Assignment {
    /// Registers of each instruction's results, then of its operands.
    /// With each the number of steps that it became.
    regs: Vec<(Ins, Vec<u16>, usize)>,
    /// For each block: where its live values are at the start.
    starts: Vec<Vec<(Val, u16)>>,
}

impl Assignment {
    /// Registers of each value from its definition, and from the start of each block that it is live in.
    fn defs<I>(&self, f: &Function<I>) -> Vec<Def> {
        let mut out = Vec::new();
        let mut regs = self.regs.iter();
        for (block, data) in &f.blocks {
            let mut steps = 0;
            let starts = &self.starts[block.index()];
            out.extend(starts.iter().map(|&(val, unit)| Def { block, steps, unit, val }));
            let phis = data.insts.iter().take_while(|&&i| matches!(f.insts[i].op, Op::Phi)).count();
            for (&i, (_, places, made)) in data.insts[phis..].iter().zip(&mut regs) {
                steps += *made as u32;
                let dsts = f.dsts(i).iter().zip(places);
                out.extend(dsts.map(|(&val, &unit)| Def { block, steps, unit, val }));
            }
        }
        out
    }
}

struct Alloc<'a, T: Target> {
    f: &'a Function<T::Inst>,
    l: &'a Liveness,
    /// The live values while a block is walked backwards.
    live: LiveSet,
    registers: Registers,
    /// From the first to the last unit that values may take.
    first: u16,
    limit: u16,
    /// Units that values may take and none has: those of `registers.values` without an owner.
    free: RegSet,
    owner: [PackedOption<Val>; UNITS],
    /// A second value in the same place, with the same bits: a vector and a part of it that lives
    /// on.
    shared: [PackedOption<Val>; UNITS],
    loc: SecondaryMap<Val, u16>,
    /// The registers of values that are not masked, which never move.
    unmasked: SecondaryMap<Val, u16>,
    /// The phi, or the collected vector and the place in it, that a value goes to.
    into: SecondaryMap<Val, Option<(Val, u8)>>,
    /// The instruction that makes a phi.
    phis: SecondaryMap<Val, PackedOption<Ins>>,
    /// The instruction that splits a vector.
    split: SecondaryMap<Val, PackedOption<Ins>>,
    /// Whether anything reads a value.
    used: SecondaryMap<Val, bool>,
    /// Whether a value is [`Op::Undef`]'s: any register holds it, so it is never copied.
    undefined: SecondaryMap<Val, bool>,
    /// Registers that a phi or vector tries first.
    hint: SecondaryMap<Val, u16>,
    /// Registers of exported values.
    export: SecondaryMap<Val, u16>,
    /// The units of exports.
    kept: Range<u16>,
    /// The first unit after the value of several units that took registers last.
    turn: u16,
    /// Registers in which values of the block that have none yet would save a copy.
    preferred: SecondaryMap<Val, u16>,
    /// The next that wants each unit, as an index of `preferences`.
    next_preference: [u32; UNITS],
    /// Positions in the block, each with the index of the next one that wants the same unit.
    preferences: Vec<(u32, u32)>,
    /// Last use of each value of the block: a position in it, or after it.
    last: SecondaryMap<Val, u32>,
    edges: Vec<Edges>,
    out: Vec<CodeBlock<T::Inst>>,
    highest: u16,
    assignment: Assignment,
    loc_now: Loc,
    /// The copies that an instruction becomes; empty between instructions.
    scratch: Vec<Copy>,
    /// [`Assignment::regs`] are noted.
    noted: bool,
}

impl<'a, T: Target> Alloc<'a, T> {
    fn new(f: &'a Function<T::Inst>, l: &'a Liveness, registers: &Registers) -> Alloc<'a, T> {
        let Range { start: first, end: limit } = registers.values.hull();
        let mut into: SecondaryMap<Val, Option<(Val, u8)>> =
            SecondaryMap::with_capacity(f.vals.len());
        let mut split: SecondaryMap<Val, PackedOption<Ins>> = SecondaryMap::new();
        let mut phis: SecondaryMap<Val, PackedOption<Ins>> = SecondaryMap::new();
        let mut used: SecondaryMap<Val, bool> = SecondaryMap::with_capacity(f.vals.len());
        let mut undefined: SecondaryMap<Val, bool> = SecondaryMap::new();
        for b in f.blocks.values() {
            for &i in &b.insts {
                for &s in f.srcs(i) {
                    used[s] = true;
                }
                match f.insts[i].op {
                    Op::Phi => {
                        let d = f.dsts(i)[0];
                        phis[d] = i.into();
                        for &s in f.srcs(i) {
                            if into[s].is_none() && s != d {
                                into[s] = Some((d, 0));
                            }
                        }
                    }
                    Op::Collect => {
                        let d = f.dsts(i)[0];
                        let mut at = 0;
                        for &s in f.srcs(i) {
                            if into[s].is_none() {
                                into[s] = Some((d, at));
                            }
                            at += f.vals[s].units;
                        }
                    }
                    Op::Split => split[f.srcs(i)[0]] = i.into(),
                    Op::Undef => undefined[f.dsts(i)[0]] = true,
                    _ => {}
                }
            }
        }
        let mut hint = SecondaryMap::with_default(NONE);
        hints::<T>(f, &mut hint);
        let export = hint.clone();
        Alloc {
            f,
            l,
            live: LiveSet::new(f),
            registers: *registers,
            first,
            limit,
            free: registers.values,
            owner: [PackedOption::default(); UNITS],
            shared: [PackedOption::default(); UNITS],
            loc: SecondaryMap::with_default(NONE),
            unmasked: SecondaryMap::with_default(NONE),
            into,
            phis,
            split,
            used,
            undefined,
            hint,
            export,
            kept: exports(f),
            turn: 0,
            preferred: SecondaryMap::with_default(NONE),
            next_preference: [u32::MAX; UNITS],
            preferences: Vec::new(),
            last: SecondaryMap::with_capacity(f.vals.len()),
            edges: vec![Edges::default(); f.blocks.len()],
            out: vec![CodeBlock::default(); f.blocks.len()],
            highest: 0,
            assignment: Assignment { regs: Vec::new(), starts: vec![Vec::new(); f.blocks.len()] },
            loc_now: Loc::default(),
            scratch: Vec::new(),
            noted: false,
        }
    }

    fn take(&mut self, v: Val, reg: u16) {
        let n = u16::from(self.f.vals[v].units);
        for h in usize::from(reg)..usize::from(reg + n) {
            debug_assert!(self.shared[h].is_none());
            let place = if self.owner[h].is_none() { &mut self.owner } else { &mut self.shared };
            place[h] = v.into();
        }
        self.free = self.free.without(RegSet::range(reg..reg + n));
        self.loc[v] = reg;
        self.highest = self.highest.max(reg + n);
        if self.registers.in_turns && n > 1 {
            self.turn = reg + n;
        }
        let preferred = self.preferred[v];
        if preferred != NONE {
            self.preferred[v] = NONE;
            for h in preferred..preferred + n {
                let next = &mut self.next_preference[usize::from(h)];
                *next = self.preferences.get(*next as usize).map_or(u32::MAX, |next| next.1);
            }
        }
        // The phis and vectors behind it follow, unless one of them has a place already.
        if self.into[v].is_some_and(|(w, _)| self.hinted(w).is_none()) {
            let (mut v, mut reg) = (v, reg);
            for _ in 0..CHAIN {
                let Some((w, at)) = self.into[v] else { break };
                let Some(base) = reg.checked_sub(u16::from(at)) else { break };
                self.hint[w] = base;
                (v, reg) = (w, base);
            }
        }
    }

    fn release(&mut self, v: Val) {
        let (reg, n) = (self.loc[v], u16::from(self.f.vals[v].units));
        if reg == NONE {
            return;
        }
        for h in usize::from(reg)..usize::from(reg + n) {
            if self.owner[h] == v.into() {
                self.owner[h] = std::mem::take(&mut self.shared[h]);
                if self.owner[h].is_none() && self.registers.values.contains(h as u16) {
                    self.free.insert(h as u16);
                }
            } else if self.shared[h] == v.into() {
                self.shared[h] = PackedOption::default();
            }
        }
    }

    /// Frees all registers.
    fn clear(&mut self) {
        self.owner = [PackedOption::default(); UNITS];
        self.shared = [PackedOption::default(); UNITS];
        self.free = self.registers.values;
    }

    fn block(&mut self, b: Block) -> Result<()> {
        let f = self.f;
        self.clear();
        let data = &f.blocks[b];
        self.start(b)?;
        let phis = data.insts.iter().take_while(|&&i| matches!(f.insts[i].op, Op::Phi)).count();
        let outs = self.l.outs(f, b);
        let kills = self.kills(b, phis, &outs);
        self.note_preferences(&data.insts[phis..]);
        let mut rest = &kills[..];
        for &i in &data.insts[phis..] {
            let (these, others) = rest.split_at(f.srcs(i).len());
            self.inst(b, i, these)?;
            rest = others;
        }
        let end = outs.into_iter().map(|v| (v, self.loc[v])).collect();
        self.edges[b.index()].end = end;
        Ok(())
    }

    /// Whether each operand of the instructions after the phis is read last there, in their order.
    fn kills(&mut self, b: Block, phis: usize, outs: &[Val]) -> Vec<bool> {
        let f = self.f;
        let insts = &f.blocks[b].insts[phis..];
        let live = &mut self.live;
        live.fill(f, outs);
        for &v in outs {
            self.last[v] = u32::MAX;
        }
        let mut kills = vec![false; insts.iter().map(|&i| f.srcs(i).len()).sum()];
        let mut end = kills.len();
        for (n, &i) in insts.iter().enumerate().rev() {
            for &d in f.dsts(i) {
                if !live.remove(d) {
                    self.last[d] = 0;
                }
            }
            end -= f.srcs(i).len();
            for (kill, &s) in kills[end..].iter_mut().zip(f.srcs(i)) {
                if live.insert(s) {
                    self.last[s] = n as u32;
                    *kill = true;
                }
            }
        }
        kills
    }

    /// The units of live values.
    fn owned(&self) -> RegSet {
        let mut set = RegSet::EMPTY;
        for (h, (owner, shared)) in (0u16..).zip(self.owner.iter().zip(&self.shared)) {
            if owner.is_some() || shared.is_some() {
                set.add(RegSet::range(h..h + 1));
            }
        }
        set
    }

    fn full(&self) -> Error {
        Error::Full { limit: self.limit }
    }

    fn step(&mut self, b: Block, s: Step<T::Inst>) {
        let loc = self.loc_now;
        self.out[b.index()].steps.push((s, loc));
    }

    fn inst(&mut self, b: Block, i: Ins, kills: &[bool]) -> Result<()> {
        let f = self.f;
        let (dsts, srcs) = (f.dsts(i), f.srcs(i));
        self.loc_now = f.insts[i].loc;
        let before = self.out[b.index()].steps.len();
        for (&s, _) in srcs.iter().zip(kills).filter(|(_, kill)| **kill) {
            self.release(s);
        }
        // Where the first operand is before anything is moved.
        let old = srcs.first().map_or(NONE, |&s| self.loc[s]);
        let mut moved = Vec::new();
        for &d in dsts.iter().filter(|&&d| f.vals[d].unmasked) {
            self.take(d, self.unmasked[d]);
        }
        if T::CONSTRAINED
            && let Op::Isa(inst) | Op::Ctl(Ctl::If(inst)) = &f.insts[i].op
            && constrained::has_constraints::<T>(inst, dsts.len(), srcs.len())
        {
            return self.constrained(b, i, kills);
        }
        match f.insts[i].op {
            Op::Split => {
                // Parts stay where they are if they can.
                let mut reg = old;
                for &d in dsts {
                    if self.loc[d] != NONE {
                    } else if self.suits(reg, f.vals[d]) || self.may_share(d, reg, srcs[0]) {
                        self.take(d, reg);
                    }
                    reg += u16::from(f.vals[d].units);
                }
                for &d in dsts {
                    if self.loc[d] == NONE {
                        self.place(d, i, kills, &mut moved)?;
                    }
                }
            }
            Op::Preload(_) => {}
            _ if dsts.iter().any(|&d| f.vals[d].unmasked) => {}
            Op::Collect if let Some(reg) = self.around(dsts[0], srcs) => self.take(dsts[0], reg),
            Op::Copy if self.suits(old, f.vals[dsts[0]]) => self.take(dsts[0], old),
            _ => {
                for &d in dsts {
                    if self.loc[d] == NONE {
                        self.place(d, i, kills, &mut moved)?;
                    }
                }
            }
        }
        self.copies(b, i, &moved)?;
        let mut copies = std::mem::take(&mut self.scratch);
        let units = |v: Val| u16::from(f.vals[v].units);
        match f.insts[i].op {
            Op::Isa(mut inst) => {
                let (mut d, mut s) = (dsts.iter(), srcs.iter());
                T::assign(&mut inst, |w| {
                    if w { d.next() } else { s.next() }.map_or(NONE, |&v| self.loc[v])
                });
                self.step(b, Step::Inst(inst));
            }
            Op::Ctl(Ctl::If(mut inst)) => {
                let mut s = srcs.iter();
                T::assign(&mut inst, |_| s.next().map_or(NONE, |&v| self.loc[v]));
                self.step(b, Step::Ctl(Ctl::If(inst)));
            }
            Op::Ctl(c) => self.step(b, Step::Ctl(c)),
            Op::Collect => {
                let mut to = self.loc[dsts[0]];
                for &s in srcs {
                    copies.extend(self.copy_of(s, to));
                    to += units(s);
                }
            }
            Op::Split => {
                let mut from = self.loc[srcs[0]];
                for &d in dsts {
                    copies.push(Copy { to: self.loc[d], from, units: units(d) });
                    from += units(d);
                }
            }
            Op::Copy => copies.extend(self.copy_of(srcs[0], self.loc[dsts[0]])),
            Op::Exports => {
                for (&s, &to) in srcs.iter().zip(&f.exports) {
                    copies.extend(self.copy_of(s, to));
                    self.highest = self.highest.max(to + units(s));
                }
            }
            Op::Undef | Op::Phi | Op::Preload(_) => {}
        }
        self.copies(b, i, &copies)?;
        copies.clear();
        self.scratch = copies;
        if self.noted {
            let regs = dsts.iter().chain(srcs).map(|&v| self.loc[v]).collect();
            self.assignment.regs.push((i, regs, self.out[b.index()].steps.len() - before));
        }
        // Registers that are written and never read are freed at once.
        for &d in dsts {
            if !self.used[d] {
                self.release(d);
            }
        }
        Ok(())
    }

    /// The copy that moves a value from where it is. An undefined value needs none.
    fn copy_of(&self, v: Val, to: u16) -> Option<Copy> {
        let copy = Copy { to, from: self.loc[v], units: u16::from(self.f.vals[v].units) };
        (!self.undefined[v]).then_some(copy)
    }

    /// Appends the steps of parallel copies before or after an instruction.
    fn copies(&mut self, b: Block, i: Ins, copies: &[Copy]) -> Result<()> {
        if copies.iter().all(|c| c.to == c.from) {
            return Ok(());
        }
        let loc = self.loc_now;
        let mut steps = std::mem::take(&mut self.out[b.index()].steps);
        let spare = || {
            let mut taken = self.owned();
            for &v in self.f.dsts(i).iter().chain(self.f.srcs(i)) {
                taken.add(RegSet::of(self.f.vals[v], self.loc[v]));
            }
            self.spare(copies, taken)
        };
        let mut highest = self.highest;
        copies::sequence::<T>(copies, spare, |s| {
            if let Step::Move { to, units, .. } = s {
                highest = highest.max(to + units);
            }
            steps.push((s, loc));
        })
        .map_err(|copies::NoSpare| Error::Spare)?;
        self.highest = highest;
        self.out[b.index()].steps = steps;
        Ok(())
    }

    /// The units through which copies in a circle may go, apart from those that are taken. Copies of values that are not
    /// masked would overwrite what other lanes have in registers of masked ones, though these are free here.
    fn spare(&self, copies: &[Copy], mut taken: RegSet) -> RegSet {
        if copies.iter().any(|c| self.registers.unmasked.contains(c.to)) {
            return self.registers.scratch;
        }
        for c in copies {
            taken.add(RegSet::range(c.to..c.to + c.units));
            taken.add(RegSet::range(c.from..c.from + c.units));
        }
        self.registers.values.without(taken).union(self.registers.scratch)
    }
}
