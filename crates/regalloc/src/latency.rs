//! List scheduling within a block for latency.
//!
//! Top-down: of the instructions whose operands are ready, the one with the longest path to the end of the block goes
//! first; where none is ready, the one that is ready soonest. Pressure is the guard: at the limit, the instruction that
//! frees most registers goes first, and of several the first one of the old order. The new order is used only if it takes
//! fewer cycles in the model of [`Target::latency`] and [`Target::pipe`] and does not exceed the limit.

use crate::function::{Function, Ins, Val};
use crate::liveness::{LiveSet, Liveness};
use crate::schedule::{movable, peak};
use crate::target::{Effect, Target};
use cranelift_entity::SecondaryMap;

/// Distance from the first instruction that is left within which others are looked for.
const WINDOW: usize = 128;

/// Maximum number of orders that are tried: where one needs more units than are allowed, since nothing frees any at the
/// limit, the next one has a limit that is lower by as many.
const ATTEMPTS: usize = 3;

/// Runs the pass; orders that need more than `limit` units at once are used only where the old one needs as many.
/// Returns whether anything moved.
pub fn run<T: Target>(f: &mut Function<T::Inst>, live: &Liveness, limit: u32) -> bool {
    let mut set = LiveSet::new(f);
    let mut defs: SecondaryMap<Val, u32> = SecondaryMap::with_capacity(f.vals.len());
    let mut changed = false;
    for b in f.blocks.keys() {
        let Some((range, out)) = movable(f, live, b) else { continue };
        let body = f.blocks[b].insts[range.clone()].to_vec();
        let graph = Graph::new::<T>(f, &body, &mut defs);
        let old: Vec<usize> = (0..body.len()).collect();
        let cycles = graph.cycles(&old);
        let allowed = peak::<T>(f, &body, &out, &mut set).max(limit);
        let mut limit = limit;
        for _ in 0..ATTEMPTS {
            let order = graph.order::<T>(f, &body, &out, limit);
            if graph.cycles(&order) >= cycles {
                break;
            }
            let new: Vec<Ins> = order.iter().map(|&n| body[n]).collect();
            let needed = peak::<T>(f, &new, &out, &mut set);
            if needed <= allowed {
                f.blocks[b].insts[range].copy_from_slice(&new);
                changed = true;
                break;
            }
            limit = limit.saturating_sub(needed - allowed);
        }
    }
    changed
}

/// The dependencies of a block's instructions.
struct Graph {
    /// For each instruction, those that follow it, with the cycles from its issue to theirs.
    after: Vec<Vec<(usize, u32)>>,
    /// Instructions that each one follows.
    before: Vec<u32>,
    /// Cycles from the issue of an instruction to the end of the block.
    path: Vec<u32>,
    /// Pipe, and the cycles for which it is taken.
    pipes: Vec<(u8, u32)>,
}

impl Graph {
    fn new<T: Target>(
        f: &Function<T::Inst>,
        body: &[Ins],
        defs: &mut SecondaryMap<Val, u32>,
    ) -> Graph {
        let latency = |n: usize| f.insts[body[n]].op.inst().map_or(1, T::latency);
        let mut g = Graph {
            after: vec![Vec::new(); body.len()],
            before: vec![0; body.len()],
            path: vec![0; body.len()],
            pipes: body.iter().map(|&i| f.insts[i].op.inst().map_or((0, 1), T::pipe)).collect(),
        };
        for &v in body.iter().flat_map(|&i| f.srcs(i)) {
            defs[v] = 0;
        }
        // Of each memory: the last instruction that keeps its place, and those since.
        let mut memories: [(Option<usize>, Vec<usize>); 8] = Default::default();
        for (n, &i) in body.iter().enumerate() {
            for s in f.srcs(i) {
                if let Some(def) = defs[*s].checked_sub(1) {
                    g.link(def as usize, n, latency(def as usize));
                }
            }
            let effect = f.insts[i].op.effect::<T>();
            let accessed = f.insts[i].op.inst().map_or(u8::MAX, T::memories);
            for (_, (fixed, since)) in
                memories.iter_mut().enumerate().filter(|(bit, _)| accessed >> bit & 1 != 0)
            {
                match effect {
                    Effect::Pure => {}
                    Effect::Read | Effect::Convergent => {
                        fixed.iter().for_each(|&k| g.link(k, n, 0));
                        since.push(n);
                    }
                    Effect::Fixed => {
                        fixed.iter().copied().chain(since.drain(..)).for_each(|k| g.link(k, n, 0));
                        *fixed = Some(n);
                    }
                }
            }
            for &d in f.dsts(i) {
                defs[d] = n as u32 + 1;
            }
        }
        for n in (0..body.len()).rev() {
            let rest = g.after[n].iter().map(|&(k, cycles)| cycles + g.path[k]).max().unwrap_or(0);
            g.path[n] = rest.max(latency(n));
        }
        g
    }

