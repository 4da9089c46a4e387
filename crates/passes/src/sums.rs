//! Reassociates float sums, so that they take the fewest instructions.
//!
//! `dot(a, b) + c` is a product, two fused multiply-adds and a sum; starting with `c` it is three
//! fused multiply-adds. Uniform terms are added first, so that a back end can add them in a
//! preamble: `M * p + u + v` costs each invocation no more than `M * p + u`. A factor that several
//! products of three have in common is multiplied once: `dot(a, k * b)` is `k * dot(a, b)`.
//!
//! Applies to floats whose rounding may change ([`When::Inexact`](crate::rules::When)), within one
//! region.

use crate::edit::push;
use crate::terms::{Terms, loose};
use rustc_hash::FxHashMap as HashMap;
use tepui_ir::{Attrs, Inst, Op, Region, Shader, Value};

/// Maximum number of terms of a decomposed sum.
const MAX_TERMS: usize = 12;
/// Maximum number of factors of a decomposed term.
const MAX_FACTORS: usize = 4;

/// Runs the pass.
pub fn run(s: &mut Shader) -> bool {
    let mut sums = 0;
    s.walk(|s, _, i| sums += u32::from(is_sum(s.insts[i].op)));
    if sums < 2 {
        return false;
    }
    let mut p = Pass { terms: Terms::new(s), changed: false };
    let root = s.root;
    p.region(s, root);
    p.changed
}

fn is_sum(op: Op) -> bool {
    matches!(op, Op::FAdd | Op::FSub | Op::FFma)
}

/// `±a`, or `±a * b`.
#[derive(Clone, Copy)]
struct Term {
    negative: bool,
    a: Value,
    b: Option<Value>,
}

/// The terms of a sum that are not expanded yet.
enum Part {
    Inst(Inst),
    Value(Value),
    Product(Value, Value),
}

struct Pass {
    terms: Terms,
    changed: bool,
}

/// A sum under construction: new instructions, and what it is so far.
struct Sum<'a> {
    s: &'a mut Shader,
    like: Inst,
    out: Vec<Inst>,
    so_far: Option<Value>,
}

impl Sum<'_> {
    fn op(&mut self, op: Op, args: &[Value]) -> Value {
        let ty = self.s.ty(args[0]);
        push(self.s, &mut self.out, self.like, op, Attrs::None, args, ty)
    }

    fn add(&mut self, t: Term) {
        let sum = match (self.so_far, t.b) {
            (None, None) if t.negative => self.op(Op::FNeg, &[t.a]),
            (None, None) => t.a,
            (Some(x), None) => self.op(if t.negative { Op::FSub } else { Op::FAdd }, &[x, t.a]),
            (x, Some(b)) => {
                let a = if t.negative { self.op(Op::FNeg, &[t.a]) } else { t.a };
                match x {
                    Some(x) => self.op(Op::FFma, &[a, b, x]),
                    None => self.op(Op::FMul, &[a, b]),
                }
            }
        };
        self.so_far = Some(sum);
    }
}

impl Pass {
    fn is_same(&self, t: &Term) -> bool {
        self.terms.uniform.is_uniform(t.a) && t.b.is_none_or(|b| self.terms.uniform.is_uniform(b))
    }

    /// Whether a value is a term of the only sum that uses it, or a product in it.
    fn inner(&self, s: &Shader, v: Value, r: Region) -> Option<Inst> {
        let part = |op| is_sum(op) || matches!(op, Op::FMul | Op::FNeg);
        self.terms.inner(s, v, r).filter(|&d| part(s.insts[d].op))
    }

    /// The terms of an instruction's result, and how many instructions that are not the same for
    /// all they take now.
    fn terms(&self, s: &Shader, root: Inst, r: Region) -> (Vec<Term>, usize) {
        let (mut out, mut cost) = (Vec::new(), 0);
        let mut todo = vec![(Part::Inst(root), false)];
        while let Some((part, negative)) = todo.pop() {
            let i = match part {
                Part::Inst(i) => i,
                Part::Value(v) => match self.inner(s, v, r) {
                    Some(d) if out.len() + todo.len() < MAX_TERMS => d,
                    _ => {
                        out.push(Term { negative, a: v, b: None });
                        continue;
                    }
                },
                Part::Product(a, b) => {
                    out.push(Term { negative, a, b: Some(b) });
                    continue;
                }
            };
            let (op, args) = (s.insts[i].op, s.args(i));
            // A sign is free.
            cost += usize::from(op != Op::FNeg && !self.terms.uniform.is_uniform(s.result(i)));
            // The stack is last in, first out.
            match op {
                Op::FNeg => todo.push((Part::Value(args[0]), !negative)),
                Op::FAdd | Op::FSub => {
                    todo.push((Part::Value(args[1]), negative ^ (op == Op::FSub)));
                    todo.push((Part::Value(args[0]), negative));
                }
                _ => {
                    todo.push((Part::Product(args[0], args[1]), negative));
                    todo.extend(args.get(2).map(|&c| (Part::Value(c), negative)));
                }
            }
        }
        (out, cost)
    }

