//! Divergence analysis: which values may differ between the lanes of a subgroup.
//!
//! A value is divergent if its definition is (a lane number, the result of an atomic), if an
//! operand is, or if it leaves an `if` with a divergent condition or a loop that lanes exit at
//! different times.

use tepui_ir::cranelift_entity::SecondaryMap;
use tepui_ir::{Attrs, Builtin, Inst, Op, Region, Shader, Stage, Value};

/// The result of the analysis.
#[derive(Clone, Debug, Default)]
pub struct Divergence {
    values: SecondaryMap<Value, bool>,
    /// `if`s and loops that lanes of one sub-group may go through differently.
    control: SecondaryMap<Inst, bool>,
}

impl Divergence {
    /// Whether lanes of a sub-group may see different bits.
    #[must_use]
    pub fn is_divergent(&self, v: Value) -> bool {
        self.values[v]
    }

    /// Whether lanes of a sub-group may take different ways through this `if` or loop.
    #[must_use]
    pub fn is_divergent_control(&self, i: Inst) -> bool {
        self.control[i]
    }

    /// Analyses a shader.
    #[must_use]
    pub fn new(s: &Shader) -> Divergence {
        let mut a = Analysis { s, d: Divergence::default(), changed: true, loops: Vec::new() };
        // Without loops values come before their uses.
        let loops = s.regions.values().flat_map(|r| &r.insts).any(|&i| s.insts[i].op == Op::Loop);
        while a.changed {
            a.changed = false;
            a.region(s.root, false);
            a.changed &= loops;
        }
        a.d
    }
}

struct Analysis<'a> {
    s: &'a Shader,
    d: Divergence,
    changed: bool,
    /// Enclosing loops with the divergence of control where they start.
    loops: Vec<(Inst, bool)>,
}

fn uniform_builtin(stage: Stage, b: Builtin) -> bool {
    matches!(
        b,
        Builtin::WorkgroupId
            | Builtin::NumWorkgroups
            | Builtin::BaseWorkgroupId
            | Builtin::WorkgroupSize
            | Builtin::SubgroupSize
            | Builtin::NumSubgroups
            | Builtin::SubgroupId
            | Builtin::DrawIndex
            | Builtin::BaseVertex
            | Builtin::BaseInstance
            | Builtin::ViewIndex
            | Builtin::DeviceIndex
    ) && (stage == Stage::Compute || !matches!(b, Builtin::SubgroupId | Builtin::WorkgroupId))
}

impl Analysis<'_> {
    fn set(&mut self, v: Value, div: bool) {
        if div && !self.d.values[v] {
            self.d.values[v] = true;
            self.changed = true;
        }
    }

    fn set_control(&mut self, i: Inst) {
        if !self.d.control[i] {
            self.d.control[i] = true;
            self.changed = true;
        }
    }

    /// `control`: lanes may have come here by different ways since the innermost loop began.
    fn region(&mut self, r: Region, control: bool) {
        let s = self.s;
        for &i in &s.regions[r].insts {
            let d = &s.insts[i];
            let args = s.args(i);
            let any = args.iter().any(|&a| self.d.values[a]);
            match (d.op, d.attrs) {
                (Op::If, Attrs::If(a, b)) => {
                    let c = self.d.values[args[0]];
                    if c {
                        self.set_control(i);
                    }
                    self.region(a, control || c);
                    self.region(b, control || c);
                    for (k, &v) in s.results(i).iter().enumerate() {
                        let carried = [a, b]
                            .iter()
                            .filter_map(|&q| s.terminator(q))
                            .any(|t| s.insts[t].op == Op::Yield && self.d.values[s.arg(t, k)]);
                        self.set(v, c || carried);
                    }
                }
                (Op::Loop, Attrs::Loop(body)) => {
                    for (k, &p) in s.regions[body].params.iter().enumerate() {
                        let init = self.d.values[args[k]];
                        self.set(p, init);
                    }
                    self.loops.push((i, control));
                    self.region(body, false);
                    self.loops.pop();
                    // Lanes that leave at different times carry values of different iterations.
                    let all = self.d.control[i];
                    for &v in s.results(i) {
                        self.set(v, all);
                    }
                }
                (Op::Break | Op::Continue, _) => {
                    let Some(&(l, _)) = self.loops.last() else { continue };
                    if control {
                        self.set_control(l);
                    }
                    let to = match (d.op, s.insts[l].attrs) {
                        (Op::Continue, Attrs::Loop(body)) => s.regions[body].params.clone(),
                        _ => s.results(l).to_vec(),
                    };
                    for (k, v) in to.into_iter().enumerate() {
                        let x = self.d.values[args[k]];
                        self.set(v, x || control);
                    }
                }
                _ => {
                    let div = match (d.op, d.attrs) {
                        (Op::LoadBuiltin, Attrs::Builtin(b)) => !uniform_builtin(s.info.stage, b),
                        (
                            Op::ReadFirst | Op::ReadLane | Op::Ballot | Op::VoteAny | Op::VoteAll,
                            _,
                        )
                        | (Op::VoteEqBits | Op::VoteEqFloat, _) => false,
                        (Op::Reduce, Attrs::Reduce(r)) => r.cluster != 0,
                        (
                            Op::Elect
                            | Op::InclusiveScan
                            | Op::ExclusiveScan
                            | Op::IsHelper
                            | Op::Undef,
                            _,
                        ) => true,
                        (
                            Op::LoadInput
                            | Op::LoadOutput
                            | Op::LoadOutputSample
                            | Op::LoadInputAtSample
                            | Op::LoadInputAtOffset
                            | Op::LoadInputVertex,
                            _,
                        ) => true,
                        (Op::LoadVar | Op::LoadScratch | Op::Clock, _) => true,
                        (_, Attrs::Atomic(..) | Attrs::ImageAtomic(..)) => true,
                        (op, _) if op.props().contains(tepui_ir::Props::CONVERGENT) => true,
                        _ => any,
                    };
                    for &v in s.results(i) {
                        self.set(v, div);
                    }
                }
            }
        }
    }
}
