//! Splits vectors into scalars: arithmetic, and the parameters and results of `if`s and loops.
//! Memory accesses, images and inputs keep their vectors.

use crate::edit::push;
use rustc_hash::FxHashMap as HashMap;
use tepui_ir::{Attrs, Inst, Op, Region, Shader, Type, Value};

/// Runs the pass.
pub fn run(s: &mut Shader) -> bool {
    let mut p = Scalarise { parts: HashMap::default(), changed: false };
    let root = s.root;
    p.region(s, root);
    p.changed
}

struct Scalarise {
    /// Components of vectors that have been taken apart.
    parts: HashMap<Value, Vec<Value>>,
    changed: bool,
}

impl Scalarise {
    /// The components of `v`; `extract`s are put into `out` where there are none yet.
    fn split(&mut self, s: &mut Shader, out: &mut Vec<Inst>, like: Inst, v: Value) -> Vec<Value> {
        let ty = s.ty(v);
        if ty.is_scalar() {
            return vec![v];
        }
        if let Some(p) = self.parts.get(&v) {
            return p.clone();
        }
        if let Some(d) = s.def_inst(v)
            && s.insts[d].op == Op::Vec
        {
            return s.args(d).to_vec();
        }
        (0..u32::from(ty.comps()))
            .map(|k| push(s, out, like, Op::Extract, Attrs::Index(k), &[v], ty.elem()))
            .collect()
    }

    /// Defines vector `v` (an old value) as a `vec` of `parts`.
    fn define(
        &mut self,
        s: &mut Shader,
        out: &mut Vec<Inst>,
        like: Inst,
        v: Value,
        parts: Vec<Value>,
    ) {
        self.changed = true;
        if let Some(name) = s.names[v].clone() {
            for (&part, letter) in parts.iter().zip(["x", "y", "z", "w"]) {
                if s.names[part].is_none() {
                    s.names[part] = Some(format!("{name}.{letter}").into());
                }
            }
        }
        let i = s.make_inst(Op::Vec, Attrs::None, &parts, &[]);
        s.insts[i].loc = s.insts[like].loc;
        s.set_results(i, &[v]);
        out.push(i);
        self.parts.insert(v, parts);
    }

    fn region(&mut self, s: &mut Shader, r: Region) {
        let insts = std::mem::take(&mut s.regions[r].insts);
        let mut out = Vec::with_capacity(insts.len());
        let params = s.regions[r].params.clone();
        if params.iter().any(|&p| !s.ty(p).is_scalar()) {
            let like = insts[0];
            let mut new = Vec::new();
            let mut vecs = Vec::new();
            s.set_params(r, &[]);
            for p in params {
                let ty = s.ty(p);
                if ty.is_scalar() {
                    new.push(p);
                    continue;
                }
                let parts: Vec<Value> =
                    (0..ty.comps()).map(|_| s.add_param(r, ty.elem())).collect();
                new.extend(&parts);
                vecs.push((p, parts));
            }
            s.set_params(r, &new);
            for (p, parts) in vecs {
                self.define(s, &mut out, like, p, parts);
            }
        }
        for i in insts {
            self.inst(s, i, &mut out);
        }
        s.regions[r].insts = out;
    }

    fn carry(&mut self, s: &mut Shader, out: &mut Vec<Inst>, i: Inst) {
        let args = s.args(i).to_vec();
        if args.iter().any(|&a| !s.ty(a).is_scalar()) {
            let mut new = Vec::new();
            for a in args {
                new.extend(self.split(s, out, i, a));
            }
            s.set_args(i, &new);
        }
    }

