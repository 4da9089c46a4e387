//! Promotes variables to SSA values; `if`s and loops get parameters and results for values that
//! change in them.
//!
//! Handles every variable that is not an array, in one walk in program order. Structured control
//! flow shows in advance where values merge, so no dominance frontiers are needed. [`crate::dce`]
//! removes unused results and parameters.

use crate::edit::{Consts, Renames};
use rustc_hash::FxHashMap as HashMap;
use std::sync::Arc;
use tepui_ir::cranelift_entity::EntityRef;
use tepui_ir::{Attrs, Inst, Op, Region, Shader, Value, Var};

/// Runs the pass.
pub fn run(s: &mut Shader) -> bool {
    let take: Vec<bool> = s.vars.values().map(|v| v.len.is_none()).collect();
    let mut stored = HashMap::default();
    if !s.any(|s, _, i| matches!(s.insts[i].attrs, Attrs::Var(v) if take[v.index()])) {
        return false;
    }
    collect(s, s.root, &take, &mut stored);
    let mut p = Promote {
        take,
        stored,
        consts: Consts::new(s),
        names: Renames::default(),
        loops: Vec::new(),
        called: vec![None; s.vars.len()],
    };
    let mut cur = vec![None; s.vars.len()];
    p.region(s, s.root, &mut cur, &[]);
    p.consts.finish(s);
    true
}

/// Variables that a region and those inside it store to, in order of number.
fn collect(s: &Shader, r: Region, take: &[bool], out: &mut HashMap<Region, Vec<Var>>) {
    let mut vars = Vec::new();
    for &i in &s.regions[r].insts {
        if let (Op::StoreVar, Attrs::Var(v)) = (s.insts[i].op, s.insts[i].attrs)
            && take[v.index()]
        {
            vars.push(v);
        }
        for inner in s.inst_regions(i) {
            collect(s, inner, take, out);
            vars.extend(&out[&inner]);
        }
    }
    vars.sort_unstable();
    vars.dedup();
    out.insert(r, vars);
}

struct Promote {
    take: Vec<bool>,
    stored: HashMap<Region, Vec<Var>>,
    consts: Consts,
    names: Renames,
    /// Variables that the enclosing loops carry.
    loops: Vec<Vec<Var>>,
    /// Names of variables, as values have them.
    called: Vec<Option<Arc<str>>>,
}

type Current = Vec<Option<Value>>;

impl Promote {
    fn now(&mut self, s: &mut Shader, cur: &Current, v: Var) -> Value {
        match cur[v.index()] {
            Some(x) => x,
            None => {
                let ty = s.vars[v].ty;
                self.consts.undef(s, ty)
            }
        }
    }

    /// Names a value after the variable that it is, unless it has a name.
    fn call(&mut self, s: &mut Shader, x: Value, v: Var) {
        if s.names[x].is_none() && !s.vars[v].name.is_empty() {
            let name = &s.vars[v].name;
            let name = self.called[v.index()].get_or_insert_with(|| name.as_str().into());
            s.names[x] = Some(name.clone());
        }
    }

    /// `yields`: variables whose values the region's `yield` carries.
    fn region(&mut self, s: &mut Shader, r: Region, cur: &mut Current, yields: &[Var]) {
        let insts = std::mem::take(&mut s.regions[r].insts);
        let mut out: Vec<Inst> = Vec::with_capacity(insts.len());
        for i in insts {
            self.names.apply(s, i);
            match (s.insts[i].op, s.insts[i].attrs) {
                (Op::LoadVar, Attrs::Var(v)) if self.take[v.index()] => {
                    let x = self.now(s, cur, v);
                    self.names.set(s.result(i), x);
                    continue;
                }
                (Op::StoreVar, Attrs::Var(v)) if self.take[v.index()] => {
                    let x = s.arg(i, 0);
                    self.call(s, x, v);
                    cur[v.index()] = Some(x);
                    continue;
                }
                (Op::If, Attrs::If(a, b)) => {
                    let mut vars: Vec<Var> =
                        self.stored[&a].iter().chain(&self.stored[&b]).copied().collect();
                    vars.sort_unstable();
                    vars.dedup();
                    let mut other = cur.clone();
                    let before = vars.iter().map(|v| cur[v.index()]).collect::<Vec<_>>();
                    self.region(s, a, cur, &vars);
                    for (v, x) in vars.iter().zip(before) {
                        other[v.index()] = x;
                    }
                    self.region(s, b, &mut other, &vars);
                    for v in vars {
                        let ty = s.vars[v].ty;
                        let x = s.add_result(i, ty);
                        self.call(s, x, v);
                        cur[v.index()] = Some(x);
                    }
                }
                (Op::Loop, Attrs::Loop(body)) => {
                    let vars = self.stored[&body].clone();
                    let mut args = s.args(i).to_vec();
                    for &v in &vars {
                        args.push(self.now(s, cur, v));
                        let ty = s.vars[v].ty;
                        let x = s.add_param(body, ty);
                        self.call(s, x, v);
                        cur[v.index()] = Some(x);
                    }
                    s.set_args(i, &args);
                    self.loops.push(vars);
                    self.region(s, body, cur, &[]);
                    let vars = self.loops.pop().unwrap_or_default();
                    for v in vars {
                        let ty = s.vars[v].ty;
                        let x = s.add_result(i, ty);
                        self.call(s, x, v);
                        cur[v.index()] = Some(x);
                    }
                }
                (op @ (Op::Yield | Op::Break | Op::Continue), _) => {
                    let vars = if op == Op::Yield {
                        yields.to_vec()
                    } else {
                        self.loops.last().cloned().unwrap_or_default()
                    };
                    let mut args = s.args(i).to_vec();
                    for v in vars {
                        args.push(self.now(s, cur, v));
                    }
                    s.set_args(i, &args);
                }
                _ => {}
            }
            out.push(i);
        }
        s.regions[r].insts = out;
    }
}
