//! Loop-invariant code: what a loop computes anew each time from values outside it moves before it.

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
        for inner in s.inst_regions(i).collect::<Vec<_>>() {
            region(s, inner, changed);
        }
        if let Attrs::Loop(body) = s.insts[i].attrs {
            let mut inside: SecondaryMap<Value, bool> = SecondaryMap::new();
            for &p in &s.regions[body].params {
                inside[p] = true;
            }
            mark(s, body, &mut inside);
            hoist(s, body, &mut inside, &mut out, changed);
        }
        out.push(i);
    }
    s.regions[r].insts = out;
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

fn movable(s: &Shader, i: Inst) -> bool {
    let d = &s.insts[i];
    match d.attrs {
        // A load from memory that nothing writes may run even where the loop would not have.
        Attrs::Mem(m) if d.op == Op::LoadBuffer => {
            m.access.contains(Access::CONST) && !m.access.contains(Access::VOLATILE)
        }
        Attrs::Image(_) => false,
        _ => d.op.is_pure() && !d.op.props().contains(Props::CONVERGENT),
    }
}

fn hoist(
    s: &mut Shader,
    r: Region,
    inside: &mut SecondaryMap<Value, bool>,
    out: &mut Vec<Inst>,
    changed: &mut bool,
) {
    let insts = std::mem::take(&mut s.regions[r].insts);
    let mut keep = Vec::with_capacity(insts.len());
    for i in insts {
        if movable(s, i) && s.args(i).iter().all(|&a| !inside[a]) {
            for &v in s.results(i) {
                inside[v] = false;
            }
            *changed = true;
            out.push(i);
            continue;
        }
        for q in s.inst_regions(i).collect::<Vec<_>>() {
            hoist(s, q, inside, out, changed);
        }
        keep.push(i);
    }
    s.regions[r].insts = keep;
}
