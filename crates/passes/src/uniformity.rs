//! Uniformity analysis: values that are identical in all invocations of a dispatch or draw.
//!
//! A back end can compute them once, in a preamble. The analysis is narrower than
//! [`crate::divergence`], which is about the lanes of one subgroup: a value is uniform if it is
//! computed from constants, push constants, descriptors and memory that is never written. Control
//! flow is not considered.

use tepui_ir::cranelift_entity::SecondaryMap;
use tepui_ir::{Access, Attrs, Builtin, Inst, Op, ResKind, Shader, Value};

/// Whether each value is uniform.
#[derive(Clone, Debug, Default)]
pub struct Uniformity(SecondaryMap<Value, bool>);

impl Uniformity {
    /// Analyses a shader.
    #[must_use]
    pub fn new(s: &Shader) -> Uniformity {
        let mut all = Uniformity(SecondaryMap::with_capacity(s.values.len()));
        s.walk(|s, _, i| all.visit(s, i));
        all
    }

    /// Takes the next instruction in program order.
    pub fn visit(&mut self, s: &Shader, i: Inst) {
        let uniform = self.inst(s, i);
        for &v in s.results(i) {
            self.0[v] = uniform;
        }
    }

    /// Whether a value is uniform.
    #[must_use]
    pub fn is_uniform(&self, v: Value) -> bool {
        self.0[v]
    }

    /// Records a value that was made after the analysis.
    pub fn set(&mut self, v: Value, uniform: bool) {
        self.0[v] = uniform;
    }

    /// Whether the results of an instruction are uniform.
    fn inst(&self, s: &Shader, i: Inst) -> bool {
        let d = &s.insts[i];
        let known = || s.args(i).iter().all(|&a| self.0[a]);
        match (d.op, d.attrs) {
            (Op::LoadBuffer, Attrs::Mem(m)) => m.access.contains(Access::CONST) && known(),
            (Op::LoadBuiltin, Attrs::Builtin(b)) => is_uniform_builtin(b),
            (
                Op::Const
                | Op::Copy
                | Op::Vec
                | Op::Extract
                | Op::LoadPush
                | Op::LoadConstant
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
pub fn is_uniform_builtin(b: Builtin) -> bool {
    matches!(
        b,
        Builtin::NumWorkgroups
            | Builtin::BaseWorkgroupId
            | Builtin::WorkgroupSize
            | Builtin::NumSubgroups
            | Builtin::SubgroupSize
            | Builtin::BaseVertex
            | Builtin::BaseInstance
            | Builtin::DrawIndex
            | Builtin::ViewIndex
    )
}

/// Whether a load reads a uniform buffer or push constants at a place that the shader declares:
/// that can be read even where no thread would.
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
