//! Instructions of a block in an order that keeps less alive at once.
//!
//! From the end of the block upwards, of the instructions whose users are all placed the one is taken that frees most registers: its
//! results die above it, its operands begin to live. Kept only where the block's peak becomes lower. Run where the peak
//! costs threads or would be spilled: below that, loads are better left early, so that others hide their latency.
//! source: the method of Mesa's agx_pressure_schedule.c

use crate::liveness::{Liveness, ValSet};
use crate::mir::{Ctl, Effect, Function, Ins, Op, Val, effect};
use cranelift_entity::{EntityRef, SecondaryMap};

/// Longest block that is looked at: the search is quadratic in the worst case.
const MAX_INSTS: usize = 1500;

/// Runs the pass on blocks with more than `limit` half-registers alive at once; returns whether anything moved.
pub fn run(f: &mut Function, live: &Liveness, limit: u32) -> bool {
    let mut at: SecondaryMap<Val, u32> = SecondaryMap::with_capacity(f.vals.len());
    let mut changed = false;
    for b in f.blocks.keys() {
        let end = f.body_end(b);
        let head = f.blocks[b].insts.iter().take_while(|&&i| is_head(&f.insts[i].op)).count();
        if head >= end || end - head > MAX_INSTS {
            continue;
        }
        let mut out = live.outs[b.index()].clone();
        for &i in f.blocks[b].insts[end..].iter().rev() {
            for &s in f.srcs(i) {
                out.insert(s);
            }
        }
        let body: Vec<Ins> = f.blocks[b].insts[head..end].to_vec();
        let before = peak(f, &body, out.clone());
        if before <= limit {
            continue;
        }
        let order = order(f, &body, out.clone(), &mut at);
        if peak(f, &order, out) < before {
            f.blocks[b].insts[head..end].copy_from_slice(&order);
            changed = true;
        }
    }
    changed
}

fn is_head(op: &Op) -> bool {
    matches!(op, Op::Phi | Op::Preload(_) | Op::Ctl(Ctl::Else | Ctl::EndIf))
}

fn room(f: &Function, v: Val) -> i32 {
    i32::from(f.vals[v].halves)
}

/// Most half-registers alive at once in some instructions, the last of which leaves `live`.
fn peak(f: &Function, insts: &[Ins], mut live: ValSet) -> u32 {
    let mut now: i32 = live.iter().map(|v| room(f, v)).sum();
    let mut most = now;
    for &i in insts.iter().rev() {
        let written: i32 = f.dsts(i).iter().map(|&d| room(f, d)).sum();
        for &d in f.dsts(i) {
            if live.remove(d) {
                now -= room(f, d);
            }
        }
        most = most.max(now + written);
        for &s in f.srcs(i) {
            if live.insert(s) {
                now += room(f, s);
            }
        }
        most = most.max(now);
    }
    most as u32
}

/// The new order of a block's instructions.
fn order(
    f: &Function,
    body: &[Ins],
    mut live: ValSet,
    at: &mut SecondaryMap<Val, u32>,
) -> Vec<Ins> {
    // For each instruction, which it must follow; and how many must follow it.
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); body.len()];
    let mut after = vec![0u32; body.len()];
    let mut fixed: Option<u32> = None;
    let mut since: Vec<u32> = Vec::new();
    for (n, &i) in body.iter().enumerate() {
        let mut needs = |k: u32| {
            if !before[n].contains(&k) {
                before[n].push(k);
                after[k as usize] += 1;
            }
        };
        for &s in f.srcs(i) {
            // Position and block of the definition, from one block on.
            let k = at[s];
            if k != 0 && body.get(k as usize - 1).is_some_and(|&d| f.dsts(d).contains(&s)) {
                needs(k - 1);
            }
        }
        match effect(&f.insts[i].op) {
            Effect::Pure => {}
            Effect::Read | Effect::Group => {
                fixed.into_iter().for_each(&mut needs);
                since.push(n as u32);
            }
            Effect::Fixed => {
                fixed.into_iter().for_each(&mut needs);
                since.drain(..).for_each(&mut needs);
                fixed = Some(n as u32);
            }
        }
        for &d in f.dsts(i) {
            at[d] = n as u32 + 1;
        }
    }
    let mut ready: Vec<u32> = (0..body.len() as u32).filter(|&n| after[n as usize] == 0).collect();
    let mut out = Vec::with_capacity(body.len());
    while !ready.is_empty() {
        let cost = |n: u32| {
            let i = body[n as usize];
            let (dsts, srcs) = (f.dsts(i), f.srcs(i));
            let gone: i32 = dsts.iter().filter(|&&d| live.contains(d)).map(|&d| room(f, d)).sum();
            let new = srcs
                .iter()
                .enumerate()
                .filter(|(k, s)| !live.contains(**s) && !srcs[..*k].contains(s));
            new.map(|(_, &s)| room(f, s)).sum::<i32>() - gone
        };
        // What stood last stays last where nothing is gained.
        let best = (0..ready.len()).min_by_key(|&k| (cost(ready[k]), std::cmp::Reverse(ready[k])));
        let Some(k) = best else { break };
        let n = ready.swap_remove(k) as usize;
        for &d in f.dsts(body[n]) {
            live.remove(d);
        }
        for &s in f.srcs(body[n]) {
            live.insert(s);
        }
        out.push(body[n]);
        for &p in &before[n] {
            after[p as usize] -= 1;
            if after[p as usize] == 0 {
                ready.push(p);
            }
        }
    }
    out.reverse();
    out
}
