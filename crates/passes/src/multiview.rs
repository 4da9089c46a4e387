//! Multiview: a draw is repeated for each view, which renders to the layer of its index. source:
//! Mesa, hk_shader.c, hk_lower_multiview

use tepui_ir::{
    Attrs, Builder, Builtin, Interp, IoLoc, IoSlot, NumKind, Op, Sampling, Shader, Stage, Type,
};

/// Writes the layer at the end of a vertex shader.
pub fn run(s: &mut Shader) -> bool {
    if s.info.stage != Stage::Vertex {
        return false;
    }
    let root = s.root;
    let end = s.regions[root].insts.pop();
    let mut b = Builder::at(s, root);
    let view = b.value(Op::LoadBuiltin, Attrs::Builtin(Builtin::ViewIndex), &[], Type::B32);
    let zero = b.u32(0);
    let layer = IoSlot {
        loc: IoLoc::Builtin(Builtin::Layer),
        component: 0,
        index: 0,
        kind: NumKind::Uint,
        interp: Interp::Flat,
        sampling: Sampling::Center,
    };
    b.effect(Op::StoreOutput, Attrs::Io(layer), &[view, zero]);
    s.regions[root].insts.extend(end);
    true
}