    fn inst(&mut self, s: &mut Shader, i: Inst, out: &mut Vec<Inst>) {
        let (op, attrs) = (s.insts[i].op, s.insts[i].attrs);
        if op.is_terminator() || op == Op::Loop {
            self.carry(s, out, i);
        }
        if let Attrs::If(..) | Attrs::Loop(_) = attrs {
            for q in s.inst_regions(i) {
                self.region(s, q);
            }
            out.push(i);
            let results = s.results(i).to_vec();
            if results.iter().all(|&v| s.ty(v).is_scalar()) {
                return;
            }
            s.set_results(i, &[]);
            let (mut new, mut vecs) = (Vec::new(), Vec::new());
            for v in results {
                let ty = s.ty(v);
                if ty.is_scalar() {
                    new.push(v);
                    continue;
                }
                let parts: Vec<Value> =
                    (0..ty.comps()).map(|_| s.add_result(i, ty.elem())).collect();
                new.extend(&parts);
                vecs.push((v, parts));
            }
            s.set_results(i, &new);
            for (v, parts) in vecs {
                self.define(s, out, i, v, parts);
            }
            return;
        }
        let args = s.args(i).to_vec();
        let vector = args.iter().any(|&a| !s.ty(a).is_scalar());
        match op {
            Op::Extract => {
                if let (Attrs::Index(k), Some(p)) = (attrs, self.parts.get(&args[0])) {
                    // The extracted value becomes a copy, which the next clean-up removes.
                    let x = p[k as usize];
                    s.insts[i].op = Op::Copy;
                    s.insts[i].attrs = Attrs::None;
                    s.set_args(i, &[x]);
                    self.changed = true;
                }
                out.push(i);
            }
            Op::FDot if vector => {
                let (a, b) = (self.split(s, out, i, args[0]), self.split(s, out, i, args[1]));
                let ty = s.ty(a[0]);
                // 64-bit floats are software on most GPUs, where one rounding costs more than two.
                let exact = ty.bits() == 64
                    || s.insts[i]
                        .flags
                        .intersects(tepui_ir::InstFlags::EXACT | tepui_ir::InstFlags::STRICT);
                let mut sum = push(s, out, i, Op::FMul, Attrs::None, &[a[0], b[0]], ty);
                for k in 1..a.len() {
                    sum = if exact {
                        let p = push(s, out, i, Op::FMul, Attrs::None, &[a[k], b[k]], ty);
                        push(s, out, i, Op::FAdd, Attrs::None, &[sum, p], ty)
                    } else {
                        push(s, out, i, Op::FFma, Attrs::None, &[a[k], b[k], sum], ty)
                    };
                }
                self.replace(s, i, sum, out);
            }
            Op::BAny | Op::BAll if vector => {
                let parts = self.split(s, out, i, args[0]);
                let join = if op == Op::BAny { Op::IOr } else { Op::IAnd };
                let mut v = parts[0];
                for &p in &parts[1..] {
                    v = push(s, out, i, join, Attrs::None, &[v, p], Type::B1);
                }
                self.replace(s, i, v, out);
            }
            _ if vector && per_component(op) && s.results(i).len() == 1 => {
                let r = s.result(i);
                let ty = s.ty(r);
                let cols: Vec<Vec<Value>> =
                    args.iter().map(|&a| self.split(s, out, i, a)).collect();
                let mut parts = Vec::new();
                for k in 0..ty.comps() as usize {
                    let a: Vec<Value> =
                        cols.iter().map(|c| if c.len() == 1 { c[0] } else { c[k] }).collect();
                    parts.push(push(s, out, i, op, attrs, &a, ty.elem()));
                }
                self.define(s, out, i, r, parts);
            }
            _ => out.push(i),
        }
    }

    fn replace(&mut self, s: &mut Shader, i: Inst, v: Value, out: &mut Vec<Inst>) {
        self.changed = true;
        s.insts[i].op = Op::Copy;
        s.insts[i].attrs = Attrs::None;
        s.set_args(i, &[v]);
        out.push(i);
    }
}

/// Element-wise arithmetic, and what works on each component alone though its meaning is not a
/// fold. A shuffle keeps its vector: what finds the lane is done once for all of it.
fn per_component(op: Op) -> bool {
    op.is_elementwise()
        || matches!(op, Op::DdxFine | Op::DdyFine | Op::DdxCoarse | Op::DdyCoarse)
        || matches!(
            op,
            Op::ReadLane | Op::ReadFirst | Op::ShuffleXor | Op::ShuffleUp | Op::ShuffleDown
        )
        || matches!(
            op,
            Op::Reduce | Op::InclusiveScan | Op::ExclusiveScan | Op::QuadBroadcast | Op::QuadSwap
        )
}
