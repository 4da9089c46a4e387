//! Spilling: lowers register pressure to what the register file holds.
//!
//! Where most units are live, the values that are cheapest to spill are chosen: constants, special
//! registers and uniforms are rematerialised before each use; others are stored after their
//! definition and reloaded before their uses. Repeated until the pressure fits. The result is SSA:
//! each reload is a new value.
//!
//! Phis of a block are live together even if each is stored at once. Where they are too many, they
//! become reloads of slots that their sources are stored to (`memory_phis`).

use crate::error::{Error, Result};
use crate::function::{Block, Ctl, Function, Ins, Op, Val};
use crate::liveness::{LiveSet, Liveness};
use crate::target::{Effect, StackAccess, StackOffset, Target};
use arrayvec::ArrayVec;
use cranelift_entity::SecondaryMap;
use tepui_ir::Loc;

/// The spilled values.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spilled {
    /// Stores.
    pub stores: u32,
    /// Loads.
    pub loads: u32,
    /// Bytes of scratch memory of a thread, what was there before included.
    pub scratch_bytes: u32,
}

/// Rounds before giving up.
const ROUNDS: usize = 512;
/// Spill-cost weight per loop depth.
const LOOP_WEIGHT: u32 = 8;

/// Gives up values until no more than `limit` units are alive at once.
///
/// # Errors
/// When an instruction alone needs more.
pub fn run<T: Target>(
    f: &mut Function<T::Inst>,
    limit: u32,
    scratch_bytes: u32,
) -> Result<(Liveness, Spilled)> {
    let mut done = Spilled { scratch_bytes, ..Spilled::default() };
    // Values that are short already: what reloads made.
    let mut fixed: SecondaryMap<Val, bool> = SecondaryMap::new();
    for _ in 0..ROUNDS {
        let live = Liveness::new(f)?;
        // Accesses of far slots need a register for the offset.
        let far = done.scratch_bytes > T::STACK_IMMEDIATES;
        let reserve = if far { u32::from(T::STACK_OFFSET.units) } else { 0 };
        let worst = peaks::<T>(f, &live, limit - reserve.min(limit));
        if worst.is_empty() {
            return Ok((live, done));
        }
        let costs = costs::<T>(f);
        let mut chosen: SecondaryMap<Val, Option<Cost>> = SecondaryMap::new();
        let mut any = false;
        for (alive, over) in &worst {
            any |= choose::<T>(f, alive, *over, &costs, &mut fixed, &mut chosen);
        }
        if any {
            rewrite::<T>(f, &mut chosen, &mut fixed, &mut done);
        } else if !memory_phis::<T>(f, &worst[0], &mut fixed, &mut done) {
            let (needed, _) = crate::liveness::pressure(f, &live);
            return Err(Error::Registers { needed, limit });
        }
    }
    Err(Error::Spilling { rounds: ROUNDS })
}

/// The highest place of each block above the limit: what is alive there, and how many units are too
/// many; the worst first.
fn peaks<T: Target>(f: &Function<T::Inst>, l: &Liveness, limit: u32) -> Vec<(Vec<Val>, u32)> {
    let mut all: Vec<(Vec<Val>, u32)> = Vec::new();
    let mut live = LiveSet::new(f);
    for (b, data) in f.blocks.iter() {
        let outs = l.outs(f, b);
        let (most, place) = climb::<T>(f, &data.insts, &outs, &mut live, usize::MAX);
        if most <= limit {
            continue;
        }
        climb::<T>(f, &data.insts, &outs, &mut live, place);
        let passed = &data.insts[data.insts.len() - place.div_ceil(2)..];
        let seen = passed.iter().flat_map(|&i| f.srcs(i));
        let mut alive: Vec<Val> = outs.iter().chain(seen).copied().collect();
        alive.sort_unstable();
        alive.dedup();
        alive.retain(|&v| live.contains(v));
        all.push((alive, most - limit));
    }
    all.sort_by_key(|p| std::cmp::Reverse(p.1));
    all
}

