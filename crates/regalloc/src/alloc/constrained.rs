//! Instructions that demand registers: fixed and tied operands, clobbered registers, results that must not overlap sources.
//!
//! A source with a fixed register is copied there and lives on where it is. Values that the
//! instruction would overwrite move away before it, all in one parallel copy: first those that are
//! in the way, and if what is free is not consecutive then, all values.

use super::copies::Copy;
use super::{Alloc, NONE};
use crate::class::{RegClass, RegSet};
use crate::code::Step;
use crate::error::Result;
use crate::function::{Block, Ctl, Ins, Op, Val};
use crate::target::{Constraint, Overlap, Target};
use cranelift_entity::EntityRef;
use std::cmp::Reverse;

/// Whether an instruction demands registers.
pub(super) fn has_constraints<T: Target>(inst: &T::Inst, results: usize, sources: usize) -> bool {
    !T::clobbers(inst).is_empty()
        || (0..sources).any(|k| T::source(inst, k) != Constraint::Any)
        || (0..results).any(|n| {
            T::result(inst, n) != Constraint::Any
                || (0..sources).any(|k| T::overlap(inst, n, k) != Overlap::Any)
        })
}

/// The demands of an instruction.
struct Demands<'a, T: Target> {
    inst: &'a T::Inst,
    dsts: &'a [Val],
    srcs: &'a [Val],
    /// Whether each source ends here.
    kills: &'a [bool],
    /// The fixed register of each source.
    pins: Vec<Option<u16>>,
    /// Fixed registers of sources.
    before: RegSet,
    /// Fixed registers of results, and those that are clobbered.
    after: RegSet,
}

/// Registers for an instruction and for what is alive at it.
#[derive(Default)]
struct Placement {
    /// New registers of values that move before the instruction.
    moves: Vec<(Val, u16)>,
    writes: Vec<u16>,
    reads: Vec<u16>,
}

impl<'a, T: Target> Demands<'a, T> {
    fn new(inst: &'a T::Inst, classes: impl Fn(Val) -> RegClass, operands: Operands<'a>) -> Self {
        let (dsts, srcs, kills) = operands;
        let fixed = |c: Constraint| if let Constraint::Fixed(at) = c { Some(at) } else { None };
        let pins: Vec<_> = (0..srcs.len()).map(|k| fixed(T::source(inst, k))).collect();
        let mut before = RegSet::EMPTY;
        for (&s, pin) in srcs.iter().zip(&pins) {
            before.add(pin.map_or(RegSet::EMPTY, |at| RegSet::of(classes(s), at)));
        }
        let mut after = T::clobbers(inst);
        for (n, &d) in dsts.iter().enumerate() {
            let at = match T::result(inst, n) {
                Constraint::Fixed(at) => Some(at),
                Constraint::Tied(k) => pins[k],
                Constraint::Any => None,
            };
            after.add(at.map_or(RegSet::EMPTY, |at| RegSet::of(classes(d), at)));
        }
        Demands { inst, dsts, srcs, kills, pins, before, after }
    }

    /// Whether a value is a source that is in its fixed register already.
    fn is_there(&self, v: Val, reg: u16) -> bool {
        self.srcs.iter().zip(&self.pins).any(|(&s, &pin)| s == v && pin == Some(reg))
    }

    /// The sources that an instruction reads where a value is.
    fn reads_in_place(&self, v: Val) -> impl Iterator<Item = usize> + use<'_, 'a, T> {
        (0..self.srcs.len()).filter(move |&k| self.srcs[k] == v && self.pins[k].is_none())
    }

    /// Whether a result is tied to a value.
    fn is_tied(&self, v: Val) -> bool {
        let tied = |n| matches!(T::result(self.inst, n), Constraint::Tied(k) if self.srcs[k] == v);
        (0..self.dsts.len()).any(tied)
    }

    /// Registers that a source which ends here must not have: those of fixed results that must not overlap it, and all that
    /// the instruction writes if a result is tied to it.
    fn forbidden(&self, v: Val, class: impl Fn(Val) -> RegClass) -> RegSet {
        let mut set = self.before;
        for k in self.reads_in_place(v) {
            for (n, &d) in self.dsts.iter().enumerate() {
                match T::result(self.inst, n) {
                    Constraint::Fixed(at) if T::overlap(self.inst, n, k) != Overlap::Any => {
                        set.add(RegSet::of(class(d), at));
                    }
                    Constraint::Tied(tied) if tied == k => set.add(self.after),
                    _ => {}
                }
            }
        }
        set
    }
}

