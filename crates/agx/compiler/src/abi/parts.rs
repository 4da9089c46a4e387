//! Builds the IR of prologs and epilogs.

use tepui_ir::{
    Attrs, Builder, Builtin, Interp, IoLoc, IoSlot, NumKind, Op, Sampling, Shader, Stage, Type,
    Value,
};

use super::Prolog;
use crate::varyings::{FragmentTable, VertexTable};

fn slot(n: u16, kind: NumKind) -> IoSlot {
    IoSlot {
        loc: IoLoc::Location(n),
        component: 0,
        index: 0,
        kind,
        interp: Interp::Flat,
        sampling: Sampling::Center,
    }
}

/// A prolog that fetches the attributes which a main part with this table reads.
#[must_use]
pub fn vertex_prolog(main: &VertexTable) -> Shader {
    let mut s = Shader::new(Stage::Vertex);
    let mut b = Builder::new(&mut s);
    let zero = b.u32(0);
    for n in 0..u16::from(main.attributes) {
        let mask = (main.components >> (4 * n) & 0xf) as u8;
        if mask == 0 {
            continue;
        }
        // By component, so that unused ones are not fetched.
        for c in (0..4).filter(|c| mask >> c & 1 != 0) {
            let slot = IoSlot { component: c, ..slot(n, NumKind::Uint) };
            let v = b.value(Op::LoadInput, Attrs::Io(slot), &[zero], Type::B32);
            b.effect(Op::StoreOutput, Attrs::Io(slot), &[v, zero]);
        }
    }
    b.yield_(&[]);
    s
}

/// An epilog that stores the colours of a main part with this table. `kinds` says what each
/// location's bits are.
#[must_use]
pub fn fragment_epilog(main: &FragmentTable, kinds: &[NumKind; 8]) -> Shader {
    let mut s = Shader::new(Stage::Fragment);
    s.info.early_tests = main.tested;
    let mut b = Builder::new(&mut s);
    let zero = b.u32(0);
    for n in (0..8u16).filter(|n| main.colours >> n & 1 != 0) {
        let from = slot(n, kinds[usize::from(n)]);
        let v = b.value(Op::LoadInput, Attrs::Io(from), &[zero], Type::vec(32, 4));
        let second = main.dual_source && n == 1;
        let to = if second { IoSlot { index: 1, ..slot(0, from.kind) } } else { from };
        b.effect(Op::StoreOutput, Attrs::Io(to), &[v, zero]);
    }
    b.yield_(&[]);
    s
}

/// Ends fragments where a cull distance culls: where it does at all vertices, the linear test is 0
/// everywhere.
pub(super) fn cull(b: &mut Builder<'_>, distances: u8) {
    if distances == 0 {
        return;
    }
    let zero = b.u32(0);
    for component in 0..distances {
        let slot = IoSlot {
            loc: IoLoc::Builtin(Builtin::CullDistance),
            component,
            interp: Interp::Linear,
            ..slot(0, NumKind::Float)
        };
        let kept = b.value(Op::LoadInput, Attrs::Io(slot), &[zero], Type::B32);
        let gone = b.binary(Op::FEq, kept, zero);
        b.effect(Op::DemoteIf, Attrs::None, &[gone]);
    }
}

/// Stores a sample mask without the discarded samples; `mask` is the shader's own.
pub(super) fn keep(b: &mut Builder<'_>, killed: u8, mask: Option<Value>) {
    let mut left = b.u32(u32::from(!killed));
    if let Some(m) = mask {
        left = b.binary(Op::IAnd, left, m);
    }
    let zero = b.u32(0);
    let to = IoSlot { loc: IoLoc::Builtin(Builtin::SampleMask), ..slot(0, NumKind::Uint) };
    b.effect(Op::StoreOutput, Attrs::Io(to), &[left, zero]);
}

/// A prolog for the pipeline's state.
#[must_use]
pub fn fragment_prolog(p: Prolog) -> Shader {
    let mut s = Shader::new(Stage::Fragment);
    let mut b = Builder::new(&mut s);
    cull(&mut b, p.cull_distances);
    if p.killed != 0 {
        keep(&mut b, p.killed, None);
    }
    b.yield_(&[]);
    s
}
