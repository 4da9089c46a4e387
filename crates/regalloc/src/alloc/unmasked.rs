//! Registers of values that are not masked ([`crate::RegClass::unmasked`]).
//!
//! An instruction that ignores the execution mask writes the registers of lanes that are not active: of
//! those that wait for the else block, or that left a loop which others still execute. So these
//! values have registers of their own, and two of them share registers only where neither is alive
//! along the physical edges ([`Liveness::physical`]) while the other is written. Each keeps its
//! registers: linear scan over the blocks in layout order. A phi has the registers of those of its
//! sources that are never alive together with it.

use crate::class::RegSet;
use crate::error::{CheckError, Error, Result};
use crate::function::{Function, Op, Val};
use crate::liveness::{LiveSet, Liveness};
use crate::target::{Constraint, Overlap, Target};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, SecondaryMap};
use rustc_hash::FxHashMap;

/// Maximum number of values that share registers.
const MAX_SHARED: usize = 64;

/// The places of a value: the first and the last one. An instruction reads at one place and writes at the next.
#[derive(Clone, Copy, Debug)]
struct Range {
    start: u32,
    end: u32,
    val: Val,
}

/// Phis with the sources that share their registers, as a forest: the parent of each value.
struct Shared(SecondaryMap<Val, PackedOption<Val>>);

impl Shared {
    /// The value that stands for all that share its registers.
    fn root(&self, mut v: Val) -> Val {
        while let Some(parent) = self.0[v].expand() {
            v = parent;
        }
        v
    }
}

/// The phis that are not masked: result and sources.
fn phis<I>(f: &Function<I>) -> impl Iterator<Item = (Val, &[Val])> {
    let insts = f.blocks.values().flat_map(|b| &b.insts);
    let phis = insts.filter(|&&i| matches!(f.insts[i].op, Op::Phi));
    phis.map(|&i| (f.dsts(i)[0], f.srcs(i))).filter(|(d, _)| f.vals[*d].unmasked)
}

