//! Marks loads as constant in shaders that never write memory.
//!
//! A concurrent write by another shader, without atomics or barriers in this one, is a data race
//! with an undefined result. So loads of a shader without stores, atomics and barriers are marked
//! [`Access::CONST`]: they can be merged, hoisted out of loops and moved to preambles like loads of
//! uniform buffers. Coherent and volatile loads are not marked.

use tepui_ir::{Access, Attrs, Inst, Op, Shader};

/// Runs the pass.
pub fn run(s: &mut Shader) -> bool {
    let (mut quiet, mut loads) = (true, Vec::new());
    s.walk(|s, _, i| {
        let d = &s.insts[i];
        match (d.op, d.attrs) {
            (Op::LoadBuffer | Op::LoadGlobal, Attrs::Mem(m)) => {
                let others = Access::COHERENT | Access::VOLATILE | Access::CONST;
                if !m.access.intersects(others) {
                    loads.push(i);
                }
            }
            (op, _) => quiet &= !writes_memory(op),
        }
    });
    if !quiet {
        return false;
    }
    for &i in &loads {
        mark(s, i);
    }
    !loads.is_empty()
}

fn mark(s: &mut Shader, i: Inst) {
    if let Attrs::Mem(m) = &mut s.insts[i].attrs {
        m.access |= Access::CONST;
    }
}

fn writes_memory(op: Op) -> bool {
    matches!(
        op,
        Op::StoreBuffer
            | Op::AtomicBuffer
            | Op::StoreGlobal
            | Op::AtomicGlobal
            | Op::StoreOffset
            | Op::AtomicOffset
            | Op::ImageStore
            | Op::ImageAtomic
            | Op::Barrier
            | Op::InterlockBegin
    )
}
