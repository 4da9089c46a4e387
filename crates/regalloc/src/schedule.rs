//! List scheduling within a block, to lower register pressure.
//!
//! Bottom-up: of the instructions whose users are all scheduled, the one that frees most registers
//! is scheduled next. Before it its results are dead and its operands live. The new order is used
//! only if the block's peak pressure is lower.
//!
//! Loads and texture samples whose latencies overlapped stay together, unless the peak pressure
//! lowers occupancy, which hides more latency.
//!
//! The cost of an instruction changes only when a value that it reads becomes live, so ready
//! instructions are kept in a heap: `n log n` in the block's operands. source: the method of Mesa's
//! agx_pressure_schedule.c

use crate::function::{Ctl, Function, Ins, Op, Val};
use crate::liveness::{LiveSet, Liveness};
use crate::target::{Effect, Target};
use cranelift_entity::SecondaryMap;
use std::collections::BinaryHeap;

/// Below this register pressure a block is not rescheduled.
pub const MIN_PRESSURE: u32 = 16;

/// Runs the pass on blocks with more than `few` units alive at once; more than `limit` cost
/// threads. Returns whether anything moved.
pub fn run<T: Target>(f: &mut Function<T::Inst>, live: &Liveness, few: u32, limit: u32) -> bool {
    let mut places = SecondaryMap::with_capacity(f.vals.len());
    let mut set = LiveSet::new(f);
    let mut changed = false;
    for b in f.blocks.keys() {
        let end = f.body_end(b);
        let head = f.blocks[b].insts.iter().take_while(|&&i| is_head(&f.insts[i].op)).count();
        if head + 2 > end {
            continue;
        }
        let mut out = live.outs(f, b);
        for &i in f.blocks[b].insts[end..].iter().rev() {
            out.extend_from_slice(f.srcs(i));
        }
        let body = &f.blocks[b].insts[head..end];
        let before = peak(f, body, &out, &mut set);
        if before <= few {
            continue;
        }
        set.fill(f, &out);
        let order = Ready::<T>::new(f, body, &mut places, before <= limit).order(&mut set);
        if peak(f, &order, &out, &mut set) < before {
            f.blocks[b].insts[head..end].copy_from_slice(&order);
            changed = true;
        }
    }
    changed
}

fn is_head<I>(op: &Op<I>) -> bool {
    matches!(op, Op::Phi | Op::Preload(_) | Op::Ctl(Ctl::Else | Ctl::EndIf))
}

/// Whether the results come later, and must be waited for.
fn is_load<T: Target>(op: &Op<T::Inst>) -> bool {
    op.inst().is_some_and(T::is_load)
}

fn size<I>(f: &Function<I>, v: Val) -> i32 {
    f.vals[v].pressure() as i32
}

/// The peak pressure of some instructions, after the last of which `out` is live.
fn peak<I>(f: &Function<I>, insts: &[Ins], out: &[Val], live: &mut LiveSet) -> u32 {
    let mut now = live.fill(f, out) as i32;
    let mut most = now;
    for &i in insts.iter().rev() {
        let written: i32 = f.dsts(i).iter().map(|&d| size(f, d)).sum();
        for &d in f.dsts(i) {
            if live.remove(d) {
                now -= size(f, d);
            }
        }
        most = most.max(now + written);
        for &s in f.srcs(i) {
            if live.insert(s) {
                now += size(f, s);
            }
        }
        most = most.max(now);
    }
    most as u32
}

/// Where a block has a value, as positions counted from 1; 0 for none.
#[derive(Clone, Copy, Default)]
struct Place {
    /// The definition.
    def: u32,
    /// The last of the links to its users.
    users: u32,
    /// The batch of loads that it comes with.
    batch: u32,
}

/// The choice between a block's instructions whose users are all placed.
struct Ready<'a, T: Target> {
    f: &'a Function<T::Inst>,
    body: &'a [Ins],
    places: &'a mut SecondaryMap<Val, Place>,
    /// Users of values, and the next link of the same value.
    links: Vec<(u32, u32)>,
    /// For each instruction, the ones that it must follow besides those whose results it reads.
    before: Vec<Vec<u32>>,
    /// How many must follow it.
    after: Vec<u32>,
    /// Units that it begins to need, less those that it frees.
    cost: Vec<i32>,
    /// Costs, negative, and positions; what stood last stays last where nothing is gained. Costs
    /// fall: the higher ones are void.
    heap: BinaryHeap<(i32, u32)>,
}

