//! Unrolls counted loops: completely if the result is short or simplifies well, else by a factor.
//!
//! The trip count is found by evaluating the exit test on constants: it may only depend on loop
//! parameters with constant initial values, whose next values follow from such parameters by ops
//! that can be folded.
//!
//! Unrolling pays where much of the body becomes constant, and most where array indices become
//! constant: then the elements become SSA values and need no memory. Of an array of inputs, only
//! the element that is read is interpolated then.

use crate::clone;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use tepui_ir::cranelift_entity::EntityRef;
use tepui_ir::op::fold;
use tepui_ir::{Attrs, Inst, Op, Region, Shader, Value, ValueDef};

/// Limits of what is unrolled. Instructions are those of all iterations together, without those
/// that become known.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of iterations.
    pub iterations: usize,
    /// Maximum number of instructions.
    pub instructions: usize,
    /// Maximum number of instructions if a quarter of the body becomes constant.
    pub known: usize,
    /// Maximum number of instructions, of all loops together, if array indices become constant.
    pub arrays: usize,
    /// Factor of the instructions of a loop that contains a barrier.
    pub barrier: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { iterations: 128, instructions: 256, known: 512, arrays: 5000, barrier: NESTED }
    }
}

/// Factor of the instructions of a loop that contains a loop, which gains little from copies of its body.
const NESTED: usize = 6;
/// Iterations up to which the trips of a loop are counted that is unrolled in part.
const COUNTED: usize = 1024;
/// Maximum unroll factor for partial unrolling.
const MAX_FACTOR: usize = 8;
/// Maximum number of instructions of a partially unrolled body.
const MAX_UNROLLED_INSTRUCTIONS: usize = 96;

/// Unrolls loops within the default limits.
pub fn run(s: &mut Shader) -> bool {
    run_with(s, Limits::default())
}

/// [`run`] within limits.
pub fn run_with(s: &mut Shader, limits: Limits) -> bool {
    let mut u = Unroll { limits, counted: HashMap::default(), unknown: Vec::new() };
    find(s, s.root, (limits.iterations, usize::MAX), &mut u.counted);
    if u.counted.is_empty() {
        return false;
    }
    u.unknown = u.unknown_indices(s);
    let root = s.root;
    u.region(s, root)
}

/// Partially unrolls the innermost loops with a known number of short iterations.
pub fn run_partly(s: &mut Shader) -> bool {
    let mut counted = HashMap::default();
    find(s, s.root, (COUNTED, MAX_UNROLLED_INSTRUCTIONS / 2), &mut counted);
    let mut all: Vec<(Region, Counted)> = counted.into_iter().collect();
    all.sort_unstable_by_key(|(body, _)| *body);
    let mut changed = false;
    for (body, Counted { exit, trips }) in all {
        let n = size(s, body);
        if contains(s, body, Op::Loop) || contains(s, body, Op::Barrier) {
            continue;
        }
        let fits = |k: &usize| {
            trips.is_multiple_of(*k) && trips > *k && k * n <= MAX_UNROLLED_INSTRUCTIONS
        };
        if let Some(k) = (2..=MAX_FACTOR).rev().find(fits) {
            widen(s, body, exit, k);
            changed = true;
        }
    }
    changed
}

/// A loop whose iterations are known.
#[derive(Clone, Copy)]
struct Counted {
    /// The `if` that holds its only `break`.
    exit: Inst,
    /// Whole iterations.
    trips: usize,
}

/// The loops within limits of iterations and of instructions in the body, by their bodies.
fn find(s: &Shader, r: Region, most: (usize, usize), out: &mut HashMap<Region, Counted>) {
    for &i in &s.regions[r].insts {
        if let Attrs::Loop(body) = s.insts[i].attrs
            && let Some(exit) = only_exit(s, body)
            && (most.1 == usize::MAX || size(s, body) <= most.1)
            && let Some(trips) = trips(s, i, body, exit, most.0)
        {
            out.insert(body, Counted { exit, trips });
        }
        for q in s.inst_regions(i) {
            find(s, q, most, out);
        }
    }
}

struct Unroll {
    limits: Limits,
    counted: HashMap<Region, Counted>,
    /// Variables with an index that no unrolling makes known.
    unknown: Vec<bool>,
}