    /// Whether a sum is a term of another one, which takes it apart.
    fn is_below(&self, s: &Shader, i: Inst, r: Region) -> bool {
        let v = s.result(i);
        self.terms.uses[v] == 1
            && self.terms.user[v].expand().is_some_and(|u| {
                let adds = match s.insts[u].op {
                    Op::FAdd | Op::FSub => true,
                    Op::FFma => s.arg(u, 2) == v,
                    _ => false,
                };
                adds && self.terms.home[u].expand() == Some(r) && loose(s, u)
            })
    }

    fn region(&mut self, s: &mut Shader, r: Region) {
        let insts = std::mem::take(&mut s.regions[r].insts);
        let mut new: HashMap<Inst, Vec<Inst>> = HashMap::default();
        for &i in &insts {
            for q in s.inst_regions(i) {
                self.region(s, q);
            }
            if is_sum(s.insts[i].op)
                && loose(s, i)
                && !self.terms.uniform.is_uniform(s.result(i))
                && !self.is_below(s, i, r)
                && let Some(before) = self.sum(s, i, r)
            {
                new.insert(i, before);
                self.changed = true;
            }
        }
        let with_new = |i| new.remove(&i).unwrap_or_default().into_iter().chain([i]);
        s.regions[r].insts = insts.into_iter().flat_map(with_new).collect();
    }

    /// A divergent product of two factors with one use.
    fn product(&self, s: &Shader, v: Value, r: Region) -> Option<Inst> {
        let d = self.terms.inner(s, v, r)?;
        (s.insts[d].op == Op::FMul && !self.terms.uniform.is_uniform(v)).then_some(d)
    }

    /// The factors of a product.
    fn factors(&self, s: &Shader, t: &Term, r: Region) -> Vec<Value> {
        let Some(b) = t.b else { return Vec::new() };
        let mut todo = vec![b, t.a];
        let mut out = Vec::new();
        while let Some(v) = todo.pop() {
            match self.product(s, v, r) {
                Some(d) if out.len() + todo.len() + 2 <= MAX_FACTORS => {
                    todo.extend([s.arg(d, 1), s.arg(d, 0)]);
                }
                _ => out.push(v),
            }
        }
        out
    }

    /// The factor that is best multiplied once, and the instructions that spares. Of products of
    /// two that have it, one becomes a value that the sum of the others begins with.
    fn shared(&self, products: &[Vec<Value>]) -> Option<(Value, usize)> {
        let mut best: Option<(Value, usize)> = None;
        for &x in products.iter().filter(|f| f.len() > 2).flatten() {
            let with = || products.iter().filter(|f| f.contains(&x));
            let long = with().filter(|f| f.len() > 2).count();
            let gain = (long + usize::from(with().count() > long)).saturating_sub(1);
            if gain > best.map_or(0, |b| b.1) {
                best = Some((x, gain));
            }
        }
        best
    }

    /// Makes a sum anew if that is less work; returns what comes before its last instruction.
    fn sum(&self, s: &mut Shader, i: Inst, r: Region) -> Option<Vec<Inst>> {
        let (terms, before) = self.terms(s, i, r);
        let (same, own): (Vec<Term>, Vec<Term>) = terms.iter().partition(|t| self.is_same(t));
        let products = own.iter().filter(|t| t.b.is_some()).count();
        let values = own.len() - products + usize::from(!same.is_empty());
        let long = own.iter().any(|t| {
            t.b.is_some_and(|b| [t.a, b].iter().any(|&v| self.product(s, v, r).is_some()))
        });
        let of = |t: &Term| if long { self.factors(s, t, r) } else { Vec::new() };
        let factors: Vec<Vec<Value>> = own.iter().map(of).collect();
        let shared = if long { self.shared(&factors) } else { None };
        if products + values.saturating_sub(1) >= before + shared.map_or(0, |s| s.1) {
            return None;
        }
        let mut sum = Sum { s, like: i, out: Vec::new(), so_far: None };
        let (mut rest, mut kept) = (Vec::new(), Vec::new());
        for (&t, mut f) in own.iter().zip(factors) {
            let Some(k) = f.iter().position(|&v| shared.is_some_and(|s| s.0 == v)) else {
                kept.push(t);
                continue;
            };
            f.remove(k);
            let last = if f.len() > 1 { f.pop() } else { None };
            let a = f.into_iter().reduce(|a, b| sum.op(Op::FMul, &[a, b]))?;
            rest.push(Term { negative: t.negative, a, b: last });
        }
        if let Some((x, _)) = shared {
            rest.sort_by_key(|t| t.b.is_some());
            rest.into_iter().for_each(|t| sum.add(t));
            kept.push(Term { negative: false, a: x, b: sum.so_far.take() });
        }
        let in_order =
            kept.iter().filter(|t| t.b.is_none()).chain(kept.iter().filter(|t| t.b.is_some()));
        for &t in same.iter().chain(in_order) {
            sum.add(t);
        }
        // The last instruction takes the place of the old one.
        let mut out = sum.out;
        let last = out.pop()?;
        let (op, args) = (s.insts[last].op, s.args(last).to_vec());
        s.insts[i].op = op;
        s.set_args(i, &args);
        Some(out)
    }
}