impl<'a, T: Target> Ready<'a, T> {
    fn new(
        f: &'a Function<T::Inst>,
        body: &'a [Ins],
        places: &'a mut SecondaryMap<Val, Place>,
        batches: bool,
    ) -> Ready<'a, T> {
        let n = body.len();
        for &i in body {
            for &v in f.srcs(i).iter().chain(f.dsts(i)) {
                places[v] = Place::default();
            }
        }
        let mut r = Ready {
            f,
            body,
            places,
            links: Vec::with_capacity(2 * n),
            before: vec![Vec::new(); n],
            after: vec![0; n],
            cost: vec![0; n],
            heap: BinaryHeap::new(),
        };
        let mut fixed: Option<u32> = None;
        let mut since: Vec<u32> = Vec::new();
        // The last load of each batch, and whether more may join the last batch.
        let (mut last, mut open) = (Vec::<u32>::new(), false);
        for (n, &i) in (0u32..).zip(body) {
            let srcs = f.srcs(i);
            let op = &f.insts[i].op;
            let before = &mut r.before[n as usize];
            if batches && matches!(op, Op::Split) {
                for &d in f.dsts(i) {
                    r.places[d].batch = r.places[srcs[0]].batch;
                }
            } else if batches {
                for s in srcs {
                    let batch = r.places[*s].batch as usize;
                    if batch != 0 {
                        open &= batch != last.len();
                        before.push(last[batch - 1]);
                    }
                }
                if is_load::<T>(op) && !f.dsts(i).is_empty() {
                    if open && let Some(k) = last.last_mut() {
                        before.push(std::mem::replace(k, n));
                    } else {
                        last.push(n);
                    }
                    open = true;
                    for &d in f.dsts(i) {
                        r.places[d].batch = last.len() as u32;
                    }
                }
            }
            for (k, &s) in srcs.iter().enumerate() {
                if srcs[..k].contains(&s) {
                    continue;
                }
                let place = &mut r.places[s];
                r.links.push((n, place.users));
                place.users = r.links.len() as u32;
                if place.def != 0 {
                    r.after[place.def as usize - 1] += 1;
                }
            }
            match op.effect::<T>() {
                Effect::Pure => {}
                Effect::Read | Effect::Group => {
                    before.extend(fixed);
                    since.push(n);
                }
                Effect::Fixed => {
                    before.extend(fixed);
                    before.append(&mut since);
                    fixed = Some(n);
                }
            }
            for &k in before.iter() {
                r.after[k as usize] += 1;
            }
            for &d in f.dsts(i) {
                r.places[d].def = n + 1;
            }
        }
        r
    }

    /// The new order, if `live` are live after it.
    fn order(mut self, live: &mut LiveSet) -> Vec<Ins> {
        let f = self.f;
        for n in 0..self.body.len() as u32 {
            if self.after[n as usize] == 0 {
                self.offer(n, live);
            }
        }
        let mut out = Vec::with_capacity(self.body.len());
        while let Some((cost, n)) = self.heap.pop() {
            // Placed, or offered again for less.
            if self.cost[n as usize] != -cost || self.after[n as usize] != 0 {
                continue;
            }
            self.after[n as usize] = u32::MAX;
            let i = self.body[n as usize];
            out.push(i);
            for &d in f.dsts(i) {
                live.remove(d);
            }
            for &s in f.srcs(i) {
                if live.insert(s) {
                    self.begins(s);
                }
            }
            let srcs = f.srcs(i);
            for (k, s) in srcs.iter().enumerate() {
                let def = self.places[*s].def;
                if def != 0 && !srcs[..k].contains(s) {
                    self.follows(def - 1, live);
                }
            }
            for k in std::mem::take(&mut self.before[n as usize]) {
                self.follows(k, live);
            }
        }
        out.reverse();
        out
    }

    /// One less must follow an instruction.
    fn follows(&mut self, n: u32, live: &LiveSet) {
        self.after[n as usize] -= 1;
        if self.after[n as usize] == 0 {
            self.offer(n, live);
        }
    }

    fn offer(&mut self, n: u32, live: &LiveSet) {
        let f = self.f;
        let (dsts, srcs) = (f.dsts(self.body[n as usize]), f.srcs(self.body[n as usize]));
        let gone: i32 = dsts.iter().filter(|&&d| live.contains(d)).map(|&d| size(f, d)).sum();
        let new =
            srcs.iter().enumerate().filter(|(k, s)| !live.contains(**s) && !srcs[..*k].contains(s));
        let cost = new.map(|(_, &s)| size(f, s)).sum::<i32>() - gone;
        self.cost[n as usize] = cost;
        self.heap.push((-cost, n));
    }

    /// A value is alive from here on: its other users need less.
    fn begins(&mut self, v: Val) {
        let mut link = self.places[v].users;
        while link != 0 {
            let (n, next) = self.links[link as usize - 1];
            if self.after[n as usize] == 0 {
                self.cost[n as usize] -= size(self.f, v);
                self.heap.push((-self.cost[n as usize], n));
            }
            link = next;
        }
    }
}
