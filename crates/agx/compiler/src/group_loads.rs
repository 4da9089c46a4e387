//! Groups loads and texture samples of a block, so that one wait serves several and their latencies
//! overlap.
//!
//! A load moves up to the previous one, with the arithmetic that its address needs, past
//! instructions that neither write memory nor are fixed in place for another reason. Since this
//! lengthens live ranges, it is done only while registers are plentiful.

use crate::mir::{Effect, Function, Ins, Op, Val, effect};
use cranelift_entity::SecondaryMap;
use tepui_agx_isa::Inst;

/// Farthest that a load moves, in instructions.
const MAX_DISTANCE: usize = 24;
/// Maximum number of instructions of an address that move with it.
const CHAIN: usize = 6;
/// Register pressure above which texture samples are not moved: a few in flight keep the texture unit
/// busy.
const MAX_SAMPLE_PRESSURE: u32 = 48;

fn is_texture(op: &Op) -> bool {
    matches!(op, Op::Isa(Inst::TextureLoad(_) | Inst::TextureSample(_)))
}

fn is_load(op: &Op) -> bool {
    matches!(op, Op::Isa(Inst::DeviceLoad(_) | Inst::StackLoad(_))) || is_texture(op)
}

/// Runs the pass; `pressure` is the register pressure in half-registers, and up to `limit` of them do
/// not lower occupancy. Returns whether anything moved.
pub fn run(f: &mut Function, pressure: u32, limit: u32) -> bool {
    let mut alive = pressure;
    let loads = f.insts.values().filter(|i| is_load(&i.op)).count();
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
            if is_load(&op)
                && let Some(q) = last_load
                && q >= fence
                && out.len() - q <= MAX_DISTANCE
                && out.len() > q + 1
                && let Some(chain) = chain(f, i, &out, q, stamp, &at)
            {
                let cost: u32 = f.dsts(i).iter().map(|&d| u32::from(f.vals[d].units)).sum();
                let most = if is_texture(&op) { limit.min(MAX_SAMPLE_PRESSURE) } else { limit };
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
                if is_load(&op) {
                    last_load = Some(k);
                } else if !matches!(effect(&op), Effect::Pure | Effect::Read) {
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
fn chain(
    f: &Function,
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
            if is_load(&f.insts[d].op) && k as usize + CHAIN > q {
                return None;
            }
            if k as usize <= q || need.contains(&(k as usize)) {
                continue;
            }
            if effect(&f.insts[d].op) != Effect::Pure || need.len() == CHAIN {
                return None;
            }
            need.push(k as usize);
            work.push(d);
        }
    }
    need.sort_unstable();
    Some(need)
}
