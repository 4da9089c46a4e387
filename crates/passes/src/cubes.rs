//! Cubes: levels of detail from gradients, for texture units that take no gradients of cubes, and sizes of storage images whose layers
//! are faces.

use crate::handles::descriptor_of;
use crate::rewrite::{Emit, Step};
use tepui_ir::{Attrs, Image, Inst, Op, ResKind, TexOperands, Type, Value};

/// The size of an array of cubes, for hardware to which a storage image has its faces as layers.
pub fn faces(e: &mut Emit, i: Inst) -> Step {
    let storage = descriptor_of(e.s, e.s.arg(i, 0))
        .is_some_and(|(res, _)| e.s.resources[res].kind == ResKind::StorageImage);
    if !storage {
        return Step::Keep;
    }
    let (attrs, args) = (e.s.insts[i].attrs, e.s.args(i).to_vec());
    let ty = e.ty(e.s.result(i));
    let size = e.value(Op::ImageSize, attrs, &args, ty);
    let mut parts = e.split(size);
    if let Some(last) = parts.last_mut() {
        let six = e.u32(6);
        *last = e.op(Op::UDiv, &[*last, six]);
    }
    Step::Replace(vec![e.vec(&parts)])
}

/// The width of level 0 of a texture in texels, by a query.
pub fn width(e: &mut Emit, texture: Value, image: Image) -> Value {
    let zero = e.u32(0);
    let comps = 2 + u8::from(image.array);
    let query = Attrs::Image(Image { operands: TexOperands::LOD, residency: false, ..image });
    let size = e.value(Op::ImageSize, query, &[texture, zero], Type::vec(32, comps));
    e.extract(size, 0)
}

/// The level of detail for the gradients of a direction; `width` makes the width of level 0 in texels.
/// source: Vulkan specification, "Cube Map Derivative Transformation" and "Scale Factor Operation"
pub fn level(
    e: &mut Emit,
    width: impl FnOnce(&mut Emit) -> Value,
    r: &[Value],
    gradients: [Value; 2],
) -> Value {
    let abs: Vec<Value> = r.iter().map(|&c| e.op(Op::FAbs, &[c])).collect();
    // z wins over y wins over x.
    let xy = e.op(Op::FMax, &[abs[0], abs[1]]);
    let z = e.op(Op::FGe, &[abs[2], xy]);
    let y = e.op(Op::FGe, &[abs[1], abs[0]]);
    // The major axis and the two others; which of those is s and which t does not matter for a
    // length.
    let arrange = |e: &mut Emit, v: &[Value]| {
        let major = e.select(y, v[1], v[0]);
        let other = e.select(y, v[0], v[1]);
        [e.select(z, v[2], major), e.select(z, v[0], other), e.select(z, v[1], v[2])]
    };
    let [major, s, t] = arrange(e, r);
    let width = width(e);
    let width = e.value(Op::U2F, Attrs::None, &[width], Type::B32);
    let inv = e.op(Op::FRcp, &[major]);
    let half = e.f32(0.5);
    let scale = e.op(Op::FMul, &[width, half]);
    let scale = e.op(Op::FMul, &[scale, inv]);
    let (s, t) = (e.op(Op::FMul, &[s, inv]), e.op(Op::FMul, &[t, inv]));
    let mut longest = None;
    for g in gradients {
        let g = e.split(g);
        let [dm, ds, dt] = arrange(e, &g);
        // The derivative of the quotient: (ds - s/major * dm) / major.
        let mut square = None;
        for (c, d) in [(s, ds), (t, dt)] {
            let x = e.op(Op::FMul, &[c, dm]);
            let x = e.op(Op::FSub, &[d, x]);
            let x = e.op(Op::FMul, &[x, scale]);
            square = Some(match square {
                None => e.op(Op::FMul, &[x, x]),
                Some(sum) => e.op(Op::FFma, &[x, x, sum]),
            });
        }
        longest = match (longest, square) {
            (Some(a), Some(b)) => Some(e.op(Op::FMax, &[a, b])),
            (a, b) => a.or(b),
        };
    }
    let square = longest.unwrap_or(scale);
    let log = e.op(Op::FLog2, &[square]);
    e.op(Op::FMul, &[log, half])
}
