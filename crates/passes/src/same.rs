//! What every invocation of a launch has alike: a back end computes it once, in a preamble.
//!
//! Narrower than [`crate::divergence`], which asks about the lanes of one sub-group: a value is the same when it is made of constants, push
//! constants, descriptors and memory that nothing writes, without regard to how control came there.

use tepui_ir::cranelift_entity::SecondaryMap;
use tepui_ir::{Access, Attrs, Builtin, Inst, Op, ResKind, Shader, Value};

/// Values by whether all invocations have them alike.
#[derive(Clone, Debug, Default)]
pub struct Same(SecondaryMap<Value, bool>);

impl Same {
    /// Analyses a shader.
    #[must_use]
    pub fn new(s: &Shader) -> Same {
        let mut all = Same(SecondaryMap::with_capacity(s.values.len()));
        s.walk(|s, _, i| all.visit(s, i));
        all
    }

    /// Takes the next instruction in program order.
    pub fn visit(&mut self, s: &Shader, i: Inst) {
        let same = self.inst(s, i);
        for &v in s.results(i) {
            self.0[v] = same;
        }
    }

    /// Whether all invocations have the value alike.
    #[must_use]
    pub fn has(&self, v: Value) -> bool {
        self.0[v]
    }

    /// Says so of a value that was made later.
    pub fn set(&mut self, v: Value, same: bool) {
        self.0[v] = same;
    }

    /// Whether an instruction gives every invocation the same.
    fn inst(&self, s: &Shader, i: Inst) -> bool {
        let d = &s.insts[i];
        let known = || s.args(i).iter().all(|&a| self.0[a]);
        match (d.op, d.attrs) {
            (Op::LoadBuffer, Attrs::Mem(m)) => m.access.contains(Access::CONST) && known(),
            (Op::LoadBuiltin, Attrs::Builtin(b)) => is_same_builtin(b),
            (
                Op::Const
                | Op::Copy
                | Op::Vec
                | Op::Extract
                | Op::LoadPush
                | Op::LoadUniform
                | Op::Descriptor
                | Op::TexSampleLod
                | Op::TexFetch,
                _,
            ) => known(),
            (op, _) => op.is_elementwise() && known(),
        }
    }
}

/// Whether a built-in value belongs to the whole launch or draw.
#[must_use]
pub fn is_same_builtin(b: Builtin) -> bool {
    matches!(
        b,
        Builtin::NumWorkgroups
            | Builtin::WorkgroupSize
            | Builtin::NumSubgroups
            | Builtin::SubgroupSize
            | Builtin::BaseVertex
            | Builtin::BaseInstance
            | Builtin::DrawIndex
            | Builtin::ViewIndex
    )
}

/// Whether a load reads a uniform buffer or push constants at a place that the shader declares: that can be read even where no thread would.
#[must_use]
pub fn is_always_there(s: &Shader, i: Inst) -> bool {
    let constant = |v: Value| s.as_const(v).is_some();
    match s.insts[i].op {
        Op::LoadPush => constant(s.arg(i, 0)),
        Op::LoadBuffer => {
            let resource = s.def_inst(s.arg(i, 0)).and_then(|d| match s.insts[d].attrs {
                Attrs::Res(r, _) if constant(s.arg(d, 0)) => Some(r),
                _ => None,
            });
            constant(s.arg(i, 1))
                && resource.is_some_and(|r| s.resources[r].kind == ResKind::UniformBuffer)
        }
        _ => false,
    }
}
