//! Registers where blocks begin, and the copies on edges that move values there.

use super::copies::{self, Copy, NoSpare};
use super::{Alloc, NONE};
use crate::class::RegSet;
use crate::code::Step;
use crate::error::{Error, Result};
use crate::function::{Block, Ctl, Op, Val};
use crate::target::Target;
use cranelift_entity::EntityRef;
use std::cmp::Reverse;
use tepui_ir::Loc;

impl<T: Target> Alloc<'_, T> {
    /// Live values where the first predecessor that is known has them, then the phis.
    pub(super) fn start(&mut self, b: Block) -> Result<()> {
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
            if f.vals[d].unmasked {
                continue;
            }
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
        for &d in phis.iter().filter(|&&d| f.vals[d].unmasked) {
            self.take(d, self.unmasked[d]);
        }
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
            all.sort_by_key(|&v| Reverse(f.vals[v].align));
            for v in all {
                let reg = match f.vals[v].unmasked {
                    true => Some(self.unmasked[v]),
                    false => self.find(f.vals[v], 0),
                };
                self.take(v, reg.ok_or_else(|| self.full())?);
            }
        }
        let start: Vec<(Val, u16)> =
            lives.iter().map(|l| l.0).chain(phis).map(|v| (v, self.loc[v])).collect();
        self.assignment.starts[b.index()] = start.clone();
        self.edges[b.index()].start = start;
        Ok(())
    }

    /// Copies on edges, where the values' places differ.
    pub(super) fn finish_edges(&mut self) -> Result<()> {
        let f = self.f;
        for b in f.blocks.keys() {
            let &[s] = &f.blocks[b].succs[..] else { continue };
            let Some(n) = f.blocks[s].preds.iter().position(|&p| p == b) else { continue };
            let end = &self.edges[b.index()].end;
            let at = |v: Val| end.binary_search_by_key(&v, |e| e.0).map_or(NONE, |k| end[k].1);
            let mut copies = Vec::new();
            for &(v, reg) in &self.edges[s.index()].start {
                // What no path defines has no register; the instruction that reads it is refused when it is encoded.
                if reg != NONE && self.l.is_live_in(v, s) && !self.undefined[v] {
                    copies.push(Copy { to: reg, from: at(v), units: u16::from(f.vals[v].units) });
                }
            }
            for &i in &f.blocks[s].insts {
                if !matches!(f.insts[i].op, Op::Phi) {
                    break;
                }
                let (d, v) = (f.dsts(i)[0], f.srcs(i)[n]);
                let start = &self.assignment.starts[s.index()];
                let to = start.iter().find(|e| e.0 == d).map_or(NONE, |e| e.1);
                if !self.undefined[v] {
                    copies.push(Copy { to, from: at(v), units: u16::from(f.vals[d].units) });
                }
            }
            let mut steps = std::mem::take(&mut self.out[b.index()].steps);
            let spare = || self.spare(&copies, RegSet::EMPTY);
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
            let mut highest = self.highest;
            copies::sequence::<T>(&copies, spare, |s| {
                if let Step::Move { to, units, .. } = s {
                    highest = highest.max(to + units);
                }
                steps.push((s, loc));
            })
            .map_err(|NoSpare| Error::Spare)?;
            self.highest = highest;
            steps.extend(tail);
            self.out[b.index()].steps = steps;
        }
        Ok(())
    }
}
