//! Splits one SSA value into several, across the parameters and results of regions.
//!
//! A pass says which values are split and into which parts ([`Parts`]); this module splits results
//! and parameters, and the operands of `yield`, `break` and `continue` accordingly.

use crate::rewrite::{self, Emit, Lowering, Step};
use tepui_ir::{Attrs, Inst, Op, Shader, Type, Value};

/// A lowering of values to parts.
pub(crate) trait Parts {
    /// The types of the parts of a result or parameter; `None` for one that stays whole.
    fn types(&self, s: &Shader, v: Value) -> Option<Vec<Type>>;

    /// The parts of a value.
    fn parts(&mut self, e: &mut Emit, v: Value) -> Vec<Value>;

    /// A value that stays whole.
    fn whole(&mut self, e: &mut Emit, v: Value) -> Value;

    /// Sets the parts of `v`.
    fn put(&mut self, v: Value, parts: &[Value]);

    /// Lowers an instruction as [`Lowering::inst`], except for control flow.
    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step;
}

/// Walks the shader; true when anything was replaced or removed.
pub(crate) fn run(s: &mut Shader, parts: &mut impl Parts) -> bool {
    rewrite::run(s, &mut Split { parts, ifs: Vec::new(), loops: Vec::new() })
}

/// An instruction that moves its first operand between lanes, repeated for each part of that
/// operand.
pub(crate) fn each<const N: usize>(e: &mut Emit, i: Inst, parts: [Value; N]) -> [Value; N] {
    let (op, attrs) = (e.s.insts[i].op, e.s.insts[i].attrs);
    let mut args = e.s.args(i).to_vec();
    parts.map(|part| {
        args[0] = part;
        let ty = e.ty(part);
        e.value(op, attrs, &args, ty)
    })
}

struct Split<'a, P> {
    parts: &'a mut P,
    /// The old results of the `if`s around this place.
    ifs: Vec<Vec<Value>>,
    /// The old results and parameters of the loops around this place.
    loops: Vec<[Vec<Value>; 2]>,
}

impl<P: Parts> Split<'_, P> {
    /// Makes the values that are carried to `targets` what those are now.
    fn hand_on(&mut self, e: &mut Emit, i: Inst, targets: &[Value]) {
        let mut new = Vec::with_capacity(targets.len());
        for (v, &t) in e.s.args(i).to_vec().into_iter().zip(targets) {
            match self.parts.types(e.s, t) {
                Some(_) => new.extend(self.parts.parts(e, v)),
                None => new.push(self.parts.whole(e, v)),
            }
        }
        e.s.set_args(i, &new);
    }

    /// Parts in place of the results or parameters that come in parts; `add` makes one.
    fn spread(
        &mut self,
        s: &mut Shader,
        old: &[Value],
        mut add: impl FnMut(&mut Shader, Type) -> Value,
    ) -> Vec<Value> {
        let mut new = Vec::with_capacity(old.len());
        for &v in old {
            match self.parts.types(s, v) {
                None => new.push(v),
                Some(types) => {
                    let at = new.len();
                    new.extend(types.into_iter().map(|t| add(s, t)));
                    self.parts.put(v, &new[at..]);
                }
            }
        }
        new
    }

    /// Spreads the results of an `if` or loop; returns what they were.
    fn spread_results(&mut self, s: &mut Shader, i: Inst) -> Vec<Value> {
        let old = s.results(i).to_vec();
        s.set_results(i, &[]);
        let new = self.spread(s, &old, |s, t| s.add_result(i, t));
        s.set_results(i, &new);
        old
    }
}

impl<P: Parts> Lowering for Split<'_, P> {
    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        match (e.s.insts[i].op, e.s.insts[i].attrs) {
            (Op::If, _) => {
                let results = self.spread_results(e.s, i);
                self.ifs.push(results);
            }
            (Op::Loop, Attrs::Loop(body)) => {
                let params = e.s.regions[body].params.clone();
                self.hand_on(e, i, &params);
                e.s.set_params(body, &[]);
                let new = self.spread(e.s, &params, |s, t| s.add_param(body, t));
                e.s.set_params(body, &new);
                let results = self.spread_results(e.s, i);
                self.loops.push([results, params]);
            }
            (op @ (Op::Yield | Op::Break | Op::Continue), _) => {
                let targets = match op {
                    Op::Yield => self.ifs.last().cloned(),
                    Op::Break => self.loops.last().map(|l| l[0].clone()),
                    _ => self.loops.last().map(|l| l[1].clone()),
                };
                // The root's `yield` carries nothing.
                self.hand_on(e, i, &targets.unwrap_or_default());
            }
            _ => return self.parts.inst(e, i),
        }
        Step::Keep
    }

    fn after(&mut self, e: &mut Emit, i: Inst) {
        if e.s.insts[i].op == Op::If {
            self.ifs.pop();
        } else {
            self.loops.pop();
        }
    }
}