/// Walks up a block to place `stop`: 0 is the end, `2n + 1` in and `2n + 2` before the n-th
/// instruction from below. Gives the most units live at a place, and that place; `live` then is
/// what is live at the last one, without what an instruction writes.
fn climb<T: Target>(
    f: &Function<T::Inst>,
    insts: &[Ins],
    outs: &[Val],
    live: &mut LiveSet,
    stop: usize,
) -> (u32, usize) {
    let size = |v: Val| u32::from(f.vals[v].units);
    let mut now = live.fill(f, outs);
    let mut best = (now, 0);
    for (n, &i) in insts.iter().rev().enumerate() {
        if 2 * n == stop {
            break;
        }
        let written: u32 = f.dsts(i).iter().map(|&d| size(d)).sum();
        for &d in f.dsts(i) {
            if live.remove(d) {
                now -= size(d);
            }
        }
        if now + written > best.0 {
            best = (now + written, 2 * n + 1);
        }
        if 2 * n + 1 == stop {
            break;
        }
        if !matches!(f.insts[i].op, Op::Phi) {
            for &s in f.srcs(i) {
                if live.insert(s) {
                    now += size(s);
                }
            }
        }
        if now > best.0 {
            best = (now, 2 * n + 2);
        }
    }
    best
}

/// How a value that is given up is defined.
#[derive(Clone)]
struct Cost {
    def: Option<(Block, Ins)>,
}

fn costs<T: Target>(f: &Function<T::Inst>) -> SecondaryMap<Val, u32> {
    let mut cost: SecondaryMap<Val, u32> = SecondaryMap::with_capacity(f.vals.len());
    for b in f.blocks.values() {
        let w = LOOP_WEIGHT.saturating_pow(u32::from(b.depth.min(4)));
        for &i in &b.insts {
            let again = rematerialises::<T>(&f.insts[i].op, f.srcs(i).len());
            for &d in f.dsts(i) {
                cost[d] += if again { 0 } else { 2 * w };
            }
            for &s in f.srcs(i) {
                cost[s] += 2 * w;
            }
        }
    }
    cost
}

/// Whether an instruction can be repeated anywhere for the price of one.
fn rematerialises<T: Target>(op: &Op<T::Inst>, srcs: usize) -> bool {
    srcs == 0 && matches!(op, Op::Isa(i) if T::effect(i) == Effect::Pure && T::rematerialises(i))
}

/// Chooses values of one place until `over` units are freed there; what was chosen for other places
/// counts.
fn choose<T: Target>(
    f: &Function<T::Inst>,
    alive: &[Val],
    over: u32,
    costs: &SecondaryMap<Val, u32>,
    fixed: &mut SecondaryMap<Val, bool>,
    chosen: &mut SecondaryMap<Val, Option<Cost>>,
) -> bool {
    let class = |v: Val| u32::from(f.vals[v].units);
    let mut freed: u32 = alive.iter().filter(|&&v| chosen[v].is_some()).map(|&v| class(v)).sum();
    let mut choice: Vec<Val> = alive
        .iter()
        .copied()
        .filter(|&v| !fixed[v] && f.vals[v].units <= T::MAX_SPILLED_UNITS)
        .collect();
    choice.sort_by_key(|&v| (u64::from(costs[v]) << 8) / u64::from(class(v).max(1)));
    let mut any = false;
    for v in choice {
        if freed >= over {
            break;
        }
        freed += class(v);
        fixed[v] = true;
        chosen[v] = Some(Cost { def: None });
        any = true;
    }
    any
}

