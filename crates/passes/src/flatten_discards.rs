//! Replaces `if c { demote } else { rest }` by `demote_if c` and `rest` where skipping `rest` would
//! save nothing.
//!
//! This is safe because the outputs of a discarded invocation are dropped and its writes are
//! predicated by the back end. Code that could still do harm stays conditional: loops
//! that might not end, and loads from addresses that the invocation would not have used.

use rustc_hash::FxHashMap;
use tepui_ir::{Attrs, Inst, Op, Props, Region, Shader, Stage, Value};

/// Maximum number of instructions of the rest: with more, a jump for SIMD-groups that are discarded as
/// a whole is faster.
const MAX_INSTRUCTIONS: usize = 48;

/// Runs the pass; true when it changed the shader.
pub fn run(s: &mut Shader) -> bool {
    if s.info.stage != Stage::Fragment {
        return false;
    }
    let mut names = FxHashMap::default();
    let root = s.root;
    let changed = region(s, root, &mut names);
    let mut all = Vec::new();
    s.walk(|_, _, i| all.push(i));
    for i in all {
        for a in s.args_mut(i) {
            while let Some(&new) = names.get(a) {
                *a = new;
            }
        }
    }
    changed
}

/// Flattens what is in a region that no loop is around.
fn region(s: &mut Shader, r: Region, names: &mut FxHashMap<Value, Value>) -> bool {
    let mut changed = false;
    let mut out = Vec::with_capacity(s.regions[r].insts.len());
    for i in std::mem::take(&mut s.regions[r].insts) {
        let Attrs::If(a, b) = s.insts[i].attrs else {
            out.push(i);
            continue;
        };
        changed |= region(s, a, names);
        changed |= region(s, b, names);
        let (rest, inverted) = match (only_kills(s, a), only_kills(s, b)) {
            (true, _) if may_run_killed(s, b) => (b, false),
            (_, true) if may_run_killed(s, a) => (a, true),
            _ => {
                out.push(i);
                continue;
            }
        };
        let mut cond = s.arg(i, 0);
        if inverted {
            let ty = s.ty(cond);
            let not = s.make_inst(Op::INot, Attrs::None, &[cond], &[ty]);
            s.insts[not].loc = s.insts[i].loc;
            cond = s.result(not);
            out.push(not);
        }
        let kill = s.make_inst(Op::DemoteIf, Attrs::None, &[cond], &[]);
        s.insts[kill].loc = s.insts[i].loc;
        out.push(kill);
        let mut insts = std::mem::take(&mut s.regions[rest].insts);
        let end = insts.pop();
        out.extend(insts);
        if let Some(end) = end {
            for (old, new) in s.results(i).to_vec().into_iter().zip(s.args(end).to_vec()) {
                names.insert(old, new);
            }
        }
        changed = true;
    }
    s.regions[r].insts = out;
    changed
}

/// A region that discards, and whose results are unused then.
fn only_kills(s: &Shader, r: Region) -> bool {
    let mut kills = 0;
    s.regions[r].insts.iter().all(|&i| {
        let op = s.insts[i].op;
        kills += usize::from(op == Op::Demote);
        matches!(op, Op::Demote | Op::Yield) || op.is_pure()
    }) && kills > 0
}

/// A short region that terminates and has no effect whatever its values are.
fn may_run_killed(s: &Shader, r: Region) -> bool {
    let mut count = 0;
    harmless(s, r, &mut count) && count <= MAX_INSTRUCTIONS
}

fn harmless(s: &Shader, r: Region, count: &mut usize) -> bool {
    s.regions[r].insts.iter().all(|&i| {
        *count += 1;
        let op = s.insts[i].op;
        let stays = match op {
            Op::Loop | Op::Break | Op::Continue => false,
            Op::LoadBuffer | Op::LoadGlobal | Op::LoadOffset => at_constant_place(s, i),
            _ => !counts_lanes(op),
        };
        stays && s.inst_regions(i).all(|q| harmless(s, q, count))
    })
}

/// Killed invocations are no active lanes of a sub-group any more. Quads keep them for derivatives.
fn counts_lanes(op: Op) -> bool {
    let quad = matches!(
        op,
        Op::DdxFine
            | Op::DdyFine
            | Op::DdxCoarse
            | Op::DdyCoarse
            | Op::QuadBroadcast
            | Op::QuadSwap
            | Op::TexSample
            | Op::TexQueryLod
    );
    op.props().contains(Props::CONVERGENT) && op.is_pure() && !quad
}

/// A load whose address does not depend on the invocation.
fn at_constant_place(s: &Shader, load: Inst) -> bool {
    s.args(load).iter().all(|&a| {
        s.as_const(a).is_some()
            || s.def_inst(a).is_some_and(|d| {
                s.insts[d].op == Op::Descriptor && s.as_const(s.arg(d, 0)).is_some()
            })
    })
}

#[cfg(test)]
mod tests {
    use super::counts_lanes;
    use tepui_ir::Op;

    #[test]
    fn only_ops_of_sub_groups_see_who_was_discarded() {
        for op in [Op::Ballot, Op::Reduce, Op::Elect] {
            assert!(counts_lanes(op), "{}", op.name());
        }
        // Pure or convergent, or both by quads.
        for op in [Op::FAdd, Op::Barrier, Op::DdxFine, Op::TexSample, Op::StoreGlobal] {
            assert!(!counts_lanes(op), "{}", op.name());
        }
    }
}
