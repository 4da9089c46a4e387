//! Reassociates float products, so that common and uniform factors are multiplied first.
//!
//! `normalize(v) * k * d` of a vector is, component by component, `((v.x * r) * k) * d`: nine
//! products. With the factors that the components have in common multiplied first it is `v.x * (r *
//! k * d)`: five. Uniform factors come before divergent ones, so that their product can be computed
//! in a preamble.
//!
//! Applies to floats whose rounding may change ([`When::Inexact`](crate::rules::When)), within one
//! region.

use rustc_hash::FxHashMap as HashMap;
use tepui_ir::{Attrs, Inst, Op, Region, Shader, Value};

use crate::edit::push;
use crate::terms::{Terms, loose};

/// Maximum number of factors of a decomposed product.
const MAX_FACTORS: usize = 8;

/// Runs the pass.
pub fn run(s: &mut Shader) -> bool {
    let mut any = 0;
    s.walk(|s, _, i| any += u32::from(s.insts[i].op == Op::FMul));
    if any < 2 {
        return false;
    }
    let mut p = Pass { terms: Terms::new(s), changed: false };
    let root = s.root;
    p.region(s, root);
    p.changed
}

/// A product to be made anew.
struct Product {
    /// Its place in the region.
    at: usize,
    inst: Inst,
    factors: Vec<Value>,
    shared: bool,
}

struct Pass {
    terms: Terms,
    changed: bool,
}

impl Pass {
    /// Whether a factor is itself a product with no other use.
    fn inner(&self, s: &Shader, v: Value, r: Region) -> Option<Inst> {
        self.terms.inner(s, v, r).filter(|&d| s.insts[d].op == Op::FMul)
    }

    fn factors(&self, s: &Shader, v: Value, r: Region, out: &mut Vec<Value>) {
        let mut todo = vec![v];
        while let Some(v) = todo.pop() {
            match self.inner(s, v, r) {
                Some(d) if out.len() + todo.len() < MAX_FACTORS => {
                    todo.extend([s.arg(d, 1), s.arg(d, 0)]);
                }
                _ => out.push(v),
            }
        }
    }

    fn region(&mut self, s: &mut Shader, r: Region) {
        let insts = s.regions[r].insts.clone();
        let mut products: Vec<Product> = Vec::new();
        for (at, &inst) in insts.iter().enumerate() {
            for q in s.inst_regions(inst) {
                self.region(s, q);
            }
            let op = s.insts[inst].op;
            if !matches!(op, Op::FMul | Op::FFma) || !loose(s, inst) {
                continue;
            }
            let v = s.result(inst);
            // A factor of a later product is taken apart there.
            let below = self.terms.user[v].expand().is_some_and(|u| match s.insts[u].op {
                Op::FMul => true,
                Op::FFma => s.arg(u, 2) != v,
                _ => false,
            } && loose(s, u));
            if below && self.inner(s, v, r).is_some() && self.user_is_here(v, r) {
                continue;
            }
            let mut factors = Vec::new();
            for k in 0..2 {
                let a = s.arg(inst, k);
                self.factors(s, a, r, &mut factors);
            }
            if (3..=MAX_FACTORS).contains(&factors.len()) {
                products.push(Product { at, inst, factors, shared: false });
            }
        }
        if products.is_empty() {
            return;
        }
        let mut before: HashMap<usize, Vec<Inst>> = HashMap::default();
        while self.share(s, &mut products, &mut before) {}
        for p in &mut products {
            let same = p.factors.iter().filter(|&&v| self.terms.uniform.is_uniform(v)).count();
            let apart = same > 1 && same < p.factors.len();
            if !p.shared && !apart {
                continue;
            }
            self.changed = true;
            p.factors.sort_by_key(|&v| !self.terms.uniform.is_uniform(v));
            let (&last, rest) = match p.factors.split_last() {
                Some(x) => x,
                None => continue,
            };
            let out = before.entry(p.at).or_default();
            let ty = s.ty(last);
            let mut x = rest[0];
            for &y in &rest[1..] {
                x = push(s, out, p.inst, Op::FMul, Attrs::None, &[x, y], ty);
            }
            s.args_mut(p.inst)[0] = x;
            s.args_mut(p.inst)[1] = last;
        }
        let mut out = Vec::with_capacity(insts.len());
        for (at, i) in insts.into_iter().enumerate() {
            if let Some(new) = before.remove(&at) {
                out.extend(new);
            }
            out.push(i);
        }
        s.regions[r].insts = out;
    }

    fn user_is_here(&self, v: Value, r: Region) -> bool {
        self.terms.user[v].expand().is_some_and(|u| self.terms.home[u].expand() == Some(r))
    }

    /// Makes the pair that most products have in common one factor of each; false when none have.
    fn share(
        &mut self,
        s: &mut Shader,
        products: &mut [Product],
        before: &mut HashMap<usize, Vec<Inst>>,
    ) -> bool {
        let mut pairs: HashMap<(Value, Value), Vec<usize>> = HashMap::default();
        for (n, p) in products.iter().enumerate() {
            if p.factors.len() < 3 {
                continue;
            }
            for (k, &a) in p.factors.iter().enumerate() {
                for &b in &p.factors[k + 1..] {
                    let list = pairs.entry((a.min(b), a.max(b))).or_default();
                    if list.last() != Some(&n) {
                        list.push(n);
                    }
                }
            }
        }
        let mut all: Vec<_> = pairs.into_iter().filter(|(_, list)| list.len() > 1).collect();
        // By descending number of users; then in the order of the values, so that the result does not
        // depend on hashes.
        all.sort_by_key(|(pair, list)| (std::cmp::Reverse(list.len()), *pair));
        let mut any = false;
        for ((a, b), list) in all {
            let takes = |p: &Product| {
                p.factors.len() > 2
                    && p.factors.iter().position(|&v| v == a).is_some_and(|k| {
                        p.factors.iter().enumerate().any(|(n, &v)| n != k && v == b)
                    })
            };
            let list: Vec<usize> = list.into_iter().filter(|&n| takes(&products[n])).collect();
            let [first, _, ..] = list[..] else { continue };
            any = true;
            let (at, like, ty) = (products[first].at, products[first].inst, s.ty(a));
            let out = before.entry(at).or_default();
            let both = push(s, out, like, Op::FMul, Attrs::None, &[a, b], ty);
            self.terms
                .uniform
                .set(both, self.terms.uniform.is_uniform(a) && self.terms.uniform.is_uniform(b));
            for n in list {
                let p = &mut products[n];
                p.shared = true;
                for x in [a, b] {
                    if let Some(k) = p.factors.iter().position(|&v| v == x) {
                        p.factors.swap_remove(k);
                    }
                }
                p.factors.push(both);
            }
        }
        any
    }
}
