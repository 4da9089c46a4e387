//! Counted loops with few iterations are written out.
//!
//! The number of iterations is found by running the loop's exit test on constants: the test must depend on parameters only whose
//! first values are constants and whose next values follow from such parameters by ops with a meaning on constants.

use crate::clone;
use rustc_hash::FxHashMap as HashMap;
use tepui_ir::op::fold;
use tepui_ir::{Attrs, Inst, Op, Region, Shader, Value, ValueDef};

/// Limits of what is unrolled.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most iterations.
    pub iterations: usize,
    /// Most instructions that the iterations have together.
    pub instructions: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { iterations: 32, instructions: 256 }
    }
}

/// Runs the pass.
pub fn run(s: &mut Shader) -> bool {
    run_with(s, Limits::default())
}

/// Runs the pass within limits.
pub fn run_with(s: &mut Shader, limits: Limits) -> bool {
    let mut changed = false;
    let root = s.root;
    region(s, root, limits, &mut changed);
    changed
}

fn region(s: &mut Shader, r: Region, limits: Limits, changed: &mut bool) {
    let insts = std::mem::take(&mut s.regions[r].insts);
    let mut out: Vec<Inst> = Vec::with_capacity(insts.len());
    let mut map = HashMap::default();
    for i in insts {
        for inner in s.inst_regions(i).collect::<Vec<_>>() {
            region(s, inner, limits, changed);
        }
        if let Attrs::Loop(body) = s.insts[i].attrs
            && let Some(exit) = only_exit(s, body)
            && let Some(n) = trips(s, i, body, exit, limits.iterations)
            && n.saturating_mul(size(s, body)).saturating_mul(dearness(s, body))
                <= limits.instructions
        {
            *changed = true;
            expand(s, i, body, exit, n, &mut out, &mut map);
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
        // A loop's results are visible in its own region and below, and the rest of the tree may be taken apart just now.
        rewrite(s, r, &names);
    }
}

fn rewrite(s: &mut Shader, r: Region, names: &crate::Renames) {
    for i in s.regions[r].insts.clone() {
        names.apply(s, i);
        for q in s.inst_regions(i).collect::<Vec<_>>() {
            rewrite(s, q, names);
        }
    }
}

/// What copies of a body cost beside their size: a loop inside, or a barrier, gains little from it.
fn dearness(s: &Shader, r: Region) -> usize {
    let dear = |i: Inst| {
        matches!(s.insts[i].op, Op::Loop | Op::Barrier)
            || s.inst_regions(i).any(|q| dearness(s, q) > 1)
    };
    if s.regions[r].insts.iter().any(|&i| dear(i)) { 6 } else { 1 }
}

fn size(s: &Shader, r: Region) -> usize {
    s.regions[r]
        .insts
        .iter()
        .map(|&i| 1 + s.inst_regions(i).map(|q| size(s, q)).sum::<usize>())
        .sum()
}

/// The `if` at the top of the body that holds the loop's only `break`, as an arm that does nothing else;
/// the body itself must end in the only `continue`.
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

/// How often the exit test lets the loop go on.
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