impl Unroll {
    /// Returns whether anything was unrolled. A loop around an unrolled one waits until that is
    /// cleaned up.
    fn region(&mut self, s: &mut Shader, r: Region) -> bool {
        let insts = std::mem::take(&mut s.regions[r].insts);
        let mut out: Vec<Inst> = Vec::with_capacity(insts.len());
        let mut map = HashMap::default();
        let mut changed = false;
        for i in insts {
            let mut inside = false;
            for q in s.inst_regions(i) {
                inside |= self.region(s, q);
            }
            changed |= inside;
            if let Attrs::Loop(body) = s.insts[i].attrs
                && !inside
                && let Some(&c) = self.counted.get(&body)
                && self.pays(s, i, body, c.trips)
            {
                changed = true;
                expand(s, i, body, c.exit, c.trips, &mut out, &mut map);
                continue;
            }
            out.push(i);
        }
        s.regions[r].insts = out;
        if !map.is_empty() {
            let mut names = crate::Renames::default();
            for (old, new) in map {
                names.set(old, new);
            }
            // A loop's results are visible in its own region and below, and the rest of the tree
            // may be taken apart just now.
            rewrite(s, r, &names);
        }
        changed
    }

    fn pays(&mut self, s: &Shader, l: Inst, body: Region, trips: usize) -> bool {
        let mut g = Benefit { known: known_params(s, l, body), ..Benefit::default() };
        self.gain(s, body, &mut g);
        let left = trips.saturating_mul(g.size - g.known_insts);
        let weight = match (contains(s, body, Op::Loop), contains(s, body, Op::Barrier)) {
            (true, _) => NESTED,
            (false, true) => self.limits.barrier,
            (false, false) => 1,
        };
        if left.saturating_mul(weight) <= self.limits.instructions
            || g.known_insts * 4 >= g.size && left <= self.limits.known
        {
            return true;
        }
        let arrays = g.arrays && left <= self.limits.arrays;
        if arrays {
            self.limits.arrays -= left;
        }
        arrays
    }

    /// Counts what a region has, and what of it becomes known.
    fn gain(&self, s: &Shader, r: Region, g: &mut Benefit) {
        for &i in &s.regions[r].insts {
            g.size += 1;
            let known = |v: &Value| s.is_const(*v) || g.known.contains(v);
            if let (Attrs::Var(v), Some(k)) = (s.insts[i].attrs, s.args(i).last())
                && s.vars[v].len.is_some_and(|n| n <= crate::split::MAX_LEN)
                && !self.unknown[v.index()]
                && g.known.contains(k)
            {
                g.arrays = true;
            }
            // With a dynamic index of inputs, all of them are interpolated.
            if s.insts[i].op == Op::LoadInput && s.args(i).iter().any(|v| g.known.contains(v)) {
                g.arrays = true;
            }
            if foldable(s, i) && s.args(i).iter().all(known) {
                g.known_insts += 1;
                let r = s.result(i);
                g.known.insert(r);
            }
            for q in s.inst_regions(i) {
                self.gain(s, q, g);
            }
        }
    }

    /// For each variable, whether one of its indices depends on more than constants and the
    /// parameters of counted loops.
    fn unknown_indices(&self, s: &Shader) -> Vec<bool> {
        let mut unknown = vec![false; s.vars.len()];
        s.walk(|s, _, i| {
            if let (Attrs::Var(v), Some(&k)) = (s.insts[i].attrs, s.args(i).last())
                && s.vars[v].len.is_some()
                && !unknown[v.index()]
            {
                unknown[v.index()] = !self.counts(s, k, 0);
            }
        });
        unknown
    }

    fn counts(&self, s: &Shader, v: Value, depth: u32) -> bool {
        match s.values[v].def {
            ValueDef::Param(r, _) => self.counted.contains_key(&r),
            ValueDef::Result(i, _) => {
                s.is_const(v)
                    || depth < 8
                        && foldable(s, i)
                        && s.args(i).iter().all(|&a| self.counts(s, a, depth + 1))
            }
        }
    }
}

/// The benefit of unrolling a loop.
#[derive(Default)]
struct Benefit {
    /// Values that are known in each iteration.
    known: HashSet<Value>,
    size: usize,
    known_insts: usize,
    /// An index of an array becomes known.
    arrays: bool,
}

/// Whether an instruction has a value when its operands have.
fn foldable(s: &Shader, i: Inst) -> bool {
    s.insts[i].op.is_elementwise() && s.results(i).len() == 1 && !s.args(i).is_empty()
}

