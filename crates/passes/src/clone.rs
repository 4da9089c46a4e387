//! Copies of instructions with their regions.

use rustc_hash::FxHashMap as HashMap;
use tepui_ir::{Attrs, Inst, Region, Shader, Value};

/// Copies an instruction; operands are looked up in `map`, which then also knows the new results.
pub fn inst(s: &mut Shader, i: Inst, map: &mut HashMap<Value, Value>) -> Inst {
    let d = s.insts[i].clone();
    let args: Vec<Value> = s.args(i).iter().map(|a| *map.get(a).unwrap_or(a)).collect();
    let attrs = match d.attrs {
        Attrs::If(a, b) => Attrs::If(region(s, a, map), region(s, b, map)),
        Attrs::Loop(b) => Attrs::Loop(region(s, b, map)),
        a => a,
    };
    let results = s.results(i).to_vec();
    let tys: Vec<_> = results.iter().map(|&r| s.ty(r)).collect();
    let n = s.make_inst(d.op, attrs, &args, &tys);
    s.insts[n].flags = d.flags;
    s.insts[n].loc = d.loc;
    for (k, r) in results.into_iter().enumerate() {
        map.insert(r, s.results(n)[k]);
    }
    n
}

fn region(s: &mut Shader, r: Region, map: &mut HashMap<Value, Value>) -> Region {
    let n = s.make_region();
    for p in s.regions[r].params.clone() {
        let ty = s.ty(p);
        let q = s.add_param(n, ty);
        map.insert(p, q);
    }
    for i in s.regions[r].insts.clone() {
        let c = inst(s, i, map);
        s.regions[n].insts.push(c);
    }
    n
}
