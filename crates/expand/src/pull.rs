//! The vertex shader that fetches finished vertices from memory.

use crate::record::Record;
use crate::{StageWords, driver};
use tepui_ir::{
    Attrs, Builder, Builtin, Inst, Interp, IoDecl, IoLoc, IoSlot, Mem, NumKind, Op, PrimitiveKind,
    Sampling, Shader, Stage, Type,
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

/// Makes the geometry shader of a draw that needs one and has none: it passes on the vertices of primitives, without adjacent ones.
/// `slots` are the outputs of the stage before.
#[must_use]
pub fn passing_on(input: PrimitiveKind, slots: &[(IoSlot, Type)]) -> Shader {
    use PrimitiveKind as P;
    let mut s = Shader::new(Stage::Geometry);
    let (output, own): (_, &[u32]) = match input {
        P::Points => (P::Points, &[0]),
        P::Lines | P::Isolines => (P::Lines, &[0, 1]),
        P::LinesAdjacency => (P::Lines, &[1, 2]),
        P::Triangles | P::Quads => (P::Triangles, &[0, 1, 2]),
        P::TrianglesAdjacency => (P::Triangles, &[0, 2, 4]),
    };
    s.info.primitives.input = Some(input);
    s.info.primitives.output = output;
    s.info.primitives.vertices = own.len() as u32;
    let mut b = Builder::new(&mut s);
    let zero = b.u32(0);
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