/// The parameters that are known in each iteration.
fn known_params(s: &Shader, l: Inst, body: Region) -> HashSet<Value> {
    let params = &s.regions[body].params;
    let next = s.terminator(body).map_or(&[][..], |t| s.args(t));
    let first = params.iter().zip(s.args(l)).filter(|(_, a)| s.is_const(**a));
    let mut known: HashSet<Value> = first.map(|(&p, _)| p).collect();
    // Remove values whose next value depends on something unknown, then values that depend on those.
    loop {
        let mut all = known.clone();
        for &i in &s.regions[body].insts {
            if foldable(s, i) && s.args(i).iter().all(|a| s.is_const(*a) || all.contains(a)) {
                all.insert(s.result(i));
            }
        }
        let before = known.len();
        for (p, n) in params.iter().zip(next) {
            if !s.is_const(*n) && !all.contains(n) {
                known.remove(p);
            }
        }
        if known.len() == before {
            return known;
        }
    }
}

fn rewrite(s: &mut Shader, r: Region, names: &crate::Renames) {
    for i in s.regions[r].insts.clone() {
        names.apply(s, i);
        for q in s.inst_regions(i) {
            rewrite(s, q, names);
        }
    }
}

/// Whether a region contains an operation.
fn contains(s: &Shader, r: Region, op: Op) -> bool {
    let within = |i: Inst| s.inst_regions(i).any(|q| contains(s, q, op));
    s.regions[r].insts.iter().any(|&i| s.insts[i].op == op || within(i))
}

fn size(s: &Shader, r: Region) -> usize {
    s.regions[r]
        .insts
        .iter()
        .map(|&i| 1 + s.inst_regions(i).map(|q| size(s, q)).sum::<usize>())
        .sum()
}

/// The `if` at the top of the body that holds the loop's only `break`, as an arm that does nothing
/// else; the body itself must end in the only `continue`.
fn only_exit(s: &Shader, body: Region) -> Option<Inst> {
    let (&last, insts) = s.regions[body].insts.split_last()?;
    if s.insts[last].op != Op::Continue {
        return None;
    }
    let mut exit = None;
    for &i in insts {
        if let Attrs::If(a, b) = s.insts[i].attrs {
            let n = leaves(s, a) + leaves(s, b);
            if n == 0 {
                continue;
            }
            let alone = |r: Region| s.regions[r].insts.len() == 1;
            let ends = |r: Region, op| s.terminator(r).is_some_and(|t| s.insts[t].op == op);
            let good = n == 1
                && exit.is_none()
                && s.results(i).is_empty()
                && ((alone(a) && ends(a, Op::Break) && alone(b) && ends(b, Op::Yield))
                    || (alone(b) && ends(b, Op::Break) && alone(a) && ends(a, Op::Yield)));
            if !good {
                return None;
            }
            exit = Some(i);
        }
    }
    exit
}

/// Number of `break`s and `continue`s of the innermost loop in a region.
fn leaves(s: &Shader, r: Region) -> usize {
    s.regions[r]
        .insts
        .iter()
        .map(|&i| match s.insts[i].op {
            Op::Break | Op::Continue => 1,
            Op::If => s.inst_regions(i).map(|q| leaves(s, q)).sum(),
            _ => 0,
        })
        .sum()
}

fn breaks_when(s: &Shader, exit: Inst) -> bool {
    let Attrs::If(a, _) = s.insts[exit].attrs else { return false };
    s.terminator(a).is_some_and(|t| s.insts[t].op == Op::Break)
}

/// The value of `v` when `params` are known, scalars only.
fn eval(
    s: &Shader,
    v: Value,
    body: Region,
    params: &[Option<u64>],
    memo: &mut HashMap<Value, Option<u64>>,
    depth: u32,
) -> Option<u64> {
    if let Some(c) = s.as_const(v) {
        return Some(c);
    }
    if let Some(&m) = memo.get(&v) {
        return m;
    }
    let r = match s.values[v].def {
        ValueDef::Param(r, n) if r == body => params[n as usize],
        ValueDef::Result(i, 0) if depth < 32 && s.insts[i].op.is_pure() && s.ty(v).is_scalar() => {
            let mut parts = Vec::new();
            for &a in s.args(i) {
                if !s.ty(a).is_scalar() {
                    return None;
                }
                parts.push((s.ty(a), [eval(s, a, body, params, memo, depth + 1)?]));
            }
            let refs: Vec<_> = parts.iter().map(|(t, c)| (*t, &c[..])).collect();
            let mut out = Vec::new();
            fold(s.insts[i].op, &refs, &s.insts[i].attrs, &[s.ty(v)], &mut out).then(|| out[0])
        }
        _ => None,
    };
    memo.insert(v, r);
    r
}

