//! Registers of values that are not masked ([`crate::RegClass::unmasked`]).
//!
//! An instruction that ignores the execution mask writes the registers of lanes that are not active: of
//! those that wait for the else block, or that left a loop which others still execute. So these
//! values have registers of their own, and two of them share registers only where neither is alive
//! along the physical edges ([`Liveness::physical`]) while the other is written. Each keeps its
//! registers: linear scan over the blocks in layout order.

use crate::class::RegSet;
use crate::error::{CheckError, Error, Result};
use crate::function::{Block, Function, Op, Val};
use crate::liveness::{LiveSet, Liveness};
use crate::target::{Constraint, Overlap, Target};
use cranelift_entity::{EntityRef, SecondaryMap};

/// The places of a value: the first and the last one. An instruction reads at one place and writes at the next.
#[derive(Clone, Copy, Debug)]
struct Range {
    start: u32,
    end: u32,
    val: Val,
}

/// The ranges of the values that are not masked, by their starts.
fn ranges<T: Target>(f: &Function<T::Inst>) -> Result<Vec<Range>> {
    let live = Liveness::physical(f)?;
    let mut at: SecondaryMap<Val, (u32, u32)> = SecondaryMap::with_default((u32::MAX, 0));
    let mut place = 0;
    let mut ends = Vec::with_capacity(f.blocks.len());
    for b in f.blocks.keys() {
        place += 2 * (f.blocks[b].insts.len() as u32 + 1);
        ends.push(place);
    }
    let mut reach = |v: Val, place: u32| {
        if f.vals[v].unmasked {
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
    Ok(out)
}

/// Units that the values which are not masked need, apart from what alignment wastes.
///
/// # Errors
/// When liveness would be too large.
pub fn pressure<T: Target>(f: &Function<T::Inst>) -> Result<u32> {
    let mut changes: Vec<(u32, i32)> = Vec::new();
    for r in ranges::<T>(f)? {
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
    for r in ranges::<T>(f)? {
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

/// The block that executes before another for lanes that are not active in it.
pub(crate) fn physical_pred(b: Block) -> Option<Block> {
    b.index().checked_sub(1).map(Block::new)
}
