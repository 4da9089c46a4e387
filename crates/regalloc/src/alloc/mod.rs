//! Register assignment on SSA.
//!
//! Blocks are processed in layout order, which visits definitions before uses. A value first tries
//! registers that save a copy: those of its phi, those next to its neighbours in an
//! [`Op::Collect`], those that it had before an [`Op::Split`]; then the first free registers of its
//! class that no later value of the block wants so, and the first free ones. A vector and components of it that stay live share registers, since SSA values do not
//! change. When enough registers are free but not consecutive, live values are moved away before
//! the instruction. Each block records the registers of its live-in values; copies on every edge
//! move them there from where the predecessor has them.
//!
//! [`check`] verifies the result.

mod check;
mod copies;
mod fixed;

use crate::class::RegClass;
use crate::code::{Code, CodeBlock, Def, Step};
use crate::error::{Error, Result};
use crate::function::{Block, Ctl, Function, Ins, Op, Val};
use crate::liveness::{LiveSet, Liveness};
use crate::target::Target;
use copies::Copy;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, SecondaryMap};
use fixed::{exports, fixed_end, hints};
use std::ops::Range;
use tepui_ir::Loc;

pub use check::check;

/// Units of a thread.
pub const UNITS: usize = 256;
/// No register.
const NONE: u16 = u16::MAX;
/// How many phis and vectors one behind the other a value is followed through for a hint.
const CHAIN: usize = 32;

/// Where values are at the ends of a block.
#[derive(Clone, Debug, Default)]
struct Edges {
    start: Vec<(Val, u16)>,
    end: Vec<(Val, u16)>,
}

/// What is done beside the allocation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extras {
    /// The result is checked.
    pub check: bool,
    /// [`Code::defs`] are wanted.
    pub defs: bool,
}

/// Allocates registers from `reserved` up to `limit`, in units.
///
/// # Errors
/// When the values alive at once do not fit.
pub fn run<T: Target>(
    f: &Function<T::Inst>,
    l: &Liveness,
    reserved: u16,
    limit: u16,
    extras: Extras,
) -> Result<Code<T::Inst>> {
    let mut a = Alloc::<T>::new(f, l, reserved, limit.max(fixed_end(f)));
    a.noted = extras.check || extras.defs;
    for b in f.blocks.keys() {
        a.block(b)?;
    }
    a.finish_edges();
    let defs = if extras.defs { a.places.defs(f) } else { Vec::new() };
    let code = Code { blocks: a.out, units: a.highest, defs };
    if extras.check {
        check(f, &code, &a.places)?;
    }
    Ok(code)
}

/// Where instructions have their values: what the checker compares with.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Registers of each instruction's results, then of its operands.
    /// With each the number of steps that it became.
    regs: Vec<(Ins, Vec<u16>, usize)>,
    /// For each block: where its live values are at the start.
    starts: Vec<Vec<(Val, u16)>>,
}

impl Places {
    /// Where each value is from its definition, and from the start of each block that it is live in.
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
    limit: u16,
    /// First unit that values may take.
    first: u16,
    owner: [PackedOption<Val>; UNITS],
    /// A second value in the same place, with the same bits: a vector and a part of it that lives
    /// on.
    shared: [PackedOption<Val>; UNITS],
    loc: SecondaryMap<Val, u16>,
    /// The phi, or the collected vector and the place in it, that a value goes to.
    into: SecondaryMap<Val, Option<(Val, u8)>>,
    /// The instruction that makes a phi.
    phis: SecondaryMap<Val, PackedOption<Ins>>,
    /// The instruction that splits a vector.
    split: SecondaryMap<Val, PackedOption<Ins>>,
    /// Whether anything reads a value.
    used: SecondaryMap<Val, bool>,
    /// Registers that a phi or vector tries first.
    hint: SecondaryMap<Val, u16>,
    /// Where what is exported goes.
    export: SecondaryMap<Val, u16>,
    /// The units of exports.
    kept: Range<u16>,
    /// Where values of the block that have no place yet would save a copy.
    wishes: SecondaryMap<Val, u16>,
    /// The next that wants each unit, as an index of `wanting`.
    wanted: [u32; UNITS],
    /// Positions in the block, each with the index of the next one that wants the same unit.
    wanting: Vec<(u32, u32)>,
    /// Where each value of the block is used last: a position in it, or behind it.
    last: SecondaryMap<Val, u32>,
    edges: Vec<Edges>,
    out: Vec<CodeBlock<T::Inst>>,
    highest: u16,
    places: Places,
    loc_now: Loc,
    /// The copies that an instruction becomes; empty between instructions.
    scratch: Vec<Copy>,
    /// [`Places::regs`] are noted.
    noted: bool,
}