/// Phis that were given up go through memory from their sources on, until `over` units of what is
/// `alive` are freed; whether there were any.
///
/// Their places are only read where their block begins, so it does not matter in which order the
/// sources are stored.
fn memory_phis<T: Target>(
    f: &mut Function<T::Inst>,
    (alive, over): &(Vec<Val>, u32),
    fixed: &mut SecondaryMap<Val, bool>,
    done: &mut Spilled,
) -> bool {
    let mut here: SecondaryMap<Val, bool> = SecondaryMap::new();
    for &v in alive {
        here[v] = true;
    }
    let mut phis: Vec<(Block, Ins, Val)> = Vec::new();
    for (b, data) in f.blocks.iter() {
        for &i in data.insts.iter().filter(|&&i| matches!(f.insts[i].op, Op::Phi)) {
            let given_up = |v: Val| fixed[v] && f.vals[v].units <= T::MAX_SPILLED_UNITS;
            let there = |v: &Val| here[*v];
            if let [v] = *f.dsts(i)
                && given_up(v)
                && (here[v] || f.srcs(i).iter().any(there))
            {
                phis.push((b, i, v));
            }
        }
    }
    let mut freed = 0;
    for &(block, phi, v) in &phis {
        if freed >= *over {
            break;
        }
        freed += u32::from(f.vals[v].units);
        let (place, loc) = (new_place::<T>(f, v, done), f.insts[phi].loc);
        let preds = f.blocks[block].preds.clone();
        for (n, pred) in preds.into_iter().enumerate() {
            let source = f.srcs(phi)[n];
            let body = &f.blocks[pred].insts;
            let made = body.iter().position(|&i| f.dsts(i).contains(&source));
            // Directly after its definition, if that is in this block, so that its live range ends
            // there.
            let at = made
                .filter(|&k| !is_head(&f.insts[body[k]].op))
                .map_or(f.body_end(pred), |k| k + 1);
            let mut new = Vec::new();
            let store = StackAccess::Store;
            stack_access::<T>(f, store, (source, place), loc, fixed, &mut new);
            f.blocks[pred].insts.splice(at..at, new);
            done.stores += 1;
        }
        let mut load = Vec::new();
        stack_access::<T>(f, StackAccess::Load, (v, place), loc, fixed, &mut load);
        done.loads += 1;
        let mut insts = std::mem::take(&mut f.blocks[block].insts);
        insts.retain(|&i| i != phi);
        let uses = |&i: &Ins| !is_head(&f.insts[i].op) && f.srcs(i).contains(&v);
        let behind = |&i: &Ins| !is_head(&f.insts[i].op);
        let at = insts.iter().position(uses).or_else(|| insts.iter().position(behind));
        let at = at.unwrap_or(insts.len());
        insts.splice(at..at, load);
        f.blocks[block].insts = insts;
    }
    !phis.is_empty()
}

/// The instructions that must be first in a block.
fn is_head<I>(op: &Op<I>) -> bool {
    matches!(op, Op::Phi | Op::Ctl(Ctl::Else | Ctl::EndIf))
}

/// A place in scratch memory for a value.
fn new_place<T: Target>(f: &Function<T::Inst>, v: Val, done: &mut Spilled) -> u32 {
    let at = done.scratch_bytes.next_multiple_of(T::SLOT_ALIGN);
    done.scratch_bytes = at + u32::from(f.vals[v].units) * T::UNIT_BYTES;
    at
}

/// Appends an access of the stack slot at `offset` that loads or stores `v`, behind the offset's
/// constant where that is no immediate.
fn stack_access<T: Target>(
    f: &mut Function<T::Inst>,
    access: StackAccess,
    (v, offset): (Val, u32),
    loc: Loc,
    fixed: &mut SecondaryMap<Val, bool>,
    out: &mut Vec<Ins>,
) {
    let mut srcs: ArrayVec<Val, 2> = ArrayVec::new();
    if access == StackAccess::Store {
        srcs.push(v);
    }
    let far = offset >= T::STACK_IMMEDIATES;
    if far {
        let at = f.val(T::STACK_OFFSET);
        fixed[at] = true;
        out.push(f.make(Op::Isa(T::stack_offset(offset)), &[at], &[], loc));
        srcs.push(at);
    }
    let form = if far { StackOffset::Register } else { StackOffset::Immediate(offset) };
    let op = Op::Isa(T::stack_access(access, f.vals[v], form));
    let dst = [v];
    let dsts: &[Val] = if access == StackAccess::Load { &dst } else { &[] };
    out.push(f.make(op, dsts, &srcs, loc));
}

