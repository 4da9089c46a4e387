//! Splits arrays that are only indexed by constants into one variable for each element.

use tepui_ir::cranelift_entity::EntityRef;
use tepui_ir::{Attrs, Op, Shader, Var, VarData};

/// Longest array that is split.
pub(crate) const MAX_LEN: u32 = 256;

/// Runs the pass.
pub fn run(s: &mut Shader) -> bool {
    let mut ok: Vec<bool> = s.vars.values().map(|v| v.len.is_some_and(|n| n <= MAX_LEN)).collect();
    let mut uses = Vec::new();
    s.walk(|s, _, i| {
        if let Attrs::Var(v) = s.insts[i].attrs {
            let index = s.args(i).last().copied();
            let inside = index
                .and_then(|x| s.as_const(x))
                .is_some_and(|c| c < u64::from(s.vars[v].len.unwrap_or(0)));
            ok[v.index()] &= inside;
            uses.push(i);
        }
    });
    let mut parts: Vec<Vec<Var>> = vec![Vec::new(); ok.len()];
    let mut changed = false;
    for i in uses {
        let Attrs::Var(v) = s.insts[i].attrs else { continue };
        if !ok[v.index()] {
            continue;
        }
        changed = true;
        if parts[v.index()].is_empty() {
            let d = s.vars[v].clone();
            for k in 0..d.len.unwrap_or(0) {
                let part =
                    s.vars.push(VarData { ty: d.ty, len: None, name: format!("{}[{k}]", d.name) });
                parts[v.index()].push(part);
            }
        }
        let args = s.args(i).to_vec();
        let k = args.last().and_then(|&x| s.as_const(x)).unwrap_or(0) as usize;
        s.insts[i].attrs = Attrs::Var(parts[v.index()][k]);
        let keep = usize::from(s.insts[i].op == Op::StoreVar);
        s.set_args(i, &args[..keep]);
    }
    changed
}
