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

use crate::function::{Block, Ctl, Function, Ins, Op, Val};
use crate::liveness::{Extra, LiveSet, Liveness};
use crate::target::{Effect, Target};
use cranelift_entity::SecondaryMap;
use std::collections::BinaryHeap;
use std::ops::Range;

/// Below this register pressure a block is not rescheduled.
pub const MIN_PRESSURE: u32 = 16;

/// Reschedules blocks whose register pressure is above `min_pressure` units; pressure above `limit`
/// lowers occupancy. Returns whether anything moved.
pub fn run<T: Target>(
    f: &mut Function<T::Inst>,
    live: &Liveness,
    min_pressure: u32,
    limit: u32,
) -> bool {
    let mut values = SecondaryMap::with_capacity(f.vals.len());
    let mut set = LiveSet::new(f);
    let mut changed = false;
    for b in f.blocks.keys() {
        let Some((body, out)) = movable(f, live, b) else { continue };
        let insts = &f.blocks[b].insts[body.clone()];
        let before = peak::<T>(f, insts, &out, &mut set);
        if before <= min_pressure {
            continue;
        }
        set.fill(f, &out);
        let order = Ready::<T>::new(f, insts, &mut values, before <= limit).order(&mut set);
        if peak::<T>(f, &order, &out, &mut set) < before {
            f.blocks[b].insts[body].copy_from_slice(&order);
            changed = true;
        }
    }
    changed
}

/// The positions of a block's instructions that may change their order, and the values that are live after them; nothing where there
/// are fewer than two.
pub(crate) fn movable<I>(
    f: &Function<I>,
    live: &Liveness,
    b: Block,
) -> Option<(Range<usize>, Vec<Val>)> {
    let insts = &f.blocks[b].insts;
    let head = insts.iter().take_while(|&&i| is_head(&f.insts[i].op)).count();
    let end = f.body_end(b);
    if head + 2 > end {
        return None;
    }
    let mut out = live.outs(f, b);
    for &i in insts[end..].iter().rev() {
        out.extend_from_slice(f.srcs(i));
    }
    Some((head..end, out))
}

pub(crate) fn is_head<I>(op: &Op<I>) -> bool {
    matches!(op, Op::Phi | Op::Preload(_) | Op::Ctl(Ctl::Else | Ctl::EndIf))
}

/// Whether the results arrive later, and must be waited for.
fn is_load<T: Target>(op: &Op<T::Inst>) -> bool {
    op.inst().is_some_and(T::is_load)
}

fn size<I>(f: &Function<I>, v: Val) -> i32 {
    f.vals[v].pressure() as i32
}

/// The peak pressure of an instruction sequence at whose end `out` is live.
pub(crate) fn peak<T: Target>(
    f: &Function<T::Inst>,
    insts: &[Ins],
    out: &[Val],
    live: &mut LiveSet,
) -> u32 {
    let mut now = live.fill(f, out) as i32;
    let mut most = now;
    for &i in insts.iter().rev() {
        let written: i32 = f.dsts(i).iter().map(|&d| size(f, d)).sum();
        for &d in f.dsts(i) {
            if live.remove(d) {
                now -= size(f, d);
            }
        }
        let extra = Extra::new::<T>(f, i);
        most = most.max(now + written + extra.written as i32);
        for &s in f.srcs(i) {
            if live.insert(s) {
                now += size(f, s);
            }
        }
        most = most.max(now + extra.read as i32);
    }
    most as u32
}

/// Positions of a value's definition and uses in the block, counted from 1; 0 for none.
#[derive(Clone, Copy, Default)]
struct ValueUses {
    /// The definition.
    def: u32,
    /// The last of the links to its users.
    users: u32,
    /// The last batch of loads that it depends on.
    batch: u32,
}

/// Bottom-up list scheduler: the ready instructions of a block, by cost.
struct Ready<'a, T: Target> {
    f: &'a Function<T::Inst>,
    body: &'a [Ins],
    values: &'a mut SecondaryMap<Val, ValueUses>,
    /// Linked lists of the users of values: user, and the next link of the same value.
    links: Vec<(u32, u32)>,
    /// Predecessors of each instruction besides the definitions of its operands.
    before: Vec<Vec<u32>>,
    /// Number of unscheduled successors of each instruction.
    after: Vec<u32>,
    /// Cost of each instruction: units that become live, minus units that are freed.
    cost: Vec<i32>,
    /// Ready instructions as (negated cost, position), so that ties keep the source order. Costs only
    /// fall; entries with an older, higher cost are skipped.
    heap: BinaryHeap<(i32, u32)>,
}

impl<'a, T: Target> Ready<'a, T> {
    fn new(
        f: &'a Function<T::Inst>,
        body: &'a [Ins],
        values: &'a mut SecondaryMap<Val, ValueUses>,
        batches: bool,
    ) -> Ready<'a, T> {
        let n = body.len();
        for &i in body {
            for &v in f.srcs(i).iter().chain(f.dsts(i)) {
                values[v] = ValueUses::default();
            }
        }
        let mut r = Ready {
            f,
            body,
            values,
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
                    r.values[d].batch = r.values[srcs[0]].batch;
                }
            } else if batches {
                for s in srcs {
                    let batch = r.values[*s].batch as usize;
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
                        r.values[d].batch = last.len() as u32;
                    }
                }
            }
            for (k, &s) in srcs.iter().enumerate() {
                if srcs[..k].contains(&s) {
                    continue;
                }
                let value = &mut r.values[s];
                r.links.push((n, value.users));
                value.users = r.links.len() as u32;
                if value.def != 0 {
                    r.after[value.def as usize - 1] += 1;
                }
            }
            match op.effect::<T>() {
                Effect::Pure => {}
                Effect::Read | Effect::Convergent => {
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
                r.values[d].def = n + 1;
            }
        }
        r
    }

    /// The new order, for a block at whose end `live` is live.
    fn order(mut self, live: &mut LiveSet) -> Vec<Ins> {
        let f = self.f;
        for n in 0..self.body.len() as u32 {
            if self.after[n as usize] == 0 {
                self.offer(n, live);
            }
        }
        let mut out = Vec::with_capacity(self.body.len());
        while let Some((cost, n)) = self.heap.pop() {
            // Already scheduled, or offered again at a lower cost.
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
                let def = self.values[*s].def;
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

    /// One successor of an instruction was scheduled; it is ready if that was the last.
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

    /// A value becomes live: its other ready users cost less.
    fn begins(&mut self, v: Val) {
        let mut link = self.values[v].users;
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
