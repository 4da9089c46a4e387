//! Groups loads and texture samples of a block, so that one wait serves several and their latencies
//! overlap.
//!
//! A load moves up to the previous one, with the arithmetic that its address needs, past
//! instructions that neither write memory nor are fixed in place for another reason. Since this
//! lengthens live ranges, it is done only while registers are plentiful.

use crate::function::Function;
use crate::machine::{Grouping, Machine};
use cranelift_entity::SecondaryMap;
use tepui_regalloc::{Effect, Ins, Op, Val};

/// Farthest that a load moves, in instructions.
const MAX_DISTANCE: usize = 24;
/// Maximum number of instructions of an address that move with it.
const CHAIN: usize = 6;
fn grouping<M: Machine>(op: &Op<M::Inst>) -> Grouping {
    match op {
        Op::Isa(inst) => M::grouping(inst),
        _ => Grouping::None,
    }
}

fn is_load<M: Machine>(op: &Op<M::Inst>) -> bool {
    grouping::<M>(op) != Grouping::None
}

/// Runs the pass; `pressure` is the register pressure in units, and up to `limit` of them do not lower occupancy. Returns whether
/// anything moved.
pub fn run<M: Machine>(f: &mut Function<M>, pressure: u32, limit: u32) -> bool {
    let mut alive = pressure;
    let loads = f.insts.values().filter(|i| is_load::<M>(&i.op)).count();
    if alive + 8 > limit || loads < 2 {
        return false;
    }
    let mut changed = false;
    // Position of each value's definition in the block at hand, counted from 1.
    let mut at: SecondaryMap<Val, (u32, u32)> = SecondaryMap::with_capacity(f.vals.len());
    for b in f.blocks.keys() {
        let insts = std::mem::take(&mut f.blocks[b].insts);
        let stamp = b.as_u32() + 1;
        let mut out: Vec<Ins> = Vec::with_capacity(insts.len());
        let mut last_load: Option<usize> = None;
        // Lower bound for moves.
        let mut fence = 0;
        for i in insts {
            let op = f.insts[i].op;
            let mut moved = false;
            if is_load::<M>(&op)
                && let Some(q) = last_load
                && q >= fence
                && out.len() - q <= MAX_DISTANCE
                && out.len() > q + 1
                && let Some(chain) = chain::<M>(f, i, &out, q, stamp, &at)
            {
                let cost: u32 = f.dsts(i).iter().map(|&d| u32::from(f.vals[d].units)).sum();
                let most = match grouping::<M>(&op) {
                    Grouping::Sample => limit.min(M::MAX_SAMPLE_PRESSURE),
                    _ => limit,
                };
                if alive + cost <= most {
                    alive += cost;
                    // Move the chain and the load to after the previous load.
                    let picked: Vec<Ins> = chain.iter().map(|&k| out[k]).collect();
                    for &k in chain.iter().rev() {
                        out.remove(k);
                    }
                    let mut place = q + 1;
                    for p in picked.into_iter().chain([i]) {
                        out.insert(place, p);
                        place += 1;
                    }
                    last_load = Some(place - 1);
                    for (k, &x) in out.iter().enumerate().skip(q) {
                        for &d in f.insts[x].dsts.as_slice(&f.pool) {
                            at[d] = (stamp, k as u32);
                        }
                    }
                    (moved, changed) = (true, true);
                }
            }
            if !moved {
                let k = out.len();
                for &d in f.dsts(i) {
                    at[d] = (stamp, k as u32);
                }
                if is_load::<M>(&op) {
                    last_load = Some(k);
                } else if !matches!(op.effect::<M>(), Effect::Pure | Effect::Read) {
                    fence = k + 1;
                }
                out.push(i);
            }
        }
        f.blocks[b].insts = out;
    }
    changed
}

/// Positions after `q`, ascending, of the instructions that the load depends on; `None` if they cannot
/// move.
fn chain<M: Machine>(
    f: &Function<M>,
    load: Ins,
    out: &[Ins],
    q: usize,
    stamp: u32,
    at: &SecondaryMap<Val, (u32, u32)>,
) -> Option<Vec<usize>> {
    let mut need: Vec<usize> = Vec::new();
    let mut work: Vec<Ins> = vec![load];
    while let Some(i) = work.pop() {
        for &s in f.srcs(i) {
            let (b, k) = at[s];
            if b != stamp {
                continue;
            }
            let d = out[k as usize];
            // An address that depends on previous loads must be waited for, so nothing is gained.
            if is_load::<M>(&f.insts[d].op) && k as usize + CHAIN > q {
                return None;
            }
            if k as usize <= q || need.contains(&(k as usize)) {
                continue;
            }
            if f.insts[d].op.effect::<M>() != Effect::Pure || need.len() == CHAIN {
                return None;
            }
            need.push(k as usize);
            work.push(d);
        }
    }
    need.sort_unstable();
    Some(need)
}
