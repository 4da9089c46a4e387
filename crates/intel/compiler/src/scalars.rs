//! Scalar values: those that are the same in all channels of a thread and are computed from constants, push constants and
//! other scalar values, so that one channel computes them for all.
//!
//! Values that are the same in all channels but come from memory or from one channel stay planes: reading one channel of
//! a plane takes several instructions, because the first may not execute.

use tepui_ir::cranelift_entity::SecondaryMap;
use tepui_ir::{Attrs, Builtin, Inst, Op, Region, Shader, Value};
use tepui_passes::divergence::Divergence;

/// The scalar values of a shader.
#[derive(Clone, Debug, Default)]
pub struct Scalars(SecondaryMap<Value, bool>);

impl Scalars {
    /// Finds the scalar values.
    #[must_use]
    pub fn new(s: &Shader) -> Scalars {
        let divergence = Divergence::new(s);
        let mut scalars = Scalars::default();
        for v in s.values.keys() {
            scalars.0[v] = !divergence.is_divergent(v);
        }
        // Values lose the property until none does: loops carry it around.
        while scalars.region(s, s.root, None) {}
        scalars
    }

    /// Whether a value is scalar.
    #[must_use]
    pub fn contains(&self, v: Value) -> bool {
        self.0[v]
    }

    fn lose(&mut self, v: Value) -> bool {
        std::mem::replace(&mut self.0[v], false)
    }

    /// Carries the property from operands to the values that they become; whether one lost it.
    fn carry(&mut self, from: &[Value], to: &[Value]) -> bool {
        let mut changed = false;
        for (&a, &b) in from.iter().zip(to) {
            changed |= !self.0[a] && self.lose(b);
        }
        changed
    }

    /// Looks at a region, inside of a loop with results and parameters.
    fn region(&mut self, s: &Shader, r: Region, inside: Option<Inst>) -> bool {
        let mut changed = false;
        for &i in &s.regions[r].insts {
            match (s.insts[i].op, s.insts[i].attrs) {
                (Op::If, Attrs::If(a, b)) => {
                    for side in [a, b] {
                        changed |= self.region(s, side, inside);
                        let end = s.terminator(side).filter(|&t| s.insts[t].op == Op::Yield);
                        if let Some(end) = end {
                            changed |= self.carry(s.args(end), s.results(i));
                        }
                    }
                }
                (Op::Loop, Attrs::Loop(body)) => {
                    changed |= self.carry(s.args(i), &s.regions[body].params);
                    changed |= self.region(s, body, Some(i));
                }
                (Op::Break, _) => {
                    if let Some(l) = inside {
                        changed |= self.carry(s.args(i), s.results(l));
                    }
                }
                (Op::Continue, _) => {
                    if let Some(Attrs::Loop(body)) = inside.map(|l| s.insts[l].attrs) {
                        changed |= self.carry(s.args(i), &s.regions[body].params);
                    }
                }
                _ if computes(s, i) && s.args(i).iter().all(|&a| self.0[a]) => {}
                _ => {
                    for &v in s.results(i) {
                        changed |= self.lose(v);
                    }
                }
            }
        }
        changed
    }
}

/// Whether an instruction with scalar operands gives scalar results.
fn computes(s: &Shader, i: Inst) -> bool {
    match (s.insts[i].op, s.insts[i].attrs) {
        (Op::LoadBuiltin, Attrs::Builtin(b)) => matches!(
            b,
            Builtin::WorkgroupId
                | Builtin::NumWorkgroups
                | Builtin::BaseWorkgroupId
                | Builtin::WorkgroupSize
                | Builtin::SubgroupSize
                | Builtin::NumSubgroups
                | Builtin::SubgroupId
        ),
        (Op::Const | Op::Copy | Op::Vec | Op::Extract | Op::LoadPush | Op::BufferSize, _) => true,
        (Op::BufferAddress | Op::Descriptor, _) => true,
        (Op::Undef, _) => false,
        // Ternary instructions have no form of one channel.
        (Op::FFma, _) => false,
        (op, _) => op.is_elementwise(),
    }
}
