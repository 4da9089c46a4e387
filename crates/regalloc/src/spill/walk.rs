//! The walk over the blocks that decides which values are in registers.
//!
//! Blocks are visited in layout order. Each begins with the values that [`super::entry`] chooses; an
//! instruction reloads those of its operands that are not in registers, and the values whose next use
//! is furthest are evicted for them and for its results. Eviction emits no instruction: a value that is
//! reloaded later is stored once, after its definition. Reloads are new values, and operands are
//! renamed to them.

use super::loops::Loops;
use super::next_use::{DEAD, NextUses};
use super::registers::{Entry, Registers};
use super::values::{Accesses, Values, is_head};
use crate::error::{Error, Result};
use crate::function::{Block, Function, Ins, Op, Val};
use crate::liveness::{Extra, Liveness};
use crate::target::Target;
use cranelift_entity::{EntityRef, SecondaryMap};

/// Powers of two by which the next-use distance of a value is multiplied, so that it is evicted
/// earlier: if it is rematerialised without memory, and if its store exists already or is in fewer
/// loops.
const REMADE: i8 = 3;
const STORED: i8 = 1;
/// Power of two by which the distance is divided for each loop around the store but not around the
/// reload.
const DEEPER: u16 = 3;

/// Entry state of a block with several predecessors.
#[derive(Clone, Default)]
pub(super) struct Join {
    /// Values that are in registers, each with the phi that joins its names where predecessors have
    /// different ones.
    pub(super) regs: Vec<(Val, Option<Val>)>,
    /// Phis whose results are in registers.
    pub(super) phis: Vec<Ins>,
    /// Phis whose results are in their slots.
    pub(super) memory: Vec<Ins>,
}

/// The state of the walk.
pub(super) struct Walk<'a, T: Target> {
    pub(super) f: &'a mut Function<T::Inst>,
    pub(super) live: &'a Liveness,
    pub(super) loops: &'a Loops,
    pub(super) values: &'a Values,
    pub(super) next: NextUses<'a>,
    /// Units of registers.
    pub(super) limit: u32,
    pub(super) regs: Registers,
    /// Values in registers at the end of each visited block, sorted by value, with their names.
    pub(super) exits: Vec<Vec<(Val, Val)>>,
    pub(super) joins: SecondaryMap<Block, Option<Join>>,
    pub(super) accesses: Accesses,
    /// Whether a value was reloaded before or is in memory from the start, so that it is stored.
    pub(super) stored: SecondaryMap<Val, bool>,
    /// Loops around each value's definition.
    depths: SecondaryMap<Val, u16>,
    /// The block of the walk and the instruction's position in it.
    place: (Block, u32),
    /// The instruction at which a value may not be evicted.
    pinned: SecondaryMap<Val, u32>,
    round: u32,
    /// The operands of an instruction; empty between instructions.
    sources: Vec<Val>,
}

