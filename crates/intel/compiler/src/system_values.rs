//! Built-ins of compute shaders from those that threads have: the number of an invocation within its workgroup, and the
//! workgroup's.

use tepui_ir::{Attrs, Builtin, DerivativeGroup, Inst, Op, Shader, Type, Value};
use tepui_passes::rewrite::{self, Emit, Lowering, Step};

/// Runs the pass.
pub fn run(s: &mut Shader) -> bool {
    let quads = s.info.derivatives == DerivativeGroup::Quads;
    rewrite::run(s, &mut SystemValues { size: s.info.workgroup_size, quads })
}

struct SystemValues {
    size: [u32; 3],
    /// Four invocations in a row form a square.
    quads: bool,
}

impl SystemValues {
    /// The position within the workgroup.
    fn position(&self, e: &mut Emit) -> [Value; 3] {
        let [x, y, z] = self.size;
        let index = load(e, Builtin::LocalInvocationIndex, 1);
        // A dimension of one has the number 0, the last one takes what is left.
        let mut rest = index;
        [(x, y * z), (y, z), (z, 1)].map(|(n, after)| {
            if n == 1 {
                return e.u32(0);
            }
            if after == 1 {
                return rest;
            }
            let size = e.u32(n);
            let here = e.op(Op::UMod, &[rest, size]);
            rest = e.op(Op::UDiv, &[rest, size]);
            here
        })
    }
}

fn load(e: &mut Emit, b: Builtin, comps: u8) -> Value {
    let ty = if comps == 1 { Type::B32 } else { Type::vec(32, comps) };
    let i = e.inst(Op::LoadBuiltin, Attrs::Builtin(b), &[], &[ty]);
    e.s.result(i)
}

impl Lowering for SystemValues {
    fn wants(&self, s: &Shader, i: Inst) -> bool {
        let position = Attrs::Builtin(Builtin::LocalInvocationId);
        let global = Attrs::Builtin(Builtin::GlobalInvocationId);
        !self.quads
            && s.insts[i].op == Op::LoadBuiltin
            && (s.insts[i].attrs == position || s.insts[i].attrs == global)
    }

    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let local = self.position(e);
        if e.s.insts[i].attrs == Attrs::Builtin(Builtin::LocalInvocationId) {
            return Step::Replace(vec![e.vec(&local)]);
        }
        let group = load(e, Builtin::WorkgroupId, 3);
        let parts: Vec<Value> = (0..3)
            .map(|k| {
                let (id, size) = (e.extract(group, k), e.u32(self.size[k as usize]));
                let first = e.op(Op::IMul, &[id, size]);
                e.op(Op::IAdd, &[first, local[k as usize]])
            })
            .collect();
        Step::Replace(vec![e.vec(&parts)])
    }
}
