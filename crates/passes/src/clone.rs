//! Clones instructions with their regions.

use rustc_hash::FxHashMap as HashMap;
use tepui_ir::{Attrs, Inst, Region, Shader, Value};

/// Copies an instruction; operands are looked up in `map`, which then also knows the new results.
pub fn inst(s: &mut Shader, i: Inst, map: &mut HashMap<Value, Value>) -> Inst {
    let mut d = s.insts[i].clone();
    d.attrs = match d.attrs {
        Attrs::If(a, b) => Attrs::If(region(s, a, map), region(s, b, map)),
        Attrs::Loop(b) => Attrs::Loop(region(s, b, map)),
        a => a,
    };
    d.args = d.args.deep_clone(&mut s.pool);
    for a in d.args.as_mut_slice(&mut s.pool) {
        *a = *map.get(a).unwrap_or(a);
    }
    let old = d.results.take();
    let n = s.insts.push(d);
    for k in 0..old.len(&s.pool) {
        let r = old.as_slice(&s.pool)[k];
        let ty = s.ty(r);
        let copy = s.add_result(n, ty);
        s.inherit_name(copy, r);
        map.insert(r, copy);
    }
    n
}

fn region(s: &mut Shader, r: Region, map: &mut HashMap<Value, Value>) -> Region {
    let n = s.make_region();
    for p in s.regions[r].params.clone() {
        let ty = s.ty(p);
        let q = s.add_param(n, ty);
        s.inherit_name(q, p);
        map.insert(p, q);
    }
    for i in s.regions[r].insts.clone() {
        let c = inst(s, i, map);
        s.regions[n].insts.push(c);
    }
    n
}
