//! Memory that a shader reads and never writes is constant while it runs.
//!
//! What another shader writes at the same time, without atomics or barriers here, is a race whose outcome nobody may count on. So loads
//! of a shader without any store, atomic or barrier are marked [`Access::CONST`]: they are shared, moved out of loops and into
//! preambles like those of uniform buffers. Coherent and volatile ones stay as they are.

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
