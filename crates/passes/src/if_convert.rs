//! Converts small `if`s without side effects to selects.
//!
//! Instructions with uniform results count as free, since a back end computes them once in a
//! preamble. Where one side of an `if` has only such instructions, and the selects cost no more
//! than the branch and the moves into the phis, the other side may be longer.
//!
//! In a chain of `if`s of which all sides but one are free, only that side stays under a branch;
//! the values of the others are selected after it.

use crate::edit::push;
use crate::uniformity::{Uniformity, is_always_there};
use tepui_ir::{Attrs, Inst, Op, Props, Region, Shader, Type, Value};

/// Maximum number of instructions of both sides together.
const MAX_COST: usize = 12;
/// Cost limit if the selects take no more instructions than the branch, as in each step of a chain of
/// `else if`.
const MAX_COST_OF_FEW: usize = 20;
/// Cost limit if one side is free.
const MAX_COST_OF_ONE: usize = 20;
/// Instructions that open and close an `if`.
const BRANCH: usize = 2;
/// Maximum number of speculated instructions of a chain.
const MAX_COST_OF_CHAIN: usize = 32;

/// Comparisons that are looked for among the conditions of selects.
const MAX_COMPARISONS: usize = 32;

/// Runs the pass.
pub fn run(s: &mut Shader) -> bool {
    if !s.any(|s, _, i| s.insts[i].op == Op::If) {
        return false;
    }
    let uniformity = Uniformity::new(s);
    let mut changed = false;
    let root = s.root;
    region(s, root, &uniformity, &mut changed);
    changed
}

/// The cost of speculating instructions.
#[derive(Clone, Copy)]
struct Cost {
    /// Instructions, without comparisons that selects make.
    instructions: usize,
    /// Comparisons that selects make.
    comparisons: usize,
    /// Some of them load.
    loads: bool,
}

/// The cost of speculating one side; `None` if it must not be speculated.
fn cost(s: &Shader, r: Region, uniformity: &Uniformity) -> Option<Cost> {
    let (&last, body) = s.regions[r].insts.split_last()?;
    if s.insts[last].op != Op::Yield {
        return None;
    }
    cost_of(s, body, uniformity)
}

/// The cost of instructions; `None` for those that must not run always.
fn cost_of(s: &Shader, body: &[Inst], uniformity: &Uniformity) -> Option<Cost> {
    let (mut sum, mut comparisons, mut loads) = (0, 0, false);
    // Comparisons that no select has used yet.
    let mut compared: Vec<Value> = Vec::new();
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
        if s.results(i).iter().all(|&v| uniformity.is_uniform(v)) {
            continue;
        }
        // A select makes the comparison that it depends on.
        if op == Op::Select
            && let Some(k) = compared.iter().position(|&c| c == s.arg(i, 0))
        {
            compared.swap_remove(k);
            sum -= 1;
            comparisons += 1;
        } else if is_comparison(s, i) && compared.len() < MAX_COMPARISONS {
            compared.push(s.result(i));
        }
        sum += match op {
            Op::Const | Op::Copy | Op::Vec | Op::Extract | Op::Bitcast | Op::FNeg | Op::FAbs => 0,
            Op::FDiv | Op::FPow | Op::FSin | Op::FCos | Op::FRem | Op::FMod => 6,
            Op::SDiv | Op::UDiv | Op::SRem | Op::SMod | Op::UMod => 12,
            Op::FSqrt | Op::FRsq | Op::FRcp | Op::FExp2 | Op::FLog2 => 3,
            _ => usize::from(s.ty(s.result(i)).comps()),
        };
    }
    Some(Cost { instructions: sum, comparisons, loads })
}

/// Whether an instruction compares two numbers.
fn is_comparison(s: &Shader, i: Inst) -> bool {
    matches!(*s.args(i), [a, _] if s.ty(a) != Type::B1) && s.ty(s.result(i)) == Type::B1
}

