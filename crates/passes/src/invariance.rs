//! Marks the computations of `invariant` outputs as exact, so that every shader that computes them
//! in the same way gets the same bits.
//!
//! A `store_output` of an invariant output is exact ([`InstFlags::EXACT`]), and this pass marks
//! everything that it depends on: values, variables, and the conditions that choose between them.
//! Optimisations that change rounding then do not apply, whatever the rest of the shader does.

use tepui_ir::cranelift_entity::SecondaryMap;
use tepui_ir::{Attrs, Inst, InstData, InstFlags, Op, Props, Region, Shader, Value, ValueDef, Var};

/// Runs the pass.
pub fn run(s: &mut Shader) -> bool {
    let is_root = |d: &InstData| d.op == Op::StoreOutput && d.flags.contains(InstFlags::EXACT);
    if !s.insts.values().any(is_root) {
        return false;
    }
    let mut p = Pass::default();
    s.walk(|s, r, i| {
        let d = &s.insts[i];
        p.home[i] = Some(r);
        for q in s.inst_regions(i) {
            p.owner[q] = Some(i);
        }
        match (d.op, d.attrs) {
            (Op::StoreVar, Attrs::Var(v)) => p.stores[v].push(i),
            _ if is_root(d) => p.effects.push(i),
            _ => {}
        }
    });
    p.follow(s);
    let mut changed = false;
    for i in p.exact {
        changed |= !s.insts[i].flags.contains(InstFlags::EXACT);
        s.insts[i].flags |= InstFlags::EXACT;
    }
    changed
}

#[derive(Default)]
struct Pass {
    /// The region of an instruction, and the instruction that has a region.
    home: SecondaryMap<Inst, Option<Region>>,
    owner: SecondaryMap<Region, Option<Inst>>,
    stores: SecondaryMap<Var, Vec<Inst>>,
    /// Instructions whose operands and whose being executed count.
    effects: Vec<Inst>,
    /// Values that count.
    values: Vec<Value>,
    seen: SecondaryMap<Value, bool>,
    seen_vars: SecondaryMap<Var, bool>,
    seen_owners: SecondaryMap<Inst, bool>,
    /// The arithmetic that was found.
    exact: Vec<Inst>,
}

impl Pass {
    fn follow(&mut self, s: &Shader) {
        loop {
            if let Some(i) = self.effects.pop() {
                self.want(s.args(i));
                self.executed(s, i);
            } else if let Some(v) = self.values.pop() {
                match s.values[v].def {
                    ValueDef::Result(i, _) => self.result(s, i),
                    ValueDef::Param(r, _) => {
                        if let Some(i) = self.owner[r] {
                            self.structure(s, i);
                        }
                    }
                }
            } else {
                return;
            }
        }
    }

    fn want(&mut self, values: &[Value]) {
        for &v in values {
            if !std::mem::replace(&mut self.seen[v], true) {
                self.values.push(v);
            }
        }
    }

    fn result(&mut self, s: &Shader, i: Inst) {
        let d = &s.insts[i];
        self.want(s.args(i));
        match d.attrs {
            Attrs::If(..) | Attrs::Loop(_) => self.structure(s, i),
            Attrs::Var(v) if !std::mem::replace(&mut self.seen_vars[v], true) => {
                self.effects.append(&mut self.stores[v]);
            }
            _ if d.op.props().contains(Props::FLOAT) => self.exact.push(i),
            _ => {}
        }
    }

    /// An `if` or a loop: which way it goes, and what it gives.
    fn structure(&mut self, s: &Shader, i: Inst) {
        if std::mem::replace(&mut self.seen_owners[i], true) {
            return;
        }
        self.want(s.args(i));
        for r in s.inst_regions(i) {
            self.ways(s, r);
        }
    }

    /// The operands of a region's terminators, and the conditions that they depend on.
    fn ways(&mut self, s: &Shader, r: Region) {
        let mut regions = vec![r];
        while let Some(r) = regions.pop() {
            for &i in &s.regions[r].insts {
                let op = s.insts[i].op;
                if op.is_terminator() || matches!(op, Op::If | Op::Loop) {
                    self.want(s.args(i));
                }
                regions.extend(s.inst_regions(i));
            }
        }
    }

    /// The conditions under which an instruction is executed, and how often.
    fn executed(&mut self, s: &Shader, i: Inst) {
        let mut at = i;
        while let Some(owner) = self.home[at].and_then(|r| self.owner[r]) {
            self.structure(s, owner);
            at = owner;
        }
    }
}