/// Pairs of phis and their sources of which one is written while the other is alive, ascending.
fn conflicts<T: Target>(f: &Function<T::Inst>, live: &Liveness) -> Vec<(Val, Val)> {
    let mut related: SecondaryMap<Val, bool> = SecondaryMap::with_capacity(f.vals.len());
    for (d, srcs) in phis(f) {
        related[d] = true;
        srcs.iter().for_each(|&s| related[s] = true);
    }
    let mut pairs = Vec::new();
    let pair = |a: Val, b: Val| (a.min(b), a.max(b));
    let mut set = LiveSet::new(f);
    for (b, data) in f.blocks.iter() {
        let mut now = live.physical_outs(f, b);
        now.retain(|&v| related[v]);
        // Phis of the next block are written where this one ends.
        for &next in &data.succs {
            let Some(n) = f.blocks[next].preds.iter().position(|&p| p == b) else { continue };
            let insts = f.blocks[next].insts.iter();
            for &i in insts.take_while(|&&i| matches!(f.insts[i].op, Op::Phi)) {
                let (d, s) = (f.dsts(i)[0], f.srcs(i)[n]);
                let others = now.iter().filter(|&&v| related[d] && v != d && v != s);
                pairs.extend(others.map(|&v| pair(d, v)));
            }
        }
        set.fill(f, &now);
        for &i in data.insts.iter().rev() {
            for &d in f.dsts(i).iter().filter(|&&d| related[d]) {
                if set.remove(d) {
                    now.retain(|&v| v != d);
                }
                pairs.extend(now.iter().map(|&v| pair(d, v)));
            }
            if matches!(f.insts[i].op, Op::Phi) {
                continue;
            }
            for (n, &s) in f.srcs(i).iter().enumerate().filter(|(_, s)| related[**s]) {
                if set.insert(s) {
                    now.push(s);
                }
                // Results that are written before all sources are read.
                let Some(inst) = f.insts[i].op.inst().filter(|_| T::CONSTRAINED) else { continue };
                let early = |&(k, d): &(usize, &Val)| {
                    let tied = T::result(inst, k);
                    let other = matches!(tied, Constraint::Tied(source) if source != n);
                    related[*d] && (other || T::overlap(inst, k, n) != Overlap::Any)
                };
                let dsts = f.dsts(i).iter().enumerate().filter(early);
                pairs.extend(dsts.map(|(_, &d)| pair(d, s)));
            }
        }
        // All phis of a block are written at once.
        let heads = data.insts.iter().take_while(|&&i| matches!(f.insts[i].op, Op::Phi));
        let heads: Vec<Val> = heads.map(|&i| f.dsts(i)[0]).filter(|&d| related[d]).collect();
        for (n, &a) in heads.iter().enumerate() {
            pairs.extend(heads[n + 1..].iter().map(|&b| pair(a, b)));
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// Gives phis and their sources common registers where no member of one group is written while one of the other is alive.
fn share<T: Target>(f: &Function<T::Inst>, live: &Liveness) -> Shared {
    let mut shared = Shared(SecondaryMap::new());
    let conflicts = conflicts::<T>(f, live);
    let mut groups: FxHashMap<Val, Vec<Val>> = FxHashMap::default();
    for (d, srcs) in phis(f) {
        for &s in srcs {
            let (a, b) = (shared.root(d), shared.root(s));
            if a == b || f.vals[a] != f.vals[b] {
                continue;
            }
            let of = |v: Val| groups.get(&v).cloned().unwrap_or_else(|| vec![v]);
            let (ours, theirs) = (of(a), of(b));
            let meets = |&x: &Val| {
                theirs.iter().any(|&y| conflicts.binary_search(&(x.min(y), x.max(y))).is_ok())
            };
            if ours.len() + theirs.len() <= MAX_SHARED && !ours.iter().any(meets) {
                shared.0[b] = a.into();
                groups.insert(a, [ours, theirs].concat());
            }
        }
    }
    shared
}

/// The ranges of the values that are not masked, by their starts; those that share registers are one.
fn ranges<T: Target>(f: &Function<T::Inst>) -> Result<(Vec<Range>, Shared)> {
    let live = Liveness::physical(f)?;
    let shared = share::<T>(f, &live);
    let mut at: SecondaryMap<Val, (u32, u32)> = SecondaryMap::with_default((u32::MAX, 0));
    let mut place = 0;
    let mut ends = Vec::with_capacity(f.blocks.len());
    for b in f.blocks.keys() {
        place += 2 * (f.blocks[b].insts.len() as u32 + 1);
        ends.push(place);
    }
    let mut reach = |v: Val, place: u32| {
        if f.vals[v].unmasked {
            let v = shared.root(v);
            at[v] = (at[v].0.min(place), at[v].1.max(place));
        }
    };
    for (b, data) in f.blocks.iter() {
        let end = ends[b.index()];
        let start = end - 2 * (data.insts.len() as u32 + 1);
        for &v in &live.ins[b.index()] {
            reach(v, start);
        }
        for v in live.physical_outs(f, b) {
            reach(v, end);
        }
        for (k, &i) in (1u32..).zip(&data.insts) {
            if matches!(f.insts[i].op, Op::Phi) {
                // Copied there where the predecessors end.
                reach(f.dsts(i)[0], start);
                for (&s, p) in f.srcs(i).iter().zip(&data.preds) {
                    reach(f.dsts(i)[0], ends[p.index()]);
                    reach(s, ends[p.index()]);
                }
                continue;
            }
            let (dsts, srcs) = (f.dsts(i), f.srcs(i));
            for (n, &d) in dsts.iter().enumerate() {
                // A tied result begins with a copy of its source.
                let tied = |inst| matches!(T::result(inst, n), Constraint::Tied(_));
                let early = T::CONSTRAINED && f.insts[i].op.inst().is_some_and(tied);
                reach(d, start + 2 * k + u32::from(!early));
            }
            for (n, &s) in srcs.iter().enumerate() {
                let overlaps =
                    |inst| (0..dsts.len()).all(|d| T::overlap(inst, d, n) == Overlap::Any);
                let early = T::CONSTRAINED && !f.insts[i].op.inst().is_none_or(overlaps);
                reach(s, start + 2 * k + u32::from(early));
            }
        }
    }
    let all = f.vals.keys().filter(|&v| f.vals[v].unmasked && at[v].0 != u32::MAX);
    let mut out: Vec<Range> =
        all.map(|val| Range { start: at[val].0, end: at[val].1, val }).collect();
    out.sort_unstable_by_key(|r| (r.start, r.val));
    Ok((out, shared))
}

/// Units that the values which are not masked need, apart from what alignment wastes.
///
/// # Errors
/// When liveness would be too large.
pub fn pressure<T: Target>(f: &Function<T::Inst>) -> Result<u32> {
    let mut changes: Vec<(u32, i32)> = Vec::new();
    for r in ranges::<T>(f)?.0 {
        let units = i32::from(f.vals[r.val].units);
        changes.extend([(r.start, units), (r.end + 1, -units)]);
    }
    changes.sort_unstable();
    let (mut now, mut most) = (0, 0);
    for (_, units) in changes {
        now += units;
        most = most.max(now);
    }
    Ok(most as u32)
}

/// Registers of the values that are not masked.
pub(super) fn assign<T: Target>(
    f: &Function<T::Inst>,
    set: &RegSet,
) -> Result<SecondaryMap<Val, u16>> {
    let mut regs = SecondaryMap::with_default(super::NONE);
    let mut free = *set;
    let mut active: Vec<Range> = Vec::new();
    let (ranges, shared) = ranges::<T>(f)?;
    for r in ranges {
        active.retain(|old| {
            let ends = old.end < r.start;
            if ends {
                free.add(RegSet::of(f.vals[old.val], regs[old.val]));
            }
            !ends
        });
        let class = f.vals[r.val];
        let reg = free.find(class).ok_or_else(|| Error::Unmasked { limit: set.len() })?;
        free = free.without(RegSet::of(class, reg));
        regs[r.val] = reg;
        active.push(r);
    }
    for v in f.vals.keys().filter(|&v| f.vals[v].unmasked) {
        regs[v] = regs[shared.root(v)];
    }
    Ok(regs)
}

/// Checks that no value that is not masked is overwritten along the physical edges.
pub(super) fn check<I>(f: &Function<I>, regs: &SecondaryMap<Val, u16>) -> Result<()> {
    let live = Liveness::physical(f)?;
    let mut set = LiveSet::new(f);
    for b in f.blocks.keys() {
        let mut now: Vec<Val> =
            live.physical_outs(f, b).into_iter().filter(|&v| f.vals[v].unmasked).collect();
        set.fill(f, &now);
        for &i in f.blocks[b].insts.iter().rev() {
            for &d in f.dsts(i).iter().filter(|&&d| f.vals[d].unmasked) {
                set.remove(d);
                now.retain(|&v| v != d);
                let written = RegSet::of(f.vals[d], regs[d]);
                let hit = now.iter().find(|&&v| RegSet::of(f.vals[v], regs[v]).meets(&written));
                if let Some(&a) = hit {
                    return Err(CheckError::Unmasked { block: b, a, b: d }.into());
                }
            }
            if matches!(f.insts[i].op, Op::Phi) {
                continue;
            }
            for &s in f.srcs(i).iter().filter(|&&s| f.vals[s].unmasked) {
                if set.insert(s) {
                    now.push(s);
                }
            }
        }
    }
    Ok(())
}
