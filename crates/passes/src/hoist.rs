//! Hoists computations that both sides of an `if` have in common to before the `if`.
//!
//! Together with [`crate::simplify`], which merges equal values where one dominates the other, this
//! is global value numbering.

use rustc_hash::FxHashMap as HashMap;
use tepui_ir::{Attrs, Inst, InstFlags, Op, Props, Region, Shader, Type, Value};

use crate::edit::Renames;

/// Runs the pass.
pub fn run(s: &mut Shader) -> bool {
    let mut names = Renames::default();
    let mut changed = false;
    let root = s.root;
    region(s, root, &mut names, &mut changed);
    names.apply_all(s);
    changed
}

type Key = (Op, Attrs, InstFlags, Vec<Value>, Type);

fn key(s: &Shader, i: Inst) -> Option<Key> {
    let d = &s.insts[i];
    let movable = d.op.is_pure()
        && !d.op.props().contains(Props::CONVERGENT)
        && !matches!(d.op, Op::Undef | Op::Const)
        && s.results(i).len() == 1;
    movable.then(|| (d.op, d.attrs, d.flags, s.args(i).to_vec(), s.ty(s.result(i))))
}

fn region(s: &mut Shader, r: Region, names: &mut Renames, changed: &mut bool) {
    let insts = std::mem::take(&mut s.regions[r].insts);
    let mut out: Vec<Inst> = Vec::with_capacity(insts.len());
    for i in insts {
        names.apply(s, i);
        for q in s.inst_regions(i) {
            region(s, q, names, changed);
        }
        if let Attrs::If(a, b) = s.insts[i].attrs {
            common(s, a, b, &mut out, names, changed);
        }
        out.push(i);
    }
    s.regions[r].insts = out;
}

fn common(
    s: &mut Shader,
    a: Region,
    b: Region,
    out: &mut Vec<Inst>,
    names: &mut Renames,
    changed: &mut bool,
) {
    let mut there: HashMap<Key, Inst> = HashMap::default();
    for &i in &s.regions[b].insts.clone() {
        names.apply(s, i);
        if let Some(k) = key(s, i) {
            there.entry(k).or_insert(i);
        }
    }
    if there.is_empty() {
        return;
    }
    // Equal keys mean equal operands, so these are defined outside of both sides, or were just
    // hoisted.
    let mut moved = 0;
    loop {
        let mut hit = None;
        for &i in &s.regions[a].insts {
            if let Some(k) = key(s, i)
                && let Some(&j) = there.get(&k)
            {
                hit = Some((i, j, k));
                break;
            }
        }
        let Some((i, j, k)) = hit else { break };
        there.remove(&k);
        moved += 1;
        s.regions[a].insts.retain(|&x| x != i);
        s.regions[b].insts.retain(|&x| x != j);
        out.push(i);
        names.set(s.result(j), s.result(i));
        // Users of the duplicate may match now.
        for x in s.regions[b].insts.clone() {
            names.apply(s, x);
            if let Some(k) = key(s, x) {
                there.entry(k).or_insert(x);
            }
        }
        if moved > 256 {
            break;
        }
    }
    *changed |= moved > 0;
}
