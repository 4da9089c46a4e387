//! The vertex shader that fetches finished vertices from memory.

use crate::record::Record;
use crate::{StageWords, driver};
use tepui_ir::{
    Attrs, Builder, Builtin, Inst, Interp, IoDecl, IoLoc, IoSlot, Mem, NumKind, Op, PrimitiveKind,
    Sampling, Shader, Stage, Type, Value,
};
use tepui_passes::rewrite::{self, Emit, Lowering, Step};

/// The output that passes the number of the primitive to fragments, for which the hardware would
/// count the primitives that it draws.
pub const PRIMITIVE: IoSlot = IoSlot {
    loc: IoLoc::Location(63),
    component: 0,
    index: 0,
    kind: NumKind::Uint,
    interp: Interp::Flat,
    sampling: Sampling::Center,
};

/// Makes the vertex shader for the records of a stage: a vertex's number is that of its record.
/// `slots` are the outputs, with their types; the words are at [`StageWords::output`].
#[must_use]
pub fn vertex_shader(record: &Record, slots: &[(IoSlot, Type)]) -> Shader {
    let mut s = Shader::new(Stage::Vertex);
    let mut b = Builder::new(&mut s);
    let number = b.builtin(Builtin::VertexIndex, Type::B32);
    let words = Attrs::Mem(Mem { align_log2: 2, ..Mem::default() });
    let zero = b.u32(0);
    for &(slot, ty) in slots {
        let Some(offset) = record.offset(slot) else { continue };
        // Words from an address of the driver, as in `lower::WordAddress`.
        let (each, first) = (b.u32(record.stride() / 4), b.u32(offset / 4));
        let at = b.alu(Op::IMul, &[number, each]);
        let at = b.alu(Op::IAdd, &[at, first]);
        let at = b.convert(Op::U2U, at, 64);
        let two = b.u32(2);
        let at = b.alu(Op::IShl, &[at, two]);
        let base = driver(&mut b, StageWords::OUTPUT);
        let at = b.alu(Op::IAdd, &[base, at]);
        let wide = ty.with_bits(ty.bits().max(32));
        let v = b.value(Op::LoadGlobal, words, &[at], wide);
        let v = if wide == ty { v } else { b.convert(Op::U2U, v, ty.bits()) };
        let slot = match slot.loc {
            IoLoc::Builtin(Builtin::PrimitiveId) => PRIMITIVE,
            _ => slot,
        };
        b.effect(Op::StoreOutput, Attrs::Io(slot), &[v, zero]);
    }
    b.yield_(&[]);
    s
}

/// Polygons that become their edges or corners, for hardware that draws them whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outlines {
    /// Their corners, as points; else their edges, as lines.
    pub corners: bool,
    /// The polygons that are culled: whether the homogeneous determinant of the corners' x, y and w is negative, and whether it is not.
    pub culls: [bool; 2],
}

/// The homogeneous determinant of x, y and w of three positions, twice a triangle's area where w is 1.
fn determinant(b: &mut Builder<'_>, zero: Value, slot: IoSlot, ty: Type) -> Value {
    let corner = |b: &mut Builder<'_>, v: u32| {
        let v = b.u32(v);
        let read = IoSlot { interp: Interp::PerVertex, ..slot };
        let all = b.value(Op::LoadInputVertex, Attrs::Io(read), &[zero, v], ty);
        [0, 1, 3].map(|k| b.extract(all, k))
    };
    let [p, q, r] = [0, 1, 2].map(|v| corner(b, v));
    let mut minor = |k: usize, l: usize| {
        let (left, right) = (b.binary(Op::FMul, q[k], r[l]), b.binary(Op::FMul, q[l], r[k]));
        b.binary(Op::FSub, left, right)
    };
    let minors = [minor(1, 2), minor(2, 0), minor(0, 1)];
    let mut sum = b.f32(0.0);
    for (a, m) in p.into_iter().zip(minors) {
        let product = b.binary(Op::FMul, a, m);
        sum = b.binary(Op::FAdd, sum, product);
    }
    sum
}

