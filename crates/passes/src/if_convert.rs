//! Small `if`s without effects become selects.
//!
//! What all invocations have alike costs nothing: a back end computes it once. Where one arm has nothing else, and the selects are no dearer than
//! the branch and the moves into the joint results, the other arm may be longer.

use crate::same::{Same, is_always_there};
use tepui_ir::{Attrs, Inst, Op, Props, Region, Shader};

/// Most instructions of both arms together.
const MAX_COST: usize = 12;
/// The same where one arm is free.
const MAX_COST_OF_ONE: usize = 20;
/// Instructions that open and close an `if`.
const BRANCH: usize = 2;

/// Runs the pass.
pub fn run(s: &mut Shader) -> bool {
    if !s.any(|s, _, i| s.insts[i].op == Op::If) {
        return false;
    }
    let same = Same::new(s);
    let mut changed = false;
    let root = s.root;
    region(s, root, &same, &mut changed);
    changed
}

/// The cost of running an arm always, and whether it loads; `None` when it must not.
fn cost(s: &Shader, r: Region, same: &Same) -> Option<(usize, bool)> {
    let insts = &s.regions[r].insts;
    let (&last, body) = insts.split_last()?;
    if s.insts[last].op != Op::Yield {
        return None;
    }
    let (mut sum, mut loads) = (0, false);
    for &i in body {
        let op = s.insts[i].op;
        if is_always_there(s, i) {
            loads = true;
            continue;
        }
        let load = matches!(op, Op::TexFetch | Op::TexSampleLod | Op::TexGather);
        if !op.is_pure() || op.props().contains(Props::CONVERGENT) || load {
            return None;
        }
        if s.results(i).iter().all(|&v| same.has(v)) {
            continue;
        }
        sum += match op {
            Op::Const | Op::Copy | Op::Vec | Op::Extract | Op::Bitcast | Op::FNeg | Op::FAbs => 0,
            Op::FDiv | Op::FPow | Op::FSin | Op::FCos | Op::FRem | Op::FMod => 6,
            Op::SDiv | Op::UDiv | Op::SRem | Op::SMod | Op::UMod => 12,
            Op::FSqrt | Op::FRsq | Op::FRcp | Op::FExp2 | Op::FLog2 => 3,
            _ => usize::from(s.ty(s.result(i)).comps()),
        };
    }
    Some((sum, loads))
}

fn region(s: &mut Shader, r: Region, same: &Same, changed: &mut bool) {
    let insts = std::mem::take(&mut s.regions[r].insts);
    let mut out: Vec<Inst> = Vec::with_capacity(insts.len());
    for i in insts {
        for inner in s.inst_regions(i) {
            region(s, inner, same, changed);
        }
        let Attrs::If(a, b) = s.insts[i].attrs else {
            out.push(i);
            continue;
        };
        let (Some((ca, la)), Some((cb, lb))) = (cost(s, a, same), cost(s, b, same)) else {
            out.push(i);
            continue;
        };
        let selects: usize = s.results(i).iter().map(|&v| s.ty(v).comps() as usize).sum();
        // Against the selects stand the branch and the moves of an arm that has nothing else.
        let free = if ca == 0 { a } else { b };
        let moves: usize = s.terminator(free).map_or(0, |t| {
            let moved = s.args(t).iter().filter(|&&v| same.has(v));
            moved.map(|&v| usize::from(s.ty(v).comps())).sum()
        });
        let most = match ca.min(cb) {
            0 if selects <= moves + BRANCH => MAX_COST_OF_ONE,
            _ if la || lb => 0,
            _ => MAX_COST,
        };
        if ca + cb + selects > most {
            out.push(i);
            continue;
        }
        *changed = true;
        let (ta, tb) = (s.regions[a].insts.pop(), s.regions[b].insts.pop());
        for arm in [a, b] {
            let moved = std::mem::take(&mut s.regions[arm].insts);
            out.extend(moved);
        }
        let (Some(ta), Some(tb)) = (ta, tb) else { continue };
        let c = s.arg(i, 0);
        let results = s.results(i).to_vec();
        s.set_results(i, &[]);
        for (k, v) in results.into_iter().enumerate() {
            let (x, y, comps) = (s.arg(ta, k), s.arg(tb, k), s.ty(v).comps());
            let cond = if comps == 1 {
                c
            } else {
                let ty = tepui_ir::Type::vec(1, comps);
                crate::edit::push(
                    s,
                    &mut out,
                    i,
                    Op::Vec,
                    Attrs::None,
                    &vec![c; comps as usize],
                    ty,
                )
            };
            let sel = s.make_inst(Op::Select, Attrs::None, &[cond, x, y], &[]);
            s.insts[sel].loc = s.insts[i].loc;
            s.set_results(sel, &[v]);
            out.push(sel);
        }
    }
    s.regions[r].insts = out;
}
