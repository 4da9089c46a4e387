//! Loops for operands that hardware takes once for all lanes, where lanes have different ones: descriptors of image
//! instructions that lanes choose by an index, and other operands that the caller names.
//!
//! Each iteration takes the operands of the first lane that is left; the lanes that have the same ones execute the
//! instruction and are done.

use crate::divergence::Divergence;
use crate::rewrite::{self, Emit, Lowering, Step};
use rustc_hash::FxHashSet;
use tepui_ir::{Attrs, Inst, Op, Pat, Shader, Type, Value};

/// Runs the pass on image instructions. `others` gives operands other than handles that have to be the same for all
/// lanes.
pub fn run(s: &mut Shader, others: &dyn Fn(&Shader, Inst) -> Vec<Value>) -> bool {
    let divergence = Divergence::new(s);
    let mut found = FxHashSet::default();
    s.walk(|s, _, i| {
        if matches!(s.insts[i].attrs, Attrs::Image(_) | Attrs::ImageAtomic(..)) {
            let divergent = |v: &Value| divergence.is_divergent(*v);
            let indices = handles(s, i).into_iter().map(|(_, index)| index);
            if indices.chain(others(s, i)).any(|v| divergent(&v)) {
                found.insert(i);
            }
        }
    });
    !found.is_empty() && rewrite::run(s, &mut Pass { found, others })
}

/// Handles among the operands of an instruction: their positions, and the indices of their descriptors.
fn handles(s: &Shader, i: Inst) -> Vec<(usize, Value)> {
    let mut all = Vec::new();
    for (at, (p, &a)) in s.insts[i].op.info().operands.iter().zip(s.args(i)).enumerate() {
        if *p == Pat::H
            && let Some(d) = s.def_inst(a)
            && s.insts[d].op == Op::Descriptor
        {
            all.push((at, s.arg(d, 0)));
        }
    }
    all
}

struct Pass<'a> {
    found: FxHashSet<Inst>,
    others: &'a dyn Fn(&Shader, Inst) -> Vec<Value>,
}

impl Lowering for Pass<'_> {
    fn wants(&self, _: &Shader, i: Inst) -> bool {
        self.found.contains(&i)
    }

    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let (op, attrs, args) = (e.s.insts[i].op, e.s.insts[i].attrs, e.s.args(i).to_vec());
        let handles = handles(e.s, i);
        let others = (self.others)(e.s, i);
        let result = e.s.results(i).first().copied();
        let ty = result.map(|r| e.ty(r));
        let left = e.konst(Type::B1, 1);
        let mut init = vec![left];
        init.extend(ty.map(|ty| e.undef(ty)));
        let out = e.while_(
            &init,
            |_, p| p[0],
            |e, p| {
                let mut args = args.clone();
                let mut mine = None;
                for &(at, index) in &handles {
                    let first = first(e, index, &mut mine);
                    let attrs = e.s.def_inst(args[at]).map(|d| e.s.insts[d].attrs);
                    let handle = attrs.unwrap_or(Attrs::None);
                    args[at] = e.value(Op::Descriptor, handle, &[first], Type::B64);
                }
                for &other in &others {
                    let parts = e.split(other);
                    let parts: Vec<Value> =
                        parts.into_iter().map(|v| first(e, v, &mut mine)).collect();
                    let whole = e.vec(&parts);
                    args.iter_mut().filter(|a| **a == other).for_each(|a| *a = whole);
                }
                let mine = mine.unwrap_or_else(|| e.konst(Type::B1, 1));
                let mut next = vec![e.op(Op::INot, &[mine])];
                match ty {
                    Some(ty) => next.push(e.if_else(
                        mine,
                        ty,
                        |e| {
                            let done = e.inst(op, attrs, &args, &[ty]);
                            e.s.result(done)
                        },
                        |_| p[1],
                    )),
                    None => e.if_then(mine, |e| {
                        e.inst(op, attrs, &args, &[]);
                    }),
                }
                next
            },
        );
        Step::Replace(out[1..].to_vec())
    }
}

/// The value of the first lane; `mine` becomes whether all operands so far are those of the first lane.
fn first(e: &mut Emit, v: Value, mine: &mut Option<Value>) -> Value {
    if e.s.as_const(v).is_some() {
        return v;
    }
    let first = e.op(Op::ReadFirst, &[v]);
    let same = e.op(Op::IEq, &[v, first]);
    *mine = Some(match *mine {
        None => same,
        Some(other) => e.op(Op::IAnd, &[other, same]),
    });
    first
}