/// Makes the geometry shader of a draw that needs one and has none: it passes on the vertices of primitives, without adjacent ones.
/// `slots` are the outputs of the stage before.
#[must_use]
pub fn passing_on(
    input: PrimitiveKind,
    slots: &[(IoSlot, Type)],
    outlines: Option<Outlines>,
) -> Shader {
    use PrimitiveKind as P;
    let mut s = Shader::new(Stage::Geometry);
    let outlines =
        outlines.filter(|_| matches!(input, P::Triangles | P::Quads | P::TrianglesAdjacency));
    let (mut output, mut own): (_, &[u32]) = match input {
        P::Points => (P::Points, &[0]),
        P::Lines | P::Isolines => (P::Lines, &[0, 1]),
        P::LinesAdjacency => (P::Lines, &[1, 2]),
        P::Triangles | P::Quads => (P::Triangles, &[0, 1, 2]),
        P::TrianglesAdjacency => (P::Triangles, &[0, 2, 4]),
    };
    if let Some(o) = outlines {
        (output, own) = match (o.corners, input) {
            (true, _) => (P::Points, own),
            (false, P::TrianglesAdjacency) => (P::Lines, &[0, 2, 4, 0][..]),
            (false, _) => (P::Lines, &[0, 1, 2, 0][..]),
        };
    }
    s.info.primitives.input = Some(input);
    s.info.primitives.output = output;
    s.info.primitives.vertices = own.len() as u32;
    let (root, then, other) = (s.root, s.make_region(), s.make_region());
    let mut b = Builder::new(&mut s);
    let zero = b.u32(0);
    let position = slots
        .iter()
        .find(|(slot, ty)| slot.loc == IoLoc::Builtin(Builtin::Position) && ty.comps() == 4);
    let culls = outlines.map_or([false; 2], |o| o.culls);
    let test = position.filter(|_| culls != [false; 2]).map(|&(slot, ty)| {
        let area = determinant(&mut b, zero, slot, ty);
        let is_negative = b.binary(Op::FLt, area, zero);
        let [negative, positive] = culls.map(|culled| b.bool(!culled));
        b.select(is_negative, negative, positive)
    });
    if test.is_some() {
        b = Builder::at(&mut s, then);
    }
    let number = b.builtin(Builtin::PrimitiveId, Type::B32);
    let number_slot = IoSlot { loc: IoLoc::Builtin(Builtin::PrimitiveId), ..PRIMITIVE };
    for &v in own {
        let v = b.u32(v);
        for &(slot, ty) in slots {
            let read = IoSlot { interp: Interp::PerVertex, ..slot };
            let value = b.value(Op::LoadInputVertex, Attrs::Io(read), &[zero, v], ty);
            b.effect(Op::StoreOutput, Attrs::Io(slot), &[value, zero]);
        }
        if slots.iter().all(|s| s.0.loc != number_slot.loc) {
            b.effect(Op::StoreOutput, Attrs::Io(number_slot), &[number, zero]);
        }
        b.effect(Op::EmitVertex, Attrs::Index(0), &[]);
    }
    b.yield_(&[]);
    if let Some(test) = test {
        Builder::at(&mut s, other).yield_(&[]);
        let mut b = Builder::at(&mut s, root);
        b.if_(test, then, other, &[]);
        b.yield_(&[]);
    }
    s
}

/// The outputs of a stage, each once, with their types.
#[must_use]
pub fn outputs(s: &Shader) -> Vec<(IoSlot, Type)> {
    let mut slots: Vec<(IoSlot, Type)> = Vec::new();
    s.walk(|s, _, i| {
        let (Op::StoreOutput, Attrs::Io(slot)) = (s.insts[i].op, s.insts[i].attrs) else { return };
        let ty = s.ty(s.arg(i, 0));
        match slots.iter_mut().find(|x| x.0 == slot) {
            Some(x) if x.1.comps() < ty.comps() => x.1 = ty,
            Some(_) => {}
            None => slots.push((slot, ty)),
        }
    });
    slots
}

/// Whether a vertex shader passes the number of the primitive.
#[must_use]
pub fn passes_primitive(s: &Shader) -> bool {
    s.any(|s, _, i| s.insts[i].op == Op::StoreOutput && s.insts[i].attrs == Attrs::Io(PRIMITIVE))
}

/// Makes a fragment shader take the number of the primitive from the vertices.
pub fn fetch_primitive(s: &mut Shader) {
    if rewrite::run(s, &mut Primitive) {
        s.inputs.push(IoDecl {
            slot: PRIMITIVE,
            ty: Type::B32,
            locations: 1,
            name: "primitive".to_owned(),
        });
    }
}

struct Primitive;

impl Lowering for Primitive {
    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        if e.s.insts[i].attrs != Attrs::Builtin(Builtin::PrimitiveId) {
            return Step::Keep;
        }
        let zero = e.u32(0);
        Step::Replace(vec![e.value(Op::LoadInput, Attrs::Io(PRIMITIVE), &[zero], Type::B32)])
    }
}
