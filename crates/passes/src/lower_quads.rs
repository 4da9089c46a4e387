//! Assigns compute invocations to square quads for derivatives.
//!
//! A hardware quad is four consecutive threads of a workgroup. For shaders with
//! `DerivativeGroupQuadsKHR`, whose quads are 2x2 squares in x and y, this pass replaces the
//! invocation ids by those of a workgroup that is filled square by square.

use crate::rewrite::{self, Emit, Lowering, Step};
use tepui_ir::{Attrs, Builtin, DerivativeGroup, Inst, Op, Shader, Type, Value};

/// Runs the pass; afterwards quads are four in a row.
pub fn run(s: &mut Shader) -> bool {
    if s.info.derivatives != DerivativeGroup::Quads {
        return false;
    }
    s.info.derivatives = DerivativeGroup::Linear;
    let size = s.info.workgroup_size;
    // Others are not legal.
    if !size[0].is_multiple_of(2) || !size[1].is_multiple_of(2) {
        return false;
    }
    rewrite::run(s, &mut Quads { size })
}

struct Quads {
    size: [u32; 3],
}

impl Quads {
    /// The place of this thread in the workgroup.
    fn local(&self, e: &mut Emit) -> [Value; 3] {
        let b = Attrs::Builtin(Builtin::LocalInvocationIndex);
        let i = e.inst(Op::LoadBuiltin, b, &[], &[Type::B32]);
        let index = e.s.result(i);
        let [one, two] = [1, 2].map(|n| e.u32(n));
        let quad = e.op(Op::UShr, &[index, two]);
        // Halves of the sides may be any number.
        let [w, h] = [self.size[0] / 2, self.size[1] / 2].map(|n| e.u32(n));
        let column = e.op(Op::UMod, &[quad, w]);
        let rest = e.op(Op::UDiv, &[quad, w]);
        let row = e.op(Op::UMod, &[rest, h]);
        let z = e.op(Op::UDiv, &[rest, h]);
        let in_x = e.op(Op::IAnd, &[index, one]);
        let in_y = e.op(Op::UShr, &[index, one]);
        let in_y = e.op(Op::IAnd, &[in_y, one]);
        let mut join = |pair: Value, k: Value| {
            let twice = e.op(Op::IShl, &[pair, one]);
            e.op(Op::IOr, &[twice, k])
        };
        [join(column, in_x), join(row, in_y), z]
    }
}

impl Lowering for Quads {
    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let Attrs::Builtin(b) = e.s.insts[i].attrs else { return Step::Keep };
        match b {
            Builtin::LocalInvocationId => {
                let at = self.local(e);
                Step::Replace(vec![e.vec(&at)])
            }
            Builtin::LocalInvocationIndex => {
                let [x, y, z] = self.local(e);
                let [width, height] = [self.size[0], self.size[1]].map(|n| e.u32(n));
                let rows = e.op(Op::IMul, &[z, height]);
                let rows = e.op(Op::IAdd, &[rows, y]);
                let before = e.op(Op::IMul, &[rows, width]);
                Step::Replace(vec![e.op(Op::IAdd, &[before, x])])
            }
            Builtin::GlobalInvocationId => {
                let at = self.local(e);
                let group = Attrs::Builtin(Builtin::WorkgroupId);
                let g = e.inst(Op::LoadBuiltin, group, &[], &[Type::vec(32, 3)]);
                let group = e.s.result(g);
                let parts: Vec<Value> = (0..3)
                    .map(|k| {
                        let (g, n) = (e.extract(group, k), e.u32(self.size[k as usize]));
                        let start = e.op(Op::IMul, &[g, n]);
                        e.op(Op::IAdd, &[start, at[k as usize]])
                    })
                    .collect();
                Step::Replace(vec![e.vec(&parts)])
            }
            _ => Step::Keep,
        }
    }
}
