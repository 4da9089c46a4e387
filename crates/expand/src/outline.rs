//! Polygons that become their edges or corners, for hardware that draws them whole: the geometry shader emits lines or points in place
//! of its triangles.
//!
//! The outputs of the last two vertices of a strip are kept in variables. From the third vertex on, each vertex completes a triangle: a
//! line strip around it is emitted, or its three corners. A triangle that is culled is left out. Flat outputs of all its vertices are
//! those of its provoking vertex, which the hardware would take from the lines otherwise.

use crate::pull;
use tepui_ir::{
    Attrs, Builtin, Inst, IoLoc, IoSlot, Op, PrimitiveKind, Region, Shader, Type, Value, Var,
    VarData,
};
use tepui_passes::pipeline::Pipeline;
use tepui_passes::rewrite::{self, Emit, Lowering, Step};

/// Parts of polygons that are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outlines {
    /// Their corners, as points; else their edges, as lines.
    pub corners: bool,
    /// The polygons that are culled: whether the homogeneous determinant of the corners' x, y and w is negative, and whether it is not.
    pub culls: [bool; 2],
    /// Locations that fragments do not interpolate, a bit each.
    pub flat: u64,
    /// The last vertex of a triangle is the provoking one.
    pub last: bool,
}

impl Outlines {
    /// Whether fragments take an output from the provoking vertex.
    fn is_flat(&self, slot: IoSlot) -> bool {
        match slot.loc {
            IoLoc::Location(l) => l < 64 && self.flat >> l & 1 != 0,
            IoLoc::Builtin(b) => {
                matches!(b, Builtin::PrimitiveId | Builtin::Layer | Builtin::ViewportIndex)
            }
        }
    }
}

/// Makes a geometry shader that emits triangles emit their outlines. Returns whether it emits triangles.
pub fn run(s: &mut Shader, outlines: &Outlines) -> bool {
    if s.info.primitives.output != PrimitiveKind::Triangles {
        return false;
    }
    tepui_passes::lower_io::run(s);
    let mut pass = Outline::new(s, outlines);
    rewrite::run(s, &mut pass);
    let p = &mut s.info.primitives;
    let (output, each) = match outlines.corners {
        true => (PrimitiveKind::Points, 3),
        false => (PrimitiveKind::Lines, 4),
    };
    p.output = output;
    p.vertices = (each * p.vertices.saturating_sub(2)).max(1);
    // Of a strip whose length is known, the vertices that complete triangles are.
    let mut look = |_: &'static str, _: &Shader| {};
    let mut p = Pipeline::new(None, &mut look);
    p.clean(s, &["split", "promote", "control", "simplify", "dce"]);
    true
}

/// An output, and the variables that hold it.
struct Output {
    slot: IoSlot,
    ty: Type,
    /// The next vertex's value.
    now: Var,
    /// Values of the last two vertices, the earlier first.
    before: [Var; 2],
    is_flat: bool,
}

struct Outline {
    outlines: Outlines,
    outputs: Vec<Output>,
    /// Vertices of the strip so far.
    strip: Var,
    root: Region,
}

fn load(e: &mut Emit, v: Var, ty: Type) -> Value {
    e.value(Op::LoadVar, Attrs::Var(v), &[], ty)
}

fn store(e: &mut Emit, v: Var, value: Value) {
    e.inst(Op::StoreVar, Attrs::Var(v), &[value], &[]);
}

/// The homogeneous determinant of x, y and w of three positions, twice a triangle's area where w is 1.
fn determinant(e: &mut Emit, corners: [Value; 3]) -> Value {
    let [p, q, r] = corners.map(|v| [0, 1, 3].map(|k| e.extract(v, k)));
    let mut minor = |k: usize, l: usize| {
        let (left, right) = (e.op(Op::FMul, &[q[k], r[l]]), e.op(Op::FMul, &[q[l], r[k]]));
        e.op(Op::FSub, &[left, right])
    };
    let minors = [minor(1, 2), minor(2, 0), minor(0, 1)];
    let mut sum = e.f32(0.0);
    for (a, m) in p.into_iter().zip(minors) {
        let product = e.op(Op::FMul, &[a, m]);
        sum = e.op(Op::FAdd, &[sum, product]);
    }
    sum
}

impl Outline {
    fn new(s: &mut Shader, outlines: &Outlines) -> Outline {
        let mut var = |ty| s.vars.push(VarData { ty, len: None, name: String::new() });
        let strip = var(Type::B32);
        let outputs = pull::outputs(s);
        let mut var = |ty| s.vars.push(VarData { ty, len: None, name: String::new() });
        let outputs = outputs
            .into_iter()
            .map(|(slot, ty)| Output {
                slot,
                ty,
                now: var(ty),
                before: [var(ty), var(ty)],
                is_flat: outlines.is_flat(slot),
            })
            .collect();
        Outline { outlines: *outlines, outputs, strip, root: s.root }
    }

