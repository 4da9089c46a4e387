//! The choice of registers: those that save copies, then the first free ones.

use super::{Alloc, CHAIN, NONE};
use crate::class::{RegClass, RegSet, UNITS};
use crate::function::{Ins, Val};
use crate::target::Target;

/// Registers are taken in turns while one in this many is free: vectors of messages need consecutive ones.
const MIN_FREE_IN_TURNS: u32 = 4;

/// The first unit of a set where a class of one unit may be.
fn first_fitting(free: &RegSet, class: RegClass) -> Option<u16> {
    let mut reg = free.next(0)?;
    while !class.fits(reg) {
        reg = free.next(reg + 1)?;
    }
    Some(reg)
}

impl<T: Target> Alloc<'_, T> {
    pub(super) fn is_free(&self, reg: u16, units: u16) -> bool {
        reg >= self.first
            && reg + units <= self.limit
            && self.free.contains_all(&RegSet::range(reg..reg + units))
    }

    pub(super) fn suits(&self, reg: u16, class: RegClass) -> bool {
        reg != NONE && class.fits(reg) && self.is_free(reg, u16::from(class.units))
    }

    /// The first free place for what is used up to a position of the block. A single unit prefers one whose neighbour is taken.
    pub(super) fn find(&self, class: RegClass, until: u32) -> Option<u16> {
        let n = u16::from(class.units);
        if n == 1
            && T::SINGLES_KEEP_PREFERENCES
            && let Some(reg) = self.single(class, until)
        {
            return Some(reg);
        }
        if n == 1 {
            let alone = self.free.without(self.free.other_halves());
            return first_fitting(&alone, class).or_else(|| first_fitting(&self.free, class));
        }
        // Registers of exports are kept free where possible, and those that save others a copy.
        let kept = RegSet::range(self.kept.clone());
        let is_preferred = |h: u16| {
            let next = self.preferences.get(self.next_preference[usize::from(h)] as usize);
            next.is_some_and(|next| next.0 < until)
        };
        let others = self.free.without(kept);
        if self.registers.in_turns
            && let Some(reg) = self.in_turn(others, class, is_preferred)
        {
            return Some(reg);
        }
        let end = self.highest.max(self.kept.end);
        if !self.preferences.is_empty()
            && let Some(reg) = self.first_free(others, class, end, is_preferred)
        {
            return Some(reg);
        }
        if !kept.is_empty()
            && let Some(reg) = self.first_free(others, class, end, |_| false)
        {
            return Some(reg);
        }
        self.first_free(self.free, class, self.limit, |_| false)
    }

    /// The first free unit that no value of the block wants up to a position of it; one whose neighbour is taken comes first.
    fn single(&self, class: RegClass, until: u32) -> Option<u16> {
        let is_preferred = |h: u16| {
            let next = self.preferences.get(self.next_preference[usize::from(h)] as usize);
            next.is_some_and(|next| next.0 < until)
        };
        let free = self.free.without(RegSet::range(self.kept.clone()));
        let alone = free.without(free.other_halves());
        let places = [alone, free];
        places.into_iter().find_map(|free| {
            let mut at = free.next(0);
            while let Some(h) = at.filter(|&h| !class.fits(h) || is_preferred(h)) {
                at = free.next(h + 1);
            }
            at
        })
    }

    /// The first place after the one that was taken last, else before it, while a part of the registers is free.
    fn in_turn(&self, free: RegSet, class: RegClass, kept: impl Fn(u16) -> bool) -> Option<u16> {
        if free.len() < self.registers.values.len() / MIN_FREE_IN_TURNS {
            return None;
        }
        let before = RegSet::range(0..self.turn);
        let places = [free.without(before), free];
        places.into_iter().find_map(|free| self.first_free(free, class, self.limit, &kept))
    }

    /// Notes where values of a block would save a copy.
    pub(super) fn note_preferences(&mut self, insts: &[Ins]) {
        let f = self.f;
        if !self.preferences.is_empty() {
            self.preferences.clear();
            self.next_preference = [u32::MAX; UNITS];
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
                    self.preferred[v] = reg;
                    for h in reg..reg + units {
                        let next = &mut self.next_preference[usize::from(h)];
                        self.preferences.push((at as u32, *next));
                        *next = self.preferences.len() as u32 - 1;
                    }
                }
            }
        }
    }

    /// The first place in a set of free units, before `end` and without the units that are kept.
    fn first_free(
        &self,
        free: RegSet,
        class: RegClass,
        end: u16,
        kept: impl Fn(u16) -> bool,
    ) -> Option<u16> {
        let n = u16::from(class.units);
        let taken = free.complement();
        let mut reg = class.first_fit(self.first);
        while reg + n <= end {
            let blocked = match taken.next(reg) {
                Some(h) if h < reg + n => free.next(h + 1)?,
                _ => match (reg..reg + n).rev().find(|&h| kept(h)) {
                    None => return Some(reg),
                    Some(h) => h + 1,
                },
            };
            reg = class.first_fit(blocked);
        }
        None
    }

    /// Register in which a value saves a copy: that of the phi or vector that it goes to, directly or through others.
    pub(super) fn hinted(&self, v: Val) -> Option<u16> {
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

    /// Register in which a value saves a copy, or that of another value that goes to the same phi.
    pub(super) fn saving(&self, v: Val) -> Option<u16> {
        self.hinted(v).or_else(|| {
            let phi = self.phis[self.into[v]?.0].expand()?;
            let others = self.f.srcs(phi).iter().filter(|&&s| s != v);
            others.map(|&s| self.loc[s]).find(|&reg| reg != NONE)
        })
    }

    /// Whether `v` may share `reg` with `other`, which has the same bits there.
    pub(super) fn may_share(&self, v: Val, reg: u16, other: Val) -> bool {
        let class = self.f.vals[v];
        class.fits(reg)
            && (reg..reg + u16::from(class.units)).all(|h| {
                let h = usize::from(h);
                self.owner.get(h) == Some(&other.into()) && self.shared[h].is_none()
            })
    }

    /// The place for a joined vector that saves most copies: where many of its parts are already,
    /// or where it is exported from, if the rest is free. Parts that live on stay there with it.
    pub(super) fn around(&self, w: Val, parts: &[Val]) -> Option<u16> {
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
            let fits =
                base >= self.first && base.saturating_add(n) <= self.limit && class.fits(base);
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

    /// Registers in which a vector saves copies of the parts that it is split into, if they go to consecutive ones.
    pub(super) fn hinted_by_parts(&self, v: Val) -> Option<u16> {
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
    pub(super) fn choose(&mut self, v: Val) -> Option<u16> {
        let class = self.f.vals[v];
        let preferred = Some(self.preferred[v]).filter(|&reg| reg != NONE);
        let hints = [preferred.or_else(|| self.saving(v)), self.hinted_by_parts(v)];
        if let Some(reg) = hints.into_iter().flatten().find(|&reg| self.suits(reg, class)) {
            return Some(reg);
        }
        if let Some((w, at)) = self.into[v]
            && hints[0].is_none()
            && self.f.vals[w].units > class.units
        {
            // Registers for the whole vector, so that its other parts can follow.
            if let Some(base) = self.find(self.f.vals[w], u32::MAX)
                && class.fits(base + u16::from(at))
            {
                self.hint[w] = base;
                return Some(base + u16::from(at));
            }
        }
        self.find(class, self.last[v])
    }
}