fn rewrite<T: Target>(
    f: &mut Function<T::Inst>,
    chosen: &mut SecondaryMap<Val, Option<Cost>>,
    fixed: &mut SecondaryMap<Val, bool>,
    done: &mut Spilled,
) {
    let blocks: Vec<Block> = f.blocks.keys().collect();
    // Definitions, and places in memory for those that cannot be made again.
    let mut place: SecondaryMap<Val, u32> = SecondaryMap::with_default(u32::MAX);
    for &b in &blocks {
        for &i in &f.blocks[b].insts {
            let again = rematerialises::<T>(&f.insts[i].op, f.srcs(i).len());
            for &d in f.dsts(i) {
                if let Some(c) = &mut chosen[d] {
                    c.def = Some((b, i));
                    if !again {
                        place[d] = new_place::<T>(f, d, done);
                    }
                }
            }
        }
    }
    let mut phi_uses: Vec<(Ins, usize, Block, Val)> = Vec::new();
    for &b in &blocks {
        let insts = std::mem::take(&mut f.blocks[b].insts);
        let mut out = Vec::with_capacity(insts.len() + 8);
        let mut stores: Vec<Ins> = Vec::new();
        for i in insts {
            let op = f.insts[i].op;
            let head = is_head(&op);
            if !head {
                out.append(&mut stores);
            }
            if matches!(op, Op::Phi) {
                for (n, &s) in f.srcs(i).iter().enumerate() {
                    if chosen[s].is_some() {
                        phi_uses.push((i, n, f.blocks[b].preds[n], s));
                    }
                }
            } else {
                for n in 0..f.srcs(i).len() {
                    let s = f.srcs(i)[n];
                    if chosen[s].is_none() {
                        continue;
                    }
                    let r = reload::<T>(f, s, chosen, &place, fixed, done, &mut out);
                    for x in f.srcs_mut(i).iter_mut().filter(|x| **x == s) {
                        *x = r;
                    }
                }
            }
            out.push(i);
            for n in 0..f.dsts(i).len() {
                let d = f.dsts(i)[n];
                if chosen[d].is_some() && place[d] != u32::MAX {
                    let (loc, slot) = (f.insts[i].loc, (d, place[d]));
                    let store = StackAccess::Store;
                    stack_access::<T>(f, store, slot, loc, fixed, &mut stores);
                    done.stores += 1;
                }
            }
            if !head {
                out.append(&mut stores);
            }
        }
        out.append(&mut stores);
        f.blocks[b].insts = out;
    }
    for (phi, n, pred, s) in phi_uses {
        let at = f.body_end(pred);
        let mut new = Vec::new();
        let r = reload::<T>(f, s, chosen, &place, fixed, done, &mut new);
        f.blocks[pred].insts.splice(at..at, new);
        f.srcs_mut(phi)[n] = r;
    }
}

/// A new value with the bits of a spilled one.
fn reload<T: Target>(
    f: &mut Function<T::Inst>,
    s: Val,
    chosen: &SecondaryMap<Val, Option<Cost>>,
    place: &SecondaryMap<Val, u32>,
    fixed: &mut SecondaryMap<Val, bool>,
    done: &mut Spilled,
    out: &mut Vec<Ins>,
) -> Val {
    let r = f.val(f.vals[s]);
    fixed[r] = true;
    let def = chosen[s].as_ref().and_then(|c| c.def);
    if place[s] == u32::MAX
        && let Some((_, d)) = def
    {
        let (op, loc) = (f.insts[d].op, f.insts[d].loc);
        out.push(f.make(op, &[r], &[], loc));
        return r;
    }
    let loc = def.map_or_else(Default::default, |(_, d)| f.insts[d].loc);
    stack_access::<T>(f, StackAccess::Load, (r, place[s]), loc, fixed, out);
    done.loads += 1;
    r
}