/// Results, sources, and whether each source ends with the instruction.
type Operands<'a> = (&'a [Val], &'a [Val], &'a [bool]);

impl<T: Target> Alloc<'_, T> {
    /// Allocates the registers of an instruction with constraints; sources that end with it are
    /// released already, and results that are not masked have their registers.
    pub(super) fn constrained(&mut self, b: Block, i: Ins, kills: &[bool]) -> Result<()> {
        let f = self.f;
        let (dsts, srcs) = (f.dsts(i), f.srcs(i));
        let Some(&(mut inst)) = f.insts[i].op.inst() else { return Ok(()) };
        let before = self.out[b.index()].steps.len();
        let demands = Demands::<T>::new(&inst, |v| f.vals[v], (dsts, srcs, kills));
        let placement = self.satisfy(&demands, false).or_else(|| self.satisfy(&demands, true));
        let Some(Placement { moves, writes, reads }) = placement else { return Err(self.full()) };
        let units = |v: Val| u16::from(f.vals[v].units);
        let mut copies: Vec<Copy> =
            moves.iter().filter_map(|&(v, to)| self.copy_of(v, to)).collect();
        for (&s, &to) in srcs.iter().zip(&reads) {
            let at = moves.iter().find(|m| m.0 == s).map_or(self.loc[s], |m| m.1);
            if to != at {
                copies.extend(self.copy_of(s, to));
            }
        }
        self.copies(b, i, &copies)?;
        let live: Vec<bool> = moves.iter().map(|&(v, _)| self.is_live(v)).collect();
        for (&(v, _), _) in moves.iter().zip(&live).filter(|(_, live)| **live) {
            self.release(v);
        }
        for (&(v, to), live) in moves.iter().zip(live) {
            match live {
                true => self.take(v, to),
                false => self.loc[v] = to,
            }
        }
        for (&d, &reg) in dsts.iter().zip(&writes).filter(|(d, _)| !f.vals[**d].unmasked) {
            self.take(d, reg);
        }
        let used = demands.after.union(demands.before).hull().end;
        self.highest = self.highest.max(used);
        for (&s, &reg) in srcs.iter().zip(&reads) {
            self.highest = self.highest.max(reg + units(s));
        }
        let (mut w, mut r) = (writes.iter(), reads.iter());
        T::assign(&mut inst, |written| {
            if written { w.next() } else { r.next() }.copied().unwrap_or(NONE)
        });
        let is_if = matches!(f.insts[i].op, Op::Ctl(_));
        self.step(b, if is_if { Step::Ctl(Ctl::If(inst)) } else { Step::Inst(inst) });
        if self.noted {
            let regs = writes.into_iter().chain(reads).collect();
            self.assignment.regs.push((i, regs, self.out[b.index()].steps.len() - before));
        }
        for &d in dsts {
            if !self.used[d] {
                self.release(d);
            }
        }
        Ok(())
    }

    /// Whether a value has registers.
    fn is_live(&self, v: Val) -> bool {
        let h = usize::from(self.loc[v]);
        self.owner.get(h) == Some(&v.into()) || self.shared.get(h) == Some(&v.into())
    }

    /// Registers that an instruction takes; `all` values may move for it, or only those in the way.
    fn satisfy(&self, q: &Demands<'_, T>, all: bool) -> Option<Placement> {
        let class = |v: Val| self.f.vals[v];
        let here = |v: Val| RegSet::of(class(v), self.loc[v]);
        let (mut stay, mut away) = (RegSet::EMPTY, Vec::new());
        for v in self.live_values().into_iter().filter(|v| !q.dsts.contains(v)) {
            let there = q.is_there(v, self.loc[v]);
            let is_in_the_way = here(v).meets(&q.after) || !there && here(v).meets(&q.before);
            match (is_in_the_way || all, class(v).unmasked) {
                (true, false) => away.push(v),
                (_, true) if is_in_the_way => return None,
                _ => stay.add(here(v)),
            }
        }
        // Sources that end here and are read where they are.
        let (mut reading, mut move_on) = (RegSet::EMPTY, Vec::new());
        let ends = |v: &Val| q.srcs.iter().zip(q.kills).any(|(s, kill)| s == v && *kill);
        let mut ending: Vec<Val> = q.srcs.iter().copied().filter(ends).collect();
        ending.sort_unstable();
        ending.dedup();
        ending.retain(|&v| q.reads_in_place(v).next().is_some());
        for v in ending {
            let mut forbidden = q.forbidden(v, class);
            if q.is_tied(v) && !class(v).unmasked {
                // Nor registers that values do not take.
                forbidden.add(here(v).without(self.registers.values));
            }
            let there = q.is_there(v, self.loc[v]);
            let is_bad =
                here(v).meets(&forbidden.without(if there { here(v) } else { RegSet::EMPTY }));
            match (is_bad || all, class(v).unmasked) {
                (true, false) => move_on.push(v),
                (_, true) if is_bad => return None,
                _ => reading.add(here(v)),
            }
        }
        let mut p = Placement::default();
        let mut live = stay;
        let free = self.registers.values.without(q.before);
        away.sort_by_key(|&v| Reverse((class(v).align, class(v).units)));
        for v in away {
            let reg = free.without(live).without(q.after).without(reading).find(class(v))?;
            live.add(RegSet::of(class(v), reg));
            p.moves.push((v, reg));
        }
        move_on.sort_by_key(|&v| Reverse((class(v).align, class(v).units)));
        for v in move_on {
            let taken = live.union(reading).union(q.forbidden(v, class));
            let reg = free.without(taken).find(class(v))?;
            reading.add(RegSet::of(class(v), reg));
            p.moves.push((v, reg));
        }
        let moved =
            |p: &Placement, v: Val| p.moves.iter().find(|m| m.0 == v).map_or(self.loc[v], |m| m.1);
        let in_place = |(&s, &pin): (&Val, &Option<u16>)| pin.unwrap_or_else(|| moved(&p, s));
        p.reads = q.srcs.iter().zip(&q.pins).map(in_place).collect();
        self.results(q, &mut p, live, reading)?;
        Some(p)
    }

    /// Registers of the results. `live` are those of values that live on, `reading` those of
    /// sources that end.
    fn results(
        &self,
        q: &Demands<'_, T>,
        p: &mut Placement,
        live: RegSet,
        reading: RegSet,
    ) -> Option<()> {
        let class = |v: Val| self.f.vals[v];
        let mut taken = live.union(q.after);
        p.writes = vec![NONE; q.dsts.len()];
        for (n, &d) in q.dsts.iter().enumerate() {
            p.writes[n] = match T::result(q.inst, n) {
                Constraint::Tied(k) if class(d).unmasked => {
                    p.reads[k] = self.unmasked[d];
                    p.reads[k]
                }
                _ if class(d).unmasked => self.unmasked[d],
                Constraint::Fixed(at) => at,
                Constraint::Tied(k) if let Some(at) = q.pins[k] => at,
                Constraint::Tied(k) => {
                    let at = RegSet::of(class(d), p.reads[k]);
                    let mut others =
                        q.srcs.iter().zip(&p.reads).enumerate().filter(|(j, _)| *j != k);
                    let is_read = others.any(|(j, (&s, &reg))| {
                        T::overlap(q.inst, n, j) != Overlap::Any
                            && RegSet::of(class(s), reg).meets(&at)
                    });
                    if is_read || !q.kills_value(k) || at.meets(&taken) {
                        let all = taken.union(q.before).union(reading);
                        p.reads[k] = self.registers.values.without(all).find(class(d))?;
                    }
                    taken.add(RegSet::of(class(d), p.reads[k]));
                    p.reads[k]
                }
                Constraint::Any => continue,
            };
        }
        for (n, &d) in q.dsts.iter().enumerate() {
            if p.writes[n] != NONE {
                continue;
            }
            let mut avoid = taken;
            let mut exact = Vec::new();
            for (k, (&s, &reg)) in q.srcs.iter().zip(&p.reads).enumerate() {
                let at = RegSet::of(class(s), reg);
                match T::overlap(q.inst, n, k) {
                    Overlap::Any => {}
                    Overlap::Exact => exact.push(at),
                    Overlap::None => avoid.add(at),
                }
            }
            let allowed = |reg: &u16| {
                let at = RegSet::of(class(d), *reg);
                !at.meets(&avoid) && exact.iter().all(|e| *e == at || !e.meets(&at))
            };
            let free = self.registers.values.without(avoid);
            let hint = self.saving(d).filter(|&reg| {
                class(d).fits(reg) && free.contains_all(&RegSet::of(class(d), reg)) && allowed(&reg)
            });
            p.writes[n] = hint.or_else(|| free.places(class(d)).find(allowed))?;
            taken.add(RegSet::of(class(d), p.writes[n]));
        }
        Some(())
    }
}

impl<T: Target> Demands<'_, T> {
    /// Whether the value of a source ends here.
    fn kills_value(&self, k: usize) -> bool {
        self.srcs.iter().zip(self.kills).any(|(s, kill)| *s == self.srcs[k] && *kill)
    }
}