impl<'a, T: Target> Alloc<'a, T> {
    fn new(f: &'a Function<T::Inst>, l: &'a Liveness, reserved: u16, limit: u16) -> Alloc<'a, T> {
        let mut into: SecondaryMap<Val, Option<(Val, u8)>> =
            SecondaryMap::with_capacity(f.vals.len());
        let mut split: SecondaryMap<Val, PackedOption<Ins>> = SecondaryMap::new();
        let mut phis: SecondaryMap<Val, PackedOption<Ins>> = SecondaryMap::new();
        let mut used: SecondaryMap<Val, bool> = SecondaryMap::with_capacity(f.vals.len());
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
                    _ => {}
                }
            }
        }
        let mut hint = SecondaryMap::with_default(NONE);
        hints(f, &mut hint);
        let export = hint.clone();
        Alloc {
            f,
            l,
            live: LiveSet::new(f),
            limit,
            first: reserved,
            owner: [PackedOption::default(); UNITS],
            shared: [PackedOption::default(); UNITS],
            loc: SecondaryMap::with_default(NONE),
            into,
            phis,
            split,
            used,
            hint,
            export,
            kept: exports(f),
            wishes: SecondaryMap::with_default(NONE),
            wanted: [u32::MAX; UNITS],
            wanting: Vec::new(),
            last: SecondaryMap::with_capacity(f.vals.len()),
            edges: vec![Edges::default(); f.blocks.len()],
            out: vec![CodeBlock::default(); f.blocks.len()],
            highest: 0,
            places: Places { regs: Vec::new(), starts: vec![Vec::new(); f.blocks.len()] },
            loc_now: Loc::default(),
            scratch: Vec::new(),
            noted: false,
        }
    }

    fn is_free(&self, reg: u16, units: u16) -> bool {
        reg >= self.first
            && reg + units <= self.limit
            && self.owner[usize::from(reg)..usize::from(reg + units)].iter().all(|o| o.is_none())
    }

    fn suits(&self, reg: u16, class: RegClass) -> bool {
        reg != NONE
            && (!class.even || reg.is_multiple_of(2))
            && self.is_free(reg, u16::from(class.units))
    }

    /// The first free place for what is used up to a position of the block. A single unit prefers one whose neighbour is taken.
    fn find(&self, class: RegClass, until: u32) -> Option<u16> {
        let n = u16::from(class.units);
        if n == 1 {
            let mut whole = None;
            for reg in self.first..self.limit {
                if self.owner[usize::from(reg)].is_some() {
                    continue;
                }
                let other = reg ^ 1;
                if other < self.first
                    || other >= self.limit
                    || self.owner[usize::from(other)].is_some()
                {
                    return Some(reg);
                }
                whole = whole.or(Some(reg));
            }
            return whole;
        }
        // Registers of exports are kept free where possible, and those that save others a copy.
        let kept = self.kept.clone();
        let is_wanted = |h: u16| {
            let next = self.wanting.get(self.wanted[usize::from(h)] as usize);
            next.is_some_and(|next| next.0 < until)
        };
        let end = self.highest.max(kept.end);
        if !self.wanting.is_empty()
            && let Some(reg) = self.first_free(class, end, |h| kept.contains(&h) || is_wanted(h))
        {
            return Some(reg);
        }
        if !kept.is_empty()
            && let Some(reg) = self.first_free(class, end, |h| kept.contains(&h))
        {
            return Some(reg);
        }
        self.first_free(class, self.limit, |_| false)
    }

    /// Notes where values of a block would save a copy.
    fn wish(&mut self, insts: &[Ins]) {
        let f = self.f;
        if !self.wanting.is_empty() {
            self.wanting.clear();
            self.wanted = [u32::MAX; UNITS];
        }
        for (at, &i) in insts.iter().enumerate().rev() {
            for &v in f.dsts(i).iter().rev() {
                // Preloaded values have theirs.
                if self.loc[v] != NONE {
                    continue;
                }
                let units = u16::from(f.vals[v].units);
                let fits = |&reg: &u16| reg.saturating_add(units) <= self.limit;
                if let Some(reg) = self.saving(v).filter(fits) {
                    self.wishes[v] = reg;
                    for h in reg..reg + units {
                        let next = &mut self.wanted[usize::from(h)];
                        self.wanting.push((at as u32, *next));
                        *next = self.wanting.len() as u32 - 1;
                    }
                }
            }
        }
    }

    /// The first free place before `end` without what is kept.
    fn first_free(&self, class: RegClass, end: u16, kept: impl Fn(u16) -> bool) -> Option<u16> {
        let n = u16::from(class.units);
        let step = if class.even { 2 } else { 1 };
        let taken = |&h: &u16| self.owner[usize::from(h)].is_some() || kept(h);
        let mut reg = self.first.next_multiple_of(step);
        while reg + n <= end {
            match (reg..reg + n).rev().find(taken) {
                None => return Some(reg),
                Some(h) => reg = (h + 1).next_multiple_of(step),
            }
        }
        None
    }

    fn take(&mut self, v: Val, reg: u16) {
        let n = u16::from(self.f.vals[v].units);
        for h in usize::from(reg)..usize::from(reg + n) {
            debug_assert!(self.shared[h].is_none());
            let place = if self.owner[h].is_none() { &mut self.owner } else { &mut self.shared };
            place[h] = v.into();
        }
        self.loc[v] = reg;
        self.highest = self.highest.max(reg + n);
        let wish = self.wishes[v];
        if wish != NONE {
            self.wishes[v] = NONE;
            for h in wish..wish + n {
                let next = &mut self.wanted[usize::from(h)];
                *next = self.wanting.get(*next as usize).map_or(u32::MAX, |next| next.1);
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

    /// Where a value saves a copy: the place of the phi or vector that it goes to, directly or through others.
    fn hinted(&self, v: Val) -> Option<u16> {
        let (mut v, mut offset) = (v, 0);
        for _ in 0..CHAIN {
            if self.hint[v] != NONE {
                return self.hint[v].checked_add(offset);
            }
            let (w, at) = self.into[v]?;
            offset += u16::from(at);
            v = w;
        }
        None
    }

    /// The same, or where another value is that goes to the same phi.
    fn saving(&self, v: Val) -> Option<u16> {
        self.hinted(v).or_else(|| {
            let phi = self.phis[self.into[v]?.0].expand()?;
            let others = self.f.srcs(phi).iter().filter(|&&s| s != v);
            others.map(|&s| self.loc[s]).find(|&reg| reg != NONE)
        })
    }

    fn release(&mut self, v: Val) {
        let (reg, n) = (self.loc[v], u16::from(self.f.vals[v].units));
        if reg == NONE {
            return;
        }
        for h in usize::from(reg)..usize::from(reg + n) {
            if self.owner[h] == v.into() {
                self.owner[h] = std::mem::take(&mut self.shared[h]);
            } else if self.shared[h] == v.into() {
                self.shared[h] = PackedOption::default();
            }
        }
    }

    /// Nobody has anything.
    fn clear(&mut self) {
        self.owner = [PackedOption::default(); UNITS];
        self.shared = [PackedOption::default(); UNITS];
    }

    /// Whether `v` may share `reg` with `other`, which has the same bits there.
    fn may_share(&self, v: Val, reg: u16, other: Val) -> bool {
        let class = self.f.vals[v];
        (!class.even || reg.is_multiple_of(2))
            && (reg..reg + u16::from(class.units)).all(|h| {
                let h = usize::from(h);
                self.owner.get(h) == Some(&other.into()) && self.shared[h].is_none()
            })
    }

    /// The place for a joined vector that saves most copies: where many of its parts are already,
    /// or where it is exported from, if the rest is free. Parts that live on stay there with it.
    fn around(&self, w: Val, parts: &[Val]) -> Option<u16> {
        let class = self.f.vals[w];
        let n = u16::from(class.units);
        let mut best: Option<(u16, u16)> = None;
        let mut at = 0;
        let of_parts = parts.iter().map(|&p| {
            let base = self.loc[p].checked_sub(at);
            at += u16::from(self.f.vals[p].units);
            base.filter(|_| self.loc[p] != NONE)
        });
        let export = self.export[w];
        for base in of_parts.chain([Some(export)]).flatten() {
            let fits = base >= self.first
                && base.saturating_add(n) <= self.limit
                && (!class.even || base.is_multiple_of(2));
            if !fits {
                continue;
            }
            // Elsewhere all of it is copied once more.
            let mut there = if base == export { n } else { 0 };
            let (mut to, mut good) = (base, true);
            for &p in parts {
                let units = u16::from(self.f.vals[p].units);
                let free = self.is_free(to, units);
                good &= free || self.may_share(p, to, p);
                there += if self.loc[p] == to { units } else { 0 };
                to += units;
            }
            if good && best.is_none_or(|b| there > b.1) {
                best = Some((base, there));
            }
        }
        best.map(|b| b.0)
    }

    /// Where a vector saves copies of the parts that it is split into, if they go to consecutive places.
    fn hinted_by_parts(&self, v: Val) -> Option<u16> {
        let (mut base, mut offset) = (None, 0);
        for &part in self.f.dsts(self.split[v].expand()?) {
            let here = self.hinted(part).and_then(|reg| reg.checked_sub(offset));
            if self.used[part] {
                base = Some(*base.get_or_insert(here?)).filter(|&base| Some(base) == here);
                base?;
            }
            offset += u16::from(self.f.vals[part].units);
        }
        base
    }

    /// A place for `v`: one that saves a copy, or the first that is free.
    fn choose(&mut self, v: Val) -> Option<u16> {
        let class = self.f.vals[v];
        let wish = Some(self.wishes[v]).filter(|&reg| reg != NONE);
        let hints = [wish.or_else(|| self.saving(v)), self.hinted_by_parts(v)];
        if let Some(reg) = hints.into_iter().flatten().find(|&reg| self.suits(reg, class)) {
            return Some(reg);
        }
        if let Some((w, at)) = self.into[v]
            && hints[0].is_none()
            && self.f.vals[w].units > class.units
        {
            // Registers for the whole vector, so that its other parts can follow.
            if let Some(base) = self.find(self.f.vals[w], u32::MAX) {
                self.hint[w] = base;
                return Some(base + u16::from(at));
            }
        }
        self.find(class, self.last[v])
    }

    fn block(&mut self, b: Block) -> Result<()> {
        let f = self.f;
        self.clear();
        let data = &f.blocks[b];
        self.start(b)?;
        let phis = data.insts.iter().take_while(|&&i| matches!(f.insts[i].op, Op::Phi)).count();
        let outs = self.l.outs(f, b);
        let kills = self.kills(b, phis, &outs);
        self.wish(&data.insts[phis..]);
        for (n, &i) in data.insts[phis..].iter().enumerate() {
            self.inst(b, i, kills[n])?;
        }
        let end = outs.into_iter().map(|v| (v, self.loc[v])).collect();
        self.edges[b.index()].end = end;
        Ok(())
    }

    /// Which operands of each instruction die there, as bits.
    fn kills(&mut self, b: Block, phis: usize, outs: &[Val]) -> Vec<u32> {
        let f = self.f;
        let insts = &f.blocks[b].insts[phis..];
        let live = &mut self.live;
        live.fill(f, outs);
        for &v in outs {
            self.last[v] = u32::MAX;
        }
        let mut kills = vec![0u32; insts.len()];
        for (n, &i) in insts.iter().enumerate().rev() {
            for &d in f.dsts(i) {
                if !live.remove(d) {
                    self.last[d] = 0;
                }
            }
            for (k, &s) in f.srcs(i).iter().enumerate() {
                if live.insert(s) {
                    self.last[s] = n as u32;
                    kills[n] |= 1 << k;
                }
            }
        }
        kills
    }

    /// Live values where the first predecessor that is known has them, then the phis.
    fn start(&mut self, b: Block) -> Result<()> {
        let f = self.f;
        let data = &f.blocks[b];
        let known = data.preds.iter().position(|p| p.index() < b.index());
        let mut lives: Vec<(Val, u16)> = Vec::new();
        if b.index() == 0 {
            // Preloaded values keep their registers until their instruction.
            lives.extend(data.insts.iter().filter_map(|&i| match f.insts[i].op {
                Op::Preload(unit) => Some((f.dsts(i)[0], unit)),
                _ => None,
            }));
        }
        if let Some(n) = known {
            let p = data.preds[n];
            let end = std::mem::take(&mut self.edges[p.index()].end);
            for &(v, reg) in &end {
                // What nothing defines on the way has none.
                if reg != NONE && self.l.is_live_in(v, b) {
                    lives.push((v, reg));
                }
            }
            self.edges[p.index()].end = end;
        }
        for &(v, reg) in &lives {
            self.take(v, reg);
        }
        let heads = data.insts.iter().take_while(|&&i| matches!(f.insts[i].op, Op::Phi));
        let mut phis = Vec::new();
        let mut rest = Vec::new();
        let mut places: Vec<u16> = Vec::new();
        for &i in heads {
            let d = f.dsts(i)[0];
            phis.push(d);
            // Where sources are that end with their predecessors, and where the phi goes itself: no copies there.
            let sources = f.srcs(i).iter().zip(&data.preds).filter_map(|(&s, p)| {
                if p.index() >= b.index() {
                    return None;
                }
                let end = &self.edges[p.index()].end;
                let at = end.binary_search_by_key(&s, |e| e.0).ok()?;
                self.suits(end[at].1, f.vals[d]).then_some(end[at].1)
            });
            let onward = self.into[d].and_then(|(w, at)| Some(self.hinted(w)? + u16::from(at)));
            places.clear();
            places.extend(onward.filter(|&reg| self.suits(reg, f.vals[d])));
            places.extend(sources);
            let saved = |reg: u16| places.iter().filter(|&&r| r == reg).count();
            // The first of the best: a copy in one arm is better than one behind all of them.
            let place = places.iter().copied().rev().max_by_key(|&reg| saved(reg));
            match place {
                Some(reg) => self.take(d, reg),
                None => rest.push(d),
            }
        }
        let mut stuck = false;
        for d in rest {
            match self.choose(d) {
                Some(reg) => self.take(d, reg),
                None => stuck = true,
            }
        }
        if stuck {
            // All anew, those that need alignment first.
            let mut all: Vec<Val> = lives.iter().map(|l| l.0).chain(phis.iter().copied()).collect();
            self.clear();
            all.sort_by_key(|&v| !f.vals[v].even);
            for v in all {
                match self.find(f.vals[v], 0) {
                    Some(reg) => self.take(v, reg),
                    None => return Err(self.full()),
                }
            }
        }
        let start: Vec<(Val, u16)> =
            lives.iter().map(|l| l.0).chain(phis).map(|v| (v, self.loc[v])).collect();
        self.places.starts[b.index()] = start.clone();
        self.edges[b.index()].start = start;
        Ok(())
    }

    fn full(&self) -> Error {
        Error::Full { limit: self.limit }
    }

    fn step(&mut self, b: Block, s: Step<T::Inst>) {
        let loc = self.loc_now;
        self.out[b.index()].steps.push((s, loc));
    }

    fn inst(&mut self, b: Block, i: Ins, kills: u32) -> Result<()> {
        let f = self.f;
        let (dsts, srcs) = (f.dsts(i), f.srcs(i));
        self.loc_now = f.insts[i].loc;
        let before = self.out[b.index()].steps.len();
        for (k, &s) in srcs.iter().enumerate() {
            if kills >> k & 1 != 0 {
                self.release(s);
            }
        }
        // Where the first operand is before anything is moved.
        let old = srcs.first().map_or(NONE, |&s| self.loc[s]);
        let mut moved = Vec::new();
        match f.insts[i].op {
            Op::Split => {
                // Parts stay where they are if they can.
                let mut reg = old;
                for &d in dsts {
                    if self.suits(reg, f.vals[d]) || self.may_share(d, reg, srcs[0]) {
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
            Op::Collect if let Some(reg) = self.around(dsts[0], srcs) => self.take(dsts[0], reg),
            Op::Copy if self.suits(old, f.vals[dsts[0]]) => self.take(dsts[0], old),
            Op::Preload(_) => {}
            _ => {
                for &d in dsts {
                    if self.loc[d] == NONE {
                        self.place(d, i, kills, &mut moved)?;
                    }
                }
            }
        }
        self.copies(b, &moved);
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
                    copies.push(Copy { to, from: self.loc[s], units: units(s) });
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
            Op::Copy => {
                let (d, s) = (dsts[0], srcs[0]);
                copies.push(Copy { to: self.loc[d], from: self.loc[s], units: units(d) });
            }
            Op::Exports => {
                for (&s, &to) in srcs.iter().zip(&f.exports) {
                    copies.push(Copy { to, from: self.loc[s], units: units(s) });
                    self.highest = self.highest.max(to + units(s));
                }
            }
            Op::Undef | Op::Phi | Op::Preload(_) => {}
        }
        self.copies(b, &copies);
        copies.clear();
        self.scratch = copies;
        if self.noted {
            let regs = dsts.iter().chain(srcs).map(|&v| self.loc[v]).collect();
            self.places.regs.push((i, regs, self.out[b.index()].steps.len() - before));
        }
        // Registers that are written and never read are freed at once.
        for &d in dsts {
            if !self.used[d] {
                self.release(d);
            }
        }
        Ok(())
    }

    /// Appends the steps of parallel copies.
    fn copies(&mut self, b: Block, copies: &[Copy]) {
        let (loc, steps) = (self.loc_now, &mut self.out[b.index()].steps);
        copies::sequence(copies, |s| steps.push((s, loc)));
    }

    /// Gives `d` a place, moving others away if need be; `moved` collects those moves, which happen
    /// before the instruction.
    fn place(&mut self, d: Val, i: Ins, kills: u32, moved: &mut Vec<Copy>) -> Result<()> {
        if let Some(reg) = self.choose(d) {
            self.take(d, reg);
            return Ok(());
        }
        if self.make_room(d, i, kills, moved) {
            return Ok(());
        }
        self.lay_out(i, kills, moved)
    }

    /// Operands that die at an instruction: they may be overwritten by it, but not before.
    fn dying(&self, i: Ins, kills: u32) -> impl Iterator<Item = Val> + use<'a, T> {
        let srcs = self.f.srcs(i);
        srcs.iter().enumerate().filter(move |(k, _)| kills >> k & 1 != 0).map(|(_, &s)| s)
    }

    /// Moves a value; several moves of one value before the same instruction are one.
    fn relocate(&mut self, v: Val, to: u16, moved: &mut Vec<Copy>) {
        let (from, units) = (self.loc[v], u16::from(self.f.vals[v].units));
        match moved.iter_mut().find(|c| c.to == from) {
            Some(c) => c.to = to,
            None => moved.push(Copy { to, from, units }),
        }
        self.loc[v] = to;
    }

    /// Values in a unit.
    fn here(&self, h: u16) -> impl Iterator<Item = Val> + use<T> {
        let h = usize::from(h);
        self.owner[h].expand().into_iter().chain(self.shared[h].expand())
    }

    /// Clears the place that costs least to clear.
    fn make_room(&mut self, d: Val, i: Ins, kills: u32, moved: &mut Vec<Copy>) -> bool {
        let class = self.f.vals[d];
        let n = u16::from(class.units);
        let mut pinned = [false; UNITS];
        for v in self.dying(i, kills) {
            let reg = self.loc[v];
            pinned[usize::from(reg)..usize::from(reg + u16::from(self.f.vals[v].units))].fill(true);
        }
        let dsts = self.f.dsts(i);
        let mut best: Option<(u16, u16)> = None;
        let step = if class.even { 2 } else { 1 };
        let mut reg = if class.even { self.first.next_multiple_of(2) } else { self.first };
        while reg + n <= self.limit {
            let (mut cost, mut last) = (0, None);
            for v in (reg..reg + n).flat_map(|h| self.here(h)) {
                if last != Some(v) {
                    last = Some(v);
                    cost += u16::from(self.f.vals[v].units);
                    if dsts.contains(&v) {
                        cost = u16::MAX / 2;
                    }
                }
            }
            if cost < best.map_or(u16::MAX / 2, |b| b.1) {
                best = Some((reg, cost));
            }
            reg += step;
        }
        let Some((reg, _)) = best else { return false };
        let mut out: Vec<Val> = (reg..reg + n).flat_map(|h| self.here(h)).collect();
        out.sort_unstable();
        out.dedup();
        let before = (self.owner, self.shared);
        for &v in &out {
            self.release(v);
        }
        // Nothing may go to the cleared place, nor over operands that are still to be read.
        let saved = self.owner;
        let cleared = usize::from(reg)..usize::from(reg + n);
        for (h, (owner, pinned)) in self.owner.iter_mut().zip(pinned).enumerate() {
            if pinned || cleared.contains(&h) {
                *owner = d.into();
            }
        }
        let mut to = Vec::with_capacity(out.len());
        for &v in &out {
            let Some(place) = self.find(self.f.vals[v], 0) else {
                (self.owner, self.shared) = before;
                return false;
            };
            for h in place..place + u16::from(self.f.vals[v].units) {
                self.owner[usize::from(h)] = v.into();
            }
            to.push(place);
        }
        self.owner = saved;
        for (&v, &place) in out.iter().zip(&to) {
            self.relocate(v, place, moved);
            self.take(v, place);
        }
        self.take(d, reg);
        true
    }

    /// Moves everything: aligned values to the bottom, others to the top, and in the middle the
    /// results over the dying operands.
    fn lay_out(&mut self, i: Ins, kills: u32, moved: &mut Vec<Copy>) -> Result<()> {
        let f = self.f;
        let dsts = f.dsts(i);
        let all = self.owner.iter().chain(&self.shared);
        let mut live: Vec<Val> = all.filter_map(|o| o.expand()).collect();
        live.sort_unstable();
        live.dedup();
        live.retain(|v| !dsts.contains(v));
        self.clear();
        let (mut low, mut high) = (self.first.next_multiple_of(2), self.limit);
        let mut new = Vec::with_capacity(live.len() + 4);
        for &v in &live {
            let class = f.vals[v];
            let n = u16::from(class.units);
            if low + n > high {
                return Err(self.full());
            }
            if class.even {
                new.push((v, low));
                low += n;
            } else {
                high -= n;
                new.push((v, high));
            }
        }
        let (mut at, mut top) = (low, high);
        for v in self.dying(i, kills) {
            let class = f.vals[v];
            let n = u16::from(class.units);
            if at + n > top {
                return Err(self.full());
            }
            if class.even {
                new.push((v, at));
                at += n;
            } else {
                top -= n;
                new.push((v, top));
            }
        }
        // All at once: the moves so far are only renamed when their targets are known.
        let olds: Vec<u16> = new.iter().map(|&(v, _)| self.loc[v]).collect();
        let mut all = Vec::with_capacity(new.len());
        for (&(v, to), &old) in new.iter().zip(&olds) {
            let units = u16::from(f.vals[v].units);
            let from = moved.iter().find(|c| c.to == old).map_or(old, |c| c.from);
            all.push(Copy { to, from, units });
        }
        *moved = all;
        for &(v, to) in &new {
            self.loc[v] = to;
        }
        for &v in &live {
            let reg = self.loc[v];
            self.take(v, reg);
        }
        let mut order: Vec<Val> = dsts.to_vec();
        order.sort_by_key(|&v| !f.vals[v].even);
        for v in order {
            match self.find(f.vals[v], 0) {
                Some(reg) => self.take(v, reg),
                None => return Err(self.full()),
            }
        }
        Ok(())
    }

    /// Copies on edges, where the values' places differ.
    fn finish_edges(&mut self) {
        let f = self.f;
        for b in f.blocks.keys() {
            let &[s] = &f.blocks[b].succs[..] else { continue };
            let Some(n) = f.blocks[s].preds.iter().position(|&p| p == b) else { continue };
            let end = &self.edges[b.index()].end;
            let at = |v: Val| end.binary_search_by_key(&v, |e| e.0).map_or(NONE, |k| end[k].1);
            let mut copies = Vec::new();
            for &(v, reg) in &self.edges[s.index()].start {
                // What no path defines has no register; the instruction that reads it is refused when it is encoded.
                if reg != NONE && self.l.is_live_in(v, s) {
                    copies.push(Copy { to: reg, from: at(v), units: u16::from(f.vals[v].units) });
                }
            }
            for &i in &f.blocks[s].insts {
                if !matches!(f.insts[i].op, Op::Phi) {
                    break;
                }
                let (d, v) = (f.dsts(i)[0], f.srcs(i)[n]);
                let start = &self.places.starts[s.index()];
                let to = start.iter().find(|e| e.0 == d).map_or(NONE, |e| e.1);
                copies.push(Copy { to, from: at(v), units: u16::from(f.vals[d].units) });
            }
            let steps = &mut self.out[b.index()].steps;
            let leaving = steps
                .iter()
                .rev()
                .take_while(|(s, _)| {
                    matches!(s, Step::Ctl(Ctl::Loop | Ctl::EndLoop | Ctl::Break | Ctl::Continue))
                })
                .count();
            let at = steps.len() - leaving;
            let tail = steps.split_off(at);
            let loc = tail.first().map_or(Loc::default(), |t| t.1);
            copies::sequence(&copies, |s| steps.push((s, loc)));
            steps.extend(tail);
        }
    }
}
