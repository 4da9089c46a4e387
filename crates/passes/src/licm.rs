//! Loop-invariant code: what a loop computes anew each time from values outside it moves before it.

use crate::access::{Writes, place};
use tepui_ir::cranelift_entity::SecondaryMap;
use tepui_ir::{Access, Attrs, Inst, Op, Props, Region, Shader, Value};

/// Runs the pass.
pub fn run(s: &mut Shader) -> bool {
    let mut changed = false;
    let root = s.root;
    region(s, root, &mut changed);
    changed
}

fn region(s: &mut Shader, r: Region, changed: &mut bool) {
    let insts = std::mem::take(&mut s.regions[r].insts);
    let mut out: Vec<Inst> = Vec::with_capacity(insts.len());
    for i in insts {
        // Inner loops first: what leaves them may leave this one too.
        for inner in s.inst_regions(i) {
            region(s, inner, changed);
        }
        if let Attrs::Loop(body) = s.insts[i].attrs {
            let mut inside: SecondaryMap<Value, bool> = SecondaryMap::new();
            for &p in &s.regions[body].params {
                inside[p] = true;
            }
            mark(s, body, &mut inside);
            let writes = Writes::of(s, body);
            hoist(s, body, &mut inside, &writes, true, &mut out, changed);
        }
        out.push(i);
    }
    s.regions[r].insts = out;
}

/// Whether a `break` or `continue` of the innermost loop stands in the region.
fn leaves(s: &Shader, r: Region) -> bool {
    s.regions[r].insts.iter().any(|&i| match s.insts[i].op {
        Op::Break | Op::Continue => true,
        Op::If => s.inst_regions(i).any(|q| leaves(s, q)),
        _ => false,
    })
}

fn mark(s: &Shader, r: Region, inside: &mut SecondaryMap<Value, bool>) {
    for &i in &s.regions[r].insts {
        for &v in s.results(i) {
            inside[v] = true;
        }
        for q in s.inst_regions(i) {
            for &p in &s.regions[q].params {
                inside[p] = true;
            }
            mark(s, q, inside);
        }
    }
}

/// `surely`: every invocation that enters the loop comes here at least once.
fn movable(s: &Shader, i: Inst, writes: &Writes, surely: bool) -> bool {
    let d = &s.insts[i];
    if let Some((p, false)) = place(s, i) {
        // A load from a buffer is checked against its bounds and may run even where the loop would not have.
        let safe = surely || d.op == Op::LoadBuffer;
        let constant = d.op == Op::LoadBuffer && p.access.contains(Access::CONST);
        return safe
            && (constant || p.plain() && !writes.touch(s, &p))
            && !p.access.contains(Access::VOLATILE);
    }
    match d.attrs {
        Attrs::Image(_) => false,
        _ => d.op.is_pure() && !d.op.props().contains(Props::CONVERGENT),
    }
}

fn hoist(
    s: &mut Shader,
    r: Region,
    inside: &mut SecondaryMap<Value, bool>,
    writes: &Writes,
    mut surely: bool,
    out: &mut Vec<Inst>,
    changed: &mut bool,
) {
    let insts = std::mem::take(&mut s.regions[r].insts);
    let mut keep = Vec::with_capacity(insts.len());
    for i in insts {
        if movable(s, i, writes, surely) && s.args(i).iter().all(|&a| !inside[a]) {
            for &v in s.results(i) {
                inside[v] = false;
            }
            *changed = true;
            out.push(i);
            continue;
        }
        let inner = s.insts[i].op == Op::Loop;
        for q in s.inst_regions(i) {
            hoist(s, q, inside, writes, false, out, changed);
            surely &= inner || !leaves(s, q);
        }
        keep.push(i);
    }
    s.regions[r].insts = keep;
}