/// Trip count: the number of times that the exit test continues the loop.
fn trips(s: &Shader, l: Inst, body: Region, exit: Inst, max: usize) -> Option<usize> {
    let next = s.args(s.terminator(body)?).to_vec();
    let mut params: Vec<Option<u64>> = s.args(l).iter().map(|&a| s.as_const(a)).collect();
    let cond = s.arg(exit, 0);
    for n in 0..=max {
        let mut memo = HashMap::default();
        let c = eval(s, cond, body, &params, &mut memo, 0)?;
        if (c != 0) == breaks_when(s, exit) {
            return Some(n);
        }
        params = next.iter().map(|&v| eval(s, v, body, &params, &mut memo, 0)).collect();
    }
    None
}

/// Writes out `n` whole iterations and the part of the next before the exit.
fn expand(
    s: &mut Shader,
    l: Inst,
    body: Region,
    exit: Inst,
    n: usize,
    out: &mut Vec<Inst>,
    done: &mut HashMap<Value, Value>,
) {
    let insts = s.regions[body].insts.clone();
    let params = s.regions[body].params.clone();
    let Attrs::If(a, b) = s.insts[exit].attrs else { return };
    let arm = if breaks_when(s, exit) { a } else { b };
    let Some(brk) = s.terminator(arm) else { return };
    let mut cur = s.args(l).to_vec();
    for k in 0..=n {
        let mut map: HashMap<Value, Value> =
            params.iter().copied().zip(cur.iter().copied()).collect();
        for &i in &insts {
            if i == exit {
                if k == n {
                    let vals: Vec<Value> =
                        s.args(brk).iter().map(|v| *map.get(v).unwrap_or(v)).collect();
                    for (r, v) in s.results(l).to_vec().into_iter().zip(vals) {
                        done.insert(r, v);
                    }
                    return;
                }
                continue;
            }
            if s.insts[i].op == Op::Continue {
                cur = s.args(i).iter().map(|v| *map.get(v).unwrap_or(v)).collect();
                break;
            }
            let c = clone::inst(s, i, &mut map);
            out.push(c);
        }
    }
}

/// Unrolls a loop by a factor `k` that divides its trip count.
fn widen(s: &mut Shader, body: Region, exit: Inst, k: usize) {
    let insts = s.regions[body].insts.clone();
    let params = s.regions[body].params.clone();
    let Some((&last, rest)) = insts.split_last() else { return };
    let next = s.args(last).to_vec();
    let mut cur = next.clone();
    let mut out = rest.to_vec();
    for _ in 1..k {
        let mut map: HashMap<Value, Value> = params.iter().copied().zip(cur).collect();
        for &i in rest.iter().filter(|&&i| i != exit) {
            let c = clone::inst(s, i, &mut map);
            out.push(c);
        }
        cur = next.iter().map(|v| *map.get(v).unwrap_or(v)).collect();
    }
    s.set_args(last, &cur);
    out.push(last);
    s.regions[body].insts = out;
}

#[cfg(test)]
mod tests {
    use super::{Limits, run_with};
    use tepui_ir::Op;

    #[test]
    fn a_loop_around_a_barrier_is_unrolled_where_the_target_wants_it() {
        let text = "shader compute \"main\" {
  workgroup_size 64 1 1
  shared_bytes 256
  body {
    %0:b32 = const[0x0]
    %1:b32 = const[0x1]
    %2:b32 = const[0x8]
    %3:b32 = const[0x2]
    %4:b32 = load_builtin[local_invocation_index]
    %5:b32 = ishl %4, %3
    loop (%6:b32 = %0) {
      %7:b1 = sge %6, %2
      if %7 {
        break
      } else {
        yield
      }
      %8:b32 = load_shared[align 4] %5
      %9:b32 = imul %8, %4
      %10:b32 = ixor %9, %5
      %11:b32 = imul %10, %4
      %12:b32 = ixor %11, %5
      %13:b32 = ixor %12, %8
      barrier[workgroup workgroup shared]
      store_shared[align 4] %5, %13
      barrier[workgroup workgroup shared]
      %14:b32 = iadd %6, %1
      continue %14
    }
    yield
  }
}
";
        for (barrier, loops, barriers) in [(6, 1, 2), (1, 0, 16)] {
            let mut s = tepui_ir::parse(text).unwrap_or_else(|e| panic!("{e}"));
            run_with(&mut s, Limits { barrier, ..Limits::default() });
            let mut found = (0, 0);
            s.walk(|s, _, i| match s.insts[i].op {
                Op::Loop => found.0 += 1,
                Op::Barrier => found.1 += 1,
                _ => {}
            });
            assert_eq!(found, (loops, barriers), "{s}");
        }
    }
}
