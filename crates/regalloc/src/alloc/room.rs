//! Room for a result where free registers are not consecutive: live values move away.

use super::copies::Copy;
use super::{Alloc, NONE};
use crate::class::{RegClass, RegSet, UNITS};
use crate::error::Result;
use crate::function::{Ins, Val};
use crate::target::Target;
use std::cmp::Reverse;

impl<'a, T: Target> Alloc<'a, T> {
    /// Gives `d` a place, moving others away if need be; `moved` collects those moves, which happen
    /// before the instruction.
    pub(super) fn place(
        &mut self,
        d: Val,
        i: Ins,
        kills: &[bool],
        moved: &mut Vec<Copy>,
    ) -> Result<()> {
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
    pub(super) fn dying<'b>(
        &self,
        i: Ins,
        kills: &'b [bool],
    ) -> impl Iterator<Item = Val> + use<'a, 'b, T> {
        let srcs = self.f.srcs(i);
        srcs.iter().zip(kills).filter(|(_, kill)| **kill).map(|(&s, _)| s)
    }

    /// Moves a value; several moves of one value before the same instruction are one.
    pub(super) fn relocate(&mut self, v: Val, to: u16, moved: &mut Vec<Copy>) {
        if let Some(copy) = self.copy_of(v, to) {
            match moved.iter_mut().find(|c| c.to == copy.from) {
                Some(c) => c.to = to,
                None => moved.push(copy),
            }
        }
        self.loc[v] = to;
    }

    /// Values in a unit.
    pub(super) fn here(&self, h: u16) -> impl Iterator<Item = Val> + use<T> {
        let h = usize::from(h);
        self.owner[h].expand().into_iter().chain(self.shared[h].expand())
    }

    /// Clears the place that costs least to clear.
    pub(super) fn make_room(
        &mut self,
        d: Val,
        i: Ins,
        kills: &[bool],
        moved: &mut Vec<Copy>,
    ) -> bool {
        let class = self.f.vals[d];
        let n = u16::from(class.units);
        let mut pinned = [false; UNITS];
        for v in self.dying(i, kills) {
            let reg = self.loc[v];
            pinned[usize::from(reg)..usize::from(reg + u16::from(self.f.vals[v].units))].fill(true);
        }
        let dsts = self.f.dsts(i);
        let mut best: Option<(u16, u16)> = None;
        let mut reg = class.first_fit(self.first);
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
            if !self.registers.values.contains_all(&RegSet::of(class, reg)) {
                cost = u16::MAX / 2;
            }
            if cost < best.map_or(u16::MAX / 2, |b| b.1) {
                best = Some((reg, cost));
            }
            reg = class.first_fit(reg + 1);
        }
        let Some((reg, _)) = best else { return false };
        let mut out: Vec<Val> = (reg..reg + n).flat_map(|h| self.here(h)).collect();
        out.sort_unstable();
        out.dedup();
        let before = (self.owner, self.shared, self.free);
        for &v in &out {
            self.release(v);
        }
        // Nothing may go to the cleared place, nor over operands that are still to be read.
        let saved = (self.owner, self.free);
        let cleared = usize::from(reg)..usize::from(reg + n);
        for (h, (owner, pinned)) in self.owner.iter_mut().zip(pinned).enumerate() {
            if pinned || cleared.contains(&h) {
                *owner = d.into();
                self.free.remove(h as u16);
            }
        }
        let mut to = Vec::with_capacity(out.len());
        for &v in &out {
            let Some(place) = self.find(self.f.vals[v], 0) else {
                (self.owner, self.shared, self.free) = before;
                return false;
            };
            for h in place..place + u16::from(self.f.vals[v].units) {
                self.owner[usize::from(h)] = v.into();
                self.free.remove(h);
            }
            to.push(place);
        }
        (self.owner, self.free) = saved;
        for (&v, &place) in out.iter().zip(&to) {
            self.relocate(v, place, moved);
            self.take(v, place);
        }
        self.take(d, reg);
        true
    }

    /// Moves everything: aligned values to the bottom, others to the top, and in the middle the
    /// results over the dying operands.
    pub(super) fn lay_out(&mut self, i: Ins, kills: &[bool], moved: &mut Vec<Copy>) -> Result<()> {
        let f = self.f;
        let dsts = f.dsts(i);
        let live = self.clear_masked(|v| !dsts.contains(&v));
        let dying: Vec<Val> = self.dying(i, kills).filter(|&v| !f.vals[v].unmasked).collect();
        let mut free = self.registers.values;
        let mut new: Vec<(Val, u16)> = Vec::with_capacity(live.len() + dying.len());
        for vals in [&live, &dying] {
            // The largest alignment first.
            let begin = new.len();
            new.extend(vals.iter().map(|&v| (v, NONE)));
            let mut order: Vec<usize> = (begin..new.len()).collect();
            order.sort_by_key(|&k| Reverse(f.vals[new[k].0].align));
            for k in order {
                new[k].1 = pack(&mut free, f.vals[new[k].0]).ok_or_else(|| self.full())?;
            }
        }
        // All at once: the moves so far are only renamed when their targets are known.
        let olds: Vec<u16> = new.iter().map(|&(v, _)| self.loc[v]).collect();
        let mut all = Vec::with_capacity(new.len());
        for (&(v, to), &old) in new.iter().zip(&olds) {
            if self.undefined[v] {
                continue;
            }
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
        let mut order: Vec<Val> = dsts.iter().copied().filter(|&d| !f.vals[d].unmasked).collect();
        order.sort_by_key(|&v| Reverse(f.vals[v].align));
        for v in order {
            match self.find(f.vals[v], 0) {
                Some(reg) => self.take(v, reg),
                None => return Err(self.full()),
            }
        }
        Ok(())
    }

    /// Frees the registers of masked values and returns those that `keep` accepts.
    fn clear_masked(&mut self, keep: impl Fn(Val) -> bool) -> Vec<Val> {
        let f = self.f;
        let mut live = self.live_values();
        self.clear();
        for &v in live.iter().filter(|&&v| f.vals[v].unmasked) {
            self.take(v, self.loc[v]);
        }
        live.retain(|&v| !f.vals[v].unmasked && keep(v));
        live
    }

    /// The values in registers.
    pub(super) fn live_values(&self) -> Vec<Val> {
        let all = self.owner.iter().chain(&self.shared);
        let mut live: Vec<Val> = all.filter_map(|o| o.expand()).collect();
        live.sort_unstable();
        live.dedup();
        live
    }
}

/// Takes registers of a class out of a set: aligned ones from the bottom, others from the top.
fn pack(free: &mut RegSet, class: RegClass) -> Option<u16> {
    let reg = if class.align > 1 { free.find(class) } else { free.places(class).next_back() }?;
    *free = free.without(RegSet::of(class, reg));
    Some(reg)
}
