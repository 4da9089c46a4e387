//! Adds the base of `vkCmdDispatchBase` to the workgroup ids that the GPU counts from zero.
//!
//! Only pipelines with `VK_PIPELINE_CREATE_DISPATCH_BASE` may be dispatched with a base, so only their shaders pay for
//! the additions. The base is a built-in value of its own, which a driver fills in for each dispatch.

use crate::rewrite::{self, Emit, Lowering, Step};
use tepui_ir::{Attrs, Builtin, Inst, Op, Shader, Type, Value};

/// Runs the pass, once for a shader.
pub fn run(s: &mut Shader) -> bool {
    let mut pass = Base { size: s.info.workgroup_size };
    rewrite::run(s, &mut pass)
}

struct Base {
    size: [u32; 3],
}

fn load(e: &mut Emit, b: Builtin) -> Value {
    let i = e.inst(Op::LoadBuiltin, Attrs::Builtin(b), &[], &[Type::vec(32, 3)]);
    e.s.result(i)
}

impl Lowering for Base {
    fn wants(&self, s: &Shader, i: Inst) -> bool {
        s.insts[i].op == Op::LoadBuiltin
            && matches!(
                s.insts[i].attrs,
                Attrs::Builtin(Builtin::WorkgroupId | Builtin::GlobalInvocationId)
            )
    }

    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let Attrs::Builtin(b) = e.s.insts[i].attrs else { return Step::Keep };
        let (id, base) = (load(e, b), load(e, Builtin::BaseWorkgroupId));
        let parts: Vec<Value> = (0..3)
            .map(|k| {
                let (id, mut base) = (e.extract(id, k), e.extract(base, k));
                if b == Builtin::GlobalInvocationId {
                    let size = e.u32(self.size[k as usize]);
                    base = e.op(Op::IMul, &[base, size]);
                }
                e.op(Op::IAdd, &[id, base])
            })
            .collect();
        Step::Replace(vec![e.vec(&parts)])
    }
}
