//! Choice of the values that are in registers at the start of a block.

use super::next_use::{DEAD, LOOP_EXIT};
use super::walk::{Join, Walk};
use crate::error::{Error, Result};
use crate::function::{Block, Ins, Op, Val};
use crate::target::Target;
use cranelift_entity::EntityRef;
use rustc_hash::FxHashMap;

/// Divides the next-use distance of a phi: a phi in memory is stored on each edge, another value once.
const PHI: u32 = 8;

/// A value that only some predecessors have in registers is reloaded on the other edges if its next use is nearer than this.
const NEAR: u32 = 64;

/// A value or a phi that could be in registers where a block begins.
#[derive(Clone, Copy)]
struct Candidate {
    v: Val,
    /// Its phi, if it is one of the block.
    phi: Option<Ins>,
    /// Candidates with lower ranks come first, then those whose next use is nearer.
    rank: u8,
    next: u32,
}

impl<T: Target> Walk<'_, T> {
    /// Fills the registers for the start of a block.
    pub(super) fn enter(&mut self, b: Block) -> Result<()> {
        let preds = &self.f.blocks[b].preds;
        match preds[..] {
            [] => Ok(()),
            [p] => {
                for k in 0..self.exits[p.index()].len() {
                    let (v, name) = self.exits[p.index()][k];
                    if self.next.at(v) != DEAD {
                        self.insert(v, name);
                    }
                }
                Ok(())
            }
            _ if preds.iter().any(|p| p.index() >= b.index()) => {
                let all = self.at_header(b);
                self.join(b, all, true)
            }
            _ => {
                let all = self.at_join(b);
                self.join(b, all, false)
            }
        }
    }

    /// Phis of a block that are read.
    fn phis(&self, b: Block) -> Vec<(Ins, Val)> {
        let insts = self.f.blocks[b].insts.iter().copied();
        let phis = insts.take_while(|&i| matches!(self.f.insts[i].op, Op::Phi));
        phis.map(|i| (i, self.f.dsts(i)[0])).filter(|p| self.next.at(p.1) != DEAD).collect()
    }

    /// For each value, the number of visited predecessors that have it in registers; and the number of
    /// visited predecessors.
    fn present(&self, b: Block) -> (FxHashMap<Val, u32>, u32) {
        let mut present = FxHashMap::default();
        let mut visited = 0;
        for p in self.f.blocks[b].preds.iter().filter(|p| p.index() < b.index()) {
            visited += 1;
            for &(v, _) in &self.exits[p.index()] {
                *present.entry(v).or_default() += 1;
            }
        }
        (present, visited)
    }

    /// Candidates of a join that is no loop header: values that all predecessors have in registers,
    /// then values that most have.
    fn at_join(&self, b: Block) -> Vec<Candidate> {
        let (present, visited) = self.present(b);
        let mut all = Vec::new();
        for (phi, v) in self.phis(b) {
            let preds = self.f.blocks[b].preds.iter();
            let there = preds.zip(self.f.srcs(phi)).filter(|&(p, &s)| {
                self.values.remade(s).is_some() || self.exit_name(*p, s).is_some()
            });
            let there = there.count() as u32;
            let next = self.next.at(v) / PHI;
            if let Some(rank) = self.rank(v, there, visited) {
                all.push(Candidate { v, phi: Some(phi), rank, next });
            }
        }
        for (&v, &there) in &present {
            let next = self.next.at(v);
            if next == DEAD || (there < visited && self.values.remade(v).is_some()) {
                continue;
            }
            if let Some(rank) = self.rank(v, there, visited)
                && (rank < 2 || next < NEAR)
            {
                all.push(Candidate { v, phi: None, rank, next });
            }
        }
        all
    }

    fn rank(&self, v: Val, there: u32, of: u32) -> Option<u8> {
        if !self.values.is_evictable::<T>(self.f, v) {
            Some(0)
        } else if there == of {
            Some(1)
        } else {
            (2 * there >= of).then_some(2)
        }
    }

    /// Candidates of a loop header: values that the loop reads, then values that are live through it,
    /// as far as the loop leaves registers.
    fn at_header(&self, b: Block) -> Vec<Candidate> {
        let mut all: Vec<Candidate> = Vec::new();
        // Units of values that are live through the loop.
        let mut through = 0;
        for (phi, v) in self.phis(b) {
            let next = self.next.at(v);
            let rank = match self.values.is_evictable::<T>(self.f, v) {
                false => 0,
                true if next < LOOP_EXIT => 1,
                true => 2,
            };
            through += if rank == 2 { self.size(v) } else { 0 };
            all.push(Candidate { v, phi: Some(phi), rank, next: next / PHI });
        }
        for &v in &self.live.ins[b.index()] {
            let next = self.next.at(v);
            let rank = if !self.values.is_evictable::<T>(self.f, v) {
                0
            } else if next < LOOP_EXIT {
                1
            } else {
                through += self.size(v);
                continue;
            };
            all.push(Candidate { v, phi: None, rank, next });
        }
        let (present, visited) = self.present(b);
        for (&v, &there) in &present {
            let next = self.next.at(v);
            if there == visited
                && next != DEAD
                && next >= LOOP_EXIT
                && self.values.is_evictable::<T>(self.f, v)
            {
                all.push(Candidate { v, phi: None, rank: 2, next });
            }
        }
        // Register pressure of the loop itself.
        let own = self.loops.pressure(b).saturating_sub(through);
        let mut room = self.limit.saturating_sub(own);
        all.sort_unstable_by_key(|c| (c.rank, c.next, c.v));
        all.retain(|c| {
            let size = self.size(c.v);
            let fits = c.rank < 2 || size <= room;
            if c.rank == 2 && fits {
                room -= size;
            }
            fits
        });
        all
    }

    /// The name that a value has in registers where a block ends.
    pub(super) fn exit_name(&self, p: Block, v: Val) -> Option<Val> {
        let exit = &self.exits[p.index()];
        exit.binary_search_by_key(&v.index(), |e| e.0.index()).ok().map(|k| exit[k].1)
    }

    /// Takes the best candidates into registers.
    fn join(&mut self, b: Block, mut all: Vec<Candidate>, is_header: bool) -> Result<()> {
        all.sort_unstable_by_key(|c| (c.rank, c.next, c.v));
        let phis = self.phis(b);
        // The store of a phi to its slot takes a register where predecessors end.
        let mut reserve = 0;
        let taken = loop {
            let limit = self.limit.saturating_sub(reserve);
            let mut units = 0;
            let mut taken: Vec<Candidate> = Vec::new();
            for &c in &all {
                let size = self.size(c.v);
                if units + size <= limit {
                    units += size;
                    taken.push(c);
                } else if c.rank == 0 {
                    return Err(Error::Registers { needed: units + size, limit: self.limit });
                }
            }
            let in_memory = phis.iter().filter(|p| !taken.iter().any(|c| c.phi == Some(p.0)));
            let widest = in_memory.map(|p| self.size(p.1)).max().unwrap_or(0);
            if widest <= reserve {
                break taken;
            }
            reserve = widest;
        };
        let mut join = Join::default();
        for c in taken {
            if let Some(phi) = c.phi {
                join.phis.push(phi);
                self.insert(c.v, c.v);
                continue;
            }
            let mut names = self.f.blocks[b].preds.iter().map(|&p| self.exit_name(p, c.v));
            let first =
                names.next().flatten().filter(|&n| !is_header && names.all(|m| m == Some(n)));
            match first {
                Some(name) => {
                    self.insert(c.v, name);
                    join.regs.push((c.v, None));
                }
                None => {
                    let name = self.f.renamed(c.v);
                    self.insert(c.v, name);
                    join.regs.push((c.v, Some(name)));
                }
            }
        }
        join.memory = phis.iter().map(|p| p.0).filter(|phi| !join.phis.contains(phi)).collect();
        for &phi in &join.memory {
            let v = self.f.dsts(phi)[0];
            self.stored[v] = true;
        }
        self.joins[b] = Some(join);
        Ok(())
    }
}