impl<'a, T: Target> Walk<'a, T> {
    pub(super) fn new(
        f: &'a mut Function<T::Inst>,
        live: &'a Liveness,
        loops: &'a Loops,
        values: &'a Values,
        limit: u32,
    ) -> Walk<'a, T> {
        let next = NextUses::new(f, live, loops);
        Walk {
            exits: vec![Vec::new(); f.blocks.len()],
            live,
            loops,
            values,
            next,
            limit,
            regs: Registers::new(f),
            joins: SecondaryMap::new(),
            accesses: Accesses::default(),
            stored: SecondaryMap::new(),
            depths: SecondaryMap::new(),
            place: (Block::from_u32(0), 0),
            pinned: SecondaryMap::new(),
            round: 0,
            sources: Vec::new(),
            f,
        }
    }

    /// Visits all blocks.
    pub(super) fn run(&mut self) -> Result<()> {
        for b in self.f.blocks.keys() {
            self.place = (b, 0);
            self.next.begin(self.f, b);
            for &d in self.f.blocks[b].insts.iter().flat_map(|&i| self.f.dsts(i)) {
                self.depths[d] = self.loops.depth(b);
            }
            self.enter(b)?;
            self.block(b)?;
            self.next.end(self.f, b);
            self.exits[b.index()] = self.regs.drain();
        }
        Ok(())
    }

    pub(super) fn size(&self, v: Val) -> u32 {
        self.f.vals[v].pressure()
    }

    fn block(&mut self, b: Block) -> Result<()> {
        let insts = std::mem::take(&mut self.f.blocks[b].insts);
        let mut out = Vec::with_capacity(insts.len() + insts.len() / 4);
        for (n, i) in insts.into_iter().enumerate() {
            self.place = (b, n as u32);
            if matches!(self.f.insts[i].op, Op::Phi) {
                out.push(i);
                continue;
            }
            self.inst(i, &mut out)?;
        }
        self.f.blocks[b].insts = out;
        Ok(())
    }

    fn inst(&mut self, i: Ins, out: &mut Vec<Ins>) -> Result<()> {
        debug_assert!(!is_head(&self.f.insts[i].op) || self.f.srcs(i).is_empty());
        // Operands.
        self.round += 1;
        let count = self.f.srcs(i).len();
        let mut needed = 0;
        for k in 0..count {
            let s = self.f.srcs(i)[k];
            let seen = std::mem::replace(&mut self.pinned[s], self.round) == self.round;
            if !seen && self.regs.get(s).is_none() {
                needed += self.size(s);
            }
        }
        let extra = Extra::new::<T>(self.f, i);
        self.evict(needed + extra.read)?;
        let mut sources = std::mem::take(&mut self.sources);
        for k in 0..count {
            let s = self.f.srcs(i)[k];
            let name = match self.regs.get(s) {
                Some(e) => e.name,
                None => {
                    let (name, reload) = self.reload(s);
                    out.push(reload);
                    self.insert(s, name);
                    name
                }
            };
            self.f.srcs_mut(i)[k] = name;
            sources.push(s);
        }
        // Operands that are not read again leave before results are written.
        for s in sources.drain(..) {
            let next = self.next.pass(s);
            self.regs.set_next(self.f, s, next);
        }
        self.sources = sources;
        // Results.
        self.round += 1;
        let written: u32 = self.f.dsts(i).iter().map(|&d| self.size(d)).sum();
        if let &[d] = self.f.dsts(i)
            && self.values.remade(d).is_some()
            && !self.f.vals[d].unmasked
            && self.regs.units() + written > self.limit
        {
            // Its users rematerialise it.
            self.next.pass(d);
            return Ok(());
        }
        self.evict(written + extra.written)?;
        out.push(i);
        for k in 0..self.f.dsts(i).len() {
            let d = self.f.dsts(i)[k];
            if self.next.pass(d) != DEAD {
                self.insert(d, d);
            }
        }
        Ok(())
    }

    /// Puts a value with a next use into registers under `name`.
    pub(super) fn insert(&mut self, v: Val, name: Val) {
        let depth = self.loops.depth(self.place.0);
        let bias = if self.values.remade(v).is_some() {
            REMADE
        } else if self.stored[v] || self.depths[v] < depth {
            STORED
        } else {
            -((DEEPER * (self.depths[v] - depth)).min(40) as i8)
        };
        let next = self.next.at(v);
        self.regs.insert(self.f, Entry { val: v, name, next, bias });
    }

    /// Evicts values until `units` more fit.
    fn evict(&mut self, units: u32) -> Result<()> {
        while self.regs.units() + units > self.limit {
            let mut furthest: Option<(u64, Val)> = None;
            for e in self.regs.entries() {
                let this = (e.distance(self.place.1), e.val);
                if furthest.is_none_or(|f| this > f)
                    && self.pinned[e.val] != self.round
                    && self.values.is_evictable::<T>(self.f, e.val)
                {
                    furthest = Some(this);
                }
            }
            let Some((_, v)) = furthest else {
                let needed = self.regs.units() + units;
                return Err(Error::Registers { needed, limit: self.limit });
            };
            self.regs.remove(self.f, v);
        }
        Ok(())
    }

    /// A new value with the bits of an evicted one, and the instruction that makes it.
    pub(super) fn reload(&mut self, v: Val) -> (Val, Ins) {
        let name = self.f.renamed(v);
        let loc = self.values.loc(v);
        let reload = match self.values.remade(v) {
            Some(i) => {
                let op = self.f.insts[i].op;
                self.f.make(op, &[name], &[], loc)
            }
            None => {
                self.stored[v] = true;
                self.accesses.load::<T>(self.f, v, name, loc)
            }
        };
        (name, reload)
    }
}