    fn link(&mut self, from: usize, to: usize, cycles: u32) {
        self.after[from].push((to, cycles));
        self.before[to] += 1;
    }

    /// Cycles of an order.
    fn cycles(&self, order: &[usize]) -> u32 {
        let mut clock = Clock::new(self.before.len());
        order.iter().for_each(|&n| clock.issue(self, n));
        let ends = order.iter().map(|&n| clock.issued[n] + self.path[n]);
        ends.max().unwrap_or(0)
    }

    /// A new order.
    fn order<T: Target>(
        &self,
        f: &Function<T::Inst>,
        body: &[Ins],
        out: &[Val],
        limit: u32,
    ) -> Vec<usize> {
        let mut left = self.before.clone();
        let mut clock = Clock::new(body.len());
        let mut pressure = Uses::new(f, body, out);
        let mut done = vec![false; body.len()];
        let (mut first, mut order) = (0, Vec::with_capacity(body.len()));
        while order.len() < body.len() {
            while done[first] {
                first += 1;
            }
            let window = first..(first + WINDOW).min(body.len());
            let ready = window.filter(|&n| !done[n] && left[n] == 0);
            let best = ready.min_by_key(|&n| {
                let grows = pressure.change(f, body[n]);
                let over = (pressure.now + grows - limit as i32).max(0);
                let start = clock.start(self, n).max(clock.now);
                // At the limit the old order, which ends values that it began, rather than more of the same.
                match over > 0 {
                    true => (grows, n as u32, std::cmp::Reverse(0), n),
                    false => (0, start, std::cmp::Reverse(self.path[n]), n),
                }
            });
            // The first one that is left follows only those that are done.
            let n = best.unwrap_or(first);
            done[n] = true;
            clock.issue(self, n);
            pressure.pass(f, body[n]);
            self.after[n].iter().for_each(|&(k, _)| left[k] -= 1);
            order.push(n);
        }
        order
    }
}

/// The state of the pipes.
struct Clock {
    now: u32,
    /// Time at which each pipe is free.
    free: Vec<u32>,
    /// Times at which each instruction has its operands and was issued.
    ready: Vec<u32>,
    issued: Vec<u32>,
}

impl Clock {
    fn new(n: usize) -> Clock {
        Clock { now: 0, free: vec![0; 256], ready: vec![0; n], issued: vec![0; n] }
    }

    fn start(&self, g: &Graph, n: usize) -> u32 {
        self.ready[n].max(self.free[usize::from(g.pipes[n].0)])
    }

    fn issue(&mut self, g: &Graph, n: usize) {
        let at = self.start(g, n).max(self.now);
        self.issued[n] = at;
        self.now = at + 1;
        self.free[usize::from(g.pipes[n].0)] = at + g.pipes[n].1;
        for &(k, cycles) in &g.after[n] {
            self.ready[k] = self.ready[k].max(at + cycles);
        }
    }
}

/// Values that are alive while the block is filled from its beginning.
struct Uses {
    /// Reads that are left; one more for what is alive at the end.
    left: SecondaryMap<Val, u32>,
    now: i32,
}

impl Uses {
    fn new<I>(f: &Function<I>, body: &[Ins], out: &[Val]) -> Uses {
        let mut left: SecondaryMap<Val, u32> = SecondaryMap::new();
        let mut own: SecondaryMap<Val, bool> = SecondaryMap::new();
        body.iter().flat_map(|&i| f.dsts(i)).for_each(|&d| own[d] = true);
        let mut now = 0;
        for &v in out.iter().chain(body.iter().flat_map(|&i| f.srcs(i))) {
            if left[v] == 0 && !own[v] {
                now += f.vals[v].pressure() as i32;
            }
            left[v] += 1;
        }
        Uses { left, now }
    }

    /// Live units that an instruction adds, less those that it ends.
    fn change<I>(&self, f: &Function<I>, i: Ins) -> i32 {
        let srcs = f.srcs(i);
        let size = |v: Val| f.vals[v].pressure() as i32;
        let reads = |v: Val| srcs.iter().filter(|&&s| s == v).count() as u32;
        let begins = f.dsts(i).iter().filter(|&&d| self.left[d] > 0).map(|&d| size(d));
        let ends = srcs
            .iter()
            .enumerate()
            .filter(|&(k, &s)| !srcs[..k].contains(&s) && self.left[s] == reads(s));
        begins.sum::<i32>() - ends.map(|(_, &s)| size(s)).sum::<i32>()
    }

    fn pass<I>(&mut self, f: &Function<I>, i: Ins) {
        self.now += self.change(f, i);
        f.srcs(i).iter().for_each(|&s| self.left[s] -= 1);
    }
}