fn region(s: &mut Shader, r: Region, uniformity: &Uniformity, changed: &mut bool) {
    let insts = std::mem::take(&mut s.regions[r].insts);
    let mut out: Vec<Inst> = Vec::with_capacity(insts.len());
    for i in insts {
        for inner in s.inst_regions(i) {
            region(s, inner, uniformity, changed);
        }
        let Attrs::If(a, b) = s.insts[i].attrs else {
            out.push(i);
            continue;
        };
        let (Some(first), Some(second)) = (cost(s, a, uniformity), cost(s, b, uniformity)) else {
            match merge(s, i, uniformity, &mut out) {
                true => *changed = true,
                false => out.push(i),
            }
            continue;
        };
        let selects: usize = s.results(i).iter().map(|&v| s.ty(v).comps() as usize).sum();
        // Compares the cost of the selects with that of the branch and the moves.
        let sides = [first, second].map(|c| c.instructions + c.comparisons);
        let free = if sides[0] == 0 { a } else { b };
        let moves: usize = s.terminator(free).map_or(0, |t| {
            let moved = s.args(t).iter().filter(|&&v| uniformity.is_uniform(v));
            moved.map(|&v| usize::from(s.ty(v).comps())).sum()
        });
        let all = sides[0] + sides[1] + selects;
        let converts = match sides[0].min(sides[1]) {
            0 if selects <= moves + BRANCH => all <= MAX_COST_OF_ONE,
            _ if first.loads || second.loads => false,
            _ if selects <= BRANCH => {
                all - first.comparisons - second.comparisons <= MAX_COST_OF_FEW
            }
            _ => all <= MAX_COST,
        };
        if !converts {
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
            let (x, y) = (s.arg(ta, k), s.arg(tb, k));
            select(s, i, [c, x, y], v, &mut out);
        }
    }
    s.regions[r].insts = out;
}

/// Defines the result of `i` by a select.
fn select(s: &mut Shader, i: Inst, [c, x, y]: [Value; 3], result: Value, out: &mut Vec<Inst>) {
    let comps = s.ty(result).comps();
    let cond = if comps == 1 {
        c
    } else {
        let parts = vec![c; comps as usize];
        push(s, out, i, Op::Vec, Attrs::None, &parts, Type::vec(1, comps))
    };
    let sel = s.make_inst(Op::Select, Attrs::None, &[cond, x, y], &[]);
    s.insts[sel].loc = s.insts[i].loc;
    s.set_results(sel, &[result]);
    out.push(sel);
}

/// Takes the only `if` in an arm out of it where the other arm is free, and so is one of that
/// `if`'s: it then goes there in the lanes of both.
fn merge(s: &mut Shader, i: Inst, uniformity: &Uniformity, out: &mut Vec<Inst>) -> bool {
    let Attrs::If(a, b) = s.insts[i].attrs else { return false };
    let free = |s: &Shader, r: Region| {
        cost(s, r, uniformity).is_some_and(|c| c.instructions + c.comparisons == 0)
    };
    let (easy, hard, first) = match (free(s, a), free(s, b)) {
        (true, false) => (a, b, true),
        (false, true) => (b, a, false),
        _ => return false,
    };
    let is_if = |&n: &Inst| s.insts[n].op == Op::If;
    let body = &s.regions[hard].insts;
    let Some(at) = body.iter().position(is_if) else { return false };
    let (Some((&last, rest)), inner) = (body.split_last(), body[at]) else { return false };
    let Attrs::If(x, y) = s.insts[inner].attrs else { return false };
    let around =
        [&rest[..at], rest.get(at + 1..).unwrap_or(&[])].map(|p| cost_of(s, p, uniformity));
    let [Some(before), Some(behind)] = around else { return false };
    let speculated = [before, behind].map(|c| c.instructions + c.comparisons);
    let inner_first = match (free(s, x), free(s, y)) {
        (true, false) => true,
        (false, true) => false,
        _ => return false,
    };
    let selects: usize = s.results(i).iter().map(|&v| s.ty(v).comps() as usize).sum();
    if s.insts[last].op != Op::Yield
        || selects > BRANCH
        || speculated[0] + speculated[1] + selects >= MAX_COST_OF_CHAIN
    {
        return false;
    }
    let (c, d, rest) = (s.arg(i, 0), s.arg(inner, 0), rest.to_vec());
    // Whether the lanes of the free side take the first side of the inner `if`, too.
    let goes = if first { c } else { push(s, out, i, Op::INot, Attrs::None, &[c], Type::B1) };
    out.extend(&rest[..at]);
    let cond = if inner_first {
        push(s, out, i, Op::IOr, Attrs::None, &[goes, d], Type::B1)
    } else {
        let not = push(s, out, i, Op::INot, Attrs::None, &[goes], Type::B1);
        push(s, out, i, Op::IAnd, Attrs::None, &[not, d], Type::B1)
    };
    s.set_args(inner, &[cond]);
    out.extend(&rest[at..]);
    let yielded = s.regions[easy].insts.pop();
    out.append(&mut s.regions[easy].insts);
    let Some(yielded) = yielded else { return false };
    let results = s.results(i).to_vec();
    s.set_results(i, &[]);
    for (k, v) in results.into_iter().enumerate() {
        let (x, y) = (s.arg(yielded, k), s.arg(last, k));
        let (x, y) = if first { (x, y) } else { (y, x) };
        select(s, i, [c, x, y], v, out);
    }
    true
}