    /// The values of an output at the three corners of the triangle that a vertex completes.
    fn corners(e: &mut Emit, o: &Output) -> [Value; 3] {
        [o.before[0], o.before[1], o.now].map(|v| load(e, v, o.ty))
    }

    /// Whether the triangle is drawn; `None` if all are.
    fn is_drawn(&self, e: &mut Emit, vertices: Value) -> Option<Value> {
        let culls = self.outlines.culls;
        let is_position =
            |o: &&Output| o.slot.loc == IoLoc::Builtin(Builtin::Position) && o.ty.comps() == 4;
        let position = self.outputs.iter().find(is_position)?;
        if culls == [false; 2] {
            return None;
        }
        let corners = Outline::corners(e, position);
        let area = determinant(e, corners);
        let zero = e.f32(0.0);
        // Every other triangle of a strip goes around the other way, and an area of zero is not negative.
        let (below, above) = (e.op(Op::FLt, &[area, zero]), e.op(Op::FLt, &[zero, area]));
        let one = e.u32(1);
        let is_odd = e.op(Op::IAnd, &[vertices, one]);
        let is_odd = e.op(Op::IEq, &[is_odd, one]);
        let is_negative = e.select(is_odd, above, below);
        let [negative, positive] = culls.map(|culled| e.konst(Type::B1, u64::from(!culled)));
        Some(e.select(is_negative, negative, positive))
    }

    /// Emits the outline of the triangle that a vertex completes.
    fn triangle(&self, e: &mut Emit) {
        let provoking = if self.outlines.last { 2 } else { 0 };
        let all: Vec<[Value; 3]> = self.outputs.iter().map(|o| Outline::corners(e, o)).collect();
        // Edges in the order in which Mesa's software rasterisers draw them. source: Mesa, draw_pipe_unfilled.c (`lines`)
        let own: &[usize] = if self.outlines.corners { &[0, 1, 2] } else { &[2, 0, 1, 2] };
        let zero = e.u32(0);
        for &corner in own {
            for (o, values) in self.outputs.iter().zip(&all) {
                let value = values[if o.is_flat { provoking } else { corner }];
                e.inst(Op::StoreOutput, Attrs::Io(o.slot), &[value, zero], &[]);
            }
            e.inst(Op::EmitVertex, Attrs::Index(0), &[], &[]);
        }
        if !self.outlines.corners {
            e.inst(Op::EndPrimitive, Attrs::Index(0), &[], &[]);
        }
    }

    fn vertex(&self, e: &mut Emit) {
        let vertices = load(e, self.strip, Type::B32);
        let (one, two) = (e.u32(1), e.u32(2));
        let completes = e.op(Op::UGe, &[vertices, two]);
        e.if_then(completes, |e| match self.is_drawn(e, vertices) {
            Some(drawn) => e.if_then(drawn, |e| self.triangle(e)),
            None => self.triangle(e),
        });
        for o in &self.outputs {
            let [earlier, later] = o.before;
            let last = load(e, later, o.ty);
            store(e, earlier, last);
            let now = load(e, o.now, o.ty);
            store(e, later, now);
        }
        let next = e.op(Op::IAdd, &[vertices, one]);
        store(e, self.strip, next);
    }
}

impl Lowering for Outline {
    fn enter(&mut self, e: &mut Emit, r: Region) {
        if r != self.root {
            return;
        }
        let zero = e.u32(0);
        store(e, self.strip, zero);
        for o in &self.outputs {
            let none = e.undef(o.ty);
            [o.now, o.before[0], o.before[1]].into_iter().for_each(|v| store(e, v, none));
        }
    }

    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        match (e.s.insts[i].op, e.s.insts[i].attrs) {
            (Op::StoreOutput, Attrs::Io(slot)) => {
                let value = e.s.arg(i, 0);
                let Some(o) = self.outputs.iter().find(|o| o.slot == slot) else {
                    return Step::Keep;
                };
                // A store of fewer components leaves the others.
                let mut parts = e.split(value);
                if parts.len() < usize::from(o.ty.comps()) {
                    let old = load(e, o.now, o.ty);
                    parts.extend_from_slice(&e.split(old)[parts.len()..]);
                }
                let whole = e.vec(&parts);
                store(e, o.now, whole);
                Step::Remove
            }
            (Op::EmitVertex, _) => {
                self.vertex(e);
                Step::Remove
            }
            (Op::EndPrimitive, _) => {
                let zero = e.u32(0);
                store(e, self.strip, zero);
                Step::Remove
            }
            _ => Step::Keep,
        }
    }
}
