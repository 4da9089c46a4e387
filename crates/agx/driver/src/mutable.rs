//! Buffers in mutable bindings.
//!
//! Programs find the buffers of a binding [`BUFFER_B`] bytes apart. Elements of a mutable binding have
//! room for images, and are [`ROW_B`](tepui_agx_compiler::descriptor::ROW_B) bytes apart, so that the number of a buffer among them
//! counts that many buffers. In descriptor buffers, bindings of which all elements are buffers have no such room.

use std::sync::Arc;

use tepui_agx_compiler::descriptor::ROW_B;
use tepui_ir::cranelift_entity::EntityRef;
use tepui_ir::{Attrs, Inst, Op, ResKind, Shader};
use tepui_passes::rewrite::{self, Emit, Lowering, Step};
use tepui_vulkan::descriptor::{DescriptorType, SetLayout};

use crate::family::Agx;

/// Bytes of a buffer descriptor: address, size, zero.
pub const BUFFER_B: u32 = 16;

/// Multiplies the numbers of buffers in mutable bindings.
pub fn run(s: &mut Shader, sets: &[Option<Arc<SetLayout<Agx>>>]) -> bool {
    let is_mutable = |set: u32, binding: u32| {
        let set = sets.get(set as usize)?.as_ref()?;
        let b = set.binding(binding)?;
        Some(b.ty == DescriptorType::Mutable && b.stride[0] == ROW_B)
    };
    let resources: Vec<bool> = s
        .resources
        .values()
        .map(|r| {
            matches!(r.kind, ResKind::UniformBuffer | ResKind::StorageBuffer)
                && is_mutable(r.set, r.binding) == Some(true)
        })
        .collect();
    if !resources.contains(&true) {
        return false;
    }
    for (r, &is_mutable) in s.resources.values_mut().zip(&resources) {
        if is_mutable {
            r.count *= ROW_B / BUFFER_B;
        }
    }
    rewrite::run(s, &mut Pass { resources })
}

struct Pass {
    /// Buffers in mutable bindings, by resource.
    resources: Vec<bool>,
}

impl Lowering for Pass {
    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let (Op::Descriptor, attrs @ Attrs::Res(r, _)) = (e.s.insts[i].op, e.s.insts[i].attrs)
        else {
            return Step::Keep;
        };
        if !self.resources[r.index()] {
            return Step::Keep;
        }
        let (element, ty) = (e.s.arg(i, 0), e.ty(e.s.result(i)));
        let buffers = e.u32(ROW_B / BUFFER_B);
        let first = e.op(Op::IMul, &[element, buffers]);
        Step::Replace(vec![e.value(Op::Descriptor, attrs, &[first], ty)])
    }
}
